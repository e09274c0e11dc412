/* ReclaimSpaceNode of csi-addons. */
#include "common/base/memory.h"
#include "common/volume/wire.h"
#include "node/volumes.h"

#include "csiaddons_reclaimspace.pb-c.h"

static int reclaim_space(void *object, struct call *call, const void *base, void *reply,
                         struct error *err)
{
    const Reclaimspace__NodeReclaimSpaceRequest *message = base;
    _cleanup_(reclaim_request_done) struct reclaim_request request = {
        .handle = xstrdup(message->volume_id),
        .staging_path = xstrdup(message->staging_target_path)};

    if (message->volume_capability)
        wire_get_capability(message->volume_capability, &request.capability);
    (void)reply; /* is empty */
    return node_reclaim_space(object, call, &request, err);
}

static const struct rpc_method METHODS[] = {
    RPC_METHOD("/reclaimspace.ReclaimSpaceNode", "NodeReclaimSpace", reclaimspace,
               node_reclaim_space, reclaim_space, .slow = true),
};

struct rpc_service node_reclaim_service(struct node_volumes *volumes)
{
    return (struct rpc_service){METHODS, ARRAY_LENGTH(METHODS), volumes};
}
