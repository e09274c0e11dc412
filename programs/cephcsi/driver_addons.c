#include "programs/cephcsi/driver_addons.h"

#include "common/base/log.h"

#define ADDONS_WORKERS 8 /* one sidecar asks, for the whole Kubernetes cluster */

static int start_server(struct driver_addons *addons, const struct options *options,
                        struct metrics *metrics, struct error *err)
{
    const struct rpc_server_options server_options = {
        .endpoint = options->addons_endpoint,
        .workers = ADDONS_WORKERS,
        .drain_ms = options->drain_ms,
        .slow_call_interval_ms = options->slow_call_ms,
        .metrics = metrics,
        .metrics_prefix = "csi_addons",
    };
    const struct rpc_service identity = addons_identity_service(&addons->addons);
    const struct rpc_service fences = options->controller_server
                                          ? addons_fence_service(&addons->addons)
                                          : addons_client_service(&addons->addons);

    if (rpc_server_new(&server_options, &addons->server, err) < 0)
        return -1;
    rpc_server_add(addons->server, &identity);
    if (options->controller_server || options->node_server)
        rpc_server_add(addons->server, &fences);
    return rpc_server_start(addons->server, err);
}

int driver_addons_start(struct driver_addons *addons, const struct options *options,
                        const struct network_fences *fences, struct metrics *metrics,
                        struct error *err)
{
    if (options->addons_endpoint[0] == '\0')
        return 0;
    addons->addons = (struct addons){
        .driver_name = options->driver_name,
        .version = CEPHZONE_VERSION,
        .is_controller = options->controller_server,
        .is_node = options->node_server,
        .fences = *fences,
    };
    if (start_server(addons, options, metrics, err) < 0)
        return error_wrap(err, "csi-addons at '%s'", options->addons_endpoint);
    log_info(NULL, "csi-addons is served on '%s'", options->addons_endpoint);
    return 0;
}

bool driver_addons_drain(struct driver_addons *addons)
{
    return !addons->server || rpc_server_drain(addons->server);
}

void driver_addons_done(struct driver_addons *addons)
{
    rpc_server_free(addons->server);
    *addons = (struct driver_addons){0};
}
