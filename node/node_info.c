#include "node/node_info.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/condition.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/topology/registration.h"
#include "common/topology/segments.h"

#define FAULT_BYTES_MAX 4096

struct node_info {
    struct node_info_options options;
    pthread_mutex_t lock; /* over the rest */
    bool was_told;        /* the labels were known once */
    bool is_complete;     /* the home below stays as it is from now on */
    struct strmap home;   /* labels of the levels, as reported */
    struct condition labels;
    struct condition takeover;
    atomic_uint_fast64_t missing; /* these two are read without the lock */
    atomic_uint_fast64_t skipped;
};

struct node_info *node_info_new(const struct node_info_options *options)
{
    struct node_info *info = xcalloc(1, sizeof(*info));

    info->options = *options;
    pthread_mutex_init(&info->lock, NULL);
    return info;
}

void node_info_free(struct node_info *info)
{
    if (!info)
        return;
    strmap_done(&info->home);
    condition_done(&info->labels);
    condition_done(&info->takeover);
    pthread_mutex_destroy(&info->lock);
    free(info);
}

void node_answer_done(struct node_answer *answer)
{
    strmap_done(&answer->segments);
    *answer = (struct node_answer){0};
}

/* --- home --- */

/* Labels that no longer have the value that NodeGetInfo goes on to report. */
static void add_changes(const struct node_info *info, const struct strmap *labels,
                        struct text *fault)
{
    for (size_t i = 0; i < info->home.count; i++) {
        const struct strmap_entry *reported = &info->home.entries[i];
        const char *now = strmap_get(labels, reported->key);

        if (now && strcmp(now, reported->value) == 0)
            continue;
        text_addf(fault, "%slabel '%s' was '%s' and is %s%s%s now", fault->length ? "; " : "",
                  reported->key, reported->value, now ? "'" : "", now ? now : "gone",
                  now ? "'" : "");
    }
    if (fault->length > 0)
        text_add(fault, "; a restart of the driver makes that count, once the node's old topology "
                        "labels are removed");
}

/* Takes in what the source says; adds what is amiss to @fault. Lock held. */
static void refresh_home(struct node_info *info, const struct strmap *labels, struct text *fault)
{
    const struct topology_levels *levels = info->options.levels;
    _cleanup_strmap_ struct strmap segments = {0};
    _cleanup_string_list_ struct string_list missing = {0};

    if (info->is_complete) {
        add_changes(info, labels, fault);
        return;
    }
    topology_home(levels, labels, &segments, &missing);
    info->is_complete = missing.count == 0;
    /* only the labels of the levels: kubelet changes others all the time */
    strmap_done(&info->home);
    for (size_t i = 0; i < levels->count; i++) {
        const char *value = topology_home_value(&levels->items[i], labels);

        if (value)
            strmap_set(&info->home, levels->items[i].label, value);
    }
    for (size_t i = 0; i < missing.count; i++)
        text_addf(fault, "%s'%s'", i ? ", " : "the node has no usable label ", missing.items[i]);
    if (missing.count > 0)
        text_addf(fault, ": %s",
                  missing.count < levels->count ? "it is served without that part of its topology"
                                                : "it is served without topology");
}

static void emit_event(struct node_info *info, enum event_type type, const char *reason,
                       const char *text)
{
    const char *node = info->options.node_id;
    const struct event_subject subject = {"v1", "Node", "", node, node};

    events_emit(info->options.events, &subject, type, reason, "%s", text);
}

static void note_labels(struct node_info *info, const char *fault)
{
    static const char good[] = "all labels of the node are known";

    switch (condition_note(&info->labels, fault)) {
    case CONDITION_FAULT:
        log_warn(NULL, "%s: %s", info->options.labels->subject, fault);
        emit_event(info, EVENT_WARNING, "TopologyLabelsMissing", fault);
        break;
    case CONDITION_MENDED:
        log_info(NULL, "%s", good);
        emit_event(info, EVENT_NORMAL, "TopologyLabelsKnown", good);
        break;
    case CONDITION_UNCHANGED:
        break;
    }
}

/* --- takeover --- */

/* Lock held. */
static void add_takeovers(struct node_info *info, struct strmap *segments)
{
    _cleanup_takeover_snapshot_ struct takeover_snapshot snapshot = {0};
    _cleanup_string_list_ struct string_list skipped = {0};
    _cleanup_text_ struct text fault = TEXT_INIT(FAULT_BYTES_MAX);

    if (!info->options.takeover_via_nodeinfo)
        return;
    takeover_source_get(info->options.takeover, &snapshot);
    takeover_apply(snapshot.map, info->options.levels, &info->home, segments, &skipped);
    for (size_t i = 0; i < skipped.count; i++)
        text_addf(&fault, "%s%s", i ? "; " : "", skipped.items[i]);
    atomic_store(&info->skipped, skipped.count);
    if (condition_note(&info->takeover, fault.length ? text_chars(&fault) : NULL) ==
        CONDITION_FAULT)
        log_warn(NULL, "entries of the takeover map are skipped: %s", text_chars(&fault));
}

/* --- both --- */

/* @labels NULL: unknown, for the reason @fault. Lock held. */
static void make_segments(struct node_info *info, const struct strmap *labels, const char *fault,
                          struct strmap *segments)
{
    _cleanup_error_ struct error refusal = {0};
    _cleanup_string_list_ struct string_list missing = {0};
    _cleanup_text_ struct text found = TEXT_INIT(FAULT_BYTES_MAX);

    info->was_told |= labels != NULL;
    if (labels)
        refresh_home(info, labels, &found);
    else
        condition_note(&info->labels, fault); /* logged by the source */
    topology_home(info->options.levels, &info->home, segments, &missing);
    atomic_store(&info->missing, missing.count);
    add_takeovers(info, segments);
    if (!labels)
        return;
    /* A node that moved still has the driver's labels of its old place. Only kubelet's log would
     * say why the driver does not come up. */
    if (registration_check_labels(labels, segments, &refusal) < 0)
        text_addf(&found,
                  "%skubelet refuses to register the driver until that label is removed "
                  "from the node: %s",
                  found.length ? "; " : "", refusal.message);
    note_labels(info, found.length ? text_chars(&found) : NULL);
}

int node_info_get(struct node_info *info, struct call *call, struct node_answer *answer,
                  struct error *err)
{
    _cleanup_error_ struct error fault = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_strmap_ struct strmap segments = {0};

    if (info->options.levels->count > 0) {
        bool is_known = node_labels_get(info->options.labels, call, &labels, &fault) == 0;

        pthread_mutex_lock(&info->lock);
        make_segments(info, is_known ? &labels : NULL, fault.message, &segments);
        bool is_early = !info->was_told && fault.status == STATUS_UNAVAILABLE;
        pthread_mutex_unlock(&info->lock);
        if (is_early) {
            error_move(err, &fault);
            return error_wrap(err, "where the node is, is not known yet");
        }
    }
    *answer = (struct node_answer){
        .node_id = info->options.node_id,
        .max_volumes = info->options.max_volumes,
        .segments = segments,
    };
    segments = (struct strmap){0};
    return 0;
}

/* --- volumes --- */

/* What a takeover has written on the Node. */
static void add_members(const struct topology_levels *levels, const struct strmap *labels,
                        struct strmap *segments)
{
    for (size_t i = 0; i < labels->count; i++) {
        const struct strmap_entry *label = &labels->entries[i];

        if (text_has_prefix(label->key, levels->prefix) && membership_tail(label->key))
            strmap_set(segments, label->key, label->value);
    }
}

/* Adds what the node serves now to @served. */
static void collect_served(struct node_info *info, const struct strmap *labels,
                           struct strmap *served)
{
    const struct topology_levels *levels = info->options.levels;
    _cleanup_string_list_ struct string_list missing = {0};
    _cleanup_text_ struct text ignored = TEXT_INIT(FAULT_BYTES_MAX);

    pthread_mutex_lock(&info->lock);
    refresh_home(info, labels, &ignored);
    topology_home(levels, &info->home, served, &missing);
    if (info->options.takeover_via_nodeinfo)
        add_takeovers(info, served); /* labels would be those of an earlier report */
    else
        add_members(levels, labels, served);
    pthread_mutex_unlock(&info->lock);
}

static int refuse_place(const struct strmap_entry *unserved, const struct strmap *served,
                        struct error *err)
{
    _cleanup_free_ char *all = segments_format(served);

    error_set(err, STATUS_FAILED_PRECONDITION,
              "the volume is pinned to %s=%s, which this node does not serve: it serves %s",
              unserved->key, unserved->value, all);
    return error_hint(err,
                      "the pod has to run where the volume is, or its place has to be taken over; "
                      "--enforce-topology=false lets it be used everywhere");
}

int node_info_check_place(struct node_info *info, struct call *call, const struct strmap *segments,
                          struct error *err)
{
    const struct node_labels_source *source = info->options.labels;
    const struct topology_levels *levels = info->options.levels;
    const bool knows_members = info->options.takeover_via_nodeinfo || source->read_now;
    _cleanup_error_ struct error fault = {0};

    for (int is_fresh = 0; levels->count > 0; is_fresh++) {
        _cleanup_strmap_ struct strmap labels = {0};
        _cleanup_strmap_ struct strmap served = {0};

        if (is_fresh && source->read_now(source->object, call, &labels, err) < 0) {
            error_recode(err, STATUS_UNAVAILABLE);
            return error_wrap(err, "whether this node serves the volume's place");
        }
        if (!is_fresh && node_labels_get(source, NULL, &labels, &fault) < 0)
            return 0; /* the health report says so */
        collect_served(info, &labels, &served);
        const struct strmap_entry *unserved =
            segments_find_unserved(segments, levels, &served, knows_members);
        if (!unserved)
            return 0;
        if (is_fresh || !source->read_now)
            return refuse_place(unserved, &served, err);
    }
    return 0;
}

void node_info_report(struct node_info *info, node_report_fn *report, void *object)
{
    const struct node_labels_source *source = info->options.labels;
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_strmap_ struct strmap segments = {0};
    _cleanup_free_ char *labels_fault = NULL;
    _cleanup_free_ char *takeover_fault = NULL;
    time_t labels_since = 0;
    time_t takeover_since = 0;

    if (info->options.levels->count == 0)
        return;
    bool is_known = node_labels_get(source, NULL, &labels, &err) == 0;
    pthread_mutex_lock(&info->lock);
    make_segments(info, is_known ? &labels : NULL, err.message, &segments);
    /* the source's own trouble comes first: it explains what is missing */
    bool labels_ok = source->is_healthy(source->object, &labels_fault, &labels_since);
    if (labels_ok) {
        free(labels_fault);
        labels_ok = condition_is_healthy(&info->labels, &labels_fault, &labels_since);
    }
    bool takeover_ok = condition_is_healthy(&info->takeover, &takeover_fault, &takeover_since);
    pthread_mutex_unlock(&info->lock);
    report(object, source->subject, labels_ok, labels_fault, labels_since);
    if (info->options.takeover_via_nodeinfo)
        report(object, "takeovers of this node", takeover_ok, takeover_fault, takeover_since);
}

void node_info_register(struct node_info *info, struct metrics *metrics)
{
    const struct metric_spec specs[] = {
        {METRIC_GAUGE, "csi_node_labels_missing", "Levels of topology whose label this node lacks.",
         .number = &info->missing},
        {METRIC_GAUGE, "csi_takeover_entries_skipped",
         "Entries of the takeover map that mean nothing on this node.", .number = &info->skipped},
    };

    metrics_register_all(metrics, specs, ARRAY_LENGTH(specs));
}
