#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/call.h"
#include "common/base/error.h"
#include "common/base/secret.h"
#include "common/base/string_list.h"
#include "common/base/subprocess.h"

/*
 * Everything the driver asks of the machine it runs on, as one table of functions. The real one is
 * made by host_new() in host.h; tests/fakes/fake_host.c keeps a machine in memory and can fail or
 * interrupt any call.
 *
 * Common rules. Any thread. Paths are absolute and are resolved without following a symbolic link
 * or "..": a planted link fails with ELOOP and nothing behind it is touched. Each function names
 * the path or device in its error and keeps the errno. What is already as asked is success, so that
 * every step can be repeated.
 */
struct host {
    const struct host_ops *ops;
};

enum path_kind { PATH_ABSENT, PATH_DIRECTORY, PATH_FILE, PATH_BLOCK_DEVICE, PATH_OTHER };

struct path_facts {
    enum path_kind kind;
    bool is_mount_point;
    bool is_read_only;   /* of the mount that it is on */
    dev_t device;        /* block device: its own number, otherwise that of the file system */
    uint64_t size_bytes; /* of a file */
};

struct mount_entry {
    dev_t device; /* of the file system */
    char *root;   /* which part of it is mounted: "/" or, of a device bound to a file, "/rbd0" */
    char *target;
    char *fs_type;
    char *source;  /* "/dev/rbd0" */
    char *options; /* of the file system: "rw,noshare" */
    char *flags;   /* of the mount: "ro,nosuid,relatime" */
};

struct mount_list {
    struct mount_entry *items;
    size_t count;
};

struct mount_request {
    const char *device; /* of a new mount; NULL: bind @source */
    const char *source; /* NULL as well: only set the flags of the mount that is on @target */
    const char *target;
    const char *fs_type;
    const struct string_list *flags; /* as in a StorageClass, one option each; may be NULL */
    const struct secret *secret;     /* for the option of that name; never in a message; or NULL */
    bool read_only;
};

struct device_facts {
    dev_t number;
    uint64_t size_bytes;
    bool is_read_only;
};

#define CONTENT_NAME_MAX 40

/* What is on a device. */
struct device_content {
    char fs_type[CONTENT_NAME_MAX];         /* "" for none */
    char fs_uuid[CONTENT_NAME_MAX];         /* in lower case; "" for none */
    char partition_table[CONTENT_NAME_MAX]; /* "" for none */
    bool is_ambivalent;                     /* several signatures at once, none for certain */
    bool is_head_zero;                      /* there is nothing where ext and xfs begin */
    bool is_never_mounted; /* the file system proves it: no mount counted, or mkfs did not end */
    uint64_t fs_bytes;     /* size of an ext or xfs file system; 0: unknown */
};

struct usage {
    uint64_t total_bytes;
    uint64_t used_bytes;
    uint64_t available_bytes;
    uint64_t total_inodes;
    uint64_t used_inodes;
    uint64_t available_inodes;
};

struct host_ops {
    /* --- files and folders --- */

    /* Absent is success. Fails with the errno (ENOTCONN, EIO, ...) when the file system is dead. */
    int (*look)(struct host *host, const char *path, struct path_facts *facts, struct error *err);
    /* Their parent must exist. ALREADY_EXISTS when something else is there. */
    int (*make_directory)(struct host *host, const char *path, mode_t mode, struct error *err);
    int (*make_file)(struct host *host, const char *path, mode_t mode, struct error *err);
    /* An empty folder or a file; absent is success. FAILED_PRECONDITION for a folder that holds
     * something and for what is mounted. */
    int (*remove)(struct host *host, const char *path, struct error *err);
    /* Names in a folder without "." and ".."; absent is an empty list. */
    int (*list)(struct host *host, const char *path, struct string_list *names, struct error *err);
    /* *@text (caller frees) is NULL when there is no such file. Larger than 64 KiB is refused. */
    int (*read_text)(struct host *host, const char *path, char **text, struct error *err);
    /* Mode 0600; the new content is there entirely or not at all, also after a power cut. */
    int (*write_text)(struct host *host, const char *path, const char *text, struct error *err);
    /* A file that only root reads, for programs that take a key in no other way. Caller removes it
     * and frees the path. */
    int (*write_key)(struct host *host, const struct secret *key, char **path, struct error *err);
    /* Locks a folder for as long as *@fd, or the copy that a program got of it, is open; *@fd is -1
     * while another process has it locked. Caller closes. */
    int (*lock_folder)(struct host *host, const char *path, int *fd, struct error *err);
    /* Group, with the set-group-id bit and access for it, of a folder. */
    int (*set_group)(struct host *host, const char *path, gid_t group, struct error *err);
    int (*set_size)(struct host *host, const char *path, uint64_t size_bytes, struct error *err);
    int (*usage)(struct host *host, const char *path, struct usage *usage, struct error *err);
    /* Asks the file system of a folder, past its caches, whether the folder is still there. May
     * hang as long as the storage does. */
    int (*ask_folder)(struct host *host, const char *path, struct error *err);

    /* Tells the device of the file system at @path which blocks in these bytes of it are unused;
     * *@freed_bytes are as many. UNIMPLEMENTED if it cannot be told. May hang as long as the
     * storage does. */
    int (*trim)(struct host *host, const char *path, uint64_t start, uint64_t length,
                uint64_t *freed_bytes, struct error *err);

    /* --- mounts --- */

    int (*list_mounts)(struct host *host, struct mount_list *mounts, struct error *err);
    int (*mount)(struct host *host, const struct mount_request *request, struct error *err);
    /* Removes the topmost mount; not mounted is success. Lazily: out of sight now, released when
     * its last user has gone; for what is dead. */
    int (*unmount)(struct host *host, const char *target, bool lazily, struct error *err);

    /* --- block devices --- */

    int (*device_facts)(struct host *host, const char *device, struct device_facts *facts,
                        struct error *err);
    int (*device_content)(struct host *host, const char *device, struct device_content *content,
                          struct error *err);
    /* Whether the first and the last MiB are zeros. */
    int (*device_is_zero)(struct host *host, const char *device, bool *is_zero, struct error *err);
    /* Reads the first block past every cache. May hang as long as the storage does. */
    int (*device_read)(struct host *host, const char *device, struct error *err);
    /* Ends the use of an nbd device, whether or not a process serves it; the process ends, too. */
    int (*nbd_disconnect)(struct host *host, const char *device, struct error *err);
    /* Sets the size of an nbd device, whether or not its image has it. */
    int (*nbd_resize)(struct host *host, const char *device, uint64_t size_bytes,
                      struct error *err);

    /* --- loop devices --- */

    /* *@device (caller frees) is NULL when no loop device has this file. */
    int (*loop_find)(struct host *host, const char *file, char **device, struct error *err);
    int (*loop_attach)(struct host *host, const char *file, bool read_only, char **device,
                       struct error *err);
    int (*loop_detach)(struct host *host, const char *device, struct error *err);
    /* Tells the device that its file has grown. */
    int (*loop_refresh)(struct host *host, const char *device, struct error *err);

    /* --- the kernel --- */

    /* As read_text() and list(), for /sys, where links are the kernel's own. */
    int (*sysfs_read)(struct host *host, const char *path, char **text, struct error *err);
    int (*sysfs_list)(struct host *host, const char *path, struct string_list *names,
                      struct error *err);
    /* One write. @text may hold a key and never gets into a message. */
    int (*sysfs_write)(struct host *host, const char *path, const struct secret *text,
                       struct error *err);

    /* Whether the kernel's clients of Ceph, once loaded, refuse cephx keys of this type because
     * they do not know it. False also where nothing tells. */
    bool (*refuses_key_type)(struct host *host, unsigned type);
    /* A file of the second hierarchy of cgroups, by its path beneath /sys/fs/cgroup; no link is
     * followed. *@text (caller frees) is NULL when there is none, or no such hierarchy. */
    int (*cgroup_read)(struct host *host, const char *path, char **text, struct error *err);
    /* One write. */
    int (*cgroup_write)(struct host *host, const char *path, const char *text, struct error *err);

    /* --- programs --- */

    /* The arguments of the process with the number @pid; none when it is gone. */
    int (*process_arguments)(struct host *host, const char *pid, struct string_list *arguments,
                             struct error *err);
    /* As subprocess_check(). */
    int (*run)(struct host *host, const struct subprocess *program,
               struct subprocess_result *result, struct error *err);
    /* Numbers of the processes of @program one of whose arguments contains @argument. */
    int (*daemon_list)(struct host *host, const char *program, const char *argument,
                       struct string_list *pids, struct error *err);
    /* Whether there is one. */
    int (*daemon_is_running)(struct host *host, const char *program, const char *argument,
                             bool *running, struct error *err);
    /* Ends them, waits until they are gone: SIGTERM and, after ten seconds, SIGKILL. */
    int (*daemon_stop)(struct host *host, const char *program, const char *argument,
                       struct error *err);
    /* Whether daemons can survive the end of this container. *@reason (caller frees) says why not.
     */
    bool (*daemons_survive)(struct host *host, char **reason);
    /* Moves them out of this container, so that they survive its end. Does nothing where
     * daemons_survive() is false. */
    int (*daemon_detach)(struct host *host, const char *program, const char *argument,
                         struct error *err);
    /* Sends lines to a unix socket, after each one waiting for a line that contains @mark; the last
     * of these is *@reply (caller frees). */
    int (*converse)(struct host *host, const char *socket, const char *const *lines,
                    const char *mark, char **reply, struct error *err);
};

void mount_list_done(struct mount_list *mounts);
#define _cleanup_mount_list_ _cleanup_(mount_list_done)
