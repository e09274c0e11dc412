/*
 * RBD's operations with the driver killed at each of their Ceph calls: see cuts.h. After deletion
 * nothing may be left in the pool: no object, no key, no image, no trash.
 */

#include "common/base/memory.h"
#include "tests/integration/cuts.h"
#include "tests/test.h"

#define POOL "zone-a"
#define MIB (1024LL * 1024)

/* --- steps --- */

static int create_from(const char *name, long long size, const char *source, char **handle,
                       struct error *err)
{
    _cleanup_free_ char *plain = harness_create_request(name, POOL, size);
    json_auto_t *request = json_loads(plain, 0, NULL);
    json_auto_t *content = source ? json_loads(source, 0, NULL) : NULL;

    if (content)
        json_object_set(request, "volume_content_source", content);
    _cleanup_free_ char *text = json_dumps(request, 0);
    return cuts_call("CreateVolume", text, "volume", "volume_id", handle, err);
}

static int create_volume(struct cuts_world *world, struct error *err)
{
    return create_from("pvc-cut", 8 * MIB, NULL, &world->volume, err);
}

/* The scheduler moves the pod between two tries: zone-a, zone-b, zone-a, ... */
static int create_in_a_zone(struct cuts_world *world, struct error *err)
{
    static const char pools[] =
        "[{\"poolName\":\"zone-a\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":"
        "\"zone-a\"}]},{\"poolName\":\"zone-b\",\"domainSegments\":[{\"domainLabel\":\"zone\","
        "\"value\":\"zone-b\"}]}]";
    const char *zone = world->tries++ % 2 ? "zone-b" : "zone-a";
    _cleanup_free_ char *plain = harness_create_request("pvc-cut-moved", "common", 8 * MIB);
    json_auto_t *request = json_loads(plain, 0, NULL);

    json_object_set_new(json_object_get(request, "parameters"), "topologyConstrainedPools",
                        json_string(pools));
    json_object_set_new(request, "accessibility_requirements",
                        json_pack("{s:[{s:{s:s}}]}", "preferred", "segments",
                                  "topology.rbd.csi.ceph.com/zone", zone));
    _cleanup_free_ char *text = json_dumps(request, 0);
    return cuts_call("CreateVolume", text, "volume", "volume_id", &world->volume, err);
}

static int clone_volume(struct cuts_world *world, struct error *err)
{
    _cleanup_free_ char *source = xasprintf("{\"volume\":{\"volume_id\":\"%s\"}}", world->volume);

    return create_from("pvc-cut-clone", 16 * MIB, source, &world->second, err);
}

static int restore(struct cuts_world *world, struct error *err)
{
    _cleanup_free_ char *source =
        xasprintf("{\"snapshot\":{\"snapshot_id\":\"%s\"}}", world->snapshot);

    return create_from("pvc-cut-restored", 16 * MIB, source, &world->second, err);
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
    _cleanup_free_ char *request = xasprintf("{\"snapshot_id\":\"%s\"}", world->snapshot);

    return harness_call(&cuts_driver,
                        &(struct harness_call){.method = "DeleteSnapshot", .request = request},
                        NULL, err);
}

/* --- the pool --- */

static char *contents(void)
{
    return harness_pool_contents(POOL);
}

/* A creation that wanders may leave something in each of the pools that it was in. */
static char *contents_of_zones(void)
{
    _cleanup_free_ char *zone_a = harness_pool_contents(POOL);
    _cleanup_free_ char *zone_b = harness_pool_contents("zone-b");
    _cleanup_free_ char *common = harness_pool_contents("common");

    return xasprintf("%s%s%s", zone_a, zone_b, common);
}

static const struct cuts_setup SETUP = {.contents = contents};
static const struct cuts_setup SETUP_OF_ZONES = {.contents = contents_of_zones};

static void check(const struct cuts_scenario *scenario)
{
    cuts_check(scenario->wanders ? &SETUP_OF_ZONES : &SETUP, scenario);
}

static int prepare(void **state)
{
    (void)state;
    return cuts_prepare(&SETUP);
}

/* --- scenarios --- */

TEST(creation_survives_every_cut)
{
    check(&(struct cuts_scenario){.title = "CreateVolume",
                                  .methods = "CreateVolume",
                                  .tested = create_volume,
                                  .after = {delete_volume}});
}

TEST(creation_survives_every_cut_and_a_move_to_another_zone)
{
    check(&(struct cuts_scenario){.title = "CreateVolume, retried in another zone",
                                  .methods = "CreateVolume",
                                  .tested = create_in_a_zone,
                                  .after = {delete_volume},
                                  .wanders = true});
    harness_assert_pool_empties("zone-b");
    harness_assert_pool_empties("common");
}

TEST(clone_survives_every_cut)
{
    check(&(struct cuts_scenario){.title = "CreateVolume from a volume",
                                  .methods = "CreateVolume",
                                  .before = {create_volume},
                                  .tested = clone_volume,
                                  .after = {delete_second, delete_volume}});
}

TEST(restore_survives_every_cut)
{
    check(&(struct cuts_scenario){.title = "CreateVolume from a snapshot",
                                  .methods = "CreateVolume",
                                  .before = {create_volume, create_snapshot},
                                  .tested = restore,
                                  .after = {delete_snapshot, delete_volume, delete_second}});
}

TEST(snapshot_survives_every_cut)
{
    check(&(struct cuts_scenario){.title = "CreateSnapshot",
                                  .methods = "CreateSnapshot",
                                  .before = {create_volume},
                                  .tested = create_snapshot,
                                  .after = {delete_volume, delete_snapshot}});
}

TEST(deletion_survives_every_cut)
{
    check(&(struct cuts_scenario){.title = "DeleteVolume",
                                  .methods = "DeleteVolume purge",
                                  .before = {create_volume},
                                  .tested = delete_volume,
                                  .after = {NULL}});
}

TEST(snapshot_deletion_survives_every_cut)
{
    check(&(struct cuts_scenario){.title = "DeleteSnapshot",
                                  .methods = "DeleteSnapshot purge",
                                  .before = {create_volume, create_snapshot},
                                  .tested = delete_snapshot,
                                  .after = {delete_volume}});
}

TEST_GROUP(prepare, cuts_finish)
TEST_CLEANUP(harness_clean_up)
