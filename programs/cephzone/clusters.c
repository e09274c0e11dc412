#include "programs/cephzone/clusters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/config/session.h"

#define STOP_MS 5000

int clusters_check_flags(const struct tool_flags *flags, const char *const *formats,
                         struct error *err)
{
    bool is_live = live_cluster_is_wanted(flags);

    if ((!is_live && tool_check_cluster(flags, err) < 0) ||
        tool_check_output(flags->output, formats, err) < 0)
        return -1;
    return is_live ? tool_check_timeout(flags, err) : tool_check_classes(flags, err);
}

int clusters_open(struct clusters *clusters, const char *command, struct tool_flags *flags,
                  struct error *err)
{
    *clusters = (struct clusters){.command = command, .timeout_ms = flags->timeout_ms};
    if (live_cluster_is_wanted(flags) &&
        live_cluster_fill(&clusters->live, command, flags, NULL, err) < 0)
        return -1;
    clusters->is_cephfs = storage_class_is_cephfs(flags->driver);
    clusters->subvolumes.instance_id = "default";
    clusters->ceph = ceph_new(&(struct ceph_options){0});
    clusters->config = config_file_new(flags->config);
    return tool_read_credentials(flags, &clusters->credentials, err);
}

int clusters_close(struct clusters *clusters, int code)
{
    if (clusters->volumes && !usage_cache_stop(clusters->volumes, STOP_MS)) {
        fflush(NULL);
        _exit(code); /* a listing hangs */
    }
    if (clusters->volumes)
        usage_cache_free(clusters->volumes);
    for (size_t i = 0; i < clusters->count; i++) {
        cluster_usage_done(&clusters->items[i].usage);
        free(clusters->items[i].id);
        free(clusters->items[i].rados_namespace);
    }
    free(clusters->items);
    string_list_done(&clusters->errors);
    credentials_done(&clusters->credentials);
    if (clusters->config)
        config_file_free(clusters->config);
    live_cluster_done(&clusters->live);
    return tool_leave_ceph(clusters->ceph, code);
}

/* A failure that does not end the run: kind 'name': message. */
static void report_failure(struct clusters *clusters, int code, const char *kind, const char *name,
                           const char *message)
{
    _cleanup_free_ char *text = xasprintf("%s '%s': %s", kind, name, message);

    fprintf(stderr, "cephzone %s: %s\n", clusters->command, text);
    string_list_add(&clusters->errors, text);
    if (code > clusters->code)
        clusters->code = code;
}

static int ask_cluster(struct clusters *clusters, struct asked_cluster *cluster, struct error *err)
{
    struct session session = {0};
    struct call call;

    call_init(&call, clusters->count, clusters->command, deadline_in_ms(clusters->timeout_ms));
    int result = session_open(clusters->ceph, clusters->config, &call, cluster->id,
                              &clusters->credentials, &session, err);
    if (result == 0) {
        cluster->rados_namespace =
            xstrdup(clusters->is_cephfs ? "" : session_rbd_namespace(&session));
        result =
            cluster_usage_ask(session.cluster, &call, clusters->is_cephfs, &cluster->usage, err);
    }
    session_close(&session);
    call_done(&call);
    return result;
}

const struct asked_cluster *clusters_find(struct clusters *clusters, const char *id)
{
    _cleanup_error_ struct error err = {0};

    for (size_t i = 0; i < clusters->count; i++)
        if (strcmp(clusters->items[i].id, id) == 0)
            return &clusters->items[i];
    struct asked_cluster *cluster = array_add(clusters->items, clusters->count);
    *cluster = (struct asked_cluster){.id = xstrdup(id)};
    if (ask_cluster(clusters, cluster, &err) < 0) {
        cluster->failed = true;
        report_failure(clusters, TOOL_BLIND, "cluster", id, err.message);
    }
    return cluster;
}

const struct pool_entries *clusters_entries(struct clusters *clusters,
                                            const struct class_pools *class,
                                            const struct string_list *levels,
                                            struct pool_entries *found)
{
    if (!class->is_auto)
        return &class->entries;
    class_pools_find(class, &clusters_find(clusters, class->cluster_id)->usage, levels, found);
    return found;
}

struct pool_entry clusters_plain(struct clusters *clusters, const struct class_pools *class)
{
    return class_pools_plain(class, &clusters_find(clusters, class->cluster_id)->usage);
}

static void visit_pool(struct clusters *clusters, const struct storage_class *class,
                       const struct pool_entry *entry, const struct pool_visitor *visitor)
{
    const struct asked_cluster *cluster =
        clusters_find(clusters, class_pools_cluster(&class->pools, entry));
    struct pool_figures figures = {0};

    if (cluster->failed)
        return;
    const struct cluster_pool *pool =
        class_pools_pool(&class->pools, entry, &cluster->usage, &figures.room.remark);
    if (pool)
        figures = (struct pool_figures){.root = pool->usage.root,
                                        .used_bytes = pool->usage.stored_bytes,
                                        .quota_bytes = pool->usage.quota_bytes,
                                        .room = free_space_of_pool(&pool->usage, NULL, 0)};
    else if (clusters->code == 0)
        clusters->code = TOOL_FOUND;
    visitor->visit(visitor->object, class, entry, &figures);
}

static void visit_class(struct clusters *clusters, const struct storage_class *class,
                        const struct pool_visitor *visitor)
{
    const struct class_pools *pools = &class->pools;
    _cleanup_pool_entries_ struct pool_entries found = {0};

    if (class->fault) {
        report_failure(clusters, TOOL_FOUND, "class", class->name, class->fault);
        return;
    }
    if (pools->home && (visitor->wants_home || !class_pools_have_places(pools))) {
        struct pool_entry plain = clusters_plain(clusters, pools);

        visit_pool(clusters, class, &plain, visitor);
        pool_entry_done(&plain);
    }
    const struct pool_entries *entries = clusters_entries(clusters, pools, NULL, &found);
    for (size_t i = 0; i < entries->count; i++)
        visit_pool(clusters, class, &entries->items[i], visitor);
}

int clusters_visit(struct clusters *clusters, const struct tool_flags *flags,
                   const struct pool_visitor *visitor, struct error *err)
{
    _cleanup_storage_class_dump_ struct storage_class_dump dump = {0};

    if (storage_class_dump_load(flags->classes, flags->driver, &dump, err) < 0)
        return -1;
    for (size_t i = 0; i < dump.count; i++)
        visit_class(clusters, &dump.items[i], visitor);
    if (dump.count == 0)
        fprintf(stderr, "cephzone %s: no class in '%s' has the provisioner '%s'\n",
                clusters->command, flags->classes, flags->driver);
    return 0;
}

struct pool_provision clusters_count_volumes(struct clusters *clusters,
                                             const struct class_pools *class,
                                             const struct pool_entry *entry, bool need_bytes)
{
    const char *cluster_id = class_pools_cluster(class, entry);
    const struct asked_cluster *cluster = clusters_find(clusters, cluster_id);
    struct call call;

    if (cluster->failed)
        return (struct pool_provision){0};
    if (!clusters->volumes)
        clusters->volumes = usage_cache_new(&(struct usage_cache_options){
            .ceph = clusters->ceph,
            .config = clusters->config,
            .subvolumes = clusters->is_cephfs ? &clusters->subvolumes : NULL,
            .max_age_ms = INT64_MAX,
            .listing_age_ms = INT64_MAX});
    const struct usage_pool pool = {cluster_id, entry->pool, cluster->rados_namespace,
                                    class_pools_filesystem(class, entry)};
    call_init(&call, clusters->count, clusters->command, deadline_in_ms(clusters->timeout_ms));
    struct pool_provision provision =
        usage_cache_provision(clusters->volumes, &call, &pool, &clusters->credentials, need_bytes);
    call_done(&call);
    return provision;
}
