#include "common/kube/cluster_node.h"

#include <stdlib.h>

#include "common/base/memory.h"

void cluster_node_done(struct cluster_node *node)
{
    free(node->name);
    free(node->version);
    free(node->node_id);
    free(node->boot_id);
    free(node->fenced_boot_id);
    strmap_done(&node->labels);
    string_list_done(&node->keys);
    string_list_done(&node->addresses);
    string_list_done(&node->handles);
    string_list_done(&node->fenced_addresses);
    string_list_done(&node->draining);
    *node = (struct cluster_node){0};
}

void cluster_nodes_done(struct cluster_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        cluster_node_done(&nodes->items[i]);
    free(nodes->items);
    *nodes = (struct cluster_nodes){0};
}

struct cluster_node *cluster_nodes_add(struct cluster_nodes *nodes)
{
    struct cluster_node *node = array_add(nodes->items, nodes->count);
    *node = (struct cluster_node){0};
    return node;
}
