/* Who counts as a user of an image, on a real cluster: each struct ceph is a client of its own. */
#include <errno.h>
#include <pthread.h>
#include <rbd/librbd.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/ceph/ceph.h"
#include "common/ceph/connections.h"
#include "tests/integration/fixtures.h"
#include "tests/integration/harness.h"
#include "tests/test.h"

#define POOL "zone-a"
#define MIB (1024ULL * 1024)

struct client {
    struct ceph *ceph;
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
    struct call call;
};

static void must(int result, const struct error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

static void client_connect(struct client *client, const char *cluster_id)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_secret_ struct secret key = {0};
    _cleanup_error_ struct error err = {0};

    secret_set(&key, cluster->key);
    const struct ceph_target target = {cluster_id, cluster->monitors, cluster->user, &key};
    call_init(&client->call, 1, "Test", deadline_in_ms(240000));
    must(client->ceph->ops->connect(client->ceph, &client->call, &target, &client->cluster, &err),
         &err);
    must(
        client->ceph->ops->pool_open(client->cluster, &client->call, POOL, "", &client->pool, &err),
        &err);
}

static void client_open(struct client *client)
{
    client->ceph = ceph_new(&(struct ceph_options){
        .connect_timeout_ms = 15000, .mon_op_timeout_ms = 30000, .osd_op_timeout_ms = 30000});
    client_connect(client, "c1");
}

/* Another connection of the same process, as after a change of the configuration. */
static void sibling_open(struct client *sibling, const struct client *client)
{
    sibling->ceph = client->ceph;
    client_connect(sibling, "c2");
}

static void sibling_close(struct client *sibling)
{
    ceph_pool_close(sibling->pool);
    ceph_disconnect(sibling->cluster);
    call_done(&sibling->call);
}

static void client_close(struct client *client)
{
    sibling_close(client);
    wait_until(ceph_free(client->ceph));
}
#define _cleanup_client_ _cleanup_(client_close)

static size_t count_users(struct client *client, const char *image)
{
    _cleanup_string_list_ struct string_list watchers = {0};
    _cleanup_error_ struct error err = {0};

    must(client->pool->ops->image_watchers(client->pool, &client->call, image, &watchers, &err),
         &err);
    return watchers.count;
}

/* --- a look while the image is being flattened --- */

struct look {
    struct client *node;
    const struct place *place; /* somebody who opens the image as well; NULL: nobody */
    size_t alone;
    size_t accompanied;
    bool done;
};

/* In librbd's thread of the client that flattens. */
static int look_once(void *object, int percent)
{
    struct look *look = object;
    rbd_image_t opened = NULL;

    (void)percent;
    if (look->done)
        return 0;
    look->done = true;
    look->alone = count_users(look->node, "thin");
    place_must(rbd_open(look->place->io, "thin", &opened, NULL));
    look->accompanied = count_users(look->node, "thin");
    place_must(rbd_close(opened));
    return 0;
}

static void make_clone(const struct place *place)
{
    fixture_image_create(place, "origin", 16 * MIB);
    fixture_snapshot_create(place, "origin", "s");
    fixture_image_clone(place, "origin", "s", place, "thin");
}

TEST(flattening_does_not_count_as_use)
{
    _cleanup_place_ struct place place = place_open(POOL, NULL);
    _cleanup_client_ struct client controller = {0};
    _cleanup_client_ struct client node = {0};
    _cleanup_error_ struct error err = {0};
    struct look look = {.node = &node, .place = &place};

    make_clone(&place);
    client_open(&controller);
    client_open(&node);
    must(controller.pool->ops->image_flatten(controller.pool, &controller.call, "thin", look_once,
                                             &look, &err),
         &err);
    assert_true(look.done);
    assert_int_equal(look.alone, 0);
    assert_int_equal(look.accompanied, 1);
    assert_int_equal(count_users(&node, "thin"), 0);
    place_wipe_pools();
}

/* The removal of a clone, say, which opens its parent for a moment. */
TEST(process_with_two_connections_does_not_count_as_use)
{
    _cleanup_place_ struct place place = place_open(POOL, NULL);
    _cleanup_client_ struct client controller = {0};
    _cleanup_(sibling_close) struct client sibling = {0};
    _cleanup_client_ struct client other = {0};
    rbd_image_t opened = NULL;

    fixture_image_create(&place, "origin", 16 * MIB);
    client_open(&controller);
    sibling_open(&sibling, &controller);
    client_open(&other);
    place_must(rbd_open(real_pool(sibling.pool)->io, "origin", &opened, NULL));
    assert_int_equal(count_users(&sibling, "origin"), 0);
    assert_int_equal(count_users(&controller, "origin"), 0);
    assert_int_equal(count_users(&other, "origin"), 1);
    place_must(rbd_close(opened));
    place_wipe_pools();
}

/* What a driver leaves that was killed while it flattened. */
TEST(mark_of_a_dead_client_is_removed)
{
    _cleanup_place_ struct place place = place_open(POOL, NULL);
    _cleanup_client_ struct client controller = {0};
    _cleanup_error_ struct error err = {0};

    make_clone(&place);
    client_open(&controller);
    _cleanup_free_ char *image_id = fixture_image_id(&place, "thin");
    _cleanup_free_ char *header = xasprintf("rbd_header.%s", image_id);
    place_must(rados_lock_shared(place.io, header, "cephzone.work", "flatten", "", "", NULL, 0));
    must(controller.pool->ops->image_flatten(controller.pool, &controller.call, "thin", NULL, NULL,
                                             &err),
         &err);
    assert_int_equal(rados_unlock(place.io, header, "cephzone.work", "flatten"), -ENOENT);
    place_wipe_pools();
}

/* --- a snapshot while the image is being flattened --- */

static int take_snapshot(struct client *client, const char *snapshot, struct error *err)
{
    return client->pool->ops->snapshot_create(client->pool, &client->call, "thin", snapshot, err);
}

struct refusal {
    struct client *clients[2];
    int results[2];
    struct error errors[2];
    bool done;
};

/* In librbd's thread of the client that flattens: what it finds is judged later. */
static int try_snapshots_once(void *object, int percent)
{
    struct refusal *refusal = object;

    (void)percent;
    for (size_t i = 0; i < ARRAY_LENGTH(refusal->clients) && !refusal->done; i++)
        refusal->results[i] = take_snapshot(refusal->clients[i], "meanwhile", &refusal->errors[i]);
    refusal->done = true;
    return 0;
}

TEST(no_snapshot_is_taken_of_an_image_that_is_being_flattened)
{
    _cleanup_place_ struct place place = place_open(POOL, NULL);
    _cleanup_client_ struct client flattener = {0};
    _cleanup_client_ struct client other = {0};
    _cleanup_client_ struct client third = {0};
    _cleanup_error_ struct error err = {0};
    struct refusal refusal = {.clients = {&other, &third}};

    make_clone(&place);
    client_open(&flattener);
    client_open(&other);
    client_open(&third);
    must(take_snapshot(&other, "before", &err), &err);
    must(flattener.pool->ops->image_flatten(flattener.pool, &flattener.call, "thin",
                                            try_snapshots_once, &refusal, &err),
         &err);
    assert_true(refusal.done);
    for (size_t i = 0; i < ARRAY_LENGTH(refusal.clients); i++) {
        assert_int_equal(refusal.results[i], -1);
        assert_int_equal(refusal.errors[i].status, STATUS_ABORTED);
        assert_non_null(strstr(refusal.errors[i].message, "is being detached from its ancestors"));
        error_clear(&refusal.errors[i]);
    }
    must(take_snapshot(&other, "after", &err), &err);
    place_wipe_pools();
}

/* A living client's mark; then that of one that is gone. */
TEST(no_image_is_flattened_while_a_snapshot_of_it_is_taken)
{
    _cleanup_place_ struct place place = place_open(POOL, NULL);
    _cleanup_client_ struct client controller = {0};
    _cleanup_error_ struct error err = {0};
    rbd_image_t opened = NULL;

    make_clone(&place);
    client_open(&controller);
    _cleanup_free_ char *image_id = fixture_image_id(&place, "thin");
    _cleanup_free_ char *header = xasprintf("rbd_header.%s", image_id);
    place_must(rbd_open(place.io, "thin", &opened, NULL));
    place_must(rados_lock_shared(place.io, header, "cephzone.work", "snapshot 0", "snapshot", "",
                                 NULL, 0));
    must(take_snapshot(&controller, "another", &err), &err);
    assert_int_equal(controller.pool->ops->image_flatten(controller.pool, &controller.call, "thin",
                                                         NULL, NULL, &err),
                     -1);
    assert_int_equal(err.status, STATUS_ABORTED);
    error_clear(&err);
    place_must(rbd_close(opened));
    must(controller.pool->ops->image_flatten(controller.pool, &controller.call, "thin", NULL, NULL,
                                             &err),
         &err);
    place_wipe_pools();
}

/* --- clones of such snapshots --- */

#define RACES 10
#define RACE_BYTES (8 * MIB)

struct race {
    struct client *client;
    useconds_t delay;
};

/* As the driver's tasks do it: again after ABORTED. */
static void *flatten_in_thread(void *object)
{
    const struct race *race = object;
    struct client *client = race->client;
    struct test_wait wait = {0};

    usleep(race->delay);
    do {
        _cleanup_error_ struct error err = {0};

        if (client->pool->ops->image_flatten(client->pool, &client->call, "thin", NULL, NULL,
                                             &err) == 0)
            return NULL;
        if (err.status != STATUS_ABORTED)
            return object;
    } while (test_wait_more(&wait));
    return object;
}

static size_t count_lost_blocks(const struct place *place, const char *name)
{
    _cleanup_free_ char *data = xcalloc(1, RACE_BYTES);
    rbd_image_t image = NULL;
    size_t lost = 0;

    place_must(rbd_open_read_only(place->io, name, &image, NULL));
    assert_int_equal(rbd_read(image, 0, RACE_BYTES, data), RACE_BYTES);
    place_must(rbd_close(image));
    for (size_t at = 0; at < RACE_BYTES; at += 4096)
        lost += data[at] != 'Z';
    return lost;
}

static void make_full_clone(const struct place *place)
{
    _cleanup_free_ char *data = xcalloc(1, RACE_BYTES);
    rbd_image_t image = NULL;
    int order = 20; /* small objects: more to detach */

    memset(data, 'Z', RACE_BYTES);
    place_must(rbd_create2(place->io, "origin", RACE_BYTES, 0x3d, &order));
    place_must(rbd_open(place->io, "origin", &image, NULL));
    assert_int_equal(rbd_write(image, 0, RACE_BYTES, data), RACE_BYTES);
    place_must(rbd_close(image));
    fixture_snapshot_create(place, "origin", "s");
    fixture_image_clone(place, "origin", "s", place, "thin");
}

/* Returns how often the snapshot had to wait. */
static unsigned race_once(const struct place *place, struct client *flattener,
                          struct client *client)
{
    struct race race = {flattener, (useconds_t)(rand() % 10000)};
    struct test_wait wait = {0};
    unsigned waits = 0;
    void *failed = NULL;
    pthread_t thread;
    int result = -1;

    make_full_clone(place);
    assert_int_equal(pthread_create(&thread, NULL, flatten_in_thread, &race), 0);
    usleep((useconds_t)(rand() % 20000));
    while (result < 0) {
        _cleanup_error_ struct error err = {0};

        result = take_snapshot(client, "x", &err);
        if (result < 0 && (err.status != STATUS_ABORTED || !test_wait_more(&wait)))
            fail_msg("%s", err.message);
        waits += result < 0;
    }
    fixture_image_clone(place, "thin", "x", place, "copy");
    assert_int_equal(count_lost_blocks(place, "copy"), 0);
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_int_equal(count_lost_blocks(place, "copy"), 0);
    assert_int_equal(count_lost_blocks(place, "thin"), 0);
    place_wipe_pools();
    return waits;
}

/* librbd by itself loses data in about one of six snapshots that are taken meanwhile. */
TEST(clone_of_an_image_that_is_being_flattened_has_all_data)
{
    _cleanup_place_ struct place place = place_open(POOL, NULL);
    _cleanup_client_ struct client flattener = {0};
    _cleanup_client_ struct client client = {0};
    unsigned waits = 0;

    client_open(&flattener);
    client_open(&client);
    for (int i = 0; i < RACES; i++)
        waits += race_once(&place, &flattener, &client);
    print_message("note: %u waits in %d races of a snapshot with a flattening\n", waits, RACES);
}

/* --- a node that writes while the image is being flattened --- */

#define OBJECT (4 * MIB)
#define OBJECTS 64

struct writer {
    const struct place *place;
    atomic_bool begins; /* the flattening has */
    pthread_t thread;
    const char *failure; /* NULL: none */
};

static void *write_objects(void *object)
{
    struct writer *writer = object;
    rbd_image_t image = NULL;

    while (!atomic_load(&writer->begins))
        sched_yield();
    if (rbd_open(writer->place->io, "thin", &image, NULL) < 0) {
        writer->failure = "cannot open";
        return NULL;
    }
    for (uint64_t i = 0; i < OBJECTS; i += 2)
        if (rbd_write(image, i * OBJECT, 4, "node") != 4)
            writer->failure = "cannot write";
    if (rbd_close(image) < 0)
        writer->failure = "cannot close";
    return NULL;
}

static int note_begin(void *object, int percent)
{
    struct writer *writer = object;

    (void)percent;
    atomic_store(&writer->begins, true);
    return 0;
}

static void make_filled_clone(const struct place *place, struct client *client)
{
    const struct image_options options = {.features = IMAGE_FEATURE_LAYERING |
                                                      IMAGE_FEATURE_EXCLUSIVE_LOCK};
    _cleanup_error_ struct error err = {0};
    rbd_image_t image = NULL;

    fixture_image_create(place, "origin", OBJECTS * OBJECT);
    place_must(rbd_open(place->io, "origin", &image, NULL));
    for (uint64_t i = 0; i < OBJECTS; i++)
        assert_int_equal(rbd_write(image, i * OBJECT, 8, "original"), 8);
    place_must(rbd_close(image));
    fixture_snapshot_create(place, "origin", "s");
    must(client->pool->ops->image_clone(client->pool, &client->call, "origin", "s", client->pool,
                                        "thin", &options, &err),
         &err);
}

/* The node needs the lock that the flattening has; one that was disturbed is tried again. */
static void flatten_patiently(struct client *client, struct writer *writer)
{
    struct test_wait wait = {0};

    for (;;) {
        _cleanup_error_ struct error err = {0};

        if (client->pool->ops->image_flatten(client->pool, &client->call, "thin", note_begin,
                                             writer, &err) == 0)
            return;
        print_message("note: disturbed: %s\n", err.message);
        if (!test_wait_more(&wait))
            fail_msg("%s", err.message);
    }
}

TEST(node_writes_while_its_image_is_flattened)
{
    _cleanup_place_ struct place place = place_open(POOL, NULL);
    _cleanup_client_ struct client controller = {0};
    struct writer writer = {.place = &place};
    rbd_image_t image = NULL;

    client_open(&controller);
    make_filled_clone(&place, &controller);
    assert_int_equal(pthread_create(&writer.thread, NULL, write_objects, &writer), 0);
    flatten_patiently(&controller, &writer);
    assert_int_equal(pthread_join(writer.thread, NULL), 0);
    assert_null(writer.failure);
    _cleanup_free_ char *parent = fixture_image_parent(&place, "thin");
    assert_string_equal(parent, "");
    place_must(rbd_open_read_only(place.io, "thin", &image, NULL));
    for (uint64_t i = 0; i < OBJECTS; i++) {
        char found[9] = "";

        assert_int_equal(rbd_read(image, i * OBJECT, 8, found), 8);
        assert_string_equal(found, i % 2 == 0 ? "nodeinal" : "original");
    }
    place_must(rbd_close(image));
    place_wipe_pools();
}

static int clean_pools(void **state)
{
    (void)state;
    place_wipe_pools();
    return 0;
}

TEST_GROUP(clean_pools, clean_pools)
TEST_CLEANUP(place_wipe_pools)
