#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/base/metrics.h"
#include "common/base/strmap.h"
#include "common/config/takeover_source.h"
#include "common/kube/events.h"
#include "common/topology/domain.h"
#include "node/node_labels.h"

/*
 * What NodeGetInfo answers: who the node is and where.
 *
 * Per level the plain segment and the membership key of the node's home, and with takeover_via
 * nodeinfo a membership key for each domain that it takes over.
 *
 * While a source of labels has never answered, the call fails: kubelet asks once and would take an
 * answer without segments for good, but repeats a call that failed. Labels that the node does not
 * have stop nothing: NodeGetInfo returns the levels that are known, each further call looks again,
 * and the health report says what is amiss. Once all levels are known the home stays as it is for
 * the life of the process: kubelet refuses to register a node that comes back with another value,
 * so that a label that changed later is only in the health report.
 *
 * Any thread. A call looks at watched files (one stat() each) and waits for labels that were never
 * known, see NODE_LABELS_WAIT_MS; reports do not wait.
 */
struct node_info;

struct node_info_options {
    const char *node_id;
    int64_t max_volumes;                  /* 0: the orchestrator decides */
    const struct topology_levels *levels; /* none: no topology */
    const struct node_labels_source *labels;
    struct takeover_source *takeover;
    bool takeover_via_nodeinfo; /* --takeover-via */
    struct events *events;      /* on the Node of that id, of what is amiss with it; may be NULL */
};

/* Borrows everything that @options points to. */
struct node_info *node_info_new(const struct node_info_options *options);
void node_info_free(struct node_info *info);
DEFINE_CLEANUP(struct node_info, node_info_free)

/* Gauges csi_node_labels_missing and csi_takeover_entries_skipped, of the last call or report. */
void node_info_register(struct node_info *info, struct metrics *metrics);

struct node_answer {
    const char *node_id; /* borrowed */
    int64_t max_volumes;
    struct strmap segments;
};

/* UNAVAILABLE while the labels were never known and may come. */
_must_check_ int node_info_get(struct node_info *info, struct call *call,
                               struct node_answer *answer, struct error *err);
void node_answer_done(struct node_answer *answer);
#define _cleanup_node_answer_ _cleanup_(node_answer_done)

/*
 * Whether a volume that is pinned to @segments may be used here: FAILED_PRECONDITION if the node
 * serves another place, by its home or by a takeover, and cannot be mistaken. In the thread of
 * @call the labels are asked for anew before anything is refused; UNAVAILABLE if that fails. What
 * the node does not know of itself refuses nothing.
 */
_must_check_ int node_info_check_place(struct node_info *info, struct call *call,
                                       const struct strmap *segments, struct error *err);

/* Looks again and reports the state of the labels and, with takeover_via nodeinfo, of what the
 * takeover map means here. Nothing without levels. */
typedef void node_report_fn(void *object, const char *subject, bool healthy, const char *message,
                            time_t since);
void node_info_report(struct node_info *info, node_report_fn *report, void *object);
