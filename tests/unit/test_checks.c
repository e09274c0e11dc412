/* A node and the places of volumes: what it does not serve it does not stage. */
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

#include "node/node_info.h"

#define PINNED "topology.rbd.csi.ceph.com/zone=zone-a"

static struct machine machine;

static const struct use USES[] = {
    {.fs_type = "ext4", .key = "topologySegments", .value = PINNED},
    {.fs_type = "ext4", .mounter = "rbd-nbd", .key = "topologySegments", .value = PINNED},
    {.key = "topologySegments", .value = PINNED},
    {.fs_type = "",
     .mounter = "kernel",
     .is_cephfs = true,
     .key = "topologySegments",
     .value = PINNED},
    {.fs_type = "",
     .mounter = "fuse",
     .is_cephfs = true,
     .key = "topologySegments",
     .value = PINNED},
};

/* Where the machine is. */
struct home {
    struct topology_levels levels;
    struct node_labels_source labels;
};

static void home_init(struct home *home, const char *zone)
{
    _cleanup_free_ char *labels = xasprintf("k/zone=%s", zone);
    _cleanup_error_ struct error err = {0};

    assert_int_equal(topology_levels_parse("rbd.csi.ceph.com", "k/zone", &home->levels, &err), 0);
    assert_int_equal(node_labels_from_text(labels, &home->labels, &err), 0);
    machine.volumes.info = node_info_new(&(struct node_info_options){
        .node_id = "node-1", .levels = &home->levels, .labels = &home->labels});
    machine.volumes.enforces_places = true;
}

static void home_done(struct home *home)
{
    node_info_free(machine.volumes.info);
    node_labels_done(&home->labels);
    topology_levels_done(&home->levels);
}

TEST(a_volume_of_another_place_is_not_staged_and_nothing_is_touched)
{
    for (size_t i = 0; i < ARRAY_LENGTH(USES); i++) {
        struct home home;

        machine_init(&machine, &USES[i]);
        home_init(&home, "zone-b");
        _cleanup_free_ char *before = machine_state(&machine);
        must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION,
                    "pinned to " PINNED ", which this node does not serve");
        _cleanup_free_ char *after = machine_state(&machine);
        assert_string_equal(after, before);
        machine.volumes.enforces_places = false;
        must(machine_stage(&machine, &err));
        must(machine_unstage(&machine, &err));
        home_done(&home);
        machine_done(&machine);
    }
}

TEST(a_volume_of_this_place_and_one_without_a_place_are_staged)
{
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(USES); i++) {
        struct use use = USES[i / 2];
        struct home home;

        use.key = i % 2 ? NULL : use.key;
        machine_init(&machine, &use);
        home_init(&home, i % 2 ? "zone-b" : "zone-a");
        must(machine_stage(&machine, &err));
        must(machine_unstage(&machine, &err));
        home_done(&home);
        machine_done(&machine);
    }
}

/* The place is given back while a pod has the volume. */
TEST(what_is_staged_stays_usable_until_it_is_unstaged)
{
    for (size_t i = 0; i < ARRAY_LENGTH(USES); i++) {
        struct home home;

        machine_init(&machine, &USES[i]);
        home_init(&home, "zone-a");
        must(machine_stage(&machine, &err));
        must(machine_publish(&machine, &err));
        home_done(&home);
        home_init(&home, "zone-b");
        must(machine_stage(&machine, &err));
        must(machine_publish(&machine, &err));
        if (USES[i].mounter && strcmp(USES[i].mounter, "kernel") != 0) {
            fake_host_kill_daemons(machine.host);
            must(machine_stage(&machine, &err)); /* revived, because a pod has it */
            must(machine_publish(&machine, &err));
        }
        must(machine_unpublish(&machine, &err));
        must(machine_unstage(&machine, &err));
        must_refuse(machine_stage(&machine, &err), STATUS_FAILED_PRECONDITION, "does not serve");
        home_done(&home);
        machine_done(&machine);
    }
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
