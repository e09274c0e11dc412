/* Real drivers beside an API server that flaps: what they read there, and that they serve without
 * it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

#include "common/base/deadline.h"
#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/fakes/flapping_kube.h"
#include "tests/integration/liveness_process.h"

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
    struct deadline limit = deadline_in_ms(30000);

    for (;;) {
        _cleanup_free_ char *told = zone_told(cluster);

        if (strcmp(told, zone) == 0)
            return;
        if (deadline_has_passed(limit))
            fail_msg("'%s' is told, not '%s'", told, zone);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}

static void node_is_where_its_labels_say(void **state)
{
    _cleanup_cluster_ struct cluster cluster = {0};

    (void)state;
    cluster_init(&cluster);
    fake_kube_put(cluster.fake, "/api/v1/nodes/node-1",
                  "{\"metadata\":{\"labels\":{\"" ZONE "\":\"zone-a\"}}}");
    harness_start(&cluster.driver, (const char *[]){LEVELS, cluster.kubeconfig_flag, NULL});
    assert_zone_becomes(&cluster, "zone-a");
    /* for the life of a registration the answer stays */
    fake_kube_put(cluster.fake, "/api/v1/nodes/node-1",
                  "{\"metadata\":{\"labels\":{\"" ZONE "\":\"zone-b\"}}}");
    assert_zone_becomes(&cluster, "zone-a");
    assert_int_equal(harness_stop(&cluster.driver, SIGTERM, 20000), 0);
}

static void driver_serves_while_the_api_server_is_away(void **state)
{
    _cleanup_cluster_ struct cluster cluster = {0};
    struct liveness_process liveness = {0};

    (void)state;
    cluster_init(&cluster);
    fake_kube_put(cluster.fake, "/api/v1/nodes/node-1",
                  "{\"metadata\":{\"labels\":{\"" ZONE "\":\"zone-a\"}}}");
    fake_kube_fail_all(cluster.fake, STATUS_UNAVAILABLE);
    harness_start(&cluster.driver, (const char *[]){LEVELS, cluster.kubeconfig_flag, NULL});
    assert_zone_becomes(&cluster, "");
    liveness_start(&liveness, &cluster.driver);
    liveness_assert_answers(&liveness, "/readyz", "503", "labels of Kubernetes node node-1");
    liveness_assert_answers(&liveness, "/metrics", "200", "csi_node_labels_missing 1");
    fake_kube_fail_all(cluster.fake, STATUS_OK);
    assert_zone_becomes(&cluster, "zone-a");
    liveness_assert_answers(&liveness, "/readyz", "200", "");
    liveness_stop(&liveness);
}

static char *encode(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    _cleanup_text_ struct text out = TEXT_INIT(4096);
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i += 3) {
        uint32_t bits = (uint32_t)(unsigned char)text[i] << 16;
        size_t rest = length - i;

        bits |= rest > 1 ? (uint32_t)(unsigned char)text[i + 1] << 8 : 0;
        bits |= rest > 2 ? (uint32_t)(unsigned char)text[i + 2] : 0;
        text_addf(&out, "%c%c%c%c", digits[bits >> 18], digits[bits >> 12 & 63],
                  rest > 1 ? digits[bits >> 6 & 63] : '=', rest > 2 ? digits[bits & 63] : '=');
    }
    return text_take(&out);
}

/* Puts the cluster's user into a Secret. */
static void put_secret(struct cluster *cluster, const char *path)
{
    _cleanup_free_ char *user = encode(harness_cluster()->user);
    _cleanup_free_ char *key = encode(harness_cluster()->key);
    _cleanup_free_ char *text =
        xasprintf("{\"data\": {\"userID\": \"%s\", \"userKey\": \"%s\"}}", user, key);

    fake_kube_put(cluster->fake, path, text);
}

static void capacity_is_told_with_the_secret_of_the_class(void **state)
{
    _cleanup_cluster_ struct cluster cluster = {0};

    (void)state;
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

/* --- takeover -----------------------------------------------------------------------------------
 */

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
    struct deadline limit = deadline_in_ms(60000);

    for (;;) {
        unsigned permille = cluster->server.permille;
        cluster->server.permille = 0; /* the tool does not try again by itself */
        _cleanup_free_ char *status = tool(cluster, (const char *[]){"status", NULL});
        cluster->server.permille = permille;

        if (strstr(status, part))
            return;
        if (deadline_has_passed(limit))
            fail_msg("the status is '%s', not '%s'", status, part);
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
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

static void domain_is_taken_over_and_given_back(void **state)
{
    static const char *const start[] = {"start", "zone-a", "--to=zone-b", NULL};
    static const char *const try_start[] = {"start", "zone-a", "--to=zone-b", "--dry-run", NULL};
    static const char *const give[] = {"giveback", "zone-a", NULL};
    _cleanup_cluster_ struct cluster cluster = {0};

    (void)state;
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

static void capacity_is_published(void **state)
{
    _cleanup_cluster_ struct cluster cluster = {0};
    struct deadline limit = deadline_in_ms(60000);

    (void)state;
    cluster_init(&cluster);
    write_keyring(&cluster);
    put_node(&cluster, "a1", "zone-a", "192.0.2.1", true, "boot-1");
    put_node(&cluster, "b1", "zone-b", "192.0.2.3", true, "boot-1");
    _cleanup_free_ char *class =
        xasprintf("{\"provisioner\": \"rbd.csi.ceph.com\", \"volumeBindingMode\":"
                  " \"WaitForFirstConsumer\", \"parameters\": {\"clusterID\": \"%s\","
                  " \"pool\": \"common\"}}",
                  harness_cluster()->fsid);
    fake_kube_put(cluster.fake, "/apis/storage.k8s.io/v1/storageclasses/common", class);
    _cleanup_free_ char *keyring = xasprintf("--keyring=%s", cluster.keyring);
    harness_start(&cluster.driver,
                  (const char *[]){cluster.kubeconfig_flag, keyring, "--publish-capacity", NULL});
    while (count_capacities(&cluster) < 2) {
        if (deadline_has_passed(limit))
            fail_msg("%zu objects", count_capacities(&cluster));
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    assert_int_equal(harness_stop(&cluster.driver, SIGTERM, 30000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_is_where_its_labels_say),
        cmocka_unit_test(driver_serves_while_the_api_server_is_away),
        cmocka_unit_test(capacity_is_told_with_the_secret_of_the_class),
        cmocka_unit_test(domain_is_taken_over_and_given_back),
        cmocka_unit_test(capacity_is_published),
    };

    rpc_init();
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    rpc_shutdown();
    return failures;
}
