#include <pthread.h>

#include "common/base/memory.h"
#include "common/ceph/references.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/test.h"

#define SNAPSHOT "0001-0002-c1-0000000000000001-e0b45b52-7e09-47d3-8f1b-806995fa4412"
#define OBJECT "rt-backingsnapshot-" SNAPSHOT

struct place_of_test {
    struct fake_ceph *fake;
    struct call call;
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
};

static int set_up(void **state)
{
    struct place_of_test *place = xcalloc(1, sizeof(*place));
    _cleanup_secret_ struct secret key = {0};
    const struct ceph_target target = {"c1", "127.0.0.1", "csi", &key};
    _cleanup_error_ struct error err = {0};

    secret_set(&key, "AQB");
    place->fake = fake_ceph_new();
    fake_ceph_add_pool(place->fake, "meta", 7);
    call_init(&place->call, 1, "test", deadline_never());
    struct ceph *ceph = fake_ceph_as_ceph(place->fake);
    assert_int_equal(ceph->ops->connect(ceph, &place->call, &target, &place->cluster, &err), 0);
    assert_int_equal(
        ceph->ops->pool_open(place->cluster, &place->call, "meta", "csi", &place->pool, &err), 0);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place_of_test *place = *state;

    ceph_pool_close(place->pool);
    ceph_disconnect(place->cluster);
    call_done(&place->call);
    fake_ceph_free(place->fake);
    free(place);
    return 0;
}

#define PLACED .setup_func = set_up, .teardown_func = tear_down

static void add(struct place_of_test *place, const char *volume)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(references_add(place->pool, &place->call, SNAPSHOT, volume, &err), 0);
}

static bool drop(struct place_of_test *place, const char *volume)
{
    _cleanup_error_ struct error err = {0};
    bool is_last = false;

    assert_int_equal(references_remove(place->pool, &place->call, SNAPSHOT, volume, &is_last, &err),
                     0);
    return is_last;
}

static bool mask(struct place_of_test *place)
{
    _cleanup_error_ struct error err = {0};
    bool is_last = false;

    assert_int_equal(references_mask(place->pool, &place->call, SNAPSHOT, &is_last, &err), 0);
    return is_last;
}

/* The count in the object's data; -1 if there is no object. */
static int count(struct place_of_test *place, struct object_state *state)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_string_list_ struct string_list keys = {0};

    string_list_add(&keys, SNAPSHOT);
    string_list_add(&keys, "csi-vol-1");
    string_list_add(&keys, "csi-vol-2");
    object_state_done(state);
    if (place->pool->ops->object_read(place->pool, &place->call, OBJECT, "csi.ceph.com/rt-version",
                                      &keys, state, &err) < 0)
        return -1;
    assert_int_equal(state->data_length, 4);
    assert_memory_equal(state->data, "\0\0\0", 3);
    return state->data[3];
}

TEST(bytes_are_those_of_ceph_csi, PLACED)
{
    struct place_of_test *place = *state;
    _cleanup_(object_state_done) struct object_state object = {0};

    add(place, "csi-vol-1");
    assert_int_equal(count(place, &object), 2);
    assert_int_equal(object.attribute_length, 4);
    assert_memory_equal(object.attribute, "\0\0\0\1", 4);
    assert_string_equal(strmap_get(&object.omap, SNAPSHOT), "\001");
    assert_string_equal(strmap_get(&object.omap, "csi-vol-1"), "\001");
    add(place, "csi-vol-1");
    assert_int_equal(count(place, &object), 2);
    add(place, "csi-vol-2");
    assert_int_equal(count(place, &object), 3);
}

TEST(masked_snapshot_goes_with_the_last_volume, PLACED)
{
    struct place_of_test *place = *state;
    _cleanup_(object_state_done) struct object_state object = {0};

    add(place, "csi-vol-1");
    add(place, "csi-vol-2");
    assert_false(mask(place));
    assert_int_equal(count(place, &object), 2);
    assert_string_equal(strmap_get(&object.omap, SNAPSHOT), "\002");
    assert_false(mask(place));
    assert_false(drop(place, "csi-vol-1"));
    assert_false(drop(place, "csi-vol-1"));
    add(place, "csi-vol-1"); /* the mask stays */
    assert_string_equal(strmap_get(&object.omap, SNAPSHOT), "\002");
    assert_false(drop(place, "csi-vol-1"));
    assert_int_equal(count(place, &object), 1);
    assert_true(drop(place, "csi-vol-2"));
    assert_int_equal(count(place, &object), -1);
    assert_true(drop(place, "csi-vol-2"));
    assert_true(mask(place));
}

TEST(snapshot_that_was_not_deleted_keeps_its_tracker, PLACED)
{
    struct place_of_test *place = *state;
    _cleanup_(object_state_done) struct object_state object = {0};
    bool are_masked = true;
    _cleanup_error_ struct error err = {0};

    add(place, "csi-vol-1");
    assert_false(drop(place, "csi-vol-1"));
    assert_int_equal(count(place, &object), 1);
    assert_int_equal(references_are_masked(place->pool, &place->call, SNAPSHOT, &are_masked, &err),
                     0);
    assert_false(are_masked);
    assert_true(mask(place));
    assert_int_equal(count(place, &object), -1);
}

TEST(unknown_version_is_left_alone, PLACED)
{
    struct place_of_test *place = *state;
    _cleanup_error_ struct error err = {0};
    const struct object_change change = {.data = "\0\0\0\1",
                                         .data_length = 4,
                                         .attribute_name = "csi.ceph.com/rt-version",
                                         .attribute = "\0\0\0\2",
                                         .attribute_length = 4};

    assert_int_equal(
        place->pool->ops->object_change(place->pool, &place->call, OBJECT, &change, &err), 0);
    assert_int_equal(references_add(place->pool, &place->call, SNAPSHOT, "csi-vol-1", &err), -1);
    assert_int_equal(err.status, STATUS_DATA_LOSS);
}

/* --- at once --- */

struct adder {
    struct place_of_test *place;
    pthread_t thread;
    char name[16];
};

static void *add_in_thread(void *object)
{
    struct adder *adder = object;
    _cleanup_error_ struct error err = {0};

    for (int tries = 0; tries < 1000; tries++) {
        if (references_add(adder->place->pool, &adder->place->call, SNAPSHOT, adder->name, &err) ==
            0)
            return NULL;
        error_clear(&err); /* the others came between */
    }
    return NULL;
}

TEST(volumes_added_at_once_are_all_counted, PLACED)
{
    struct place_of_test *place = *state;
    _cleanup_(object_state_done) struct object_state object = {0};
    struct adder adders[16];

    for (size_t i = 0; i < ARRAY_LENGTH(adders); i++) {
        adders[i].place = place;
        snprintf(adders[i].name, sizeof(adders[i].name), "v-%zu", i);
        assert_int_equal(pthread_create(&adders[i].thread, NULL, add_in_thread, &adders[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(adders); i++)
        pthread_join(adders[i].thread, NULL);
    assert_int_equal(count(place, &object), 1 + (int)ARRAY_LENGTH(adders));
}
