#pragma once

#include "common/scheduling/cluster_objects.h"

/* What cluster_objects.c and cluster_index.c have between them. */

/* Puts an object into the indexes of its kind, or takes it out. */
void cluster_index_object(struct cluster_objects *cluster, enum kube_kind kind, void *object,
                          enum index_change change);
/* Sorts what was added in any order while loading. */
void cluster_index_sort(struct cluster_objects *cluster);
void cluster_index_done(struct cluster_objects *cluster);
