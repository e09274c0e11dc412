#pragma once

#include "common/ceph/ceph_ops.h"

/*
 * Who has an image open, for whoever must not touch it meanwhile. The daemons of rbd-mirror do not
 * count: of an image that is primary here, as many watchers as the cluster has daemons
 * (mirrorDaemonCount of config.json, one if it does not say) are taken for them. Not so one whose
 * address a node has recorded before it mapped the image: that is a node. With more watchers, all
 * are told, because nothing tells them apart.
 *
 * @mirroring is what image_get_mirroring() said. About 10 RT, two more for a mirrored image that is
 * watched. Any thread.
 */
_must_check_ int image_clients(struct ceph_pool *pool, struct call *call, const char *name,
                               const struct image_mirroring *mirroring, struct string_list *users,
                               struct error *err);
