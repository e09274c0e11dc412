#include "programs/cephzone/live_objects.h"

#include <stdlib.h>

#include "common/base/memory.h"
#include "common/kube/kube.h"
#include "common/kube/kube_client.h"

#define TIMEOUT_MS 120000

/* What "kubectl get" would have to be asked for. Items of a list do not tell what they are. */
static const struct {
    const char *api;
    const char *resource;
    const char *kind;
} RESOURCES[] = {
    {"v1", "nodes", "Node"},
    {"v1", "persistentvolumes", "PersistentVolume"},
    {"v1", "persistentvolumeclaims", "PersistentVolumeClaim"},
    {"v1", "pods", "Pod"},
    {"storage.k8s.io/v1", "storageclasses", "StorageClass"},
    {"storage.k8s.io/v1", "csidrivers", "CSIDriver"},
    {"storage.k8s.io/v1", "csinodes", "CSINode"},
    {"storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity"},
    {"storage.k8s.io/v1", "volumeattachments", "VolumeAttachment"},
};

/* The items of one resource, until they are complete: a list may have to start over. */
struct collection {
    json_t *items;
    size_t resource;
};

static void forget(void *object)
{
    struct collection *collection = object;

    json_array_clear(collection->items);
}

static int keep(void *object, json_t *item, struct error *err)
{
    struct collection *collection = object;

    (void)err;
    json_object_set_new(item, "kind", json_string(RESOURCES[collection->resource].kind));
    json_object_set_new(item, "apiVersion", json_string(RESOURCES[collection->resource].api));
    json_array_append(collection->items, item);
    return 0;
}

static int load_resource(struct kube *kube, struct call *call, size_t resource,
                         struct cluster_objects *cluster, struct error *err)
{
    const struct kube_location location = {.api = RESOURCES[resource].api,
                                           .resource = RESOURCES[resource].resource};
    json_auto_t *list = json_pack("{s:s, s:s, s:[]}", "kind", "List", "apiVersion", "v1", "items");
    struct collection collection = {json_object_get(list, "items"), resource};
    const struct kube_list_sink sink = {forget, keep, &collection};
    _cleanup_free_ char *path = NULL;
    _cleanup_free_ char *version = NULL;

    if (kube_path(&location, &path, err) < 0 ||
        kube_list(kube, call, path, &(struct kube_select){0}, &sink, &version, err) < 0)
        return -1;
    return cluster_read(cluster, list, err);
}

int live_objects_load(const char *kubeconfig, const char *context, struct cluster_objects *cluster,
                      struct error *err)
{
    _cleanup_kube_config_ struct kube_config config = {0};
    struct call call;
    int result = 0;

    if (kube_config_load(kubeconfig, context, &config, err) < 0)
        return -1;
    _cleanup_(kube_freep) struct kube *kube = kube_client_new(&config);
    call_init(&call, 1, "list", deadline_in_ms(TIMEOUT_MS));
    for (size_t i = 0; i < ARRAY_LENGTH(RESOURCES) && result == 0; i++) {
        result = load_resource(kube, &call, i, cluster, err);
        if (result < 0)
            error_wrap(err, "list %s", RESOURCES[i].resource);
    }
    call_done(&call);
    if (result == 0)
        cluster_settle(cluster);
    return result;
}
