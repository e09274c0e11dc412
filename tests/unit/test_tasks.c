/* Tasks that are repeated, replaced and counted; what they do for the driver is in test_purge.c. */
#include "common/base/tasks.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "common/base/memory.h"
#include "tests/test.h"

#define LONG_MS 600000

/* What a task is made with: shared by all objects of a test. */
struct work {
    int failures_left;
    int64_t come_back_ms;
    char tries[16]; /* the label of the object of each run */
    atomic_int runs;
    atomic_int released;
    atomic_int may_end;
    struct tasks *tasks; /* to start it once more from inside of the first run; NULL: not */
};

struct object {
    struct work *work;
    char label;
};

static const struct task_kind PATIENT;

static struct object *object_new(struct work *work, char label)
{
    struct object *object = xcalloc(1, sizeof(*object));

    *object = (struct object){work, label};
    return object;
}

static int run_object(void *pointer, struct call *call, struct error *err)
{
    const struct object *object = pointer;
    struct work *work = object->work;
    const int run = atomic_fetch_add(&work->runs, 1);

    work->tries[run] = object->label;
    if (work->tasks && run == 0)
        tasks_start(work->tasks, "k", &PATIENT, object_new(work, 'n'));
    if (work->failures_left > 0 && work->failures_left-- > 0)
        return error_set(err, STATUS_INTERNAL, "not today");
    if (run == 0 && work->come_back_ms > 0)
        task_come_back(call, work->come_back_ms);
    return 0;
}

static void release_object(void *pointer)
{
    struct object *object = pointer;

    atomic_fetch_add(&object->work->released, 1);
    free(object);
}

static const struct task_kind PATIENT = {.run = run_object,
                                         .release = release_object,
                                         .name = "patient",
                                         .retry_first_ms = LONG_MS,
                                         .retry_limit_ms = LONG_MS};
static const struct task_kind QUICK = {.run = run_object,
                                       .release = release_object,
                                       .name = "quick",
                                       .retry_first_ms = 1,
                                       .retry_limit_ms = 2};
static const struct task_kind ONCE = {.run = run_object, .release = release_object, .name = "once"};

static void tasks_end(struct tasks *tasks)
{
    assert_true(tasks_stop(tasks, LONG_MS));
    tasks_free(tasks);
}

TEST(failed_task_is_repeated_until_it_succeeds)
{
    struct work work = {.failures_left = 3};
    struct tasks *tasks = tasks_new(1);

    tasks_start(tasks, "k", &QUICK, object_new(&work, 'a'));
    wait_until(atomic_load(&work.released) == 1);
    assert_string_equal(work.tries, "aaaa");
    tasks_end(tasks);
}

TEST(repeated_task_waits_and_says_why)
{
    struct work work = {.failures_left = 1};
    struct tasks *tasks = tasks_new(0);
    _cleanup_free_ char *message = NULL;
    int percent = 0;

    tasks_start(tasks, "k", &PATIENT, object_new(&work, 'a'));
    assert_int_equal(tasks_count(tasks, "patient").pending, 1);
    tasks_run_here(tasks);
    assert_int_equal(tasks_ask(tasks, "k", &percent, &message), TASK_FAILED);
    assert_string_equal(message, "not today");
    assert_int_equal(tasks_count(tasks, "patient").failed, 1);
    assert_int_equal(tasks_count(tasks, "patient").pending, 0);
    assert_int_equal(tasks_count(tasks, "quick").failed, 0);
    tasks_run_here(tasks); /* as if the time had come */
    assert_string_equal(work.tries, "aa");
    assert_int_equal(tasks_count(tasks, "patient").failed, 0);
    tasks_end(tasks);
}

TEST(hurry_does_not_wait_for_the_next_try)
{
    struct work work = {.failures_left = 1};
    struct tasks *tasks = tasks_new(1);

    tasks_start(tasks, "k", &PATIENT, object_new(&work, 'a'));
    wait_until(tasks_count(tasks, "patient").failed == 1);
    tasks_hurry(tasks);
    wait_until(atomic_load(&work.released) == 1);
    assert_string_equal(work.tries, "aa");
    tasks_end(tasks);
}

TEST(next_try_is_made_with_what_came_last)
{
    struct work work = {.failures_left = 1};
    struct tasks *tasks = tasks_new(0);

    assert_true(tasks_start(tasks, "k", &PATIENT, object_new(&work, 'a')));
    assert_false(tasks_start(tasks, "k", &PATIENT, object_new(&work, 'b')));
    tasks_run_here(tasks);
    assert_false(tasks_start(tasks, "k", &PATIENT, object_new(&work, 'c')));
    assert_int_equal(tasks_count(tasks, "patient").pending, 1);
    tasks_run_here(tasks);
    assert_string_equal(work.tries, "bc");
    assert_int_equal(atomic_load(&work.released), 3);
    tasks_end(tasks);
}

TEST(asked_for_while_it_runs_it_runs_once_more)
{
    struct tasks *tasks = tasks_new(0);
    struct work work = {.failures_left = 1, .tasks = tasks};

    tasks_start(tasks, "k", &PATIENT, object_new(&work, 'a'));
    tasks_run_here(tasks);
    assert_string_equal(work.tries, "an");
    assert_int_equal(atomic_load(&work.released), 2);
    tasks_end(tasks);
}

TEST(task_that_comes_back_is_not_pending_meanwhile)
{
    struct work work = {.come_back_ms = LONG_MS};
    struct tasks *tasks = tasks_new(0);

    tasks_start(tasks, "k", &PATIENT, object_new(&work, 'a'));
    tasks_run_here(tasks);
    assert_int_equal(tasks_count(tasks, "patient").pending, 0);
    assert_int_equal(tasks_count(tasks, "patient").failed, 0);
    tasks_run_here(tasks);
    assert_string_equal(work.tries, "aa");
    assert_int_equal(atomic_load(&work.released), 1);
    tasks_end(tasks);
}

/* Waits until it may end. */
static int run_slowly(void *pointer, struct call *call, struct error *err)
{
    const struct object *object = pointer;

    (void)err;
    atomic_fetch_add(&object->work->runs, 1);
    while (object->label == 's' && !call_is_cancelled(call) &&
           atomic_load(&object->work->may_end) == 0)
        sched_yield();
    return 0;
}

static const struct task_kind SLOW = {
    .run = run_slowly, .release = release_object, .name = "slow", .at_once = 1};
static const struct task_kind FAST = {.run = run_slowly, .release = release_object, .name = "fast"};

TEST(long_tasks_leave_a_thread_to_others)
{
    struct work slow = {0};
    struct work fast = {0};
    struct tasks *tasks = tasks_new(2);

    tasks_start(tasks, "s1", &SLOW, object_new(&slow, 's'));
    tasks_start(tasks, "s2", &SLOW, object_new(&slow, 's'));
    tasks_start(tasks, "f", &FAST, object_new(&fast, 'f'));
    wait_until(atomic_load(&fast.released) == 1);
    assert_true(atomic_load(&slow.runs) <= 1);
    atomic_store(&slow.may_end, 1);
    wait_until(atomic_load(&slow.released) == 2);
    tasks_end(tasks);
}

TEST(task_that_is_not_repeated_fails_for_good)
{
    struct work work = {.failures_left = 1};
    struct tasks *tasks = tasks_new(0);
    _cleanup_free_ char *message = NULL;
    int percent = 0;

    tasks_start(tasks, "k", &ONCE, object_new(&work, 'a'));
    tasks_run_here(tasks);
    tasks_run_here(tasks);
    assert_string_equal(work.tries, "a");
    assert_int_equal(tasks_ask(tasks, "k", &percent, &message), TASK_FAILED);
    assert_true(tasks_start(tasks, "k", &ONCE, object_new(&work, 'b')));
    tasks_run_here(tasks);
    assert_string_equal(work.tries, "ab");
    tasks_end(tasks);
}
