#pragma once

#include <jansson.h>

#include "common/base/error.h"
#include "common/base/string_list.h"
#include "common/base/strmap.h"

/*
 * What surrounds a CSI driver in a cluster and has no part in scheduling: the workloads that run
 * it, and its classes other than StorageClasses. Decoded from JSON as kube_objects.h does it; each
 * struct owns what it points to. Pure; any thread.
 */
struct kube_env {
    char *name;
    char *value; /* NULL: comes from elsewhere, such as the pod's own fields */
};

struct kube_container {
    char *name;
    char *image;
    struct string_list command;
    struct string_list args;
    struct kube_env *env;
    size_t env_count;
};

/* A Deployment, DaemonSet or StatefulSet. */
struct kube_workload {
    char *kind;
    char *ns;
    char *name;
    struct kube_container *containers;
    size_t container_count;
};

/* Whether objects of @kind are workloads: where the API server has them, "apps/v1", is
 * KUBE_WORKLOAD_API, and the resource is returned; NULL for other kinds. */
#define KUBE_WORKLOAD_API "apps/v1"
const char *kube_workload_resource(const char *kind);

/* INVALID_ARGUMENT with object and path. @workload is zero before; kube_workload_done() frees, also
 * after a failure. */
_must_check_ int kube_workload_decode(const char *kind, const json_t *value,
                                      struct kube_workload *workload, struct error *err);
void kube_workload_done(struct kube_workload *workload);

/*
 * The words that the container passes to its program, with references $(NAME) to variables of known
 * value replaced, as kubelet does it. What stands before the first word with a dash is left out:
 * the program. @words is empty before.
 */
void kube_container_words(const struct kube_container *container, struct string_list *words);

/* A VolumeSnapshotClass, VolumeGroupSnapshotClass or VolumeAttributesClass. */
struct kube_driver_class {
    char *kind;
    char *name;
    char *driver;
    struct strmap parameters;
};

/* As kube_workload_resource(); *@api is where it is. */
const char *kube_driver_class_resource(const char *kind, const char **api);
_must_check_ int kube_driver_class_decode(const char *kind, const json_t *value,
                                          struct kube_driver_class *class, struct error *err);
void kube_driver_class_done(struct kube_driver_class *class);
