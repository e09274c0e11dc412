#include <string.h>

#include "common/base/backoff.h"
#include "common/base/memory.h"
#include "common/linux/disk_fs.h"
#include "node/rbd/node_image.h"
#include "node/rbd/rbd_staged.h"
#include "node/staged_users.h"

#define POLL_FIRST_MS 50
#define POLL_LONGEST_MS 1000

/* --- the size of the image --- */

static int read_image_size(const struct node_volumes *volumes, struct call *call,
                           const struct node_expand_request *request,
                           const struct rbd_staged *staged, uint64_t *size_bytes, struct error *err)
{
    _cleanup_(stage_request_done) struct stage_request found = {0};
    _cleanup_node_image_ struct node_image image = {0};
    _cleanup_free_ char *id = NULL;

    if (staged_user_find(volumes, call, request->handle, request->volume_path,
                         &request->credentials, &found, err) < 0 ||
        node_image_open(volumes, call, &found, &image, err) < 0)
        return -1;
    if (strcmp(image.name, staged->meta.image) != 0 ||
        strcmp(image.pool->name, staged->meta.pool) != 0)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "the volume is image '%s' in pool '%s' now, but '%s' in '%s' is staged",
                         image.name, image.pool->name, staged->meta.image, staged->meta.pool);
    if (image.pool->ops->image_get_id(image.pool, call, image.name, &id, err) < 0)
        return -1;
    if (staged->meta.image_id[0] && strcmp(staged->meta.image_id, id) != 0)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "image '%s' is another one now, with the id '%s'; '%s' is staged",
                         image.name, id, staged->meta.image_id);
    return image.pool->ops->image_get_size(image.pool, call, id, size_bytes, err);
}

/* Lets the device notice the size of its image. A mapper that must be told the size learns none
 * that Ceph has not confirmed: what is written beyond the end of the image is lost. */
static int refresh_device(const struct node_volumes *volumes, struct call *call,
                          const struct node_expand_request *request,
                          const struct rbd_staged *staged, struct error *err)
{
    const struct mapper *mapper = staged->mapper;
    const struct image_spec spec = rbd_staged_spec(staged);
    const char *device = staged->mapped.device;
    uint64_t image_bytes = 0;

    if (!mapper->tell_size)
        return mapper->refresh ? mapper->refresh(&volumes->mappers, call, &spec, device, err) : 0;
    if (read_image_size(volumes, call, request, staged, &image_bytes, err) < 0) {
        if (err->status == STATUS_NOT_FOUND) /* the volume is here */
            error_recode(err, STATUS_FAILED_PRECONDITION);
        error_wrap(err, "'%s' must be told the size of image '%s', which cannot be read", device,
                   staged->meta.image);
        return error_hint(err, "name a Secret in the class: "
                               "csi.storage.k8s.io/node-expand-secret-name and -namespace");
    }
    return mapper->tell_size(&volumes->mappers, call, device, image_bytes, err);
}

static int refuse_size(const struct rbd_staged *staged, uint64_t wanted, struct error *err)
{
    error_set(err, STATUS_OUT_OF_RANGE,
              "device '%s' of image '%s' has %llu bytes, not the %llu that were asked",
              staged->mapped.device, staged->meta.image,
              (unsigned long long)staged->device.size_bytes, (unsigned long long)wanted);
    return error_hint(err, "ControllerExpandVolume grows the image");
}

/*
 * The kernel learns of a new size from Ceph, a moment after the controller's call has returned, or
 * from the process that serves the device, or from us. A failure of ours counts only if none of the
 * others does it either.
 */
static int wait_for_device(const struct node_volumes *volumes, struct call *call,
                           const struct node_expand_request *request, struct rbd_staged *staged,
                           struct error *err)
{
    struct host *host = volumes->mappers.host;
    struct deadline deadline = deadline_in_ms(volumes->device_wait_ms);
    const uint64_t wanted = (uint64_t)request->range.required_bytes;
    const char *device = staged->mapped.device;
    struct backoff backoff = BACKOFF_INIT(POLL_FIRST_MS, POLL_LONGEST_MS);

    for (;;) {
        _cleanup_error_ struct error why = {0};

        if (staged->device.size_bytes < wanted || wanted == 0)
            refresh_device(volumes, call, request, staged, &why);
        if (host->ops->device_facts(host, device, &staged->device, err) < 0)
            return -1;
        if (staged->device.size_bytes >= wanted)
            return 0;
        call_stage(call, "waiting {age} for '%s' to grow", device);
        if (deadline_has_passed(deadline) || call_pause(call, backoff_next_ms(&backoff), err) < 0) {
            error_clear(err); /* what was waited for says more */
            return why.message ? error_move(err, &why) : refuse_size(staged, wanted, err);
        }
    }
}

/* --- what is on it --- */

static int grow_filesystem(const struct node_volumes *volumes, struct call *call,
                           const struct rbd_staged *staged, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_free_ char *folder = rbd_staged_folder(staged);
    const struct host_work work = {volumes->works, folder};
    struct device_content content;

    if (staged->facts.kind != PATH_DIRECTORY || staged->facts.is_read_only)
        return 0;
    if (host->ops->device_content(host, staged->mapped.device, &content, err) < 0)
        return -1;
    const struct disk_fs *fs = disk_fs_find(content.fs_type);
    if (!fs)
        return error_set(err, STATUS_FAILED_PRECONDITION, "its file system '%s' cannot be grown",
                         content.fs_type);
    return disk_fs_grow(fs, &work, call, staged->mapped.device, staged->path, err);
}

int rbd_expand_volume(const struct node_volumes *volumes, struct call *call,
                      const struct node_expand_request *request, uint64_t *size_bytes,
                      struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_rbd_staged_ struct rbd_staged staged = {0};
    struct path_facts facts;

    if (host->ops->look(host, request->volume_path, &facts, err) < 0 ||
        rbd_staged_look_from(volumes, call, request->handle, request->volume_path, &facts, &staged,
                             err) < 0 ||
        rbd_staged_check(&staged, request->handle, err) < 0 ||
        wait_for_device(volumes, call, request, &staged, err) < 0 ||
        grow_filesystem(volumes, call, &staged, err) < 0)
        return -1;
    *size_bytes = staged.device.size_bytes;
    return 0;
}
