#pragma once

#include "common/scheduling/simulation/simulate.h"

/* What simulate.c asks for before it schedules, and the room that it reports. */

/* Takes the nodes of the domain away; their pods are pending again and told to @displaced. */
_must_check_ int scenario_fail(struct actors *actors, const struct simulation_request *request,
                               void (*displaced)(void *object, struct kube_pod *pod,
                                                 const char *node),
                               void *object, struct simulation *simulation, struct error *err);
/* Adds pods and claims. */
_must_check_ int scenario_add(struct actors *actors, const struct simulation_request *request,
                              struct error *err);
/* Lists rooms, or with @after fills in what is left of those listed. */
void scenario_rooms(const struct cluster_objects *cluster, bool after,
                    struct simulation *simulation);
