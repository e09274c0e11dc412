#pragma once

#include "tests/integration/node_fixture.h"

/*
 * The driver is killed by SIGKILL before each call to the machine that a node's operation makes,
 * started again and asked the same: the end must be that of an undisturbed run, and in the end
 * nothing may be left.
 */
typedef int node_cuts_step(struct test_node *node, const struct test_volume *volume,
                           struct error *err);

struct node_cuts_scenario {
    const char *title;
    const char *method;
    const char *fs_type; /* NULL: a block volume */
    const char *flag;    /* a mount flag; NULL: none */
    long long size_bytes;
    node_cuts_step *before[4]; /* undisturbed; ends with NULL */
    node_cuts_step *tested;
    node_cuts_step *after[4]; /* what takes everything down; ends with NULL */
};

void node_cuts_check(struct test_node *node, const struct node_cuts_scenario *scenario);

/* For cmocka's groups: in front of the tests, and after the check that Ceph holds nothing. */
int node_cuts_prepare(struct test_node *node);
void node_cuts_finish(struct test_node *node);
