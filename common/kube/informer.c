#include "common/kube/informer.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/worker.h"
#include "common/kube/kube.h"

#define ITEMS_MAX 100000
#define RETRY_FIRST_MS 800
#define RETRY_LIMIT_MS 30000
#define WATCH_TIMEOUT_S 600
/* A watch that ends sooner without an event was no success: the server may be broken. */
#define WATCH_WORTH_MS 1000
#define KEY_LIMIT 1024

struct informer {
    struct kube *kube;
    char *path;
    struct informer_options options;
    struct worker worker;
    struct backoff backoff;
    char *resource_version; /* the thread's own: where the watch continues */
    uint64_t events;        /* the thread's own */
    bool reported;          /* the thread's own: a failure was logged */
    json_t *fresh;          /* the thread's own: what a list has brought so far */
    pthread_mutex_t lock;   /* over all below */
    json_t *items; /* "NAMESPACE/NAME" -> item; values never change once they are in, and only the
                    * thread counts references to them */
    struct informer_health health;
};

static void key_of(const json_t *item, struct text *key)
{
    text_addf(key, "%s/%s", kube_namespace(item), kube_name(item));
}

/* --- health --- */

static void set_healthy(struct informer *informer, bool healthy)
{
    if (informer->health.healthy != healthy)
        informer->health.since_ms = clock_monotonic_ms();
    informer->health.healthy = healthy;
}

static void note_success(struct informer *informer)
{
    pthread_mutex_lock(&informer->lock);
    set_healthy(informer, true);
    pthread_mutex_unlock(&informer->lock);
    if (informer->reported)
        log_info(NULL, "%s is up to date again", informer->path);
    informer->reported = false;
}

/* Servers end connections now and then; what fails a second time in a row is worth a line, once. */
static void note_failure(struct informer *informer, const struct error *err)
{
    pthread_mutex_lock(&informer->lock);
    informer->health.failures++;
    free(informer->health.last_error);
    informer->health.last_error = xstrdup(err->message);
    set_healthy(informer, false);
    pthread_mutex_unlock(&informer->lock);
    if (informer->backoff.failures == 0 || informer->reported)
        return;
    informer->reported = true;
    log_warn(NULL, "cannot follow %s, trying again: %s", informer->path, err->message);
}

/* --- changes --- */

static void trim_item(struct informer *informer, json_t *item)
{
    json_object_del(json_object_get(item, "metadata"), "managedFields");
    if (informer->options.handler.trim)
        informer->options.handler.trim(informer->options.object, item);
}

/* @old is NULL for a new item. What a new list brings unchanged is not reported. */
static void report_put(struct informer *informer, json_t *item, json_t *old)
{
    if (informer->options.handler.put &&
        (!old || strcmp(kube_resource_version(item), kube_resource_version(old)) != 0))
        informer->options.handler.put(informer->options.object, item, old);
}

static void report_gone(struct informer *informer, json_t *item)
{
    if (informer->options.handler.gone)
        informer->options.handler.gone(informer->options.object, item);
}

/* Stores the item, or with @is_gone removes it. */
static void change_item(struct informer *informer, json_t *item, bool is_gone)
{
    _cleanup_text_ struct text key = TEXT_INIT(KEY_LIMIT);

    key_of(item, &key);
    pthread_mutex_lock(&informer->lock);
    json_auto_t *old = json_incref(json_object_get(informer->items, text_chars(&key)));
    if (is_gone)
        json_object_del(informer->items, text_chars(&key));
    else
        json_object_set(informer->items, text_chars(&key), item);
    pthread_mutex_unlock(&informer->lock);
    if (!is_gone)
        report_put(informer, item, old);
    else if (old)
        report_gone(informer, old);
}

static void report_difference(struct informer *informer, json_t *before, json_t *now)
{
    const char *key = NULL;
    json_t *item = NULL;

    json_object_foreach(before, key, item)
    {
        if (!json_object_get(now, key))
            report_gone(informer, item);
    }
    json_object_foreach(now, key, item)
    {
        report_put(informer, item, json_object_get(before, key));
    }
}

/* --- list --- */

static void start_list(void *object)
{
    struct informer *informer = object;

    json_decref(informer->fresh);
    informer->fresh = json_object();
}

static int add_listed(void *object, json_t *item, struct error *err)
{
    struct informer *informer = object;
    _cleanup_text_ struct text key = TEXT_INIT(KEY_LIMIT);

    if (json_object_size(informer->fresh) >= informer->options.items_max)
        return error_set(err, STATUS_FAILED_PRECONDITION, "%s has more than %zu objects",
                         informer->path, informer->options.items_max);
    trim_item(informer, item);
    key_of(item, &key);
    json_object_set(informer->fresh, text_chars(&key), item);
    return 0;
}

/* The handler walks over a copy of the new state: informer->items may only be touched with the
 * lock held. */
static void take_fresh(struct informer *informer)
{
    json_auto_t *now = json_copy(informer->fresh);

    pthread_mutex_lock(&informer->lock);
    json_auto_t *before = informer->items;
    informer->items = TAKE(informer->fresh);
    pthread_mutex_unlock(&informer->lock);
    report_difference(informer, before, now);
    pthread_mutex_lock(&informer->lock);
    informer->health.synced = true;
    informer->health.lists++;
    pthread_mutex_unlock(&informer->lock);
}

static int list_items(struct informer *informer, struct error *err)
{
    const struct kube_list_sink sink = {start_list, add_listed, informer};
    char *version = NULL;

    if (kube_list(informer->kube, &informer->worker.call, informer->path, NULL, &sink, &version,
                  err) < 0)
        return -1;
    free(informer->resource_version);
    informer->resource_version = version;
    take_fresh(informer);
    note_success(informer);
    return 0;
}

/* --- watch --- */

static int take_event(void *object, enum kube_event_kind kind, json_t *item, struct error *err)
{
    struct informer *informer = object;
    const char *version = kube_resource_version(item);

    (void)err;
    informer->events++;
    backoff_reset(&informer->backoff);
    note_success(informer);
    if (kind == KUBE_ADDED || kind == KUBE_MODIFIED)
        trim_item(informer, item);
    if (kind != KUBE_BOOKMARK)
        change_item(informer, item, kind == KUBE_DELETED);
    if (version[0] != '\0') {
        free(informer->resource_version);
        informer->resource_version = xstrdup(version);
    }
    return 0;
}

/* One watch, from wherever we are until it ends. */
static int watch_items(struct informer *informer, struct error *err)
{
    _cleanup_free_ char *from = xstrdup(informer->resource_version);
    const struct kube_watch_options options = {.resource_version = from,
                                               .timeout_s =
                                                   (unsigned)backoff_jitter_ms(WATCH_TIMEOUT_S),
                                               .event = take_event,
                                               .object = informer};

    return informer->kube->ops->watch(informer->kube, &informer->worker.call, informer->path,
                                      &options, err);
}

/* Watches until only a new list helps. */
static void follow_items(struct informer *informer)
{
    while (!worker_is_stopping(&informer->worker)) {
        _cleanup_error_ struct error err = {0};
        int64_t began = clock_monotonic_ms();
        uint64_t events = informer->events;
        int result = watch_items(informer, &err);
        bool was_worth =
            informer->events > events || clock_monotonic_ms() - began >= WATCH_WORTH_MS;

        if (worker_is_stopping(&informer->worker))
            return;
        if (result == 0 && was_worth) {
            backoff_reset(&informer->backoff);
            note_success(informer);
            continue;
        }
        if (result < 0 && err.status == STATUS_OUT_OF_RANGE)
            log_v(4, NULL, "listing %s again: %s", informer->path, err.message);
        else if (result < 0)
            note_failure(informer, &err);
        worker_pause(&informer->worker, backoff_next_ms(&informer->backoff));
        if (result < 0 && err.status == STATUS_OUT_OF_RANGE)
            return;
    }
}

static void run_informer(void *object)
{
    struct informer *informer = object;

    while (!worker_is_stopping(&informer->worker)) {
        _cleanup_error_ struct error err = {0};

        if (list_items(informer, &err) == 0) {
            follow_items(informer);
        } else if (!worker_is_stopping(&informer->worker)) {
            note_failure(informer, &err);
            worker_pause(&informer->worker, backoff_next_ms(&informer->backoff));
        }
    }
}

/* --- creation and release --- */

struct informer *informer_new(struct kube *kube, const struct informer_options *options)
{
    struct informer *informer = xcalloc(1, sizeof(*informer));

    informer->kube = kube;
    informer->path = xstrdup(options->path);
    informer->options = *options;
    if (informer->options.items_max == 0)
        informer->options.items_max = ITEMS_MAX;
    informer->backoff = (struct backoff)BACKOFF_INIT(
        options->retry_first_ms > 0 ? options->retry_first_ms : RETRY_FIRST_MS,
        options->retry_limit_ms > 0 ? options->retry_limit_ms : RETRY_LIMIT_MS);
    informer->items = json_object();
    informer->health.since_ms = clock_monotonic_ms();
    pthread_mutex_init(&informer->lock, NULL);
    worker_start(&informer->worker, "informer", run_informer, informer);
    return informer;
}

void informer_free(struct informer *informer)
{
    if (!informer)
        return;
    worker_stop(&informer->worker);
    json_decref(informer->items);
    json_decref(informer->fresh);
    informer_health_done(&informer->health);
    pthread_mutex_destroy(&informer->lock);
    free_all(informer->resource_version, informer->path, informer);
}

/* --- queries --- */

json_t *informer_get(struct informer *informer, const char *name_space, const char *name)
{
    _cleanup_free_ char *key = xasprintf("%s/%s", name_space, name);

    pthread_mutex_lock(&informer->lock);
    json_t *item = json_deep_copy(json_object_get(informer->items, key));
    pthread_mutex_unlock(&informer->lock);
    return item;
}

void informer_health(struct informer *informer, struct informer_health *health)
{
    pthread_mutex_lock(&informer->lock);
    *health = informer->health;
    if (health->last_error)
        health->last_error = xstrdup(health->last_error);
    pthread_mutex_unlock(&informer->lock);
}

void informer_health_done(struct informer_health *health)
{
    free(health->last_error);
    *health = (struct informer_health){0};
}
