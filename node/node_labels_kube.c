#include "node/node_labels_kube.h"

#include <stdlib.h>

#include "common/base/memory.h"
#include "common/kube/kube_node_labels.h"

static int get_from_kube(void *object, struct call *call, struct strmap *labels, struct error *err)
{
    return kube_node_labels_copy(object, call, labels, err);
}

static int read_from_kube(void *object, struct call *call, struct strmap *labels, struct error *err)
{
    return kube_node_labels_read(object, call, labels, err);
}

static bool kube_is_healthy(void *object, char **message, time_t *since)
{
    struct kube_node_labels_health health = {0};

    kube_node_labels_health(object, &health);
    *since = time(NULL) - (clock_monotonic_ms() - health.since_ms) / 1000;
    if (health.healthy)
        *message = xstrdup("");
    else if (health.known)
        *message = xasprintf("the labels may be old: %s",
                             health.last_error ? health.last_error : "no answer");
    else
        *message = xasprintf("NodeGetInfo fails until the labels are known: %s",
                             health.last_error ? health.last_error : "no answer yet");
    free(health.last_error);
    return health.healthy;
}

static void free_kube(void *object)
{
    kube_node_labels_free(object);
}

int node_labels_from_kube(struct kube *kube, const char *node, int64_t retry_first_ms,
                          struct node_labels_source *source, struct error *err)
{
    const struct kube_node_labels_options options = {.node = node,
                                                     .retry_first_ms = retry_first_ms};
    struct kube_node_labels *labels = NULL;

    if (kube_node_labels_new(kube, &options, &labels, err) < 0)
        return -1;
    *source =
        (struct node_labels_source){labels,        xasprintf("labels of Kubernetes node %s", node),
                                    get_from_kube, kube_is_healthy,
                                    free_kube,     read_from_kube};
    return 0;
}
