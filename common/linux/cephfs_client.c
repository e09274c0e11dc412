#include "common/linux/cephfs_client.h"

#include <string.h>

const struct cephfs_client *cephfs_client_find(const char *name)
{
    static const struct cephfs_client *const clients[] = {&CEPHFS_KERNEL, &CEPHFS_FUSE};

    for (size_t i = 0; i < ARRAY_LENGTH(clients); i++)
        if (strcmp(clients[i]->name, name) == 0)
            return clients[i];
    return NULL;
}

const struct cephfs_client *cephfs_client_of(const struct mount_entry *entry)
{
    if (strcmp(entry->fs_type, CEPHFS_KERNEL.fs_type) == 0)
        return &CEPHFS_KERNEL;
    return strcmp(entry->fs_type, CEPHFS_FUSE.fs_type) == 0 ? &CEPHFS_FUSE : NULL;
}
