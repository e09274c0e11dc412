#include "programs/cephzone/live_objects.h"

#include <stdlib.h>

#include "common/base/memory.h"
#include "common/kube/kube.h"
#include "common/kube/kube_client.h"

#define TIMEOUT_MS 120000

/* The items of one kind, until they are complete: a list may have to start over. */
struct collection {
    json_t *items;
    enum kube_kind kind;
};

static void start_items(void *object)
{
    struct collection *collection = object;

    json_array_clear(collection->items);
}

/* Items of a list do not say what they are. */
static int keep_item(void *object, json_t *item, struct error *err)
{
    struct collection *collection = object;

    (void)err;
    json_object_set_new(item, "kind", json_string(kube_kind_name(collection->kind)));
    json_object_set_new(item, "apiVersion", json_string(kube_kind_api(collection->kind)));
    json_array_append(collection->items, item);
    return 0;
}

static int load_kind(struct kube *kube, struct call *call, enum kube_kind kind,
                     struct cluster_objects *cluster, struct error *err)
{
    json_auto_t *list = json_pack("{s:s, s:s, s:[]}", "kind", "List", "apiVersion", "v1", "items");
    struct collection collection = {json_object_get(list, "items"), kind};
    const struct kube_list_sink sink = {start_items, keep_item, &collection};
    _cleanup_free_ char *path = NULL;
    _cleanup_free_ char *version = NULL;

    if (kube_object_path(kind, NULL, NULL, &path, err) < 0 ||
        kube_list(kube, call, path, NULL, &sink, &version, err) < 0 ||
        cluster_read(cluster, list, err) < 0)
        return error_wrap(err, "list %s", kube_kind_resource(kind));
    return 0;
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
    for (int kind = 0; kind < KUBE_KINDS && result == 0; kind++)
        result = load_kind(kube, &call, (enum kube_kind)kind, cluster, err);
    call_done(&call);
    if (result == 0)
        cluster_settle(cluster);
    return result;
}
