#pragma once

#include <sys/types.h>

#include "tests/test.h"

struct test_volume;

/* What there is on the node of node_fixture.h, and how it goes when a test fails. */

/* Loop devices, daemons, mounts and files of this node, as lines; "" when there is nothing. Device
 * numbers and ids, which differ from run to run, are left out. Caller frees. */
char *node_leftovers(void);
/* Pid of the daemon that exports the volume's image, or of its ceph-fuse; 0: none. */
pid_t daemon_of(const struct test_volume *volume);

/*
 * A test with a node. If it fails, the driver is started anew and what the test has made is
 * undone, last things first, so that the next one finds the node and Ceph as this one did. A test
 * that passes has to clean up itself: nothing is undone, and the group's end finds what it left.
 */
#define NODE_TEST(name_)                                                                           \
    static void body_of_##name_(void);                                                             \
    TEST(name_, .setup_func = node_test_begins, .teardown_func = node_test_ends)                   \
    {                                                                                              \
        body_of_##name_();                                                                         \
        node_test_passed();                                                                        \
    }                                                                                              \
    static void body_of_##name_(void)

/* What undoes something if the test fails, and does no harm if it was only half made. It finds no
 * driver: node_undo_start() starts one. */
typedef void node_undo(const char *what);
/* @what is copied. What is said before the group's first test is never undone. */
void node_on_failure(node_undo *undo, const char *what);
/* The test itself has undone it. */
void node_undone(const char *what);
void node_undo_start(void);
/* Unmounts, detaches, ends and removes all that node_leftovers() tells, without the driver: it may
 * be what is broken. */
void node_undo_mounts(void);

/* For NODE_TEST(). */
int node_test_begins(void **state);
void node_test_passed(void);
int node_test_ends(void **state);
