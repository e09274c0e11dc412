/*
 * Volumes that Ceph-CSI has encrypted: a copy that this driver makes would be without their keys,
 * so it makes none, of either backend, and changes nothing.
 */
#include "tests/fakes/fake_ceph_subvolumes.h"
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/controller_steps.h"

static void fill_rbd_request(struct create_request *request)
{
    strmap_set(&request->parameters, "pool", "rbd");
    strmap_set(&request->parameters, "imageFeatures", "layering,exclusive-lock");
}

static void add_pool(struct world *world)
{
    fake_ceph_add_pool(world->fake, "rbd", 3);
}

static const struct world_setup RBD = {.name = "RBD",
                                       .backend = &RBD_BACKEND,
                                       .access = ACCESS_TYPE_BLOCK,
                                       .fill_request = fill_rbd_request,
                                       .world_init = add_pool};

static void fill_cephfs_request(struct create_request *request)
{
    strmap_set(&request->parameters, "fsName", "fs1");
}

static void add_filesystem(struct world *world)
{
    fake_ceph_add_pool(world->fake, "meta", 7);
    world->more = fake_subvolumes_new(world->fake);
    fake_subvolumes_add_filesystem(world->more, "fs1", 2, 7, "csi");
    fake_subvolumes_allow_quiesce(world->more, false);
}

static void free_filesystem(struct world *world)
{
    fake_subvolumes_free(world->more);
}

static const struct world_setup CEPHFS = {.name = "CephFS",
                                          .backend = &CEPHFS_BACKEND,
                                          .access = ACCESS_TYPE_MOUNT,
                                          .fill_request = fill_cephfs_request,
                                          .world_init = add_filesystem,
                                          .world_done = free_filesystem};

/* --- what Ceph-CSI wrote --- */

struct ceph_csi {
    struct call call;
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
    struct error err;
};

static void ceph_csi_begin(struct ceph_csi *csi, struct stage *stage)
{
    const bool is_rbd = stage->world.setup == &RBD;
    struct ceph *ceph = fake_ceph_as_other(stage->world.fake);
    _cleanup_secret_ struct secret key = {0};
    const struct ceph_target target = {"c1", "127.0.0.1", "admin", &key};

    *csi = (struct ceph_csi){0};
    secret_set(&key, "AQB");
    call_init(&csi->call, 1, "Ceph-CSI", deadline_never());
    assert_int_equal(ceph->ops->connect(ceph, &csi->call, &target, &csi->cluster, &csi->err), 0);
    assert_int_equal(ceph->ops->pool_open(csi->cluster, &csi->call, is_rbd ? "rbd" : "meta",
                                          is_rbd ? "" : "csi", &csi->pool, &csi->err),
                     0);
}

static void ceph_csi_end(struct ceph_csi *csi)
{
    ceph_pool_close(csi->pool);
    ceph_disconnect(csi->cluster);
    call_done(&csi->call);
}

static const char *uuid_of(const char *handle)
{
    return handle + strlen(handle) - 36;
}

/* Gives an attribute of the volume's or snapshot's journal entry the value "x", or takes it away.
 */
static void write_attribute(struct stage *stage, const char *prefix, const char *handle,
                            const char *key, bool is_set)
{
    _cleanup_free_ char *object = xasprintf("%s%s", prefix, uuid_of(handle));
    _cleanup_strmap_ struct strmap set = {0};
    struct ceph_csi csi;
    bool removed = false;

    strmap_set(&set, key, "x");
    ceph_csi_begin(&csi, stage);
    if (is_set)
        assert_int_equal(csi.pool->ops->omap_set(csi.pool, &csi.call, object, &set, &csi.err), 0);
    else
        assert_int_equal(csi.pool->ops->omap_remove_if(csi.pool, &csi.call, object, key, "x", NULL,
                                                       &removed, &csi.err),
                         0);
    assert_true(is_set || removed);
    ceph_csi_end(&csi);
}

/* The same for metadata of the image, with any value; NULL takes it away. */
static void write_metadata(struct stage *stage, const char *prefix, const char *handle,
                           const char *key, const char *value)
{
    _cleanup_free_ char *image = xasprintf("%s%s", prefix, uuid_of(handle));
    _cleanup_strmap_ struct strmap set = {0};
    _cleanup_string_list_ struct string_list removed = {0};
    struct ceph_csi csi;

    if (value)
        strmap_set(&set, key, value);
    else
        string_list_add(&removed, key);
    ceph_csi_begin(&csi, stage);
    assert_int_equal(
        csi.pool->ops->image_metadata_change(csi.pool, &csi.call, image, &set, &removed, &csi.err),
        0);
    ceph_csi_end(&csi);
}

/* --- tests --- */

/* Makes two volumes and a snapshot of the first. */
static void make_all(struct stage *stage)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap none = {0};
    struct ceph_csi csi;

    /* the first group leaves an empty directory behind */
    ceph_csi_begin(&csi, stage);
    assert_int_equal(
        csi.pool->ops->object_create(csi.pool, &csi.call, "csi.groups.default", &none, &csi.err),
        0);
    ceph_csi_end(&csi);
    if (step_create_volume(&stage->process, &stage->world, &err) < 0 ||
        step_create_second(&stage->process, &stage->world, &err) < 0 ||
        step_create_snapshot(&stage->process, &stage->world, &err) < 0)
        fail_msg("%s", err.message);
}

static int create_another_snapshot(struct process *process, struct world *world, struct error *err)
{
    struct snapshot_request request = {.name = xstrdup("snapshot-2"),
                                       .source_handle = xstrdup(world->volume)};
    struct snapshot snapshot = {0};
    struct call call;

    set_credentials(&request.credentials);
    call_init(&call, 1, "CreateSnapshot", deadline_never());
    int result = controller_create_snapshot(&process->controller, &call, &request, &snapshot, err);
    call_done(&call);
    snapshot_request_done(&request);
    return result;
}

static void assert_refused(struct stage *stage, const char *title, step *tested)
{
    _cleanup_free_ char *before = world_dump(&stage->world);
    _cleanup_error_ struct error err = {0};

    if (tested(&stage->process, &stage->world, &err) == 0)
        fail_msg("%s: not refused", title);
    if (err.status != STATUS_FAILED_PRECONDITION || !strstr(err.message, "encrypted by Ceph-CSI") ||
        !strstr(err.message, "a Ceph-CSI controller"))
        fail_msg("%s: %s: %s", title, status_name(err.status), err.message);
    _cleanup_free_ char *after = world_dump(&stage->world);
    assert_string_equal(after, before);
}

static void assert_volume_is_not_copied(struct stage *stage)
{
    assert_refused(stage, "snapshot", create_another_snapshot);
    assert_refused(stage, "clone", step_clone);
    assert_refused(stage, "group", step_create_group);
}

static void check_attributes(struct stage *stage)
{
    static const char *const keys[] = {"csi.volume.encryptKMS", "csi.volume.encryptionType"};
    _cleanup_error_ struct error err = {0};

    make_all(stage);
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        write_attribute(stage, "csi.volume.", stage->world.volume, keys[i], true);
        assert_volume_is_not_copied(stage);
        write_attribute(stage, "csi.volume.", stage->world.volume, keys[i], false);
        write_attribute(stage, "csi.snap.", stage->world.snapshot, keys[i], true);
        assert_refused(stage, "restore", step_restore);
        write_attribute(stage, "csi.snap.", stage->world.snapshot, keys[i], false);
    }
    if (create_another_snapshot(&stage->process, &stage->world, &err) < 0)
        fail_msg("%s", err.message);
}

TEST(image_with_a_kms_is_not_copied, WITH_STAGE(RBD))
{
    check_attributes(*state);
}

TEST(subvolume_with_a_kms_is_not_copied, WITH_STAGE(CEPHFS))
{
    check_attributes(*state);
}

/* The journal may have been lost and regenerated without them. */
TEST(image_whose_metadata_say_so_is_not_copied, WITH_STAGE(RBD))
{
    static const struct {
        const char *key;
        const char *value;
    } cases[] = {
        {"rbd.csi.ceph.com/encrypted", "encrypted"},
        {"rbd.csi.ceph.com/encrypted", "encryptionPrepared"},
        {".rbd.csi.ceph.com/encrypted", "requiresEncryption"},
        {"rbd.csi.ceph.com/dek", "{}"},
        {".rbd.csi.ceph.com/dek", "{}"},
    };
    struct stage *stage = *state;

    make_all(stage);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        write_metadata(stage, "csi-vol-", stage->world.volume, cases[i].key, cases[i].value);
        assert_volume_is_not_copied(stage);
        write_metadata(stage, "csi-vol-", stage->world.volume, cases[i].key, NULL);
        write_metadata(stage, "csi-snap-", stage->world.snapshot, cases[i].key, cases[i].value);
        assert_refused(stage, "restore", step_restore);
        write_metadata(stage, "csi-snap-", stage->world.snapshot, cases[i].key, NULL);
    }
}

TEST(image_with_an_empty_state_is_copied, WITH_STAGE(RBD))
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    make_all(stage);
    write_metadata(stage, "csi-vol-", stage->world.volume, "rbd.csi.ceph.com/encrypted", "");
    if (create_another_snapshot(&stage->process, &stage->world, &err) < 0)
        fail_msg("%s", err.message);
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
