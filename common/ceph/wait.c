#include "common/ceph/wait.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/memory.h"

enum { MARGIN_MAX_MS = 500, POLL_MS = 100 };

struct deadline wait_limit(const struct call *call)
{
    int64_t remaining = deadline_remaining_ms(call->deadline);

    if (remaining == INT64_MAX)
        return deadline_never();
    int64_t margin = remaining / 10 < MARGIN_MAX_MS ? remaining / 10 : MARGIN_MAX_MS;
    return (struct deadline){call->deadline.at_ms - margin};
}

static bool is_cancelled(const struct call *call)
{
    return call->cancelled && atomic_load(call->cancelled);
}

bool wait_on(pthread_cond_t *changed, pthread_mutex_t *lock, const struct call *call,
             struct deadline limit)
{
    if (deadline_has_passed(limit) || is_cancelled(call))
        return false;
    /* nobody signals the condition when a call is cancelled, hence the polling */
    struct deadline soon = deadline_earlier(limit, deadline_in_ms(POLL_MS));
    struct timespec until = deadline_timespec(soon);
    pthread_cond_clockwait(changed, lock, CLOCK_MONOTONIC, &until);
    return true;
}

int wait_failed(const struct call *call, struct error *err, const char *fmt, ...)
{
    va_list args;

    if (is_cancelled(call))
        return call_check(call, err);
    va_start(args, fmt);
    _cleanup_free_ char *text = xvasprintf(fmt, args);
    va_end(args);
    return error_set(err, STATUS_DEADLINE_EXCEEDED, "%s", text);
}

struct age age_of(int64_t ms)
{
    struct age age;

    if (ms < 1000)
        snprintf(age.text, sizeof(age.text), "%lld ms", (long long)ms);
    else
        snprintf(age.text, sizeof(age.text), "%lld s", (long long)(ms / 1000));
    return age;
}

void pending_init(struct pending *pending)
{
    *pending = (struct pending){0};
    pthread_mutex_init(&pending->lock, NULL);
    pthread_cond_init(&pending->changed, NULL);
}

void pending_done(struct pending *pending)
{
    pthread_cond_destroy(&pending->changed);
    pthread_mutex_destroy(&pending->lock);
}

bool pending_wait(struct pending *pending, const struct call *call, struct deadline limit)
{
    pthread_mutex_lock(&pending->lock);
    while (!pending->finished && !pending->left)
        pending->left = !wait_on(&pending->changed, &pending->lock, call, limit);
    bool finished = pending->finished;
    pthread_mutex_unlock(&pending->lock);
    return finished;
}

bool pending_finish(struct pending *pending)
{
    pthread_mutex_lock(&pending->lock);
    pending->finished = true;
    bool left = pending->left;
    pthread_cond_signal(&pending->changed);
    pthread_mutex_unlock(&pending->lock);
    return left;
}
