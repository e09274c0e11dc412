#include "programs/cephcsi/driver_addons.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "programs/cephcsi/driver_server.h"

#define ADDONS_WORKERS 16 /* one sidecar asks; half of them reclaim space, at most */

static int start_server(struct driver_addons *addons, const struct options *options,
                        const struct driver_addons_parts *parts, struct error *err)
{
    const bool is_controller = options->controller_server;
    const bool is_node = options->node_server;
    const struct driver_service services[] = {
        {addons_identity_service(&addons->addons), true},
        {addons_fence_service(&addons->addons), is_controller},
        {addons_client_service(&addons->addons), is_node && !is_controller},
        {addons_reclaim_service(parts->controller), is_controller && addons->addons.is_rbd},
        {addons_replication_service(parts->controller), is_controller && addons->addons.is_rbd},
        {node_reclaim_service(parts->volumes), is_node && addons->addons.is_rbd},
    };
    const struct driver_server_plan plan = {
        options->addons_endpoint, ADDONS_WORKERS, parts->metrics, "csi_addons", services,
        ARRAY_LENGTH(services)};

    if (driver_server_new(&plan, options, &addons->server, err) < 0)
        return -1;
    return rpc_server_start(addons->server, err);
}

int driver_addons_start(struct driver_addons *addons, const struct options *options,
                        const struct driver_addons_parts *parts, struct error *err)
{
    if (options->addons_endpoint[0] == '\0')
        return 0;
    addons->addons = (struct addons){
        .driver_name = options->driver_name,
        .version = CEPHZONE_VERSION,
        .is_controller = options->controller_server,
        .is_node = options->node_server,
        .is_rbd = strcmp(options->type, "rbd") == 0,
        .fences = parts->fences,
    };
    if (start_server(addons, options, parts, err) < 0)
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
