#include "programs/cephcsi/driver_server.h"

int driver_server_new(const struct driver_server_plan *plan, const struct options *options,
                      struct rpc_server **server, struct error *err)
{
    const struct rpc_server_options server_options = {
        .endpoint = plan->endpoint,
        .workers = plan->workers,
        .drain_ms = options->drain_ms,
        .slow_call_interval_ms = options->slow_call_ms,
        .metrics = plan->metrics,
        .metrics_prefix = plan->metrics_prefix,
    };

    if (rpc_server_new(&server_options, server, err) < 0)
        return -1;
    for (size_t i = 0; i < plan->count; i++)
        if (plan->services[i].wanted)
            rpc_server_add(*server, &plan->services[i].service);
    return 0;
}
