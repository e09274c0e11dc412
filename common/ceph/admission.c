#include "common/ceph/admission.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

#define STALL_DEFAULT_MS 3000
#define MARGIN_MAX_MS 500
/* A hundred waiting calls that wake up more often take time from those that work. */
#define WAKE_MS 500

/* A call that waits for a place, on its own stack. Each has its own condition and is woken once,
 * when it has a place: calls that end in other pools do not wake those waiting for this one. */
struct waiter {
    struct waiter *next;
    pthread_cond_t woken;
    bool admitted;
};

struct pool_gate {
    struct pool_gate *next;
    char *cluster_id;
    int64_t pool_id;
    unsigned running;
    unsigned waiting;
    struct waiter *first; /* in the order of arrival; there are some only while the pool is full */
    struct waiter **last; /* where the next one is linked in */
    int64_t progress_ms;  /* when a call last left, or entered a pool that was not full */
};

struct admission {
    struct admission_options options;
    pthread_mutex_t lock;
    struct pool_gate *gates;
    struct admission_place *places; /* all that are taken */
};

struct admission *admission_new(const struct admission_options *options)
{
    struct admission *admission = xcalloc(1, sizeof(*admission));

    admission->options = *options;
    if (options->stall_ms == 0)
        admission->options.stall_ms = STALL_DEFAULT_MS;
    if (!options->kind)
        admission->options.kind = "pool";
    if (!options->hint)
        admission->options.hint = "are its OSDs up?";
    pthread_mutex_init(&admission->lock, NULL);
    return admission;
}

void admission_free(struct admission *admission)
{
    assert(!admission->places);
    while (admission->gates) {
        struct pool_gate *gate = admission->gates;

        admission->gates = gate->next;
        free(gate->cluster_id);
        free(gate);
    }
    pthread_mutex_destroy(&admission->lock);
    free(admission);
}

static struct pool_gate *find_gate(struct admission *admission, const char *cluster_id,
                                   int64_t pool_id)
{
    struct pool_gate *gate = admission->gates;

    while (gate && (gate->pool_id != pool_id || strcmp(gate->cluster_id, cluster_id) != 0))
        gate = gate->next;
    if (gate)
        return gate;
    gate = xcalloc(1, sizeof(*gate));
    *gate = (struct pool_gate){
        .next = admission->gates,
        .cluster_id = xstrdup(cluster_id),
        .pool_id = pool_id,
        .last = &gate->first,
        .progress_ms = clock_monotonic_ms(),
    };
    admission->gates = gate;
    return gate;
}

static bool call_has_place(const struct admission *admission, const struct call *call)
{
    for (const struct admission_place *place = admission->places; place; place = place->next)
        if (place->call == call)
            return true;
    return false;
}

struct deadline admission_deadline(const struct call *call)
{
    int64_t remaining = deadline_remaining_ms(call->deadline);

    if (remaining == INT64_MAX)
        return call->deadline;
    return deadline_in_ms(remaining -
                          (remaining / 10 < MARGIN_MAX_MS ? remaining / 10 : MARGIN_MAX_MS));
}

struct timespec admission_wake_time(struct deadline give_up)
{
    return deadline_timespec(deadline_earlier(give_up, deadline_in_ms(WAKE_MS)));
}

/* Fails if a full pool does not let anybody wait either. Lock held. */
static int check_queue(const struct admission *admission, const struct pool_gate *gate,
                       const char *pool_name, struct error *err)
{
    const struct admission_options *options = &admission->options;
    int64_t silent_ms = clock_monotonic_ms() - gate->progress_ms;

    if (silent_ms >= options->stall_ms)
        return error_set(err, STATUS_UNAVAILABLE,
                         "%s '%s' has %u calls under way, none of which ended in the last %lld s; "
                         "%s Retry later",
                         options->kind, pool_name, gate->running, (long long)(silent_ms / 1000),
                         options->hint);
    if (gate->waiting > options->waiting)
        return error_set(err, STATUS_UNAVAILABLE,
                         "%s '%s' has %u calls under way and %u waiting; retry later",
                         options->kind, pool_name, gate->running, gate->waiting);
    return 0;
}

static void leave_queue(struct pool_gate *gate, struct waiter *waiter)
{
    struct waiter **link = &gate->first;

    while (*link != waiter)
        link = &(*link)->next;
    *link = waiter->next;
    if (gate->last == &waiter->next)
        gate->last = link;
    gate->waiting--;
}

/* Waits until @waiter is admitted. Lock held, given up while waiting. */
static int wait_for_place(struct admission *admission, struct call *call, struct pool_gate *gate,
                          struct waiter *waiter, const char *pool_name, struct error *err)
{
    struct deadline give_up = admission_deadline(call);

    while (!waiter->admitted) {
        const struct deadline stall = {gate->progress_ms + admission->options.stall_ms};
        const struct timespec wake = admission_wake_time(deadline_earlier(give_up, stall));

        if (check_queue(admission, gate, pool_name, err) < 0 || call_check(call, err) < 0)
            return -1;
        if (deadline_has_passed(give_up))
            return error_set(err, STATUS_DEADLINE_EXCEEDED,
                             "%u other calls were under way in %s '%s' all the time; retry",
                             gate->running, admission->options.kind, pool_name);
        pthread_cond_clockwait(&waiter->woken, &admission->lock, CLOCK_MONOTONIC, &wake);
    }
    return 0;
}

static void join_queue(struct pool_gate *gate, struct waiter *waiter)
{
    *gate->last = waiter;
    gate->last = &waiter->next;
    gate->waiting++;
}

/* Takes a place that is free, or queues for one. Lock held, given up while waiting. */
static int take_or_await_place(struct admission *admission, struct call *call,
                               struct pool_gate *gate, const char *pool_name, struct error *err)
{
    struct waiter waiter = {0};

    if (gate->running < admission->options.running || call_has_place(admission, call)) {
        if (++gate->running < admission->options.running)
            gate->progress_ms = clock_monotonic_ms();
        return 0;
    }
    call_stage(call, "waiting {age} for a place among the calls in %s '%s'",
               admission->options.kind, pool_name);
    pthread_cond_init(&waiter.woken, NULL);
    join_queue(gate, &waiter);
    int result = wait_for_place(admission, call, gate, &waiter, pool_name, err);
    if (result < 0)
        leave_queue(gate, &waiter);
    pthread_cond_destroy(&waiter.woken);
    return result;
}

int admission_enter(struct admission *admission, struct call *call, const char *cluster_id,
                    int64_t pool_id, const char *pool_name, struct admission_place *place,
                    struct error *err)
{
    pthread_mutex_lock(&admission->lock);
    struct pool_gate *gate = find_gate(admission, cluster_id, pool_id);
    int result = take_or_await_place(admission, call, gate, pool_name, err);
    if (result == 0) {
        *place = (struct admission_place){admission->places, gate, call};
        admission->places = place;
    }
    pthread_mutex_unlock(&admission->lock);
    return result;
}

void admission_leave(struct admission *admission, struct admission_place *place)
{
    struct pool_gate *gate = place->gate;

    pthread_mutex_lock(&admission->lock);
    struct admission_place **link = &admission->places;
    while (*link != place)
        link = &(*link)->next;
    *link = place->next;
    gate->running--;
    gate->progress_ms = clock_monotonic_ms();
    while (gate->first && gate->running < admission->options.running) {
        struct waiter *longest = gate->first;

        leave_queue(gate, longest);
        gate->running++;
        longest->admitted = true;
        pthread_cond_signal(&longest->woken);
    }
    pthread_mutex_unlock(&admission->lock);
}
