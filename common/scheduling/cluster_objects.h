#pragma once

#include <jansson.h>

#include "common/kube/objects/kube_objects.h"
#include "common/scheduling/assume_cache.h"
#include "common/scheduling/label_index.h"
#include "common/scheduling/name_table.h"

/*
 * A snapshot of a cluster with the indexes that keep a pod's check far below nodes x volumes:
 *
 *   by kind and name; volumes by the claim they name; pods by claim and by node;
 *   free volumes by class, and in a class by affinity: one group for all that have the same
 *   affinity, volume mode, attributes class and access modes, sorted by size, then name;
 *   CSIStorageCapacity by class and by the labels they select.
 *
 * Indexes show objects through their assumptions. Load with cluster_put() or cluster_read(), then
 * call cluster_settle() once; after that every change keeps the indexes. Owns all objects. One
 * thread; several may read while nobody writes.
 */
/* Free volumes that are the same to any claim except for size and labels. */
struct pv_group {
    /* what a check reads comes first: it is the reading from memory that takes its time */
    struct quantity smallest; /* of the volumes, once settled */
    struct quantity largest;
    struct pointer_list pvs; /* struct kube_pv; smallest first, then by name */
    unsigned access_modes;
    bool is_block;
    bool is_exact; /* whoever is found by a label, or by none, fits the affinity */
    bool has_attributes_class;
    char *attributes_class; /* "" if none */
    char *key;
};

/* What the entry of each index begins with. */
struct index_name {
    char *ns; /* "" for classes and nodes */
    char *name;
};

/* All that is known of one class name, whether or not there is such a class. */
struct class_index {
    struct index_name id;
    struct named_list groups;       /* struct pv_group */
    struct label_index by_affinity; /* of struct pv_group */
    struct pointer_list capacities; /* struct kube_capacity, by namespace and name */
    struct label_index by_topology; /* of struct kube_capacity */
};

/* Who uses or is meant for a claim, whether or not it exists. */
struct claim_index {
    struct index_name id;
    struct pointer_list pvs; /* struct kube_pv that name it; smallest first, then by name */
    struct pointer_list pods;
};

/* Volumes in use on a node: one "driver/handle" each. */
struct volumes_in_use {
    struct string_list keys;     /* of its pods, sorted */
    struct string_list attached; /* of attachments alone, sorted */
    char *fault;                 /* why they cannot be counted; NULL if they can */
    bool is_counted;
};

struct node_index {
    struct index_name id;
    struct pointer_list pods;
    struct pointer_list attachments;
    struct volumes_in_use volumes; /* see volume_limits.h */
};

struct cluster_objects {
    struct named_list lists[KUBE_KINDS]; /* sorted by namespace and name once settled */
    enum assume_rules rules;
    bool is_settled;
    struct label_pairs pairs;
    struct named_list classes; /* struct class_index */
    struct named_list claims;  /* struct claim_index */
    struct named_list nodes;   /* struct node_index */
    size_t foreign_count;      /* objects of other kinds that cluster_read() left out */
};

/* More than the largest clusters have, of each kind. */
#define CLUSTER_OBJECTS_MAX 4000000

void cluster_done(struct cluster_objects *cluster);
#define _cleanup_cluster_ _cleanup_(cluster_done)

/* Objects that are decoded but in no cluster yet. Owns them. */
struct decoded_object {
    enum kube_kind kind;
    void *object;
};

struct decoded_objects {
    struct decoded_object *items;
    size_t count;
    size_t foreign_count; /* of other kinds, left out */
};

/*
 * Takes what "kubectl get -o json" prints, what the API server lists, one object, or an array of
 * any of these. Objects of other kinds are counted and left. INVALID_ARGUMENT with the place:
 * "items[3]: PersistentVolume 'pv-1': ...". @objects is empty before, and after a failure.
 */
_must_check_ int cluster_decode(const json_t *value, struct decoded_objects *objects,
                                struct error *err);
void decoded_objects_done(struct decoded_objects *objects);
#define _cleanup_decoded_objects_ _cleanup_(decoded_objects_done)

/* RESOURCE_EXHAUSTED if there might be more than CLUSTER_OBJECTS_MAX with them. */
_must_check_ int cluster_check_room(const struct cluster_objects *cluster,
                                    const struct decoded_objects *objects, struct error *err);
/* cluster_put() for all of them, for which there is room. @objects is empty afterwards. */
void cluster_take(struct cluster_objects *cluster, struct decoded_objects *objects);

/* Both in one step: all objects or, on failure, none. */
_must_check_ int cluster_read(struct cluster_objects *cluster, const json_t *value,
                              struct error *err);

/* Sorts and builds what is built once. */
void cluster_settle(struct cluster_objects *cluster);

/* Takes the object over and replaces the one of its name, as an event of the API server would; an
 * assumption about it stays or falls by the rules. Returns what is stored now: the old one if the
 * rules refuse an outdated event (the new one is then freed). */
void *cluster_put(struct cluster_objects *cluster, enum kube_kind kind, void *object);
void cluster_remove(struct cluster_objects *cluster, enum kube_kind kind, const char *ns,
                    const char *name);

/* A volume or pod is taken out of the indexes before it is changed in place and added to them
 * afterwards. One that is not indexed may be removed. */
enum index_change { INDEX_ADD, INDEX_REMOVE };
void cluster_index_pv(struct cluster_objects *cluster, struct kube_pv *pv,
                      enum index_change change);
void cluster_index_pod(struct cluster_objects *cluster, struct kube_pod *pod,
                       enum index_change change);
/* The node's labels were changed in place. */
void cluster_relabel_node(struct cluster_objects *cluster, struct kube_node *node);
/* The volumes in use on the nodes where pods use the claim are counted anew. */
void cluster_touch_claim(struct cluster_objects *cluster, const char *ns, const char *name);
/* The volumes in use on the node are counted anew. */
void cluster_touch_node(struct cluster_objects *cluster, const char *name);

/* Whoever assumes something of a volume or claim hands the assumption over; see assume_check() for
 * when it is refused (and freed). Restoring drops it if it was made at @version. */
_must_check_ int cluster_assume(struct cluster_objects *cluster, enum kube_kind kind,
                                const char *ns, const char *name, struct assumption *assumption,
                                struct error *err);
void cluster_restore(struct cluster_objects *cluster, enum kube_kind kind, const char *ns,
                     const char *name, const char *version);

/* NULL if there is none. Borrowed. */
void *cluster_find(const struct cluster_objects *cluster, enum kube_kind kind, const char *ns,
                   const char *name);
struct kube_pv *cluster_find_pv(const struct cluster_objects *cluster, const char *name);
struct kube_pvc *cluster_find_pvc(const struct cluster_objects *cluster, const char *ns,
                                  const char *name);
struct kube_class *cluster_find_class(const struct cluster_objects *cluster, const char *name);
const struct class_index *cluster_class_index(const struct cluster_objects *cluster,
                                              const char *name);
const struct claim_index *cluster_claim_index(const struct cluster_objects *cluster, const char *ns,
                                              const char *name);
struct node_index *cluster_node_index(const struct cluster_objects *cluster, const char *name);

/* The objects of a kind in their order. */
static inline size_t cluster_count(const struct cluster_objects *cluster, enum kube_kind kind)
{
    return cluster->lists[kind].all.count;
}

static inline void *cluster_at(const struct cluster_objects *cluster, enum kube_kind kind,
                               size_t at)
{
    return cluster->lists[kind].all.items[at];
}

/* The order among volumes wherever Kubernetes leaves it open: size, then name. */
int cluster_compare_pvs(const void *a, const void *b);
/* And among all others: namespace, then name. */
int cluster_compare_objects(const void *a, const void *b);
