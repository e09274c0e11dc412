#pragma once

#include <stdint.h>

#include "common/base/error.h"
#include "common/base/strmap.h"

/*
 * What kubelet takes from a driver that registers, and when it refuses: see kubelet_register() in
 * actors.h for what it makes of it. Pure.
 */
struct node_report {
    const char *driver;
    const char *node_id;
    int64_t max_volumes; /* 0: no limit */
    const struct strmap *segments;
};

/*
 * Kubelet adds a driver's segments to the labels of its Node and never changes one: a label that is
 * there with another value, be it empty, makes it refuse the driver until somebody removes the
 * label. FAILED_PRECONDITION with kubelet's text.
 */
_must_check_ int registration_check_labels(const struct strmap *labels,
                                           const struct strmap *segments, struct error *err);
