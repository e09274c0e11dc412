#include "tests/integration/node_cuts.h"

#include "common/base/memory.h"
#include "tests/integration/cuts.h"
#include "tests/test.h"

#define CUTS_MAX 100

static void run_all(node_step *const *steps, const struct test_volume *volume)
{
    for (size_t i = 0; steps[i]; i++)
        must(steps[i](volume, &err));
}

/* Handles, which are long and differ from run to run, become '#'. */
static char *state_of(const struct test_volume *volume)
{
    _cleanup_free_ char *left = node_leftovers();
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

/* The name is the same in all runs, so that the states can be compared. */
static void set_up(const struct node_cuts_scenario *scenario, struct test_volume *volume)
{
    *volume = (struct test_volume){.flag = scenario->flag};
    if (!scenario->is_block)
        volume->fs_type = scenario->fs_type ? scenario->fs_type : plain_fs_type();
    test_volume_create(volume, "cut", scenario->size_bytes ? scenario->size_bytes : 32 * MIB);
    node_on_failure(cuts_order, "off");
    run_all(scenario->before, volume);
}

static void tear_down(const struct node_cuts_scenario *scenario, struct test_volume *volume)
{
    run_all(scenario->after, volume);
    assert_nothing_left();
    node_undone("off");
    test_volume_delete(volume);
}

static char *undisturbed(const struct node_cuts_scenario *scenario)
{
    struct test_volume volume;

    set_up(scenario, &volume);
    must(scenario->tested(&volume, &err));
    char *state = state_of(&volume);
    tear_down(scenario, &volume);
    return state;
}

/* Cuts after @n calls. False when the operation has fewer. */
static bool cut(const struct node_cuts_scenario *scenario, unsigned n, const char *wanted)
{
    _cleanup_free_ char *order = xasprintf("%u host %s", n, scenario->method);
    _cleanup_error_ struct error first = {0};
    struct test_volume volume;

    set_up(scenario, &volume);
    cuts_order(order);
    node.driver.once = true;
    int result = scenario->tested(&volume, &first);
    node.driver.once = false;
    bool died = cuts_take_back(&node.driver);
    if (result < 0 && !died)
        fail_msg("%s, cut %u: refused instead: %s", scenario->method, n, first.message);
    if (died)
        node_fixture_start();
    must(scenario->tested(&volume, &err));
    _cleanup_free_ char *state = state_of(&volume);
    if (strcmp(state, wanted) != 0)
        fail_msg("%s, cut %u: wanted\n%sgot\n%s", scenario->method, n, wanted, state);
    tear_down(scenario, &volume);
    return died;
}

void node_cuts_check(const struct node_cuts_scenario *scenario)
{
    _cleanup_free_ char *wanted = undisturbed(scenario);
    unsigned n = 0;

    while (n < CUTS_MAX && cut(scenario, n, wanted))
        n++;
    assert_true(n > 1 && n < CUTS_MAX);
    print_message("figure: %s%s: killed at %u points\n", scenario->method,
                  scenario->is_block ? " of a block volume" : "", n);
}

/* --- both kinds of volumes --- */

NODE_TEST(staging_survives_every_cut)
{
    node_cuts_check(&(struct node_cuts_scenario){.method = "NodeStageVolume",
                                                 .flag = "noexec",
                                                 .tested = node_stage,
                                                 .after = {node_unstage}});
}

NODE_TEST(publishing_survives_every_cut)
{
    node_cuts_check(&(struct node_cuts_scenario){.method = "NodePublishVolume",
                                                 .before = {node_stage},
                                                 .tested = node_publish,
                                                 .after = {node_unpublish, node_unstage}});
}

NODE_TEST(unpublishing_survives_every_cut)
{
    node_cuts_check(&(struct node_cuts_scenario){.method = "NodeUnpublishVolume",
                                                 .before = {node_stage, node_publish},
                                                 .tested = node_unpublish,
                                                 .after = {node_unstage}});
}

NODE_TEST(unstaging_survives_every_cut)
{
    node_cuts_check(&(struct node_cuts_scenario){
        .method = "NodeUnstageVolume", .before = {node_stage}, .tested = node_unstage});
}

static int prepare(void **state)
{
    (void)state;
    if (cuts_use_driver() < 0)
        return -1;
    node_fixture_init();
    cuts_use_file(&node.driver);
    node_fixture_start();
    return 0;
}

static int finish(void **state)
{
    cuts_remove_file(&node.driver);
    return node_fixture_end(state);
}

TEST_GROUP(prepare, finish)
