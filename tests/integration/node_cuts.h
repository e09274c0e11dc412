#pragma once

#include "tests/integration/node_fixture.h"

/*
 * The driver is killed by SIGKILL before each call to the machine that a node's operation makes,
 * started again and asked the same: the end must be that of an undisturbed run, and in the end
 * nothing may be left. The tests of both kinds of volumes are in node_cuts.c.
 */
struct node_cuts_scenario {
    const char *method;
    const char *fs_type; /* NULL: whichever */
    bool is_block;
    const char *flag;     /* a mount flag; NULL: none */
    long long size_bytes; /* 0: 32 MiB */
    node_step *before[3]; /* undisturbed; ends with NULL */
    node_step *tested;
    node_step *after[3]; /* what takes everything down; ends with NULL */
};

void node_cuts_check(const struct node_cuts_scenario *scenario);
