#include "tests/integration/node_cuts.h"

#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/cuts.h"
#include "tests/test.h"

#define CUTS_MAX 100

static void run_all(struct test_node *node, node_cuts_step *const *steps,
                    const struct test_volume *volume)
{
    for (size_t i = 0; steps[i]; i++)
        must(steps[i](node, volume, &err));
}

/* Handles, which are long and differ from run to run, become '#'. */
static char *state_of(struct test_node *node, const struct test_volume *volume)
{
    _cleanup_free_ char *left = node_leftovers(node);
    _cleanup_free_ char *image = image_of(volume->handle);
    const char *const names[] = {volume->handle, image};
    char *text = xstrdup(left);

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        for (char *found = strstr(text, names[i]); found; found = strstr(text, names[i])) {
            *found = '#';
            memmove(found + 1, found + strlen(names[i]), strlen(found + strlen(names[i])) + 1);
        }
    /* the socket is named after a hash of the image's name, 16 digits */
    for (char *found = strstr(text, "/qmp/"); found; found = strstr(found + 1, "/qmp/"))
        memset(found + strlen("/qmp/"), '#', 16);
    return text;
}

static void tear_down(struct test_node *node, const struct node_cuts_scenario *scenario,
                      struct test_volume *volume)
{
    run_all(node, scenario->after, volume);
    _cleanup_free_ char *left = node_leftovers(node);
    assert_string_equal(left, "");
    test_volume_delete(node, volume);
}

/* The name is the same in all runs, so that the states can be compared. */
static void set_up(struct test_node *node, const struct node_cuts_scenario *scenario,
                   struct test_volume *volume)
{
    *volume = (struct test_volume){.fs_type = scenario->fs_type, .flag = scenario->flag};
    test_volume_create(node, volume, "cut", scenario->size_bytes);
    run_all(node, scenario->before, volume);
}

static char *undisturbed(struct test_node *node, const struct node_cuts_scenario *scenario)
{
    struct test_volume volume;

    set_up(node, scenario, &volume);
    must(scenario->tested(node, &volume, &err));
    char *state = state_of(node, &volume);
    tear_down(node, scenario, &volume);
    return state;
}

/* Cuts after @n calls. False when the operation has fewer. */
static bool cut(struct test_node *node, const struct node_cuts_scenario *scenario, unsigned n,
                const char *wanted)
{
    _cleanup_free_ char *order = xasprintf("%u host %s", n, scenario->method);
    _cleanup_error_ struct error first = {0};
    struct test_volume volume;

    set_up(node, scenario, &volume);
    cuts_order(order);
    node->driver.once = true;
    (void)scenario->tested(node, &volume, &first);
    node->driver.once = false;
    bool died = cuts_take_back(&node->driver);
    if (died)
        node_fixture_start(node);
    must(scenario->tested(node, &volume, &err));
    _cleanup_free_ char *state = state_of(node, &volume);
    if (strcmp(state, wanted) != 0)
        fail_msg("%s, cut %u: wanted\n%sgot\n%s", scenario->title, n, wanted, state);
    tear_down(node, scenario, &volume);
    return died;
}

void node_cuts_check(struct test_node *node, const struct node_cuts_scenario *scenario)
{
    _cleanup_free_ char *wanted = undisturbed(node, scenario);
    unsigned n = 0;

    while (n < CUTS_MAX && cut(node, scenario, n, wanted))
        n++;
    assert_true(n > 1 && n < CUTS_MAX);
    print_message("figure: %s: killed at %u points\n", scenario->title, n);
}

int node_cuts_prepare(struct test_node *node)
{
    if (cuts_use_driver() < 0)
        return -1;
    rpc_init();
    node_fixture_init(node);
    cuts_use_file(&node->driver);
    node_fixture_start(node);
    return 0;
}

void node_cuts_finish(struct test_node *node)
{
    cuts_remove_file(&node->driver);
    node_fixture_done(node);
    rpc_shutdown();
}
