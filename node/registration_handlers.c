#include "node/registration.h"

#include "common/base/memory.h"
#include "common/rpc/client.h"
#include "common/rpc/message.h"

#include "pluginregistration.pb-c.h"

#define GET_INFO "/pluginregistration.Registration/GetInfo"
/* kubelet and node-driver-registrar know this one */
#define SUPPORTED_VERSION "1.0.0"

static int get_info(void *object, struct call *call, const void *request, void *reply,
                    struct error *err)
{
    const struct registration *registration = object;
    Pluginregistration__PluginInfo *info = reply;

    (void)call, (void)request, (void)err;
    info->type = xstrdup("CSIPlugin");
    info->name = xstrdup(registration->driver_name);
    info->endpoint = xstrdup(registration->endpoint);
    info->supported_versions = xcalloc(1, sizeof(*info->supported_versions));
    info->supported_versions[info->n_supported_versions++] = xstrdup(SUPPORTED_VERSION);
    return 0;
}

static int notify_status(void *object, struct call *call, const void *message, void *reply,
                         struct error *err)
{
    const struct registration *registration = object;
    const Pluginregistration__RegistrationStatus *status = message;

    (void)call, (void)reply, (void)err;
    registration->notified(registration->object, status->plugin_registered, status->error);
    return 0;
}

static const struct rpc_method METHODS[] = {
    {
        .path = GET_INFO,
        .request = &pluginregistration__info_request__descriptor,
        .response = &pluginregistration__plugin_info__descriptor,
        .handle = get_info,
        .quick = true,
    },
    {
        .path = "/pluginregistration.Registration/NotifyRegistrationStatus",
        .request = &pluginregistration__registration_status__descriptor,
        .response = &pluginregistration__registration_status_response__descriptor,
        .handle = notify_status,
        .quick = true,
    },
};

struct rpc_service registration_service(struct registration *registration)
{
    return (struct rpc_service){METHODS, ARRAY_LENGTH(METHODS), registration};
}

int registration_ask(const char *path, struct deadline deadline, char **name, struct error *err)
{
    _cleanup_(rpc_client_freep) struct rpc_client *client = NULL;
    _cleanup_error_ struct error failure = {0};
    Pluginregistration__InfoRequest request = PLUGINREGISTRATION__INFO_REQUEST__INIT;
    const struct rpc_request asked = {.path = GET_INFO,
                                      .message = &request.base,
                                      .response = &pluginregistration__plugin_info__descriptor,
                                      .deadline = deadline};
    ProtobufCMessage *reply = NULL;

    if (rpc_client_new(path, &client, err) < 0)
        return -1;
    *name = NULL;
    if (rpc_client_call(client, &asked, &reply, &failure) < 0)
        return 0;
    *name = xstrdup(((Pluginregistration__PluginInfo *)reply)->name);
    message_free(reply);
    return 0;
}
