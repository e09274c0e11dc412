#include "tests/unit/test_fake_ceph_fixture.h"

/* Connections, objects and images. What is claimed about images was seen on Ceph 16.2, unless a
 * comment says otherwise. */

/* Fails when struct ceph_ops has grown and the fake has not. */
TEST(every_operation_has_a_fake, WITH_WORLD)
{
    struct world *w = *state;
    void (*functions[sizeof(struct ceph_ops) / sizeof(void (*)(void))])(void);

    memcpy(functions, w->ops, sizeof(functions));
    for (size_t i = 0; i < ARRAY_LENGTH(functions); i++)
        assert_true(functions[i] != NULL);
}

/* --- connections, pools, commands ----------------------------------------------------------- */

TEST(refused_connection_has_the_status_of_the_test, WITH_WORLD)
{
    struct world *w = *state;
    struct ceph *ceph = fake_ceph_as_ceph(w->fake);
    struct ceph_cluster *cluster = NULL;

    fake_ceph_refuse_connect(w->fake, STATUS_UNAUTHENTICATED);
    assert_fails(w, connect_as(w, ceph, &cluster), STATUS_UNAUTHENTICATED, EACCES);
    fake_ceph_refuse_connect(w->fake, STATUS_DEADLINE_EXCEEDED);
    assert_fails(w, connect_as(w, ceph, &cluster), STATUS_DEADLINE_EXCEEDED, ETIMEDOUT);
    assert_null(cluster);
    fake_ceph_refuse_connect(w->fake, STATUS_OK);
    assert_int_equal(connect_as(w, ceph, &cluster), 0);
    assert_string_equal(cluster->cluster_id, "c1");
    assert_int_equal(fake_ceph_open_handles(w->fake), 4);
    ceph_disconnect(cluster);
    assert_int_equal(fake_ceph_open_handles(w->fake), 3);
}

TEST(pool_is_found_by_name_and_by_id, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    assert_int_equal(w->pool->id, 3);
    assert_int_equal(w->ops->pool_open_by_id(w->cluster, &w->call, 4, NULL, &pool, &w->err), 0);
    assert_string_equal(pool->name, "data");
    assert_string_equal(pool->rados_namespace, "");
    assert_fails(w, w->ops->pool_open(w->cluster, &w->call, "no", "", &pool, &w->err),
                 STATUS_NOT_FOUND, ENOENT);
    assert_fails(w, w->ops->pool_open_by_id(w->cluster, &w->call, 9, "", &pool, &w->err),
                 STATUS_NOT_FOUND, ENOENT);
}

TEST(all_pools_are_listed, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_string_list_ struct string_list names = {0};

    assert_int_equal(w->ops->pool_list(w->cluster, &w->call, &names, &w->err), 0);
    assert_int_equal(names.count, 2);
    assert_true(string_list_has(&names, "rbd"));
    assert_true(string_list_has(&names, "data"));
}

TEST(cluster_has_a_constant_fsid, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_free_ char *fsid = NULL;

    assert_int_equal(w->ops->fsid(w->cluster, &w->call, &fsid, &w->err), 0);
    assert_string_equal(fsid, FAKE_CEPH_FSID);
}

TEST(command_without_handler_is_refused, WITH_WORLD)
{
    struct world *w = *state;
    char *reply = NULL;

    assert_int_equal(w->ops->mgr_command(w->cluster, &w->call, "{}", &reply, &w->err), -1);
    assert_non_null(strstr(w->err.message, "No handler found"));
    assert_fails(w, -1, STATUS_INVALID_ARGUMENT, EINVAL);
    assert_fails(w, w->ops->mon_command(w->cluster, &w->call, "{}", &reply, &w->err),
                 STATUS_INVALID_ARGUMENT, EINVAL);
    assert_null(reply);
}

static int echo_or_refuse(void *object, const char *command, struct text *reply)
{
    text_addf(reply, "%s %s", (const char *)object, command);
    return strcmp(command, "refuse") == 0 ? -EPERM : 0;
}

TEST(command_is_answered_by_the_test, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_free_ char *reply = NULL;
    char name[] = "mon";

    fake_ceph_answer_mon(w->fake, echo_or_refuse, name);
    assert_int_equal(w->ops->mon_command(w->cluster, &w->call, "df", &reply, &w->err), 0);
    assert_string_equal(reply, "mon df");
    char *refused = NULL;
    assert_int_equal(w->ops->mon_command(w->cluster, &w->call, "refuse", &refused, &w->err), -1);
    assert_non_null(strstr(w->err.message, "mon refuse"));
    assert_fails(w, -1, STATUS_PERMISSION_DENIED, EPERM);
}

/* Removes the image whose id is the command, as the manager's task would. */
static int purge_as_manager(void *object, const char *command, struct text *reply)
{
    struct world *w = object;
    struct ceph *ceph = fake_ceph_as_other(w->fake);
    _cleanup_ceph_cluster_ struct ceph_cluster *cluster = NULL;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    (void)reply;
    assert_int_equal(connect_as(w, ceph, &cluster), 0);
    assert_int_equal(ceph->ops->pool_open(cluster, &w->call, "rbd", "", &pool, &w->err), 0);
    return ceph->ops->trash_remove(pool, &w->call, command, NULL, NULL, &w->err);
}

TEST(command_can_change_the_cluster_without_being_counted, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_free_ char *reply = NULL;

    assert_int_equal(create(w, "a"), 0);
    _cleanup_free_ char *id = id_of(w, "a");
    assert_int_equal(discard(w, "a"), 0);
    fake_ceph_answer_mgr(w->fake, purge_as_manager, w);
    fake_ceph_reset_calls(w->fake);
    assert_int_equal(w->ops->mgr_command(w->cluster, &w->call, id, &reply, &w->err), 0);
    assert_int_equal(fake_ceph_calls(w->fake), 1);
    assert_int_equal(count_trash(w, w->pool), 0);
}

/* --- objects -------------------------------------------------------------------------------- */

TEST(key_is_added_only_once, WITH_WORLD)
{
    struct world *w = *state;

    assert_key(w, "dir", "k", NULL);
    assert_int_equal(add_key(w, "dir", "k", "1"), 0);
    assert_fails(w, add_key(w, "dir", "k", "2"), STATUS_ALREADY_EXISTS, EEXIST);
    assert_key(w, "dir", "k", "1");
    assert_key(w, "dir", "other", NULL);
}

TEST(keys_are_set_only_on_an_existing_object, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_strmap_ struct strmap entries = {0};

    strmap_set(&entries, "k", "2");
    assert_fails(w, w->ops->omap_set(w->pool, &w->call, "o", &entries, &w->err), STATUS_NOT_FOUND,
                 ENOENT);
    assert_int_equal(add_key(w, "o", "k", "1"), 0);
    assert_int_equal(w->ops->omap_set(w->pool, &w->call, "o", &entries, &w->err), 0);
    assert_key(w, "o", "k", "2");
}

TEST(key_is_removed_only_while_it_has_the_expected_value, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_strmap_ struct strmap added = {0};
    bool removed = true;

    strmap_set(&added, "queue", "x");
    assert_int_equal(
        w->ops->omap_remove_if(w->pool, &w->call, "o", "k", "1", &added, &removed, &w->err), 0);
    assert_false(removed);
    assert_int_equal(add_key(w, "o", "k", "2"), 0);
    removed = true;
    assert_int_equal(
        w->ops->omap_remove_if(w->pool, &w->call, "o", "k", "1", &added, &removed, &w->err), 0);
    assert_false(removed);
    assert_key(w, "o", "queue", NULL);
    assert_int_equal(
        w->ops->omap_remove_if(w->pool, &w->call, "o", "k", "2", &added, &removed, &w->err), 0);
    assert_true(removed);
    assert_key(w, "o", "k", NULL);
    assert_key(w, "o", "queue", "x");
}

TEST(object_is_created_only_once, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_strmap_ struct strmap entries = {0};

    strmap_set(&entries, "k", "1");
    assert_int_equal(w->ops->object_create(w->pool, &w->call, "o", &entries, &w->err), 0);
    assert_fails(w, w->ops->object_create(w->pool, &w->call, "o", &entries, &w->err),
                 STATUS_ALREADY_EXISTS, EEXIST);
    assert_key(w, "o", "k", "1");
    assert_int_equal(w->ops->object_remove(w->pool, &w->call, "o", &w->err), 0);
    assert_key(w, "o", "k", NULL);
    assert_int_equal(w->ops->object_remove(w->pool, &w->call, "o", &w->err), 0);
}

TEST(long_omap_is_listed_in_parts, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_strmap_ struct strmap part = {0};
    bool more = false;

    assert_fails(w, w->ops->omap_list(w->pool, &w->call, "o", "", "", &part, &more, &w->err),
                 STATUS_NOT_FOUND, ENOENT);
    for (int i = 0; i < 600; i++) {
        _cleanup_free_ char *key = xasprintf("k%03d", i);

        strmap_set(&entries, key, "v");
    }
    strmap_set(&entries, "j", "other prefix");
    assert_int_equal(w->ops->object_create(w->pool, &w->call, "o", &entries, &w->err), 0);
    assert_int_equal(w->ops->omap_list(w->pool, &w->call, "o", "", "k", &part, &more, &w->err), 0);
    assert_int_equal(part.count, 512);
    assert_true(more);
    assert_false(strmap_has(&part, "j"));
    strmap_done(&part);
    assert_int_equal(w->ops->omap_list(w->pool, &w->call, "o", "k511", "k", &part, &more, &w->err),
                     0);
    assert_int_equal(part.count, 88);
    assert_false(more);
}

TEST(namespaces_separate_objects_images_and_trash, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_free_ char *id = NULL;
    char *value = NULL;

    assert_int_equal(add_key(w, "o", "k", "1"), 0);
    assert_int_equal(w->ops->omap_get(w->space, &w->call, "o", "k", &value, &w->err), 0);
    assert_null(value);
    assert_int_equal(create(w, "a"), 0);
    assert_fails(w, w->ops->image_get_id(w->space, &w->call, "a", &id, &w->err), STATUS_NOT_FOUND,
                 ENOENT);
    assert_int_equal(w->ops->image_create(w->space, &w->call, "a", GIB, &default_options, &w->err),
                     0);
    assert_int_equal(discard(w, "a"), 0);
    assert_int_equal(w->ops->image_get_id(w->space, &w->call, "a", &id, &w->err), 0);
    assert_int_equal(count_trash(w, w->pool), 1);
    assert_int_equal(count_trash(w, w->space), 0);
    assert_fails(w, purge(w, id), STATUS_NOT_FOUND, ENOENT);
}

/* --- images --------------------------------------------------------------------------------- */

TEST(image_is_created_only_once, WITH_WORLD)
{
    struct world *w = *state;

    assert_false(exists(w, "a"));
    assert_int_equal(create(w, "a"), 0);
    assert_fails(w, create(w, "a"), STATUS_ALREADY_EXISTS, EEXIST);
    assert_true(exists(w, "a"));
}

TEST(image_in_a_namespace_that_nobody_made_is_not_found, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    assert_int_equal(w->ops->pool_open(w->cluster, &w->call, "rbd", "new", &pool, &w->err), 0);
    assert_fails(w, w->ops->image_create(pool, &w->call, "a", GIB, &default_options, &w->err),
                 STATUS_NOT_FOUND, ENOENT);
    fake_ceph_add_namespace(w->fake, "rbd", "new");
    assert_int_equal(w->ops->image_create(pool, &w->call, "a", GIB, &default_options, &w->err), 0);
}

TEST(bad_image_options_are_refused, WITH_WORLD)
{
    struct world *w = *state;
    const struct {
        struct image_options options;
        enum status status;
        int sys_errno;
    } cases[] = {
        {{.features = OBJECT_MAP}, STATUS_INVALID_ARGUMENT, EINVAL},
        {{.features = LAYERING, .stripe_unit = 65536}, STATUS_INVALID_ARGUMENT, EINVAL},
        {{.features = LAYERING, .object_order = 30}, STATUS_INTERNAL, EDOM},
        {{.features = LAYERING, .data_pool = "no"}, STATUS_NOT_FOUND, ENOENT},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_fails(w, create_with(w, "a", &cases[i].options), cases[i].status,
                     cases[i].sys_errno);
    assert_false(exists(w, "a"));
}

TEST(facts_tell_id_size_and_features, WITH_WORLD)
{
    struct world *w = *state;
    const struct image_options options = {.features = LAYERING, .data_pool = "data"};

    assert_int_equal(create_with(w, "a", &options), 0);
    _cleanup_free_ char *id = id_of(w, "a");
    _cleanup_image_facts_ struct image_facts facts = facts_of(w, "a");
    assert_string_equal(facts.id, id);
    assert_int_equal(facts.size_bytes, GIB);
    assert_int_equal(facts.features, LAYERING | DATA_POOL);
    assert_true(facts.created.tv_sec > 0);
    assert_false(facts.has_parent);
}

TEST(size_is_read_by_id_also_in_the_trash, WITH_WORLD)
{
    struct world *w = *state;
    uint64_t size = 0;

    assert_int_equal(create(w, "a"), 0);
    _cleanup_free_ char *id = id_of(w, "a");
    assert_int_equal(w->ops->image_resize(w->pool, &w->call, "a", 2 * GIB, &w->err), 0);
    assert_int_equal(discard(w, "a"), 0);
    assert_int_equal(w->ops->image_get_size(w->pool, &w->call, id, &size, &w->err), 0);
    assert_int_equal(size, 2 * GIB);
    assert_fails(w, w->ops->image_get_size(w->pool, &w->call, "a", &size, &w->err),
                 STATUS_NOT_FOUND, ENOENT);
}

TEST(metadata_is_set_and_then_removed, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_strmap_ struct strmap found = {0};
    _cleanup_string_list_ struct string_list removed = {0};

    strmap_set(&entries, "a", "1");
    strmap_set(&entries, "b", "2");
    string_list_add(&removed, "a");
    string_list_add(&removed, "absent");
    assert_int_equal(create(w, "i"), 0);
    assert_int_equal(
        w->ops->image_metadata_change(w->pool, &w->call, "i", &entries, &removed, &w->err), 0);
    assert_int_equal(w->ops->image_metadata_get(w->pool, &w->call, "i", &found, &w->err), 0);
    assert_int_equal(found.count, 1);
    assert_string_equal(strmap_get(&found, "b"), "2");
}

/* The rule of struct ceph_ops. librbd 16.2 alone moves a watched image to the trash, unless
 * somebody holds its lock and does not give it up. */
TEST(watched_image_cannot_be_discarded, WITH_WORLD)
{
    struct world *w = *state;
    _cleanup_string_list_ struct string_list watchers = {0};

    assert_int_equal(create(w, "a"), 0);
    fake_ceph_set_watcher(w->fake, "rbd", "a", "192.0.2.7:0/77");
    assert_int_equal(w->ops->image_watchers(w->pool, &w->call, "a", &watchers, &w->err), 0);
    assert_int_equal(watchers.count, 1);
    assert_string_equal(watchers.items[0], "192.0.2.7:0/77");
    assert_fails(w, discard(w, "a"), STATUS_FAILED_PRECONDITION, EBUSY);
    assert_true(exists(w, "a"));
    fake_ceph_set_watcher(w->fake, "rbd", "a", NULL);
    assert_int_equal(discard(w, "a"), 0);
    assert_int_equal(w->ops->image_create(w->space, &w->call, "a", GIB, &default_options, &w->err),
                     0);
    fake_ceph_set_watcher(w->fake, "rbd/ns", "a", "192.0.2.7:0/78");
    assert_fails(w, w->ops->trash_move(w->space, &w->call, "a", &w->err),
                 STATUS_FAILED_PRECONDITION, EBUSY);
}
