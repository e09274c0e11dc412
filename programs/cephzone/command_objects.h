#pragma once

#include "common/scheduling/cluster_objects.h"
#include "programs/cephzone/object_source.h"

/* The subcommands on objects that are loaded already: from files, or from an API server. Each
 * prints and returns the exit code. */

/* @kind is "pod" or "pvc". */
int explain_objects(struct cluster_objects *cluster, const struct objects_flags *flags,
                    const char *kind, const char *name);

struct simulation_request;
int simulate_objects(struct cluster_objects *cluster, const struct objects_flags *flags,
                     const struct simulation_request *request);

/* Volumes of these @names, all if there are none. */
int convert_objects(const struct cluster_objects *cluster, const struct string_list *names,
                    bool new_keys, bool is_json);
