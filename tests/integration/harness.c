#include "tests/integration/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/backoff.h"
#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/rpc/message.h"
#include "common/rpc/rpc.h"
#include "tests/integration/place.h"

#include "cephzone.pb-c.h"
#include "csi.pb-c.h"
#include "csiaddons_fence.pb-c.h"
#include "csiaddons_identity.pb-c.h"
#include "csiaddons_reclaimspace.pb-c.h"
#include "csiaddons_replication.pb-c.h"
#include "tests/test.h"

#define OUTPUT_LIMIT (8 * 1024 * 1024)
#define REPORT_LINES 200 /* of a sanitizer, for the test's output */
#define LOG_END 8192     /* of a driver that died */
#define START_MS 120000
/* csi-provisioner and kubelet go on for ever; a test ends */
#define RETRY_FIRST_MS 50
#define RETRY_LIMIT_MS 2000
#define RETRY_TOTAL_MS 180000
#define RETRIES_MAX 200
/* longer than tools wait for anything themselves, so that they can say for what */
#define TOOL_MS 300000

extern char **environ;

static const char *need_env(const char *name)
{
    const char *value = getenv(name);

    if (!value) {
        fprintf(stderr, "%s is not set: run this test with 'make integration'\n", name);
        exit(1);
    }
    return value;
}

static char *read_file(const char *path)
{
    _cleanup_text_ struct text content = TEXT_INIT(OUTPUT_LIMIT);
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char chunk[4096];
    size_t length = 0;

    if (!file)
        fail_msg("cannot open '%s'", path);
    while ((length = fread(chunk, 1, sizeof(chunk), file)) > 0)
        text_add_bytes(&content, chunk, length);
    return text_take(&content);
}

const struct harness_cluster *harness_cluster(void)
{
    static struct harness_cluster cluster;

    if (!cluster.fsid) {
        cluster.monitors = need_env("MONITORS");
        cluster.user = need_env("CSI_USER");
        cluster.key = read_file(need_env("CSI_KEY_FILE"));
        cluster.key[strcspn(cluster.key, "\n")] = '\0';
        cluster.fsid = need_env("FSID");
    }
    return &cluster;
}

static void write_file(const char *path, const char *content)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    if (!file || fputs(content, file) < 0)
        fail_msg("cannot write '%s'", path);
}

/* As a ConfigMap is replaced: the new version appears at once. */
void harness_write_config(struct driver_process *driver, const char *json)
{
    _cleanup_free_ char *temporary = xasprintf("%s.new", driver->config_path);

    write_file(temporary, json);
    assert_int_equal(rename(temporary, driver->config_path), 0);
}

int harness_begin(void **state)
{
    (void)state;
    rpc_init();
    return 0;
}

int harness_end(void **state)
{
    (void)state;
    rpc_shutdown();
    return 0;
}

void harness_init(struct driver_process *driver)
{
    const struct harness_cluster *cluster = harness_cluster();
    char folder[] = "/tmp/cephzone-test-XXXXXX";

    assert_non_null(mkdtemp(folder));
    *driver = (struct driver_process){
        .folder = xstrdup(folder),
        .config_path = xasprintf("%s/config.json", folder),
        .endpoint = xasprintf("unix://%s/csi.sock", folder),
        .log_path = xasprintf("%s/driver.log", folder),
    };
    _cleanup_free_ char *config = xasprintf("[{\"clusterID\":\"%s\",\"monitors\":[\"%s\"]}]",
                                            cluster->fsid, cluster->monitors);
    harness_write_config(driver, config);
}

/* --- the processes --- */

/* Drivers that were started; what has become of them the kernel knows. */
static pid_t started[16];

static bool is_unreaped(pid_t pid)
{
    siginfo_t ended;

    return pid && waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void remember_driver(pid_t pid)
{
    size_t i = 0;

    while (i < ARRAY_LENGTH(started) && is_unreaped(started[i]))
        i++;
    assert_true(i < ARRAY_LENGTH(started));
    started[i] = pid;
}

void harness_kill_drivers(void)
{
    for (size_t i = 0; i < ARRAY_LENGTH(started); i++)
        if (is_unreaped(started[i])) {
            kill(started[i], SIGKILL);
            waitpid(started[i], NULL, 0);
        }
}

void harness_clean_up(void)
{
    harness_kill_drivers();
    place_wipe_pools();
}

void harness_spawn(struct driver_process *driver, const char *folder, char *const *argv)
{
    posix_spawn_file_actions_t actions;

    posix_spawn_file_actions_init(&actions);
    if (folder)
        posix_spawn_file_actions_addchdir_np(&actions, folder);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, driver->log_path,
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_int_equal(posix_spawn(&driver->pid, argv[0], &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    remember_driver(driver->pid);
}

/* Prints the end of its log if the driver has ended in a way that no test asks for. */
static bool driver_has_died(const struct driver_process *driver)
{
    siginfo_t ended = {0};

    if (!driver->pid || waitid(P_PID, (id_t)driver->pid, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        ended.si_pid == 0 || ended.si_status == 0 || ended.si_status == SIGKILL)
        return false;
    _cleanup_free_ char *log = read_file(driver->log_path);
    size_t length = strlen(log);
    print_error("the driver has ended with %s %d; the end of its log:\n%s\n",
                ended.si_code == CLD_EXITED ? "status" : "signal", ended.si_status,
                length > LOG_END ? log + length - LOG_END : log);
    return true;
}

void harness_connect(struct driver_process *driver)
{
    Csi__V1__ProbeRequest request = CSI__V1__PROBE_REQUEST__INIT;
    struct deadline end = deadline_in_ms(START_MS);
    struct rpc_request probe = {
        .path = "/csi.v1.Identity/Probe",
        .message = &request.base,
        .response = &csi__v1__probe_response__descriptor,
        .wait_for_ready = true,
    };

    for (;;) {
        _cleanup_error_ struct error err = {0};
        _cleanup_(message_freep) ProtobufCMessage *reply = NULL;

        probe.deadline = deadline_in_ms(START_MS / 60);
        if (!driver->client && rpc_client_new(driver->endpoint, &driver->client, &err) < 0)
            fail_msg("no client for %s: %s", driver->endpoint, err.message);
        if (rpc_client_call(driver->client, &probe, &reply, &err) == 0)
            return;
        if (driver_has_died(driver) || deadline_has_passed(end))
            fail_msg("the driver does not answer: %s; its log is %s", err.message,
                     driver->log_path);
    }
}

void harness_start(struct driver_process *driver, const char *const *extra)
{
    _cleanup_string_list_ struct string_list argv = {0};
    _cleanup_free_ char *endpoint = xasprintf("--endpoint=%s", driver->endpoint);
    _cleanup_free_ char *config = xasprintf("--configpath=%s", driver->config_path);

    string_list_add(&argv, need_env("CEPHCSI"));
    string_list_add(&argv, "--type=rbd");
    string_list_add(&argv, "--drivername=rbd.csi.ceph.com");
    string_list_add(&argv, "--nodeid=node-1");
    string_list_add(&argv, "--controllerserver");
    string_list_add(&argv, "--nodeserver");
    string_list_add(&argv, "--v=5");
    string_list_add(&argv, endpoint);
    string_list_add(&argv, config);
    for (size_t i = 0; extra && extra[i]; i++)
        string_list_add(&argv, extra[i]);
    argv.items = xreallocarray(argv.items, argv.count + 1, sizeof(char *));
    argv.items[argv.count] = NULL;
    harness_spawn(driver, NULL, argv.items);
    harness_connect(driver);
}

/* Of ASan, LSan and TSan, and of UBSan, which has one line. */
static bool begins_report(const char *line)
{
    return strstr(line, "Sanitizer: ") || strstr(line, ": runtime error: ");
}

static bool ends_report(const char *line)
{
    return strstr(line, "SUMMARY: ") || strstr(line, ": runtime error: ");
}

void harness_assert_no_report(const char *log_path)
{
    _cleanup_fclose_ FILE *file = fopen(log_path, "re");
    _cleanup_free_ char *line = NULL;
    size_t size = 0;
    size_t printed = 0;
    bool inside = false;

    if (!file)
        fail_msg("cannot open '%s'", log_path);
    while (printed < REPORT_LINES && getline(&line, &size, file) > 0) {
        inside = inside || begins_report(line);
        if (inside) {
            print_error("%s", line);
            printed++;
        }
        inside = inside && !ends_report(line);
    }
    if (printed > 0)
        fail_msg("a sanitizer found this in the process that wrote %s", log_path);
}

int harness_stop(struct driver_process *driver, int signal_number, int64_t timeout_ms)
{
    struct deadline deadline = deadline_in_ms(timeout_ms);
    int status = 0;

    if (is_unreaped(driver->pid)) /* else harness_kill_drivers() was here */
        kill(driver->pid, signal_number);
    while (waitpid(driver->pid, &status, WNOHANG) == 0) {
        if (deadline_has_passed(deadline))
            fail_msg("the driver did not end within %lld ms; its log is %s", (long long)timeout_ms,
                     driver->log_path);
        usleep(5000);
    }
    driver->pid = 0;
    rpc_client_free(driver->client);
    driver->client = NULL;
    harness_assert_no_report(driver->log_path);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void harness_done(struct driver_process *driver)
{
    static const char *const files[] = {"config.json", "driver.log", "csi.sock", "csi-addons.sock"};

    if (driver->pid)
        assert_int_equal(harness_stop(driver, SIGTERM, 120000), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        _cleanup_free_ char *path = xasprintf("%s/%s", driver->folder, files[i]);

        unlink(path);
    }
    _cleanup_free_ char *mount_info = xasprintf("%s/mountinfo", driver->folder);
    rmdir(mount_info); /* of a CephFS node */
    rmdir(driver->folder);
    free(driver->folder);
    free(driver->config_path);
    free(driver->endpoint);
    free(driver->log_path);
    *driver = (struct driver_process){0};
}

char *harness_log(const struct driver_process *driver)
{
    return read_file(driver->log_path);
}

static const ProtobufCServiceDescriptor *const SERVICES[] = {
    &csi__v1__identity__descriptor,
    &csi__v1__controller__descriptor,
    &csi__v1__group_controller__descriptor,
    &csi__v1__node__descriptor,
    &cephzone__v1__health__descriptor,
    &fence__fence_controller__descriptor,
    &identity__identity__descriptor,
    &reclaimspace__reclaim_space_controller__descriptor,
    &reclaimspace__reclaim_space_node__descriptor,
    &replication__controller__descriptor,
};

/* @method is "Probe", or "identity.Identity/Probe" where more than one service has it. */
static const ProtobufCMethodDescriptor *find_method(const char *method_name, char **path)
{
    const char *slash = strchr(method_name, '/');
    const char *name = slash ? slash + 1 : method_name;

    for (size_t i = 0; i < ARRAY_LENGTH(SERVICES); i++) {
        if (slash && strncmp(SERVICES[i]->name, method_name, (size_t)(slash - method_name)) != 0)
            continue;
        const ProtobufCMethodDescriptor *method =
            protobuf_c_service_descriptor_get_method_by_name(SERVICES[i], name);

        if (method) {
            *path = xasprintf("/%s/%s", SERVICES[i]->name, name);
            return method;
        }
    }
    fail_msg("no method '%s'", name);
    return NULL;
}

static ProtobufCMessage *build_request(const struct harness_call *call,
                                       const ProtobufCMessageDescriptor *type)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_error_ struct error err = {0};
    ProtobufCMessage *message = NULL;
    json_auto_t *json = json_loads(call->request, 0, NULL);

    assert_non_null(json);
    if (!call->without_secrets && protobuf_c_message_descriptor_get_field_by_name(type, "secrets"))
        json_object_set_new(json, "secrets",
                            json_pack("{s:s, s:s}", "userID", call->user ?: cluster->user,
                                      "userKey", call->key ?: cluster->key));
    if (message_parse_json(type, json, &message, &err) < 0)
        fail_msg("bad request in the test: %s", err.message);
    return message;
}

static json_t *to_json(const ProtobufCMessage *message)
{
    _cleanup_text_ struct text text = TEXT_INIT(OUTPUT_LIMIT);

    message_print_json(message, &text);
    return json_loads(text_chars(&text), 0, NULL);
}

/* Calls that were made again, by the status they had got. */
static atomic_uint retries[STATUS_UNAUTHENTICATED + 1];

__attribute__((destructor)) static void print_retries(void)
{
    for (size_t i = 0; i < ARRAY_LENGTH(retries); i++)
        if (retries[i] > 0)
            printf("figure: %u calls that were told %s were made again\n", retries[i],
                   status_name((enum status)i));
}

static bool is_worth_a_retry(enum status status)
{
    return status == STATUS_ABORTED || status == STATUS_UNAVAILABLE ||
           status == STATUS_DEADLINE_EXCEEDED;
}

/* Waits before the next try of a call that failed with @err; false if there is to be none. */
static bool wait_for_retry(struct backoff *backoff, struct deadline end, const struct error *err)
{
    if (!is_worth_a_retry(err->status) || backoff->failures >= RETRIES_MAX ||
        deadline_has_passed(end))
        return false;
    usleep((useconds_t)(backoff_next_ms(backoff) * 1000));
    retries[err->status]++;
    return true;
}

int harness_call(struct driver_process *driver, const struct harness_call *call, json_t **reply,
                 struct error *err)
{
    struct backoff backoff = BACKOFF_INIT(RETRY_FIRST_MS, RETRY_LIMIT_MS);
    struct deadline end = deadline_in_ms(RETRY_TOTAL_MS);
    _cleanup_free_ char *path = NULL;
    const ProtobufCMethodDescriptor *method = find_method(call->method, &path);
    _cleanup_(message_freep) ProtobufCMessage *message = build_request(call, method->input);
    _cleanup_(message_freep) ProtobufCMessage *answer = NULL;
    struct rpc_request request = {.path = path, .message = message, .response = method->output};

    for (;;) {
        request.deadline = deadline_in_ms(call->timeout_ms ? call->timeout_ms : 60000);
        if (rpc_client_call(driver->client, &request, &answer, err) == 0)
            break;
        if (driver_has_died(driver) || call->once || driver->once ||
            !wait_for_retry(&backoff, end, err))
            return -1;
        error_clear(err);
    }
    if (reply)
        *reply = to_json(answer);
    return 0;
}

char *harness_create_request(const char *name, const char *pool, long long size_bytes)
{
    json_auto_t *request =
        json_pack("{s:s, s:{s:I}, s:[{s:{s:s}, s:{}}], s:{s:s, s:s}}", "name", name,
                  "capacity_range", "required_bytes", (json_int_t)size_bytes, "volume_capabilities",
                  "access_mode", "mode", "SINGLE_NODE_WRITER", "block", "parameters", "clusterID",
                  harness_cluster()->fsid, "pool", pool);

    assert_non_null(request);
    return json_dumps(request, 0);
}

char *harness_create_volume(struct driver_process *driver, const char *name, const char *pool,
                            long long size_bytes, struct error *err)
{
    _cleanup_free_ char *request = harness_create_request(name, pool, size_bytes);
    json_auto_t *reply = NULL;

    if (harness_call(driver, &(struct harness_call){.method = "CreateVolume", .request = request},
                     &reply, err) < 0)
        return NULL;
    return xstrdup(
        json_string_value(json_object_get(json_object_get(reply, "volume"), "volume_id")));
}

int harness_delete_volume(struct driver_process *driver, const char *handle, struct error *err)
{
    _cleanup_free_ char *request = xasprintf("{\"volume_id\":\"%s\"}", handle);

    return harness_call(
        driver, &(struct harness_call){.method = "DeleteVolume", .request = request}, NULL, err);
}

char *harness_run_tool(const char *const *argv)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess spec = {
        .argv = argv,
        .environment = (const char *const *)environ,
        .deadline = deadline_in_ms(TOOL_MS),
        .output_limit = OUTPUT_LIMIT,
    };

    if (subprocess_check(&spec, &result, &err) < 0)
        fail_msg("%s", err.message);
    return text_take(&result.output);
}

/* Objects that stay in a pool once it was used; what they hold in their omaps is looked at. */
static bool is_directory(const char *object)
{
    return strcmp(object, "rbd_directory") == 0 || strcmp(object, "rbd_trash") == 0 ||
           strcmp(object, "rbd_children") == 0 || text_has_prefix(object, "csi.volumes.") ||
           text_has_prefix(object, "csi.snaps.") || text_has_prefix(object, "csi.groups.");
}

struct pool_listing {
    const char *pool;
    struct text text;
};

static void add_keys(struct pool_listing *listing, const char *rados_namespace, const char *object)
{
    _cleanup_place_ struct place place = place_open(listing->pool, rados_namespace);
    _cleanup_string_list_ struct string_list keys = {0};

    place_keys(&place, object, &keys);
    if (strcmp(object, "rbd_directory") == 0 && keys.count == 1 &&
        strcmp(keys.items[0], "state") == 0)
        return; /* what making a namespace leaves */
    for (size_t i = 0; i < keys.count; i++)
        text_addf(&listing->text, "key %s/%s/%s %s\n", listing->pool, rados_namespace, object,
                  keys.items[i]);
}

static void add_object(void *context, const char *rados_namespace, const char *object)
{
    struct pool_listing *listing = context;

    if (strcmp(object, "rbd_info") == 0 || strcmp(object, "rbd_task") == 0 ||
        strcmp(object, "rbd_namespace") == 0)
        return;
    if (is_directory(object))
        add_keys(listing, rados_namespace, object);
    else
        text_addf(&listing->text, "object %s/%s/%s\n", listing->pool, rados_namespace, object);
}

char *harness_pool_contents(const char *pool)
{
    struct pool_listing listing = {pool, TEXT_INIT(OUTPUT_LIMIT)};

    pool_each_object(pool, add_object, &listing);
    return text_take(&listing.text);
}

void harness_assert_pool_empties(const char *pool)
{
    struct test_wait wait = {0};
    char *contents = harness_pool_contents(pool);

    while (contents[0] && test_wait_more(&wait)) {
        free(contents);
        contents = harness_pool_contents(pool);
    }
    if (contents[0])
        fail_msg("left in the pool:\n%s", contents);
    free(contents);
}
