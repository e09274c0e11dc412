#pragma once

#include <stddef.h>

#include "common/base/error.h"
#include "common/kube/objects/kube_objects.h"

/* The CSI volumes in the output of "kubectl get pv -o json": each has a driver and a handle. */
struct pv_dump {
    struct kube_pv **items;
    size_t count;
};

/* A PersistentVolume takes 2 to 3 KiB. */
#define PV_DUMP_LIMIT ((size_t)256 * 1024 * 1024)

/* Keeps the volumes of @driver. INVALID_ARGUMENT naming the place for anything that is no such
 * dump. Caller calls pv_dump_done(). */
_must_check_ int pv_dump_load(const char *path, const char *driver, struct pv_dump *dump,
                              struct error *err);
void pv_dump_done(struct pv_dump *dump);
#define _cleanup_pv_dump_ _cleanup_(pv_dump_done)
