#include "node/rbd/rbd_staged.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "node/checks.h"
#include "node/mount_table.h"

static int read_meta(const struct node_volumes *volumes, struct rbd_staged *staged,
                     struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_free_ char *text = NULL;

    if (host->ops->read_text(host, staged->meta_path, &text, err) < 0)
        return -1;
    if (!text)
        return 0;
    if (image_meta_parse(text, &staged->meta, err) < 0)
        return error_wrap(err, "'%s'", staged->meta_path);
    staged->has_meta = true;
    staged->mapper = mapper_find_recorded(staged->meta.mapper, staged->meta.access_type);
    if (!staged->mapper)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "'%s' names mapper '%s', which this driver does not have",
                         staged->meta_path, staged->meta.mapper ? staged->meta.mapper : "");
    return 0;
}

/* Of several devices of the image none is in the volume's place: takes one that nobody uses. */
static int choose_unused(struct host *host, struct mapped_image *mapped, struct error *err)
{
    _cleanup_mount_list_ struct mount_list mounts = {0};

    if (mapped->others.count == 0)
        return 0;
    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    for (size_t i = 0; i < mapped->others.count && device_mount(&mounts, mapped->device); i++) {
        free(mapped->device);
        mapped->device = xstrdup(mapped->others.items[i]);
    }
    return 0;
}

int rbd_staged_find_device(const struct node_volumes *volumes, struct call *call,
                           struct rbd_staged *staged, struct error *err)
{
    struct host *host = volumes->mappers.host;
    const struct image_spec spec = rbd_staged_spec(staged);

    if (!staged->mapper)
        return 0;
    if (staged->mapper->find(&volumes->mappers, call, &spec, &staged->mapped, err) < 0 ||
        choose_unused(host, &staged->mapped, err) < 0)
        return -1;
    if (!staged->mapped.device || staged->mapped.is_dead)
        return 0;
    return host->ops->device_facts(host, staged->mapped.device, &staged->device, err);
}

int rbd_staged_look(const struct node_volumes *volumes, struct call *call, const char *handle,
                    const char *staging_path, struct rbd_staged *out, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_rbd_staged_ struct rbd_staged staged = {
        .path = xasprintf("%s/%s", staging_path, handle),
        .meta_path = xasprintf("%s/" IMAGE_META_FILE, staging_path),
    };

    if (look_at_mount(host, staged.path, &staged.facts, &staged.is_dead, err) < 0 ||
        read_meta(volumes, &staged, err) < 0 ||
        rbd_staged_find_device(volumes, call, &staged, err) < 0)
        return -1;
    *out = staged;
    staged = (struct rbd_staged){0};
    return 0;
}

void rbd_staged_done(struct rbd_staged *staged)
{
    free(staged->path);
    free(staged->meta_path);
    image_meta_done(&staged->meta);
    mapped_image_done(&staged->mapped);
    *staged = (struct rbd_staged){0};
}

struct image_spec rbd_staged_spec(const struct rbd_staged *staged)
{
    const struct image_meta *meta = &staged->meta;

    return (struct image_spec){
        .pool = meta->pool,
        .rados_namespace = meta->rados_namespace,
        .image = meta->image,
        .fsid = meta->fsid,
        .image_id = meta->image_id,
        .mounted = staged->facts.is_mount_point ? staged->facts.device : 0,
        .handle = strrchr(staged->path, '/') + 1,
        .device = meta->device,
    };
}

int rbd_staged_begin(const struct node_volumes *volumes, struct call *call,
                     const struct image_spec *spec, struct operation *operation, struct error *err)
{
    _cleanup_free_ char *text = image_spec_text(spec);

    return operation_begin(volumes->operations, "image", text, call, operation, err);
}

char *rbd_staged_folder(const struct rbd_staged *staged)
{
    return xstrndup(staged->meta_path, strlen(staged->meta_path) - strlen("/" IMAGE_META_FILE));
}

bool rbd_staged_is_complete(const struct rbd_staged *staged)
{
    return !staged->is_dead && staged->facts.is_mount_point && staged->mapped.device &&
           !staged->mapped.is_dead && staged->facts.device == staged->device.number;
}

int rbd_staged_check(const struct rbd_staged *staged, const char *handle, struct error *err)
{
    if (rbd_staged_is_complete(staged))
        return 0;
    const char *fault = !staged->facts.is_mount_point ? "nothing is mounted there"
                        : !staged->has_meta           ? "there is no " IMAGE_META_FILE " beside it"
                        : !staged->mapped.device ? "its image is not mapped on this node any more"
                        : staged->mapped.is_dead || staged->is_dead
                            ? "the process that served its device has died"
                            : "what is mounted there is another device than that of its image";
    error_set(err, STATUS_FAILED_PRECONDITION, "volume '%s' is not staged at '%s': %s", handle,
              staged->path, fault);
    return error_hint(err, "NodeStageVolume stages it");
}

int rbd_staged_write_meta(const struct node_volumes *volumes, struct rbd_staged *staged,
                          struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_free_ char *text = image_meta_print(&staged->meta);

    if (host->ops->write_text(host, staged->meta_path, text, err) < 0)
        return -1;
    staged->has_meta = true;
    return 0;
}

/* --- taking down --- */

static int unmount_all(const struct node_volumes *volumes, struct rbd_staged *staged,
                       struct error *err)
{
    struct host *host = volumes->mappers.host;

    for (int i = 0; i < STACKED_MAX; i++) {
        const bool lazily = staged->is_dead || staged->mapped.is_dead;

        if (!staged->facts.is_mount_point)
            return 0;
        if (host->ops->unmount(host, staged->path, lazily, err) < 0 ||
            look_at_mount(host, staged->path, &staged->facts, &staged->is_dead, err) < 0)
            return -1;
    }
    return refuse_stacked(staged->path, err);
}

/* Whether @target is where a volume is staged: it has an image-meta.json beside it. */
static int is_staging_target(struct host *host, const char *target, bool *is, struct error *err)
{
    const char *slash = strrchr(target, '/');
    _cleanup_free_ char *meta = xasprintf("%.*s/" IMAGE_META_FILE, (int)(slash - target), target);
    struct path_facts facts;

    if (host->ops->look(host, meta, &facts, err) < 0)
        return -1;
    *is = facts.kind == PATH_FILE;
    return 0;
}

/*
 * The volume's own mount is gone. If another volume is staged from the device, the device is that
 * volume's, and *@is_others; the kernel would not mind, because a device that is only bound to a
 * file is not open. Any other mount is an error.
 */
static int check_device_unused(const struct node_volumes *volumes, const struct rbd_staged *staged,
                               bool *is_others, struct error *err)
{
    struct host *host = volumes->mappers.host;
    const char *device = staged->mapped.device;
    _cleanup_mount_list_ struct mount_list mounts = {0};

    if (!device || staged->mapped.is_dead)
        return 0;
    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    const struct mount_entry *mount = device_mount(&mounts, device);
    if (!mount)
        return 0;
    for (size_t i = 0; i < mounts.count && !*is_others; i++) {
        const struct mount_list one = {&mounts.items[i], 1};

        if (device_mount(&one, device) &&
            is_staging_target(host, mounts.items[i].target, is_others, err) < 0)
            return -1;
    }
    if (*is_others)
        return 0;
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "'%s' is not unmapped, because it is mounted on '%s'", device, mount->target);
}

static int unmap_image(const struct node_volumes *volumes, struct call *call,
                       struct rbd_staged *staged, struct error *err)
{
    _cleanup_free_ char *options = NULL;
    bool is_others = staged->keeps_mapping;

    if (!staged->mapper || is_others)
        return 0;
    if (check_device_unused(volumes, staged, &is_others, err) < 0)
        return -1;
    if (is_others) {
        log_info(call, "'%s' stays mapped: another volume has it staged", staged->mapped.device);
        return 0;
    }
    if (mapper_options(staged->meta.unmap_options, staged->mapper, &options, err) < 0)
        return -1;
    const struct unmap_request request = {
        .spec = rbd_staged_spec(staged), .options = options, .device = staged->mapped.device};
    return staged->mapper->unmap(&volumes->mappers, call, &request, err);
}

int rbd_staged_remove(const struct node_volumes *volumes, struct call *call,
                      struct rbd_staged *staged, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_free_ char *folder = rbd_staged_folder(staged);
    const struct host_work work = {volumes->works, folder};

    if (host_work_wait(&work, call, err) < 0)
        return -1;
    host_work_forget(&work);
    call_stage(call, "taking down '%s' for {age}", staged->path);
    if (unmount_all(volumes, staged, err) < 0 || host->ops->remove(host, staged->path, err) < 0 ||
        unmap_image(volumes, call, staged, err) < 0)
        return -1;
    return host->ops->remove(host, staged->meta_path, err);
}

/* --- who else shows it --- */

/* A device that is bound to a file shows as part of the file system that holds the devices. */
const char *rbd_mounted_device(const struct mount_entry *entry, bool is_block)
{
    bool is_device = is_block || strcmp(entry->fs_type, "devtmpfs") == 0;

    return is_device ? entry->root + strspn(entry->root, "/") : entry->source;
}

int rbd_staged_find_path(const struct node_volumes *volumes, const struct mount_entry *entry,
                         const struct mapper **mapper, char **staging_path, struct error *err)
{
    struct host *host = volumes->mappers.host;
    const char *slash = strrchr(entry->target, '/');
    struct path_facts facts;

    if (mapper_of_device(&volumes->mappers, rbd_mounted_device(entry, false), mapper, err) < 0)
        return -1;
    if (!*mapper || !slash)
        return 0;
    _cleanup_free_ char *folder = xstrndup(entry->target, (size_t)(slash - entry->target));
    _cleanup_free_ char *meta = xasprintf("%s/" IMAGE_META_FILE, folder);
    if (host->ops->look(host, meta, &facts, err) < 0)
        return -1;
    if (facts.kind == PATH_FILE)
        *staging_path = TAKE(folder);
    return 0;
}

/* Whether @target is "STAGING/HANDLE" with an image-meta.json beside it; *@staging_path (caller
 * frees) is NULL if not. */
static int try_staging_path(const struct node_volumes *volumes, const char *handle,
                            const char *target, char **staging_path, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_free_ char *suffix = xasprintf("/%s", handle);
    struct path_facts facts;

    if (!text_has_suffix(target, suffix))
        return 0;
    _cleanup_free_ char *folder = xstrndup(target, strlen(target) - strlen(suffix));
    _cleanup_free_ char *meta = xasprintf("%s/" IMAGE_META_FILE, folder);
    if (host->ops->look(host, meta, &facts, err) < 0)
        return -1;
    if (facts.kind == PATH_FILE)
        *staging_path = TAKE(folder);
    return 0;
}

int rbd_staged_look_from(const struct node_volumes *volumes, struct call *call, const char *handle,
                         const char *path, const struct path_facts *facts,
                         struct rbd_staged *staged, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_mount_list_ struct mount_list mounts = {0};
    _cleanup_string_list_ struct string_list targets = {0};
    _cleanup_free_ char *staging_path = NULL;

    if (!facts->is_mount_point)
        return node_volume_not_there(handle, path, err);
    string_list_add(&targets, path); /* it may be the staged path itself */
    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    mounts_of_same(&mounts, path, facts->kind == PATH_BLOCK_DEVICE, &targets);
    for (size_t i = 0; i < targets.count && !staging_path; i++)
        if (try_staging_path(volumes, handle, targets.items[i], &staging_path, err) < 0)
            return -1;
    return staging_path ? rbd_staged_look(volumes, call, handle, staging_path, staged, err)
                        : node_volume_not_there(handle, path, err);
}
