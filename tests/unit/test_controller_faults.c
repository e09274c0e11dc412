/*
 * Every operation of the controller, with its n-th Ceph call failing or the process dying there,
 * for each n; then the same request again. The end must be that of an undisturbed run, and nothing
 * may be left behind.
 */
#include "tests/unit/test_faults_scenarios.h"

static void fill_request(struct create_request *request)
{
    strmap_set(&request->parameters, "pool", "rbd");
    strmap_set(&request->parameters, "imageFeatures", "layering,exclusive-lock");
}

static void add_pool(struct world *world)
{
    fake_ceph_add_pool(world->fake, "rbd", 3);
}

static const struct fault_setup SETUP = {.backend = &RBD_BACKEND,
                                         .access = ACCESS_TYPE_BLOCK,
                                         .fill_request = fill_request,
                                         .world_init = add_pool};

TEST(parents_may_go_before_their_clones)
{
    check(&(struct scenario){
        .title = "DeleteVolume of the last of a family",
        .before = {create_volume, create_snapshot, restore, delete_snapshot, delete_volume},
        .tested = delete_second,
        .ends_empty = true});
}

TEST_GROUP(write_config, remove_config)
