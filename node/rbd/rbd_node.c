/* RBD's part of the rpcs; the larger ones have files of their own. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "node/backend.h"
#include "node/rbd/rbd_staged.h"

static int find_place(const struct node_volumes *volumes, struct call *call,
                      const struct publish_request *request, struct staged_place *place,
                      struct error *err)
{
    _cleanup_staged_ struct staged staged = {0};

    if (staged_look(volumes, call, request->handle, request->staging_path, &staged, err) < 0 ||
        staged_check(&staged, request->handle, err) < 0)
        return -1;
    *place = (struct staged_place){.facts = staged.facts, .device = staged.device.number};
    place->path = TAKE(staged.path);
    return 0;
}

/* One of a device that one of our mappers made. */
static int owns_mount(const struct node_volumes *volumes, const struct mount_entry *entry,
                      bool is_block, bool *owns, struct error *err)
{
    /* a device that is bound to a file shows as part of the file system that holds the devices */
    bool is_device = is_block || strcmp(entry->fs_type, "devtmpfs") == 0;
    const char *device = is_device ? entry->root + strspn(entry->root, "/") : entry->source;
    const struct mapper *mapper = NULL;

    if (mapper_of_device(&volumes->mappers, device, &mapper, err) < 0)
        return -1;
    *owns = mapper;
    return 0;
}

static void recover(const struct node_volumes *volumes, struct call *call)
{
    static const struct mapper *const mappers[] = {&MAPPER_KRBD, &MAPPER_NBD, &MAPPER_FUSE};

    for (size_t i = 0; i < ARRAY_LENGTH(mappers); i++) {
        _cleanup_error_ struct error err = {0};

        if (mappers[i]->recover && mappers[i]->recover(&volumes->mappers, call, &err) < 0)
            log_warn(call, "looking for what a former life left: %s", err.message);
    }
}

const struct node_backend RBD_NODE_BACKEND = {
    .type = "rbd",
    .thing = "RBD device",
    .check_capabilities = capability_list_check_rbd,
    .stage = rbd_stage_volume,
    .unstage = rbd_unstage_volume,
    .find_place = find_place,
    .owns_mount = owns_mount,
    .get_stats = rbd_get_stats,
    .expand = rbd_expand_volume,
    .recover = recover,
};
