#include <stdatomic.h>

#include <pthread.h>
#include <unistd.h>

#include "common/ceph/admission.h"
#include "tests/test.h"

struct visitor {
    struct admission *admission;
    struct call call;
    struct place place;
    struct error err;
    int result;
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

static int enter(struct visitor *v, int64_t pool, struct place *place)
{
    return admission_enter(v->admission, &v->call, "c1", pool, "zone-a", place, &v->err);
}

static void *enter_thread(void *object)
{
    struct visitor *v = object;

    v->result = enter(v, 1, &v->place);
    return NULL;
}

TEST(full_pool_lets_wait_until_one_leaves)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.running = 1, .waiting = 4});
    struct visitor first;
    struct visitor second;

    visitor_init(&first, admission, 10000);
    visitor_init(&second, admission, 10000);
    assert_int_equal(enter(&first, 1, &first.place), 0);
    assert_int_equal(pthread_create(&second.thread, NULL, enter_thread, &second), 0);
    usleep(200000);
    admission_leave(admission, &first.place);
    pthread_join(second.thread, NULL);
    assert_int_equal(second.result, 0);
    admission_leave(admission, &second.place);
    visitor_done(&first);
    visitor_done(&second);
    admission_free(admission);
}

TEST(waiter_gives_up_before_its_deadline)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.running = 1, .waiting = 4});
    struct visitor first;
    struct visitor second;

    visitor_init(&first, admission, 10000);
    visitor_init(&second, admission, 500);
    assert_int_equal(enter(&first, 1, &first.place), 0);
    assert_int_equal(enter(&second, 1, &second.place), -1);
    assert_int_equal(second.err.status, STATUS_DEADLINE_EXCEEDED);
    assert_false(deadline_has_passed(second.call.deadline));
    admission_leave(admission, &first.place);
    visitor_done(&first);
    visitor_done(&second);
    admission_free(admission);
}

TEST(cancelled_waiter_leaves)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.running = 1, .waiting = 4});
    const atomic_bool cancelled = true;
    struct visitor first;
    struct visitor second;

    visitor_init(&first, admission, 10000);
    visitor_init(&second, admission, 10000);
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
        admission_new(&(struct admission_options){.running = 1, .waiting = 4});
    atomic_bool cancelled = false;
    struct visitor first;
    struct visitor second;

    visitor_init(&first, admission, 10000);
    visitor_init(&second, admission, 10000);
    second.call.cancelled = &cancelled;
    assert_int_equal(enter(&first, 1, &first.place), 0);
    assert_int_equal(pthread_create(&second.thread, NULL, enter_thread, &second), 0);
    usleep(100000);
    atomic_store(&cancelled, true);
    pthread_join(second.thread, NULL);
    assert_int_equal(second.err.status, STATUS_CANCELLED);
    admission_leave(admission, &first.place);
    visitor_done(&first);
    visitor_done(&second);
    admission_free(admission);
}

/* Three wait; the one in the middle, or at the end, gives up. The others get the place in turn. */
TEST(places_go_in_the_order_of_arrival)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.running = 1, .waiting = 4});
    struct visitor visitors[4];

    for (size_t impatient = 2; impatient <= 3; impatient++) {
        size_t patient = impatient == 2 ? 3 : 2;

        for (size_t i = 0; i < 4; i++)
            visitor_init(&visitors[i], admission, i == impatient ? 400 : 20000);
        assert_int_equal(enter(&visitors[0], 1, &visitors[0].place), 0);
        for (size_t i = 1; i < 4; i++) {
            pthread_create(&visitors[i].thread, NULL, enter_thread, &visitors[i]);
            usleep(50000);
        }
        pthread_join(visitors[impatient].thread, NULL);
        assert_int_equal(visitors[impatient].err.status, STATUS_DEADLINE_EXCEEDED);
        admission_leave(admission, &visitors[0].place);
        pthread_join(visitors[1].thread, NULL);
        assert_int_equal(visitors[1].result, 0);
        admission_leave(admission, &visitors[1].place);
        pthread_join(visitors[patient].thread, NULL);
        assert_int_equal(visitors[patient].result, 0);
        admission_leave(admission, &visitors[patient].place);
        for (size_t i = 0; i < 4; i++)
            visitor_done(&visitors[i]);
    }
    admission_free(admission);
}

TEST(full_pool_without_progress_refuses)
{
    struct admission *admission =
        admission_new(&(struct admission_options){.running = 1, .waiting = 4});
    struct visitor first;
    struct visitor waiting;
    struct visitor late;

    visitor_init(&first, admission, 60000);
    visitor_init(&waiting, admission, 60000);
    visitor_init(&late, admission, 60000);
    assert_int_equal(enter(&first, 1, &first.place), 0);
    int64_t start_ms = clock_monotonic_ms();
    assert_int_equal(enter(&waiting, 1, &waiting.place), -1);
    assert_in_range(clock_monotonic_ms() - start_ms, 2900, 4000);
    assert_int_equal(waiting.err.status, STATUS_UNAVAILABLE);
    assert_non_null(strstr(waiting.err.message, "zone-a"));
    start_ms = clock_monotonic_ms();
    assert_int_equal(enter(&late, 1, &late.place), -1);
    assert_true(clock_monotonic_ms() - start_ms < 100);
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
    struct place again = {0};
    struct place crossed_a = {0};
    struct place crossed_b = {0};

    visitor_init(&a, admission, 2000);
    visitor_init(&b, admission, 2000);
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
