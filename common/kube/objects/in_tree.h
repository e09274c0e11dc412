#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/kube/objects/kube_objects.h"

/*
 * Volumes of in-tree plugins, which were once part of Kubernetes. On a node whose CSINode names
 * such a plugin as migrated, the scheduler treats the volume as the CSI volume that replaces it:
 * its node affinity then requires the CSI driver's zone label instead of the node's, and it counts
 * towards the CSI driver's limit. It does so for volumes of bound claims, while it waits for a
 * binding, and in NodeVolumeLimits; not when it searches free volumes. Pure; any thread.
 *
 * Ceph's own old plugins (kubernetes.io/rbd, kubernetes.io/cephfs) are not among them: the
 * scheduler never translated their volumes.
 */
struct in_tree_plugin {
    const char *name;      /* "kubernetes.io/gce-pd" */
    const char *source;    /* the member of a volume that makes it one of this plugin */
    const char *id;        /* in there: which disk it is */
    const char *driver;    /* the CSI driver that took over */
    const char *zone_key;  /* the driver's label; NULL: it has no topology */
    bool counts_by_itself; /* for limits a CSINode is enough, whatever it names */
    bool is_gce;           /* its handles have the zone in them */
};

/* The plugin of a pod's volume or of the spec of a PersistentVolume; NULL if it is none of these.
 * *@id (caller frees) is the handle that its CSI driver has for the disk. */
const struct in_tree_plugin *in_tree_find_source(const json_t *volume, char **id);
/* By its name, as StorageClasses have it; NULL if there is none. */
const struct in_tree_plugin *in_tree_find(const char *name);

/* Whether the node's CSINode names the plugin as migrated. False for @csi_node NULL. */
bool in_tree_is_migrated(const struct in_tree_plugin *plugin, const struct kube_csi_node *csi_node);
/* Whether volumes of the plugin count for the limit of its CSI driver there. */
bool in_tree_is_counted(const struct in_tree_plugin *plugin, const struct kube_csi_node *csi_node);

/*
 * The handle of @pv, a PersistentVolume as the API server sends it, whose disk is *@id: those of
 * GCE have the zone or region of its labels in it. INVALID_ARGUMENT, with Kubernetes' text, where
 * the scheduler cannot translate the volume: zones that tell no region, or an id that is none.
 */
_must_check_ int in_tree_handle(const struct in_tree_plugin *plugin, const json_t *pv, char **id,
                                struct error *err);

/*
 * The required node affinity of the CSI volume that replaces @pv, a PersistentVolume as the API
 * server sends it. The zone's key becomes the driver's; without zones in the affinity those of the
 * zone label are added to each term; with beta keys the region's becomes the new one. NULL: every
 * node will do. The caller gets a reference.
 */
json_t *in_tree_translate(const struct in_tree_plugin *plugin, const json_t *pv);
