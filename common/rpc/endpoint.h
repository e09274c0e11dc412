#pragma once

#include <sys/types.h>

#include "common/base/cleanup.h"
#include "common/base/error.h"

/*
 * The socket named by --endpoint.
 *
 * A server listens on a temporary name in the same folder and renames that to the real one: atomic
 * for clients, replaces a stale socket, and a predecessor that ends later does not take the new
 * socket away with it. The temporary name starts with a dot, which kubelet's plugin watcher skips,
 * and is gone after the rename.
 */

/*
 * Reads "unix:///csi/csi.sock", "unix://csi/csi.sock" (the same: a slash is put before it),
 * "unix:/csi/csi.sock" or a plain absolute path. Caller frees *@path. INVALID_ARGUMENT for anything
 * else, TCP included, and for a path that does not fit into a socket address.
 */
_must_check_ int endpoint_parse(const char *endpoint, char **path, struct error *err);

/* The path as gRPC core wants it: "unix:/csi/a%20b.sock". Caller frees. */
char *endpoint_target(const char *path);

struct endpoint_socket {
    char *path;
    char *temporary; /* to listen on */
    dev_t device;    /* of the socket that endpoint_publish() put at @path; inode 0: none */
    ino_t inode;
};

/* Chooses the temporary name. Fails if something that is no socket has the real name; logs a
 * warning if another process still answers there, as during a rolling update. */
_must_check_ int endpoint_prepare(struct endpoint_socket *socket, const char *path,
                                  struct error *err);
/* Gives the socket that listens on the temporary name its real one. */
_must_check_ int endpoint_publish(struct endpoint_socket *socket, struct error *err);
/* Removes the socket from the folder if it is still the one that was published. */
void endpoint_withdraw(struct endpoint_socket *socket);
/* Frees the names; does not touch the files. */
void endpoint_done(struct endpoint_socket *socket);
