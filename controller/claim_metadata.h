#pragma once

#include "controller/controller.h"

/* What is written to images and subvolumes for administrators: whose claim it is. */

enum metadata_kind { METADATA_VOLUME, METADATA_SNAPSHOT };

/* Adds the names that the sidecars passed in @parameters and the cluster's. */
void claim_metadata_collect(const struct controller *controller, enum metadata_kind kind,
                            const struct strmap *parameters, struct strmap *entries);

/* The same from what a PersistentVolume says. */
void claim_metadata_of(const char *claim_name, const char *claim_namespace, const char *pv_name,
                       const char *cluster_name, struct strmap *entries);
