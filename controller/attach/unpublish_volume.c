/*
 * ControllerUnpublishVolume: what the node has written of itself to the volume goes, as Ceph-CSI
 * does it; see common/volume/client_keys.h. Nobody asks whether the node has let go of the volume.
 */
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/volume/client_keys.h"
#include "controller/attach/attach.h"
#include "controller/attach/node_fencing.h"

static int fence_client(const struct controller *controller, struct call *call,
                        const struct client_place *place, const char *node_id,
                        struct ceph_cluster *cluster, const struct strmap *metadata,
                        struct error *err)
{
    _cleanup_strmap_ struct strmap clients = {0};

    if (!controller->fencing)
        return 0;
    if (client_keys_read(place, metadata, &clients, err) < 0)
        return -1;
    return node_fencing_apply(controller->fencing, call, cluster, node_id,
                              strmap_get(&clients, node_id), err);
}

static int forget_client(const struct controller *controller, struct call *call,
                         const struct detach_request *request,
                         const struct credentials *credentials, struct error *err)
{
    const struct controller_backend *backend = controller_backend(controller);
    const struct client_place place = {attach_is_cephfs(controller), request->handle};
    _cleanup_located_ struct located located = {0};
    _cleanup_strmap_ struct strmap metadata = {0};
    _cleanup_strmap_ struct strmap kept = {0};
    _cleanup_string_list_ struct string_list removed = {0};

    if (locate(controller, call, JOURNAL_VOLUME, request->handle, credentials, &located, err) < 0 ||
        backend->get_metadata(call, &located, &metadata, err) < 0 ||
        fence_client(controller, call, &place, request->node_id, located.session.cluster, &metadata,
                     err) < 0)
        return -1;
    client_keys_retire(&place, request->node_id, &metadata, &kept, &removed);
    if (kept.count + removed.count == 0)
        return 0;
    return backend->change_metadata(call, &located, &kept, &removed, err);
}

int controller_unpublish_volume(const struct controller *controller, struct call *call,
                                const struct detach_request *request, struct error *err)
{
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_operation_ struct operation operation = {0};
    struct volume_id id;
    bool found = false;

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_id is missing");
    if (request->node_id[0] == '\0' || attach_is_migrated(controller, request->handle))
        return 0;
    if (volume_id_parse(request->handle, &id, err) < 0) {
        log_v(2, call, "nothing is known of its clients: %s", err->message);
        error_clear(err); /* a static volume, perhaps */
        return 0;
    }
    _cleanup_free_ char *client = xasprintf("%s:%s", request->handle, request->node_id);
    if (operation_begin(controller->operations, "detach", client, call, &operation, err) < 0)
        return -1;
    if (attach_find_credentials(controller, call, id.cluster_id, &request->credentials,
                                &credentials, &found, err) < 0)
        return error_wrap(err, "unpublish volume '%s'", request->handle);
    if (!found) {
        log_warn(call,
                 "what node '%s' wrote to volume '%s' stays: there is no Ceph user for it; "
                 "config.json may name one, controllerPublishSecretRef",
                 request->node_id, request->handle);
        return 0;
    }
    if (forget_client(controller, call, request, &credentials, err) < 0 &&
        error_ignore(err, STATUS_NOT_FOUND) < 0)
        return error_wrap(err, "unpublish volume '%s'", request->handle);
    return 0;
}
