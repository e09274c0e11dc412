#include <math.h>

#include "controller/capacity/capacity_publisher.h"
#include "tests/unit/fixtures/capacity_world.h"

/* The thread that publishes capacity: by its interval, and when something changes. */

#define LONG_MS 600000

static struct capacity_publisher *start_publisher(struct capacity_world *world,
                                                  struct metrics *metrics, int64_t interval_ms)
{
    struct capacity_publisher *publisher = NULL;
    _cleanup_error_ struct error err = {0};
    const struct capacity_publisher_options options = {.site = world->site,
                                                       .identity = "me",
                                                       .metrics = metrics,
                                                       .interval_ms = interval_ms,
                                                       .gap_ms = 10};

    if (capacity_publisher_new(&options, &publisher, &err) < 0)
        fail_msg("%s", err.message);
    return publisher;
}

TEST(publisher_keeps_them, WITH_KUBE)
{
    struct capacity_world world;
    _cleanup_free_ char *message = NULL;
    time_t since = 0;

    capacity_world_init(&world, state);
    struct capacity_publisher *publisher = start_publisher(&world, NULL, 10);
    wait_until(capacity_world_count(&world, "\"1000\"") == 4);
    world.bytes = 3000;
    wait_until(capacity_world_count(&world, "\"3000\"") == 4);
    assert_true(capacity_publisher_is_healthy(publisher, &message, &since));
    capacity_publisher_free(publisher);
}

/* Waits until a round has published @bytes. */
static void wake_for(struct capacity_world *world, struct capacity_publisher *publisher,
                     uint64_t bytes)
{
    _cleanup_free_ char *figure = xasprintf("\"%llu\"", (unsigned long long)bytes);

    world->bytes = bytes;
    capacity_publisher_wake(publisher);
    wait_until(capacity_world_count(world, figure) == 4);
}

/* The interval is longer than the test waits. */
TEST(changes_are_published_without_waiting_for_the_interval, WITH_KUBE)
{
    struct capacity_world world;

    capacity_world_init(&world, state);
    struct fake_kube *fake = world.fixture->fake;
    struct capacity_publisher *publisher = start_publisher(&world, NULL, LONG_MS);
    wait_until(capacity_world_count(&world, "\"1000\"") == 4);
    wait_until(fake_kube_watches(fake) == 3);
    capacity_world_put_node(fake, "c1", "zone-c", true);
    wait_until(capacity_world_count(&world, "zone-c") == 2);
    capacity_world_put_class(fake, "new", DRIVER, "WaitForFirstConsumer");
    wait_until(capacity_world_count(&world, "\"new\"") == 3);
    fake_kube_drop(fake, "/apis/storage.k8s.io/v1/storageclasses/new");
    wait_until(capacity_world_count(&world, "\"new\"") == 0);
    fake_kube_drop(fake, "/apis/storage.k8s.io/v1/csinodes/c1");
    wait_until(capacity_world_count(&world, "zone-c") == 0);
    wake_for(&world, publisher, 7000); /* a volume was created, deleted or expanded */
    capacity_publisher_free(publisher);
}

/* A round that is woken reads neither nodes nor classes; what a node reports wakes nobody. */
TEST(wake_costs_one_list_and_the_writes, WITH_KUBE)
{
    struct capacity_world world;

    capacity_world_init(&world, state);
    struct fake_kube *fake = world.fixture->fake;
    struct capacity_publisher *publisher = start_publisher(&world, NULL, LONG_MS);
    wait_until(capacity_world_count(&world, "\"1000\"") == 4 && fake_kube_watches(fake) == 3);
    wake_for(&world, publisher, 2000);
    wake_for(&world, publisher, 3000); /* what the watches found first has been read by now */
    fake_kube_forbid(fake, "list", "/api/v1/nodes");
    fake_kube_forbid(fake, "list", "/apis/storage.k8s.io/v1/storageclasses");
    json_auto_t *node = fake_kube_get(fake, "/api/v1/nodes/a1");
    json_object_set_new(node, "status", json_pack("{s:s}", "phase", "Running"));
    _cleanup_free_ char *text = json_dumps(node, 0);
    fake_kube_put(fake, "/api/v1/nodes/a1", text); /* would end in a list that is forbidden */
    wake_for(&world, publisher, 7000);
    wake_for(&world, publisher, 8000);
    _cleanup_free_ char *message = NULL;
    time_t since = 0;
    assert_true(capacity_publisher_is_healthy(publisher, &message, &since));
    capacity_publisher_free(publisher);
}

static double room_of(struct metrics *metrics, const char *class, const char *place)
{
    struct metric_family *room = metrics_register(
        metrics, &(struct metric_spec){METRIC_GAUGE, "csi_capacity_bytes", "", .labels = {"x"}});

    return metric_value(metrics_get(room, class, place, NULL));
}

TEST(gauge_has_each_class_and_place, WITH_KUBE)
{
    struct capacity_world world;
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();

    capacity_world_init(&world, state);
    struct capacity_publisher *publisher = start_publisher(&world, metrics, 10);
    wait_until(room_of(metrics, "fast", "zone=zone-a") == 1000 &&
               room_of(metrics, "slow", "zone=zone-b") == 1000);
    fake_kube_drop(world.fixture->fake, "/apis/storage.k8s.io/v1/storageclasses/slow");
    wait_until(isnan(room_of(metrics, "slow", "zone=zone-b")));
    assert_false(isnan(room_of(metrics, "fast", "zone=zone-b")));
    capacity_publisher_free(publisher);
}
