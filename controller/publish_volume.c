/*
 * ControllerPublishVolume. A Ceph volume is attached by the node that stages it, so there is
 * nothing to do here; but the rpc must be there. csi-attacher puts finalizers on attachments and
 * PersistentVolumes of drivers that have it, Ceph-CSI among them, and removes these finalizers only
 * for drivers that have it.
 */
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "controller/backend.h"

static int check_request(const struct attach_request *request, struct error *err)
{
    const char *missing = request->handle[0] == '\0'                     ? "volume_id"
                          : request->node_id[0] == '\0'                  ? "node_id"
                          : request->capability.type == ACCESS_TYPE_NONE ? "volume_capability"
                                                                         : NULL;

    return missing ? error_set(err, STATUS_INVALID_ARGUMENT, "%s is missing", missing) : 0;
}

/* Made by hand, or by Kubernetes' own driver: the handle says nothing. */
static bool has_foreign_handle(const struct controller *controller,
                               const struct attach_request *request)
{
    const struct migrated_steps *migrated = controller_backend(controller)->migrated;
    const char *is_static = strmap_get_or(&request->context, PARAM_STATIC_VOLUME, "false");

    return strcmp(is_static, "true") == 0 || (migrated && migrated->owns_handle(request->handle));
}

int controller_publish_volume(const struct controller *controller, struct call *call,
                              const struct attach_request *request, struct error *err)
{
    _cleanup_located_ struct located located = {0};
    struct volume_id id;

    if (check_request(request, err) < 0)
        return -1;
    if (has_foreign_handle(controller, request))
        return 0;
    if (volume_id_parse(request->handle, &id, err) < 0)
        return error_wrap(err, "publish volume '%s'", request->handle);
    if (!request->credentials.user || locate(controller, call, JOURNAL_VOLUME, request->handle,
                                             &request->credentials, &located, err) == 0)
        return 0;
    if (err->status == STATUS_NOT_FOUND)
        return error_wrap(err, "publish volume '%s'", request->handle);
    /* NodeStage needs the cluster and will say more */
    log_warn(call, "whether volume '%s' exists is not known: %s", request->handle, err->message);
    error_clear(err);
    return 0;
}
