#pragma once

#include <time.h>

#include "common/base/metrics.h"
#include "controller/capacity/publish_capacity.h"

/*
 * The thread that publishes capacity (publish_capacity.h): every interval, and at once when a
 * StorageClass, a CSINode or the labels of a Node change, and when it is told that a volume was
 * created, deleted or expanded; then without reading nodes and classes again. Rounds have a second
 * between them. One of several controllers acts, by the Lease DRIVER-capacity.
 */
struct capacity_publisher;

struct capacity_publisher_options {
    struct publish_site site;
    const char *identity;
    struct metrics *metrics; /* may be NULL; not read any more after the publisher is freed */
    int64_t interval_ms;     /* 0: 60000 */
    int64_t gap_ms;          /* between two rounds; 0: 1000 */
};

_must_check_ int capacity_publisher_new(const struct capacity_publisher_options *options,
                                        struct capacity_publisher **publisher, struct error *err);
void capacity_publisher_free(struct capacity_publisher *publisher);
DEFINE_CLEANUP(struct capacity_publisher, capacity_publisher_free)

/* Figures have changed. Any thread; does not wait. @publisher is a struct capacity_publisher, so
 * that this can be passed as a callback. */
void capacity_publisher_wake(void *publisher);
bool capacity_publisher_is_healthy(struct capacity_publisher *publisher, char **message,
                                   time_t *since);
