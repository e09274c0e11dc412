#include "tests/unit/fixtures/kube.h"

#include "node/node_labels_kube.h"

/* The labels of a Kubernetes node as the driver sees them, whatever becomes of the API server. */

#define NODE "/api/v1/nodes/n1"
#define IN_ZONE(zone) "{\"metadata\":{\"labels\":{\"zone\":\"" zone "\"}}}"

#define _cleanup_source_ _cleanup_(node_labels_done)

static void source_of(const struct kube_fixture *fixture, struct node_labels_source *source)
{
    _cleanup_error_ struct error err = {0};

    if (node_labels_from_kube(fixture->kube, "n1", 1, source, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(source->subject, "labels of Kubernetes node n1");
}

static bool zone_is(const struct node_labels_source *source, const char *zone)
{
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_error_ struct error err = {0};

    return node_labels_get(source, NULL, &labels, &err) == 0 &&
           strcmp(strmap_get_or(&labels, "zone", ""), zone) == 0;
}

/* "" for healthy. */
static bool fault_has(const struct node_labels_source *source, const char *part)
{
    _cleanup_free_ char *message = NULL;
    time_t since = 0;
    bool healthy = source->is_healthy(source->object, &message, &since);

    assert_int_equal(healthy, message[0] == '\0');
    assert_true(since > 0 && since <= time(NULL) + 1);
    return part[0] ? strstr(message, part) != NULL : healthy;
}

TEST(labels_of_the_node_are_told_and_followed, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_source_ struct node_labels_source source = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_error_ struct error err = {0};

    fake_kube_put(fixture->fake, NODE, IN_ZONE("a"));
    source_of(fixture, &source);
    assert_int_equal(node_labels_get(&source, &fixture->call, &labels, &err), 0); /* waits */
    assert_string_equal(strmap_get(&labels, "zone"), "a");
    wait_until(fault_has(&source, ""));
    fake_kube_put(fixture->fake, NODE, IN_ZONE("b"));
    wait_until(zone_is(&source, "b"));
}

TEST(server_is_asked_anew_on_demand, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_source_ struct node_labels_source source = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_strmap_ struct strmap none = {0};
    _cleanup_error_ struct error err = {0};

    fake_kube_put(fixture->fake, NODE, IN_ZONE("a"));
    source_of(fixture, &source);
    wait_until(zone_is(&source, "a"));
    fake_kube_put(fixture->fake, NODE, IN_ZONE("b"));
    assert_int_equal(source.read_now(source.object, &fixture->call, &labels, &err), 0);
    assert_string_equal(strmap_get(&labels, "zone"), "b");
    fake_kube_drop(fixture->fake, NODE);
    assert_int_equal(source.read_now(source.object, &fixture->call, &none, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    assert_int_equal(none.count, 0);
}

TEST(unreachable_server_is_waited_out, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_source_ struct node_labels_source source = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_error_ struct error err = {0};

    fake_kube_put(fixture->fake, NODE, IN_ZONE("a"));
    fake_kube_fail_all(fixture->fake, STATUS_UNAVAILABLE);
    source_of(fixture, &source);
    assert_int_equal(node_labels_get(&source, NULL, &labels, &err), -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    wait_until(fault_has(&source, "NodeGetInfo fails until the labels are known: "));
    fake_kube_fail_all(fixture->fake, STATUS_OK);
    wait_until(zone_is(&source, "a"));
    assert_true(fault_has(&source, ""));
}

TEST(labels_outlive_the_server, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_source_ struct node_labels_source source = {0};

    fake_kube_put(fixture->fake, NODE, IN_ZONE("a"));
    source_of(fixture, &source);
    wait_until(fake_kube_watches(fixture->fake) == 1);
    fake_kube_fail_all(fixture->fake, STATUS_UNAUTHENTICATED);
    fake_kube_cut_watches(fixture->fake);
    wait_until(fault_has(&source, "the labels may be old: "));
    assert_true(zone_is(&source, "a"));
    fake_kube_fail_all(fixture->fake, STATUS_OK);
    wait_until(fault_has(&source, ""));
}

TEST(name_that_no_node_can_have_is_refused, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    struct node_labels_source source = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(node_labels_from_kube(fixture->kube, "../secrets", 1, &source, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_null(source.object);
}
