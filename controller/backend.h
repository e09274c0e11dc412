#pragma once

#include "common/usage/class_pools.h"
#include "common/usage/usage_cache.h"
#include "controller/creation.h"
#include "controller/snapshot_steps.h"

/* What an expansion has done. */
struct growth {
    uint64_t size_bytes; /* afterwards */
    uint64_t more_bytes; /* than before; 0: it was as large already */
};

/* Volumes that no journal knows, migrated from a driver inside Kubernetes. */
struct migrated_steps {
    bool (*owns_handle)(const char *handle);
    /* NOT_FOUND if the handle leads nowhere; a volume that is gone is success. */
    int (*discard)(const struct controller *controller, struct call *call,
                   const struct handle_request *request, struct error *err);
    int (*grow)(const struct controller *controller, struct call *call,
                const struct expand_request *request, uint64_t wanted, struct growth *growth,
                struct error *err);
};

/*
 * What RBD and CephFS do in ways of their own. The rpcs themselves - checks, locks, look-ups,
 * listings, reservations - are the same for both and end in one of these functions. All may block;
 * any thread; all are repeatable.
 */
struct controller_backend {
    const char *type; /* "rbd", "cephfs" */
    /* Volumes of Kubernetes' own driver, and cluster-mapping.json; NULL if there are none. */
    const struct migrated_steps *migrated;
    uint64_t smallest_volume; /* bytes */
    bool group_lists_sources; /* a group's entry has SOURCE -> SNAPSHOT, not SNAPSHOT -> NAME */

    /* What a class says about places; see class_pools.h. */
    int (*parse_pools)(const struct strmap *parameters, struct class_pools *pools,
                       struct error *err);

    /* --- volumes --- */

    const struct creation_steps *creation; /* see creation.h */
    /* Removes what the entry stands for, then name and entry. */
    int (*discard_volume)(const struct controller *controller, struct call *call,
                          struct located *located, const struct credentials *credentials,
                          struct error *err);
    int (*choose_size)(const struct capacity_range *range, uint64_t *size_bytes, struct error *err);
    /* One that is as large already stays as it is. */
    int (*grow_volume)(struct call *call, struct located *located, uint64_t wanted,
                       struct growth *growth, struct error *err);
    /* The pool whose space the volume takes, borrowed from @located; false if it is not known. */
    bool (*find_usage_pool)(const struct located *located, struct usage_pool *pool);
    /* What a VolumeAttributesClass may say. INVALID_ARGUMENT. NULL: there is nothing to modify. */
    int (*check_mutable)(const struct strmap *parameters, struct error *err);
    /* Makes the volume as the class, which was checked, says; what it does not mention is lifted.
     */
    int (*modify_volume)(struct call *call, struct located *located,
                         const struct strmap *parameters, struct error *err);
    /* Metadata of the volume, with which nodes write who they are (client_keys.h); it is the
     * snapshot's where a volume shows one. NOT_FOUND if there is nothing behind the entry. */
    int (*get_metadata)(struct call *call, struct located *located, struct strmap *metadata,
                        struct error *err);
    /* Entries first. A key that is to be removed and is not there is success. */
    int (*change_metadata)(struct call *call, struct located *located, const struct strmap *entries,
                           const struct string_list *removed, struct error *err);
    /* Frees what an unused volume holds without need; one that is in use stays as it is, and *@used
     * is true. NULL: there is no such thing. */
    int (*reclaim_space)(struct call *call, struct located *located, bool *used, struct error *err);
    /* Whether a node must act after its volume has grown. */
    bool (*needs_node_expansion)(const struct volume_capability *capability);
    /* Size and condition: one that is missing is abnormal. @with_context: and what a node needs. */
    int (*examine_volume)(struct call *call, struct located *located, bool with_context,
                          struct volume_state *state, struct error *err);
    /* NOT_FOUND unless what the entry stands for is there. */
    int (*check_volume)(struct call *call, struct located *located, struct error *err);
    int (*check_capabilities)(const struct capability_list *list, struct error *err);

    /* --- snapshots: see snapshot_steps.h --- */

    /* Checks what a snapshot's name is made of. INVALID_ARGUMENT. */
    int (*check_snapshot_class)(const struct strmap *parameters, struct error *err);
    /* What must hold before a snapshot is begun. */
    int (*prepare_snapshot)(struct snapshot_work *work, struct error *err);
    /* Makes the snapshot, unless it is there, and commits it. With @takes_source
     * the snapshot of the source is taken too; without it snapshot_together() has taken it. */
    int (*build_snapshot)(struct snapshot_work *work, bool takes_source, struct error *err);
    /* Fills the answer of the rpc. */
    int (*describe_snapshot)(struct snapshot_work *work, struct snapshot *snapshot,
                             struct error *err);
    /* Removes what there is of a snapshot that could not be made, its entry and its name, by which
     * the next try finds what could not be removed. Logs a failure. */
    void (*give_up_snapshot)(struct snapshot_work *work);
    int (*discard_snapshot)(const struct controller *controller, struct call *call,
                            struct located *located, const struct credentials *credentials,
                            struct error *err);
    /* NOT_FOUND if there is nothing behind the entry. With @credentials, which may be NULL, what a
     * snapshot lacks to be ready is begun again if need be: the caller may be waiting for it. */
    int (*read_snapshot)(const struct controller *controller, struct call *call,
                         struct located *located, const struct credentials *credentials,
                         struct snapshot *snapshot, struct error *err);
    /* Takes the snapshots of all sources of @works at one moment, which is put into *@moment.
     * What an earlier try has taken is dropped first. */
    int (*snapshot_together)(struct snapshot_work *const *works, size_t count,
                             struct timespec *moment, struct error *err);

    /* --- the journal --- */

    /* Opens the pool with the journal that the location in the handle leads to: located->pool. The
     * session is open. NOT_FOUND if the location is gone. */
    int (*open_location)(const struct controller *controller, struct call *call,
                         const struct credentials *credentials, struct located *located,
                         struct error *err);
    /* The places of a cluster that may have a journal, in an order that stays the same. */
    int (*list_locations)(const struct controller *controller, struct call *call,
                          struct session *session, struct location_list *locations,
                          struct error *err);
    /* The RADOS namespace of the journal. */
    const char *(*journal_namespace)(const struct controller *controller,
                                     const struct session *session);
    /* Whether creation of what the entry stands for has completed, as far as the entry shows. */
    bool (*entry_is_complete)(const struct journal_entry *entry);
};

extern const struct controller_backend RBD_BACKEND;
extern const struct controller_backend CEPHFS_BACKEND;

/* That of the controller; RBD if none is set. */
const struct controller_backend *controller_backend(const struct controller *controller);
