#include "tests/unit/fixtures/kube.h"

#include <errno.h>

#include "common/encoding/json.h"
#include "controller/takeover/takeover.h"
#include "tests/fakes/fake_ceph.h"

/* Takeovers carried out on an API server and a Ceph in memory, cut anywhere. */

#define DRIVER "rbd.csi.ceph.com"
#define MEMBER "topology." DRIVER "/member.zone."
#define NODE(name) "/api/v1/nodes/" name
#define CSINODE(name) "/apis/storage.k8s.io/v1/csinodes/" name

struct world {
    struct fake_kube *fake_kube;
    struct fake_ceph *fake_ceph;
    char *config_path;
    struct config_file *config;
    struct standing_credentials *standing;
    struct fences fences;
    struct client_records records;
    struct takeover_site site;
    struct takeover_map map;
    struct string_list blocklist; /* of the cluster */
    const char *until;
    bool osds_are_silent;
};

#define POOL "p1"

/* --- the cluster's side --- */

static void list_without(struct string_list *list, const char *item)
{
    struct string_list rest = {0};

    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], item) != 0)
            string_list_add(&rest, list->items[i]);
    string_list_done(list);
    *list = rest;
}

static int answer_mon(void *object, const char *command, struct text *reply)
{
    struct world *world = object;
    json_auto_t *json = json_loads(command, 0, NULL);
    const char *prefix = json_string_value(json_object_get(json, "prefix"));
    const char *operation = json_string_value(json_object_get(json, "blocklistop"));
    const char *address = json_string_value(json_object_get(json, "addr"));

    if (strcmp(prefix, "osd blocklist ls") == 0) {
        text_add(reply, "[");
        for (size_t i = 0; i < world->blocklist.count; i++)
            text_addf(reply, "%s{\"addr\": \"%s\", \"until\": \"%s\"}", i ? "," : "",
                      world->blocklist.items[i], world->until);
        text_add(reply, "][]"); /* the second list: ranges */
        return 0;
    }
    if (strcmp(prefix, "osd dump") == 0 && world->osds_are_silent)
        return -ETIMEDOUT;
    if (strcmp(prefix, "osd dump") == 0) {
        text_add(reply, "{\"pools\": [{\"pool_name\": \"" POOL "\", \"pg_num\": 8, "
                        "\"application_metadata\": {\"rbd\": {}}}, {\"pool_name\": \"logs\", "
                        "\"pg_num\": 8, \"application_metadata\": {\"rgw\": {}}}]}");
        return 0;
    }
    assert_string_equal(prefix, "osd blocklist");
    if (strcmp(operation, "rm") == 0) {
        list_without(&world->blocklist, address);
    } else if (!string_list_has(&world->blocklist, address)) {
        assert_true(json_real_value(json_object_get(json, "expire")) > 1e8);
        string_list_add(&world->blocklist, address);
    }
    return 0;
}

static void put_node(struct world *world, const char *name, const char *zone, const char *ip,
                     bool ready, const char *boot, bool busy)
{
    _cleanup_free_ char *node = xasprintf("/api/v1/nodes/%s", name);
    _cleanup_free_ char *csinode = xasprintf("/apis/storage.k8s.io/v1/csinodes/%s", name);
    _cleanup_free_ char *node_json =
        xasprintf("{\"metadata\":{\"labels\":{\"topology." DRIVER "/zone\":\"%s\",\"" MEMBER
                  "%s\":\"true\"}},"
                  "\"spec\":{\"taints\":[{\"key\":\"other\",\"effect\":\"NoSchedule\"}]},"
                  "\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"%s\"},"
                  "{\"type\":\"Hostname\",\"address\":\"%s\"}],"
                  "\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}],"
                  "\"nodeInfo\":{\"bootID\":\"%s\"}%s}}",
                  zone, zone, ip, name, ready ? "True" : "Unknown", boot,
                  busy ? ",\"volumesInUse\":[\"kubernetes.io/csi/" DRIVER "^0001-x\"]" : "");
    _cleanup_free_ char *csinode_json = xasprintf(
        "{\"spec\":{\"drivers\":[{\"name\":\"other\",\"topologyKeys\":[\"x\"]},{\"name\":\"" DRIVER
        "\",\"nodeID\":\"id-of-%s\",\"topologyKeys\":[\"topology." DRIVER "/zone\",\"" MEMBER
        "%s\"]}]}}",
        name, zone);

    fake_kube_put(world->fake_kube, node, node_json);
    fake_kube_put(world->fake_kube, csinode, csinode_json);
}

#define POOL_ID 7
#define UUID "b0285c97-a0ce-11eb-8c66-0242ac110002"
#define HANDLE "0001-0002-c1-0000000000000007-" UUID
#define RECORD(node) ".rbd.csi.ceph.com/clientAddress/" node
#define ADDRESSES 5 /* of the failed zone: two internal ones, three that volumes know */

/* Another client of the pool. */
struct outsider {
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
    struct call call;
};

static void outsider_open(struct outsider *outsider, struct world *world)
{
    struct ceph *ceph = fake_ceph_as_other(world->fake_ceph);
    _cleanup_error_ struct error err = {0};

    call_init(&outsider->call, 1, "test", deadline_in_ms(60000));
    if (ceph->ops->connect(ceph, &outsider->call,
                           &(struct ceph_target){.cluster_id = "c1", .user = "other"},
                           &outsider->cluster, &err) < 0 ||
        outsider->cluster->ops->pool_open(outsider->cluster, &outsider->call, POOL, "",
                                          &outsider->pool, &err) < 0)
        fail_msg("%s", err.message);
}

static void outsider_close(struct outsider *outsider)
{
    ceph_pool_close(outsider->pool);
    ceph_disconnect(outsider->cluster);
    call_done(&outsider->call);
}

/* As NodeStage leaves it. */
static void put_image(struct world *world, const char *name, const char *key, const char *address)
{
    _cleanup_(outsider_close) struct outsider outsider = {0};
    _cleanup_strmap_ struct strmap metadata = {0};
    _cleanup_error_ struct error err = {0};

    outsider_open(&outsider, world);
    strmap_set(&metadata, key, address);
    strmap_set(&metadata, "csi.storage.k8s.io/pv/name", name);
    if (outsider.pool->ops->image_create(
            outsider.pool, &outsider.call, name, 1 << 22,
            &(struct image_options){.features = IMAGE_FEATURES_DEFAULT}, &err) < 0) {
        assert_int_equal(err.status, STATUS_ALREADY_EXISTS);
        error_clear(&err);
    }
    assert_int_equal(outsider.pool->ops->image_metadata_change(outsider.pool, &outsider.call, name,
                                                               &metadata, NULL, &err),
                     0);
}

static void put_journal(struct world *world)
{
    _cleanup_(outsider_close) struct outsider outsider = {0};
    _cleanup_strmap_ struct strmap entry = {0};
    _cleanup_error_ struct error err = {0};

    outsider_open(&outsider, world);
    strmap_set(&entry, "csi.volname", "pvc-1");
    strmap_set(&entry, "csi.imagename", "csi-vol-" UUID);
    assert_int_equal(outsider.pool->ops->object_create(outsider.pool, &outsider.call,
                                                       "csi.volume." UUID, &entry, &err),
                     0);
}

static void put_pv(struct world *world, const char *name, const char *handle, const char *key,
                   const char *value, const char *attributes)
{
    _cleanup_free_ char *path = xasprintf("/api/v1/persistentvolumes/%s", name);
    _cleanup_free_ char *json = xasprintf(
        "{\"spec\":{\"csi\":{\"driver\":\"" DRIVER "\",\"volumeHandle\":\"%s\","
        "\"volumeAttributes\":{%s}},\"claimRef\":{\"namespace\":\"default\",\"name\":\"%s\"},"
        "\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":"
        "\"%s\",\"operator\":\"In\",\"values\":[\"%s\"]}]}]}}}}",
        handle, attributes, name, key, value);

    fake_kube_put(world->fake_kube, path, json);
}

#define STATIC(image)                                                                              \
    "\"staticVolume\":\"true\",\"clusterID\":\"c1\",\"pool\":\"" POOL "\",\"imageName\":\"" image  \
    "\""

static void attach(struct world *world, const char *pv, const char *node)
{
    _cleanup_free_ char *path =
        xasprintf("/apis/storage.k8s.io/v1/volumeattachments/csi-%s-%s", pv, node);
    _cleanup_free_ char *json =
        xasprintf("{\"spec\":{\"attacher\":\"" DRIVER "\",\"nodeName\":\"%s\",\"source\":"
                  "{\"persistentVolumeName\":\"%s\"}}}",
                  node, pv);

    fake_kube_put(world->fake_kube, path, json);
}

#define POD(name) "/api/v1/namespaces/default/pods/" name

static void put_pod(struct world *world, const char *path, const char *node, const char *claim)
{
    _cleanup_free_ char *json = xasprintf(
        "{\"metadata\":{\"ownerReferences\":[{\"kind\":\"StatefulSet\",\"controller\":true}]},"
        "\"spec\":{\"nodeName\":\"%s\",\"volumes\":[{\"name\":\"config\",\"emptyDir\":{}},"
        "{\"name\":\"data\",\"persistentVolumeClaim\":{\"claimName\":\"%s\"}}]},"
        "\"status\":{\"phase\":\"Running\"}}",
        node, claim);

    fake_kube_put(world->fake_kube, path, json);
}

/* Seven of zone-a and one of zone-b that have come to b1; one of zone-a on c1, which serves nobody
 * else. */
static void put_pods(struct world *world)
{
    static const char *const paths[] = {POD("x1"), POD("x2"), POD("x3"), POD("x4"),
                                        POD("x5"), POD("x6"), POD("x7")};

    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++)
        put_pod(world, paths[i], "b1", "pv-1");
    put_pod(world, POD("of-b"), "b1", "pv-4");
    put_pod(world, POD("elsewhere"), "c1", "pv-1");
}

static bool has_pod(struct world *world, const char *path)
{
    json_auto_t *item = fake_kube_get(world->fake_kube, path);

    return item != NULL;
}

/* One by its handle, pinned by membership; one that was made by hand, pinned by the plain segment;
 * one of another zone that a1 has attached; and one of another zone with which a1 has nothing to do
 * any more. */
static void put_volumes(struct world *world)
{
    fake_ceph_add_pool(world->fake_ceph, POOL, POOL_ID);
    put_journal(world);
    put_image(world, "csi-vol-" UUID, RECORD("id-of-a2"), "v2:[fd01::2]:0/5");
    put_image(world, "csi-vol-" UUID, RECORD("b1"), "10.0.1.1:0/3"); /* of an earlier takeover */
    put_image(world, "by-hand", RECORD("a1"), "192.168.0.1:0/77");
    put_image(world, "guest", RECORD("a1"), "[v2:172.16.0.1:0/9,v1:172.16.0.1:0/9]");
    put_image(world, "elsewhere", RECORD("a1"), "172.16.9.9:0/9");
    put_pv(world, "pv-1", HANDLE, MEMBER "zone-a", "true", "");
    put_pv(world, "pv-2", "by-hand", "topology." DRIVER "/zone", "zone-a", STATIC("by-hand"));
    put_pv(world, "pv-3", "guest", MEMBER "zone-b", "true", STATIC("guest"));
    put_pv(world, "pv-4", "elsewhere", MEMBER "zone-b", "true", STATIC("elsewhere"));
    attach(world, "pv-3", "a1");
    attach(world, "pv-4", "b1");
}

/* --- our side --- */

static void set_map(struct world *world, const char *text)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *json = NULL;

    takeover_map_done(&world->map);
    if (json_load_text(text, strlen(text), "map", &json, &err) < 0 ||
        takeover_map_decode(json, &world->map, &err) < 0)
        fail_msg("%s", err.message);
}

static void write_config(struct world *world)
{
    static const char config[] = "[{\"clusterID\": \"c1\", \"monitors\": [\"m\"]}]";

    world->config_path = xstrdup("/tmp/test_takeover.XXXXXX");
    int fd = mkstemp(world->config_path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, config, strlen(config)), strlen(config));
    close(fd);
}

static void world_init(struct world *world)
{
    struct credentials keyring = {.user = xstrdup("csi")};

    secret_set(&keyring.key, "AQB");
    write_config(world);
    world->fake_kube = fake_kube_new();
    world->fake_ceph = fake_ceph_new();
    fake_ceph_answer_mon(world->fake_ceph, answer_mon, world);
    world->until = "2999-01-01T00:00:00.000000+0000";
    world->config = config_file_new(world->config_path);
    world->standing =
        standing_credentials_new(&(struct standing_credentials_options){.keyring = &keyring});
    credentials_done(&keyring);
    world->fences =
        (struct fences){fake_ceph_as_ceph(world->fake_ceph), world->config, world->standing};
    world->site = (struct takeover_site){.kube = fake_kube_as_kube(world->fake_kube),
                                         .driver_name = DRIVER,
                                         .own_node = "b1",
                                         .fences = &world->fences,
                                         .records = &world->records};
    world->records = (struct client_records){.ceph = world->fences.ceph,
                                             .config = world->config,
                                             .standing = world->standing,
                                             .instance_id = "default"};
    put_volumes(world);
    fake_kube_put(world->fake_kube, "/apis/storage.k8s.io/v1/csidrivers/" DRIVER,
                  "{\"spec\":{\"attachRequired\":true}}");
    put_node(world, "a1", "zone-a", "10.0.0.1", false, "boot-1", true);
    put_node(world, "a2", "zone-a", "fd00::2", true, "boot-1", true);
    put_node(world, "b1", "zone-b", "10.0.1.1", true, "boot-1", true);
    put_node(world, "c1", "zone-c", "10.0.2.1", true, "boot-1", false);
}

static void world_done(struct world *world)
{
    takeover_map_done(&world->map);
    standing_credentials_free(world->standing);
    config_file_free(world->config);
    string_list_done(&world->blocklist);
    fake_kube_free(world->fake_kube);
    fake_ceph_free(world->fake_ceph);
    unlink(world->config_path);
    free(world->config_path);
}
#define _cleanup_world_ _cleanup_(world_done)

static bool has_label(struct world *world, const char *node, const char *key)
{
    _cleanup_free_ char *path = xasprintf("/api/v1/nodes/%s", node);
    json_auto_t *item = fake_kube_get(world->fake_kube, path);

    return kube_text(item, "metadata", "labels", key, NULL)[0] != '\0';
}

/* The rule of rules: who is labelled is not before everybody at home is fenced. */
static void assert_safe(struct world *world)
{
    static const char *const addresses[ADDRESSES] = {
        "10.0.0.1:0/0", "[fd00::2]:0/0", "192.168.0.1:0/0", "172.16.0.1:0/0", "[fd01::2]:0/0",
    };
    bool is_fenced = true;

    for (size_t i = 0; i < ADDRESSES; i++)
        is_fenced = is_fenced && string_list_has(&world->blocklist, addresses[i]);

    if (world->map.count > 0 && has_label(world, "b1", MEMBER "zone-a"))
        assert_true(is_fenced);
    assert_true(has_label(world, "a1", MEMBER "zone-a")); /* the home label */
    assert_false(has_label(world, "c1", MEMBER "zone-a"));
}

static bool always(void *object)
{
    assert_safe(object);
    return true;
}

/* One look and its steps; the number of steps done, -1 after a failure. */
static int round_once(struct world *world, bool tolerant)
{
    _cleanup_takeover_look_ struct takeover_look look = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;
    size_t done = 0;

    call_init(&call, 1, "test", deadline_in_ms(60000));
    int result = takeover_look_at(&world->site, &call, &world->map, &look, &err);
    if (result == 0)
        result = takeover_carry_out(&world->site, &call, &look, always, world, &done, &err);
    call_done(&call);
    if (result < 0 && !tolerant)
        fail_msg("%s", err.message);
    assert_safe(world);
    return result < 0 ? -1 : (int)done;
}

static void converge(struct world *world)
{
    for (int i = 0; i < 20; i++)
        if (round_once(world, false) == 0)
            return;
    fail_msg("it never ends");
}

/* All there is, in Kubernetes and in Ceph. Caller frees. */
static char *dump(struct world *world)
{
    _cleanup_text_ struct text out = TEXT_INIT(1 << 20);

    fake_kube_dump(world->fake_kube, &out);
    for (size_t i = 0; i < world->blocklist.count; i++)
        text_addf(&out, "blocklist %s\n", world->blocklist.items[i]);
    return xstrdup(text_chars(&out));
}

static const char A_TO_B[] = "{\"zone-a\": [\"zone-b\"]}";

static void take_over(struct world *world)
{
    set_map(world, A_TO_B);
    converge(world);
}

static void reboot(struct world *world)
{
    static const char *const nodes[] = {NODE("a1"), NODE("a2")};

    for (size_t i = 0; i < ARRAY_LENGTH(nodes); i++) {
        json_auto_t *item = fake_kube_get(world->fake_kube, nodes[i]);
        json_t *status = json_object_get(item, "status");

        json_object_set_new(json_object_get(status, "nodeInfo"), "bootID", json_string("boot-2"));
        json_object_set_new(json_array_get(json_object_get(status, "conditions"), 0), "status",
                            json_string("True"));
        _cleanup_free_ char *text = json_dumps(item, 0);
        fake_kube_put(world->fake_kube, nodes[i], text);
    }
}

TEST(takeover_fences_taints_and_labels)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    take_over(&world);
    assert_true(has_label(&world, "b1", MEMBER "zone-a"));
    assert_int_equal(world.blocklist.count, ADDRESSES);
    json_auto_t *down = fake_kube_get(world.fake_kube, NODE("a1"));
    json_t *taints = json_object_get(json_object_get(down, "spec"), "taints");
    assert_int_equal(json_array_size(taints), 2); /* the other one stays */
    json_auto_t *up = fake_kube_get(world.fake_kube, NODE("a2"));
    taints = json_object_get(json_object_get(up, "spec"), "taints");
    assert_int_equal(json_array_size(taints), 1);
}

TEST(giveback_waits_for_a_reboot)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    _cleanup_free_ char *before = dump(&world);
    take_over(&world);
    set_map(&world, "{}");
    converge(&world);
    assert_true(has_label(&world, "b1", MEMBER "zone-a"));
    assert_int_equal(world.blocklist.count, ADDRESSES);
    reboot(&world);
    converge(&world);
    assert_false(has_label(&world, "b1", MEMBER "zone-a"));
    assert_int_equal(world.blocklist.count, 0);
    put_node(&world, "a1", "zone-a", "10.0.0.1", false, "boot-1", true);
    put_node(&world, "a2", "zone-a", "fd00::2", true, "boot-1", true);
    _cleanup_free_ char *after = dump(&world);
    assert_string_equal(after, before); /* but for the reboot */
}

TEST(nobody_is_let_in_before_the_osds_keep_to_the_fences)
{
    _cleanup_world_ struct world world = {.osds_are_silent = true};

    world_init(&world);
    set_map(&world, A_TO_B);
    for (int i = 0; i < 5; i++)
        round_once(&world, true);
    assert_int_equal(world.blocklist.count, ADDRESSES);
    assert_false(has_label(&world, "b1", MEMBER "zone-a"));
    json_auto_t *down = fake_kube_get(world.fake_kube, NODE("a1"));
    assert_int_equal(json_array_size(json_object_get(json_object_get(down, "spec"), "taints")), 1);
    world.osds_are_silent = false;
    converge(&world);
    assert_true(has_label(&world, "b1", MEMBER "zone-a"));
}

TEST(volume_that_cannot_be_asked_stops_it)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    put_image(&world, "by-hand", RECORD("a1"), "-");
    set_map(&world, A_TO_B);
    converge(&world);
    assert_int_equal(world.blocklist.count, 0);
    put_image(&world, "by-hand", RECORD("a1"), "192.168.0.1:0/77");
    put_pv(&world, "pv-5", "0001-0002-c9-0000000000000007-" UUID, MEMBER "zone-a", "true", "");
    converge(&world); /* in a cluster that nobody knows */
    assert_int_equal(world.blocklist.count, 0);
    fake_kube_drop(world.fake_kube, "/api/v1/persistentvolumes/pv-5");
    fake_kube_forbid(world.fake_kube, "list", "/apis/storage.k8s.io/v1/volumeattachments");
    converge(&world);
    assert_int_equal(world.blocklist.count, 0);
    fake_kube_forbid(world.fake_kube, NULL, NULL);
    converge(&world);
    assert_true(has_label(&world, "b1", MEMBER "zone-a"));
}

/* --- pods --- */

static void free_of_use(struct world *world)
{
    put_node(world, "a1", "zone-a", "10.0.0.1", true, "boot-1", false);
    put_node(world, "a2", "zone-a", "fd00::2", true, "boot-1", false);
}

TEST(pods_move_back_when_all_else_is_done)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    take_over(&world);
    put_pods(&world);
    reboot(&world);
    set_map(&world, "{}");
    converge(&world);
    assert_false(has_pod(&world, POD("x1")) || has_pod(&world, POD("x7")));
    assert_true(has_pod(&world, POD("of-b")) && has_pod(&world, POD("elsewhere")));
    json_auto_t *node = fake_kube_get(world.fake_kube, NODE("b1"));
    assert_int_equal(
        json_object_size(json_object_get(json_object_get(node, "metadata"), "annotations")), 0);
}

TEST(budget_is_respected)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    take_over(&world);
    put_pods(&world);
    reboot(&world);
    set_map(&world, "{}");
    fake_kube_protect(world.fake_kube, POD("x4"));
    converge(&world);
    assert_false(has_label(&world, "b1", MEMBER "zone-a"));
    assert_true(has_pod(&world, POD("x4")));
    assert_false(has_pod(&world, POD("x1")) || has_pod(&world, POD("x7")));
    fake_kube_protect(world.fake_kube, NULL);
    converge(&world);
    assert_false(has_pod(&world, POD("x4")));
}

TEST(without_the_right_pods_stay)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    take_over(&world);
    put_pods(&world);
    reboot(&world);
    set_map(&world, "{}");
    fake_kube_forbid(world.fake_kube, "list", "/api/v1/pods");
    converge(&world);
    assert_false(has_label(&world, "b1", MEMBER "zone-a"));
    assert_true(has_pod(&world, POD("x1")));
    fake_kube_forbid(world.fake_kube, NULL, NULL);
    converge(&world);
    assert_false(has_pod(&world, POD("x1")));
}

/* A new takeover before the pods have left: they stay. */
TEST(takeover_in_the_middle_of_giveback_keeps_pods)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    take_over(&world);
    put_pods(&world);
    reboot(&world);
    set_map(&world, "{}");
    fake_kube_protect(world.fake_kube, POD("x"));
    converge(&world);
    take_over(&world);
    fake_kube_protect(world.fake_kube, NULL);
    converge(&world);
    assert_true(has_label(&world, "b1", MEMBER "zone-a"));
    assert_true(has_pod(&world, POD("x1")));
}

/* Kubelet's word counts only where kubelet knows: for drivers that are attached. */
TEST(node_without_volumes_is_let_in)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    free_of_use(&world);
    take_over(&world);
    fake_kube_put(world.fake_kube, "/apis/storage.k8s.io/v1/csidrivers/" DRIVER,
                  "{\"spec\":{\"attachRequired\":false}}");
    set_map(&world, "{}");
    converge(&world);
    assert_int_equal(world.blocklist.count, ADDRESSES);
    fake_kube_forbid(world.fake_kube, "get", "/apis/storage.k8s.io/v1/csidrivers");
    converge(&world);
    assert_int_equal(world.blocklist.count, ADDRESSES);
    fake_kube_forbid(world.fake_kube, NULL, NULL);
    fake_kube_put(world.fake_kube, "/apis/storage.k8s.io/v1/csidrivers/" DRIVER,
                  "{\"spec\":{\"attachRequired\":true}}");
    converge(&world);
    assert_int_equal(world.blocklist.count, 0);
}

static const char *explanation_of(struct world *world, struct takeover_look *look)
{
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "test", deadline_in_ms(60000));
    if (takeover_look_at(&world->site, &call, &world->map, look, &err) < 0)
        fail_msg("%s", err.message);
    call_done(&call);
    assert_int_equal(look->plan.domain_count, 1);
    return look->plan.domains[0].explanation;
}

/* A Node that was deleted cannot be noted on: somebody else has to fence it. */
TEST(client_without_a_node_is_not_forgotten)
{
    _cleanup_world_ struct world world = {0};
    _cleanup_takeover_look_ struct takeover_look look = {0};

    world_init(&world);
    put_image(&world, "by-hand", RECORD("gone"), "192.168.0.9:0/77");
    put_image(&world, "by-hand", RECORD("long-gone"), "192.168.0.8:0/77"); /* nothing attached */
    attach(&world, "pv-2", "gone");
    set_map(&world, A_TO_B);
    converge(&world);
    assert_int_equal(world.blocklist.count, 0);
    assert_non_null(strstr(explanation_of(&world, &look),
                           "'gone' at 192.168.0.9, whose Node is gone; fence it by hand: ceph osd "
                           "blocklist add 192.168.0.9:0/0 157784760"));
    string_list_add(&world.blocklist, "192.168.0.9:0/0");
    converge(&world);
    assert_true(has_label(&world, "b1", MEMBER "zone-a"));
    assert_int_equal(world.blocklist.count, ADDRESSES + 1);
}

TEST(address_of_others_is_not_fenced)
{
    _cleanup_world_ struct world world = {0};
    _cleanup_takeover_look_ struct takeover_look look = {0};

    world_init(&world);
    put_image(&world, "by-hand", RECORD("a1"), "192.168.0.1:0/77");
    put_image(&world, "by-hand", RECORD("b1"), "192.168.0.1:0/78");
    set_map(&world, A_TO_B);
    converge(&world);
    assert_int_equal(world.blocklist.count, 0);
    assert_non_null(strstr(explanation_of(&world, &look), "both come from 192.168.0.1"));
}

/* A node that maps something after it was written down is found before anybody is labelled. */
TEST(late_client_is_fenced_too)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    set_map(&world, A_TO_B);
    assert_true(round_once(&world, false) > 0); /* written down */
    put_image(&world, "by-hand", RECORD("a1"), "192.168.7.7:0/1");
    converge(&world);
    assert_true(string_list_has(&world.blocklist, "192.168.7.7:0/0"));
    assert_true(has_label(&world, "b1", MEMBER "zone-a"));
}

TEST(fence_that_soon_ends_is_none)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    string_list_add(&world.blocklist, "10.0.0.1:0/0");
    string_list_add(&world.blocklist, "[fd00::2]:0/0");
    string_list_add(&world.blocklist, "10.0.0.1:6800/77");
    world.until = "2001-01-01T00:00:00.000000+0000";
    set_map(&world, A_TO_B);
    for (int i = 0; i < 5; i++)
        round_once(&world, false);
    assert_false(has_label(&world, "b1", MEMBER "zone-a"));
}

TEST(without_ceph_or_rights_nothing_is_labelled)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    set_map(&world, A_TO_B);
    fake_ceph_refuse_connect(world.fake_ceph, STATUS_DEADLINE_EXCEEDED);
    converge(&world);
    assert_false(has_label(&world, "b1", MEMBER "zone-a"));
    fake_ceph_refuse_connect(world.fake_ceph, STATUS_OK);
    fake_kube_forbid(world.fake_kube, "patch", "/api/v1/nodes");
    assert_int_equal(round_once(&world, true), -1);
    assert_int_equal(world.blocklist.count, 0); /* nothing is fenced that is not written down */
}

/* Runs with call @n failing, then without, and compares with a run that was never disturbed. True
 * if there was no such call. */
static bool run_cut(bool is_giveback, int kind, unsigned n, const char *wanted)
{
    const bool in_kube = kind < 4;
    const int failure = kind % 4;
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    if (is_giveback) {
        take_over(&world);
        put_pods(&world);
        reboot(&world);
    }
    set_map(&world, is_giveback ? "{}" : A_TO_B);
    if (in_kube)
        fake_kube_fail_call(world.fake_kube, n, (enum fake_kube_failure)failure);
    else
        fake_ceph_fail_call(world.fake_ceph, n, (enum fake_failure)failure);
    for (int i = 0; i < 20 && round_once(&world, true) > 0; i++)
        ;
    bool over = in_kube ? fake_kube_fault_is_pending(world.fake_kube)
                        : fake_ceph_fault_is_pending(world.fake_ceph);
    fake_kube_recover(world.fake_kube);
    fake_ceph_recover(world.fake_ceph);
    converge(&world);
    _cleanup_free_ char *found = dump(&world);
    assert_string_equal(found, wanted);
    return over;
}

/* Calls that each way makes at least, of each server. */
#define CALLS_MIN 8

TEST(every_cut_is_continued)
{
    for (int is_giveback = 0; is_giveback < 2; is_giveback++) {
        _cleanup_world_ struct world undisturbed = {0};

        world_init(&undisturbed);
        take_over(&undisturbed);
        if (is_giveback) {
            put_pods(&undisturbed);
            reboot(&undisturbed);
            set_map(&undisturbed, "{}");
            converge(&undisturbed);
        }
        _cleanup_free_ char *wanted = dump(&undisturbed);
        for (int kind = 0; kind < 8; kind++) {
            unsigned n = 1;

            while (n < 200 && !run_cut(is_giveback, kind, n, wanted))
                n++;
            assert_true(n < 200);
            assert_true(n > CALLS_MIN);
        }
    }
}

/* --- the reconciler --- */

static struct takeover_reconciler *start(struct world *world, struct takeover_source *source,
                                         const char *identity)
{
    _cleanup_error_ struct error err = {0};
    struct takeover_reconciler *reconciler = NULL;

    if (takeover_reconciler_new(&(struct takeover_reconciler_options){.site = world->site,
                                                                      .source = source,
                                                                      .name_space = "ceph",
                                                                      .identity = identity,
                                                                      .busy_ms = 20,
                                                                      .idle_ms = 20},
                                &reconciler, &err) < 0)
        fail_msg("%s", err.message);
    return reconciler;
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
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    _cleanup_free_ char *path = xasprintf("%s.map", world.config_path);
    struct takeover_source *source = takeover_source_new(path, world.config);
    struct takeover_reconciler *one = start(&world, source, "one");
    struct takeover_reconciler *two = start(&world, source, "two");
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(A_TO_B, file);
    fclose(file);
    eventually(has_label(&world, "b1", MEMBER "zone-a"));
    json_auto_t *lease = fake_kube_get(
        world.fake_kube, "/apis/coordination.k8s.io/v1/namespaces/ceph/leases/" DRIVER "-takeover");
    assert_non_null(lease);
    assert_true(is_closed(source));
    file = fopen(path, "we");
    assert_non_null(file);
    fputs("{}", file);
    fclose(file);
    fake_kube_protect(world.fake_kube, POD("x1"));
    put_pods(&world);
    reboot(&world);
    eventually(!has_label(&world, "b1", MEMBER "zone-a"));
    eventually(!has_pod(&world, POD("x7")));
    assert_true(is_closed(source)); /* as long as a pod has to leave */
    fake_kube_protect(world.fake_kube, NULL);
    eventually(!has_pod(&world, POD("x1")));
    eventually(!is_closed(source));
    takeover_reconciler_free(one);
    takeover_reconciler_free(two);
    takeover_source_free(source);
    unlink(path);
}
