/* Handles that do not lead straight to a journal: migrated volumes, and volumes after a failover.
 */
#include <signal.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/fixtures.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)
#define SIZE (8 * MIB)
#define PVC "pvc-3f1c2a90-6f5b-4e63-9d0a-5f0e7ad2c111"
#define UUID "8d74fb16-d233-49ea-8826-ea13fe37b778"
#define MONITORS_HASH "b7f67366bb43f32e07d8a261a7840da9"
#define MIGRATED "mig_mons-" MONITORS_HASH "_image-" UUID "_7a6f6e652d61" /* pool zone-a */
#define MIGRATED_IMAGE "kubernetes-dynamic-pvc-" UUID
#define LOST_CLUSTER "lost"
#define LOST_POOL_ID 4711

static struct driver_process driver;
static char *mapping_path;

static void write_mapping(void)
{
    _cleanup_place_ struct place pool = place_open("zone-a", NULL);
    _cleanup_fclose_ FILE *file = fopen(mapping_path, "we");

    assert_non_null(file);
    assert_true(fprintf(file,
                        "[{\"clusterIDMapping\":{\"" LOST_CLUSTER "\":\"%s\"},"
                        "\"RBDPoolIDMapping\":[{\"%d\":\"%lld\"}]}]",
                        harness_cluster()->fsid, LOST_POOL_ID, (long long)pool.id) > 0);
}

static int start_driver(void **state)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_free_ char *config =
        xasprintf("[{\"clusterID\":\"%s\",\"monitors\":[\"%s\"]},"
                  "{\"clusterID\":\"" MONITORS_HASH "\",\"monitors\":[\"%s\"]}]",
                  cluster->fsid, cluster->monitors, cluster->monitors);

    (void)state;
    rpc_init();
    harness_init(&driver);
    harness_write_config(&driver, config);
    mapping_path = xasprintf("%s/cluster-mapping.json", driver.folder);
    _cleanup_free_ char *flag = xasprintf("--clustermapping=%s", mapping_path);
    harness_start(&driver, (const char *[]){flag, NULL});
    place_wipe_pools();
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    unlink(mapping_path);
    free(mapping_path);
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

static void must(int result, const struct error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

TEST(migrated_volume_is_expanded_and_deleted)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("zone-a", NULL);

    fixture_image_create(&pool, MIGRATED_IMAGE, SIZE);
    assert_int_equal(call_expand(&driver, MIGRATED, 2 * SIZE, &err), 2 * SIZE);
    assert_int_equal(fixture_image_size(&pool, MIGRATED_IMAGE), 2 * SIZE);
    assert_int_equal(call_validate(&driver, MIGRATED, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "can only be expanded and deleted"));
    error_clear(&err);
    must(harness_delete_volume(&driver, MIGRATED, &err), &err);
    must(harness_delete_volume(&driver, MIGRATED, &err), &err);
    harness_assert_pool_empties("zone-a");
}

TEST(migrated_volume_in_the_trash_is_deleted)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("zone-a", NULL);

    fixture_image_create(&pool, MIGRATED_IMAGE, SIZE);
    fixture_image_trash(&pool, MIGRATED_IMAGE);
    must(harness_delete_volume(&driver, MIGRATED, &err), &err);
    harness_assert_pool_empties("zone-a");
}

TEST(volume_of_a_lost_cluster_lives_on)
{
    static const struct csi_volume volume = {.name = PVC, .uuid = UUID, .pool = "zone-a"};
    _cleanup_error_ struct error err = {0};
    _cleanup_place_ struct place pool = place_open("zone-a", NULL);
    _cleanup_free_ char *handle =
        xasprintf("0001-%04zx-" LOST_CLUSTER "-%016x-" UUID, strlen(LOST_CLUSTER), LOST_POOL_ID);

    csi_volume_write(&volume, SIZE);
    assert_int_equal(call_validate(&driver, handle, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    error_clear(&err);
    write_mapping();
    must(call_validate(&driver, handle, &err), &err);
    assert_int_equal(call_expand(&driver, handle, 2 * SIZE, &err), 2 * SIZE);
    assert_int_equal(fixture_image_size(&pool, "csi-vol-" UUID), 2 * SIZE);
    must(harness_delete_volume(&driver, handle, &err), &err);
    harness_assert_pool_empties("zone-a");
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(harness_clean_up)
