#pragma once

#include "common/scheduling/cluster_objects.h"

/* What cluster_objects.c and cluster_index.c have between them. */

/* Puts an object into the indexes of its kind, and takes it out. */
void cluster_index_add(struct cluster_objects *cluster, enum kube_kind kind, void *object);
void cluster_index_remove(struct cluster_objects *cluster, enum kube_kind kind, void *object);
/* Sorts what was added in any order while loading. */
void cluster_index_sort(struct cluster_objects *cluster);
void cluster_index_done(struct cluster_objects *cluster);
