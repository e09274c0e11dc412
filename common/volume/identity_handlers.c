#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "common/volume/identity.h"

#include "cephzone.pb-c.h"
#include "csi.pb-c.h"

static int get_plugin_info(void *object, struct call *call, const void *request, void *reply,
                           struct error *err)
{
    const struct identity *identity = object;
    Csi__V1__GetPluginInfoResponse *response = reply;

    (void)call, (void)request, (void)err;
    response->name = xstrdup(identity->driver_name);
    response->vendor_version = xstrdup(identity->version);
    return 0;
}

static Csi__V1__PluginCapability *
make_service_capability(Csi__V1__PluginCapability__Service__Type type)
{
    Csi__V1__PluginCapability *capability = message_new(&csi__v1__plugin_capability__descriptor);

    capability->type_case = CSI__V1__PLUGIN_CAPABILITY__TYPE_SERVICE;
    capability->service = message_new(&csi__v1__plugin_capability__service__descriptor);
    capability->service->type = type;
    return capability;
}

static int get_plugin_capabilities(void *object, struct call *call, const void *request,
                                   void *reply, struct error *err)
{
    const struct identity *identity = object;
    Csi__V1__GetPluginCapabilitiesResponse *response = reply;
    Csi__V1__PluginCapability *expansion = message_new(&csi__v1__plugin_capability__descriptor);
    size_t n = 0;

    (void)call, (void)request, (void)err;
    response->capabilities = xcalloc(4, sizeof(*response->capabilities));
    response->capabilities[n++] =
        make_service_capability(CSI__V1__PLUGIN_CAPABILITY__SERVICE__TYPE__CONTROLLER_SERVICE);
    expansion->type_case = CSI__V1__PLUGIN_CAPABILITY__TYPE_VOLUME_EXPANSION;
    expansion->volume_expansion =
        message_new(&csi__v1__plugin_capability__volume_expansion__descriptor);
    expansion->volume_expansion->type = CSI__V1__PLUGIN_CAPABILITY__VOLUME_EXPANSION__TYPE__ONLINE;
    response->capabilities[n++] = expansion;
    if (identity->topology)
        response->capabilities[n++] = make_service_capability(
            CSI__V1__PLUGIN_CAPABILITY__SERVICE__TYPE__VOLUME_ACCESSIBILITY_CONSTRAINTS);
    if (identity->group_controller)
        response->capabilities[n++] = make_service_capability(
            CSI__V1__PLUGIN_CAPABILITY__SERVICE__TYPE__GROUP_CONTROLLER_SERVICE);
    response->n_capabilities = n;
    return 0;
}

static int probe(void *object, struct call *call, const void *request, void *reply,
                 struct error *err)
{
    (void)object, (void)call, (void)request, (void)reply, (void)err;
    return 0;
}

struct health_sink {
    Cephzone__V1__GetReportResponse *response;
};

void health_add(struct health_sink *sink, const char *subject, bool healthy, const char *message,
                time_t since)
{
    Cephzone__V1__GetReportResponse *response = sink->response;
    Cephzone__V1__Condition *condition = message_new(&cephzone__v1__condition__descriptor);

    condition->subject = xstrdup(subject);
    condition->healthy = healthy;
    condition->message = xstrdup(message);
    condition->since_unix_seconds = since;
    *array_add(response->conditions, response->n_conditions) = condition;
}

static int get_report(void *object, struct call *call, const void *request, void *reply,
                      struct error *err)
{
    const struct identity *identity = object;
    Cephzone__V1__GetReportResponse *response = reply;
    struct health_sink sink = {response};
    struct text metrics = TEXT_INIT(2 * 1024 * 1024);

    (void)call, (void)request, (void)err;
    identity->report(identity->report_object, &sink);
    metrics_print(identity->metrics, &metrics);
    response->metrics = text_take(&metrics);
    return 0;
}

#define METHOD(name, message, function)                                                            \
    RPC_METHOD("/csi.v1.Identity", name, csi__v1, message, function, .quick = true)

static const struct rpc_method IDENTITY_METHODS[] = {
    METHOD("GetPluginInfo", get_plugin_info, get_plugin_info),
    METHOD("GetPluginCapabilities", get_plugin_capabilities, get_plugin_capabilities),
    METHOD("Probe", probe, probe),
};

static const struct rpc_method HEALTH_METHODS[] = {
    RPC_METHOD("/cephzone.v1.Health", "GetReport", cephzone__v1, get_report, get_report,
               .quick = true),
};

struct rpc_service identity_service(struct identity *identity)
{
    return (struct rpc_service){IDENTITY_METHODS, ARRAY_LENGTH(IDENTITY_METHODS), identity};
}

struct rpc_service health_service(struct identity *identity)
{
    return (struct rpc_service){HEALTH_METHODS, ARRAY_LENGTH(HEALTH_METHODS), identity};
}
