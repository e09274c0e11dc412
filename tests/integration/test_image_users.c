/* Who counts as a user of an image, on a real cluster: each struct ceph is a client of its own. */
#include <errno.h>
#include <pthread.h>
#include <rbd/librbd.h>
#include <sched.h>
#include <stdatomic.h>

#include "common/base/memory.h"
#include "common/ceph/ceph.h"
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

static void client_open(struct client *client)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_secret_ struct secret key = {0};
    _cleanup_error_ struct error err = {0};

    secret_set(&key, cluster->key);
    const struct ceph_target target = {"c1", cluster->monitors, cluster->user, &key};
    client->ceph = ceph_new(&(struct ceph_options){
        .connect_timeout_ms = 15000, .mon_op_timeout_ms = 30000, .osd_op_timeout_ms = 30000});
    call_init(&client->call, 1, "Test", deadline_in_ms(240000));
    must(client->ceph->ops->connect(client->ceph, &client->call, &target, &client->cluster, &err),
         &err);
    must(
        client->ceph->ops->pool_open(client->cluster, &client->call, POOL, "", &client->pool, &err),
        &err);
}

static void client_close(struct client *client)
{
    ceph_pool_close(client->pool);
    ceph_disconnect(client->cluster);
    wait_until(ceph_free(client->ceph));
    call_done(&client->call);
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
    _cleanup_error_ struct error err = {0};

    for (int tries = 0; tries < 20; tries++) {
        error_clear(&err);
        if (client->pool->ops->image_flatten(client->pool, &client->call, "thin", note_begin,
                                             writer, &err) == 0)
            return;
        print_message("note: disturbed: %s\n", err.message);
    }
    fail_msg("%s", err.message);
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
