#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "common/base/string_list.h"

/* Same numbers as csi.proto. */
enum access_mode {
    ACCESS_UNKNOWN = 0,
    ACCESS_SINGLE_NODE_WRITER = 1,
    ACCESS_SINGLE_NODE_READER_ONLY = 2,
    ACCESS_MULTI_NODE_READER_ONLY = 3,
    ACCESS_MULTI_NODE_SINGLE_WRITER = 4,
    ACCESS_MULTI_NODE_MULTI_WRITER = 5,
    ACCESS_SINGLE_NODE_SINGLE_WRITER = 6,
    ACCESS_SINGLE_NODE_MULTI_WRITER = 7,
};

enum access_type { ACCESS_TYPE_NONE, ACCESS_TYPE_BLOCK, ACCESS_TYPE_MOUNT };

/* How a volume is to be used. */
struct volume_capability {
    enum access_type type;
    enum access_mode mode;
    char *fs_type;
    char *mount_group;
    struct string_list mount_flags;
};

struct capability_list {
    struct volume_capability *items;
    size_t count;
};

bool access_mode_is_read_only(enum access_mode mode);
bool access_mode_is_multi_node_writer(enum access_mode mode);
const char *access_mode_name(enum access_mode mode);
/* By its name; ACCESS_UNKNOWN for others and for NULL. */
enum access_mode access_mode_find(const char *name);

/* Each entry must have a type and a known mode, and there must be at least one: INVALID_ARGUMENT
 * naming the position otherwise. */
_must_check_ int capability_list_check(const struct capability_list *list, struct error *err);

/* What an RBD image can do: several writing nodes only as a raw block device. INVALID_ARGUMENT. */
_must_check_ int capability_list_check_rbd(const struct capability_list *list, struct error *err);

/* What a subvolume can do: everything but be a raw block device. INVALID_ARGUMENT. */
_must_check_ int capability_list_check_cephfs(const struct capability_list *list,
                                              struct error *err);

/* @to is empty. */
void volume_capability_copy(const struct volume_capability *from, struct volume_capability *to);
void volume_capability_done(struct volume_capability *capability);
void capability_list_done(struct capability_list *list);
