#include "tests/unit/fixtures/capacity_world.h"

#include "common/encoding/json.h"
#include "common/kube/kube.h"

/* CSIStorageCapacity objects that we keep ourselves. */

static bool always(void *object)
{
    (void)object;
    return true;
}

static int publish(struct capacity_world *world, struct publish_outcome *outcome, struct error *err)
{
    _cleanup_publish_view_ struct publish_view view = {0};
    struct call call;

    call_init(&call, 1, "test", deadline_in_ms(60000));
    int result = publish_capacity_once(&world->site, &call, always, NULL, &view, outcome, err);
    call_done(&call);
    return result;
}

/* The writes of one look that must go well. */
static size_t writes(struct capacity_world *world)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_publish_outcome_ struct publish_outcome outcome = {0};

    if (publish(world, &outcome, &err) < 0)
        fail_msg("%s", err.message);
    assert_null(outcome.foreign);
    return outcome.writes;
}

TEST(one_object_for_each_class_and_place, WITH_KUBE)
{
    struct capacity_world world;

    capacity_world_init(&world, state);
    assert_int_equal(writes(&world), 4);
    assert_int_equal(capacity_world_count(&world, "\"cephzone\""), 4);
    assert_int_equal(capacity_world_count(&world, "zone-a"), 2);
    assert_int_equal(capacity_world_count(&world, "\"1000\""), 4);
    assert_int_equal(capacity_world_count(&world, "\"500\""), 4);
    assert_int_equal(writes(&world), 0); /* nothing has changed */
    world.bytes = 0;
    assert_int_equal(writes(&world), 4); /* nothing left is a figure too */
    fake_kube_drop(world.fixture->fake, "/apis/storage.k8s.io/v1/storageclasses/slow");
    fake_kube_drop(world.fixture->fake, "/api/v1/nodes/b1");
    assert_int_equal(writes(&world), 3);
    assert_int_equal(capacity_world_count(&world, ""), 1);
}

/* Registered before its labels were known. */
static void put_placeless_node(struct fake_kube *fake, const char *name)
{
    _cleanup_free_ char *node = xasprintf("/api/v1/nodes/%s", name);
    _cleanup_free_ char *csinode = xasprintf("/apis/storage.k8s.io/v1/csinodes/%s", name);

    fake_kube_put(fake, node, "{}");
    fake_kube_put(fake, csinode, "{\"spec\":{\"drivers\":[{\"name\":\"" DRIVER "\"}]}}");
}

/* A place without segments is everywhere, and so would be its figure. */
TEST(node_without_a_place_publishes_nothing, WITH_KUBE)
{
    struct capacity_world world;

    capacity_world_init(&world, state);
    put_placeless_node(world.fixture->fake, "bare");
    assert_int_equal(writes(&world), 4);
    fake_kube_drop(world.fixture->fake, "/api/v1/nodes/a1");
    fake_kube_drop(world.fixture->fake, "/api/v1/nodes/a2");
    fake_kube_drop(world.fixture->fake, "/api/v1/nodes/b1");
    fake_kube_drop(world.fixture->fake, "/api/v1/nodes/late");
    world.site.has_levels = true;
    assert_int_equal(writes(&world), 4); /* all are removed */
    assert_int_equal(capacity_world_count(&world, ""), 0);
    world.site.has_levels = false; /* no node is to have a place */
    assert_int_equal(writes(&world), 2);
    assert_int_equal(capacity_world_count(&world, "\"cephzone\""), 2);
}

TEST(figure_that_fails_leaves_its_object, WITH_KUBE)
{
    struct capacity_world world;
    _cleanup_publish_outcome_ struct publish_outcome outcome = {0};
    _cleanup_error_ struct error err = {0};

    capacity_world_init(&world, state);
    assert_int_equal(writes(&world), 4);
    world.bytes = 2000;
    world.failing = "fast";
    assert_int_equal(publish(&world, &outcome, &err), -1);
    assert_int_equal(outcome.writes, 2);
    assert_int_equal(capacity_world_count(&world, "\"1000\""), 4); /* half of 2000 is among them */
    world.failing = NULL;
    assert_int_equal(writes(&world), 2);
}

TEST(never_beside_another_publisher, WITH_KUBE)
{
    struct capacity_world world;
    _cleanup_publish_outcome_ struct publish_outcome outcome = {0};
    _cleanup_error_ struct error err = {0};

    capacity_world_init(&world, state);
    assert_int_equal(writes(&world), 4);
    fake_kube_put(world.fixture->fake, OBJECTS "csisc-1",
                  "{\"metadata\":{\"labels\":{\"csi.storage.k8s.io/drivername\":\"" DRIVER
                  "\",\"csi.storage.k8s.io/managed-by\":\"external-provisioner\"}},"
                  "\"storageClassName\":\"fast\",\"capacity\":\"1Gi\"}");
    assert_int_equal(publish(&world, &outcome, &err), 0);
    assert_string_equal(outcome.foreign, "object 'csisc-1' of 'external-provisioner'");
    assert_int_equal(capacity_world_count(&world, ""), 1);
    fake_kube_drop(world.fixture->fake, OBJECTS "csisc-1");
    assert_int_equal(writes(&world), 4);
}

TEST(every_failed_call_is_made_good, WITH_KUBE)
{
    for (int failure = 0; failure < 4; failure++) {
        bool over = false;

        for (unsigned n = 1; n < 100 && !over; n++) {
            struct capacity_world world;
            _cleanup_publish_outcome_ struct publish_outcome outcome = {0};
            _cleanup_error_ struct error err = {0};

            kube_fixture_free(state);
            kube_fixture_make(state);
            capacity_world_init(&world, state);
            fake_kube_fail_call(world.fixture->fake, n, (enum fake_kube_failure)failure);
            (void)!publish(&world, &outcome, &err);
            over = fake_kube_fault_is_pending(world.fixture->fake);
            fake_kube_recover(world.fixture->fake);
            writes(&world);
            assert_int_equal(capacity_world_count(&world, "\"1000\""), 4);
            assert_int_equal(writes(&world), 0);
        }
        assert_true(over);
    }
}

/* --- owner and heartbeat --- */

static json_t *first_object(struct capacity_world *world)
{
    struct call call;
    struct kube_page page = {0};
    _cleanup_error_ struct error err = {0};
    struct kube *kube = fake_kube_as_other(world->fixture->fake);

    call_init(&call, 1, "test", deadline_in_ms(60000));
    int result = kube->ops->list_page(
        kube, &call, "/apis/storage.k8s.io/v1/namespaces/ceph/csistoragecapacities",
        &(struct kube_list_options){0}, &page, &err);
    call_done(&call);
    assert_int_equal(result, 0);
    json_t *item = json_incref(json_array_get(page.items, 0));
    kube_page_done(&page);
    return item;
}

/* Puts the first object there again, with another heartbeat. */
static void put_heartbeat(struct capacity_world *world, const char *time)
{
    json_auto_t *item = first_object(world);
    _cleanup_free_ char *path = xasprintf(OBJECTS "%s", kube_name(item));
    json_t *annotations = json_object_get(json_object_get(item, "metadata"), "annotations");

    json_object_set_new(annotations, KUBE_CAPACITY_HEARTBEAT, json_string(time));
    _cleanup_free_ char *text = json_dumps(item, 0);
    fake_kube_put(world->fixture->fake, path, text);
}

TEST(driver_object_owns_what_is_published, WITH_KUBE)
{
    struct capacity_world world;

    capacity_world_init(&world, state);
    assert_int_equal(writes(&world), 4);
    json_auto_t *object = first_object(&world);
    const json_t *owners = json_object_get(json_object_get(object, "metadata"), "ownerReferences");
    json_auto_t *driver = fake_kube_get(world.fixture->fake, INSTALLED);
    assert_int_equal(json_array_size(owners), 1);
    assert_string_equal(kube_text(json_array_get(owners, 0), "uid", NULL),
                        kube_text(driver, "metadata", "uid", NULL));
    assert_string_equal(kube_text(json_array_get(owners, 0), "kind", NULL), "CSIDriver");
    assert_string_equal(kube_text(json_array_get(owners, 0), "name", NULL), DRIVER);
    /* installed again: it is another owner */
    fake_kube_drop(world.fixture->fake, INSTALLED);
    fake_kube_put(world.fixture->fake, INSTALLED, "{\"metadata\":{\"uid\":\"uid-2\"}}");
    assert_int_equal(writes(&world), 4);
    assert_int_equal(writes(&world), 0);
}

/* Else a controller that ends after the CSIDriver would leave objects that nobody removes. */
TEST(without_a_driver_object_nothing_is_published, WITH_KUBE)
{
    struct capacity_world world;

    capacity_world_init(&world, state);
    assert_int_equal(writes(&world), 4);
    fake_kube_drop(world.fixture->fake, INSTALLED);
    assert_int_equal(writes(&world), 4);
    assert_int_equal(capacity_world_count(&world, ""), 0);
    assert_int_equal(writes(&world), 0);
}

TEST(driver_object_that_may_not_be_read_is_no_owner, WITH_KUBE)
{
    struct capacity_world world;

    capacity_world_init(&world, state);
    fake_kube_forbid(world.fixture->fake, "get", INSTALLED);
    assert_int_equal(writes(&world), 4);
    assert_int_equal(capacity_world_count(&world, "ownerReferences"), 0);
    assert_int_equal(writes(&world), 0);
    fake_kube_forbid(world.fixture->fake, NULL, NULL);
    assert_int_equal(writes(&world), 4);
    assert_int_equal(capacity_world_count(&world, "ownerReferences"), 4);
    fake_kube_forbid(world.fixture->fake, "get", INSTALLED); /* the owner stays */
    assert_int_equal(writes(&world), 0);
}

TEST(heartbeat_is_renewed_without_a_change, WITH_KUBE)
{
    struct capacity_world world;

    capacity_world_init(&world, state);
    assert_int_equal(writes(&world), 4);
    assert_int_equal(capacity_world_count(&world, KUBE_CAPACITY_HEARTBEAT), 4);
    put_heartbeat(&world, "2020-01-01T00:00:00Z");
    assert_int_equal(writes(&world), 1);
    put_heartbeat(&world, "2220-01-01T00:00:00Z"); /* of a clock that was wrong */
    assert_int_equal(writes(&world), 1);
    put_heartbeat(&world, "yesterday");
    assert_int_equal(writes(&world), 1);
    assert_int_equal(writes(&world), 0);
}

TEST(stale_object_without_a_figure_is_removed, WITH_KUBE)
{
    struct capacity_world world;
    _cleanup_publish_outcome_ struct publish_outcome outcome = {0};
    _cleanup_error_ struct error err = {0};

    capacity_world_init(&world, state);
    assert_int_equal(writes(&world), 4);
    put_heartbeat(&world, "2020-01-01T00:00:00Z");
    json_auto_t *object = first_object(&world);
    world.failing = kube_text(object, "storageClassName", NULL);
    assert_int_equal(publish(&world, &outcome, &err), -1);
    assert_int_equal(outcome.writes, 1);
    assert_int_equal(outcome.objects, 3);
    assert_int_equal(outcome.figure_count, 2);
    assert_int_equal(capacity_world_count(&world, ""), 3);
    world.failing = NULL;
    assert_int_equal(writes(&world), 1);
}
