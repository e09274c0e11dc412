#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/ceph/ceph_ops.h"
#include "common/encoding/uuid.h"

/*
 * The journal: which request name became which image. Two kinds of RADOS objects, byte for byte
 * those of Ceph-CSI (on_disk.h has all keys):
 *
 *   csi.volumes.INSTANCE   directory: omap key csi.volume.NAME -> UUID, or POOLID/UUID when the
 *                          image is in another pool than the directory
 *   csi.volume.UUID        attributes: csi.volname, csi.imagename, csi.imageid, ...
 *
 * (csi.snaps, csi.snap, csi.snapname for snapshots; csi.groups, csi.volume.group for groups.)
 *
 * Order of writing, so that a crash anywhere leaves nothing that a retry does not find: directory
 * key first, guarded so that of two processes one wins; then the object with all attributes in one
 * step; then the image; then its id. Removal: the image, the directory key, the object. At each
 * point the retry, which knows the name (create) or the uuid (delete), can reach what is left.
 *
 * A look-up by name or by uuid reads single keys: its cost does not depend on how many there are.
 * Any thread; pools belong to the caller.
 */
enum journal_kind { JOURNAL_VOLUME, JOURNAL_SNAPSHOT, JOURNAL_GROUP };

struct journal {
    enum journal_kind kind;
    const char *instance; /* --instanceid; borrowed */
};

/* Where a request name leads. */
struct journal_ref {
    struct uuid_text uuid;
    int64_t image_pool_id;
};

/* What the object of a uuid says. Strings are owned; NULL where the attribute is absent. */
struct journal_entry {
    struct uuid_text uuid;
    char *request_name;
    char *image_name;
    char *image_id;
    char *source; /* snapshots: image name of the source volume */
    char *owner;
    char *kms_id;
    char *encryption_type;
    char *group_id;          /* snapshots: handle of the group snapshot they belong to */
    int64_t journal_pool_id; /* of the directory; -1 when it is the image's own pool */
    struct strmap extra;     /* every other key: ours, which Ceph-CSI never looks at, and the
                                members of groups */
};

/* *@found is false when there is no such name. A value that is neither form is DATA_LOSS. 1 RT. */
_must_check_ int journal_find(const struct journal *journal, struct call *call,
                              struct ceph_pool *directory, const char *request_name,
                              struct journal_ref *ref, bool *found, struct error *err);

/*
 * Looks for a name in the directories of several pools at once; *@index is the pool that has it, -1
 * if none does. UNAVAILABLE naming a pool that does not answer in @patience_ms; with a patience
 * below 0 the call's deadline counts. 1 RT in all.
 */
_must_check_ int journal_find_in_pools(const struct journal *journal, struct call *call,
                                       struct ceph_pool *const *directories, size_t count,
                                       const char *request_name, int64_t patience_ms,
                                       struct journal_ref *ref, ssize_t *index, struct error *err);

/* Reads the object of @uuid. *@found is false when there is none. Caller calls
 * journal_entry_done(). 1 RT. */
_must_check_ int journal_read(const struct journal *journal, struct call *call,
                              struct ceph_pool *pool, const struct uuid_text *uuid,
                              struct journal_entry *entry, bool *found, struct error *err);

/*
 * Claims @request_name for a new uuid in @image_pool, or finds who has claimed it: *@ref is what
 * the directory says afterwards. 1 RT, 2 when it was taken.
 */
_must_check_ int journal_claim(const struct journal *journal, struct call *call,
                               struct ceph_pool *directory, const char *request_name,
                               int64_t image_pool_id, struct journal_ref *ref, bool *fresh,
                               struct error *err);

/* Claims @request_name for a uuid that is known, as that of a volume which lost its name. ABORTED
 * if somebody has claimed it meanwhile. 1 RT. */
_must_check_ int journal_claim_for(const struct journal *journal, struct call *call,
                                   struct ceph_pool *directory, const char *request_name,
                                   const struct journal_ref *ref, struct error *err);

/* Writes the object of @entry with all its attributes; ALREADY_EXISTS when it is there. 1 RT. */
_must_check_ int journal_write(const struct journal *journal, struct call *call,
                               struct ceph_pool *pool, const struct journal_entry *entry,
                               struct error *err);

/* The same for an object that is there without attributes: Ceph-CSI creates it first, fills it
 * later and can be interrupted in between. 1 RT. */
_must_check_ int journal_fill(const struct journal *journal, struct call *call,
                              struct ceph_pool *pool, const struct journal_entry *entry,
                              struct error *err);

/* DATA_LOSS if @entry, to which the directory led from @request_name, was written for another. */
_must_check_ int journal_check_name(const struct journal_entry *entry, const char *request_name,
                                    struct error *err);

/* Sets attributes of an object that exists; NOT_FOUND if it does not. 1 RT. */
_must_check_ int journal_set(const struct journal *journal, struct call *call,
                             struct ceph_pool *pool, const struct uuid_text *uuid,
                             const struct strmap *attributes, struct error *err);

/* The same, but only while the entry's image is @image_name: ABORTED if another process has given
 * it another. @attributes may have a new one. 1 RT. */
_must_check_ int journal_set_for_image(const struct journal *journal, struct call *call,
                                       struct ceph_pool *pool, const struct uuid_text *uuid,
                                       const char *image_name, const struct strmap *attributes,
                                       struct error *err);

_must_check_ int journal_set_image_id(const struct journal *journal, struct call *call,
                                      struct ceph_pool *pool, const struct uuid_text *uuid,
                                      const char *image_id, struct error *err);

/*
 * Gives the name back: removes the directory key if it still leads to @uuid in pool
 * @image_pool_id. @request_name may be NULL (unknown). @queued (may be NULL) is set in the
 * directory in the same step; if the key went in an earlier, interrupted try, it is set all the
 * same. 1 RT.
 */
_must_check_ int journal_release_name(const struct journal *journal, struct call *call,
                                      struct ceph_pool *directory, const char *request_name,
                                      int64_t image_pool_id, const struct uuid_text *uuid,
                                      const struct strmap *queued, struct error *err);

/*
 * Moves the name of a volume that is in another pool than its directory beside the volume, where
 * Ceph-CSI from 3.11 on keeps it: the name is claimed there, the entry, which was read from @pool,
 * forgets the old directory, and the name goes from @directory. A move that was interrupted is
 * finished by the next one. ABORTED if the name leads elsewhere there. 4 RT.
 */
_must_check_ int journal_move_name(const struct journal *journal, struct call *call,
                                   struct ceph_pool *directory, struct ceph_pool *pool,
                                   const struct journal_entry *entry, struct error *err);

/* Removes the object of @uuid: the last step, because the handle leads to it. Absent is success.
 * 1 RT. */
_must_check_ int journal_remove(const struct journal *journal, struct call *call,
                                struct ceph_pool *pool, const struct uuid_text *uuid,
                                struct error *err);

/* Object names, for listings: the directory's and that of a uuid (caller frees), and the prefix of
 * request names in the directory, which is also that of the uuid in an object's name. */
char *journal_directory(const struct journal *journal);
char *journal_object(const struct journal *journal, const struct uuid_text *uuid);
const char *journal_key_prefix(enum journal_kind kind);

/* Reads a directory value; DATA_LOSS if it is neither form. */
_must_check_ int journal_parse_value(const struct ceph_pool *directory, const char *key,
                                     const char *value, struct journal_ref *ref, struct error *err);

void journal_entry_done(struct journal_entry *entry);
#define _cleanup_journal_entry_ _cleanup_(journal_entry_done)
