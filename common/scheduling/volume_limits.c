#include "common/scheduling/volume_limits.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

/* One volume as it counts. */
struct counted_volume {
    const char *driver; /* borrowed */
    const struct in_tree_plugin *plugin;
    char *key;
};

/* False: it does not count. */
static bool count_as(const char *driver, const struct in_tree_plugin *plugin, const char *handle,
                     struct counted_volume *volume)
{
    volume->plugin = plugin;
    volume->driver = plugin ? plugin->driver : driver;
    if (!volume->driver)
        return false;
    volume->key = xasprintf("%s/%s", volume->driver, handle ? handle : "");
    return true;
}

/* The volume behind a claim. */
static bool volume_of_claim(const struct cluster_objects *cluster, const struct kube_pvc *claim,
                            struct counted_volume *volume)
{
    const struct kube_pv *pv =
        kube_same(claim->volume_name, "") ? NULL : cluster_find_pv(cluster, claim->volume_name);

    if (pv)
        return !kube_same(pv->handle, "") && !pv->translation_fault &&
               count_as(pv->driver, pv->plugin, pv->handle, volume);
    const char *class_name = kube_pvc_class(claim);
    const struct kube_class *class = class_name[0] ? cluster_find_class(cluster, class_name) : NULL;
    if (!class || kube_same(class->provisioner, ""))
        return false;
    _cleanup_free_ char *handle = xasprintf("-%s/%s", claim->meta.ns, claim->meta.name);
    return count_as(class->provisioner, in_tree_find(class->provisioner), handle, volume);
}

/* Takes the key over. */
static void add_key(struct pod_volume_keys *keys, struct counted_volume *volume)
{
    size_t count = keys->keys.count;
    _cleanup_free_ char *key = volume->key;

    if (string_list_has(&keys->keys, key))
        return;
    string_list_add(&keys->keys, key);
    string_list_add(&keys->drivers, volume->driver);
    *array_add(keys->plugins, count) = volume->plugin;
}

/* An ephemeral volume's claim belongs to its pod. NULL: nothing is wrong; else Kubernetes' text. */
static char *refuse_foreign_claim(const struct kube_pod *pod, const struct kube_pod_volume *volume,
                                  const struct kube_pvc *claim)
{
    if (volume->kind != KUBE_VOLUME_EPHEMERAL || kube_pvc_is_owned_by(claim, pod))
        return NULL;
    return xasprintf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", pod->meta.ns,
                     claim->meta.name, pod->meta.ns, pod->meta.name);
}

static int add_claim(const struct cluster_objects *cluster, const struct kube_pod *pod,
                     const struct kube_pod_volume *volume, struct pod_volume_keys *keys)
{
    const char *name = volume->claim_name ? volume->claim_name : "";
    const struct kube_pvc *claim = cluster_find_pvc(cluster, pod->meta.ns, name);
    struct counted_volume counted = {0};

    if (!claim) {
        keys->verdict = LIMITS_UNRESOLVABLE;
        keys->reason = xasprintf("looking up PVC %s/%s: persistentvolumeclaim \"%s\" not found",
                                 pod->meta.ns, name, name);
        return -1;
    }
    keys->reason = refuse_foreign_claim(pod, volume, claim);
    if (keys->reason) {
        keys->verdict = LIMITS_FAILED;
        return -1;
    }
    if (volume_of_claim(cluster, claim, &counted))
        add_key(keys, &counted);
    return 0;
}

void volume_limits_prepare(const struct cluster_objects *cluster, const struct kube_pod *pod,
                           struct pod_volume_keys *keys)
{
    *keys = (struct pod_volume_keys){.verdict = LIMITS_FIT};
    for (size_t i = 0; i < pod->volume_count; i++) {
        const struct kube_pod_volume *volume = &pod->volumes[i];
        struct counted_volume counted = {0};

        if (binding_uses_claim(volume) && add_claim(cluster, pod, volume, keys) < 0)
            return;
        if (volume->plugin && count_as(NULL, volume->plugin, volume->disk, &counted))
            add_key(keys, &counted);
    }
}

void pod_volume_keys_done(struct pod_volume_keys *keys)
{
    string_list_done(&keys->keys);
    string_list_done(&keys->drivers);
    free(keys->plugins);
    free(keys->reason);
    *keys = (struct pod_volume_keys){0};
}

/* --- what a node has --- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether a volume counts on a node with this CSINode. */
static bool counts(const struct in_tree_plugin *plugin, const struct kube_csi_node *csi_node)
{
    return !plugin || in_tree_is_counted(plugin, csi_node);
}

/* A claim that a pod on the node cannot have: the scheduler gives up counting there. */
static char *find_fault(const struct kube_pod *pod, const struct kube_pod_volume *volume,
                        const struct kube_pvc *claim)
{
    if (!binding_uses_claim(volume))
        return NULL;
    if (kube_same(volume->claim_name, ""))
        return xstrdup("PersistentVolumeClaim had no name");
    return claim ? refuse_foreign_claim(pod, volume, claim) : NULL;
}

static void count_pod(const struct cluster_objects *cluster, const struct kube_pod *pod,
                      const struct kube_csi_node *csi_node, struct volumes_in_use *volumes)
{
    for (size_t i = 0; i < pod->volume_count && !volumes->fault; i++) {
        const struct kube_pod_volume *volume = &pod->volumes[i];
        const struct kube_pvc *claim =
            binding_uses_claim(volume) && volume->claim_name
                ? cluster_find_pvc(cluster, pod->meta.ns, volume->claim_name)
                : NULL;
        struct counted_volume counted = {0};

        volumes->fault = find_fault(pod, volume, claim);
        bool is_one = claim ? volume_of_claim(cluster, claim, &counted)
                            : count_as(NULL, volume->plugin, volume->disk, &counted);
        _cleanup_free_ char *key = counted.key;

        if (is_one && counts(counted.plugin, csi_node))
            string_list_add(&volumes->keys, key);
    }
}

static bool has_key(const struct string_list *keys, const char *key)
{
    return keys->count > 0 &&
           bsearch(&key, keys->items, keys->count, sizeof(*keys->items), compare_texts);
}

static void count_attachments(const struct cluster_objects *cluster, const struct node_index *node,
                              struct volumes_in_use *volumes)
{
    for (size_t i = 0; i < node->attachments.count; i++) {
        const struct kube_attachment *attachment = node->attachments.items[i];
        const struct kube_pv *pv =
            attachment->pv_name ? cluster_find_pv(cluster, attachment->pv_name) : NULL;

        if (!pv || !pv->driver)
            continue;
        _cleanup_free_ char *key =
            xasprintf("%s/%s", attachment->attacher ? attachment->attacher : "",
                      pv->handle ? pv->handle : "");
        if (!has_key(&volumes->keys, key))
            string_list_add(&volumes->attached, key);
    }
}

/* Sorts, and leaves one of each. */
static void sort_keys(struct string_list *keys)
{
    size_t kept = 0;

    if (keys->count > 1)
        qsort(keys->items, keys->count, sizeof(*keys->items), compare_texts);
    for (size_t i = 0; i < keys->count; i++) {
        if (kept > 0 && strcmp(keys->items[kept - 1], keys->items[i]) == 0)
            free(keys->items[i]);
        else
            keys->items[kept++] = keys->items[i];
    }
    keys->count = kept;
}

static const struct volumes_in_use *volumes_in_use(struct cluster_objects *cluster,
                                                   const char *name,
                                                   const struct kube_csi_node *csi_node)
{
    static const struct volumes_in_use NONE;
    struct node_index *node = cluster_node_index(cluster, name);

    if (!node)
        return &NONE;
    if (node->volumes.is_counted)
        return &node->volumes;
    for (size_t i = 0; i < node->pods.count && !node->volumes.fault; i++)
        count_pod(cluster, node->pods.items[i], csi_node, &node->volumes);
    sort_keys(&node->volumes.keys);
    count_attachments(cluster, node, &node->volumes);
    sort_keys(&node->volumes.attached);
    node->volumes.is_counted = true;
    return &node->volumes;
}

/* --- the check --- */

const struct kube_node_driver *volume_limits_driver(const struct cluster_objects *cluster,
                                                    const char *node, const char *driver)
{
    const struct kube_csi_node *csi_node = cluster_find(cluster, KUBE_CSI_NODE, NULL, node);

    for (size_t i = 0; csi_node && i < csi_node->driver_count; i++)
        if (kube_same(csi_node->drivers[i].name, driver))
            return &csi_node->drivers[i];
    return NULL;
}

static int64_t count_of_driver(const struct string_list *keys, const char *driver)
{
    size_t length = strlen(driver);
    int64_t count = 0;

    for (size_t i = 0; i < keys->count; i++)
        count += strncmp(keys->items[i], driver, length) == 0 && keys->items[i][length] == '/';
    return count;
}

/* Only what is new on the node counts: a volume that a pod there has already takes no further
 * place. One that is attached without a pod does, as in Kubernetes. */
static void check_driver(const struct pod_volume_keys *keys, const struct volumes_in_use *in_use,
                         const struct kube_csi_node *csi_node, const struct kube_node_driver *entry,
                         struct limits_decision *decision)
{
    int64_t added = 0;

    for (size_t i = 0; i < keys->keys.count; i++)
        if (strcmp(keys->drivers.items[i], entry->name) == 0 &&
            counts(keys->plugins[i], csi_node) && !has_key(&in_use->keys, keys->keys.items[i]))
            added++;
    if (added == 0)
        return;
    int64_t present = count_of_driver(&in_use->keys, entry->name) +
                      count_of_driver(&in_use->attached, entry->name);
    if (present + added <= entry->limit)
        return;
    *decision = (struct limits_decision){
        .verdict = LIMITS_UNSCHEDULABLE,
        .driver = entry->name,
        .limit = entry->limit,
        .in_use = present,
        .added = added,
        .reason = xstrdup("node(s) exceed max volume count"),
    };
}

/* Nothing is counted where the pod brings nothing that counts, or where nothing is limited. */
static bool must_be_counted(const struct pod_volume_keys *keys,
                            const struct kube_csi_node *csi_node)
{
    bool has_limit = false;
    bool brings_one = false;

    for (size_t i = 0; csi_node && i < csi_node->driver_count; i++)
        has_limit = has_limit || (csi_node->drivers[i].has_limit && csi_node->drivers[i].name);
    for (size_t i = 0; i < keys->keys.count; i++)
        brings_one = brings_one || counts(keys->plugins[i], csi_node);
    return has_limit && brings_one;
}

/* Whether the drivers that must be on the node are registered there. */
static bool check_presence(const struct cluster_objects *cluster,
                           const struct pod_volume_keys *keys, const struct kube_node *node,
                           const struct kube_csi_node *csi_node, struct limits_decision *decision)
{
    for (size_t i = 0; i < keys->drivers.count; i++) {
        const char *name = keys->drivers.items[i];
        const struct kube_csi_driver *driver = cluster_find(cluster, KUBE_CSI_DRIVER, NULL, name);

        if (!driver || !driver->must_be_on_the_node || !counts(keys->plugins[i], csi_node) ||
            volume_limits_driver(cluster, node->meta.name, name))
            continue;
        *decision = (struct limits_decision){
            .verdict = LIMITS_UNSCHEDULABLE,
            .driver = name,
            .reason = xasprintf("%s CSI driver is not installed on the node", name),
        };
        return false;
    }
    return true;
}

void volume_limits_check(struct cluster_objects *cluster, const struct binding_options *options,
                         const struct pod_volume_keys *keys, const struct kube_node *node,
                         struct limits_decision *decision)
{
    const struct kube_csi_node *csi_node =
        cluster_find(cluster, KUBE_CSI_NODE, NULL, node->meta.name);

    *decision = (struct limits_decision){.verdict = keys->verdict};
    if (keys->reason)
        decision->reason = xstrdup(keys->reason);
    if (keys->verdict != LIMITS_FIT || keys->keys.count == 0)
        return;
    if (options->limit_scaling && !check_presence(cluster, keys, node, csi_node, decision))
        return;
    if (!must_be_counted(keys, csi_node))
        return;
    const struct volumes_in_use *in_use = volumes_in_use(cluster, node->meta.name, csi_node);
    if (in_use->fault) {
        *decision =
            (struct limits_decision){.verdict = LIMITS_FAILED, .reason = xstrdup(in_use->fault)};
        return;
    }
    for (size_t i = 0; i < csi_node->driver_count && decision->verdict == LIMITS_FIT; i++) {
        const struct kube_node_driver *entry = &csi_node->drivers[i];

        if (entry->has_limit && entry->name)
            check_driver(keys, in_use, csi_node, entry, decision);
    }
}
