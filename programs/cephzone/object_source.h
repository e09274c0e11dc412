#pragma once

#include "common/base/flags.h"
#include "common/scheduling/binding_options.h"
#include "common/scheduling/cluster_objects.h"

/* What the subcommands of cephzone share that look at Kubernetes objects. Main thread. */

struct objects_flags {
    const char *from; /* file or folder; "": the live cluster */
    const char *kubeconfig;
    const char *context;
    const char *ns;
    const char *output;
    const char *version;
    const char *shape;
};

#define OBJECTS_FLAGS_INIT                                                                         \
    {                                                                                              \
        .from = "", .kubeconfig = "", .context = "", .ns = "default", .output = "table",           \
        .version = "", .shape = ""                                                                 \
    }

/* Dumps of whole clusters; a volume takes 2 to 3 KiB. */
#define OBJECTS_FILE_LIMIT ((size_t)1024 * 1024 * 1024)
#define OBJECTS_FILES_MAX 10000

/* As flags_parse(), but flags may stand before, between and behind the arguments that are none,
 * which are added to @arguments. */
_must_check_ int objects_parse_flags(const struct flag *table, size_t count, int argc, char **argv,
                                     struct string_list *arguments, struct error *err);

/* Version and shape to options. */
_must_check_ int objects_options(const struct objects_flags *flags, struct binding_options *options,
                                 struct error *err);

/* The flags that say where objects come from, for the table of a command. */
#define OBJECTS_SOURCE_FLAGS(values)                                                               \
    {"from", FLAG_STRING, &(values).from, "FILE|FOLDER",                                           \
     "objects as JSON or YAML; without it the live cluster is asked"},                             \
        {"kubeconfig", FLAG_STRING, &(values).kubeconfig, "FILE",                                  \
         "how to reach the live cluster; by default $KUBECONFIG, the pod's service account or "    \
         "~/.kube/config"},                                                                        \
    {                                                                                              \
        "context", FLAG_STRING, &(values).context, "NAME", "of the kubeconfig"                     \
    }

/* From the file or folder of the flags or, without, from the live cluster. */
_must_check_ int objects_get(const struct objects_flags *flags, struct cluster_objects *cluster,
                             struct error *err);

/* Reads a file, or all *.json, *.yaml and *.yml of a folder in the order of their names, and
 * settles the cluster. What begins with '{' or '[' is JSON. Caller calls cluster_done(). */
_must_check_ int objects_load(const char *path, struct cluster_objects *cluster, struct error *err);
