#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/base/metrics.h"
#include "common/config/config.h"
#include "common/topology/takeover.h"

/*
 * Where the takeover map comes from (takeover_kinds.h); the first found wins: the ConfigMap
 * (takeover_configmap.h), where there is a Kubernetes, then the file of --takeover-file (the map
 * alone), which may be an older copy of it, then "topology-takeover" in config.json in version 2
 * form. A file that never existed is not found; one that is broken or was deleted is found: its
 * last good map stays in force. An empty map ({}) ends all takeovers.
 *
 * The map is unknown, which is not the same, if the place that decides never had a good one, or if
 * the ConfigMap cannot be read and no other place has a takeover: then nothing is to be done. Nor
 * is it while another place has one and the ConfigMap may be readable soon.
 *
 * Any thread; each use costs two stat() at most.
 */
struct takeover_source;
struct kube;

/* What places for a map are found with. The pointers are borrowed. */
struct takeover_setup {
    const char *path; /* "" for no file of its own */
    struct config_file *config;
    struct kube *kube; /* NULL: none, or none is to be asked */
    const char *name_space;
    int64_t poll_ms; /* of a place that is polled; 0: 5000 */
};

/* A place that cannot be used is left out, with a line in the log. */
struct takeover_source *takeover_source_new(const struct takeover_setup *setup);
void takeover_source_free(struct takeover_source *source);
DEFINE_CLEANUP(struct takeover_source, takeover_source_free)

/* The gauge csi_takeover_map_broken, 1 while the last health report found the map so. */
void takeover_source_register(struct takeover_source *source, struct metrics *metrics);

/* The map in force. It stays valid and the same until takeover_snapshot_done(). */
struct takeover_snapshot {
    const struct takeover_map *map; /* never NULL after takeover_source_get() */
    struct watched_version *holder; /* keeps it; NULL for an empty map */
    struct takeover_map *own;       /* NULL, or what @map is */
    char *unknown; /* NULL, or why it is not known which takeovers there are; @map is then empty */
    /* NULL, or why @map may be an older one: it is from a file while the ConfigMap cannot be read.
     * Volumes are placed by it, but no takeover or giveback begins. */
    char *doubt;
};

void takeover_source_get(struct takeover_source *source, struct takeover_snapshot *snapshot);
/* The same, plus an entry for each domain that the map no longer has but whose giveback is still in
 * progress: nothing new is to be placed there either. */
void takeover_source_get_closed(struct takeover_source *source, struct takeover_snapshot *snapshot);
/* Which these are, "zone=zone-a"; empty at first. Copied. */
void takeover_source_set_returning(struct takeover_source *source,
                                   const struct string_list *domains);
void takeover_snapshot_done(struct takeover_snapshot *snapshot);
#define _cleanup_takeover_snapshot_ _cleanup_(takeover_snapshot_done)

/* For the health report: false, with the reason in @message (caller frees, "" if healthy), when the
 * map as it is now cannot be used. */
bool takeover_source_is_healthy(struct takeover_source *source, char **message, time_t *since);
