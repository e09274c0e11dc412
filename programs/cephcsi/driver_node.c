#include "programs/cephcsi/driver_node.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/rpc/endpoint.h"
#include "node/node_labels_kube.h"

/* Whether a cluster's volumes are to be read from the nearest replica. */
static bool reads_nearby(struct config_file *file)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_config_ struct config *config = NULL;
    const struct cluster_config *cluster = NULL;

    if (config_file_get(file, &config, &err) < 0)
        return false;
    for (size_t i = 0; i < config_cluster_count(config); i++) {
        if (config_find_cluster(config, config_cluster_id(config, i), &cluster, &err) == 0 &&
            cluster->read_affinity.enabled)
            return true;
        error_clear(&err);
    }
    return false;
}

/* The labels were not given: they are read from the Kubernetes Node where they are needed. */
static void ask_for_labels(struct driver_node *node, const struct options *options,
                           struct config_file *config, struct kube *kube)
{
    _cleanup_error_ struct error err = {0};

    if (kube && options->node_server &&
        (node->levels.count > 0 || options->read_affinity || reads_nearby(config))) {
        if (node_labels_from_kube(kube, options->node_id, 0, &node->labels, &err) == 0)
            return;
        log_warn(NULL, "--nodeid: %s", err.message);
    }
    node_labels_from_nowhere(&node->labels);
    if (options->node_server && node->levels.count > 0)
        log_warn(NULL, "--domainlabels without the labels of this node, which is served without "
                       "topology; give --node-labels, --node-labels-file or --kubeconfig");
}

static int make_registrar(struct driver_node *node, const struct options *options,
                          struct metrics *metrics, struct error *err)
{
    _cleanup_free_ char *endpoint = NULL;

    if (options->registration_dir[0] == '\0')
        return 0;
    if (endpoint_parse(options->endpoint, &endpoint, err) < 0)
        return -1;
    const char *as_host = options->registration_path[0] ? options->registration_path : endpoint;
    if (registrar_new(&(struct registrar_options){.folder = options->registration_dir,
                                                  .driver_name = options->driver_name,
                                                  .endpoint = as_host,
                                                  .info = node->info},
                      &node->registrar, err) < 0)
        return error_wrap(err, "--registration-dir");
    registrar_register(node->registrar, metrics);
    return 0;
}

int driver_node_init(struct driver_node *node, const struct options *options,
                     struct config_file *config, const struct driver_kube *kube,
                     struct metrics *metrics, struct error *err)
{
    const bool via_nodeinfo = strcmp(options->takeover_via, "nodeinfo") == 0;

    if (topology_levels_parse(options->driver_name, options->domain_labels, &node->levels, err) < 0)
        return error_wrap(err, "--domainlabels");
    if (options->node_labels[0] != '\0') {
        if (node_labels_from_text(options->node_labels, &node->labels, err) < 0)
            return error_wrap(err, "--node-labels");
    } else if (options->node_labels_path[0] != '\0') {
        node_labels_from_file(options->node_labels_path, &node->labels);
    } else {
        ask_for_labels(node, options, config, kube->kube);
    }
    node->serves_node = options->node_server;
    node->takeover = takeover_source_new(&(struct takeover_setup){
        .path = options->takeover_path,
        .config = config,
        /* nodes need the map only if they report it themselves */
        .kube = options->controller_server || via_nodeinfo ? kube->kube : NULL,
        .name_space = kube->name_space,
    });
    node->info = node_info_new(&(struct node_info_options){
        .node_id = options->node_id,
        .max_volumes = options->max_volumes_per_node,
        .levels = &node->levels,
        .labels = &node->labels,
        .takeover = node->takeover,
        .takeover_via_nodeinfo = via_nodeinfo,
        .events = node->serves_node ? kube->events : NULL,
    });
    node->read_affinity = (struct read_affinity){options->read_affinity,
                                                 options->crush_location_labels, &node->labels};
    takeover_source_register(node->takeover, metrics);
    if (!node->serves_node)
        return 0;
    node_info_register(node->info, metrics);
    return make_registrar(node, options, metrics, err);
}

static void add_condition(void *object, const char *subject, bool healthy, const char *message,
                          time_t since)
{
    health_add(object, subject, healthy, message, since);
}

void driver_node_report(struct driver_node *node, struct health_sink *sink)
{
    _cleanup_free_ char *map_message = NULL;
    _cleanup_free_ char *registrar_message = NULL;
    time_t since = 0;
    bool healthy = takeover_source_is_healthy(node->takeover, &map_message, &since);

    health_add(sink, "takeover map", healthy, map_message, since);
    if (node->serves_node)
        node_info_report(node->info, add_condition, sink);
    if (!node->registrar)
        return;
    healthy = registrar_is_healthy(node->registrar, &registrar_message, &since);
    health_add(sink, "registration with kubelet", healthy, registrar_message, since);
}

void driver_node_done(struct driver_node *node)
{
    registrar_free(node->registrar);
    node_info_free(node->info);
    takeover_source_free(node->takeover);
    node_labels_done(&node->labels);
    topology_levels_done(&node->levels);
}
