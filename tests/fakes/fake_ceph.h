#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/text.h"
#include "common/ceph/ceph_ops.h"

/*
 * A Ceph cluster in memory behind struct ceph_ops, for tests of operations of several steps. It
 * behaves as librados and librbd 16.2 do, as far as the operations show it, and can fail any call
 * or cut the process off at any call.
 *
 * One fake is one cluster, whatever target a connection names. Any thread may call everything here
 * and every operation: one mutex protects all, and is not held while a callback of the test runs.
 *
 * A fail-the-nth-call test:
 *
 *   for (unsigned n = 1;; n++) {
 *       struct fake_ceph *fake = ...;
 *       fake_ceph_fail_call(fake, n, FAKE_CRASH_AFTER);
 *       run(fake);
 *       bool over = fake_ceph_fault_is_pending(fake);
 *       fake_ceph_recover(fake);
 *       run(fake); and compare fake_ceph_dump_normalised() with that of an undisturbed run
 *       if (over)
 *           break;
 *   }
 */
struct fake_ceph;

#define FAKE_CEPH_FSID "f5a1d000-0000-4000-8000-00000000f51d"

struct fake_ceph *fake_ceph_new(void);
/* Everything opened through it must have been closed. */
void fake_ceph_free(struct fake_ceph *fake);
DEFINE_CLEANUP(struct fake_ceph, fake_ceph_free)
#define _cleanup_fake_ceph_ _cleanup_(fake_ceph_freep)

/* The process under test: its calls are counted, and faults strike it. Borrowed. */
struct ceph *fake_ceph_as_ceph(struct fake_ceph *fake);
/* Another client of the same cluster, whose calls are not counted and never struck: to set up and
 * inspect, to race with the process, or to play the manager's part in a command. Borrowed. */
struct ceph *fake_ceph_as_other(struct fake_ceph *fake);

void fake_ceph_add_pool(struct fake_ceph *fake, const char *name, int64_t id);
/* As "rbd namespace create": without it images cannot be made there (FAILED_PRECONDITION); objects
 * can. */
void fake_ceph_add_namespace(struct fake_ceph *fake, const char *pool, const char *rados_namespace);

/* Connections fail with @status until it is set to STATUS_OK: UNAUTHENTICATED is a wrong key,
 * DEADLINE_EXCEEDED are monitors that do not answer. */
void fake_ceph_refuse_connect(struct fake_ceph *fake, enum status status);

/* From now on only this key (borrowed) is good for a connection; NULL: any. */
void fake_ceph_rotate_key(struct fake_ceph *fake, const char *key);

/* Clusters, pools and holds opened and not closed yet, by both clients. */
unsigned fake_ceph_open_handles(struct fake_ceph *fake);

/* --- faults --- */

enum fake_failure {
    FAKE_FAIL_BEFORE,  /* INTERNAL (EIO); nothing was done */
    FAKE_FAIL_AFTER,   /* done, but the reply is lost: DEADLINE_EXCEEDED (ETIMEDOUT) */
    FAKE_CRASH_BEFORE, /* the process dies before the call takes effect */
    FAKE_CRASH_AFTER,  /* the process dies when the call has taken effect */
};

/*
 * Lets the @n-th counted call from now (1 is the next) fail, once. Replaces a fault set earlier.
 *
 * After a crash every operation of the process under test fails with CANCELLED (ECONNABORTED) and
 * does nothing, so that its clean-up code is as powerless as after a SIGKILL; its holds are gone.
 * fake_ceph_recover() starts the process again.
 */
void fake_ceph_fail_call(struct fake_ceph *fake, unsigned n, enum fake_failure failure);
/* As FAKE_FAIL_BEFORE, with this errno instead of EIO. */
void fake_ceph_fail_call_with(struct fake_ceph *fake, unsigned n, int negative_errno);
/* Whether a fault is set that has not struck yet: the run had fewer calls. */
bool fake_ceph_fault_is_pending(struct fake_ceph *fake);
/* How many faults have struck so far: their calls were told of a failure. */
unsigned fake_ceph_faults(struct fake_ceph *fake);
bool fake_ceph_has_crashed(struct fake_ceph *fake);
/* Ends a crash and drops a fault that has not struck. Open pools can be used again. */
void fake_ceph_recover(struct fake_ceph *fake);

/*
 * Counted calls so far. Counted is every operation that can fail, except connect, fsid, pool_open,
 * pool_open_by_id and pool_list, which count only after fake_ceph_count_connections(). Calls after
 * a crash, and calls refused because their struct call is cancelled or late, are not counted.
 */
unsigned fake_ceph_calls(struct fake_ceph *fake);
void fake_ceph_reset_calls(struct fake_ceph *fake);
void fake_ceph_count_connections(struct fake_ceph *fake, bool counted);

/*
 * Lets @interrupt run just before the process under test next calls @operation, once: as another
 * client that is faster. The operation's own effect comes after it.
 */
typedef void (*fake_ceph_interrupt)(void *object);
void fake_ceph_interrupt_before(struct fake_ceph *fake, const char *operation,
                                fake_ceph_interrupt interrupt, void *object);

/* --- commands --- */

/*
 * Answers a command. Returns 0 and the answer in @reply, or a negative errno and the cluster's
 * words in @reply. May use the cluster as fake_ceph_as_other() while it runs.
 */
typedef int (*fake_ceph_command)(void *object, const char *command, struct text *reply);

/* Without them a command fails with EINVAL and "No handler found". NULL takes them away. */
void fake_ceph_answer_mon(struct fake_ceph *fake, fake_ceph_command answer, void *object);
void fake_ceph_answer_mgr(struct fake_ceph *fake, fake_ceph_command answer, void *object);

/* --- CephFS by libcephfs, with the file systems of fake_ceph_subvolumes.h --- */

/* Connections made from now on have it. CEPHFS_BY_MANAGER at first. */
void fake_ceph_set_cephfs_path(struct fake_ceph *fake, enum cephfs_path path);
/* The user may not look at files, or the metadata servers are away: every request fails so. 0: not
 * any more. */
void fake_ceph_refuse_files(struct fake_ceph *fake, int negative_errno);

/* --- what other clients do --- */

/* @pool is "POOL" or "POOL/NAMESPACE"; pool and image must exist. */

/* One more client has the image open; NULL: nobody any more. */
void fake_ceph_set_watcher(struct fake_ceph *fake, const char *pool, const char *image,
                           const char *address);
/* librbd was interrupted while it made or removed the image: it is listed, and cannot be opened. */
void fake_ceph_cut_image(struct fake_ceph *fake, const char *pool, const char *image);
/* It was interrupted later: the image can be opened, and its object map is missing. */
void fake_ceph_cut_object_map(struct fake_ceph *fake, const char *pool, const char *image);
/* The other client does not answer those who ask what it is at work on, though Ceph still knows
 * it. */
void fake_ceph_silence_other(struct fake_ceph *fake, bool is_silent);
/* The other client dies, and Ceph knows it. */
void fake_ceph_kill_other(struct fake_ceph *fake);
/* One more client has locked it by hand; NULL: nobody any more. */
void fake_ceph_set_locker(struct fake_ceph *fake, const char *pool, const char *image,
                          const char *locker);
/* Somebody moves the image to the trash, to be kept there until @until; called again: he changes
 * the time. */
void fake_ceph_trash_until(struct fake_ceph *fake, const char *pool, const char *image,
                           time_t until);
/* Removing the image from the trash fails with this errno; 0: not any more. */
void fake_ceph_refuse_removal(struct fake_ceph *fake, const char *pool, const char *image,
                              int negative_errno);
/* It is mirrored from here, or is the copy of one elsewhere, with the snapshot that belongs to it.
 */
void fake_ceph_mirror(struct fake_ceph *fake, const char *pool, const char *image, bool is_primary);
/* Whether another cluster would have to give it up before it is promoted here. */
void fake_ceph_set_primary_elsewhere(struct fake_ceph *fake, const char *pool, const char *image,
                                     bool is_primary_elsewhere);
/* What the daemons say about it. */
void fake_ceph_set_sites(struct fake_ceph *fake, const char *pool, const char *image,
                         const struct mirror_site *sites, size_t count);
/* Something has been written to the image's data. */
void fake_ceph_set_data(struct fake_ceph *fake, const char *pool, const char *image);
bool fake_ceph_has_data(struct fake_ceph *fake, const char *pool, const char *image);
/* A snapshot in a namespace that struct ceph_ops cannot make: SNAPSHOT_GROUP, SNAPSHOT_OTHER. */
void fake_ceph_add_snapshot(struct fake_ceph *fake, const char *pool, const char *image,
                            const char *snapshot, enum snapshot_namespace kind);

/* --- inspection --- */

/*
 * Appends everything the cluster holds, one fact per line, sorted: pools, objects with omaps,
 * images with metadata, snapshots, parents and watchers, trash. Times, snapshot ids and the ids of
 * clients (JOURNAL_KEY_MAKERS) are left out: they depend on what was tried before.
 */
void fake_ceph_dump(struct fake_ceph *fake, struct text *out);

/* What another part of the fake adds to the dump: lines, in any order. */
typedef void (*fake_ceph_dump_more)(void *object, struct string_list *lines);
void fake_ceph_set_dump(struct fake_ceph *fake, fake_ceph_dump_more more, void *object);

/*
 * The same with each distinct uuid replaced by u1, u2, ... and each image id by i1, i2, ..., sorted
 * again. Numbers are given by what the lines say, not by the order of the random values, so that
 * two clusters that differ in these values alone give the same text.
 */
void fake_ceph_dump_normalised(struct fake_ceph *fake, struct text *out);
