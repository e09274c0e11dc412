#pragma once

#include "common/ceph/subvolume.h"

/*
 * Inside common/ceph: what subvolume.h promises, by libcephfs instead of commands to the manager,
 * where that is safe beside a manager that works on the same subvolumes, and the user may.
 *
 * Each returns 0, -1, or LEFT_TO_MANAGER, with nothing done and no error set: the cluster is not to
 * be used so, the subvolume is of a kind that only the manager knows or in a state that only the
 * manager ends, or the user lacks rights (with CEPHFS_DIRECT that is PERMISSION_DENIED instead).
 * Metadata servers that do not answer are no reason to ask the manager, who waits for the same.
 */
#define LEFT_TO_MANAGER 1

_must_check_ int direct_get_facts(const struct subvolume_group *group, struct call *call,
                                  const char *name, struct subvolume_facts *facts,
                                  struct error *err);
_must_check_ int direct_get_metadata(const struct subvolume_group *group, struct call *call,
                                     const char *name, const char *snapshot, struct strmap *entries,
                                     struct error *err);
_must_check_ int direct_resize(const struct subvolume_group *group, struct call *call,
                               const char *name, uint64_t size_bytes, struct error *err);
_must_check_ int direct_snapshot_create(const struct subvolume_group *group, struct call *call,
                                        const char *name, const char *snapshot, struct error *err);
_must_check_ int direct_snapshot_get_facts(const struct subvolume_group *group, struct call *call,
                                           const char *name, const char *snapshot,
                                           struct subvolume_snapshot_facts *facts,
                                           struct error *err);
/* 0 for a copy that has ended well. Anything else is the manager's to say: it may be about to begin
 * one. */
_must_check_ int direct_clone_is_complete(const struct subvolume_group *group, struct call *call,
                                          const char *name, struct error *err);
