#include <pthread.h>

#include "common/encoding/uuid.h"
#include "tests/unit/fixtures/ceph_client.h"

/* Faults, dumps and threads: what the fake has beyond Ceph. */

/* --- faults --- */

TEST(nth_call_fails_once_without_effect, WITH_CLIENT)
{
    struct client *c = *state;

    fake_ceph_fail_call(c->fake, 2, FAKE_FAIL_BEFORE);
    assert_int_equal(client_create(c, "a"), 0);
    assert_true(fake_ceph_fault_is_pending(c->fake));
    assert_int_equal(fake_ceph_faults(c->fake), 0);
    client_assert_fails(c, client_create(c, "b"), STATUS_INTERNAL, EIO);
    assert_int_equal(fake_ceph_faults(c->fake), 1);
    assert_false(fake_ceph_fault_is_pending(c->fake));
    assert_false(client_has_image(c, "b"));
    assert_int_equal(client_create(c, "b"), 0);
    fake_ceph_fail_call_with(c->fake, 1, -ENOSPC);
    client_assert_fails(c, client_create(c, "c"), STATUS_RESOURCE_EXHAUSTED, ENOSPC);
}

TEST(lost_reply_hides_effect_outputs_and_errors, WITH_CLIENT)
{
    struct client *c = *state;
    bool removed = false;

    assert_int_equal(client_add_key(c, "o", "k", "1"), 0);
    fake_ceph_fail_call(c->fake, 1, FAKE_FAIL_AFTER);
    client_assert_fails(
        c, c->ops->omap_remove_if(c->pool, &c->call, "o", "k", "1", NULL, &removed, &c->err),
        STATUS_DEADLINE_EXCEEDED, ETIMEDOUT);
    assert_false(removed);
    client_assert_key(c, "o", "k", NULL);
    fake_ceph_fail_call(c->fake, 1, FAKE_FAIL_AFTER);
    client_assert_fails(c, client_discard(c, "absent"), STATUS_DEADLINE_EXCEEDED, ETIMEDOUT);
}

TEST(lost_reply_to_a_hold_leaves_no_lock, WITH_CLIENT)
{
    struct client *c = *state;
    struct image_hold *hold = NULL;

    assert_int_equal(client_create(c, "a"), 0);
    fake_ceph_fail_call(c->fake, 1, FAKE_FAIL_AFTER);
    client_assert_fails(c, c->ops->image_hold(c->pool, &c->call, "a", &hold, &c->err),
                        STATUS_DEADLINE_EXCEEDED, ETIMEDOUT);
    assert_null(hold);
    assert_int_equal(client_discard(c, "a"), 0);
}

TEST(crashed_process_can_do_nothing_until_it_recovers, WITH_CLIENT)
{
    struct client *c = *state;
    struct ceph_cluster *cluster = NULL;
    struct ceph_pool *pool = NULL;

    for (int after = 0; after <= 1; after++) {
        const char *name = after ? "b" : "a";

        fake_ceph_fail_call(c->fake, 1, after ? FAKE_CRASH_AFTER : FAKE_CRASH_BEFORE);
        client_assert_fails(c, client_create(c, name), STATUS_CANCELLED, ECONNABORTED);
        assert_true(fake_ceph_has_crashed(c->fake));
        client_assert_fails(c, client_discard(c, name), STATUS_CANCELLED, ECONNABORTED);
        client_assert_fails(c, client_connect_as(c, fake_ceph_as_ceph(c->fake), &cluster),
                            STATUS_CANCELLED, ECONNABORTED);
        client_assert_fails(c, c->ops->pool_open(c->cluster, &c->call, "rbd", "", &pool, &c->err),
                            STATUS_CANCELLED, ECONNABORTED);
        fake_ceph_recover(c->fake);
        assert_int_equal(client_has_image(c, name), after);
    }
}

TEST(recovery_drops_a_fault_that_has_not_struck, WITH_CLIENT)
{
    struct client *c = *state;

    fake_ceph_fail_call(c->fake, 1, FAKE_CRASH_BEFORE);
    fake_ceph_recover(c->fake);
    assert_false(fake_ceph_fault_is_pending(c->fake));
    assert_int_equal(client_create(c, "a"), 0);
}

TEST(connections_are_counted_only_when_asked, WITH_CLIENT)
{
    struct client *c = *state;
    struct ceph_pool *pool = NULL;

    assert_int_equal(fake_ceph_calls(c->fake), 0);
    assert_int_equal(client_create(c, "a"), 0);
    client_assert_fails(c, client_create(c, "a"), STATUS_ALREADY_EXISTS, EEXIST);
    assert_int_equal(fake_ceph_calls(c->fake), 2);
    fake_ceph_reset_calls(c->fake);
    fake_ceph_count_connections(c->fake, true);
    fake_ceph_fail_call(c->fake, 1, FAKE_FAIL_AFTER);
    client_assert_fails(c, c->ops->pool_open(c->cluster, &c->call, "rbd", "", &pool, &c->err),
                        STATUS_DEADLINE_EXCEEDED, ETIMEDOUT);
    assert_null(pool);
    assert_int_equal(fake_ceph_calls(c->fake), 1);
}

TEST(cancelled_call_is_refused_and_not_counted, WITH_CLIENT)
{
    struct client *c = *state;
    const atomic_bool gone = true;

    c->call.cancelled = &gone;
    fake_ceph_fail_call(c->fake, 1, FAKE_CRASH_BEFORE);
    client_assert_fails(c, client_create(c, "a"), STATUS_CANCELLED, 0);
    c->call.cancelled = NULL;
    c->call.deadline = deadline_in_ms(0);
    client_assert_fails(c, client_create(c, "a"), STATUS_DEADLINE_EXCEEDED, 0);
    c->call.deadline = deadline_never();
    assert_int_equal(fake_ceph_calls(c->fake), 0);
    fake_ceph_recover(c->fake);
    assert_false(client_has_image(c, "a"));
}

TEST(other_client_is_neither_counted_nor_struck, WITH_CLIENT)
{
    struct client *c = *state;
    struct ceph *other = fake_ceph_as_other(c->fake);
    _cleanup_ceph_cluster_ struct ceph_cluster *cluster = NULL;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;
    struct image_hold *hold = NULL;
    _cleanup_string_list_ struct string_list watchers = {0};

    fake_ceph_refuse_connect(c->fake, STATUS_UNAUTHENTICATED);
    assert_int_equal(client_connect_as(c, other, &cluster), 0);
    assert_int_equal(c->ops->pool_open(cluster, &c->call, "rbd", "", &pool, &c->err), 0);
    fake_ceph_fail_call(c->fake, 1, FAKE_CRASH_AFTER);
    assert_int_equal(c->ops->image_create(pool, &c->call, "a", GIB, &DEFAULT_OPTIONS, &c->err), 0);
    assert_int_equal(c->ops->image_hold(pool, &c->call, "a", &hold, &c->err), 0);
    assert_int_equal(fake_ceph_calls(c->fake), 0);
    client_assert_fails(c, client_discard(c, "a"), STATUS_CANCELLED, ECONNABORTED);
    assert_int_equal(c->ops->hold_snapshot(hold, &c->call, "s", &c->err), 0);
    fake_ceph_recover(c->fake);
    assert_int_equal(c->ops->image_watchers(c->pool, &c->call, "a", &watchers, &c->err), 0);
    assert_int_equal(watchers.count, 1);
    ceph_hold_release(hold);
}

/* --- dumps --- */

TEST(dump_tells_everything_in_order, WITH_CLIENT)
{
    struct client *c = *state;

    client_make_orphan(c);
    assert_int_equal(client_add_key(c, "o", "k", "line\nbreak"), 0);
    fake_ceph_set_watcher(c->fake, "rbd", "a", "192.0.2.7:0/77");
    assert_int_equal(client_discard(c, "b"), 0);
    _cleanup_free_ char *text = client_dump(c, true);
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
static void make_volumes(struct client *c, int count, bool swapped)
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

        assert_int_equal(client_add_key(c, "csi.volumes.default", request, uuid), 0);
        assert_int_equal(client_create(c, image), 0);
        _cleanup_free_ char *id = client_image_id(c, image);
        assert_int_equal(client_add_key(c, object, "csi.imageid", id), 0);
    }
}

TEST(normalised_dumps_of_equal_clusters_are_equal, WITH_CLIENT)
{
    _cleanup_free_ char *first = NULL;

    for (int run = 0; run < 30; run++) {
        _cleanup_(client_freep) struct client *c = client_new();

        if (run % 2 == 1) { /* other ids, nothing left */
            assert_int_equal(client_create(c, "gone"), 0);
            _cleanup_free_ char *id = client_image_id(c, "gone");
            assert_int_equal(client_discard(c, "gone"), 0);
            assert_int_equal(client_purge(c, id), 0);
        }
        make_volumes(c, 5, false);
        _cleanup_free_ char *text = client_dump(c, true);
        if (first)
            assert_string_equal(text, first);
        else
            first = TAKE(text);
    }
}

TEST(normalised_dumps_of_different_clusters_differ, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_(client_freep) struct client *swapped = client_new();

    make_volumes(c, 3, false);
    make_volumes(swapped, 3, true);
    _cleanup_free_ char *right = client_dump(c, true);
    _cleanup_free_ char *wrong = client_dump(swapped, true);
    _cleanup_free_ char *raw = client_dump(c, false);
    assert_string_not_equal(right, wrong);
    assert_string_not_equal(right, raw);
}

/* --- all together --- */

/* Creates a journalled image in steps that can be repeated: what the tests of real operations do.
 */
static int provision(struct client *c, const char *name)
{
    const struct uuid_text fresh = uuid_text_generate();
    _cleanup_free_ char *uuid = NULL;
    _cleanup_free_ char *id = NULL;
    _cleanup_strmap_ struct strmap entries = {0};

    if (client_add_key(c, "dir", name, fresh.chars) < 0 && c->err.status != STATUS_ALREADY_EXISTS)
        return -1;
    error_clear(&c->err);
    if (c->ops->omap_get(c->pool, &c->call, "dir", name, &uuid, &c->err) < 0)
        return -1;
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", uuid);
    if (client_create(c, image) < 0 && c->err.status != STATUS_ALREADY_EXISTS)
        return -1;
    error_clear(&c->err);
    if (c->ops->image_get_id(c->pool, &c->call, image, &id, &c->err) < 0)
        return -1;
    strmap_set(&entries, "id", id);
    return c->ops->omap_set(c->pool, &c->call, "dir", &entries, &c->err);
}

/* True when @n is beyond the last call. */
static bool retry_heals(unsigned n, enum fake_failure failure, const char *undisturbed)
{
    _cleanup_(client_freep) struct client *c = client_new();

    fake_ceph_fail_call(c->fake, n, failure);
    int first = provision(c, "pvc-1");
    bool over = fake_ceph_fault_is_pending(c->fake);
    assert_int_equal(first, over ? 0 : -1);
    error_clear(&c->err);
    fake_ceph_recover(c->fake);
    assert_int_equal(provision(c, "pvc-1"), 0);
    _cleanup_free_ char *text = client_dump(c, true);
    assert_string_equal(text, undisturbed);
    return over;
}

TEST(every_call_of_an_operation_can_be_struck_in_every_way, WITH_CLIENT)
{
    struct client *c = *state;

    assert_int_equal(provision(c, "pvc-1"), 0);
    _cleanup_free_ char *undisturbed = client_dump(c, true);
    for (enum fake_failure failure = FAKE_FAIL_BEFORE; failure <= FAKE_CRASH_AFTER; failure++) {
        unsigned n = 1;

        while (!retry_heals(n, failure, undisturbed))
            n++;
        assert_int_equal(n, fake_ceph_calls(c->fake) + 1);
    }
}

/* A thread that uses the fake with a call of its own, as each rpc does. */
static void *claim_key(void *object)
{
    struct client *c = object;
    struct call call;
    _cleanup_error_ struct error err = {0};

    call_init(&call, 2, "Claim", deadline_never());
    int result = c->ops->omap_add(c->pool, &call, "o", "k", "v", &err);
    call_done(&call);
    return result == 0 ? c : NULL;
}

TEST(of_many_threads_one_adds_the_key, WITH_CLIENT)
{
    struct client *c = *state;
    pthread_t threads[8];
    int winners = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, claim_key, c), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        void *won = NULL;

        assert_int_equal(pthread_join(threads[i], &won), 0);
        winners += won != NULL;
    }
    assert_int_equal(winners, 1);
    assert_int_equal(fake_ceph_calls(c->fake), ARRAY_LENGTH(threads));
}
