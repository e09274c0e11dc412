#include "common/kube/node_pods.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/kube/kube.h"

#define PODS "/api/v1/pods"
#define PODS_MAX 10000
/* A budget that is used up stays so for long: the next look asks again. */
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

static bool has_ended(const json_t *item)
{
    const char *phase = kube_text(item, "status", "phase", NULL);

    return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static bool has_controller(const json_t *item)
{
    const json_t *owners = json_object_get(json_object_get(item, "metadata"), "ownerReferences");
    size_t i = 0;
    json_t *owner = NULL;

    json_array_foreach(owners, i, owner)
    {
        if (json_is_true(json_object_get(owner, "controller")) &&
            strcmp(kube_text(owner, "kind", NULL), "Node") != 0)
            return true;
    }
    return false;
}

static void add_claim(struct string_list *claims, const char *name_space, const char *claim)
{
    _cleanup_free_ char *name = xasprintf("%s/%s", name_space, claim);

    string_list_add(claims, name);
}

static void take_claims(const json_t *item, struct string_list *claims)
{
    size_t i = 0;
    json_t *volume = NULL;

    json_array_foreach(json_object_get(json_object_get(item, "spec"), "volumes"), i, volume)
    {
        const char *claim = kube_text(volume, "persistentVolumeClaim", "claimName", NULL);

        if (claim[0])
            add_claim(claims, kube_namespace(item), claim);
        if (json_is_object(json_object_get(volume, "ephemeral"))) {
            _cleanup_free_ char *made =
                xasprintf("%s-%s", kube_name(item), kube_text(volume, "name", NULL));
            add_claim(claims, kube_namespace(item), made);
        }
    }
}

static void start(void *object)
{
    node_pods_done(object);
}

static int take(void *object, json_t *item, struct error *err)
{
    struct node_pods *pods = object;
    _cleanup_string_list_ struct string_list claims = {0};

    take_claims(item, &claims);
    if (claims.count == 0 || has_ended(item))
        return 0;
    if (pods->count >= PODS_MAX)
        return error_set(err, STATUS_OUT_OF_RANGE, "more than %d pods", PODS_MAX);
    *array_add(pods->items, pods->count) = (struct node_pod){
        .name = xasprintf("%s/%s", kube_namespace(item), kube_name(item)),
        .claims = claims,
        .is_leaving = kube_text(item, "metadata", "deletionTimestamp", NULL)[0] != '\0',
        .has_controller = has_controller(item),
    };
    claims = (struct string_list){0};
    return 0;
}

int node_pods_read(struct kube *kube, struct call *call, const char *node, struct node_pods *out,
                   struct error *err)
{
    _cleanup_free_ char *field = xasprintf("spec.nodeName=%s", node);
    const struct kube_select select = {.fields = field};
    _cleanup_node_pods_ struct node_pods pods = {0};
    const struct kube_list_sink sink = {start, take, &pods};
    _cleanup_free_ char *version = NULL;

    if (kube_list(kube, call, PODS, &select, &sink, &version, err) < 0)
        return -1;
    *out = pods;
    pods = (struct node_pods){0};
    return 0;
}

static int post(struct kube *kube, struct call *call, const char *path, const json_t *item,
                struct error *err)
{
    const int64_t left = deadline_remaining_ms(call->deadline);
    struct call own;

    call_init(&own, call->id, call->method, deadline_in_ms(left < EVICT_MS ? left : EVICT_MS));
    own.cancelled = call->cancelled;
    int result = kube->ops->create(kube, &own, path, item, NULL, err);
    call_done(&own);
    return result;
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

    if (kube_path(&location, &path, err) < 0)
        return -1;
    if (post(kube, call, path, item, err) == 0)
        return 0;
    if (err->status != STATUS_NOT_FOUND)
        return -1;
    error_clear(err);
    return 0;
}
