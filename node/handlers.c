/* The Node service: from the wire to plain structs and back. */
#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "node/node.h"

#include "csi.pb-c.h"

static int get_info(void *object, struct call *call, const ProtobufCMessage *message,
                    ProtobufCMessage **reply, struct error *err)
{
    const struct node *node = object;
    Csi__V1__NodeGetInfoResponse *out = message_new(&csi__v1__node_get_info_response__descriptor);

    (void)call, (void)message, (void)err;
    out->node_id = xstrdup(node->node_id);
    /* Without labels an empty topology, not a missing one: clients of a driver that advertises
     * accessibility constraints look for it. */
    out->accessible_topology = message_new(&csi__v1__topology__descriptor);
    *reply = &out->base;
    return 0;
}

#define METHOD(name, message, function)                                                            \
    {                                                                                              \
        .path = "/csi.v1.Node/" name, .request = &csi__v1__##message##_request__descriptor,        \
        .response = &csi__v1__##message##_response__descriptor, .handle = (function),              \
        .quick = true                                                                              \
    }

static const struct rpc_method METHODS[] = {
    METHOD("NodeGetInfo", node_get_info, get_info),
};

struct rpc_service node_service(struct node *node)
{
    return (struct rpc_service){METHODS, ARRAY_LENGTH(METHODS), node};
}
