/*
 * CephFS volumes and their places on a real Ceph with a data pool in each of three zones; zones.h
 * has the oracle. Where a volume is, is read from its directory: the file system is mounted with
 * ceph-fuse, and the directory's layout asked for.
 */
#include <errno.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/cephfs.h"
#include "tests/integration/zones.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)
#define PREFIX "topology.cephfs.csi.ceph.com/"
#define VOLUMES 150
#define NAME_MAX_BYTES 256

static struct driver_process driver;
static char *mount_point;

static const struct site SITES[] = {
    {"cephfs.data", NULL, NULL, NULL},
    {"cephfs.zone-a", "east", "zone-a", NULL},
    {"cephfs.zone-b", "east", "zone-b", "r1"},
    {"cephfs.zone-c", "west", "zone-c", NULL},
};

/* Without the pool for everywhere. */
static char *zone_pools(void)
{
    return zones_pools(SITES + 1, ARRAY_LENGTH(SITES) - 1);
}

/* CreateVolume's request with the class's further @parameters: "key", "value", ..., NULL. */
static json_t *request(const struct cephfs_wish *plain, const struct wish *wish,
                       const char *const *parameters)
{
    _cleanup_free_ char *text = cephfs_request(plain);
    json_t *json = json_loads(text, 0, NULL);
    json_t *class = json_object_get(json, "parameters");

    for (; *parameters; parameters += 2)
        json_object_set_new(class, parameters[0], json_string(parameters[1]));
    if (wish)
        json_object_set_new(json, "accessibility_requirements", zones_requirement(PREFIX, wish));
    return json;
}

static json_t *empty_one(const char *name, const struct wish *wish, const char *const *parameters)
{
    return request(&(struct cephfs_wish){name, .size_bytes = 4 * MIB}, wish, parameters);
}

/* GetCapacity of a class in a place; NULL: everywhere. */
static long long capacity(const struct term *place, const char *const *parameters,
                          long long *maximum)
{
    return zones_capacity(&driver, empty_one("unused", NULL, parameters),
                          place ? zones_topology(PREFIX, place) : NULL, maximum);
}

/* --- the real directory --- */

/* The data pool of the volume's directory. */
static void assert_layout(const struct made *made, const char *pool)
{
    const json_t *context =
        json_object_get(json_object_get(made->reply, "volume"), "volume_context");
    const char *path = json_string_value(json_object_get(context, "subvolumePath"));
    _cleanup_free_ char *whole = xasprintf("%s%s", mount_point, path);
    char layout[NAME_MAX_BYTES] = "";

    if (getxattr(whole, "ceph.dir.layout.pool", layout, sizeof(layout) - 1) < 0)
        fail_msg("layout of '%s': %s", whole, strerrorname_np(errno));
    assert_string_equal(layout, pool);
}

static void mount_filesystem(void)
{
    mount_point = xasprintf("%s/mnt", driver.folder);
    assert_int_equal(mkdir(mount_point, 0700), 0);
    ZONES_RUN("ceph-fuse", "--client_fs=" CEPHFS_NAME, mount_point);
}

static void unmount_filesystem(void)
{
    ZONES_RUN("umount", "-l", mount_point);
    free(mount_point);
}

/* --- places --- */

TEST(volumes_land_where_the_oracle_says)
{
    zones_try(&(struct zones_trial){&driver, SITES, ARRAY_LENGTH(SITES), VOLUMES, empty_one,
                                    assert_layout},
              NULL);
    cephfs_assert_empties();
}

TEST(retry_elsewhere_is_the_same_volume)
{
    _cleanup_free_ char *pools = zone_pools();
    const char *class[] = {"topologyConstrainedPools", pools, NULL};
    static const struct wish in_a = {.preferred = {&ZONES_TERMS[0]}};
    static const struct wish in_c = {.preferred = {&ZONES_TERMS[3]}};
    _cleanup_made_ struct made first = {0};
    _cleanup_made_ struct made again = {0};
    json_auto_t *pinned = json_pack("{s:s}", PREFIX "member.zone.zone-a", "true");

    zones_must_create(&driver, empty_one("moved", &in_a, class), &first);
    assert_true(json_equal(first.segments, pinned));
    zones_must_create(&driver, empty_one("moved", &in_c, class), &again);
    assert_string_equal(again.handle, first.handle);
    assert_true(json_equal(again.segments, first.segments));
    assert_layout(&again, "cephfs.zone-a");
    zones_must_delete(&driver, first.handle);
    cephfs_assert_empties();
}

TEST(spread_is_even)
{
    static const struct site equal[] = {{"cephfs.zone-a", NULL, NULL, NULL},
                                        {"cephfs.zone-b", NULL, NULL, NULL},
                                        {"cephfs.zone-c", NULL, NULL, NULL}};
    _cleanup_free_ char *pools = zones_pools(equal, ARRAY_LENGTH(equal));
    const char *class[] = {"topologyConstrainedPools", pools, "poolSelection", "spread", NULL};
    char *handles[12];
    unsigned counts[ARRAY_LENGTH(equal)] = {0};

    for (size_t i = 0; i < ARRAY_LENGTH(handles); i++) {
        _cleanup_free_ char *name = xasprintf("spread-%zu", i);
        _cleanup_made_ struct made made = {0};

        zones_must_create(&driver, empty_one(name, NULL, class), &made);
        for (size_t j = 0; j < ARRAY_LENGTH(equal); j++)
            counts[j] += strcmp(made.pool, equal[j].pool) == 0;
        handles[i] = TAKE(made.handle);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(equal); i++)
        assert_int_equal(counts[i], ARRAY_LENGTH(handles) / ARRAY_LENGTH(equal));
    for (size_t i = 0; i < ARRAY_LENGTH(handles); i++) {
        zones_must_delete(&driver, handles[i]);
        free(handles[i]);
    }
    cephfs_assert_empties();
}

TEST(clone_may_leave_the_pool_and_a_view_may_not)
{
    _cleanup_free_ char *pools = zone_pools();
    const char *class[] = {"topologyConstrainedPools", pools, NULL};
    const char *staying[] = {"topologyConstrainedPools", pools, "crossPoolRestore", "none", NULL};
    static const struct wish in_a = {.preferred = {&ZONES_TERMS[0]}};
    static const struct wish in_c = {.requisite = {&ZONES_TERMS[3]}};
    _cleanup_error_ struct error err = {0};
    _cleanup_made_ struct made source = {0};
    _cleanup_made_ struct made copy = {0};
    _cleanup_made_ struct made view = {0};

    zones_must_create(&driver, empty_one("origin", &in_a, class), &source);
    _cleanup_free_ char *snapshot = call_snapshot(&driver, "origin-snap", source.handle, &err);
    assert_non_null(snapshot);
    const struct cephfs_wish restored = {"restored", 4 * MIB, .source_snapshot = snapshot};
    const struct cephfs_wish shown = {"shown", 4 * MIB, .mode = "MULTI_NODE_READER_ONLY",
                                      .source_snapshot = snapshot};
    zones_assert_refused(&driver, request(&restored, &in_c, staying), STATUS_RESOURCE_EXHAUSTED,
                         "not the pool of the source");
    zones_must_create(&driver, request(&restored, &in_c, class), &copy);
    assert_layout(&copy, "cephfs.zone-c");
    zones_assert_refused(&driver, request(&shown, &in_c, class), STATUS_RESOURCE_EXHAUSTED,
                         "not where the files of the snapshot are");
    zones_must_create(&driver, request(&shown, &in_a, class), &view);
    assert_true(json_equal(view.segments, source.segments));
    assert_int_equal(call_delete_snapshot(&driver, snapshot, &err), 0);
    zones_must_delete(&driver, source.handle);
    zones_must_delete(&driver, copy.handle);
    zones_must_delete(&driver, view.handle);
    cephfs_assert_empties();
}

TEST(nothing_new_in_a_place_that_is_taken_over)
{
    _cleanup_free_ char *pools = zone_pools();
    const char *class[] = {"topologyConstrainedPools", pools, NULL};
    static const struct wish in_a = {.requisite = {&ZONES_TERMS[0]}};

    zones_write_takeover(&driver, "{\"zone-a\": [\"zone-b\"]}");
    assert_int_equal(capacity(&ZONES_TERMS[0], class, NULL), 0);
    zones_assert_refused(&driver, empty_one("taken", &in_a, class), STATUS_RESOURCE_EXHAUSTED,
                         "its place is being taken over by others");
    zones_write_takeover(&driver, "{}");
    assert_true(capacity(&ZONES_TERMS[0], class, NULL) > 0);
    cephfs_assert_empties();
}

TEST(pools_carry_their_places)
{
    const char *class[] = {"topologyPools", "auto", "topologyClass", "fast", NULL};
    static const struct term zone_a = {NULL, "zone-a", NULL, false};
    static const struct term zone_b = {NULL, "zone-b", NULL, false};
    static const struct wish in_a = {.preferred = {&zone_a}};
    static const struct wish in_b = {.preferred = {&zone_b}};
    _cleanup_made_ struct made by_metadata = {0};
    _cleanup_made_ struct made by_rule = {0};

    zones_assert_refused(&driver, empty_one("nobody", &in_a, class), STATUS_RESOURCE_EXHAUSTED,
                         "cephfs cephzone.class fast");
    ZONES_CEPH("osd", "pool", "application", "set", "cephfs.zone-a", "cephfs", "cephzone.class",
               "fast");
    ZONES_CEPH("osd", "pool", "application", "set", "cephfs.zone-a", "cephfs", "cephzone.zone",
               "zone-a");
    ZONES_CEPH("osd", "pool", "application", "set", "cephfs.zone-b", "cephfs", "cephzone.class",
               "fast");
    wait_until(capacity(&zone_a, class, NULL) > 0); /* the figures are up to two seconds old */
    wait_until(capacity(&zone_b, class, NULL) > 0);
    zones_must_create(&driver, empty_one("auto-a", &in_a, class), &by_metadata);
    assert_layout(&by_metadata, "cephfs.zone-a");
    zones_must_create(&driver, empty_one("auto-b", &in_b, class), &by_rule);
    assert_layout(&by_rule, "cephfs.zone-b");
    zones_must_delete(&driver, by_metadata.handle);
    zones_must_delete(&driver, by_rule.handle);
    ZONES_CEPH("osd", "pool", "application", "rm", "cephfs.zone-a", "cephfs", "cephzone.class");
    ZONES_CEPH("osd", "pool", "application", "rm", "cephfs.zone-a", "cephfs", "cephzone.zone");
    ZONES_CEPH("osd", "pool", "application", "rm", "cephfs.zone-b", "cephfs", "cephzone.class");
    cephfs_assert_empties();
}

/* The same Ceph under another name stands for a second one. */
TEST(two_clusters_behind_one_class)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_free_ char *config = xasprintf("[{\"clusterID\": \"%s\", \"monitors\": [\"%s\"]},"
                                            " {\"clusterID\": \"second\", \"monitors\": [\"%s\"]}]",
                                            cluster->fsid, cluster->monitors, cluster->monitors);
    const char *class[] = {
        "topologyConstrainedPools",
        "[{\"poolName\": \"cephfs.zone-a\", \"domainSegments\": [{\"domainLabel\": \"zone\", "
        "\"value\": \"zone-a\"}]}, {\"poolName\": \"cephfs.zone-b\", \"clusterID\": \"second\", "
        "\"fsName\": \"cephfs\", \"domainSegments\": [{\"domainLabel\": \"zone\", \"value\": "
        "\"zone-b\"}]}]",
        NULL};
    static const struct term zone_a = {NULL, "zone-a", NULL, false};
    static const struct term zone_b = {NULL, "zone-b", NULL, false};
    static const struct wish in_a = {.preferred = {&zone_a}};
    static const struct wish in_b = {.preferred = {&zone_b}};
    _cleanup_made_ struct made second = {0};
    _cleanup_made_ struct made again = {0};

    harness_write_config(&driver, config);
    zones_must_create(&driver, empty_one("far", &in_b, class), &second);
    assert_layout(&second, "cephfs.zone-b");
    assert_non_null(strstr(second.handle, "-second-"));
    zones_must_create(&driver, empty_one("near", &in_a, class), &again);
    assert_non_null(strstr(again.handle, cluster->fsid));
    zones_must_delete(&driver, second.handle);
    zones_must_delete(&driver, again.handle);
    cephfs_assert_empties();
}

/* --- room --- */

TEST(capacity_is_that_of_the_data_pools)
{
    _cleanup_free_ char *pools = zone_pools();
    const char *class[] = {"topologyConstrainedPools", pools, NULL};
    const char *plain[] = {NULL};
    static const struct term nowhere = {"north", "zone-n", NULL, false};
    long long largest = 0;

    long long one = capacity(&ZONES_TERMS[0], class, &largest);
    assert_true(one > 0);
    assert_int_equal(largest, one);
    long long all = capacity(NULL, class, &largest);
    assert_true(all > 2 * one); /* three roots of the same size */
    assert_true(largest < all);
    assert_int_equal(capacity(&nowhere, class, NULL), 0);
    assert_true(capacity(&nowhere, plain, NULL) > 0); /* a plain pool serves everywhere */
}

TEST(promised_room_is_not_promised_twice)
{
    _cleanup_free_ char *pools = zone_pools();
    const char *class[] = {"topologyConstrainedPools", pools, "overcommit", "1", NULL};
    static const struct wish in_a = {.requisite = {&ZONES_TERMS[0]}};
    _cleanup_made_ struct made made = {0};
    const long long before = capacity(&ZONES_TERMS[0], class, NULL);
    const long long half = before / 2 / (4 * MIB) * (4 * MIB);

    zones_must_create(
        &driver, request(&(struct cephfs_wish){"half", .size_bytes = half}, &in_a, class), &made);
    assert_true(capacity(&ZONES_TERMS[0], class, NULL) <= before - half);
    zones_assert_refused(&driver,
                         request(&(struct cephfs_wish){"more", .size_bytes = before}, &in_a, class),
                         STATUS_RESOURCE_EXHAUSTED, "no pool that serves the place has room");
    zones_must_delete(&driver, made.handle);
    assert_true(capacity(&ZONES_TERMS[0], class, NULL) > before - half);
    cephfs_assert_empties();
}

/* --- hostile input --- */

TEST(mistakes_in_a_class_are_told_with_their_place)
{
    static const struct {
        const char *pools;
        const char *message;
    } cases[] = {
        {"[]", "the list is empty"},
        {"{}", "expected an array"},
        {"\\\"; rm -rf /", "topologyConstrainedPools: line 1"},
        {"[{\"poolName\":\"cephfs.zone-a\",\"domainSegment\":[]}]",
         "[0].domainSegment: unknown key"},
        {"[{\"poolName\":\"cephfs.zone-a\",\"dataPool\":\"x\",\"domainSegments\":[]}]",
         "topologyConstrainedPools[0]: dataPool is for RBD"},
        {"[{\"poolName\":\"cephfs.zone-a\",\"domainSegments\":[]},{\"poolName\":\"nope\","
         "\"domainSegments\":[]}]",
         "topologyConstrainedPools[1].poolName: there is no pool 'nope'"},
        {"[{\"poolName\":\"x\\\",\\\"pool_layout\\\":\\\"y\",\"domainSegments\":[]}]",
         "topologyConstrainedPools[0].poolName: there is no pool"},
        {"[{\"poolName\":\"zone-a\",\"domainSegments\":[]}]",
         "'zone-a' is no data pool of file system 'cephfs'; 'ceph fs add_data_pool cephfs zone-a'"},
        {"[{\"poolName\":\"cephfs.meta\",\"domainSegments\":[]}]",
         "'cephfs.meta' is no data pool of file system 'cephfs'"},
        {"[{\"poolName\":\"cephfs.zone-a\",\"fsName\":\"../x\",\"domainSegments\":[]}]",
         "topologyConstrainedPools[0].fsName: there is no file system '../x'"},
        {"[{\"poolName\":\"cephfs.zone-a\",\"clusterID\":\"a/b\",\"domainSegments\":[]}]",
         "topologyConstrainedPools[0]: clusterID has a slash"},
        {"[{\"poolName\":\"cephfs.zone-a\",\"domainSegments\":[{\"domainLabel\":"
         "\"topology.kubernetes.io/zone\",\"value\":\"a\"}]}]",
         "only what stands behind the slash counts"},
    };
    static const struct wish anywhere = {.preferred = {&ZONES_TERMS[0]}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *class[] = {"topologyConstrainedPools", cases[i].pools, NULL};

        zones_assert_refused(&driver, empty_one("mistake", &anywhere, class),
                             STATUS_INVALID_ARGUMENT, cases[i].message);
    }
    cephfs_assert_empties();
}

TEST(topology_is_advertised)
{
    json_auto_t *reply = NULL;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(
        harness_call(&driver,
                     &(struct harness_call){.method = "GetPluginCapabilities", .request = "{}"},
                     &reply, &err),
        0);
    _cleanup_free_ char *text = json_dumps(reply, 0);
    assert_non_null(strstr(text, "VOLUME_ACCESSIBILITY_CONSTRAINTS"));
}

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
    _cleanup_free_ char *keyring = xasprintf("%s/keyring", driver.folder);
    _cleanup_free_ char *flag = xasprintf("--keyring=%s", keyring);
    zones_write_keyring(keyring);
    _cleanup_free_ char *takeover = xasprintf("--takeover-file=%s/takeover.json", driver.folder);
    harness_start(&driver, (const char *[]){"--type=cephfs", "--drivername=cephfs.csi.ceph.com",
                                            "--topology", flag, takeover, "--capacity-interval=2s",
                                            "--v=3", NULL});
    mount_filesystem();
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    unmount_filesystem();
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

static void clean_up(void)
{
    zones_undo("osd pool application rm cephfs.zone-a cephfs cephzone.class");
    zones_undo("osd pool application rm cephfs.zone-a cephfs cephzone.zone");
    zones_undo("osd pool application rm cephfs.zone-b cephfs cephzone.class");
    cephfs_clean_up();
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(clean_up)
