#pragma once

#include <stddef.h>

#include "common/base/error.h"
#include "common/base/string_list.h"
#include "common/volume/volume_id.h"

/*
 * cluster-mapping.json: where volumes are after a failover to another cluster. Handles keep the
 * names of the old one:
 *
 *   [{"clusterIDMapping": {"old": "new"}, "RBDPoolIDMapping": [{"2": "5"}]}]
 *
 * Each pair is read in both directions. Each call reads the file, which happens only after a lookup
 * has failed; it need not exist. Any thread.
 */

/*
 * All places to which the file leads from that of @id, in its order; the uuid stays. Caller frees
 * *@places with free(). UNAVAILABLE when the file cannot be read or understood: the volume may well
 * exist, so the failure must not look final.
 */
_must_check_ int cluster_mapping_find(const char *path, const struct volume_id *id,
                                      struct volume_id **places, size_t *count, struct error *err);

/* All clusters to which the file leads from @cluster_id, whatever it says of pools; each once. */
_must_check_ int cluster_mapping_find_clusters(const char *path, const char *cluster_id,
                                               struct string_list *clusters, struct error *err);
