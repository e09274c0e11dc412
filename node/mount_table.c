#include "node/mount_table.h"

#include <errno.h>
#include <string.h>

bool errno_is_sickness(int number)
{
    return number == ENOTCONN || number == ESTALE || number == EIO || number == EACCES ||
           number == EHOSTDOWN || number == EAGAIN || number == ESHUTDOWN || number == ENODEV;
}

bool errno_is_death(int number)
{
    return number == ENOTCONN || number == ESTALE || number == EACCES || number == EHOSTDOWN ||
           number == ESHUTDOWN;
}

const struct mount_entry *mount_on_top(const struct mount_list *mounts, const char *path)
{
    const struct mount_entry *found = NULL;

    for (size_t i = 0; i < mounts->count; i++)
        if (strcmp(mounts->items[i].target, path) == 0)
            found = &mounts->items[i]; /* the last one is on top */
    return found;
}

void mounts_of_same(const struct mount_list *mounts, const char *path, bool is_block,
                    struct string_list *targets)
{
    const struct mount_entry *own = mount_on_top(mounts, path);

    for (size_t i = 0; own && i < mounts->count; i++) {
        const struct mount_entry *other = &mounts->items[i];
        bool same =
            other->device == own->device && (!is_block || strcmp(other->root, own->root) == 0);

        if (same && strcmp(other->target, path) != 0 && !string_list_has(targets, other->target))
            string_list_add(targets, other->target);
    }
}
