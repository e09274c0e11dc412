#pragma once

#include "common/base/call.h"
#include "common/base/string_list.h"
#include "common/base/strmap.h"
#include "common/ceph/ceph_ops.h"
#include "common/config/config.h"
#include "common/config/standing_credentials.h"
#include "controller/takeover/fence_sight.h"

/*
 * Clients that must not write any more: entries of the OSDs' blocklists, for whole addresses
 * (IP:0/0) and for five years, as Ceph-CSI has it. Always in every cluster of config.json: which of
 * them a node's volumes are in is not asked for, so all of them must agree. Any thread.
 */
struct fences {
    struct ceph *ceph;
    struct config_file *config;
    struct standing_credentials *standing;
};

/* @sight is zero. Fails if one of the clusters cannot be asked, or if there is none. */
_must_check_ int fences_read(const struct fences *fences, struct call *call,
                             struct fence_sight *sight, struct error *err);
/*
 * Returns when every OSD keeps to the fences that fences_read() has shown: the monitors' answer
 * alone stops no client, OSDs receive the osdmap later. Asks each placement group of all pools for
 * RBD and CephFS in every cluster, one after the other; groups that no OSD serves are passed over.
 * Fails if one does not answer.
 */
_must_check_ int fences_settle(const struct fences *fences, struct call *call, struct error *err);
/*
 * Addresses of the monitors, OSDs, managers and MDS of all clusters -> "osd.3": a fence there would
 * stop Ceph itself. Managers and MDS are left out where the Ceph user may not read them. Four
 * commands for each cluster.
 */
_must_check_ int fences_read_daemons(const struct fences *fences, struct call *call,
                                     struct strmap *daemons, struct error *err);
/* Repeatable. INVALID_ARGUMENT for what is no IP address. */
_must_check_ int fences_add(const struct fences *fences, struct call *call, const char *address,
                            struct error *err);
_must_check_ int fences_remove(const struct fences *fences, struct call *call, const char *address,
                               struct error *err);
