#pragma once

#include "controller/controller.h"

/* What is written to images for people who look at them with 'rbd image-meta'. */

enum metadata_kind { METADATA_VOLUME, METADATA_SNAPSHOT };

/*
 * Adds, with --setmetadata, the names that the sidecars passed in @parameters and the cluster's;
 * and to @removed what a clone inherited from its source and must not keep.
 */
void metadata_collect(const struct controller *controller, enum metadata_kind kind,
                      const struct strmap *parameters, struct strmap *entries);

/* The same from what a PersistentVolume says. */
void metadata_of_claim(const char *claim_name, const char *claim_namespace, const char *pv_name,
                       const char *cluster_name, struct strmap *entries);

/* Removes from the clone @name what describes its source: names of claims and snapshots, addresses
 * of clients, limits. Then sets @entries and removes @removed. Does nothing, at no cost, for an
 * image that is no clone when there is nothing to set or remove. */
_must_check_ int metadata_apply(struct ceph_pool *pool, struct call *call, const char *name,
                                bool is_clone, const struct strmap *entries,
                                const struct string_list *removed, struct error *err);
