/*
 * The real struct ceph_ops on a real cluster. Another client of the cluster is a second struct
 * ceph: it has a connection of its own. Each test removes what it made.
 */
#include <stdatomic.h>

#include <errno.h>
#include <pthread.h>

#include "common/base/memory.h"
#include "common/ceph/ceph.h"
#include "common/ceph/connections.h"
#include "common/ceph/library_version.h"
#include "tests/integration/harness.h"
#include "tests/test.h"

enum { FEATURE_LAYERING = 1, FEATURE_EXCLUSIVE_LOCK = 4, FEATURE_JOURNALING = 64, MIB = 1 << 20 };

#define POOL "zone-a"
#define POOL_GROUPS 8 /* tests/ceph/lib.sh */
#define OBJECT "test-ceph-ops"

struct fixture {
    struct ceph *ceph;
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
    struct call call;
};

static int connect_as(struct ceph *ceph, struct call *call, const char *monitors, const char *key,
                      struct ceph_cluster **cluster, struct error *err)
{
    _cleanup_secret_ struct secret secret = {0};

    secret_set(&secret, key);
    const struct ceph_target target = {"c1", monitors, harness_cluster()->user, &secret};
    return ceph->ops->connect(ceph, call, &target, cluster, err);
}

#define assert_done(call_of_op, err)                                                               \
    do {                                                                                           \
        if ((call_of_op) < 0)                                                                      \
            fail_msg("%s", (err)->message);                                                        \
    } while (0)

#define assert_refused(call_of_op, err, expected)                                                  \
    do {                                                                                           \
        assert_int_equal((call_of_op), -1);                                                        \
        assert_int_equal((err)->status, (expected));                                               \
        error_clear(err);                                                                          \
    } while (0)

static struct ceph *new_ceph(void)
{
    return ceph_new(&(struct ceph_options){
        .connect_timeout_ms = 15000,
        .mon_op_timeout_ms = 30000,
        .osd_op_timeout_ms = 30000,
    });
}

/* An attempt to connect, which nobody can end, may be under way for a while. */
static void end_ceph(struct ceph *ceph)
{
    wait_until(ceph_free(ceph));
}

static void fixture_open(struct fixture *f)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_error_ struct error err = {0};

    *f = (struct fixture){.ceph = new_ceph()};
    call_init(&f->call, 1, "Test", deadline_in_ms(240000));
    assert_done(connect_as(f->ceph, &f->call, cluster->monitors, cluster->key, &f->cluster, &err),
                &err);
    assert_done(f->ceph->ops->pool_open(f->cluster, &f->call, POOL, "", &f->pool, &err), &err);
}

static void fixture_close(struct fixture *f)
{
    ceph_pool_close(f->pool);
    ceph_disconnect(f->cluster);
    end_ceph(f->ceph);
    call_done(&f->call);
}
#define _cleanup_fixture_ _cleanup_(fixture_close)

/* As the next call does. */
static void fixture_reconnect(struct fixture *f)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_error_ struct error err = {0};

    ceph_pool_close(f->pool);
    ceph_disconnect(f->cluster);
    assert_done(connect_as(f->ceph, &f->call, cluster->monitors, cluster->key, &f->cluster, &err),
                &err);
    assert_done(f->ceph->ops->pool_open(f->cluster, &f->call, POOL, "", &f->pool, &err), &err);
}

static void make_image(struct fixture *f, const char *name, uint64_t features)
{
    const struct image_options options = {.features = features};
    _cleanup_error_ struct error err = {0};

    assert_done(f->pool->ops->image_create(f->pool, &f->call, name, 16 * MIB, &options, &err),
                &err);
}

static void discard_image(struct fixture *f, const char *name)
{
    _cleanup_free_ char *id = NULL;
    _cleanup_error_ struct error err = {0};

    assert_done(f->pool->ops->image_get_id(f->pool, &f->call, name, &id, &err), &err);
    assert_done(f->pool->ops->trash_move(f->pool, &f->call, name, &err), &err);
    assert_done(f->pool->ops->trash_remove(f->pool, &f->call, id, NULL, NULL, &err), &err);
}

/* --- connections and pools --- */

TEST(connection_knows_the_fsid)
{
    _cleanup_fixture_ struct fixture f;
    _cleanup_free_ char *fsid = NULL;
    _cleanup_error_ struct error err = {0};

    fixture_open(&f);
    assert_done(f.ceph->ops->fsid(f.cluster, &f.call, &fsid, &err), &err);
    assert_string_equal(fsid, harness_cluster()->fsid);
}

TEST(wrong_key_is_unauthenticated)
{
    static const char other_key[] = "AQBnq6RmAAAAABAAkQ8uE0YkYJ7N2nYhJ0xk3g==";
    _cleanup_ceph_cluster_ struct ceph_cluster *right = NULL;
    struct ceph_cluster *wrong = NULL;
    struct ceph *ceph = new_ceph();
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "Test", deadline_in_ms(120000));
    /* with the right key connected already: it must not be lent */
    assert_done(
        connect_as(ceph, &call, harness_cluster()->monitors, harness_cluster()->key, &right, &err),
        &err);
    assert_int_equal(connect_as(ceph, &call, harness_cluster()->monitors, other_key, &wrong, &err),
                     -1);
    assert_int_equal(err.status, STATUS_UNAUTHENTICATED);
    assert_non_null(strstr(err.message, "client."));
    assert_null(strstr(err.message, other_key));
    ceph_disconnect(TAKE(right));
    end_ceph(ceph);
    call_done(&call);
}

TEST(unreachable_monitors_fail_before_the_deadline)
{
    struct ceph_cluster *cluster = NULL;
    struct ceph *ceph = new_ceph();
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "Test", deadline_in_ms(2000));
    assert_int_equal(connect_as(ceph, &call, "127.0.0.1:1", harness_cluster()->key, &cluster, &err),
                     -1);
    assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
    assert_non_null(strstr(err.message, "127.0.0.1:1"));
    end_ceph(ceph);
    call_done(&call);
}

TEST(cancelled_call_does_not_wait_for_monitors)
{
    struct ceph_cluster *cluster = NULL;
    struct ceph *ceph = new_ceph();
    const atomic_bool cancelled = true;
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "Test", deadline_in_ms(120000));
    call.cancelled = &cancelled;
    assert_refused(connect_as(ceph, &call, "127.0.0.1:1", harness_cluster()->key, &cluster, &err),
                   &err, STATUS_CANCELLED);
    end_ceph(ceph);
    call_done(&call);
}

static void count_connection(void *object, const char *cluster_id, bool healthy,
                             const char *message, time_t since)
{
    unsigned *count = object;

    assert_string_equal(cluster_id, "c1");
    assert_null(strstr(message, harness_cluster()->key));
    assert_true(since > 0);
    *count += healthy;
}

static unsigned count_connections(struct ceph *ceph)
{
    unsigned count = 0;

    ceph_report(ceph, count_connection, &count);
    return count;
}

static void *connect_and_leave(void *object)
{
    struct ceph *ceph = object;
    _cleanup_ceph_cluster_ struct ceph_cluster *cluster = NULL;
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "Test", deadline_in_ms(120000));
    int result = connect_as(ceph, &call, harness_cluster()->monitors, harness_cluster()->key,
                            &cluster, &err);
    call_done(&call);
    return result == 0 ? object : NULL;
}

static long own_threads(void)
{
    _cleanup_fclose_ FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long threads = -1;

    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, "Threads:", 8) == 0)
            threads = strtol(line + 8, NULL, 10);
    return threads;
}

TEST(threads_share_one_connection)
{
    struct ceph *ceph = new_ceph();
    pthread_t threads[32];

    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, connect_and_leave, ceph), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        void *ended = NULL;

        pthread_join(threads[i], &ended);
        assert_non_null(ended);
    }
    assert_int_equal(count_connections(ceph), 1);
    printf("figure: %ld threads in the process with one connection that 32 shared\n",
           own_threads());
    end_ceph(ceph);
}

TEST(idle_connection_is_closed)
{
    struct ceph *ceph = ceph_new(&(struct ceph_options){.idle_expiry_ms = 300});

    assert_non_null(connect_and_leave(ceph));
    wait_until(count_connections(ceph) == 0);
    assert_non_null(connect_and_leave(ceph)); /* and it is made anew */
    end_ceph(ceph);
}

/* Whether a read is not answered within half a second. */
static bool is_unanswered(struct fixture *f)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *value = NULL;
    struct call hasty;

    call_init(&hasty, 2, "Test", deadline_in_ms(500));
    f->pool->ops->omap_get(f->pool, &hasty, OBJECT, "key", &value, &err);
    call_done(&hasty);
    return err.status == STATUS_DEADLINE_EXCEEDED;
}

/* librados forgets what is under way when a connection ends, and its memory with it. */
TEST(connection_does_not_end_before_its_operations)
{
    _cleanup_error_ struct error err = {0};
    struct fixture f;

    fixture_open(&f);
    free(harness_run_tool((const char *const[]){"ceph", "osd", "pause", NULL}));
    int refreshed = cluster_refresh_map(f.cluster, &f.call, &err);
    bool unanswered = is_unanswered(&f);
    ceph_pool_close(f.pool);
    ceph_disconnect(f.cluster);
    bool ended = ceph_free(f.ceph);
    free(harness_run_tool((const char *const[]){"ceph", "osd", "unpause", NULL}));
    if (!ended)
        end_ceph(f.ceph);
    call_done(&f.call);
    assert_done(refreshed, &err);
    assert_true(unanswered);
    assert_false(ended);
}

/* Puts the client behind @cluster on the blocklist. */
static void fence(struct ceph_cluster *cluster, struct call *call)
{
    char *addresses = NULL;
    _cleanup_free_ char *reply = NULL;
    _cleanup_error_ struct error err = {0};
    rados_t rados = ((struct real_cluster *)cluster)->rados;

    assert_int_equal(rados_getaddrs(rados, &addresses), 0);
    _cleanup_free_ char *command = xasprintf(
        "{\"prefix\":\"osd blocklist\",\"blocklistop\":\"add\",\"addr\":\"%s\"}", addresses);
    rados_buffer_free(addresses);
    assert_done(cluster->ops->mon_command(cluster, call, command, &reply, &err), &err);
}

static bool is_refused(struct fixture *f, struct error *err)
{
    _cleanup_free_ char *value = NULL;

    return f->pool->ops->omap_get(f->pool, &f->call, OBJECT, "key", &value, err) < 0;
}

TEST(fenced_connection_is_replaced)
{
    _cleanup_fixture_ struct fixture f;
    _cleanup_error_ struct error err = {0};

    fixture_open(&f);
    fence(f.cluster, &f.call);
    wait_until(is_refused(&f, &err)); /* the OSD gets to know soon */
    assert_int_equal(err.sys_errno, ESHUTDOWN);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    assert_int_equal(count_connections(f.ceph), 0);

    fixture_reconnect(&f);
    make_image(&f, "after-the-fence", FEATURE_LAYERING);
    discard_image(&f, "after-the-fence");
}

/* In every group, not only in those that have heard of it by themselves. */
TEST(nobody_fenced_writes_once_the_pool_has_settled)
{
    _cleanup_fixture_ struct fixture fenced;
    _cleanup_fixture_ struct fixture other;
    _cleanup_error_ struct error err = {0};

    fixture_open(&fenced);
    fixture_open(&other);
    assert_done(other.pool->ops->pool_settle(other.pool, &other.call, POOL_GROUPS, 1, &err), &err);
    fence(fenced.cluster, &fenced.call);
    assert_done(other.pool->ops->pool_settle(other.pool, &other.call, POOL_GROUPS, 1, &err), &err);
    for (int i = 0; i < 8 * POOL_GROUPS; i++) {
        _cleanup_free_ char *name = xasprintf("late-%d", i);

        assert_int_equal(
            fenced.pool->ops->omap_add(fenced.pool, &fenced.call, name, "k", "v", &err), -1);
        assert_int_equal(err.sys_errno, ESHUTDOWN);
        error_clear(&err);
    }
    assert_done(other.pool->ops->pool_settle(other.pool, &other.call, 5, 1, &err), &err);
}

TEST(pools_open_by_name_and_by_id)
{
    _cleanup_fixture_ struct fixture f;
    _cleanup_ceph_pool_ struct ceph_pool *same = NULL;
    _cleanup_string_list_ struct string_list names = {0};
    struct ceph_pool *none = NULL;
    _cleanup_error_ struct error err = {0};

    fixture_open(&f);
    const struct ceph_ops *ops = f.ceph->ops;
    assert_done(ops->pool_open_by_id(f.cluster, &f.call, f.pool->id, "", &same, &err), &err);
    assert_string_equal(same->name, POOL);
    assert_refused(ops->pool_open(f.cluster, &f.call, "no-such-pool", "", &none, &err), &err,
                   STATUS_NOT_FOUND);
    assert_refused(ops->pool_open_by_id(f.cluster, &f.call, 99999, "", &none, &err), &err,
                   STATUS_NOT_FOUND);
    assert_done(ops->pool_list(f.cluster, &f.call, &names, &err), &err);
    assert_true(string_list_has(&names, POOL));
}

TEST(commands_answer_or_tell_why_not)
{
    _cleanup_fixture_ struct fixture f;
    _cleanup_free_ char *df = NULL;
    _cleanup_free_ char *tasks = NULL;
    char *none = NULL;
    _cleanup_error_ struct error err = {0};

    fixture_open(&f);
    const struct ceph_ops *ops = f.ceph->ops;
    assert_done(
        ops->mon_command(f.cluster, &f.call, "{\"prefix\":\"df\",\"format\":\"json\"}", &df, &err),
        &err);
    assert_non_null(strstr(df, "\"pools\""));
    assert_done(ops->mgr_command(f.cluster, &f.call,
                                 "{\"prefix\":\"rbd task list\",\"format\":\"json\"}", &tasks,
                                 &err),
                &err);
    assert_int_equal(tasks[0], '[');
    assert_int_equal(ops->mon_command(f.cluster, &f.call, "{\"prefix\":\"nonsense\"}", &none, &err),
                     -1);
    assert_int_equal(err.sys_errno, EINVAL);
    assert_non_null(strstr(err.message, "command not known"));
}

/* --- objects --- */

static void forget_object(struct fixture *f)
{
    _cleanup_error_ struct error err = {0};

    assert_done(f->pool->ops->object_remove(f->pool, &f->call, OBJECT, &err), &err);
}

TEST(keys_are_added_only_where_absent)
{
    _cleanup_fixture_ struct fixture f;
    _cleanup_free_ char *absent = NULL;
    _cleanup_free_ char *value = NULL;
    _cleanup_error_ struct error err = {0};

    fixture_open(&f);
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
    _cleanup_fixture_ struct fixture f;
    _cleanup_strmap_ struct strmap added = {0};
    _cleanup_free_ char *gone = NULL;
    _cleanup_free_ char *left = NULL;
    _cleanup_error_ struct error err = {0};
    bool removed = true;

    fixture_open(&f);
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
    _cleanup_fixture_ struct fixture f;
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_strmap_ struct strmap page = {0};
    _cleanup_strmap_ struct strmap rest = {0};
    _cleanup_error_ struct error err = {0};
    bool more = false;

    fixture_open(&f);
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
    _cleanup_fixture_ struct fixture f;
    _cleanup_ceph_pool_ struct ceph_pool *other = NULL;
    _cleanup_free_ char *value = NULL;
    _cleanup_error_ struct error err = {0};

    fixture_open(&f);
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
    struct fixture *f = object;
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
    _cleanup_fixture_ struct fixture f;
    pthread_t threads[8];

    fixture_open(&f);
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

/* --- images --- */

TEST(images_are_made_looked_at_and_grown)
{
    _cleanup_fixture_ struct fixture f;
    _cleanup_image_facts_ struct image_facts facts = {0};
    const struct image_options options = {.features = FEATURE_LAYERING, .object_order = 20};
    _cleanup_free_ char *id = NULL;
    _cleanup_error_ struct error err = {0};
    uint64_t size = 0;
    bool has = true;

    fixture_open(&f);
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
    discard_image(&f, "t-image");
}

/* librbd says ENOENT for all of them. */
TEST(what_a_new_image_needs_and_is_not_there_is_named)
{
    _cleanup_fixture_ struct fixture f;
    _cleanup_ceph_pool_ struct ceph_pool *space = NULL;
    const struct image_options plain = {.features = FEATURE_LAYERING};
    const struct image_options apart = {.features = FEATURE_LAYERING, .data_pool = "misspelt"};
    _cleanup_error_ struct error err = {0};

    fixture_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    assert_done(ops->pool_open(f.cluster, &f.call, POOL, "nowhere", &space, &err), &err);
    make_image(&f, "t-parent", FEATURE_LAYERING);
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
    discard_image(&f, "t-parent");
}

TEST(missing_images_are_not_found)
{
    _cleanup_fixture_ struct fixture f;
    _cleanup_string_list_ struct string_list watchers = {0};
    struct image_facts facts = {0};
    _cleanup_error_ struct error err = {0};
    char *id = NULL;
    uint64_t size = 0;

    fixture_open(&f);
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
static void make_slow_image(struct fixture *f, uint64_t size_mib, uint64_t object_order)
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
    _cleanup_fixture_ struct fixture f;
    _cleanup_free_ char *id = NULL;
    _cleanup_error_ struct error err = {0};
    bool empty = false;

    fixture_open(&f);
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
    discard_image(&f, "t-slow");
}

TEST(looking_for_data_ends_with_its_call)
{
    _cleanup_fixture_ struct fixture f;
    _cleanup_error_ struct error err = {0};
    struct call late;
    bool empty = true;

    fixture_open(&f);
    make_slow_image(&f, 64 * 1024, 22); /* more than there is time for */
    call_init(&late, 2, "Test", deadline_in_ms(30));
    assert_refused(f.pool->ops->image_is_empty(f.pool, &late, "t-slow", &empty, &err), &err,
                   STATUS_DEADLINE_EXCEEDED);
    assert_true(empty); /* as it was: nobody knows */
    call_done(&late);
    discard_image(&f, "t-slow");
}

TEST(image_metadata_is_set_and_removed)
{
    _cleanup_fixture_ struct fixture f;
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_strmap_ struct strmap found = {0};
    _cleanup_string_list_ struct string_list removed = {0};
    _cleanup_error_ struct error err = {0};

    fixture_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    make_image(&f, "t-meta", FEATURE_LAYERING);
    strmap_set(&entries, "a", "1");
    strmap_set(&entries, "b", "2");
    string_list_add(&removed, "b");
    string_list_add(&removed, "not-there");
    assert_done(ops->image_metadata_change(f.pool, &f.call, "t-meta", &entries, &removed, &err),
                &err);
    assert_done(ops->image_metadata_get(f.pool, &f.call, "t-meta", &found, &err), &err);
    assert_string_equal(strmap_get(&found, "a"), "1");
    assert_false(strmap_has(&found, "b"));
    discard_image(&f, "t-meta");
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
    _cleanup_fixture_ struct fixture f;
    _cleanup_error_ struct error err = {0};

    fixture_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        _cleanup_strmap_ struct strmap entries = {0};
        _cleanup_strmap_ struct strmap setting = {0};
        _cleanup_strmap_ struct strmap found = {0};
        _cleanup_string_list_ struct string_list removed = {0};
        uint64_t features = 0;

        make_image(&f, "t-both", kinds[i]);
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
        discard_image(&f, "t-both");
    }
}

TEST(locked_image_has_a_watcher_and_stays)
{
    _cleanup_fixture_ struct fixture f;
    _cleanup_fixture_ struct fixture other;
    _cleanup_string_list_ struct string_list before = {0};
    _cleanup_string_list_ struct string_list during = {0};
    _cleanup_error_ struct error err = {0};
    struct image_hold *hold = NULL;

    fixture_open(&f);
    fixture_open(&other);
    const struct ceph_ops *ops = f.pool->ops;
    make_image(&f, "t-busy", FEATURE_LAYERING | FEATURE_EXCLUSIVE_LOCK);
    assert_done(ops->image_watchers(f.pool, &f.call, "t-busy", &before, &err), &err);
    assert_int_equal(before.count, 0); /* looking does not count */
    assert_done(ops->image_hold(other.pool, &other.call, "t-busy", &hold, &err), &err);
    assert_done(ops->image_watchers(f.pool, &f.call, "t-busy", &during, &err), &err);
    assert_int_equal(during.count, 1);
    assert_int_equal(ops->trash_move(f.pool, &f.call, "t-busy", &err), -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    assert_int_equal(err.sys_errno, EBUSY);
    ceph_hold_release(hold);
    discard_image(&f, "t-busy");
}

TEST(trash_lists_what_was_moved)
{
    _cleanup_fixture_ struct fixture f;
    _cleanup_(trash_entries_done) struct trash_entries entries = {0};
    _cleanup_free_ char *id = NULL;
    _cleanup_error_ struct error err = {0};
    size_t found = 0;

    fixture_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    make_image(&f, "t-trash", FEATURE_LAYERING);
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
    _cleanup_fixture_ struct fixture f;
    _cleanup_image_facts_ struct image_facts linked = {0};
    _cleanup_image_facts_ struct image_facts flat = {0};
    _cleanup_(image_snapshots_done) struct image_snapshots user = {0};
    _cleanup_(image_snapshots_done) struct image_snapshots trashed = {0};
    const struct image_options options = {.features = FEATURE_LAYERING};
    _cleanup_error_ struct error err = {0};

    fixture_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    make_image(&f, "t-parent", FEATURE_LAYERING);
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
    discard_image(&f, "t-child");
    discard_image(&f, "t-parent");
}

TEST(held_image_takes_a_snapshot)
{
    _cleanup_fixture_ struct fixture f;
    _cleanup_(image_snapshots_done) struct image_snapshots snapshots = {0};
    _cleanup_error_ struct error err = {0};
    struct image_hold *hold = NULL;

    fixture_open(&f);
    const struct ceph_ops *ops = f.pool->ops;
    make_image(&f, "t-plain", FEATURE_LAYERING);
    assert_refused(ops->image_hold(f.pool, &f.call, "t-plain", &hold, &err), &err,
                   STATUS_FAILED_PRECONDITION);
    make_image(&f, "t-held", FEATURE_LAYERING | FEATURE_EXCLUSIVE_LOCK);
    assert_done(ops->image_hold(f.pool, &f.call, "t-held", &hold, &err), &err);
    assert_done(ops->hold_snapshot(hold, &f.call, "s", &err), &err);
    ceph_hold_release(hold);
    assert_done(ops->snapshot_list(f.pool, &f.call, "t-held", &snapshots, &err), &err);
    assert_int_equal(snapshots.count, 1);
    assert_done(ops->snapshot_remove(f.pool, &f.call, "t-held", "s", &err), &err);
    discard_image(&f, "t-held");
    discard_image(&f, "t-plain");
}

TEST(the_library_tells_its_release)
{
    unsigned major = 0, minor = 0, patch = 0;

    assert_int_equal(sscanf(ceph_library_version(), "%u.%u.%u", &major, &minor, &patch), 3);
}
