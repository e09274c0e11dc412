#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/base/metrics.h"
#include "common/base/strmap.h"
#include "common/kube/kube_ops.h"

/*
 * CSIStorageCapacity objects kept by ourselves (--publish-capacity), for deployments whose
 * csi-provisioner cannot: one for each class that waits for its first consumer and each place that
 * nodes with the driver are in; one for everywhere only where nodes have no places at all. Figures
 * are asked for every minute; only what changed is written; what no longer is, is removed.
 *
 * Never beside another publisher: while there is one object of this driver that another manager
 * keeps, ours are taken back and nothing is written. One of several controllers acts, by the Lease
 * DRIVER-capacity. A thread of its own.
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

struct publish_outcome {
    size_t objects; /* of ours, now */
    size_t writes;
    char *foreign; /* "object 'x' of 'external-provisioner'"; NULL: nobody else's. Caller frees */
};

/* One round. An ask that fails leaves its object as it is and is returned when
 * all others are done. @may_act as in takeover.h. */
typedef bool publish_may_act_fn(void *object);
_must_check_ int publish_capacity_once(const struct publish_site *site, struct call *call,
                                       publish_may_act_fn *may_act, void *may_act_object,
                                       struct publish_outcome *outcome, struct error *err);

struct capacity_publisher;

struct capacity_publisher_options {
    struct publish_site site;
    const char *identity;
    struct metrics *metrics; /* may be NULL; not read any more after the publisher is freed */
    int64_t interval_ms;     /* 0: 60000 */
};

_must_check_ int capacity_publisher_new(const struct capacity_publisher_options *options,
                                        struct capacity_publisher **publisher, struct error *err);
void capacity_publisher_free(struct capacity_publisher *publisher);
DEFINE_CLEANUP(struct capacity_publisher, capacity_publisher_free)
bool capacity_publisher_is_healthy(struct capacity_publisher *publisher, char **message,
                                   time_t *since);
