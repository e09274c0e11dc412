/* NodeGetVolumeHealth, for volumes that are mounted, fenced, half-way or not there. */
#include <errno.h>

#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/machine.h"

static struct machine machine;

static const struct use USES[] = {
    {.mounter = "kernel", .fs_type = "", .is_cephfs = true},
    {.mounter = "fuse", .fs_type = "", .is_cephfs = true},
    {.fs_type = "ext4"},
    {.fs_type = NULL}, /* block */
    {.fs_type = "xfs", .mounter = "rbd-nbd"},
};

static int get_health(const char *publish_path, const char *staging_path,
                      struct volume_stats *stats, struct error *err)
{
    const struct health_request request = {HANDLE, publish_path, staging_path};
    struct call call;

    call_init(&call, 1, "NodeGetVolumeHealth", deadline_never());
    int result = node_get_volume_health(&machine.volumes, &call, &request, stats, err);
    call_done(&call);
    return result;
}

/* Whatever the caller knows of its paths. */
static void check_health(bool is_abnormal)
{
    static const char *const paths[][2] = {
        {TARGET, STAGING}, {TARGET, ""}, {"", STAGING}, {"", ""}, {"/kubelet/other", ""},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        _cleanup_(volume_stats_done) struct volume_stats stats = {0};

        must(get_health(paths[i][0], paths[i][1], &stats, &err));
        if (stats.is_abnormal != is_abnormal)
            fail_msg("'%s', '%s': %s", paths[i][0], paths[i][1], stats.message);
    }
}

TEST(volume_is_found_by_any_path_or_none)
{
    for (size_t i = 0; i < ARRAY_LENGTH(USES); i++) {
        machine_init(&machine, &USES[i]);
        must(machine_stage(&machine, &err));
        check_health(false); /* staged is enough */
        must(machine_publish(&machine, &err));
        check_health(false);
        must(machine_unpublish(&machine, &err));
        must(machine_unstage(&machine, &err));
        machine_done(&machine);
    }
}

TEST(fenced_volume_is_not_well)
{
    for (size_t i = 0; i < ARRAY_LENGTH(USES); i++) {
        if (!USES[i].fs_type)
            continue; /* fake_host_fence() is for file systems */
        machine_init(&machine, &USES[i]);
        must(machine_stage(&machine, &err));
        must(machine_publish(&machine, &err));
        fake_host_fence(machine.host, EIO);
        check_health(true);
        machine_done(&machine);
    }
}

TEST(volume_that_is_nowhere_is_not_found)
{
    for (size_t i = 0; i < ARRAY_LENGTH(USES); i++) {
        struct volume_stats stats = {0};

        machine_init(&machine, &USES[i]);
        must_refuse(get_health("", "", &stats, &err), STATUS_NOT_FOUND, "not mounted");
        must_refuse(get_health(TARGET, STAGING, &stats, &err), STATUS_NOT_FOUND, "not mounted");
        machine_done(&machine);
    }
}

TEST(health_needs_a_volume)
{
    const struct health_request request = {"", "", ""};
    struct volume_stats stats = {0};
    struct call call;

    machine_init(&machine, &USES[0]);
    call_init(&call, 1, "NodeGetVolumeHealth", deadline_never());
    must_refuse(node_get_volume_health(&machine.volumes, &call, &request, &stats, &err),
                STATUS_INVALID_ARGUMENT, "volume_id");
    call_done(&call);
    machine_done(&machine);
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
