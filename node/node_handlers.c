/* The Node service: from the wire to plain structs and back. */
#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "common/volume/wire.h"
#include "node/node.h"

#include "csi.pb-c.h"

static int get_info(void *object, struct call *call, const ProtobufCMessage *message,
                    ProtobufCMessage **reply, struct error *err)
{
    const struct node *node = object;
    Csi__V1__NodeGetInfoResponse *out = message_new(&csi__v1__node_get_info_response__descriptor);
    _cleanup_node_answer_ struct node_answer answer = {0};

    (void)message, (void)err;
    node_info_get(node->info, call, &answer);
    out->node_id = xstrdup(answer.node_id);
    out->max_volumes_per_node = answer.max_volumes;
    /* Without labels an empty topology, not a missing one: clients of a driver that advertises
     * accessibility constraints look for it. */
    out->accessible_topology = wire_put_topology(&answer.segments);
    *reply = &out->base;
    return 0;
}

#define METHOD(name, message, function)                                                            \
    {                                                                                              \
        .path = "/csi.v1.Node/" name, .request = &csi__v1__##message##_request__descriptor,        \
        .response = &csi__v1__##message##_response__descriptor, .handle = (function)               \
    }

static const struct rpc_method METHODS[] = {
    METHOD("NodeGetInfo", node_get_info, get_info),
};

struct rpc_service node_service(struct node *node)
{
    return (struct rpc_service){METHODS, ARRAY_LENGTH(METHODS), node};
}
