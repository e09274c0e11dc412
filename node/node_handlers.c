/* The Node service: from the wire to the plain structs of volumes.h and back. */
#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "common/volume/wire.h"
#include "node/backend.h"
#include "node/node_info.h"

static int get_info(void *object, struct call *call, const void *message, void *reply,
                    struct error *err)
{
    const struct node_volumes *volumes = object;
    _cleanup_node_answer_ struct node_answer answer = {0};

    (void)message;
    if (node_info_get(volumes->info, call, &answer, err) < 0)
        return -1;
    Csi__V1__NodeGetInfoResponse *out = reply;
    out->node_id = xstrdup(answer.node_id);
    out->max_volumes_per_node = answer.max_volumes;
    /* Without labels an empty topology, not a missing one: clients of a driver that advertises
     * accessibility constraints look for it. */
    out->accessible_topology = wire_put_topology(&answer.segments);
    return 0;
}

static int stage_volume(void *object, struct call *call, const void *message, void *reply,
                        struct error *err)
{
    const Csi__V1__NodeStageVolumeRequest *in = message;
    _cleanup_(stage_request_done) struct stage_request request = {
        .handle = xstrdup(in->volume_id), .staging_path = xstrdup(in->staging_target_path)};

    if (in->volume_capability)
        wire_get_capability(in->volume_capability, &request.capability);
    wire_get_map(in->n_volume_context, in->volume_context, &request.context);
    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (node_stage_volume(object, call, &request, err) < 0)
        return credentials_explain(&request.credentials, err);
    (void)reply; /* is empty */
    return 0;
}

static int unstage_volume(void *object, struct call *call, const void *message, void *reply,
                          struct error *err)
{
    const Csi__V1__NodeUnstageVolumeRequest *in = message;

    (void)reply; /* is empty */
    return node_unstage_volume(object, call, in->volume_id, in->staging_target_path, err);
}

static int publish_volume(void *object, struct call *call, const void *message, void *reply,
                          struct error *err)
{
    const Csi__V1__NodePublishVolumeRequest *in = message;
    _cleanup_(publish_request_done) struct publish_request request = {
        .handle = xstrdup(in->volume_id),
        .staging_path = xstrdup(in->staging_target_path),
        .target_path = xstrdup(in->target_path),
        .read_only = in->readonly,
    };

    wire_get_map(in->n_publish_context, in->publish_context, &request.publish_context);
    if (in->volume_capability)
        wire_get_capability(in->volume_capability, &request.capability);
    wire_get_map(in->n_volume_context, in->volume_context, &request.context);
    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (node_publish_volume(object, call, &request, err) < 0)
        return credentials_explain(&request.credentials, err);
    (void)reply; /* is empty */
    return 0;
}

static int unpublish_volume(void *object, struct call *call, const void *message, void *reply,
                            struct error *err)
{
    const Csi__V1__NodeUnpublishVolumeRequest *in = message;

    (void)reply; /* is empty */
    return node_unpublish_volume(object, call, in->volume_id, in->target_path, err);
}

static Csi__V1__VolumeUsage *put_usage(Csi__V1__VolumeUsage__Unit unit, uint64_t total,
                                       uint64_t used, uint64_t available)
{
    Csi__V1__VolumeUsage *usage = message_new(&csi__v1__volume_usage__descriptor);

    usage->unit = unit;
    usage->total = (int64_t)total;
    usage->used = (int64_t)used;
    usage->available = (int64_t)available;
    return usage;
}

static int get_volume_stats(void *object, struct call *call, const void *message, void *reply,
                            struct error *err)
{
    const Csi__V1__NodeGetVolumeStatsRequest *in = message;
    _cleanup_(volume_stats_done) struct volume_stats stats = {0};

    if (node_get_volume_stats(object, call, in->volume_id, in->volume_path, &stats, err) < 0)
        return -1;
    Csi__V1__NodeGetVolumeStatsResponse *out = reply;
    const struct usage *usage = &stats.usage;
    out->usage = xcalloc(2, sizeof(*out->usage));
    if (stats.has_usage)
        out->usage[out->n_usage++] =
            put_usage(CSI__V1__VOLUME_USAGE__UNIT__BYTES, usage->total_bytes, usage->used_bytes,
                      usage->available_bytes);
    if (stats.has_usage && stats.has_inodes)
        out->usage[out->n_usage++] =
            put_usage(CSI__V1__VOLUME_USAGE__UNIT__INODES, usage->total_inodes, usage->used_inodes,
                      usage->available_inodes);
    out->volume_condition = message_new(&csi__v1__volume_condition__descriptor);
    out->volume_condition->abnormal = stats.is_abnormal;
    out->volume_condition->message = TAKE(stats.message);
    return 0;
}

static int get_volume_health(void *object, struct call *call, const void *message, void *reply,
                             struct error *err)
{
    const Csi__V1__NodeGetVolumeHealthRequest *in = message;
    const struct health_request request = {in->volume_id, in->volume_publish_path,
                                           in->staging_target_path};
    _cleanup_(volume_stats_done) struct volume_stats stats = {0};

    if (node_get_volume_health(object, call, &request, &stats, err) < 0)
        return -1;
    Csi__V1__NodeGetVolumeHealthResponse *out = reply;
    out->volume_health =
        wire_put_health(in->volume_id, CSI__V1__VOLUME_HEALTH_ERROR_TYPE__INACCESSIBLE,
                        "NotUsableOnNode", stats.is_abnormal ? stats.message : NULL);
    return 0;
}

static int expand_volume(void *object, struct call *call, const void *message, void *reply,
                         struct error *err)
{
    const Csi__V1__NodeExpandVolumeRequest *in = message;
    _cleanup_(node_expand_request_done) struct node_expand_request request = {
        .handle = xstrdup(in->volume_id),
        .volume_path = xstrdup(in->volume_path),
    };
    uint64_t size_bytes = 0;

    wire_get_range(in->capacity_range, &request.range);
    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (node_expand_volume(object, call, &request, &size_bytes, err) < 0)
        return credentials_explain(&request.credentials, err);
    Csi__V1__NodeExpandVolumeResponse *out = reply;
    out->capacity_bytes = (int64_t)size_bytes;
    return 0;
}

static const Csi__V1__NodeServiceCapability__RPC__Type CAPABILITIES[] = {
    CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__STAGE_UNSTAGE_VOLUME,
    CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__GET_VOLUME_STATS,
    CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__EXPAND_VOLUME,
    CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__VOLUME_CONDITION,  /* CSI until 1.12 */
    CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__GET_VOLUME_HEALTH, /* from 1.13 on */
    CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__SINGLE_NODE_MULTI_WRITER,
};

static int get_capabilities(void *object, struct call *call, const void *message, void *reply,
                            struct error *err)
{
    const struct node_volumes *volumes = object;
    Csi__V1__NodeGetCapabilitiesResponse *out = reply;

    (void)call, (void)message, (void)err;
    out->capabilities = xcalloc(ARRAY_LENGTH(CAPABILITIES), sizeof(*out->capabilities));
    for (size_t i = 0; i < ARRAY_LENGTH(CAPABILITIES); i++) {
        if (CAPABILITIES[i] == CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__EXPAND_VOLUME &&
            !volumes->backend->expand)
            continue;
        Csi__V1__NodeServiceCapability *capability =
            message_new(&csi__v1__node_service_capability__descriptor);

        capability->type_case = CSI__V1__NODE_SERVICE_CAPABILITY__TYPE_RPC;
        capability->rpc = message_new(&csi__v1__node_service_capability__rpc__descriptor);
        capability->rpc->type = CAPABILITIES[i];
        out->capabilities[out->n_capabilities++] = capability;
    }
    return 0;
}

#define METHOD(name, message, function) RPC_METHOD("/csi.v1.Node", name, csi__v1, message, function)

static const struct rpc_method METHODS[] = {
    METHOD("NodeGetInfo", node_get_info, get_info),
    METHOD("NodeStageVolume", node_stage_volume, stage_volume),
    METHOD("NodeUnstageVolume", node_unstage_volume, unstage_volume),
    METHOD("NodePublishVolume", node_publish_volume, publish_volume),
    METHOD("NodeUnpublishVolume", node_unpublish_volume, unpublish_volume),
    METHOD("NodeGetVolumeStats", node_get_volume_stats, get_volume_stats),
    METHOD("NodeGetVolumeHealth", node_get_volume_health, get_volume_health),
    METHOD("NodeExpandVolume", node_expand_volume, expand_volume),
    METHOD("NodeGetCapabilities", node_get_capabilities, get_capabilities),
};

struct rpc_service node_service(struct node_volumes *volumes)
{
    return (struct rpc_service){METHODS, ARRAY_LENGTH(METHODS), volumes};
}
