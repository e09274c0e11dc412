#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/config/takeover_source.h"
#include "common/kube/kube_ops.h"

/*
 * The takeover map in a ConfigMap: key takeover.json of TAKEOVER_CONFIGMAP in the driver's
 * namespace. A thread of its own polls it every few seconds, because deployments grant the right to
 * get it, not to watch it. While it is broken, or after it was deleted, the last good map stays in
 * force. Any thread.
 */
#define TAKEOVER_CONFIGMAP "cephzone-takeover"
#define TAKEOVER_CONFIGMAP_KEY "takeover.json"

struct takeover_configmap;

/* @kube is borrowed. @poll_ms 0: 5000. INVALID_ARGUMENT if the namespace is not valid. */
_must_check_ int takeover_configmap_new(struct kube *kube, const char *name_space, int64_t poll_ms,
                                        struct takeover_configmap **configmap, struct error *err);
void takeover_configmap_free(struct takeover_configmap *configmap);
DEFINE_CLEANUP(struct takeover_configmap, takeover_configmap_free)

/* True if the ConfigMap exists or existed, so that it decides; then with its map. */
bool takeover_configmap_get(struct takeover_configmap *configmap,
                            struct takeover_snapshot *snapshot);
bool takeover_configmap_is_healthy(struct takeover_configmap *configmap, char **message,
                                   time_t *since);
