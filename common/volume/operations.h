#pragma once

#include "common/base/call.h"
#include "common/base/error.h"

/*
 * The operations in progress, by key: a request name, a volume handle, a snapshot handle. One owner
 * per key; a second call does not wait but fails with what the first is doing and since when, so
 * that the log of the retrying sidecar shows the operator where the time goes.
 *
 * Any thread. Cost: one hash lookup under a mutex that is never held over I/O.
 */
struct operations;

struct operations *operations_new(void);
/* No operation may be in progress. */
void operations_free(struct operations *operations);
DEFINE_CLEANUP(struct operations, operations_free)

/* Ownership of a key; release with operation_end(). Zero-initialise. */
struct operation {
    struct operations *operations;
    struct operation_entry *entry;
};

/*
 * Makes @call the owner of @name until operation_end(). Busy: ABORTED with "CreateVolume 'pvc-1'
 * has been waiting 12 s for the monitors of cluster 'c1'; retry when it has ended". @call must
 * outlive the operation.
 *
 * Names of different kinds ("name", "volume") are different keys. Where a call needs two, take them
 * in the order source volume, snapshot, target.
 */
_must_check_ int operation_begin(struct operations *operations, const char *kind, const char *name,
                                 struct call *call, struct operation *operation, struct error *err);
/* As operation_begin(), but several calls may share the key; only an owner keeps them out, and they
 * keep out an owner. For sources of clones and snapshots. */
_must_check_ int operation_begin_shared(struct operations *operations, const char *kind,
                                        const char *name, struct call *call,
                                        struct operation *operation, struct error *err);
/* Safe on a zeroed or already ended operation. */
void operation_end(struct operation *operation);

#define _cleanup_operation_ _cleanup_(operation_end)
