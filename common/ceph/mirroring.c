/* Images that rbd-mirror copies to another cluster, or from one. */
#include <errno.h>
#include <rbd/librbd.h>

#include "common/base/memory.h"
#include "common/ceph/connections.h"
#include "common/ceph/images.h"
#include "common/ceph/on_disk.h"

#define ENTRY_LIMIT 4096 /* mode, state, an id */

/* Whether the pool's list of mirrored images has it. Few pools have such a list at all, and no
 * image has to be opened to read it. */
static int is_listed(struct ceph_pool *pool, struct call *call, const char *image_id, bool *listed,
                     struct error *err)
{
    size_t length = 0;
    _cleanup_free_ char *input = object_exec_string(image_id, 0, &length);
    char output[ENTRY_LIMIT];
    size_t output_length = 0;

    *listed = object_exec(pool, call, RBD_MIRRORING, "mirror_image_get", input, length, output,
                          sizeof(output), &output_length, err) == 0;
    return *listed ? 0 : error_ignore(err, STATUS_NOT_FOUND);
}

static int image_get_mirroring(struct ceph_pool *pool, struct call *call, const char *name,
                               const char *image_id, struct image_mirroring *mirroring,
                               struct error *err)
{
    _cleanup_image_ struct open_image image = {0};
    rbd_mirror_image_info_t info = {0};
    bool listed = false;

    if (is_listed(pool, call, image_id, &listed, err) < 0)
        return -1;
    *mirroring = (struct image_mirroring){0};
    if (!listed)
        return 0;
    if (image_open(pool, call, name, true, &image, err) < 0)
        return -1;
    int result = rbd_mirror_image_get_info(image.handle, &info, sizeof(info));
    if (result < 0)
        return error_set_errno(err, result, "ask whether image '%s' in pool '%s' is mirrored", name,
                               pool->name);
    mirroring->is_enabled = info.state != RBD_MIRROR_IMAGE_DISABLED;
    mirroring->is_primary = mirroring->is_enabled && info.primary;
    rbd_mirror_image_get_info_cleanup(&info);
    return 0;
}

static int image_disable_mirroring(struct ceph_pool *pool, struct call *call, const char *name,
                                   struct error *err)
{
    _cleanup_image_ struct open_image image = {0};

    if (image_open(pool, call, name, false, &image, err) < 0)
        return -1;
    call_stage(call, "ending the mirroring of image '%s' in pool '%s' for {age}", name, pool->name);
    int result = rbd_mirror_image_disable(image.handle, false);
    return result < 0 ? error_set_errno(err, result, "end the mirroring of image '%s' in pool '%s'",
                                        name, pool->name)
                      : 0;
}

void mirroring_register(struct ceph_ops *ops)
{
    ops->image_get_mirroring = image_get_mirroring;
    ops->image_disable_mirroring = image_disable_mirroring;
}
