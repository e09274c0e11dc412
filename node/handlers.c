/* The Node service: from the wire to plain structs and back. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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

static int get_no_capabilities(void *object, struct call *call, const ProtobufCMessage *message,
                               ProtobufCMessage **reply, struct error *err)
{
    (void)object, (void)call, (void)message, (void)err;
    *reply = message_new(&csi__v1__node_get_capabilities_response__descriptor);
    return 0;
}

/* Nothing is published, so a path that is not there is what was asked for. */
static int unpublish_volume(void *object, struct call *call, const ProtobufCMessage *message,
                            ProtobufCMessage **reply, struct error *err)
{
    const Csi__V1__NodeUnpublishVolumeRequest *in =
        (const Csi__V1__NodeUnpublishVolumeRequest *)message;

    (void)object, (void)call;
    if (in->volume_id[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (in->target_path[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "target_path is missing");
    /* a dead mount cannot be looked at, but is there */
    if (faccessat(AT_FDCWD, in->target_path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
        (errno != ENOENT && errno != ENOTDIR))
        return error_set(err, STATUS_UNIMPLEMENTED,
                         "'%s' exists, but this driver does not publish such volumes yet and "
                         "will not touch what others did",
                         in->target_path);
    *reply = message_new(&csi__v1__node_unpublish_volume_response__descriptor);
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

static const struct rpc_method EMPTY_METHODS[] = {
    METHOD("NodeGetCapabilities", node_get_capabilities, get_no_capabilities),
    METHOD("NodeUnpublishVolume", node_unpublish_volume, unpublish_volume),
};

struct rpc_service node_empty_service(struct node *node)
{
    return (struct rpc_service){EMPTY_METHODS, ARRAY_LENGTH(EMPTY_METHODS), node};
}

struct rpc_service node_service(struct node *node)
{
    return (struct rpc_service){METHODS, ARRAY_LENGTH(METHODS), node};
}
