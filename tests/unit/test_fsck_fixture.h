#pragma once

#include <unistd.h>

#include "common/base/memory.h"
#include "controller/controller.h"
#include "controller/fsck.h"
#include "controller/purge.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/test.h"

#define GIB (1024LL * 1024 * 1024)
#define UUID_A "aaaaaaaa-0000-4000-8000-00000000000a"
#define UUID_B "bbbbbbbb-0000-4000-8000-00000000000b"
#define HANDLE(uuid) "0001-0002-c1-0000000000000001-" uuid
#define DUMP_LIMIT ((size_t)1 << 20)

/* What the tests of fsck have in common: a fake cluster with the driver and another client on it,
 * short forms to make leftovers by hand, and what a look at them must give. Includes what every one
 * of them needs. */

static char config_path[] = "/tmp/cephzone-fsck-XXXXXX";

/* A cluster with two pools, the driver on it, and another client that breaks things. */
struct world {
    struct fake_ceph *fake;
    struct controller controller;
    struct credentials credentials;
    struct call call;
    struct ceph_cluster *cluster;
    struct ceph_pool *rbd; /* 1 */
    struct ceph_pool *ssd; /* 2 */
    struct string_list pools;
    struct pv pv;
    struct pv_dump pvs;
    struct fsck_options options;
    struct fsck_report report;
    char volume[VOLUME_ID_LENGTH_MAX + 1];
};

static inline void open_as_other(struct world *world)
{
    struct ceph *other = fake_ceph_as_other(world->fake);
    const struct ceph_target target = {"c1", "1.2.3.4", "csi", &world->credentials.key};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(other->ops->connect(other, &world->call, &target, &world->cluster, &err), 0);
    const struct ceph_ops *ops = world->cluster->ops;
    assert_int_equal(ops->pool_open(world->cluster, &world->call, "rbd", "", &world->rbd, &err), 0);
    assert_int_equal(ops->pool_open(world->cluster, &world->call, "ssd", "", &world->ssd, &err), 0);
}

static inline int start(void **state)
{
    struct world *world = xcalloc(1, sizeof(*world));

    world->fake = fake_ceph_new();
    fake_ceph_add_pool(world->fake, "rbd", 1);
    fake_ceph_add_pool(world->fake, "ssd", 2);
    world->credentials.user = xstrdup("csi");
    secret_set(&world->credentials.key, "AQB");
    world->controller = (struct controller){
        .ceph = fake_ceph_as_ceph(world->fake),
        .config = config_file_new(config_path),
        .operations = operations_new(),
        .tasks = tasks_new(0),
        .purger = purger_new(0),
        .instance_id = "default",
        .cluster_name = "",
        .limits = {8, 4, 450, 250},
    };
    call_init(&world->call, 1, "fsck", deadline_never());
    open_as_other(world);
    world->options = (struct fsck_options){
        .ceph = world->controller.ceph,
        .config = world->controller.config,
        .credentials = &world->credentials,
        .instance_id = "default",
        .pools = &world->pools,
        .scan = true,
        .pvs_taken = time(NULL) + 1,
    };
    *state = world;
    return 0;
}

static inline int stop(void **state)
{
    struct world *world = *state;

    fsck_report_done(&world->report);
    ceph_pool_close(world->rbd);
    ceph_pool_close(world->ssd);
    ceph_disconnect(world->cluster);
    assert_true(tasks_stop(world->controller.tasks, 0));
    tasks_free(world->controller.tasks);
    purger_free(world->controller.purger);
    operations_free(world->controller.operations);
    config_file_free(world->controller.config);
    credentials_done(&world->credentials);
    call_done(&world->call);
    string_list_done(&world->pools);
    assert_int_equal(fake_ceph_open_handles(world->fake), 0);
    fake_ceph_free(world->fake);
    free(world);
    return 0;
}

/* --- making things ------------------------------------------------------------------------------
 */

static inline void must(int result, const struct error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

static inline void put_name(struct world *world, struct ceph_pool *pool, const char *directory,
                            const char *key, const char *value)
{
    _cleanup_error_ struct error err = {0};

    must(pool->ops->omap_add(pool, &world->call, directory, key, value, &err), &err);
}

/* @attributes: key, value, ..., NULL. */
static inline void put_object(struct world *world, struct ceph_pool *pool, const char *object,
                              const char *const *attributes)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap entries = {0};

    for (size_t i = 0; attributes && attributes[i]; i += 2)
        strmap_set(&entries, attributes[i], attributes[i + 1]);
    must(pool->ops->object_create(pool, &world->call, object, &entries, &err), &err);
}

static inline void remove_object(struct world *world, struct ceph_pool *pool, const char *object)
{
    _cleanup_error_ struct error err = {0};

    must(pool->ops->object_remove(pool, &world->call, object, &err), &err);
}

static inline void put_image(struct world *world, struct ceph_pool *pool, const char *name)
{
    const struct image_options options = {.features = IMAGE_FEATURES_DEFAULT};
    _cleanup_error_ struct error err = {0};

    must(pool->ops->image_create(pool, &world->call, name, 1 << 20, &options, &err), &err);
}

static inline void trash_image(struct world *world, struct ceph_pool *pool, const char *name)
{
    _cleanup_error_ struct error err = {0};

    must(pool->ops->trash_move(pool, &world->call, name, &err), &err);
}

static inline void put_snapshot(struct world *world, const char *image, const char *snapshot)
{
    _cleanup_error_ struct error err = {0};

    must(world->rbd->ops->snapshot_create(world->rbd, &world->call, image, snapshot, &err), &err);
}

static inline void set_attribute(struct world *world, const char *object, const char *key,
                                 const char *value)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap entries = {0};

    strmap_set(&entries, key, value);
    must(world->rbd->ops->omap_set(world->rbd, &world->call, object, &entries, &err), &err);
}

/* A volume that the driver made; its handle is in world->volume. */
static inline void create_volume(struct world *world)
{
    struct create_request request = {.name = xstrdup("pvc-good"),
                                     .range = {.required_bytes = GIB},
                                     .credentials = world->credentials};
    struct volume volume = {0};
    _cleanup_error_ struct error err = {0};

    request.capabilities.items = xcalloc(1, sizeof(*request.capabilities.items));
    request.capabilities.items[0] =
        (struct volume_capability){.type = ACCESS_TYPE_BLOCK, .mode = ACCESS_SINGLE_NODE_WRITER};
    request.capabilities.count = 1;
    strmap_set(&request.parameters, "clusterID", "c1");
    strmap_set(&request.parameters, "pool", "rbd");
    must(controller_create_volume(&world->controller, &world->call, &request, &volume, &err), &err);
    memcpy(world->volume, volume.handle, sizeof(world->volume));
    volume_done(&volume);
    request.credentials = (struct credentials){0};
    create_request_done(&request);
}

static inline const char *uuid_of_volume(const struct world *world)
{
    return world->volume + strlen(world->volume) - UUID_LENGTH;
}

static inline char *image_of_volume(const struct world *world)
{
    return xasprintf("csi-vol-%s", uuid_of_volume(world));
}

static inline void create_snapshot(struct world *world)
{
    struct snapshot_request request = {.name = xstrdup("snapshot-good"),
                                       .source_handle = xstrdup(world->volume),
                                       .credentials = world->credentials};
    struct snapshot snapshot;
    _cleanup_error_ struct error err = {0};

    must(controller_create_snapshot(&world->controller, &world->call, &request, &snapshot, &err),
         &err);
    request.credentials = (struct credentials){0};
    snapshot_request_done(&request);
}

static inline void delete_volume(struct world *world)
{
    const struct handle_request request = {world->volume, world->credentials};
    _cleanup_error_ struct error err = {0};

    must(controller_delete_volume(&world->controller, &world->call, &request, &err), &err);
}

static inline void give_pvs(struct world *world, const char *handle)
{
    static char name[] = "pv-1";
    static char policy[] = "Delete";
    static char phase[] = "Bound";

    world->pv = (struct pv){.name = name,
                            .handle = (char *)(uintptr_t)handle,
                            .reclaim_policy = policy,
                            .phase = phase};
    world->pvs = (struct pv_dump){&world->pv, handle ? 1 : 0};
    world->options.pvs = &world->pvs;
}

/* A complete volume of Ceph-CSI's making in @pool. */
static inline void put_volume(struct world *world, struct ceph_pool *pool, const char *name,
                              const char *uuid)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *key = xasprintf("csi.volume.%s", name);
    _cleanup_free_ char *object = xasprintf("csi.volume.%s", uuid);
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", uuid);
    _cleanup_free_ char *id = NULL;

    put_image(world, pool, image);
    must(pool->ops->image_get_id(pool, &world->call, image, &id, &err), &err);
    put_name(world, pool, "csi.volumes.default", key, uuid);
    put_object(
        world, pool, object,
        (const char *[]){"csi.volname", name, "csi.imagename", image, "csi.imageid", id, NULL});
}

/* --- looking ------------------------------------------------------------------------------------
 */

static inline void look(struct world *world)
{
    _cleanup_error_ struct error err = {0};

    fsck_report_done(&world->report);
    must(fsck_look(&world->options, &world->call, &world->report, &err), &err);
}

static inline void print_all(const struct world *world)
{
    for (size_t i = 0; i < world->report.count; i++) {
        const struct fsck_finding *finding = &world->report.findings[i];

        print_message("%s %s %s %s: %s\n", fsck_severity_name(finding->severity),
                      fsck_kind_name(finding->kind), finding->pool, finding->object,
                      finding->explanation);
    }
}

static inline void assert_clean(struct world *world)
{
    look(world);
    if (world->report.count > 0) {
        print_all(world);
        fail_msg("%zu findings", world->report.count);
    }
}

/* Exactly one finding, of @kind. */
static inline const struct fsck_finding *assert_finds(struct world *world, enum fsck_kind kind)
{
    look(world);
    if (world->report.count != 1 || world->report.findings[0].kind != kind) {
        print_all(world);
        fail_msg("wanted one %s, got %zu findings", fsck_kind_name(kind), world->report.count);
    }
    return &world->report.findings[0];
}

static inline char *dump(struct world *world)
{
    struct text text = TEXT_INIT(DUMP_LIMIT);

    fake_ceph_dump(world->fake, &text);
    return text_take(&text);
}

/* Repairs all that is offered; each must be done. */
static inline void repair(struct world *world)
{
    for (size_t i = 0; i < world->report.count; i++) {
        _cleanup_error_ struct error err = {0};
        bool repaired = false;

        must(
            fsck_repair(&world->options, &world->call, &world->report.findings[i], &repaired, &err),
            &err);
        assert_int_equal(repaired, world->report.findings[i].repair.action != FSCK_NO_REPAIR);
    }
}

static inline void assert_repair_cleans(struct world *world, enum fsck_action action)
{
    assert_int_equal(world->report.findings[0].repair.action, action);
    repair(world);
    assert_clean(world);
}

/* Neither is a repair offered, nor does one do anything. */
static inline void assert_untouched(struct world *world)
{
    _cleanup_free_ char *before = dump(world);

    for (size_t i = 0; i < world->report.count; i++)
        assert_int_equal(world->report.findings[i].repair.action, FSCK_NO_REPAIR);
    repair(world);
    _cleanup_free_ char *after = dump(world);
    assert_string_equal(after, before);
}

static inline int write_config(void **state)
{
    static const char config[] = "[{\"clusterID\":\"c1\",\"monitors\":[\"1.2.3.4\"]}]";
    _cleanup_close_ int fd = mkstemp(config_path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, config, strlen(config)), strlen(config));
    return 0;
}

static inline int remove_config(void **state)
{
    (void)state;
    return unlink(config_path);
}

#define WITH_STAGE .setup_func = start, .teardown_func = stop
