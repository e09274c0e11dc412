#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/base/strmap.h"
#include "common/kube/kube_ops.h"

/*
 * CSIStorageCapacity objects of a driver, and the StorageClasses that they are about. Ours have
 * labels as external-provisioner gives them, but managed-by CAPACITY_MANAGER, so that neither
 * mistakes the other's objects for its own. Any thread; errors as in kube_ops.h.
 */
#define CAPACITY_MANAGER "cephzone"

struct capacity_object {
    char *name;
    char *manager; /* who maintains it; "" if unknown */
    char *class;
    struct strmap segment; /* nodeTopology.matchLabels; empty: every node */
    uint64_t bytes;
    uint64_t maximum_bytes;
    bool has_maximum;
    char *owner;      /* uid of the CSIDriver that owns it; "" for none */
    time_t refreshed; /* its heartbeat; 0: it has none */
};

struct capacity_objects {
    struct capacity_object *items;
    size_t count;
};

void capacity_objects_done(struct capacity_objects *objects);
#define _cleanup_capacity_objects_ _cleanup_(capacity_objects_done)

/* Those of @driver in the namespace, whoever maintains them. */
_must_check_ int capacity_objects_read(struct kube *kube, struct call *call, const char *name_space,
                                       const char *driver, struct capacity_objects *objects,
                                       struct error *err);
/* The uid of the CSIDriver object of @driver, which is to own them, so that they go when the driver
 * is uninstalled. *@uid, which the caller frees, is "" if there is none. */
_must_check_ int capacity_owner_read(struct kube *kube, struct call *call, const char *driver,
                                     char **uid, struct error *err);
/* The name is made of class and segment: two writers make one object. ALREADY_EXISTS if it is
 * there. The heartbeat is now, whatever @object says; it has an owner unless that is "". */
_must_check_ int capacity_object_create(struct kube *kube, struct call *call,
                                        const char *name_space, const char *driver,
                                        const struct capacity_object *object, struct error *err);
/* Changes figures, owner and heartbeat of the object of that name. */
_must_check_ int capacity_object_update(struct kube *kube, struct call *call,
                                        const char *name_space, const char *driver,
                                        const struct capacity_object *object, struct error *err);
/* Absent is success. */
_must_check_ int capacity_object_remove(struct kube *kube, struct call *call,
                                        const char *name_space, const char *name,
                                        struct error *err);

struct capacity_class {
    char *name;
    struct strmap parameters;
};

struct capacity_classes {
    struct capacity_class *items;
    size_t count;
};

/* Classes of @driver whose volumes wait for their first consumer: only for them the scheduler looks
 * at capacity. */
_must_check_ int capacity_classes_read(struct kube *kube, struct call *call, const char *driver,
                                       struct capacity_classes *classes, struct error *err);
void capacity_classes_done(struct capacity_classes *classes);
#define _cleanup_capacity_classes_ _cleanup_(capacity_classes_done)
