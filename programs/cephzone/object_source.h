#pragma once

#include "common/base/flags.h"
#include "common/scheduling/binding_options.h"
#include "common/scheduling/cluster_objects.h"

/* What the subcommands of cephzone share that examine Kubernetes objects. Main thread. */

struct object_flags {
    const char *from; /* file or folder; "": the live cluster */
    const char *kubeconfig;
    const char *context;
    const char *output;
    const char *version;
    const char *shape;
};

/* The flags that say where objects come from, for the table of a command. */
#define OBJECT_SOURCE_FLAGS(values)                                                                \
    {"from", FLAG_STRING, &(values).from, "FILE|FOLDER",                                           \
     "objects as JSON or YAML; without it the live cluster is asked"},                             \
        {"kubeconfig", FLAG_STRING, &(values).kubeconfig, "FILE",                                  \
         "how to reach the live cluster; by default $KUBECONFIG, the pod's service account or "    \
         "~/.kube/config"},                                                                        \
    {                                                                                              \
        "context", FLAG_STRING, &(values).context, "NAME", "of the kubeconfig"                     \
    }

/* The flags that say how the scheduler decides. */
#define OBJECT_RULES_FLAGS(values)                                                                 \
    {"kubernetes-version", FLAG_STRING, &(values).version, "VERSION",                              \
     "whose rules to apply, '1.33'; the newest by default; 'original' for the design's order"},    \
    {                                                                                              \
        "shape", FLAG_STRING, &(values).shape, "POINTS",                                           \
            "the scheduler's scoring shape, UTILIZATION:SCORE,..."                                 \
    }

/* Version and shape to options. */
_must_check_ int object_flags_options(const struct object_flags *flags,
                                      struct binding_options *options, struct error *err);

/* From the file or folder of the flags or, without, from the live cluster. Caller calls
 * cluster_done(). */
_must_check_ int objects_get(const struct object_flags *flags, struct cluster_objects *cluster,
                             struct error *err);

/* The namespace that a command without -n looks at: that of the kubeconfig's context, "default" for
 * objects of files. Caller frees. */
_must_check_ int objects_namespace(const struct object_flags *flags, char **ns, struct error *err);

/* One document of a dump: an object, a list of them, or an array of these. Borrowed. */
typedef int object_document_fn(void *context, json_t *document, struct error *err);
/* Visits the documents of a file, or of all *.json, *.yaml and *.yml of a folder in the order of
 * their names. What begins with '{' or '[' is JSON. Errors, those of @visit as well, name the file.
 */
_must_check_ int objects_each_document(const char *path, object_document_fn *visit, void *context,
                                       struct error *err);

/* Dumps of whole clusters; a volume takes 2 to 3 KiB. */
#define OBJECTS_FILE_LIMIT ((size_t)1024 * 1024 * 1024)

/* Reads what objects_each_document() visits, and settles the cluster. Caller calls cluster_done().
 */
_must_check_ int objects_load(const char *path, struct cluster_objects *cluster, struct error *err);
