#include "common/kube/kube_node_labels.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/worker.h"
#include "common/kube/kube.h"

#define POLL_MS 60000
#define RETRY_FIRST_MS 800
#define RETRY_LIMIT_MS 60000
#define WATCH_TIMEOUT_S 600
#define NODES "/api/v1/nodes"

/*
 * GET first, then a watch from the version that it brought. A list is never asked for, so that the
 * right to get the node is enough to start; the watch is tried once and given up for good when it
 * is forbidden.
 */
struct kube_node_labels {
    struct kube *kube;
    struct kube_node_labels_options options;
    char *node;
    char *path;
    char *field_selector;
    struct worker worker;
    struct backoff backoff;
    char *resource_version; /* the thread's own */
    bool may_watch;         /* the thread's own */
    pthread_mutex_t lock;   /* over all below */
    pthread_cond_t changed;
    struct strmap map;
    struct kube_node_labels_health health;
};

static void set_healthy(struct kube_node_labels *labels, bool healthy)
{
    if (labels->health.healthy != healthy)
        labels->health.since_ms = clock_monotonic_ms();
    labels->health.healthy = healthy;
}

static void note_failure(struct kube_node_labels *labels, const struct error *err)
{
    pthread_mutex_lock(&labels->lock);
    bool is_news = labels->health.healthy || !labels->health.last_error;
    free(labels->health.last_error);
    labels->health.last_error = xstrdup(err->message);
    set_healthy(labels, false);
    pthread_cond_broadcast(&labels->changed);
    pthread_mutex_unlock(&labels->lock);
    if (is_news)
        log_warn(NULL, "cannot read the labels of node '%s', trying again: %s", labels->node,
                 err->message);
}

static void remember_version(struct kube_node_labels *labels, const char *version)
{
    free(labels->resource_version);
    labels->resource_version = xstrdup(version);
}

/* Takes over the labels of a newly read node. */
static int take_node(struct kube_node_labels *labels, const json_t *item, struct error *err)
{
    _cleanup_strmap_ struct strmap copy = {0};
    void *object = NULL;

    if (kube_object_decode(KUBE_NODE, item, &object, err) < 0)
        return -1;
    struct strmap *read = &kube_meta(object)->labels;
    remember_version(labels, kube_resource_version(item));
    pthread_mutex_lock(&labels->lock);
    bool differ = !labels->health.known || !strmap_is_equal(&labels->map, read);
    if (differ) {
        strmap_merge(&copy, read);
        strmap_done(&labels->map);
        labels->map = *read;
        *read = (struct strmap){0};
    }
    labels->health.known = true;
    set_healthy(labels, true);
    pthread_cond_broadcast(&labels->changed);
    pthread_mutex_unlock(&labels->lock);
    kube_object_free(KUBE_NODE, object);
    if (differ && labels->options.changed)
        labels->options.changed(labels->options.object, &copy);
    return 0;
}

static int read_node(struct kube_node_labels *labels, struct error *err)
{
    json_auto_t *node = NULL;

    if (labels->kube->ops->get(labels->kube, &labels->worker.call, labels->path, &node, err) < 0)
        return -1;
    return take_node(labels, node, err);
}

static int take_event(void *object, enum kube_event_kind kind, json_t *item, struct error *err)
{
    struct kube_node_labels *labels = object;

    if (kind == KUBE_BOOKMARK) {
        remember_version(labels, kube_resource_version(item));
        return 0;
    }
    if (strcmp(kube_name(item), labels->node) != 0)
        return 0;
    if (kind == KUBE_DELETED) /* it may come back with other labels: read it anew */
        return error_set(err, STATUS_NOT_FOUND, "node '%s' was deleted", labels->node);
    backoff_reset(&labels->backoff);
    return take_node(labels, item, err);
}

static void set_watching(struct kube_node_labels *labels, bool watching)
{
    pthread_mutex_lock(&labels->lock);
    labels->health.watching = watching;
    pthread_mutex_unlock(&labels->lock);
}

static int watch_node(struct kube_node_labels *labels, struct error *err)
{
    _cleanup_free_ char *from = xstrdup(labels->resource_version);
    const struct kube_watch_options options = {.select = {.fields = labels->field_selector},
                                               .resource_version = from,
                                               .timeout_s =
                                                   (unsigned)backoff_jitter_ms(WATCH_TIMEOUT_S),
                                               .event = take_event,
                                               .object = labels};

    set_watching(labels, true);
    int result = labels->kube->ops->watch(labels->kube, &labels->worker.call, NODES, &options, err);
    set_watching(labels, false);
    return result;
}

/* After a good read: waits until there may be something new. */
static void wait_for_change(struct kube_node_labels *labels)
{
    _cleanup_error_ struct error err = {0};

    if (!labels->may_watch) {
        backoff_reset(&labels->backoff);
        worker_pause(&labels->worker, backoff_jitter_ms(labels->options.poll_ms));
        return;
    }
    int64_t began = clock_monotonic_ms();
    int result = watch_node(labels, &err);
    if (worker_is_stopping(&labels->worker))
        return;
    if (result < 0 && err.status == STATUS_PERMISSION_DENIED) {
        labels->may_watch = false;
        log_info(NULL, "labels of node '%s' are read every %lld s: %s", labels->node,
                 (long long)labels->options.poll_ms / 1000, err.message);
        return;
    }
    if (result < 0 && err.status != STATUS_OUT_OF_RANGE)
        log_v(3, NULL, "watch of node '%s' ended: %s", labels->node, err.message);
    if (result == 0 && clock_monotonic_ms() - began >= labels->backoff.first_ms)
        backoff_reset(&labels->backoff);
    else
        worker_pause(&labels->worker, backoff_next_ms(&labels->backoff));
}

static void run_labels(void *object)
{
    struct kube_node_labels *labels = object;

    while (!worker_is_stopping(&labels->worker)) {
        _cleanup_error_ struct error err = {0};

        if (read_node(labels, &err) == 0) {
            wait_for_change(labels);
        } else if (!worker_is_stopping(&labels->worker)) {
            note_failure(labels, &err);
            worker_pause(&labels->worker, backoff_next_ms(&labels->backoff));
        }
    }
}

int kube_node_labels_new(struct kube *kube, const struct kube_node_labels_options *options,
                         struct kube_node_labels **out, struct error *err)
{
    char *path = NULL;

    if (kube_object_path(KUBE_NODE, NULL, options->node, &path, err) < 0)
        return -1;
    struct kube_node_labels *labels = xcalloc(1, sizeof(*labels));
    labels->kube = kube;
    labels->options = *options;
    if (options->poll_ms <= 0)
        labels->options.poll_ms = POLL_MS;
    labels->backoff = (struct backoff)BACKOFF_INIT(
        options->retry_first_ms > 0 ? options->retry_first_ms : RETRY_FIRST_MS, RETRY_LIMIT_MS);
    labels->node = xstrdup(options->node);
    labels->path = path;
    labels->field_selector = xasprintf("metadata.name=%s", options->node);
    labels->may_watch = true;
    labels->health.since_ms = clock_monotonic_ms();
    pthread_mutex_init(&labels->lock, NULL);
    pthread_cond_init(&labels->changed, NULL);
    worker_start(&labels->worker, "node-labels", run_labels, labels);
    *out = labels;
    return 0;
}

void kube_node_labels_free(struct kube_node_labels *labels)
{
    if (!labels)
        return;
    worker_stop(&labels->worker);
    strmap_done(&labels->map);
    free(labels->health.last_error);
    pthread_cond_destroy(&labels->changed);
    pthread_mutex_destroy(&labels->lock);
    free_all(labels->resource_version, labels->node, labels->path, labels->field_selector, labels);
}

int kube_node_labels_copy(struct kube_node_labels *labels, struct call *call, struct strmap *out,
                          struct error *err)
{
    call_stage(call, "waiting {age} for the labels of node '%s'", labels->node);
    pthread_mutex_lock(&labels->lock);
    while (!labels->health.known && !call_is_cancelled(call)) { /* which has no event */
        const struct timespec until = deadline_timespec(deadline_in_ms(50));

        pthread_cond_clockwait(&labels->changed, &labels->lock, CLOCK_MONOTONIC, &until);
    }
    bool known = labels->health.known;
    if (known)
        strmap_merge(out, &labels->map);
    _cleanup_free_ char *reason =
        xstrdup(labels->health.last_error ? labels->health.last_error : "no answer yet");
    pthread_mutex_unlock(&labels->lock);
    if (known)
        return 0;
    return error_set(err, STATUS_UNAVAILABLE, "labels of node '%s' are not known: %s", labels->node,
                     reason);
}

int kube_node_labels_read(struct kube_node_labels *labels, struct call *call, struct strmap *out,
                          struct error *err)
{
    json_auto_t *node = NULL;
    void *object = NULL;

    if (labels->kube->ops->get(labels->kube, call, labels->path, &node, err) < 0 ||
        kube_object_decode(KUBE_NODE, node, &object, err) < 0)
        return -1;
    strmap_merge(out, &kube_meta(object)->labels);
    kube_object_free(KUBE_NODE, object);
    return 0;
}

void kube_node_labels_health(struct kube_node_labels *labels,
                             struct kube_node_labels_health *health)
{
    pthread_mutex_lock(&labels->lock);
    *health = labels->health;
    if (health->last_error)
        health->last_error = xstrdup(health->last_error);
    pthread_mutex_unlock(&labels->lock);
}
