#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "common/volume/wire.h"
#include "controller/addons/addons.h"

#include "csiaddons_fence.pb-c.h"
#include "csiaddons_identity.pb-c.h"

/* --- Identity --- */

static int get_identity(void *object, struct call *call, const void *request, void *reply,
                        struct error *err)
{
    const struct addons *addons = object;
    Identity__GetIdentityResponse *response = reply;

    (void)call, (void)request, (void)err;
    response->name = xstrdup(addons->driver_name);
    response->vendor_version = xstrdup(addons->version);
    return 0;
}

static Identity__Capability *role(Identity__Capability__Service__Type type)
{
    Identity__Capability *capability = message_new(&identity__capability__descriptor);

    capability->type_case = IDENTITY__CAPABILITY__TYPE_SERVICE;
    capability->service = message_new(&identity__capability__service__descriptor);
    capability->service->type = type;
    return capability;
}

static Identity__Capability *fencing(Identity__Capability__NetworkFence__Type type)
{
    Identity__Capability *capability = message_new(&identity__capability__descriptor);

    capability->type_case = IDENTITY__CAPABILITY__TYPE_NETWORK_FENCE;
    capability->network_fence = message_new(&identity__capability__network_fence__descriptor);
    capability->network_fence->type = type;
    return capability;
}

static Identity__Capability *reclaiming(Identity__Capability__ReclaimSpace__Type type)
{
    Identity__Capability *capability = message_new(&identity__capability__descriptor);

    capability->type_case = IDENTITY__CAPABILITY__TYPE_RECLAIM_SPACE;
    capability->reclaim_space = message_new(&identity__capability__reclaim_space__descriptor);
    capability->reclaim_space->type = type;
    return capability;
}

static Identity__Capability *replicating(void)
{
    Identity__Capability *capability = message_new(&identity__capability__descriptor);

    capability->type_case = IDENTITY__CAPABILITY__TYPE_VOLUME_REPLICATION;
    capability->volume_replication =
        message_new(&identity__capability__volume_replication__descriptor);
    capability->volume_replication->type =
        IDENTITY__CAPABILITY__VOLUME_REPLICATION__TYPE__VOLUME_REPLICATION;
    return capability;
}

/* A controller's own address is that of its pod, and nobody's volumes are mounted there: only nodes
 * offer theirs. */
static int get_capabilities(void *object, struct call *call, const void *request, void *reply,
                            struct error *err)
{
    const struct addons *addons = object;
    Identity__GetCapabilitiesResponse *response = reply;
    size_t n = 0;

    (void)call, (void)request, (void)err;
    response->capabilities = xcalloc(8, sizeof(*response->capabilities));
    if (addons->is_controller) {
        response->capabilities[n++] = role(IDENTITY__CAPABILITY__SERVICE__TYPE__CONTROLLER_SERVICE);
        response->capabilities[n++] =
            fencing(IDENTITY__CAPABILITY__NETWORK_FENCE__TYPE__NETWORK_FENCE);
        if (addons->is_rbd)
            response->capabilities[n++] =
                reclaiming(IDENTITY__CAPABILITY__RECLAIM_SPACE__TYPE__OFFLINE);
        if (addons->is_rbd)
            response->capabilities[n++] = replicating();
    }
    if (addons->is_node) {
        response->capabilities[n++] = role(IDENTITY__CAPABILITY__SERVICE__TYPE__NODE_SERVICE);
        response->capabilities[n++] =
            fencing(IDENTITY__CAPABILITY__NETWORK_FENCE__TYPE__GET_CLIENTS_TO_FENCE);
        if (addons->is_rbd)
            response->capabilities[n++] =
                reclaiming(IDENTITY__CAPABILITY__RECLAIM_SPACE__TYPE__ONLINE);
    }
    response->n_capabilities = n;
    return 0;
}

/* As that of CSI: a cluster that is away is no reason for the sidecar to exit. */
static int probe(void *object, struct call *call, const void *request, void *reply,
                 struct error *err)
{
    Identity__ProbeResponse *response = reply;

    (void)object, (void)call, (void)request, (void)err;
    response->ready = message_new(&google__protobuf__bool_value__descriptor);
    response->ready->value = true;
    return 0;
}

/* --- FenceController --- */

/* All requests have parameters and secrets, some have networks. */
#define DECODE(message, request)                                                                   \
    do {                                                                                           \
        wire_get_map((message)->n_parameters, (message)->parameters, &(request)->parameters);      \
        wire_get_credentials((message)->n_secrets, (message)->secrets, &(request)->credentials);   \
    } while (0)

static void get_cidrs(size_t count, Fence__CIDR *const *messages, struct string_list *cidrs)
{
    for (size_t i = 0; i < count; i++)
        string_list_add(cidrs, messages[i]->cidr);
}

static Fence__CIDR **put_cidrs(const struct string_list *cidrs, size_t *count)
{
    Fence__CIDR **messages = xcalloc(cidrs->count, sizeof(*messages));

    for (size_t i = 0; i < cidrs->count; i++) {
        messages[i] = message_new(&fence__cidr__descriptor);
        messages[i]->cidr = xstrdup(cidrs->items[i]);
    }
    *count = cidrs->count;
    return messages;
}

static int fence_cluster_network(void *object, struct call *call, const void *base, void *reply,
                                 struct error *err)
{
    const struct addons *addons = object;
    const Fence__FenceClusterNetworkRequest *message = base;
    _cleanup_fence_request_ struct fence_request request = {0};

    DECODE(message, &request);
    get_cidrs(message->n_cidrs, message->cidrs, &request.cidrs);
    (void)reply; /* is empty */
    return network_fences_add(&addons->fences, call, &request, err);
}

static int unfence_cluster_network(void *object, struct call *call, const void *base, void *reply,
                                   struct error *err)
{
    const struct addons *addons = object;
    const Fence__UnfenceClusterNetworkRequest *message = base;
    _cleanup_fence_request_ struct fence_request request = {0};

    DECODE(message, &request);
    get_cidrs(message->n_cidrs, message->cidrs, &request.cidrs);
    (void)reply; /* is empty */
    return network_fences_remove(&addons->fences, call, &request, err);
}

static int list_cluster_fence(void *object, struct call *call, const void *base, void *reply,
                              struct error *err)
{
    const struct addons *addons = object;
    const Fence__ListClusterFenceRequest *message = base;
    _cleanup_fence_request_ struct fence_request request = {0};
    _cleanup_string_list_ struct string_list cidrs = {0};

    DECODE(message, &request);
    if (network_fences_list(&addons->fences, call, &request, &cidrs, err) < 0)
        return -1;
    Fence__ListClusterFenceResponse *response = reply;
    response->cidrs = put_cidrs(&cidrs, &response->n_cidrs);
    return 0;
}

static int get_fence_clients(void *object, struct call *call, const void *base, void *reply,
                             struct error *err)
{
    const struct addons *addons = object;
    const Fence__GetFenceClientsRequest *message = base;
    _cleanup_fence_request_ struct fence_request request = {0};
    _cleanup_fence_client_ struct fence_client client = {0};

    DECODE(message, &request);
    if (network_fences_self(&addons->fences, call, &request, &client, err) < 0)
        return -1;
    Fence__GetFenceClientsResponse *response = reply;
    response->clients = xcalloc(1, sizeof(*response->clients));
    response->clients[0] = message_new(&fence__client_details__descriptor);
    response->n_clients = 1;
    response->clients[0]->id = TAKE(client.id);
    response->clients[0]->addresses = put_cidrs(&client.cidrs, &response->clients[0]->n_addresses);
    return 0;
}

#define IDENTITY(name, message, function)                                                          \
    RPC_METHOD("/identity.Identity", name, identity, message, function, .quick = true)
#define FENCE(name, message, function)                                                             \
    RPC_METHOD("/fence.FenceController", name, fence, message, function)

static const struct rpc_method IDENTITY_METHODS[] = {
    IDENTITY("GetIdentity", get_identity, get_identity),
    IDENTITY("GetCapabilities", get_capabilities, get_capabilities),
    IDENTITY("Probe", probe, probe),
};

static const struct rpc_method FENCE_METHODS[] = {
    FENCE("FenceClusterNetwork", fence_cluster_network, fence_cluster_network),
    FENCE("UnfenceClusterNetwork", unfence_cluster_network, unfence_cluster_network),
    FENCE("ListClusterFence", list_cluster_fence, list_cluster_fence),
    FENCE("GetFenceClients", get_fence_clients, get_fence_clients),
};

static const struct rpc_method CLIENT_METHODS[] = {
    FENCE("GetFenceClients", get_fence_clients, get_fence_clients),
};

struct rpc_service addons_identity_service(struct addons *addons)
{
    return (struct rpc_service){IDENTITY_METHODS, ARRAY_LENGTH(IDENTITY_METHODS), addons};
}

struct rpc_service addons_fence_service(struct addons *addons)
{
    return (struct rpc_service){FENCE_METHODS, ARRAY_LENGTH(FENCE_METHODS), addons};
}

struct rpc_service addons_client_service(struct addons *addons)
{
    return (struct rpc_service){CLIENT_METHODS, ARRAY_LENGTH(CLIENT_METHODS), addons};
}
