#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/scheduling/binding_hints.h"
#include "common/scheduling/library/assumed_pods.h"
#include "common/scheduling/pod_placement.h"

/* Objects to put, or the name of one to remove. */
struct czs_change {
    struct decoded_objects objects;
    bool is_removal;
    bool is_applied;
    enum kube_kind kind;
    char *ns;
    char *name;
};

static void change_done(struct czs_change *change)
{
    decoded_objects_done(&change->objects);
    free(change->ns);
    free(change->name);
}

/* --- making --- */

static int decode_document(const char *json, size_t length, struct decoded_objects *objects,
                           struct error *err)
{
    json_auto_t *value = NULL;

    if (length > CZS_INPUT_MAX)
        return error_set(err, STATUS_RESOURCE_EXHAUSTED,
                         "a document of %zu bytes, of at most %zu; pass it in parts", length,
                         CZS_INPUT_MAX);
    if (json_load_large(json, length, "objects", &value, err) < 0)
        return -1;
    return cluster_decode(value, objects, err);
}

static int set_removal(const char *kind, const char *name_space, const char *name,
                       struct czs_change *change, struct error *err)
{
    change->is_removal = true;
    change->kind = kube_kind_find(kind);
    if (change->kind == KUBE_KINDS)
        return error_set(err, STATUS_INVALID_ARGUMENT, "kind '%.80s' is not looked at", kind);
    change->ns = xstrdup(kube_or_empty(name_space));
    change->name = xstrdup(name);
    return 0;
}

int czs_change_put(const char *json, size_t length, struct czs_change **change, char **error)
{
    struct czs_change made = {0};
    _cleanup_error_ struct error err = {0};

    if (!json || !change)
        return library_refuse_null("JSON or a place for the change", error);
    if (decode_document(json, length, &made.objects, &err) < 0)
        return library_fail(&err, error);
    *change = xcalloc(1, sizeof(**change));
    **change = made;
    return CZS_OK;
}

int czs_change_remove(const char *kind, const char *name_space, const char *name,
                      struct czs_change **change, char **error)
{
    struct czs_change made = {0};
    _cleanup_error_ struct error err = {0};

    if (!kind || !name || !change)
        return library_refuse_null("a kind, a name or a place for the change", error);
    if (set_removal(kind, name_space, name, &made, &err) < 0)
        return library_fail(&err, error);
    *change = xcalloc(1, sizeof(**change));
    **change = made;
    return CZS_OK;
}

void czs_change_free(struct czs_change *change)
{
    if (!change)
        return;
    change_done(change);
    free(change);
}

/* --- applying --- */

static int apply_change(struct czs_cluster *cluster, struct czs_change *change, struct error *err)
{
    if (cluster_check_room(&cluster->objects, &change->objects, err) < 0)
        return -1;
    for (size_t i = 0; i < change->objects.count; i++)
        if (change->objects.items[i].kind == KUBE_POD)
            assumed_pods_receive(cluster, change->objects.items[i].object);
    cluster_take(&cluster->objects, &change->objects);
    if (change->is_removal && change->kind == KUBE_POD)
        assumed_pods_forget(cluster, change->ns, change->name);
    if (change->is_removal)
        cluster_remove(&cluster->objects, change->kind, change->ns, change->name);
    cluster->generation++;
    change->is_applied = true;
    return 0;
}

int czs_change_apply(struct czs_cluster *cluster, struct czs_change *change, char **error)
{
    _cleanup_error_ struct error err = {0};

    if (!cluster || !change)
        return library_refuse_null("a cluster or a change", error);
    if (change->is_applied)
        error_set(&err, STATUS_FAILED_PRECONDITION, "the change was applied before");
    if (err.message || apply_change(cluster, change, &err) < 0)
        return library_fail(&err, error);
    return CZS_OK;
}

int czs_cluster_put(struct czs_cluster *cluster, const char *json, size_t length, char **error)
{
    _cleanup_(change_done) struct czs_change change = {0};
    _cleanup_error_ struct error err = {0};

    if (!cluster || !json)
        return library_refuse_null("a cluster or JSON", error);
    if (decode_document(json, length, &change.objects, &err) < 0 ||
        apply_change(cluster, &change, &err) < 0)
        return library_fail(&err, error);
    return CZS_OK;
}

int czs_cluster_remove(struct czs_cluster *cluster, const char *kind, const char *name_space,
                       const char *name, char **error)
{
    _cleanup_(change_done) struct czs_change change = {0};
    _cleanup_error_ struct error err = {0};

    if (!cluster || !kind || !name)
        return library_refuse_null("a cluster, a kind or a name", error);
    if (set_removal(kind, name_space, name, &change, &err) < 0 ||
        apply_change(cluster, &change, &err) < 0)
        return library_fail(&err, error);
    return CZS_OK;
}

/* --- hints --- */

/* The event number @at that the change will be: false behind the last. An object that is removed
 * but not there is an event of nothing, with neither side. */
static bool event_at(const struct czs_cluster *cluster, const struct czs_change *change, size_t at,
                     struct cluster_event *event)
{
    if (change->is_removal) {
        *event = (struct cluster_event){
            change->kind, cluster_find(&cluster->objects, change->kind, change->ns, change->name),
            NULL};
        return at == 0 && !change->is_applied;
    }
    if (at >= change->objects.count)
        return false;
    const struct decoded_object *item = &change->objects.items[at];
    const struct kube_meta *meta = item->object;
    *event = (struct cluster_event){
        item->kind, cluster_find(&cluster->objects, item->kind, meta->ns, meta->name),
        item->object};
    return true;
}

/* A node that begins to be one that the pod may go to. */
static bool helps_placement(const struct czs_cluster *cluster, const struct kube_pod *pod,
                            const struct cluster_event *event)
{
    if (event->kind != KUBE_NODE || !event->new)
        return false;
    _cleanup_free_ char *now = pod_placement_check(&cluster->options, pod, event->new);
    _cleanup_free_ char *before =
        event->old ? pod_placement_check(&cluster->options, pod, event->old) : NULL;

    return !now && (!event->old || before);
}

static bool helps_pod(const struct czs_cluster *cluster, const struct kube_pod *pod,
                      unsigned plugins, const struct cluster_event *event)
{
    static const enum volume_plugin VOLUME_PLUGINS[] = {PLUGIN_VOLUME_BINDING, PLUGIN_VOLUME_LIMITS,
                                                        PLUGIN_VOLUME_ZONE,
                                                        PLUGIN_VOLUME_RESTRICTIONS};

    if (!event->old && !event->new)
        return false;
    if (event->kind == KUBE_POD && event->old == pod)
        return event->new != NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(VOLUME_PLUGINS); i++)
        if ((plugins & VOLUME_PLUGINS[i]) && binding_event_may_help(VOLUME_PLUGINS[i], pod, event))
            return true;
    return (plugins & CZS_PLACEMENT) && helps_placement(cluster, pod, event);
}

int czs_change_may_help(const struct czs_cluster *cluster, const struct czs_change *change,
                        const char *name_space, const char *pod, unsigned plugins, char **error)
{
    _cleanup_error_ struct error err = {0};
    struct cluster_event event;

    if (!cluster || !change || !name_space || !pod)
        return library_refuse_null("a cluster, a change, a namespace or a pod", error);
    const struct kube_pod *wanted = cluster_find(&cluster->objects, KUBE_POD, name_space, pod);
    if (!wanted) {
        error_set(&err, STATUS_NOT_FOUND, "there is no pod '%.253s' in namespace '%.253s'", pod,
                  name_space);
        return library_fail(&err, error);
    }
    for (size_t i = 0; event_at(cluster, change, i, &event); i++)
        if (helps_pod(cluster, wanted, plugins, &event))
            return 1;
    return 0;
}

unsigned czs_change_invalidates(const struct czs_cluster *cluster, const struct czs_change *change)
{
    struct cluster_event event;
    unsigned plugins = 0;

    if (!cluster || !change)
        return 0;
    for (size_t i = 0; event_at(cluster, change, i, &event); i++)
        if (event.old || event.new)
            plugins |= binding_event_invalidates(&event);
    return plugins;
}
