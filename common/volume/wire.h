#pragma once

#include "common/base/strmap.h"
#include "common/config/credentials.h"
#include "common/topology/requirement.h"
#include "common/volume/capability.h"
#include "common/volume/size.h"
#include "csi.pb-c.h"

/*
 * CSI's shared message types to and from plain structs. Only handlers use it: nothing else in the
 * driver knows protobuf. Decoded structs own what they hold.
 */

/* A map field: @entries is the generated array of entry messages, whose common form is key = 1 and
 * value = 2. Of equal keys the last one wins, as protobuf says. */
void wire_get_map(size_t count, void *entries, struct strmap *map);
/* The array for a map field of the given entry type; *@count is set. */
void *wire_put_map(const ProtobufCMessageDescriptor *entry_type, const struct strmap *map,
                   size_t *count);

/* Secrets are picked from the request without an intermediate copy. */
void wire_get_credentials(size_t count, void *entries, struct credentials *credentials);

void wire_get_capability(const Csi__V1__VolumeCapability *message,
                         struct volume_capability *capability);
void wire_get_capabilities(size_t count, Csi__V1__VolumeCapability *const *messages,
                           struct capability_list *list);
Csi__V1__VolumeCapability *wire_put_capability(const struct volume_capability *capability);

/* Topologies are maps of segments. Empty ones are left out of a requirement: they ask for nothing.
 */
void wire_get_topology(const Csi__V1__Topology *message, struct strmap *segments);
Csi__V1__Topology *wire_put_topology(const struct strmap *segments);
void wire_get_requirement(const Csi__V1__TopologyRequirement *message,
                          struct topology_requirement *requirement);

/* What is wrong with a volume: @status and @reason, one word for programs, and @message for people.
 * Nothing is if @message is NULL. */
Csi__V1__VolumeHealth *wire_put_health(const char *handle, Csi__V1__VolumeHealthErrorType status,
                                       const char *reason, const char *message);

void wire_get_range(const Csi__V1__CapacityRange *message, struct capacity_range *range);
