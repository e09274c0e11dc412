#pragma once

#include "common/base/string_list.h"
#include "common/usage/class_pools.h"
#include "common/usage/cluster_usage.h"
#include "common/usage/storage_class.h"
#include "common/usage/usage_cache.h"
#include "programs/cephzone/live_cluster.h"
#include "programs/cephzone/tool.h"

/*
 * The clusters behind StorageClasses, for those subcommands of cephzone that report on their pools.
 * A cluster is asked once, however many classes it serves. One that does not answer is reported
 * once and its pools are left out, as are those of an invalid class. Main thread.
 */
struct asked_cluster {
    char *id;
    struct cluster_usage usage; /* empty after a failure */
    char *rados_namespace;      /* of RBD images */
    bool failed;
};

struct clusters {
    const char *command; /* for messages */
    int64_t timeout_ms;  /* for each cluster */
    struct ceph *ceph;
    struct config_file *config;
    struct credentials credentials;
    bool is_cephfs; /* of which driver the classes are */
    struct subvolume_source subvolumes;
    struct asked_cluster *items;
    size_t count;
    struct usage_cache *volumes; /* counts them; NULL until needed */
    struct live_cluster live;
    struct string_list errors; /* that did not end the run */
    int code;                  /* exit code so far */
};

/* Flags that all commands with classes have, for the table of a command; @formats are those of -o.
 */
#define CLUSTERS_CLASS_FLAGS(values, formats)                                                      \
    {"driver", FLAG_STRING, &(values).driver, "NAME", "whose classes to take from --classes"},     \
        TOOL_OUTPUT_FLAGS((values).output, formats),                                               \
    {                                                                                              \
        "timeout", FLAG_DURATION, &(values).timeout_ms, NULL, "how long to wait for each cluster"  \
    }

/* What commands that need clusters and classes check: -o, --timeout and, unless the live cluster
 * has them all, --config, the credentials and --classes. */
_must_check_ int clusters_check_flags(const struct tool_flags *flags, const char *const *formats,
                                      struct error *err);
/* For classes of --driver. Without files completes the flags from the live cluster. Reads the
 * credentials. Caller calls clusters_close(), also after a failure. */
_must_check_ int clusters_open(struct clusters *clusters, const char *command,
                               struct tool_flags *flags, struct error *err);
/* Frees everything and returns @code; may end the program with it. */
int clusters_close(struct clusters *clusters, int code);

/* Asks if it was not asked before. Borrowed until another one is asked. */
const struct asked_cluster *clusters_find(struct clusters *clusters, const char *id);

/* The class's pools with places: its list, or the pools that it finds, which are put into @found.
 * @levels as in class_pools_find(). */
const struct pool_entries *clusters_entries(struct clusters *clusters,
                                            const struct class_pools *class,
                                            const struct string_list *levels,
                                            struct pool_entries *found);

/* The class's one pool; see class_pools_plain(). */
struct pool_entry clusters_plain(struct clusters *clusters, const struct class_pools *class);

/* What is known of one pool of a class. */
struct pool_figures {
    const char *root;     /* of CRUSH; NULL: unknown; borrowed until clusters_close() */
    uint64_t used_bytes;  /* these are the data pool's where there is one */
    uint64_t quota_bytes; /* 0: none */
    struct free_space room;
};

/* Is given each pool of each class. */
struct pool_visitor {
    void (*visit)(void *object, const struct storage_class *class, const struct pool_entry *entry,
                  const struct pool_figures *figures);
    void *object;
    bool wants_home; /* also the one pool of a class that has pools with places beside it */
};

/* Visits the pools of the classes in --classes, in their order; those whose clusters do not answer
 * are left out. Classes that cannot be used and pools that do not exist count in the exit code. */
_must_check_ int clusters_visit(struct clusters *clusters, const struct tool_flags *flags,
                                const struct pool_visitor *visitor, struct error *err);

/* What the pool of the entry has promised to volumes, counted there; not known if the cluster does
 * not answer. */
struct pool_provision clusters_count_volumes(struct clusters *clusters,
                                             const struct class_pools *class,
                                             const struct pool_entry *entry, bool need_bytes);
