#pragma once

#include "node/volumes.h"

/* Where a staged volume is, for whoever binds it to a target. */
struct staged_place {
    char *path;
    struct path_facts facts;
    dev_t device; /* that a bind of it shows */
    bool has_cgroup_limits;
};

void staged_place_done(struct staged_place *place);
#define _cleanup_staged_place_ _cleanup_(staged_place_done)

/*
 * What RBD and CephFS do in ways of their own. The rpcs themselves - checks of paths, locks, binds
 * - are the same for both: see calls.c and publish.c, which end in one of these functions. When
 * they are called the request has been checked and the volume is this call's alone, but for
 * get_stats(). All may block; any thread; all are repeatable.
 */
struct node_backend {
    const char *type;  /* "rbd", "cephfs" */
    const char *thing; /* what its mounts are of, for messages: "RBD device" */

    int (*check_capabilities)(const struct capability_list *list, struct error *err);
    int (*stage)(const struct node_volumes *volumes, struct call *call,
                 const struct stage_request *request, struct error *err);
    int (*unstage)(const struct node_volumes *volumes, struct call *call, const char *handle,
                   const char *staging_path, struct error *err);
    /* Where the volume is staged. FAILED_PRECONDITION unless it is, and works. Caller calls
     * staged_place_done(). */
    int (*find_place)(const struct node_volumes *volumes, struct call *call,
                      const struct publish_request *request, struct staged_place *place,
                      struct error *err);
    /* After the volume was published, or turned out to be; cannot fail. NULL: nothing is to be
     * done. */
    void (*published)(const struct node_volumes *volumes, struct call *call,
                      const struct publish_request *request, const struct staged_place *place);
    /* Whether a mount, of a device if @is_block, is one that this driver may take off. */
    int (*owns_mount)(const struct node_volumes *volumes, const struct mount_entry *entry,
                      bool is_block, bool *owns, struct error *err);
    /* NOT_FOUND unless the volume is at the path. */
    int (*get_stats)(const struct node_volumes *volumes, struct call *call, const char *handle,
                     const char *path, struct volume_stats *stats, struct error *err);
    /* NULL: volumes grow without the node. */
    int (*expand)(const struct node_volumes *volumes, struct call *call,
                  const struct node_expand_request *request, uint64_t *size_bytes,
                  struct error *err);
    /* Of the volume that is staged by @entry, *@handle and *@staging_path, which the caller frees;
     * they stay NULL if there is none. */
    int (*find_staged)(const struct node_volumes *volumes, const struct mount_entry *entry,
                       char **handle, char **staging_path, struct error *err);
    /* Where the driver itself has written down that the volume is staged: *@path, which the caller
     * frees, stays NULL if it has not. NULL: find_staged() finds all of them. */
    int (*recall_path)(const struct node_volumes *volumes, const char *handle, char **path,
                       struct error *err);
    /* Records this node as a client of a volume that is staged. */
    int (*record)(const struct node_volumes *volumes, struct call *call, const char *handle,
                  const char *staging_path, struct error *err);
    /* See node_recover() and node_revive(). */
    void (*recover)(const struct node_volumes *volumes, struct call *call);
    size_t (*revive)(const struct node_volumes *volumes, struct call *call);
    /* See node_refresh(). NULL: nothing can change. */
    void (*refresh)(const struct node_volumes *volumes, struct call *call);
};

extern const struct node_backend RBD_NODE_BACKEND;
extern const struct node_backend CEPHFS_NODE_BACKEND;
