/*
 * The Controller service: from the wire to the plain structs of controller.h and back. Checks of a
 * field that need nothing but the message are in the logic, so that they hold without gRPC too.
 */
#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "common/volume/wire.h"
#include "controller/backend.h"
#include "controller/service.h"

static Csi__V1__Volume *put_volume(const struct volume *volume)
{
    Csi__V1__Volume *message = message_new(&csi__v1__volume__descriptor);

    message->volume_id = xstrdup(volume->handle);
    message->capacity_bytes = (int64_t)volume->size_bytes;
    message->volume_context = wire_put_map(&csi__v1__volume__volume_context_entry__descriptor,
                                           &volume->context, &message->n_volume_context);
    if (volume->segments.count > 0) {
        message->n_accessible_topology = 1;
        message->accessible_topology = xcalloc(1, sizeof(*message->accessible_topology));
        message->accessible_topology[0] = wire_put_topology(&volume->segments);
    }
    return message;
}

static void get_source(const Csi__V1__VolumeContentSource *in, struct create_request *request)
{
    if (!in)
        return;
    if (in->type_case == CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT) {
        request->source_kind = SOURCE_SNAPSHOT;
        request->source_handle = xstrdup(in->snapshot->snapshot_id);
    } else if (in->type_case == CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME) {
        request->source_kind = SOURCE_VOLUME;
        request->source_handle = xstrdup(in->volume->volume_id);
    } else {
        request->source_kind = SOURCE_UNKNOWN;
    }
}

static Csi__V1__VolumeContentSource *put_source(const struct create_request *request)
{
    if (request->source_kind == SOURCE_NONE)
        return NULL;
    Csi__V1__VolumeContentSource *source = message_new(&csi__v1__volume_content_source__descriptor);
    if (request->source_kind == SOURCE_SNAPSHOT) {
        source->type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT;
        source->snapshot =
            message_new(&csi__v1__volume_content_source__snapshot_source__descriptor);
        source->snapshot->snapshot_id = xstrdup(request->source_handle);
    } else {
        source->type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME;
        source->volume = message_new(&csi__v1__volume_content_source__volume_source__descriptor);
        source->volume->volume_id = xstrdup(request->source_handle);
    }
    return source;
}

static int create_volume(void *object, struct call *call, const void *message, void *reply,
                         struct error *err)
{
    const Csi__V1__CreateVolumeRequest *in = message;
    _cleanup_(create_request_done) struct create_request request = {.name = xstrdup(in->name)};
    _cleanup_(volume_done) struct volume volume = {0};

    wire_get_range(in->capacity_range, &request.range);
    wire_get_capabilities(in->n_volume_capabilities, in->volume_capabilities,
                          &request.capabilities);
    wire_get_map(in->n_parameters, in->parameters, &request.parameters);
    wire_get_map(in->n_mutable_parameters, in->mutable_parameters, &request.mutable_parameters);
    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    wire_get_requirement(in->accessibility_requirements, &request.requirement);
    get_source(in->volume_content_source, &request);
    if (controller_create_volume(object, call, &request, &volume, err) < 0)
        return credentials_explain(&request.credentials, err);
    Csi__V1__CreateVolumeResponse *out = reply;
    out->volume = put_volume(&volume);
    out->volume->content_source = put_source(&request);
    return 0;
}

static int delete_volume(void *object, struct call *call, const void *message, void *reply,
                         struct error *err)
{
    const Csi__V1__DeleteVolumeRequest *in = message;
    _cleanup_(handle_request_done) struct handle_request request = {xstrdup(in->volume_id), {0}};

    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_delete_volume(object, call, &request, err) < 0)
        return credentials_explain(&request.credentials, err);
    (void)reply; /* is empty */
    return 0;
}

static int publish_volume(void *object, struct call *call, const void *message, void *reply,
                          struct error *err)
{
    const Csi__V1__ControllerPublishVolumeRequest *in = message;
    _cleanup_(attach_request_done) struct attach_request request = {
        .handle = xstrdup(in->volume_id), .node_id = xstrdup(in->node_id)};
    _cleanup_strmap_ struct strmap context = {0};

    if (in->volume_capability)
        wire_get_capability(in->volume_capability, &request.capability);
    wire_get_map(in->n_volume_context, in->volume_context, &request.context);
    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_publish_volume(object, call, &request, &context, err) < 0)
        return credentials_explain(&request.credentials, err);
    Csi__V1__ControllerPublishVolumeResponse *out = reply;
    out->publish_context = wire_put_map(
        &csi__v1__controller_publish_volume_response__publish_context_entry__descriptor, &context,
        &out->n_publish_context);
    return 0;
}

static int unpublish_volume(void *object, struct call *call, const void *message, void *reply,
                            struct error *err)
{
    const Csi__V1__ControllerUnpublishVolumeRequest *in = message;
    _cleanup_(detach_request_done) struct detach_request request = {
        .handle = xstrdup(in->volume_id), .node_id = xstrdup(in->node_id)};

    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_unpublish_volume(object, call, &request, err) < 0)
        return credentials_explain(&request.credentials, err);
    (void)reply; /* is empty */
    return 0;
}

static int expand_volume(void *object, struct call *call, const void *message, void *reply,
                         struct error *err)
{
    const Csi__V1__ControllerExpandVolumeRequest *in = message;
    _cleanup_(expand_request_done) struct expand_request request = {.handle =
                                                                        xstrdup(in->volume_id)};
    struct expansion expansion = {0};

    wire_get_range(in->capacity_range, &request.range);
    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (in->volume_capability)
        wire_get_capability(in->volume_capability, &request.capability);
    if (controller_expand_volume(object, call, &request, &expansion, err) < 0)
        return credentials_explain(&request.credentials, err);
    Csi__V1__ControllerExpandVolumeResponse *out = reply;
    out->capacity_bytes = (int64_t)expansion.size_bytes;
    out->node_expansion_required = expansion.node_expansion_required;
    return 0;
}

static int modify_volume(void *object, struct call *call, const void *message, void *reply,
                         struct error *err)
{
    const Csi__V1__ControllerModifyVolumeRequest *in = message;
    _cleanup_(modify_request_done) struct modify_request request = {.handle =
                                                                        xstrdup(in->volume_id)};

    wire_get_map(in->n_mutable_parameters, in->mutable_parameters, &request.mutable_parameters);
    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_modify_volume(object, call, &request, err) < 0)
        return credentials_explain(&request.credentials, err);
    (void)reply; /* is empty */
    return 0;
}

static Csi__V1__VolumeCondition *put_condition(const struct volume_state *state)
{
    Csi__V1__VolumeCondition *condition = message_new(&csi__v1__volume_condition__descriptor);

    condition->abnormal = state->abnormal;
    condition->message = xstrdup(state->message ? state->message : "");
    return condition;
}

static Google__Protobuf__Int64Value *put_int64(uint64_t value)
{
    Google__Protobuf__Int64Value *message = message_new(&google__protobuf__int64_value__descriptor);

    message->value = (int64_t)value;
    return message;
}

static int get_capacity(void *object, struct call *call, const void *message, void *reply,
                        struct error *err)
{
    const Csi__V1__GetCapacityRequest *in = message;
    _cleanup_(capacity_request_done) struct capacity_request request = {0};
    struct capacity capacity = {0};

    wire_get_map(in->n_parameters, in->parameters, &request.parameters);
    wire_get_topology(in->accessible_topology, &request.segments);
    if (controller_get_capacity(object, call, &request, &capacity, err) < 0)
        return -1;
    Csi__V1__GetCapacityResponse *out = reply;
    out->available_capacity = (int64_t)capacity.available_bytes;
    if (capacity.has_maximum)
        out->maximum_volume_size = put_int64(capacity.maximum_bytes);
    out->minimum_volume_size = put_int64(capacity.minimum_bytes);
    return 0;
}

static int get_volume(void *object, struct call *call, const void *message, void *reply,
                      struct error *err)
{
    const Csi__V1__ControllerGetVolumeRequest *in = message;
    _cleanup_(handle_request_done) struct handle_request request = {xstrdup(in->volume_id), {0}};
    _cleanup_(volume_state_done) struct volume_state state = {0};

    if (controller_get_volume(object, call, &request, &state, err) < 0)
        return -1;
    Csi__V1__ControllerGetVolumeResponse *out = reply;
    out->volume = put_volume(&state.volume);
    out->status = message_new(&csi__v1__controller_get_volume_response__volume_status__descriptor);
    out->status->volume_condition = put_condition(&state);
    return 0;
}

/* A volume whose image or subvolume is not there may be in the trash, or about to be deleted:
 * nothing says that its data are lost. */
static Csi__V1__VolumeHealth *put_health(const char *handle, const struct volume_state *state)
{
    return wire_put_health(handle, CSI__V1__VOLUME_HEALTH_ERROR_TYPE__INACCESSIBLE, "MissingInCeph",
                           state->abnormal ? state->message : NULL);
}

static int get_volume_health(void *object, struct call *call, const void *message, void *reply,
                             struct error *err)
{
    const Csi__V1__ControllerGetVolumeHealthRequest *in = message;
    _cleanup_(handle_request_done) struct handle_request request = {xstrdup(in->volume_id), {0}};
    _cleanup_(volume_state_done) struct volume_state state = {0};

    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_get_volume(object, call, &request, &state, err) < 0)
        return credentials_explain(&request.credentials, err);
    Csi__V1__ControllerGetVolumeHealthResponse *out = reply;
    out->volume_health = put_health(in->volume_id, &state);
    return 0;
}

static int list_volume_health(void *object, struct call *call, const void *message, void *reply,
                              struct error *err)
{
    const Csi__V1__ControllerListVolumeHealthRequest *in = message;
    _cleanup_(list_request_done) struct list_request request = {
        .max_entries = in->max_entries,
        .only_abnormal = true,
        .token = xstrdup(in->starting_token),
    };
    _cleanup_(volume_list_done) struct volume_list list = {0};

    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_list_volumes(object, call, &request, &list, err) < 0)
        return credentials_explain(&request.credentials, err);
    Csi__V1__ControllerListVolumeHealthResponse *out = reply;
    out->entries = xcalloc(list.count, sizeof(*out->entries));
    for (; out->n_entries < list.count; out->n_entries++) {
        const struct volume_state *state = &list.items[out->n_entries];

        out->entries[out->n_entries] = put_health(state->volume.handle, state);
    }
    if (list.next_token)
        out->next_token = TAKE(list.next_token);
    return 0;
}

static int list_volumes(void *object, struct call *call, const void *message, void *reply,
                        struct error *err)
{
    const Csi__V1__ListVolumesRequest *in = message;
    _cleanup_(list_request_done) struct list_request request = {
        .max_entries = in->max_entries, .token = xstrdup(in->starting_token)};
    _cleanup_(volume_list_done) struct volume_list list = {0};

    if (controller_list_volumes(object, call, &request, &list, err) < 0)
        return -1;
    Csi__V1__ListVolumesResponse *out = reply;
    out->entries = xcalloc(list.count, sizeof(*out->entries));
    for (; out->n_entries < list.count; out->n_entries++) {
        const struct volume_state *state = &list.items[out->n_entries];
        Csi__V1__ListVolumesResponse__Entry *entry =
            message_new(&csi__v1__list_volumes_response__entry__descriptor);

        entry->volume = put_volume(&state->volume);
        entry->status = message_new(&csi__v1__list_volumes_response__volume_status__descriptor);
        entry->status->volume_condition = put_condition(state);
        out->entries[out->n_entries] = entry;
    }
    if (list.next_token)
        out->next_token = TAKE(list.next_token);
    return 0;
}

/* What was asked for and is supported is returned as it came. */
static Csi__V1__ValidateVolumeCapabilitiesResponse__Confirmed *
put_confirmed(const Csi__V1__ValidateVolumeCapabilitiesRequest *in,
              const struct validate_request *request)
{
    Csi__V1__ValidateVolumeCapabilitiesResponse__Confirmed *confirmed =
        message_new(&csi__v1__validate_volume_capabilities_response__confirmed__descriptor);
    _cleanup_strmap_ struct strmap context = {0};

    wire_get_map(in->n_volume_context, in->volume_context, &context);
    confirmed->volume_context = wire_put_map(
        &csi__v1__validate_volume_capabilities_response__confirmed__volume_context_entry__descriptor,
        &context, &confirmed->n_volume_context);
    confirmed->parameters = wire_put_map(
        &csi__v1__validate_volume_capabilities_response__confirmed__parameters_entry__descriptor,
        &request->parameters, &confirmed->n_parameters);
    confirmed->n_volume_capabilities = request->capabilities.count;
    confirmed->volume_capabilities =
        xcalloc(request->capabilities.count, sizeof(*confirmed->volume_capabilities));
    for (size_t i = 0; i < request->capabilities.count; i++)
        confirmed->volume_capabilities[i] = wire_put_capability(&request->capabilities.items[i]);
    return confirmed;
}

static int validate_volume_capabilities(void *object, struct call *call, const void *message,
                                        void *reply, struct error *err)
{
    const Csi__V1__ValidateVolumeCapabilitiesRequest *in = message;
    _cleanup_(validate_request_done) struct validate_request request = {.handle =
                                                                            xstrdup(in->volume_id)};
    char *refusal = NULL;

    wire_get_capabilities(in->n_volume_capabilities, in->volume_capabilities,
                          &request.capabilities);
    wire_get_map(in->n_parameters, in->parameters, &request.parameters);
    wire_get_credentials(in->n_secrets, in->secrets, &request.credentials);
    if (controller_validate_volume(object, call, &request, &refusal, err) < 0)
        return credentials_explain(&request.credentials, err);
    Csi__V1__ValidateVolumeCapabilitiesResponse *out = reply;
    if (refusal)
        out->message = refusal;
    else
        out->confirmed = put_confirmed(in, &request);
    return 0;
}

/* The last ones need credentials that do not come with the call: those of health may, but no caller
 * is known to send them. */
static const Csi__V1__ControllerServiceCapability__RPC__Type CAPABILITIES[] = {
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__CREATE_DELETE_VOLUME,
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__PUBLISH_UNPUBLISH_VOLUME,
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__CREATE_DELETE_SNAPSHOT,
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__LIST_SNAPSHOTS,
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__GET_SNAPSHOT,
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__CLONE_VOLUME,
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__EXPAND_VOLUME,
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__MODIFY_VOLUME,
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__GET_CAPACITY,
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__SINGLE_NODE_MULTI_WRITER,
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__LIST_VOLUMES,
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__GET_VOLUME,
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__VOLUME_CONDITION,  /* CSI until 1.12 */
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__GET_VOLUME_HEALTH, /* from 1.13 on */
    CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__LIST_VOLUME_HEALTH,
};
#define CAPABILITIES_WITHOUT_CREDENTIALS (ARRAY_LENGTH(CAPABILITIES) - 5)

static int get_capabilities(void *object, struct call *call, const void *message, void *reply,
                            struct error *err)
{
    const struct controller *controller = object;
    Csi__V1__ControllerGetCapabilitiesResponse *out = reply;

    const size_t count = standing_credentials_exist(controller->standing)
                             ? ARRAY_LENGTH(CAPABILITIES)
                             : CAPABILITIES_WITHOUT_CREDENTIALS;

    (void)call, (void)message, (void)err;
    out->capabilities = xcalloc(count, sizeof(*out->capabilities));
    for (size_t i = 0; i < count; i++) {
        if (CAPABILITIES[i] == CSI__V1__CONTROLLER_SERVICE_CAPABILITY__RPC__TYPE__MODIFY_VOLUME &&
            !controller_backend(controller)->check_mutable)
            continue;
        Csi__V1__ControllerServiceCapability *capability =
            message_new(&csi__v1__controller_service_capability__descriptor);
        capability->type_case = CSI__V1__CONTROLLER_SERVICE_CAPABILITY__TYPE_RPC;
        capability->rpc = message_new(&csi__v1__controller_service_capability__rpc__descriptor);
        capability->rpc->type = CAPABILITIES[i];
        out->capabilities[out->n_capabilities++] = capability;
    }
    return 0;
}

#define METHOD(name, message, function)                                                            \
    RPC_METHOD("/csi.v1.Controller", name, csi__v1, message, function)

static const struct rpc_method METHODS[] = {
    METHOD("CreateVolume", create_volume, create_volume),
    METHOD("DeleteVolume", delete_volume, delete_volume),
    METHOD("ControllerPublishVolume", controller_publish_volume, publish_volume),
    METHOD("ControllerUnpublishVolume", controller_unpublish_volume, unpublish_volume),
    METHOD("ValidateVolumeCapabilities", validate_volume_capabilities,
           validate_volume_capabilities),
    METHOD("ControllerGetCapabilities", controller_get_capabilities, get_capabilities),
    METHOD("ControllerExpandVolume", controller_expand_volume, expand_volume),
    METHOD("ControllerModifyVolume", controller_modify_volume, modify_volume),
    METHOD("ControllerGetVolume", controller_get_volume, get_volume),
    METHOD("ControllerGetVolumeHealth", controller_get_volume_health, get_volume_health),
    METHOD("ControllerListVolumeHealth", controller_list_volume_health, list_volume_health),
    METHOD("ListVolumes", list_volumes, list_volumes),
    METHOD("GetCapacity", get_capacity, get_capacity),
};

struct rpc_service controller_volume_service(struct controller *controller)
{
    return (struct rpc_service){METHODS, ARRAY_LENGTH(METHODS), controller};
}
