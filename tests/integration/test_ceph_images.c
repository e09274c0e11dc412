/* Images and snapshots of the real struct ceph_ops on a real cluster. Each test removes what it
 * made. */
#include <errno.h>

#include "common/base/memory.h"
#include "tests/integration/ceph_client.h"
#include "tests/integration/harness.h"

/* --- images --- */

TEST(images_are_made_looked_at_and_grown)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_image_facts_ struct image_facts facts = {0};
    const struct image_options options = {.features = FEATURE_LAYERING, .object_order = 20};
    _cleanup_free_ char *id = NULL;
    _cleanup_error_ struct error err = {0};
    uint64_t size = 0;
    bool has = true;

    ceph_client_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    assert_done(ops->image_create(f.pool, &f.call, "t-image", 5 * MIB + 512, &options, &err), &err);
    assert_refused(ops->image_create(f.pool, &f.call, "t-image", MIB, &options, &err), &err,
                   STATUS_ALREADY_EXISTS);
    assert_done(ops->image_get_id(f.pool, &f.call, "t-image", &id, &err), &err);
    assert_done(ops->image_get_size(f.pool, &f.call, id, &size, &err), &err);
    assert_int_equal(size, 5 * MIB + 512);
    assert_done(ops->image_has_snapshots(f.pool, &f.call, id, &has, &err), &err);
    assert_false(has);
    assert_refused(ops->image_resize(f.pool, &f.call, "t-image", MIB, &err), &err,
                   STATUS_INVALID_ARGUMENT); /* never smaller */
    assert_done(ops->image_resize(f.pool, &f.call, "t-image", 9 * MIB, &err), &err);
    assert_done(ops->image_get_facts(f.pool, &f.call, "t-image", &facts, &err), &err);
    assert_string_equal(facts.id, id);
    assert_int_equal(facts.size_bytes, 9 * MIB);
    assert_int_equal(facts.features, FEATURE_LAYERING);
    assert_false(facts.has_parent);
    assert_true(facts.created.tv_sec > 0);
    ceph_client_discard_image(&f, "t-image");
}

/* librbd says ENOENT for all of them. */
TEST(what_a_new_image_needs_and_is_not_there_is_named)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_ceph_pool_ struct ceph_pool *space = NULL;
    const struct image_options plain = {.features = FEATURE_LAYERING};
    const struct image_options apart = {.features = FEATURE_LAYERING, .data_pool = "misspelt"};
    _cleanup_error_ struct error err = {0};

    ceph_client_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    assert_done(ops->pool_open(f.cluster, &f.call, POOL, "nowhere", &space, &err), &err);
    ceph_client_make_image(&f, "t-parent", FEATURE_LAYERING);
    assert_done(ops->snapshot_create(f.pool, &f.call, "t-parent", "s", &err), &err);
    assert_refused(ops->image_create(f.pool, &f.call, "t-new", MIB, &apart, &err), &err,
                   STATUS_INVALID_ARGUMENT);
    assert_refused(ops->image_create(space, &f.call, "t-new", MIB, &plain, &err), &err,
                   STATUS_FAILED_PRECONDITION);
    assert_refused(
        ops->image_clone(f.pool, &f.call, "t-parent", "s", f.pool, "t-new", &apart, &err), &err,
        STATUS_INVALID_ARGUMENT);
    assert_refused(ops->image_clone(f.pool, &f.call, "t-parent", "s", space, "t-new", &plain, &err),
                   &err, STATUS_FAILED_PRECONDITION);
    assert_refused(
        ops->image_clone(f.pool, &f.call, "t-parent", "none", f.pool, "t-new", &plain, &err), &err,
        STATUS_NOT_FOUND);
    assert_done(ops->snapshot_remove(f.pool, &f.call, "t-parent", "s", &err), &err);
    ceph_client_discard_image(&f, "t-parent");
}

TEST(missing_images_are_not_found)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_string_list_ struct string_list watchers = {0};
    struct image_facts facts = {0};
    _cleanup_error_ struct error err = {0};
    char *id = NULL;
    uint64_t size = 0;

    ceph_client_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    assert_refused(ops->image_get_id(f.pool, &f.call, "none", &id, &err), &err, STATUS_NOT_FOUND);
    assert_refused(ops->image_get_size(f.pool, &f.call, "0", &size, &err), &err, STATUS_NOT_FOUND);
    assert_refused(ops->image_get_facts(f.pool, &f.call, "none", &facts, &err), &err,
                   STATUS_NOT_FOUND);
    assert_refused(ops->image_watchers(f.pool, &f.call, "none", &watchers, &err), &err,
                   STATUS_NOT_FOUND);
    assert_refused(ops->trash_move(f.pool, &f.call, "none", &err), &err, STATUS_NOT_FOUND);
    assert_refused(ops->trash_remove(f.pool, &f.call, "0", NULL, NULL, &err), &err,
                   STATUS_NOT_FOUND);
}

/* Without fast-diff, so that librbd has to ask for each object. */
static void make_slow_image(struct ceph_client *f, uint64_t size_mib, uint64_t object_order)
{
    const struct image_options options = {.features = FEATURE_LAYERING,
                                          .object_order = object_order};
    _cleanup_error_ struct error err = {0};

    assert_done(
        f->pool->ops->image_create(f->pool, &f->call, "t-slow", size_mib * MIB, &options, &err),
        &err);
}

TEST(one_object_in_the_middle_of_a_large_image_is_found)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_free_ char *id = NULL;
    _cleanup_error_ struct error err = {0};
    bool empty = false;

    ceph_client_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    make_slow_image(&f, 200 * 1024, 25);
    assert_done(ops->image_get_id(f.pool, &f.call, "t-slow", &id, &err), &err);
    assert_done(ops->image_is_empty(f.pool, &f.call, "t-slow", &empty, &err), &err);
    assert_true(empty);
    _cleanup_free_ char *object = xasprintf("rbd_data.%s.%016x", id, 3200); /* at 100 GiB */
    free(harness_run_tool(
        (const char *[]){"rados", "-p", POOL, "put", object, "/etc/hostname", NULL}));
    assert_done(ops->image_is_empty(f.pool, &f.call, "t-slow", &empty, &err), &err);
    assert_false(empty);
    ceph_client_discard_image(&f, "t-slow");
}

TEST(looking_for_data_ends_with_its_call)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_error_ struct error err = {0};
    struct call late;
    bool empty = true;

    ceph_client_open(&f);
    make_slow_image(&f, 64 * 1024, 22); /* more than there is time for */
    call_init(&late, 2, "Test", deadline_in_ms(30));
    assert_refused(f.pool->ops->image_is_empty(f.pool, &late, "t-slow", &empty, &err), &err,
                   STATUS_DEADLINE_EXCEEDED);
    assert_true(empty); /* as it was: nobody knows */
    call_done(&late);
    ceph_client_discard_image(&f, "t-slow");
}

TEST(image_metadata_is_set_and_removed)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_strmap_ struct strmap found = {0};
    _cleanup_string_list_ struct string_list removed = {0};
    _cleanup_error_ struct error err = {0};

    ceph_client_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    ceph_client_make_image(&f, "t-meta", FEATURE_LAYERING);
    strmap_set(&entries, "a", "1");
    strmap_set(&entries, "b", "2");
    string_list_add(&removed, "b");
    string_list_add(&removed, "not-there");
    assert_done(ops->image_metadata_change(f.pool, &f.call, "t-meta", &entries, &removed, &err),
                &err);
    assert_done(ops->image_metadata_get(f.pool, &f.call, "t-meta", &found, &err), &err);
    assert_string_equal(strmap_get(&found, "a"), "1");
    assert_false(strmap_has(&found, "b"));
    ceph_client_discard_image(&f, "t-meta");
    assert_refused(ops->image_metadata_change(f.pool, &f.call, "t-meta", &entries, NULL, &err),
                   &err, STATUS_NOT_FOUND);
    assert_refused(ops->image_metadata_get(f.pool, &f.call, "t-meta", &found, &err), &err,
                   STATUS_NOT_FOUND);
}

/* librbd changes settings, and everything of an image with a journal; we do the rest. Both must
 * mean the same. */
TEST(metadata_are_those_of_librbd)
{
    static const uint64_t kinds[] = {FEATURE_LAYERING, FEATURE_LAYERING | FEATURE_EXCLUSIVE_LOCK |
                                                           FEATURE_JOURNALING};
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_error_ struct error err = {0};

    ceph_client_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        _cleanup_strmap_ struct strmap entries = {0};
        _cleanup_strmap_ struct strmap setting = {0};
        _cleanup_strmap_ struct strmap found = {0};
        _cleanup_string_list_ struct string_list removed = {0};
        uint64_t features = 0;

        ceph_client_make_image(&f, "t-both", kinds[i]);
        assert_done(ops->image_get_features(f.pool, &f.call, "t-both", &features, &err), &err);
        assert_int_equal(features, kinds[i]);
        for (int key = 0; key < 700; key++) { /* more than one answer holds */
            _cleanup_free_ char *name = xasprintf("key-%03d", key);

            strmap_set(&entries, name, "x");
        }
        strmap_set(&entries, "empty", "");
        assert_done(ops->image_metadata_change(f.pool, &f.call, "t-both", &entries, NULL, &err),
                    &err);
        strmap_set(&setting, "conf_rbd_cache", "false");
        string_list_add(&removed, "key-000");
        assert_done(ops->image_metadata_change(f.pool, &f.call, "t-both", &setting, &removed, &err),
                    &err);
        strmap_remove(&entries, "key-000");
        strmap_set(&entries, "conf_rbd_cache", "false");
        assert_done(ops->image_metadata_get(f.pool, &f.call, "t-both", &found, &err), &err);
        assert_true(strmap_is_equal(&found, &entries));
        ceph_client_discard_image(&f, "t-both");
    }
}

TEST(locked_image_has_a_watcher_and_stays)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_ceph_client_ struct ceph_client other;
    _cleanup_string_list_ struct string_list before = {0};
    _cleanup_string_list_ struct string_list during = {0};
    _cleanup_error_ struct error err = {0};
    struct image_hold *hold = NULL;

    ceph_client_open(&f);
    ceph_client_open(&other);
    const struct ceph_ops *ops = f.pool->ops;
    ceph_client_make_image(&f, "t-busy", FEATURE_LAYERING | FEATURE_EXCLUSIVE_LOCK);
    assert_done(ops->image_watchers(f.pool, &f.call, "t-busy", &before, &err), &err);
    assert_int_equal(before.count, 0); /* looking does not count */
    assert_done(ops->image_hold(other.pool, &other.call, "t-busy", &hold, &err), &err);
    assert_done(ops->image_watchers(f.pool, &f.call, "t-busy", &during, &err), &err);
    assert_int_equal(during.count, 1);
    assert_int_equal(ops->trash_move(f.pool, &f.call, "t-busy", &err), -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    assert_int_equal(err.sys_errno, EBUSY);
    ceph_hold_release(hold);
    ceph_client_discard_image(&f, "t-busy");
}

TEST(trash_lists_what_was_moved)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_(trash_entries_done) struct trash_entries entries = {0};
    _cleanup_free_ char *id = NULL;
    _cleanup_error_ struct error err = {0};
    size_t found = 0;

    ceph_client_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    ceph_client_make_image(&f, "t-trash", FEATURE_LAYERING);
    assert_done(ops->image_get_id(f.pool, &f.call, "t-trash", &id, &err), &err);
    assert_done(ops->trash_move(f.pool, &f.call, "t-trash", &err), &err);
    assert_done(ops->trash_list(f.pool, &f.call, &entries, &err), &err);
    for (size_t i = 0; i < entries.count; i++)
        found +=
            strcmp(entries.items[i].id, id) == 0 && strcmp(entries.items[i].name, "t-trash") == 0;
    assert_int_equal(found, 1);
    assert_done(ops->trash_remove(f.pool, &f.call, id, NULL, NULL, &err), &err);
}

/* --- snapshots --- */

TEST(clone_keeps_its_snapshot_in_the_trash_until_flattened)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_image_facts_ struct image_facts linked = {0};
    _cleanup_image_facts_ struct image_facts flat = {0};
    _cleanup_(image_snapshots_done) struct image_snapshots user = {0};
    _cleanup_(image_snapshots_done) struct image_snapshots trashed = {0};
    const struct image_options options = {.features = FEATURE_LAYERING};
    _cleanup_error_ struct error err = {0};

    ceph_client_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    ceph_client_make_image(&f, "t-parent", FEATURE_LAYERING);
    assert_done(ops->snapshot_create(f.pool, &f.call, "t-parent", "s", &err), &err);
    assert_refused(ops->snapshot_create(f.pool, &f.call, "t-parent", "s", &err), &err,
                   STATUS_ALREADY_EXISTS);
    assert_done(ops->snapshot_list(f.pool, &f.call, "t-parent", &user, &err), &err);
    assert_int_equal(user.count, 1);
    assert_int_equal(user.items[0].kind, SNAPSHOT_USER);
    assert_done(
        ops->image_clone(f.pool, &f.call, "t-parent", "s", f.pool, "t-child", &options, &err),
        &err);
    assert_done(ops->image_get_facts(f.pool, &f.call, "t-child", &linked, &err), &err);
    assert_true(linked.has_parent);
    assert_string_equal(linked.parent.image_name, "t-parent");
    assert_int_equal(linked.parent.pool_id, f.pool->id);
    assert_done(ops->snapshot_remove(f.pool, &f.call, "t-parent", "s", &err), &err);
    assert_done(ops->snapshot_list(f.pool, &f.call, "t-parent", &trashed, &err), &err);
    assert_int_equal(trashed.count, 1);
    assert_int_equal(trashed.items[0].kind, SNAPSHOT_TRASH);
    assert_string_equal(trashed.items[0].original_name, "s");
    assert_done(ops->image_flatten(f.pool, &f.call, "t-child", NULL, NULL, &err), &err);
    assert_done(ops->image_get_facts(f.pool, &f.call, "t-child", &flat, &err), &err);
    assert_false(flat.has_parent);
    assert_refused(ops->snapshot_remove(f.pool, &f.call, "t-parent", "s", &err), &err,
                   STATUS_NOT_FOUND);
    ceph_client_discard_image(&f, "t-child");
    ceph_client_discard_image(&f, "t-parent");
}

TEST(held_image_takes_a_snapshot)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_(image_snapshots_done) struct image_snapshots snapshots = {0};
    _cleanup_error_ struct error err = {0};
    struct image_hold *hold = NULL;

    ceph_client_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    ceph_client_make_image(&f, "t-plain", FEATURE_LAYERING);
    assert_refused(ops->image_hold(f.pool, &f.call, "t-plain", &hold, &err), &err,
                   STATUS_FAILED_PRECONDITION);
    ceph_client_make_image(&f, "t-held", FEATURE_LAYERING | FEATURE_EXCLUSIVE_LOCK);
    assert_done(ops->image_hold(f.pool, &f.call, "t-held", &hold, &err), &err);
    assert_done(ops->hold_snapshot(hold, &f.call, "s", &err), &err);
    ceph_hold_release(hold);
    assert_done(ops->snapshot_list(f.pool, &f.call, "t-held", &snapshots, &err), &err);
    assert_int_equal(snapshots.count, 1);
    assert_done(ops->snapshot_remove(f.pool, &f.call, "t-held", "s", &err), &err);
    ceph_client_discard_image(&f, "t-held");
    ceph_client_discard_image(&f, "t-plain");
}
