#include "common/volume/capability.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

static const char *const MODE_NAMES[] = {
    [ACCESS_UNKNOWN] = "UNKNOWN",
    [ACCESS_SINGLE_NODE_WRITER] = "SINGLE_NODE_WRITER",
    [ACCESS_SINGLE_NODE_READER_ONLY] = "SINGLE_NODE_READER_ONLY",
    [ACCESS_MULTI_NODE_READER_ONLY] = "MULTI_NODE_READER_ONLY",
    [ACCESS_MULTI_NODE_SINGLE_WRITER] = "MULTI_NODE_SINGLE_WRITER",
    [ACCESS_MULTI_NODE_MULTI_WRITER] = "MULTI_NODE_MULTI_WRITER",
    [ACCESS_SINGLE_NODE_SINGLE_WRITER] = "SINGLE_NODE_SINGLE_WRITER",
    [ACCESS_SINGLE_NODE_MULTI_WRITER] = "SINGLE_NODE_MULTI_WRITER",
};

const char *access_mode_name(enum access_mode mode)
{
    return (size_t)mode < ARRAY_LENGTH(MODE_NAMES) ? MODE_NAMES[mode] : "UNKNOWN";
}

enum access_mode access_mode_find(const char *name)
{
    for (size_t mode = ACCESS_SINGLE_NODE_WRITER; name && mode < ARRAY_LENGTH(MODE_NAMES); mode++)
        if (strcmp(MODE_NAMES[mode], name) == 0)
            return (enum access_mode)mode;
    return ACCESS_UNKNOWN;
}

bool access_mode_is_read_only(enum access_mode mode)
{
    return mode == ACCESS_SINGLE_NODE_READER_ONLY || mode == ACCESS_MULTI_NODE_READER_ONLY;
}

bool access_mode_is_multi_node_writer(enum access_mode mode)
{
    return mode == ACCESS_MULTI_NODE_SINGLE_WRITER || mode == ACCESS_MULTI_NODE_MULTI_WRITER;
}

int capability_list_check(const struct capability_list *list, struct error *err)
{
    if (list->count == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_capabilities is missing");
    for (size_t i = 0; i < list->count; i++) {
        const struct volume_capability *item = &list->items[i];

        if (item->type == ACCESS_TYPE_NONE)
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "volume_capabilities[%zu] has neither block nor mount", i);
        if (item->mode == ACCESS_UNKNOWN || (size_t)item->mode >= ARRAY_LENGTH(MODE_NAMES))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "volume_capabilities[%zu] has no known access_mode", i);
    }
    return 0;
}

int capability_list_check_rbd(const struct capability_list *list, struct error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct volume_capability *item = &list->items[i];

        if (item->type == ACCESS_TYPE_MOUNT && access_mode_is_multi_node_writer(item->mode))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "volume_capabilities[%zu]: %s is not possible for a file system on an "
                             "RBD image, only for volumeMode Block; use CephFS to share files "
                             "between nodes",
                             i, access_mode_name(item->mode));
    }
    return 0;
}

int capability_list_check_cephfs(const struct capability_list *list, struct error *err)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].type == ACCESS_TYPE_BLOCK)
            return error_set(
                err, STATUS_INVALID_ARGUMENT,
                "volume_capabilities[%zu]: a CephFS volume is a directory, not a block "
                "device; use volumeMode Filesystem, or RBD",
                i);
    return 0;
}

void volume_capability_copy(const struct volume_capability *from, struct volume_capability *to)
{
    *to = (struct volume_capability){
        .type = from->type,
        .mode = from->mode,
        .fs_type = from->fs_type ? xstrdup(from->fs_type) : NULL,
        .mount_group = from->mount_group ? xstrdup(from->mount_group) : NULL,
    };
    for (size_t i = 0; i < from->mount_flags.count; i++)
        string_list_add(&to->mount_flags, from->mount_flags.items[i]);
}

void volume_capability_done(struct volume_capability *capability)
{
    free(capability->fs_type);
    free(capability->mount_group);
    string_list_done(&capability->mount_flags);
    *capability = (struct volume_capability){0};
}

void capability_list_done(struct capability_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        volume_capability_done(&list->items[i]);
    free(list->items);
    *list = (struct capability_list){0};
}
