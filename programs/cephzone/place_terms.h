#pragma once

#include "common/topology/domain.h"
#include "common/topology/requirement.h"

/*
 * The topology that cephzone place asks for, as external-provisioner would write it. Main thread.
 * Each adds one term per place, preferred in the order given and requisite as well.
 */

/* "region=r1,zone=zone-a": levels and values; a whole key with a slash is taken as it is.
 * INVALID_ARGUMENT for anything else. */
_must_check_ int terms_add_text(const struct topology_levels *levels, const char *text,
                                struct topology_requirement *requirement, struct error *err);

/* "topology.kubernetes.io/zone=zone-a,...": the labels of a node. */
_must_check_ int terms_add_labels(const struct topology_levels *levels, const char *text,
                                  struct topology_requirement *requirement, struct error *err);

/* The nodes in a file, as 'kubectl get node -o json' or -o yaml prints them. */
_must_check_ int terms_add_nodes(const struct topology_levels *levels, const char *path,
                                 struct topology_requirement *requirement, struct error *err);
