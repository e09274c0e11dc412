#include "controller/publish_capacity.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/kube/capacity_objects.h"
#include "common/kube/cluster_nodes.h"
#include "common/kube/leader.h"

#define INTERVAL_MS 60000
#define ROUND_MS 120000
#define ASK_MS 30000 /* for one figure */

/* --- one round --- */

struct segments {
    struct strmap *items;
    size_t count;
};

static void segments_done(struct segments *segments)
{
    for (size_t i = 0; i < segments->count; i++)
        strmap_done(&segments->items[i]);
    free(segments->items);
}

static void add_segment(struct segments *segments, struct strmap *segment)
{
    for (size_t i = 0; i < segments->count; i++)
        if (strmap_is_equal(&segments->items[i], segment))
            return;
    *array_add(segments->items, segments->count) = *segment;
    *segment = (struct strmap){0};
}

/* Where nodes are that have the driver, by the labels that kubelet set. A node that lacks one of
 * them has no place yet, and so has one without keys where nodes are to have places: a segment of
 * no keys would promise its capacity to every node. */
static void find_segments(const struct cluster_nodes *nodes, bool has_levels,
                          struct segments *segments)
{
    for (size_t i = 0; i < nodes->count && !has_levels; i++)
        has_levels = nodes->items[i].has_driver && nodes->items[i].keys.count > 0;
    for (size_t i = 0; i < nodes->count; i++) {
        const struct cluster_node *node = &nodes->items[i];
        _cleanup_strmap_ struct strmap segment = {0};

        if (!node->has_driver || (has_levels && node->keys.count == 0))
            continue;
        for (size_t j = 0; j < node->keys.count; j++) {
            const char *value = strmap_get(&node->labels, node->keys.items[j]);

            if (value)
                strmap_set(&segment, node->keys.items[j], value);
        }
        if (segment.count == node->keys.count)
            add_segment(segments, &segment);
    }
}

struct publishing {
    const struct publish_site *site;
    struct call *call;
    publish_may_act_fn *may_act;
    void *may_act_object;
    struct capacity_objects objects;
    bool *is_wanted; /* of each object */
    struct publish_outcome *outcome;
};

/* The first is wanted; further ones of the same class and place are duplicates. */
static struct capacity_object *find_object(struct publishing *publishing, const char *class,
                                           const struct strmap *segment)
{
    for (size_t i = 0; i < publishing->objects.count; i++) {
        struct capacity_object *object = &publishing->objects.items[i];

        if (strcmp(object->class, class) == 0 && strmap_is_equal(&object->segment, segment)) {
            publishing->is_wanted[i] = true;
            return object;
        }
    }
    return NULL;
}

static int write_object(struct publishing *publishing, struct capacity_object *found,
                        const char *class, const struct strmap *segment,
                        const struct published_capacity *capacity, struct error *err)
{
    const struct publish_site *site = publishing->site;
    struct capacity_object object = {
        .name = found ? found->name : NULL,
        .class = (char *)(uintptr_t) class,
        .segment = *segment,
        .bytes = capacity->available_bytes,
        .maximum_bytes = capacity->maximum_bytes,
        .has_maximum = capacity->has_maximum,
    };

    bool is_same = found && found->bytes == capacity->available_bytes &&
                   found->has_maximum == capacity->has_maximum &&
                   (!capacity->has_maximum || found->maximum_bytes == capacity->maximum_bytes);
    if (is_same || !publishing->may_act(publishing->may_act_object))
        return 0;
    int result =
        found ? capacity_object_update(site->kube, publishing->call, site->name_space, &object, err)
              : capacity_object_create(site->kube, publishing->call, site->name_space,
                                       site->driver_name, &object, err);
    publishing->outcome->writes += result == 0;
    return result;
}

static int publish_one(struct publishing *publishing, const struct capacity_class *class,
                       const struct strmap *segment, struct error *err)
{
    const struct publish_site *site = publishing->site;
    struct capacity_object *found = find_object(publishing, class->name, segment);
    struct published_capacity capacity = {0};
    struct call call;

    call_init(&call, 0, "publish-capacity",
              deadline_earlier(publishing->call->deadline, deadline_in_ms(ASK_MS)));
    call.cancelled = publishing->call->cancelled;
    int result = site->ask(site->object, &call, &class->parameters, segment, &capacity, err);
    call_done(&call);
    if (result == 0)
        result = write_object(publishing, found, class->name, segment, &capacity, err);
    publishing->outcome->objects += found || result == 0;
    return result < 0 ? error_wrap(err, "capacity of class '%s'", class->name) : 0;
}

/* Those that are not wanted, or all of ours where another manager publishes. */
static int remove_unwanted(struct publishing *publishing, struct error *err)
{
    const struct publish_site *site = publishing->site;

    for (size_t i = 0; i < publishing->objects.count; i++) {
        const struct capacity_object *object = &publishing->objects.items[i];

        if (publishing->is_wanted[i] || strcmp(object->manager, CAPACITY_MANAGER) != 0)
            continue;
        if (!publishing->may_act(publishing->may_act_object))
            return 0;
        if (capacity_object_remove(site->kube, publishing->call, site->name_space, object->name,
                                   err) < 0)
            return -1;
        publishing->outcome->writes++;
    }
    return 0;
}

static int publish_all(struct publishing *publishing, struct error *err)
{
    const struct publish_site *site = publishing->site;
    _cleanup_cluster_nodes_ struct cluster_nodes nodes = {0};
    _cleanup_capacity_classes_ struct capacity_classes classes = {0};
    _cleanup_(segments_done) struct segments segments = {0};
    _cleanup_error_ struct error first = {0};

    if (cluster_nodes_read(site->kube, publishing->call, site->driver_name, &nodes, err) < 0 ||
        capacity_classes_read(site->kube, publishing->call, site->driver_name, &classes, err) < 0)
        return -1;
    find_segments(&nodes, site->has_levels, &segments);
    for (size_t i = 0; i < classes.count * segments.count; i++) {
        _cleanup_error_ struct error failure = {0};

        if (publish_one(publishing, &classes.items[i / segments.count],
                        &segments.items[i % segments.count], &failure) < 0 &&
            !first.message)
            error_move(&first, &failure);
    }
    if (remove_unwanted(publishing, err) < 0)
        return -1;
    return first.message ? error_move(err, &first) : 0;
}

int publish_capacity_once(const struct publish_site *site, struct call *call,
                          publish_may_act_fn *may_act, void *may_act_object,
                          struct publish_outcome *outcome, struct error *err)
{
    struct publishing publishing = {.site = site,
                                    .call = call,
                                    .may_act = may_act,
                                    .may_act_object = may_act_object,
                                    .outcome = outcome};

    *outcome = (struct publish_outcome){0};
    if (capacity_objects_read(site->kube, call, site->name_space, site->driver_name,
                              &publishing.objects, err) < 0)
        return -1;
    publishing.is_wanted = xcalloc(publishing.objects.count + 1, sizeof(bool));
    for (size_t i = 0; i < publishing.objects.count && !outcome->foreign; i++) {
        const struct capacity_object *object = &publishing.objects.items[i];

        if (strcmp(object->manager, CAPACITY_MANAGER) != 0)
            outcome->foreign = xasprintf("object '%s' of '%s'", object->name, object->manager);
    }
    int result =
        outcome->foreign ? remove_unwanted(&publishing, err) : publish_all(&publishing, err);
    free(publishing.is_wanted);
    capacity_objects_done(&publishing.objects);
    return result;
}

/* --- the thread --- */

struct capacity_publisher {
    struct publish_site site;
    int64_t interval_ms;
    struct leader leader;
    atomic_uint_fast64_t objects; /* metrics, as are the next two */
    atomic_uint_fast64_t writes;
    atomic_uint_fast64_t is_refused;
};

static void publish_round(struct capacity_publisher *publisher)
{
    struct worker *worker = &publisher->leader.worker;
    struct publish_outcome outcome = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 0, "publish-capacity", deadline_in_ms(ROUND_MS));
    call.cancelled = &worker->stopping;
    int result = publish_capacity_once(&publisher->site, &call, leader_may_act, &publisher->leader,
                                       &outcome, &err);
    call_done(&call);
    _cleanup_free_ char *foreign = outcome.foreign;
    _cleanup_free_ char *refusal =
        foreign ? xasprintf("somebody else does it already: %s; switch one of the two off", foreign)
                : NULL;
    const char *fault = result < 0 ? err.message : refusal;
    atomic_store(&publisher->objects, outcome.objects);
    atomic_fetch_add(&publisher->writes, outcome.writes);
    atomic_store(&publisher->is_refused, foreign != NULL);
    if (!worker_is_stopping(worker) && leader_note(&publisher->leader, fault) == CONDITION_FAULT)
        log_warn(NULL, "publish capacity: %s", fault);
}

static void run_publisher(void *object)
{
    struct capacity_publisher *publisher = object;
    struct worker *worker = &publisher->leader.worker;

    while (!worker_is_stopping(worker)) {
        bool is_leader = leader_may_act(&publisher->leader);

        if (is_leader)
            publish_round(publisher);
        worker_pause(worker,
                     is_leader || publisher->interval_ms < 1000 ? publisher->interval_ms : 1000);
    }
}

static void register_metrics(const struct capacity_publisher *publisher, struct metrics *metrics)
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
}

int capacity_publisher_new(const struct capacity_publisher_options *options,
                           struct capacity_publisher **out, struct error *err)
{
    struct capacity_publisher *publisher = xcalloc(1, sizeof(*publisher));
    _cleanup_free_ char *name = xasprintf("%s-capacity", options->site.driver_name);

    publisher->site = options->site;
    publisher->interval_ms = options->interval_ms > 0 ? options->interval_ms : INTERVAL_MS;
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
    *out = publisher;
    return 0;
}

void capacity_publisher_free(struct capacity_publisher *publisher)
{
    if (!publisher)
        return;
    leader_done(&publisher->leader);
    free(publisher);
}

bool capacity_publisher_is_healthy(struct capacity_publisher *publisher, char **message,
                                   time_t *since)
{
    return leader_is_healthy(&publisher->leader, message, since);
}
