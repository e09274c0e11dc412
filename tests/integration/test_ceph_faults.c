/*
 * The real struct ceph_ops while a daemon of the cluster does not answer. Daemons are halted for a
 * few seconds by signal and always go on: a halt of more than about 15 s would leave placement
 * groups of a single copy laggy.
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <rados/librados.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/ceph/ceph.h"
#include "tests/integration/harness.h"
#include "tests/test.h"

#define POOL "zone-a"
#define OSD_OP_TIMEOUT_MS 4000

struct fixture {
    struct ceph *ceph;
    struct ceph_cluster *cluster;
    struct call call;
    pid_t halted;
};

static int connect_as(struct fixture *f, const char *monitors, const char *key,
                      struct ceph_cluster **cluster, struct error *err)
{
    _cleanup_secret_ struct secret secret = {0};

    secret_set(&secret, key);
    const struct ceph_target target = {"c1", monitors, harness_cluster()->user, &secret};
    return f->ceph->ops->connect(f->ceph, &f->call, &target, cluster, err);
}

/* An attempt to connect, which nobody can end, may be under way for a while. */
static void end_ceph(struct ceph *ceph)
{
    wait_until(ceph_free(ceph));
}

static int fixture_open(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    _cleanup_error_ struct error err = {0};

    f->ceph = ceph_new(&(struct ceph_options){
        .connect_timeout_ms = 15000,
        .mon_op_timeout_ms = 4000,
        .osd_op_timeout_ms = OSD_OP_TIMEOUT_MS,
        .ceph_conf = "/nonexistent", /* librados' own settings, as in a bare container */
    });
    call_init(&f->call, 1, "Test", deadline_in_ms(240000));
    *state = f;
    if (connect_as(f, harness_cluster()->monitors, harness_cluster()->key, &f->cluster, &err) == 0)
        return 0;
    print_error("%s\n", err.message);
    return -1;
}

static int fixture_close(void **state)
{
    struct fixture *f = *state;

    if (f->halted)
        kill(f->halted, SIGCONT);
    ceph_disconnect(f->cluster);
    end_ceph(f->ceph);
    call_done(&f->call);
    free(f);
    return 0;
}

#define WITH_FIXTURE .setup_func = fixture_open, .teardown_func = fixture_close

/* Its threads stop one by one: until the last has, they may still answer. */
static bool is_stopped(pid_t pid)
{
    _cleanup_free_ char *path = xasprintf("/proc/%d/stat", (int)pid);
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char line[256] = "";

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    const char *name_end = strrchr(line, ')');
    return name_end && strncmp(name_end, ") T", 3) == 0;
}

/* The throwaway cluster keeps its pid files beside ceph.conf. */
static void halt(struct fixture *f, const char *daemon)
{
    _cleanup_free_ char *conf = xstrdup(getenv("CEPH_CONF"));
    _cleanup_free_ char *path = xasprintf("%s/run/%s.pid", dirname(conf), daemon);
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char line[32] = "";

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    f->halted = (pid_t)strtol(line, NULL, 10);
    assert_true(f->halted > 1);
    assert_int_equal(kill(f->halted, SIGSTOP), 0);
    wait_until(is_stopped(f->halted));
}

static void go_on(struct fixture *f)
{
    assert_int_equal(kill(f->halted, SIGCONT), 0);
    f->halted = 0;
}

/* What comes too late on a slow machine may be asked for again. */
static bool has_succeeded(int result, struct error *err)
{
    if (result < 0) {
        assert_int_equal(err->status, STATUS_DEADLINE_EXCEEDED);
        error_clear(err);
    }
    return result == 0;
}

static struct ceph_pool *open_pool(struct fixture *f)
{
    _cleanup_error_ struct error err = {0};
    struct ceph_pool *pool = NULL;

    wait_until(
        has_succeeded(f->ceph->ops->pool_open(f->cluster, &f->call, POOL, "", &pool, &err), &err));
    return pool;
}

TEST(late_answer_of_the_manager_does_no_harm, WITH_FIXTURE)
{
    static const char list[] = "{\"prefix\":\"rbd task list\",\"format\":\"json\"}";
    struct fixture *f = *state;
    _cleanup_free_ char *reply = NULL;
    _cleanup_error_ struct error err = {0};

    halt(f, "mgr.a");
    assert_int_equal(f->ceph->ops->mgr_command(f->cluster, &f->call, list, &reply, &err), -1);
    assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
    error_clear(&err);
    go_on(f);
    wait_until(
        has_succeeded(f->ceph->ops->mgr_command(f->cluster, &f->call, list, &reply, &err), &err));
    assert_int_equal(reply[0], '[');
}

TEST(group_that_does_not_answer_has_not_settled, WITH_FIXTURE)
{
    struct fixture *f = *state;
    _cleanup_ceph_pool_ struct ceph_pool *pool = open_pool(f);
    _cleanup_error_ struct error err = {0};

    halt(f, "osd.0");
    assert_int_equal(pool->ops->pool_settle(pool, &f->call, 8, 1, &err), -1);
    assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
    assert_non_null(strstr(err.message, "placement group "));
    assert_non_null(strstr(err.message, "of pool '" POOL "' does not answer"));
    error_clear(&err);
    /* with so few OSDs none of them serves anybody, and nobody is waited for */
    assert_int_equal(pool->ops->pool_settle(pool, &f->call, 8, 99, &err), 0);
    go_on(f);
    wait_until(has_succeeded(pool->ops->pool_settle(pool, &f->call, 8, 1, &err), &err));
}

TEST(read_given_up_does_not_outlive_its_pool, WITH_FIXTURE)
{
    struct fixture *f = *state;
    struct ceph_pool *pool = open_pool(f);
    _cleanup_free_ char *value = NULL;
    _cleanup_error_ struct error err = {0};
    struct call hurried;

    halt(f, "osd.0");
    call_init(&hurried, 2, "Test", deadline_in_ms(500));
    assert_int_equal(pool->ops->omap_get(pool, &hurried, "none", "k", &value, &err), -1);
    assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
    ceph_pool_close(pool);
    usleep((OSD_OP_TIMEOUT_MS + 500) * 1000); /* librados ends what is left of it */
    go_on(f);
    call_done(&hurried);
}

/* Opens a pool that is not there; the call may take @ms. */
static void open_missing_pool(struct fixture *f, bool by_id, int64_t ms)
{
    const struct ceph_ops *ops = f->ceph->ops;
    _cleanup_error_ struct error err = {0};
    struct ceph_pool *pool = NULL;
    struct call hurried;

    alarm(120); /* without a limit the call ends with the halt: never */
    call_init(&hurried, 2, "Test", deadline_in_ms(ms));
    assert_int_equal(by_id ? ops->pool_open_by_id(f->cluster, &hurried, 99999, "", &pool, &err)
                           : ops->pool_open(f->cluster, &hurried, "none", "", &pool, &err),
                     -1);
    assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
    alarm(0);
    call_done(&hurried);
}

TEST(missing_pool_does_not_wait_for_dead_monitors, WITH_FIXTURE)
{
    struct fixture *f = *state;

    halt(f, "mon.a");
    open_missing_pool(f, false, 1000);
    open_missing_pool(f, true, 1000);
    go_on(f);
}

/* The fixture whose monitors die when the next connection is made; NULL: none. */
static _Atomic(struct fixture *) short_lived_monitors;

/* In place of librados' own, which returns before the first osdmap has come. */
int rados_connect(rados_t cluster)
{
    int (*real)(rados_t) = (int (*)(rados_t))dlsym(RTLD_NEXT, "rados_connect");
    struct fixture *f = atomic_load(&short_lived_monitors);
    const int result = real(cluster);

    if (f) {
        halt(f, "mon.a");
        atomic_store(&short_lived_monitors, NULL);
    }
    return result;
}

/* In place of librados' own: what an old librados is asked for as soon as it is connected, and does
 * not insist on, would find out that the monitors are dead. */
int rados_mon_command(rados_t cluster, const char **commands, size_t count, const char *input,
                      size_t input_length, char **output, size_t *output_length, char **status,
                      size_t *status_length)
{
    int (*real)(rados_t, const char **, size_t, const char *, size_t, char **, size_t *, char **,
                size_t *) = dlsym(RTLD_NEXT, "rados_mon_command");

    if (strstr(commands[0], "osd get-require-min-compat-client"))
        return -EIO;
    return real(cluster, commands, count, input, input_length, output, output_length, status,
                status_length);
}

/* Most often the first osdmap is not there by then. librados waits for it as long as an option
 * says: here longer than the test. */
TEST(monitors_that_die_before_the_first_osdmap_do_not_hold_the_call, WITH_FIXTURE)
{
    struct fixture *f = *state;
    struct fixture patient = {.ceph = ceph_new(&(struct ceph_options){
                                  .connect_timeout_ms = 15000,
                                  .mon_op_timeout_ms = 3600000,
                                  .ceph_conf = "/nonexistent",
                              })};
    const struct ceph_ops *ops = patient.ceph->ops;
    _cleanup_error_ struct error err = {0};
    struct ceph_pool *pool = NULL;

    atomic_store(&short_lived_monitors, f);
    alarm(120);
    call_init(&patient.call, 2, "Test", deadline_in_ms(5000));
    int result = connect_as(&patient, harness_cluster()->monitors, harness_cluster()->key,
                            &patient.cluster, &err);
    if (result == 0)
        result = ops->pool_open(patient.cluster, &patient.call, POOL, "", &pool, &err);
    wait_until(!atomic_load(&short_lived_monitors)); /* it has come so far */
    assert_true(result == 0 || err.status == STATUS_DEADLINE_EXCEEDED);
    alarm(0);
    go_on(f);
    if (pool)
        ceph_pool_close(pool);
    if (patient.cluster)
        ceph_disconnect(patient.cluster);
    end_ceph(patient.ceph);
    call_done(&patient.call);
}

/* The fixture whose monitors die when the next one waits for an osdmap; NULL: none. */
static _Atomic(struct fixture *) dying_monitors;

/* In place of librados' own: the monitors answered a moment ago. */
int rados_wait_for_latest_osdmap(rados_t cluster)
{
    int (*real)(rados_t) = (int (*)(rados_t))dlsym(RTLD_NEXT, "rados_wait_for_latest_osdmap");
    struct fixture *f = atomic_exchange(&dying_monitors, NULL);

    if (f)
        halt(f, "mon.a");
    return real(cluster);
}

TEST(monitors_that_die_before_the_osdmap_do_not_hold_the_call, WITH_FIXTURE)
{
    struct fixture *f = *state;

    for (int by_id = 0; by_id < 2; by_id++) {
        int64_t ms = 2000;

        atomic_store(&dying_monitors, f);
        open_missing_pool(f, by_id, ms);
        while (atomic_load(&dying_monitors)) { /* a slow machine has not come so far */
            assert_true(ms < 60000);
            ms *= 2;
            open_missing_pool(f, by_id, ms);
        }
        go_on(f);
    }
}

/* What was written to standard error while @run was at work. Caller frees. */
static char *stderr_of(void (*run)(struct fixture *), struct fixture *f)
{
    _cleanup_fclose_ FILE *file = tmpfile();
    _cleanup_close_ int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    char *text = xcalloc(65536, 1);

    dup2(fileno(file), STDERR_FILENO);
    run(f);
    usleep(300000); /* librados has a thread for its log */
    dup2(saved, STDERR_FILENO);
    rewind(file);
    text[fread(text, 1, 65535, file)] = '\0';
    return text;
}

static void connect_with_a_broken_key(struct fixture *f)
{
    struct ceph_cluster *none = NULL;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(connect_as(f, harness_cluster()->monitors, "SECRET-not-base64", &none, &err),
                     -1);
    assert_int_equal(err.status, STATUS_UNAUTHENTICATED);
    assert_null(strstr(err.message, "SECRET"));
}

TEST(broken_key_is_never_printed, WITH_FIXTURE)
{
    _cleanup_free_ char *printed = stderr_of(connect_with_a_broken_key, *state);

    assert_null(strstr(printed, "SECRET"));
}

TEST(unknown_monitors_are_not_blamed_on_the_key, WITH_FIXTURE)
{
    struct ceph_cluster *none = NULL;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(connect_as(*state, "nosuch.invalid", harness_cluster()->key, &none, &err), -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.message, "nosuch.invalid"));
}
