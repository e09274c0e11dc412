#pragma once

#include "controller/begun.h"

/*
 * Request names that this driver has claimed and not completed, and whose makers are dead or do
 * something else. Nobody has their handles. The driver's own retry finishes them; Ceph-CSI refuses
 * them for ever ("omap names mismatch"), because it writes in another order. Before it takes over
 * they are released: image or subvolume, entry and name go. For both backends. One thread.
 */
enum settle_state {
    SETTLE_FOUND,    /* would be released */
    SETTLE_RELEASED, /* is */
    SETTLE_BUSY,     /* a process of the driver is or may be at it; or it was finished meanwhile */
    SETTLE_FAILED,   /* could not be */
    SETTLE_MOVABLE,  /* complete, but Ceph-CSI from 3.11 on does not find the name */
    SETTLE_MOVED,    /* now it does */
};

struct settle_name {
    enum journal_kind kind;
    enum settle_state state;
    char *cluster_id;
    char *pool; /* that has the name */
    char *name; /* of the request */
    char *what; /* the image or subvolume; "" while there is nothing but the name */
    char *remark;
};

struct settle_report {
    struct settle_name *names;
    size_t count;
    size_t looked;  /* names in all */
    size_t foreign; /* begun by Ceph-CSI and incomplete, as far as the entries show: left alone */
};

struct settle_options {
    const char *cluster_id;
    const struct credentials *credentials;
    const struct string_list *pools; /* empty: all that may have a journal */
    bool apply;                      /* without it nothing is written */
    bool moves_names; /* RBD: also names that are in another pool than their volume */
};

/*
 * Goes over the names of one cluster and adds those that are not as Ceph-CSI wants them to @report.
 * What fails with one name is its remark, and the others are looked at all the same. The data of
 * images that are removed is left to a task, as DeleteVolume does it. Caller calls
 * settle_report_done(), also after a failure.
 */
_must_check_ int settle_names(const struct controller *controller, struct call *call,
                              const struct settle_options *options, struct settle_report *report,
                              struct error *err);

/*
 * Releases a name that leads to @begun->entry->uuid, which is not written, unless a process of the
 * driver is about to write it; when it was written meanwhile the name is put back. @begun->pool may
 * be NULL: gone. 3 RT.
 */
_must_check_ int settle_unwritten(const struct begun *begun, const char *request_name,
                                  int64_t image_pool_id, bool *released, struct error *err);

/* "would be released" */
const char *settle_state_text(enum settle_state state);
void settle_report_done(struct settle_report *report);
#define _cleanup_settle_report_ _cleanup_(settle_report_done)
