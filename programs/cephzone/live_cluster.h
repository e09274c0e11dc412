#pragma once

#include "programs/cephzone/tool.h"

/*
 * What commands that ask Ceph find out by themselves on a live cluster, so that they need neither
 * files nor flags: the driver, whatever its name, its StorageClasses, config.json in the ConfigMap
 * of Ceph-CSI, Rook or this driver, and the Ceph user of the classes' Secret. It works with
 * Ceph-CSI as it does with this driver. Main thread.
 *
 * What was found becomes files in memory that the flags name. They are nowhere else, and gone when
 * the process ends, however it does.
 */
#define LIVE_CLUSTER_FILES 4

struct live_cluster {
    int files[LIVE_CLUSTER_FILES];
    char *paths[LIVE_CLUSTER_FILES];
    size_t count;
    char *driver;
};

/* For the table of a command. */
#define LIVE_CLUSTER_FLAGS(values)                                                                 \
    {"kubeconfig", FLAG_STRING, &(values).kubeconfig, "FILE",                                      \
     "how to reach the live cluster, if no files are given; by default $KUBECONFIG, the pod's "    \
     "service account or ~/.kube/config"},                                                         \
    {                                                                                              \
        "context", FLAG_STRING, &(values).context, "NAME", "of the kubeconfig"                     \
    }

/* Whether the flags leave it to us: neither --config nor --classes is there. */
bool live_cluster_is_wanted(const struct tool_flags *flags);

/*
 * Fills driver, config, classes and, unless there is a keyring or secrets already, secrets of
 * @flags, and *@pvs with the PersistentVolumes unless that is NULL. One line on stderr says what
 * was taken. A right that is missing is named, and the flag that replaces it. The strings belong to
 * @live; the caller calls live_cluster_done(), also after a failure.
 */
_must_check_ int live_cluster_fill(struct live_cluster *live, const char *command,
                                   struct tool_flags *flags, const char **pvs, struct error *err);
void live_cluster_done(struct live_cluster *live);
#define _cleanup_live_cluster_ _cleanup_(live_cluster_done)
