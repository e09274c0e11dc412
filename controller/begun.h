#pragma once

#include "controller/controller.h"

/*
 * Who is making a volume or snapshot: kept in its journal entry until it is complete, so that what
 * an interrupted call left is distinguished from what another process is making now. A process
 * writes the id by which Ceph knows it, and answers those who ask whether it is still at it
 * (work_begin() in ceph_ops.h); one that died does not answer, and after some seconds Ceph knows.
 *
 * An entry without such an id was begun by an older driver: what that makes is its own for a
 * minute.
 */
struct begun {
    const struct controller *controller;
    struct call *call;
    const struct journal *journal;
    struct ceph_pool *directory; /* has the request name; its directory is where makers are asked */
    struct ceph_pool *pool;      /* has the entry */
    struct journal_entry *entry;
};

/* This call is at it from now on, until *@work is ended. Without @err: if it fails, which is
 * logged, *@work stays NULL, and others go by the time. */
void begun_start(const struct begun *begun, struct ceph_work **work);

/* Puts into a new entry, which is not written yet, who begins it now. */
void begun_write(const struct begun *begun, const struct ceph_work *work);

/* Whether this driver, not Ceph-CSI, began. */
bool begun_is_written(const struct strmap *extra);

/*
 * Adds this process to those that may be making what an incomplete entry stands for, so that others
 * ask it as well. Nobody is asked: both may go on as long as they only add what is missing. ABORTED
 * if yet another process does the same now. 1 RT, none if the entry has it already.
 */
_must_check_ int begun_join(const struct begun *begun, const struct ceph_work *work,
                            struct error *err);

/*
 * To be called before anything is removed of what an incomplete entry stands for: ABORTED, with
 * what the other is doing, while another process is or may be at it. From then on it is this one's.
 * No RT while no other was at it; else that of work_ask(), and one more.
 */
_must_check_ int begun_take_over(const struct begun *begun, const struct ceph_work *work,
                                 struct error *err);

/* Whether another process is or may be making what @begun->entry stands for; its controller need
 * not be set. An entry that is not written yet has a uuid alone. */
_must_check_ int begun_is_busy(const struct begun *begun, bool *busy, struct error *err);

/*
 * For a call that continues what an earlier one began and failed for good, with @status: whether it
 * may undo that. True if this driver began it, it is not complete, so that nobody has its handle,
 * and no other process is at it; begun_take_over() has been done then. False if the failure says
 * that it is another request's. An entry that is not written yet has a uuid alone. Logs why not.
 */
bool begun_is_abandoned(const struct begun *begun, const struct ceph_work *work,
                        enum status status);
