#include "common/kube/events.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/base/worker.h"
#include "common/encoding/uuid.h"
#include "common/kube/kube.h"

#define QUEUE_MAX 128
#define MEMORY_MAX 256
#define MESSAGE_LIMIT 1024
#define SAME_FOR_MS 600000
#define BURST 25
#define REFILL_MS 300000
#define WRITE_TIMEOUT_MS 10000

/* One event to be written; owns its strings. */
struct queued_event {
    struct queued_event *next;
    char *subject_key; /* "Node//n1" */
    char *key;         /* subject, reason and message: what makes two events the same */
    json_t *item;
    char *name_space;
};

/* What is known of an event that was written, so that the next one counts it up, or of the object
 * that events are about, so that it does not get too many. */
struct event_memory {
    char *key;
    int64_t at_ms; /* last use, or last refill */
    /* of an event */
    char *path;
    int64_t count;
    /* of an object */
    unsigned budget;
};

struct events {
    struct kube *kube;
    char *component;
    char *host;
    struct worker worker;
    struct event_memory written[MEMORY_MAX]; /* the thread's own, as all down to the lock */
    struct event_memory subjects[MEMORY_MAX];
    bool reported_denied;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    struct queued_event *first;
    struct queued_event **end;
    unsigned waiting; /* queued or being written */
    atomic_uint_fast64_t dropped;
};

static void queued_free(struct queued_event *queued)
{
    free_all(queued->subject_key, queued->key, queued->name_space);
    json_decref(queued->item);
    free(queued);
}

/* --- writing --- */

/* The entry of the key, or the oldest one cleared for it. */
static struct event_memory *find_memory(struct event_memory *entries, const char *key)
{
    struct event_memory *oldest = &entries[0];

    for (size_t i = 0; i < MEMORY_MAX; i++) {
        if (entries[i].key && strcmp(entries[i].key, key) == 0)
            return &entries[i];
        if (entries[i].at_ms < oldest->at_ms)
            oldest = &entries[i];
    }
    free(oldest->key);
    free(oldest->path);
    *oldest = (struct event_memory){.key = xstrdup(key)};
    return oldest;
}

/* Whether the object may have another event. */
static bool spend_budget(struct events *events, const char *subject_key)
{
    struct event_memory *subject = find_memory(events->subjects, subject_key);

    if (subject->at_ms == 0) {
        subject->at_ms = clock_monotonic_ms();
        subject->budget = BURST;
    }
    int64_t earned = (clock_monotonic_ms() - subject->at_ms) / REFILL_MS;
    if (earned > 0) {
        subject->budget =
            earned + subject->budget > BURST ? BURST : subject->budget + (unsigned)earned;
        subject->at_ms += earned * REFILL_MS;
    }
    if (subject->budget == 0)
        return false;
    subject->budget--;
    return true;
}

static int count_up(struct events *events, struct call *call, struct event_memory *written,
                    struct error *err)
{
    _cleanup_free_ char *now = kube_time_now(false);
    json_auto_t *changes =
        json_pack("{s:I, s:s}", "count", (json_int_t)written->count + 1, "lastTimestamp", now);

    if (events->kube->ops->patch(events->kube, call, written->path, changes, NULL, err) < 0)
        return -1;
    written->count++;
    return 0;
}

static int create_event(struct events *events, struct call *call, const struct queued_event *queued,
                        struct event_memory *written, struct error *err)
{
    _cleanup_free_ char *collection = NULL;
    const struct kube_location location = {
        .api = "v1", .resource = "events", .name_space = queued->name_space};

    if (kube_path(&location, &collection, err) < 0)
        return -1;
    if (events->kube->ops->create(events->kube, call, collection, queued->item, NULL, err) < 0)
        return -1;
    free(written->path);
    written->path = xasprintf("%s/%s", collection, kube_name(queued->item));
    written->count = 1;
    return 0;
}

static int write_event(struct events *events, struct call *call, const struct queued_event *queued,
                       struct error *err)
{
    struct event_memory *written = find_memory(events->written, queued->key);
    bool is_recent = clock_monotonic_ms() - written->at_ms < SAME_FOR_MS;

    written->at_ms = clock_monotonic_ms();
    if (written->path && is_recent) {
        if (count_up(events, call, written, err) == 0)
            return 0;
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err); /* it has expired on the server */
    }
    return create_event(events, call, queued, written, err);
}

static bool write_or_drop(struct events *events, const struct queued_event *queued)
{
    _cleanup_error_ struct error err = {0};
    struct call call;

    if (!spend_budget(events, queued->subject_key))
        return false;
    call_init(&call, 0, "event", deadline_in_ms(WRITE_TIMEOUT_MS));
    call.cancelled = &events->worker.stopping;
    int result = write_event(events, &call, queued, &err);
    call_done(&call);
    if (result == 0)
        return true;
    bool denied = err.status == STATUS_PERMISSION_DENIED;
    if (denied && !events->reported_denied)
        log_warn(NULL, "events are not written: %s", err.message);
    else
        log_v(3, NULL, "an event was dropped: %s", err.message);
    events->reported_denied |= denied;
    return false;
}

static struct queued_event *take_queued(struct events *events)
{
    pthread_mutex_lock(&events->lock);
    struct queued_event *queued = events->first;
    if (queued) {
        events->first = queued->next;
        if (!events->first)
            events->end = &events->first;
    }
    pthread_mutex_unlock(&events->lock);
    return queued;
}

static void finish_queued(struct events *events, bool written)
{
    pthread_mutex_lock(&events->lock);
    events->waiting--;
    if (!written)
        events->dropped++;
    if (events->waiting == 0)
        pthread_cond_broadcast(&events->idle);
    pthread_mutex_unlock(&events->lock);
}

static void run_events(void *object)
{
    struct events *events = object;

    while (!worker_is_stopping(&events->worker)) {
        struct queued_event *queued = take_queued(events);

        if (!queued) {
            worker_pause(&events->worker, INT64_MAX);
            continue;
        }
        finish_queued(events, write_or_drop(events, queued));
        queued_free(queued);
    }
}

/* --- emitting --- */

static json_t *event_item(const struct events *events, const struct event_subject *subject,
                          enum event_type type, const char *reason, const char *message)
{
    _cleanup_free_ char *now = kube_time_now(false);
    _cleanup_free_ char *name = xasprintf("%.200s.%s", subject->name, uuid_text_generate().chars);
    const char *uid = subject->uid;
    const char *name_space = subject->name_space[0] ? subject->name_space : "default";

    return json_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s*, s:s, s:s*}, s:s, s:s, s:s, s:s, s:s, s:i, "
        "s:{s:s, s:s*}, s:s, s:s}",
        "apiVersion", "v1", "kind", "Event", "metadata", "name", name, "namespace", name_space,
        "involvedObject", "apiVersion", subject->api_version, "kind", subject->kind, "namespace",
        subject->name_space[0] ? subject->name_space : NULL, "name", subject->name, "uid",
        uid[0] ? uid : NULL, "type", type == EVENT_WARNING ? "Warning" : "Normal", "reason", reason,
        "message", message, "firstTimestamp", now, "lastTimestamp", now, "count", 1, "source",
        "component", events->component, "host", events->host[0] ? events->host : NULL,
        "reportingComponent", events->component, "reportingInstance", events->host);
}

static struct queued_event *make_queued(const struct events *events,
                                        const struct event_subject *subject, enum event_type type,
                                        const char *reason, const char *message)
{
    struct queued_event *queued = xcalloc(1, sizeof(*queued));

    queued->subject_key = xasprintf("%s/%s/%s", subject->kind, subject->name_space, subject->name);
    queued->key = xasprintf("%s\n%d\n%s\n%s", queued->subject_key, type, reason, message);
    queued->name_space = xstrdup(subject->name_space[0] ? subject->name_space : "default");
    queued->item = event_item(events, subject, type, reason, message);
    return queued;
}

static bool add_queued(struct events *events, struct queued_event *queued)
{
    pthread_mutex_lock(&events->lock);
    bool fits = queued->item && events->waiting < QUEUE_MAX;
    if (fits) {
        *events->end = queued;
        events->end = &queued->next;
        events->waiting++;
    } else {
        events->dropped++;
    }
    pthread_mutex_unlock(&events->lock);
    return fits;
}

void events_emit(struct events *events, const struct event_subject *subject, enum event_type type,
                 const char *reason, const char *fmt, ...)
{
    _cleanup_text_ struct text message = TEXT_INIT(MESSAGE_LIMIT);

    if (!events)
        return;
    _cleanup_free_ char *whole = xformat_arguments(fmt);
    text_add(&message, whole);
    while (message.length > 0 && !text_is_utf8(message.chars, message.length))
        message.chars[--message.length] = '\0'; /* truncated in the middle of a character */
    struct queued_event *queued = make_queued(events, subject, type, reason, text_chars(&message));
    if (add_queued(events, queued))
        worker_wake(&events->worker);
    else
        queued_free(queued);
}

bool events_flush(struct events *events, int64_t timeout_ms)
{
    struct deadline deadline = deadline_in_ms(timeout_ms);
    const struct timespec until = deadline_timespec(deadline);

    pthread_mutex_lock(&events->lock);
    while (events->waiting > 0 && !deadline_has_passed(deadline))
        pthread_cond_clockwait(&events->idle, &events->lock, CLOCK_MONOTONIC, &until);
    bool is_empty = events->waiting == 0;
    pthread_mutex_unlock(&events->lock);
    return is_empty;
}

void events_register(struct events *events, struct metrics *metrics)
{
    const struct metric_spec spec = {
        METRIC_COUNTER, "csi_events_dropped_total",
        "Events that were not written: too many, refused, or not allowed.",
        .number = &events->dropped};

    metrics_register(metrics, &spec);
}

struct events *events_new(struct kube *kube, const char *component, const char *host)
{
    struct events *events = xcalloc(1, sizeof(*events));

    events->kube = kube;
    events->component = xstrdup(component);
    events->host = xstrdup(host);
    events->end = &events->first;
    pthread_mutex_init(&events->lock, NULL);
    pthread_cond_init(&events->idle, NULL);
    worker_start(&events->worker, "events", run_events, events);
    return events;
}

void events_free(struct events *events)
{
    if (!events)
        return;
    worker_stop(&events->worker);
    for (struct queued_event *queued = take_queued(events); queued; queued = take_queued(events))
        queued_free(queued);
    for (size_t i = 0; i < MEMORY_MAX; i++)
        free_all(events->written[i].key, events->written[i].path, events->subjects[i].key);
    pthread_cond_destroy(&events->idle);
    pthread_mutex_destroy(&events->lock);
    free_all(events->component, events->host, events);
}
