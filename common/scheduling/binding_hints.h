#pragma once

#include "common/scheduling/cluster_objects.h"

/*
 * Which events may make a pod schedulable that a plugin rejected, and which make remembered results
 * void. Pure; cost: the size of the pod and of the two objects.
 */
struct cluster_event {
    enum kube_kind kind;
    const void *old; /* NULL: the object was added */
    const void *new; /* NULL: it was deleted */
};

enum volume_plugin {
    PLUGIN_VOLUME_BINDING = 1,
    PLUGIN_VOLUME_LIMITS = 2,
    PLUGIN_VOLUME_ZONE = 4,
    PLUGIN_VOLUME_RESTRICTIONS = 16, /* 8 is that of pod_survey.h */
};

/* Kubernetes' queueing hints: whether to try the pod, which @plugin rejected, again. */
bool binding_event_may_help(enum volume_plugin plugin, const struct kube_pod *pod,
                            const struct cluster_event *event);

/* The plugins whose results for any pod must be forgotten, as the design documents list them. The
 * set of bits is 0 for events that change no result. */
unsigned binding_event_invalidates(const struct cluster_event *event);
