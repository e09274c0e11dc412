/* ReclaimSpaceController of csi-addons. */
#include "common/base/memory.h"
#include "common/volume/wire.h"
#include "controller/addons/addons.h"

#include "csiaddons_reclaimspace.pb-c.h"

static int reclaim_space(void *object, struct call *call, const void *base, void *reply,
                         struct error *err)
{
    const Reclaimspace__ControllerReclaimSpaceRequest *message = base;
    _cleanup_(handle_request_done) struct handle_request request = {
        .handle = xstrdup(message->volume_id)};

    wire_get_credentials(message->n_secrets, message->secrets, &request.credentials);
    (void)reply; /* is empty */
    return controller_reclaim_space(object, call, &request, err);
}

static const struct rpc_method METHODS[] = {
    RPC_METHOD("/reclaimspace.ReclaimSpaceController", "ControllerReclaimSpace", reclaimspace,
               controller_reclaim_space, reclaim_space, .slow = true),
};

struct rpc_service addons_reclaim_service(struct controller *controller)
{
    return (struct rpc_service){METHODS, ARRAY_LENGTH(METHODS), controller};
}
