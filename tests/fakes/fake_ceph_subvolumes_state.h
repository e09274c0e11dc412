#pragma once

#include <jansson.h>
#include <pthread.h>

#include "common/encoding/uuid.h"
#include "tests/fakes/fake_ceph_state.h"
#include "tests/fakes/fake_ceph_subvolumes.h"

/* What the fake of CephFS consists of, for its own files alone: the manager's commands and the
 * files of libcephfs show the same. Its lock is held over all. */

/* When every snapshot was made: retries are to give the same. */
#define FAKE_SNAPSHOT_CREATED "2026-01-02 03:04:05.000006"
#define FAKE_SNAPSHOT_BIRTH "1767323045.000006000"

enum clone_stage { NO_CLONE, CLONE_IS_PENDING, CLONE_IS_DONE, CLONE_HAS_FAILED, CLONE_IS_LOST };

struct fake_fs_snapshot {
    char *name;
    struct strmap metadata;
    unsigned orphan_clones;
};

struct fake_subvolume {
    char *fs;
    char *group;
    char *name;
    char *data_pool;
    struct uuid_text uuid;
    long long size;
    uint64_t used; /* bytes */
    bool retained;
    bool lacks_meta; /* a manager died when it had just begun it: others take it for an old kind */
    struct strmap metadata;
    struct fake_fs_snapshot *snapshots;
    size_t snapshot_count;
    enum clone_stage clone;
    unsigned questions_left;
    char *source; /* of a pending clone: NAME@SNAPSHOT */
};

struct fake_filesystem {
    char *name;
    int64_t id;
    int64_t metadata_pool_id;
    char *group;
};

struct fake_data_pool {
    char *fs;
    char *name;
    int64_t id;
    uint64_t room;
    struct strmap metadata; /* of the application cephfs */
};

struct fake_subvolumes {
    pthread_mutex_t lock;
    struct fake_filesystem *filesystems;
    size_t filesystem_count;
    struct fake_data_pool *pools;
    size_t pool_count;
    struct fake_subvolume *items;
    size_t count;
    unsigned pace;
    unsigned failing_clones;
    unsigned refused_clones;
    unsigned lost_clones;
    bool has_queue; /* pending clones are not in progress */
    bool has_quiesce;
    bool quiesce_expires;
    struct strmap quiesce_sets; /* id to state */
};

/* One command on its way. */
struct fs_command {
    struct fake_subvolumes *all;
    const json_t *json;
    struct text *reply;
};

const char *fake_fs_argument(const struct fs_command *command, const char *key);
_printf_(3, 4) int fake_fs_refuse(const struct fs_command *command, int negative_errno,
                                  const char *fmt, ...);

/* --- fake_ceph_subvolumes.c --- */

/* The subvolume of that name beside the one that the command names. */
struct fake_subvolume *fake_fs_find_named(const struct fs_command *command, const char *name);
struct fake_subvolume *fake_fs_find(const struct fs_command *command);
struct fake_subvolume *fake_fs_add(const struct fs_command *command, const char *name);
bool fake_fs_is_valid_layout(const struct fs_command *command);
int fake_fs_missing(const struct fs_command *command, const char *name);
/* NULL, with *@result set, if there is none. */
struct fake_fs_snapshot *fake_fs_need_snapshot(const struct fs_command *command, int *result);
/* Lock held, as in the next two. */
bool fake_subvolumes_has_pending_clones(const struct fake_subvolumes *all,
                                        const struct fake_subvolume *item, const char *snapshot);
/* NULL if there is none. */
struct fake_fs_snapshot *fake_subvolume_find_snapshot(const struct fake_subvolume *item,
                                                      const char *name);
void fake_subvolume_add_snapshot(struct fake_subvolume *item, const char *name);

/* --- fake_ceph_filesystems.c --- */

/* The file system's data pool of that name, with "" its first; NULL if there is none. */
struct fake_data_pool *fake_fs_find_pool(const struct fake_subvolumes *all, const char *fs,
                                         const char *name);
int fake_fs_answer_mon(void *object, const char *text, struct text *reply);

/* --- fake_ceph_subvolume_clones.c --- */

int fake_fs_clone_snapshot(const struct fs_command *command);
int fake_fs_clone_status(const struct fs_command *command);
int fake_fs_cancel_clone(const struct fs_command *command);
int fake_fs_quiesce(const struct fs_command *command);
