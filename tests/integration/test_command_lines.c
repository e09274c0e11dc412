/*
 * Every command line with which a deployment of Ceph-CSI starts its containers starts this driver,
 * which then serves what its type serves. The paths of a pod are those of a folder here, which is
 * the working directory, as '/' is in a pod; the metrics are on a free port; the Kubernetes API is
 * a fake one. All else is as the deployment has it.
 */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/fakes/flapping_kube.h"
#include "tests/integration/liveness_process.h"
#include "tests/test.h"
#include "tests/unit/fixtures/command_lines.h"

#define END_MS 120000

/* Where containers run: the folders that a pod mounts, and the API server. */
struct pod {
    char *folder;
    struct fake_kube *fake;
    struct flapping_kube server;
};

static void add_folder(const struct pod *pod, const char *name)
{
    _cleanup_free_ char *path = xasprintf("%s/%s", pod->folder, name);

    assert_int_equal(mkdir(path, 0700), 0);
}

static void write_kubeconfig(const struct pod *pod)
{
    _cleanup_free_ char *path = xasprintf("%s/kubeconfig", pod->folder);
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fprintf(file,
            "{\"current-context\": \"t\", \"users\": [{\"name\": \"u\", \"user\": {}}],"
            " \"clusters\": [{\"name\": \"c\", \"cluster\": {\"server\": \"%s\"}}],"
            " \"contexts\": [{\"name\": \"t\", \"context\": {\"cluster\": \"c\", \"user\": \"u\","
            " \"namespace\": \"rook-ceph\"}}]}",
            flapping_server_url(pod->server.server));
    assert_int_equal(fclose(file), 0);
    setenv("KUBERNETES_CONFIG_PATH", path, 1);
    setenv("POD_IP", "127.0.0.1", 1);
}

static void pod_init(struct pod *pod)
{
    char folder[] = "/tmp/cephzone-test-XXXXXX";

    assert_non_null(mkdtemp(folder));
    pod->folder = xstrdup(folder);
    add_folder(pod, "csi");
    add_folder(pod, "csi-logs");
    add_folder(pod, "rook");
    pod->fake = fake_kube_new();
    flapping_kube_start(&pod->server, pod->fake);
    write_kubeconfig(pod);
    fake_kube_put(pod->fake, "/api/v1/nodes/node-1",
                  "{\"metadata\":{\"labels\":{\"kubernetes.io/hostname\":\"node-1\","
                  "\"topology.rook.io/rack\":\"r1\",\"failure-domain/region\":\"region-1\","
                  "\"failure-domain/zone\":\"zone-a\",\"topology.kubernetes.io/zone\":\"zone-a\","
                  "\"topology.kubernetes.io/region\":\"region-1\"}}}");
}

static void pod_done(struct pod *pod)
{
    free(harness_run_tool((const char *[]){"rm", "-r", pod->folder, NULL}));
    flapping_kube_stop(&pod->server);
    fake_kube_free(pod->fake);
    free(pod->folder);
}
#define _cleanup_pod_ _cleanup_(pod_done)

/* --- a container of it --- */

/* A word of the line; a path of the pod in it is in @pod's folder instead. Caller frees. */
static char *move_path(const struct pod *pod, const char *word)
{
    static const struct {
        const char *before; /* the path */
        const char *path;
        const char *name; /* in the folder */
    } moves[] = {{"=unix://", "/csi/", "csi/"}, {"=", "/var/lib/rook/", "rook/"}};

    for (size_t i = 0; i < ARRAY_LENGTH(moves); i++) {
        _cleanup_free_ char *pattern = xasprintf("%s%s", moves[i].before, moves[i].path);
        const char *found = strstr(word, pattern);

        if (found)
            return xasprintf("%.*s%s%s/%s%s", (int)(found - word), word, moves[i].before,
                             pod->folder, moves[i].name, found + strlen(pattern));
    }
    return xstrdup(word);
}

/* The value of the line's flag; NULL if it has none. */
static const char *find_value(const struct string_list *argv, const char *flag)
{
    for (size_t i = 0; i < argv->count; i++)
        if (text_has_prefix(argv->items[i], flag))
            return argv->items[i] + strlen(flag);
    return NULL;
}

/* What the pod's container executes. */
static void make_arguments(const struct pod *pod, const struct command_line *line,
                           struct string_list *argv)
{
    _cleanup_free_ char *copy = NULL;
    _cleanup_free_ char *program = realpath(getenv("CEPHCSI"), NULL);
    char *words[COMMAND_LINE_WORDS];
    int count = command_line_split(line->arguments, &copy, words);

    assert_non_null(program);
    string_list_add(argv, program);
    for (int i = 1; i < count; i++) {
        _cleanup_free_ char *word = move_path(pod, words[i]);

        string_list_add(argv, word);
    }
    if (strcmp(line->type, "liveness") == 0)
        string_list_add(argv, "--metricsport=0");
    if (!find_value(argv, "--endpoint=")) {
        _cleanup_free_ char *endpoint = xasprintf("--endpoint=unix://%s/csi/csi.sock", pod->folder);

        string_list_add(argv, endpoint);
    }
}

/* A container, and the arguments that it has. */
struct container {
    const struct command_line *line;
    struct driver_process process;
    struct string_list argv;
};

static void container_start(struct container *container, const struct pod *pod,
                            const struct command_line *line)
{
    container->line = line;
    make_arguments(pod, line, &container->argv);
    container->process = (struct driver_process){
        .endpoint = xstrdup(find_value(&container->argv, "--endpoint=")),
        .log_path = xasprintf("%s/%s.log", pod->folder, line->type),
    };
    _cleanup_free_ char **argv = xcalloc(container->argv.count + 1, sizeof(char *));
    memcpy(argv, container->argv.items, container->argv.count * sizeof(char *));
    harness_spawn(&container->process, pod->folder, argv);
}

/* Ends it, which it must do well. */
static void container_stop(struct container *container)
{
    if (container->process.pid)
        assert_int_equal(harness_stop(&container->process, SIGTERM, END_MS), 0);
    free(container->process.endpoint);
    free(container->process.log_path);
    string_list_done(&container->argv);
}
#define _cleanup_container_ _cleanup_(container_stop)

/* --- what it serves then --- */

/* What a call without arguments is answered with. */
static enum status call_plainly(struct container *container, const char *method, json_t **reply)
{
    _cleanup_error_ struct error err = {0};
    const struct harness_call call = {.method = method, .request = "{}", .without_secrets = true};

    return harness_call(&container->process, &call, reply, &err) < 0 ? err.status : STATUS_OK;
}

/* As Ceph-CSI names them: by what a label has behind its prefix. */
static void assert_has_segments(const json_t *segments, const char *driver, const char *labels)
{
    _cleanup_free_ char *copy = xstrdup(labels);
    char *rest = NULL;

    for (char *label = strtok_r(copy, ",", &rest); label; label = strtok_r(NULL, ",", &rest)) {
        _cleanup_free_ char *key = xasprintf("topology.%s%s", driver, strchr(label, '/'));

        if (!json_is_string(json_object_get(segments, key)))
            fail_msg("the node has no segment '%s'", key);
    }
}

/* The node is named, and is where its labels say if the line asks for them. */
static void assert_node_is_known(struct container *container)
{
    const char *labels = find_value(&container->argv, "--domainlabels=");
    json_auto_t *node = NULL;

    assert_int_equal(call_plainly(container, "NodeGetInfo", &node), STATUS_OK);
    assert_string_equal(json_string_value(json_object_get(node, "node_id")), "node-1");
    const json_t *topology = json_object_get(node, "accessible_topology");
    const json_t *segments = json_object_get(topology, "segments");
    if (labels)
        assert_has_segments(segments, container->line->driver, labels);
    else
        assert_int_equal(json_object_size(segments), 0);
}

static void assert_services(struct container *container)
{
    const struct command_line *line = container->line;
    json_auto_t *info = NULL;

    assert_int_equal(call_plainly(container, "GetPluginInfo", &info), STATUS_OK);
    assert_string_equal(json_string_value(json_object_get(info, "name")), line->driver);
    assert_int_equal(call_plainly(container, "ControllerGetCapabilities", NULL),
                     line->controller ? STATUS_OK : STATUS_UNIMPLEMENTED);
    if (line->node)
        assert_node_is_known(container);
    else
        assert_int_equal(call_plainly(container, "NodeGetInfo", NULL), STATUS_UNIMPLEMENTED);
}

/* The second socket, which the sidecar of csi-addons asks as soon as it runs. */
static void assert_addons_answer(const struct container *container)
{
    const char *endpoint = find_value(&container->argv, "--csi-addons-endpoint=");
    _cleanup_error_ struct error err = {0};
    struct container addons = {0};
    json_auto_t *identity = NULL;

    if (!endpoint)
        return;
    assert_int_equal(rpc_client_new(endpoint, &addons.process.client, &err), 0);
    assert_int_equal(call_plainly(&addons, "GetIdentity", &identity), STATUS_OK);
    rpc_client_free(addons.process.client);
    assert_string_equal(json_string_value(json_object_get(identity, "name")),
                        container->line->driver);
}

/* The file that the line names, in a folder that was there. */
static void assert_log_is_written(const struct pod *pod, const struct container *container)
{
    const char *file = find_value(&container->argv, "--log_file=");
    struct stat log;

    if (!file || text_has_prefix(file, "/"))
        return;
    _cleanup_free_ char *path = xasprintf("%s/%s", pod->folder, file);
    if (stat(path, &log) < 0 || log.st_size == 0)
        fail_msg("nothing is logged to '%s'", path);
}

static void driver_serves(const struct pod *pod, const struct command_line *line)
{
    _cleanup_container_ struct container container = {0};

    container_start(&container, pod, line);
    harness_connect(&container.process);
    assert_services(&container);
    assert_addons_answer(&container);
    assert_log_is_written(pod, &container);
}

/* Beside the driver whose socket it probes. */
static void liveness_serves(const struct pod *pod, const struct command_line *line)
{
    _cleanup_container_ struct container driver = {0};
    _cleanup_container_ struct container container = {0};

    container_start(&driver, pod, &COMMAND_LINES[0]);
    harness_connect(&driver.process);
    container_start(&container, pod, line);
    struct liveness_process liveness = {.pid = container.process.pid,
                                        .log_path = container.process.log_path};
    liveness_find_port(&liveness);
    liveness_assert_answers(&liveness, "/metrics", "200", "csi_liveness 1");
}

/* It has no socket; what it does begins with its Lease. */
static void generator_serves(const struct pod *pod, const struct command_line *line)
{
    _cleanup_container_ struct container container = {0};
    _cleanup_free_ char *lease = NULL;
    json_t *found = NULL;

    container_start(&container, pod, line);
    const char *name_space = find_value(&container.argv, "--drivernamespace=");
    lease = xasprintf("/apis/coordination.k8s.io/v1/namespaces/%s/leases/%s-%s", name_space,
                      line->driver, name_space);
    wait_until((found = fake_kube_get(pod->fake, lease)) != NULL);
    json_decref(found);
}

/* A test of its own for each line, named after the deployment. */
static void line_starts_the_driver(void **state)
{
    const struct command_line *line = *state;
    _cleanup_pod_ struct pod pod = {0};

    pod_init(&pod);
    if (strcmp(line->type, "liveness") == 0)
        liveness_serves(&pod, line);
    else if (strcmp(line->type, "controller") == 0)
        generator_serves(&pod, line);
    else
        driver_serves(&pod, line);
}

static void add_lines(void)
{
    for (size_t i = 0; i < COMMAND_LINE_COUNT; i++)
        test_add((struct CMUnitTest){.name = COMMAND_LINES[i].deployment,
                                     .test_func = line_starts_the_driver,
                                     .initial_state = (void *)(uintptr_t)&COMMAND_LINES[i]});
}

TEST_CASES(add_lines)
TEST_GROUP(harness_begin, harness_end)
TEST_CLEANUP(harness_kill_drivers)
