#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/string_list.h"
#include "tests/fakes/fake_ceph.h"

/*
 * What the fake cluster consists of, for the files of the fake alone. The state in struct fake_ceph
 * is read and written with its lock held; a step (see below) holds it from begin to end.
 */

/* Bits as in rbd/features.h, which only common/ceph includes. */
enum {
    FEATURE_LAYERING = 1 << 0,
    FEATURE_STRIPING = 1 << 1,
    FEATURE_EXCLUSIVE_LOCK = 1 << 2,
    FEATURE_OBJECT_MAP = 1 << 3,
    FEATURE_DEEP_FLATTEN = 1 << 5,
    FEATURE_JOURNALING = 1 << 6,
    FEATURE_DATA_POOL = 1 << 7,
    FEATURE_OPERATIONS = 1 << 8, /* never stored: follows from links and trashed snapshots */
    FEATURES_DEFAULT = 61,
};

/* Image ids are this and eight hexadecimal digits, so that a dump can tell them from other words.
 */
#define FAKE_IMAGE_ID_PREFIX "fa4e"
#define FAKE_IMAGE_ID_LENGTH 12

struct fake_client {
    struct ceph ceph; /* first: the operations get a pointer to it */
    struct fake_ceph *fake;
    bool is_other;              /* not counted, never struck */
    uint64_t worker;            /* its id in Ceph; another after a crash */
    bool is_silent;             /* it does not answer those who ask for its work */
    struct string_list watched; /* objects on which it does */
};

struct fake_work {
    struct ceph_work base; /* with the id that the client had then */
    struct fake_work *next;
    struct fake_client *client;
    char *object; /* as in @watched */
    char *subject;
    struct call *call;
};

struct fake_cluster {
    struct ceph_cluster base;
    struct fake_client *client;
};

struct fake_open_pool {
    struct ceph_pool base;
    struct fake_client *client;
};

struct fake_hold {
    struct image_hold base;
    struct fake_client *client;
};

struct fake_pool {
    int64_t id;
    char *name;
    struct string_list namespaces;
};

struct fake_object {
    int64_t pool_id;
    char *rados_namespace;
    char *name;
    struct strmap omap;
    time_t modified;
    uint64_t version; /* counts changes */
    char *data;
    size_t data_length;
    char *attribute; /* the one that object_change() has set; NULL: none */
    size_t attribute_length;
};

struct fake_snapshot {
    uint64_t id;
    char *name;
    enum snapshot_namespace kind;
    char *original_name; /* SNAPSHOT_TRASH only */
    uint64_t size_bytes;
    bool has_parent; /* it still reads from the image's parent */
};

struct fake_image {
    int64_t pool_id;
    char *rados_namespace;
    char *name;
    char *id;
    bool in_trash;
    bool lacks_map;    /* it can be opened, but librbd was interrupted before its object map */
    bool is_half;      /* it is listed, but has no id object: librbd was interrupted */
    time_t kept_until; /* in the trash */
    int removal_errno; /* negative: why it cannot be removed from there; 0: it can */
    uint64_t number;   /* how many-th image of the cluster: age and id follow from it */
    uint64_t size_bytes;
    uint64_t features;
    uint64_t stripe_unit;
    uint64_t stripe_count;
    uint64_t object_order;
    char *data_pool; /* NULL: none */
    struct strmap metadata;
    struct fake_snapshot *snapshots;
    size_t snapshot_count;
    struct fake_image *parent; /* NULL when neither the image nor a snapshot of it needs one */
    uint64_t parent_snapshot_id;
    bool has_parent;             /* the image itself, not only its snapshots, needs it */
    struct string_list watchers; /* set by the test, as are the next three */
    struct string_list lockers;
    bool has_data;
    struct image_mirroring mirroring;
    bool is_primary_elsewhere;
    struct mirror_sites sites;
    const struct fake_hold *holder; /* who has the exclusive lock, or NULL */
};

struct fake_fault {
    unsigned calls_left; /* 0: none set */
    enum fake_failure failure;
    int negative_errno;
};

/* What a test does just before an operation. */
struct fake_interruption {
    const char *operation; /* NULL: none set */
    fake_ceph_interrupt interrupt;
    void *object;
};

struct fake_answer {
    fake_ceph_command answer;
    void *object;
};

struct fake_ceph {
    struct ceph_ops ops;
    struct fake_client process;
    struct fake_client other;
    atomic_uint open_handles;
    pthread_mutex_t lock;        /* over all below */
    enum status refused_connect; /* STATUS_OK: not refused */
    const char *valid_key;       /* NULL: any */
    struct fake_answer mon;
    struct fake_answer mgr;
    fake_ceph_dump_more dump_more;
    void *dump_object;
    struct fake_subvolumes *subvolumes; /* NULL: there are no file systems */
    enum cephfs_path cephfs_path;       /* of connections */
    int refused_files;                  /* negative errno of every request for files; 0: none */

    bool crashed;
    bool connections_counted;
    unsigned calls;
    struct fake_fault fault;
    unsigned faults; /* that have struck */
    struct fake_work *works;
    struct fake_interruption interruption;

    struct fake_pool *pools;
    size_t pool_count;
    struct fake_object *objects;
    size_t object_count;
    struct fake_image **images; /* live and trashed, oldest first */
    size_t image_count;
    uint64_t last_image;
    uint64_t last_snapshot;
};

/* --- fake_ceph.c --- */

const struct fake_pool *fake_pool_find(const struct fake_ceph *fake, const char *name);
const struct fake_pool *fake_pool_find_id(const struct fake_ceph *fake, int64_t id);
/* "image 'x' in pool 'p': No such file or directory" */
int fake_refuse(struct error *err, int negative_errno, const struct ceph_pool *pool,
                const char *what, const char *name);

/* --- fake_ceph_faults.c: one call of an operation --- */

struct fake_step {
    struct fake_ceph *fake;
    const struct fake_client *client;
    const char *operation;
    bool reply_is_lost;
    bool crash_follows;
};

/* Counts the call and takes the lock; fails, without the lock, if the call is to have no effect. */
_must_check_ int fake_step_begin(struct fake_step *step, const struct fake_client *client,
                                 struct call *call, const char *operation, struct error *err);
_must_check_ int fake_step_begin_in_pool(struct fake_step *step, const struct ceph_pool *pool,
                                         struct call *call, const char *operation,
                                         struct error *err);
/* For what counts only when asked: connect, fsid, pool_open, pool_list. */
_must_check_ int fake_step_begin_connection(struct fake_step *step,
                                            const struct fake_client *client, struct call *call,
                                            const char *operation, struct error *err);
/* Around a callback of the test, which may use the cluster itself. */
void fake_step_pause(struct fake_step *step);
void fake_step_resume(struct fake_step *step);
/* Gives the lock back. Returns @result, with @err as it is, unless a fault strikes afterwards.
 * Write outputs behind it: a caller whose reply is lost gets none. */
_must_check_ int fake_step_end(struct fake_step *step, int result, struct error *err);

/* --- fake_ceph_objects.c --- */

void fake_object_ops(struct ceph_ops *ops);
void fake_object_done(struct fake_object *object);

/* --- fake_ceph_workers.c --- */

void fake_worker_ops(struct ceph_ops *ops);
/* The process has died: nobody hears of it any more. Lock held. */
void fake_worker_die(struct fake_client *client);

/* --- fake_ceph_images.c --- */

void fake_image_ops(struct ceph_ops *ops);
/* Live images only. */
struct fake_image *fake_image_find(const struct fake_ceph *fake, int64_t pool_id,
                                   const char *rados_namespace, const char *name);
/* Begins a call on a live image. NULL when there is no such image or the step fails; the step has
 * ended then. */
struct fake_image *fake_image_begin(struct fake_step *step, const struct ceph_pool *pool,
                                    struct call *call, const char *operation, const char *name,
                                    struct error *err);
/* The same, also for an image of which only a part is there. */
struct fake_image *fake_image_begin_listed(struct fake_step *step, const struct ceph_pool *pool,
                                           struct call *call, const char *operation,
                                           const char *name, struct error *err);
/* Checks @options and makes the image. */
_must_check_ int fake_image_add(struct fake_ceph *fake, const struct ceph_pool *pool,
                                const char *name, uint64_t size_bytes,
                                const struct image_options *options, struct fake_image **image,
                                struct error *err);
/* Gives it the next number, and the id and age that follow from it. */
void fake_image_number(struct fake_ceph *fake, struct fake_image *image);
void fake_image_free(struct fake_image *image);

/* --- fake_ceph_snapshots.c --- */

void fake_snapshot_ops(struct ceph_ops *ops);
void fake_snapshot_done(struct fake_snapshot *snapshot);
/* User snapshots only. */
struct fake_snapshot *fake_snapshot_find(const struct fake_image *image, const char *name);
struct fake_snapshot *fake_snapshot_find_id(const struct fake_image *image, uint64_t id);
void fake_snapshot_add(struct fake_ceph *fake, struct fake_image *image, const char *name,
                       enum snapshot_namespace kind);
bool fake_snapshot_has_children(const struct fake_ceph *fake, const struct fake_image *image,
                                uint64_t snapshot_id);

/* The image in "POOL" or "POOL/NAMESPACE"; a test that names another one is wrong. */
struct fake_image *fake_image_named(const struct fake_ceph *fake, const char *pool,
                                    const char *image);

/* --- fake_ceph_mirroring.c --- */

void fake_mirroring_ops(struct ceph_ops *ops);

/* --- fake_ceph_clones.c --- */

void fake_clone_ops(struct ceph_ops *ops);
/* Cuts the link to the parent if neither the image nor a snapshot of it needs it any more. A
 * snapshot that was in the parent's snapshot trash for this child alone goes with it. */
void fake_image_unlink(struct fake_ceph *fake, struct fake_image *child);
/* Removes a snapshot, and then the link that only it needed. */
void fake_snapshot_drop(struct fake_ceph *fake, struct fake_image *image, uint64_t snapshot_id);

/* --- fake_ceph_files.c --- */

void fake_file_ops(struct ceph_ops *ops);

/* --- fake_ceph_normalise.c --- */

void fake_lines_sort(struct string_list *lines);
/* Replaces uuids and image ids in @lines by u1, u2, ... and i1, i2, ... */
void fake_lines_normalise(struct string_list *lines);
