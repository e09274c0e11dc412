/*
 * Volumes that are not where their handle says, or not in the journal at all: after a failover to
 * another cluster, migrated from Kubernetes' own driver, spread with their clones over two pools.
 */
#include <unistd.h>

#include "common/base/memory.h"
#include "controller/controller.h"
#include "controller/rbd/purge.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/test.h"

#define GIB (1024LL * 1024 * 1024)
#define UUID "e0b45b52-7e09-47d3-8f1b-806995fa4412"
#define MIGRATED "mig_mons-west_image-" UUID "_726264" /* pool "rbd" */
#define MIGRATED_IMAGE "kubernetes-dynamic-pvc-" UUID

static char folder[] = "/tmp/test_lookup.XXXXXX";
static char *config_path;
static char *mapping_path;

struct world {
    struct fake_ceph *fake;
    struct controller controller;
};

static void write_file(const char *path, const char *content)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_files(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    config_path = xasprintf("%s/config.json", folder);
    mapping_path = xasprintf("%s/cluster-mapping.json", folder);
    write_file(config_path, "[{\"clusterID\":\"west\",\"monitors\":[\"127.0.0.1\"]},"
                            " {\"clusterID\":\"south\",\"monitors\":[\"127.0.0.1\"]}]");
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(mapping_path);
    unlink(config_path);
    free(mapping_path);
    free(config_path);
    return rmdir(folder);
}

static void set_credentials(struct credentials *credentials)
{
    credentials->user = xstrdup("csi");
    secret_set(&credentials->key, "AQB");
}

static int world_make(void **state)
{
    struct world *world = xcalloc(1, sizeof(*world));
    struct credentials keyring = {0};

    set_credentials(&keyring);
    world->fake = fake_ceph_new();
    fake_ceph_add_pool(world->fake, "rbd", 3);
    fake_ceph_add_pool(world->fake, "far", 4);
    world->controller = (struct controller){
        .ceph = fake_ceph_as_ceph(world->fake),
        .config = config_file_new(config_path),
        .operations = operations_new(),
        .tasks = tasks_new(0),
        .purger = purger_new(0),
        .mapping_path = mapping_path,
        .instance_id = "default",
        .cluster_name = "",
        .limits = {8, 4, 450, 250},
    };
    world->controller.standing =
        standing_credentials_new(&(struct standing_credentials_options){.keyring = &keyring});
    credentials_done(&keyring);
    unlink(mapping_path);
    *state = world;
    return 0;
}

static int world_free(void **state)
{
    struct world *world = *state;

    assert_true(tasks_stop(world->controller.tasks, 0));
    tasks_free(world->controller.tasks);
    purger_free(world->controller.purger);
    operations_free(world->controller.operations);
    config_file_free(world->controller.config);
    standing_credentials_free(world->controller.standing);
    assert_int_equal(fake_ceph_open_handles(world->fake), 0);
    fake_ceph_free(world->fake);
    free(world);
    return 0;
}

#define WITH_WORLD .setup_func = world_make, .teardown_func = world_free

/* --- calls --- */

static void must(int result, const struct error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

/* @handle receives the new volume's. */
static void create(struct world *world, const char *name, const char *pool, const char *source,
                   char *handle)
{
    _cleanup_(create_request_done) struct create_request request = {
        .name = xstrdup(name),
        .range = {.required_bytes = GIB},
        .source_kind = source ? SOURCE_VOLUME : SOURCE_NONE,
        .source_handle = source ? xstrdup(source) : NULL,
    };
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    request.capabilities.items = xcalloc(1, sizeof(*request.capabilities.items));
    request.capabilities.items[0] =
        (struct volume_capability){.type = ACCESS_TYPE_BLOCK, .mode = ACCESS_SINGLE_NODE_WRITER};
    request.capabilities.count = 1;
    strmap_set(&request.parameters, "clusterID", "west");
    strmap_set(&request.parameters, "pool", pool);
    set_credentials(&request.credentials);
    call_init(&call, 1, "CreateVolume", deadline_never());
    must(controller_create_volume(&world->controller, &call, &request, &volume, &err), &err);
    call_done(&call);
    memcpy(handle, volume.handle, sizeof(volume.handle));
}

typedef int handle_rpc(const struct controller *controller, struct call *call,
                       const struct handle_request *request, struct error *err);

static int with_handle(struct world *world, handle_rpc *rpc, const char *handle, struct error *err)
{
    _cleanup_(handle_request_done) struct handle_request request = {.handle = xstrdup(handle)};
    struct call call;

    set_credentials(&request.credentials);
    call_init(&call, 1, "Delete", deadline_never());
    int result = rpc(&world->controller, &call, &request, err);
    call_done(&call);
    tasks_run_here(world->controller.tasks);
    return result;
}

static int delete_volume(struct world *world, const char *handle, struct error *err)
{
    return with_handle(world, controller_delete_volume, handle, err);
}

static int expand(struct world *world, const char *handle, uint64_t *size, struct error *err)
{
    _cleanup_(expand_request_done) struct expand_request request = {
        .handle = xstrdup(handle), .range = {.required_bytes = 2 * GIB}};
    struct expansion expansion = {0};
    struct call call;

    set_credentials(&request.credentials);
    call_init(&call, 1, "ControllerExpandVolume", deadline_never());
    int result = controller_expand_volume(&world->controller, &call, &request, &expansion, err);
    call_done(&call);
    *size = expansion.size_bytes;
    return result;
}

static int snapshot(struct world *world, const char *source, struct snapshot *made,
                    struct error *err)
{
    _cleanup_(snapshot_request_done) struct snapshot_request request = {
        .name = xstrdup("snapshot-1"), .source_handle = xstrdup(source)};
    struct call call;

    set_credentials(&request.credentials);
    call_init(&call, 1, "CreateSnapshot", deadline_never());
    int result = controller_create_snapshot(&world->controller, &call, &request, made, err);
    call_done(&call);
    return result;
}

static int get_volume(struct world *world, const char *handle, struct volume_state *state,
                      struct error *err)
{
    _cleanup_(handle_request_done) struct handle_request request = {.handle = xstrdup(handle)};
    struct call call;

    call_init(&call, 1, "ControllerGetVolume", deadline_never());
    int result = controller_get_volume(&world->controller, &call, &request, state, err);
    call_done(&call);
    return result;
}

static void assert_empty(struct world *world)
{
    _cleanup_text_ struct text text = TEXT_INIT(1024 * 1024);

    fake_ceph_dump(world->fake, &text);
    if (strstr(text_chars(&text), "image") || strstr(text_chars(&text), "trash") ||
        strstr(text_chars(&text), "cephzone.purge"))
        fail_msg("left behind:\n%s", text_chars(&text));
}

/* Another client of the cluster, in one pool. */
struct outsider {
    struct call call;
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
};

static void outsider_open(struct outsider *outsider, struct world *world, const char *pool)
{
    struct ceph *other = fake_ceph_as_other(world->fake);
    _cleanup_error_ struct error err = {0};
    _cleanup_secret_ struct secret key = {0};
    const struct ceph_target target = {"west", "127.0.0.1", "admin", &key};

    secret_set(&key, "AQB");
    call_init(&outsider->call, 1, "setup", deadline_never());
    must(other->ops->connect(other, &outsider->call, &target, &outsider->cluster, &err), &err);
    must(other->ops->pool_open(outsider->cluster, &outsider->call, pool, "", &outsider->pool, &err),
         &err);
}

static void outsider_close(struct outsider *outsider)
{
    ceph_pool_close(outsider->pool);
    ceph_disconnect(outsider->cluster);
    call_done(&outsider->call);
}

/* --- ControllerGetVolumeHealth --- */

/* It may bring secrets, unlike ControllerGetVolume. */
TEST(health_is_read_with_the_credentials_of_the_call, WITH_WORLD)
{
    struct world *world = *state;
    struct standing_credentials *standing = world->controller.standing;
    _cleanup_(volume_state_done) struct volume_state found = {0};
    _cleanup_(handle_request_done) struct handle_request request = {0};
    _cleanup_error_ struct error err = {0};
    char handle[VOLUME_ID_LENGTH_MAX + 1];
    struct call call;

    create(world, "pvc-1", "rbd", NULL, handle);
    world->controller.standing = NULL;
    assert_int_equal(get_volume(world, handle, &found, &err), -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    error_clear(&err);
    request.handle = xstrdup(handle);
    set_credentials(&request.credentials);
    call_init(&call, 1, "ControllerGetVolumeHealth", deadline_never());
    must(controller_get_volume(&world->controller, &call, &request, &found, &err), &err);
    call_done(&call);
    assert_false(found.abnormal);
    world->controller.standing = standing;
    must(delete_volume(world, handle, &err), &err);
}

/* --- failover --- */

/* The handle that the volume @handle had in cluster @cluster_id, pool @pool_id. */
static char *old_handle(const char *handle, const char *cluster_id, uint64_t pool_id)
{
    _cleanup_error_ struct error err = {0};
    struct volume_id id = {0};
    char text[VOLUME_ID_LENGTH_MAX + 1];

    must(volume_id_parse(handle, &id, &err), &err);
    memcpy(id.cluster_id, cluster_id, strlen(cluster_id) + 1);
    id.location_id = pool_id;
    volume_id_format(&id, text);
    return xstrdup(text);
}

static void check_failed_over(struct world *world, const char *cluster_id)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_(volume_state_done) struct volume_state found = {0};
    struct snapshot made = {0};
    char handle[VOLUME_ID_LENGTH_MAX + 1];
    uint64_t size = 0;

    create(world, "pvc-1", "rbd", NULL, handle);
    _cleanup_free_ char *old = old_handle(handle, cluster_id, 7);
    must(get_volume(world, old, &found, &err), &err);
    assert_string_equal(found.volume.handle, old);
    assert_false(found.abnormal);
    must(expand(world, old, &size, &err), &err);
    assert_int_equal(size, 2 * GIB);
    must(snapshot(world, old, &made, &err), &err);
    assert_string_equal(made.source_handle, old);
    assert_non_null(strstr(made.handle, "-west-0000000000000003-")); /* where it is now */
    must(with_handle(world, controller_delete_snapshot, made.handle, &err), &err);
    must(delete_volume(world, old, &err), &err);
    assert_empty(world);
}

TEST(volume_of_an_unknown_cluster_is_found_by_the_mapping, WITH_WORLD)
{
    write_file(mapping_path, "[{\"clusterIDMapping\":{\"east\":\"west\"},"
                             "\"RBDPoolIDMapping\":[{\"7\":\"3\"}]}]");
    check_failed_over(*state, "east");
}

TEST(volume_of_a_pool_that_is_gone_is_found_by_the_mapping, WITH_WORLD)
{
    write_file(mapping_path, "[{\"clusterIDMapping\":{\"west\":\"south\"},"
                             "\"RBDPoolIDMapping\":[{\"99\":\"7\"}, {\"3\":\"7\"}]}]");
    check_failed_over(*state, "south");
}

TEST(without_a_mapping_the_first_failure_stands, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_error_ struct error err = {0};
    _cleanup_(volume_state_done) struct volume_state found = {0};
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    create(world, "pvc-1", "rbd", NULL, handle);
    _cleanup_free_ char *unknown = old_handle(handle, "east", 7);
    _cleanup_free_ char *elsewhere = old_handle(handle, "west", 7);
    assert_int_equal(get_volume(world, unknown, &found, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    error_clear(&err);
    write_file(mapping_path, "[{\"clusterIDMapping\":{\"west\":\"south\"},"
                             "\"RBDPoolIDMapping\":[{\"7\":\"8\"}]}]");
    assert_int_equal(get_volume(world, elsewhere, &found, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "7"));
    error_clear(&err);
    must(delete_volume(world, elsewhere, &err), &err);
    must(get_volume(world, handle, &found, &err), &err);
}

/* Otherwise DeleteVolume would take a volume for gone that is only not found. */
TEST(broken_mapping_is_not_taken_for_a_missing_volume, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_error_ struct error err = {0};
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    create(world, "pvc-1", "rbd", NULL, handle);
    _cleanup_free_ char *elsewhere = old_handle(handle, "west", 7);
    write_file(mapping_path, "[{");
    assert_int_equal(delete_volume(world, elsewhere, &err), -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    error_clear(&err);
    must(delete_volume(world, handle, &err), &err); /* found at once: nobody asks the mapping */
    assert_empty(world);
}

/* --- migrated volumes --- */

/* Returns its id; caller frees. */
static char *make_image(struct world *world, const char *name)
{
    const struct image_options options = {.features = IMAGE_FEATURES_DEFAULT};
    _cleanup_error_ struct error err = {0};
    struct outsider outsider;

    outsider_open(&outsider, world, "rbd");
    must(outsider.pool->ops->image_create(outsider.pool, &outsider.call, name, GIB, &options, &err),
         &err);
    char *id = NULL;
    must(outsider.pool->ops->image_get_id(outsider.pool, &outsider.call, name, &id, &err), &err);
    outsider_close(&outsider);
    return id;
}

TEST(migrated_volume_is_expanded_and_deleted, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_error_ struct error err = {0};
    uint64_t size = 0;

    free(make_image(world, MIGRATED_IMAGE));
    must(expand(world, MIGRATED, &size, &err), &err);
    assert_int_equal(size, 2 * GIB);
    must(delete_volume(world, MIGRATED, &err), &err);
    assert_empty(world);
    must(delete_volume(world, MIGRATED, &err), &err);
    assert_int_equal(expand(world, MIGRATED, &size, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
}

TEST(migrated_deletion_survives_every_fault, WITH_WORLD)
{
    static const enum fake_failure failures[] = {FAKE_FAIL_BEFORE, FAKE_FAIL_AFTER,
                                                 FAKE_CRASH_BEFORE, FAKE_CRASH_AFTER};
    struct world *world = *state;
    bool over = false;

    for (unsigned n = 1; !over; n++)
        for (size_t i = 0; i < ARRAY_LENGTH(failures); i++) {
            _cleanup_error_ struct error err = {0};
            int result = 0;

            free(make_image(world, MIGRATED_IMAGE));
            fake_ceph_fail_call(world->fake, n, failures[i]);
            result = delete_volume(world, MIGRATED, &err);
            over = fake_ceph_fault_is_pending(world->fake);
            assert_true(!over || n > 2); /* it has struck before */
            assert_true(!over || result == 0);
            fake_ceph_recover(world->fake);
            error_clear(&err);
            must(delete_volume(world, MIGRATED, &err), &err);
            if (result < 0)
                assert_empty(world);
            else /* the fault struck the background task, which the next deletion starts again */
                free(make_image(world,
                                "kubernetes-dynamic-pvc-01616094-9d93-4178-bf45-c7eac19e8b15"));
            must(delete_volume(world,
                               "mig_mons-west_image-01616094-9d93-4178-bf45-c7eac19e8b15_726264",
                               &err),
                 &err);
            assert_empty(world);
        }
}

TEST(other_calls_refuse_migrated_volumes, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_error_ struct error err = {0};
    _cleanup_(volume_state_done) struct volume_state found = {0};
    struct snapshot made = {0};

    free(make_image(world, MIGRATED_IMAGE));
    assert_int_equal(get_volume(world, MIGRATED, &found, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "can only be expanded and deleted"));
    error_clear(&err);
    assert_int_equal(snapshot(world, MIGRATED, &made, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
}

TEST(migrated_volume_of_an_unknown_cluster_is_no_success, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(delete_volume(world, "mig_mons-north_image-" UUID "_726264", &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
}

/* --- split entries --- */

static void make_object(struct world *world, const char *pool, const struct strmap *attributes)
{
    _cleanup_error_ struct error err = {0};
    struct outsider outsider;

    outsider_open(&outsider, world, pool);
    must(outsider.pool->ops->object_create(outsider.pool, &outsider.call, "csi.volume." UUID,
                                           attributes, &err),
         &err);
    if (attributes->count > 0)
        must(outsider.pool->ops->omap_add(outsider.pool, &outsider.call, "csi.volumes.default",
                                          "csi.volume.pvc-1", "0000000000000003/" UUID, &err),
             &err);
    outsider_close(&outsider);
}

/* Ceph-CSI 3.0 to 3.10 with topology: name and attributes in one pool, the image in another. */
TEST(split_volume_is_listed_and_deleted, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap attributes = {0};
    _cleanup_(volume_list_done) struct volume_list list = {0};
    _cleanup_(list_request_done) struct list_request request = {.token = xstrdup("")};
    struct call call;

    _cleanup_free_ char *image_id = make_image(world, "shop-" UUID);
    make_object(world, "rbd", &attributes);
    strmap_set(&attributes, "csi.volname", "pvc-1");
    strmap_set(&attributes, "csi.imagename", "shop-" UUID);
    strmap_set(&attributes, "csi.imageid", image_id);
    make_object(world, "far", &attributes);
    call_init(&call, 1, "ListVolumes", deadline_never());
    must(controller_list_volumes(&world->controller, &call, &request, &list, &err), &err);
    call_done(&call);
    if (list.count == 0)
        fail_msg("it is not listed");
    assert_string_equal(list.items[0].volume.handle, "0001-0004-west-0000000000000003-" UUID);
    must(delete_volume(world, list.items[0].volume.handle, &err), &err);
    assert_empty(world);
}

/* The image was made again and the journal still has the id of the one before. */
TEST(stale_image_id_does_not_keep_the_image, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap attributes = {0};
    _cleanup_free_ char *earlier = make_image(world, "earlier");
    _cleanup_free_ char *image_id = make_image(world, "csi-vol-" UUID);

    strmap_set(&attributes, "csi.volname", "pvc-1");
    strmap_set(&attributes, "csi.imagename", "csi-vol-" UUID);
    strmap_set(&attributes, "csi.imageid", earlier);
    make_object(world, "rbd", &attributes);
    must(delete_volume(world, "0001-0004-west-0000000000000003-" UUID, &err), &err);
    _cleanup_text_ struct text text = TEXT_INIT(1024 * 1024);
    fake_ceph_dump(world->fake, &text);
    assert_null(strstr(text_chars(&text), image_id));
    assert_non_null(strstr(text_chars(&text), earlier)); /* has another name: not the volume's */
}

/* --- families in two pools --- */

/* The parent's data are queued in its own pool and must wait for a clone that is queued in another.
 */
TEST(parent_in_another_pool_goes_with_its_last_clone, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_error_ struct error err = {0};
    char parent[VOLUME_ID_LENGTH_MAX + 1];
    char clone[VOLUME_ID_LENGTH_MAX + 1];

    create(world, "pvc-1", "rbd", NULL, parent);
    create(world, "pvc-2", "far", parent, clone);
    must(delete_volume(world, parent, &err), &err);
    must(delete_volume(world, clone, &err), &err);
    assert_empty(world);
}

TEST_GROUP(make_files, remove_files)
