#include "controller/capacity/capacity_publisher.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/kube/informer.h"
#include "common/kube/kube.h"
#include "common/kube/leader.h"

#define INTERVAL_MS 60000
#define FOLLOWER_MS 1000 /* how often to look whether this is the leader now */
#define GAP_MS 1000      /* between two rounds, however much happens */
#define ROUND_MS 120000

/* Objects by which classes and places are found. What else changes in them is of no interest: nodes
 * report their state all the time. */
static const struct watched_kind {
    enum kube_kind kind;
    const char *part[3]; /* the keys that lead to what counts; none: the whole object */
} WATCHED[] = {
    {KUBE_NODE, {"metadata", "labels"}},
    {KUBE_CSI_NODE, {"spec"}},
    {KUBE_CLASS, {NULL}},
};

struct watch {
    struct capacity_publisher *publisher;
    const struct watched_kind *kind;
    struct informer *informer;
};

struct capacity_publisher {
    struct publish_site site;
    int64_t interval_ms;
    int64_t gap_ms;
    struct leader leader;
    struct watch watches[ARRAY_LENGTH(WATCHED)];
    atomic_bool is_woken;    /* something has changed since the last round began */
    atomic_bool is_outdated; /* the view: nodes or classes have changed */
    struct publish_view view;
    struct metric_family *room; /* NULL: no metrics */
    struct publish_outcome last;
    char *remark;                 /* of the view, as it was logged */
    atomic_uint_fast64_t objects; /* metrics, as are the next two */
    atomic_uint_fast64_t writes;
    atomic_uint_fast64_t is_refused;
};

/* --- what changes --- */

void capacity_publisher_wake(void *object)
{
    struct capacity_publisher *publisher = object;

    atomic_store(&publisher->is_woken, true);
    worker_wake(&publisher->leader.worker);
}

static bool has_news(const struct capacity_publisher *publisher)
{
    return atomic_load(&publisher->is_woken) || atomic_load(&publisher->is_outdated);
}

static void outdate_view(const struct watch *watch)
{
    atomic_store(&watch->publisher->is_outdated, true);
    capacity_publisher_wake(watch->publisher);
}

static const json_t *part_of(const struct watched_kind *kind, const json_t *item)
{
    for (size_t i = 0; i < ARRAY_LENGTH(kind->part) && kind->part[i]; i++)
        item = json_object_get(item, kind->part[i]);
    return item;
}

static void note_put(void *object, json_t *item, json_t *old)
{
    const struct watch *watch = object;
    const json_t *now = part_of(watch->kind, item);
    const json_t *before = old ? part_of(watch->kind, old) : NULL;

    bool is_same = now == before; /* also if both are absent */

    if (now && before)
        is_same = json_equal(now, before);
    if (!old || !is_same)
        outdate_view(watch);
}

static void note_gone(void *object, json_t *item)
{
    (void)item;
    outdate_view(object);
}

static void trim_node(void *object, json_t *item)
{
    const struct watch *watch = object;

    if (watch->kind->kind != KUBE_NODE)
        return;
    json_object_del(item, "status");
    json_object_del(item, "spec");
    json_object_del(json_object_get(item, "metadata"), "annotations");
}

static void start_watches(struct capacity_publisher *publisher)
{
    for (size_t i = 0; i < ARRAY_LENGTH(WATCHED); i++) {
        _cleanup_free_ char *path = NULL;
        _cleanup_error_ struct error err = {0};

        if (kube_object_path(WATCHED[i].kind, NULL, NULL, &path, &err) < 0)
            continue; /* a collection has no name that could be wrong */
        publisher->watches[i] = (struct watch){publisher, &WATCHED[i], NULL};
        publisher->watches[i].informer =
            informer_new(publisher->site.kube,
                         &(struct informer_options){.path = path,
                                                    .handler = {note_put, note_gone, trim_node},
                                                    .object = &publisher->watches[i]});
    }
}

/* --- rounds --- */

static bool has_figure(const struct publish_outcome *outcome, const struct publish_figure *figure)
{
    for (size_t i = 0; i < outcome->figure_count; i++)
        if (strcmp(outcome->figures[i].class, figure->class) == 0 &&
            strcmp(outcome->figures[i].place, figure->place) == 0)
            return true;
    return false;
}

/* Those of the round before that have no figure any more become NaN. */
static void show_figures(struct capacity_publisher *publisher, struct publish_outcome *outcome)
{
    const struct publish_outcome *last = &publisher->last;

    for (size_t i = 0; publisher->room && i < last->figure_count; i++)
        if (!has_figure(outcome, &last->figures[i]))
            metric_set(
                metrics_get(publisher->room, last->figures[i].class, last->figures[i].place, NULL),
                NAN);
    for (size_t i = 0; publisher->room && i < outcome->figure_count; i++) {
        const struct publish_figure *figure = &outcome->figures[i];

        metric_set(metrics_get(publisher->room, figure->class, figure->place, NULL),
                   (double)figure->bytes);
    }
    publish_outcome_done(&publisher->last);
    publisher->last = *outcome;
    *outcome = (struct publish_outcome){0};
}

static void log_remark(struct capacity_publisher *publisher)
{
    const char *remark = publisher->view.remark;

    if (remark && !(publisher->remark && strcmp(publisher->remark, remark) == 0))
        log_warn(NULL, "publish capacity: %s", remark);
    free(publisher->remark);
    publisher->remark = remark ? xstrdup(remark) : NULL;
}

static void publish_round(struct capacity_publisher *publisher)
{
    struct worker *worker = &publisher->leader.worker;
    _cleanup_publish_outcome_ struct publish_outcome outcome = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 0, "publish-capacity", deadline_in_ms(ROUND_MS));
    call.cancelled = &worker->stopping;
    int result = publish_capacity_once(&publisher->site, &call, leader_may_act, &publisher->leader,
                                       &publisher->view, &outcome, &err);
    call_done(&call);
    _cleanup_free_ char *refusal =
        outcome.foreign ? xasprintf("somebody else does it already: %s; switch one of the two off",
                                    outcome.foreign)
                        : NULL;
    const char *fault = result < 0 ? err.message : refusal;
    atomic_store(&publisher->objects, outcome.objects);
    atomic_fetch_add(&publisher->writes, outcome.writes);
    atomic_store(&publisher->is_refused, outcome.foreign != NULL);
    if (!worker_is_stopping(worker) && leader_note(&publisher->leader, fault) == CONDITION_FAULT)
        log_warn(NULL, "publish capacity: %s", fault);
    log_remark(publisher);
    show_figures(publisher, &outcome);
}

/* Figures of one who does not publish any more are nobody's. */
static void stop_showing(struct capacity_publisher *publisher)
{
    _cleanup_publish_outcome_ struct publish_outcome nothing = {0};

    show_figures(publisher, &nothing);
    publish_view_done(&publisher->view);
    atomic_store(&publisher->objects, 0);
}

/* Waits until @end whatever wakes it; what happened meanwhile is in the next round. */
static void keep_gap(struct capacity_publisher *publisher, int64_t end_ms)
{
    struct worker *worker = &publisher->leader.worker;

    for (int64_t now = clock_monotonic_ms(); now < end_ms && !worker_is_stopping(worker);
         now = clock_monotonic_ms())
        worker_pause(worker, end_ms - now);
}

static void run_publisher(void *object)
{
    struct capacity_publisher *publisher = object;
    struct worker *worker = &publisher->leader.worker;
    const int64_t interval_ms = publisher->interval_ms;
    int64_t viewed_ms = 0;

    while (!worker_is_stopping(worker)) {
        if (!leader_may_act(&publisher->leader)) {
            stop_showing(publisher);
            worker_pause(worker, interval_ms < FOLLOWER_MS ? interval_ms : FOLLOWER_MS);
            continue;
        }
        int64_t now = clock_monotonic_ms();
        if (atomic_exchange(&publisher->is_outdated, false) || now - viewed_ms >= interval_ms) {
            publish_view_done(&publisher->view);
            viewed_ms = now;
        }
        atomic_store(&publisher->is_woken, false);
        publish_round(publisher);
        keep_gap(publisher, clock_monotonic_ms() + publisher->gap_ms);
        now = clock_monotonic_ms();
        if (now - viewed_ms < interval_ms && !has_news(publisher))
            worker_pause(worker, viewed_ms + interval_ms - now);
    }
}

/* --- life cycle --- */

static void register_metrics(struct capacity_publisher *publisher, struct metrics *metrics)
{
    const struct metric_spec specs[] = {
        {METRIC_GAUGE, "csi_capacity_objects",
         "CSIStorageCapacity objects that this controller keeps.", .number = &publisher->objects},
        {METRIC_COUNTER, "csi_capacity_writes_total",
         "CSIStorageCapacity objects created, changed and removed.", .number = &publisher->writes},
        {METRIC_GAUGE, "csi_capacity_refused",
         "1 while somebody else publishes the capacity of this driver.",
         .number = &publisher->is_refused},
    };

    metrics_register_all(metrics, specs, ARRAY_LENGTH(specs));
    publisher->room = metrics_register(
        metrics,
        &(struct metric_spec){METRIC_GAUGE, "csi_capacity_bytes",
                              "Free space that is published for a class in a place; NaN when it is "
                              "not published any more.",
                              .labels = {"class", "place"}});
}

static void stop_watches(struct capacity_publisher *publisher)
{
    for (size_t i = 0; i < ARRAY_LENGTH(WATCHED); i++)
        informer_free(publisher->watches[i].informer);
}

int capacity_publisher_new(const struct capacity_publisher_options *options,
                           struct capacity_publisher **out, struct error *err)
{
    struct capacity_publisher *publisher = xcalloc(1, sizeof(*publisher));
    _cleanup_free_ char *name = xasprintf("%s-capacity", options->site.driver_name);

    publisher->site = options->site;
    publisher->interval_ms = options->interval_ms > 0 ? options->interval_ms : INTERVAL_MS;
    publisher->gap_ms = options->gap_ms > 0 ? options->gap_ms : GAP_MS;
    if (leader_init(&publisher->leader, options->site.kube,
                    &(struct lease_options){.name_space = options->site.name_space,
                                            .name = name,
                                            .identity = options->identity},
                    err) < 0) {
        free(publisher);
        return -1;
    }
    if (options->metrics)
        register_metrics(publisher, options->metrics);
    worker_start(&publisher->leader.worker, "capacity", run_publisher, publisher);
    start_watches(publisher);
    *out = publisher;
    return 0;
}

void capacity_publisher_free(struct capacity_publisher *publisher)
{
    if (!publisher)
        return;
    stop_watches(publisher); /* they wake the thread */
    leader_done(&publisher->leader);
    publish_view_done(&publisher->view);
    publish_outcome_done(&publisher->last);
    free_all(publisher->remark, publisher);
}

bool capacity_publisher_is_healthy(struct capacity_publisher *publisher, char **message,
                                   time_t *since)
{
    return leader_is_healthy(&publisher->leader, message, since);
}
