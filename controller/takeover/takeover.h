#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/base/metrics.h"
#include "common/config/takeover_source.h"
#include "common/kube/events.h"
#include "common/kube/kube_ops.h"
#include "common/volume/client_records.h"
#include "controller/takeover/fences.h"
#include "controller/takeover/takeover_plan.h"

/*
 * Makes the cluster follow the takeover map (--takeover-via=labels): reads Nodes, CSINodes and
 * fences, plans (controller/takeover/takeover_plan.h), does the steps, and reads again, until
 * nothing is left to do. One of several controllers acts, by the Lease DRIVER-takeover; every step
 * may be done twice, so that a stale leader is harmless.
 */
struct takeover_site {
    struct kube *kube; /* all borrowed */
    const char *driver_name;
    const char *name_space;               /* of the notes of fences */
    const char *own_node;                 /* "" if unknown */
    const struct fences *fences;          /* NULL: they cannot be seen */
    const struct client_records *records; /* NULL: they cannot be read */
    struct events *events;                /* may be NULL */
    bool only_removes;                    /* --takeover-via=nodeinfo */
    bool looks_ahead;                     /* reads what later steps need, for a dry run */
};

/*
 * Reads the recorded clients of all volumes that are pinned to the domains of @plan which wait for
 * them, or are in use on the nodes that may write to them, and adds the addresses to those of
 * @nodes. A client without a Node becomes a node that is_gone. A volume whose record cannot be
 * read, or that is in use on such a node and has no record of the client there, fails it all:
 * whoever may write to it is not known.
 *
 * @is_attached: attachments say which nodes have a volume; else pods do, a list for each such node.
 * Costs a list of PersistentVolumes and one of VolumeAttachments, and about 11 round trips for each
 * such RBD volume, eight volumes at a time.
 */
_must_check_ int takeover_survey_read(const struct takeover_site *site, struct call *call,
                                      const struct takeover_plan *plan, bool is_attached,
                                      struct cluster_nodes *nodes, struct error *err);

/* Reads the pods that have to leave nodes, of the domains of @plan for which they matter: a list of
 * PersistentVolumes for each, and one of the pods of each such node. */
_must_check_ int takeover_pods_read(const struct takeover_site *site, struct call *call,
                                    const struct takeover_plan *plan,
                                    const struct cluster_nodes *nodes, struct takeover_pods *pods,
                                    struct error *err);
bool takeover_wants_pods(const struct takeover_site *site, const struct takeover_progress *domain);

/* The cluster as it was read, and what is to be done. takeover_scan_done() frees. */
struct takeover_scan {
    struct cluster_nodes nodes;
    struct fence_sight fenced;
    bool reads_fences; /* they matter: @fenced has them, or @fences_unknown the reason */
    char *fences_unknown;
    struct fence_notes notes;
    struct strmap daemons; /* addresses of Ceph itself; read with the clients */
    char *clients_unknown;
    struct takeover_pods pods;
    char *pods_unknown;
    bool use_is_reported;
    struct takeover_plan plan;
};

/* Reads and plans; changes nothing. Ceph is asked only if the map or a node mentions fences, and
 * for the recorded clients of volumes only where a node is about to be written down, released or
 * labelled: three times in a takeover. Fails if the Nodes, or the notes of what is fenced, cannot
 * be read. */
_must_check_ int takeover_scan_read(const struct takeover_site *site, struct call *call,
                                    const struct takeover_map *map, struct takeover_scan *scan,
                                    struct error *err);
/*
 * Whether a scan of now would find the same and had nothing to do, given that neither the map nor
 * the nodes have changed since: the notes and the fences are the same, and nothing that @last was
 * waiting for can only be seen elsewhere. A request, and a command to each cluster.
 */
bool takeover_scan_is_current(const struct takeover_site *site, struct call *call,
                              const struct takeover_scan *last);
/* Plans again from what was read. */
void takeover_scan_plan(const struct takeover_site *site, const struct takeover_map *map,
                        struct takeover_scan *scan);
void takeover_scan_done(struct takeover_scan *scan);
#define _cleanup_takeover_scan_ _cleanup_(takeover_scan_done)

/* Asked before each step. */
typedef bool takeover_may_act_fn(void *object);

/*
 * Does the steps of @scan in order. After one that fails the others of its domain are left for the
 * next scan, those of other domains go on; the first failure is returned. A pod that a disruption
 * budget keeps is no failure, and nothing waits for it. *@done counts.
 */
_must_check_ int takeover_carry_out(const struct takeover_site *site, struct call *call,
                                    const struct takeover_scan *scan, takeover_may_act_fn *may_act,
                                    void *object, size_t *done, struct error *err);

/* --- the reconciler --- */

struct takeover_reconciler;

struct takeover_reconciler_options {
    struct takeover_site site;
    struct takeover_source *source; /* borrowed */
    const char *name_space;         /* of the Lease; copied */
    const char *identity;           /* who we are; copied */
    struct metrics *metrics; /* may be NULL; not read any more after the reconciler is freed */
    int64_t busy_ms;         /* between scans while the map says something; 0: 10000 */
    int64_t idle_ms;         /* while it is empty; 0: 300000 */
};

_must_check_ int takeover_reconciler_new(const struct takeover_reconciler_options *options,
                                         struct takeover_reconciler **reconciler,
                                         struct error *err);
/* Gives the Lease back. NULL is fine. */
void takeover_reconciler_free(struct takeover_reconciler *reconciler);
DEFINE_CLEANUP(struct takeover_reconciler, takeover_reconciler_free)

/* False, with the reason in @message (caller frees, "" if healthy), while a takeover or giveback
 * cannot go on. */
bool takeover_reconciler_is_healthy(struct takeover_reconciler *reconciler, char **message,
                                    time_t *since);
