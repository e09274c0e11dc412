#include "tests/unit/fixtures/takeover_zones.h"

static struct takeover_reconciler *start_with(struct zones *zones, struct takeover_source *source,
                                              const char *identity, int64_t idle_ms)
{
    _cleanup_error_ struct error err = {0};
    struct takeover_reconciler *reconciler = NULL;

    if (takeover_reconciler_new(&(struct takeover_reconciler_options){.site = zones->site,
                                                                      .source = source,
                                                                      .name_space = "ceph",
                                                                      .identity = identity,
                                                                      .busy_ms = 20,
                                                                      .idle_ms = idle_ms},
                                &reconciler, &err) < 0)
        fail_msg("%s", err.message);
    return reconciler;
}

static struct takeover_reconciler *start(struct zones *zones, struct takeover_source *source,
                                         const char *identity)
{
    return start_with(zones, source, identity, 20);
}

/* Whether nothing new is placed in zone-a. */
static bool is_closed(struct takeover_source *source)
{
    _cleanup_takeover_snapshot_ struct takeover_snapshot snapshot = {0};

    takeover_source_get_closed(source, &snapshot);
    assert_null(takeover_find(snapshot.map, "zone", "zone-b"));
    return takeover_find(snapshot.map, "zone", "zone-a");
}

TEST(two_reconcilers_follow_the_map)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    _cleanup_free_ char *path = xasprintf("%s.map", zones.config_path);
    struct takeover_source *source =
        takeover_source_new(&(struct takeover_setup){.path = path, .config = zones.config});
    struct takeover_reconciler *one = start(&zones, source, "one");
    struct takeover_reconciler *two = start(&zones, source, "two");
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(A_TO_B, file);
    fclose(file);
    wait_until(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    json_auto_t *lease = fake_kube_get(
        zones.fake_kube, "/apis/coordination.k8s.io/v1/namespaces/ceph/leases/" DRIVER "-takeover");
    assert_non_null(lease);
    assert_true(is_closed(source));
    file = fopen(path, "we");
    assert_non_null(file);
    fputs("{}", file);
    fclose(file);
    fake_kube_protect(zones.fake_kube, POD("x1"));
    zones_put_pods(&zones);
    zones_reboot(&zones);
    wait_until(!zones_have_label(&zones, "b1", MEMBER "zone-a"));
    wait_until(!zones_has_pod(&zones, POD("x7")));
    assert_true(is_closed(source)); /* as long as a pod has to leave */
    fake_kube_protect(zones.fake_kube, NULL);
    wait_until(!zones_has_pod(&zones, POD("x1")));
    wait_until(!is_closed(source));
    takeover_reconciler_free(one);
    takeover_reconciler_free(two);
    takeover_source_free(source);
    unlink(path);
}

static bool fault_has(struct takeover_reconciler *reconciler, const char *part)
{
    _cleanup_free_ char *message = NULL;
    time_t since = 0;
    bool healthy = takeover_reconciler_is_healthy(reconciler, &message, &since);

    return part[0] ? strstr(message, part) != NULL : healthy;
}

#define MAP_PATH "/api/v1/namespaces/ceph/configmaps/cephzone-takeover"

/* A controller that starts while the map cannot be read does not take it for an empty one. */
TEST(map_that_was_never_read_gives_nothing_back)
{
    static const char *const missing[] = {"get", NULL};

    for (size_t i = 0; i < ARRAY_LENGTH(missing); i++) {
        _cleanup_zones_ struct zones zones = {0};

        zones_init(&zones);
        zones_take_over(&zones);
        zones_reboot(&zones); /* nothing but the map keeps them out */
        if (missing[i])
            fake_kube_forbid(zones.fake_kube, "get", MAP_PATH);
        else
            fake_kube_put(zones.fake_kube, MAP_PATH, "{\"data\":{\"takeover.json\":\"{\"}}");
        struct takeover_source *source =
            takeover_source_new(&(struct takeover_setup){.path = "",
                                                         .config = zones.config,
                                                         .kube = zones.site.kube,
                                                         .name_space = "ceph",
                                                         .poll_ms = 1});
        struct takeover_reconciler *one = start(&zones, source, "one");
        wait_until(fault_has(one, "the takeover map is not known") ||
                   zones.blocklist.count < ADDRESSES);
        assert_int_equal(zones.blocklist.count, ADDRESSES);
        assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
        fake_kube_forbid(zones.fake_kube, NULL, NULL);
        fake_kube_put(zones.fake_kube, MAP_PATH,
                      "{\"data\":{\"takeover.json\":\"{\\\"zone-a\\\": [\\\"zone-b\\\"]}\"}}");
        wait_until(fault_has(one, ""));
        assert_int_equal(zones.blocklist.count, ADDRESSES);
        fake_kube_put(zones.fake_kube, MAP_PATH, "{\"data\":{\"takeover.json\":\"{}\"}}");
        wait_until(!zones_have_label(&zones, "b1", MEMBER "zone-a"));
        takeover_reconciler_free(one);
        takeover_source_free(source);
    }
}

/* The file may be a copy from before the takeover. */
TEST(file_is_not_followed_while_the_configmap_may_be_newer)
{
    _cleanup_zones_ struct zones zones = {0};
    _cleanup_fake_kube_ struct fake_kube *slow = fake_kube_new();

    zones_init(&zones);
    zones_take_over(&zones);
    zones_reboot(&zones);
    _cleanup_free_ char *path = xasprintf("%s.map", zones.config_path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("{}", file);
    fclose(file);
    fake_kube_fail_all(slow, STATUS_UNAVAILABLE);
    struct takeover_source *source =
        takeover_source_new(&(struct takeover_setup){.path = path,
                                                     .config = zones.config,
                                                     .kube = fake_kube_as_kube(slow),
                                                     .name_space = "ceph",
                                                     .poll_ms = 1});
    struct takeover_reconciler *one = start(&zones, source, "one");
    wait_until(fault_has(one, "the takeover map is not known") ||
               zones.blocklist.count < ADDRESSES);
    assert_int_equal(zones.blocklist.count, ADDRESSES);
    assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    fake_kube_fail_all(slow, STATUS_OK); /* there is none: the file is what counts */
    wait_until(!zones_have_label(&zones, "b1", MEMBER "zone-a"));
    takeover_reconciler_free(one);
    takeover_source_free(source);
    unlink(path);
}

#define NODES "/api/v1/nodes"

static void wait_for_looks(struct zones *zones)
{
    const unsigned seen = fake_kube_calls(zones->fake_kube);

    wait_until(fake_kube_calls(zones->fake_kube) >= seen + 5);
}

/* Nodes are listed when they have changed, not to find out whether they have. */
TEST(nodes_are_not_listed_while_nothing_happens)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    fake_kube_put(zones.fake_kube, MAP_PATH,
                  "{\"data\":{\"takeover.json\":\"{\\\"zone-a\\\": [\\\"zone-b\\\"]}\"}}");
    struct takeover_source *source = takeover_source_new(&(struct takeover_setup){
        .path = "", .config = zones.config, .kube = zones.site.kube, .name_space = "ceph"});
    struct takeover_reconciler *one = start_with(&zones, source, "one", 600000);
    wait_until(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    for (int i = 0; i < 4; i++)
        wait_for_looks(&zones);
    fake_kube_forbid(zones.fake_kube, "list", NODES);
    for (int i = 0; i < 4; i++)
        wait_for_looks(&zones);
    assert_true(fault_has(one, ""));
    /* one more that takes over */
    zones_put_node(&zones, "b2", "zone-b", "10.0.1.2", true, "boot-1", false);
    wait_until(fault_has(one, "403"));
    assert_false(zones_have_label(&zones, "b2", MEMBER "zone-a"));
    fake_kube_forbid(zones.fake_kube, NULL, NULL);
    wait_until(zones_have_label(&zones, "b2", MEMBER "zone-a"));
    wait_until(fault_has(one, ""));
    takeover_reconciler_free(one);
    takeover_source_free(source);
}

/* Ceph is looked at all the same. */
TEST(fence_that_vanishes_is_noticed_while_nothing_else_happens)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    fake_kube_put(zones.fake_kube, MAP_PATH,
                  "{\"data\":{\"takeover.json\":\"{\\\"zone-a\\\": [\\\"zone-b\\\"]}\"}}");
    struct takeover_source *source = takeover_source_new(&(struct takeover_setup){
        .path = "", .config = zones.config, .kube = zones.site.kube, .name_space = "ceph"});
    struct takeover_reconciler *one = start_with(&zones, source, "one", 600000);
    wait_until(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    for (int i = 0; i < 4; i++)
        wait_for_looks(&zones);
    const unsigned additions = zones.additions;
    zones.forgets = "10.0.0.1:0/0";
    wait_until(!zones.forgets && zones.additions > additions);
    takeover_reconciler_free(one);
    takeover_source_free(source);
    assert_true(string_list_has(&zones.blocklist, "10.0.0.1:0/0"));
}
