#include "controller/place_survey.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/topology/hierarchy.h"

static const char *cluster_of(const struct placing *placing, const struct pool_entry *entry)
{
    return class_pools_cluster(placing->class, entry);
}

/* Asked once. Valid until another cluster is asked. */
static const struct known_cluster *know_cluster(struct survey *survey, const char *cluster_id)
{
    const struct placing *placing = survey->placing;
    _cleanup_error_ struct error err = {0};

    for (size_t i = 0; i < survey->cluster_count; i++)
        if (strcmp(survey->clusters[i].id, cluster_id) == 0)
            return &survey->clusters[i];
    struct known_cluster *known = array_add(survey->clusters, survey->cluster_count);
    *known = (struct known_cluster){.id = cluster_id};
    if (usage_cache_get(placing->controller->usage, placing->call, cluster_id, placing->credentials,
                        &known->snapshot, &err) == 0)
        crush_list_types(&usage_snapshot_usage(known->snapshot)->crush, &known->types);
    else
        log_warn(placing->call,
                 "choosing a pool without knowing the free space of cluster '%s': %s", cluster_id,
                 err.message);
    return known;
}

static const struct cluster_usage *usage_of(struct survey *survey, const char *cluster_id)
{
    const struct known_cluster *known = know_cluster(survey, cluster_id);

    return known->snapshot ? usage_snapshot_usage(known->snapshot) : NULL;
}

void survey_order_entries(struct survey *survey)
{
    for (size_t i = 0; i < survey->entries->count; i++) {
        struct pool_entry *entry = &survey->entries->items[i];
        const char *cluster_id = cluster_of(survey->placing, entry);
        const struct hierarchy hierarchy = {survey->placing->controller->levels,
                                            &know_cluster(survey, cluster_id)->types};

        pool_entry_order(entry, &hierarchy);
    }
}

/* With @call the listing of a pool's volumes is waited for. */
static struct pool_provision provision_of(const struct placing *placing,
                                          const struct pool_entry *entry, struct call *call)
{
    const struct usage_pool pool = {cluster_of(placing, entry), entry->pool,
                                    placing->rados_namespace,
                                    class_pools_filesystem(placing->class, entry)};

    if (!class_pools_need_volumes(placing->class))
        return (struct pool_provision){0};
    return usage_cache_provision(placing->controller->usage, call, &pool, placing->credentials,
                                 placing->class->overcommit > 0);
}

static int survey_entry(struct survey *survey, size_t index, struct call *call, struct error *err)
{
    const struct placing *placing = survey->placing;
    const struct pool_entry *entry = &survey->entries->items[index];
    const struct cluster_usage *usage = usage_of(survey, cluster_of(placing, entry));
    struct placement_candidate *candidate = &survey->candidates[index];
    const struct cluster_pool *pool = NULL;

    *candidate = (struct placement_candidate){.entry = entry, .space = {.remark = "room unknown"}};
    struct pool_provision provision = provision_of(placing, entry, call);
    candidate->volumes = provision.volumes;
    if (!usage)
        return 0;
    if (class_pools_look_up(placing->class, entry, index, usage, &pool, err) < 0)
        return -1;
    candidate->space = free_space_of_pool(&pool->usage, &provision, placing->class->overcommit);
    return 0;
}

bool placing_is_in(const struct placing *placing, const struct pool_entry *entry,
                   const char *cluster_id, const char *fs_name)
{
    if (strcmp(cluster_of(placing, entry), cluster_id) != 0)
        return false;
    return !fs_name || strcmp(class_pools_filesystem(placing->class, entry), fs_name) == 0;
}

/* Why the entry does not suit the source; NULL if it does. A restore or clone stays beside its
 * source unless the class says otherwise. */
static const char *refuse_crossing(const struct placing *placing, const struct pool_entry *entry)
{
    if (!placing->source_cluster)
        return NULL;
    if (!placing_is_in(placing, entry, placing->source_cluster, NULL))
        return "in another cluster than the source";
    if (!placing_is_in(placing, entry, placing->source_cluster, placing->source_fs))
        return "in another file system than the source, and Ceph copies within one";
    if (!placing->source_pool || strcmp(entry->pool, placing->source_pool) == 0)
        return NULL;
    if (placing->shows_source)
        return "not where the files of the snapshot are, which the volume shows";
    return placing->class->may_cross_pools
               ? NULL
               : "not the pool of the source, and the class does not say crossPoolRestore: copy";
}

static const char *refuse_entry(const struct survey *survey, const struct pool_entry *entry)
{
    const struct placing *placing = survey->placing;

    if (place_is_taken_over(survey->takeovers.map, entry))
        return PLACE_TAKEN_OVER;
    if (placing->only_fs && !placing_is_in(placing, entry, placing->only_cluster, placing->only_fs))
        return "not in the file system in which the volume was begun";
    return refuse_crossing(placing, entry);
}

int survey_all(struct survey *survey, struct call *call, struct error *err)
{
    for (size_t i = 0; i < survey->entries->count; i++)
        if (survey_entry(survey, i, call, err) < 0)
            return -1;
    for (size_t i = 0; i < survey->entries->count; i++)
        survey->candidates[i].refusal = refuse_entry(survey, &survey->entries->items[i]);
    return 0;
}

void survey_done(struct survey *survey)
{
    for (size_t i = 0; i < survey->cluster_count; i++) {
        if (survey->clusters[i].snapshot)
            usage_snapshot_unref(survey->clusters[i].snapshot);
        string_list_done(&survey->clusters[i].types);
    }
    takeover_snapshot_done(&survey->takeovers);
    free(survey->clusters);
    free(survey->candidates);
}
