/*
 * RBD's operations with the driver killed at each of their Ceph calls: see cuts.h. After deletion
 * nothing may be left in the pool: no object, no key, no image, no trash.
 */

#include "common/base/memory.h"
#include "tests/integration/steps.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)

/* --- steps --- */

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

/* --- the pool --- */

/* A creation that wanders may leave something in each of the pools that it was in. */
static char *contents_of_zones(void)
{
    _cleanup_free_ char *zone_a = harness_pool_contents(STEPS_POOL);
    _cleanup_free_ char *zone_b = harness_pool_contents("zone-b");
    _cleanup_free_ char *common = harness_pool_contents("common");

    return xasprintf("%s%s%s", zone_a, zone_b, common);
}

static const struct cuts_setup SETUP_OF_ZONES = {.contents = contents_of_zones};

static void check(const struct cuts_scenario *scenario)
{
    cuts_check(scenario->wanders ? &SETUP_OF_ZONES : &STEPS_RBD, scenario);
}

static int prepare(void **state)
{
    (void)state;
    return cuts_prepare(&STEPS_RBD);
}

/* --- scenarios --- */

TEST(creation_survives_every_cut)
{
    check(&(struct cuts_scenario){.title = "CreateVolume",
                                  .methods = "CreateVolume",
                                  .tested = step_create,
                                  .after = {step_delete}});
}

TEST(creation_survives_every_cut_and_a_move_to_another_zone)
{
    check(&(struct cuts_scenario){.title = "CreateVolume, retried in another zone",
                                  .methods = "CreateVolume",
                                  .tested = create_in_a_zone,
                                  .after = {step_delete},
                                  .wanders = true});
    harness_assert_pool_empties("zone-b");
    harness_assert_pool_empties("common");
}

TEST(clone_survives_every_cut)
{
    check(&(struct cuts_scenario){.title = "CreateVolume from a volume",
                                  .methods = "CreateVolume",
                                  .before = {step_create},
                                  .tested = step_clone,
                                  .after = {step_delete_second, step_delete}});
}

TEST(restore_survives_every_cut)
{
    check(
        &(struct cuts_scenario){.title = "CreateVolume from a snapshot",
                                .methods = "CreateVolume",
                                .before = {step_create, step_snapshot},
                                .tested = step_restore,
                                .after = {step_delete_snapshot, step_delete, step_delete_second}});
}

TEST(snapshot_survives_every_cut)
{
    check(&(struct cuts_scenario){.title = "CreateSnapshot",
                                  .methods = "CreateSnapshot",
                                  .before = {step_create},
                                  .tested = step_snapshot,
                                  .after = {step_delete, step_delete_snapshot}});
}

TEST(deletion_survives_every_cut)
{
    check(&(struct cuts_scenario){.title = "DeleteVolume",
                                  .methods = "DeleteVolume purge",
                                  .before = {step_create},
                                  .tested = step_delete,
                                  .after = {NULL}});
}

TEST(snapshot_deletion_survives_every_cut)
{
    check(&(struct cuts_scenario){.title = "DeleteSnapshot",
                                  .methods = "DeleteSnapshot purge",
                                  .before = {step_create, step_snapshot},
                                  .tested = step_delete_snapshot,
                                  .after = {step_delete}});
}

TEST_GROUP(prepare, cuts_finish)
TEST_CLEANUP(harness_clean_up)
