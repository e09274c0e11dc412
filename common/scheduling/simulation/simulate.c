#include "common/scheduling/simulation/simulate.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/scheduling/binding_score.h"
#include "common/scheduling/pod_placement.h"
#include "common/scheduling/pod_survey.h"
#include "common/scheduling/simulation/simulate_scenario.h"

/* A pod is tried so often in a row when its volumes are given back, and in so many rounds. */
#define TRIES_MAX 4
#define ROUNDS_MAX 4
/* Waiting for the others ends after so many turns without an end. */
#define TURNS_MAX 8
/* More events than this in one round: every pod may be helped. */
#define EVENTS_MAX 4096
#define PROGRESS_STEP 16

struct simulated_event {
    enum kube_kind kind;
    const void *object;
    bool is_new;
};

/* The result for pods that ask the same. */
struct remembered {
    char *signature;
    char *reason;
};

struct scheduler {
    struct cluster_objects *cluster;
    const struct binding_options *options;
    const struct simulation_request *request;
    struct simulation *result;
    struct actors actors;
    struct simulated_event events[EVENTS_MAX];
    size_t event_count;           /* may be larger than what is kept */
    struct named_list remembered; /* struct remembered, by signature */
    size_t start;                 /* the node to begin with */
};

/* --- events --- */

static void free_remembered(void *item)
{
    struct remembered *remembered = item;

    free_all(remembered->signature, remembered->reason, remembered);
}

static struct cluster_event event_of(const struct simulated_event *event)
{
    /* of what changed, only the new state is kept: the hints need no more of claims and volumes */
    return (struct cluster_event){event->kind, event->is_new ? NULL : event->object, event->object};
}

static void on_event(void *object, enum kube_kind kind, const void *changed, bool is_new)
{
    struct scheduler *scheduler = object;
    const struct simulated_event event = {kind, changed, is_new};
    const struct cluster_event hint = event_of(&event);

    if (scheduler->event_count < EVENTS_MAX)
        scheduler->events[scheduler->event_count] = event;
    scheduler->event_count++;
    if (binding_event_invalidates(&hint) & PLUGIN_VOLUME_BINDING)
        named_list_done(&scheduler->remembered, free_remembered);
}

static bool may_be_helped(const struct scheduler *scheduler, const struct kube_pod *pod)
{
    if (scheduler->event_count > EVENTS_MAX)
        return true;
    for (size_t i = 0; i < scheduler->event_count; i++) {
        const struct cluster_event hint = event_of(&scheduler->events[i]);

        if (binding_event_may_help(PLUGIN_VOLUME_BINDING, pod, &hint) ||
            binding_event_may_help(PLUGIN_VOLUME_RESTRICTIONS, pod, &hint) ||
            binding_event_may_help(PLUGIN_VOLUME_ZONE, pod, &hint))
            return true;
    }
    return false;
}

/* --- results that hold for others --- */

/* NULL: the pod has wishes of its own, or claims with something special. */
static char *signature_of(const struct kube_pod *pod, const struct pod_claims *claims)
{
    struct text text = TEXT_INIT(65536);

    for (size_t i = 0; i < pod->volume_count; i++)
        if (pod->volumes[i].exclusive)
            return NULL;
    if (pod->node_selector.count || pod->has_required || pod->preference_count ||
        pod->toleration_count || claims->bound_count || claims->delayed_count != claims->count)
        return NULL;
    for (size_t i = 0; i < claims->count; i++) {
        const struct pod_claim *item = &claims->items[i];
        const struct kube_pvc *claim = item->claim;

        if (item->selected_node || item->prebound.count || claim->selector.is_set || item->fault ||
            (claim->access_modes & KUBE_ACCESS_RWOP)) {
            text_done(&text);
            return NULL;
        }
        text_addf(&text, "%s\n%llx%016llx %d %u %s\n", item->class->meta.name,
                  (unsigned long long)(claim->request.nano >> 64),
                  (unsigned long long)claim->request.nano,
                  kube_volume_mode_is_block(claim->volume_mode), claim->access_modes,
                  claim->attributes_class ? claim->attributes_class : "");
    }
    return text.length ? text_take(&text) : NULL;
}

/* --- choosing a node --- */

/* How many nodes that fit are enough to choose from: Kubernetes' default, 100 or more. */
static size_t count_enough(size_t nodes)
{
    size_t percent = nodes / 125 < 45 ? 50 - nodes / 125 : 5;
    size_t count = nodes * percent / 100;

    return count > 100 ? count : 100;
}

struct best_node {
    size_t at; /* the number of nodes: none */
    int64_t score;
    size_t pods;
};

/* The place of the best node; the number of nodes if none fits. Each pod begins where the one
 * before ended. */
static size_t choose_node(struct scheduler *scheduler, const struct kube_pod *pod,
                          struct pod_survey *survey)
{
    size_t count = survey->decisions.count;
    struct best_node best = {.at = count};
    size_t found = 0;
    size_t looked = 0;

    for (; looked < count && found < count_enough(count); looked++) {
        size_t at = (scheduler->start + looked) % count;
        _cleanup_node_rejection_ struct node_rejection rejection = {0};

        if (!pod_survey_check_node(scheduler->cluster, scheduler->options, survey, at, &rejection))
            continue;
        const struct kube_node *node = cluster_at(scheduler->cluster, KUBE_NODE, at);
        const struct node_index *index = cluster_node_index(scheduler->cluster, node->meta.name);
        size_t pods = index ? index->pods.count : 0;
        int64_t score =
            binding_score(scheduler->options, &survey->claims, &survey->decisions.nodes[at]) +
            pod_placement_preference(pod, node);

        if (found++ == 0 || score > best.score || (score == best.score && pods < best.pods))
            best = (struct best_node){at, score, pods};
    }
    scheduler->start = count ? (scheduler->start + looked) % count : 0;
    return best.at;
}

/* --- binding --- */

/* The others take their turns until the pod's volumes are there or cannot be had. */
static enum bind_progress wait_for_volumes(struct scheduler *scheduler,
                                           const struct pod_binding *binding, char **why)
{
    for (size_t turn = 0; turn < TURNS_MAX; turn++) {
        _cleanup_error_ struct error err = {0};

        for (size_t i = 0; i < binding->count; i++) {
            struct kube_pvc *claim =
                cluster_find_pvc(scheduler->cluster, binding->items[i].ns, binding->items[i].claim);
            char *failure = NULL;

            if (!claim || pv_controller_sync(&scheduler->actors, claim))
                continue;
            provisioner_sync(&scheduler->actors, claim, &failure);
            if (failure) {
                free(*why);
                *why = failure;
            }
        }
        enum bind_progress progress = binding_poll(scheduler->cluster, binding, &err);
        if (progress == BIND_WAITING)
            continue;
        if (progress == BIND_FAILED && !*why)
            *why = xstrdup(err.message);
        return progress;
    }
    return BIND_WAITING;
}

/* --- one pod --- */

enum attempt { ATTEMPT_PLACED, ATTEMPT_STUCK, ATTEMPT_AGAIN };

static void set_reason(struct simulated_pod *row, char *reason)
{
    free(row->reason);
    row->reason = reason;
}

static enum attempt place_pod(struct scheduler *scheduler, struct simulated_pod *row,
                              struct pod_survey *survey, size_t at)
{
    struct kube_pod *pod =
        cluster_find(scheduler->cluster, KUBE_POD, row->pod->meta.ns, row->pod->meta.name);
    const struct kube_node *node = cluster_at(scheduler->cluster, KUBE_NODE, at);
    _cleanup_pod_binding_ struct pod_binding binding = {0};
    _cleanup_error_ struct error err = {0};
    const struct binding_api api = actors_api(&scheduler->actors);
    char *why = NULL;

    if (binding_assume(scheduler->cluster, &survey->claims, node, &survey->decisions.nodes[at],
                       &binding, &err) < 0 ||
        binding_bind(scheduler->cluster, &api, &binding, &err) < 0) {
        set_reason(row, xstrdup(err.message));
        return ATTEMPT_AGAIN;
    }
    if (wait_for_volumes(scheduler, &binding, &why) != BIND_DONE) {
        binding_revert(scheduler->cluster, &binding);
        set_reason(row, why ? why : xstrdup("waits for its volumes"));
        return ATTEMPT_AGAIN;
    }
    free(why);
    actors_place_pod(&scheduler->actors, pod, node->meta.name);
    set_reason(row, NULL);
    row->is_placed = true;
    return ATTEMPT_PLACED;
}

static enum attempt try_pod(struct scheduler *scheduler, struct simulated_pod *row)
{
    _cleanup_pod_survey_ struct pod_survey survey = {0};

    row->tries++;
    pod_survey_prepare(scheduler->cluster, scheduler->options, row->pod, &survey);
    if (survey.plugin) {
        set_reason(row, xstrdup(survey.reason));
        return ATTEMPT_STUCK;
    }
    _cleanup_free_ char *signature = signature_of(row->pod, &survey.claims);
    const struct remembered *known =
        signature ? name_table_get(&scheduler->remembered.names, NULL, signature) : NULL;
    if (known) {
        set_reason(row, xstrdup(known->reason));
        scheduler->result->remembered++;
        return ATTEMPT_STUCK;
    }
    pod_survey_start(scheduler->cluster, &survey);
    scheduler->result->checks++;
    size_t at = choose_node(scheduler, row->pod, &survey);
    if (at < survey.decisions.count)
        return place_pod(scheduler, row, &survey, at);
    set_reason(row, pod_survey_describe(&survey));
    if (signature) {
        struct remembered *item = xcalloc(1, sizeof(*item));

        *item = (struct remembered){TAKE(signature), xstrdup(row->reason)};
        named_list_add(&scheduler->remembered, NULL, item->signature, item);
    }
    return ATTEMPT_STUCK;
}

/* --- all pods --- */

/* Returns how many pods found a place. */
static size_t run_round(struct scheduler *scheduler, bool is_first)
{
    const struct simulation_request *request = scheduler->request;
    struct simulation *result = scheduler->result;
    size_t placed = 0;
    size_t done = 0;
    size_t stuck = 0;

    for (size_t i = 0; i < result->count; i++) {
        struct simulated_pod *row = &result->pods[i];

        if (!row->is_placed && (is_first || may_be_helped(scheduler, row->pod))) {
            enum attempt attempt = ATTEMPT_AGAIN;

            for (unsigned try = 0; try < TRIES_MAX && attempt == ATTEMPT_AGAIN; try++)
                attempt = try_pod(scheduler, row);
            placed += attempt == ATTEMPT_PLACED;
        }
        done++;
        stuck += !row->is_placed;
        if (request->progress && (done % PROGRESS_STEP == 0 || done == result->count))
            request->progress(request->progress_object, done, result->count, stuck);
    }
    result->placed += placed;
    return placed;
}

static void schedule_all(struct scheduler *scheduler)
{
    struct simulation *result = scheduler->result;

    do {
        size_t seen = scheduler->event_count;
        size_t placed = run_round(scheduler, result->rounds == 0);

        result->rounds++;
        if (placed == 0 || result->placed == result->count || scheduler->event_count == seen)
            return;
        /* the next round looks at what happened in this one */
        if (seen > 0 && seen <= EVENTS_MAX && scheduler->event_count <= EVENTS_MAX) {
            memmove(scheduler->events, scheduler->events + seen,
                    (scheduler->event_count - seen) * sizeof(*scheduler->events));
            scheduler->event_count -= seen;
        }
    } while (result->rounds < ROUNDS_MAX);
}

/* Claims that need not wait are bound and provisioned before any pod is looked at. */
static void bind_immediate(struct scheduler *scheduler)
{
    for (size_t i = 0; i < cluster_count(scheduler->cluster, KUBE_PVC); i++) {
        struct kube_pvc *claim = cluster_at(scheduler->cluster, KUBE_PVC, i);
        _cleanup_free_ char *why = NULL;

        if (!binding_is_bound(claim) && !pv_controller_sync(&scheduler->actors, claim) &&
            !strmap_has(&claim->meta.annotations, KUBE_SELECTED_NODE))
            provisioner_sync(&scheduler->actors, claim, &why);
    }
}

struct displaced_list {
    struct pointer_list pods;
    struct string_list nodes;
};

static void on_displaced(void *object, struct kube_pod *pod, const char *node)
{
    struct displaced_list *list = object;

    *array_add(list->pods.items, list->pods.count) = pod;
    string_list_add(&list->nodes, node);
}

static void list_pods(const struct cluster_objects *cluster, const struct displaced_list *displaced,
                      struct simulation *result)
{
    struct name_table from = {0};

    for (size_t i = 0; i < displaced->pods.count; i++) {
        const struct kube_meta *meta = displaced->pods.items[i];

        name_table_set(&from, meta->ns, meta->name, displaced->nodes.items[i]);
    }
    result->pods = xcalloc(cluster_count(cluster, KUBE_POD) + 1, sizeof(*result->pods));
    for (size_t i = 0; i < cluster_count(cluster, KUBE_POD); i++) {
        const struct kube_pod *pod = cluster_at(cluster, KUBE_POD, i);
        const char *node = name_table_get(&from, pod->meta.ns, pod->meta.name);

        if (!kube_same(pod->node_name, "") || pod->meta.deletion_timestamp ||
            !(kube_same(pod->phase, "") || kube_same(pod->phase, "Pending")))
            continue; /* placed, going, or done */
        result->pods[result->count++] = (struct simulated_pod){
            .pod = pod, .was_displaced = node != NULL, .from = node ? xstrdup(node) : NULL};
        result->displaced += node != NULL;
    }
    name_table_done(&from);
}

static void count_results(const struct cluster_objects *cluster, struct simulation *result)
{
    for (size_t i = 0; i < result->count; i++) {
        const struct simulated_pod *row = &result->pods[i];

        result->recovered += row->was_displaced && row->is_placed;
        for (size_t j = 0; !row->is_placed && j < row->pod->volume_count; j++) {
            const char *name = row->pod->volumes[j].claim_name;
            const struct kube_pvc *claim =
                name ? cluster_find_pvc(cluster, row->pod->meta.ns, name) : NULL;

            result->stuck_volumes += claim && binding_is_bound(claim);
        }
    }
}

static int prepare_scenario(struct scheduler *scheduler, struct error *err)
{
    struct displaced_list displaced = {0};
    int result = 0;

    scenario_measure(scheduler->cluster, false, scheduler->result);
    if (scheduler->request->fail[0] != '\0')
        result = scenario_fail(&scheduler->actors, scheduler->request, on_displaced, &displaced,
                               scheduler->result, err);
    else if (scheduler->request->takeover[0] != '\0')
        result = error_set(err, STATUS_INVALID_ARGUMENT, "a takeover needs a domain that failed");
    if (result == 0)
        result = scenario_add(&scheduler->actors, scheduler->request, err);
    if (result == 0)
        list_pods(scheduler->cluster, &displaced, scheduler->result);
    pointer_list_done(&displaced.pods);
    string_list_done(&displaced.nodes);
    return result;
}

int simulate(struct cluster_objects *cluster, const struct binding_options *options,
             const struct simulation_request *request, struct simulation *simulation,
             struct error *err)
{
    struct scheduler *scheduler = xcalloc(1, sizeof(*scheduler));

    *simulation = (struct simulation){0};
    scheduler->cluster = cluster;
    scheduler->options = options;
    scheduler->request = request;
    scheduler->result = simulation;
    actors_init(&scheduler->actors, cluster, options);
    scheduler->actors.notify = on_event;
    scheduler->actors.notify_object = scheduler;
    int result = prepare_scenario(scheduler, err);
    if (result == 0) {
        bind_immediate(scheduler);
        schedule_all(scheduler);
        scenario_measure(cluster, true, simulation);
        count_results(cluster, simulation);
        simulation->volumes_made = scheduler->actors.volumes_made;
    } else {
        simulation_done(simulation);
    }
    named_list_done(&scheduler->remembered, free_remembered);
    free(scheduler);
    return result;
}

void simulation_done(struct simulation *simulation)
{
    for (size_t i = 0; i < simulation->count; i++) {
        free(simulation->pods[i].from);
        free(simulation->pods[i].reason);
    }
    for (size_t i = 0; i < simulation->space_count; i++) {
        free(simulation->spaces[i].class_name);
        free(simulation->spaces[i].place);
    }
    free(simulation->pods);
    free(simulation->spaces);
    string_list_done(&simulation->notes);
    *simulation = (struct simulation){0};
}
