#pragma once

/* A node in memory: fake Ceph, fake machine, one volume, and the calls of its life. */

#include <unistd.h>

#include "common/base/memory.h"
#include "common/ceph/journal.h"
#include "node/backend.h"
#include "node/staged_users.h"
#include "node/volumes.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/fakes/fake_ceph_subvolumes.h"
#include "tests/fakes/fake_host.h"
#include "tests/test.h"

#define GIB (1024ULL * 1024 * 1024)
#define SECRET "AQBzZWNyZXQgb2YgYSB0ZXN0"
#define UUID "b0285c97-a0ce-41eb-8c66-0242ac110002"
#define HANDLE "0001-0002-c1-0000000000000001-" UUID
#define IMAGE "csi-vol-" UUID
#define SPEC "rbd/" IMAGE
#define SNAP_UUID "11b45b52-7e09-47d3-8f1b-806995fa4412"
#define SNAP_HANDLE "0001-0002-c1-0000000000000001-" SNAP_UUID
#define MOUNT_INFO "/csi/mountinfo"
#define INFO_FILE MOUNT_INFO "/nodestage-" HANDLE ".json"
#define STAGING "/kubelet/staging"
#define TARGET "/kubelet/target"

static char config_path[] = "/tmp/cephzone-unit-node-XXXXXX";

/* How the volume is used. */
struct use {
    const char *mounter; /* NULL: the class names none */
    const char *fs_type; /* NULL: block */
    enum access_mode mode;
    const char *map_options;
    const char *mount_group;
    const char *flag;
    bool is_cephfs;
    bool is_shallow; /* shows a snapshot */
    const char *key; /* one more entry of the context; NULL: none */
    const char *value;
};

struct world {
    struct fake_ceph *ceph;
    struct fake_host *host;
    struct fake_subvolumes *subvolumes; /* NULL: RBD */
    struct use use;
};

/* One life of the driver: what a restart forgets. */
struct life {
    struct node_volumes volumes;
};

static inline void life_start(struct life *life, const struct world *world)
{
    life->volumes = (struct node_volumes){
        .backend = world->use.is_cephfs ? &CEPHFS_NODE_BACKEND : &RBD_NODE_BACKEND,
        .ceph = fake_ceph_as_ceph(world->ceph),
        .config = config_file_new(config_path),
        .operations = operations_new(),
        .mappers = {fake_host_as_host(world->host), "/run/cephzone"},
        .io_checks = io_checks_new(fake_host_as_host(world->host)),
        .users = staged_users_new(),
        .node_id = "node-1",
        .instance_id = "default",
        .default_mounter = "",
        .cephfs = {.mount_info_dir = MOUNT_INFO, .fuse_wait_ms = 100},
    };
}

static inline void life_end(struct life *life)
{
    io_checks_free(life->volumes.io_checks);
    staged_users_free(life->volumes.users);
    operations_free(life->volumes.operations);
    config_file_free(life->volumes.config);
}

typedef int controller_step(struct call *call, struct ceph_pool *pool, struct error *err);

/* Does something that the controller does. */
static inline void as_controller_in(struct fake_ceph *fake, const char *pool_name,
                                    const char *rados_namespace, controller_step *step)
{
    struct ceph *other = fake_ceph_as_other(fake);
    const struct ceph_target target = {.cluster_id = "c1", .monitors = "m", .user = "u"};
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "test", deadline_never());
    {
        _cleanup_ceph_cluster_ struct ceph_cluster *cluster = NULL;
        _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

        assert_int_equal(other->ops->connect(other, &call, &target, &cluster, &err), 0);
        assert_int_equal(
            cluster->ops->pool_open(cluster, &call, pool_name, rados_namespace, &pool, &err), 0);
        assert_int_equal(step(&call, pool, &err), 0);
    }
    call_done(&call);
}

static inline void as_controller(struct fake_ceph *fake, controller_step *step)
{
    as_controller_in(fake, "rbd", "", step);
}

/* The image and its journal entry, as the controller leaves them. */
static inline int add_volume(struct call *call, struct ceph_pool *pool, struct error *err)
{
    const struct journal journal = {JOURNAL_VOLUME, "default"};
    const struct image_options options = {.features = IMAGE_FEATURES_DEFAULT};
    struct journal_entry entry = {.uuid = {UUID},
                                  .request_name = xstrdup("pvc-1"),
                                  .image_name = xstrdup(IMAGE),
                                  .journal_pool_id = -1};
    int result = journal_write(&journal, call, pool, &entry, err);

    journal_entry_done(&entry);
    return result < 0 ? -1 : pool->ops->image_create(pool, call, IMAGE, GIB, &options, err);
}

/* The journal entry of a subvolume. */
static inline int add_directory(struct call *call, struct ceph_pool *pool, struct error *err)
{
    const struct journal journal = {JOURNAL_VOLUME, "default"};
    struct journal_entry entry = {.uuid = {UUID},
                                  .request_name = xstrdup("pvc-1"),
                                  .image_name = xstrdup(IMAGE),
                                  .journal_pool_id = -1};
    int result = journal_write(&journal, call, pool, &entry, err);

    journal_entry_done(&entry);
    return result;
}

/* Those of a volume that shows a snapshot, and of the snapshot. */
static inline int add_shallow(struct call *call, struct ceph_pool *pool, struct error *err)
{
    const struct journal journal = {JOURNAL_VOLUME, "default"};
    const struct journal snapshots = {JOURNAL_SNAPSHOT, "default"};
    struct journal_entry entry = {.uuid = {UUID},
                                  .request_name = xstrdup("pvc-1"),
                                  .image_name = xstrdup(IMAGE),
                                  .journal_pool_id = -1};
    struct journal_entry snapshot = {.uuid = {SNAP_UUID},
                                     .request_name = xstrdup("snap-1"),
                                     .image_name = xstrdup("csi-snap-1"),
                                     .source = xstrdup("csi-vol-source"),
                                     .journal_pool_id = -1};

    strmap_set(&entry.extra, "csi.volume.backingsnapshotid", SNAP_HANDLE);
    int result = journal_write(&journal, call, pool, &entry, err);
    if (result == 0)
        result = journal_write(&snapshots, call, pool, &snapshot, err);
    journal_entry_done(&entry);
    journal_entry_done(&snapshot);
    return result;
}

static inline void add_filesystem(struct world *world)
{
    const bool is_shallow = world->use.is_shallow;
    _cleanup_free_ char *command =
        xasprintf("{\"prefix\":\"fs subvolume create\",\"sub_name\":\"%s\",\"size\":1073741824}",
                  is_shallow ? "csi-vol-source" : IMAGE);

    fake_ceph_add_pool(world->ceph, "meta", 7);
    world->subvolumes = fake_subvolumes_new(world->ceph);
    fake_subvolumes_add_filesystem(world->subvolumes, "fs1", 1, 7, "csi");
    assert_int_equal(fake_subvolumes_command(world->subvolumes, command), 0);
    as_controller_in(world->ceph, "meta", "csi", is_shallow ? add_shallow : add_directory);
}

static inline int double_image(struct call *call, struct ceph_pool *pool, struct error *err)
{
    return pool->ops->image_resize(pool, call, IMAGE, 2 * GIB, err);
}

static inline void world_init(struct world *world, const struct use *use)
{
    *world = (struct world){.ceph = fake_ceph_new(), .use = *use};
    if (world->use.mode == ACCESS_UNKNOWN)
        world->use.mode = ACCESS_SINGLE_NODE_WRITER;
    fake_ceph_add_pool(world->ceph, "rbd", 1);
    if (use->is_cephfs)
        add_filesystem(world);
    else
        as_controller(world->ceph, add_volume);
    world->host = fake_host_new(world->ceph);
    fake_host_add_image(world->host, SPEC, GIB);
    fake_host_add_folder(world->host, "/kubelet");
    fake_host_add_folder(world->host, MOUNT_INFO);
    fake_host_add_folder(world->host, STAGING);
}

static inline void world_done(struct world *world)
{
    fake_host_free(world->host);
    fake_ceph_free(world->ceph);
    if (world->subvolumes)
        fake_subvolumes_free(world->subvolumes);
}

static inline void fill_capability(const struct use *use, struct volume_capability *capability)
{
    capability->type = use->fs_type ? ACCESS_TYPE_MOUNT : ACCESS_TYPE_BLOCK;
    capability->mode = use->mode;
    capability->fs_type = xstrdup(use->fs_type ? use->fs_type : "");
    if (use->mount_group)
        capability->mount_group = xstrdup(use->mount_group);
    if (use->flag)
        string_list_add(&capability->mount_flags, use->flag);
}

static inline void fill_credentials(struct credentials *credentials)
{
    credentials->user = xstrdup("csi");
    secret_set(&credentials->key, SECRET);
}

typedef int node_step(struct life *life, struct world *world, struct error *err);

#define STEP(name, method, request_type, ...)                                                      \
    static inline int name(struct life *life, struct world *world, struct error *err)              \
    {                                                                                              \
        _cleanup_(request_type##_request_done) struct request_type##_request request = {           \
            __VA_ARGS__};                                                                          \
        struct call call;                                                                          \
                                                                                                   \
        prepare_##request_type(world, &request);                                                   \
        call_init(&call, 1, #method, deadline_never());                                            \
        int result = method(&life->volumes, &call, &request, err);                                 \
        call_done(&call);                                                                          \
        return result;                                                                             \
    }

static inline void prepare_stage(struct world *world, struct stage_request *request)
{
    fill_capability(&world->use, &request->capability);
    if (world->use.mounter)
        strmap_set(&request->context, "mounter", world->use.mounter);
    if (world->use.key)
        strmap_set(&request->context, world->use.key, world->use.value);
    if (world->use.map_options)
        strmap_set(&request->context, "mapOptions", world->use.map_options);
    fill_credentials(&request->credentials);
}

static inline void prepare_publish(struct world *world, struct publish_request *request)
{
    fill_capability(&world->use, &request->capability);
}

static inline void prepare_unstage(struct world *world, struct unstage_request *request)
{
    (void)world, (void)request;
}

static inline void prepare_unpublish(struct world *world, struct unpublish_request *request)
{
    (void)world, (void)request;
}

STEP(stage, node_stage_volume, stage, .handle = xstrdup(HANDLE), .staging_path = xstrdup(STAGING))
STEP(unstage, node_unstage_volume, unstage, .handle = xstrdup(HANDLE),
     .staging_path = xstrdup(STAGING))
STEP(publish, node_publish_volume, publish, .handle = xstrdup(HANDLE),
     .staging_path = xstrdup(STAGING), .target_path = xstrdup(TARGET))
STEP(unpublish, node_unpublish_volume, unpublish, .handle = xstrdup(HANDLE),
     .target_path = xstrdup(TARGET))

/* To twice the size. Whether the class names a Secret for this call is up to its author. */
static inline int node_expand(struct life *life, bool has_secrets, struct error *err)
{
    _cleanup_(node_expand_request_done) struct node_expand_request request = {
        .handle = xstrdup(HANDLE),
        .volume_path = xstrdup(TARGET),
        .range = {.required_bytes = (int64_t)(2 * GIB)}};
    uint64_t size = 0;
    struct call call;

    if (has_secrets)
        fill_credentials(&request.credentials);
    call_init(&call, 1, "NodeExpandVolume", deadline_never());
    int result = node_expand_volume(&life->volumes, &call, &request, &size, err);
    call_done(&call);
    if (result == 0)
        assert_int_equal(size, 2 * GIB);
    return result;
}

static inline void controller_expands(struct world *world)
{
    as_controller(world->ceph, double_image);
    fake_host_resize_image(world->host, SPEC, 2 * GIB);
}

static inline int expand(struct life *life, struct world *world, struct error *err)
{
    controller_expands(world);
    return node_expand(life, true, err);
}

/* The directories of subvolumes are named by chance: these names become '#'. */
static inline void hide_directories(char *text)
{
    static const char *const before[] = {"/" IMAGE "/", "csi-snap-1/"};

    for (size_t i = 0; i < ARRAY_LENGTH(before); i++)
        for (char *found = strstr(text, before[i]); found; found = strstr(found + 1, before[i]))
            memset(found + strlen(before[i]), '#', strlen(UUID));
}

static inline char *world_state(struct world *world)
{
    struct text text = TEXT_INIT(1024 * 1024);

    fake_host_dump(world->host, &text);
    fake_ceph_dump(world->ceph, &text);
    hide_directories(text.chars);
    return text_take(&text);
}

static inline int write_config(void **state)
{
    int fd = mkstemp(config_path);
    static const char config[] = "[{\"clusterID\":\"c1\",\"monitors\":[\"10.0.0.1:6789\"]}]";

    (void)state;
    if (fd < 0 || write(fd, config, strlen(config)) < 0)
        return -1;
    close(fd);
    return 0;
}

static inline int remove_config(void **state)
{
    (void)state;
    return unlink(config_path);
}

#define must(expression)                                                                           \
    do {                                                                                           \
        _cleanup_error_ struct error err = {0};                                                    \
                                                                                                   \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.message);                                          \
    } while (0)
#define must_refuse(expression, wanted_status, part)                                               \
    do {                                                                                           \
        _cleanup_error_ struct error err = {0};                                                    \
                                                                                                   \
        if ((expression) == 0)                                                                     \
            fail_msg("%s succeeded", #expression);                                                 \
        if (err.status != (wanted_status) || !strstr(err.message, (part)))                         \
            fail_msg("%s: %s: %s", #expression, status_name(err.status), err.message);             \
    } while (0)
