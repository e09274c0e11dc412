#include "common/base/call.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

void call_init(struct call *call, uint64_t id, const char *method, struct deadline deadline)
{
    *call = (struct call){.id = id, .method = method, .deadline = deadline};
    pthread_mutex_init(&call->lock, NULL);
    call_stage(call, "starting for {age}");
}

void call_done(struct call *call)
{
    pthread_mutex_destroy(&call->lock);
    free(call->request_id);
    free(call->stage);
}

void call_set_request_id(struct call *call, const char *request_id)
{
    char *copy = xstrdup(request_id);

    pthread_mutex_lock(&call->lock);
    char *old = call->request_id;
    call->request_id = copy;
    pthread_mutex_unlock(&call->lock);
    free(old);
}

void call_stage(struct call *call, const char *fmt, ...)
{
    if (!call)
        return;
    char *stage = xformat_arguments(fmt);
    pthread_mutex_lock(&call->lock);
    char *old = call->stage;
    call->stage = stage;
    call->stage_since_ms = clock_monotonic_ms();
    pthread_mutex_unlock(&call->lock);
    free(old);
}

static void add_age(struct text *text, int64_t ms)
{
    if (ms < 1000)
        text_addf(text, "%lld ms", (long long)ms);
    else if (ms < 120000)
        text_addf(text, "%lld s", (long long)(ms / 1000));
    else
        text_addf(text, "%lld min", (long long)(ms / 60000));
}

void call_describe(struct call *call, struct text *text)
{
    static const char marker[] = "{age}";

    pthread_mutex_lock(&call->lock);
    const char *age = strstr(call->stage, marker);
    text_add(text, call->method);
    if (call->request_id)
        text_addf(text, " '%s'", call->request_id);
    text_add(text, " has been ");
    if (age) {
        text_add_bytes(text, call->stage, (size_t)(age - call->stage));
        add_age(text, clock_monotonic_ms() - call->stage_since_ms);
        text_add(text, age + strlen(marker));
    } else {
        text_add(text, call->stage);
    }
    pthread_mutex_unlock(&call->lock);
}

bool call_is_cancelled(const struct call *call)
{
    return (call->cancelled && atomic_load(call->cancelled)) || deadline_has_passed(call->deadline);
}

int call_check(const struct call *call, struct error *err)
{
    if (call->cancelled && atomic_load(call->cancelled))
        return error_set(err, STATUS_CANCELLED, "the caller has gone; repeat the call to continue");
    if (deadline_has_passed(call->deadline))
        return error_set(err, STATUS_DEADLINE_EXCEEDED,
                         "the deadline has passed; repeat the call to continue");
    return 0;
}

#define PAUSE_STEP_MS 20

int call_pause(const struct call *call, int64_t ms, struct error *err)
{
    const struct deadline end = deadline_in_ms(ms);
    const struct timespec step = {.tv_nsec = PAUSE_STEP_MS * 1000000L};

    while (!deadline_has_passed(end) && !call_is_cancelled(call))
        nanosleep(&step, NULL);
    return call_check(call, err);
}
