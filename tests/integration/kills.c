#include "tests/integration/kills.h"

#include <signal.h>
#include <unistd.h>

#include "common/base/deadline.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/test.h"

#define BATCH 40
#define POINTS_MAX 1000
/* How long a caller goes on; what is not done by then counts as stuck. A watch of a dead process
 * takes 30 s to expire. */
#define PATIENCE_MS 120000
#define PAUSE_MS 200

struct life {
    struct cuts_world world;
    unsigned point;
    size_t next; /* the step that is to be made */
    bool is_stuck;
};

struct kills {
    const struct cuts_setup *setup;
    const struct cuts_scenario *scenario;
    const struct kills_plan *plan;
    char *wanted; /* what one life leaves before it is deleted */
    struct life lives[BATCH];
    size_t count;
    bool batch_stuck;
    unsigned begun; /* in all batches, as are those below */
    unsigned killed;
    unsigned stuck;
    unsigned internal; /* answers for which nothing in Ceph is a reason */
    unsigned left;     /* lines of the state that should not be there, or are missing */
};

unsigned kills_setting(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);

    return text && text[0] ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

/* --- going on until it succeeds --- */

int kills_try_step(cuts_step *step, struct cuts_world *world, struct error *err)
{
    cuts_driver.once = true;
    int result = step(world, err);
    cuts_driver.once = false;
    return result;
}

static void note_answer(struct kills *kills, const struct life *life, const struct error *err)
{
    if (err->message && err->status == STATUS_INTERNAL) {
        kills->internal++;
        print_message("%s, point %u: %s\n", kills->scenario->title, life->point, err->message);
    }
}

static void report_stuck(struct kills *kills, struct life *life, const struct error *err)
{
    life->is_stuck = true;
    kills->batch_stuck = true;
    kills->stuck++;
    print_message("%s, point %u: stuck at step %zu: %s: %s\n", kills->scenario->title, life->point,
                  life->next, status_name(err->status), err->message);
}

/* Makes the next step of each life that has one left; false when none has. At the end of the
 * patience a failure is for good. */
static bool make_next_steps(struct kills *kills, cuts_step *const *steps, bool is_last_try)
{
    bool any_left = false;

    for (size_t i = 0; i < kills->count; i++) {
        struct life *life = &kills->lives[i];
        _cleanup_error_ struct error err = {0};

        while (!life->is_stuck && steps[life->next] && !err.message)
            if (kills_try_step(steps[life->next], &life->world, &err) == 0)
                life->next++;
            else if (is_last_try)
                report_stuck(kills, life, &err);
        note_answer(kills, life, &err);
        any_left = any_left || (!life->is_stuck && steps[life->next]);
    }
    return any_left;
}

/* Makes all steps of all lives. */
static void make_steps(struct kills *kills, cuts_step *const *steps)
{
    const struct deadline end = deadline_in_ms(PATIENCE_MS);

    for (size_t i = 0; i < kills->count; i++)
        kills->lives[i].next = 0;
    while (make_next_steps(kills, steps, deadline_has_passed(end)))
        usleep(PAUSE_MS * 1000);
}

/* --- what is left --- */

/* The line at *@text, which moves behind it; NULL at the end. */
static char *next_line(char **text)
{
    return **text ? strsep(text, "\n") : NULL;
}

/* Lines of one sorted text that are not in the other, into @out. */
static unsigned compare_lines(const char *wanted, const char *found, struct text *out)
{
    _cleanup_free_ char *wanted_copy = xstrdup(wanted);
    _cleanup_free_ char *found_copy = xstrdup(found);
    char *rest_wanted = wanted_copy;
    char *rest_found = found_copy;
    char *want = next_line(&rest_wanted);
    char *have = next_line(&rest_found);
    unsigned differences = 0;

    while (want || have) {
        const int order = !want ? 1 : !have ? -1 : strcmp(want, have);

        if (order != 0) {
            text_addf(out, "%s %s\n", order < 0 ? "missing" : "left", order < 0 ? want : have);
            differences++;
        }
        if (order <= 0)
            want = next_line(&rest_wanted);
        if (order >= 0)
            have = next_line(&rest_found);
    }
    return differences;
}

/* What @count lives leave, if each leaves @one. Caller frees. */
static char *multiply(const char *one, size_t count)
{
    struct text out = TEXT_INIT(8 * 1024 * 1024);
    _cleanup_free_ char *copy = xstrdup(one);
    char *rest = NULL;

    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        for (size_t i = 0; i < count; i++)
            text_addf(&out, "%s\n", line);
    text_add(&out, "");
    return text_take(&out);
}

/* Ceph may take a moment: some goes in the background. */
static void compare_state(struct kills *kills, const char *wanted, const char *when)
{
    _cleanup_text_ struct text difference = TEXT_INIT(8 * 1024 * 1024);
    struct test_wait wait = {0};
    char *state = cuts_state(kills->setup);

    while (strcmp(state, wanted) != 0 && test_wait_more(&wait)) {
        free(state);
        state = cuts_state(kills->setup);
    }
    const unsigned count = compare_lines(wanted, state, &difference);
    if (count > 0)
        print_message("%s, %s:\n%s", kills->scenario->title, when, text_chars(&difference));
    kills->left += count;
    free(state);
}

/* --- batches --- */

/* False if the point does not exist. */
static bool begin_life(struct kills *kills)
{
    const unsigned stride = kills->plan->stride ? kills->plan->stride : 1;
    struct kills_point point = {
        .setup = kills->setup, .scenario = kills->scenario, .number = 1 + kills->begun * stride};
    struct life *life = &kills->lives[kills->count++];
    _cleanup_error_ struct error err = {0};

    *life = (struct life){.world.number = ++kills->begun, .point = point.number};
    if (kills->scenario->deletes) {
        _cleanup_free_ char *state = cuts_state(kills->setup);

        point.floor = strlen(state);
    }
    for (cuts_step *const *step = kills->scenario->before; *step; step++)
        if ((*step)(&life->world, &err) < 0)
            fail_msg("%s, point %u: %s", kills->scenario->title, life->point, err.message);
    const bool died = kills->plan->strike(&point, &life->world, &err);
    note_answer(kills, life, &err);
    if (!died)
        return false;
    kills->killed++;
    error_clear(&err);
    /* what the caller's first retry finds is often more alive than what it finds at last */
    (void)kills_try_step(kills->scenario->tested, &life->world, &err);
    note_answer(kills, life, &err);
    return true;
}

/* The next batch begins as if this one had left nothing. */
static void start_anew(const struct kills *kills)
{
    harness_stop(&cuts_driver, SIGKILL, 60000);
    kills->plan->clean_up();
    kills_start_driver(kills->setup);
}

/* Lets all lives of the batch come to their ends. */
static void end_batch(struct kills *kills)
{
    cuts_step *const tested[] = {kills->scenario->tested, NULL};
    _cleanup_free_ char *wanted = multiply(kills->wanted, kills->count);
    const unsigned bad = kills->stuck + kills->left;

    kills->batch_stuck = false;
    make_steps(kills, tested);
    if (!kills->batch_stuck) /* else it differs, and the end says by what */
        compare_state(kills, wanted, "before deletion");
    make_steps(kills, kills->scenario->after);
    compare_state(kills, "", "after deletion");
    if (kills->stuck + kills->left > bad)
        start_anew(kills);
    for (size_t i = 0; i < kills->count; i++)
        cuts_world_done(&kills->lives[i].world);
    kills->count = 0;
}

void kills_check(const struct cuts_setup *setup, const struct cuts_scenario *scenario,
                 const struct kills_plan *plan)
{
    struct kills kills = {.setup = setup,
                          .scenario = scenario,
                          .plan = plan,
                          .wanted = cuts_undisturbed(setup, scenario)};
    const unsigned limit = plan->count ? plan->count : POINTS_MAX;
    bool has_more = true;

    while (has_more && kills.begun < limit) {
        while (has_more && kills.begun < limit && kills.count < BATCH)
            has_more = begin_life(&kills);
        end_batch(&kills);
    }
    print_message("figure: %s: %u kills, %u stuck, %u left over, %u INTERNAL\n", scenario->title,
                  kills.killed, kills.stuck, kills.left, kills.internal);
    free(kills.wanted);
    assert_int_equal(kills.stuck, 0);
    assert_int_equal(kills.left, 0);
    assert_int_equal(kills.internal, 0);
    assert_true(kills.killed > 0);
}
