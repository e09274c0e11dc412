/* The driver of a node that serves RBD, killed at each step: see node_cuts.h. Here is what CephFS
 * does not have: block volumes, and growing on the node. */
#include "tests/integration/node_cuts.h"

const bool NODE_IS_CEPHFS = false;

static int grow(const struct test_volume *volume, struct error *err)
{
    return node_grow(volume, 352 * MIB, err);
}

NODE_TEST(staging_of_a_block_volume_survives_every_cut)
{
    node_cuts_check(&(struct node_cuts_scenario){.method = "NodeStageVolume",
                                                 .is_block = true,
                                                 .tested = node_stage,
                                                 .after = {node_unstage}});
}

NODE_TEST(growing_survives_every_cut)
{
    node_cuts_check(&(struct node_cuts_scenario){.method = "NodeExpandVolume",
                                                 .fs_type = "xfs",
                                                 .size_bytes = 320 * MIB,
                                                 .before = {node_stage, node_publish},
                                                 .tested = grow,
                                                 .after = {node_unpublish, node_unstage}});
}
