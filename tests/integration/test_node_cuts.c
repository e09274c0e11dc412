/*
 * The driver killed by SIGKILL at each step of staging, publishing, growing, unpublishing and
 * unstaging a volume on a real machine: see node_cuts.h.
 */

#include "tests/integration/node_cuts.h"
#include "tests/test.h"

static struct test_node node;

static int grow(struct test_node *of, const struct test_volume *volume, struct error *err)
{
    return node_grow(of, volume, 352 * MIB, err);
}

TEST(staging_survives_every_cut)
{
    node_cuts_check(&node,
                    &(struct node_cuts_scenario){.title = "NodeStageVolume of a new file system",
                                                 .method = "NodeStageVolume",
                                                 .fs_type = "ext4",
                                                 .size_bytes = 32 * MIB,
                                                 .tested = node_stage,
                                                 .after = {node_unstage}});
}

TEST(staging_of_a_block_volume_survives_every_cut)
{
    node_cuts_check(&node,
                    &(struct node_cuts_scenario){.title = "NodeStageVolume of a block volume",
                                                 .method = "NodeStageVolume",
                                                 .size_bytes = 16 * MIB,
                                                 .tested = node_stage,
                                                 .after = {node_unstage}});
}

TEST(publishing_survives_every_cut)
{
    node_cuts_check(&node, &(struct node_cuts_scenario){.title = "NodePublishVolume",
                                                        .method = "NodePublishVolume",
                                                        .fs_type = "ext4",
                                                        .size_bytes = 32 * MIB,
                                                        .before = {node_stage},
                                                        .tested = node_publish,
                                                        .after = {node_unpublish, node_unstage}});
}

TEST(growing_survives_every_cut)
{
    node_cuts_check(&node, &(struct node_cuts_scenario){.title = "NodeExpandVolume",
                                                        .method = "NodeExpandVolume",
                                                        .fs_type = "xfs",
                                                        .size_bytes = 320 * MIB,
                                                        .before = {node_stage, node_publish},
                                                        .tested = grow,
                                                        .after = {node_unpublish, node_unstage}});
}

TEST(unpublishing_survives_every_cut)
{
    node_cuts_check(&node, &(struct node_cuts_scenario){.title = "NodeUnpublishVolume",
                                                        .method = "NodeUnpublishVolume",
                                                        .fs_type = "ext4",
                                                        .size_bytes = 32 * MIB,
                                                        .before = {node_stage, node_publish},
                                                        .tested = node_unpublish,
                                                        .after = {node_unstage}});
}

TEST(unstaging_survives_every_cut)
{
    node_cuts_check(&node, &(struct node_cuts_scenario){.title = "NodeUnstageVolume",
                                                        .method = "NodeUnstageVolume",
                                                        .fs_type = "ext4",
                                                        .size_bytes = 32 * MIB,
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
    harness_assert_pool_empties("common");
    node_cuts_finish(&node);
    return 0;
}

TEST_GROUP(prepare, finish)
