#pragma once

#include <stdbool.h>
#include <time.h>

#include "common/base/metrics.h"
#include "common/config/config.h"
#include "common/topology/takeover.h"

/*
 * Where the takeover map comes from; the first found wins: the file of --takeover-file (the map
 * alone), then the ConfigMap (takeover_configmap.h), if one was added, then "topology-takeover" in
 * config.json in version 2 form. A file that never existed is not found; one that is broken or was
 * deleted is found: its last good map stays in force, or none if there never was a good one. An
 * empty map ({}) ends all takeovers.
 *
 * Any thread; each use costs two stat() at most.
 */
struct takeover_source;

/* @path "" for no file of its own. @config is borrowed. */
struct takeover_source *takeover_source_new(const char *path, struct config_file *config);
/* Takes ownership of @configmap; before any other thread knows the source. */
struct takeover_configmap;
void takeover_source_add_configmap(struct takeover_source *source,
                                   struct takeover_configmap *configmap);
void takeover_source_free(struct takeover_source *source);
DEFINE_CLEANUP(struct takeover_source, takeover_source_free)

/* The gauge csi_takeover_map_broken, 1 while the last health report found the map so. */
void takeover_source_register(struct takeover_source *source, struct metrics *metrics);

/* The map in force. It stays valid and the same until takeover_snapshot_done(). */
struct takeover_snapshot {
    const struct takeover_map *map; /* never NULL after takeover_source_get() */
    struct watched_version *holder; /* keeps it; NULL for an empty map */
    struct takeover_map *own;       /* NULL, or what @map is */
};

void takeover_source_get(struct takeover_source *source, struct takeover_snapshot *snapshot);
/* The same, plus an entry for each domain that the map no longer has but whose giveback is still in
 * progress: nothing new is to be placed there either. */
void takeover_source_get_closed(struct takeover_source *source, struct takeover_snapshot *snapshot);
/* Which these are, "zone=zone-a"; empty at first. Copied. */
void takeover_source_set_returning(struct takeover_source *source,
                                   const struct string_list *domains);
/* Makes *@map the version that a snapshot can hold; it is moved there. One reference. */
struct watched_version *takeover_version_new(struct takeover_map *map);
/* A snapshot of such a version; takes ownership of the reference. */
struct takeover_snapshot takeover_snapshot_of(struct watched_version *version);
void takeover_snapshot_done(struct takeover_snapshot *snapshot);
#define _cleanup_takeover_snapshot_ _cleanup_(takeover_snapshot_done)

/* For the health report: false, with the reason in @message (caller frees, "" if healthy), when the
 * map as it is now cannot be used. */
bool takeover_source_is_healthy(struct takeover_source *source, char **message, time_t *since);
