#include "common/base/uuid.h"
#include "tests/unit/test_fake_ceph_fixture.h"

/* Snapshots, clones, trash and the exclusive lock, all as seen on Ceph 16.2. */

/* --- snapshots, clones, trash --------------------------------------------------------------- */

TEST(snapshot_is_created_and_removed_once, WITH_WORLD)
{
    struct world *w = *state;

    assert_int_equal(create(w, "a"), 0);
    assert_int_equal(snap(w, "a", "s"), 0);
    assert_fails(w, snap(w, "a", "s"), STATUS_ALREADY_EXISTS, EEXIST);
    assert_int_equal(unsnap(w, "a", "s"), 0);
    assert_fails(w, unsnap(w, "a", "s"), STATUS_NOT_FOUND, ENOENT);
    assert_fails(w, snap(w, "b", "s"), STATUS_NOT_FOUND, ENOENT);
}

TEST(snapshots_of_every_kind_are_seen_by_image_id, WITH_WORLD)
{
    struct world *w = *state;
    bool has = true;

    make_clone_of_removed_snapshot(w);
    _cleanup_free_ char *parent = id_of(w, "a");
    _cleanup_free_ char *child = id_of(w, "b");
    assert_int_equal(discard(w, "a"), 0);
    assert_int_equal(w->ops->image_has_snapshots(w->pool, &w->call, child, &has, &w->err), 0);
    assert_false(has);
    assert_int_equal(w->ops->image_has_snapshots(w->pool, &w->call, parent, &has, &w->err), 0);
    assert_true(has);
    assert_fails(w, w->ops->image_has_snapshots(w->pool, &w->call, "a", &has, &w->err),
                 STATUS_NOT_FOUND, ENOENT);
}

TEST(only_user_snapshots_are_found_by_name, WITH_WORLD)
{
    struct world *w = *state;

    assert_int_equal(create(w, "a"), 0);
    fake_ceph_add_snapshot(w->fake, "rbd", "a", "g", SNAPSHOT_GROUP);
    assert_fails(w, unsnap(w, "a", "g"), STATUS_NOT_FOUND, ENOENT);
    assert_fails(w, make_clone(w, "a", "g", "b"), STATUS_NOT_FOUND, ENOENT);
    assert_int_equal(snap(w, "a", "g"), 0);
    assert_int_equal(count_snapshots(w, "a"), 2);
}

TEST(clone_takes_after_its_parent, WITH_WORLD)
{
    struct world *w = *state;
    const struct image_options options = {.features = LAYERING | EXCLUSIVE_LOCK,
                                          .data_pool = "data"};
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_strmap_ struct strmap copied = {0};

    strmap_set(&entries, "k", "v");
    assert_int_equal(create_with(w, "a", &options), 0);
    assert_int_equal(w->ops->image_metadata_change(w->pool, &w->call, "a", &entries, NULL, &w->err),
                     0);
    assert_int_equal(snap(w, "a", "s"), 0);
    assert_int_equal(w->ops->image_resize(w->pool, &w->call, "a", 2 * GIB, &w->err), 0);
    assert_int_equal(make_clone(w, "a", "s", "b"), 0);
    _cleanup_image_facts_ struct image_facts facts = facts_of(w, "b");
    assert_int_equal(facts.size_bytes, GIB);
    assert_int_equal(facts.features, LAYERING | EXCLUSIVE_LOCK | OPERATIONS);
    assert_int_equal(w->ops->image_metadata_get(w->pool, &w->call, "b", &copied, &w->err), 0);
    assert_true(strmap_is_equal(&copied, &entries));
}

TEST(clone_names_its_parent, WITH_WORLD)
{
    struct world *w = *state;

    assert_int_equal(create(w, "a"), 0);
    assert_int_equal(snap(w, "a", "s"), 0);
    assert_int_equal(
        w->ops->image_clone(w->pool, &w->call, "a", "s", w->space, "b", &default_options, &w->err),
        0);
    _cleanup_free_ char *parent_id = id_of(w, "a");
    _cleanup_image_facts_ struct image_facts facts = {0};
    assert_int_equal(w->ops->image_get_facts(w->space, &w->call, "b", &facts, &w->err), 0);
    assert_true(facts.has_parent);
    assert_int_equal(facts.parent.pool_id, 3);
    assert_string_equal(facts.parent.pool_name, "rbd");
    assert_string_equal(facts.parent.rados_namespace, "");
    assert_string_equal(facts.parent.image_name, "a");
    assert_string_equal(facts.parent.image_id, parent_id);
    assert_string_equal(facts.parent.snapshot_name, "s");
    assert_false(facts.parent.in_trash);
}

TEST(clone_needs_snapshot_name_and_layering, WITH_WORLD)
{
    struct world *w = *state;
    const struct image_options without = {.features = EXCLUSIVE_LOCK};

    assert_int_equal(create(w, "a"), 0);
    assert_fails(w, make_clone(w, "a", "s", "b"), STATUS_NOT_FOUND, ENOENT);
    assert_int_equal(snap(w, "a", "s"), 0);
    assert_fails(w, make_clone(w, "a", "s", "a"), STATUS_ALREADY_EXISTS, EEXIST);
    assert_fails(w, make_clone(w, "none", "s", "b"), STATUS_NOT_FOUND, ENOENT);
    assert_fails(w,
                 w->ops->image_clone(w->pool, &w->call, "a", "s", w->pool, "b", &without, &w->err),
                 STATUS_INTERNAL, ENOSYS);
    assert_int_equal(create_with(w, "bare", &without), 0);
    assert_int_equal(snap(w, "bare", "s"), 0);
    assert_fails(w, make_clone(w, "bare", "s", "b"), STATUS_INTERNAL, ENOSYS);
    assert_false(exists(w, "b"));
}

TEST(removed_snapshot_with_children_waits_in_the_snapshot_trash, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_(image_snapshots_done) struct image_snapshots list = {0};

    make_clone_of_removed_snapshot(w);
    assert_fails(w, unsnap(w, "a", "s"), STATUS_NOT_FOUND, ENOENT);
    assert_fails(w, make_clone(w, "a", "s", "c"), STATUS_NOT_FOUND, ENOENT);
    assert_int_equal(snap(w, "a", "s"), 0);
    assert_int_equal(w->ops->snapshot_list(w->pool, &w->call, "a", &list, &w->err), 0);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].kind, SNAPSHOT_TRASH);
    assert_string_equal(list.items[0].original_name, "s");
    assert_true(uuid_text_is_valid(list.items[0].name));
    assert_int_equal(list.items[0].size_bytes, GIB);
    assert_int_equal(list.items[1].kind, SNAPSHOT_USER);
    assert_null(list.items[1].original_name);
    assert_true(list.items[1].id > list.items[0].id);
    _cleanup_image_facts_ struct image_facts facts = facts_of(w, "b");
    assert_string_equal(facts.parent.snapshot_name, list.items[0].name);
}

TEST(trashed_snapshot_goes_with_its_last_child, WITH_WORLD)
{
    struct world *w = *state;

    assert_int_equal(create(w, "a"), 0);
    assert_int_equal(snap(w, "a", "s"), 0);
    assert_int_equal(make_clone(w, "a", "s", "b"), 0);
    assert_int_equal(make_clone(w, "a", "s", "c"), 0);
    assert_int_equal(unsnap(w, "a", "s"), 0);
    assert_int_equal(flatten(w, "b"), 0);
    assert_int_equal(count_snapshots(w, "a"), 1);
    _cleanup_free_ char *id = id_of(w, "c");
    assert_int_equal(discard(w, "c"), 0);
    assert_int_equal(count_snapshots(w, "a"), 1);
    assert_int_equal(purge(w, id), 0);
    assert_int_equal(count_snapshots(w, "a"), 0);
    _cleanup_image_facts_ struct image_facts facts = facts_of(w, "a");
    assert_int_equal(facts.features & OPERATIONS, 0);
}

TEST(user_snapshot_stays_when_its_last_child_goes, WITH_WORLD)
{
    struct world *w = *state;

    assert_int_equal(create(w, "a"), 0);
    assert_int_equal(snap(w, "a", "s"), 0);
    assert_int_equal(make_clone(w, "a", "s", "b"), 0);
    assert_int_equal(flatten(w, "b"), 0);
    assert_int_equal(count_snapshots(w, "a"), 1);
    _cleanup_image_facts_ struct image_facts facts = facts_of(w, "b");
    assert_false(facts.has_parent);
    assert_fails(w, flatten(w, "b"), STATUS_INVALID_ARGUMENT, EINVAL);
}

TEST(trashed_parent_is_removed_only_after_its_child_is_flattened, WITH_WORLD)
{
    struct world *w = *state;

    make_clone_of_removed_snapshot(w);
    _cleanup_free_ char *id = id_of(w, "a");
    assert_int_equal(discard(w, "a"), 0);
    assert_fails(w, purge(w, id), STATUS_INTERNAL, ENOTEMPTY);
    _cleanup_image_facts_ struct image_facts facts = facts_of(w, "b");
    assert_true(facts.parent.in_trash);
    assert_string_equal(facts.parent.image_name, "a");
    assert_int_equal(flatten(w, "b"), 0);
    assert_int_equal(purge(w, id), 0);
    assert_fails(w, purge(w, id), STATUS_NOT_FOUND, ENOENT);
}

TEST(snapshots_of_a_clone_keep_the_parent_without_deep_flatten, WITH_WORLD)
{
    struct world *w = *state;
    const struct image_options shallow = {.features = LAYERING};

    make_clone_of_removed_snapshot(w); /* "b" has deep-flatten */
    assert_int_equal(snap(w, "a", "t"), 0);
    assert_int_equal(
        w->ops->image_clone(w->pool, &w->call, "a", "t", w->pool, "c", &shallow, &w->err), 0);
    assert_int_equal(unsnap(w, "a", "t"), 0);
    assert_int_equal(snap(w, "b", "own"), 0);
    assert_int_equal(snap(w, "c", "own"), 0);
    assert_int_equal(flatten(w, "b"), 0);
    assert_int_equal(count_snapshots(w, "a"), 1);
    assert_int_equal(flatten(w, "c"), 0);
    assert_int_equal(count_snapshots(w, "a"), 1);
    _cleanup_image_facts_ struct image_facts facts = facts_of(w, "c");
    assert_false(facts.has_parent);
    assert_int_equal(unsnap(w, "c", "own"), 0);
    assert_int_equal(count_snapshots(w, "a"), 0);
}

TEST(chain_of_clones_is_released_from_its_end, WITH_WORLD)
{
    struct world *w = *state;

    make_clone_of_removed_snapshot(w);
    assert_int_equal(snap(w, "b", "t"), 0);
    assert_int_equal(make_clone(w, "b", "t", "c"), 0);
    assert_int_equal(unsnap(w, "b", "t"), 0);
    _cleanup_free_ char *id = id_of(w, "b");
    assert_int_equal(discard(w, "b"), 0);
    assert_fails(w, purge(w, id), STATUS_INTERNAL, ENOTEMPTY);
    assert_int_equal(flatten(w, "c"), 0);
    assert_int_equal(count_snapshots(w, "a"), 1);
    assert_int_equal(purge(w, id), 0);
    assert_int_equal(count_snapshots(w, "a"), 0);
}

TEST(trash_holds_several_images_of_one_name, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_(trash_entries_done) struct trash_entries list = {0};

    for (int i = 0; i < 2; i++) {
        assert_int_equal(create(w, "a"), 0);
        assert_int_equal(discard(w, "a"), 0);
    }
    assert_fails(w, discard(w, "a"), STATUS_NOT_FOUND, ENOENT);
    assert_int_equal(w->ops->trash_list(w->pool, &w->call, &list, &w->err), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name, "a");
    assert_string_equal(list.items[1].name, "a");
    assert_string_not_equal(list.items[0].id, list.items[1].id);
}

TEST(only_trashed_images_without_snapshots_are_removed, WITH_WORLD)
{
    struct world *w = *state;

    assert_int_equal(create(w, "a"), 0);
    assert_int_equal(snap(w, "a", "s"), 0);
    _cleanup_free_ char *id = id_of(w, "a");
    assert_fails(w, purge(w, id), STATUS_NOT_FOUND, ENOENT);
    assert_int_equal(discard(w, "a"), 0);
    assert_fails(w, purge(w, id), STATUS_INTERNAL, ENOTEMPTY);
    assert_int_equal(count_trash(w, w->pool), 1);
}

struct stopper {
    int reports;
    int stop_at; /* 0: never */
};

static int count_reports(void *object, int percent)
{
    struct stopper *stopper = object;

    assert_in_range(percent, 0, 100);
    return ++stopper->reports == stopper->stop_at;
}

TEST(stopped_operation_has_no_effect, WITH_WORLD)
{
    struct world *w = *state;
    struct stopper stopper = {.stop_at = 2};

    make_clone_of_removed_snapshot(w);
    assert_fails(w, w->ops->image_flatten(w->pool, &w->call, "b", count_reports, &stopper, &w->err),
                 STATUS_CANCELLED, ECANCELED);
    assert_int_equal(stopper.reports, 2);
    assert_int_equal(count_snapshots(w, "a"), 1);
    _cleanup_free_ char *id = id_of(w, "b");
    assert_int_equal(discard(w, "b"), 0);
    stopper = (struct stopper){.stop_at = 1};
    assert_fails(w, w->ops->trash_remove(w->pool, &w->call, id, count_reports, &stopper, &w->err),
                 STATUS_CANCELLED, ECANCELED);
    assert_int_equal(count_trash(w, w->pool), 1);
    stopper = (struct stopper){0};
    assert_int_equal(w->ops->trash_remove(w->pool, &w->call, id, count_reports, &stopper, &w->err),
                     0);
    assert_true(stopper.reports > 1);
}

/* --- the exclusive lock --------------------------------------------------------------------- */

TEST(image_is_held_by_one_at_a_time, WITH_WORLD)
{
    struct world *w = *state;
    struct image_hold *hold = NULL;
    struct image_hold *second = NULL;

    assert_int_equal(create(w, "a"), 0);
    assert_int_equal(w->ops->image_hold(w->pool, &w->call, "a", &hold, &w->err), 0);
    assert_fails(w, w->ops->image_hold(w->pool, &w->call, "a", &second, &w->err), STATUS_INTERNAL,
                 EROFS);
    assert_fails(w, discard(w, "a"), STATUS_FAILED_PRECONDITION, EBUSY);
    ceph_hold_release(hold);
    assert_int_equal(w->ops->image_hold(w->pool, &w->call, "a", &second, &w->err), 0);
    ceph_hold_release(second);
    assert_int_equal(discard(w, "a"), 0);
    assert_int_equal(fake_ceph_open_handles(w->fake), 3);
}

TEST(hold_needs_the_exclusive_lock_feature, WITH_WORLD)
{
    struct world *w = *state;
    const struct image_options without = {.features = LAYERING};
    struct image_hold *hold = NULL;

    assert_int_equal(create_with(w, "a", &without), 0);
    assert_fails(w, w->ops->image_hold(w->pool, &w->call, "a", &hold, &w->err),
                 STATUS_FAILED_PRECONDITION, EINVAL);
    assert_null(hold);
}

TEST(snapshots_are_made_through_a_hold, WITH_WORLD)
{
    struct world *w = *state;
    struct image_hold *hold = NULL;

    assert_int_equal(create(w, "a"), 0);
    assert_int_equal(w->ops->image_hold(w->pool, &w->call, "a", &hold, &w->err), 0);
    assert_int_equal(w->ops->hold_snapshot(hold, &w->call, "s", &w->err), 0);
    assert_fails(w, w->ops->hold_snapshot(hold, &w->call, "s", &w->err), STATUS_ALREADY_EXISTS,
                 EEXIST);
    ceph_hold_release(hold);
    assert_int_equal(unsnap(w, "a", "s"), 0);
}

TEST(hold_is_lost_in_a_crash, WITH_WORLD)
{
    struct world *w = *state;
    struct image_hold *hold = NULL;

    assert_int_equal(create(w, "a"), 0);
    assert_int_equal(w->ops->image_hold(w->pool, &w->call, "a", &hold, &w->err), 0);
    fake_ceph_fail_call(w->fake, 1, FAKE_CRASH_BEFORE);
    assert_fails(w, w->ops->hold_snapshot(hold, &w->call, "s", &w->err), STATUS_CANCELLED,
                 ECONNABORTED);
    fake_ceph_recover(w->fake);
    assert_int_equal(count_snapshots(w, "a"), 0);
    assert_fails(w, w->ops->hold_snapshot(hold, &w->call, "s", &w->err), STATUS_UNAVAILABLE,
                 ESHUTDOWN);
    assert_int_equal(discard(w, "a"), 0);
    ceph_hold_release(hold);
}
