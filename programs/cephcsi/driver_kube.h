#pragma once

#include "common/base/error.h"
#include "common/kube/events.h"
#include "common/kube/kube_ops.h"
#include "programs/cephcsi/options.h"

/*
 * The driver's connection to the Kubernetes API server, if there is one: --kubeconfig, else
 * $KUBERNETES_CONFIG_PATH, else the service account of the pod. Creating it sends no
 * request: a server that is away keeps no driver from starting.
 */
struct driver_kube {
    struct kube *kube; /* NULL: not on Kubernetes, or it cannot be reached by what we were given */
    struct events *events; /* NULL without a Kubernetes */
    char *name_space;      /* our own: POD_NAMESPACE, else that of the service account */
    char identity[256];    /* who we are among several controllers: the host's name */
};

/* INVALID_ARGUMENT or the like if the file that was named cannot be used. A pod without a token is
 * served without Kubernetes: that is logged. */
_must_check_ int driver_kube_init(struct driver_kube *kube, const struct options *options,
                                  struct metrics *metrics, struct error *err);
void driver_kube_done(struct driver_kube *kube);
