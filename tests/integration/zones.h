#pragma once

#include "tests/integration/harness.h"

/*
 * Zones for tests of topology: places of pools, wishes for places, and an oracle that works out
 * where a volume should go. It walks all terms and all pools, without an index, and knows nothing
 * of the driver's code.
 */
struct site {
    const char *pool;
    const char *region, *zone, *rack; /* NULL: any */
};

struct term {
    const char *region, *zone, *rack;
    bool by_membership; /* no plain segments */
};

#define ZONES_TERMS_COUNT 7
extern const struct term ZONES_TERMS[ZONES_TERMS_COUNT];

struct wish {
    const struct term *preferred[4];
    const struct term *requisite[8];
};

/* The class parameter topologyConstrainedPools. Caller frees. */
char *zones_pools(const struct site *sites, size_t count);

/* As on the wire; @prefix is "topology.DRIVER/". */
json_t *zones_topology(const char *prefix, const struct term *term);
json_t *zones_requirement(const char *prefix, const struct wish *wish);

/* The pool that must be taken with poolSelection: first; NULL: none serves the wish. */
const struct site *zones_oracle(const struct site *sites, size_t count, const struct wish *wish);

/* All shapes: one term, all terms in the provisioner's rotation, preferred alone, requisite alone.
 */
void zones_random_wish(struct wish *wish);

/* --- calls --- */

/* A volume that CreateVolume made. */
struct made {
    char *handle;
    char *pool;       /* as its context says; NULL if it does not */
    json_t *segments; /* borrowed from reply; NULL if unpinned */
    json_t *reply;
};
void made_done(struct made *made);
#define _cleanup_made_ _cleanup_(made_done)

/* CreateVolume; takes @request over. */
int zones_create(struct driver_process *driver, json_t *request, struct made *made,
                 struct error *err);
void zones_must_create(struct driver_process *driver, json_t *request, struct made *made);
void zones_must_delete(struct driver_process *driver, const char *handle);
/* Takes @request over. @part must be in the message. */
void zones_assert_refused(struct driver_process *driver, json_t *request, enum status status,
                          const char *part);
/* GetCapacity of the class of a CreateVolume's @request, which is taken over, like @topology, which
 * may be NULL. */
long long zones_capacity(struct driver_process *driver, json_t *request, json_t *topology,
                         long long *maximum);

/* Wishes for places at random, each of which must end where the oracle says. */
struct zones_trial {
    struct driver_process *driver;
    const struct site *sites;
    size_t site_count;
    unsigned volumes;
    /* CreateVolume's request, with further parameters of the class: "key", "value", ..., NULL. */
    json_t *(*request)(const char *name, const struct wish *wish, const char *const *parameters);
    /* Fails the test unless the volume is in that pool. */
    void (*check)(const struct made *made, const char *pool);
};

/* Makes the volumes, prints how many are where, in @counts per site, and deletes them all but for
 * @between (may be NULL), which looks at them first. */
void zones_try(const struct zones_trial *trial, void (*between)(const unsigned *counts));

/* Runs a program of Ceph's to its end. */
#define ZONES_RUN(...) free(harness_run_tool((const char *const[]){__VA_ARGS__, NULL}))
#define ZONES_CEPH(...) ZONES_RUN("ceph", __VA_ARGS__)
/* A command of ceph, words with blanks between; it may fail. */
void zones_undo(const char *command);

/* Replaces the takeover map of a driver that was started with --takeover-file=FOLDER/takeover.json.
 */
void zones_write_takeover(const struct driver_process *driver, const char *map);
/* A keyring for calls without secrets. */
void zones_write_keyring(const char *path);
