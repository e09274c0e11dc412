/*
 * The driver is killed with SIGKILL before and after each Ceph call of an operation, started again,
 * and asked the same. (After one call and before the next is the same to Ceph, and tried once.) The
 * end must be what an undisturbed run leaves, and after deletion nothing may be left in the pool:
 * no object, no key, no image, no trash.
 */
#include <regex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/integration/harness.h"

#define POOL "zone-a"
#define MIB (1024LL * 1024)
#define CUTS_MAX 200

static struct driver_process driver;

/* Handles of what a scenario has made so far. */
struct world {
    char *volume;
    char *second;
    char *snapshot;
    unsigned tries; /* of a creation that is asked for in another zone each time */
};

typedef int step(struct world *world, struct error *err);

struct scenario {
    const char *title;
    const char *methods; /* whose calls are cut */
    step *before[4];     /* undisturbed; ends with NULL */
    step *tested;
    step *after[4]; /* what removes everything; ends with NULL */
    bool wanders;   /* the retry may end in another pool: only that all are empty at last counts */
};

/* --- steps --------------------------------------------------------------------------------------
 */

static int call_for(const char *method, const char *request, const char *object, const char *field,
                    char **handle, struct error *err)
{
    json_auto_t *reply = NULL;

    if (harness_call(&driver, &(struct harness_call){.method = method, .request = request}, &reply,
                     err) < 0)
        return -1;
    free(*handle);
    *handle = xstrdup(json_string_value(json_object_get(json_object_get(reply, object), field)));
    return 0;
}

static int create_from(const char *name, long long size, const char *source, char **handle,
                       struct error *err)
{
    _cleanup_free_ char *plain = harness_create_request(name, POOL, size);
    json_auto_t *request = json_loads(plain, 0, NULL);
    json_auto_t *content = source ? json_loads(source, 0, NULL) : NULL;

    if (content)
        json_object_set(request, "volume_content_source", content);
    _cleanup_free_ char *text = json_dumps(request, 0);
    return call_for("CreateVolume", text, "volume", "volume_id", handle, err);
}

static int create_volume(struct world *world, struct error *err)
{
    return create_from("pvc-cut", 8 * MIB, NULL, &world->volume, err);
}

/* The scheduler moves the pod between two tries: zone-a, zone-b, zone-a, ... */
static int create_in_a_zone(struct world *world, struct error *err)
{
    static const char pools[] =
        "[{\"poolName\":\"zone-a\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":"
        "\"zone-a\"}]},{\"poolName\":\"zone-b\",\"domainSegments\":[{\"domainLabel\":\"zone\","
        "\"value\":\"zone-b\"}]}]";
    const char *zone = world->tries++ % 2 ? "zone-b" : "zone-a";
    _cleanup_free_ char *plain = harness_create_request("pvc-cut-moved", "common", 8 * MIB);
    json_auto_t *request = json_loads(plain, 0, NULL);

    json_object_set_new(json_object_get(request, "parameters"), "topologyConstrainedPools",
                        json_string(pools));
    json_object_set_new(request, "accessibility_requirements",
                        json_pack("{s:[{s:{s:s}}]}", "preferred", "segments",
                                  "topology.rbd.csi.ceph.com/zone", zone));
    _cleanup_free_ char *text = json_dumps(request, 0);
    return call_for("CreateVolume", text, "volume", "volume_id", &world->volume, err);
}

static int clone_volume(struct world *world, struct error *err)
{
    _cleanup_free_ char *source = xasprintf("{\"volume\":{\"volume_id\":\"%s\"}}", world->volume);

    return create_from("pvc-cut-clone", 16 * MIB, source, &world->second, err);
}

static int restore(struct world *world, struct error *err)
{
    _cleanup_free_ char *source =
        xasprintf("{\"snapshot\":{\"snapshot_id\":\"%s\"}}", world->snapshot);

    return create_from("pvc-cut-restored", 16 * MIB, source, &world->second, err);
}

static int create_snapshot(struct world *world, struct error *err)
{
    _cleanup_free_ char *request =
        xasprintf("{\"name\":\"snap-cut\",\"source_volume_id\":\"%s\"}", world->volume);

    return call_for("CreateSnapshot", request, "snapshot", "snapshot_id", &world->snapshot, err);
}

static int delete_volume(struct world *world, struct error *err)
{
    return harness_delete_volume(&driver, world->volume, err);
}

static int delete_second(struct world *world, struct error *err)
{
    return harness_delete_volume(&driver, world->second, err);
}

static int delete_snapshot(struct world *world, struct error *err)
{
    _cleanup_free_ char *request = xasprintf("{\"snapshot_id\":\"%s\"}", world->snapshot);

    return harness_call(
        &driver, &(struct harness_call){.method = "DeleteSnapshot", .request = request}, NULL, err);
}

/* --- one run ------------------------------------------------------------------------------------
 */

/* Tells the driver where to die, or that it need not. */
static void order_cut(const char *order)
{
    _cleanup_fclose_ FILE *file = fopen(getenv("CUT_FILE"), "we");

    assert_non_null(file);
    fputs(order, file);
}

/* An image that the killed driver had open counts as in use until its watch expires. */
static int run_patiently(step *run, struct world *world, struct error *err)
{
    struct deadline deadline = deadline_in_ms(40000);
    int result = run(world, err);

    while (result < 0 && err->status == STATUS_FAILED_PRECONDITION &&
           !deadline_has_passed(deadline)) {
        error_clear(err);
        usleep(200000);
        result = run(world, err);
    }
    return result;
}

static void run_all(struct world *world, step *const *steps)
{
    _cleanup_error_ struct error err = {0};

    for (size_t i = 0; steps[i]; i++)
        if (run_patiently(steps[i], world, &err) < 0)
            fail_msg("step %zu: %s", i, err.message);
}

static char *replace_all(const char *text, const char *expression)
{
    struct text out = TEXT_INIT(1024 * 1024);
    regex_t pattern;
    regmatch_t match;

    assert_int_equal(regcomp(&pattern, expression, REG_EXTENDED), 0);
    while (regexec(&pattern, text, 1, &match, 0) == 0) {
        text_add_bytes(&out, text, (size_t)match.rm_so);
        text_add(&out, "#");
        text += match.rm_eo;
    }
    text_add(&out, text);
    regfree(&pattern);
    return text_take(&out);
}

/* What differs from run to run: uuids, and image ids, which are hexadecimal numbers behind a dot or
 * an underscore, in object maps with a snapshot's id behind them. */
static char *normalise(const char *contents)
{
    _cleanup_free_ char *without_uuids =
        replace_all(contents, "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");

    return replace_all(without_uuids, "[._][0-9a-f]{8,16}(\\.[0-9a-f]{16})?");
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The pool's contents in an order that does not depend on the names. */
static char *pool_state(void)
{
    _cleanup_free_ char *contents = harness_pool_contents(POOL);
    _cleanup_free_ char *normal = normalise(contents);
    struct text out = TEXT_INIT(1024 * 1024);
    char *lines[512];
    size_t count = 0;
    char *rest = NULL;

    for (char *line = strtok_r(normal, "\n", &rest); line && count < ARRAY_LENGTH(lines);
         line = strtok_r(NULL, "\n", &rest))
        lines[count++] = line;
    if (count > 1)
        qsort(lines, count, sizeof(lines[0]), compare_lines);
    for (size_t i = 0; i < count; i++)
        text_addf(&out, "%s\n", lines[i]);
    return text_take(&out);
}

/* The pool may take a moment: data of deleted images goes in the background. */
static void assert_state(const struct scenario *scenario, unsigned cut, const char *wanted)
{
    struct deadline deadline = deadline_in_ms(20000);
    char *state = pool_state();

    while (strcmp(state, wanted) != 0 && !deadline_has_passed(deadline)) {
        usleep(100000);
        free(state);
        state = pool_state();
    }
    if (strcmp(state, wanted) != 0)
        fail_msg("%s, cut %u: wanted\n%sgot\n%s", scenario->title, cut, wanted, state);
    free(state);
}

static void clean_up(const struct scenario *scenario, struct world *world)
{
    run_all(world, scenario->after);
    harness_assert_pool_empties(POOL);
    if (scenario->wanders) {
        harness_assert_pool_empties("zone-b");
        harness_assert_pool_empties("common");
    }
    free(world->volume);
    free(world->second);
    free(world->snapshot);
    *world = (struct world){0};
}

static char *undisturbed(const struct scenario *scenario)
{
    _cleanup_error_ struct error err = {0};
    struct world world = {0};

    run_all(&world, scenario->before);
    if (scenario->tested(&world, &err) < 0)
        fail_msg("%s: %s", scenario->title, err.message);
    usleep(500000); /* for what goes in the background */
    char *state = pool_state();
    clean_up(scenario, &world);
    return state;
}

/* True if the driver is dead. What goes in the background may kill it a little later. */
static bool driver_dies(int64_t within_ms)
{
    struct deadline deadline = deadline_in_ms(within_ms);
    int status = 0;

    while (waitpid(driver.pid, &status, WNOHANG) != driver.pid) {
        if (deadline_has_passed(deadline))
            return false;
        usleep(10000);
    }
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    driver.pid = 0;
    rpc_client_free(driver.client);
    driver.client = NULL;
    return true;
}

/* Cuts after @n Ceph calls. False when the operation has fewer. */
static bool cut(const struct scenario *scenario, unsigned n, const char *wanted)
{
    _cleanup_free_ char *order = xasprintf("%u %s", n, scenario->methods);
    _cleanup_error_ struct error first = {0};
    _cleanup_error_ struct error err = {0};
    struct world world = {0};

    run_all(&world, scenario->before);
    order_cut(order);
    int result = scenario->tested(&world, &first);
    bool died = driver_dies(result < 0 ? 5000 : 500);
    order_cut("off");
    if (died)
        harness_start(&driver, NULL);
    if (run_patiently(scenario->tested, &world, &err) < 0)
        fail_msg("%s, cut %u: the retry failed: %s", scenario->title, n, err.message);
    if (!scenario->wanders)
        assert_state(scenario, n, wanted);
    clean_up(scenario, &world);
    return died;
}

static void check(const struct scenario *scenario)
{
    _cleanup_free_ char *wanted = undisturbed(scenario);
    unsigned n = 0;

    while (n < CUTS_MAX && cut(scenario, n, wanted))
        n++;
    assert_true(n > 1 && n < CUTS_MAX);
    print_message("figure: %s: killed at %u points\n", scenario->title, n);
}

/* --- scenarios ----------------------------------------------------------------------------------
 */

static void creation_survives_every_cut(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "CreateVolume",
                             .methods = "CreateVolume",
                             .tested = create_volume,
                             .after = {delete_volume}});
}

static void creation_survives_every_cut_and_a_move_to_another_zone(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "CreateVolume, retried in another zone",
                             .methods = "CreateVolume",
                             .tested = create_in_a_zone,
                             .after = {delete_volume},
                             .wanders = true});
}

static void clone_survives_every_cut(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "CreateVolume from a volume",
                             .methods = "CreateVolume",
                             .before = {create_volume},
                             .tested = clone_volume,
                             .after = {delete_second, delete_volume}});
}

static void restore_survives_every_cut(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "CreateVolume from a snapshot",
                             .methods = "CreateVolume",
                             .before = {create_volume, create_snapshot},
                             .tested = restore,
                             .after = {delete_snapshot, delete_volume, delete_second}});
}

static void snapshot_survives_every_cut(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "CreateSnapshot",
                             .methods = "CreateSnapshot",
                             .before = {create_volume},
                             .tested = create_snapshot,
                             .after = {delete_volume, delete_snapshot}});
}

static void deletion_survives_every_cut(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "DeleteVolume",
                             .methods = "DeleteVolume purge",
                             .before = {create_volume},
                             .tested = delete_volume,
                             .after = {NULL}});
}

static void snapshot_deletion_survives_every_cut(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "DeleteSnapshot",
                             .methods = "DeleteSnapshot purge",
                             .before = {create_volume, create_snapshot},
                             .tested = delete_snapshot,
                             .after = {delete_volume}});
}

static int prepare(void **state)
{
    const char *cut_driver = getenv("CEPHCSI_CUT");

    (void)state;
    if (!cut_driver) {
        fprintf(stderr, "CEPHCSI_CUT is not set: run this test with 'make integration'\n");
        return -1;
    }
    setenv("CEPHCSI", cut_driver, 1);
    rpc_init();
    harness_init(&driver);
    _cleanup_free_ char *file = xasprintf("%s/cut", driver.folder);
    setenv("CUT_FILE", file, 1);
    order_cut("off");
    harness_start(&driver, NULL);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    _cleanup_free_ char *file = xasprintf("%s/cut", driver.folder);
    unlink(file);
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation_survives_every_cut),
        cmocka_unit_test(creation_survives_every_cut_and_a_move_to_another_zone),
        cmocka_unit_test(clone_survives_every_cut),
        cmocka_unit_test(restore_survives_every_cut),
        cmocka_unit_test(snapshot_survives_every_cut),
        cmocka_unit_test(deletion_survives_every_cut),
        cmocka_unit_test(snapshot_deletion_survives_every_cut),
    };

    return cmocka_run_group_tests_name("cuts", tests, prepare, finish);
}
