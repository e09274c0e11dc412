#pragma once

#include "common/scheduling/cluster_objects.h"

/* Small clusters by chance, the same for the same seed: few names and sizes, so that things meet.
 */
struct chance {
    uint64_t state;
};

/* 0..@below-1 */
unsigned chance_of(struct chance *chance, unsigned below);
/* Fills and settles. */
void random_cluster(struct chance *chance, struct cluster_objects *cluster);
/* Puts a volume, claim, node or capacity of chance, or removes one. */
void random_change(struct chance *chance, struct cluster_objects *cluster);
