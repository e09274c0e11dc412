#pragma once

#include <pthread.h>

#include "tests/fakes/fake_host.h"

/* What the fake machine consists of, for the files of the fake alone; its lock is held over all. */

#define FAKE_NAME_MAX 512
#define FAKE_ITEMS_MAX 64

struct fake_path {
    char path[FAKE_NAME_MAX];
    enum path_kind kind;
    char content[4096];
    gid_t group;
};

struct fake_mount {
    char target[FAKE_NAME_MAX];
    char source[FAKE_NAME_MAX]; /* device, or what the daemon's mount shows */
    char fs_type[32];           /* "" for a device bound to a file */
    char root[FAKE_NAME_MAX];   /* of CephFS: which part; "": all */
    char options[FAKE_NAME_MAX];
    unsigned client; /* of CephFS: its number; 0: none */
    bool read_only;
    int sickness; /* errno that a look at it gives; 0: none */
};

/* A client of CephFS: the kernel's, or a ceph-fuse. Its number is its place, from 1. */
struct fake_cephfs_client {
    char source[FAKE_NAME_MAX];
    bool is_fuse;
    bool is_dead;
    bool is_detached; /* outside of the container */
};

struct fake_host_image {
    char spec[FAKE_NAME_MAX];
    uint64_t size_bytes;
    char fs_type[32];
    char partition_table[32];
    char fs_uuid[64];
    bool is_never_mounted;
    bool has_bytes;
    uint64_t fs_bytes;
};

struct fake_device {
    char name[32]; /* "/dev/loop0"; "": free */
    char spec[FAKE_NAME_MAX];
    char file[FAKE_NAME_MAX]; /* loop */
    char fsid[64];            /* krbd: of its cluster */
    char image_id[32];        /* krbd */
    char cookie[128];         /* nbd */
    unsigned pid;             /* nbd; 0: without a process that is seen here */
    unsigned first_pid;       /* nbd: what the kernel remembers */
    bool is_starting;         /* nbd: it is not connected yet, and so does not exist */
    bool is_detached;         /* nbd: its process is outside of the container */
    uint64_t size_bytes;      /* that it knows; 0: always the image's (krbd) */
    bool read_only;
};

struct fake_daemon {
    char file[FAKE_NAME_MAX];
    char spec[FAKE_NAME_MAX];
    uint64_t size_bytes; /* that it knows */
};

struct fake_host {
    struct host base;
    struct host_ops ops;
    struct fake_ceph *ceph;
    pthread_mutex_t lock;
    unsigned calls;
    unsigned fail_at; /* 0: none */
    enum fake_failure failure;
    bool crashed;
    unsigned faults;        /* that have struck */
    unsigned busy_unmounts; /* how many are refused from now on */
    const char *held;       /* program that does not end; NULL: none */
    const char *locked;     /* folder; NULL: none */
    struct string_list lacking;
    struct string_list commands; /* all that were run, and what was trimmed */
    uint64_t fs_bytes;           /* of every file system; 0: 100 */
    struct fake_path paths[FAKE_ITEMS_MAX];
    size_t path_count;
    struct fake_mount mounts[FAKE_ITEMS_MAX];
    size_t mount_count;
    struct fake_host_image images[FAKE_ITEMS_MAX];
    size_t image_count;
    struct fake_device devices[FAKE_ITEMS_MAX];
    struct fake_daemon daemons[FAKE_ITEMS_MAX];
    size_t daemon_count;
    unsigned last_pid;
    bool has_own_pids; /* a process has another number here than in the kernel */
    struct fake_cephfs_client clients[FAKE_ITEMS_MAX];
    unsigned client_count; /* also of those that ended */
};

/* One call: takes the lock and counts. Fails, without the lock, if it is to have no effect. */
_must_check_ int fake_call_begin(struct fake_host *fake, const char *name, struct error *err);
/* Gives the lock back; @result, unless a fault strikes afterwards. */
_must_check_ int fake_call_end(struct fake_host *fake, const char *name, int result,
                               struct error *err);

/* Copies a text that must fit. */
void fake_set_text(char *to, size_t size, const char *text);
#define FAKE_SET(member, text) fake_set_text((member), sizeof(member), (text))

struct fake_path *fake_path_find(struct fake_host *fake, const char *path);
struct fake_path *fake_path_add(struct fake_host *fake, const char *path, enum path_kind kind);
void fake_path_remove(struct fake_host *fake, const char *path);
struct fake_mount *fake_mount_top(struct fake_host *fake, const char *target);
void fake_mount_add(struct fake_host *fake, const char *target, const char *source,
                    const char *fs_type, bool read_only);
/* Its options become those that were asked for. */
void fake_mount_options(struct fake_mount *mount, const struct mount_request *request);
bool fake_mount_uses(struct fake_host *fake, const char *source);
/* Whether a file system on it is mounted. A device that is bound to a file is not open by that. */
bool fake_mount_holds(struct fake_host *fake, const char *source);
struct fake_host_image *fake_image_of(struct fake_host *fake, const char *spec);
struct fake_device *fake_device_find(struct fake_host *fake, const char *name);
/* "/dev/KIND0" or the next one that is free; NULL: none is. */
struct fake_device *fake_device_add(struct fake_host *fake, const char *kind, const char *spec);
dev_t fake_device_number(const char *name);
uint64_t fake_device_size(struct fake_host *fake, const struct fake_device *device);

dev_t fake_mount_device(const struct fake_mount *mount);

void fake_host_device_ops(struct host_ops *ops);
void fake_host_sysfs_ops(struct host_ops *ops);
void fake_host_program_ops(struct host_ops *ops);

/* Whether the kernel does not know the type of this key. */
bool fake_kernel_refuses(struct fake_host *fake, const char *key);

/* --- CephFS --- */

/* What a look at it gives: 0, or an errno. */
int fake_mount_sickness(struct fake_host *fake, const struct fake_mount *mount);

bool fake_cephfs_is_dead(struct fake_host *fake, const struct fake_mount *mount);
void fake_cephfs_mount(struct fake_host *fake, const struct mount_request *request);
/* The mount that @path, which is not a mount point itself, is in; NULL: none of CephFS. */
const struct fake_mount *fake_cephfs_above(struct fake_host *fake, const char *path);
int fake_cephfs_run(struct fake_host *fake, const char *const *argv, struct error *err);
bool fake_cephfs_is_running(struct fake_host *fake, const char *source);
void fake_cephfs_detach(struct fake_host *fake, const char *source);
void fake_cephfs_kill(struct fake_host *fake, bool spare_detached);
