/*
 * The driver killed by SIGKILL at each step of staging, publishing, unpublishing and unstaging a
 * CephFS volume with ceph-fuse: see node_cuts.h.
 */

#include "tests/integration/cephfs.h"
#include "tests/integration/node_cuts.h"
#include "tests/test.h"

static struct test_node node = {.is_cephfs = true};

TEST(staging_survives_every_cut)
{
    node_cuts_check(&node, &(struct node_cuts_scenario){.title = "NodeStageVolume of CephFS",
                                                        .method = "NodeStageVolume",
                                                        .fs_type = "",
                                                        .flag = "noexec",
                                                        .size_bytes = 64 * MIB,
                                                        .tested = node_stage,
                                                        .after = {node_unstage}});
}

TEST(publishing_survives_every_cut)
{
    node_cuts_check(&node, &(struct node_cuts_scenario){.title = "NodePublishVolume of CephFS",
                                                        .method = "NodePublishVolume",
                                                        .fs_type = "",
                                                        .size_bytes = 64 * MIB,
                                                        .before = {node_stage},
                                                        .tested = node_publish,
                                                        .after = {node_unpublish, node_unstage}});
}

TEST(unpublishing_survives_every_cut)
{
    node_cuts_check(&node, &(struct node_cuts_scenario){.title = "NodeUnpublishVolume of CephFS",
                                                        .method = "NodeUnpublishVolume",
                                                        .fs_type = "",
                                                        .size_bytes = 64 * MIB,
                                                        .before = {node_stage, node_publish},
                                                        .tested = node_unpublish,
                                                        .after = {node_unstage}});
}

TEST(unstaging_survives_every_cut)
{
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
    node_fixture_isolate();
    return node_cuts_prepare(&node);
}

static int finish(void **state)
{
    (void)state;
    cephfs_assert_empties();
    node_cuts_finish(&node);
    return 0;
}

TEST_GROUP(prepare, finish)
