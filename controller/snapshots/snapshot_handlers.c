/* The snapshot methods of the Controller service, and the GroupController service. */
#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "common/volume/wire.h"
#include "controller/service.h"

static Google__Protobuf__Timestamp *put_time(const struct timespec *time)
{
    Google__Protobuf__Timestamp *message = message_new(&google__protobuf__timestamp__descriptor);

    message->seconds = time->tv_sec;
    message->nanos = (int32_t)time->tv_nsec;
    return message;
}

static Csi__V1__Snapshot *put_snapshot(const struct snapshot *snapshot)
{
    Csi__V1__Snapshot *message = message_new(&csi__v1__snapshot__descriptor);

    message->snapshot_id = xstrdup(snapshot->handle);
    message->source_volume_id = xstrdup(snapshot->source_handle);
    message->group_snapshot_id = xstrdup(snapshot->group_handle);
    message->size_bytes = (int64_t)snapshot->size_bytes;
    message->creation_time = put_time(&snapshot->created);
    message->ready_to_use = snapshot->ready;
    return message;
}

static int create_snapshot(void *object, struct call *call, const void *message, void *reply,
                           struct error *err)
{
    const Csi__V1__CreateSnapshotRequest *in = message;
    _cleanup_(snapshot_request_done) struct snapshot_request request = {
        .name = xstrdup(in->name), .source_handle = xstrdup(in->source_volume_id)};
    struct snapshot snapshot;

    wire_get_map(in->n_parameters, in->parameters, &request.parameters);
    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_create_snapshot(object, call, &request, &snapshot, err) < 0)
        return credentials_explain(&request.credentials, err);
    Csi__V1__CreateSnapshotResponse *out = reply;
    out->snapshot = put_snapshot(&snapshot);
    return 0;
}

static int delete_snapshot(void *object, struct call *call, const void *message, void *reply,
                           struct error *err)
{
    const Csi__V1__DeleteSnapshotRequest *in = message;
    _cleanup_(handle_request_done) struct handle_request request = {xstrdup(in->snapshot_id), {0}};

    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_delete_snapshot(object, call, &request, err) < 0)
        return credentials_explain(&request.credentials, err);
    (void)reply; /* is empty */
    return 0;
}

static int get_snapshot(void *object, struct call *call, const void *message, void *reply,
                        struct error *err)
{
    const Csi__V1__GetSnapshotRequest *in = message;
    _cleanup_(handle_request_done) struct handle_request request = {xstrdup(in->snapshot_id), {0}};
    struct snapshot snapshot;

    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_get_snapshot(object, call, &request, &snapshot, err) < 0)
        return credentials_explain(&request.credentials, err);
    Csi__V1__GetSnapshotResponse *out = reply;
    out->snapshot = put_snapshot(&snapshot);
    return 0;
}

static int list_snapshots(void *object, struct call *call, const void *message, void *reply,
                          struct error *err)
{
    const Csi__V1__ListSnapshotsRequest *in = message;
    _cleanup_(list_request_done) struct list_request request = {
        .max_entries = in->max_entries,
        .token = xstrdup(in->starting_token),
        .source_handle = xstrdup(in->source_volume_id),
        .snapshot_handle = xstrdup(in->snapshot_id),
    };
    _cleanup_(snapshot_list_done) struct snapshot_list list = {0};

    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_list_snapshots(object, call, &request, &list, err) < 0)
        return credentials_explain(&request.credentials, err);
    Csi__V1__ListSnapshotsResponse *out = reply;
    out->entries = xcalloc(list.count, sizeof(*out->entries));
    for (; out->n_entries < list.count; out->n_entries++) {
        out->entries[out->n_entries] =
            message_new(&csi__v1__list_snapshots_response__entry__descriptor);
        out->entries[out->n_entries]->snapshot = put_snapshot(&list.items[out->n_entries]);
    }
    if (list.next_token)
        out->next_token = TAKE(list.next_token);
    return 0;
}

/* --- groups --- */

static void get_names(size_t count, char **names, struct string_list *list)
{
    for (size_t i = 0; i < count; i++)
        string_list_add(list, names[i]);
}

static Csi__V1__VolumeGroupSnapshot *put_group(const struct group_snapshot *group)
{
    Csi__V1__VolumeGroupSnapshot *message =
        message_new(&csi__v1__volume_group_snapshot__descriptor);

    message->group_snapshot_id = xstrdup(group->handle);
    message->creation_time = put_time(&group->created);
    message->ready_to_use = group->ready;
    message->snapshots = xcalloc(group->count, sizeof(*message->snapshots));
    for (; message->n_snapshots < group->count; message->n_snapshots++)
        message->snapshots[message->n_snapshots] =
            put_snapshot(&group->snapshots[message->n_snapshots]);
    return message;
}

static int create_group(void *object, struct call *call, const void *message, void *reply,
                        struct error *err)
{
    const Csi__V1__CreateVolumeGroupSnapshotRequest *in = message;
    _cleanup_(group_request_done) struct group_request request = {.name = xstrdup(in->name)};
    _cleanup_(group_snapshot_done) struct group_snapshot group = {0};

    get_names(in->n_source_volume_ids, in->source_volume_ids, &request.members);
    wire_get_map(in->n_parameters, in->parameters, &request.parameters);
    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_create_group_snapshot(object, call, &request, &group, err) < 0)
        return credentials_explain(&request.credentials, err);
    Csi__V1__CreateVolumeGroupSnapshotResponse *out = reply;
    out->group_snapshot = put_group(&group);
    return 0;
}

static int delete_group(void *object, struct call *call, const void *message, void *reply,
                        struct error *err)
{
    const Csi__V1__DeleteVolumeGroupSnapshotRequest *in = message;
    _cleanup_(group_request_done) struct group_request request = {
        .handle = xstrdup(in->group_snapshot_id)};

    get_names(in->n_snapshot_ids, in->snapshot_ids, &request.members);
    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_delete_group_snapshot(object, call, &request, err) < 0)
        return credentials_explain(&request.credentials, err);
    (void)reply; /* is empty */
    return 0;
}

static int get_group(void *object, struct call *call, const void *message, void *reply,
                     struct error *err)
{
    const Csi__V1__GetVolumeGroupSnapshotRequest *in = message;
    _cleanup_(group_request_done) struct group_request request = {
        .handle = xstrdup(in->group_snapshot_id)};
    _cleanup_(group_snapshot_done) struct group_snapshot group = {0};

    get_names(in->n_snapshot_ids, in->snapshot_ids, &request.members);
    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_get_group_snapshot(object, call, &request, &group, err) < 0)
        return credentials_explain(&request.credentials, err);
    Csi__V1__GetVolumeGroupSnapshotResponse *out = reply;
    out->group_snapshot = put_group(&group);
    return 0;
}

static int get_group_capabilities(void *object, struct call *call, const void *message, void *reply,
                                  struct error *err)
{
    Csi__V1__GroupControllerGetCapabilitiesResponse *out = reply;
    Csi__V1__GroupControllerServiceCapability *capability =
        message_new(&csi__v1__group_controller_service_capability__descriptor);

    (void)object, (void)call, (void)message, (void)err;
    capability->type_case = CSI__V1__GROUP_CONTROLLER_SERVICE_CAPABILITY__TYPE_RPC;
    capability->rpc = message_new(&csi__v1__group_controller_service_capability__rpc__descriptor);
    capability->rpc->type =
        CSI__V1__GROUP_CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT;
    out->capabilities = xcalloc(1, sizeof(*out->capabilities));
    out->capabilities[out->n_capabilities++] = capability;
    return 0;
}

#define METHOD(service, name, message, function)                                                   \
    RPC_METHOD("/csi.v1." service, name, csi__v1, message, function)

static const struct rpc_method SNAPSHOT_METHODS[] = {
    METHOD("Controller", "CreateSnapshot", create_snapshot, create_snapshot),
    METHOD("Controller", "DeleteSnapshot", delete_snapshot, delete_snapshot),
    METHOD("Controller", "GetSnapshot", get_snapshot, get_snapshot),
    METHOD("Controller", "ListSnapshots", list_snapshots, list_snapshots),
};

static const struct rpc_method GROUP_METHODS[] = {
    METHOD("GroupController", "GroupControllerGetCapabilities", group_controller_get_capabilities,
           get_group_capabilities),
    METHOD("GroupController", "CreateVolumeGroupSnapshot", create_volume_group_snapshot,
           create_group),
    METHOD("GroupController", "DeleteVolumeGroupSnapshot", delete_volume_group_snapshot,
           delete_group),
    METHOD("GroupController", "GetVolumeGroupSnapshot", get_volume_group_snapshot, get_group),
};

struct rpc_service controller_snapshot_service(struct controller *controller)
{
    return (struct rpc_service){SNAPSHOT_METHODS, ARRAY_LENGTH(SNAPSHOT_METHODS), controller};
}

struct rpc_service controller_group_service(struct controller *controller)
{
    return (struct rpc_service){GROUP_METHODS, ARRAY_LENGTH(GROUP_METHODS), controller};
}
