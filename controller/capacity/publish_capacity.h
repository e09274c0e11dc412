#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/strmap.h"
#include "common/kube/capacity_objects.h"
#include "common/kube/kube_ops.h"

/*
 * CSIStorageCapacity objects kept by ourselves (--publish-capacity), for deployments whose
 * csi-provisioner cannot: one for each class that waits for its first consumer and each place that
 * nodes with the driver are in; one for everywhere only where nodes have no places at all. Only
 * what changed is written; what no longer is, is removed. This is one round of it; the thread is in
 * capacity_publisher.h.
 *
 * Never beside another publisher: while there is one object of this driver that another manager
 * keeps, ours are taken back and nothing is written.
 *
 * The CSIDriver object owns them, so that they go with it. Each has a heartbeat, renewed now and
 * then without a change: one whose figure could not be obtained for CAPACITY_STALE_S is removed.
 */

/* What a class has in a place; as GetCapacity answers. */
struct published_capacity {
    uint64_t available_bytes;
    uint64_t maximum_bytes;
    bool has_maximum;
};
typedef int publish_ask_fn(void *object, struct call *call, const struct strmap *parameters,
                           const struct strmap *segment, struct published_capacity *capacity,
                           struct error *err);

struct publish_site {
    struct kube *kube; /* all borrowed */
    const char *name_space;
    const char *driver_name;
    publish_ask_fn *ask;
    void *object;
    bool has_levels; /* nodes are to have places: one without has yet to get it */
};

/* What there is to publish about. Read by a round if it is zero, and used again by the next ones;
 * publish_view_done() makes it zero. */
struct publish_view {
    bool is_read;
    struct capacity_classes classes;
    struct strmap *segments;
    size_t segment_count;
    bool is_installed; /* there is a CSIDriver, or it may not be read; else nothing is published */
    char *owner;       /* its uid; "" if it may not be read */
    char *remark;      /* what is wrong with that; NULL: nothing */
};
void publish_view_done(struct publish_view *view);
#define _cleanup_publish_view_ _cleanup_(publish_view_done)

/* One figure that was obtained. */
struct publish_figure {
    char *class;
    char *place; /* "zone=zone-a"; "" for everywhere */
    uint64_t bytes;
};

struct publish_outcome {
    size_t objects; /* of ours, now */
    size_t writes;
    char *foreign; /* "object 'x' of 'external-provisioner'"; NULL: nobody else's */
    struct publish_figure *figures;
    size_t figure_count;
};
void publish_outcome_done(struct publish_outcome *outcome);
#define _cleanup_publish_outcome_ _cleanup_(publish_outcome_done)

/* One round. An ask that fails leaves its object as it is, unless that is stale, and is returned
 * when all others are done. @may_act as in takeover.h. @outcome is filled in either case. */
typedef bool publish_may_act_fn(void *object);
_must_check_ int publish_capacity_once(const struct publish_site *site, struct call *call,
                                       publish_may_act_fn *may_act, void *may_act_object,
                                       struct publish_view *view, struct publish_outcome *outcome,
                                       struct error *err);
