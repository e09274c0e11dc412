#include "common/scheduling/library/assumed_pods.h"

#include <stdlib.h>

#include "common/base/memory.h"

static void free_assumed(void *item)
{
    struct assumed_pod *assumed = item;

    free_all(assumed->ns, assumed->name, assumed->uid, assumed->node, assumed);
}

static void set_node(struct czs_cluster *cluster, struct kube_pod *pod, const char *node)
{
    cluster_index_pod(&cluster->objects, pod, INDEX_REMOVE);
    free(pod->node_name);
    pod->node_name = node ? xstrdup(node) : NULL;
    cluster_index_pod(&cluster->objects, pod, INDEX_ADD);
}

void assumed_pods_add(struct czs_cluster *cluster, struct kube_pod *pod, const char *node)
{
    struct assumed_pod *assumed = xcalloc(1, sizeof(*assumed));

    *assumed = (struct assumed_pod){
        .ns = xstrdup(kube_or_empty(pod->meta.ns)),
        .name = xstrdup(pod->meta.name),
        .uid = xstrdup(kube_or_empty(pod->meta.uid)),
        .node = xstrdup(node),
        .generation = cluster->generation,
    };
    named_list_add(&cluster->assumed, assumed->ns, assumed->name, assumed);
    set_node(cluster, pod, node);
}

void assumed_pods_forget(struct czs_cluster *cluster, const char *ns, const char *name)
{
    struct assumed_pod *assumed = name_table_get(&cluster->assumed.names, ns, name);

    if (!assumed)
        return;
    name_table_remove(&cluster->assumed.names, ns, name);
    pointer_list_remove(&cluster->assumed.all, assumed, NULL);
    free_assumed(assumed);
}

void assumed_pods_revert(struct czs_cluster *cluster, const char *ns, const char *name,
                         uint64_t generation)
{
    const struct assumed_pod *assumed = name_table_get(&cluster->assumed.names, ns, name);
    struct kube_pod *pod = cluster_find(&cluster->objects, KUBE_POD, ns, name);

    if (!assumed || assumed->generation != generation)
        return;
    if (pod)
        set_node(cluster, pod, NULL);
    assumed_pods_forget(cluster, ns, name);
}

void assumed_pods_receive(struct czs_cluster *cluster, struct kube_pod *object)
{
    const struct assumed_pod *assumed =
        name_table_get(&cluster->assumed.names, object->meta.ns, object->meta.name);

    if (!assumed)
        return;
    if (!kube_same(object->node_name, "") || !kube_same(object->meta.uid, assumed->uid)) {
        assumed_pods_forget(cluster, object->meta.ns, object->meta.name);
        return;
    }
    free(object->node_name);
    object->node_name = xstrdup(assumed->node);
}

void assumed_pods_done(struct named_list *assumed)
{
    named_list_done(assumed, free_assumed);
}
