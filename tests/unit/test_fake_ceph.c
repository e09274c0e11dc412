#include "tests/unit/fixtures/ceph_client.h"

/* Connections, objects and images. What is claimed about images was seen on Ceph 16.2, unless a
 * comment says otherwise. */

/* Fails when struct ceph_ops has grown and the fake has not. */
TEST(every_operation_has_a_fake, WITH_CLIENT)
{
    struct client *c = *state;
    void (*functions[sizeof(struct ceph_ops) / sizeof(void (*)(void))])(void);

    memcpy(functions, c->ops, sizeof(functions));
    for (size_t i = 0; i < ARRAY_LENGTH(functions); i++)
        assert_true(functions[i] != NULL);
}

/* --- connections, pools, commands --- */

TEST(refused_connection_has_the_status_of_the_test, WITH_CLIENT)
{
    struct client *c = *state;
    struct ceph *ceph = fake_ceph_as_ceph(c->fake);
    struct ceph_cluster *cluster = NULL;

    fake_ceph_refuse_connect(c->fake, STATUS_UNAUTHENTICATED);
    client_assert_fails(c, client_connect_as(c, ceph, &cluster), STATUS_UNAUTHENTICATED, EACCES);
    fake_ceph_refuse_connect(c->fake, STATUS_DEADLINE_EXCEEDED);
    client_assert_fails(c, client_connect_as(c, ceph, &cluster), STATUS_DEADLINE_EXCEEDED,
                        ETIMEDOUT);
    assert_null(cluster);
    fake_ceph_refuse_connect(c->fake, STATUS_OK);
    assert_int_equal(client_connect_as(c, ceph, &cluster), 0);
    assert_string_equal(cluster->cluster_id, "c1");
    assert_int_equal(fake_ceph_open_handles(c->fake), 4);
    ceph_disconnect(cluster);
    assert_int_equal(fake_ceph_open_handles(c->fake), 3);
}

TEST(pool_is_found_by_name_and_by_id, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    assert_int_equal(c->pool->id, 3);
    assert_int_equal(c->ops->pool_open_by_id(c->cluster, &c->call, 4, NULL, &pool, &c->err), 0);
    assert_string_equal(pool->name, "data");
    assert_string_equal(pool->rados_namespace, "");
    client_assert_fails(c, c->ops->pool_open(c->cluster, &c->call, "no", "", &pool, &c->err),
                        STATUS_NOT_FOUND, ENOENT);
    client_assert_fails(c, c->ops->pool_open_by_id(c->cluster, &c->call, 9, "", &pool, &c->err),
                        STATUS_NOT_FOUND, ENOENT);
}

TEST(all_pools_are_listed, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_string_list_ struct string_list names = {0};

    assert_int_equal(c->ops->pool_list(c->cluster, &c->call, &names, &c->err), 0);
    assert_int_equal(names.count, 2);
    assert_true(string_list_has(&names, "rbd"));
    assert_true(string_list_has(&names, "data"));
}

TEST(cluster_has_a_constant_fsid, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_free_ char *fsid = NULL;

    assert_int_equal(c->ops->fsid(c->cluster, &c->call, &fsid, &c->err), 0);
    assert_string_equal(fsid, FAKE_CEPH_FSID);
}

TEST(command_without_handler_is_refused, WITH_CLIENT)
{
    struct client *c = *state;
    char *reply = NULL;

    assert_int_equal(c->ops->mgr_command(c->cluster, &c->call, "{}", &reply, &c->err), -1);
    assert_non_null(strstr(c->err.message, "No handler found"));
    client_assert_fails(c, -1, STATUS_INVALID_ARGUMENT, EINVAL);
    client_assert_fails(c, c->ops->mon_command(c->cluster, &c->call, "{}", &reply, &c->err),
                        STATUS_INVALID_ARGUMENT, EINVAL);
    assert_null(reply);
}

static int echo_or_refuse(void *object, const char *command, struct text *reply)
{
    text_addf(reply, "%s %s", (const char *)object, command);
    return strcmp(command, "refuse") == 0 ? -EPERM : 0;
}

TEST(command_is_answered_by_the_test, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_free_ char *reply = NULL;
    char name[] = "mon";

    fake_ceph_answer_mon(c->fake, echo_or_refuse, name);
    assert_int_equal(c->ops->mon_command(c->cluster, &c->call, "df", &reply, &c->err), 0);
    assert_string_equal(reply, "mon df");
    char *refused = NULL;
    assert_int_equal(c->ops->mon_command(c->cluster, &c->call, "refuse", &refused, &c->err), -1);
    assert_non_null(strstr(c->err.message, "mon refuse"));
    client_assert_fails(c, -1, STATUS_PERMISSION_DENIED, EPERM);
}

/* Removes the image whose id is the command, as the manager's task would. */
static int purge_as_manager(void *object, const char *command, struct text *reply)
{
    struct client *c = object;
    struct ceph *ceph = fake_ceph_as_other(c->fake);
    _cleanup_ceph_cluster_ struct ceph_cluster *cluster = NULL;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    (void)reply;
    assert_int_equal(client_connect_as(c, ceph, &cluster), 0);
    assert_int_equal(ceph->ops->pool_open(cluster, &c->call, "rbd", "", &pool, &c->err), 0);
    return ceph->ops->trash_remove(pool, &c->call, command, NULL, NULL, &c->err);
}

TEST(command_can_change_the_cluster_without_being_counted, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_free_ char *reply = NULL;

    assert_int_equal(client_create(c, "a"), 0);
    _cleanup_free_ char *id = client_image_id(c, "a");
    assert_int_equal(client_discard(c, "a"), 0);
    fake_ceph_answer_mgr(c->fake, purge_as_manager, c);
    fake_ceph_reset_calls(c->fake);
    assert_int_equal(c->ops->mgr_command(c->cluster, &c->call, id, &reply, &c->err), 0);
    assert_int_equal(fake_ceph_calls(c->fake), 1);
    assert_int_equal(client_count_trash(c, c->pool), 0);
}

/* --- objects --- */

TEST(key_is_added_only_once, WITH_CLIENT)
{
    struct client *c = *state;

    client_assert_key(c, "dir", "k", NULL);
    assert_int_equal(client_add_key(c, "dir", "k", "1"), 0);
    client_assert_fails(c, client_add_key(c, "dir", "k", "2"), STATUS_ALREADY_EXISTS, EEXIST);
    client_assert_key(c, "dir", "k", "1");
    client_assert_key(c, "dir", "other", NULL);
}

TEST(keys_are_set_only_on_an_existing_object, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_strmap_ struct strmap entries = {0};

    strmap_set(&entries, "k", "2");
    client_assert_fails(c, c->ops->omap_set(c->pool, &c->call, "o", &entries, &c->err),
                        STATUS_NOT_FOUND, ENOENT);
    assert_int_equal(client_add_key(c, "o", "k", "1"), 0);
    assert_int_equal(c->ops->omap_set(c->pool, &c->call, "o", &entries, &c->err), 0);
    client_assert_key(c, "o", "k", "2");
}

TEST(key_is_removed_only_while_it_has_the_expected_value, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_strmap_ struct strmap added = {0};
    bool removed = true;

    strmap_set(&added, "queue", "x");
    assert_int_equal(
        c->ops->omap_remove_if(c->pool, &c->call, "o", "k", "1", &added, &removed, &c->err), 0);
    assert_false(removed);
    assert_int_equal(client_add_key(c, "o", "k", "2"), 0);
    removed = true;
    assert_int_equal(
        c->ops->omap_remove_if(c->pool, &c->call, "o", "k", "1", &added, &removed, &c->err), 0);
    assert_false(removed);
    client_assert_key(c, "o", "queue", NULL);
    assert_int_equal(
        c->ops->omap_remove_if(c->pool, &c->call, "o", "k", "2", &added, &removed, &c->err), 0);
    assert_true(removed);
    client_assert_key(c, "o", "k", NULL);
    client_assert_key(c, "o", "queue", "x");
}

TEST(object_is_created_only_once, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_strmap_ struct strmap entries = {0};

    strmap_set(&entries, "k", "1");
    assert_int_equal(c->ops->object_create(c->pool, &c->call, "o", &entries, &c->err), 0);
    client_assert_fails(c, c->ops->object_create(c->pool, &c->call, "o", &entries, &c->err),
                        STATUS_ALREADY_EXISTS, EEXIST);
    client_assert_key(c, "o", "k", "1");
    assert_int_equal(c->ops->object_remove(c->pool, &c->call, "o", &c->err), 0);
    client_assert_key(c, "o", "k", NULL);
    assert_int_equal(c->ops->object_remove(c->pool, &c->call, "o", &c->err), 0);
}

TEST(long_omap_is_listed_in_parts, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_strmap_ struct strmap part = {0};
    bool more = false;

    client_assert_fails(c, c->ops->omap_list(c->pool, &c->call, "o", "", "", &part, &more, &c->err),
                        STATUS_NOT_FOUND, ENOENT);
    for (int i = 0; i < 600; i++) {
        _cleanup_free_ char *key = xasprintf("k%03d", i);

        strmap_set(&entries, key, "v");
    }
    strmap_set(&entries, "j", "other prefix");
    assert_int_equal(c->ops->object_create(c->pool, &c->call, "o", &entries, &c->err), 0);
    assert_int_equal(c->ops->omap_list(c->pool, &c->call, "o", "", "k", &part, &more, &c->err), 0);
    assert_int_equal(part.count, 512);
    assert_true(more);
    assert_false(strmap_has(&part, "j"));
    strmap_done(&part);
    assert_int_equal(c->ops->omap_list(c->pool, &c->call, "o", "k511", "k", &part, &more, &c->err),
                     0);
    assert_int_equal(part.count, 88);
    assert_false(more);
}

TEST(namespaces_separate_objects_images_and_trash, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_free_ char *id = NULL;
    char *value = NULL;

    assert_int_equal(client_add_key(c, "o", "k", "1"), 0);
    assert_int_equal(c->ops->omap_get(c->space, &c->call, "o", "k", &value, &c->err), 0);
    assert_null(value);
    assert_int_equal(client_create(c, "a"), 0);
    client_assert_fails(c, c->ops->image_get_id(c->space, &c->call, "a", &id, &c->err),
                        STATUS_NOT_FOUND, ENOENT);
    assert_int_equal(c->ops->image_create(c->space, &c->call, "a", GIB, &DEFAULT_OPTIONS, &c->err),
                     0);
    assert_int_equal(client_discard(c, "a"), 0);
    assert_int_equal(c->ops->image_get_id(c->space, &c->call, "a", &id, &c->err), 0);
    assert_int_equal(client_count_trash(c, c->pool), 1);
    assert_int_equal(client_count_trash(c, c->space), 0);
    client_assert_fails(c, client_purge(c, id), STATUS_NOT_FOUND, ENOENT);
}

/* --- images --- */

TEST(image_is_created_only_once, WITH_CLIENT)
{
    struct client *c = *state;

    assert_false(client_has_image(c, "a"));
    assert_int_equal(client_create(c, "a"), 0);
    client_assert_fails(c, client_create(c, "a"), STATUS_ALREADY_EXISTS, EEXIST);
    assert_true(client_has_image(c, "a"));
}

TEST(image_in_a_namespace_that_nobody_made_is_refused, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    assert_int_equal(c->ops->pool_open(c->cluster, &c->call, "rbd", "new", &pool, &c->err), 0);
    client_assert_fails(c,
                        c->ops->image_create(pool, &c->call, "a", GIB, &DEFAULT_OPTIONS, &c->err),
                        STATUS_FAILED_PRECONDITION, 0);
    fake_ceph_add_namespace(c->fake, "rbd", "new");
    assert_int_equal(c->ops->image_create(pool, &c->call, "a", GIB, &DEFAULT_OPTIONS, &c->err), 0);
}

TEST(bad_image_options_are_refused, WITH_CLIENT)
{
    struct client *c = *state;
    const struct {
        struct image_options options;
        enum status status;
        int sys_errno;
    } cases[] = {
        {{.features = OBJECT_MAP}, STATUS_INVALID_ARGUMENT, EINVAL},
        {{.features = LAYERING, .stripe_unit = 65536}, STATUS_INVALID_ARGUMENT, EINVAL},
        {{.features = LAYERING, .object_order = 30}, STATUS_INTERNAL, EDOM},
        {{.features = LAYERING, .data_pool = "no"}, STATUS_INVALID_ARGUMENT, 0},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        client_assert_fails(c, client_create_with(c, "a", &cases[i].options), cases[i].status,
                            cases[i].sys_errno);
    assert_false(client_has_image(c, "a"));
}

TEST(facts_tell_id_size_and_features, WITH_CLIENT)
{
    struct client *c = *state;
    const struct image_options options = {.features = LAYERING, .data_pool = "data"};

    assert_int_equal(client_create_with(c, "a", &options), 0);
    _cleanup_free_ char *id = client_image_id(c, "a");
    _cleanup_image_facts_ struct image_facts facts = client_image_facts(c, "a");
    assert_string_equal(facts.id, id);
    assert_int_equal(facts.size_bytes, GIB);
    assert_int_equal(facts.features, LAYERING | DATA_POOL);
    assert_true(facts.created.tv_sec > 0);
    assert_false(facts.has_parent);
}

TEST(size_is_read_by_id_also_in_the_trash, WITH_CLIENT)
{
    struct client *c = *state;
    uint64_t size = 0;

    assert_int_equal(client_create(c, "a"), 0);
    _cleanup_free_ char *id = client_image_id(c, "a");
    assert_int_equal(c->ops->image_resize(c->pool, &c->call, "a", 2 * GIB, &c->err), 0);
    assert_int_equal(client_discard(c, "a"), 0);
    assert_int_equal(c->ops->image_get_size(c->pool, &c->call, id, &size, &c->err), 0);
    assert_int_equal(size, 2 * GIB);
    client_assert_fails(c, c->ops->image_get_size(c->pool, &c->call, "a", &size, &c->err),
                        STATUS_NOT_FOUND, ENOENT);
}

TEST(metadata_is_set_and_then_removed, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_strmap_ struct strmap found = {0};
    _cleanup_string_list_ struct string_list removed = {0};

    strmap_set(&entries, "a", "1");
    strmap_set(&entries, "b", "2");
    string_list_add(&removed, "a");
    string_list_add(&removed, "absent");
    assert_int_equal(client_create(c, "i"), 0);
    assert_int_equal(
        c->ops->image_metadata_change(c->pool, &c->call, "i", &entries, &removed, &c->err), 0);
    assert_int_equal(c->ops->image_metadata_get(c->pool, &c->call, "i", &found, &c->err), 0);
    assert_int_equal(found.count, 1);
    assert_string_equal(strmap_get(&found, "b"), "2");
}

/* The rule of struct ceph_ops. librbd 16.2 alone moves a watched image to the trash, unless
 * somebody holds its lock and does not give it up. */
TEST(watched_image_cannot_be_discarded, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_string_list_ struct string_list watchers = {0};

    assert_int_equal(client_create(c, "a"), 0);
    fake_ceph_set_watcher(c->fake, "rbd", "a", "192.0.2.7:0/77");
    assert_int_equal(c->ops->image_watchers(c->pool, &c->call, "a", &watchers, &c->err), 0);
    assert_int_equal(watchers.count, 1);
    assert_string_equal(watchers.items[0], "192.0.2.7:0/77");
    client_assert_fails(c, client_discard(c, "a"), STATUS_FAILED_PRECONDITION, EBUSY);
    assert_true(client_has_image(c, "a"));
    fake_ceph_set_watcher(c->fake, "rbd", "a", NULL);
    assert_int_equal(client_discard(c, "a"), 0);
    assert_int_equal(c->ops->image_create(c->space, &c->call, "a", GIB, &DEFAULT_OPTIONS, &c->err),
                     0);
    fake_ceph_set_watcher(c->fake, "rbd/ns", "a", "192.0.2.7:0/78");
    client_assert_fails(c, c->ops->trash_move(c->space, &c->call, "a", &c->err),
                        STATUS_FAILED_PRECONDITION, EBUSY);
}
