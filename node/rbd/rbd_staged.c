#include "node/rbd/rbd_staged.h"

#include <stdlib.h>
#include <string.h>

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

int rbd_staged_find_device(const struct node_volumes *volumes, struct call *call,
                           struct rbd_staged *staged, struct error *err)
{
    struct host *host = volumes->mappers.host;
    const struct image_spec spec = rbd_staged_spec(staged);

    if (!staged->mapper)
        return 0;
    if (staged->mapper->find(&volumes->mappers, call, &spec, &staged->mapped, err) < 0)
        return -1;
    if (!staged->mapped.device || staged->mapped.is_dead)
        return 0;
    return host->ops->device_facts(host, staged->mapped.device, &staged->device, err);
}

int rbd_staged_look(const struct node_volumes *volumes, struct call *call, const char *handle,
                    const char *staging_path, struct rbd_staged *out, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_error_ struct error dead = {0};
    _cleanup_rbd_staged_ struct rbd_staged staged = {
        .path = xasprintf("%s/%s", staging_path, handle),
        .meta_path = xasprintf("%s/" IMAGE_META_FILE, staging_path),
    };

    if (host->ops->look(host, staged.path, &staged.facts, &dead) < 0) {
        if (dead.status != STATUS_INTERNAL && dead.status != STATUS_UNAVAILABLE)
            return error_move(err, &dead);
        staged.is_dead = true;
    }
    if (read_meta(volumes, &staged, err) < 0 ||
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
    return (struct image_spec){staged->meta.pool, staged->meta.rados_namespace, staged->meta.image};
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
    const char *fault = !staged->facts.is_mount_point && !staged->is_dead
                            ? "nothing is mounted there"
                        : !staged->has_meta      ? "there is no " IMAGE_META_FILE " beside it"
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
    bool lazily = staged->is_dead || staged->mapped.is_dead;

    for (int i = 0; i < STACKED_MAX; i++) {
        if (!staged->is_dead && !staged->facts.is_mount_point)
            return 0;
        if (host->ops->unmount(host, staged->path, lazily, err) < 0)
            return -1;
        staged->is_dead = false;
        if (host->ops->look(host, staged->path, &staged->facts, err) < 0)
            return -1;
    }
    return refuse_stacked(staged->path, err);
}

static int unmap_image(const struct node_volumes *volumes, struct call *call,
                       struct rbd_staged *staged, struct error *err)
{
    _cleanup_free_ char *options = NULL;

    if (!staged->mapper)
        return 0;
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

    call_stage(call, "taking down '%s' for {age}", staged->path);
    if (unmount_all(volumes, staged, err) < 0 || host->ops->remove(host, staged->path, err) < 0 ||
        unmap_image(volumes, call, staged, err) < 0)
        return -1;
    return host->ops->remove(host, staged->meta_path, err);
}

/* --- who else shows it --- */

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
