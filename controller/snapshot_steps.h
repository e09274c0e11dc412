#pragma once

#include "controller/begun.h"
#include "controller/lookup.h"

/*
 * A snapshot on its way: what single and group snapshots of both backends share. Its journal entry
 * is in the source's pool. All steps are repeatable; those that make it are in backend.h.
 */
struct snapshot_work {
    const struct controller *controller;
    struct call *call;
    const struct credentials *credentials;
    struct located *source;
    const struct strmap *parameters; /* of the snapshot class, for metadata */
    struct journal journal;
    struct journal_entry entry; /* of the snapshot; owned */
    bool source_is_thin;    /* RBD: the source is to become a copy, and still needs another pool */
    bool is_same;           /* the entry is that of this request, whoever wrote it */
    struct ceph_work *work; /* tells others that this call is at it; owned, may be NULL */
};

/* Who makes the entry. Borrows from @work. */
struct begun snapshot_begun(struct snapshot_work *work);

/* Claims the snapshot's name in the source's pool and writes its entry, or finds them.
 * ALREADY_EXISTS if the name belongs to a snapshot of another volume. @group_handle may be NULL. */
_must_check_ int snapshot_reserve(struct snapshot_work *work, const char *name,
                                  const char *name_prefix, const char *group_handle, bool *fresh,
                                  struct error *err);
void snapshot_work_done(struct snapshot_work *work);

/* The handle of a snapshot's source, "" if it is not known: Ceph-CSI's snapshots have only the name
 * of what they were taken from, with its uuid at the end. */
void snapshot_format_source(const struct located *located, char *handle);

/* The handle of something in the same place as @like. */
void handle_format(const struct volume_id *like, const struct uuid_text *uuid, char *handle);
