/* The replication Controller of csi-addons. */
#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "common/volume/wire.h"
#include "controller/addons/addons.h"
#include "controller/addons/replication.h"

#include "csiaddons_replication.pb-c.h"

/* Newer callers name the volume in @source alone, older ones in @volume_id as well. */
static int get_volume(const Replication__ReplicationSource *source, const char *volume_id,
                      struct handle_request *volume, struct error *err)
{
    if (source && source->type_case == REPLICATION__REPLICATION_SOURCE__TYPE_VOLUMEGROUP)
        return error_set(err, STATUS_UNIMPLEMENTED,
                         "groups of volumes are not mirrored; replicate each volume by itself");
    const bool has_source =
        source && source->type_case == REPLICATION__REPLICATION_SOURCE__TYPE_VOLUME;
    volume->handle = xstrdup(has_source ? source->volume->volume_id : volume_id);
    return 0;
}

#define DECODE(message, request)                                                                   \
    (wire_get_map((message)->n_parameters, (message)->parameters, &(request)->parameters),         \
     wire_get_credentials((message)->n_secrets, (message)->secrets,                                \
                          &(request)->volume.credentials),                                         \
     get_volume((message)->replication_source, (message)->volume_id, &(request)->volume, err))

static int enable(void *object, struct call *call, const void *base, void *reply, struct error *err)
{
    const Replication__EnableVolumeReplicationRequest *message = base;
    _cleanup_replication_request_ struct replication_request request = {0};

    (void)reply; /* is empty */
    if (DECODE(message, &request) < 0)
        return -1;
    return replication_enable(object, call, &request, err);
}

static int disable(void *object, struct call *call, const void *base, void *reply,
                   struct error *err)
{
    const Replication__DisableVolumeReplicationRequest *message = base;
    _cleanup_replication_request_ struct replication_request request = {0};

    (void)reply; /* is empty */
    if (DECODE(message, &request) < 0)
        return -1;
    return replication_disable(object, call, &request, err);
}

static int promote(void *object, struct call *call, const void *base, void *reply,
                   struct error *err)
{
    const Replication__PromoteVolumeRequest *message = base;
    _cleanup_replication_request_ struct replication_request request = {.force = message->force};

    (void)reply; /* is empty */
    if (DECODE(message, &request) < 0)
        return -1;
    return replication_promote(object, call, &request, err);
}

static int demote(void *object, struct call *call, const void *base, void *reply, struct error *err)
{
    const Replication__DemoteVolumeRequest *message = base;
    _cleanup_replication_request_ struct replication_request request = {.force = message->force};

    (void)reply; /* is empty */
    if (DECODE(message, &request) < 0)
        return -1;
    return replication_demote(object, call, &request, err);
}

static int resync(void *object, struct call *call, const void *base, void *reply, struct error *err)
{
    const Replication__ResyncVolumeRequest *message = base;
    Replication__ResyncVolumeResponse *response = reply;
    _cleanup_replication_request_ struct replication_request request = {.force = message->force};
    bool ready = false;

    if (DECODE(message, &request) < 0 ||
        replication_resync(object, call, &request, &ready, err) < 0)
        return -1;
    response->ready = ready;
    return 0;
}

static Replication__GetVolumeReplicationInfoResponse__Status
status_of(enum replication_health health)
{
    switch (health) {
    case REPLICATION_HEALTHY:
        return REPLICATION__GET_VOLUME_REPLICATION_INFO_RESPONSE__STATUS__HEALTHY;
    case REPLICATION_DEGRADED:
        return REPLICATION__GET_VOLUME_REPLICATION_INFO_RESPONSE__STATUS__DEGRADED;
    case REPLICATION_ERROR:
        return REPLICATION__GET_VOLUME_REPLICATION_INFO_RESPONSE__STATUS__ERROR;
    case REPLICATION_UNKNOWN:
        break;
    }
    return REPLICATION__GET_VOLUME_REPLICATION_INFO_RESPONSE__STATUS__UNKNOWN;
}

static int get_info(void *object, struct call *call, const void *base, void *reply,
                    struct error *err)
{
    const Replication__GetVolumeReplicationInfoRequest *message = base;
    Replication__GetVolumeReplicationInfoResponse *response = reply;
    _cleanup_(handle_request_done) struct handle_request request = {0};
    _cleanup_replication_info_ struct replication_info info = {0};

    wire_get_credentials(message->n_secrets, message->secrets, &request.credentials);
    if (get_volume(message->replication_source, message->volume_id, &request, err) < 0 ||
        replication_get_info(object, call, &request, &info, err) < 0)
        return -1;
    response->last_sync_time = message_new(&google__protobuf__timestamp__descriptor);
    response->last_sync_time->seconds = info.synced_at;
    if (info.has_duration) {
        response->last_sync_duration = message_new(&google__protobuf__duration__descriptor);
        response->last_sync_duration->seconds = info.duration_s;
    }
    response->last_sync_bytes = info.bytes;
    response->status = status_of(info.health);
    response->status_message = TAKE(info.message);
    return 0;
}

#define REPLICATION(name, message, function, ...)                                                  \
    RPC_METHOD("/replication.Controller", name, replication, message, function, __VA_ARGS__)

static const struct rpc_method METHODS[] = {
    REPLICATION("EnableVolumeReplication", enable_volume_replication, enable, .slow = true),
    REPLICATION("DisableVolumeReplication", disable_volume_replication, disable, .slow = true),
    REPLICATION("PromoteVolume", promote_volume, promote, .slow = true),
    REPLICATION("DemoteVolume", demote_volume, demote, .slow = true),
    REPLICATION("ResyncVolume", resync_volume, resync, .slow = true),
    REPLICATION("GetVolumeReplicationInfo", get_volume_replication_info, get_info, .slow = false),
};

struct rpc_service addons_replication_service(struct controller *controller)
{
    return (struct rpc_service){METHODS, ARRAY_LENGTH(METHODS), controller};
}
