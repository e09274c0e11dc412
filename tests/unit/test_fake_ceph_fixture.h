#pragma once

#include <errno.h>

#include "common/base/memory.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/test.h"

/* What the tests of the fake have in common: a fake with pools and a connection, and short forms of
 * the operations. Includes what every one of them needs. */

#define GIB ((uint64_t)1 << 30)
#define DUMP_LIMIT ((size_t)1 << 20)

enum {
    LAYERING = 1,
    EXCLUSIVE_LOCK = 4,
    OBJECT_MAP = 8,
    DATA_POOL = 128,
    OPERATIONS = 256,
};

static const struct image_options default_options = {.features = IMAGE_FEATURES_DEFAULT};

/* A fake with pools and a connection by the process under test. */
struct world {
    struct fake_ceph *fake;
    struct call call;
    struct error err;
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
    struct ceph_pool *space; /* namespace "ns" of the same pool */
    const struct ceph_ops *ops;
};

static inline int connect_as(struct world *w, struct ceph *ceph, struct ceph_cluster **cluster)
{
    struct secret key = {0};
    const struct ceph_target target = {"c1", "192.0.2.9:6789", "csi", &key};

    return ceph->ops->connect(ceph, &w->call, &target, cluster, &w->err);
}

static inline struct world *world_new(void)
{
    struct world *w = xcalloc(1, sizeof(*w));

    w->fake = fake_ceph_new();
    fake_ceph_add_pool(w->fake, "rbd", 3);
    fake_ceph_add_pool(w->fake, "data", 4);
    fake_ceph_add_namespace(w->fake, "rbd", "ns");
    call_init(&w->call, 1, "Test", deadline_never());
    w->ops = fake_ceph_as_ceph(w->fake)->ops;
    assert_int_equal(connect_as(w, fake_ceph_as_ceph(w->fake), &w->cluster), 0);
    assert_int_equal(w->ops->pool_open(w->cluster, &w->call, "rbd", "", &w->pool, &w->err), 0);
    assert_int_equal(w->ops->pool_open(w->cluster, &w->call, "rbd", "ns", &w->space, &w->err), 0);
    return w;
}

static inline void world_free(struct world *w)
{
    ceph_pool_close(w->pool);
    ceph_pool_close(w->space);
    ceph_disconnect(w->cluster);
    fake_ceph_free(w->fake);
    error_clear(&w->err);
    call_done(&w->call);
    free(w);
}

DEFINE_CLEANUP(struct world, world_free)

static inline int set_up(void **state)
{
    *state = world_new();
    return 0;
}

static inline int tear_down(void **state)
{
    world_free(*state);
    return 0;
}

/* --- the operations on w->pool, in short ---------------------------------------------------- */

static inline void assert_fails(struct world *w, int result, enum status status, int sys_errno)
{
    assert_int_equal(result, -1);
    assert_int_equal(w->err.status, status);
    assert_int_equal(w->err.sys_errno, sys_errno);
    error_clear(&w->err);
}

static inline int create(struct world *w, const char *name)
{
    return w->ops->image_create(w->pool, &w->call, name, GIB, &default_options, &w->err);
}

static inline int create_with(struct world *w, const char *name,
                              const struct image_options *options)
{
    return w->ops->image_create(w->pool, &w->call, name, GIB, options, &w->err);
}

static inline int snap(struct world *w, const char *image, const char *snapshot)
{
    return w->ops->snapshot_create(w->pool, &w->call, image, snapshot, &w->err);
}

static inline int unsnap(struct world *w, const char *image, const char *snapshot)
{
    return w->ops->snapshot_remove(w->pool, &w->call, image, snapshot, &w->err);
}

static inline int make_clone(struct world *w, const char *parent, const char *snapshot,
                             const char *name)
{
    return w->ops->image_clone(w->pool, &w->call, parent, snapshot, w->pool, name, &default_options,
                               &w->err);
}

static inline int flatten(struct world *w, const char *name)
{
    return w->ops->image_flatten(w->pool, &w->call, name, NULL, NULL, &w->err);
}

static inline int discard(struct world *w, const char *name)
{
    return w->ops->trash_move(w->pool, &w->call, name, &w->err);
}

static inline int purge(struct world *w, const char *id)
{
    return w->ops->trash_remove(w->pool, &w->call, id, NULL, NULL, &w->err);
}

static inline int add_key(struct world *w, const char *object, const char *key, const char *value)
{
    return w->ops->omap_add(w->pool, &w->call, object, key, value, &w->err);
}

static inline void assert_key(struct world *w, const char *object, const char *key,
                              const char *expected)
{
    _cleanup_free_ char *value = NULL;

    assert_int_equal(w->ops->omap_get(w->pool, &w->call, object, key, &value, &w->err), 0);
    if (expected)
        assert_string_equal(value, expected);
    else
        assert_null(value);
}

static inline char *id_of(struct world *w, const char *name)
{
    char *id = NULL;

    assert_int_equal(w->ops->image_get_id(w->pool, &w->call, name, &id, &w->err), 0);
    return id;
}

static inline struct image_facts facts_of(struct world *w, const char *name)
{
    struct image_facts facts = {0};

    assert_int_equal(w->ops->image_get_facts(w->pool, &w->call, name, &facts, &w->err), 0);
    return facts;
}

static inline size_t count_snapshots(struct world *w, const char *image)
{
    _cleanup_(image_snapshots_done) struct image_snapshots list = {0};

    assert_int_equal(w->ops->snapshot_list(w->pool, &w->call, image, &list, &w->err), 0);
    return list.count;
}

static inline size_t count_trash(struct world *w, struct ceph_pool *pool)
{
    _cleanup_(trash_entries_done) struct trash_entries list = {0};

    assert_int_equal(w->ops->trash_list(pool, &w->call, &list, &w->err), 0);
    return list.count;
}

static inline bool exists(struct world *w, const char *name)
{
    _cleanup_free_ char *id = NULL;
    bool found = w->ops->image_get_id(w->pool, &w->call, name, &id, &w->err) == 0;

    error_clear(&w->err);
    return found;
}

static inline char *dump(struct world *w, bool normalised)
{
    struct text out = TEXT_INIT(DUMP_LIMIT);

    if (normalised)
        fake_ceph_dump_normalised(w->fake, &out);
    else
        fake_ceph_dump(w->fake, &out);
    assert_false(out.truncated);
    return text_take(&out);
}

/* Image "a" whose snapshot "s", the origin of image "b", has been removed. */
static inline void make_clone_of_removed_snapshot(struct world *w)
{
    assert_int_equal(create(w, "a"), 0);
    assert_int_equal(snap(w, "a", "s"), 0);
    assert_int_equal(make_clone(w, "a", "s", "b"), 0);
    assert_int_equal(unsnap(w, "a", "s"), 0);
}

#define WITH_WORLD .setup_func = set_up, .teardown_func = tear_down
