/*
 * ControllerPublishVolume. A Ceph volume is attached by the node that stages it, so that there is
 * little to do here; but the rpc must be there. csi-attacher puts finalizers on attachments and
 * PersistentVolumes of drivers that have it, Ceph-CSI among them, and removes these finalizers only
 * for drivers that have it.
 */
#include <string.h>

#include "common/base/log.h"
#include "common/config/class_parameters.h"
#include "common/volume/service_account.h"
#include "controller/attach/attach.h"

bool attach_is_cephfs(const struct controller *controller)
{
    return controller_backend(controller) == &CEPHFS_BACKEND;
}

bool attach_is_migrated(const struct controller *controller, const char *handle)
{
    const struct migrated_steps *migrated = controller_backend(controller)->migrated;

    return migrated && migrated->owns_handle(handle);
}

int attach_find_credentials(const struct controller *controller, struct call *call,
                            const char *cluster_id, const struct credentials *own,
                            struct credentials *credentials, bool *found, struct error *err)
{
    *found = true;
    if (own->user) {
        credentials_copy(credentials, own);
        return 0;
    }
    if (standing_credentials_get(controller->standing, call, cluster_id, NULL, credentials, err) ==
        0)
        return 0;
    if (err->status != STATUS_FAILED_PRECONDITION)
        return -1; /* there may be some */
    log_v(2, call, "%s", err->message);
    error_clear(err);
    *found = false;
    return 0;
}

static int check_request(const struct attach_request *request, struct error *err)
{
    const char *missing = request->handle[0] == '\0'                     ? "volume_id"
                          : request->node_id[0] == '\0'                  ? "node_id"
                          : request->capability.type == ACCESS_TYPE_NONE ? "volume_capability"
                                                                         : NULL;

    return missing ? error_set(err, STATUS_INVALID_ARGUMENT, "%s is missing", missing) : 0;
}

static int read_restriction(const struct controller *controller, struct call *call,
                            const char *handle, const struct credentials *credentials,
                            struct strmap *context, struct error *err)
{
    _cleanup_located_ struct located located = {0};
    _cleanup_strmap_ struct strmap metadata = {0};

    if (locate(controller, call, JOURNAL_VOLUME, handle, credentials, &located, err) < 0 ||
        controller_backend(controller)->get_metadata(call, &located, &metadata, err) < 0)
        return -1;
    service_account_hand_on(attach_is_cephfs(controller), &metadata, context);
    return 0;
}

int controller_publish_volume(const struct controller *controller, struct call *call,
                              const struct attach_request *request, struct strmap *context,
                              struct error *err)
{
    _cleanup_credentials_ struct credentials credentials = {0};
    struct volume_id id;
    bool found = false;

    if (check_request(request, err) < 0)
        return -1;
    if (strcmp(strmap_get_or(&request->context, PARAM_STATIC_VOLUME, "false"), "true") == 0 ||
        attach_is_migrated(controller, request->handle))
        return 0;
    if (volume_id_parse(request->handle, &id, err) < 0 ||
        attach_find_credentials(controller, call, id.cluster_id, &request->credentials,
                                &credentials, &found, err) < 0 ||
        (found &&
         read_restriction(controller, call, request->handle, &credentials, context, err) < 0))
        return error_wrap(err, "publish volume '%s'", request->handle);
    return 0;
}
