/* Modules of the managers that hang are not asked by everybody. */
#include "common/base/deadline.h"
#include "common/base/memory.h"
#include "common/ceph/breaker.h"
#include "tests/test.h"

#define VOLUMES "{\"prefix\":\"fs subvolume ls\"}"
#define SILENCE_MS 20000
#define LONG_MS 3600000

static struct breaker *breaker;

static int make_breaker(void **state)
{
    (void)state;
    breaker = breaker_new(&(struct breaker_options){.silence_ms = SILENCE_MS, .retry_ms = LONG_MS});
    return 0;
}

static int free_breaker(void **state)
{
    (void)state;
    breaker_free(breaker);
    return 0;
}

#define WITH_BREAKER .setup_func = make_breaker, .teardown_func = free_breaker

static void count_reports(void *object, const char *cluster_id, bool healthy, const char *message,
                          time_t since)
{
    assert_string_equal(cluster_id, "c1");
    assert_false(healthy);
    assert_non_null(strstr(message, "'volumes'"));
    assert_true(since > 0);
    ++*(unsigned *)object;
}

static void assert_reports(unsigned wanted)
{
    unsigned count = 0;

    breaker_report(breaker, count_reports, &count);
    assert_int_equal(count, wanted);
    assert_int_equal(breaker_count(breaker), wanted);
}

static void assert_enters(struct breaker_module *module)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(breaker_enter(module, &err), 0);
}

static void assert_refused(struct breaker_module *module)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(breaker_enter(module, &err), -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.message, "module 'volumes' of the managers of cluster 'c1'"));
}

/* Lets a caller give up that asked @ago_ms ago. */
static void give_up(struct breaker_module *module, int64_t ago_ms)
{
    assert_enters(module);
    breaker_left(module, clock_monotonic_ms() - ago_ms);
}

TEST(silent_module_is_not_asked_until_it_answers, WITH_BREAKER)
{
    struct breaker_module *module = breaker_find(breaker, "c1", VOLUMES);

    assert_reports(0);
    give_up(module, SILENCE_MS);
    assert_refused(module);
    assert_refused(breaker_find(breaker, "c1", "{\"prefix\":\"fs quiesce\"}"));
    assert_reports(1);
    breaker_answered(module); /* late, to the one that gave up */
    assert_enters(module);
    assert_reports(0);
}

TEST(other_modules_and_clusters_do_not_notice, WITH_BREAKER)
{
    give_up(breaker_find(breaker, "c1", VOLUMES), LONG_MS);
    assert_enters(breaker_find(breaker, "c1", "{\"prefix\":\"rbd task list\"}"));
    assert_enters(breaker_find(breaker, "c1", "{\"prefix\":\"pg stat\"}"));
    assert_enters(breaker_find(breaker, "c1", "no JSON"));
    assert_enters(breaker_find(breaker, "c2", VOLUMES));
}

TEST(impatient_callers_say_little, WITH_BREAKER)
{
    struct breaker_module *module = breaker_find(breaker, "c1", VOLUMES);

    give_up(module, 10);
    give_up(module, 20);
    assert_enters(module);
    give_up(module, 999999); /* with those before */
    assert_refused(module);
}

TEST(answer_to_another_is_a_sign_of_life, WITH_BREAKER)
{
    struct breaker_module *module = breaker_find(breaker, "c1", VOLUMES);

    breaker_answered(module);
    give_up(module, LONG_MS);
    assert_enters(module);
}

TEST(one_caller_at_a_time_finds_out, WITH_BREAKER)
{
    struct breaker *hasty =
        breaker_new(&(struct breaker_options){.silence_ms = 1000, .retry_ms = 1});
    struct breaker_module *module = breaker_find(hasty, "c1", VOLUMES);
    const struct deadline end = deadline_in_ms(60000);
    unsigned entered = 0;
    unsigned refused = 0;

    give_up(module, 2000);
    while (!(entered && refused) && !deadline_has_passed(end)) {
        _cleanup_error_ struct error err = {0};

        if (breaker_enter(module, &err) == 0)
            entered++;
        else
            refused++;
    }
    assert_true(entered > 0);
    assert_true(refused > 0);
    breaker_free(hasty);
}

/* Else callers that come one after the other would each wait as long as they can. */
TEST(who_finds_out_in_vain_spares_the_next, WITH_BREAKER)
{
    const struct timespec longer = {.tv_nsec = 20000000};
    struct breaker *hasty =
        breaker_new(&(struct breaker_options){.silence_ms = 1000, .retry_ms = 10});
    struct breaker_module *module = breaker_find(hasty, "c1", VOLUMES);
    bool is_spared = false;

    give_up(module, 2000);
    for (int tries = 0; tries < 100 && !is_spared; tries++) {
        _cleanup_error_ struct error err = {0};

        nanosleep(&longer, NULL);
        assert_enters(module);
        nanosleep(&longer, NULL);
        breaker_left(module, clock_monotonic_ms() - 20);
        is_spared = breaker_enter(module, &err) < 0;
    }
    assert_true(is_spared);
    breaker_free(hasty);
}

TEST_GROUP(NULL, NULL)
