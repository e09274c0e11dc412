#include "node/mount_table.h"

#include <errno.h>
#include <string.h>

#include "common/linux/mount_labels.h"

bool errno_is_sickness(int number)
{
    return errno_is_death(number) || number == EIO || number == EAGAIN || number == ENODEV;
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

int check_unpublished(struct host *host, const char *path, bool is_block, struct error *err)
{
    _cleanup_mount_list_ struct mount_list mounts = {0};
    _cleanup_string_list_ struct string_list targets = {0};

    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    mounts_of_same(&mounts, path, is_block, &targets);
    if (targets.count > 0)
        return error_set(err, STATUS_FAILED_PRECONDITION, "it is still published at '%s'%s",
                         targets.items[0], targets.count > 1 ? " and elsewhere" : "");
    return 0;
}

int check_labels(struct host *host, const char *path, const struct string_list *flags,
                 enum status status, struct error *err)
{
    _cleanup_mount_list_ struct mount_list mounts = {0};

    if (!mount_labels_are_among(flags))
        return 0;
    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    const struct mount_entry *entry = mount_on_top(&mounts, path);
    return entry ? mount_labels_check(host, entry->options, flags, status, err) : 0;
}

int refuse_stacked(const char *path, struct error *err)
{
    return error_set(err, STATUS_FAILED_PRECONDITION, "more than %d mounts are on '%s'",
                     STACKED_MAX, path);
}
