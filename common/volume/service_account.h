#pragma once

#include "common/base/call.h"
#include "common/base/strmap.h"

/*
 * Which ServiceAccounts may use a volume, as Ceph-CSI 3.17 has it. An administrator writes their
 * names, separated by commas, to the metadata of the image (METADATA_RBD_ACCOUNT) or the subvolume
 * (METADATA_CEPHFS_ACCOUNT). ControllerPublish hands them on in the publish context, and
 * NodePublish compares them with that of the pod, which kubelet tells where the CSIDriver has
 * podInfoOnMount. Any thread.
 */

/* Adds what the metadata says to the publish context; nothing if it says nothing. Pure. */
void service_account_hand_on(bool is_cephfs, const struct strmap *metadata,
                             struct strmap *publish_context);

/* PERMISSION_DENIED if the pod's account is none of those. A pod whose account is not told is
 * allowed, with a warning. */
_must_check_ int service_account_check(struct call *call, const struct strmap *publish_context,
                                       const struct strmap *volume_context, struct error *err);
