#include "tests/integration/node_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/integration/cephfs.h"
#include "tests/test.h"

#define READ_LIMIT (1024 * 1024)
#define DEVICE_BYTES 4096

struct test_node node;

/* Mounts made from here on are seen by nobody else. */
static void isolate(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
        fprintf(stderr, "cannot make a mount namespace: run this test as root\n");
        exit(1);
    }
}

void node_fixture_init(void)
{
    char root[] = "/tmp/cephzone-node-XXXXXX";

    isolate(); /* before there are threads */
    rpc_init();
    assert_non_null(mkdtemp(root));
    node.root = xstrdup(root);
    node.run_dir = xasprintf("%s/run", root);
    harness_init(&node.driver);
}

void node_fixture_start(void)
{
    _cleanup_free_ char *run_dir = xasprintf("--rundir=%s", node.run_dir);
    const char *flags[8 + NODE_FLAGS_MAX] = {run_dir};
    size_t count = 1;

    for (size_t i = 0; node.flags[i]; i++)
        flags[count++] = node.flags[i];
    for (size_t i = 0; NODE_IS_CEPHFS && CEPHFS_FLAGS[i]; i++)
        flags[count++] = CEPHFS_FLAGS[i];
    harness_start(&node.driver, flags);
}

void node_fixture_restart(int signal_number)
{
    int code = harness_stop(&node.driver, signal_number, WAIT_MS);

    assert_int_equal(code, signal_number == SIGTERM ? 0 : 128 + signal_number);
    node_fixture_start();
}

int node_fixture_begin(void **state)
{
    (void)state;
    node_fixture_init();
    node_fixture_start();
    return 0;
}

int node_fixture_end(void **state)
{
    static const char *const folders[] = {"fuse", "qmp", "keys"};

    (void)state;
    if (NODE_IS_CEPHFS)
        cephfs_assert_empties();
    else
        harness_assert_pool_empties("common");
    assert_nothing_left();
    harness_done(&node.driver);
    for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) {
        _cleanup_free_ char *path = xasprintf("%s/%s", node.run_dir, folders[i]);

        rmdir(path);
    }
    rmdir(node.run_dir);
    assert_int_equal(rmdir(node.root), 0);
    free(node.root);
    free(node.run_dir);
    rpc_shutdown();
    return 0;
}

/* --- files --- */

void write_at(const char *folder, const char *name, const char *content)
{
    _cleanup_free_ char *path = xasprintf("%s/%s", folder, name);
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void write_durably(const char *folder, const char *name, const char *content)
{
    _cleanup_free_ char *path = xasprintf("%s/%s", folder, name);

    write_at(folder, name, content);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fsync(fd), 0);
}

void remove_file(const char *path)
{
    unlink(path);
}

char *read_at(const char *folder, const char *name)
{
    _cleanup_free_ char *path = xasprintf("%s/%s", folder, name);
    _cleanup_text_ struct text content = TEXT_INIT(READ_LIMIT);
    _cleanup_error_ struct error err = {0};

    if (text_read_path(&content, path, &err) < 0)
        return NULL;
    text_add_bytes(&content, "", 1); /* words of a process end with an empty one */
    return text_take(&content);
}

char *read_device(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    char *bytes = aligned_alloc(DEVICE_BYTES, DEVICE_BYTES);

    assert_true(fd >= 0);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, DEVICE_BYTES), DEVICE_BYTES);
    bytes[DEVICE_BYTES - 1] = '\0';
    return bytes;
}

void write_device(const char *path, const char *content)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC | O_DIRECT | O_SYNC);
    _cleanup_free_ void *bytes = NULL;

    assert_true(fd >= 0);
    assert_int_equal(posix_memalign(&bytes, DEVICE_BYTES, DEVICE_BYTES), 0);
    memset(bytes, 0, DEVICE_BYTES);
    memcpy(bytes, content, strlen(content));
    assert_int_equal(write(fd, bytes, DEVICE_BYTES), DEVICE_BYTES);
}

char *image_of(const char *handle)
{
    return xasprintf("csi-vol-%s", handle + strlen(handle) - 36);
}

/* --- calls --- */

static int make_call(struct harness_call *call, json_t *request, json_t **reply, struct error *err)
{
    _cleanup_free_ char *text = json_dumps(request, 0);

    json_decref(request);
    assert_non_null(text);
    call->request = text;
    call->timeout_ms = node.timeout_ms ? node.timeout_ms : 120000;
    return harness_call(&node.driver, call, reply, err);
}

int node_call(const char *method, json_t *request, json_t **reply, struct error *err)
{
    return make_call(&(struct harness_call){.method = method}, request, reply, err);
}

static json_t *capability(const struct test_volume *volume)
{
    json_t *access = json_pack("{s:{s:s}}", "access_mode", "mode", volume->mode);

    if (!volume->fs_type) {
        json_object_set_new(access, "block", json_object());
        return access;
    }
    json_t *how = json_pack("{s:s}", "fs_type", volume->fs_type);
    if (volume->flag)
        json_object_set_new(how, "mount_flags", json_pack("[s]", volume->flag));
    json_object_set_new(access, "mount", how);
    return access;
}

const char *plain_fs_type(void)
{
    return NODE_IS_CEPHFS ? "" : "ext4";
}

struct test_volume plain_volume(const char *name)
{
    struct test_volume volume = {.fs_type = plain_fs_type()};

    test_volume_create(&volume, name, 32 * MIB);
    return volume;
}

/* An image that a killed daemon had open counts as in use for half a minute. */
static void delete_at_last(const char *handle)
{
    _cleanup_error_ struct error err = {0};
    struct deadline deadline = deadline_in_ms(WAIT_MS);

    node_undo_mounts();
    node_undo_start();
    while (harness_delete_volume(&node.driver, handle, &err) < 0) {
        if (deadline_has_passed(deadline))
            fail_msg("cannot delete what the failed test has made: %s", err.message);
        error_clear(&err);
        usleep(500000);
    }
}

static void remove_folder(const char *path)
{
    node_undo_mounts();
    rmdir(path);
}

void test_volume_create(struct test_volume *volume, const char *name, long long size_bytes)
{
    _cleanup_error_ struct error err = {0};
    const struct cephfs_wish wish = {.name = name, .size_bytes = size_bytes};
    char *handle = NODE_IS_CEPHFS
                       ? cephfs_create(&node.driver, &wish, &err)
                       : harness_create_volume(&node.driver, name, "common", size_bytes, &err);

    if (!handle)
        fail_msg("%s", err.message);
    test_volume_adopt(volume, name, handle);
}

void test_volume_adopt(struct test_volume *volume, const char *name, char *handle)
{
    volume->handle = handle;
    node_on_failure(delete_at_last, handle);
    if (!volume->mode)
        volume->mode = "SINGLE_NODE_WRITER";
    volume->staging = xasprintf("%s/staging-%s", node.root, name);
    volume->target = xasprintf("%s/target-%s", node.root, name);
    assert_int_equal(mkdir(volume->staging, 0700), 0);
    node_on_failure(remove_folder, volume->staging);
}

void test_volume_delete(struct test_volume *volume)
{
    must(harness_delete_volume(&node.driver, volume->handle, &err));
    node_undone(volume->handle);
    assert_int_equal(rmdir(volume->staging), 0);
    node_undone(volume->staging);
    free(volume->handle);
    free(volume->staging);
    free(volume->target);
}

static json_t *context(const struct test_volume *volume)
{
    json_t *context = json_pack("{s:s}", "mounter", "fuse");
    json_auto_t *more = volume->context ? json_loads(volume->context, 0, NULL) : NULL;

    if (volume->context)
        assert_int_equal(json_object_update(context, more), 0);
    return context;
}

int node_stage(const struct test_volume *volume, struct error *err)
{
    return node_call("NodeStageVolume",
                     json_pack("{s:s, s:s, s:o, s:o}", "volume_id", volume->handle,
                               "staging_target_path", volume->staging, "volume_capability",
                               capability(volume), "volume_context", context(volume)),
                     NULL, err);
}

int node_unstage(const struct test_volume *volume, struct error *err)
{
    return node_call("NodeUnstageVolume",
                     json_pack("{s:s, s:s}", "volume_id", volume->handle, "staging_target_path",
                               volume->staging),
                     NULL, err);
}

int node_publish(const struct test_volume *volume, struct error *err)
{
    return make_call(&(struct harness_call){.method = "NodePublishVolume",
                                            .without_secrets = volume->without_secrets},
                     json_pack("{s:s, s:s, s:s, s:o, s:b, s:o}", "volume_id", volume->handle,
                               "staging_target_path", volume->staging, "target_path",
                               volume->target, "volume_capability", capability(volume), "readonly",
                               volume->read_only, "volume_context", context(volume)),
                     NULL, err);
}

int node_unpublish(const struct test_volume *volume, struct error *err)
{
    return node_call(
        "NodeUnpublishVolume",
        json_pack("{s:s, s:s}", "volume_id", volume->handle, "target_path", volume->target), NULL,
        err);
}

int node_grow(const struct test_volume *volume, long long size_bytes, struct error *err)
{
    if (node_call("ControllerExpandVolume",
                  json_pack("{s:s, s:{s:I}}", "volume_id", volume->handle, "capacity_range",
                            "required_bytes", (json_int_t)size_bytes),
                  NULL, err) < 0)
        return -1;
    return node_call("NodeExpandVolume",
                     json_pack("{s:s, s:s, s:{s:I}}", "volume_id", volume->handle, "volume_path",
                               volume->target, "capacity_range", "required_bytes",
                               (json_int_t)size_bytes),
                     NULL, err);
}

json_t *node_stats(const struct test_volume *volume, struct error *err)
{
    json_t *reply = NULL;

    if (node_call(
            "NodeGetVolumeStats",
            json_pack("{s:s, s:s}", "volume_id", volume->handle, "volume_path", volume->target),
            &reply, err) < 0)
        return NULL;
    return reply;
}

/* --- at once --- */

#define AT_ONCE 4

struct caller {
    pthread_t thread;
    node_step *step;
    const struct test_volume *volume;
    int result;
    struct error err;
};

static void *call_step(void *object)
{
    struct caller *caller = object;

    caller->result = caller->step(caller->volume, &caller->err);
    return NULL;
}

void node_calls_at_once(node_step *step, const struct test_volume *volume)
{
    struct caller callers[AT_ONCE] = {0};
    size_t failed = AT_ONCE;

    for (size_t i = 0; i < AT_ONCE; i++) {
        callers[i] = (struct caller){.step = step, .volume = volume};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_step, &callers[i]), 0);
    }
    for (size_t i = 0; i < AT_ONCE; i++) {
        pthread_join(callers[i].thread, NULL);
        if (callers[i].result < 0)
            failed = i;
    }
    if (failed < AT_ONCE)
        fail_msg("%s", callers[failed].err.message);
}

/* --- what most tests do --- */

void put_up(const struct test_volume *volume)
{
    must(node_stage(volume, &err));
    must(node_publish(volume, &err));
}

void take_down(const struct test_volume *volume)
{
    must(node_unpublish(volume, &err));
    must(node_unstage(volume, &err));
    assert_nothing_left();
}

void assert_file(const char *folder, const char *name, const char *wanted)
{
    _cleanup_free_ char *content = read_at(folder, name);

    assert_non_null(content);
    assert_string_equal(content, wanted);
}

void assert_not_writable(const char *folder)
{
    _cleanup_free_ char *path = xasprintf("%s/other", folder);

    assert_null(fopen(path, "we"));
    assert_int_equal(errno, EROFS);
}

void assert_nothing_left(void)
{
    _cleanup_free_ char *left = node_leftovers();

    assert_string_equal(left, "");
}

static bool is_abnormal(const json_t *stats)
{
    return json_is_true(json_object_get(json_object_get(stats, "volume_condition"), "abnormal"));
}

bool is_well(const struct test_volume *volume)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *stats = node_stats(volume, &err);

    return stats && !is_abnormal(stats);
}

bool is_sick(const struct test_volume *volume)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *stats = node_stats(volume, &err);

    if (!stats)
        fail_msg("%s", err.message);
    return is_abnormal(stats);
}

json_int_t total_of(const struct test_volume *volume, size_t index)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *stats = node_stats(volume, &err);

    if (!stats)
        fail_msg("%s", err.message);
    if (is_abnormal(stats))
        fail_msg("the volume is sick");
    const json_t *total =
        json_object_get(json_array_get(json_object_get(stats, "usage"), index), "total");
    return json_is_string(total) ? strtoll(json_string_value(total), NULL, 10)
                                 : json_integer_value(total);
}
