#include "programs/cephcsi/driver_takeover.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/config/takeover_configmap.h"

static bool tells_by_nodeinfo(const struct options *options)
{
    return strcmp(options->takeover_via, "nodeinfo") == 0;
}

void driver_takeover_watch(const struct driver_kube *kube, const struct options *options,
                           struct takeover_source *source)
{
    _cleanup_error_ struct error err = {0};
    struct takeover_configmap *configmap = NULL;

    /* nodes need the map only if they tell it themselves */
    if (!kube->kube || !(options->controller_server || tells_by_nodeinfo(options)))
        return;
    if (takeover_configmap_new(kube->kube, kube->name_space, 0, &configmap, &err) < 0)
        log_warn(NULL, "no takeover map from a ConfigMap: %s", err.message);
    else
        takeover_source_add_configmap(source, configmap);
}

void driver_takeover_start(struct driver_takeover *takeover, const struct driver_kube *kube,
                           const struct options *options, struct takeover_source *source,
                           struct metrics *metrics)
{
    _cleanup_error_ struct error err = {0};
    char host[256] = "controller";

    if (!kube->kube || !options->controller_server)
        return;
    gethostname(host, sizeof(host) - 1);
    if (takeover_reconciler_new(
            &(struct takeover_reconciler_options){
                .site = {.kube = kube->kube,
                         .driver_name = options->driver_name,
                         .own_node = options->node_id,
                         .fences = &takeover->fences,
                         .records = &takeover->records,
                         .events = kube->events,
                         .only_removes = tells_by_nodeinfo(options)},
                .source = source,
                .name_space = kube->name_space,
                .identity = host,
                .metrics = metrics,
            },
            &takeover->reconciler, &err) < 0)
        log_warn(NULL, "takeovers are not carried out: %s", err.message);
}

void driver_takeover_report(struct driver_takeover *takeover, struct health_sink *sink)
{
    _cleanup_free_ char *message = NULL;
    time_t since = 0;

    if (!takeover->reconciler)
        return;
    bool healthy = takeover_reconciler_is_healthy(takeover->reconciler, &message, &since);
    health_add(sink, "takeovers", healthy, message, since);
}

void driver_takeover_done(struct driver_takeover *takeover)
{
    takeover_reconciler_free(takeover->reconciler);
    *takeover = (struct driver_takeover){0};
}
