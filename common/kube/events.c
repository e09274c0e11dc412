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
struct queued {
    struct queued *next;
    char *subject_key; /* "Node//n1" */
    char *key;         /* subject, reason and message: what makes two events the same */
    json_t *item;
    char *name_space;
};

/* What was written before, so that the next one counts it up; the oldest is forgotten. */
struct written {
    char *key;
    char *path;
    int64_t count;
    int64_t at_ms;
};

/* How many events an object may still have. */
struct budget {
    char *subject_key;
    int64_t at_ms; /* last refill */
    unsigned left;
};

struct events {
    struct kube *kube;
    char *component;
    char *host;
    struct worker worker;
    struct written written[MEMORY_MAX]; /* the thread's own, as all down to the lock */
    struct budget budgets[MEMORY_MAX];
    bool reported_denied;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    struct queued *first;
    struct queued **end;
    unsigned waiting; /* queued or being written */
    atomic_uint_fast64_t dropped;
};

static void queued_free(struct queued *queued)
{
    free(queued->subject_key);
    free(queued->key);
    free(queued->name_space);
    json_decref(queued->item);
    free(queued);
}

/* --- writing --- */

/* The slot with the key, or the oldest one made free for it. */
static struct written *written_slot(struct events *events, const char *key)
{
    struct written *slot = &events->written[0];

    for (size_t i = 0; i < MEMORY_MAX; i++) {
        struct written *at = &events->written[i];

        if (at->key && strcmp(at->key, key) == 0)
            return at;
        if (at->at_ms < slot->at_ms)
            slot = at;
    }
    free(slot->key);
    free(slot->path);
    *slot = (struct written){.key = xstrdup(key)};
    return slot;
}

static struct budget *budget_slot(struct events *events, const char *subject_key)
{
    struct budget *slot = &events->budgets[0];

    for (size_t i = 0; i < MEMORY_MAX; i++) {
        struct budget *at = &events->budgets[i];

        if (at->subject_key && strcmp(at->subject_key, subject_key) == 0)
            return at;
        if (at->at_ms < slot->at_ms)
            slot = at;
    }
    free(slot->subject_key);
    *slot = (struct budget){xstrdup(subject_key), clock_monotonic_ms(), BURST};
    return slot;
}

static bool spend(struct events *events, const char *subject_key)
{
    struct budget *budget = budget_slot(events, subject_key);
    int64_t earned = (clock_monotonic_ms() - budget->at_ms) / REFILL_MS;

    if (earned > 0) {
        budget->left = earned + budget->left > BURST ? BURST : budget->left + (unsigned)earned;
        budget->at_ms += earned * REFILL_MS;
    }
    if (budget->left == 0)
        return false;
    budget->left--;
    return true;
}

static int count_up(struct events *events, struct call *call, struct written *written,
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

static int create(struct events *events, struct call *call, const struct queued *queued,
                  struct written *written, struct error *err)
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

static int write_one(struct events *events, struct call *call, const struct queued *queued,
                     struct error *err)
{
    struct written *written = written_slot(events, queued->key);
    bool is_recent = clock_monotonic_ms() - written->at_ms < SAME_FOR_MS;

    written->at_ms = clock_monotonic_ms();
    if (written->path && is_recent) {
        if (count_up(events, call, written, err) == 0)
            return 0;
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err); /* it has expired on the server */
    }
    return create(events, call, queued, written, err);
}

static void report(struct events *events, const struct error *err)
{
    bool denied = err->status == STATUS_PERMISSION_DENIED;

    if (denied && !events->reported_denied)
        log_warn(NULL, "events are not written: %s", err->message);
    else
        log_v(3, NULL, "an event was dropped: %s", err->message);
    events->reported_denied |= denied;
}

static bool write_or_drop(struct events *events, const struct queued *queued)
{
    _cleanup_error_ struct error err = {0};
    struct call call;

    if (!spend(events, queued->subject_key))
        return false;
    call_init(&call, 0, "event", deadline_in_ms(WRITE_TIMEOUT_MS));
    call.cancelled = &events->worker.stopping;
    int result = write_one(events, &call, queued, &err);
    call_done(&call);
    if (result < 0)
        report(events, &err);
    return result == 0;
}

static struct queued *take(struct events *events)
{
    pthread_mutex_lock(&events->lock);
    struct queued *queued = events->first;
    if (queued) {
        events->first = queued->next;
        if (!events->first)
            events->end = &events->first;
    }
    pthread_mutex_unlock(&events->lock);
    return queued;
}

static void finish(struct events *events, bool written)
{
    pthread_mutex_lock(&events->lock);
    events->waiting--;
    if (!written)
        events->dropped++;
    if (events->waiting == 0)
        pthread_cond_broadcast(&events->idle);
    pthread_mutex_unlock(&events->lock);
}

static void run(void *object)
{
    struct events *events = object;

    while (!worker_is_stopping(&events->worker)) {
        struct queued *queued = take(events);

        if (!queued) {
            worker_pause(&events->worker, INT64_MAX);
            continue;
        }
        finish(events, write_or_drop(events, queued));
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

static struct queued *make(const struct events *events, const struct event_subject *subject,
                           enum event_type type, const char *reason, const char *message)
{
    struct queued *queued = xcalloc(1, sizeof(*queued));

    queued->subject_key = xasprintf("%s/%s/%s", subject->kind, subject->name_space, subject->name);
    queued->key = xasprintf("%s\n%d\n%s\n%s", queued->subject_key, type, reason, message);
    queued->name_space = xstrdup(subject->name_space[0] ? subject->name_space : "default");
    queued->item = event_item(events, subject, type, reason, message);
    return queued;
}

static bool enqueue(struct events *events, struct queued *queued)
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
    va_list args;

    if (!events)
        return;
    va_start(args, fmt);
    _cleanup_free_ char *whole = xvasprintf(fmt, args);
    va_end(args);
    text_add(&message, whole);
    while (message.length > 0 && !text_is_utf8(message.chars, message.length))
        message.chars[--message.length] = '\0'; /* cut in the middle of a character */
    struct queued *queued = make(events, subject, type, reason, text_chars(&message));
    if (enqueue(events, queued))
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
    worker_start(&events->worker, "events", run, events);
    return events;
}

void events_free(struct events *events)
{
    if (!events)
        return;
    worker_stop(&events->worker);
    for (struct queued *queued = take(events); queued; queued = take(events))
        queued_free(queued);
    for (size_t i = 0; i < MEMORY_MAX; i++) {
        free(events->written[i].key);
        free(events->written[i].path);
        free(events->budgets[i].subject_key);
    }
    pthread_cond_destroy(&events->idle);
    pthread_mutex_destroy(&events->lock);
    free(events->component);
    free(events->host);
    free(events);
}
