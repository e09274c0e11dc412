#include "common/kube/node_pods.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/kube/kube.h"

#define PODS_MAX 10000
/* A budget that is used up stays so for long: the next round tries again. */
#define EVICT_MS 5000

void node_pods_done(struct node_pods *pods)
{
    for (size_t i = 0; i < pods->count; i++) {
        free(pods->items[i].name);
        string_list_done(&pods->items[i].claims);
    }
    free(pods->items);
    *pods = (struct node_pods){0};
}

static bool has_controller(const struct kube_pod *pod)
{
    for (size_t i = 0; i < pod->meta.owner_count; i++)
        if (pod->meta.owners[i].is_controller && !kube_same(pod->meta.owners[i].kind, "Node"))
            return true;
    return false;
}

static void start_pods(void *context)
{
    node_pods_done(context);
}

static int keep_pod(void *context, void *item, struct error *err)
{
    struct node_pods *pods = context;
    const struct kube_pod *pod = item;
    _cleanup_string_list_ struct string_list claims = {0};

    for (size_t i = 0; i < pod->volume_count; i++) {
        _cleanup_free_ char *claim =
            xasprintf("%s/%s", pod->meta.ns, kube_or_empty(pod->volumes[i].claim_name));

        if (!text_is_empty(pod->volumes[i].claim_name))
            string_list_add(&claims, claim);
    }
    if (claims.count == 0 || kube_same(pod->phase, "Succeeded") || kube_same(pod->phase, "Failed"))
        return 0;
    if (pods->count >= PODS_MAX)
        return error_set(err, STATUS_OUT_OF_RANGE, "more than %d pods", PODS_MAX);
    *array_add(pods->items, pods->count) = (struct node_pod){
        .name = xasprintf("%s/%s", pod->meta.ns, pod->meta.name),
        .claims = claims,
        .is_leaving = !text_is_empty(pod->meta.deletion_timestamp),
        .has_controller = has_controller(pod),
    };
    claims = (struct string_list){0};
    return 0;
}

int node_pods_read(struct kube *kube, struct call *call, const char *node, struct node_pods *out,
                   struct error *err)
{
    _cleanup_free_ char *field = xasprintf("spec.nodeName=%s", node);
    const struct kube_object_query query = {.kind = KUBE_POD, .select = {.fields = field}};
    _cleanup_node_pods_ struct node_pods pods = {0};
    const struct kube_object_sink sink = {start_pods, keep_pod, &pods};

    if (kube_list_objects(kube, call, &query, &sink, err) < 0)
        return -1;
    *out = pods;
    pods = (struct node_pods){0};
    return 0;
}

int node_pod_evict(struct kube *kube, struct call *call, const char *name, struct error *err)
{
    const char *slash = strchr(name, '/');
    _cleanup_free_ char *name_space = xstrndup(name, (size_t)(slash - name));
    const struct kube_location location = {.api = "v1",
                                           .resource = "pods",
                                           .name_space = name_space,
                                           .name = slash + 1,
                                           .subresource = "eviction"};
    _cleanup_free_ char *path = NULL;
    json_auto_t *item =
        json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "policy/v1", "kind", "Eviction",
                  "metadata", "name", slash + 1, "namespace", name_space);

    struct call own;

    if (kube_path(&location, &path, err) < 0)
        return -1;
    call_init(&own, call->id, call->method,
              deadline_earlier(call->deadline, deadline_in_ms(EVICT_MS)));
    own.cancelled = call->cancelled;
    int result = kube->ops->create(kube, &own, path, item, NULL, err);
    call_done(&own);
    if (result < 0 && err->status == STATUS_NOT_FOUND) {
        error_clear(err);
        return 0;
    }
    return result;
}
