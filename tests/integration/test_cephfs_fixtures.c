/*
 * What Ceph-CSI's cephfs driver writes, written by the test byte for byte and given to ours; and
 * what ours writes, read back raw and compared with what Ceph-CSI looks for.
 */

#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/cephfs.h"
#include "tests/integration/fixtures.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)
#define VOLUME_UUID "8d74fb16-d233-49ea-8826-ea13fe37b778"
#define VIEW_UUID "b0285c97-a0ce-11eb-8c66-0242ac110002" /* version 1, as up to 3.7 */
#define SNAP_UUID "5f1fd3b2-6b3c-4a54-9d1b-0d8b0d8f3c11"
#define VOLUME "csi-vol-" VOLUME_UUID
#define VIEW "csi-vol-" VIEW_UUID
#define SNAP "csi-snap-" SNAP_UUID
#define VERSION_XATTR "csi.ceph.com/rt-version"

static struct driver_process driver;

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
    harness_start(&driver, CEPHFS_FLAGS);
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

/* The file system's id is 1. */
static char *handle_of(const char *uuid)
{
    const char *fsid = harness_cluster()->fsid;

    return xasprintf("0001-%04zx-%s-0000000000000001-%s", strlen(fsid), fsid, uuid);
}

static struct place open_journal(void)
{
    return place_open(CEPHFS_META, "csi");
}

static void ceph(const char *const *argv)
{
    free(harness_run_tool(argv));
}

/* --- as Ceph-CSI writes --- */

static void write_volume(const struct place *place)
{
    place_create(place, "csi.volume." VOLUME_UUID);
    place_set(place, "csi.volumes.default", "csi.volume.pvc-theirs", VOLUME_UUID);
    place_set(place, "csi.volume." VOLUME_UUID, "csi.volname", "pvc-theirs");
    place_set(place, "csi.volume." VOLUME_UUID, "csi.imagename", VOLUME);
    place_set(place, "csi.volume." VOLUME_UUID, "csi.volume.owner", "ns-1");
    static const char volume[] = VOLUME;
    ceph((const char *[]){"ceph", "fs", "subvolume", "create", CEPHFS_NAME, volume, CEPHFS_GROUP,
                          "--size", "16777216", NULL});
}

/* With the owner under an empty key, where Ceph-CSI puts it since 3.8. */
static void write_snapshot(const struct place *place)
{
    place_create(place, "csi.snap." SNAP_UUID);
    place_set(place, "csi.snaps.default", "csi.snap.snapshot-theirs", SNAP_UUID);
    place_set(place, "csi.snap." SNAP_UUID, "csi.snapname", "snapshot-theirs");
    place_set(place, "csi.snap." SNAP_UUID, "csi.imagename", SNAP);
    place_set(place, "csi.snap." SNAP_UUID, "csi.source", VOLUME);
    place_set(place, "csi.snap." SNAP_UUID, "", "ns-1");
    static const char volume[] = VOLUME;
    static const char snapshot[] = SNAP;
    ceph((const char *[]){"ceph", "fs", "subvolume", "snapshot", "create", CEPHFS_NAME, volume,
                          snapshot, CEPHFS_GROUP, NULL});
}

/* A volume that shows the snapshot; @masked: which was deleted since. */
static void write_view(const struct place *place, bool masked)
{
    _cleanup_free_ char *snapshot = handle_of(SNAP_UUID);
    _cleanup_free_ char *tracker = xasprintf("rt-backingsnapshot-%s", snapshot);
    const char count[4] = {0, 0, 0, masked ? 1 : 2};

    place_create(place, "csi.volume." VIEW_UUID);
    place_set(place, "csi.volumes.default", "csi.volume.pvc-view", VIEW_UUID);
    place_set(place, "csi.volume." VIEW_UUID, "csi.volname", "pvc-view");
    place_set(place, "csi.volume." VIEW_UUID, "csi.imagename", VIEW);
    place_set(place, "csi.volume." VIEW_UUID, "csi.volume.backingsnapshotid", snapshot);
    place_set(place, tracker, snapshot, masked ? "\002" : "\001");
    place_set(place, tracker, VIEW, "\001");
    assert_int_equal(rados_write_full(place->io, tracker, count, sizeof(count)), 0);
    assert_int_equal(rados_setxattr(place->io, tracker, VERSION_XATTR, "\0\0\0\1", 4), 0);
}

/* --- ours on theirs --- */

TEST(volume_of_ceph_csi_lives_on)
{
    _cleanup_place_ struct place place = open_journal();
    _cleanup_free_ char *handle = handle_of(VOLUME_UUID);
    _cleanup_error_ struct error err = {0};

    write_volume(&place);
    _cleanup_free_ char *found =
        cephfs_create(&driver, &(struct cephfs_wish){"pvc-theirs", .size_bytes = 16 * MIB}, &err);
    assert_string_equal(found, handle);
    assert_int_equal(call_validate(&driver, handle, &err), 0);
    assert_int_equal(call_expand(&driver, handle, 32 * MIB, &err), 32 * MIB);
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    cephfs_assert_empties();
}

TEST(snapshot_of_ceph_csi_is_found_listed_and_deleted)
{
    _cleanup_place_ struct place place = open_journal();
    _cleanup_free_ char *volume = handle_of(VOLUME_UUID);
    _cleanup_free_ char *snapshot = handle_of(SNAP_UUID);
    _cleanup_error_ struct error err = {0};
    json_auto_t *reply = NULL;

    write_volume(&place);
    write_snapshot(&place);
    assert_int_equal(
        harness_call(&driver, &(struct harness_call){.method = "ListSnapshots", .request = "{}"},
                     &reply, &err),
        0);
    const json_t *listed =
        json_object_get(json_array_get(json_object_get(reply, "entries"), 0), "snapshot");
    assert_string_equal(json_string_value(json_object_get(listed, "snapshot_id")), snapshot);
    assert_string_equal(json_string_value(json_object_get(listed, "source_volume_id")), volume);
    assert_int_equal(json_integer_value(json_object_get(listed, "size_bytes")), 16 * MIB);
    _cleanup_free_ char *again = call_snapshot(&driver, "snapshot-theirs", volume, &err);
    assert_string_equal(again, snapshot);
    assert_int_equal(harness_delete_volume(&driver, volume, &err), 0);
    assert_int_equal(call_delete_snapshot(&driver, snapshot, &err), 0);
    cephfs_assert_empties();
}

TEST(view_of_ceph_csi_keeps_its_snapshot)
{
    _cleanup_place_ struct place place = open_journal();
    _cleanup_free_ char *volume = handle_of(VOLUME_UUID);
    _cleanup_free_ char *view = handle_of(VIEW_UUID);
    _cleanup_free_ char *snapshot = handle_of(SNAP_UUID);
    _cleanup_error_ struct error err = {0};

    write_volume(&place);
    write_snapshot(&place);
    write_view(&place, false);
    assert_int_equal(call_delete_snapshot(&driver, snapshot, &err), 0);
    assert_true(place_has(&place, "csi.snap." SNAP_UUID));
    assert_int_equal(harness_delete_volume(&driver, view, &err), 0);
    assert_false(place_has(&place, "csi.snap." SNAP_UUID));
    assert_int_equal(harness_delete_volume(&driver, volume, &err), 0);
    cephfs_assert_empties();
}

TEST(snapshot_that_ceph_csi_masked_goes_with_its_last_view)
{
    _cleanup_place_ struct place place = open_journal();
    _cleanup_free_ char *volume = handle_of(VOLUME_UUID);
    _cleanup_free_ char *view = handle_of(VIEW_UUID);
    _cleanup_error_ struct error err = {0};

    write_volume(&place);
    write_snapshot(&place);
    write_view(&place, true);
    assert_int_equal(harness_delete_volume(&driver, volume, &err), 0);
    assert_int_equal(harness_delete_volume(&driver, view, &err), 0);
    cephfs_assert_empties();
}

TEST(empty_object_that_ceph_csi_left_is_filled)
{
    _cleanup_place_ struct place place = open_journal();
    _cleanup_free_ char *handle = handle_of(VOLUME_UUID);
    _cleanup_error_ struct error err = {0};

    place_create(&place, "csi.volume." VOLUME_UUID);
    place_set(&place, "csi.volumes.default", "csi.volume.pvc-theirs", VOLUME_UUID);
    _cleanup_free_ char *made =
        cephfs_create(&driver, &(struct cephfs_wish){"pvc-theirs", .size_bytes = 16 * MIB}, &err);
    assert_string_equal(made, handle);
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    cephfs_assert_empties();
}

/* --- what nodes of Ceph-CSI 3.17 write --- */

/* @snapshot may be NULL. */
static void set_key(const char *snapshot, const char *key, const char *value)
{
    static const char volume[] = VOLUME;

    if (snapshot)
        ceph((const char *[]){"ceph", "fs", "subvolume", "snapshot", "metadata", "set", CEPHFS_NAME,
                              volume, snapshot, key, value, CEPHFS_GROUP, NULL});
    else
        ceph((const char *[]){"ceph", "fs", "subvolume", "metadata", "set", CEPHFS_NAME, volume,
                              key, value, CEPHFS_GROUP, NULL});
}

static void set_client(const char *snapshot, const char *handle, const char *node,
                       const char *address)
{
    _cleanup_free_ char *user = xasprintf(".cephfs.csi.ceph.com/userid/%s/%s", handle, node);
    _cleanup_free_ char *client =
        xasprintf(".cephfs.csi.ceph.com/clientaddress/%s/%s", handle, node);

    set_key(snapshot, user, "csi-cephfs-node");
    set_key(snapshot, client, address);
}

/* Of the subvolume, or of a snapshot of VOLUME. Caller frees. */
static char *metadata_of(const char *subvolume, const char *snapshot)
{
    if (snapshot)
        return harness_run_tool((const char *[]){"ceph", "fs", "subvolume", "snapshot", "metadata",
                                                 "ls", CEPHFS_NAME, subvolume, snapshot,
                                                 CEPHFS_GROUP, NULL});
    return harness_run_tool((const char *[]){"ceph", "fs", "subvolume", "metadata", "ls",
                                             CEPHFS_NAME, subvolume, CEPHFS_GROUP, NULL});
}

TEST(clients_of_ceph_csi_are_forgotten_when_they_are_detached)
{
    static const char volume[] = VOLUME;
    static const char snapshot[] = SNAP;
    _cleanup_place_ struct place place = open_journal();
    _cleanup_free_ char *handle = handle_of(VOLUME_UUID);
    _cleanup_free_ char *view = handle_of(VIEW_UUID);
    _cleanup_free_ char *accounts = NULL;
    _cleanup_error_ struct error err = {0};

    write_volume(&place);
    write_snapshot(&place);
    write_view(&place, true);
    set_client(NULL, handle, "node-1", "192.0.2.1");
    set_client(NULL, handle, "node-2", "192.0.2.2");
    set_client(snapshot, view, "node-1", "192.0.2.1");
    set_key(NULL, ".cephfs.csi.ceph.com/serviceaccount", "mover");
    assert_int_equal(call_attach(&driver, handle, "node-3", &accounts, &err), 0);
    assert_string_equal(accounts, "mover");
    assert_int_equal(call_detach(&driver, handle, "node-1", &err), 0);
    assert_int_equal(call_detach(&driver, view, "node-1", &err), 0);
    assert_int_equal(call_detach(&driver, view, "node-1", &err), 0);
    _cleanup_free_ char *left = metadata_of(volume, NULL);
    _cleanup_free_ char *shown = metadata_of(volume, snapshot);
    _cleanup_free_ char *of_1 = xasprintf("%s/node-1", handle);
    _cleanup_free_ char *of_2 = xasprintf("clientaddress/%s/node-2", handle);
    assert_null(strstr(left, of_1));
    assert_non_null(strstr(left, of_2));
    assert_null(strstr(shown, VIEW_UUID));
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    assert_int_equal(call_detach(&driver, handle, "node-2", &err), 0);
    free(TAKE(accounts));
    assert_int_equal(call_attach(&driver, view, "node-1", &accounts, &err), 0);
    assert_string_equal(accounts, "");
    assert_int_equal(call_detach(&driver, view, "node-1", &err), 0);
    assert_int_equal(harness_delete_volume(&driver, view, &err), 0);
    cephfs_assert_empties();
}

TEST(nothing_of_it_is_copied)
{
    static const char volume[] = VOLUME;
    _cleanup_place_ struct place place = open_journal();
    _cleanup_free_ char *handle = handle_of(VOLUME_UUID);
    _cleanup_error_ struct error err = {0};

    write_volume(&place);
    set_client(NULL, handle, "node-1", "192.0.2.1");
    set_key(NULL, ".cephfs.csi.ceph.com/serviceaccount", "mover");
    _cleanup_free_ char *snapshot = call_snapshot(&driver, "moment", handle, &err);
    assert_non_null(snapshot);
    _cleanup_free_ char *cloned = cephfs_create(
        &driver, &(struct cephfs_wish){"cloned", 16 * MIB, .source_volume = handle}, &err);
    assert_non_null(cloned);
    _cleanup_free_ char *snap_name = xasprintf("csi-snap-%s", snapshot + strlen(snapshot) - 36);
    _cleanup_free_ char *clone_name = xasprintf("csi-vol-%s", cloned + strlen(cloned) - 36);
    _cleanup_free_ char *of_snapshot = metadata_of(volume, snap_name);
    _cleanup_free_ char *of_clone = metadata_of(clone_name, NULL);
    assert_null(strstr(of_snapshot, ".cephfs"));
    assert_null(strstr(of_clone, ".cephfs"));
    assert_int_equal(harness_delete_volume(&driver, cloned, &err), 0);
    assert_int_equal(call_delete_snapshot(&driver, snapshot, &err), 0);
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    cephfs_assert_empties();
}

/* --- theirs on ours --- */

static void assert_attribute(const struct place *place, const char *object, const char *key,
                             const char *wanted)
{
    _cleanup_free_ char *value = place_get(place, object, key);

    if (!value || !wanted)
        assert_true(!value && !wanted);
    else
        assert_string_equal(value, wanted);
}

static void assert_tracker(const struct place *place, const char *snapshot, const char *view,
                           char count, const char *kind)
{
    _cleanup_free_ char *tracker = xasprintf("rt-backingsnapshot-%s", snapshot);
    const char wanted[4] = {0, 0, 0, count};
    char bytes[16];

    assert_int_equal(rados_read(place->io, tracker, bytes, sizeof(bytes), 0), 4);
    assert_memory_equal(bytes, wanted, 4);
    assert_int_equal(rados_getxattr(place->io, tracker, VERSION_XATTR, bytes, sizeof(bytes)), 4);
    assert_memory_equal(bytes, "\0\0\0\1", 4);
    assert_attribute(place, tracker, snapshot, kind);
    assert_attribute(place, tracker, view, "\001");
}

TEST(our_entries_are_what_ceph_csi_looks_for)
{
    _cleanup_place_ struct place place = open_journal();
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *volume = cephfs_create(
        &driver,
        &(struct cephfs_wish){"pvc-ours", 16 * MIB, .key = "csi.storage.k8s.io/pvc/namespace",
                              .value = "ns-1"},
        &err);
    _cleanup_free_ char *snapshot = call_snapshot(&driver, "snapshot-ours", volume, &err);
    _cleanup_free_ char *view =
        cephfs_create(&driver,
                      &(struct cephfs_wish){"view-ours", 16 * MIB, .mode = "MULTI_NODE_READER_ONLY",
                                            .source_snapshot = snapshot},
                      &err);
    const char *uuid = volume + strlen(volume) - 36;
    const char *snap_uuid = snapshot + strlen(snapshot) - 36;
    const char *view_uuid = view + strlen(view) - 36;
    _cleanup_free_ char *object = xasprintf("csi.volume.%s", uuid);
    _cleanup_free_ char *name = xasprintf("csi-vol-%s", uuid);
    _cleanup_free_ char *snap_object = xasprintf("csi.snap.%s", snap_uuid);
    _cleanup_free_ char *snap_name = xasprintf("csi-snap-%s", snap_uuid);
    _cleanup_free_ char *view_object = xasprintf("csi.volume.%s", view_uuid);
    _cleanup_free_ char *view_name = xasprintf("csi-vol-%s", view_uuid);

    assert_attribute(&place, "csi.volumes.default", "csi.volume.pvc-ours", uuid);
    assert_attribute(&place, object, "csi.volname", "pvc-ours");
    assert_attribute(&place, object, "csi.imagename", name);
    assert_attribute(&place, object, "csi.volume.owner", "ns-1");
    assert_attribute(&place, object, "csi.imageid", NULL);
    assert_attribute(&place, object, "csi.journalpool", NULL);
    assert_attribute(&place, "csi.snaps.default", "csi.snap.snapshot-ours", snap_uuid);
    assert_attribute(&place, snap_object, "csi.snapname", "snapshot-ours");
    assert_attribute(&place, snap_object, "csi.imagename", snap_name);
    assert_attribute(&place, snap_object, "csi.source", name);
    assert_attribute(&place, view_object, "csi.volume.backingsnapshotid", snapshot);
    assert_tracker(&place, snapshot, view_name, 2, "\001");
    assert_int_equal(call_delete_snapshot(&driver, snapshot, &err), 0);
    assert_tracker(&place, snapshot, view_name, 1, "\002");
    assert_int_equal(harness_delete_volume(&driver, view, &err), 0);
    assert_int_equal(harness_delete_volume(&driver, volume, &err), 0);
    cephfs_assert_empties();
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(cephfs_clean_up)
