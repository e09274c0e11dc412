#include "common/encoding/uuid.h"
#include "tests/unit/fixtures/ceph_client.h"

/* Snapshots, clones, trash and the exclusive lock, all as seen on Ceph 16.2. */

/* --- snapshots, clones, trash --- */

TEST(snapshot_is_created_and_removed_once, WITH_CLIENT)
{
    struct client *c = *state;

    assert_int_equal(client_create(c, "a"), 0);
    assert_int_equal(client_snap(c, "a", "s"), 0);
    client_assert_fails(c, client_snap(c, "a", "s"), STATUS_ALREADY_EXISTS, EEXIST);
    assert_int_equal(client_unsnap(c, "a", "s"), 0);
    client_assert_fails(c, client_unsnap(c, "a", "s"), STATUS_NOT_FOUND, ENOENT);
    client_assert_fails(c, client_snap(c, "b", "s"), STATUS_NOT_FOUND, ENOENT);
}

TEST(snapshots_of_every_kind_are_seen_by_image_id, WITH_CLIENT)
{
    struct client *c = *state;
    bool has = true;

    client_make_orphan(c);
    _cleanup_free_ char *parent = client_image_id(c, "a");
    _cleanup_free_ char *child = client_image_id(c, "b");
    assert_int_equal(client_discard(c, "a"), 0);
    assert_int_equal(c->ops->image_has_snapshots(c->pool, &c->call, child, &has, &c->err), 0);
    assert_false(has);
    assert_int_equal(c->ops->image_has_snapshots(c->pool, &c->call, parent, &has, &c->err), 0);
    assert_true(has);
    client_assert_fails(c, c->ops->image_has_snapshots(c->pool, &c->call, "a", &has, &c->err),
                        STATUS_NOT_FOUND, ENOENT);
}

TEST(only_user_snapshots_are_found_by_name, WITH_CLIENT)
{
    struct client *c = *state;

    assert_int_equal(client_create(c, "a"), 0);
    fake_ceph_add_snapshot(c->fake, "rbd", "a", "g", SNAPSHOT_GROUP);
    client_assert_fails(c, client_unsnap(c, "a", "g"), STATUS_NOT_FOUND, ENOENT);
    client_assert_fails(c, client_clone(c, "a", "g", "b"), STATUS_NOT_FOUND, ENOENT);
    assert_int_equal(client_snap(c, "a", "g"), 0);
    assert_int_equal(client_count_snapshots(c, "a"), 2);
}

TEST(clone_takes_after_its_parent, WITH_CLIENT)
{
    struct client *c = *state;
    const struct image_options options = {.features = LAYERING | EXCLUSIVE_LOCK,
                                          .data_pool = "data"};
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_strmap_ struct strmap copied = {0};

    strmap_set(&entries, "k", "v");
    assert_int_equal(client_create_with(c, "a", &options), 0);
    assert_int_equal(c->ops->image_metadata_change(c->pool, &c->call, "a", &entries, NULL, &c->err),
                     0);
    assert_int_equal(client_snap(c, "a", "s"), 0);
    assert_int_equal(c->ops->image_resize(c->pool, &c->call, "a", 2 * GIB, &c->err), 0);
    assert_int_equal(client_clone(c, "a", "s", "b"), 0);
    _cleanup_image_facts_ struct image_facts facts = client_image_facts(c, "b");
    assert_int_equal(facts.size_bytes, GIB);
    assert_int_equal(facts.features, LAYERING | EXCLUSIVE_LOCK | OPERATIONS);
    assert_int_equal(c->ops->image_metadata_get(c->pool, &c->call, "b", &copied, &c->err), 0);
    assert_true(strmap_is_equal(&copied, &entries));
}

TEST(clone_names_its_parent, WITH_CLIENT)
{
    struct client *c = *state;

    assert_int_equal(client_create(c, "a"), 0);
    assert_int_equal(client_snap(c, "a", "s"), 0);
    assert_int_equal(
        c->ops->image_clone(c->pool, &c->call, "a", "s", c->space, "b", &DEFAULT_OPTIONS, &c->err),
        0);
    _cleanup_image_facts_ struct image_facts facts = {0};
    assert_int_equal(c->ops->image_get_facts(c->space, &c->call, "b", &facts, &c->err), 0);
    assert_true(facts.has_parent);
    assert_int_equal(facts.parent.pool_id, 3);
    assert_string_equal(facts.parent.rados_namespace, "");
    assert_string_equal(facts.parent.image_name, "a");
    assert_false(facts.parent.in_trash);
}

TEST(clone_needs_snapshot_name_and_layering, WITH_CLIENT)
{
    struct client *c = *state;
    const struct image_options without = {.features = EXCLUSIVE_LOCK};

    assert_int_equal(client_create(c, "a"), 0);
    client_assert_fails(c, client_clone(c, "a", "s", "b"), STATUS_NOT_FOUND, ENOENT);
    assert_int_equal(client_snap(c, "a", "s"), 0);
    client_assert_fails(c, client_clone(c, "a", "s", "a"), STATUS_ALREADY_EXISTS, EEXIST);
    client_assert_fails(c, client_clone(c, "none", "s", "b"), STATUS_NOT_FOUND, ENOENT);
    client_assert_fails(
        c, c->ops->image_clone(c->pool, &c->call, "a", "s", c->pool, "b", &without, &c->err),
        STATUS_INTERNAL, ENOSYS);
    assert_int_equal(client_create_with(c, "bare", &without), 0);
    assert_int_equal(client_snap(c, "bare", "s"), 0);
    client_assert_fails(c, client_clone(c, "bare", "s", "b"), STATUS_INTERNAL, ENOSYS);
    assert_false(client_has_image(c, "b"));
}

TEST(removed_snapshot_with_children_waits_in_the_snapshot_trash, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_(image_snapshots_done) struct image_snapshots list = {0};

    client_make_orphan(c);
    client_assert_fails(c, client_unsnap(c, "a", "s"), STATUS_NOT_FOUND, ENOENT);
    client_assert_fails(c, client_clone(c, "a", "s", "c"), STATUS_NOT_FOUND, ENOENT);
    assert_int_equal(client_snap(c, "a", "s"), 0);
    assert_int_equal(c->ops->snapshot_list(c->pool, &c->call, "a", &list, &c->err), 0);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].kind, SNAPSHOT_TRASH);
    assert_string_equal(list.items[0].original_name, "s");
    assert_true(uuid_text_is_valid(list.items[0].name));
    assert_int_equal(list.items[1].kind, SNAPSHOT_USER);
    assert_null(list.items[1].original_name);
}

TEST(trashed_snapshot_goes_with_its_last_child, WITH_CLIENT)
{
    struct client *c = *state;

    assert_int_equal(client_create(c, "a"), 0);
    assert_int_equal(client_snap(c, "a", "s"), 0);
    assert_int_equal(client_clone(c, "a", "s", "b"), 0);
    assert_int_equal(client_clone(c, "a", "s", "c"), 0);
    assert_int_equal(client_unsnap(c, "a", "s"), 0);
    assert_int_equal(client_flatten(c, "b"), 0);
    assert_int_equal(client_count_snapshots(c, "a"), 1);
    _cleanup_free_ char *id = client_image_id(c, "c");
    assert_int_equal(client_discard(c, "c"), 0);
    assert_int_equal(client_count_snapshots(c, "a"), 1);
    assert_int_equal(client_purge(c, id), 0);
    assert_int_equal(client_count_snapshots(c, "a"), 0);
    _cleanup_image_facts_ struct image_facts facts = client_image_facts(c, "a");
    assert_int_equal(facts.features & OPERATIONS, 0);
}

TEST(user_snapshot_stays_when_its_last_child_goes, WITH_CLIENT)
{
    struct client *c = *state;

    assert_int_equal(client_create(c, "a"), 0);
    assert_int_equal(client_snap(c, "a", "s"), 0);
    assert_int_equal(client_clone(c, "a", "s", "b"), 0);
    assert_int_equal(client_flatten(c, "b"), 0);
    assert_int_equal(client_count_snapshots(c, "a"), 1);
    _cleanup_image_facts_ struct image_facts facts = client_image_facts(c, "b");
    assert_false(facts.has_parent);
    assert_int_equal(client_flatten(c, "b"), 0);
}

TEST(trashed_parent_is_removed_only_after_its_child_is_flattened, WITH_CLIENT)
{
    struct client *c = *state;

    client_make_orphan(c);
    _cleanup_free_ char *id = client_image_id(c, "a");
    assert_int_equal(client_discard(c, "a"), 0);
    client_assert_fails(c, client_purge(c, id), STATUS_INTERNAL, ENOTEMPTY);
    _cleanup_image_facts_ struct image_facts facts = client_image_facts(c, "b");
    assert_true(facts.parent.in_trash);
    assert_string_equal(facts.parent.image_name, "a");
    assert_int_equal(client_flatten(c, "b"), 0);
    assert_int_equal(client_purge(c, id), 0);
    client_assert_fails(c, client_purge(c, id), STATUS_NOT_FOUND, ENOENT);
}

TEST(snapshots_of_a_clone_keep_the_parent_without_deep_flatten, WITH_CLIENT)
{
    struct client *c = *state;
    const struct image_options shallow = {.features = LAYERING};

    client_make_orphan(c); /* "b" has deep-flatten */
    assert_int_equal(client_snap(c, "a", "t"), 0);
    assert_int_equal(
        c->ops->image_clone(c->pool, &c->call, "a", "t", c->pool, "c", &shallow, &c->err), 0);
    assert_int_equal(client_unsnap(c, "a", "t"), 0);
    assert_int_equal(client_snap(c, "b", "own"), 0);
    assert_int_equal(client_snap(c, "c", "own"), 0);
    assert_int_equal(client_flatten(c, "b"), 0);
    assert_int_equal(client_count_snapshots(c, "a"), 1);
    assert_int_equal(client_flatten(c, "c"), 0);
    assert_int_equal(client_count_snapshots(c, "a"), 1);
    _cleanup_image_facts_ struct image_facts facts = client_image_facts(c, "c");
    assert_false(facts.has_parent);
    assert_int_equal(client_unsnap(c, "c", "own"), 0);
    assert_int_equal(client_count_snapshots(c, "a"), 0);
}

TEST(chain_of_clones_is_released_from_its_end, WITH_CLIENT)
{
    struct client *c = *state;

    client_make_orphan(c);
    assert_int_equal(client_snap(c, "b", "t"), 0);
    assert_int_equal(client_clone(c, "b", "t", "c"), 0);
    assert_int_equal(client_unsnap(c, "b", "t"), 0);
    _cleanup_free_ char *id = client_image_id(c, "b");
    assert_int_equal(client_discard(c, "b"), 0);
    client_assert_fails(c, client_purge(c, id), STATUS_INTERNAL, ENOTEMPTY);
    assert_int_equal(client_flatten(c, "c"), 0);
    assert_int_equal(client_count_snapshots(c, "a"), 1);
    assert_int_equal(client_purge(c, id), 0);
    assert_int_equal(client_count_snapshots(c, "a"), 0);
}

TEST(trash_holds_several_images_of_one_name, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_(trash_entries_done) struct trash_entries list = {0};

    for (int i = 0; i < 2; i++) {
        assert_int_equal(client_create(c, "a"), 0);
        assert_int_equal(client_discard(c, "a"), 0);
    }
    client_assert_fails(c, client_discard(c, "a"), STATUS_NOT_FOUND, ENOENT);
    assert_int_equal(c->ops->trash_list(c->pool, &c->call, &list, &c->err), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name, "a");
    assert_string_equal(list.items[1].name, "a");
    assert_string_not_equal(list.items[0].id, list.items[1].id);
}

TEST(only_trashed_images_without_snapshots_are_removed, WITH_CLIENT)
{
    struct client *c = *state;

    assert_int_equal(client_create(c, "a"), 0);
    assert_int_equal(client_snap(c, "a", "s"), 0);
    _cleanup_free_ char *id = client_image_id(c, "a");
    client_assert_fails(c, client_purge(c, id), STATUS_NOT_FOUND, ENOENT);
    assert_int_equal(client_discard(c, "a"), 0);
    client_assert_fails(c, client_purge(c, id), STATUS_INTERNAL, ENOTEMPTY);
    assert_int_equal(client_count_trash(c, c->pool), 1);
}

struct stopper {
    int reports;
    int stop_at; /* 0: never */
};

static int count_reports(void *object, int percent)
{
    struct stopper *stopper = object;

    assert_between(percent, 0, 100);
    return ++stopper->reports == stopper->stop_at;
}

TEST(stopped_operation_has_no_effect, WITH_CLIENT)
{
    struct client *c = *state;
    struct stopper stopper = {.stop_at = 2};

    client_make_orphan(c);
    client_assert_fails(
        c, c->ops->image_flatten(c->pool, &c->call, "b", count_reports, &stopper, &c->err),
        STATUS_CANCELLED, ECANCELED);
    assert_int_equal(stopper.reports, 2);
    assert_int_equal(client_count_snapshots(c, "a"), 1);
    _cleanup_free_ char *id = client_image_id(c, "b");
    assert_int_equal(client_discard(c, "b"), 0);
    stopper = (struct stopper){.stop_at = 1};
    client_assert_fails(
        c, c->ops->trash_remove(c->pool, &c->call, id, count_reports, &stopper, &c->err),
        STATUS_CANCELLED, ECANCELED);
    assert_int_equal(client_count_trash(c, c->pool), 1);
    stopper = (struct stopper){0};
    assert_int_equal(c->ops->trash_remove(c->pool, &c->call, id, count_reports, &stopper, &c->err),
                     0);
    assert_true(stopper.reports > 1);
}

/* --- the exclusive lock --- */

TEST(image_is_held_by_one_at_a_time, WITH_CLIENT)
{
    struct client *c = *state;
    struct image_hold *hold = NULL;
    struct image_hold *second = NULL;

    assert_int_equal(client_create(c, "a"), 0);
    assert_int_equal(c->ops->image_hold(c->pool, &c->call, "a", &hold, &c->err), 0);
    client_assert_fails(c, c->ops->image_hold(c->pool, &c->call, "a", &second, &c->err),
                        STATUS_INTERNAL, EROFS);
    client_assert_fails(c, client_discard(c, "a"), STATUS_FAILED_PRECONDITION, EBUSY);
    ceph_hold_release(hold);
    assert_int_equal(c->ops->image_hold(c->pool, &c->call, "a", &second, &c->err), 0);
    ceph_hold_release(second);
    assert_int_equal(client_discard(c, "a"), 0);
    assert_int_equal(fake_ceph_open_handles(c->fake), 3);
}

TEST(hold_needs_the_exclusive_lock_feature, WITH_CLIENT)
{
    struct client *c = *state;
    const struct image_options without = {.features = LAYERING};
    struct image_hold *hold = NULL;

    assert_int_equal(client_create_with(c, "a", &without), 0);
    client_assert_fails(c, c->ops->image_hold(c->pool, &c->call, "a", &hold, &c->err),
                        STATUS_FAILED_PRECONDITION, EINVAL);
    assert_null(hold);
}

TEST(snapshots_are_made_through_a_hold, WITH_CLIENT)
{
    struct client *c = *state;
    struct image_hold *hold = NULL;

    assert_int_equal(client_create(c, "a"), 0);
    assert_int_equal(c->ops->image_hold(c->pool, &c->call, "a", &hold, &c->err), 0);
    assert_int_equal(c->ops->hold_snapshot(hold, &c->call, "s", &c->err), 0);
    client_assert_fails(c, c->ops->hold_snapshot(hold, &c->call, "s", &c->err),
                        STATUS_ALREADY_EXISTS, EEXIST);
    ceph_hold_release(hold);
    assert_int_equal(client_unsnap(c, "a", "s"), 0);
}

TEST(hold_is_lost_in_a_crash, WITH_CLIENT)
{
    struct client *c = *state;
    struct image_hold *hold = NULL;

    assert_int_equal(client_create(c, "a"), 0);
    assert_int_equal(c->ops->image_hold(c->pool, &c->call, "a", &hold, &c->err), 0);
    fake_ceph_fail_call(c->fake, 1, FAKE_CRASH_BEFORE);
    client_assert_fails(c, c->ops->hold_snapshot(hold, &c->call, "s", &c->err), STATUS_CANCELLED,
                        ECONNABORTED);
    fake_ceph_recover(c->fake);
    assert_int_equal(client_count_snapshots(c, "a"), 0);
    client_assert_fails(c, c->ops->hold_snapshot(hold, &c->call, "s", &c->err), STATUS_UNAVAILABLE,
                        ESHUTDOWN);
    assert_int_equal(client_discard(c, "a"), 0);
    ceph_hold_release(hold);
}
