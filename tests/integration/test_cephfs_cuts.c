/*
 * CephFS' operations with the driver killed at each of their Ceph calls: see cuts.h. After deletion
 * nothing may be left: no journal entry, no key, no reference tracker, no subvolume, no snapshot.
 */

#include "common/base/memory.h"
#include "tests/integration/cephfs.h"
#include "tests/integration/steps.h"
#include "tests/integration/zones.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)

/* --- steps --- */

static int create(const struct cephfs_wish *wish, char **handle, struct error *err)
{
    _cleanup_free_ char *request = cephfs_request(wish);

    return cuts_call("CreateVolume", request, "volume", "volume_id", handle, err);
}

/* Each try is asked for in the next zone. */
static int create_wandering(struct cuts_world *world, struct error *err)
{
    static const struct site sites[] = {{"cephfs.zone-a", NULL, "zone-a", NULL},
                                        {"cephfs.zone-b", NULL, "zone-b", NULL},
                                        {"cephfs.zone-c", NULL, "zone-c", NULL}};
    _cleanup_free_ char *pools = zones_pools(sites, ARRAY_LENGTH(sites));
    const struct term here = {NULL, sites[world->tries++ % ARRAY_LENGTH(sites)].zone, NULL, false};
    const struct wish wish = {.requisite = {&here}};
    _cleanup_free_ char *plain = cephfs_request(&(struct cephfs_wish){
        "pvc-cut", 8 * MIB, .key = "topologyConstrainedPools", .value = pools});
    json_auto_t *request = json_loads(plain, 0, NULL);

    json_object_set_new(request, "accessibility_requirements",
                        zones_requirement("topology.cephfs.csi.ceph.com/", &wish));
    _cleanup_free_ char *text = json_dumps(request, 0);
    return cuts_call("CreateVolume", text, "volume", "volume_id", &world->volume, err);
}

/* What there is, which must be of one volume at any time. */
static int assert_one_volume(struct cuts_world *world, struct error *err)
{
    _cleanup_free_ char *contents = cephfs_contents();
    unsigned subvolumes = 0;
    unsigned names = 0;

    (void)world, (void)err;
    for (const char *at = contents; (at = strstr(at, "subvolume csi-vol-")); at++)
        subvolumes++;
    for (const char *at = contents; (at = strstr(at, " csi.volume.pvc-cut")); at++)
        names++;
    if (subvolumes != 1 || names != 1)
        fail_msg("there are %u subvolumes and %u names:\n%s", subvolumes, names, contents);
    return 0;
}

static int show(struct cuts_world *world, struct error *err)
{
    return create(&(struct cephfs_wish){"pvc-cut-shown", 8 * MIB, .mode = "MULTI_NODE_READER_ONLY",
                                        .source_snapshot = world->snapshot},
                  &world->second, err);
}

/* --- scenarios --- */

TEST(creation_survives_every_cut)
{
    cuts_check(&STEPS_CEPHFS, &(struct cuts_scenario){.title = "CephFS CreateVolume",
                                                      .methods = "CreateVolume",
                                                      .tested = step_create,
                                                      .after = {step_delete}});
}

TEST(retry_in_another_zone_leaves_one_volume)
{
    cuts_check(&STEPS_CEPHFS,
               &(struct cuts_scenario){.title = "CephFS CreateVolume, retried in another "
                                                "zone",
                                       .methods = "CreateVolume",
                                       .tested = create_wandering,
                                       .after = {assert_one_volume, step_delete},
                                       .wanders = true});
}

TEST(snapshot_survives_every_cut)
{
    cuts_check(&STEPS_CEPHFS,
               &(struct cuts_scenario){.title = "CephFS CreateSnapshot",
                                       .methods = "CreateSnapshot",
                                       .before = {step_create},
                                       .tested = step_snapshot,
                                       .after = {step_delete, step_delete_snapshot}});
}

TEST(deletion_survives_every_cut)
{
    cuts_check(&STEPS_CEPHFS, &(struct cuts_scenario){.title = "CephFS DeleteVolume",
                                                      .methods = "DeleteVolume",
                                                      .before = {step_create},
                                                      .tested = step_delete});
}

TEST(snapshot_deletion_survives_every_cut)
{
    cuts_check(&STEPS_CEPHFS, &(struct cuts_scenario){.title = "CephFS DeleteSnapshot",
                                                      .methods = "DeleteSnapshot",
                                                      .before = {step_create, step_snapshot},
                                                      .tested = step_delete_snapshot,
                                                      .after = {step_delete}});
}

TEST(showing_a_snapshot_survives_every_cut)
{
    cuts_check(
        &STEPS_CEPHFS,
        &(struct cuts_scenario){.title = "CephFS CreateVolume that shows a snapshot",
                                .methods = "CreateVolume",
                                .before = {step_create, step_snapshot},
                                .tested = show,
                                .after = {step_delete_snapshot, step_delete, step_delete_second}});
}

TEST(last_view_takes_the_snapshot_along_through_every_cut)
{
    cuts_check(&STEPS_CEPHFS,
               &(struct cuts_scenario){
                   .title = "CephFS DeleteVolume, the last that shows a deleted snapshot",
                   .methods = "DeleteVolume",
                   .before = {step_create, step_snapshot, show, step_delete_snapshot},
                   .tested = step_delete_second,
                   .after = {step_delete}});
}

TEST(clone_survives_every_cut)
{
    cuts_check(&STEPS_CEPHFS, &(struct cuts_scenario){.title = "CephFS CreateVolume from a volume",
                                                      .methods = "CreateVolume",
                                                      .before = {step_create},
                                                      .tested = step_clone,
                                                      .after = {step_delete_second, step_delete}});
}

static int prepare(void **state)
{
    (void)state;
    steps_use(&STEPS_CEPHFS);
    return cuts_prepare(&STEPS_CEPHFS);
}

TEST_GROUP(prepare, cuts_finish)
TEST_CLEANUP(cephfs_clean_up)
