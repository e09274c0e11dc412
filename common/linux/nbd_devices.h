#pragma once

#include "common/linux/mapper.h"

/*
 * Inside of common/linux: the kernel's nbd devices, and which of them is a volume's.
 *
 * Since 5.14 the kernel keeps an identifier for a device, which rbd-nbd calls cookie: the volume's
 * handle. It decides. Before, a device is known by the number of the process that connected it,
 * which means nothing to a driver in a pid namespace of its own.
 */
#define NBD_PROGRAM "rbd-nbd"

struct nbd_device {
    char *path;       /* "/dev/nbd0" */
    char *first_pid;  /* of the process that connected it, as the kernel counts; NULL: free */
    char *identifier; /* NULL: it has none */
};

void nbd_device_done(struct nbd_device *device);
#define _cleanup_nbd_device_ _cleanup_(nbd_device_done)

/* @name is "nbd0". Caller calls nbd_device_done(). */
_must_check_ int nbd_device_read(struct host *host, const char *name, struct nbd_device *device,
                                 struct error *err);
/* Names of all, free ones too: "nbd0". */
_must_check_ int nbd_device_list(struct host *host, struct string_list *names, struct error *err);

/* The device that a process serves for the volume. *@path (caller frees) stays NULL if there is
 * none, or only a device that has lost its process. */
_must_check_ int nbd_device_find(struct host *host, const struct image_spec *spec, char **path,
                                 struct error *err);

/* Whether the kernel keeps identifiers. */
_must_check_ int nbd_has_identifiers(struct host *host, bool *has, struct error *err);
/* Whether processes have the same numbers here as in the kernel: hostPID. */
_must_check_ int nbd_sees_host_pids(struct host *host, bool *sees, struct error *err);

/* Processes that serve the image, or are about to, for this volume or for one that they do not
 * name. */
_must_check_ int nbd_list_processes(struct host *host, const struct image_spec *spec,
                                    struct string_list *pids, struct error *err);
