/*
 * CephFS' operations with the driver killed at each of their Ceph calls: see cuts.h. After deletion
 * nothing may be left: no journal entry, no key, no reference tracker, no subvolume, no snapshot.
 */

#include "common/base/memory.h"
#include "tests/integration/calls.h"
#include "tests/integration/cephfs.h"
#include "tests/integration/cuts.h"
#include "tests/integration/zones.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)

static const struct cuts_setup SETUP = {CEPHFS_FLAGS, cephfs_contents};

/* --- steps --- */

static int create(const struct cephfs_wish *wish, char **handle, struct error *err)
{
    _cleanup_free_ char *request = cephfs_request(wish);

    return cuts_call("CreateVolume", request, "volume", "volume_id", handle, err);
}

static int create_volume(struct cuts_world *world, struct error *err)
{
    return create(&(struct cephfs_wish){"pvc-cut", .size_bytes = 8 * MIB}, &world->volume, err);
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

static int clone_volume(struct cuts_world *world, struct error *err)
{
    return create(&(struct cephfs_wish){"pvc-cut-clone", 16 * MIB, .source_volume = world->volume},
                  &world->second, err);
}

static int show(struct cuts_world *world, struct error *err)
{
    return create(&(struct cephfs_wish){"pvc-cut-shown", 8 * MIB, .mode = "MULTI_NODE_READER_ONLY",
                                        .source_snapshot = world->snapshot},
                  &world->second, err);
}

static int create_snapshot(struct cuts_world *world, struct error *err)
{
    _cleanup_free_ char *request =
        xasprintf("{\"name\":\"snap-cut\",\"source_volume_id\":\"%s\"}", world->volume);

    return cuts_call("CreateSnapshot", request, "snapshot", "snapshot_id", &world->snapshot, err);
}

static int delete_volume(struct cuts_world *world, struct error *err)
{
    return harness_delete_volume(&cuts_driver, world->volume, err);
}

static int delete_second(struct cuts_world *world, struct error *err)
{
    return harness_delete_volume(&cuts_driver, world->second, err);
}

static int delete_snapshot(struct cuts_world *world, struct error *err)
{
    return call_delete_snapshot(&cuts_driver, world->snapshot, err);
}

/* --- scenarios --- */

TEST(creation_survives_every_cut)
{
    cuts_check(&SETUP, &(struct cuts_scenario){.title = "CephFS CreateVolume",
                                               .methods = "CreateVolume",
                                               .tested = create_volume,
                                               .after = {delete_volume}});
}

TEST(retry_in_another_zone_leaves_one_volume)
{
    cuts_check(&SETUP, &(struct cuts_scenario){.title = "CephFS CreateVolume, retried in another "
                                                        "zone",
                                               .methods = "CreateVolume",
                                               .tested = create_wandering,
                                               .after = {assert_one_volume, delete_volume},
                                               .wanders = true});
}

TEST(snapshot_survives_every_cut)
{
    cuts_check(&SETUP, &(struct cuts_scenario){.title = "CephFS CreateSnapshot",
                                               .methods = "CreateSnapshot",
                                               .before = {create_volume},
                                               .tested = create_snapshot,
                                               .after = {delete_volume, delete_snapshot}});
}

TEST(deletion_survives_every_cut)
{
    cuts_check(&SETUP, &(struct cuts_scenario){.title = "CephFS DeleteVolume",
                                               .methods = "DeleteVolume",
                                               .before = {create_volume},
                                               .tested = delete_volume});
}

TEST(snapshot_deletion_survives_every_cut)
{
    cuts_check(&SETUP, &(struct cuts_scenario){.title = "CephFS DeleteSnapshot",
                                               .methods = "DeleteSnapshot",
                                               .before = {create_volume, create_snapshot},
                                               .tested = delete_snapshot,
                                               .after = {delete_volume}});
}

TEST(showing_a_snapshot_survives_every_cut)
{
    cuts_check(&SETUP,
               &(struct cuts_scenario){.title = "CephFS CreateVolume that shows a snapshot",
                                       .methods = "CreateVolume",
                                       .before = {create_volume, create_snapshot},
                                       .tested = show,
                                       .after = {delete_snapshot, delete_volume, delete_second}});
}

TEST(last_view_takes_the_snapshot_along_through_every_cut)
{
    cuts_check(&SETUP, &(struct cuts_scenario){
                           .title = "CephFS DeleteVolume, the last that shows a deleted snapshot",
                           .methods = "DeleteVolume",
                           .before = {create_volume, create_snapshot, show, delete_snapshot},
                           .tested = delete_second,
                           .after = {delete_volume}});
}

TEST(clone_survives_every_cut)
{
    cuts_check(&SETUP, &(struct cuts_scenario){.title = "CephFS CreateVolume from a volume",
                                               .methods = "CreateVolume",
                                               .before = {create_volume},
                                               .tested = clone_volume,
                                               .after = {delete_second, delete_volume}});
}

static int prepare(void **state)
{
    (void)state;
    return cuts_prepare(&SETUP);
}

TEST_GROUP(prepare, cuts_finish)
TEST_CLEANUP(cephfs_clean_up)
