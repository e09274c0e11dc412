#include <pthread.h>

#include "common/base/uuid.h"
#include "tests/unit/test_fake_ceph_fixture.h"

/* Faults, dumps and threads: what the fake has beyond Ceph. */

/* --- faults --------------------------------------------------------------------------------- */

TEST(nth_call_fails_once_without_effect, WITH_WORLD)
{
    struct world *w = *state;

    fake_ceph_fail_call(w->fake, 2, FAKE_FAIL_BEFORE);
    assert_int_equal(create(w, "a"), 0);
    assert_true(fake_ceph_fault_is_pending(w->fake));
    assert_fails(w, create(w, "b"), STATUS_INTERNAL, EIO);
    assert_false(fake_ceph_fault_is_pending(w->fake));
    assert_false(exists(w, "b"));
    assert_int_equal(create(w, "b"), 0);
    fake_ceph_fail_call_with(w->fake, 1, -ENOSPC);
    assert_fails(w, create(w, "c"), STATUS_RESOURCE_EXHAUSTED, ENOSPC);
}

TEST(lost_reply_hides_effect_outputs_and_errors, WITH_WORLD)
{
    struct world *w = *state;
    bool removed = false;

    assert_int_equal(add_key(w, "o", "k", "1"), 0);
    fake_ceph_fail_call(w->fake, 1, FAKE_FAIL_AFTER);
    assert_fails(w,
                 w->ops->omap_remove_if(w->pool, &w->call, "o", "k", "1", NULL, &removed, &w->err),
                 STATUS_DEADLINE_EXCEEDED, ETIMEDOUT);
    assert_false(removed);
    assert_key(w, "o", "k", NULL);
    fake_ceph_fail_call(w->fake, 1, FAKE_FAIL_AFTER);
    assert_fails(w, discard(w, "absent"), STATUS_DEADLINE_EXCEEDED, ETIMEDOUT);
}

TEST(lost_reply_to_a_hold_leaves_no_lock, WITH_WORLD)
{
    struct world *w = *state;
    struct image_hold *hold = NULL;

    assert_int_equal(create(w, "a"), 0);
    fake_ceph_fail_call(w->fake, 1, FAKE_FAIL_AFTER);
    assert_fails(w, w->ops->image_hold(w->pool, &w->call, "a", &hold, &w->err),
                 STATUS_DEADLINE_EXCEEDED, ETIMEDOUT);
    assert_null(hold);
    assert_int_equal(discard(w, "a"), 0);
}

TEST(crashed_process_can_do_nothing_until_it_recovers, WITH_WORLD)
{
    struct world *w = *state;
    struct ceph_cluster *cluster = NULL;
    struct ceph_pool *pool = NULL;

    for (int after = 0; after <= 1; after++) {
        const char *name = after ? "b" : "a";

        fake_ceph_fail_call(w->fake, 1, after ? FAKE_CRASH_AFTER : FAKE_CRASH_BEFORE);
        assert_fails(w, create(w, name), STATUS_CANCELLED, ECONNABORTED);
        assert_true(fake_ceph_has_crashed(w->fake));
        assert_fails(w, discard(w, name), STATUS_CANCELLED, ECONNABORTED);
        assert_fails(w, connect_as(w, fake_ceph_as_ceph(w->fake), &cluster), STATUS_CANCELLED,
                     ECONNABORTED);
        assert_fails(w, w->ops->pool_open(w->cluster, &w->call, "rbd", "", &pool, &w->err),
                     STATUS_CANCELLED, ECONNABORTED);
        fake_ceph_recover(w->fake);
        assert_int_equal(exists(w, name), after);
    }
}

TEST(recovery_drops_a_fault_that_has_not_struck, WITH_WORLD)
{
    struct world *w = *state;

    fake_ceph_fail_call(w->fake, 1, FAKE_CRASH_BEFORE);
    fake_ceph_recover(w->fake);
    assert_false(fake_ceph_fault_is_pending(w->fake));
    assert_int_equal(create(w, "a"), 0);
}

TEST(connections_are_counted_only_when_asked, WITH_WORLD)
{
    struct world *w = *state;
    struct ceph_pool *pool = NULL;

    assert_int_equal(fake_ceph_calls(w->fake), 0);
    assert_int_equal(create(w, "a"), 0);
    assert_fails(w, create(w, "a"), STATUS_ALREADY_EXISTS, EEXIST);
    assert_int_equal(fake_ceph_calls(w->fake), 2);
    fake_ceph_reset_calls(w->fake);
    fake_ceph_count_connections(w->fake, true);
    fake_ceph_fail_call(w->fake, 1, FAKE_FAIL_AFTER);
    assert_fails(w, w->ops->pool_open(w->cluster, &w->call, "rbd", "", &pool, &w->err),
                 STATUS_DEADLINE_EXCEEDED, ETIMEDOUT);
    assert_null(pool);
    assert_int_equal(fake_ceph_calls(w->fake), 1);
}

TEST(cancelled_call_is_refused_and_not_counted, WITH_WORLD)
{
    struct world *w = *state;
    const atomic_bool gone = true;

    w->call.cancelled = &gone;
    fake_ceph_fail_call(w->fake, 1, FAKE_CRASH_BEFORE);
    assert_fails(w, create(w, "a"), STATUS_CANCELLED, 0);
    w->call.cancelled = NULL;
    w->call.deadline = deadline_in_ms(0);
    assert_fails(w, create(w, "a"), STATUS_DEADLINE_EXCEEDED, 0);
    w->call.deadline = deadline_never();
    assert_int_equal(fake_ceph_calls(w->fake), 0);
    fake_ceph_recover(w->fake);
    assert_false(exists(w, "a"));
}

TEST(other_client_is_neither_counted_nor_struck, WITH_WORLD)
{
    struct world *w = *state;
    struct ceph *other = fake_ceph_as_other(w->fake);
    _cleanup_ceph_cluster_ struct ceph_cluster *cluster = NULL;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;
    struct image_hold *hold = NULL;
    _cleanup_string_list_ struct string_list watchers = {0};

    fake_ceph_refuse_connect(w->fake, STATUS_UNAUTHENTICATED);
    assert_int_equal(connect_as(w, other, &cluster), 0);
    assert_int_equal(w->ops->pool_open(cluster, &w->call, "rbd", "", &pool, &w->err), 0);
    fake_ceph_fail_call(w->fake, 1, FAKE_CRASH_AFTER);
    assert_int_equal(w->ops->image_create(pool, &w->call, "a", GIB, &default_options, &w->err), 0);
    assert_int_equal(w->ops->image_hold(pool, &w->call, "a", &hold, &w->err), 0);
    assert_int_equal(fake_ceph_calls(w->fake), 0);
    assert_fails(w, discard(w, "a"), STATUS_CANCELLED, ECONNABORTED);
    assert_int_equal(w->ops->hold_snapshot(hold, &w->call, "s", &w->err), 0);
    fake_ceph_recover(w->fake);
    assert_int_equal(w->ops->image_watchers(w->pool, &w->call, "a", &watchers, &w->err), 0);
    assert_int_equal(watchers.count, 1);
    ceph_hold_release(hold);
}

/* --- dumps ---------------------------------------------------------------------------------- */

TEST(dump_tells_everything_in_order, WITH_WORLD)
{
    struct world *w = *state;

    make_clone_of_removed_snapshot(w);
    assert_int_equal(add_key(w, "o", "k", "line\nbreak"), 0);
    fake_ceph_set_watcher(w->fake, "rbd", "a", "192.0.2.7:0/77");
    assert_int_equal(discard(w, "b"), 0);
    _cleanup_free_ char *text = dump(w, true);
    assert_string_equal(text, "image rbd//a id=i1 size=1073741824 features=61 order=22\n"
                              "image rbd//a snapshot [u1] trash size=1073741824 was [s]\n"
                              "image rbd//a watcher 192.0.2.7:0/77\n"
                              "object rbd//o\n"
                              "object rbd//o [k] = line\\x0abreak\n"
                              "pool data id=4\n"
                              "pool rbd id=3\n"
                              "pool rbd namespace ns\n"
                              "trash rbd//i2 name=b size=1073741824 features=61 order=22\n"
                              "trash rbd//i2 parent rbd//i1@u1\n");
}

/* Makes volumes pvc-1 to pvc-@count, journalled under random uuids; with @swapped the first two
 * lead to each other's images. */
static void make_volumes(struct world *w, int count, bool swapped)
{
    struct uuid_text uuids[8];

    for (int i = 0; i < count; i++)
        uuids[i] = uuid_text_generate();
    for (int i = 0; i < count; i++) {
        const char *uuid = uuids[i].chars;
        const char *image_uuid = uuids[swapped && i < 2 ? 1 - i : i].chars;
        _cleanup_free_ char *request = xasprintf("csi.volume.pvc-%d", i + 1);
        _cleanup_free_ char *object = xasprintf("csi.volume.%s", uuid);
        _cleanup_free_ char *image = xasprintf("csi-vol-%s", image_uuid);

        assert_int_equal(add_key(w, "csi.volumes.default", request, uuid), 0);
        assert_int_equal(create(w, image), 0);
        _cleanup_free_ char *id = id_of(w, image);
        assert_int_equal(add_key(w, object, "csi.imageid", id), 0);
    }
}

TEST(normalised_dumps_of_equal_clusters_are_equal, WITH_WORLD)
{
    _cleanup_free_ char *first = NULL;

    for (int run = 0; run < 30; run++) {
        _cleanup_(world_freep) struct world *w = world_new();

        if (run % 2 == 1) { /* other ids, nothing left */
            assert_int_equal(create(w, "gone"), 0);
            _cleanup_free_ char *id = id_of(w, "gone");
            assert_int_equal(discard(w, "gone"), 0);
            assert_int_equal(purge(w, id), 0);
        }
        make_volumes(w, 5, false);
        _cleanup_free_ char *text = dump(w, true);
        if (first)
            assert_string_equal(text, first);
        else
            first = TAKE(text);
    }
}

TEST(normalised_dumps_of_different_clusters_differ, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_(world_freep) struct world *swapped = world_new();

    make_volumes(w, 3, false);
    make_volumes(swapped, 3, true);
    _cleanup_free_ char *right = dump(w, true);
    _cleanup_free_ char *wrong = dump(swapped, true);
    _cleanup_free_ char *raw = dump(w, false);
    assert_string_not_equal(right, wrong);
    assert_string_not_equal(right, raw);
}

/* --- all together --------------------------------------------------------------------------- */

/* Creates a journalled image in steps that can be repeated: what the tests of real operations do.
 */
static int provision(struct world *w, const char *name)
{
    const struct uuid_text fresh = uuid_text_generate();
    _cleanup_free_ char *uuid = NULL;
    _cleanup_free_ char *id = NULL;
    _cleanup_strmap_ struct strmap entries = {0};

    if (add_key(w, "dir", name, fresh.chars) < 0 && w->err.status != STATUS_ALREADY_EXISTS)
        return -1;
    error_clear(&w->err);
    if (w->ops->omap_get(w->pool, &w->call, "dir", name, &uuid, &w->err) < 0)
        return -1;
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", uuid);
    if (create(w, image) < 0 && w->err.status != STATUS_ALREADY_EXISTS)
        return -1;
    error_clear(&w->err);
    if (w->ops->image_get_id(w->pool, &w->call, image, &id, &w->err) < 0)
        return -1;
    strmap_set(&entries, "id", id);
    return w->ops->omap_set(w->pool, &w->call, "dir", &entries, &w->err);
}

/* True when @n is beyond the last call. */
static bool retry_heals(unsigned n, enum fake_failure failure, const char *undisturbed)
{
    _cleanup_(world_freep) struct world *w = world_new();

    fake_ceph_fail_call(w->fake, n, failure);
    int first = provision(w, "pvc-1");
    bool over = fake_ceph_fault_is_pending(w->fake);
    assert_int_equal(first, over ? 0 : -1);
    error_clear(&w->err);
    fake_ceph_recover(w->fake);
    assert_int_equal(provision(w, "pvc-1"), 0);
    _cleanup_free_ char *text = dump(w, true);
    assert_string_equal(text, undisturbed);
    return over;
}

TEST(every_call_of_an_operation_can_be_struck_in_every_way, WITH_WORLD)
{
    struct world *w = *state;

    assert_int_equal(provision(w, "pvc-1"), 0);
    _cleanup_free_ char *undisturbed = dump(w, true);
    for (enum fake_failure failure = FAKE_FAIL_BEFORE; failure <= FAKE_CRASH_AFTER; failure++) {
        unsigned n = 1;

        while (!retry_heals(n, failure, undisturbed))
            n++;
        assert_int_equal(n, fake_ceph_calls(w->fake) + 1);
    }
}

/* A thread that uses the fake with a call of its own, as each rpc does. */
static void *claim_key(void *object)
{
    struct world *w = object;
    struct call call;
    _cleanup_error_ struct error err = {0};

    call_init(&call, 2, "Claim", deadline_never());
    int result = w->ops->omap_add(w->pool, &call, "o", "k", "v", &err);
    call_done(&call);
    return result == 0 ? w : NULL;
}

TEST(of_many_threads_one_adds_the_key, WITH_WORLD)
{
    struct world *w = *state;
    pthread_t threads[8];
    int winners = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, claim_key, w), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        void *won = NULL;

        assert_int_equal(pthread_join(threads[i], &won), 0);
        winners += won != NULL;
    }
    assert_int_equal(winners, 1);
    assert_int_equal(fake_ceph_calls(w->fake), ARRAY_LENGTH(threads));
}
