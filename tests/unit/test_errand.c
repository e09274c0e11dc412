/* What may block is left when the caller's time is up, and freed once by whoever has it last. */
#include <stdatomic.h>

#include "common/base/memory.h"
#include "common/ceph/errand.h"
#include "tests/test.h"

static atomic_int released;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* held: the errand blocks */

static void pass_the_gate(rados_t rados, struct errand *errand)
{
    (void)rados, (void)errand;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

static void release(struct errand *errand)
{
    released++;
    free(errand);
}

static void *execute(void *errand)
{
    errand_execute(errand, NULL);
    return NULL;
}

static struct errand *start_errand(pthread_t *thread)
{
    struct errand *errand = xcalloc(1, sizeof(*errand));

    released = 0;
    errand_init(errand, pass_the_gate, release);
    assert_int_equal(pthread_create(thread, NULL, execute, errand), 0);
    return errand;
}

TEST(errand_that_has_run_is_freed_by_the_caller)
{
    struct call call;
    pthread_t thread;
    struct errand *errand = start_errand(&thread);

    call_init(&call, 1, "Test", deadline_never());
    assert_true(errand_wait(errand, &call, deadline_never()));
    pthread_join(thread, NULL);
    assert_int_equal(released, 0);
    errand_free(errand);
    assert_int_equal(released, 1);
    call_done(&call);
}

static void assert_left(const struct call *call, struct deadline give_up)
{
    pthread_t thread;

    pthread_mutex_lock(&gate);
    struct errand *errand = start_errand(&thread);
    assert_false(errand_wait(errand, call, give_up));
    assert_int_equal(released, 0);
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);
    assert_int_equal(released, 1);
}

TEST(errand_that_takes_too_long_is_freed_by_its_thread)
{
    struct call call;

    call_init(&call, 1, "Test", deadline_never());
    assert_left(&call, deadline_in_ms(1));
    call_done(&call);
}

TEST(errand_of_a_caller_who_has_gone_is_freed_by_its_thread)
{
    const atomic_bool cancelled = true;
    struct call call;

    call_init(&call, 1, "Test", deadline_never());
    call.cancelled = &cancelled;
    assert_left(&call, deadline_never());
    call_done(&call);
}
