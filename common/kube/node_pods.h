#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/string_list.h"
#include "common/kube/kube_ops.h"

/* The pods of a node, and how to ask one to leave. Any thread. Errors as in kube_ops.h. */
struct node_pod {
    char *name;                /* "NAMESPACE/NAME" */
    struct string_list claims; /* "NAMESPACE/CLAIM", those of ephemeral volumes too */
    bool is_leaving;           /* is being deleted */
    bool has_controller;       /* that makes another one; a mirror of kubelet's own has none */
};

struct node_pods {
    struct node_pod *items;
    size_t count;
};

/* Those that have claims and have not ended. @pods is zero; caller calls node_pods_done(). */
_must_check_ int node_pods_read(struct kube *kube, struct call *call, const char *node,
                                struct node_pods *pods, struct error *err);
void node_pods_done(struct node_pods *pods);
#define _cleanup_node_pods_ _cleanup_(node_pods_done)

/*
 * Asks the API server to delete the pod when its disruption budgets allow it. One that is gone is
 * success. UNAVAILABLE, with the server's words, while a budget does not: try again later.
 */
_must_check_ int node_pod_evict(struct kube *kube, struct call *call, const char *name,
                                struct error *err);
