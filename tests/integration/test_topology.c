/*
 * Volumes and their places on a real Ceph with three zones; zones.h has the oracle.
 */
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/place.h"
#include "tests/integration/zones.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)
#define PREFIX "topology.rbd.csi.ceph.com/"
#define VOLUMES 300

static struct driver_process driver;

/* --- the world --- */

static const struct site SITES[] = {
    {"common", NULL, NULL, NULL},
    {"zone-a", "east", "zone-a", NULL},
    {"zone-b", "east", "zone-b", "r1"},
    {"zone-c", "west", "zone-c", NULL},
};

/* What "rbd ls" shows. */
static size_t count_images(const char *pool)
{
    _cleanup_place_ struct place place = place_open(pool, NULL);
    _cleanup_string_list_ struct string_list keys = {0};
    size_t count = 0;

    place_keys(&place, "rbd_directory", &keys);
    for (size_t i = 0; i < keys.count; i++)
        count += text_has_prefix(keys.items[i], "name_");
    return count;
}

/* --- requests --- */

/* CreateVolume's request with the class's further @parameters: "key", "value", ..., NULL. */
static json_t *request(const char *name, const struct wish *wish, const char *const *parameters)
{
    _cleanup_free_ char *plain = harness_create_request(name, "common", 4 * MIB);
    json_t *json = json_loads(plain, 0, NULL);
    json_t *class = json_object_get(json, "parameters");

    for (; *parameters; parameters += 2)
        json_object_set_new(class, parameters[0], json_string(parameters[1]));
    if (wish)
        json_object_set_new(json, "accessibility_requirements", zones_requirement(PREFIX, wish));
    return json;
}

/* GetCapacity of a class in a place; NULL: everywhere. */
static long long capacity(const struct term *place, const char *const *parameters,
                          long long *maximum)
{
    return zones_capacity(&driver, request("unused", NULL, parameters),
                          place ? zones_topology(PREFIX, place) : NULL, maximum);
}

static void assert_all_empty(void)
{
    for (size_t i = 0; i < ARRAY_LENGTH(SITES); i++)
        harness_assert_pool_empties(SITES[i].pool);
}

/* --- tests --- */

static void check_pool(const struct made *made, const char *pool)
{
    assert_string_equal(made->pool, pool);
}

static void check_counts(const unsigned *counts)
{
    for (size_t i = 0; i < ARRAY_LENGTH(SITES); i++)
        assert_int_equal(count_images(SITES[i].pool), counts[i]);
}

TEST(volumes_land_where_the_oracle_says)
{
    zones_try(
        &(struct zones_trial){&driver, SITES, ARRAY_LENGTH(SITES), VOLUMES, request, check_pool},
        check_counts);
    assert_all_empty();
}

TEST(spread_is_even)
{
    _cleanup_free_ char *pools = zones_pools(SITES, ARRAY_LENGTH(SITES));
    const char *class[] = {"topologyConstrainedPools", pools, "poolSelection", "spread", NULL};
    char *handles[VOLUMES];
    size_t fewest = VOLUMES;
    size_t most = 0;

    json_auto_t *three = json_loads(pools, 0, NULL);
    json_array_remove(three, 0); /* without the pool for everywhere: three equals */
    for (size_t i = 0; i < 3; i++)
        json_object_set_new(json_array_get(three, i), "domainSegments", json_array());
    _cleanup_free_ char *equal = json_dumps(three, 0);
    class[1] = equal;
    for (size_t i = 0; i < ARRAY_LENGTH(handles); i++) {
        _cleanup_free_ char *name = xasprintf("spread-%zu", i);
        _cleanup_made_ struct made made = {0};

        zones_must_create(&driver, request(name, NULL, class), &made);
        handles[i] = TAKE(made.handle);
    }
    for (size_t i = 1; i < ARRAY_LENGTH(SITES); i++) {
        size_t count = count_images(SITES[i].pool);

        fewest = count < fewest ? count : fewest;
        most = count > most ? count : most;
    }
    print_message("figure: spread of %zu volumes over 3 pools: %zu to %zu in each\n",
                  ARRAY_LENGTH(handles), fewest, most);
    assert_true(most - fewest <= 1);
    for (size_t i = 0; i < ARRAY_LENGTH(handles); i++) {
        zones_must_delete(&driver, handles[i]);
        free(handles[i]);
    }
    assert_all_empty();
}

TEST(retry_elsewhere_is_the_same_volume)
{
    _cleanup_free_ char *pools = zones_pools(SITES, ARRAY_LENGTH(SITES));
    const char *with_pool[] = {"topologyConstrainedPools", pools, NULL};
    const char *without_pool[] = {"topologyConstrainedPools", pools, "pool", "", NULL};
    static const struct wish in_a = {.preferred = {&ZONES_TERMS[0]}};
    static const struct wish in_c = {.preferred = {&ZONES_TERMS[3]}};

    for (int i = 0; i < 2; i++) {
        const char *const *class = i ? without_pool : with_pool;
        _cleanup_made_ struct made first = {0};
        _cleanup_made_ struct made again = {0};
        json_t *json[2] = {request("moved", &in_a, class), request("moved", &in_c, class)};

        for (int j = 0; i && j < 2; j++)
            json_object_del(json_object_get(json[j], "parameters"), "pool");
        zones_must_create(&driver, json[0], &first);
        zones_must_create(&driver, json[1], &again);
        assert_string_equal(first.pool, "zone-a");
        assert_string_equal(again.handle, first.handle);
        assert_true(json_equal(again.segments, first.segments));
        zones_must_delete(&driver, first.handle);
        assert_all_empty();
    }
}

TEST(pinning_is_as_narrow_as_the_pool)
{
    static const struct {
        const char *pinning;
        const struct term *term;
        const char *segments; /* JSON; NULL: unpinned */
    } cases[] = {
        {"auto", &ZONES_TERMS[0], "{\"" PREFIX "member.zone.zone-a\": \"true\"}"},
        {"auto", &ZONES_TERMS[1], "{\"" PREFIX "member.rack.r1\": \"true\"}"},
        {"plain", &ZONES_TERMS[0],
         "{\"" PREFIX "region\": \"east\", \"" PREFIX "zone\": \"zone-a\"}"},
        {"membership", &ZONES_TERMS[3], "{\"" PREFIX "member.zone.zone-c\": \"true\"}"},
        {"standard", &ZONES_TERMS[3],
         "{\"topology.kubernetes.io/region\": \"west\", \"topology.kubernetes.io/zone\": "
         "\"zone-c\"}"},
        {"none", &ZONES_TERMS[0], NULL},
        {"auto", &ZONES_TERMS[4], NULL}, /* the pool for everywhere */
        {"auto", &ZONES_TERMS[5], "{\"" PREFIX "member.zone.zone-a\": \"true\"}"},
    };
    _cleanup_free_ char *pools = zones_pools(SITES, ARRAY_LENGTH(SITES));

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *class[] = {"topologyConstrainedPools", pools, "topologyPinning",
                               cases[i].pinning, NULL};
        const struct wish wish = {.preferred = {cases[i].term}};
        json_auto_t *expected = cases[i].segments ? json_loads(cases[i].segments, 0, NULL) : NULL;
        _cleanup_made_ struct made made = {0};

        zones_must_create(&driver, request("pinned", &wish, class), &made);
        if (expected ? !json_equal(expected, made.segments) : made.segments != NULL)
            fail_msg("case %zu: %s", i, json_dumps(made.reply, 0));
        const json_t *context =
            json_object_get(json_object_get(made.reply, "volume"), "volume_context");
        assert_int_equal(json_object_get(context, "topologySegments") != NULL, expected != NULL);
        zones_must_delete(&driver, made.handle);
    }
    assert_all_empty();
}

/* The driver has no --domainlabels here: the CRUSH map knows that a zone is within a region. */
TEST(order_of_levels_in_the_class_does_not_matter)
{
    static const struct wish in_a = {.preferred = {&ZONES_TERMS[0]}};
    _cleanup_free_ char *pools = zones_pools(SITES, ARRAY_LENGTH(SITES));
    json_auto_t *entries = json_loads(pools, 0, NULL);
    json_auto_t *expected = json_loads("{\"" PREFIX "member.zone.zone-a\": \"true\"}", 0, NULL);
    _cleanup_made_ struct made made = {0};
    size_t i;
    json_t *entry;

    json_array_foreach(entries, i, entry)
    {
        json_t *segments = json_object_get(entry, "domainSegments");

        for (size_t j = 0; j + 1 < json_array_size(segments); j++) {
            json_array_insert(segments, j, json_array_get(segments, json_array_size(segments) - 1));
            json_array_remove(segments, json_array_size(segments) - 1);
        }
    }
    _cleanup_free_ char *reversed = json_dumps(entries, 0);
    const char *class[] = {"topologyConstrainedPools", reversed, NULL};
    zones_must_create(&driver, request("reversed", &in_a, class), &made);
    assert_string_equal(made.pool, "zone-a");
    if (!json_equal(expected, made.segments))
        fail_msg("%s", json_dumps(made.reply, 0));
    zones_must_delete(&driver, made.handle);
    assert_all_empty();
}

/* What csi-provisioner sends for Immediate: all terms, the first by the claim's name. */
TEST(immediate_volumes_go_where_the_class_says)
{
    static const struct wish all = {
        .preferred = {&ZONES_TERMS[0], &ZONES_TERMS[1], &ZONES_TERMS[3]},
        .requisite = {&ZONES_TERMS[0], &ZONES_TERMS[1], &ZONES_TERMS[3]}};
    static const struct {
        const char *immediate;
        bool is_full; /* the requirement; else there is none */
        bool is_spread;
        bool is_pinned;
    } cases[] = {
        {"first", true, false, true},   {"spread", true, true, false},  {"pin", true, true, true},
        {"first", false, false, false}, {"spread", false, true, false}, {"pin", false, true, true},
    };
    static const char *const zones[] = {"zone-a", "zone-b", "zone-c"};
    /* of one level each: narrower ones would come first */
    static const struct site equals[] = {{"zone-a", NULL, "zone-a", NULL},
                                         {"zone-b", NULL, "zone-b", NULL},
                                         {"zone-c", NULL, "zone-c", NULL}};
    _cleanup_free_ char *pools = zones_pools(equals, ARRAY_LENGTH(equals));

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *class[] = {"topologyConstrainedPools",
                               pools,
                               "immediateTopology",
                               cases[i].immediate,
                               NULL,
                               NULL,
                               NULL};
        size_t used = 0;
        char *handles[12];

        if (cases[i].is_full || cases[i].is_spread) { /* "first" alone leaves it to the pool */
            class[4] = "poolSelection";
            class[5] = "spread";
        }
        for (size_t j = 0; j < ARRAY_LENGTH(handles); j++) {
            _cleanup_free_ char *name = xasprintf("immediate-%zu-%zu", i, j);
            _cleanup_made_ struct made made = {0};
            _cleanup_made_ struct made again = {0};

            zones_must_create(&driver, request(name, cases[i].is_full ? &all : NULL, class), &made);
            zones_must_create(&driver, request(name, cases[i].is_full ? &all : NULL, class),
                              &again);
            assert_string_equal(again.handle, made.handle);
            if ((made.segments != NULL) != cases[i].is_pinned)
                fail_msg("case %zu: %s", i, json_dumps(made.reply, 0));
            handles[j] = TAKE(made.handle);
        }
        for (size_t j = 0; j < ARRAY_LENGTH(zones); j++)
            used += count_images(zones[j]) == ARRAY_LENGTH(handles) / ARRAY_LENGTH(zones);
        if (cases[i].is_spread)
            assert_int_equal(used, ARRAY_LENGTH(zones));
        else
            assert_int_equal(count_images(cases[i].is_full ? "zone-a" : "common"),
                             ARRAY_LENGTH(handles));
        for (size_t j = 0; j < ARRAY_LENGTH(handles); j++) {
            zones_must_delete(&driver, handles[j]);
            free(handles[j]);
        }
        assert_all_empty();
    }
}

TEST(place_without_pools_may_be_served_by_any)
{
    static const struct wish in_x = {.preferred = {&ZONES_TERMS[4]}};
    _cleanup_free_ char *pools = zones_pools(SITES + 1, ARRAY_LENGTH(SITES) - 1);
    const char *refusing[] = {"topologyConstrainedPools", pools, NULL};
    const char *class[] = {"topologyConstrainedPools", pools, "unservedDomains", "anywhere", NULL};
    _cleanup_made_ struct made made = {0};

    zones_assert_refused(&driver, request("unserved", &in_x, refusing), STATUS_RESOURCE_EXHAUSTED,
                         "no pool of the class serves the place asked for");
    zones_must_create(&driver, request("unserved", &in_x, class), &made);
    assert_null(made.segments);
    assert_string_not_equal(made.pool, "common");
    assert_int_equal(capacity(&ZONES_TERMS[4], refusing, NULL), 0);
    assert_true(capacity(&ZONES_TERMS[4], class, NULL) > 0);
    zones_must_delete(&driver, made.handle);
    assert_all_empty();
}

/* The OSDs report every few seconds, and the driver's figures have their age too. */
static void wait_for_room(const struct term *place, const char *const *class, bool wanted)
{
    wait_until((capacity(place, class, NULL) > 0) == wanted);
}

TEST(full_pool_is_skipped_and_has_no_capacity)
{
    _cleanup_free_ char *pools = zones_pools(SITES, ARRAY_LENGTH(SITES));
    const char *class[] = {"topologyConstrainedPools", pools, NULL};
    _cleanup_made_ struct made made = {0};

    json_auto_t *zones = json_loads(pools, 0, NULL);
    json_array_remove(zones, 0); /* nothing serves everywhere */
    _cleanup_free_ char *text = json_dumps(zones, 0);
    class[1] = text;
    /* zone-c's pool wants its region too */
    static const struct term in_c = {"west", "zone-c", NULL, false};
    assert_true(capacity(&in_c, class, NULL) > 0);
    ZONES_RUN("rados", "-p", "zone-c", "put", "filler", driver.config_path);
    ZONES_CEPH("osd", "pool", "set-quota", "zone-c", "max_bytes", "1");
    wait_for_room(&in_c, class, false);
    const struct wish wish = {.requisite = {&in_c}};
    zones_assert_refused(&driver, request("full", &wish, class), STATUS_RESOURCE_EXHAUSTED,
                         "pool 'zone-c' (region=west,zone=zone-c): quota used up");
    const struct wish either = {.requisite = {&in_c, &ZONES_TERMS[0]}};
    zones_must_create(&driver, request("full-elsewhere", &either, class), &made);
    assert_string_equal(made.pool, "zone-a");
    zones_must_delete(&driver, made.handle);
    ZONES_CEPH("osd", "pool", "set-quota", "zone-c", "max_bytes", "0");
    ZONES_RUN("rados", "-p", "zone-c", "rm", "filler");
    wait_for_room(&in_c, class, true);
    assert_all_empty();
}

TEST(capacity_is_that_of_the_place)
{
    _cleanup_free_ char *pools = zones_pools(SITES, ARRAY_LENGTH(SITES));
    const char *class[] = {"topologyConstrainedPools", pools, NULL};
    const char *plain[] = {NULL};
    json_auto_t *zones = json_loads(pools, 0, NULL);
    static const struct term nowhere = {"north", "zone-n", NULL, false};
    long long largest = 0;

    json_array_remove(zones, 0);
    _cleanup_free_ char *text = json_dumps(zones, 0);
    class[1] = text;
    long long one = capacity(&ZONES_TERMS[0], class, &largest);
    assert_true(one > 0);
    assert_int_equal(largest, one);
    long long all = capacity(NULL, class, &largest);
    assert_true(all > 2 * one); /* three roots of the same size */
    assert_true(largest < all);
    assert_int_equal(capacity(&nowhere, class, NULL), 0);
    assert_true(capacity(&nowhere, plain, NULL) > 0); /* a plain pool serves everywhere */
}

TEST(nothing_new_in_a_place_that_is_taken_over)
{
    _cleanup_free_ char *pools = zones_pools(SITES, ARRAY_LENGTH(SITES));
    const char *class[] = {"topologyConstrainedPools", pools, NULL};
    static const struct wish in_a = {.requisite = {&ZONES_TERMS[0]}};
    json_auto_t *zones = json_loads(pools, 0, NULL);
    _cleanup_made_ struct made made = {0};

    json_array_remove(zones, 0);
    _cleanup_free_ char *text = json_dumps(zones, 0);
    class[1] = text;
    zones_write_takeover(&driver, "{\"zone-a\": [\"zone-b\"]}");
    assert_int_equal(capacity(&ZONES_TERMS[0], class, NULL), 0);
    zones_assert_refused(&driver, request("taken", &in_a, class), STATUS_RESOURCE_EXHAUSTED,
                         "its place is being taken over by others");
    zones_write_takeover(&driver, "{}");
    assert_true(capacity(&ZONES_TERMS[0], class, NULL) > 0);
    zones_must_create(&driver, request("taken", &in_a, class), &made);
    assert_string_equal(made.pool, "zone-a");
    zones_must_delete(&driver, made.handle);
    assert_all_empty();
}

TEST(restore_stays_in_its_pool_unless_the_class_says_copy)
{
    _cleanup_free_ char *pools = zones_pools(SITES, ARRAY_LENGTH(SITES));
    const char *class[] = {"topologyConstrainedPools", pools, NULL};
    const char *copying[] = {"topologyConstrainedPools", pools, "crossPoolRestore", "copy", NULL};
    static const struct wish in_a = {.preferred = {&ZONES_TERMS[0]}};
    static const struct wish in_c = {.requisite = {&ZONES_TERMS[3]}};
    _cleanup_error_ struct error err = {0};
    _cleanup_made_ struct made source = {0};
    _cleanup_made_ struct made beside = {0};
    _cleanup_made_ struct made copy = {0};

    zones_must_create(&driver, request("origin", &in_a, class), &source);
    _cleanup_free_ char *snapshot = call_snapshot(&driver, "origin-snap", source.handle, &err);
    assert_non_null(snapshot);
    json_t *requests[3] = {request("restored", &in_a, class), request("refused", &in_c, class),
                           request("copied", &in_c, copying)};
    for (int i = 0; i < 3; i++)
        json_object_set_new(requests[i], "volume_content_source",
                            json_pack("{s:{s:s}}", "snapshot", "snapshot_id", snapshot));
    zones_must_create(&driver, requests[0], &beside);
    assert_string_equal(beside.pool, "zone-a");
    zones_assert_refused(&driver, requests[1], STATUS_RESOURCE_EXHAUSTED,
                         "not the pool of the source");
    zones_must_create(&driver, requests[2], &copy);
    assert_string_equal(copy.pool, "zone-c");
    assert_int_equal(call_delete_snapshot(&driver, snapshot, &err), 0);
    zones_must_delete(&driver, source.handle);
    zones_must_delete(&driver, beside.handle);
    harness_assert_pool_empties("zone-a"); /* a copy needs its source no more, soon */
    zones_must_delete(&driver, copy.handle);
    assert_all_empty();
}

TEST(pools_carry_their_places)
{
    const char *class[] = {"topologyPools", "auto", "topologyClass", "fast", NULL};
    static const struct term zone_a = {NULL, "zone-a", NULL, false};
    static const struct term zone_b = {NULL, "zone-b", NULL, false};
    static const struct term zone_d = {NULL, "zone-d", NULL, false};
    static const struct wish in_a = {.preferred = {&zone_a}};
    static const struct wish in_b = {.preferred = {&zone_b}};
    static const struct wish in_d = {.preferred = {&zone_d}};
    _cleanup_made_ struct made by_metadata = {0};
    _cleanup_made_ struct made by_rule = {0};
    _cleanup_made_ struct made later = {0};

    zones_assert_refused(&driver, request("nobody", &in_a, class), STATUS_RESOURCE_EXHAUSTED,
                         "cephzone.class");
    ZONES_CEPH("osd", "pool", "application", "set", "zone-a", "rbd", "cephzone.class", "fast");
    ZONES_CEPH("osd", "pool", "application", "set", "zone-a", "rbd", "cephzone.zone", "zone-a");
    ZONES_CEPH("osd", "pool", "application", "set", "zone-b", "rbd", "cephzone.class", "fast");
    wait_for_room(&zone_a, class, true); /* the figures are up to two seconds old */
    wait_for_room(&zone_b, class, true);
    zones_must_create(&driver, request("auto-a", &in_a, class), &by_metadata);
    assert_string_equal(by_metadata.pool, "zone-a");
    zones_must_create(&driver, request("auto-b", &in_b, class), &by_rule);
    assert_string_equal(by_rule.pool, "zone-b");
    zones_assert_refused(&driver, request("auto-d", &in_d, class), STATUS_RESOURCE_EXHAUSTED,
                         "zone=zone-d");
    ZONES_CEPH("osd", "pool", "create", "zone-d", "8", "8", "replicated", "zone-c-rule", "--size",
               "1");
    ZONES_CEPH("osd", "pool", "application", "enable", "zone-d", "rbd");
    ZONES_CEPH("osd", "pool", "application", "set", "zone-d", "rbd", "cephzone.class", "fast");
    ZONES_CEPH("osd", "pool", "application", "set", "zone-d", "rbd", "cephzone.zone", "zone-d");
    wait_for_room(&zone_d, class, true);
    zones_must_create(&driver, request("auto-d", &in_d, class), &later);
    assert_string_equal(later.pool, "zone-d");
    zones_must_delete(&driver, by_metadata.handle);
    zones_must_delete(&driver, by_rule.handle);
    zones_must_delete(&driver, later.handle);
    harness_assert_pool_empties("zone-d");
    ZONES_CEPH("osd", "pool", "application", "rm", "zone-a", "rbd", "cephzone.class");
    ZONES_CEPH("osd", "pool", "application", "rm", "zone-a", "rbd", "cephzone.zone");
    ZONES_CEPH("osd", "pool", "application", "rm", "zone-b", "rbd", "cephzone.class");
    ZONES_CEPH("osd", "pool", "rm", "zone-d", "zone-d", "--yes-i-really-really-mean-it");
    assert_all_empty();
}

TEST(two_clusters_behind_one_class)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_free_ char *config = xasprintf("[{\"clusterID\": \"%s\", \"monitors\": [\"%s\"]},"
                                            " {\"clusterID\": \"second\", \"monitors\": [\"%s\"]}]",
                                            cluster->fsid, cluster->monitors, cluster->monitors);
    const char *class[] = {
        "topologyConstrainedPools",
        "[{\"poolName\": \"zone-a\", \"domainSegments\": [{\"domainLabel\": \"zone\", \"value\": "
        "\"zone-a\"}]}, {\"poolName\": \"zone-b\", \"clusterID\": \"second\", \"domainSegments\": "
        "[{\"domainLabel\": \"zone\", \"value\": \"zone-b\"}]}]",
        NULL};
    const struct wish in_a = {.preferred = {&(struct term){NULL, "zone-a", NULL, false}}};
    const struct wish in_b = {.preferred = {&(struct term){NULL, "zone-b", NULL, false}}};
    _cleanup_made_ struct made second = {0};
    _cleanup_made_ struct made again = {0};

    harness_write_config(&driver, config);
    zones_must_create(&driver, request("far", &in_b, class), &second);
    assert_string_equal(second.pool, "zone-b");
    assert_non_null(strstr(second.handle, "-second-"));
    zones_must_create(&driver, request("far", &in_a, class), &again);
    assert_string_equal(again.handle, second.handle);
    zones_must_delete(&driver, second.handle);
    assert_all_empty();
}

TEST(mistakes_in_a_class_are_told_with_their_place)
{
    static const struct {
        const char *pools;
        const char *message;
    } cases[] = {
        {"[]", "the list is empty"},
        {"{}", "expected an array"},
        {"[{\"poolName\":\"zone-a\",\"domainSegment\":[]}]", "[0].domainSegment: unknown key"},
        {"[{\"pool_name\":\"zone-a\",\"domainSegments\":[]}]", "[0].pool_name: unknown key"},
        {"[{\"poolName\":\"zone-a\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"a\"},"
         "{\"domainLabel\":\"zone\",\"value\":\"b\"}]}]",
         "[0]: domainSegments[1].domainLabel: 'zone' is there twice"},
        {"[{\"poolName\":\"zone-a\",\"domainSegments\":[]},{\"poolName\":\"zone-a\","
         "\"domainSegments\":[]}]",
         "[1] is the same pool 'zone-a' for the same domains as [0]"},
        {"[{\"poolName\":\"zone-a\",\"domainSegments\":[]},{\"poolName\":\"nope\","
         "\"domainSegments\":[]}]",
         "topologyConstrainedPools[1].poolName: there is no pool 'nope'"},
        {"[{\"poolName\":\"zone-a\",\"domainSegments\":[{\"domainLabel\":"
         "\"topology.kubernetes.io/zone\",\"value\":\"a\"}]}]",
         "only what stands behind the slash counts"},
    };
    static const struct wish anywhere = {.preferred = {&ZONES_TERMS[0]}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *class[] = {"topologyConstrainedPools", cases[i].pools, NULL};

        zones_assert_refused(&driver, request("mistake", &anywhere, class), STATUS_INVALID_ARGUMENT,
                             cases[i].message);
    }
    assert_all_empty();
}

static int start_driver(void **state)
{
    (void)state;
    /* also for the pool that a test adds */
    ZONES_CEPH("auth", "caps", "client.csi", "mon", "profile rbd, allow r", "mgr", "allow rw",
               "mds", "allow *", "osd", "profile rbd, allow rw tag cephfs *=*");
    rpc_init();
    harness_init(&driver);
    _cleanup_free_ char *keyring = xasprintf("%s/keyring", driver.folder);
    _cleanup_free_ char *flag = xasprintf("--keyring=%s", keyring);
    zones_write_keyring(keyring);
    _cleanup_free_ char *takeover = xasprintf("--takeover-file=%s/takeover.json", driver.folder);
    harness_start(&driver,
                  (const char *[]){flag, takeover, "--capacity-interval=2s", "--v=3", NULL});
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

/* What a test had done to the pools themselves; most of it none has done. */
static void clean_up(void)
{
    zones_undo("osd pool set-quota zone-c max_bytes 0");
    zones_undo("osd pool application rm zone-a rbd cephzone.class");
    zones_undo("osd pool application rm zone-a rbd cephzone.zone");
    zones_undo("osd pool application rm zone-b rbd cephzone.class");
    zones_undo("osd pool rm zone-d zone-d --yes-i-really-really-mean-it");
    harness_clean_up();
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(clean_up)
