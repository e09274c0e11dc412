/* ReclaimSpaceNode of csi-addons. */
#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "common/volume/wire.h"
#include "node/volumes.h"

#include "csiaddons_reclaimspace.pb-c.h"

static int reclaim_space(void *object, struct call *call, const ProtobufCMessage *base,
                         ProtobufCMessage **reply, struct error *err)
{
    const Reclaimspace__NodeReclaimSpaceRequest *message =
        (const Reclaimspace__NodeReclaimSpaceRequest *)base;
    _cleanup_(reclaim_request_done) struct reclaim_request request = {
        .handle = xstrdup(message->volume_id),
        .staging_path = xstrdup(message->staging_target_path)};

    if (message->volume_capability)
        wire_get_capability(message->volume_capability, &request.capability);
    if (node_reclaim_space(object, call, &request, err) < 0)
        return -1;
    *reply = message_new(&reclaimspace__node_reclaim_space_response__descriptor);
    return 0;
}

static const struct rpc_method METHODS[] = {
    {.path = "/reclaimspace.ReclaimSpaceNode/NodeReclaimSpace",
     .request = &reclaimspace__node_reclaim_space_request__descriptor,
     .response = &reclaimspace__node_reclaim_space_response__descriptor,
     .handle = reclaim_space,
     .slow = true},
};

struct rpc_service node_reclaim_service(struct node_volumes *volumes)
{
    return (struct rpc_service){METHODS, ARRAY_LENGTH(METHODS), volumes};
}
