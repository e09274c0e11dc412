#pragma once

#include "common/scheduling/simulation/simulate.h"

/* What simulate.c asks for before it schedules, and the free space that it reports. */

/* Takes the nodes of the domain away; their pods are pending again and reported to @displaced. */
_must_check_ int scenario_fail(struct actors *actors, const struct simulation_request *request,
                               void (*displaced)(void *object, struct kube_pod *pod,
                                                 const char *node),
                               void *object, struct simulation *simulation, struct error *err);
/* Adds pods and claims. */
_must_check_ int scenario_add(struct actors *actors, const struct simulation_request *request,
                              struct error *err);
/* Lists the free space, or with @after fills in what is left of that listed. */
void scenario_measure(const struct cluster_objects *cluster, bool after,
                      struct simulation *simulation);
