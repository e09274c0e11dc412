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
    bool read_only;
};

struct fake_host_image {
    char spec[FAKE_NAME_MAX];
    uint64_t size_bytes;
    char fs_type[32];
    char partition_table[32];
    bool has_bytes;
    uint64_t fs_bytes;
};

struct fake_device {
    char name[32]; /* "/dev/loop0"; "": free */
    char spec[FAKE_NAME_MAX];
    char file[FAKE_NAME_MAX]; /* loop */
    char cookie[128];         /* nbd */
    unsigned pid;             /* nbd; 0: without a process */
    unsigned first_pid;       /* nbd: what the kernel remembers */
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
    struct string_list lacking;
    struct string_list commands; /* all that were run */
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
};

/* One call: takes the lock and counts. Fails, without the lock, if it is to have no effect. */
_must_check_ int fake_call_begin(struct fake_host *fake, const char *name, struct error *err);
/* Gives the lock back; @result, unless a fault strikes afterwards. */
_must_check_ int fake_call_end(struct fake_host *fake, const char *name, int result,
                               struct error *err);

struct fake_path *fake_path_find(struct fake_host *fake, const char *path);
struct fake_path *fake_path_add(struct fake_host *fake, const char *path, enum path_kind kind);
void fake_path_remove(struct fake_host *fake, const char *path);
struct fake_mount *fake_mount_top(struct fake_host *fake, const char *target);
void fake_mount_add(struct fake_host *fake, const char *target, const char *source,
                    const char *fs_type, bool read_only);
bool fake_mount_uses(struct fake_host *fake, const char *source);
struct fake_host_image *fake_image_of(struct fake_host *fake, const char *spec);
struct fake_device *fake_device_find(struct fake_host *fake, const char *name);
dev_t fake_device_number(const char *name);
uint64_t fake_device_size(struct fake_host *fake, const struct fake_device *device);

void fake_host_device_ops(struct host_ops *ops);
