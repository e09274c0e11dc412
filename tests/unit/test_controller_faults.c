/*
 * Every operation of the controller, with its n-th Ceph call failing or the process dying there,
 * for each n; then the same request again. The end must be that of an undisturbed run, and nothing
 * may be left behind.
 */
#include "tests/unit/test_faults_fixture.h"

static void fill_class(struct strmap *parameters)
{
    strmap_set(parameters, "pool", "rbd");
    strmap_set(parameters, "imageFeatures", "layering,exclusive-lock");
}

static void add_pool(struct world *world)
{
    fake_ceph_add_pool(world->fake, "rbd", 3);
}

static const struct fault_setup SETUP = {&RBD_BACKEND, ACCESS_TYPE_BLOCK, fill_class, add_pool,
                                         NULL};

static void creation_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "CreateVolume", .tested = create_volume});
}

static void deletion_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "DeleteVolume",
                             .before = {create_volume},
                             .tested = delete_volume,
                             .ends_empty = true});
}

static void snapshot_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){
        .title = "CreateSnapshot", .before = {create_volume}, .tested = create_snapshot});
}

static void snapshot_deletion_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "DeleteSnapshot",
                             .before = {create_volume, create_snapshot},
                             .tested = delete_snapshot,
                             .after = {delete_volume},
                             .ends_empty = true});
}

static void larger_restore_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "CreateVolume from a snapshot",
                             .before = {create_volume, create_snapshot},
                             .tested = restore});
}

static void larger_clone_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){
        .title = "CreateVolume from a volume", .before = {create_volume}, .tested = clone_volume});
}

static void parents_may_go_before_their_clones(void **state)
{
    (void)state;
    check(&(struct scenario){
        .title = "DeleteVolume of the last of a family",
        .before = {create_volume, create_snapshot, restore, delete_snapshot, delete_volume},
        .tested = delete_second,
        .ends_empty = true});
}

static void group_snapshot_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "CreateVolumeGroupSnapshot",
                             .before = {create_volume, create_second},
                             .tested = create_group,
                             .after = {delete_group, delete_volume, delete_second},
                             .ends_empty = true});
}

static void group_deletion_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "DeleteVolumeGroupSnapshot",
                             .before = {create_volume, create_second, create_group},
                             .tested = delete_group,
                             .after = {delete_volume, delete_second},
                             .ends_empty = true});
}

static void expansion_survives_every_fault(void **state)
{
    (void)state;
    check(&(struct scenario){
        .title = "ControllerExpandVolume", .before = {create_volume}, .tested = expand});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation_survives_every_fault),
        cmocka_unit_test(deletion_survives_every_fault),
        cmocka_unit_test(snapshot_survives_every_fault),
        cmocka_unit_test(snapshot_deletion_survives_every_fault),
        cmocka_unit_test(larger_restore_survives_every_fault),
        cmocka_unit_test(larger_clone_survives_every_fault),
        cmocka_unit_test(parents_may_go_before_their_clones),
        cmocka_unit_test(group_snapshot_survives_every_fault),
        cmocka_unit_test(group_deletion_survives_every_fault),
        cmocka_unit_test(expansion_survives_every_fault),
    };

    return cmocka_run_group_tests_name("controller faults", tests, write_config, remove_config);
}
