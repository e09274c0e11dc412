/* Scenarios: a domain that fails, its takeover, pods that are added; the free space in each place.
 */
#include "common/scheduling/simulation/simulate_scenario.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/scheduling/explain_node.h"
#include "common/scheduling/volume_limits.h"
#include "common/topology/labels.h"

#define ADDED_NAMESPACE "simulated"

/* --- domains --- */

/* "zone=zone-a": the level is a label, or the part of one behind its slash. */
struct failed_domain {
    char *level;
    const char *value;
};

/* The node's value on a level; NULL if it has none. */
static const char *value_on(const struct kube_node *node, const char *level)
{
    const struct strmap *labels = &node->meta.labels;
    const char *whole = strmap_get(labels, level);

    for (size_t i = 0; !whole && i < labels->count; i++)
        if (strcmp(label_tail(labels->entries[i].key), level) == 0)
            return labels->entries[i].value;
    return whole;
}

static bool is_in(const struct kube_node *node, const char *level, const char *value)
{
    return kube_same(value_on(node, level), value) && value_on(node, level);
}

static int refuse_domain(const struct cluster_objects *cluster, const char *level,
                         const char *value, struct error *err)
{
    _cleanup_string_list_ struct string_list known = {0};
    _cleanup_text_ struct text text = TEXT_INIT(1024);

    for (size_t i = 0; i < cluster_count(cluster, KUBE_NODE) && known.count < 20; i++) {
        const char *here = value_on(cluster_at(cluster, KUBE_NODE, i), level);

        if (here && !string_list_has(&known, here))
            string_list_add(&known, here);
    }
    for (size_t i = 0; i < known.count; i++)
        text_addf(&text, "%s%s", i ? ", " : "", known.items[i]);
    error_set(err, STATUS_NOT_FOUND, "no node is in %s '%s'", level, value);
    return known.count ? error_hint(err, "there are: %s", text_chars(&text))
                       : error_hint(err, "no node has a label '%s'", level);
}

/* --- failure --- */

/* Pods of a DaemonSet go with their node. */
static bool lives_on_every_node(const struct kube_pod *pod)
{
    for (size_t i = 0; i < pod->meta.owner_count; i++)
        if (kube_same(pod->meta.owners[i].kind, "DaemonSet"))
            return true;
    return false;
}

static void remove_attachments(struct cluster_objects *cluster, const char *node)
{
    struct node_index *index = cluster_node_index(cluster, node);

    while (index && index->attachments.count > 0) {
        const struct kube_attachment *attachment = index->attachments.items[0];
        _cleanup_free_ char *name = xstrdup(attachment->meta.name);

        cluster_remove(cluster, KUBE_ATTACHMENT, NULL, name);
    }
}

static void remove_node(struct actors *actors, const char *name,
                        void (*displaced)(void *object, struct kube_pod *pod, const char *node),
                        void *object)
{
    struct cluster_objects *cluster = actors->cluster;
    struct node_index *index = cluster_node_index(cluster, name);

    while (index && index->pods.count > 0) {
        struct kube_pod *pod = index->pods.items[0];

        actors_place_pod(actors, pod, NULL);
        if (!lives_on_every_node(pod))
            displaced(object, pod, name);
    }
    remove_attachments(cluster, name);
    cluster_remove(cluster, KUBE_CSI_NODE, NULL, name);
    cluster_remove(cluster, KUBE_NODE, NULL, name);
}

/* The keys that mean "serves this domain", whatever driver's they are. */
static void add_membership(const char *key, const struct failed_domain *domain,
                           struct string_list *keys)
{
    _cleanup_free_ char *wanted =
        xasprintf("member.%s.%s", label_tail(domain->level), domain->value);

    if (strcmp(label_tail(key), wanted) == 0 && !string_list_has(keys, key))
        string_list_add(keys, key);
}

static void find_membership(const struct cluster_objects *cluster,
                            const struct failed_domain *domain, struct string_list *keys)
{
    for (size_t i = 0; i < cluster_count(cluster, KUBE_NODE); i++) {
        const struct kube_node *node = cluster_at(cluster, KUBE_NODE, i);

        for (size_t j = 0; j < node->meta.labels.count; j++)
            add_membership(node->meta.labels.entries[j].key, domain, keys);
    }
    for (size_t i = 0; i < cluster_count(cluster, KUBE_PV); i++) {
        const struct kube_pv *pv = cluster_at(cluster, KUBE_PV, i);

        for (size_t j = 0; pv->has_required && j < pv->required.count; j++)
            for (size_t k = 0; k < pv->required.terms[j].expressions.count; k++)
                add_membership(pv->required.terms[j].expressions.items[k].key, domain, keys);
    }
}

/* The driver goes and comes back with the key among its segments, as it does when the takeover map
 * has changed. False: it did not come back, or was not there. */
static bool register_again(struct actors *actors, struct kube_node *node, const char *key,
                           struct simulation *simulation)
{
    _cleanup_free_ char *driver = explain_driver_of_key(key);
    const struct kube_node_driver *entry =
        driver ? volume_limits_driver(actors->cluster, node->meta.name, driver) : NULL;
    _cleanup_strmap_ struct strmap segments = {0};
    _cleanup_error_ struct error err = {0};

    if (!entry)
        return false;
    for (size_t i = 0; i < entry->topology_keys.count; i++) {
        const char *value = strmap_get(&node->meta.labels, entry->topology_keys.items[i]);

        if (value)
            strmap_set(&segments, entry->topology_keys.items[i], value);
    }
    strmap_set(&segments, key, "true");
    _cleanup_free_ char *node_id = xstrdup(entry->node_id ? entry->node_id : "");
    const struct node_report report = {driver, node_id, entry->has_limit ? entry->limit : 0,
                                       &segments};
    kubelet_deregister(actors, node, driver);
    if (kubelet_register(actors, node, &report, &err) == 0)
        return true;
    string_list_addf(&simulation->notes, "node '%s': %s", node->meta.name, err.message);
    return false;
}

/* False: the node cannot serve the domain. */
static bool serve_domain(struct actors *actors, struct kube_node *node,
                         const struct string_list *keys, bool via_nodeinfo,
                         struct simulation *simulation)
{
    bool serves = true;

    for (size_t i = 0; i < keys->count; i++)
        if (via_nodeinfo)
            serves = register_again(actors, node, keys->items[i], simulation) && serves;
        else
            strmap_set(&node->meta.labels, keys->items[i], "true");
    if (!via_nodeinfo)
        actors_relabelled(actors, node);
    return serves;
}

static int take_over(struct actors *actors, const struct failed_domain *failed,
                     const struct simulation_request *request, const struct string_list *keys,
                     struct simulation *simulation, struct error *err)
{
    struct cluster_objects *cluster = actors->cluster;
    const char *target = request->takeover;
    bool is_all = strcmp(target, "all") == 0;
    const char *value = strchr(target, '=') ? strchr(target, '=') + 1 : target;
    size_t count = 0;
    size_t unable = 0;

    for (size_t i = 0; i < cluster_count(cluster, KUBE_NODE); i++) {
        struct kube_node *node = cluster_at(cluster, KUBE_NODE, i);

        if (!(is_all ? value_on(node, failed->level) != NULL : is_in(node, failed->level, value)))
            continue;
        if (serve_domain(actors, node, keys, request->via_nodeinfo, simulation))
            count++;
        else
            unable++;
    }
    if (count + unable == 0)
        return refuse_domain(cluster, failed->level, value, err);
    if (keys->count == 0)
        string_list_addf(
            &simulation->notes,
            "nothing is pinned by membership of %s: volumes pinned by plain labels cannot be "
            "taken over",
            failed->value);
    else
        string_list_addf(&simulation->notes, "%zu node%s serve%s %s now", count,
                         count == 1 ? "" : "s", count == 1 ? "s" : "", failed->value);
    if (unable > 0)
        string_list_addf(&simulation->notes,
                         "%zu node%s cannot: the driver is not registered there", unable,
                         unable == 1 ? "" : "s");
    return 0;
}

static bool names_domain(const struct label_selector *topology, const struct failed_domain *domain)
{
    for (size_t i = 0; i < topology->requirements.count; i++) {
        const struct selector_requirement *item = &topology->requirements.items[i];

        if (item->op == SELECTOR_IN && item->values.count == 1 &&
            strcmp(label_tail(item->key), label_tail(domain->level)) == 0 &&
            strcmp(item->values.items[0], domain->value) == 0)
            return true;
    }
    return false;
}

int scenario_fail(struct actors *actors, const struct simulation_request *request,
                  void (*displaced)(void *object, struct kube_pod *pod, const char *node),
                  void *object, struct simulation *simulation, struct error *err)
{
    const struct cluster_objects *cluster = actors->cluster;
    const char *equals = strchr(request->fail, '=');
    _cleanup_string_list_ struct string_list keys = {0};
    _cleanup_string_list_ struct string_list gone = {0};

    if (!equals || equals == request->fail || equals[1] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "'%.80s' is no domain; write it as LEVEL=VALUE, like 'zone=zone-a'",
                         request->fail);
    _cleanup_free_ char *level = xstrndup(request->fail, (size_t)(equals - request->fail));
    const struct failed_domain domain = {level, equals + 1};
    for (size_t i = 0; i < cluster_count(cluster, KUBE_NODE); i++) {
        const struct kube_node *node = cluster_at(cluster, KUBE_NODE, i);

        if (is_in(node, domain.level, domain.value))
            string_list_add(&gone, node->meta.name);
    }
    if (gone.count == 0)
        return refuse_domain(cluster, domain.level, domain.value, err);
    find_membership(cluster, &domain, &keys);
    for (size_t i = 0; i < cluster_count(cluster, KUBE_CAPACITY); i++) {
        const struct kube_capacity *capacity = cluster_at(cluster, KUBE_CAPACITY, i);

        if (i < simulation->space_count && names_domain(&capacity->topology, &domain))
            simulation->spaces[i].has_failed = true;
    }
    for (size_t i = 0; i < gone.count; i++)
        remove_node(actors, gone.items[i], displaced, object);
    string_list_addf(&simulation->notes, "%zu node%s of %s %s gone", gone.count,
                     gone.count == 1 ? "" : "s", domain.value, gone.count == 1 ? "is" : "are");
    if (request->takeover[0] == '\0')
        return 0;
    return take_over(actors, &domain, request, &keys, simulation, err);
}

/* --- more pods --- */

static void add_pod(struct actors *actors, const struct simulation_request *request,
                    const char *name)
{
    struct kube_pvc *claim = xcalloc(1, sizeof(*claim));
    struct kube_pod *pod = xcalloc(1, sizeof(*pod));

    claim->meta.name = xstrdup(name);
    claim->meta.ns = xstrdup(ADDED_NAMESPACE);
    claim->meta.uid = xasprintf("uid-%s", name);
    claim->meta.version = actors_next_version(actors);
    claim->class_name = xstrdup(request->class_name);
    claim->has_request = true;
    claim->request = request->size;
    claim->access_modes = KUBE_ACCESS_RWO;
    cluster_put(actors->cluster, KUBE_PVC, claim);
    pod->meta.name = xstrdup(name);
    pod->meta.ns = xstrdup(ADDED_NAMESPACE);
    pod->phase = xstrdup("Pending");
    pod->volumes = xcalloc(1, sizeof(*pod->volumes));
    pod->volume_count = 1;
    pod->volumes[0] = (struct kube_pod_volume){
        .name = xstrdup("data"), .kind = KUBE_VOLUME_CLAIM, .claim_name = xstrdup(name)};
    cluster_put(actors->cluster, KUBE_POD, pod);
}

int scenario_add(struct actors *actors, const struct simulation_request *request, struct error *err)
{
    if (request->add_pods > SIMULATION_PODS_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "more than %d pods to add",
                         SIMULATION_PODS_MAX);
    if (request->add_pods > 0 && !cluster_find_class(actors->cluster, request->class_name))
        return error_set(err, STATUS_NOT_FOUND, "there is no class '%s'", request->class_name);
    for (size_t i = 0; i < request->add_pods; i++) {
        _cleanup_free_ char *name = xasprintf("pod-%07zu", i + 1);

        add_pod(actors, request, name);
    }
    return 0;
}

/* --- free space --- */

/* "zone-a", or all that the selector asks for. */
static char *topology_name(const struct label_selector *topology)
{
    struct text text = TEXT_INIT(256);

    for (size_t i = 0; i < topology->requirements.count; i++) {
        const struct selector_requirement *item = &topology->requirements.items[i];
        _cleanup_free_ char *member = explain_membership(item->key, NULL);

        if (!member && item->op == SELECTOR_IN && item->values.count == 1)
            text_addf(&text, "%s%s", text.length ? " " : "", item->values.items[0]);
    }
    if (text.length == 0)
        text_add(&text, topology->requirements.count ? "some nodes" : "all nodes");
    return text_take(&text);
}

static uint64_t bytes_of(const struct quantity *quantity)
{
    int64_t value = quantity_value(quantity);

    return value > 0 ? (uint64_t)value : 0;
}

static uint64_t free_bytes(const struct class_index *class)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < class->groups.all.count; i++) {
        const struct pv_group *group = class->groups.all.items[i];

        for (size_t j = 0; j < group->pvs.count; j++) {
            const struct kube_pv *pv = group->pvs.items[j];

            if (__builtin_add_overflow(sum, bytes_of(&pv->capacity), &sum))
                return UINT64_MAX;
        }
    }
    return sum;
}

static struct simulated_space *add_space(struct simulation *simulation, const char *class_name,
                                         char *place)
{
    struct simulated_space *space = array_add(simulation->spaces, simulation->space_count);

    space->class_name = xstrdup(class_name);
    space->place = place;
    return space;
}

/* Capacities come first, in their order, then classes with free volumes: the same both times,
 * because neither capacities nor classes come or go while pods are placed. */
void scenario_measure(const struct cluster_objects *cluster, bool after,
                      struct simulation *simulation)
{
    size_t at = 0;

    for (; at < cluster_count(cluster, KUBE_CAPACITY); at++) {
        const struct kube_capacity *capacity = cluster_at(cluster, KUBE_CAPACITY, at);
        uint64_t bytes = capacity->has_capacity ? bytes_of(&capacity->capacity) : 0;

        if (after)
            simulation->spaces[at].after = bytes;
        else
            add_space(simulation, capacity->class_name ? capacity->class_name : "",
                      topology_name(&capacity->topology))
                ->before = bytes;
    }
    for (size_t i = 0; i < cluster->classes.all.count; i++) {
        const struct class_index *class = cluster->classes.all.items[i];
        uint64_t bytes = free_bytes(class);

        if (after && at < simulation->space_count &&
            strcmp(simulation->spaces[at].class_name, class->id.name) == 0 &&
            simulation->spaces[at].is_volumes) {
            simulation->spaces[at++].after = bytes;
        } else if (!after && bytes > 0) {
            struct simulated_space *space =
                add_space(simulation, class->id.name, xstrdup("free volumes"));

            space->is_volumes = true;
            space->before = bytes;
        }
    }
}
