/*
 * Connections and pools of the real struct ceph_ops on a real cluster. Another client of the
 * cluster is a second struct ceph: it has a connection of its own.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/base/memory.h"
#include "common/ceph/connections.h"
#include "common/ceph/library_version.h"
#include "tests/integration/ceph_client.h"
#include "tests/integration/harness.h"

#define POOL_GROUPS 8 /* tests/ceph/lib.sh */

TEST(connection_knows_the_fsid)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_free_ char *fsid = NULL;
    _cleanup_error_ struct error err = {0};

    ceph_client_open(&f);
    assert_done(f.ceph->ops->fsid(f.cluster, &f.call, &fsid, &err), &err);
    assert_string_equal(fsid, harness_cluster()->fsid);
}

TEST(wrong_key_is_unauthenticated)
{
    static const char other_key[] = "AQBnq6RmAAAAABAAkQ8uE0YkYJ7N2nYhJ0xk3g==";
    _cleanup_ceph_cluster_ struct ceph_cluster *right = NULL;
    struct ceph_cluster *wrong = NULL;
    struct ceph *ceph = ceph_client_new();
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "Test", deadline_in_ms(120000));
    /* with the right key connected already: it must not be lent */
    assert_done(ceph_client_connect(ceph, &call, harness_cluster()->monitors,
                                    harness_cluster()->key, &right, &err),
                &err);
    assert_int_equal(
        ceph_client_connect(ceph, &call, harness_cluster()->monitors, other_key, &wrong, &err), -1);
    assert_int_equal(err.status, STATUS_UNAUTHENTICATED);
    assert_non_null(strstr(err.message, "client."));
    assert_null(strstr(err.message, other_key));
    ceph_disconnect(TAKE(right));
    ceph_client_end(ceph);
    call_done(&call);
}

TEST(unreachable_monitors_fail_before_the_deadline)
{
    struct ceph_cluster *cluster = NULL;
    struct ceph *ceph = ceph_client_new();
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "Test", deadline_in_ms(2000));
    assert_int_equal(
        ceph_client_connect(ceph, &call, "127.0.0.1:1", harness_cluster()->key, &cluster, &err),
        -1);
    assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
    assert_non_null(strstr(err.message, "127.0.0.1:1"));
    ceph_client_end(ceph);
    call_done(&call);
}

TEST(cancelled_call_does_not_wait_for_monitors)
{
    struct ceph_cluster *cluster = NULL;
    struct ceph *ceph = ceph_client_new();
    const atomic_bool cancelled = true;
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "Test", deadline_in_ms(120000));
    call.cancelled = &cancelled;
    assert_refused(
        ceph_client_connect(ceph, &call, "127.0.0.1:1", harness_cluster()->key, &cluster, &err),
        &err, STATUS_CANCELLED);
    ceph_client_end(ceph);
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
    int result = ceph_client_connect(ceph, &call, harness_cluster()->monitors,
                                     harness_cluster()->key, &cluster, &err);
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
    struct ceph *ceph = ceph_client_new();
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
    ceph_client_end(ceph);
}

TEST(idle_connection_is_closed)
{
    struct ceph *ceph = ceph_new(&(struct ceph_options){.idle_expiry_ms = 300});

    assert_non_null(connect_and_leave(ceph));
    wait_until(count_connections(ceph) == 0);
    assert_non_null(connect_and_leave(ceph)); /* and it is made anew */
    ceph_client_end(ceph);
}

/* Whether a read is not answered within half a second. */
static bool is_unanswered(struct ceph_client *f)
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
    struct ceph_client f;

    ceph_client_open(&f);
    free(harness_run_tool((const char *const[]){"ceph", "osd", "pause", NULL}));
    int refreshed = cluster_refresh_map(f.cluster, &f.call, &err);
    bool unanswered = is_unanswered(&f);
    ceph_pool_close(f.pool);
    ceph_disconnect(f.cluster);
    bool ended = ceph_free(f.ceph);
    free(harness_run_tool((const char *const[]){"ceph", "osd", "unpause", NULL}));
    if (!ended)
        ceph_client_end(f.ceph);
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

static bool is_refused(struct ceph_client *f, struct error *err)
{
    _cleanup_free_ char *value = NULL;

    return f->pool->ops->omap_get(f->pool, &f->call, OBJECT, "key", &value, err) < 0;
}

TEST(fenced_connection_is_replaced)
{
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_error_ struct error err = {0};

    ceph_client_open(&f);
    fence(f.cluster, &f.call);
    wait_until(is_refused(&f, &err)); /* the OSD gets to know soon */
    assert_int_equal(err.sys_errno, ESHUTDOWN);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    assert_int_equal(count_connections(f.ceph), 0);

    ceph_client_reconnect(&f);
    ceph_client_make_image(&f, "after-the-fence", FEATURE_LAYERING);
    ceph_client_discard_image(&f, "after-the-fence");
}

/* In every group, not only in those that have heard of it by themselves. */
TEST(nobody_fenced_writes_once_the_pool_has_settled)
{
    _cleanup_ceph_client_ struct ceph_client fenced;
    _cleanup_ceph_client_ struct ceph_client other;
    _cleanup_error_ struct error err = {0};

    ceph_client_open(&fenced);
    ceph_client_open(&other);
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
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_ceph_pool_ struct ceph_pool *same = NULL;
    _cleanup_string_list_ struct string_list names = {0};
    struct ceph_pool *none = NULL;
    _cleanup_error_ struct error err = {0};

    ceph_client_open(&f);
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
    _cleanup_ceph_client_ struct ceph_client f;
    _cleanup_free_ char *df = NULL;
    _cleanup_free_ char *tasks = NULL;
    char *none = NULL;
    _cleanup_error_ struct error err = {0};

    ceph_client_open(&f);
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

TEST(the_library_tells_its_release)
{
    unsigned major = 0, minor = 0, patch = 0;

    assert_int_equal(sscanf(ceph_library_version(), "%u.%u.%u", &major, &minor, &patch), 3);
}
