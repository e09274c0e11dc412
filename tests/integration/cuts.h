#pragma once

#include "tests/integration/harness.h"

/*
 * The driver is killed with SIGKILL before and after each Ceph call of an operation, started again,
 * and asked the same. (After one call and before the next is the same to Ceph, and tried once.) The
 * end must be what an undisturbed run leaves, and after deletion there may be nothing.
 */

/* Handles of what a scenario has made so far. */
struct cuts_world {
    char *volume;
    char *second;
    char *snapshot;
    unsigned number; /* tells lives beside each other apart */
    unsigned tries;  /* of a creation that is asked for in another zone each time */
};

typedef int cuts_step(struct cuts_world *world, struct error *err);

struct cuts_scenario {
    const char *title;
    const char *methods;  /* whose calls are cut */
    cuts_step *before[6]; /* undisturbed; ends with NULL */
    cuts_step *tested;
    cuts_step *after[5]; /* what removes everything; ends with NULL */
    bool deletes;        /* the background goes on with it; for kills.h alone */
    bool wanders; /* the retry may end in another pool: only that nothing is left at last counts */
};

struct cuts_setup {
    const char *const *flags; /* further flags of the driver; may be NULL */
    /* All that the driver may leave in Ceph, as lines; "" if nothing. Caller frees. */
    char *(*contents)(void);
};

/* The driver that is killed. */
extern struct driver_process cuts_driver;

/* Makes a call; *@handle (freed before) is what its answer has under @object and @field. */
int cuts_call(const char *method, const char *request, const char *object, const char *field,
              char **handle, struct error *err);

void cuts_check(const struct cuts_setup *setup, const struct cuts_scenario *scenario);

void cuts_world_done(struct cuts_world *world);

/* What there is in Ceph, as sorted lines without ids and uuids. Caller frees. */
char *cuts_state(const struct cuts_setup *setup);
/* Makes it in an undisturbed run of the scenario, and removes it again. Caller frees. */
char *cuts_undisturbed(const struct cuts_setup *setup, const struct cuts_scenario *scenario);

/* For cmocka's groups. */
int cuts_prepare(const struct cuts_setup *setup);
int cuts_finish(void **state);

/* --- for tests with scenarios of their own --- */

/* From here on the driver that harness_start() starts is the one that can be killed; -1 if it is
 * not known. */
int cuts_use_driver(void);
/* Where the order to die is: a file in the driver's folder. Before the driver is started. */
void cuts_use_file(const struct driver_process *driver);
void cuts_remove_file(const struct driver_process *driver);
/* Tells the driver where to die: see tests/cut/cut_order.h. */
void cuts_order(const char *order);
/* Whether something has died of the order. */
bool cuts_has_struck(void);
/* It need not any more. True if it has died; false if it lives on. */
bool cuts_take_back(struct driver_process *driver);
