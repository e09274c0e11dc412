#ifndef CEPHZONE_SCHEDULING_H
#define CEPHZONE_SCHEDULING_H

/*
 * libcephzone-scheduling: the volume logic of the Kubernetes scheduler, for schedulers of your own.
 *
 * A cluster holds the objects that scheduling looks at: nodes, volumes, claims, classes,
 * CSIDrivers, CSINodes, CSIStorageCapacities, pods and VolumeAttachments. It is fed with JSON as
 * the API server sends it, and answers on which nodes a pod's volumes can be had, why not
 * elsewhere, and how well. No I/O, no clock, no threads, no global state: the caller watches the
 * API server and writes to it.
 *
 * Looked at: VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone; of the pod itself
 * node selector and affinity, taints and cordoned nodes. Not looked at: processors, memory, ports,
 * affinity between pods, topology spread. The scheduler that uses this library filters by these
 * itself.
 *
 * Threads: a cluster, and every handle that was made from it or is passed with it, belongs to one
 * thread at a time; the caller holds a lock around calls that share one. Even a check writes to its
 * cluster, where it remembers counts. Different clusters are independent of each other.
 *
 * Ownership: strings and structs passed in are copied. A const char * that is returned belongs to
 * its handle and is valid until that is freed. A char * that is set through a pointer belongs to
 * the caller, who frees it with czs_text_free(). Handles may be freed in any order; free functions
 * accept NULL.
 *
 * Errors: functions that can fail return CZS_OK or a negative enum czs_status. The last parameter,
 * which may be NULL, then receives a text for people. Output parameters are set on success only.
 * Getters given NULL, or a number that is too large, return NULL, 0 or what their comment says.
 * Bad input never aborts. Running out of memory does, because the objects' code has no way back:
 * CZS_INPUT_MAX bounds each document, CZS_OBJECTS_MAX each kind of object; callers who fear more
 * bound what they pass.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CZS_PUBLIC __attribute__((visibility("default")))
#else
#define CZS_PUBLIC
#endif

/* Bytes of one document, and objects of one kind in a cluster. */
#define CZS_INPUT_MAX ((size_t)1024 * 1024 * 1024)
#define CZS_OBJECTS_MAX 4000000

enum czs_status {
    CZS_OK = 0,
    CZS_WAITING = 1,    /* of czs_bound() alone: ask again */
    CZS_INVALID = -1,   /* an argument or an object that makes no sense */
    CZS_NOT_FOUND = -2, /* no such pod, node or claim in the cluster */
    CZS_TOO_LARGE = -3, /* beyond CZS_INPUT_MAX or CZS_OBJECTS_MAX */
    CZS_STALE = -4,     /* computed before the cluster changed: check again */
    CZS_REFUSED = -5    /* the state of the cluster forbids it */
};

/* Who rejects a pod, as bits. */
enum czs_plugin {
    CZS_VOLUME_BINDING = 1,
    CZS_VOLUME_LIMITS = 2,
    CZS_VOLUME_ZONE = 4,
    CZS_PLACEMENT = 8, /* node selector and affinity, taints */
    CZS_VOLUME_RESTRICTIONS = 16
};

enum czs_format { CZS_TABLE, CZS_WIDE, CZS_JSON };

struct czs_cluster;
struct czs_change;
struct czs_check;
struct czs_binding;

/* The version of the library that runs: "0.1.0". */
CZS_PUBLIC const char *czs_version(void);
CZS_PUBLIC void czs_text_free(char *text);

/* --- the cluster --- */

/*
 * An empty cluster that follows the rules of a Kubernetes version: "1.34", "v1.32.4"; NULL or ""
 * for the newest known. CZS_INVALID for anything else, and for versions before 1.19.
 */
CZS_PUBLIC int czs_cluster_new(const char *kubernetes_version, struct czs_cluster **cluster,
                               char **error);
CZS_PUBLIC void czs_cluster_free(struct czs_cluster *cluster);

/*
 * How storage capacity scores: "0:10,100:0", utilization in percent and score from 0 to 10, as in
 * VolumeBindingArgs. CZS_INVALID for versions whose StorageCapacityScoring is off.
 */
CZS_PUBLIC int czs_cluster_set_shape(struct czs_cluster *cluster, const char *shape, char **error);

/*
 * Adds objects, or replaces those of the same kind and name, as events of a watch would: one
 * object, a List, a list of one kind, or an array of any of these. Objects of other kinds are left
 * out. All or nothing. A volume or claim that is older than the one that is there may be left out
 * as well, by the rules of the scheduler's assume cache.
 */
CZS_PUBLIC int czs_cluster_put(struct czs_cluster *cluster, const char *json, size_t length,
                               char **error);
/* "PersistentVolume", NULL or "" for a kind without namespaces. An object that is not there is no
 * failure. CZS_INVALID for a kind that is not looked at. */
CZS_PUBLIC int czs_cluster_remove(struct czs_cluster *cluster, const char *kind,
                                  const char *name_space, const char *name, char **error);
/* How many objects of the kind there are; 0 for a kind that is not looked at. */
CZS_PUBLIC size_t czs_cluster_count(const struct czs_cluster *cluster, const char *kind);
/* Grows with every change. What was computed on an older generation is stale. */
CZS_PUBLIC uint64_t czs_cluster_generation(const struct czs_cluster *cluster);

/* --- changes, before they are applied --- */

/*
 * What czs_cluster_put() and czs_cluster_remove() do, in two steps: between them a scheduler asks
 * which of its waiting pods the change may help, which takes the objects before and after it. A
 * change is of no cluster until it is applied, once; it is then empty, and freed by its owner.
 */
CZS_PUBLIC int czs_change_put(const char *json, size_t length, struct czs_change **change,
                              char **error);
CZS_PUBLIC int czs_change_remove(const char *kind, const char *name_space, const char *name,
                                 struct czs_change **change, char **error);
CZS_PUBLIC int czs_change_apply(struct czs_cluster *cluster, struct czs_change *change,
                                char **error);
CZS_PUBLIC void czs_change_free(struct czs_change *change);

/*
 * Kubernetes' queueing hints: 1 if the change may make a pod schedulable that @plugins (see
 * czs_check_plugins()) rejected, 0 if it cannot, or a negative enum czs_status. A pod that failed
 * with an error is tried again in any case, and so is one that changed itself: 1.
 */
CZS_PUBLIC int czs_change_may_help(const struct czs_cluster *cluster,
                                   const struct czs_change *change, const char *name_space,
                                   const char *pod, unsigned plugins, char **error);
/* The plugins whose earlier verdicts on any pod do not hold any more; for callers that keep them.
 */
CZS_PUBLIC unsigned czs_change_invalidates(const struct czs_cluster *cluster,
                                           const struct czs_change *change);

/* --- checking a pod --- */

/*
 * Filters and scores: the pod, which must be in the cluster, against one node, or with NULL against
 * all. The result has one row per node that was looked at, by name, and can be read as long as it
 * is not freed, even when the cluster has changed; to act upon it after that is CZS_STALE.
 */
CZS_PUBLIC int czs_check_pod(struct czs_cluster *cluster, const char *name_space, const char *pod,
                             const char *node, struct czs_check **check, char **error);
CZS_PUBLIC void czs_check_free(struct czs_check *check);

CZS_PUBLIC size_t czs_check_count(const struct czs_check *check);
/* How many of the rows fit. */
CZS_PUBLIC size_t czs_check_fitting(const struct czs_check *check);
CZS_PUBLIC const char *czs_check_node(const struct czs_check *check, size_t row);
CZS_PUBLIC int czs_check_fits(const struct czs_check *check, size_t row);
/* How well the node suits the pod's volumes, 0 to 100; -1 where it does not fit. */
CZS_PUBLIC int64_t czs_check_score(const struct czs_check *check, size_t row);
/* The sum of the weights of the pod's preferred node affinity that the node fulfils. */
CZS_PUBLIC int64_t czs_check_preference(const struct czs_check *check, size_t row);
/* The first plugin that rejects the node, an enum czs_plugin; 0 where it fits. */
CZS_PUBLIC unsigned czs_check_plugin(const struct czs_check *check, size_t row);
/* 1 if that is an error rather than a verdict: to be tried again whatever happens. */
CZS_PUBLIC int czs_check_is_error(const struct czs_check *check, size_t row);
/* Its reasons, in Kubernetes' words; NULL behind the last one. */
CZS_PUBLIC const char *czs_check_reason(const struct czs_check *check, size_t row, size_t number);
/* The plugins of all rows together: what a change must help with. */
CZS_PUBLIC unsigned czs_check_plugins(const struct czs_check *check);
/* "0/3 nodes are available: ...", as the event of an unschedulable pod has it. NULL if a node fits,
 * or if one node alone was looked at. */
CZS_PUBLIC const char *czs_check_summary(const struct czs_check *check);

/* --- from a verdict to bound volumes --- */

/*
 * Reserve: from now on the cluster counts the pod as being on the node of that row, and the volumes
 * and claims chosen there as taken, until the API server's events say the same or czs_revert()
 * gives them up. CZS_STALE if the cluster has changed since the check; CZS_REFUSED for a row that
 * does not fit, and for a pod that has a node.
 */
CZS_PUBLIC int czs_assume(struct czs_cluster *cluster, const struct czs_check *check, size_t row,
                          struct czs_binding **binding, char **error);
/* Frees the handle; what is assumed stays assumed. */
CZS_PUBLIC void czs_binding_free(struct czs_binding *binding);
CZS_PUBLIC const char *czs_binding_node(const struct czs_binding *binding);

/*
 * What must be written to the API server, in this order, before the pod itself is bound: volumes
 * that get their claim (claimRef), then claims that get the annotation selected-node. None if every
 * claim is bound already.
 */
CZS_PUBLIC size_t czs_binding_writes(const struct czs_binding *binding);
/* "PersistentVolume" or "PersistentVolumeClaim". */
CZS_PUBLIC const char *czs_write_kind(const struct czs_binding *binding, size_t write);
/* "" for a volume. */
CZS_PUBLIC const char *czs_write_namespace(const struct czs_binding *binding, size_t write);
CZS_PUBLIC const char *czs_write_name(const struct czs_binding *binding, size_t write);
/* A merge patch (application/merge-patch+json). It has the resourceVersion that was assumed, so
 * that the API server answers 409 if somebody else was quicker: revert, and schedule the pod again.
 */
CZS_PUBLIC const char *czs_write_patch(const struct czs_binding *binding, size_t write);
/* The resourceVersion that the API server answered with: czs_bound() judges by no older one.
 * Callers that do not know it leave this out; it then waits for any other version than the one
 * assumed. */
CZS_PUBLIC int czs_written(struct czs_binding *binding, size_t write, const char *resource_version,
                           char **error);

/*
 * Whether the volumes are bound, after the PV controller and the provisioner have done their part,
 * by the objects that were put: CZS_OK, CZS_WAITING, or CZS_REFUSED with the reason when it cannot
 * come about on this node any more: revert. The limit in time is the caller's (Kubernetes: 600 s).
 */
CZS_PUBLIC int czs_bound(const struct czs_cluster *cluster, const struct czs_binding *binding,
                         char **error);
/* Unreserve: gives up what is only assumed. Repeatable. What was written is not undone. */
CZS_PUBLIC int czs_revert(struct czs_cluster *cluster, struct czs_binding *binding, char **error);

/* --- explaining --- */

/*
 * Why a pod is pending, or where a claim can go: what is wrong on each node and what would help, as
 * 'cephzone explain' prints it. The fields of CZS_JSON are those of its "-o json". @fitting, which
 * may be NULL, receives the number of nodes that fit.
 */
CZS_PUBLIC int czs_explain_pod(struct czs_cluster *cluster, const char *name_space, const char *pod,
                               enum czs_format format, char **text, size_t *fitting, char **error);
CZS_PUBLIC int czs_explain_claim(struct czs_cluster *cluster, const char *name_space,
                                 const char *claim, enum czs_format format, char **text,
                                 size_t *fitting, char **error);

#ifdef __cplusplus
}
#endif

#endif
