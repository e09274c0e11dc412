/*
 * Every operation of the CephFS controller, with its n-th Ceph call failing or the process dying
 * there, for each n; then the same request again. The end must be that of an undisturbed run, and
 * nothing may be left behind.
 */
#include "tests/fakes/fake_ceph_subvolumes.h"
#include "tests/unit/test_faults_scenarios.h"

static void fill_request(struct create_request *request)
{
    strmap_set(&request->parameters, "fsName", "fs1");
    strmap_set(&request->parameters, "pool", "data-a");
    strmap_set(&request->parameters, "csi.storage.k8s.io/pvc/namespace", "ns-1");
}

static void add_filesystem(struct world *world)
{
    fake_ceph_add_pool(world->fake, "meta", 7);
    world->more = fake_subvolumes_new(world->fake);
    fake_subvolumes_add_filesystem(world->more, "fs1", 2, 7, "csi");
    fake_subvolumes_allow_quiesce(world->more, false);
}

static void free_filesystem(struct world *world)
{
    fake_subvolumes_free(world->more);
}

static const struct fault_setup SETUP = {.backend = &CEPHFS_BACKEND,
                                         .access = ACCESS_TYPE_MOUNT,
                                         .fill_request = fill_request,
                                         .world_init = add_filesystem,
                                         .world_done = free_filesystem};

/* --- steps that RBD does not have ---------------------------------------------------------------
 */

static int show(struct process *process, struct world *world, struct error *err)
{
    return create(process, "pvc-shown", GIB, SOURCE_SNAPSHOT, world->snapshot, world->second, err);
}

static int show_too(struct process *process, struct world *world, struct error *err)
{
    return create(process, "pvc-shown-2", GIB, SOURCE_SNAPSHOT, world->snapshot, world->group, err);
}

static int delete_shown_too(struct process *process, struct world *world, struct error *err)
{
    return with_handle(process, world->group, "DeleteVolume", controller_delete_volume, err);
}

/* The next clone fails in Ceph. */
static int break_clone(struct process *process, struct world *world, struct error *err)
{
    (void)process, (void)err;
    fake_subvolumes_fail_clones(world->more, 1);
    return 0;
}

/* --- scenarios ----------------------------------------------------------------------------------
 */

TEST(clone_that_ceph_fails_is_made_again)
{
    check(&(struct scenario){.title = "CreateVolume from a volume, failing in Ceph once",
                             .before = {create_volume, break_clone},
                             .tested = clone_volume});
}

TEST(volume_with_snapshots_goes_before_them)
{
    check(&(struct scenario){.title = "DeleteVolume of one with snapshots",
                             .before = {create_volume, create_snapshot},
                             .tested = delete_volume,
                             .after = {restore, delete_second, delete_snapshot},
                             .ends_empty = true});
}

TEST(showing_a_snapshot_survives_every_fault)
{
    check(&(struct scenario){.title = "CreateVolume that shows a snapshot",
                             .before = {create_volume, create_snapshot},
                             .tested = show,
                             .after = {delete_second, delete_snapshot, delete_volume},
                             .ends_empty = true});
}

TEST(second_view_survives_every_fault)
{
    check(&(struct scenario){.title = "CreateVolume that shows a snapshot, the second",
                             .before = {create_volume, create_snapshot, show},
                             .tested = show_too});
}

TEST(shown_snapshot_is_deleted_through_every_fault)
{
    check(&(struct scenario){.title = "DeleteSnapshot of one that is shown",
                             .before = {create_volume, create_snapshot, show},
                             .tested = delete_snapshot});
}

TEST(first_view_of_a_deleted_snapshot_goes_through_every_fault)
{
    check(&(struct scenario){
        .title = "DeleteVolume, one of two that show a deleted snapshot",
        .before = {create_volume, create_snapshot, show, show_too, delete_snapshot},
        .tested = delete_second,
        .after = {delete_volume, delete_shown_too},
        .ends_empty = true});
}

TEST(last_view_takes_the_snapshot_along)
{
    check(&(struct scenario){
        .title = "DeleteVolume, the last that shows a deleted snapshot",
        .before = {create_volume, create_snapshot, show, delete_snapshot, delete_volume},
        .tested = delete_second,
        .ends_empty = true});
}

TEST_GROUP(write_config, remove_config)
