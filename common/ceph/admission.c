#include "common/ceph/admission.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

#define STALL_DEFAULT_MS 3000
#define POLL_MS                                                                                    \
    100 /* how soon a waiter notices that its caller has gone, or that the pool hangs              \
         */
#define MARGIN_MAX_MS 500

struct pool_gate {
    struct pool_gate *next;
    char *cluster_id;
    int64_t pool_id;
    unsigned running;
    unsigned waiting;
    int64_t progress_ms; /* when a call last left, or entered a pool with room */
};

struct admission {
    struct admission_options options;
    pthread_mutex_t lock;
    pthread_cond_t left;
    struct pool_gate *gates;
    struct place *places; /* all that are taken */
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
    pthread_cond_init(&admission->left, NULL);
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
    pthread_cond_destroy(&admission->left);
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
    *gate = (struct pool_gate){admission->gates,    xstrdup(cluster_id), pool_id, 0, 0,
                               clock_monotonic_ms()};
    admission->gates = gate;
    return gate;
}

static bool call_has_place(const struct admission *admission, const struct call *call)
{
    for (const struct place *place = admission->places; place; place = place->next)
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

/* Why a full pool does not even let wait; 0 if it does. Lock held. */
static int refuse(const struct admission *admission, const struct pool_gate *gate,
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

/* Waits for room. Lock held, given up while waiting. */
static int wait_for_room(struct admission *admission, struct call *call, struct pool_gate *gate,
                         const char *pool_name, struct error *err)
{
    struct deadline give_up = admission_deadline(call);

    while (gate->running >= admission->options.running) {
        const struct timespec wake =
            deadline_timespec(deadline_earlier(give_up, deadline_in_ms(POLL_MS)));

        if (refuse(admission, gate, pool_name, err) < 0 || call_check(call, err) < 0)
            return -1;
        if (deadline_has_passed(give_up))
            return error_set(err, STATUS_DEADLINE_EXCEEDED,
                             "%u other calls were under way in %s '%s' all the time; retry",
                             gate->running, admission->options.kind, pool_name);
        pthread_cond_clockwait(&admission->left, &admission->lock, CLOCK_MONOTONIC, &wake);
    }
    return 0;
}

int admission_enter(struct admission *admission, struct call *call, const char *cluster_id,
                    int64_t pool_id, const char *pool_name, struct place *place, struct error *err)
{
    int result = 0;

    pthread_mutex_lock(&admission->lock);
    struct pool_gate *gate = find_gate(admission, cluster_id, pool_id);
    if (gate->running >= admission->options.running && !call_has_place(admission, call)) {
        call_stage(call, "waiting {age} for a place among the calls in %s '%s'",
                   admission->options.kind, pool_name);
        gate->waiting++;
        result = wait_for_room(admission, call, gate, pool_name, err);
        gate->waiting--;
    }
    if (result == 0) {
        if (++gate->running < admission->options.running)
            gate->progress_ms = clock_monotonic_ms();
        *place = (struct place){admission->places, gate, call};
        admission->places = place;
    }
    pthread_mutex_unlock(&admission->lock);
    return result;
}

void admission_leave(struct admission *admission, struct place *place)
{
    pthread_mutex_lock(&admission->lock);
    struct place **link = &admission->places;
    while (*link != place)
        link = &(*link)->next;
    *link = place->next;
    place->gate->running--;
    place->gate->progress_ms = clock_monotonic_ms();
    pthread_cond_broadcast(&admission->left);
    pthread_mutex_unlock(&admission->lock);
}
