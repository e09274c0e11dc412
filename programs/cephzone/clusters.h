#pragma once

#include "common/base/string_list.h"
#include "common/usage/class_pools.h"
#include "common/usage/cluster_usage.h"
#include "common/usage/storage_class.h"
#include "common/usage/usage_cache.h"
#include "programs/cephzone/tool.h"

/*
 * Looking at the clusters behind StorageClasses, for those subcommands of cephzone that tell of
 * their pools. A cluster is asked once, however many classes it serves; one that does not answer is
 * reported once and costs its own pools only. Main thread.
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
    struct string_list errors;   /* that did not end the run */
    int code;                    /* exit code so far */
};

/* For classes of @driver. Reads the credentials. Caller calls clusters_close(), also after a
 * failure. */
_must_check_ int clusters_open(struct clusters *clusters, const char *command,
                               const struct tool_flags *flags, const char *driver,
                               int64_t timeout_ms, struct error *err);
/* Frees everything and returns @code; may end the program with it. */
int clusters_close(struct clusters *clusters, int code);

/* Tells of a failure that does not end the run: kind 'name': message. */
void clusters_report(struct clusters *clusters, int code, const char *kind, const char *name,
                     const char *message);

/* Asks if it was not asked before. Borrowed until the next look at another one. */
const struct asked_cluster *clusters_find(struct clusters *clusters, const char *id);

/* The class's pools with places: its list, or the pools that it finds, which are put into @found.
 * @levels as in class_pools_find(). */
const struct pool_entries *clusters_entries(struct clusters *clusters,
                                            const struct class_pools *class,
                                            const struct string_list *levels,
                                            struct pool_entries *found);

/* The class's one pool; see class_pools_plain(). */
struct pool_entry clusters_plain(struct clusters *clusters, const struct class_pools *class);

/* What there is to tell of one pool of a class. */
struct pool_figures {
    const char *cluster_id;
    char *root;           /* owned; NULL: unknown */
    uint64_t used_bytes;  /* these are the data pool's where there is one */
    uint64_t quota_bytes; /* 0: none */
    struct room room;
    bool is_missing; /* the cluster has no such pool, or not for such volumes */
};

/* False if the cluster does not answer. Caller calls pool_figures_done(). */
bool clusters_look(struct clusters *clusters, const struct class_pools *class,
                   const struct pool_entry *entry, struct pool_figures *figures);

/* What the pool of the entry has promised to volumes, counted there; not known if the cluster does
 * not answer. */
struct pool_provision clusters_count_volumes(struct clusters *clusters,
                                             const struct class_pools *class,
                                             const struct pool_entry *entry, bool need_bytes);
void pool_figures_done(struct pool_figures *figures);
#define _cleanup_pool_figures_ _cleanup_(pool_figures_done)
