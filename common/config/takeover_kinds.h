#pragma once

#include <stdbool.h>
#include <time.h>

#include "common/config/takeover_source.h"

/* Inside of common/config: the kinds of places that a takeover map can be in, and what they have in
 * common with takeover_source.c. All functions but open() and close(): any thread. */
enum takeover_finding {
    TAKEOVER_ABSENT, /* this place has no map: the next one is asked */
    TAKEOVER_FOUND,
    TAKEOVER_BROKEN, /* it has one, of which no version was ever good: none is in force */
    /* It may have one: unless the next ones have, none is known. */
    TAKEOVER_UNSEEN,    /* which may be seen any time: theirs may be older */
    TAKEOVER_FORBIDDEN, /* but it is not for us: theirs is the one to follow */
};

struct takeover_kind {
    const char *what; /* for the log: "a ConfigMap" */

    /* *@place stays NULL where @setup has none of this kind. */
    int (*open)(const struct takeover_setup *setup, void **place, struct error *err);
    void (*close)(void *place);
    /* Once it was found, the last good map stays. Else @snapshot has no map and, unless it is
     * absent, the reason in "unknown". */
    enum takeover_finding (*get)(void *place, struct takeover_snapshot *snapshot);
    /* As takeover_source_is_healthy(). A place that cannot be seen is not healthy, unless nobody
     * has the right to. */
    bool (*is_healthy)(void *place, char **message, time_t *since);
};

/* All of them; the first that is found or broken wins. */
#define TAKEOVER_KINDS(ROW)                                                                        \
    ROW(TAKEOVER_IN_CONFIGMAP)                                                                     \
    ROW(TAKEOVER_IN_FILE)                                                                          \
    ROW(TAKEOVER_IN_CONFIG)

#define DECLARE_KIND(name) extern const struct takeover_kind name;
TAKEOVER_KINDS(DECLARE_KIND)
#undef DECLARE_KIND

/* Makes *@map the version that a snapshot can hold; it is moved there. One reference. */
struct watched_version *takeover_version_new(struct takeover_map *map);
/* A snapshot of such a version; takes ownership of the reference. */
struct takeover_snapshot takeover_snapshot_of(struct watched_version *version);
