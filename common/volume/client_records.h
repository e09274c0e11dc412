#pragma once

#include <stdbool.h>

#include "common/base/call.h"
#include "common/base/strmap.h"
#include "common/ceph/ceph_ops.h"
#include "common/config/config.h"
#include "common/config/standing_credentials.h"

/*
 * Who may have a volume mapped: NodeStage writes the address of the node's Ceph client into the
 * volume's metadata before it maps, as Ceph-CSI does (client_keys.h).
 *
 * Unlike the list of watchers, which forgets a client half a minute after its network failed, this
 * still names an isolated node that goes on writing as soon as it can. Any thread.
 */
struct client_records {
    struct ceph *ceph; /* all borrowed */
    struct config_file *config;
    struct standing_credentials *standing;
    const char *instance_id;
    const char *mapping_path;     /* --clustermapping; NULL: none */
    const char *cephfs_namespace; /* --radosnamespacecephfs; NULL or "": not given */
    bool is_cephfs;
};

/*
 * Adds node id -> IP address ("10.0.0.7", "fd00::7"). @attributes are the PV's: a static volume is
 * found by them. Nothing is added for a volume that is gone, *@is_there being false, or whose kind
 * has no records (migrated ones, CephFS snapshots shown as volumes). INVALID_ARGUMENT for an
 * invalid address and for a cluster that config.json does not name. About 11 RT for RBD, 2 RT and a
 * command to the manager for CephFS.
 */
_must_check_ int client_records_read(const struct client_records *records, struct call *call,
                                     const char *handle, const struct strmap *attributes,
                                     struct strmap *clients, bool *is_there, struct error *err);
