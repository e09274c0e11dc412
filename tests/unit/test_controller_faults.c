/*
 * Every operation of the controller, with its n-th Ceph call failing or the process dying there,
 * for each n; then the same request again. The end must be that of an undisturbed run, and nothing
 * may be left behind.
 */
#include <assert.h>

#include "tests/fakes/fake_ceph_subvolumes.h"
#include "tests/unit/fixtures/backends.h"
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/fault_scenario.h"

/* --- steps that RBD does not have --- */

static int show(struct process *process, struct world *world, struct error *err)
{
    return process_create_volume(process, "pvc-shown", GIB, SOURCE_SNAPSHOT, world->snapshot,
                                 world->second, err);
}

static int show_too(struct process *process, struct world *world, struct error *err)
{
    return process_create_volume(process, "pvc-shown-2", GIB, SOURCE_SNAPSHOT, world->snapshot,
                                 world->group, err);
}

static int delete_shown_too(struct process *process, struct world *world, struct error *err)
{
    return process_call_with_handle(process, world->group, "DeleteVolume", controller_delete_volume,
                                    err);
}

/* The next clone fails in Ceph. */
static int break_clone(struct process *process, struct world *world, struct error *err)
{
    (void)process, (void)err;
    fake_subvolumes_fail_clones(world->more, 1);
    return 0;
}

/* The manager loses the next clone. */
static int lose_clone(struct process *process, struct world *world, struct error *err)
{
    (void)process, (void)err;
    fake_subvolumes_lose_clones(world->more, 1);
    return 0;
}

/* --- steps that CephFS does not have --- */

static void mirror_volume(const struct world *world, bool is_primary)
{
    _cleanup_free_ char *image =
        xasprintf("csi-vol-%s", world->volume + strlen(world->volume) - UUID_LENGTH);

    fake_ceph_mirror(world->fake, "rbd", image, is_primary);
}

static int mirror_from_here(struct process *process, struct world *world, struct error *err)
{
    (void)process, (void)err;
    mirror_volume(world, true);
    return 0;
}

static int mirror_from_elsewhere(struct process *process, struct world *world, struct error *err)
{
    (void)process, (void)err;
    mirror_volume(world, false);
    return 0;
}

static int modify_volume(struct process *process, struct world *world, struct error *err)
{
    _cleanup_(modify_request_done) struct modify_request request = {.handle =
                                                                        xstrdup(world->volume)};
    struct call call;

    strmap_set(&request.mutable_parameters, "baseIops", "100");
    strmap_set(&request.mutable_parameters, "iopsPerGiB", "10");
    strmap_set(&request.mutable_parameters, "baseVolSizeBytes", "0");
    set_credentials(&request.credentials);
    call_init(&call, 1, "ControllerModifyVolume", deadline_never());
    int result = controller_modify_volume(&process->controller, &call, &request, err);
    call_done(&call);
    return result;
}

/* --- scenarios --- */

struct fault_case {
    const char *name;
    struct scenario scenario;
};

static const struct fault_case BOTH_CASES[] = {
    {"creation_survives_every_fault", {.title = "CreateVolume", .tested = step_create_volume}},
    {"deletion_survives_every_fault",
     {.title = "DeleteVolume",
      .before = {step_create_volume},
      .tested = step_delete_volume,
      .ends_empty = true}},
    {"snapshot_survives_every_fault",
     {.title = "CreateSnapshot", .before = {step_create_volume}, .tested = step_create_snapshot}},
    {"snapshot_deletion_survives_every_fault",
     {.title = "DeleteSnapshot",
      .before = {step_create_volume, step_create_snapshot},
      .tested = step_delete_snapshot,
      .after = {step_delete_volume},
      .ends_empty = true}},
    {"larger_restore_survives_every_fault",
     {.title = "CreateVolume from a snapshot",
      .before = {step_create_volume, step_create_snapshot},
      .tested = step_restore}},
    {"larger_clone_survives_every_fault",
     {.title = "CreateVolume from a volume",
      .before = {step_create_volume},
      .tested = step_clone,
      .after = {step_delete_volume, step_delete_second},
      .ends_empty = true}},
    {"group_snapshot_survives_every_fault",
     {.title = "CreateVolumeGroupSnapshot",
      .before = {step_create_volume, step_create_second},
      .tested = step_create_group,
      .after = {step_delete_group, step_delete_volume, step_delete_second},
      .ends_empty = true}},
    {"group_deletion_survives_every_fault",
     {.title = "DeleteVolumeGroupSnapshot",
      .before = {step_create_volume, step_create_second, step_create_group},
      .tested = step_delete_group,
      .after = {step_delete_volume, step_delete_second},
      .ends_empty = true}},
    {"expansion_survives_every_fault",
     {.title = "ControllerExpandVolume", .before = {step_create_volume}, .tested = step_expand}},
};

static const struct fault_case RBD_CASES[] = {
    {"modification_survives_every_fault",
     {.title = "ControllerModifyVolume", .before = {step_create_volume}, .tested = modify_volume}},
    {"expansion_with_limits_survives_every_fault",
     {.title = "ControllerExpandVolume of one with limits",
      .before = {step_create_volume, modify_volume},
      .tested = step_expand}},
    {"parents_may_go_before_their_clones",
     {.title = "DeleteVolume of the last of a family",
      .before = {step_create_volume, step_create_snapshot, step_restore, step_delete_snapshot,
                 step_delete_volume},
      .tested = step_delete_second,
      .ends_empty = true}},
    {"mirrored_volume_goes_with_its_mirroring",
     {.title = "DeleteVolume of one that is mirrored from here",
      .before = {step_create_volume, mirror_from_here},
      .tested = step_delete_volume,
      .ends_empty = true}},
    {"copy_of_another_clusters_volume_loses_its_entry_alone",
     {.title = "DeleteVolume of one that is mirrored from elsewhere",
      .before = {step_create_volume, mirror_from_elsewhere},
      .tested = step_delete_volume}},
};

static const struct fault_case CEPHFS_CASES[] = {
    {"clone_that_ceph_fails_is_made_again",
     {.title = "CreateVolume from a volume, failing in Ceph once",
      .before = {step_create_volume, break_clone},
      .tested = step_clone}},
    {"clone_that_the_manager_loses_is_made_again",
     {.title = "CreateVolume from a volume, lost by the manager once",
      .before = {step_create_volume, lose_clone},
      .tested = step_clone,
      .after = {step_delete_second, step_delete_volume}}}, /* all goes but what Ceph keeps */
    {"restore_that_the_manager_loses_is_made_again",
     {.title = "CreateVolume from a snapshot, lost by the manager once",
      .before = {step_create_volume, step_create_snapshot, lose_clone},
      .tested = step_restore,
      .after = {step_delete_second, step_delete_snapshot, step_delete_volume}}},
    {"volume_with_snapshots_goes_before_them",
     {.title = "DeleteVolume of one with snapshots",
      .before = {step_create_volume, step_create_snapshot},
      .tested = step_delete_volume,
      .after = {step_restore, step_delete_second, step_delete_snapshot},
      .ends_empty = true}},
    {"showing_a_snapshot_survives_every_fault",
     {.title = "CreateVolume that shows a snapshot",
      .before = {step_create_volume, step_create_snapshot},
      .tested = show,
      .after = {step_delete_second, step_delete_snapshot, step_delete_volume},
      .ends_empty = true}},
    {"second_view_survives_every_fault",
     {.title = "CreateVolume that shows a snapshot, the second",
      .before = {step_create_volume, step_create_snapshot, show},
      .tested = show_too}},
    {"shown_snapshot_is_deleted_through_every_fault",
     {.title = "DeleteSnapshot of one that is shown",
      .before = {step_create_volume, step_create_snapshot, show},
      .tested = step_delete_snapshot}},
    {"first_view_of_a_deleted_snapshot_goes_through_every_fault",
     {.title = "DeleteVolume, one of two that show a deleted snapshot",
      .before = {step_create_volume, step_create_snapshot, show, show_too, step_delete_snapshot},
      .tested = step_delete_second,
      .after = {step_delete_volume, delete_shown_too},
      .ends_empty = true}},
    {"last_view_takes_the_snapshot_along",
     {.title = "DeleteVolume, the last that shows a deleted snapshot",
      .before = {step_create_volume, step_create_snapshot, show, step_delete_snapshot,
                 step_delete_volume},
      .tested = step_delete_second,
      .ends_empty = true}},
};

static void check_rbd(void **state)
{
    scenario_check(*state, &RBD_SETUP);
}

static void check_cephfs(void **state)
{
    scenario_check(*state, &CEPHFS_SETUP);
}

static void add_cases(const struct fault_case *cases, size_t count, const struct world_setup *setup)
{
    static char names[64][80];
    static size_t used;

    for (size_t i = 0; i < count; i++) {
        assert(used < ARRAY_LENGTH(names));
        snprintf(names[used], sizeof(names[used]), "%s_%s", setup->name, cases[i].name);
        test_add((struct CMUnitTest){.name = names[used++],
                                     .test_func = setup == &RBD_SETUP ? check_rbd : check_cephfs,
                                     .initial_state = (void *)(uintptr_t)&cases[i].scenario});
    }
}

static void add_all_cases(void)
{
    add_cases(BOTH_CASES, ARRAY_LENGTH(BOTH_CASES), &RBD_SETUP);
    add_cases(RBD_CASES, ARRAY_LENGTH(RBD_CASES), &RBD_SETUP);
    add_cases(BOTH_CASES, ARRAY_LENGTH(BOTH_CASES), &CEPHFS_SETUP);
    add_cases(CEPHFS_CASES, ARRAY_LENGTH(CEPHFS_CASES), &CEPHFS_SETUP);
}

TEST_CASES(add_all_cases)
TEST_GROUP(cluster_config_write, cluster_config_remove)
