#pragma once

#include "common/ceph/journal.h"

/* The claim of a request name, by both backends. All borrowed. */
struct name_claim {
    const struct journal *journal;
    struct call *call;
    struct ceph_pool *directory;
    const char *name;
    int64_t pool_id; /* where a new volume would be */
    /* Goes to the pool that the name leads to; NOT_FOUND if there is none. */
    int (*follow)(void *object, int64_t pool_id, struct error *err);
    void *object;
};

/*
 * Claims the name for a new volume or finds whose it is, and goes there. A name that leads to a
 * pool which is gone means nothing any more: it is freed and claimed again, once.
 */
_must_check_ int name_claim(const struct name_claim *claim, struct journal_ref *ref, bool *fresh,
                            struct error *err);
