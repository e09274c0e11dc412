#pragma once

#include "common/base/call.h"
#include "common/ceph/ceph_ops.h"
#include "common/config/config.h"
#include "common/config/credentials.h"
#include "controller/regenerate/claimed_volume.h"

/*
 * Writes the journal entry of an RBD volume anew from what its PersistentVolume says: after a
 * failover to a mirrored cluster the images are there, and the journal, which is not mirrored, is
 * not. Without an entry a volume can be neither staged nor deleted by its handle.
 */
struct regenerate_site {
    struct ceph *ceph; /* all borrowed */
    struct config_file *config;
    const char *instance_id;  /* --instanceid */
    const char *mapping_path; /* --clustermapping */
    const char *cluster_name; /* --clustername */
};

enum regenerate_outcome {
    REGENERATE_NOTHING,  /* the entry is complete */
    REGENERATE_REPAIRED, /* something of it was missing or wrong */
    REGENERATE_WRITTEN,  /* there was none */
};

/*
 * Looks for the entry where the handle leads, cluster-mapping.json included. If it is there: its
 * image id, its owner (the claim's namespace), its place in the directory and the
 * names on the image are repaired. If it is not: the image, PREFIXUUID, is looked for in the
 * clusters to which the mapping leads and in the handle's own, in the pools that mapping,
 * attributes and handle name, and in the RADOS namespace of that cluster's config.json; where it
 * is, the entry is written, and then looked up by the handle as any call would. Nothing is written
 * for an image that is nowhere, and what was written is removed again if the image goes meanwhile,
 * as it does when the volume is being deleted.
 *
 * NOT_FOUND: there is no such image. FAILED_PRECONDITION: the name leads to another volume, or the
 * mapping does not lead to the pool. DATA_LOSS: the entry is that of another name. Repeatable; may
 * be interrupted anywhere. Cost: 4 RT for a complete entry, 9 to write.
 */
_must_check_ int regenerate_journal(const struct regenerate_site *site, struct call *call,
                                    const struct kube_pv *volume,
                                    const struct credentials *credentials,
                                    enum regenerate_outcome *outcome, struct error *err);
