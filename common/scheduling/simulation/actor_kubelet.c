/*
 * Kubelet among the actors: what becomes of Node and CSINode when a driver registers, is asked
 * again, or goes. The API server's part is in here too: an entry of a CSINode cannot change its
 * node ID nor its keys, it can only go and come back.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/scheduling/simulation/actors.h"
#include "common/scheduling/volume_limits.h"

#define NODE_ID_ANNOTATION "csi.volume.kubernetes.io/nodeid"

/* --- the Node --- */

/* The annotation is a JSON object of driver and node ID; @node_id NULL takes the driver out. */
static void note_node_id(struct kube_node *node, const char *driver, const char *node_id)
{
    const char *text = strmap_get(&node->meta.annotations, NODE_ID_ANNOTATION);
    json_auto_t *ids = text ? json_loads(text, 0, NULL) : NULL;

    if (!json_is_object(ids)) {
        json_decref(ids);
        ids = json_object();
    }
    if (node_id)
        json_object_set_new(ids, driver, json_string(node_id));
    else
        json_object_del(ids, driver);
    _cleanup_free_ char *made = json_dumps(ids, JSON_COMPACT | JSON_SORT_KEYS);
    if (json_object_size(ids) > 0)
        strmap_set(&node->meta.annotations, NODE_ID_ANNOTATION, made);
    else
        strmap_remove(&node->meta.annotations, NODE_ID_ANNOTATION);
}

static int label_node(struct actors *actors, struct kube_node *node,
                      const struct node_report *report, struct error *err)
{
    if (registration_check_labels(&node->meta.labels, report->segments, err) < 0)
        return error_wrap(err, "error updating Node object with CSI driver node info: error "
                               "updating node: timed out waiting for the condition; caused by");
    if (report->segments)
        strmap_merge(&node->meta.labels, report->segments);
    note_node_id(node, report->driver, report->node_id);
    actors_relabelled(actors, node);
    return 0;
}

/* --- the CSINode --- */

static struct kube_csi_node *find_csi_node(const struct actors *actors,
                                           const struct kube_node *node)
{
    return cluster_find(actors->cluster, KUBE_CSI_NODE, NULL, node->meta.name);
}

static void csi_node_changed(struct actors *actors, struct kube_csi_node *csi_node, bool is_new)
{
    free(csi_node->meta.version);
    csi_node->meta.version = actors_next_version(actors);
    cluster_touch_node(actors->cluster, csi_node->meta.name);
    actors_notify(actors, KUBE_CSI_NODE, csi_node, is_new);
}

/* A CSINode of a Node that was deleted and made again belongs to the old one. */
static bool is_of_another(const struct kube_csi_node *csi_node, const struct kube_node *node)
{
    for (size_t i = 0; i < csi_node->meta.owner_count; i++)
        if (kube_same(csi_node->meta.owners[i].kind, "Node") &&
            !kube_same(csi_node->meta.owners[i].uid, node->meta.uid))
            return true;
    return false;
}

static struct kube_csi_node *make_csi_node(struct actors *actors, const struct kube_node *node)
{
    struct kube_csi_node *made = xcalloc(1, sizeof(*made));

    made->meta.name = xstrdup(node->meta.name);
    made->meta.owners = xcalloc(1, sizeof(*made->meta.owners));
    made->meta.owner_count = 1;
    made->meta.owners[0] =
        (struct kube_owner){.kind = xstrdup("Node"),
                            .name = xstrdup(node->meta.name),
                            .uid = xstrdup(node->meta.uid ? node->meta.uid : "")};
    return cluster_put(actors->cluster, KUBE_CSI_NODE, made);
}

static void entry_done(struct kube_node_driver *entry)
{
    free(entry->name);
    free(entry->node_id);
    string_list_done(&entry->topology_keys);
}

/* Segments are sorted by key, and so are the keys that kubelet reports. */
static struct kube_node_driver entry_of(const struct node_report *report)
{
    struct kube_node_driver entry = {
        .name = xstrdup(report->driver),
        .node_id = xstrdup(report->node_id),
        .has_limit = report->max_volumes > 0,
        .limit = report->max_volumes > INT32_MAX ? INT32_MAX : report->max_volumes,
    };

    for (size_t i = 0; report->segments && i < report->segments->count; i++)
        string_list_add(&entry.topology_keys, report->segments->entries[i].key);
    return entry;
}

static bool same_keys(const struct string_list *a, const struct string_list *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (!string_list_has(b, a->items[i]))
            return false;
    return a->count == b->count;
}

/* An entry that is there may change its limit and nothing else. */
static int update_entry(struct actors *actors, struct kube_csi_node *csi_node,
                        struct kube_node_driver *old, const struct node_report *report,
                        struct error *err)
{
    struct kube_node_driver new = entry_of(report);
    bool is_same =
        kube_same(old->node_id, new.node_id) && same_keys(&old->topology_keys, &new.topology_keys);
    bool has_news = old->has_limit != new.has_limit || (new.has_limit && old->limit != new.limit);

    entry_done(&new);
    if (!is_same)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "error updating CSINode object with CSI driver node info: spec.drivers: "
                         "field is immutable");
    if (!has_news)
        return 0;
    old->has_limit = new.has_limit;
    old->limit = new.limit;
    csi_node_changed(actors, csi_node, false);
    return 0;
}

static int store_entry(struct actors *actors, const struct kube_node *node,
                       const struct node_report *report, struct error *err)
{
    struct kube_csi_node *csi_node = find_csi_node(actors, node);
    bool is_new = !csi_node;

    if (csi_node && is_of_another(csi_node, node)) {
        cluster_remove(actors->cluster, KUBE_CSI_NODE, NULL, node->meta.name);
        csi_node = NULL;
    }
    if (!csi_node)
        csi_node = make_csi_node(actors, node);
    for (size_t i = 0; i < csi_node->driver_count; i++)
        if (kube_same(csi_node->drivers[i].name, report->driver))
            return update_entry(actors, csi_node, &csi_node->drivers[i], report, err);
    csi_node->drivers =
        xreallocarray(csi_node->drivers, csi_node->driver_count + 1, sizeof(*csi_node->drivers));
    csi_node->drivers[csi_node->driver_count++] = entry_of(report);
    csi_node_changed(actors, csi_node, is_new);
    return 0;
}

/* --- coming and going --- */

int kubelet_register(struct actors *actors, struct kube_node *node,
                     const struct node_report *report, struct error *err)
{
    int result =
        kube_same(report->node_id, "")
            ? error_set(err, STATUS_INVALID_ARGUMENT,
                        "error adding CSI driver node info: driverNodeID must not be empty")
            : label_node(actors, node, report, err);

    if (result == 0)
        result = store_entry(actors, node, report, err);
    if (result < 0)
        kubelet_deregister(actors, node, report->driver);
    return result;
}

int kubelet_refresh(struct actors *actors, const struct kube_node *node,
                    const struct node_report *report, struct error *err)
{
    return store_entry(actors, node, report, err);
}

void kubelet_deregister(struct actors *actors, struct kube_node *node, const char *driver)
{
    struct kube_csi_node *csi_node = find_csi_node(actors, node);

    note_node_id(node, driver, NULL);
    for (size_t i = 0; csi_node && i < csi_node->driver_count; i++)
        if (kube_same(csi_node->drivers[i].name, driver)) {
            entry_done(&csi_node->drivers[i]);
            csi_node->driver_count--;
            memmove(&csi_node->drivers[i], &csi_node->drivers[i + 1],
                    (csi_node->driver_count - i) * sizeof(*csi_node->drivers));
            csi_node_changed(actors, csi_node, false);
            return;
        }
}
