#pragma once

#include <stddef.h>

#include "common/base/error.h"

/*
 * What "kubectl get pv -o json" printed, as far as CSI volumes are concerned: a List of
 * PersistentVolumes, or a single one. Strings are owned; "" never, NULL where a key is absent.
 */
struct pv {
    char *name;
    char *driver;
    char *handle;
    char *reclaim_policy; /* Delete, Retain */
    char *phase;          /* Bound, Released, ... */
};

struct pv_dump {
    struct pv *items;
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
