/* Objects of the real struct ceph_ops on a real cluster. Each test removes what it made. */
#include <pthread.h>
#include <stdatomic.h>

#include "common/base/memory.h"
#include "tests/integration/ceph_client.h"
#include "tests/integration/harness.h"

static void forget_object(struct ceph_client *f)
{
    _cleanup_error_ struct error err = {0};

    assert_done(f->pool->ops->object_remove(f->pool, &f->call, OBJECT, &err), &err);
}

TEST(keys_are_added_only_where_absent)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_free_ char *absent = NULL;
    _cleanup_free_ char *value = NULL;
    _cleanup_error_ struct error err = {0};

    ceph_client_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    assert_done(ops->omap_get(f.pool, &f.call, OBJECT, "k", &absent, &err), &err);
    assert_null(absent); /* no object */
    assert_done(ops->omap_add(f.pool, &f.call, OBJECT, "k", "first", &err), &err);
    assert_refused(ops->omap_add(f.pool, &f.call, OBJECT, "k", "second", &err), &err,
                   STATUS_ALREADY_EXISTS);
    assert_done(ops->omap_add(f.pool, &f.call, OBJECT, "other", "third", &err), &err);
    assert_done(ops->omap_get(f.pool, &f.call, OBJECT, "no-key", &absent, &err), &err);
    assert_null(absent);
    assert_done(ops->omap_get(f.pool, &f.call, OBJECT, "k", &value, &err), &err);
    assert_string_equal(value, "first");
    forget_object(&f);
    forget_object(&f); /* absent is success */
}

TEST(keys_are_removed_only_with_the_expected_value)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_strmap_ struct strmap added = {0};
    _cleanup_free_ char *gone = NULL;
    _cleanup_free_ char *left = NULL;
    _cleanup_error_ struct error err = {0};
    bool removed = true;

    ceph_client_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    strmap_set(&added, "trace", "t");
    assert_done(ops->omap_remove_if(f.pool, &f.call, OBJECT, "k", "v", NULL, &removed, &err), &err);
    assert_false(removed); /* no object */
    assert_done(ops->omap_add(f.pool, &f.call, OBJECT, "k", "v", &err), &err);
    assert_done(ops->omap_remove_if(f.pool, &f.call, OBJECT, "k", "w", &added, &removed, &err),
                &err);
    assert_false(removed);
    assert_done(ops->omap_get(f.pool, &f.call, OBJECT, "trace", &gone, &err), &err);
    assert_null(gone); /* all or nothing */
    assert_done(ops->omap_remove_if(f.pool, &f.call, OBJECT, "k", "v", &added, &removed, &err),
                &err);
    assert_true(removed);
    assert_done(ops->omap_get(f.pool, &f.call, OBJECT, "k", &gone, &err), &err);
    assert_null(gone);
    assert_done(ops->omap_get(f.pool, &f.call, OBJECT, "trace", &left, &err), &err);
    assert_string_equal(left, "t");
    forget_object(&f);
}

TEST(objects_are_made_once_and_listed_in_pages)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_strmap_ struct strmap page = {0};
    _cleanup_strmap_ struct strmap rest = {0};
    _cleanup_error_ struct error err = {0};
    bool more = false;

    ceph_client_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    for (int i = 0; i < 600; i++) {
        _cleanup_free_ char *key = xasprintf("k.%04d", i);

        strmap_set(&entries, key, "v");
    }
    strmap_set(&entries, "x", "another prefix");
    assert_refused(ops->omap_set(f.pool, &f.call, OBJECT, &entries, &err), &err, STATUS_NOT_FOUND);
    assert_refused(ops->omap_list(f.pool, &f.call, OBJECT, "", "k.", &page, &more, &err), &err,
                   STATUS_NOT_FOUND);
    assert_done(ops->object_create(f.pool, &f.call, OBJECT, &entries, &err), &err);
    assert_refused(ops->object_create(f.pool, &f.call, OBJECT, &entries, &err), &err,
                   STATUS_ALREADY_EXISTS);
    assert_done(ops->omap_list(f.pool, &f.call, OBJECT, "", "k.", &page, &more, &err), &err);
    assert_int_equal(page.count, 512);
    assert_true(more);
    assert_done(ops->omap_list(f.pool, &f.call, OBJECT, "k.0511", "k.", &rest, &more, &err), &err);
    assert_int_equal(rest.count, 88);
    assert_false(more);
    forget_object(&f);
}

TEST(namespaces_do_not_see_each_other)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_ceph_pool_ struct ceph_pool *other = NULL;
    _cleanup_free_ char *value = NULL;
    _cleanup_error_ struct error err = {0};

    ceph_client_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    assert_done(ops->pool_open(f.cluster, &f.call, POOL, "ns1", &other, &err), &err);
    assert_string_equal(other->rados_namespace, "ns1");
    assert_done(ops->omap_add(other, &f.call, OBJECT, "k", "v", &err), &err);
    assert_done(ops->omap_get(f.pool, &f.call, OBJECT, "k", &value, &err), &err);
    assert_null(value);
    assert_done(ops->object_remove(other, &f.call, OBJECT, &err), &err);
}

static void *add_key(void *object)
{
    struct ceph_client *f = object;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;
    _cleanup_error_ struct error err = {0};
    struct call call;
    void *won = NULL;

    call_init(&call, 1, "Test", deadline_in_ms(120000));
    if (f->ceph->ops->pool_open(f->cluster, &call, POOL, "", &pool, &err) == 0 &&
        pool->ops->omap_add(pool, &call, OBJECT, "k", "v", &err) == 0)
        won = object;
    call_done(&call);
    return won;
}

TEST(one_of_eight_racing_adders_wins)
{
    _cleanup_ceph_client_ struct ceph_client f;
    pthread_t threads[8];

    ceph_client_open(&f);
    for (int round = 0; round < 20; round++) {
        int winners = 0;

        for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
            assert_int_equal(pthread_create(&threads[i], NULL, add_key, &f), 0);
        for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
            void *won = NULL;

            pthread_join(threads[i], &won);
            winners += won != NULL;
        }
        assert_int_equal(winners, 1);
        forget_object(&f);
    }
}
