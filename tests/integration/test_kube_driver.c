/* Real drivers beside an API server that flaps: what they read there, and that they serve without
 * it. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <rados/librados.h>
#include <rbd/librbd.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/deadline.h"
#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "common/base/text.h"
#include "common/ceph/ceph.h"
#include "common/rpc/rpc.h"
#include "controller/addons/network_fences.h"
#include "node/rbd/node_image.h"
#include "tests/fakes/fake_host.h"
#include "tests/fakes/flapping_kube.h"
#include "tests/integration/liveness_process.h"
#include "tests/test.h"

#define ZONE "topology.kubernetes.io/zone"
#define SEGMENT "topology.rbd.csi.ceph.com/zone"

static const char LEVELS[] = "--domainlabels=" ZONE;

/* A driver and the API server that it knows. */
struct cluster {
    struct driver_process driver;
    struct fake_kube *fake;
    struct flapping_kube server;
    char *kubeconfig;
    char *keyring;
    char *kubeconfig_flag;
};

static void write_kubeconfig(const struct cluster *cluster)
{
    FILE *file = fopen(cluster->kubeconfig, "we");

    assert_non_null(file);
    fprintf(file,
            "{\"current-context\": \"t\","
            " \"clusters\": [{\"name\": \"c\", \"cluster\": {\"server\": \"%s\"}}],"
            " \"users\": [{\"name\": \"u\", \"user\": {\"token\": \"topsecret\"}}],"
            " \"contexts\": [{\"name\": \"t\", \"context\": {\"cluster\": \"c\", \"user\": \"u\","
            " \"namespace\": \"ceph\"}}]}",
            flapping_server_url(cluster->server.server));
    assert_int_equal(fclose(file), 0);
}

static void cluster_init(struct cluster *cluster)
{
    harness_init(&cluster->driver);
    cluster->fake = fake_kube_new();
    cluster->server = (struct flapping_kube){.seed = 7, .token = "topsecret"};
    flapping_kube_start(&cluster->server, cluster->fake);
    cluster->kubeconfig = xasprintf("%s/kubeconfig", cluster->driver.folder);
    cluster->kubeconfig_flag = xasprintf("--kubeconfig=%s", cluster->kubeconfig);
    cluster->keyring = xasprintf("%s/keyring", cluster->driver.folder);
    write_kubeconfig(cluster);
}

static void cluster_done(struct cluster *cluster)
{
    unlink(cluster->kubeconfig);
    unlink(cluster->keyring);
    harness_done(&cluster->driver);
    flapping_kube_stop(&cluster->server);
    fake_kube_free(cluster->fake);
    free(cluster->kubeconfig);
    free(cluster->keyring);
    free(cluster->kubeconfig_flag);
}
#define _cleanup_cluster_ _cleanup_(cluster_done)

static json_t *call(struct cluster *cluster, const char *method, const char *request)
{
    _cleanup_error_ struct error err = {0};
    json_t *reply = NULL;

    if (harness_call(
            &cluster->driver,
            &(struct harness_call){.method = method, .request = request, .without_secrets = true},
            &reply, &err) < 0)
        fail_msg("%s: %s", method, err.message);
    return reply;
}

/* What NodeGetInfo tells; "" for nothing. Caller frees. */
static char *zone_told(struct cluster *cluster)
{
    json_auto_t *reply = call(cluster, "NodeGetInfo", "{}");
    const json_t *segments =
        json_object_get(json_object_get(reply, "accessible_topology"), "segments");
    const char *zone = json_string_value(json_object_get(segments, SEGMENT));

    return xstrdup(zone ? zone : "");
}

static void assert_zone_becomes(struct cluster *cluster, const char *zone)
{
    struct test_wait wait = {0};

    for (;;) {
        _cleanup_free_ char *told = zone_told(cluster);

        if (strcmp(told, zone) == 0)
            return;
        if (!test_wait_more(&wait))
            fail_msg("'%s' is told, not '%s'", told, zone);
    }
}

TEST(node_is_where_its_labels_say)
{
    _cleanup_cluster_ struct cluster cluster = {0};

    cluster_init(&cluster);
    fake_kube_put(cluster.fake, "/api/v1/nodes/node-1",
                  "{\"metadata\":{\"labels\":{\"" ZONE "\":\"zone-a\"}}}");
    harness_start(&cluster.driver, (const char *[]){LEVELS, cluster.kubeconfig_flag, NULL});
    assert_zone_becomes(&cluster, "zone-a");
    /* for the life of a registration the answer stays */
    fake_kube_put(cluster.fake, "/api/v1/nodes/node-1",
                  "{\"metadata\":{\"labels\":{\"" ZONE "\":\"zone-b\"}}}");
    assert_zone_becomes(&cluster, "zone-a");
    assert_int_equal(harness_stop(&cluster.driver, SIGTERM, 120000), 0);
}

/* An answer without the zone would count until the next registration. */
static void assert_no_zone_is_told(struct cluster *cluster)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *reply = NULL;

    assert_int_equal(
        harness_call(&cluster->driver,
                     &(struct harness_call){.method = "NodeGetInfo", .request = "{}", .once = true},
                     &reply, &err),
        -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
}

TEST(driver_serves_while_the_api_server_is_away)
{
    _cleanup_cluster_ struct cluster cluster = {0};
    struct liveness_process liveness = {0};

    cluster_init(&cluster);
    fake_kube_put(cluster.fake, "/api/v1/nodes/node-1",
                  "{\"metadata\":{\"labels\":{\"" ZONE "\":\"zone-a\"}}}");
    fake_kube_fail_all(cluster.fake, STATUS_UNAVAILABLE);
    harness_start(&cluster.driver, (const char *[]){LEVELS, cluster.kubeconfig_flag, NULL});
    assert_no_zone_is_told(&cluster);
    liveness_start(&liveness, &cluster.driver);
    liveness_assert_answers(&liveness, "/readyz", "503", "labels of Kubernetes node node-1");
    liveness_assert_answers(&liveness, "/metrics", "200", "csi_node_labels_missing 1");
    fake_kube_fail_all(cluster.fake, STATUS_OK);
    assert_zone_becomes(&cluster, "zone-a");
    liveness_assert_answers(&liveness, "/readyz", "200", "");
    liveness_stop(&liveness);
}

/* Puts the cluster's user into a Secret. */
static void put_secret(struct cluster *cluster, const char *path)
{
    fake_kube_put_secret(cluster->fake, path, harness_cluster()->user, harness_cluster()->key);
}

TEST(capacity_is_told_with_the_secret_of_the_class)
{
    _cleanup_cluster_ struct cluster cluster = {0};

    cluster_init(&cluster);
    harness_start(&cluster.driver,
                  (const char *[]){cluster.kubeconfig_flag, "--keyring=/nonexistent", NULL});
    _cleanup_free_ char *request =
        xasprintf("{\"parameters\": {\"clusterID\": \"%s\", \"pool\": \"common\","
                  " \"csi.storage.k8s.io/provisioner-secret-name\": \"csi-rbd\","
                  " \"csi.storage.k8s.io/provisioner-secret-namespace\": \"ceph\"}}",
                  harness_cluster()->fsid);
    put_secret(&cluster, "/api/v1/namespaces/ceph/secrets/csi-rbd");
    cluster.server.permille = 200;
    json_auto_t *reply = call(&cluster, "GetCapacity", request);
    const json_t *available = json_object_get(reply, "available_capacity");
    assert_true(json_integer_value(available) > 0 || !text_is_empty(json_string_value(available)));
    _cleanup_free_ char *log = harness_log(&cluster.driver);
    assert_null(strstr(log, harness_cluster()->key));
}

/* --- takeover --- */

#define NODE(name) "/api/v1/nodes/" name
#define TAKEN_LABEL "topology.rbd.csi.ceph.com/member.zone.zone-a"

/* Addresses are of a network that exists in documents only. */
static void put_node(struct cluster *cluster, const char *name, const char *zone,
                     const char *address, bool ready, const char *boot)
{
    _cleanup_free_ char *node = xasprintf("/api/v1/nodes/%s", name);
    _cleanup_free_ char *csinode = xasprintf("/apis/storage.k8s.io/v1/csinodes/%s", name);
    _cleanup_free_ char *node_json = xasprintf(
        "{\"metadata\":{\"labels\":{\"" SEGMENT
        "\":\"%s\",\"topology.rbd.csi.ceph.com/member.zone.%s"
        "\":\"true\"}},\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"%s\"}],"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}],\"nodeInfo\":{\"bootID\":\"%s\"},"
        "\"volumesInUse\":[\"kubernetes.io/csi/rbd.csi.ceph.com^0001-x\"]}}",
        zone, zone, address, ready ? "True" : "Unknown", boot);
    _cleanup_free_ char *csinode_json = xasprintf(
        "{\"spec\":{\"drivers\":[{\"name\":\"rbd.csi.ceph.com\",\"topologyKeys\":[\"" SEGMENT
        "\",\"topology.rbd.csi.ceph.com/member.zone.%s\"]}]}}",
        zone);

    fake_kube_put(cluster->fake, node, node_json);
    fake_kube_put(cluster->fake, csinode, csinode_json);
}

/* The node comes back with a new kernel. */
static void reboot(struct cluster *cluster, const char *path)
{
    json_auto_t *item = fake_kube_get(cluster->fake, path);
    json_t *status = json_object_get(item, "status");

    json_object_set_new(json_object_get(status, "nodeInfo"), "bootID", json_string("boot-2"));
    json_object_set_new(json_array_get(json_object_get(status, "conditions"), 0), "status",
                        json_string("True"));
    _cleanup_free_ char *text = json_dumps(item, 0);
    fake_kube_put(cluster->fake, path, text);
}

static bool has_label(struct cluster *cluster, const char *path, const char *key)
{
    json_auto_t *item = fake_kube_get(cluster->fake, path);

    return json_object_get(json_object_get(json_object_get(item, "metadata"), "labels"), key);
}

/* Runs the tool and returns what it prints. Caller frees. */
static char *tool(struct cluster *cluster, const char *const *words)
{
    _cleanup_(subprocess_result_done) struct subprocess_result result = {0};
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *config = xasprintf("--config=%s", cluster->driver.config_path);
    _cleanup_free_ char *keyring = xasprintf("--keyring=%s", cluster->keyring);
    const char *argv[16] = {getenv("CEPHZONE"), "takeover"};
    size_t n = 2;

    for (; *words; words++)
        argv[n++] = *words;
    argv[n++] = cluster->kubeconfig_flag;
    argv[n++] = config;
    argv[n] = keyring;
    if (subprocess_run(&(struct subprocess){.argv = argv, .deadline = deadline_in_ms(60000)},
                       &result, &err) < 0)
        fail_msg("%s", err.message);
    if (result.exit_code > 1)
        fail_msg("exit code %d: %s", result.exit_code, text_chars(&result.errors));
    return text_take(&result.output);
}

static void assert_status_becomes(struct cluster *cluster, const char *part)
{
    struct test_wait wait = {0};

    for (;;) {
        unsigned permille = cluster->server.permille;
        cluster->server.permille = 0; /* the tool does not try again by itself */
        _cleanup_free_ char *status = tool(cluster, (const char *[]){"status", NULL});
        cluster->server.permille = permille;

        if (strstr(status, part))
            return;
        if (!test_wait_more(&wait))
            fail_msg("the status is '%s', not '%s'", status, part);
    }
}

/* The user that Rook makes for provisioners: it may also take addresses off the blocklist. */
static void write_keyring(struct cluster *cluster)
{
    const char *const argv[] = {"ceph",
                                "auth",
                                "get-or-create-key",
                                "client.takeover",
                                "mon",
                                "profile rbd, allow command \"osd blocklist\"",
                                "mgr",
                                "allow rw",
                                "osd",
                                "profile rbd",
                                NULL};
    _cleanup_free_ char *conf = xasprintf("CEPH_CONF=%s", getenv("CEPH_CONF"));
    _cleanup_free_ char *path = xasprintf("PATH=%s", getenv("PATH"));
    const char *const environment[] = {conf, path, NULL};
    _cleanup_(subprocess_result_done) struct subprocess_result result = {0};
    _cleanup_error_ struct error err = {0};
    FILE *file = fopen(cluster->keyring, "we");

    assert_non_null(file);
    if (subprocess_check(&(struct subprocess){.argv = argv,
                                              .environment = environment,
                                              .deadline = deadline_in_ms(60000)},
                         &result, &err) < 0)
        fail_msg("%s", err.message);
    fprintf(file, "[client.takeover]\n\tkey = %s\n", text_chars(&result.output));
    assert_int_equal(fclose(file), 0);
}

TEST(domain_is_taken_over_and_given_back)
{
    static const char *const start[] = {"start", "zone-a", "--to=zone-b", NULL};
    static const char *const try_start[] = {"start", "zone-a", "--to=zone-b", "--dry-run", NULL};
    static const char *const give[] = {"giveback", "zone-a", NULL};
    _cleanup_cluster_ struct cluster cluster = {0};

    cluster_init(&cluster);
    write_keyring(&cluster);
    put_node(&cluster, "a1", "zone-a", "192.0.2.1", false, "boot-1");
    put_node(&cluster, "a2", "zone-a", "192.0.2.2", true, "boot-1");
    put_node(&cluster, "b1", "zone-b", "192.0.2.3", true, "boot-1");
    _cleanup_free_ char *keyring = xasprintf("--keyring=%s", cluster.keyring);
    harness_start(&cluster.driver, (const char *[]){cluster.kubeconfig_flag, keyring, NULL});
    assert_status_becomes(&cluster, "no domain is taken over");
    _cleanup_free_ char *steps = tool(&cluster, try_start);
    if (getenv("SHOW_STEPS"))
        fprintf(stderr, "%s", steps);
    assert_non_null(strstr(steps, "fence node 'a2': blocklist 192.0.2.2"));
    assert_non_null(strstr(steps, "label node 'b1' " TAKEN_LABEL "=true"));
    assert_false(has_label(&cluster, NODE("b1"), TAKEN_LABEL));
    free(tool(&cluster, start));
    cluster.server.permille = 50;
    assert_status_becomes(&cluster, "takeover done      zone=zone-a");
    assert_true(has_label(&cluster, NODE("b1"), TAKEN_LABEL));
    cluster.server.permille = 0;
    free(tool(&cluster, give));
    cluster.server.permille = 50;
    assert_status_becomes(&cluster, "none of its nodes is back; reboot 'a1', 'a2'");
    assert_true(has_label(&cluster, NODE("b1"), TAKEN_LABEL));
    reboot(&cluster, NODE("a1"));
    reboot(&cluster, NODE("a2"));
    assert_status_becomes(&cluster, "no domain is taken over");
    assert_false(has_label(&cluster, NODE("b1"), TAKEN_LABEL));
    assert_true(has_label(&cluster, NODE("a1"), TAKEN_LABEL));
}

/* --- a writer that is fenced --- */

/*
 * Somebody in the failed zone who goes on writing, as a client of Ceph with an address of its own.
 * Clients have the address that Ceph sees them come from, and everything here is on one host: so
 * whatever this program connects to over IP, it comes from @writer_source while that is set. The
 * drivers and tools are other processes.
 */
static const char *writer_source = NULL;

/* Instead of libc's, also for Ceph's libraries. */
int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    struct sockaddr_in source = {.sin_family = AF_INET};

    if (writer_source && address->sa_family == AF_INET) {
        inet_pton(AF_INET, writer_source, &source.sin_addr);
        /* EINVAL: it is bound, and asked again whether it is connected by now */
        if (bind(fd, (const struct sockaddr *)&source, sizeof(source)) < 0 && errno != EINVAL)
            return -1;
    }
    return (int)syscall(SYS_connect, fd, address, length);
}

struct writer {
    struct cluster *cluster;
    rados_t rados;
    rados_ioctx_t pool;
    rbd_image_t image;
    pthread_t thread;
    atomic_uint written; /* blocks */
    atomic_bool is_late; /* a write that began when others were let in has succeeded */
    int result;          /* of the write that ended it */
};

static void *keep_writing(void *object)
{
    struct writer *writer = object;
    static const char block[4096] = "mine";
    struct deadline limit = deadline_in_ms(600000);

    while (writer->result >= 0 && !deadline_has_passed(limit)) {
        const bool others_may = has_label(writer->cluster, NODE("b1"), TAKEN_LABEL);
        const uint64_t at = atomic_load(&writer->written) % 256 * sizeof(block);
        ssize_t result = rbd_write(writer->image, at, sizeof(block), block);

        if (result >= 0)
            result = rbd_flush(writer->image);
        if (result >= 0 && others_may)
            atomic_store(&writer->is_late, true);
        writer->result = (int)result;
        atomic_fetch_add(&writer->written, result >= 0);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    return NULL;
}

/* What NodeStage does before it maps; returns the name of the image. Caller frees. */
static char *record_client(struct cluster *cluster, const char *handle)
{
    struct config_file *config = config_file_new(cluster->driver.config_path);
    struct ceph *ceph = ceph_new(&(struct ceph_options){0});
    const struct node_volumes volumes = {
        .ceph = ceph, .config = config, .node_id = "a1", .instance_id = "default"};
    struct stage_request request = {.handle = xstrdup(handle)};
    _cleanup_strmap_ struct strmap none = {0};
    _cleanup_error_ struct error err = {0};
    struct node_image image = {0};
    struct call stage;

    request.credentials.user = xstrdup(harness_cluster()->user);
    secret_set(&request.credentials.key, harness_cluster()->key);
    call_init(&stage, 1, "NodeStageVolume", deadline_in_ms(60000));
    if (node_image_open(&volumes, &stage, &request, &image, &err) < 0 ||
        node_image_record(&volumes, &stage, &image, &request, &none, &err) < 0)
        fail_msg("%s", err.message);
    char *name = xstrdup(image.name);
    node_image_close(&image);
    call_done(&stage);
    free(request.handle);
    credentials_done(&request.credentials);
    assert_true(ceph_free(ceph));
    config_file_free(config);
    return name;
}

static void writer_start(struct writer *writer, const char *handle)
{
    writer_source = "127.0.0.9";
    _cleanup_free_ char *name = record_client(writer->cluster, handle);
    assert_int_equal(rados_create(&writer->rados, "admin"), 0);
    assert_int_equal(rados_conf_read_file(writer->rados, getenv("CEPH_CONF")), 0);
    assert_int_equal(rados_conf_set(writer->rados, "rbd_cache", "false"), 0);
    assert_int_equal(rados_connect(writer->rados), 0);
    assert_int_equal(rados_ioctx_create(writer->rados, "common", &writer->pool), 0);
    assert_int_equal(rbd_open(writer->pool, name, &writer->image, NULL), 0);
    assert_int_equal(pthread_create(&writer->thread, NULL, keep_writing, writer), 0);
    wait_until(atomic_load(&writer->written) >= 10);
}

static void put_pinned_volume(struct cluster *cluster, const char *handle)
{
    _cleanup_free_ char *pv = xasprintf(
        "{\"spec\":{\"csi\":{\"driver\":\"rbd.csi.ceph.com\",\"volumeHandle\":\"%s\"},"
        "\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
        "\"" TAKEN_LABEL "\",\"operator\":\"In\",\"values\":[\"true\"]}]}]}}}}",
        handle);

    fake_kube_put(cluster->fake, "/api/v1/persistentvolumes/pv-1", pv);
}

static bool is_blocklisted(const char *entry)
{
    _cleanup_free_ char *list =
        harness_run_tool((const char *const[]){"ceph", "osd", "blocklist", "ls", NULL});

    return strstr(list, entry);
}

/* The node's internal address is one that the writer does not come from: only the volume knows. */
TEST(writer_is_fenced_before_others_are_let_in)
{
    static const char *const start[] = {"start", "zone-a", "--to=zone-b", NULL};
    static const char *const give[] = {"giveback", "zone-a", NULL};
    _cleanup_cluster_ struct cluster cluster = {0};
    _cleanup_error_ struct error err = {0};
    struct writer writer = {.cluster = &cluster};

    cluster_init(&cluster);
    write_keyring(&cluster);
    put_node(&cluster, "a1", "zone-a", "192.0.2.1", false, "boot-1");
    put_node(&cluster, "b1", "zone-b", "192.0.2.3", true, "boot-1");
    _cleanup_free_ char *keyring = xasprintf("--keyring=%s", cluster.keyring);
    harness_start(&cluster.driver, (const char *[]){cluster.kubeconfig_flag, keyring, NULL});
    _cleanup_free_ char *handle =
        harness_create_volume(&cluster.driver, "fenced", "common", 4 << 20, &err);
    if (!handle)
        fail_msg("%s", err.message);
    put_pinned_volume(&cluster, handle);
    writer_start(&writer, handle);
    free(tool(&cluster, start));
    assert_status_becomes(&cluster, "takeover done      zone=zone-a");
    assert_true(has_label(&cluster, NODE("b1"), TAKEN_LABEL));
    assert_true(is_blocklisted("127.0.0.9:0/0"));
    pthread_join(writer.thread, NULL);
    assert_int_equal(writer.result, -ESHUTDOWN); /* EBLOCKLISTED */
    assert_false(atomic_load(&writer.is_late));
    rbd_close(writer.image); /* fails, as it must: nothing can be written any more */
    rados_ioctx_destroy(writer.pool);
    rados_shutdown(writer.rados);
    writer_source = NULL;

    free(tool(&cluster, give));
    assert_status_becomes(&cluster, "reboot 'a1', which may hold unwritten data");
    assert_true(is_blocklisted("127.0.0.9:0/0"));
    reboot(&cluster, NODE("a1"));
    assert_status_becomes(&cluster, "no domain is taken over");
    assert_false(is_blocklisted("127.0.0.9:0/0"));
    if (harness_delete_volume(&cluster.driver, handle, &err) < 0)
        fail_msg("%s", err.message);
}

/* --- a node that is out of service --- */

/* As the node in @writer_source does it when csi-addons asks for its addresses. */
static int end_own_fence(struct cluster *cluster, struct error *err)
{
    struct config_file *config = config_file_new(cluster->driver.config_path);
    struct ceph *ceph = ceph_new(&(struct ceph_options){0});
    struct fake_host *host = fake_host_new(NULL);
    const struct own_fence own = {fake_host_as_host(host), fake_kube_as_other(cluster->fake),
                                  "rbd.csi.ceph.com", "a1"};
    const struct network_fences fences = {ceph, config, &own};
    _cleanup_fence_request_ struct fence_request request = {0};
    _cleanup_fence_client_ struct fence_client self = {0};
    _cleanup_free_ char *key = harness_run_tool(
        (const char *const[]){"ceph", "auth", "print-key", "client.takeover", NULL});
    struct call ask;

    key[strcspn(key, "\n")] = '\0';
    strmap_set(&request.parameters, "clusterID", harness_cluster()->fsid);
    request.credentials.user = xstrdup("takeover"); /* may fence: write_keyring() */
    secret_set(&request.credentials.key, key);
    call_init(&ask, 1, "GetFenceClients", deadline_in_ms(60000));
    int result = network_fences_self(&fences, &ask, &request, &self, err);
    call_done(&ask);
    fake_host_free(host);
    assert_true(ceph_free(ceph));
    config_file_free(config);
    return result;
}

/* All clients there; Ceph adds single ones by itself when it breaks locks of images. */
static bool is_fenced(void)
{
    return is_blocklisted("127.0.0.9:0/32 ") || is_blocklisted("127.0.0.9:0/0 ");
}

/* Ceph 16.2 does not change the time of a range that is there. */
static void set_time_left(const char *seconds)
{
    if (is_blocklisted("127.0.0.9:0/32 ")) {
        free(harness_run_tool((const char *const[]){"ceph", "osd", "blocklist", "range", "rm",
                                                    "127.0.0.9/32", NULL}));
        free(harness_run_tool((const char *const[]){"ceph", "osd", "blocklist", "range", "add",
                                                    "127.0.0.9/32", seconds, NULL}));
    } else {
        free(harness_run_tool((const char *const[]){"ceph", "osd", "blocklist", "add",
                                                    "127.0.0.9:0/0", seconds, NULL}));
    }
}

static void put_out_of_service(struct cluster *cluster, bool is_out)
{
    fake_kube_put(cluster->fake, NODE("a1"),
                  is_out ? "{\"spec\":{\"taints\":[{\"key\":\"node.kubernetes.io/out-of-service\","
                           "\"effect\":\"NoExecute\"}]}}"
                         : "{}");
}

static void detach_from_a1(struct cluster *cluster, const char *handle)
{
    _cleanup_free_ char *request = xasprintf("{\"volume_id\":\"%s\",\"node_id\":\"a1\"}", handle);

    json_decref(call(cluster, "ControllerUnpublishVolume", request));
}

static void writer_end(struct writer *writer)
{
    pthread_join(writer->thread, NULL);
    assert_int_equal(writer->result, -ESHUTDOWN); /* EBLOCKLISTED */
    rbd_close(writer->image); /* fails, as it must: nothing can be written any more */
    rados_ioctx_destroy(writer->pool);
    rados_shutdown(writer->rados);
}

TEST(writer_on_a_node_out_of_service_is_fenced_when_it_is_detached)
{
    _cleanup_cluster_ struct cluster cluster = {0};
    _cleanup_error_ struct error err = {0};
    struct writer writer = {.cluster = &cluster};

    cluster_init(&cluster);
    write_keyring(&cluster);
    put_out_of_service(&cluster, false);
    put_node(&cluster, "b1", "zone-b", "192.0.2.3", true, "boot-1");
    _cleanup_free_ char *keyring = xasprintf("--keyring=%s", cluster.keyring);
    harness_start(&cluster.driver, (const char *[]){cluster.kubeconfig_flag, keyring,
                                                    "--enable-fencing=true", NULL});
    _cleanup_free_ char *handle =
        harness_create_volume(&cluster.driver, "detached", "common", 4 << 20, &err);
    if (!handle)
        fail_msg("%s", err.message);
    detach_from_a1(&cluster, handle);
    writer_start(&writer, handle);
    assert_false(is_fenced());
    put_out_of_service(&cluster, true);
    detach_from_a1(&cluster, handle);
    const unsigned written = atomic_load(&writer.written);
    writer_end(&writer);
    assert_between(atomic_load(&writer.written), written, written + 1); /* one was under way */
    assert_true(is_fenced());
    detach_from_a1(&cluster, handle);

    put_out_of_service(&cluster, false);
    assert_int_equal(end_own_fence(&cluster, &err), -1);
    assert_non_null(strstr(err.message, "cool-down"));
    error_clear(&err);
    assert_true(is_fenced());
    set_time_left("157784760"); /* somebody else fences it for longer */
    assert_int_equal(end_own_fence(&cluster, &err), 0);
    assert_true(is_fenced());
    set_time_left("94670000");
    if (end_own_fence(&cluster, &err) < 0)
        fail_msg("%s", err.message);
    assert_false(is_fenced());
    writer_source = NULL;
    if (harness_delete_volume(&cluster.driver, handle, &err) < 0)
        fail_msg("%s", err.message);
}

static size_t count_capacities(struct cluster *cluster)
{
    _cleanup_text_ struct text dump = TEXT_INIT(1 << 20);
    size_t count = 0;

    fake_kube_dump(cluster->fake, &dump);
    for (const char *at = strstr(text_chars(&dump), "\"CSIStorageCapacity\""); at;
         at = strstr(at + 1, "\"CSIStorageCapacity\""))
        count++;
    return count;
}

TEST(capacity_is_published)
{
    _cleanup_cluster_ struct cluster cluster = {0};

    cluster_init(&cluster);
    write_keyring(&cluster);
    put_node(&cluster, "a1", "zone-a", "192.0.2.1", true, "boot-1");
    put_node(&cluster, "b1", "zone-b", "192.0.2.3", true, "boot-1");
    _cleanup_free_ char *class =
        xasprintf("{\"provisioner\": \"rbd.csi.ceph.com\", \"volumeBindingMode\":"
                  " \"WaitForFirstConsumer\", \"parameters\": {\"clusterID\": \"%s\","
                  " \"pool\": \"common\"}}",
                  harness_cluster()->fsid);
    fake_kube_put(cluster.fake, "/apis/storage.k8s.io/v1/csidrivers/rbd.csi.ceph.com", "{}");
    fake_kube_put(cluster.fake, "/apis/storage.k8s.io/v1/storageclasses/common", class);
    _cleanup_free_ char *keyring = xasprintf("--keyring=%s", cluster.keyring);
    harness_start(&cluster.driver,
                  (const char *[]){cluster.kubeconfig_flag, keyring, "--publish-capacity", NULL});
    wait_until(count_capacities(&cluster) >= 2);
    assert_int_equal(harness_stop(&cluster.driver, SIGTERM, 120000), 0);
}

TEST_GROUP(harness_begin, harness_end)
TEST_CLEANUP(harness_clean_up)
