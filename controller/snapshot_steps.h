#pragma once

#include "controller/flatten.h"
#include "controller/lookup.h"

/*
 * A CSI snapshot is an image of its own, N, cloned from a cut S@N of the source volume, with a
 * snapshot N@N on it to restore from; S@N goes as soon as N exists. The steps after the cut, which
 * single and group snapshots share. All are repeatable.
 */
struct snapshot_work {
    const struct controller *controller;
    struct call *call;
    const struct credentials *credentials;
    struct located *source;
    const struct strmap *parameters; /* of the snapshot class, for metadata */
    struct journal journal;
    struct journal_entry entry; /* of the snapshot; owned */
};

/* Claims the snapshot's name in the source's pool and writes its entry, or finds them.
 * ALREADY_EXISTS if the name belongs to a snapshot of another volume. @group_handle may be NULL. */
_must_check_ int snapshot_reserve(struct snapshot_work *work, const char *name,
                                  const char *name_prefix, const char *group_handle, bool *fresh,
                                  struct error *err);
/* Makes N from S@N, unless it is there, and all the rest. With @cut S@N is made too; without it, it
 * must exist as long as N does not. */
_must_check_ int snapshot_build(struct snapshot_work *work, bool cut, struct error *err);
/* Fills what the caller of the rpc is told. */
_must_check_ int snapshot_describe(struct snapshot_work *work, struct snapshot *snapshot,
                                   struct error *err);
/* Removes name and entry of a snapshot that could not be made. Logs a failure. */
void snapshot_give_up(struct snapshot_work *work);
void snapshot_work_done(struct snapshot_work *work);

/* Discards the snapshot's image and gives its name back. */
_must_check_ int snapshot_discard(const struct controller *controller, struct call *call,
                                  struct located *snapshot, const struct credentials *credentials,
                                  struct error *err);

/* What is known of a snapshot found by its handle: opens the image. */
_must_check_ int snapshot_read(struct call *call, struct located *located,
                               struct snapshot *snapshot, struct error *err);

/* The handle of something in @pool of the same cluster as @like. */
void handle_format(const struct volume_id *like, const struct ceph_pool *pool,
                   const struct uuid_text *uuid, char *handle);
