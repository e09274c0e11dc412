#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/ceph/ceph_ops.h"

/*
 * CephFS subvolumes, through commands to the manager. Any thread; each function is one command
 * unless said. The manager executes one command after the other, so that commands of many calls
 * wait for each other there; ceph.c limits their number.
 *
 * Functions marked as direct need no manager unless the cluster's cephfs_path says so: they ask the
 * metadata servers, and the manager only about subvolumes of a kind that it alone knows, or where
 * the user's rights do not suffice.
 *
 * Errors: NOT_FOUND when subvolume or snapshot are missing, FAILED_PRECONDITION when the subvolume
 * group is (with the command that creates it) or snapshots are in the way, ABORTED when Ceph says
 * to try later (EAGAIN).
 */

/* Where subvolumes are. All borrowed. */
struct subvolume_group {
    struct ceph_cluster *cluster;
    const char *fs_name;
    const char *name; /* "" for none */
};

struct subvolume_facts {
    char *path;          /* NULL: deleted, and kept for its snapshots only */
    uint64_t size_bytes; /* 0: no quota */
    char *data_pool;
};

/* @data_pool may be NULL; @size_bytes 0 for no quota. One that is there gets this quota. */
_must_check_ int subvolume_create(const struct subvolume_group *group, struct call *call,
                                  const char *name, uint64_t size_bytes, const char *data_pool,
                                  struct error *err);
/* Direct. Caller calls subvolume_facts_done(). */
_must_check_ int subvolume_get_facts(const struct subvolume_group *group, struct call *call,
                                     const char *name, struct subvolume_facts *facts,
                                     struct error *err);
void subvolume_facts_done(struct subvolume_facts *facts);
#define _cleanup_subvolume_facts_ _cleanup_(subvolume_facts_done)

/* Direct. Never below what is used. */
_must_check_ int subvolume_resize(const struct subvolume_group *group, struct call *call,
                                  const char *name, uint64_t size_bytes, struct error *err);
/* Missing is success. Snapshots stay, and keep the rest of it, where Ceph can do that;
 * FAILED_PRECONDITION where it cannot. A clone that failed goes as well; ABORTED for one that is
 * in progress. 1 command, 2 in these cases. */
_must_check_ int subvolume_remove(const struct subvolume_group *group, struct call *call,
                                  const char *name, struct error *err);
/* Of the subvolume, or of @snapshot if that is not NULL. A cluster whose manager is too old to keep
 * metadata is success. 1 command per entry. */
_must_check_ int subvolume_set_metadata(const struct subvolume_group *group, struct call *call,
                                        const char *name, const char *snapshot,
                                        const struct strmap *entries, struct error *err);
/* Direct. All of it, added to @entries; nothing where the manager is too old to keep any. */
_must_check_ int subvolume_get_metadata(const struct subvolume_group *group, struct call *call,
                                        const char *name, const char *snapshot,
                                        struct strmap *entries, struct error *err);
/* A key that is not there is success, as is a manager that is too old. 1 command per key. */
_must_check_ int subvolume_remove_metadata(const struct subvolume_group *group, struct call *call,
                                           const char *name, const char *snapshot,
                                           const struct string_list *keys, struct error *err);

/* --- snapshots --- */

struct subvolume_snapshot_facts {
    struct timespec created;
    bool has_pending_clones;
    /* marks of copies that have ended; of a manager at work there is one for a moment */
    unsigned orphan_clones;
};

/* Direct. One that is there is success. */
_must_check_ int subvolume_snapshot_create(const struct subvolume_group *group, struct call *call,
                                           const char *name, const char *snapshot,
                                           struct error *err);
/* Missing is success, also of the whole subvolume. ABORTED while it is being cloned. */
_must_check_ int subvolume_snapshot_remove(const struct subvolume_group *group, struct call *call,
                                           const char *name, const char *snapshot,
                                           struct error *err);
/* Direct, unless the snapshot is being cloned. */
_must_check_ int subvolume_snapshot_get_facts(const struct subvolume_group *group,
                                              struct call *call, const char *name,
                                              const char *snapshot,
                                              struct subvolume_snapshot_facts *facts,
                                              struct error *err);

/* --- clones: the manager copies in the background --- */

/* CLONE_QUEUED: the manager has not begun to copy. CLONE_NO_COPY: there is a subvolume, and it is
 * no clone. So a manager leaves it that dies when it has just begun: the next takes the bare
 * directory for a subvolume of an old kind. */
enum clone_state {
    CLONE_NONE,
    CLONE_QUEUED,
    CLONE_PENDING,
    CLONE_COMPLETE,
    CLONE_FAILED,
    CLONE_NO_COPY
};

struct clone_status {
    enum clone_state state;
    char *words; /* Ceph's own: "in-progress, 41% cloned", "failed: No space left"; owned */
};

/* Begins to copy @snapshot of @name to the new subvolume @target in the same group. ALREADY_EXISTS
 * if that is there. */
_must_check_ int subvolume_clone(const struct subvolume_group *group, struct call *call,
                                 const char *name, const char *snapshot,
                                 const struct subvolume_group *target_group, const char *target,
                                 const char *data_pool, struct error *err);
/* Direct for a clone that is complete. CLONE_NONE when there is no such subvolume. Caller calls
 * clone_status_done(). */
_must_check_ int subvolume_clone_status(const struct subvolume_group *group, struct call *call,
                                        const char *name, struct clone_status *status,
                                        struct error *err);
void clone_status_done(struct clone_status *status);
/*
 * Stops the copy; one that has ended is success. *@is_lost says that the subvolume waits for a copy
 * of which the manager knows nothing: the one that was asked for it died before it had noted the
 * copy. Such a subvolume waits for ever, and Ceph has no command that removes it. 1 command, 2 if
 * Ceph refuses.
 */
_must_check_ int subvolume_clone_cancel(const struct subvolume_group *group, struct call *call,
                                        const char *name, bool *is_lost, struct error *err);

/* --- quiesce: nobody writes to the members while it holds --- */

enum quiesce_state { QUIESCE_PENDING, QUIESCE_HOLDS, QUIESCE_RELEASED, QUIESCE_OVER };

/* Begins (@members not NULL), or asks how far it is. It ends by itself after @seconds.
 * FAILED_PRECONDITION, naming the release, where Ceph does not have it. */
_must_check_ int subvolume_quiesce(const struct subvolume_group *group, struct call *call,
                                   const char *set_id, const struct string_list *members,
                                   int seconds, enum quiesce_state *state, struct error *err);
/* Lets them write again. QUIESCE_RELEASED only if it held until now. */
_must_check_ int subvolume_quiesce_release(const struct subvolume_group *group, struct call *call,
                                           const char *set_id, enum quiesce_state *state,
                                           struct error *err);
/* Ends it, whatever its state; one that is not known is success. */
_must_check_ int subvolume_quiesce_cancel(const struct subvolume_group *group, struct call *call,
                                          const char *set_id, struct error *err);
