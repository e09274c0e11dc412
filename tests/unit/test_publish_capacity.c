#include "tests/unit/fixtures/kube.h"

#include "common/encoding/json.h"
#include "controller/publish_capacity.h"

/* CSIStorageCapacity objects that we keep ourselves. */

#define DRIVER "rbd.csi.ceph.com"
#define KEY "topology." DRIVER "/zone"
#define OBJECTS "/apis/storage.k8s.io/v1/namespaces/ceph/csistoragecapacities/"

struct world {
    struct kube_fixture *fixture;
    struct publish_site site;
    uint64_t bytes;
    const char *failing; /* class whose figure cannot be had */
};

static int ask(void *object, struct call *call, const struct strmap *parameters,
               const struct strmap *segment, struct published_capacity *capacity, struct error *err)
{
    const struct world *world = object;

    (void)call;
    if (world->failing && strcmp(strmap_get_or(parameters, "pool", ""), world->failing) == 0)
        return error_set(err, STATUS_UNAVAILABLE, "no figures");
    assert_true(segment->count <= 1);
    *capacity = (struct published_capacity){world->bytes, world->bytes / 2, true};
    return 0;
}

static void put_node(struct fake_kube *fake, const char *name, const char *zone, bool labelled)
{
    _cleanup_free_ char *node = xasprintf("/api/v1/nodes/%s", name);
    _cleanup_free_ char *csinode = xasprintf("/apis/storage.k8s.io/v1/csinodes/%s", name);
    _cleanup_free_ char *json =
        labelled ? xasprintf("{\"metadata\":{\"labels\":{\"" KEY "\":\"%s\",\"x\":\"y\"}}}", zone)
                 : xstrdup("{}");

    fake_kube_put(fake, node, json);
    fake_kube_put(fake, csinode,
                  "{\"spec\":{\"drivers\":[{\"name\":\"" DRIVER "\",\"topologyKeys\":[\"" KEY
                  "\"]}]}}");
}

/* Registered before its labels were known. */
static void put_placeless_node(struct fake_kube *fake, const char *name)
{
    _cleanup_free_ char *node = xasprintf("/api/v1/nodes/%s", name);
    _cleanup_free_ char *csinode = xasprintf("/apis/storage.k8s.io/v1/csinodes/%s", name);

    fake_kube_put(fake, node, "{}");
    fake_kube_put(fake, csinode, "{\"spec\":{\"drivers\":[{\"name\":\"" DRIVER "\"}]}}");
}

static void put_class(struct fake_kube *fake, const char *name, const char *driver,
                      const char *mode)
{
    _cleanup_free_ char *path = xasprintf("/apis/storage.k8s.io/v1/storageclasses/%s", name);
    _cleanup_free_ char *json =
        xasprintf("{\"provisioner\":\"%s\",\"volumeBindingMode\":\"%s\",\"parameters\":{\"pool\":"
                  "\"%s\"}}",
                  driver, mode, name);

    fake_kube_put(fake, path, json);
}

static void world_init(struct world *world, void **state)
{
    struct fake_kube *fake = ((struct kube_fixture *)*state)->fake;

    *world = (struct world){.fixture = *state, .bytes = 1000};
    world->site = (struct publish_site){
        .kube = world->fixture->kube,
        .name_space = "ceph",
        .driver_name = DRIVER,
        .ask = ask,
        .object = world,
    };
    put_node(fake, "a1", "zone-a", true);
    put_node(fake, "a2", "zone-a", true);
    put_node(fake, "b1", "zone-b", true);
    put_node(fake, "late", "", false); /* its label has yet to come */
    put_class(fake, "fast", DRIVER, "WaitForFirstConsumer");
    put_class(fake, "slow", DRIVER, "WaitForFirstConsumer");
    put_class(fake, "now", DRIVER, "Immediate");
    put_class(fake, "other", "nfs", "WaitForFirstConsumer");
}

static bool always(void *object)
{
    (void)object;
    return true;
}

static int publish(struct world *world, struct publish_outcome *outcome, struct error *err)
{
    struct call call;

    call_init(&call, 1, "test", deadline_in_ms(60000));
    int result = publish_capacity_once(&world->site, &call, always, NULL, outcome, err);
    call_done(&call);
    return result;
}

/* The writes of one look that must go well. */
static size_t writes(struct world *world)
{
    _cleanup_error_ struct error err = {0};
    struct publish_outcome outcome = {0};

    if (publish(world, &outcome, &err) < 0)
        fail_msg("%s", err.message);
    assert_null(outcome.foreign);
    return outcome.writes;
}

static size_t count_objects(struct world *world, const char *part)
{
    _cleanup_text_ struct text dump = TEXT_INIT(1 << 20);
    size_t count = 0;

    fake_kube_dump(world->fixture->fake, &dump);
    for (const char *line = text_chars(&dump); line[0];) {
        size_t length = strcspn(line, "\n");
        _cleanup_free_ char *copy = xstrndup(line, length);

        count += strstr(copy, "csistoragecapacities") && strstr(copy, part);
        line += length + (line[length] == '\n');
    }
    return count;
}

TEST(one_object_for_each_class_and_place, WITH_KUBE)
{
    struct world world;

    world_init(&world, state);
    assert_int_equal(writes(&world), 4);
    assert_int_equal(count_objects(&world, "\"cephzone\""), 4);
    assert_int_equal(count_objects(&world, "zone-a"), 2);
    assert_int_equal(count_objects(&world, "\"1000\""), 4);
    assert_int_equal(count_objects(&world, "\"500\""), 4);
    assert_int_equal(writes(&world), 0); /* nothing has changed */
    world.bytes = 0;
    assert_int_equal(writes(&world), 4); /* nothing left is a figure too */
    fake_kube_drop(world.fixture->fake, "/apis/storage.k8s.io/v1/storageclasses/slow");
    fake_kube_drop(world.fixture->fake, "/api/v1/nodes/b1");
    assert_int_equal(writes(&world), 3);
    assert_int_equal(count_objects(&world, ""), 1);
}

/* A place without segments is everywhere, and so would be its figure. */
TEST(node_without_a_place_publishes_nothing, WITH_KUBE)
{
    struct world world;

    world_init(&world, state);
    put_placeless_node(world.fixture->fake, "bare");
    assert_int_equal(writes(&world), 4);
    fake_kube_drop(world.fixture->fake, "/api/v1/nodes/a1");
    fake_kube_drop(world.fixture->fake, "/api/v1/nodes/a2");
    fake_kube_drop(world.fixture->fake, "/api/v1/nodes/b1");
    fake_kube_drop(world.fixture->fake, "/api/v1/nodes/late");
    world.site.has_levels = true;
    assert_int_equal(writes(&world), 4); /* all are removed */
    assert_int_equal(count_objects(&world, ""), 0);
    world.site.has_levels = false; /* no node is to have a place */
    assert_int_equal(writes(&world), 2);
    assert_int_equal(count_objects(&world, "\"cephzone\""), 2);
}

TEST(figure_that_fails_leaves_its_object, WITH_KUBE)
{
    struct world world;
    struct publish_outcome outcome = {0};
    _cleanup_error_ struct error err = {0};

    world_init(&world, state);
    assert_int_equal(writes(&world), 4);
    world.bytes = 2000;
    world.failing = "fast";
    assert_int_equal(publish(&world, &outcome, &err), -1);
    assert_int_equal(outcome.writes, 2);
    assert_int_equal(count_objects(&world, "\"1000\""), 4); /* half of 2000 is among them */
    world.failing = NULL;
    assert_int_equal(writes(&world), 2);
}

TEST(never_beside_another_publisher, WITH_KUBE)
{
    struct world world;
    struct publish_outcome outcome = {0};
    _cleanup_error_ struct error err = {0};

    world_init(&world, state);
    assert_int_equal(writes(&world), 4);
    fake_kube_put(world.fixture->fake, OBJECTS "csisc-1",
                  "{\"metadata\":{\"labels\":{\"csi.storage.k8s.io/drivername\":\"" DRIVER
                  "\",\"csi.storage.k8s.io/managed-by\":\"external-provisioner\"}},"
                  "\"storageClassName\":\"fast\",\"capacity\":\"1Gi\"}");
    assert_int_equal(publish(&world, &outcome, &err), 0);
    assert_string_equal(outcome.foreign, "object 'csisc-1' of 'external-provisioner'");
    free(outcome.foreign);
    assert_int_equal(count_objects(&world, ""), 1);
    fake_kube_drop(world.fixture->fake, OBJECTS "csisc-1");
    assert_int_equal(writes(&world), 4);
}

TEST(every_failed_call_is_made_good, WITH_KUBE)
{
    for (int failure = 0; failure < 4; failure++) {
        bool over = false;

        for (unsigned n = 1; n < 100 && !over; n++) {
            struct world world;
            struct publish_outcome outcome = {0};
            _cleanup_error_ struct error err = {0};

            kube_fixture_free(state);
            kube_fixture_make(state);
            world_init(&world, state);
            fake_kube_fail_call(world.fixture->fake, n, (enum fake_kube_failure)failure);
            (void)!publish(&world, &outcome, &err);
            over = fake_kube_fault_is_pending(world.fixture->fake);
            fake_kube_recover(world.fixture->fake);
            writes(&world);
            assert_int_equal(count_objects(&world, "\"1000\""), 4);
            assert_int_equal(writes(&world), 0);
        }
        assert_true(over);
    }
}

TEST(publisher_keeps_them, WITH_KUBE)
{
    struct world world;
    struct capacity_publisher *publisher = NULL;
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *message = NULL;
    time_t since = 0;

    world_init(&world, state);
    assert_int_equal(capacity_publisher_new(&(struct capacity_publisher_options){.site = world.site,
                                                                                 .identity = "me",
                                                                                 .interval_ms = 10},
                                            &publisher, &err),
                     0);
    wait_until(count_objects(&world, "\"1000\"") == 4);
    put_node(world.fixture->fake, "c1", "zone-c", true);
    wait_until(count_objects(&world, "zone-c") == 2);
    assert_true(capacity_publisher_is_healthy(publisher, &message, &since));
    capacity_publisher_free(publisher);
}
