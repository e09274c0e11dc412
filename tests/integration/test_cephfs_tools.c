/* cephzone place, capacity and topology for classes of the CephFS driver, on a real Ceph. */
#include <unistd.h>

#include "common/base/memory.h"
#include "tests/integration/cephfs.h"
#include "tests/integration/zones.h"
#include "tests/test.h"

#define DRIVER "--driver=cephfs.csi.ceph.com"

static struct driver_process driver; /* its folder and config.json alone */
static char *config_flag;
static char *keyring_flag;
static char *classes_flag;

#define IN_ZONE(zone)                                                                              \
    "{\"poolName\": \"cephfs." zone "\", \"domainSegments\": [{\"domainLabel\": \"zone\", "        \
    "\"value\": \"" zone "\"}]}"

static void write_classes(void)
{
    _cleanup_fclose_ FILE *file = fopen(strchr(classes_flag, '=') + 1, "we");
    const char *fsid = harness_cluster()->fsid;

    assert_non_null(file);
    fprintf(file,
            "kind: StorageClass\nmetadata: {name: zones}\nprovisioner: cephfs.csi.ceph.com\n"
            "parameters:\n  clusterID: %s\n  fsName: " CEPHFS_NAME "\n"
            "  topologyConstrainedPools: '[" IN_ZONE("zone-a") "," IN_ZONE(
                "zone-b") "]'\n"
                          "---\n"
                          "kind: StorageClass\nmetadata: {name: counted}\nprovisioner: "
                          "cephfs.csi.ceph.com\n"
                          "parameters:\n  clusterID: %s\n  fsName: " CEPHFS_NAME
                          "\n  poolSelection: spread\n"
                          "  overcommit: \"1.5\"\n"
                          "  topologyConstrainedPools: '[" IN_ZONE("zone-a") "," IN_ZONE(
                              "zone-b") "]'\n",
            fsid, fsid);
}

/* What the command prints, as JSON. */
static json_t *run(const char *command, const char *argument)
{
    _cleanup_free_ char *output = harness_run_tool(
        (const char *const[]){getenv("CEPHZONE"), command, config_flag, keyring_flag, classes_flag,
                              DRIVER, "-o", "json", argument, NULL});
    json_t *json = json_loads(output, 0, NULL);

    if (!json)
        fail_msg("%s", output);
    return json;
}

static const char *string_in(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

TEST(place_names_data_pool_and_file_system)
{
    _cleanup_free_ char *output = NULL;

    output = harness_run_tool(
        (const char *const[]){getenv("CEPHZONE"), "place", config_flag, keyring_flag, classes_flag,
                              DRIVER, "--class=zones", "--topology=zone=zone-b", NULL});
    if (!strstr(output,
                "CreateVolume would use data pool 'cephfs.zone-b' of file system '" CEPHFS_NAME
                "' of cluster"))
        fail_msg("%s", output);
    assert_non_null(strstr(output, "topology.cephfs.csi.ceph.com/zone: zone-b"));
}

TEST(place_counts_subvolumes)
{
    json_auto_t *json = run("place", "--class=counted");
    assert_string_equal(string_in(json, "status"), "OK");
    assert_string_equal(string_in(json, "fsName"), CEPHFS_NAME);
}

TEST(capacity_has_a_row_for_each_data_pool)
{
    static const char *const pools[] = {"cephfs.data", "cephfs.zone-a", "cephfs.zone-b"};

    json_auto_t *json = run("capacity", NULL);
    const json_t *rows = json_object_get(json, "rows");
    assert_int_equal(json_array_size(rows), 6);
    for (size_t i = 0; i < 6; i++) {
        const json_t *row = json_array_get(rows, i);

        assert_string_equal(string_in(row, "pool"), pools[i % 3]);
        assert_true(json_integer_value(json_object_get(row, "roomBytes")) > 0);
    }
}

TEST(topology_draws_data_pools)
{
    json_auto_t *json = run("topology", NULL);
    _cleanup_free_ char *text = json_dumps(json, 0);
    assert_non_null(strstr(text, "cephfs.zone-a"));
    assert_non_null(strstr(text, "cephfs.zone-b"));
}

static int start_driver(void **state)
{
    (void)state;
    harness_init(&driver);
    config_flag = xasprintf("--config=%s", driver.config_path);
    keyring_flag = xasprintf("--keyring=%s/keyring", driver.folder);
    classes_flag = xasprintf("--classes=%s/classes.yaml", driver.folder);
    zones_write_keyring(strchr(keyring_flag, '=') + 1);
    write_classes();
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    unlink(strchr(keyring_flag, '=') + 1);
    unlink(strchr(classes_flag, '=') + 1);
    free(config_flag);
    free(keyring_flag);
    free(classes_flag);
    harness_done(&driver);
    return 0;
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(cephfs_clean_up)
