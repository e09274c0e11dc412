#pragma once

#include <stddef.h>

#include "common/base/error.h"
#include "common/usage/class_pools.h"

/*
 * What "kubectl get storageclass -o json" printed, as far as pools and their places are concerned:
 * a List of StorageClasses, or a single one. Or a manifest in YAML, which may have other kinds
 * beside them. Any thread. Strings are owned and never NULL unless said.
 */
struct storage_class {
    char *name;
    struct strmap parameters;
    char *fault;              /* why its parameters cannot be used; NULL if they can */
    struct class_pools pools; /* of no use with a fault; has a cluster_id and a home or places */
};

struct storage_class_dump {
    struct storage_class *items;
    size_t count;
};

/* Whether a driver of that name is for CephFS: as deployers give names, by its end. */
bool storage_class_is_cephfs(const char *driver);
/* Whether it is for RBD or CephFS: by its end, as Rook puts its namespace in front. */
bool storage_class_is_served(const char *driver);

#define STORAGE_CLASS_DUMP_LIMIT ((size_t)64 * 1024 * 1024)

/*
 * Keeps the classes whose provisioner is @driver. Parameters that make no sense are the fault of
 * their class alone; INVALID_ARGUMENT naming the place for anything that is no such dump. Caller
 * calls storage_class_dump_done().
 */
_must_check_ int storage_class_dump_load(const char *path, const char *driver,
                                         struct storage_class_dump *dump, struct error *err);
void storage_class_dump_done(struct storage_class_dump *dump);
#define _cleanup_storage_class_dump_ _cleanup_(storage_class_dump_done)
