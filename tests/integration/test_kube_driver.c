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
    write_kubeconfig(cluster);
}

static void cluster_done(struct cluster *cluster)
{
    unlink(cluster->kubeconfig);
    harness_done(&cluster->driver);
    flapping_kube_stop(&cluster->server);
    fake_kube_free(cluster->fake);
    free(cluster->kubeconfig);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_is_where_its_labels_say),
        cmocka_unit_test(driver_serves_while_the_api_server_is_away),
        cmocka_unit_test(capacity_is_told_with_the_secret_of_the_class),
    };

    rpc_init();
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    rpc_shutdown();
    return failures;
}
