/*
 * An image with all that Ceph-CSI 3.17 writes to its metadata when nodes stage it: what our driver
 * makes of it, and that nothing of it gets to clones and snapshots.
 */
#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/fixtures.h"
#include "tests/must.h"

#define MIB (1024LL * 1024)
#define POOL "common"

static struct driver_process driver;

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
    harness_start(&driver, NULL);
    place_wipe_pools();
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

static const struct csi_volume VOLUME = {
    .name = "pvc-theirs", .uuid = "8d74fb16-d233-49ea-8826-ea13fe37b778", .pool = POOL};

/* --- as Ceph-CSI writes --- */

static void set_key(const char *key, const char *value)
{
    _cleanup_free_ char *image = csi_volume_image(&VOLUME);
    _cleanup_free_ char *spec = xasprintf(POOL "/%s", image);

    free(harness_run_tool((const char *[]){"rbd", "image-meta", "set", spec, key, value, NULL}));
}

static void set_client(const char *handle, const char *node, const char *address)
{
    _cleanup_free_ char *user = xasprintf(".rbd.csi.ceph.com/userid/%s/%s", handle, node);
    _cleanup_free_ char *client = xasprintf(".rbd.csi.ceph.com/clientaddress/%s/%s", handle, node);

    set_key(user, "csi-rbd-node");
    set_key(client, address);
}

static void write_attached_volume(const char *handle)
{
    csi_volume_write(&VOLUME, 8 * MIB);
    set_key("csi.storage.k8s.io/pvc/name", "claim");
    set_key("csi.storage.k8s.io/pvc/namespace", "shop");
    set_key("csi.storage.k8s.io/pv/name", "pvc-theirs");
    set_client(handle, "node-1", "192.0.2.1");
    set_client(handle, "node-2", "2001:db8::2");
    set_key(".rbd.csi.ceph.com/clientaddress/node-1", "192.0.2.9"); /* 3.15.0 */
    set_key(".rbd.csi.ceph.com/serviceaccount", "builder,mover");
}

static char *metadata_of(const char *image)
{
    _cleanup_free_ char *spec = xasprintf(POOL "/%s", image);

    return harness_run_tool(
        (const char *[]){"rbd", "image-meta", "list", spec, "--format", "json", NULL});
}

static void assert_no_dotted_key(const char *handle, const char *prefix)
{
    _cleanup_free_ char *image = xasprintf("%s%s", prefix, handle + strlen(handle) - 36);
    _cleanup_free_ char *metadata = metadata_of(image);

    if (strstr(metadata, "\".") || strstr(metadata, ".rbd.csi"))
        fail_msg("'%s' has %s", image, metadata);
}

/* --- tests --- */

TEST(clients_of_ceph_csi_are_forgotten_when_they_are_detached)
{
    _cleanup_free_ char *handle = csi_handle(harness_cluster()->fsid, POOL, VOLUME.uuid);
    _cleanup_free_ char *image = csi_volume_image(&VOLUME);
    _cleanup_free_ char *accounts = NULL;

    write_attached_volume(handle);
    must(call_attach(&driver, handle, "node-3", &accounts, &err));
    assert_string_equal(accounts, "builder,mover");
    must(call_detach(&driver, handle, "node-1", &err));
    must(call_detach(&driver, handle, "node-1", &err));
    _cleanup_free_ char *metadata = metadata_of(image);
    assert_null(strstr(metadata, "/node-1\":\"192.0.2.9"));
    assert_null(strstr(metadata, "clientaddress/node-1"));
    _cleanup_free_ char *of_1 = xasprintf("%s/node-1", handle);
    _cleanup_free_ char *of_2 = xasprintf("clientaddress/%s/node-2", handle);
    assert_null(strstr(metadata, of_1));
    assert_non_null(strstr(metadata, of_2));
    assert_non_null(strstr(metadata, "clientAddress/node-1")); /* for takeovers, for good */
    assert_non_null(strstr(metadata, "csi.storage.k8s.io/pvc/name"));
    must(harness_delete_volume(&driver, handle, &err));
    must(call_detach(&driver, handle, "node-2", &err));
    harness_assert_pool_empties(POOL);
}

TEST(nothing_of_it_is_copied)
{
    _cleanup_free_ char *handle = csi_handle(harness_cluster()->fsid, POOL, VOLUME.uuid);
    _cleanup_error_ struct error failure = {0};
    struct create_call wish = {.name = "cloned", .pool = POOL, .size_bytes = 8 * MIB};

    write_attached_volume(handle);
    _cleanup_free_ char *snapshot = call_snapshot(&driver, "moment", handle, &failure);
    assert_non_null(snapshot);
    wish.source_volume = handle;
    _cleanup_free_ char *cloned = call_create(&driver, &wish, &failure);
    assert_non_null(cloned);
    wish = (struct create_call){
        .name = "restored", .pool = POOL, .size_bytes = 8 * MIB, .source_snapshot = snapshot};
    _cleanup_free_ char *restored = call_create(&driver, &wish, &failure);
    assert_non_null(restored);
    assert_no_dotted_key(snapshot, "csi-snap-");
    assert_no_dotted_key(cloned, "csi-vol-");
    assert_no_dotted_key(restored, "csi-vol-");
    must(harness_delete_volume(&driver, restored, &err));
    must(harness_delete_volume(&driver, cloned, &err));
    must(call_delete_snapshot(&driver, snapshot, &err));
    must(harness_delete_volume(&driver, handle, &err));
    harness_assert_pool_empties(POOL);
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(harness_clean_up)
