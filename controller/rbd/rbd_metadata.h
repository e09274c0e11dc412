#pragma once

#include "controller/controller.h"

/* Sets @entries in the metadata of image @name. From a clone goes what describes its source: names
 * of claims and snapshots, addresses of clients, limits. Does nothing, at no cost, for an image
 * that is no clone when there is nothing to set. */
_must_check_ int metadata_apply(struct ceph_pool *pool, struct call *call, const char *name,
                                bool is_clone, const struct strmap *entries, struct error *err);
