#include "controller/addons/own_fence.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/ceph/blocklist.h"
#include "common/kube/fence_notes.h"

static bool is_of_ceph(const struct mount_entry *mount)
{
    return strcmp(mount->fs_type, "ceph") == 0 || text_has_prefix(mount->fs_type, "fuse.ceph") ||
           text_has_prefix(mount->source, "/dev/rbd") ||
           text_has_prefix(mount->source, "/dev/nbd") || text_has_prefix(mount->root, "/rbd") ||
           text_has_prefix(mount->root, "/nbd");
}

static int check_unmounted(const struct own_fence *own, struct error *err)
{
    _cleanup_mount_list_ struct mount_list mounts = {0};

    if (own->host->ops->list_mounts(own->host, &mounts, err) < 0)
        return -1;
    for (size_t i = 0; i < mounts.count; i++) {
        if (!is_of_ceph(&mounts.items[i]))
            continue;
        error_set(err, STATUS_FAILED_PRECONDITION, "'%s' is still mounted on '%s'",
                  mounts.items[i].source, mounts.items[i].target);
        return error_hint(err, "what it holds from before the fence must not be written: have the "
                               "volumes of this node unmounted, or restart it");
    }
    return 0;
}

/* Whether a takeover needs the address fenced. Nobody to ask: it may. */
static int is_noted(const struct own_fence *own, struct call *call, const char *address,
                    bool *noted, struct error *err)
{
    const struct fence_notes_place place = {own->kube, own->name_space, own->driver_name};
    _cleanup_fence_notes_ struct fence_notes notes = {0};

    *noted = true;
    if (!own->kube)
        return 0;
    if (fence_notes_read(&place, call, &notes, err) < 0)
        return -1;
    *noted = fence_notes_holder(&notes, NULL, address) != NULL;
    return 0;
}

/* Whether the fence is one of those that end here. Others need it for longer. */
static int is_liftable(const struct own_fence *own, struct call *call, const struct blocklist *list,
                       const struct blocklist_entry *entry, bool *liftable, struct error *err)
{
    const int64_t left = blocklist_seconds_left(entry);
    bool noted = false;

    *liftable = false;
    if (left < 0 || left > BLOCKLIST_NODE_SECONDS) {
        log_v(2, call, "the fence of '%s' until %s is somebody else's", entry->address,
              entry->until);
        return 0;
    }
    if (!list->knows_ranges && is_noted(own, call, entry->address, &noted, err) < 0)
        return -1;
    if (noted) {
        log_v(2, call, "the fence of '%s' may be that of a takeover", entry->address);
        return 0;
    }
    if (left > BLOCKLIST_NODE_SECONDS - OWN_FENCE_REST_SECONDS)
        return error_set(err, STATUS_INTERNAL,
                         "'%s' was fenced less than %d s ago: cool-down, ask again later",
                         entry->address, OWN_FENCE_REST_SECONDS);
    *liftable = true;
    return check_unmounted(own, err);
}

static bool is_of_self(const struct blocklist *list, const struct blocklist_entry *entry,
                       const struct string_list *cidrs)
{
    char text[NETWORK_TEXT_MAX];

    network_print(&entry->network, text);
    return entry->is_range == list->knows_ranges && string_list_has(cidrs, text);
}

int own_fence_lift(const struct own_fence *own, struct call *call, struct ceph_cluster *cluster,
                   const struct string_list *cidrs, struct error *err)
{
    _cleanup_blocklist_ struct blocklist list = {0};

    if (blocklist_read(cluster, call, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        const struct blocklist_entry *entry = &list.items[i];
        bool liftable = false;

        if (!is_of_self(&list, entry, cidrs))
            continue;
        if (is_liftable(own, call, &list, entry, &liftable, err) < 0 ||
            (liftable && blocklist_remove(cluster, call, entry, err) < 0))
            return error_wrap(err, "end the fence of this node");
        if (liftable)
            log_info(call, "this node's '%s' is not fenced any more", entry->address);
    }
    return 0;
}
