#pragma once

#include <stdbool.h>

#include "common/base/error.h"
#include "common/base/string_list.h"
#include "common/base/strmap.h"

/*
 * What a volume's metadata says of its clients: by which address and as which Ceph user a node has
 * it. RBD keeps it with the image, CephFS with the subvolume or, if a volume shows a snapshot, with
 * that. The names are in common/ceph/on_disk.h.
 *
 *   address    METADATA_x_CLIENT HANDLE/NODE   "10.0.0.7"          while it is attached to the node
 *   user       METADATA_x_USER HANDLE/NODE     "csi-rbd-node"      the same
 *   first form METADATA_x_CLIENT NODE          "10.0.0.7"          of Ceph-CSI 3.15.0
 *   lasting    CLIENT_RECORD_x NODE            "10.0.0.7:0/3141"   ours; never removed
 *
 * The first two are Ceph-CSI's, so that either driver fences and forgets the clients of the other.
 * A volume that is detached need not have been let go by its node, which may be unreachable: its
 * address then becomes the lasting one, for takeovers. Volumes that no journal knows have only
 * that.
 *
 * Pure. Any thread.
 */
struct client_place {
    bool is_cephfs;
    const char *handle; /* NULL: a volume that no journal knows */
};

/* What a node writes before it maps or mounts. @printed is its address as Ceph prints it. INTERNAL
 * if that is none. */
_must_check_ int client_keys_fill(const struct client_place *place, const char *node_id,
                                  const char *printed, const char *user, struct strmap *entries,
                                  struct error *err);
/* Adds node id -> IP address. Where a node has several, that of the handle counts, then the first
 * form, then the lasting one. INVALID_ARGUMENT for what is no address. */
_must_check_ int client_keys_read(const struct client_place *place, const struct strmap *metadata,
                                  struct strmap *clients, struct error *err);
/* What changes when @place is detached from the node. */
void client_keys_retire(const struct client_place *place, const char *node_id,
                        const struct strmap *metadata, struct strmap *entries,
                        struct string_list *removed);

/* The IP address of a client as Ceph prints it: "10.0.0.7:0/3141", "v2:[fd00::7]:0/3141",
 * "[v2:10.0.0.7:0/1,v1:10.0.0.7:0/1]" (of several the first); or without port and number, as
 * Ceph-CSI keeps it. *@address: caller frees. */
_must_check_ int client_address_parse(const char *text, char **address, struct error *err);
