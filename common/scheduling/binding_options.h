#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/base/error.h"
#include "common/scheduling/assume_cache.h"

/*
 * What differs between Kubernetes versions, and between Kubernetes and the design documents that
 * it came from. Feature gates have the default of the version; set them afterwards to differ.
 */
struct score_point {
    int64_t utilization; /* percent: 0..100, strictly increasing */
    int64_t score;       /* 0..10 */
};

#define SCORE_POINTS_MAX 16

struct binding_options {
    unsigned minor;          /* of Kubernetes 1.x */
    bool storage_capacity;   /* CSIStorageCapacity is looked at: from 1.21 */
    bool attributes_class;   /* VolumeAttributesClass: from 1.34 */
    bool capacity_scoring;   /* StorageCapacityScoring: from 1.37 */
    bool limit_scaling;      /* VolumeLimitScaling: from 1.37 */
    enum assume_rules rules; /* of the assume cache: changed in 1.35 */
    /* The design's own order: the largest claim first, and a score of its own (binding_score.h). */
    bool original_design;
    struct score_point shape[SCORE_POINTS_MAX];
    size_t shape_count;
    time_t now; /* for explain: the age of objects is judged by it; 0: it is not judged */
};

#define BINDING_NEWEST_MINOR 37
#define BINDING_OLDEST_MINOR 19

/* "1.37", "v1.32.4", "1.31.0+k3s1"; "" for the newest; "original" for the newest with the design's
 * order. INVALID_ARGUMENT for anything else, and for versions before 1.19. */
_must_check_ int binding_options_parse(const char *version, struct binding_options *options,
                                       struct error *err);

/* "0:10,100:0": utilization:score. INVALID_ARGUMENT as Kubernetes has it: at least one point,
 * utilization strictly increasing within 0..100, scores within 0..10, and only with the gate on. */
_must_check_ int binding_options_set_shape(struct binding_options *options, const char *text,
                                           struct error *err);
