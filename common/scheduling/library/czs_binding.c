#include <jansson.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/scheduling/binding_assume.h"
#include "common/scheduling/library/assumed_pods.h"
#include "common/scheduling/library/check.h"

/* An item of the binding with something to write. */
struct binding_write {
    size_t item;
    char *patch;
};

struct czs_binding {
    const struct czs_cluster *cluster; /* never followed: only compared */
    uint64_t generation;               /* at which the pod was assumed */
    bool is_reverted;
    struct pod_binding volumes;
    struct binding_write *writes;
    size_t count;
};

/* --- what to write --- */

static json_t *volume_patch(const struct bound_item *item)
{
    json_t *patch = json_pack("{s:{}, s:{s:{s:s, s:s, s:s, s:s, s:s}}}", "metadata", "spec",
                              "claimRef", "apiVersion", "v1", "kind", "PersistentVolumeClaim",
                              "namespace", item->ns, "name", item->claim, "uid", item->claim_uid);

    if (item->adds_annotation)
        json_object_set_new(json_object_get(patch, "metadata"), "annotations",
                            json_pack("{s:s}", KUBE_BOUND_BY_CONTROLLER, "yes"));
    return patch;
}

static json_t *claim_patch(const char *node)
{
    return json_pack("{s:{s:{s:s}}}", "metadata", "annotations", KUBE_SELECTED_NODE, node);
}

static void add_write(struct czs_binding *binding, size_t at)
{
    const struct bound_item *item = &binding->volumes.items[at];
    json_auto_t *patch =
        item->kind == CHOICE_STATIC ? volume_patch(item) : claim_patch(binding->volumes.node);

    if (item->version[0] != '\0')
        json_object_set_new(json_object_get(patch, "metadata"), "resourceVersion",
                            json_string(item->version));
    *array_add(binding->writes, binding->count) =
        (struct binding_write){at, json_dumps(patch, JSON_COMPACT | JSON_SORT_KEYS)};
}

/* --- assuming --- */

static int check_row_usable(const struct czs_cluster *cluster, const struct czs_check *check,
                            size_t row, struct error *err)
{
    if (check->cluster != cluster || row >= check->count)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "the check is of another cluster or has no row %zu", row);
    if (check->generation != cluster->generation)
        return error_set(err, STATUS_ABORTED,
                         "the cluster has changed since the check; check the pod again");
    if (!check->rows[row].fits)
        return error_set(err, STATUS_FAILED_PRECONDITION, "the pod does not fit on node '%s': %s",
                         check->rows[row].node, czs_check_reason(check, row, 0));
    if (!kube_same(check->survey.pod->node_name, ""))
        return error_set(err, STATUS_FAILED_PRECONDITION, "the pod is on node '%s' already",
                         check->survey.pod->node_name);
    return 0;
}

static int assume_volumes(struct czs_cluster *cluster, const struct czs_check *check, size_t row,
                          struct czs_binding *binding, struct error *err)
{
    size_t at = check->rows[row].at;
    const struct kube_node *node = cluster_at(&cluster->objects, KUBE_NODE, at);

    if (binding_assume(&cluster->objects, &check->survey.claims, node,
                       &check->survey.decisions.nodes[at], &binding->volumes, err) < 0)
        return -1;
    for (size_t i = 0; i < binding->volumes.count; i++)
        if (binding->volumes.items[i].is_assumed)
            add_write(binding, i);
    return 0;
}

int czs_assume(struct czs_cluster *cluster, const struct czs_check *check, size_t row,
               struct czs_binding **binding, char **error)
{
    struct czs_binding made = {.cluster = cluster};
    _cleanup_error_ struct error err = {0};

    if (!cluster || !check || !binding)
        return library_refuse_null("a cluster, a check or a place for the binding", error);
    if (check_row_usable(cluster, check, row, &err) < 0 ||
        assume_volumes(cluster, check, row, &made, &err) < 0)
        return library_fail(&err, error);
    made.generation = ++cluster->generation;
    assumed_pods_add(
        cluster,
        cluster_find(&cluster->objects, KUBE_POD, made.volumes.pod_ns, made.volumes.pod_name),
        made.volumes.node);
    *binding = xcalloc(1, sizeof(**binding));
    **binding = made;
    return CZS_OK;
}

void czs_binding_free(struct czs_binding *binding)
{
    if (!binding)
        return;
    for (size_t i = 0; i < binding->count; i++)
        free(binding->writes[i].patch);
    free(binding->writes);
    pod_binding_done(&binding->volumes);
    free(binding);
}

int czs_revert(struct czs_cluster *cluster, struct czs_binding *binding, char **error)
{
    if (!cluster || !binding || binding->cluster != cluster)
        return library_refuse_null("a cluster or a binding of it", error);
    if (binding->is_reverted)
        return CZS_OK;
    binding_revert(&cluster->objects, &binding->volumes);
    assumed_pods_revert(cluster, binding->volumes.pod_ns, binding->volumes.pod_name,
                        binding->generation);
    binding->is_reverted = true;
    cluster->generation++;
    return CZS_OK;
}

/* --- writing --- */

static struct bound_item *find_item(const struct czs_binding *binding, size_t write)
{
    return binding && write < binding->count ? &binding->volumes.items[binding->writes[write].item]
                                             : NULL;
}

const char *czs_binding_node(const struct czs_binding *binding)
{
    return binding ? binding->volumes.node : NULL;
}

size_t czs_binding_writes(const struct czs_binding *binding)
{
    return binding ? binding->count : 0;
}

const char *czs_write_kind(const struct czs_binding *binding, size_t write)
{
    const struct bound_item *item = find_item(binding, write);

    if (!item)
        return NULL;
    return kube_kind_name(item->kind == CHOICE_STATIC ? KUBE_PV : KUBE_PVC);
}

const char *czs_write_namespace(const struct czs_binding *binding, size_t write)
{
    const struct bound_item *item = find_item(binding, write);

    if (!item)
        return NULL;
    return item->kind == CHOICE_STATIC ? "" : item->ns;
}

const char *czs_write_name(const struct czs_binding *binding, size_t write)
{
    const struct bound_item *item = find_item(binding, write);

    if (!item)
        return NULL;
    return item->kind == CHOICE_STATIC ? item->pv : item->claim;
}

const char *czs_write_patch(const struct czs_binding *binding, size_t write)
{
    return find_item(binding, write) ? binding->writes[write].patch : NULL;
}

int czs_written(struct czs_binding *binding, size_t write, const char *resource_version,
                char **error)
{
    struct bound_item *item = find_item(binding, write);

    if (!item || !resource_version)
        return library_refuse_null("a binding, a write of that number or a version", error);
    free(item->updated_version);
    item->updated_version = xstrdup(resource_version);
    return CZS_OK;
}

int czs_bound(const struct czs_cluster *cluster, const struct czs_binding *binding, char **error)
{
    _cleanup_error_ struct error err = {0};

    if (!cluster || !binding || binding->cluster != cluster)
        return library_refuse_null("a cluster or a binding of it", error);
    if (binding->is_reverted)
        error_set(&err, STATUS_FAILED_PRECONDITION, "the binding was reverted");
    enum bind_progress progress = binding->is_reverted
                                      ? BIND_FAILED
                                      : binding_poll(&cluster->objects, &binding->volumes, &err);
    if (progress == BIND_FAILED)
        return library_fail(&err, error);
    return progress == BIND_DONE ? CZS_OK : CZS_WAITING;
}
