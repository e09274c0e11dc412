#pragma once

#include <jansson.h>

#include "common/config/credentials.h"
#include "common/kube/kube_ops.h"
#include "common/kube/objects/driver_objects.h"
#include "common/scheduling/cluster_objects.h"

/* All that a check looks at, from wherever it comes. One thread. */

enum check_secret_state { CHECK_SECRET_READ, CHECK_SECRET_MISSING, CHECK_SECRET_UNREADABLE };

/* A Secret that a class names. */
struct check_secret {
    char *ns;
    char *name;
    enum check_secret_state state;
    char *fault; /* of an unreadable one: why */
    struct credentials credentials;
};

/* A Ceph user's capabilities, daemon by daemon: "mon" -> "profile rbd". */
struct check_caps {
    char *user; /* without "client." */
    struct strmap caps;
};

/* Something that could not be read. */
struct check_gap {
    char *what; /* "deployments" */
    char *reason;
};

struct check_world {
    struct cluster_objects cluster;
    struct kube_workload *workloads;
    size_t workload_count;
    struct kube_driver_class *classes; /* other than StorageClasses */
    size_t class_count;
    struct check_secret *secrets;
    size_t secret_count;
    struct check_caps *caps;
    size_t caps_count;
    struct check_gap *gaps;
    size_t gap_count;
    const char *library_version; /* of the driver's librados; borrowed */
};

void check_world_done(struct check_world *world);
#define _cleanup_check_world_ _cleanup_(check_world_done)

/* An object_document_fn: takes what a check needs of a document of a dump; Secrets in it are wiped.
 * @context is the world. After the last document: check_world_settle(). */
_must_check_ int check_world_read(void *context, json_t *document, struct error *err);
void check_world_settle(struct check_world *world);

/*
 * Lists the objects of a live cluster, and reads the Secrets that its classes name. What may not be
 * read is a gap, but for StorageClasses and CSIDrivers: without them there is nothing to say.
 * Settles.
 */
_must_check_ int check_world_list(struct check_world *world, struct kube *kube, struct call *call,
                                  struct error *err);

/* What "ceph auth ls" or "ceph auth get" print as JSON. Keys in it are not kept. */
_must_check_ int check_world_add_caps(struct check_world *world, const json_t *reply,
                                      struct error *err);

void check_world_add_gap(struct check_world *world, const char *what, const char *reason);

/* The Secret that a parameter of a class refers to, and for whom it is. */
struct check_secret_ref {
    const char *ns; /* borrowed from the class */
    const char *name;
    bool is_for_nodes;
};

/* The reference at the class's parameter @index; false if that is none. */
bool check_secret_ref_at(const struct strmap *parameters, size_t index,
                         struct check_secret_ref *ref);
/* Whether the driver's name is one of Ceph's: by its end, also behind a prefix. */
bool check_driver_is_ceph(const char *name);
const struct check_secret *check_world_find_secret(const struct check_world *world, const char *ns,
                                                   const char *name);
