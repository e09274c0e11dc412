#pragma once

#include "common/linux/host.h"

/* Inside of common/linux: the real host, whose functions are spread over several files. */
struct real_host {
    struct host base;
    struct host_ops ops;
    char *kubelet_dir;
    char *key_dir;
};

/* Each file adds its functions to the table. */
void files_register(struct host_ops *ops);
void mounts_register(struct host_ops *ops);
void devices_register(struct host_ops *ops);
void loops_register(struct host_ops *ops);
void nbd_netlink_register(struct host_ops *ops);
void programs_register(struct host_ops *ops);
void daemons_register(struct host_ops *ops);
void kernel_key_types_register(struct host_ops *ops);

/*
 * Opens @path with @flags (O_PATH, O_RDONLY, ...) without following a link; close-on-exec. Returns
 * the descriptor or a negative errno.
 */
_must_check_ int path_open(const struct real_host *host, const char *path, int flags);
/* The same for a @path beneath the folder @root, which it cannot leave. */
_must_check_ int path_open_beneath(const char *root, const char *path, int flags);
/* Opens the folder that @path is in; *@name points to the last part of @path. */
_must_check_ int path_open_parent(const struct real_host *host, const char *path,
                                  const char **name);
