/*
 * Several clusterIDs of config.json lead to one Ceph, as people have them for a RADOS namespace or
 * a subvolume group per tenant: copies go from one to the other.
 */
#include <unistd.h>

#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/cephfs.h"
#include "tests/integration/fixtures.h"
#include "tests/integration/place.h"
#include "tests/integration/zones.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)
#define POOL "zone-a"
#define TENANT "tenant"

static struct driver_process driver;

static int prepare(void **state)
{
    (void)state;
    rpc_init();
    fixture_namespace_create(POOL, TENANT);
    free(harness_run_tool((const char *const[]){"ceph", "fs", "subvolumegroup", "create",
                                                CEPHFS_NAME, TENANT, NULL}));
    return 0;
}

static int finish(void **state)
{
    (void)state;
    fixture_namespace_remove(POOL, TENANT);
    free(harness_run_tool(
        (const char *const[]){"ceph", "fs", "subvolumegroup", "rm", CEPHFS_NAME, TENANT, NULL}));
    rpc_shutdown();
    return 0;
}

static char *keyring_path(void)
{
    return xasprintf("%s/keyring", driver.folder);
}

/* @is_cephfs: of which the driver is. */
static void start_driver(bool is_cephfs)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_free_ char *config = xasprintf("[{\"clusterID\":\"%s\",\"monitors\":[\"%s\"]},"
                                            "{\"clusterID\":\"" TENANT "\",\"monitors\":[\"%s\"],"
                                            "\"rbd\":{\"radosNamespace\":\"" TENANT "\"},"
                                            "\"cephFS\":{\"subvolumeGroup\":\"" TENANT "\"}}]",
                                            cluster->fsid, cluster->monitors, cluster->monitors);

    harness_init(&driver);
    harness_write_config(&driver, config);
    _cleanup_free_ char *keyring = keyring_path(); /* for ListVolumes, which has no Secret */
    _cleanup_free_ char *flag = xasprintf("--keyring=%s", keyring);
    zones_write_keyring(keyring);
    const char *flags[8] = {flag};
    for (size_t i = 0; is_cephfs && CEPHFS_FLAGS[i]; i++)
        flags[1 + i] = CEPHFS_FLAGS[i];
    harness_start(&driver, flags);
}

static void stop_driver(void)
{
    _cleanup_free_ char *keyring = keyring_path();

    unlink(keyring);
    harness_done(&driver);
}

static void must(const void *result, const struct error *err)
{
    if (!result)
        fail_msg("%s", err->message);
}

static void delete_volumes(char *const *handles, size_t count)
{
    _cleanup_error_ struct error err = {0};

    for (size_t i = 0; i < count; i++)
        if (harness_delete_volume(&driver, handles[i], &err) < 0)
            fail_msg("%s", err.message);
}

/* Handle and journal entry are the tenant's, and calls with the handle find it by them. */
static void assert_of_tenant(const char *handle, const char *journal_pool,
                             const char *journal_namespace)
{
    static const struct harness_call list = {.method = "ListVolumes", .request = "{}"};
    const size_t uuid_length = 36; /* at the end */
    _cleanup_free_ char *entry = xasprintf("csi.volume.%s", handle + strlen(handle) - uuid_length);
    _cleanup_place_ struct place journal = place_open(journal_pool, journal_namespace);
    _cleanup_error_ struct error err = {0};
    json_auto_t *reply = NULL;

    assert_non_null(strstr(handle, "-" TENANT "-"));
    assert_true(place_has(&journal, entry));
    if (call_expand(&driver, handle, 8 * MIB, &err) != 8 * MIB ||
        harness_call(&driver, &list, &reply, &err) < 0)
        fail_msg("%s", err.message ? err.message : "not expanded");
    _cleanup_free_ char *listed = json_dumps(reply, 0);
    assert_non_null(strstr(listed, handle));
}

TEST(images_are_copied_into_the_namespace_of_another_cluster_id)
{
    _cleanup_error_ struct error err = {0};

    start_driver(false);
    char *source = harness_create_volume(&driver, "source", POOL, 4 * MIB, &err);
    must(source, &err);
    char *snapshot = call_snapshot(&driver, "snapshot", source, &err);
    must(snapshot, &err);
    struct create_call wish = {
        .name = "clone", .pool = POOL, .size_bytes = 4 * MIB, .cluster_id = TENANT};
    wish.source_volume = source;
    char *clone = call_create(&driver, &wish, &err);
    must(clone, &err);
    wish = (struct create_call){.name = "restored",
                                .pool = POOL,
                                .size_bytes = 4 * MIB,
                                .cluster_id = TENANT,
                                .source_snapshot = snapshot};
    char *restored = call_create(&driver, &wish, &err);
    must(restored, &err);
    assert_of_tenant(clone, POOL, TENANT);
    assert_of_tenant(restored, POOL, TENANT);
    char *again = call_create(&driver, &wish, &err);
    must(again, &err);
    assert_string_equal(again, restored);

    assert_int_equal(call_delete_snapshot(&driver, snapshot, &err), 0);
    delete_volumes((char *[]){source, clone, restored}, 3);
    harness_assert_pool_empties(POOL);
    stop_driver();
    free(source), free(snapshot), free(clone), free(restored), free(again);
}

/* The class is of the one clusterID, and a pool of equal name that it lists of the other. */
TEST(volume_in_a_listed_pool_of_another_cluster_id_is_of_that_one)
{
    static const char pools[] =
        "[{\"poolName\":\"" POOL
        "\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"a\"}]},"
        "{\"poolName\":\"" POOL "\",\"clusterID\":\"" TENANT "\",\"domainSegments\":"
        "[{\"domainLabel\":\"zone\",\"value\":\"b\"}]}]";
    _cleanup_error_ struct error err = {0};

    start_driver(false);
    json_auto_t *request = call_create_request(
        &(struct create_call){.name = "listed", .pool = POOL, .size_bytes = 4 * MIB});
    json_object_set_new(json_object_get(request, "parameters"), "topologyConstrainedPools",
                        json_string(pools));
    json_object_set_new(request, "accessibility_requirements",
                        json_pack("{s:[{s:{s:s}}]}", "requisite", "segments",
                                  "topology.rbd.csi.ceph.com/zone", "b"));
    _cleanup_free_ char *text = json_dumps(request, 0);
    char *handle = NULL;
    for (int i = 0; i < 2; i++) { /* the retry gives the same answer */
        json_auto_t *reply = NULL;

        if (harness_call(&driver, &(struct harness_call){.method = "CreateVolume", .request = text},
                         &reply, &err) < 0)
            fail_msg("%s", err.message);
        const json_t *volume = json_object_get(reply, "volume");
        const json_t *context = json_object_get(volume, "volume_context");
        assert_string_equal(json_string_value(json_object_get(context, "clusterID")), TENANT);
        assert_true(i == 0 ||
                    strcmp(handle, json_string_value(json_object_get(volume, "volume_id"))) == 0);
        free(handle);
        handle = xstrdup(json_string_value(json_object_get(volume, "volume_id")));
    }
    assert_of_tenant(handle, POOL, TENANT);
    delete_volumes(&handle, 1);
    harness_assert_pool_empties(POOL);
    stop_driver();
    free(handle);
}

static char *list_tenant(void)
{
    return harness_run_tool((const char *const[]){"ceph", "fs", "subvolume", "ls", CEPHFS_NAME,
                                                  TENANT, "--format=json", NULL});
}

TEST(subvolumes_are_copied_into_the_group_of_another_cluster_id)
{
    struct cephfs_wish wish = {.name = "source", .size_bytes = 4 * MIB};
    _cleanup_error_ struct error err = {0};

    start_driver(true);
    char *source = cephfs_create(&driver, &wish, &err);
    must(source, &err);
    char *snapshot = call_snapshot(&driver, "snapshot", source, &err);
    must(snapshot, &err);
    wish = (struct cephfs_wish){.name = "clone", .size_bytes = 4 * MIB, .source_volume = source};
    wish.key = "clusterID", wish.value = TENANT;
    char *clone = cephfs_create(&driver, &wish, &err);
    must(clone, &err);
    wish.name = "restored", wish.source_volume = NULL, wish.source_snapshot = snapshot;
    char *restored = cephfs_create(&driver, &wish, &err);
    must(restored, &err);
    assert_of_tenant(clone, CEPHFS_META, "csi");
    assert_of_tenant(restored, CEPHFS_META, "csi");

    assert_int_equal(call_delete_snapshot(&driver, snapshot, &err), 0);
    delete_volumes((char *[]){source, clone, restored}, 3);
    cephfs_assert_empties();
    _cleanup_free_ char *left = list_tenant();
    assert_null(strstr(left, "csi-vol-"));
    stop_driver();
    free(source), free(snapshot), free(clone), free(restored);
}

static char *snapshot_with(const char *source, const char *cluster_id, struct error *err)
{
    _cleanup_free_ char *request = xasprintf("{\"name\":\"snapshot\",\"source_volume_id\":\"%s\","
                                             "\"parameters\":{\"clusterID\":\"%s\"}}",
                                             source, cluster_id);
    json_auto_t *reply = NULL;

    if (harness_call(&driver,
                     &(struct harness_call){.method = "CreateSnapshot", .request = request}, &reply,
                     err) < 0)
        return NULL;
    const json_t *snapshot = json_object_get(reply, "snapshot");
    return xstrdup(json_string_value(json_object_get(snapshot, "snapshot_id")));
}

/* Ceph-CSI refuses both, and so it does not go unnoticed that the class is not meant for it. */
TEST(snapshot_of_a_subvolume_is_of_its_own_cluster_id)
{
    static const char *const others[] = {TENANT, "nowhere"};
    const struct cephfs_wish wish = {.name = "source", .size_bytes = 4 * MIB};
    _cleanup_error_ struct error err = {0};

    start_driver(true);
    char *source = cephfs_create(&driver, &wish, &err);
    must(source, &err);
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        _cleanup_error_ struct error refusal = {0};

        assert_null(snapshot_with(source, others[i], &refusal));
        assert_int_equal(refusal.status, STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(refusal.message, others[i]));
        assert_non_null(strstr(refusal.message, harness_cluster()->fsid));
    }
    char *snapshot =
        snapshot_with(source, harness_cluster()->fsid, &err); /* nothing is left of it */
    must(snapshot, &err);
    assert_int_equal(call_delete_snapshot(&driver, snapshot, &err), 0);
    delete_volumes((char *[]){source}, 1);
    cephfs_assert_empties();
    stop_driver();
    free(source), free(snapshot);
}

/* The snapshot's journal knows who shows it, and the other group has another journal. */
TEST(volume_that_shows_a_snapshot_stays_in_its_group)
{
    struct cephfs_wish wish = {.name = "source", .size_bytes = 4 * MIB};
    _cleanup_error_ struct error err = {0};
    _cleanup_error_ struct error refusal = {0};

    start_driver(true);
    char *source = cephfs_create(&driver, &wish, &err);
    must(source, &err);
    char *snapshot = call_snapshot(&driver, "snapshot", source, &err);
    must(snapshot, &err);
    wish = (struct cephfs_wish){.name = "view",
                                .size_bytes = 4 * MIB,
                                .mode = "MULTI_NODE_READER_ONLY",
                                .source_snapshot = snapshot,
                                .key = "clusterID",
                                .value = TENANT};
    assert_null(cephfs_create(&driver, &wish, &refusal));
    assert_int_equal(refusal.status, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(refusal.message, "group 'tenant'"));

    assert_int_equal(call_delete_snapshot(&driver, snapshot, &err), 0);
    delete_volumes((char *[]){source}, 1);
    cephfs_assert_empties();
    stop_driver();
    free(source), free(snapshot);
}

static void clean_up(void)
{
    harness_clean_up();
    cephfs_empty_group(TENANT); /* clones, which hold what they are made of */
    cephfs_clean_up();
    fixture_namespace_create(POOL, TENANT); /* which finish() removes */
}

TEST_GROUP(prepare, finish)
TEST_CLEANUP(clean_up)
