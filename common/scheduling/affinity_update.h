#pragma once

#include "common/kube/objects/kube_objects.h"

/*
 * Whether the API server takes another node affinity for a PersistentVolume. It may be set where
 * there was none; afterwards the only change is that keys of old become the ones that replaced them
 * (zone, region, os, arch, instance type), with everything else the same. With the feature gate
 * MutablePVNodeAffinity (@is_mutable; alpha and off so far) anything valid goes, also none. Pure.
 *
 * INVALID_ARGUMENT for an affinity that would be refused in any case, FAILED_PRECONDITION "field is
 * immutable, except for updating from beta label to GA".
 */
_must_check_ int affinity_update_check(const struct kube_pv *old, const struct kube_pv *new,
                                       bool is_mutable, struct error *err);

/* Whether two lists are the same, in their order, as the API server compares them; with
 * @may_rename keys of @old may have become the ones that replaced them. */
bool affinity_same_requirements(const struct selector_requirements *old,
                                const struct selector_requirements *new, bool may_rename);

/* The key that replaced @key; @key itself if none did. */
const char *affinity_current_key(const char *key);
