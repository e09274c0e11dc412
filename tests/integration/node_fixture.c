#include "tests/integration/node_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "common/base/text.h"
#include "tests/integration/cephfs.h"
#include "tests/test.h"

#define OUTPUT_LIMIT (1024 * 1024)
#define DEVICE_BYTES 4096

extern char **environ;

void node_fixture_isolate(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
        fprintf(stderr, "cannot make a mount namespace: run this test as root\n");
        exit(1);
    }
}

void node_fixture_init(struct test_node *node)
{
    char root[] = "/tmp/cephzone-node-XXXXXX";

    assert_non_null(mkdtemp(root));
    node->root = xstrdup(root);
    node->run_dir = xasprintf("%s/run", root);
    harness_init(&node->driver);
}

void node_fixture_start(struct test_node *node)
{
    _cleanup_free_ char *run_dir = xasprintf("--rundir=%s", node->run_dir);

    const char *flags[8] = {run_dir};
    size_t count = 1;

    if (node->flag)
        flags[count++] = node->flag;
    for (size_t i = 0; node->is_cephfs && CEPHFS_FLAGS[i]; i++)
        flags[count++] = CEPHFS_FLAGS[i];
    harness_start(&node->driver, flags);
}

void node_fixture_done(struct test_node *node)
{
    _cleanup_free_ char *exports = xasprintf("%s/fuse", node->run_dir);
    _cleanup_free_ char *left = node_leftovers(node);

    assert_string_equal(left, "");
    harness_done(&node->driver);
    _cleanup_free_ char *sockets = xasprintf("%s/qmp", node->run_dir);
    _cleanup_free_ char *keys = xasprintf("%s/keys", node->run_dir);
    rmdir(sockets);
    rmdir(keys);
    rmdir(exports);
    rmdir(node->run_dir);
    assert_int_equal(rmdir(node->root), 0);
    free(node->root);
    free(node->run_dir);
}

/* --- programs and files -------------------------------------------------------------------------
 */

char *run_program(const char *const *argv)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess spec = {
        .argv = argv,
        .environment = (const char *const *)environ,
        .deadline = deadline_in_ms(60000),
        .output_limit = OUTPUT_LIMIT,
    };

    if (subprocess_check(&spec, &result, &err) < 0)
        fail_msg("%s", err.message);
    return result.output.chars ? text_take(&result.output) : xstrdup("");
}

void write_at(const char *folder, const char *name, const char *content)
{
    _cleanup_free_ char *path = xasprintf("%s/%s", folder, name);
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static char *read_path(const char *path, int flags, size_t limit)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    char *bytes = NULL;

    if (fd < 0 || posix_memalign((void **)&bytes, DEVICE_BYTES, limit + DEVICE_BYTES) != 0)
        return NULL;
    memset(bytes, 0, limit + DEVICE_BYTES);
    if (read(fd, bytes, limit) >= 0)
        return bytes;
    free(bytes);
    return NULL;
}

char *read_at(const char *folder, const char *name)
{
    _cleanup_free_ char *path = xasprintf("%s/%s", folder, name);

    return read_path(path, 0, OUTPUT_LIMIT);
}

char *read_device(const char *path)
{
    return read_path(path, O_DIRECT, DEVICE_BYTES);
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

/* --- calls --------------------------------------------------------------------------------------
 */

static int make_call(struct test_node *node, struct harness_call *call, json_t *request,
                     json_t **reply, struct error *err)
{
    _cleanup_free_ char *text = json_dumps(request, 0);

    json_decref(request);
    assert_non_null(text);
    call->request = text;
    call->timeout_ms = 120000;
    return harness_call(&node->driver, call, reply, err);
}

int node_call(struct test_node *node, const char *method, json_t *request, json_t **reply,
              struct error *err)
{
    return make_call(node, &(struct harness_call){.method = method}, request, reply, err);
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

void test_volume_create(struct test_node *node, struct test_volume *volume, const char *name,
                        long long size_bytes)
{
    _cleanup_error_ struct error err = {0};
    const struct cephfs_wish wish = {.name = name, .size_bytes = size_bytes};
    char *handle = node->is_cephfs
                       ? cephfs_create(&node->driver, &wish, &err)
                       : harness_create_volume(&node->driver, name, "common", size_bytes, &err);

    if (!handle)
        fail_msg("%s", err.message);
    test_volume_adopt(node, volume, name, handle);
}

void test_volume_adopt(struct test_node *node, struct test_volume *volume, const char *name,
                       char *handle)
{
    volume->handle = handle;
    if (!volume->mode)
        volume->mode = "SINGLE_NODE_WRITER";
    volume->staging = xasprintf("%s/staging-%s", node->root, name);
    volume->target = xasprintf("%s/target-%s", node->root, name);
    assert_int_equal(mkdir(volume->staging, 0700), 0);
}

void test_volume_delete(struct test_node *node, struct test_volume *volume)
{
    must(harness_delete_volume(&node->driver, volume->handle, &err));
    assert_int_equal(rmdir(volume->staging), 0);
    free(volume->handle);
    free(volume->staging);
    free(volume->target);
}

static json_t *context(const struct test_volume *volume)
{
    json_t *context = json_pack("{s:s}", "mounter", "fuse");

    if (volume->key)
        json_object_set_new(context, volume->key, json_string(volume->value));
    return context;
}

int node_stage(struct test_node *node, const struct test_volume *volume, struct error *err)
{
    return node_call(node, "NodeStageVolume",
                     json_pack("{s:s, s:s, s:o, s:o}", "volume_id", volume->handle,
                               "staging_target_path", volume->staging, "volume_capability",
                               capability(volume), "volume_context", context(volume)),
                     NULL, err);
}

int node_unstage(struct test_node *node, const struct test_volume *volume, struct error *err)
{
    return node_call(node, "NodeUnstageVolume",
                     json_pack("{s:s, s:s}", "volume_id", volume->handle, "staging_target_path",
                               volume->staging),
                     NULL, err);
}

int node_publish(struct test_node *node, const struct test_volume *volume, struct error *err)
{
    return make_call(node,
                     &(struct harness_call){.method = "NodePublishVolume",
                                            .without_secrets = volume->without_secrets},
                     json_pack("{s:s, s:s, s:s, s:o, s:b, s:o}", "volume_id", volume->handle,
                               "staging_target_path", volume->staging, "target_path",
                               volume->target, "volume_capability", capability(volume), "readonly",
                               volume->read_only, "volume_context", context(volume)),
                     NULL, err);
}

int node_unpublish(struct test_node *node, const struct test_volume *volume, struct error *err)
{
    return node_call(
        node, "NodeUnpublishVolume",
        json_pack("{s:s, s:s}", "volume_id", volume->handle, "target_path", volume->target), NULL,
        err);
}

int node_grow(struct test_node *node, const struct test_volume *volume, long long size_bytes,
              struct error *err)
{
    if (node_call(node, "ControllerExpandVolume",
                  json_pack("{s:s, s:{s:I}}", "volume_id", volume->handle, "capacity_range",
                            "required_bytes", (json_int_t)size_bytes),
                  NULL, err) < 0)
        return -1;
    return node_call(node, "NodeExpandVolume",
                     json_pack("{s:s, s:s, s:{s:I}}", "volume_id", volume->handle, "volume_path",
                               volume->target, "capacity_range", "required_bytes",
                               (json_int_t)size_bytes),
                     NULL, err);
}

json_t *node_stats(struct test_node *node, const struct test_volume *volume, struct error *err)
{
    json_t *reply = NULL;

    if (node_call(
            node, "NodeGetVolumeStats",
            json_pack("{s:s, s:s}", "volume_id", volume->handle, "volume_path", volume->target),
            &reply, err) < 0)
        return NULL;
    return reply;
}

/* --- at once -----------------------------------------------------------------------------------
 */

#define AT_ONCE 4

struct caller {
    pthread_t thread;
    struct test_node *node;
    node_step *step;
    const struct test_volume *volume;
    int result;
    struct error err;
};

static void *call_step(void *object)
{
    struct caller *caller = object;

    caller->result = caller->step(caller->node, caller->volume, &caller->err);
    return NULL;
}

void node_calls_at_once(struct test_node *node, node_step *step, const struct test_volume *volume)
{
    struct caller callers[AT_ONCE] = {0};
    unsigned done = 0;

    for (size_t i = 0; i < AT_ONCE; i++) {
        callers[i] = (struct caller){.node = node, .step = step, .volume = volume};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_step, &callers[i]), 0);
    }
    for (size_t i = 0; i < AT_ONCE; i++) {
        pthread_join(callers[i].thread, NULL);
        if (callers[i].result == 0)
            done++;
        else
            assert_int_equal(callers[i].err.status, STATUS_ABORTED);
        error_clear(&callers[i].err);
    }
    assert_true(done >= 1);
}

/* --- what is left -------------------------------------------------------------------------------
 */

static void add_loops(const struct test_node *node, struct text *out)
{
    _cleanup_free_ char *list = run_program(
        (const char *[]){"losetup", "--list", "--noheadings", "--output", "BACK-FILE", NULL});
    char *rest = NULL;

    for (char *line = strtok_r(list, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (strstr(line, node->root))
            text_addf(out, "loop %s\n", line);
}

static void add_mounts(const struct test_node *node, struct text *out)
{
    _cleanup_free_ char *table = read_at("/proc/self", "mountinfo");
    char *rest = NULL;

    for (char *line = strtok_r(table, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char target[512] = "";

        if (strstr(line, node->root) && sscanf(line, "%*s %*s %*s %*s %511s", target) == 1)
            text_addf(out, "mount %s %s\n", target, strstr(line, " ro,") ? "ro" : "rw");
    }
}

static bool command_has(const char *pid, const char *argument)
{
    _cleanup_free_ char *folder = xasprintf("/proc/%s", pid);
    _cleanup_free_ char *command = read_at(folder, "cmdline");

    if (!command ||
        !(text_has_prefix(command, "qemu-storage-daemon") || text_has_prefix(command, "ceph-fuse")))
        return false;
    for (size_t i = 0; i < OUTPUT_LIMIT && command[i]; i += strlen(command + i) + 1)
        if (strstr(command + i, argument))
            return true;
    return false;
}

static unsigned count_daemons(const char *argument, pid_t *last)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry = NULL;
    unsigned count = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            command_has(entry->d_name, argument)) {
            *last = (pid_t)strtol(entry->d_name, NULL, 10);
            count++;
        }
    closedir(folder);
    return count;
}

pid_t daemon_of(const struct test_node *node, const struct test_volume *volume)
{
    _cleanup_free_ char *image = image_of(volume->handle);
    _cleanup_free_ char *file = xasprintf("%s/fuse/common%%2F%s/export", node->run_dir, image);
    pid_t pid = 0;

    return count_daemons(node->is_cephfs ? volume->staging : file, &pid) ? pid : 0;
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *node_leftovers(const struct test_node *node)
{
    struct text out = TEXT_INIT(OUTPUT_LIMIT);
    _cleanup_free_ char *files = run_program(
        (const char *[]){"find",  node->root,  "-xdev",   "-mindepth",    "1",          "-not",
                         "-path", "*/run",     "-not",    "-path",        "*/run/fuse", "-not",
                         "-path", "*/run/qmp", "-not",    "-path",        "*/run/keys", "-not",
                         "-name", "staging-*", "-printf", "file %p %y\n", NULL});
    char *lines[256];
    size_t count = 0;
    char *rest = NULL;
    pid_t last = 0;

    add_loops(node, &out);
    add_mounts(node, &out);
    unsigned daemons = count_daemons(node->is_cephfs ? node->root : node->run_dir, &last);
    if (daemons)
        text_addf(&out, "%u daemons\n", daemons);
    for (char *line = strtok_r(files, "\n", &rest); line && count < ARRAY_LENGTH(lines);
         line = strtok_r(NULL, "\n", &rest))
        lines[count++] = line;
    if (count)
        qsort(lines, count, sizeof(lines[0]), compare_lines);
    for (size_t i = 0; i < count; i++)
        text_addf(&out, "%s\n", lines[i]);
    return out.chars ? text_take(&out) : xstrdup("");
}
