#pragma once

#include "node/volumes.h"

/*
 * The Ceph user of a volume that is staged already, from the Secret that its PersistentVolume names
 * for NodeStageVolume. Kubelet sends that Secret's content with NodeStageVolume alone, and a driver
 * that was started again keeps no keys; it asks the API server. The name of the PersistentVolume is
 * part of the paths at which kubelet stages and publishes the volume; @path is one of them.
 *
 * Fills the credentials of @found, and its context if that is empty. Without an API server, or if
 * no path names a PersistentVolume of this handle, they stay unset and that is success. Errors are
 * those of struct kube_ops. Any thread; two requests, as a rule.
 */
_must_check_ int staged_secret_find(const struct node_volumes *volumes, struct call *call,
                                    const char *handle, const char *path,
                                    struct stage_request *found, struct error *err);

/* The name of the PersistentVolume in a path of kubelet's; NULL: it names none. Caller frees. */
char *kubelet_path_volume(const char *path);
