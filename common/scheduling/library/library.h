#pragma once

#include "common/scheduling/binding_options.h"
#include "common/scheduling/cluster_objects.h"
#include "common/scheduling/library/include/cephzone/scheduling.h"

/* What the files of the boundary share. Threads: as the public header has it. */

struct czs_cluster {
    struct cluster_objects objects; /* settled by library_settle(), not before */
    struct binding_options options;
    uint64_t generation;
    struct named_list assumed; /* struct assumed_pod */
};

/* Hands the message to the caller, if one asked for it, and gives the status that stands for it. */
int library_fail(struct error *err, char **error);
/* CZS_INVALID: "a cluster is missing". */
int library_refuse_null(const char *what, char **error);

/* Before anything is looked up in indexes. Many objects are put faster before than after it. */
void library_settle(struct czs_cluster *cluster);
