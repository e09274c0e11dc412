/* ReclaimSpaceController of csi-addons. */
#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "common/volume/wire.h"
#include "controller/addons/addons.h"

#include "csiaddons_reclaimspace.pb-c.h"

static int reclaim_space(void *object, struct call *call, const ProtobufCMessage *base,
                         ProtobufCMessage **reply, struct error *err)
{
    const Reclaimspace__ControllerReclaimSpaceRequest *message =
        (const Reclaimspace__ControllerReclaimSpaceRequest *)base;
    _cleanup_(handle_request_done) struct handle_request request = {
        .handle = xstrdup(message->volume_id)};

    wire_get_credentials(message->n_secrets, message->secrets, &request.credentials);
    if (controller_reclaim_space(object, call, &request, err) < 0)
        return -1;
    *reply = message_new(&reclaimspace__controller_reclaim_space_response__descriptor);
    return 0;
}

static const struct rpc_method METHODS[] = {
    {.path = "/reclaimspace.ReclaimSpaceController/ControllerReclaimSpace",
     .request = &reclaimspace__controller_reclaim_space_request__descriptor,
     .response = &reclaimspace__controller_reclaim_space_response__descriptor,
     .handle = reclaim_space,
     .slow = true},
};

struct rpc_service addons_reclaim_service(struct controller *controller)
{
    return (struct rpc_service){METHODS, ARRAY_LENGTH(METHODS), controller};
}
