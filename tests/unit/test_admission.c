#include <stdatomic.h>

#include <pthread.h>

#include "common/ceph/admission.h"
#include "tests/test.h"

struct visitor {
    struct admission *admission;
    struct call call;
    struct admission_place place;
    struct error err;
    int result;
    atomic_bool is_back; /* from admission_enter() */
    pthread_t thread;
};

static void visitor_init(struct visitor *v, struct admission *admission, int64_t patience_ms)
{
    *v = (struct visitor){.admission = admission};
    call_init(&v->call, 1, "Test", deadline_in_ms(patience_ms));
}

static void visitor_done(struct visitor *v)
{
    call_done(&v->call);
    error_clear(&v->err);
}

static int enter(struct visitor *v, int64_t pool, struct admission_place *place)
{
    return admission_enter(v->admission, &v->call, "c1", pool, "zone-a", place, &v->err);
}

static void *enter_thread(void *object)
{
    struct visitor *v = object;

    v->result = enter(v, 1, &v->place);
    atomic_store(&v->is_back, true);
    return NULL;
}

static bool stage_is_waiting(struct visitor *v)
{
    _cleanup_text_ struct text stage = TEXT_INIT(1000);

    call_describe(&v->call, &stage);
    return strstr(text_chars(&stage), "for a place among the calls in pool 'zone-a'") != NULL;
}

/* Enters in a thread and returns when it has lined up: it says so and lines up in one go, so that
 * whoever gets the lock after that finds it in the line. */
static void line_up_in_thread(struct visitor *v)
{
    assert_int_equal(pthread_create(&v->thread, NULL, enter_thread, v), 0);
    wait_until(stage_is_waiting(v) || atomic_load(&v->is_back));
    assert_true(stage_is_waiting(v));
}

/* A place is given with the lock held: one that is not there now was not there when the caller last
 * had the lock. */
static bool has_place(const struct visitor *v)
{
    return v->place.call != NULL;
}

TEST(full_pool_lets_wait_until_one_leaves)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.running = 1, .waiting = 1, .stall_ms = 60000});
    struct visitor first;
    struct visitor second;
    struct visitor third;

    visitor_init(&first, admission, 60000);
    visitor_init(&second, admission, 60000);
    visitor_init(&third, admission, 60000);
    assert_int_equal(enter(&first, 1, &first.place), 0);
    line_up_in_thread(&second);
    assert_int_equal(enter(&third, 1, &third.place), -1); /* had the lock after the second */
    assert_int_equal(third.err.status, STATUS_UNAVAILABLE);
    assert_string_equal(third.err.message,
                        "pool 'zone-a' has 1 calls under way and 2 waiting; retry later");
    assert_false(has_place(&second));
    admission_leave(admission, &first.place);
    pthread_join(second.thread, NULL);
    assert_int_equal(second.result, 0);
    assert_true(has_place(&second));
    admission_leave(admission, &second.place);
    visitor_done(&first);
    visitor_done(&second);
    visitor_done(&third);
    admission_free(admission);
}

/* Whether it says what it waited for. Once the deadline is over, the call's own message is the one:
 * that is also what a waiter says that was woken too late, on a busy machine. */
static bool gives_up_in_time(struct admission *admission, int64_t patience_ms)
{
    struct visitor visitor;

    visitor_init(&visitor, admission, patience_ms);
    assert_int_equal(enter(&visitor, 1, &visitor.place), -1);
    assert_int_equal(visitor.err.status, STATUS_DEADLINE_EXCEEDED);
    bool is_in_time = strcmp(visitor.err.message, "1 other calls were under way in pool 'zone-a' "
                                                  "all the time; retry") == 0;
    visitor_done(&visitor);
    return is_in_time;
}

TEST(waiter_gives_up_before_its_deadline)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.running = 1, .waiting = 4, .stall_ms = 3600000});
    struct visitor first;
    bool is_in_time = false;

    visitor_init(&first, admission, 60000);
    assert_int_equal(enter(&first, 1, &first.place), 0);
    for (int tries = 0; tries < 20 && !is_in_time; tries++)
        is_in_time = gives_up_in_time(admission, 2500);
    assert_true(is_in_time);
    admission_leave(admission, &first.place);
    visitor_done(&first);
    admission_free(admission);
}

TEST(cancelled_waiter_leaves)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.running = 1, .waiting = 4, .stall_ms = 60000});
    const atomic_bool cancelled = true;
    struct visitor first;
    struct visitor second;

    visitor_init(&first, admission, 60000);
    visitor_init(&second, admission, 60000);
    second.call.cancelled = &cancelled;
    assert_int_equal(enter(&first, 1, &first.place), 0);
    assert_int_equal(enter(&second, 1, &second.place), -1);
    assert_int_equal(second.err.status, STATUS_CANCELLED);
    admission_leave(admission, &first.place);
    visitor_done(&first);
    visitor_done(&second);
    admission_free(admission);
}

TEST(waiter_whose_caller_goes_meanwhile_leaves)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.running = 1, .waiting = 4, .stall_ms = 60000});
    atomic_bool cancelled = false;
    struct visitor first;
    struct visitor second;

    visitor_init(&first, admission, 60000);
    visitor_init(&second, admission, 60000);
    second.call.cancelled = &cancelled;
    assert_int_equal(enter(&first, 1, &first.place), 0);
    line_up_in_thread(&second);
    atomic_store(&cancelled, true);
    pthread_join(second.thread, NULL);
    assert_int_equal(second.result, -1);
    assert_int_equal(second.err.status, STATUS_CANCELLED);
    assert_false(has_place(&second));
    admission_leave(admission, &first.place);
    visitor_done(&first);
    visitor_done(&second);
    admission_free(admission);
}

/* Three wait; the one in the middle, or at the end, gives up. The others get the place in turn. */
TEST(places_go_in_the_order_of_arrival)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.running = 1, .waiting = 4, .stall_ms = 60000});
    struct visitor visitors[4];

    for (size_t impatient = 2; impatient <= 3; impatient++) {
        size_t patient = impatient == 2 ? 3 : 2;
        atomic_bool cancelled = false;

        for (size_t i = 0; i < 4; i++)
            visitor_init(&visitors[i], admission, 60000);
        visitors[impatient].call.cancelled = &cancelled;
        assert_int_equal(enter(&visitors[0], 1, &visitors[0].place), 0);
        for (size_t i = 1; i < 4; i++)
            line_up_in_thread(&visitors[i]);
        atomic_store(&cancelled, true);
        pthread_join(visitors[impatient].thread, NULL);
        assert_int_equal(visitors[impatient].err.status, STATUS_CANCELLED);
        admission_leave(admission, &visitors[0].place);
        pthread_join(visitors[1].thread, NULL);
        assert_int_equal(visitors[1].result, 0);
        assert_false(has_place(&visitors[patient]));
        admission_leave(admission, &visitors[1].place);
        pthread_join(visitors[patient].thread, NULL);
        assert_int_equal(visitors[patient].result, 0);
        admission_leave(admission, &visitors[patient].place);
        for (size_t i = 0; i < 4; i++)
            visitor_done(&visitors[i]);
    }
    admission_free(admission);
}

/* How long nothing ended, as the refusal tells it. */
static long told_seconds(const struct visitor *v)
{
    static const char before[] = "pool 'zone-a' has 1 calls under way, none of which ended in the "
                                 "last ";

    assert_int_equal(v->err.status, STATUS_UNAVAILABLE);
    assert_true(text_has_prefix(v->err.message, before));
    return strtol(v->err.message + strlen(before), NULL, 10);
}

TEST(full_pool_without_progress_refuses)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.running = 1, .waiting = 4});
    const atomic_bool cancelled = true;
    struct visitor first;
    struct visitor waiting;
    struct visitor late;

    visitor_init(&first, admission, 60000);
    visitor_init(&waiting, admission, 60000);
    visitor_init(&late, admission, 60000);
    assert_int_equal(enter(&first, 1, &first.place), 0);
    assert_int_equal(enter(&waiting, 1, &waiting.place), -1);
    assert_true(told_seconds(&waiting) >= 3);
    late.call.cancelled = &cancelled; /* which it would notice if it began to wait */
    assert_int_equal(enter(&late, 1, &late.place), -1);
    assert_true(told_seconds(&late) >= 3);
    error_clear(&late.err);
    assert_int_equal(enter(&late, 2, &late.place), 0); /* another pool goes on */
    admission_leave(admission, &late.place);
    admission_leave(admission, &first.place);
    visitor_done(&first);
    visitor_done(&waiting);
    visitor_done(&late);
    admission_free(admission);
}

TEST(call_with_a_place_never_waits_for_another)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.running = 1, .waiting = 4});
    struct visitor a;
    struct visitor b;
    struct admission_place again = {0};
    struct admission_place crossed_a = {0};
    struct admission_place crossed_b = {0};

    visitor_init(&a, admission, 60000);
    visitor_init(&b, admission, 60000);
    assert_int_equal(enter(&a, 1, &a.place), 0);
    assert_int_equal(enter(&b, 2, &b.place), 0);
    assert_int_equal(enter(&a, 1, &again), 0);
    assert_int_equal(enter(&a, 2, &crossed_a), 0);
    assert_int_equal(enter(&b, 1, &crossed_b), 0);
    admission_leave(admission, &crossed_b);
    admission_leave(admission, &crossed_a);
    admission_leave(admission, &again);
    admission_leave(admission, &b.place);
    admission_leave(admission, &a.place);
    visitor_done(&a);
    visitor_done(&b);
    admission_free(admission);
}
