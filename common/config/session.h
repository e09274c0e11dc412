#pragma once

#include "common/base/call.h"
#include "common/ceph/ceph_ops.h"
#include "common/config/config.h"
#include "common/config/credentials.h"

/* One call's access to a cluster: its configuration and a connection as the call's user. */
struct session {
    struct config *config;
    const struct cluster_config *cluster_config; /* borrowed from config */
    struct ceph_cluster *cluster;
};

/*
 * Finds @cluster_id in the configuration and shares the connection to it. Errors as those of
 * config_find_cluster() and the connect function of ceph_ops.h.
 */
_must_check_ int session_open(struct ceph *ceph, struct config_file *config_file, struct call *call,
                              const char *cluster_id, const struct credentials *credentials,
                              struct session *session, struct error *err);
/* Close its pools first. Safe on a zeroed session. */
void session_close(struct session *session);
#define _cleanup_session_ _cleanup_(session_close)

/* CephFS: the subvolume group, and the RADOS namespace of the journal; @fallback (may be NULL) is
 * --radosnamespacecephfs. The default of both is 'csi'. */
const char *session_cephfs_group(const struct session *session);
const char *session_cephfs_namespace(const struct session *session, const char *fallback);

/* The RADOS namespace of RBD images and their journal; "" for the default one. */
const char *session_rbd_namespace(const struct session *session);
