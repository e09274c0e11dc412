/*
 * CephFS' operations with the manager, whose commands they are, killed before each request that it
 * sends to the metadata server: see kills.h. KILL_STRIDE=1 takes every point of every operation.
 */

#include <unistd.h>

#include "common/base/memory.h"
#include "tests/integration/cephfs.h"
#include "tests/integration/kills.h"
#include "tests/integration/place.h"
#include "tests/integration/steps.h"
#include "tests/test.h"

/* In CI operations are killed at every that many points: each costs a start of the manager. */
#define USUAL_STRIDE 6
#define COPY_STRIDE 28 /* of those that wait for a copy, and ask for its state meanwhile */
#define COPY_LIVES 3   /* a copy has hundreds of points; the third of these loses it */

/* --- what an administrator has to do --- */

/* A manager of Ceph 16.2 that dies after it has made the subvolume of a copy, and before it has
 * noted that there is a copy to be made, leaves one that stays pending for ever and that no command
 * removes. The driver goes on with another, and leaves this one to people. */
static bool is_lost(const char *name, const char *journal)
{
    json_auto_t *command =
        json_pack("{s:s, s:s, s:s, s:s, s:s}", "prefix", "fs clone status", "format", "json",
                  "vol_name", CEPHFS_NAME, "group_name", CEPHFS_GROUP, "clone_name", name);
    _cleanup_free_ char *text = json_dumps(command, 0);
    _cleanup_free_ char *answer = strstr(journal, name) ? NULL : place_mgr_command(text);

    return answer && strstr(answer, "\"pending\"");
}

static void remove_directory(const char *subvolume)
{
    char mount_point[] = "/tmp/cephzone-lost.XXXXXX";

    assert_non_null(mkdtemp(mount_point));
    _cleanup_free_ char *path = xasprintf("%s/volumes/" CEPHFS_GROUP "/%s", mount_point, subvolume);
    free(harness_run_tool(
        (const char *const[]){"ceph-fuse", "--client_fs=" CEPHFS_NAME, mount_point, NULL}));
    free(harness_run_tool((const char *const[]){"rm", "-r", path, NULL}));
    free(harness_run_tool((const char *const[]){"umount", mount_point, NULL}));
    assert_int_equal(rmdir(mount_point), 0);
    print_message("figure: removed '%s', of which the manager lost the copy\n", subvolume);
}

static char *contents_without_lost(void)
{
    _cleanup_free_ char *all = cephfs_contents();
    char *subvolumes = strstr(all, "subvolume csi-vol-");
    char *rest = NULL;

    if (!subvolumes)
        return xstrdup(all);
    _cleanup_free_ char *journal = xstrndup(all, (size_t)(subvolumes - all));
    for (char *line = strtok_r(subvolumes, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *name = line + strlen("subvolume ");

        if (!strchr(name, ' ') && is_lost(name, journal))
            remove_directory(name);
    }
    return cephfs_contents();
}

static void check(const struct cuts_scenario *scenario, unsigned usual_stride)
{
    const bool is_short = !getenv("KILL_STRIDE") && usual_stride == COPY_STRIDE;
    const struct cuts_setup setup = {STEPS_CEPHFS.flags, contents_without_lost};
    const struct kills_plan plan = {.strike = kills_manager,
                                    .clean_up = steps_clean_up,
                                    .stride = kills_setting("KILL_STRIDE", usual_stride),
                                    .count = is_short ? COPY_LIVES : 0};

    kills_check(&setup, scenario, &plan);
}

/* --- the scenarios --- */

TEST(creation_survives_a_kill_of_the_manager_at_every_request)
{
    check(&(struct cuts_scenario){.title = "CephFS CreateVolume",
                                  .tested = step_create,
                                  .after = {step_delete}},
          USUAL_STRIDE);
}

TEST(expansion_survives_a_kill_of_the_manager_at_every_request)
{
    check(&(struct cuts_scenario){.title = "CephFS ControllerExpandVolume",
                                  .before = {step_create},
                                  .tested = step_expand,
                                  .after = {step_delete}},
          USUAL_STRIDE);
}

TEST(snapshot_survives_a_kill_of_the_manager_at_every_request)
{
    check(&(struct cuts_scenario){.title = "CephFS CreateSnapshot",
                                  .before = {step_create},
                                  .tested = step_snapshot,
                                  .after = {step_delete_snapshot, step_delete}},
          USUAL_STRIDE);
}

TEST(clone_survives_a_kill_of_the_manager_at_every_request)
{
    check(&(struct cuts_scenario){.title = "CephFS CreateVolume from a volume",
                                  .before = {step_create},
                                  .tested = step_clone,
                                  .after = {step_check_copy, step_delete_second, step_delete}},
          COPY_STRIDE);
}

TEST(restore_survives_a_kill_of_the_manager_at_every_request)
{
    check(&(struct cuts_scenario){.title = "CephFS CreateVolume from a snapshot",
                                  .before = {step_create, step_snapshot},
                                  .tested = step_restore,
                                  .after = {step_check_copy, step_delete_second,
                                            step_delete_snapshot, step_delete}},
          COPY_STRIDE);
}

TEST(snapshot_deletion_survives_a_kill_of_the_manager_at_every_request)
{
    check(&(struct cuts_scenario){.title = "CephFS DeleteSnapshot",
                                  .before = {step_create, step_snapshot},
                                  .tested = step_delete_snapshot,
                                  .after = {step_delete}},
          USUAL_STRIDE);
}

TEST(deletion_survives_a_kill_of_the_manager_at_every_request)
{
    check(&(struct cuts_scenario){.title = "CephFS DeleteVolume",
                                  .before = {step_create},
                                  .tested = step_delete},
          USUAL_STRIDE);
}

static int prepare(void **state)
{
    (void)state;
    steps_use(&STEPS_CEPHFS);
    return kills_prepare_manager(&STEPS_CEPHFS);
}

static void clean_up(void)
{
    kills_revive_manager();
    steps_clean_up();
}

TEST_GROUP(prepare, kills_finish_manager)
TEST_CLEANUP(clean_up)
