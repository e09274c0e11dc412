/* The room of clusters kept in memory, on a cluster in memory that counts what it is asked. */
#include <stdatomic.h>
#include <unistd.h>

#include <errno.h>
#include <pthread.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/usage/usage_cache.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/test.h"

#define CALLERS 32
#define LONG_MS 600000
#define PAST_MS (-2) /* an age that figures have from the beginning */
#define MIB (UINT64_C(1) << 20)

static const char CRUSH_ANSWER[] = "{\"buckets\":[],\"rules\":[],\"types\":[]}";
static const char POOLS_ANSWER[] = "[{\"pool_id\":1,\"pool_name\":\"p\",\"quota_max_bytes\":0}]";

/* The cluster, and how it answers. */
struct world {
    struct fake_ceph *fake;
    struct usage_cache *cache;
    struct config_file *config;
    char *config_path;
    struct credentials credentials;
    atomic_uint questions; /* df */
    atomic_uint stored;
    atomic_int failure; /* negative errno */
    atomic_bool is_held;
    bool is_large; /* thousands of OSDs */
};

/* As much as @count OSDs add to an answer. */
static void add_osds(struct text *reply, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_addf(
            reply,
            "%s{\"id\":%zu,\"uuid\":\"0a6d2ffb-2a7e-4bd5-9c59-6ee5b5d4d0a3\",\"weight\":65536,"
            "\"public_addrs\":{\"addrvec\":[{\"type\":\"v2\",\"addr\":\"10.0.0.1:6800\"}]}}",
            i ? "," : "", i);
}

/* As the monitors do, "osd dump" would have all OSDs in it, and the list of pools none. */
static void answer_large(const char *command, struct text *reply)
{
    const bool is_crush = strstr(command, "crush") != NULL;

    if (strstr(command, "osd pool ls")) {
        text_add(reply, POOLS_ANSWER);
        return;
    }
    text_addf(reply, "{\"%s\":[", is_crush ? "devices" : "osds");
    add_osds(reply, 40000);
    text_addf(reply, "],%s", is_crush ? CRUSH_ANSWER + 1 : "\"pools\":[]}");
}

static int answer_mon(void *object, const char *command, struct text *reply)
{
    struct world *world = object;

    if (strstr(command, "\"df\"")) {
        atomic_fetch_add(&world->questions, 1);
        while (atomic_load(&world->is_held))
            usleep(5000);
        text_addf(reply,
                  "{\"stats\":{\"total_avail_bytes\":7},\"pools\":[{\"name\":\"p\",\"stats\":"
                  "{\"stored\":%u,\"objects\":1,\"max_avail\":100}}]}",
                  atomic_load(&world->stored));
    } else if (world->is_large) {
        answer_large(command, reply);
    } else {
        text_add(reply, strstr(command, "crush") ? CRUSH_ANSWER : POOLS_ANSWER);
    }
    return atomic_load(&world->failure);
}

static void write_config(const char *path)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs("[{\"clusterID\":\"c\",\"monitors\":[\"m\"]}]", file);
}

static void world_init(struct world *world, int64_t max_age_ms, int64_t listing_age_ms)
{
    *world = (struct world){.fake = fake_ceph_new()};
    world->config_path = xasprintf("/tmp/test_usage_cache.%d.json", (int)getpid());
    write_config(world->config_path);
    world->config = config_file_new(world->config_path);
    world->credentials.user = xstrdup("csi");
    secret_set(&world->credentials.key, "key");
    fake_ceph_add_pool(world->fake, "p", 1);
    fake_ceph_answer_mon(world->fake, answer_mon, world);
    world->cache =
        usage_cache_new(&(struct usage_cache_options){.ceph = fake_ceph_as_ceph(world->fake),
                                                      .config = world->config,
                                                      .max_age_ms = max_age_ms,
                                                      .listing_age_ms = listing_age_ms});
}

static void world_done(struct world *world)
{
    assert_true(usage_cache_stop(world->cache, 20000));
    usage_cache_free(world->cache);
    config_file_free(world->config);
    unlink(world->config_path);
    free(world->config_path);
    credentials_done(&world->credentials);
    fake_ceph_free(world->fake);
}
#define _cleanup_world_ _cleanup_(world_done)

/* The stored bytes of the pool, -1 with @err. */
static int64_t ask(struct world *world, int64_t patience_ms, struct error *err)
{
    _cleanup_usage_snapshot_ struct usage_snapshot *snapshot = NULL;
    struct call call;

    call_init(&call, 1, "Test", deadline_in_ms(patience_ms));
    int result = usage_cache_get(world->cache, &call, "c", &world->credentials, &snapshot, err);
    call_done(&call);
    if (result < 0)
        return -1;
    return (int64_t)cluster_usage_find(usage_snapshot_usage(snapshot), "p")->usage.stored_bytes;
}

static int64_t must_ask(struct world *world)
{
    _cleanup_error_ struct error err = {0};
    int64_t stored = ask(world, 30000, &err);

    if (stored < 0)
        fail_msg("%s", err.message);
    return stored;
}

static void wait_for(const atomic_uint *counter, unsigned value)
{
    wait_until(atomic_load(counter) >= value);
}

/* --- figures --- */

struct caller {
    struct world *world;
    pthread_t thread;
    int64_t stored;
};

static void *ask_thread(void *object)
{
    struct caller *caller = object;
    _cleanup_error_ struct error err = {0};

    caller->stored = ask(caller->world, 30000, &err);
    return NULL;
}

TEST(many_callers_ask_once)
{
    _cleanup_world_ struct world world;
    struct caller callers[CALLERS];

    world_init(&world, LONG_MS, LONG_MS);
    atomic_store(&world.stored, 5);
    atomic_store(&world.is_held, true);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.world = &world};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, ask_thread, &callers[i]), 0);
    }
    wait_for(&world.questions, 1);
    usleep(100000); /* the others come meanwhile */
    atomic_store(&world.is_held, false);
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].stored, 5);
    }
    assert_int_equal(must_ask(&world), 5);
    assert_true(usage_cache_stop(world.cache, 20000));
    assert_int_equal(atomic_load(&world.questions), 1);
}

TEST(fresh_figures_are_not_asked_for_again)
{
    _cleanup_world_ struct world world;

    world_init(&world, LONG_MS, LONG_MS);
    for (int i = 0; i < 100; i++)
        assert_int_equal(must_ask(&world), 0);
    assert_int_equal(atomic_load(&world.questions), 1);
}

TEST(answers_of_clusters_with_thousands_of_osds_are_read)
{
    _cleanup_world_ struct world world;

    world_init(&world, LONG_MS, LONG_MS);
    world.is_large = true;
    atomic_store(&world.stored, 5);
    assert_int_equal(must_ask(&world), 5);
}

TEST(figures_past_their_age_are_waited_for)
{
    _cleanup_world_ struct world world;

    world_init(&world, PAST_MS, LONG_MS);
    assert_int_equal(must_ask(&world), 0);
    atomic_store(&world.stored, 9);
    assert_int_equal(must_ask(&world), 9);
    assert_int_equal(atomic_load(&world.questions), 2);
}

TEST(stale_figures_serve_while_the_monitors_are_silent)
{
    _cleanup_world_ struct world world;
    _cleanup_error_ struct error err = {0};

    world_init(&world, PAST_MS, LONG_MS);
    assert_int_equal(must_ask(&world), 0);
    atomic_store(&world.stored, 9);
    atomic_store(&world.is_held, true);
    assert_int_equal(ask(&world, 300, &err), 0);
    atomic_store(&world.is_held, false);
    wait_until(must_ask(&world) == 9); /* a call has little patience while it has old ones */
}

TEST(stale_figures_serve_while_the_monitors_fail)
{
    _cleanup_world_ struct world world;

    world_init(&world, PAST_MS, LONG_MS);
    assert_int_equal(must_ask(&world), 0);
    atomic_store(&world.stored, 9);
    atomic_store(&world.failure, -EACCES);
    assert_int_equal(must_ask(&world), 0);
    atomic_store(&world.failure, 0);
    wait_until(must_ask(&world) == 9);
}

TEST(failure_is_told_and_the_next_call_asks_again)
{
    _cleanup_world_ struct world world;
    _cleanup_error_ struct error err = {0};

    world_init(&world, LONG_MS, LONG_MS);
    atomic_store(&world.failure, -EACCES);
    assert_int_equal(ask(&world, 30000, &err), -1);
    assert_int_equal(err.status, STATUS_PERMISSION_DENIED);
    atomic_store(&world.failure, 0);
    assert_int_equal(must_ask(&world), 0);
}

TEST(every_question_may_fail_and_is_asked_again)
{
    for (unsigned n = 1; n <= 3; n++) { /* df, pools, crush dump */
        _cleanup_world_ struct world world;
        _cleanup_error_ struct error err = {0};

        world_init(&world, LONG_MS, LONG_MS);
        fake_ceph_fail_call(world.fake, n, FAKE_FAIL_BEFORE);
        assert_int_equal(ask(&world, 30000, &err), -1);
        assert_non_null(err.message);
        assert_false(fake_ceph_fault_is_pending(world.fake));
        assert_int_equal(must_ask(&world), 0);
    }
}

TEST(unknown_cluster_is_named)
{
    _cleanup_world_ struct world world;
    _cleanup_error_ struct error err = {0};
    struct usage_snapshot *snapshot = NULL;
    struct call call;

    world_init(&world, LONG_MS, LONG_MS);
    call_init(&call, 1, "Test", deadline_in_ms(30000));
    assert_int_equal(
        usage_cache_get(world.cache, &call, "other", &world.credentials, &snapshot, &err), -1);
    call_done(&call);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(err.message, "'other'"));
    assert_null(snapshot);
}

TEST(silence_from_the_beginning_is_unavailable)
{
    _cleanup_world_ struct world world;
    _cleanup_error_ struct error err = {0};

    world_init(&world, LONG_MS, LONG_MS);
    atomic_store(&world.is_held, true);
    assert_int_equal(ask(&world, 200, &err), -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    atomic_store(&world.is_held, false);
    assert_int_equal(must_ask(&world), 0);
    assert_int_equal(atomic_load(&world.questions), 1);
}

/* --- volumes --- */

static const struct usage_pool POOL = {"c", "p", "", NULL};

static void add_image(struct world *world, const char *name, uint64_t size)
{
    struct ceph *other = fake_ceph_as_other(world->fake);
    _cleanup_error_ struct error err = {0};
    struct ceph_cluster *cluster = NULL;
    struct ceph_pool *pool = NULL;
    struct call call;

    call_init(&call, 1, "Test", deadline_in_ms(30000));
    const struct ceph_target target = {
        .cluster_id = "c", .monitors = "m", .user = "csi", .key = &world->credentials.key};
    assert_int_equal(other->ops->connect(other, &call, &target, &cluster, &err), 0);
    assert_int_equal(cluster->ops->pool_open(cluster, &call, "p", "", &pool, &err), 0);
    assert_int_equal(pool->ops->image_create(pool, &call, name, size,
                                             &(struct image_options){.object_order = 22}, &err),
                     0);
    ceph_pool_close(pool);
    ceph_disconnect(cluster);
    call_done(&call);
}

static struct pool_provision count_volumes(struct world *world, bool need_bytes)
{
    struct call call;

    call_init(&call, 1, "Test", deadline_in_ms(30000));
    struct pool_provision provision =
        usage_cache_provision(world->cache, &call, &POOL, &world->credentials, need_bytes);
    call_done(&call);
    return provision;
}

static void assert_provision(struct pool_provision found, uint64_t volumes, uint64_t bytes,
                             uint64_t in_flight)
{
    assert_true(found.is_known);
    assert_int_equal(found.volumes, volumes);
    assert_int_equal(found.bytes, bytes);
    assert_int_equal(found.in_flight, in_flight);
}

TEST(volumes_are_listed_with_sizes_only_where_needed)
{
    _cleanup_world_ struct world world;

    world_init(&world, LONG_MS, LONG_MS);
    add_image(&world, "one", 3 * MIB);
    add_image(&world, "two", 4 * MIB);
    assert_provision(count_volumes(&world, false), 2, 0, 0);
    assert_provision(count_volumes(&world, true), 2, 7 * MIB, 0);
    assert_provision(count_volumes(&world, false), 2, 7 * MIB, 0);
}

TEST(listing_is_kept_until_its_age)
{
    _cleanup_world_ struct world world;

    world_init(&world, LONG_MS, LONG_MS);
    assert_provision(count_volumes(&world, true), 0, 0, 0);
    add_image(&world, "one", MIB);
    assert_provision(count_volumes(&world, true), 0, 0, 0);
}

TEST(own_calls_correct_the_listing)
{
    _cleanup_world_ struct world world;

    world_init(&world, LONG_MS, LONG_MS);
    add_image(&world, "one", 3 * MIB);
    assert_provision(count_volumes(&world, true), 1, 3 * MIB, 0);
    usage_cache_creation_begins(world.cache, &POOL, MIB);
    assert_provision(count_volumes(&world, true), 2, 3 * MIB, MIB);
    usage_cache_creation_ends(world.cache, &POOL, MIB, true);
    assert_provision(count_volumes(&world, true), 2, 4 * MIB, 0);
    usage_cache_creation_begins(world.cache, &POOL, MIB);
    usage_cache_creation_ends(world.cache, &POOL, MIB, false);
    assert_provision(count_volumes(&world, true), 2, 4 * MIB, 0);
    usage_cache_deletion(world.cache, &POOL, 3 * MIB);
    assert_provision(count_volumes(&world, true), 1, MIB, 0);
}

static void count_change(void *object)
{
    unsigned *changes = object;

    ++*changes;
}

TEST(whoever_publishes_is_told_of_own_calls)
{
    _cleanup_world_ struct world world;
    unsigned changes = 0;

    world_init(&world, LONG_MS, LONG_MS);
    add_image(&world, "one", 3 * MIB);
    assert_provision(count_volumes(&world, true), 1, 3 * MIB, 0);
    usage_cache_notify(world.cache, count_change, &changes);
    usage_cache_creation_begins(world.cache, &POOL, MIB);
    assert_int_equal(changes, 0);
    usage_cache_creation_ends(world.cache, &POOL, MIB, true);
    assert_int_equal(changes, 1);
    usage_cache_growth(world.cache, &POOL, 2 * MIB);
    assert_int_equal(changes, 2);
    assert_provision(count_volumes(&world, true), 2, 6 * MIB, 0);
    usage_cache_deletion(world.cache, &POOL, 3 * MIB);
    assert_int_equal(changes, 3);
    usage_cache_notify(world.cache, NULL, NULL);
    usage_cache_deletion(world.cache, &POOL, 3 * MIB);
    assert_int_equal(changes, 3);
}

TEST(more_deletions_than_volumes_are_none)
{
    _cleanup_world_ struct world world;

    world_init(&world, LONG_MS, LONG_MS);
    assert_provision(count_volumes(&world, true), 0, 0, 0);
    usage_cache_deletion(world.cache, &POOL, MIB);
    assert_provision(count_volumes(&world, true), 0, 0, 0);
}

TEST(without_a_call_nobody_waits)
{
    _cleanup_world_ struct world world;

    world_init(&world, LONG_MS, LONG_MS);
    add_image(&world, "one", MIB);
    struct pool_provision provision =
        usage_cache_provision(world.cache, NULL, &POOL, &world.credentials, true);
    assert_true(!provision.is_known || provision.volumes == 1);
    assert_provision(count_volumes(&world, true), 1, MIB, 0);
}

TEST(failed_listing_is_unknown_and_repeated)
{
    for (unsigned n = 1; n <= 2; n++) { /* the list, the size */
        _cleanup_world_ struct world world;

        world_init(&world, LONG_MS, LONG_MS);
        add_image(&world, "one", MIB);
        fake_ceph_fail_call(world.fake, n, FAKE_FAIL_BEFORE);
        assert_false(count_volumes(&world, true).is_known);
        assert_false(fake_ceph_fault_is_pending(world.fake));
        assert_provision(count_volumes(&world, true), 1, MIB, 0);
    }
}

struct counter {
    struct world *world;
    bool need_bytes;
    pthread_t thread;
    struct pool_provision found;
};

static void *count_thread(void *object)
{
    struct counter *counter = object;

    counter->found = count_volumes(counter->world, counter->need_bytes);
    return NULL;
}

TEST(sizes_asked_for_during_a_count_are_waited_for)
{
    struct counter counters[CALLERS];
    _cleanup_world_ struct world world;

    world_init(&world, LONG_MS, LONG_MS);
    for (int i = 0; i < 20; i++) {
        _cleanup_free_ char *name = xasprintf("image-%d", i);

        add_image(&world, name, MIB);
    }
    for (int i = 0; i < CALLERS; i++) {
        counters[i] = (struct counter){.world = &world, .need_bytes = i % 2 == 1};
        assert_int_equal(pthread_create(&counters[i].thread, NULL, count_thread, &counters[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(counters[i].thread, NULL);
        assert_true(counters[i].found.is_known);
        assert_int_equal(counters[i].found.volumes, 20);
        assert_true(!counters[i].need_bytes || counters[i].found.bytes == 20 * MIB);
    }
}

static int silence_log(void **state)
{
    (void)state;
    log_start(&(struct log_options){.file = "/dev/null"});
    return 0;
}

TEST_GROUP(silence_log, NULL)
