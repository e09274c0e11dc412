#include "tests/unit/fixtures/kube.h"

#include "common/config/takeover_kinds.h"

/* The takeover map in a ConfigMap, whatever becomes of it and of the API server. */

#define PATH "/api/v1/namespaces/ceph/configmaps/cephzone-takeover"
#define DATA(map) "{\"data\":{\"takeover.json\":\"" map "\"}}"
#define ZONE_A DATA("{\\\"a\\\": [\\\"b\\\"]}")

static void *configmap_of(struct kube_fixture *fixture)
{
    const struct takeover_setup setup = {.kube = fixture->kube, .name_space = "ceph", .poll_ms = 1};
    _cleanup_error_ struct error err = {0};
    void *configmap = NULL;

    if (TAKEOVER_IN_CONFIGMAP.open(&setup, &configmap, &err) < 0)
        fail_msg("%s", err.message);
    return configmap;
}

static void configmap_close(void **configmap)
{
    TAKEOVER_IN_CONFIGMAP.close(*configmap);
}
#define _cleanup_configmap_ _cleanup_(configmap_close)

/* Whether the ConfigMap decides, with this number of takeovers. */
static bool has_takeovers(void *configmap, size_t count)
{
    _cleanup_takeover_snapshot_ struct takeover_snapshot snapshot = {0};

    return TAKEOVER_IN_CONFIGMAP.get(configmap, &snapshot) == TAKEOVER_FOUND &&
           snapshot.map->count == count;
}

/* And why, if it is not known. */
static void must_find(void *configmap, enum takeover_finding finding, const char *unknown)
{
    _cleanup_takeover_snapshot_ struct takeover_snapshot snapshot = {0};

    assert_int_equal(TAKEOVER_IN_CONFIGMAP.get(configmap, &snapshot), finding);
    assert_null(snapshot.map);
    if (!unknown)
        assert_null(snapshot.unknown);
    else if (!strstr(snapshot.unknown, unknown))
        fail_msg("'%s', not '%s'", snapshot.unknown, unknown);
}

/* "" for healthy. */
static bool fault_has(void *configmap, const char *part)
{
    _cleanup_free_ char *message = NULL;
    time_t since = 0;
    bool healthy = TAKEOVER_IN_CONFIGMAP.is_healthy(configmap, &message, &since);

    assert_int_equal(healthy, message[0] == '\0');
    return part[0] ? strstr(message, part) != NULL : healthy;
}

static void wait_for_polls(struct kube_fixture *fixture)
{
    const unsigned seen = fake_kube_calls(fixture->fake);

    wait_until(fake_kube_calls(fixture->fake) >= seen + 3);
}

TEST(map_is_read_and_followed, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;

    fake_kube_put(fixture->fake, PATH, ZONE_A);
    _cleanup_configmap_ void *configmap = configmap_of(fixture);
    wait_until(has_takeovers(configmap, 1));
    wait_until(fault_has(configmap, ""));
    fake_kube_put(fixture->fake, PATH, DATA("{}"));
    wait_until(has_takeovers(configmap, 0));
}

TEST(snapshot_outlives_the_next_map, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_takeover_snapshot_ struct takeover_snapshot snapshot = {0};

    fake_kube_put(fixture->fake, PATH, ZONE_A);
    _cleanup_configmap_ void *configmap = configmap_of(fixture);
    wait_until(has_takeovers(configmap, 1));
    assert_int_equal(TAKEOVER_IN_CONFIGMAP.get(configmap, &snapshot), TAKEOVER_FOUND);
    fake_kube_put(fixture->fake, PATH, DATA("{}"));
    wait_until(has_takeovers(configmap, 0));
    assert_int_equal(snapshot.map->count, 1);
}

TEST(broken_map_leaves_the_last_good_one_in_force, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;

    fake_kube_put(fixture->fake, PATH, ZONE_A);
    _cleanup_configmap_ void *configmap = configmap_of(fixture);
    wait_until(has_takeovers(configmap, 1));
    fake_kube_put(fixture->fake, PATH, DATA("{"));
    wait_until(fault_has(configmap, "takeover.json"));
    assert_true(has_takeovers(configmap, 1));
    fake_kube_put(fixture->fake, PATH, "{\"data\":{}}");
    wait_until(fault_has(configmap, "key takeover.json is missing"));
    assert_true(has_takeovers(configmap, 1));
    fake_kube_put(fixture->fake, PATH, DATA("{}"));
    wait_until(fault_has(configmap, ""));
    assert_true(has_takeovers(configmap, 0));
}

TEST(map_that_never_was_good_is_unknown, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;

    fake_kube_put(fixture->fake, PATH, DATA("{"));
    _cleanup_configmap_ void *configmap = configmap_of(fixture);
    wait_until(fault_has(configmap, "takeover.json"));
    must_find(configmap, TAKEOVER_BROKEN, "takeover.json");
}

TEST(deleted_configmap_leaves_its_map_in_force, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;

    fake_kube_put(fixture->fake, PATH, ZONE_A);
    _cleanup_configmap_ void *configmap = configmap_of(fixture);
    wait_until(has_takeovers(configmap, 1));
    fake_kube_drop(fixture->fake, PATH);
    wait_until(fault_has(configmap, "the last map stays: "));
    assert_true(has_takeovers(configmap, 1));
    fake_kube_put(fixture->fake, PATH, ZONE_A);
    wait_until(fault_has(configmap, ""));
}

TEST(absent_configmap_leaves_it_to_others, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_configmap_ void *configmap = configmap_of(fixture);

    wait_for_polls(fixture);
    assert_true(fault_has(configmap, ""));
    must_find(configmap, TAKEOVER_ABSENT, NULL);
    fake_kube_put(fixture->fake, "/api/v1/namespaces/ceph/configmaps/other", ZONE_A);
    fake_kube_fail_all(fixture->fake, STATUS_UNAVAILABLE); /* it may be there now */
    wait_until(fault_has(configmap, "it cannot be read: "));
    must_find(configmap, TAKEOVER_UNSEEN, "it cannot be read: ");
    fake_kube_fail_all(fixture->fake, STATUS_OK);
    fake_kube_forbid(fixture->fake, "get", PATH);
    wait_for_polls(fixture);
    must_find(configmap, TAKEOVER_FORBIDDEN, "403");
    fake_kube_forbid(fixture->fake, NULL, NULL);
    wait_for_polls(fixture);
    must_find(configmap, TAKEOVER_ABSENT, NULL);
}

TEST(forbidden_configmap_is_unknown, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;

    fake_kube_forbid(fixture->fake, "get", PATH);
    fake_kube_put(fixture->fake, PATH, ZONE_A);
    _cleanup_configmap_ void *configmap = configmap_of(fixture);
    wait_for_polls(fixture);
    must_find(configmap, TAKEOVER_FORBIDDEN, "403");
    assert_true(fault_has(configmap, "")); /* whoever needs it says so */
    fake_kube_forbid(fixture->fake, NULL, NULL);
    wait_until(has_takeovers(configmap, 1));
}

TEST(unreachable_server_is_a_fault, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;

    fake_kube_fail_all(fixture->fake, STATUS_UNAVAILABLE);
    _cleanup_configmap_ void *configmap = configmap_of(fixture);
    wait_until(fault_has(configmap, "it cannot be read: "));
    const unsigned seen = fake_kube_calls(fixture->fake);
    do /* whenever it is asked, also while the server is */
        must_find(configmap, TAKEOVER_UNSEEN, "cannot be read");
    while (fake_kube_calls(fixture->fake) < seen + 300);
    fake_kube_put(fixture->fake, PATH, ZONE_A);
    fake_kube_fail_all(fixture->fake, STATUS_OK);
    wait_until(has_takeovers(configmap, 1));
    wait_until(fault_has(configmap, ""));
}

TEST(namespace_is_checked, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    const struct takeover_setup setup = {.kube = fixture->kube, .name_space = "a/b", .poll_ms = 1};
    _cleanup_error_ struct error err = {0};
    void *configmap = NULL;

    assert_int_equal(TAKEOVER_IN_CONFIGMAP.open(&setup, &configmap, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_null(configmap);
}
