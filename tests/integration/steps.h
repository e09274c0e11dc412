#pragma once

#include "tests/integration/cuts.h"

/*
 * Steps of a volume's life for tests that interrupt them, on RBD and CephFS alike. They call
 * cuts_driver. Names come from the world's number and have the form that Kubernetes gives them, so
 * that many lives go on beside each other and cuts_state() sees no difference between them.
 */

struct steps_request {
    const char *name;
    long long size_bytes;
    const char *source_volume; /* handles; NULL: none */
    const char *source_snapshot;
};

extern const struct cuts_setup STEPS_RBD; /* in one pool */
extern const struct cuts_setup STEPS_CEPHFS;

/* Whose volumes the steps create: one of the two. */
void steps_use(const struct cuts_setup *setup);
const struct cuts_setup *steps_setup(void);
/* For TEST_CLEANUP. */
void steps_clean_up(void);

#define STEPS_POOL "zone-a" /* of STEPS_RBD */

cuts_step step_create;
cuts_step step_create_second; /* a volume of its own */
cuts_step step_clone;         /* the second from the volume, larger */
cuts_step step_restore;       /* the second from the snapshot, larger */
cuts_step step_check_copy;    /* on CephFS the second must be a complete copy */
cuts_step step_expand;
cuts_step step_snapshot;
cuts_step step_group_snapshot; /* of both volumes */
cuts_step step_delete;
cuts_step step_delete_second;
cuts_step step_delete_snapshot;
cuts_step step_delete_group;
