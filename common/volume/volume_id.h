#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/encoding/uuid.h"

/*
 * The volume handle: what Kubernetes stores in a PV and gives back in every call. Byte for byte
 * that of Ceph-CSI, so that either driver manages the other's volumes:
 *
 *   0001-0009-rook-ceph-0000000000000002-b0285c97-a0ce-11eb-8c66-0242ac110002
 *   |    |    |         |                +- uuid of the journal object
 *   |    |    |         +- location: pool id (rbd) or file system id (cephfs)
 *   |    |    +- cluster id
 *   |    +- length of the cluster id
 *   +- encoding version
 *
 * The same form serves volumes, snapshots and groups; the kind is not in it. Pure, any thread.
 */
#define VOLUME_ID_CLUSTER_MAX 64 /* what fits into CSI's 128 bytes */
#define VOLUME_ID_LENGTH_MAX 128

struct volume_id {
    char cluster_id[VOLUME_ID_CLUSTER_MAX + 1];
    uint64_t location_id;
    struct uuid_text uuid;
};

/* @handle must hold VOLUME_ID_LENGTH_MAX + 1 bytes. The parts must be valid: our own mistake
 * otherwise. */
void volume_id_format(const struct volume_id *id, char *handle);

/*
 * Strict: every separator, hexadecimal digit and length is checked, the uuid must have the form of
 * one, and a cluster id may not hold control characters or slashes. Accepts any encoding version
 * and upper-case digits, as Ceph-CSI does. NOT_FOUND for anything else, because a handle that we
 * cannot have made names nothing of ours.
 */
_must_check_ int volume_id_parse(const char *handle, struct volume_id *id, struct error *err);

/* True if a handle can carry @cluster_id and volume_id_parse() reads it back: not empty, at most
 * VOLUME_ID_CLUSTER_MAX bytes, no control characters or slashes. */
bool volume_id_cluster_is_valid(const char *cluster_id);
