/*
 * The driver killed by SIGKILL at each step of staging, publishing, growing, unpublishing and
 * unstaging a volume on a real machine, then started again and asked the same: the end must be that
 * of an undisturbed run, and in the end nothing may be left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/cuts.h"
#include "tests/integration/node_fixture.h"

#define CUTS_MAX 100

static struct test_node node;

typedef int step(const struct test_volume *volume, struct error *err);

struct scenario {
    const char *title;
    const char *method;
    const char *fs_type; /* NULL: a block volume */
    long long size_bytes;
    step *before[4]; /* undisturbed; ends with NULL */
    step *tested;
    step *after[4]; /* what takes everything down; ends with NULL */
};

static int stage(const struct test_volume *volume, struct error *err)
{
    return node_stage(&node, volume, err);
}

static int publish(const struct test_volume *volume, struct error *err)
{
    return node_publish(&node, volume, err);
}

static int grow(const struct test_volume *volume, struct error *err)
{
    return node_grow(&node, volume, 352 * MIB, err);
}

static int unpublish(const struct test_volume *volume, struct error *err)
{
    return node_unpublish(&node, volume, err);
}

static int unstage(const struct test_volume *volume, struct error *err)
{
    return node_unstage(&node, volume, err);
}

static void run_all(step *const *steps, const struct test_volume *volume)
{
    for (size_t i = 0; steps[i]; i++)
        must(steps[i](volume, &err));
}

/* Handles, which are long and differ from run to run, become '#'. */
static char *state_of(const struct test_volume *volume)
{
    _cleanup_free_ char *left = node_leftovers(&node);
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

static void tear_down(const struct scenario *scenario, struct test_volume *volume)
{
    run_all(scenario->after, volume);
    _cleanup_free_ char *left = node_leftovers(&node);
    assert_string_equal(left, "");
    test_volume_delete(&node, volume);
}

/* The name is the same in all runs, so that the states can be compared. */
static void set_up(const struct scenario *scenario, struct test_volume *volume)
{
    *volume = (struct test_volume){.fs_type = scenario->fs_type};
    test_volume_create(&node, volume, "cut", scenario->size_bytes);
    run_all(scenario->before, volume);
}

static char *undisturbed(const struct scenario *scenario)
{
    struct test_volume volume;

    set_up(scenario, &volume);
    must(scenario->tested(&volume, &err));
    char *state = state_of(&volume);
    tear_down(scenario, &volume);
    return state;
}

/* Cuts after @n calls. False when the operation has fewer. */
static bool cut(const struct scenario *scenario, unsigned n, const char *wanted)
{
    _cleanup_free_ char *order = xasprintf("%u host %s", n, scenario->method);
    _cleanup_error_ struct error first = {0};
    struct test_volume volume;

    set_up(scenario, &volume);
    cuts_order(order);
    int result = scenario->tested(&volume, &first);
    bool died = cuts_driver_dies(&node.driver, result < 0 ? 5000 : 0);
    cuts_order("off");
    if (died)
        node_fixture_start(&node);
    must(scenario->tested(&volume, &err));
    _cleanup_free_ char *state = state_of(&volume);
    if (strcmp(state, wanted) != 0)
        fail_msg("%s, cut %u: wanted\n%sgot\n%s", scenario->title, n, wanted, state);
    tear_down(scenario, &volume);
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

static void staging_survives_every_cut(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "NodeStageVolume of a new file system",
                             .method = "NodeStageVolume",
                             .fs_type = "ext4",
                             .size_bytes = 32 * MIB,
                             .tested = stage,
                             .after = {unstage}});
}

static void staging_of_a_block_volume_survives_every_cut(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "NodeStageVolume of a block volume",
                             .method = "NodeStageVolume",
                             .size_bytes = 16 * MIB,
                             .tested = stage,
                             .after = {unstage}});
}

static void publishing_survives_every_cut(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "NodePublishVolume",
                             .method = "NodePublishVolume",
                             .fs_type = "ext4",
                             .size_bytes = 32 * MIB,
                             .before = {stage},
                             .tested = publish,
                             .after = {unpublish, unstage}});
}

static void growing_survives_every_cut(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "NodeExpandVolume",
                             .method = "NodeExpandVolume",
                             .fs_type = "xfs",
                             .size_bytes = 320 * MIB,
                             .before = {stage, publish},
                             .tested = grow,
                             .after = {unpublish, unstage}});
}

static void unpublishing_survives_every_cut(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "NodeUnpublishVolume",
                             .method = "NodeUnpublishVolume",
                             .fs_type = "ext4",
                             .size_bytes = 32 * MIB,
                             .before = {stage, publish},
                             .tested = unpublish,
                             .after = {unstage}});
}

static void unstaging_survives_every_cut(void **state)
{
    (void)state;
    check(&(struct scenario){.title = "NodeUnstageVolume",
                             .method = "NodeUnstageVolume",
                             .fs_type = "ext4",
                             .size_bytes = 32 * MIB,
                             .before = {stage},
                             .tested = unstage,
                             .after = {NULL}});
}

static int prepare(void **state)
{
    (void)state;
    if (cuts_use_driver() < 0)
        return -1;
    rpc_init();
    node_fixture_init(&node);
    cuts_use_file(&node.driver);
    node_fixture_start(&node);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    cuts_remove_file(&node.driver);
    harness_assert_pool_empties("common");
    node_fixture_done(&node);
    rpc_shutdown();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(staging_survives_every_cut),
        cmocka_unit_test(staging_of_a_block_volume_survives_every_cut),
        cmocka_unit_test(publishing_survives_every_cut),
        cmocka_unit_test(growing_survives_every_cut),
        cmocka_unit_test(unpublishing_survives_every_cut),
        cmocka_unit_test(unstaging_survives_every_cut),
    };

    node_fixture_isolate();
    return cmocka_run_group_tests_name("node cuts", tests, prepare, finish);
}
