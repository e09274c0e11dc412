#pragma once

#include "common/base/call.h"
#include "common/base/network.h"
#include "common/base/string_list.h"
#include "common/base/strmap.h"
#include "common/ceph/ceph_ops.h"
#include "common/config/config.h"
#include "common/config/credentials.h"
#include "controller/addons/own_fence.h"

/*
 * Fences that somebody asks for by network, as csi-addons does, in one cluster and as the user that
 * came with the request. (controller/takeover/fences.h has those of takeovers, in all clusters.)
 *
 * They are ranges of the OSDs' blocklist, as Ceph-CSI's are, so that either driver removes what the
 * other made. Entries for single addresses (IP:0/0), which takeovers make, are another kind and are
 * neither counted nor removed: who unfences a network must not take a takeover's fence away. Only
 * where Ceph does not know ranges a network becomes one entry per address, and at most
 * NETWORK_FENCE_ADDRESSES of them.
 *
 * The OSDs refuse fenced clients, and the MDS ends their sessions by itself when it sees the
 * osdmap; nothing else is needed for CephFS. Every function may be repeated and called at the same
 * time by several.
 */
struct network_fences {
    struct ceph *ceph; /* all borrowed */
    struct config_file *config;
    const struct own_fence *own; /* on nodes with --enable-fencing; else NULL */
};

#define NETWORK_FENCE_CIDRS 1024    /* in one request */
#define NETWORK_FENCE_ADDRESSES 256 /* of a network, in a cluster that does not know ranges */

struct fence_request {
    struct strmap parameters; /* clusterID */
    struct credentials credentials;
    struct string_list cidrs;
};

void fence_request_done(struct fence_request *request);
#define _cleanup_fence_request_ _cleanup_(fence_request_done)

/*
 * Fences, and returns when the entries have been read back. INVALID_ARGUMENT for a clusterID that
 * is missing or unknown, for an empty list, and for what is no network: nothing is done then.
 * PERMISSION_DENIED naming the capability that the user lacks; ABORTED if somebody unfenced the
 * same meanwhile. Two commands, and one for each network that is not fenced yet.
 */
_must_check_ int network_fences_add(const struct network_fences *fences, struct call *call,
                                    const struct fence_request *request, struct error *err);

/* The inverse. A network that is not fenced is success. A warning is logged if another entry still
 * covers it. Two commands, and one for each entry. */
_must_check_ int network_fences_remove(const struct network_fences *fences, struct call *call,
                                       const struct fence_request *request, struct error *err);

/* All that is fenced for good by range or address, whoever did it; @cidrs is empty. One command. */
_must_check_ int network_fences_list(const struct network_fences *fences, struct call *call,
                                     const struct fence_request *request, struct string_list *cidrs,
                                     struct error *err);

/* A client as a request to fence it would name it. */
struct fence_client {
    char *id; /* the cluster's fsid */
    struct string_list cidrs;
};

void fence_client_done(struct fence_client *client);
#define _cleanup_fence_client_ _cleanup_(fence_client_done)

/* This process, under the addresses that the cluster knows it by; on a node, which is a machine's
 * network, the same as the kernel's. With @own a fence of this node that is over ends first, and
 * errors are those of own_fence_lift(); else no command. Caller calls fence_client_done(), also
 * after a failure. */
_must_check_ int network_fences_self(const struct network_fences *fences, struct call *call,
                                     const struct fence_request *request,
                                     struct fence_client *client, struct error *err);

/* The addresses in what Ceph prints: "10.0.0.7:0/3141", "[v2:[fd00::7]:0/9,v1:[fd00::7]:0/9]".
 * Each once, as a network. INTERNAL if there is none. Pure. */
_must_check_ int network_fences_decode_addresses(const char *printed, struct string_list *cidrs,
                                                 struct error *err);
