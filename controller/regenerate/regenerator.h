#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/base/metrics.h"
#include "common/config/standing_credentials.h"
#include "common/kube/events.h"
#include "common/kube/kube_ops.h"
#include "controller/regenerate/regenerate.h"

/*
 * Keeps the journal in step with the PersistentVolumes of a driver: the process with
 * --type=controller. Watches them, and looks at each new or changed one, and at all of them every
 * ten hours, as regenerate.h says. One of several processes acts, by the Lease
 * DRIVERNAME-DRIVERNAMESPACE, which is Ceph-CSI's, so that the two never act at once.
 *
 * One thread, one volume at a time: this work may take its time, and must leave the cluster to the
 * calls. A volume that fails is tried again after growing pauses, up to five minutes; while a
 * cluster does not answer only one of its volumes is tried. Memory: about 1 KiB for each volume of
 * the driver and 200 bytes for others. Requests to the API server: the watch, and one for each
 * Secret and minute.
 */
struct regenerator;

struct regenerator_options {
    struct regenerate_site site;
    struct kube *kube; /* borrowed, as are the next two */
    struct standing_credentials *standing;
    struct events *events;   /* may be NULL */
    const char *driver_name; /* copied, as are the next two */
    const char *name_space;  /* of the Lease */
    const char *identity;
    struct metrics *metrics; /* may be NULL; not read any more after the regenerator is freed */
    int64_t resync_ms;       /* 0: ten hours */
    int64_t retry_first_ms;  /* 0: 1000 */
    int64_t retry_limit_ms;  /* 0: 300000 */
};

_must_check_ int regenerator_new(const struct regenerator_options *options,
                                 struct regenerator **regenerator, struct error *err);
/* Gives the Lease back. NULL is fine. */
void regenerator_free(struct regenerator *regenerator);
DEFINE_CLEANUP(struct regenerator, regenerator_free)

/* False, with the reason in @message (caller frees, "" if healthy), while entries are missing that
 * cannot be written, or the API server cannot be watched. */
bool regenerator_is_healthy(struct regenerator *regenerator, char **message, time_t *since);
