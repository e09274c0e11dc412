#include "node/mount_table.h"

#include <errno.h>
#include <string.h>

#include "common/base/log.h"
#include "common/linux/mount_labels.h"

bool errno_is_sickness(int number)
{
    return errno_is_death(number) || number == EAGAIN;
}

bool errno_is_death(int number)
{
    switch (number) {
    case EACCES: /* a kernel's CephFS client whose session was rejected: it is fenced */
    case ESHUTDOWN:
    case EHOSTDOWN:
    case ENOTCONN: /* FUSE without its process */
    case ESTALE:
    case EIO: /* a CephFS client that was shut down; xfs on a device that failed */
    case EUCLEAN:
    case ENODEV:
    case ENXIO:
        return true;
    default:
        return false;
    }
}

const struct mount_entry *mount_on_top(const struct mount_list *mounts, const char *path)
{
    const struct mount_entry *found = NULL;

    for (size_t i = 0; i < mounts->count; i++)
        if (strcmp(mounts->items[i].target, path) == 0)
            found = &mounts->items[i]; /* the last one is on top */
    return found;
}

int mount_find(struct host *host, const char *path, struct mount_list *mounts,
               const struct mount_entry **entry, struct error *err)
{
    if (host->ops->list_mounts(host, mounts, err) < 0)
        return -1;
    *entry = mount_on_top(mounts, path);
    return 0;
}

bool mounts_list(struct host *host, struct call *call, const char *purpose,
                 struct mount_list *mounts)
{
    _cleanup_error_ struct error err = {0};

    if (host->ops->list_mounts(host, mounts, &err) == 0)
        return true;
    log_warn(call, "%s: %s", purpose, err.message);
    return false;
}

/* Fails with @why unless something is mounted on @path. Only a file system answers so: a device
 * that is bound to a file is looked at in memory. */
static int look_at_table(struct host *host, const char *path, struct path_facts *facts,
                         struct error *why, struct error *err)
{
    _cleanup_mount_list_ struct mount_list mounts = {0};
    const struct mount_entry *entry = NULL;

    if (mount_find(host, path, &mounts, &entry, err) < 0)
        return -1;
    if (!entry)
        return error_move(err, why);
    *facts = (struct path_facts){
        .kind = PATH_DIRECTORY,
        .is_mount_point = true,
        .is_read_only = mount_option_is_set(entry->flags, "ro"),
        .device = entry->device,
    };
    return 0;
}

int look_at_mount(struct host *host, const char *path, struct path_facts *facts, bool *is_dead,
                  struct error *err)
{
    _cleanup_error_ struct error why = {0};

    *is_dead = false;
    if (host->ops->look(host, path, facts, &why) == 0)
        return 0;
    if (!errno_is_death(why.sys_errno))
        return error_move(err, &why);
    if (look_at_table(host, path, facts, &why, err) < 0)
        return -1;
    *is_dead = true;
    return 0;
}

bool mount_option_is_set(const char *options, const char *name)
{
    size_t length = strlen(name);

    for (const char *next = options; next; next = strchr(next, ',')) {
        next += *next == ',';
        if (strncmp(next, name, length) == 0 && (next[length] == ',' || next[length] == '\0'))
            return true;
    }
    return false;
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
    const struct mount_entry *entry = NULL;

    if (!mount_labels_are_among(flags))
        return 0;
    if (mount_find(host, path, &mounts, &entry, err) < 0)
        return -1;
    return entry ? mount_labels_check(host, entry->options, flags, status, err) : 0;
}

int refuse_stacked(const char *path, struct error *err)
{
    return error_set(err, STATUS_FAILED_PRECONDITION, "more than %d mounts are on '%s'",
                     STACKED_MAX, path);
}
