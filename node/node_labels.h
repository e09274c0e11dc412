#pragma once

#include <stdbool.h>
#include <time.h>

#include "common/base/call.h"
#include "common/base/error.h"
#include "common/base/strmap.h"

/*
 * The labels of this node: given on the command line, in a file, or by whoever implements the
 * interface (the Kubernetes API). They place the node (NodeGetInfo) and its reads (read affinity).
 */

/*
 * Where labels come from. The functions are called from any thread and answer from memory: a source
 * that has to ask somebody does so in a thread of its own, again and again. It logs its own
 * trouble, once.
 */
struct node_labels_source {
    void *object;
    char *subject; /* for the health report: "file /etc/labels" */
    /* Adds the labels to @labels, which is empty. Waits for the first ones as long as @call allows,
     * which may be not at all; UNAVAILABLE, saying why, while none are known, and
     * FAILED_PRECONDITION if there never will be any. A source that has lost touch goes on giving
     * what it knew last. */
    int (*get)(void *object, struct call *call, struct strmap *labels, struct error *err);
    /* False, with the reason in *@message (caller frees, "" if healthy), while get() gives what may
     * be old. While get() fails its error is reported in any case. */
    bool (*is_healthy)(void *object, char **message, time_t *since);
    void (*free)(void *object);
    /* Asks anew, for what get() may not know yet, instead of it. NULL: the labels are given by
     * hand; they are always up to date, and takeovers are not seen in them. */
    int (*read_now)(void *object, struct call *call, struct strmap *labels, struct error *err);
};

/* How long a call waits for labels that are not known yet. */
#define NODE_LABELS_WAIT_MS 10000

/* As the source's get(), but waits that long at most; not at all with @call NULL. */
_must_check_ int node_labels_get(const struct node_labels_source *source, struct call *call,
                                 struct strmap *labels, struct error *err);

/* --node-labels: "k=v,k2=v2". INVALID_ARGUMENT naming what is malformed or given twice. */
_must_check_ int node_labels_from_text(const char *text, struct node_labels_source *source,
                                       struct error *err);

/*
 * --node-labels-file: lines k=v or k="v" (what the downward API writes; blank lines and those that
 * start with # do not count), or a JSON object of strings. A watched file, see watched_file.h; it
 * need not exist yet.
 */
void node_labels_from_file(const char *path, struct node_labels_source *source);

/* Neither was given: get() fails for good and says what would help. */
void node_labels_from_nowhere(struct node_labels_source *source);

void node_labels_done(struct node_labels_source *source);
