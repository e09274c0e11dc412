#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/base/call.h"
#include "common/base/error.h"
#include "common/base/secret.h"
#include "common/base/string_list.h"
#include "common/base/strmap.h"
#include "common/ceph/image_features.h"

/*
 * Everything the driver asks of Ceph, as one table of functions. The real one is made by ceph_new()
 * in ceph.h; tests/fakes/fake_ceph.c keeps everything in memory and can fail or interrupt any call.
 *
 * Common rules. Any thread; an open pool belongs to one call. Each function names in its error the
 * pool and the object or image, keeps the errno in err->sys_errno and maps it as error_set_errno()
 * does: ENOENT is NOT_FOUND, EEXIST is ALREADY_EXISTS. A write that timed out is DEADLINE_EXCEEDED
 * and may or may not have happened. @call has deadline and cancellation and gets the stage; it is
 * never NULL. Costs are in round trips to the OSDs (RT).
 */

#define WORKER_LOST_S 10 /* after which a client that does not show itself counts as dead */

/* Whom to talk to and as whom. All borrowed. */
struct ceph_target {
    const char *cluster_id; /* for messages */
    const char *monitors;   /* comma-separated */
    const char *user;       /* without "client." */
    const struct secret *key;
};

/* Who works on CephFS subvolumes: see subvolume.h. */
enum cephfs_path {
    CEPHFS_BY_MANAGER, /* commands to the manager */
    CEPHFS_AUTO,       /* libcephfs, and the manager where the user's rights do not suffice */
    CEPHFS_DIRECT,     /* libcephfs; rights that do not suffice are an error */
};

/* A reference to a shared connection, from connect to disconnect. */
struct ceph_cluster {
    const struct ceph_ops *ops;
    char *cluster_id;
    enum cephfs_path cephfs_path;
    size_t mirror_daemons; /* of rbd-mirror, as config.json says; 0: it does not */
};

/* An open pool with a RADOS namespace. */
struct ceph_pool {
    const struct ceph_ops *ops;
    struct ceph_cluster *cluster; /* borrowed: close the pool first */
    int64_t id;
    char *name;
    char *rados_namespace; /* "" for the default one */
};

/* A mounted file system. */
struct ceph_fs {
    const struct ceph_ops *ops;
    struct ceph_cluster *cluster; /* borrowed: close the file system first */
    char *name;
};

#define FS_READ_LIMIT ((size_t)256 << 10) /* bytes of a file */

struct fs_stat {
    bool is_directory;
    uint64_t size_bytes; /* of a directory: of all files below it */
};

/* How to make an image; zero fields are left to librbd. */
struct image_options {
    uint64_t features; /* IMAGE_FEATURE_x, or IMAGE_FEATURES_DEFAULT */
    uint64_t stripe_unit;
    uint64_t stripe_count;
    uint64_t object_order;
    const char *data_pool; /* NULL: none */
};

/* The image that an image was cloned from and still depends on. */
struct image_parent {
    int64_t pool_id;
    char *rados_namespace;
    char *image_name;
    bool in_trash;
};

struct image_facts {
    char *id;
    uint64_t size_bytes;
    uint64_t features;
    struct timespec created;
    char *data_pool; /* NULL: the image's own; '#' and the id of a pool that is gone */
    bool has_parent;
    struct image_parent parent;
};

/* Whether rbd-mirror copies an image, and whether the original is here. */
struct image_mirroring {
    bool is_enabled; /* also while it is being enabled or disabled */
    bool is_primary;
    bool is_ending;
};

enum mirroring_mode { MIRRORING_SNAPSHOT, MIRRORING_JOURNAL };

enum mirror_state {
    MIRROR_UNKNOWN, /* also of an image that is primary nowhere */
    MIRROR_ERROR,
    MIRROR_SYNCING,
    MIRROR_REPLAYING,
    MIRROR_STOPPED,
};

/* What the rbd-mirror of one cluster has last said about an image. */
struct mirror_site {
    bool is_local;
    bool is_up; /* the daemon */
    enum mirror_state state;
    char *description; /* for people; of a site that is replaying with figures behind it */
};

struct mirror_sites {
    struct mirror_site *items;
    size_t count;
};

void mirror_sites_done(struct mirror_sites *sites);
#define _cleanup_mirror_sites_ _cleanup_(mirror_sites_done)

enum snapshot_namespace {
    SNAPSHOT_USER,
    SNAPSHOT_GROUP,
    SNAPSHOT_TRASH,
    SNAPSHOT_MIRROR, /* made and removed by whoever mirrors the image */
    SNAPSHOT_OTHER,
};

struct image_snapshot {
    char *name;
    enum snapshot_namespace kind;
    char *original_name; /* SNAPSHOT_TRASH: the name it had; otherwise NULL */
};

struct image_snapshots {
    struct image_snapshot *items;
    size_t count;
};

struct trash_entry {
    char *id;
    char *name;
    time_t kept_until; /* somebody wants it back until then; in the past: nobody does */
};

struct trash_entries {
    struct trash_entry *items;
    size_t count;
};

/* A small object as a whole, or as much of it as was asked for. */
struct object_state {
    uint64_t version;
    char *data;
    size_t data_length;
    char *attribute; /* NULL: the object does not have it */
    size_t attribute_length;
    struct strmap omap;
};

/* What is done to an object in one step. All borrowed. */
struct object_change {
    uint64_t version; /* that it must still have; 0: it must not exist */
    bool remove;      /* the whole object; nothing below counts then */
    const void *data; /* its new content */
    size_t data_length;
    const char *attribute_name; /* NULL: none is set */
    const void *attribute;
    size_t attribute_length;
    const struct strmap *set;          /* omap; may be NULL */
    const struct string_list *removed; /* omap keys; may be NULL */
};

/* One piece of work that this process is at, from work_begin() to work_end(). */
struct ceph_work {
    const struct ceph_ops *ops;
    uint64_t worker; /* the id by which Ceph knows this client; no other ever gets it */
};

enum worker_state {
    WORKER_IDLE,   /* it lives, and is not at that work */
    WORKER_BUSY,   /* it is at that work */
    WORKER_SILENT, /* it was there a moment ago and does not answer */
};

/* What a client said that was asked for its work. */
struct worker_answer {
    uint64_t worker;
    enum worker_state state;
    char *stage; /* WORKER_BUSY: what it is doing, as call_describe() says it */
};

struct worker_answers {
    struct worker_answer *items;
    size_t count;
};

/* An image kept open with its exclusive lock held, so that nobody can write to it. */
struct image_hold {
    const struct ceph_ops *ops;
    char *image_name;
};

/* Progress of a long operation in percent. Returns non-zero to stop it. */
typedef int (*ceph_progress)(void *object, int percent);

/* What one of several pools said: @value (owned) is NULL when the object or the key is absent. */
struct omap_answer {
    bool answered;
    char *value;
};

struct ceph {
    const struct ceph_ops *ops;
};

struct ceph_ops {
    /* --- connections and pools --- */

    /* Joins the shared connection for (cluster, monitors, user, key) or makes it; waits until it is
     * up or the call's deadline is near. Wrong key: UNAUTHENTICATED. Monitors that do not answer:
     * DEADLINE_EXCEEDED naming them. */
    int (*connect)(struct ceph *ceph, struct call *call, const struct ceph_target *target,
                   struct ceph_cluster **cluster, struct error *err);
    void (*disconnect)(struct ceph_cluster *cluster);
    int (*fsid)(struct ceph_cluster *cluster, struct call *call, char **fsid, struct error *err);
    /* The addresses under which Ceph knows this client, as it prints them: "10.0.0.7:0/3141". The
     * machine's other clients, the kernel's too, have the same one but for the last number. */
    int (*client_address)(struct ceph_cluster *cluster, struct call *call, char **address,
                          struct error *err);

    /* From the connection's osdmap: no RT. One that it does not have is asked for, 2 RT, within the
     * call's deadline; NOT_FOUND if there is no such pool. Waits for a free place among the pool's
     * workers; a pool whose workers make no progress answers UNAVAILABLE. */
    int (*pool_open)(struct ceph_cluster *cluster, struct call *call, const char *name,
                     const char *rados_namespace, struct ceph_pool **pool, struct error *err);
    int (*pool_open_by_id)(struct ceph_cluster *cluster, struct call *call, int64_t id,
                           const char *rados_namespace, struct ceph_pool **pool, struct error *err);
    void (*pool_close)(struct ceph_pool *pool);
    /* Names of all pools, from the osdmap: no RT. */
    int (*pool_list)(struct ceph_cluster *cluster, struct call *call, struct string_list *names,
                     struct error *err);

    /* Returns when each of the pool's @groups (pg_num) placement groups has the OSD map that the
     * monitors have now, and so refuses the writes of fenced clients; those without an OSD, or with
     * fewer than the pool's @min_size, serve nobody and are skipped. One that does not answer in
     * time is named. 2 RT per group, or four, one after the other. */
    int (*pool_settle)(struct ceph_pool *pool, struct call *call, size_t groups, size_t min_size,
                       struct error *err);

    /* @command and @reply are JSON texts; @reply (caller frees) is NUL-terminated, of at most 64
     * MiB: for json_load_large(). A refusal keeps the errno and carries the cluster's own words. */
    int (*mon_command)(struct ceph_cluster *cluster, struct call *call, const char *command,
                       char **reply, struct error *err);
    int (*mgr_command)(struct ceph_cluster *cluster, struct call *call, const char *command,
                       char **reply, struct error *err);

    /* --- RADOS objects and their omaps: 1 RT each --- */

    /* One key. *@value (caller frees) is NULL when the object or the key is absent. */
    int (*omap_get)(struct ceph_pool *pool, struct call *call, const char *object, const char *key,
                    char **value, struct error *err);
    /* The same key of the same object in several pools at once: 1 RT in all. Pools that do not
     * answer in @patience_ms (-1: as long as the call may take) are left unanswered; only a key
     * that cannot be read is a failure. Caller frees the values, also after a failure. */
    int (*omap_get_many)(struct ceph_pool *const *pools, size_t count, struct call *call,
                         const char *object, const char *key, int64_t patience_ms,
                         struct omap_answer *answers, struct error *err);
    /* Up to 512 keys behind @after (exclusive, "" for the first) that start with @prefix. *@more
     * says whether to go on behind the last key. Absent object: NOT_FOUND. */
    int (*omap_list)(struct ceph_pool *pool, struct call *call, const char *object,
                     const char *after, const char *prefix, struct strmap *entries, bool *more,
                     struct error *err);
    /* Sets @key only if it is absent, atomically; creates the object if need be. Present already:
     * ALREADY_EXISTS. */
    int (*omap_add)(struct ceph_pool *pool, struct call *call, const char *object, const char *key,
                    const char *value, struct error *err);
    /* Sets keys on an object that must exist: NOT_FOUND otherwise. */
    int (*omap_set)(struct ceph_pool *pool, struct call *call, const char *object,
                    const struct strmap *entries, struct error *err);
    /* Removes @key only while its value is @expected, and in the same step sets @added (may be
     * NULL). *@removed says whether it was; an absent object or key, or another value: false. */
    int (*omap_remove_if)(struct ceph_pool *pool, struct call *call, const char *object,
                          const char *key, const char *expected, const struct strmap *added,
                          bool *removed, struct error *err);
    /* Creates @object with @entries in one step. Exists already: ALREADY_EXISTS. */
    int (*object_create)(struct ceph_pool *pool, struct call *call, const char *object,
                         const struct strmap *entries, struct error *err);
    /* Absent is success. */
    int (*object_remove)(struct ceph_pool *pool, struct call *call, const char *object,
                         struct error *err);
    /* Data (up to 4096 bytes), one attribute and some keys of the omap, as of one moment. Absent:
     * NOT_FOUND. Caller calls object_state_done(). */
    int (*object_read)(struct ceph_pool *pool, struct call *call, const char *object,
                       const char *attribute, const struct string_list *keys,
                       struct object_state *state, struct error *err);
    /* ABORTED if the object does not have the version, or exists although it must not. */
    int (*object_change)(struct ceph_pool *pool, struct call *call, const char *object,
                         const struct object_change *change, struct error *err);
    /* When the object or its omap was last written, to the second. Absent: NOT_FOUND. */
    int (*object_modified)(struct ceph_pool *pool, struct call *call, const char *object,
                           time_t *modified, struct error *err);
    /* Names of all objects that start with @prefix, in no order. Goes over every object of the
     * pool, data included: for the operator's tool only. */
    int (*object_list)(struct ceph_pool *pool, struct call *call, const char *prefix,
                       struct string_list *names, struct error *err);

    /* --- who is at work --- */

    /* Lets those who ask @object for @subject know that this process is at work on it. @call is
     * asked for its stage then, and must outlive the work. The object must exist. It is watched
     * from the first work on: 1 RT, none afterwards. The watch ends with the connection, at the
     * latest WORKER_LOST_S seconds after the process died. */
    int (*work_begin)(struct ceph_pool *pool, struct call *call, const char *object,
                      const char *subject, struct ceph_work **work, struct error *err);
    void (*work_end)(struct ceph_work *work);
    /* Asks all clients that watch @object whether they are at work on @subject. Who is not among
     * the answers is dead, or has lost the cluster for longer than WORKER_LOST_S. 1 RT and what the
     * others take; while one of them has just died, until it is known to be dead. Caller calls
     * worker_answers_done(). */
    int (*work_ask)(struct ceph_pool *pool, struct call *call, const char *object,
                    const char *subject, struct worker_answers *answers, struct error *err);

    /* --- images --- */

    /* All images outside the trash, name to id. */
    int (*image_list)(struct ceph_pool *pool, struct call *call, struct strmap *ids,
                      struct error *err);
    /* INVALID_ARGUMENT if the data pool does not exist, FAILED_PRECONDITION if the pool's namespace
     * does not. */
    int (*image_create)(struct ceph_pool *pool, struct call *call, const char *name,
                        uint64_t size_bytes, const struct image_options *options,
                        struct error *err);
    /* 1 RT: a class call on the id object, no image is opened. */
    int (*image_get_id)(struct ceph_pool *pool, struct call *call, const char *name, char **id,
                        struct error *err);
    /* 1 RT: the id under which the pool's list of images has the name. librbd writes the list
     * first and clears it last, so that it also has what was interrupted half-way. NOT_FOUND. */
    int (*image_get_listed_id)(struct ceph_pool *pool, struct call *call, const char *name,
                               char **id, struct error *err);
    /* 1 RT: a class call on the header object. */
    int (*image_get_size)(struct ceph_pool *pool, struct call *call, const char *image_id,
                          uint64_t *size_bytes, struct error *err);
    /* 2 RT: no image is opened. As bits of librbd. */
    int (*image_get_features)(struct ceph_pool *pool, struct call *call, const char *name,
                              uint64_t *features, struct error *err);
    /* 1 RT: a class call on the header object. Counts snapshots of every kind. */
    int (*image_has_snapshots)(struct ceph_pool *pool, struct call *call, const char *image_id,
                               bool *has, struct error *err);
    /* Opens the image read-only: about 10 RT. Caller calls image_facts_done(). */
    int (*image_get_facts)(struct ceph_pool *pool, struct call *call, const char *name,
                           struct image_facts *facts, struct error *err);
    /* 1 RT for an image that is not mirrored; the others are opened. */
    int (*image_get_mirroring)(struct ceph_pool *pool, struct call *call, const char *name,
                               const char *image_id, struct image_mirroring *mirroring,
                               struct error *err);
    /* From here on rbd-mirror copies the image, which is primary. FAILED_PRECONDITION if the pool
     * is not set up for it, or if it is a clone of an image that is not mirrored. */
    int (*image_enable_mirroring)(struct ceph_pool *pool, struct call *call, const char *name,
                                  enum mirroring_mode mode, struct error *err);
    /* Of an image that is primary, or @force; rbd-mirror then removes its copies. */
    int (*image_disable_mirroring)(struct ceph_pool *pool, struct call *call, const char *name,
                                   bool force, struct error *err);
    /* Makes a copy the original. FAILED_PRECONDITION while it is primary elsewhere, unless @force:
     * the two then differ from each other for good, until one is copied anew. */
    int (*image_promote)(struct ceph_pool *pool, struct call *call, const char *name, bool force,
                         struct error *err);
    /* Nobody can write to it from here on, and its copies get all that was written. */
    int (*image_demote)(struct ceph_pool *pool, struct call *call, const char *name,
                        struct error *err);
    /* Asks rbd-mirror to remove this copy and to make it anew, with another id. */
    int (*image_resync)(struct ceph_pool *pool, struct call *call, const char *name,
                        struct error *err);
    /* Caller calls mirror_sites_done(). */
    int (*image_mirror_sites)(struct ceph_pool *pool, struct call *call, const char *name,
                              struct mirror_sites *sites, struct error *err);
    /* Whether the objects are there that an image with these features (of image_get_facts()) has
     * beside its header: librbd makes them last, and opens an image without them. 1 RT for each
     * such feature. */
    int (*image_has_objects)(struct ceph_pool *pool, struct call *call, const char *image_id,
                             uint64_t features, bool *has, struct error *err);
    /* Addresses of the clients that watch the image, without ourselves and without other processes
     * of the driver that flatten it. */
    int (*image_watchers)(struct ceph_pool *pool, struct call *call, const char *name,
                          struct string_list *watchers, struct error *err);
    /* Who has locked the image by hand ("rbd lock add"): "client.4123 at 10.0.0.7:0/3141". The
     * locks that clients take by themselves to write do not count: those of the dead are broken. */
    int (*image_lockers)(struct ceph_pool *pool, struct call *call, const char *name,
                         struct string_list *lockers, struct error *err);
    /* Whether no object of the image's data has ever been written, its parent's included. Fast with
     * the feature fast-diff; otherwise all objects are asked for, and the call may end before that:
     * DEADLINE_EXCEEDED. */
    int (*image_is_empty)(struct ceph_pool *pool, struct call *call, const char *name, bool *empty,
                          struct error *err);
    int (*image_resize)(struct ceph_pool *pool, struct call *call, const char *name,
                        uint64_t size_bytes, struct error *err);
    /* One that has no parent is success. */
    int (*image_flatten)(struct ceph_pool *pool, struct call *call, const char *name,
                         ceph_progress progress, void *progress_object, struct error *err);
    /* Frees the objects of the image that hold nothing but zeros. Reads all of its data, and is
     * stopped by the end of the call: CANCELLED or DEADLINE_EXCEEDED; what was freed until then
     * stays so. */
    int (*image_sparsify)(struct ceph_pool *pool, struct call *call, const char *name,
                          struct error *err);
    /* As image_create(). NOT_FOUND without @snapshot, and for a moment while @parent is flattened.
     */
    int (*image_clone)(struct ceph_pool *parent_pool, struct call *call, const char *parent,
                       const char *snapshot, struct ceph_pool *pool, const char *name,
                       const struct image_options *options, struct error *err);
    /* Removes an image at once, data and all; also one whose creation was interrupted. Absent:
     * NOT_FOUND. */
    int (*image_remove)(struct ceph_pool *pool, struct call *call, const char *name,
                        struct error *err);
    /* 2 RT. */
    int (*image_metadata_get)(struct ceph_pool *pool, struct call *call, const char *name,
                              struct strmap *entries, struct error *err);
    /* Sets all of @entries, then removes @removed (may be NULL; keys that are not there are
     * skipped). 3 RT; the image is opened, for METADATA_SETTING and where it has the
     * feature journaling, only. */
    int (*image_metadata_change)(struct ceph_pool *pool, struct call *call, const char *name,
                                 const struct strmap *entries, const struct string_list *removed,
                                 struct error *err);

    /* --- snapshots of an image --- */

    int (*snapshot_create)(struct ceph_pool *pool, struct call *call, const char *image,
                           const char *snapshot, struct error *err);
    /* With children (clone format 2) it moves to the image's snapshot trash. Absent: NOT_FOUND. */
    int (*snapshot_remove)(struct ceph_pool *pool, struct call *call, const char *image,
                           const char *snapshot, struct error *err);
    /* Ids of the clones that the snapshot knows. Absent snapshot: NOT_FOUND. */
    int (*snapshot_children)(struct ceph_pool *pool, struct call *call, const char *image,
                             const char *snapshot, struct string_list *image_ids,
                             struct error *err);
    int (*snapshot_list)(struct ceph_pool *pool, struct call *call, const char *image,
                         struct image_snapshots *snapshots, struct error *err);

    /* --- trash --- */

    /* Moves the image to the trash without delay. FAILED_PRECONDITION (EBUSY) only when another
     * client has locked it by rbd_lock_acquire(): one that merely has it open, even one that
     * writes, does not keep Ceph from moving it. Ask image_watchers() before. trash_remove() does
     * refuse. */
    int (*trash_move)(struct ceph_pool *pool, struct call *call, const char *name,
                      struct error *err);
    int (*trash_list)(struct ceph_pool *pool, struct call *call, struct trash_entries *entries,
                      struct error *err);
    /* Removes the data: cost grows with the data. Absent: NOT_FOUND. Never by force: an image that
     * is to be kept until some time is FAILED_PRECONDITION (EPERM) before. */
    int (*trash_remove)(struct ceph_pool *pool, struct call *call, const char *image_id,
                        ceph_progress progress, void *progress_object, struct error *err);

    /* --- write barriers for group snapshots --- */

    /* Opens the image and takes its exclusive lock; FAILED_PRECONDITION if the image has no such
     * feature. */
    int (*image_hold)(struct ceph_pool *pool, struct call *call, const char *name,
                      struct image_hold **hold, struct error *err);
    int (*hold_snapshot)(struct image_hold *hold, struct call *call, const char *snapshot,
                         struct error *err);
    void (*hold_release)(struct image_hold *hold);

    /* --- files of CephFS: paths begin with "/", no link is followed --- */

    /* Joins the shared mount of (cluster, user, file system) or makes it. No such file system:
     * NOT_FOUND. A user without rights: PERMISSION_DENIED, as in all below. Metadata servers that
     * do not answer: DEADLINE_EXCEEDED, none that could: UNAVAILABLE. Waits for a free place among
     * the calls in the file system. */
    int (*fs_open)(struct ceph_cluster *cluster, struct call *call, const char *name,
                   struct ceph_fs **fs, struct error *err);
    void (*fs_close)(struct ceph_fs *fs);
    int (*fs_stat)(struct ceph_fs *fs, struct call *call, const char *path, struct fs_stat *stat,
                   struct error *err);
    /* All of a file, NUL-terminated; caller frees. More than FS_READ_LIMIT: EFBIG. */
    int (*fs_read)(struct ceph_fs *fs, struct call *call, const char *path, char **content,
                   struct error *err);
    /* An extended attribute as text; caller frees. Absent: ENODATA. */
    int (*fs_get_attribute)(struct ceph_fs *fs, struct call *call, const char *path,
                            const char *attribute, char **value, struct error *err);
    int (*fs_set_attribute)(struct ceph_fs *fs, struct call *call, const char *path,
                            const char *attribute, const char *value, struct error *err);
    /* In a directory ".snap": a snapshot. */
    int (*fs_make_directory)(struct ceph_fs *fs, struct call *call, const char *path, unsigned mode,
                             struct error *err);
};

void object_state_done(struct object_state *state);
void image_facts_done(struct image_facts *facts);
void image_snapshots_done(struct image_snapshots *snapshots);
void trash_entries_done(struct trash_entries *entries);
void worker_answers_done(struct worker_answers *answers);
/* NULL if that client was not among those who were asked. */
const struct worker_answer *worker_answers_find(const struct worker_answers *answers,
                                                uint64_t worker);

static inline void ceph_disconnect(struct ceph_cluster *cluster)
{
    cluster->ops->disconnect(cluster);
}

/* NULL is fine for these three. */
static inline void ceph_pool_close(struct ceph_pool *pool)
{
    if (pool)
        pool->ops->pool_close(pool);
}

static inline void ceph_fs_close(struct ceph_fs *fs)
{
    if (fs)
        fs->ops->fs_close(fs);
}

static inline void ceph_work_end(struct ceph_work *work)
{
    if (work)
        work->ops->work_end(work);
}

static inline void ceph_hold_release(struct image_hold *hold)
{
    hold->ops->hold_release(hold);
}

DEFINE_CLEANUP(struct ceph_cluster, ceph_disconnect)
DEFINE_CLEANUP(struct ceph_pool, ceph_pool_close)
DEFINE_CLEANUP(struct image_hold, ceph_hold_release)
DEFINE_CLEANUP(struct ceph_work, ceph_work_end)

#define _cleanup_ceph_cluster_ _cleanup_(ceph_disconnectp)
#define _cleanup_ceph_pool_ _cleanup_(ceph_pool_closep)
#define _cleanup_ceph_work_ _cleanup_(ceph_work_endp)
#define _cleanup_worker_answers_ _cleanup_(worker_answers_done)
#define _cleanup_image_facts_ _cleanup_(image_facts_done)
