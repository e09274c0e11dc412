#pragma once

#include "tests/integration/cuts.h"

/*
 * Interruption of an operation anywhere, not only between the driver's own calls of Ceph: something
 * is killed with SIGKILL while the call runs, started again, and the caller goes on until the call
 * succeeds. Then there must be in Ceph what as many undisturbed runs leave, and nothing after
 * deletion.
 *
 * What a killed process had open in Ceph stays so for 30 s. Hence many lives go on side by side:
 * those of a batch are interrupted one after another, and finished together.
 */

struct kills_point {
    const struct cuts_setup *setup;
    const struct cuts_scenario *scenario;
    unsigned number; /* from 1 */
    size_t floor;    /* how long the state was before this life; 0 unless the scenario deletes */
};

/* Makes the tested call, one try, which may set @err, kills, and starts again what was killed.
 * False if it was over too soon to be killed: then the points are used up. */
typedef bool kills_strike(const struct kills_point *point, struct cuts_world *world,
                          struct error *err);

struct kills_plan {
    kills_strike *strike;
    void (*clean_up)(void); /* removes all that is left of a batch that went wrong */
    unsigned stride;        /* every that many points; 0: all */
    unsigned count;         /* how many lives at most; 0: until there are no more points */
};

/* Prints how many kills there were, how many calls never succeeded, how many were told INTERNAL,
 * after which callers may give up, and what was left; fails unless the latter are none. */
void kills_check(const struct cuts_setup *setup, const struct cuts_scenario *scenario,
                 const struct kills_plan *plan);

/* The number in an environment variable, or @otherwise. */
unsigned kills_setting(const char *name, unsigned otherwise);

/* Makes one try of a step. */
int kills_try_step(cuts_step *step, struct cuts_world *world, struct error *err);

/* --- strikes --- */

/* The driver, as the chosen strike wants it. */
void kills_start_driver(const struct cuts_setup *setup);

/* The driver dies before the request to an OSD that has the number of the point, whether it or a
 * library sends it. */
kills_strike kills_at_operation;
int kills_prepare_driver(const struct cuts_setup *setup);

/* The driver dies after a random time of up to 60 ms. */
kills_strike kills_at_random;
int kills_prepare_plain(const struct cuts_setup *setup);

/* The manager dies before the request to the metadata server that has the number of the point. */
kills_strike kills_manager;
int kills_prepare_manager(const struct cuts_setup *setup);
int kills_finish_manager(void **state);
/* Starts it again if it is dead, which is the answer, and takes the order to die back. */
bool kills_revive_manager(void);
