#include "programs/cephcsi/driver_capacity.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"

static int ask(void *object, struct call *call, const struct strmap *parameters,
               const struct strmap *segment, struct published_capacity *out, struct error *err)
{
    const struct capacity_request request = {*parameters, *segment}; /* borrowed */
    struct capacity capacity = {0};

    if (controller_get_capacity(object, call, &request, &capacity, err) < 0)
        return -1;
    *out = (struct published_capacity){capacity.available_bytes, capacity.maximum_bytes,
                                       capacity.has_maximum};
    return 0;
}

struct capacity_publisher *driver_capacity_start(const struct driver_kube *kube,
                                                 const struct options *options,
                                                 struct controller *controller,
                                                 struct metrics *metrics)
{
    struct capacity_publisher *publisher = NULL;
    _cleanup_error_ struct error err = {0};
    char host[256] = "controller";

    if (!options->publish_capacity)
        return NULL;
    if (!kube->kube || !options->controller_server) {
        log_warn(NULL, "--publish-capacity needs --controllerserver and a Kubernetes: nothing is "
                       "published");
        return NULL;
    }
    gethostname(host, sizeof(host) - 1);
    if (capacity_publisher_new(
            &(struct capacity_publisher_options){.site = {.kube = kube->kube,
                                                          .name_space = kube->name_space,
                                                          .driver_name = options->driver_name,
                                                          .ask = ask,
                                                          .object = controller},
                                                 .identity = host,
                                                 .metrics = metrics},
            &publisher, &err) < 0)
        log_warn(NULL, "capacity is not published: %s", err.message);
    return publisher;
}

void driver_capacity_report(struct capacity_publisher *publisher, struct health_sink *sink)
{
    _cleanup_free_ char *message = NULL;
    time_t since = 0;

    if (!publisher)
        return;
    bool healthy = capacity_publisher_is_healthy(publisher, &message, &since);
    health_add(sink, "published capacity", healthy, message, since);
}
