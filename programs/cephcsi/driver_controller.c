#include "programs/cephcsi/driver_controller.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/usage/usage_cache.h"

/* capacity_site's question, answered by GetCapacity. */
static int ask_capacity(void *object, struct call *call, const struct strmap *parameters,
                        const struct strmap *segment, struct published_capacity *out,
                        struct error *err)
{
    const struct capacity_request request = {*parameters, *segment}; /* borrowed */
    struct capacity capacity = {0};

    if (controller_get_capacity(object, call, &request, &capacity, err) < 0)
        return -1;
    *out = (struct published_capacity){capacity.available_bytes, capacity.maximum_bytes,
                                       capacity.has_maximum};
    return 0;
}

static void start_publisher(struct driver_controller *own, const struct driver_kube *kube,
                            const struct options *options, struct controller *controller,
                            struct metrics *metrics)
{
    _cleanup_error_ struct error err = {0};
    const struct capacity_publisher_options publisher = {
        .site = {.kube = kube->kube,
                 .name_space = kube->name_space,
                 .driver_name = options->driver_name,
                 .ask = ask_capacity,
                 .object = controller,
                 .has_levels = options->domain_labels[0] || options->topology},
        .identity = kube->identity,
        .metrics = metrics};

    if (!kube->kube || !options->controller_server)
        log_warn(NULL, "--publish-capacity needs --controllerserver and a Kubernetes: nothing is "
                       "published");
    else if (capacity_publisher_new(&publisher, &own->publisher, &err) < 0)
        log_warn(NULL, "capacity is not published: %s", err.message);
    if (own->publisher) {
        own->usage = controller->usage;
        usage_cache_notify(own->usage, capacity_publisher_wake, own->publisher);
    }
}

void driver_controller_start(struct driver_controller *own, const struct driver_kube *kube,
                             const struct options *options, struct takeover_source *source,
                             struct controller *controller, struct metrics *metrics)
{
    _cleanup_error_ struct error err = {0};
    const struct takeover_reconciler_options reconciler = {
        .site = {.kube = kube->kube,
                 .driver_name = options->driver_name,
                 .name_space = kube->name_space,
                 .own_node = options->node_id,
                 .fences = &own->fences,
                 .records = &own->records,
                 .events = kube->events,
                 .only_removes = strcmp(options->takeover_via, "nodeinfo") == 0},
        .source = source,
        .name_space = kube->name_space,
        .identity = kube->identity,
        .metrics = metrics,
    };

    if (kube->kube && options->controller_server &&
        takeover_reconciler_new(&reconciler, &own->reconciler, &err) < 0)
        log_warn(NULL, "takeovers are not carried out: %s", err.message);
    if (options->publish_capacity)
        start_publisher(own, kube, options, controller, metrics);
}

void driver_controller_report(struct driver_controller *own, struct health_sink *sink)
{
    time_t since = 0;

    if (own->reconciler) {
        _cleanup_free_ char *message = NULL;
        bool healthy = takeover_reconciler_is_healthy(own->reconciler, &message, &since);

        health_add(sink, "takeovers", healthy, message, since);
    }
    if (own->publisher) {
        _cleanup_free_ char *message = NULL;
        bool healthy = capacity_publisher_is_healthy(own->publisher, &message, &since);

        health_add(sink, "published capacity", healthy, message, since);
    }
}

void driver_controller_done(struct driver_controller *own)
{
    if (own->usage)
        usage_cache_notify(own->usage, NULL, NULL);
    capacity_publisher_free(own->publisher);
    takeover_reconciler_free(own->reconciler);
    *own = (struct driver_controller){0};
}
