#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/string_list.h"
#include "common/base/strmap.h"
#include "common/kube/kube_ops.h"

/*
 * The volumes that a failed domain affects, as the API server knows them: the PVs that are pinned
 * to it, and those that its nodes have attached or in use wherever they are pinned.
 *
 * Costs a list of VolumeAttachments and one of PersistentVolumes, page by page; there is no
 * selector for either. Any thread. Errors as in kube_ops.h.
 */
struct domain_volume {
    char *name;   /* of the PV; "" if a node uses a volume that has none any more */
    char *handle; /* never "" */
    char *claim_namespace;
    char *claim; /* "" if no claim has it */
    struct strmap attributes;
    struct string_list clients; /* names of the nodes that have it attached, or pods with it */
    bool is_pinned;             /* to the domain; or else only in use there */
};

struct domain_volumes {
    struct domain_volume *items;
    size_t count;
};

#define DOMAIN_VOLUMES_MAX 200000

/* Whose volumes; all borrowed. */
struct domain_query {
    const char *driver;
    const struct string_list *pins; /* "KEY=VALUE" of node affinities: segments, memberships */
    /* Names of nodes whose attachments do not count; values "". NULL: attachments are not read. */
    const struct strmap *foreign;
    const struct strmap *handles; /* that the domain's nodes report as in use; values "" */
    /* Claims ("NAMESPACE/NAME") that pods of the domain's nodes use, where nothing is attached;
     * values are names of nodes, "n1 n2". NULL: they are not known. */
    const struct strmap *claims;
};

/* @volumes is zero. Caller calls domain_volumes_done(). */
_must_check_ int domain_volumes_read(struct kube *kube, struct call *call,
                                     const struct domain_query *query,
                                     struct domain_volumes *volumes, struct error *err);
void domain_volumes_done(struct domain_volumes *volumes);
#define _cleanup_domain_volumes_ _cleanup_(domain_volumes_done)
