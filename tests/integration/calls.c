#include "tests/integration/calls.h"

#include <stdlib.h>

#include "common/base/memory.h"

static int call(struct driver_process *driver, const char *method, json_t *request, json_t **reply,
                struct error *err)
{
    _cleanup_free_ char *text = json_dumps(request, 0);

    return harness_call(driver, &(struct harness_call){.method = method, .request = text}, reply,
                        err);
}

static void set_parameter(json_t *request, const char *key, const char *value)
{
    if (value)
        json_object_set_new(json_object_get(request, "parameters"), key, json_string(value));
}

static json_t *source_of(const struct create_call *create)
{
    return create->source_snapshot
               ? json_pack("{s:{s:s}}", "snapshot", "snapshot_id", create->source_snapshot)
               : json_pack("{s:{s:s}}", "volume", "volume_id", create->source_volume);
}

json_t *call_create_request(const struct create_call *create)
{
    _cleanup_free_ char *text =
        harness_create_request(create->name, create->pool, create->size_bytes);
    json_t *request = json_loads(text, 0, NULL);

    set_parameter(request, "clusterID", create->cluster_id);
    set_parameter(request, "volumeNamePrefix", create->name_prefix);
    set_parameter(request, "csi.storage.k8s.io/pvc/namespace", create->owner);
    if (create->source_snapshot || create->source_volume)
        json_object_set_new(request, "volume_content_source", source_of(create));
    return request;
}

char *call_create(struct driver_process *driver, const struct create_call *create,
                  struct error *err)
{
    json_auto_t *request = call_create_request(create);
    json_auto_t *reply = NULL;

    if (call(driver, "CreateVolume", request, &reply, err) < 0)
        return NULL;
    return xstrdup(
        json_string_value(json_object_get(json_object_get(reply, "volume"), "volume_id")));
}

char *call_snapshot(struct driver_process *driver, const char *name, const char *source_handle,
                    struct error *err)
{
    json_auto_t *request = json_pack("{s:s, s:s}", "name", name, "source_volume_id", source_handle);
    json_auto_t *reply = NULL;

    if (call(driver, "CreateSnapshot", request, &reply, err) < 0)
        return NULL;
    return xstrdup(
        json_string_value(json_object_get(json_object_get(reply, "snapshot"), "snapshot_id")));
}

int call_delete_snapshot(struct driver_process *driver, const char *handle, struct error *err)
{
    json_auto_t *request = json_pack("{s:s}", "snapshot_id", handle);

    return call(driver, "DeleteSnapshot", request, NULL, err);
}

int call_validate(struct driver_process *driver, const char *handle, struct error *err)
{
    json_auto_t *request =
        json_pack("{s:s, s:[{s:{s:s}, s:{}}]}", "volume_id", handle, "volume_capabilities",
                  "access_mode", "mode", "SINGLE_NODE_WRITER", "block");

    return call(driver, "ValidateVolumeCapabilities", request, NULL, err);
}

long long call_expand(struct driver_process *driver, const char *handle, long long size_bytes,
                      struct error *err)
{
    json_auto_t *request = json_pack("{s:s, s:{s:I}}", "volume_id", handle, "capacity_range",
                                     "required_bytes", (json_int_t)size_bytes);
    json_auto_t *reply = NULL;

    if (call(driver, "ControllerExpandVolume", request, &reply, err) < 0)
        return -1;
    return json_integer_value(json_object_get(reply, "capacity_bytes"));
}

int call_attach(struct driver_process *driver, const char *handle, const char *node_id,
                char **accounts, struct error *err)
{
    _cleanup_free_ char *request =
        xasprintf("{\"volume_id\":\"%s\",\"node_id\":\"%s\",\"volume_capability\":{\"mount\":"
                  "{},\"access_mode\":{\"mode\":\"SINGLE_NODE_WRITER\"}}}",
                  handle, node_id);
    json_auto_t *reply = NULL;

    if (harness_call(
            driver, &(struct harness_call){.method = "ControllerPublishVolume", .request = request},
            &reply, err) < 0)
        return -1;
    const char *told = json_string_value(
        json_object_get(json_object_get(reply, "publish_context"), "serviceAccount"));
    *accounts = xstrdup(told ? told : "");
    return 0;
}

int call_detach(struct driver_process *driver, const char *handle, const char *node_id,
                struct error *err)
{
    _cleanup_free_ char *request =
        xasprintf("{\"volume_id\":\"%s\",\"node_id\":\"%s\"}", handle, node_id);

    return harness_call(
        driver, &(struct harness_call){.method = "ControllerUnpublishVolume", .request = request},
        NULL, err);
}
