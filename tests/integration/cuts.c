#include "tests/integration/cuts.h"

#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/test.h"

#define CUTS_MAX 200

struct driver_process cuts_driver;

int cuts_call(const char *method, const char *request, const char *object, const char *field,
              char **handle, struct error *err)
{
    json_auto_t *reply = NULL;

    if (harness_call(&cuts_driver, &(struct harness_call){.method = method, .request = request},
                     &reply, err) < 0)
        return -1;
    free(*handle);
    *handle = xstrdup(json_string_value(json_object_get(json_object_get(reply, object), field)));
    return 0;
}

void cuts_world_done(struct cuts_world *world)
{
    free(world->volume);
    free(world->second);
    free(world->snapshot);
    *world = (struct cuts_world){0};
}

/* --- one run --- */

/* Opens and locks the file of the order, and reads it. */
static int open_order(char *order, size_t size)
{
    const char *path = getenv("CUT_FILE");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

    assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
    ssize_t length = pread(fd, order, size - 1, 0);
    order[length > 0 ? length : 0] = '\0';
    return fd;
}

/* Replaces the order; true if the driver has died of the old one. */
static bool replace_order(const char *order)
{
    char old[128];
    _cleanup_close_ int fd = open_order(old, sizeof(old));

    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, order, strlen(order), 0), strlen(order));
    return strcmp(old, "dead") == 0;
}

void cuts_order(const char *order)
{
    replace_order(order);
}

bool cuts_has_struck(void)
{
    char order[128];

    close(open_order(order, sizeof(order)));
    return strcmp(order, "dead") == 0;
}

bool cuts_take_back(struct driver_process *driver)
{
    int status = 0;

    if (!replace_order("off"))
        return false;
    assert_int_equal(waitpid(driver->pid, &status, 0), driver->pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    driver->pid = 0;
    rpc_client_free(driver->client);
    driver->client = NULL;
    return true;
}

/* An image that the killed driver had open counts as in use until its watch expires. */
static int run_patiently(cuts_step *run, struct cuts_world *world, struct error *err)
{
    struct test_wait wait = {0};
    int result = run(world, err);

    while (result < 0 && err->status == STATUS_FAILED_PRECONDITION && test_wait_more(&wait)) {
        error_clear(err);
        result = run(world, err);
    }
    return result;
}

static void run_all(struct cuts_world *world, cuts_step *const *steps)
{
    _cleanup_error_ struct error err = {0};

    for (size_t i = 0; steps[i]; i++)
        if (run_patiently(steps[i], world, &err) < 0)
            fail_msg("step %zu: %s", i, err.message);
}

static char *replace_all(const char *text, const char *expression)
{
    struct text out = TEXT_INIT(8 * 1024 * 1024);
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

/* The contents in an order that does not depend on the names. */
char *cuts_state(const struct cuts_setup *setup)
{
    _cleanup_free_ char *contents = setup->contents();
    _cleanup_free_ char *normal = normalise(contents);
    struct text out = TEXT_INIT(8 * 1024 * 1024);
    _cleanup_free_ char **lines = NULL;
    size_t count = 0;
    char *rest = NULL;

    for (char *line = strtok_r(normal, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        lines = xreallocarray(lines, count + 1, sizeof(*lines));
        lines[count++] = line;
    }
    if (count > 1)
        qsort(lines, count, sizeof(lines[0]), compare_lines);
    for (size_t i = 0; i < count; i++)
        text_addf(&out, "%s\n", lines[i]);
    return text_take(&out);
}

/* When the background has done its work: the trash is empty, and half a second changes nothing. */
static char *settled_state(const struct cuts_setup *setup)
{
    struct test_wait wait = {0};
    char *state = cuts_state(setup);

    for (;;) {
        char *before = state;

        usleep(500000);
        state = cuts_state(setup);
        bool has_settled = !strstr(state, "/rbd_trash ") && strcmp(state, before) == 0;
        free(before);
        if (has_settled || !test_wait_more(&wait))
            return state;
    }
}

/* The pool may take a moment: data of deleted images goes in the background. */
static void assert_state(const struct cuts_setup *setup, const struct cuts_scenario *scenario,
                         unsigned cut, const char *wanted)
{
    struct test_wait wait = {0};
    char *state = cuts_state(setup);

    while (strcmp(state, wanted) != 0 && test_wait_more(&wait)) {
        free(state);
        state = cuts_state(setup);
    }
    if (strcmp(state, wanted) != 0)
        fail_msg("%s, cut %u: wanted\n%sgot\n%s", scenario->title, cut, wanted, state);
    free(state);
}

static void clean_up(const struct cuts_setup *setup, const struct cuts_scenario *scenario,
                     struct cuts_world *world)
{
    run_all(world, scenario->after);
    assert_state(setup, scenario, 0, "");
    cuts_world_done(world);
}

char *cuts_undisturbed(const struct cuts_setup *setup, const struct cuts_scenario *scenario)
{
    _cleanup_error_ struct error err = {0};
    struct cuts_world world = {0};

    run_all(&world, scenario->before);
    if (run_patiently(scenario->tested, &world, &err) < 0)
        fail_msg("%s: %s", scenario->title, err.message);
    char *state = settled_state(setup);
    clean_up(setup, scenario, &world);
    return state;
}

/* Waits for the background too, which may be what is cut: until it has done its work, or has died
 * over it. */
static void wait_for_background(const struct cuts_setup *setup, const char *wanted)
{
    struct test_wait wait = {0};

    for (;;) {
        _cleanup_free_ char *state = cuts_state(setup);

        if (cuts_has_struck() || strcmp(state, wanted) == 0 || !test_wait_more(&wait))
            return; /* assert_state() says what is wrong */
    }
}

/* Cuts after @n Ceph calls. False when the operation has fewer. */
static bool cut(const struct cuts_setup *setup, const struct cuts_scenario *scenario, unsigned n,
                const char *wanted)
{
    _cleanup_free_ char *order = xasprintf("%u %s", n, scenario->methods);
    _cleanup_error_ struct error first = {0};
    _cleanup_error_ struct error err = {0};
    struct cuts_world world = {0};

    run_all(&world, scenario->before);
    cuts_order(order);
    cuts_driver.once = true;
    int result = scenario->tested(&world, &first);
    cuts_driver.once = false;
    if (result == 0 && !scenario->wanders)
        wait_for_background(setup, wanted);
    bool died = cuts_take_back(&cuts_driver);
    if (died)
        harness_start(&cuts_driver, setup->flags);
    if (run_patiently(scenario->tested, &world, &err) < 0)
        fail_msg("%s, cut %u: the retry failed: %s", scenario->title, n, err.message);
    if (!scenario->wanders)
        assert_state(setup, scenario, n, wanted);
    clean_up(setup, scenario, &world);
    return died;
}

void cuts_check(const struct cuts_setup *setup, const struct cuts_scenario *scenario)
{
    _cleanup_free_ char *wanted = cuts_undisturbed(setup, scenario);
    unsigned n = 0;

    while (n < CUTS_MAX && cut(setup, scenario, n, wanted))
        n++;
    assert_true(n > 1 && n < CUTS_MAX);
    print_message("figure: %s: killed at %u points\n", scenario->title, n);
}

int cuts_use_driver(void)
{
    const char *cut_driver = getenv("CEPHCSI_CUT");

    if (!cut_driver) {
        fprintf(stderr, "CEPHCSI_CUT is not set: run this test with 'make integration'\n");
        return -1;
    }
    setenv("CEPHCSI", cut_driver, 1);
    return 0;
}

void cuts_use_file(const struct driver_process *driver)
{
    _cleanup_free_ char *file = xasprintf("%s/cut", driver->folder);

    setenv("CUT_FILE", file, 1);
    cuts_order("off");
}

void cuts_remove_file(const struct driver_process *driver)
{
    _cleanup_free_ char *file = xasprintf("%s/cut", driver->folder);

    unlink(file);
}

int cuts_prepare(const struct cuts_setup *setup)
{
    if (cuts_use_driver() < 0)
        return -1;
    rpc_init();
    harness_init(&cuts_driver);
    cuts_use_file(&cuts_driver);
    harness_start(&cuts_driver, setup->flags);
    return 0;
}

int cuts_finish(void **state)
{
    (void)state;
    cuts_remove_file(&cuts_driver);
    harness_done(&cuts_driver);
    rpc_shutdown();
    return 0;
}
