#include "node/rbd/format.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/ceph/on_disk.h"
#include "common/encoding/uuid.h"

#define DEFAULT_TYPE "ext4"

/*
 * "TYPE IMAGEID UUID" in the image's metadata: mkfs began on this very image. *@uuid (caller frees)
 * is NULL without such a mark, and "" for one of an earlier driver, which named no UUID.
 */
static void read_mark(const struct strmap *metadata, const char *image_id, char **uuid)
{
    _cleanup_free_ char *mark = xstrdup(strmap_get_or(metadata, METADATA_FORMATTING, ""));
    char *rest = NULL;
    const char *type = strtok_r(mark, " ", &rest);
    const char *id = strtok_r(NULL, " ", &rest);
    const char *last = strtok_r(NULL, " ", &rest);

    if (type && disk_fs_find(type) && id && strcmp(id, image_id) == 0)
        *uuid = xstrdup(last ? last : "");
}

/* Whether what is on the device is nothing but what the mkfs of @uuid wrote before it died. */
static bool is_interrupted_mkfs(const struct device_content *content, const char *uuid)
{
    if (content->is_ambivalent || content->partition_table[0])
        return false;
    if (!content->fs_type[0])
        return content->is_head_zero;
    return uuid[0] && strcasecmp(content->fs_uuid, uuid) == 0 && content->is_never_mounted;
}

int node_format_forget(struct call *call, struct node_image *image, const struct strmap *metadata,
                       struct error *err)
{
    const struct ceph_ops *ops = image->pool->ops;
    _cleanup_strmap_ struct strmap nothing = {0};
    _cleanup_string_list_ struct string_list done = {0};

    if (!strmap_get(metadata, METADATA_FORMATTING))
        return 0;
    string_list_add(&done, METADATA_FORMATTING);
    return ops->image_metadata_change(image->pool, call, image->name, &nothing, &done, err);
}

/* @uuid of an interrupted try, so that what it left stays known by it; "" for a new one. */
static int make_disk_fs(const struct node_volumes *volumes, struct call *call,
                        struct node_image *image, const struct format_request *request,
                        const struct disk_fs *fs, const char *uuid, struct error *err)
{
    const struct ceph_ops *ops = image->pool->ops;
    const struct uuid_text new_uuid = uuid_text_generate();
    const char *fs_uuid = uuid[0] ? uuid : new_uuid.chars;
    const struct host_work work = {volumes->works, request->folder};
    _cleanup_strmap_ struct strmap mark = {0};
    _cleanup_free_ char *value =
        xasprintf("%s %s %s", disk_fs_type(fs), request->image_id, fs_uuid);

    strmap_set(&mark, METADATA_FORMATTING, value);
    if (ops->image_metadata_change(image->pool, call, image->name, &mark, NULL, err) < 0 ||
        disk_fs_make(fs, &work, call, request->device, request->options, fs_uuid, err) < 0 ||
        node_format_forget(call, image, &mark, err) < 0)
        return error_wrap(err, "make %s on image '%s'", disk_fs_type(fs), image->name);
    log_v(2, call, "made %s on image '%s'", disk_fs_type(fs), image->name);
    return 0;
}

/* The device looks empty; whether it is, two others say who know nothing of file systems. */
static int prove_empty(const struct node_volumes *volumes, struct call *call,
                       struct node_image *image, const char *device, struct error *err)
{
    struct host *host = volumes->mappers.host;
    bool is_zero = false;
    bool is_empty = false;

    if (host->ops->device_is_zero(host, device, &is_zero, err) < 0 ||
        image->pool->ops->image_is_empty(image->pool, call, image->name, &is_empty, err) < 0)
        return -1;
    if (is_zero && is_empty)
        return 0;
    error_set(err, STATUS_FAILED_PRECONDITION,
              "image '%s' in pool '%s' has no file system that is known, but it holds data%s",
              image->name, image->pool->name, is_zero ? "" : " at its ends");
    return error_hint(err,
                      "it is not formatted; if the data is worthless, run wipefs and blkdiscard "
                      "on it, or use the volume as volumeMode Block");
}

static int refuse_content(const struct node_image *image, const struct device_content *content,
                          const struct disk_fs *wanted, struct error *err)
{
    if (content->is_ambivalent)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "image '%s' has the marks of several file systems; wipefs removes the old "
                         "ones",
                         image->name);
    if (content->partition_table[0])
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "image '%s' has a partition table (%s), not a file system; use it as "
                         "volumeMode Block",
                         image->name, content->partition_table);
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "image '%s' has %s on it, but %s was asked for", image->name, content->fs_type,
                     wanted ? disk_fs_type(wanted) : "ext4 or xfs");
}

static int format_empty(const struct node_volumes *volumes, struct call *call,
                        struct node_image *image, const struct format_request *request,
                        const struct disk_fs *fs, struct error *err)
{
    if (request->read_only)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "image '%s' has no file system yet, and a volume for reading only is not "
                         "formatted",
                         image->name);
    if (prove_empty(volumes, call, image, request->device, err) < 0)
        return -1;
    return make_disk_fs(volumes, call, image, request, fs, "", err);
}

int node_format(const struct node_volumes *volumes, struct call *call, struct node_image *image,
                const struct format_request *request, const struct disk_fs **found,
                uint64_t *fs_bytes, struct error *err)
{
    struct host *host = volumes->mappers.host;
    struct device_content content;
    _cleanup_free_ char *uuid = NULL;

    *fs_bytes = 0;
    *found = request->wanted ? request->wanted : disk_fs_find(DEFAULT_TYPE);
    if (host->ops->device_content(host, request->device, &content, err) < 0)
        return -1;
    read_mark(request->metadata, request->image_id, &uuid);
    if (!request->read_only) {
        if (uuid && is_interrupted_mkfs(&content, uuid))
            return make_disk_fs(volumes, call, image, request, *found, uuid, err);
        if (node_format_forget(call, image, request->metadata, err) < 0)
            return -1;
    }
    if (!content.fs_type[0] && !content.partition_table[0] && !content.is_ambivalent)
        return format_empty(volumes, call, image, request, *found, err);
    const struct disk_fs *fs = disk_fs_find(content.fs_type);
    if (!fs || content.is_ambivalent || (request->wanted && fs != request->wanted))
        return refuse_content(image, &content, request->wanted, err);
    *found = fs;
    *fs_bytes = content.fs_bytes;
    const struct host_work work = {volumes->works, request->folder};
    return request->read_only ? 0 : disk_fs_check(fs, &work, call, request->device, err);
}
