#include "common/linux/host_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

struct host *host_new(const char *kubelet_dir, const char *key_dir)
{
    struct real_host *host = xcalloc(1, sizeof(*host));
    size_t length = strlen(kubelet_dir);

    while (length > 0 && kubelet_dir[length - 1] == '/')
        length--;
    host->kubelet_dir = xstrndup(kubelet_dir, length);
    host->key_dir = xstrdup(key_dir);
    files_register(&host->ops);
    mounts_register(&host->ops);
    devices_register(&host->ops);
    loops_register(&host->ops);
    nbd_netlink_register(&host->ops);
    programs_register(&host->ops);
    daemons_register(&host->ops);
    kernel_key_types_register(&host->ops);
    host->base.ops = &host->ops;
    return &host->base;
}

void host_free(struct host *host)
{
    struct real_host *real = (struct real_host *)host;

    free_all(real->kubelet_dir, real->key_dir, real);
}

void mount_list_done(struct mount_list *mounts)
{
    for (size_t i = 0; i < mounts->count; i++)
        free_all(mounts->items[i].root, mounts->items[i].target, mounts->items[i].fs_type,
                 mounts->items[i].source, mounts->items[i].options, mounts->items[i].flags);
    free(mounts->items);
    *mounts = (struct mount_list){0};
}
