/*
 * The driver killed by SIGKILL at each step of staging, publishing, unpublishing and unstaging a
 * CephFS volume with ceph-fuse: see node_cuts.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

#include "tests/integration/cephfs.h"
#include "tests/integration/node_cuts.h"

static struct test_node node = {.is_cephfs = true};

static void staging_survives_every_cut(void **state)
{
    (void)state;
    node_cuts_check(&node, &(struct node_cuts_scenario){.title = "NodeStageVolume of CephFS",
                                                        .method = "NodeStageVolume",
                                                        .fs_type = "",
                                                        .flag = "noexec",
                                                        .size_bytes = 64 * MIB,
                                                        .tested = node_stage,
                                                        .after = {node_unstage}});
}

static void publishing_survives_every_cut(void **state)
{
    (void)state;
    node_cuts_check(&node, &(struct node_cuts_scenario){.title = "NodePublishVolume of CephFS",
                                                        .method = "NodePublishVolume",
                                                        .fs_type = "",
                                                        .size_bytes = 64 * MIB,
                                                        .before = {node_stage},
                                                        .tested = node_publish,
                                                        .after = {node_unpublish, node_unstage}});
}

static void unpublishing_survives_every_cut(void **state)
{
    (void)state;
    node_cuts_check(&node, &(struct node_cuts_scenario){.title = "NodeUnpublishVolume of CephFS",
                                                        .method = "NodeUnpublishVolume",
                                                        .fs_type = "",
                                                        .size_bytes = 64 * MIB,
                                                        .before = {node_stage, node_publish},
                                                        .tested = node_unpublish,
                                                        .after = {node_unstage}});
}

static void unstaging_survives_every_cut(void **state)
{
    (void)state;
    node_cuts_check(&node, &(struct node_cuts_scenario){.title = "NodeUnstageVolume of CephFS",
                                                        .method = "NodeUnstageVolume",
                                                        .fs_type = "",
                                                        .size_bytes = 64 * MIB,
                                                        .before = {node_stage},
                                                        .tested = node_unstage,
                                                        .after = {NULL}});
}

static int prepare(void **state)
{
    (void)state;
    return node_cuts_prepare(&node);
}

static int finish(void **state)
{
    (void)state;
    cephfs_assert_empties();
    node_cuts_finish(&node);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(staging_survives_every_cut),
        cmocka_unit_test(publishing_survives_every_cut),
        cmocka_unit_test(unpublishing_survives_every_cut),
        cmocka_unit_test(unstaging_survives_every_cut),
    };

    node_fixture_isolate();
    return cmocka_run_group_tests_name("node cuts of CephFS", tests, prepare, finish);
}
