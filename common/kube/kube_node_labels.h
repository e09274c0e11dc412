#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/strmap.h"
#include "common/kube/kube_ops.h"

/*
 * The labels of one Node, kept up to date: by a watch on that one object where the service account
 * may watch, else by a GET every minute (Ceph-CSI's node plugin may only get). If the server or the
 * Node goes away, the labels stay as they were last seen. A thread of its own; everything here may
 * be called from any thread.
 */
struct kube_node_labels;

struct kube_node_labels_options {
    const char *node; /* copied */
    /* When they were read first and whenever they differ from before; on the thread, without a
     * lock. May be NULL. */
    void (*changed)(void *object, const struct strmap *labels);
    void *object;
    int64_t poll_ms;        /* 0: 60000 */
    int64_t retry_first_ms; /* 0: 800 */
};

/* @kube is borrowed until kube_node_labels_free(). INVALID_ARGUMENT if the node's name is none. */
_must_check_ int kube_node_labels_new(struct kube *kube,
                                      const struct kube_node_labels_options *options,
                                      struct kube_node_labels **labels, struct error *err);
/* NULL is fine. */
void kube_node_labels_free(struct kube_node_labels *labels);
DEFINE_CLEANUP(struct kube_node_labels, kube_node_labels_free)

/* A copy into @out, which is empty. UNAVAILABLE with the last failure if they were never read:
 * waits for the first read as long as @call allows. */
_must_check_ int kube_node_labels_copy(struct kube_node_labels *labels, struct call *call,
                                       struct strmap *out, struct error *err);

/* Asks the server once more, in the thread of @call, and adds what it says to @out, which is empty:
 * for whom a change that is on its way would be late. */
_must_check_ int kube_node_labels_read(struct kube_node_labels *labels, struct call *call,
                                       struct strmap *out, struct error *err);

struct kube_node_labels_health {
    bool known;       /* they were read once */
    bool watching;    /* false: polling */
    bool healthy;     /* the last try has worked */
    int64_t since_ms; /* on the monotonic clock */
    char *last_error; /* NULL: none; caller frees */
};
void kube_node_labels_health(struct kube_node_labels *labels,
                             struct kube_node_labels_health *health);
