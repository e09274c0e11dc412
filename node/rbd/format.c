#include "node/rbd/format.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/ceph/on_disk.h"

#define DEFAULT_TYPE "ext4"

/* Whether mkfs was interrupted on this very image. */
static bool is_marked(const struct strmap *metadata, const char *image_id)
{
    const char *mark = strmap_get_or(metadata, METADATA_FORMATTING, "");
    size_t length = strcspn(mark, " ");
    _cleanup_free_ char *type = xstrndup(mark, length);

    return mark[length] == ' ' && strcmp(mark + length + 1, image_id) == 0 && disk_fs_find(type);
}

static int make_disk_fs(const struct node_volumes *volumes, struct call *call,
                        struct node_image *image, const struct format_request *request,
                        const struct disk_fs *fs, const char *image_id, struct error *err)
{
    const struct ceph_ops *ops = image->pool->ops;
    _cleanup_strmap_ struct strmap mark = {0};
    _cleanup_strmap_ struct strmap nothing = {0};
    _cleanup_string_list_ struct string_list done = {0};
    _cleanup_free_ char *value = xasprintf("%s %s", disk_fs_type(fs), image_id);

    strmap_set(&mark, METADATA_FORMATTING, value);
    string_list_add(&done, METADATA_FORMATTING);
    if (ops->image_metadata_change(image->pool, call, image->name, &mark, NULL, err) < 0 ||
        disk_fs_make(fs, volumes->mappers.host, call, request->device, request->options, err) < 0 ||
        ops->image_metadata_change(image->pool, call, image->name, &nothing, &done, err) < 0)
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
                        const struct disk_fs *fs, const char *image_id, struct error *err)
{
    if (request->read_only)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "image '%s' has no file system yet, and a volume for reading only is not "
                         "formatted",
                         image->name);
    if (prove_empty(volumes, call, image, request->device, err) < 0)
        return -1;
    return make_disk_fs(volumes, call, image, request, fs, image_id, err);
}

int node_format(const struct node_volumes *volumes, struct call *call, struct node_image *image,
                const struct format_request *request, const struct disk_fs **found,
                uint64_t *fs_bytes, struct error *err)
{
    struct host *host = volumes->mappers.host;
    struct device_content content;
    _cleanup_free_ char *image_id = NULL;

    *fs_bytes = 0;
    *found = request->wanted ? request->wanted : disk_fs_find(DEFAULT_TYPE);
    if (image->pool->ops->image_get_id(image->pool, call, image->name, &image_id, err) < 0)
        return -1;
    if (is_marked(request->metadata, image_id) && !request->read_only)
        return make_disk_fs(volumes, call, image, request, *found, image_id, err);
    if (host->ops->device_content(host, request->device, &content, err) < 0)
        return -1;
    if (!content.fs_type[0] && !content.partition_table[0] && !content.is_ambivalent)
        return format_empty(volumes, call, image, request, *found, image_id, err);
    const struct disk_fs *fs = disk_fs_find(content.fs_type);
    if (!fs || content.is_ambivalent || (request->wanted && fs != request->wanted))
        return refuse_content(image, &content, request->wanted, err);
    *found = fs;
    *fs_bytes = content.fs_bytes;
    return request->read_only ? 0 : disk_fs_check(fs, host, call, request->device, err);
}
