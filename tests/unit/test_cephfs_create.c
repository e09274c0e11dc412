/*
 * What the CephFS controller does beyond the plain life of a volume: what it refuses and how it
 * says so, clones that take their time, views of snapshots, what Ceph-CSI has left, groups.
 */
#include <pthread.h>

#include "tests/fakes/fake_ceph_subvolumes.h"
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/controller_steps.h"

#define UUID "e0b45b52-7e09-47d3-8f1b-806995fa4412"
#define HANDLE "0001-0002-c1-0000000000000002-" UUID
#define SNAP_UUID "11b45b52-7e09-47d3-8f1b-806995fa4412"
#define SNAP_HANDLE "0001-0002-c1-0000000000000002-" SNAP_UUID
#define MIB (1024LL * 1024)

static void fill_request(struct create_request *request)
{
    strmap_set(&request->parameters, "fsName", "fs1");
}

static void add_filesystem(struct world *world)
{
    fake_ceph_add_pool(world->fake, "meta", 7);
    fake_ceph_add_pool(world->fake, "meta2", 8);
    world->more = fake_subvolumes_new(world->fake);
    fake_subvolumes_add_filesystem(world->more, "fs1", 2, 7, "csi");
    fake_subvolumes_add_filesystem(world->more, "fs2", 3, 8, "csi");
}

static void free_filesystem(struct world *world)
{
    fake_subvolumes_free(world->more);
}

static void add_keyring(struct controller *controller)
{
    _cleanup_credentials_ struct credentials keyring = {.user = xstrdup("csi")};

    secret_set(&keyring.key, "AQB");
    controller->standing = standing_credentials_new(
        &(struct standing_credentials_options){.keyring = &keyring, .is_cephfs = true});
}

static void remove_keyring(struct controller *controller)
{
    standing_credentials_free(controller->standing);
}

static const struct world_setup SETUP = {.name = "CephFS",
                                         .backend = &CEPHFS_BACKEND,
                                         .access = ACCESS_TYPE_MOUNT,
                                         .fill_request = fill_request,
                                         .world_init = add_filesystem,
                                         .world_done = free_filesystem,
                                         .process_init = add_keyring,
                                         .process_done = remove_keyring};

#define STAGED WITH_STAGE(SETUP)

/* --- calls --- */

struct wish {
    const char *name;
    long long required;
    long long limit;
    enum access_mode mode; /* 0: SINGLE_NODE_WRITER */
    bool block;
    enum source_kind kind;
    const char *source;
    const char *key; /* one more parameter; NULL: none */
    const char *value;
};

static int make(struct stage *stage, const struct wish *wish, struct volume *volume,
                struct error *err)
{
    _cleanup_(create_request_done) struct create_request request = {
        .name = xstrdup(wish->name ? wish->name : "pvc-1"),
        .range = {wish->required, wish->limit},
        .source_kind = wish->kind,
        .source_handle = wish->source ? xstrdup(wish->source) : NULL,
    };
    struct call call;

    request.capabilities.items = xcalloc(1, sizeof(*request.capabilities.items));
    request.capabilities.items[0] = (struct volume_capability){
        .type = wish->block ? ACCESS_TYPE_BLOCK : ACCESS_TYPE_MOUNT,
        .mode = wish->mode ? wish->mode : ACCESS_SINGLE_NODE_WRITER,
    };
    request.capabilities.count = 1;
    strmap_set(&request.parameters, "clusterID", "c1");
    strmap_set(&request.parameters, "fsName", "fs1");
    if (wish->key)
        strmap_set(&request.parameters, wish->key, wish->value);
    set_credentials(&request.credentials);
    call_init(&call, 1, "CreateVolume", deadline_never());
    int result = controller_create_volume(&stage->process.controller, &call, &request, volume, err);
    call_done(&call);
    return result;
}

static void make_or_fail(struct stage *stage, const struct wish *wish, char *handle)
{
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_error_ struct error err = {0};

    if (make(stage, wish, &volume, &err) < 0)
        fail_msg("%s", err.message);
    memcpy(handle, volume.handle, sizeof(volume.handle));
}

/* Asks for what cannot be; the message must hold @words. */
static void assert_refused(struct stage *stage, const struct wish *wish, enum status status,
                           const char *words)
{
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(make(stage, wish, &volume, &err), -1);
    if (err.status != status || !strstr(err.message, words))
        fail_msg("wanted %s and '%s', got %s: %s", status_name(status), words,
                 status_name(err.status), err.message);
}

static int remove_volume(struct stage *stage, const char *handle, struct error *err)
{
    return process_call_with_handle(&stage->process, handle, "DeleteVolume",
                                    controller_delete_volume, err);
}

/* --- plain volumes --- */

TEST(size_is_a_multiple_of_what_cephfs_counts_in, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(make(stage, &(struct wish){.required = 5 * MIB}, &volume, &err), 0);
    assert_int_equal(volume.size_bytes, 8 * MIB);
    assert_string_equal(strmap_get(&volume.context, "fsName"), "fs1");
    assert_non_null(strstr(strmap_get(&volume.context, "subvolumePath"), "/volumes/csi/csi-vol-"));
    assert_holds(stage, "subvolume fs1/csi/csi-vol-u1 size=8388608 pool=default");
    assert_holds(stage, "object meta/csi/csi.volumes.default [csi.volume.pvc-1] = u1");
}

TEST(what_makes_no_sense_is_refused, STAGED)
{
    struct stage *stage = *state;

    assert_refused(stage, &(struct wish){.block = true}, STATUS_INVALID_ARGUMENT, "block device");
    assert_refused(stage, &(struct wish){.mode = ACCESS_MULTI_NODE_READER_ONLY},
                   STATUS_INVALID_ARGUMENT, "content source");
    assert_refused(stage, &(struct wish){.kind = SOURCE_UNKNOWN}, STATUS_INVALID_ARGUMENT,
                   "volume_content_source has neither snapshot nor volume");
    assert_refused(stage, &(struct wish){.key = "fsName", .value = "fs9"}, STATUS_INVALID_ARGUMENT,
                   "it has 'fs1', 'fs2'");
    assert_refused(stage, &(struct wish){.key = "mounter", .value = "nfs"}, STATUS_INVALID_ARGUMENT,
                   "kernel");
    assert_refused(stage, &(struct wish){.key = "pool", .value = ""}, STATUS_INVALID_ARGUMENT,
                   "pool is empty");
    assert_refused(stage, &(struct wish){.key = "volumeNamePrefix", .value = "../../etc/"},
                   STATUS_INVALID_ARGUMENT, "volumeNamePrefix");
    assert_refused(stage, &(struct wish){.key = "backingSnapshot", .value = "true"},
                   STATUS_INVALID_ARGUMENT, "not to be made from a snapshot");
    assert_refused(stage, &(struct wish){.key = "backingSnapshot", .value = "perhaps"},
                   STATUS_INVALID_ARGUMENT, "backingSnapshot");
    assert_refused(stage, &(struct wish){.required = 1, .limit = MIB}, STATUS_OUT_OF_RANGE,
                   "4194304");
    assert_holds_not(stage, "csi.volume");
}

TEST(refused_data_pool_leaves_nothing, STAGED)
{
    struct stage *stage = *state;

    assert_refused(stage, &(struct wish){.key = "pool", .value = "no-such-pool"},
                   STATUS_INVALID_ARGUMENT, "invalid pool layout");
    assert_holds_not(stage, "csi.volume.");
    assert_holds_not(stage, "subvolume");
}

TEST(missing_subvolume_group_is_explained_and_not_a_missing_volume, STAGED)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};
    char path[] = "/tmp/cephzone-group-XXXXXX";
    static const char json[] = "[{\"clusterID\":\"c1\",\"monitors\":[\"127.0.0.1\"],"
                               "\"cephFS\":{\"subvolumeGroup\":\"other\"}}]";
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    make_or_fail(stage, &(struct wish){0}, handle);
    int fd = mkstemp(path);
    assert_true(write(fd, json, strlen(json)) == (ssize_t)strlen(json));
    close(fd);
    config_file_free(stage->process.config);
    stage->process.config = config_file_new(path);
    stage->process.controller.config = stage->process.config;
    assert_refused(stage, &(struct wish){.name = "pvc-2"}, STATUS_FAILED_PRECONDITION,
                   "ceph fs subvolumegroup create fs1 other");
    assert_int_equal(remove_volume(stage, handle, &err), -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    assert_holds(stage, "subvolume fs1/csi/csi-vol-");
    unlink(path);
}

TEST(same_name_with_other_wishes_already_exists, STAGED)
{
    struct stage *stage = *state;
    char first[VOLUME_ID_LENGTH_MAX + 1];
    char second[VOLUME_ID_LENGTH_MAX + 1];

    make_or_fail(stage, &(struct wish){.required = 8 * MIB}, first);
    make_or_fail(stage, &(struct wish){.required = 8 * MIB}, second);
    assert_string_equal(first, second);
    assert_refused(stage, &(struct wish){.required = 16 * MIB}, STATUS_ALREADY_EXISTS, "8388608");
    assert_refused(stage, &(struct wish){.required = 8 * MIB, .key = "pool", .value = "fast"},
                   STATUS_ALREADY_EXISTS, "parameters");
    assert_refused(stage, &(struct wish){.mode = ACCESS_MULTI_NODE_MULTI_WRITER},
                   STATUS_ALREADY_EXISTS, "capabilities");
}

TEST(late_retry_does_not_take_growth_back, STAGED)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    make_or_fail(stage, &(struct wish){.required = GIB}, stage->world.volume);
    assert_int_equal(step_expand(&stage->process, &stage->world, &err), 0);
    make_or_fail(stage, &(struct wish){.required = GIB}, stage->world.volume);
    assert_holds(stage, "size=3221225472");
}

/* --- many at once --- */

struct caller {
    struct stage *stage;
    pthread_t thread;
    int result;
    enum status status;
    char handle[VOLUME_ID_LENGTH_MAX + 1];
};

static void *create_once(void *object)
{
    struct caller *caller = object;
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_error_ struct error err = {0};

    caller->result = make(caller->stage, &(struct wish){0}, &volume, &err);
    caller->status = err.status;
    memcpy(caller->handle, volume.handle, sizeof(volume.handle));
    return NULL;
}

TEST(same_request_at_once_makes_one_volume, STAGED)
{
    struct caller callers[8] = {0};
    const char *handles[8];
    size_t made = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(callers); i++) {
        callers[i].stage = *state;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, create_once, &callers[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(callers); i++) {
        pthread_join(callers[i].thread, NULL);
        if (callers[i].result < 0)
            assert_int_equal(callers[i].status, STATUS_ABORTED);
        else
            handles[made++] = callers[i].handle;
    }
    assert_true(made > 0);
    assert_true(handles[0][0] != '\0');
    for (size_t i = 1; i < made; i++)
        assert_string_equal(handles[i], handles[0]);
    assert_holds(*state, "csi-vol-u1");
    assert_holds_not(*state, "csi-vol-u2");
}

/* --- clones --- */

TEST(pending_clone_is_aborted_with_its_progress, STAGED)
{
    struct stage *stage = *state;
    const struct wish clone = {
        .name = "copy", .kind = SOURCE_VOLUME, .source = stage->world.volume};
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    make_or_fail(stage, &(struct wish){0}, stage->world.volume);
    fake_subvolumes_set_clone_pace(stage->world.more, 2);
    assert_refused(stage, &clone, STATUS_ABORTED, "just begun");
    assert_refused(stage, &clone, STATUS_ABORTED, "in-progress, 41% cloned");
    assert_refused(stage, &clone, STATUS_ABORTED, "copying");
    make_or_fail(stage, &clone, handle);
    assert_holds_not(stage, "snapshot");
}

TEST(call_waits_for_a_clone_if_it_may, STAGED)
{
    struct stage *stage = *state;
    atomic_uint waiters = 0;
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    make_or_fail(stage, &(struct wish){0}, stage->world.volume);
    stage->process.controller.clone_waiters = &waiters;
    make_or_fail(
        stage, &(struct wish){.name = "copy", .kind = SOURCE_VOLUME, .source = stage->world.volume},
        handle);
    assert_int_equal(atomic_load(&waiters), 0);
}

/* Another clone may end meanwhile. */
TEST(call_waits_for_a_thread_of_the_manager_if_it_may, STAGED)
{
    struct stage *stage = *state;
    const struct wish clone = {
        .name = "copy", .kind = SOURCE_VOLUME, .source = stage->world.volume};
    atomic_uint waiters = 0;
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    make_or_fail(stage, &(struct wish){0}, stage->world.volume);
    fake_subvolumes_refuse_clones(stage->world.more, 3);
    assert_refused(stage, &clone, STATUS_ABORTED, "all cloner threads of the managers are busy");
    stage->process.controller.clone_waiters = &waiters;
    make_or_fail(stage, &clone, handle);
    assert_int_equal(atomic_load(&waiters), 0);
    assert_holds_not(stage, "snapshot");
}

TEST(clone_that_keeps_failing_says_why, STAGED)
{
    struct stage *stage = *state;
    atomic_uint waiters = 0;

    make_or_fail(stage, &(struct wish){0}, stage->world.volume);
    fake_subvolumes_fail_clones(stage->world.more, 9);
    stage->process.controller.clone_waiters = &waiters;
    assert_refused(
        stage, &(struct wish){.name = "copy", .kind = SOURCE_VOLUME, .source = stage->world.volume},
        STATUS_INTERNAL, "No space left on device");
    assert_holds_not(stage, "[csi.volume.copy]");
    assert_holds_not(stage, "snapshot");
}

/* A claim of 10G, and a source of 10 GiB or of more. */
TEST(clone_without_a_limit_is_as_large_as_its_source, STAGED)
{
    static const long long sources[] = {10 * GIB, 11 * GIB};
    struct stage *stage = *state;
    static atomic_uint waiters;

    stage->process.controller.clone_waiters = &waiters;
    for (size_t i = 0; i < ARRAY_LENGTH(sources); i++) {
        const char *const names[] = {"copy-0", "copy-1"};
        const char *const origins[] = {"source-0", "source-1"};
        _cleanup_(volume_done) struct volume volume = {0};
        _cleanup_(volume_done) struct volume again = {0};
        _cleanup_error_ struct error err = {0};
        char source[VOLUME_ID_LENGTH_MAX + 1];

        make_or_fail(stage, &(struct wish){.name = origins[i], .required = sources[i]}, source);
        const struct wish wish = {
            .name = names[i], .kind = SOURCE_VOLUME, .source = source, .required = 10000000000};
        if (make(stage, &wish, &volume, &err) < 0 || make(stage, &wish, &again, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(volume.size_bytes, sources[i]);
        assert_int_equal(again.size_bytes, sources[i]);
        assert_string_equal(again.handle, volume.handle);
    }
}

TEST(clone_that_a_manager_left_half_made_is_copied_again, STAGED)
{
    struct stage *stage = *state;
    const struct wish clone = {
        .name = "copy", .kind = SOURCE_VOLUME, .source = stage->world.volume};
    atomic_uint waiters = 0;
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    make_or_fail(stage, &(struct wish){0}, stage->world.volume);
    assert_refused(stage, &clone, STATUS_ABORTED, "just begun");
    fake_subvolumes_break_clones(stage->world.more);
    stage->process.controller.clone_waiters = &waiters;
    make_or_fail(stage, &clone, handle);
    assert_holds(stage, " cloned");
    assert_holds_not(stage, "snapshot");
}

TEST(clone_that_the_manager_lost_is_made_under_another_name, STAGED)
{
    struct stage *stage = *state;
    const struct wish clone = {
        .name = "copy", .kind = SOURCE_VOLUME, .source = stage->world.volume};
    atomic_uint waiters = 0;
    char handle[VOLUME_ID_LENGTH_MAX + 1];
    _cleanup_error_ struct error err = {0};

    make_or_fail(stage, &(struct wish){0}, stage->world.volume);
    fake_subvolumes_lose_clones(stage->world.more, 1);
    assert_refused(stage, &clone, STATUS_ABORTED, "just begun");
    stage->process.controller.clone_waiters = &waiters;
    make_or_fail(stage, &clone, handle);
    assert_holds(stage, " cloned");
    assert_holds_not(stage, "snapshot");
    make_or_fail(stage, &clone, handle);
    assert_int_equal(remove_volume(stage, handle, &err), 0);
    assert_int_equal(remove_volume(stage, stage->world.volume, &err), 0);
    assert_holds(stage, " lost"); /* Ceph has no command for it */
    assert_holds_not(stage, " cloned");
    assert_holds_not(stage, "[");
}

TEST(restore_that_the_manager_lost_is_given_up_with_its_source, STAGED)
{
    struct stage *stage = *state;
    const struct wish restored = {
        .name = "copy", .kind = SOURCE_SNAPSHOT, .source = stage->world.snapshot};
    _cleanup_error_ struct error err = {0};

    make_or_fail(stage, &(struct wish){0}, stage->world.volume);
    assert_int_equal(step_create_snapshot(&stage->process, &stage->world, &err), 0);
    fake_subvolumes_lose_clones(stage->world.more, 1);
    assert_refused(stage, &restored, STATUS_ABORTED, "just begun");
    assert_int_equal(step_delete_snapshot(&stage->process, &stage->world, &err), 0);
    assert_refused(stage, &restored, STATUS_NOT_FOUND, "find the source");
    assert_holds_not(stage, "[csi.volume.copy]");
}

TEST(clone_that_waits_its_turn_is_not_lost, STAGED)
{
    struct stage *stage = *state;
    const struct wish clone = {
        .name = "copy", .kind = SOURCE_VOLUME, .source = stage->world.volume};
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    make_or_fail(stage, &(struct wish){0}, stage->world.volume);
    fake_subvolumes_queue_clones(stage->world.more);
    fake_subvolumes_set_clone_pace(stage->world.more, 2);
    assert_refused(stage, &clone, STATUS_ABORTED, "just begun");
    assert_refused(stage, &clone, STATUS_ABORTED, "pending");
    assert_refused(stage, &clone, STATUS_ABORTED, "pending");
    make_or_fail(stage, &clone, handle);
    assert_holds(stage, " cloned");
    assert_holds_not(stage, "failed");
}

TEST(clone_of_what_is_missing_or_too_large_is_refused, STAGED)
{
    struct stage *stage = *state;

    make_or_fail(stage, &(struct wish){.required = 64 * MIB}, stage->world.volume);
    assert_refused(stage,
                   &(struct wish){.name = "copy",
                                  .kind = SOURCE_VOLUME,
                                  .source = stage->world.volume,
                                  .required = 8 * MIB,
                                  .limit = 32 * MIB},
                   STATUS_OUT_OF_RANGE, "67108864");
    assert_refused(stage, &(struct wish){.name = "copy", .kind = SOURCE_VOLUME, .source = HANDLE},
                   STATUS_NOT_FOUND, HANDLE);
    assert_refused(
        stage,
        &(struct wish){.name = "copy", .kind = SOURCE_SNAPSHOT, .source = stage->world.volume},
        STATUS_NOT_FOUND, "journal");
    assert_refused(stage,
                   &(struct wish){.name = "copy",
                                  .kind = SOURCE_VOLUME,
                                  .source = stage->world.volume,
                                  .key = "fsName",
                                  .value = "fs2"},
                   STATUS_INVALID_ARGUMENT, "within one file system");
    assert_holds_not(stage, "copy");
}

TEST(snapshot_that_is_being_copied_is_not_deleted, STAGED)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    make_or_fail(stage, &(struct wish){.required = GIB}, stage->world.volume);
    assert_int_equal(step_create_snapshot(&stage->process, &stage->world, &err), 0);
    assert_refused(
        stage,
        &(struct wish){.name = "copy", .kind = SOURCE_SNAPSHOT, .source = stage->world.snapshot},
        STATUS_ABORTED, "copying");
    assert_int_equal(step_delete_snapshot(&stage->process, &stage->world, &err), -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "is copying snapshot"));
}

TEST(snapshot_with_the_mark_of_an_ended_copy_says_where_it_is, STAGED)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    make_or_fail(stage, &(struct wish){.required = GIB}, stage->world.volume);
    assert_int_equal(step_create_snapshot(&stage->process, &stage->world, &err), 0);
    fake_subvolumes_set_orphans(stage->world.more, 2);
    assert_int_equal(step_delete_snapshot(&stage->process, &stage->world, &err), -1);
    assert_int_equal(err.status, STATUS_ABORTED);
    assert_non_null(strstr(err.message, "left 2 mark(s)"));
    assert_non_null(strstr(err.message, "[clone snaps] of volumes/csi/csi-vol-"));
    assert_non_null(strstr(err.message, "the lines that end in '= csi-snap-"));
    error_clear(&err);
    fake_subvolumes_set_orphans(stage->world.more, 0);
    assert_int_equal(step_delete_snapshot(&stage->process, &stage->world, &err), 0);
}

/* --- views of snapshots --- */

static const enum access_mode READ = ACCESS_MULTI_NODE_READER_ONLY;

TEST(ten_views_keep_a_deleted_snapshot_until_the_last_goes, STAGED)
{
    struct stage *stage = *state;
    char views[10][VOLUME_ID_LENGTH_MAX + 1];
    _cleanup_error_ struct error err = {0};

    make_or_fail(stage, &(struct wish){.required = GIB}, stage->world.volume);
    assert_int_equal(step_create_snapshot(&stage->process, &stage->world, &err), 0);
    for (int i = 0; i < 10; i++) {
        _cleanup_free_ char *name = xasprintf("view-%d", i);

        make_or_fail(stage,
                     &(struct wish){.name = name,
                                    .mode = READ,
                                    .kind = SOURCE_SNAPSHOT,
                                    .source = stage->world.snapshot},
                     views[i]);
    }
    assert_int_equal(step_delete_snapshot(&stage->process, &stage->world, &err), 0);
    assert_int_equal(step_delete_snapshot(&stage->process, &stage->world, &err), 0);
    assert_int_equal(remove_volume(stage, stage->world.volume, &err), 0);
    for (int i = 0; i < 10; i++) {
        assert_holds(stage, " snapshot [csi-snap-");
        assert_int_equal(remove_volume(stage, views[i], &err), 0);
        assert_int_equal(remove_volume(stage, views[i], &err), 0);
    }
    assert_holds_not(stage, "subvolume");
    assert_holds_not(stage, "rt-backing");
    assert_holds_not(stage, "[");
}

TEST(deleted_snapshot_that_is_shown_is_not_there_for_others, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(list_request_done) struct list_request all = {.token = xstrdup("")};
    _cleanup_(snapshot_list_done) struct snapshot_list list = {0};
    _cleanup_(handle_request_done) struct handle_request one = {0};
    _cleanup_error_ struct error err = {0};
    struct snapshot snapshot;
    struct call call;

    make_or_fail(stage, &(struct wish){.required = GIB}, stage->world.volume);
    assert_int_equal(step_create_snapshot(&stage->process, &stage->world, &err), 0);
    make_or_fail(
        stage,
        &(struct wish){
            .name = "view", .mode = READ, .kind = SOURCE_SNAPSHOT, .source = stage->world.snapshot},
        stage->world.second);
    assert_int_equal(step_delete_snapshot(&stage->process, &stage->world, &err), 0);
    call_init(&call, 1, "ListSnapshots", deadline_never());
    assert_int_equal(
        controller_list_snapshots(&stage->process.controller, &call, &all, &list, &err), 0);
    assert_int_equal(list.count, 0);
    one.handle = xstrdup(stage->world.snapshot);
    set_credentials(&one.credentials);
    assert_int_equal(
        controller_get_snapshot(&stage->process.controller, &call, &one, &snapshot, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    call_done(&call);
    assert_refused(stage,
                   &(struct wish){.name = "view-2",
                                  .mode = READ,
                                  .kind = SOURCE_SNAPSHOT,
                                  .source = stage->world.snapshot},
                   STATUS_NOT_FOUND, "was deleted");
    error_clear(&err);
    assert_int_equal(step_create_snapshot(&stage->process, &stage->world, &err), 0); /* a new one */
}

TEST(views_are_only_read_and_nothing_else, STAGED)
{
    struct stage *stage = *state;
    const struct wish copy = {.name = "copy", .kind = SOURCE_VOLUME, .source = stage->world.second};
    struct wish read_copy = copy;
    _cleanup_error_ struct error err = {0};

    make_or_fail(stage, &(struct wish){.required = GIB}, stage->world.volume);
    assert_int_equal(step_create_snapshot(&stage->process, &stage->world, &err), 0);
    assert_refused(stage,
                   &(struct wish){.name = "view",
                                  .kind = SOURCE_SNAPSHOT,
                                  .source = stage->world.snapshot,
                                  .key = "backingSnapshot",
                                  .value = "true"},
                   STATUS_INVALID_ARGUMENT, "can only be read");
    make_or_fail(
        stage,
        &(struct wish){
            .name = "view", .mode = READ, .kind = SOURCE_SNAPSHOT, .source = stage->world.snapshot},
        stage->world.second);
    read_copy.mode = READ;
    assert_refused(stage, &read_copy, STATUS_INVALID_ARGUMENT, "use that snapshot as the source");
    assert_refused(stage, &copy, STATUS_ABORTED, "copying"); /* of the snapshot */
    memcpy(stage->world.volume, stage->world.second, sizeof(stage->world.second));
    assert_int_equal(step_expand(&stage->process, &stage->world, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    error_clear(&err);
    assert_int_equal(step_create_snapshot(&stage->process, &stage->world, &err), -1);
}

TEST(class_may_ask_for_a_copy_that_is_only_read, STAGED)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    make_or_fail(stage, &(struct wish){.required = GIB}, stage->world.volume);
    assert_int_equal(step_create_snapshot(&stage->process, &stage->world, &err), 0);
    assert_refused(stage,
                   &(struct wish){.name = "copy",
                                  .mode = READ,
                                  .kind = SOURCE_SNAPSHOT,
                                  .source = stage->world.snapshot,
                                  .key = "backingSnapshot",
                                  .value = "false"},
                   STATUS_ABORTED, "copying");
    assert_holds_not(stage, "rt-backing");
}

/* --- what Ceph-CSI has left --- */

/* Another client of the cluster, in the journal. */
struct outsider {
    struct call call;
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
};

static void outsider_open(struct outsider *outsider, struct stage *stage)
{
    struct ceph *other = fake_ceph_as_other(stage->world.fake);
    _cleanup_error_ struct error err = {0};
    _cleanup_secret_ struct secret key = {0};
    const struct ceph_target target = {"c1", "127.0.0.1", "admin", &key};

    secret_set(&key, "AQB");
    call_init(&outsider->call, 1, "setup", deadline_never());
    assert_int_equal(other->ops->connect(other, &outsider->call, &target, &outsider->cluster, &err),
                     0);
    assert_int_equal(other->ops->pool_open(outsider->cluster, &outsider->call, "meta", "csi",
                                           &outsider->pool, &err),
                     0);
}

static void outsider_close(struct outsider *outsider)
{
    ceph_pool_close(outsider->pool);
    ceph_disconnect(outsider->cluster);
    call_done(&outsider->call);
}

static void write_entry(struct outsider *outsider, const char *directory, const char *name_key,
                        const char *object, const char *uuid, const struct strmap *attributes)
{
    struct ceph_pool *pool = outsider->pool;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(pool->ops->object_create(pool, &outsider->call, object, attributes, &err), 0);
    assert_int_equal(pool->ops->omap_add(pool, &outsider->call, directory, name_key, uuid, &err),
                     0);
}

static void write_foreign_volume(struct stage *stage, long long size)
{
    _cleanup_(outsider_close) struct outsider outsider = {0};
    _cleanup_strmap_ struct strmap attributes = {0};
    _cleanup_free_ char *command = xasprintf(
        "{\"prefix\":\"fs subvolume create\",\"sub_name\":\"csi-vol-" UUID "\",\"size\":%lld}",
        size);

    outsider_open(&outsider, stage);
    strmap_set(&attributes, "csi.volname", "pvc-1");
    strmap_set(&attributes, "csi.imagename", "csi-vol-" UUID);
    write_entry(&outsider, "csi.volumes.default", "csi.volume.pvc-1", "csi.volume." UUID, UUID,
                &attributes);
    if (size > 0)
        assert_int_equal(fake_subvolumes_command(stage->world.more, command), 0);
}

TEST(volume_of_ceph_csi_is_found_by_name_and_keeps_its_size, STAGED)
{
    struct stage *stage = *state;
    char handle[VOLUME_ID_LENGTH_MAX + 1];
    _cleanup_error_ struct error err = {0};

    write_foreign_volume(stage, 3 * GIB);
    make_or_fail(stage, &(struct wish){.required = GIB}, handle);
    assert_string_equal(handle, HANDLE);
    assert_holds(stage, "size=3221225472");
    assert_int_equal(remove_volume(stage, handle, &err), 0);
    assert_holds_not(stage, "[");
}

TEST(reservation_of_ceph_csi_is_filled, STAGED)
{
    struct stage *stage = *state;
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    write_foreign_volume(stage, 0);
    make_or_fail(stage, &(struct wish){.required = GIB}, handle);
    assert_string_equal(handle, HANDLE);
    assert_holds(stage, "size=1073741824");
}

/* The handle of a volume whose creation was not finished. */
static void find_handle(struct stage *stage, const char *name, char *handle)
{
    const struct journal journal = {JOURNAL_VOLUME, "default"};
    _cleanup_(outsider_close) struct outsider outsider = {0};
    _cleanup_error_ struct error err = {0};
    struct journal_ref ref;
    bool found = false;

    outsider_open(&outsider, stage);
    assert_int_equal(
        journal_find(&journal, &outsider.call, outsider.pool, name, &ref, &found, &err), 0);
    assert_true(found);
    memcpy(handle, HANDLE, sizeof(HANDLE));
    memcpy(handle + sizeof(HANDLE) - sizeof(UUID), ref.uuid.chars, sizeof(UUID));
}

TEST(unfinished_clone_can_be_deleted_before_and_after_it_is_lost, STAGED)
{
    struct stage *stage = *state;
    const struct wish clone = {
        .name = "copy", .kind = SOURCE_VOLUME, .source = stage->world.volume};
    char handle[VOLUME_ID_LENGTH_MAX + 1];
    _cleanup_error_ struct error err = {0};

    make_or_fail(stage, &(struct wish){0}, stage->world.volume);
    fake_subvolumes_queue_clones(stage->world.more);
    for (unsigned lost = 0; lost < 2; lost++) {
        fake_subvolumes_lose_clones(stage->world.more, lost);
        assert_refused(stage, &clone, STATUS_ABORTED, "just begun");
        find_handle(stage, "copy", handle);
        if (remove_volume(stage, handle, &err) < 0)
            fail_msg("%s", err.message);
        assert_holds_not(stage, "[csi.volume.copy]");
        assert_holds_not(stage, "snapshot");
    }
    assert_holds(stage, " lost");
}

/* Its name is Ceph-CSI's to choose. */
TEST(clone_of_ceph_csi_that_the_manager_lost_is_reported, STAGED)
{
    struct stage *stage = *state;

    make_or_fail(stage, &(struct wish){.name = "source"}, stage->world.volume);
    write_foreign_volume(stage, 0);
    fake_subvolumes_lose_clones(stage->world.more, 1);
    const struct wish clone = {.kind = SOURCE_VOLUME, .source = stage->world.volume};
    assert_refused(stage, &clone, STATUS_ABORTED, "just begun");
    assert_refused(stage, &clone, STATUS_FAILED_PRECONDITION,
                   "remove directory '/volumes/csi/csi-vol-" UUID "' of file system 'fs1'");
    assert_holds(stage, "[csi.volume.pvc-1]");
}

/* It may have been in use for long; only an empty one would be harmless to copy again. */
TEST(volume_of_ceph_csi_that_is_no_copy_is_left_alone, STAGED)
{
    struct stage *stage = *state;

    make_or_fail(stage, &(struct wish){.name = "source"}, stage->world.volume);
    write_foreign_volume(stage, 3 * GIB);
    assert_refused(stage, &(struct wish){.kind = SOURCE_VOLUME, .source = stage->world.volume},
                   STATUS_FAILED_PRECONDITION, "is no copy of the source");
    assert_holds(stage, "size=3221225472");
}

/* As Ceph-CSI leaves it: owner under an empty key, tracker with one view, the snapshot masked. */
TEST(last_view_of_ceph_csi_takes_its_masked_snapshot_along, STAGED)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    write_foreign_volume(stage, GIB);
    {
        _cleanup_(outsider_close) struct outsider outsider = {0};
        _cleanup_strmap_ struct strmap attributes = {0};
        _cleanup_strmap_ struct strmap view = {0};
        _cleanup_strmap_ struct strmap references = {0};

        outsider_open(&outsider, stage);
        strmap_set(&attributes, "csi.snapname", "snapshot-1");
        strmap_set(&attributes, "csi.imagename", "csi-snap-" SNAP_UUID);
        strmap_set(&attributes, "csi.source", "csi-vol-" UUID);
        strmap_set(&attributes, "", "ns-1");
        write_entry(&outsider, "csi.snaps.default", "csi.snap.snapshot-1", "csi.snap." SNAP_UUID,
                    SNAP_UUID, &attributes);
        strmap_set(&view, "csi.volname", "pvc-view");
        strmap_set(&view, "csi.imagename", "csi-vol-22b45b52-7e09-47d3-8f1b-806995fa4412");
        strmap_set(&view, "csi.volume.backingsnapshotid", SNAP_HANDLE);
        write_entry(&outsider, "csi.volumes.default", "csi.volume.pvc-view",
                    "csi.volume.22b45b52-7e09-47d3-8f1b-806995fa4412",
                    "22b45b52-7e09-47d3-8f1b-806995fa4412", &view);
        strmap_set(&references, SNAP_HANDLE, "\002");
        strmap_set(&references, "csi-vol-22b45b52-7e09-47d3-8f1b-806995fa4412", "\001");
        assert_int_equal(outsider.pool->ops->object_change(
                             outsider.pool, &outsider.call, "rt-backingsnapshot-" SNAP_HANDLE,
                             &(struct object_change){.data = "\0\0\0\1",
                                                     .data_length = 4,
                                                     .attribute_name = "csi.ceph.com/rt-version",
                                                     .attribute = "\0\0\0\1",
                                                     .attribute_length = 4,
                                                     .set = &references},
                             &err),
                         0);
    }
    assert_int_equal(
        fake_subvolumes_command(stage->world.more,
                                "{\"prefix\":\"fs subvolume snapshot create\",\"sub_name\":"
                                "\"csi-vol-" UUID "\",\"snap_name\":\"csi-snap-" SNAP_UUID "\"}"),
        0);
    assert_int_equal(remove_volume(stage,
                                   "0001-0002-c1-0000000000000002-22b45b52-7e09-47d3-8f1b-"
                                   "806995fa4412",
                                   &err),
                     0);
    assert_holds_not(stage, "csi.snap.");
    assert_holds_not(stage, "snapshot");
    assert_int_equal(remove_volume(stage, HANDLE, &err), 0);
    assert_holds_not(stage, "[");
}

/* --- groups --- */

static void make_two(struct stage *stage)
{
    make_or_fail(stage, &(struct wish){.name = "pvc-1", .required = GIB}, stage->world.volume);
    make_or_fail(stage, &(struct wish){.name = "pvc-2", .required = GIB}, stage->world.second);
}

TEST(group_without_quiesce_names_the_release_needed, STAGED)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    make_two(stage);
    assert_int_equal(step_create_group(&stage->process, &stage->world, &err), -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "19.2"));
    assert_holds_not(stage, "csi.volume.group.");
    assert_holds_not(stage, "csi.snap.");
}

TEST(group_has_its_members_as_ceph_csi_lists_them, STAGED)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};
    _cleanup_text_ struct text all = TEXT_INIT(1024 * 1024);

    make_two(stage);
    fake_subvolumes_allow_quiesce(stage->world.more, false);
    assert_int_equal(step_create_group(&stage->process, &stage->world, &err), 0);
    fake_ceph_dump(stage->world.fake, &all);
    _cleanup_free_ char *line =
        xasprintf("[%s] = 0001-0002-c1-0000000000000002-", stage->world.volume);
    assert_non_null(strstr(text_chars(&all), line));
    assert_int_equal(step_create_group(&stage->process, &stage->world, &err), 0);
}

TEST(volume_that_shows_a_snapshot_is_no_member, STAGED)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    fake_subvolumes_allow_quiesce(stage->world.more, false);
    make_or_fail(stage, &(struct wish){.required = GIB}, stage->world.volume);
    assert_int_equal(step_create_snapshot(&stage->process, &stage->world, &err), 0);
    make_or_fail(
        stage,
        &(struct wish){
            .name = "view", .mode = READ, .kind = SOURCE_SNAPSHOT, .source = stage->world.snapshot},
        stage->world.second);
    assert_int_equal(step_create_group(&stage->process, &stage->world, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "there is nothing in it to make a snapshot of"));
    assert_non_null(strstr(err.message, stage->world.second));
    assert_holds_not(stage, "csi.volume.group.");
}

TEST(pause_that_ended_too_early_is_no_group, STAGED)
{
    struct stage *stage = *state;
    _cleanup_error_ struct error err = {0};

    make_two(stage);
    fake_subvolumes_allow_quiesce(stage->world.more, true);
    assert_int_equal(step_create_group(&stage->process, &stage->world, &err), -1);
    assert_int_equal(err.status, STATUS_ABORTED);
    fake_subvolumes_allow_quiesce(stage->world.more, false);
    error_clear(&err);
    assert_int_equal(step_create_group(&stage->process, &stage->world, &err), 0);
    assert_int_equal(step_delete_group(&stage->process, &stage->world, &err), 0);
    assert_holds_not(stage, "snapshot");
    assert_holds_not(stage, "writers pause");
}

struct impatient {
    struct stage *stage;
    atomic_bool has_gone;
};

/* Goes as soon as the writers pause. */
static void leave_during_pause(void *object)
{
    struct impatient *caller = object;
    struct fake_ceph *fake = caller->stage->world.fake;
    _cleanup_text_ struct text all = TEXT_INIT(1024 * 1024);

    fake_ceph_dump(fake, &all);
    if (strstr(text_chars(&all), "writers pause"))
        caller->has_gone = true;
    else
        fake_ceph_interrupt_before(fake, "mgr_command", leave_during_pause, caller);
}

TEST(pause_ends_although_the_caller_has_gone, STAGED)
{
    struct stage *stage = *state;
    struct impatient caller = {.stage = stage};
    _cleanup_(group_request_done) struct group_request request = {.name = xstrdup("group-1")};
    _cleanup_(group_snapshot_done) struct group_snapshot group = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    make_two(stage);
    fake_subvolumes_allow_quiesce(stage->world.more, false);
    string_list_add(&request.members, stage->world.volume);
    string_list_add(&request.members, stage->world.second);
    set_credentials(&request.credentials);
    call_init(&call, 1, "CreateVolumeGroupSnapshot", deadline_never());
    call.cancelled = &caller.has_gone;
    fake_ceph_interrupt_before(stage->world.fake, "mgr_command", leave_during_pause, &caller);
    assert_int_equal(
        controller_create_group_snapshot(&stage->process.controller, &call, &request, &group, &err),
        -1);
    assert_int_equal(err.status, STATUS_CANCELLED);
    assert_holds_not(stage, "writers pause");
    call_done(&call);
    error_clear(&err);
    assert_int_equal(step_create_group(&stage->process, &stage->world, &err), 0);
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
