#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "controller/fsck/fsck_scan.h"

static const char *const KINDS[] = {
    [FSCK_PV_WITHOUT_VOLUME] = "pv-without-volume",
    [FSCK_DIRECTORY_PART] = "directory-part",
    [FSCK_OBJECT_UNKNOWN] = "object-unknown",
    [FSCK_NAME_BROKEN] = "name-broken",
    [FSCK_NAME_MISMATCH] = "name-mismatch",
    [FSCK_IMAGE_ID_DIFFERS] = "image-id-differs",
    [FSCK_OBJECT_WITHOUT_IMAGE] = "object-without-image",
    [FSCK_OBJECT_WITHOUT_NAME] = "object-without-name",
    [FSCK_NAME_WITHOUT_OBJECT] = "name-without-object",
    [FSCK_NAME_WITHOUT_POOL] = "name-without-pool",
    [FSCK_NAME_IN_TWO_POOLS] = "name-in-two-pools",
    [FSCK_ENTRY_EMPTY] = "entry-empty",
    [FSCK_ENTRY_UNFINISHED] = "entry-unfinished",
    [FSCK_HALF_ENTRY] = "half-entry",
    [FSCK_SPLIT_ENTRY] = "split-entry",
    [FSCK_GROUP_INCOMPLETE] = "group-incomplete",
    [FSCK_IMAGE_WITHOUT_JOURNAL] = "image-without-journal",
    [FSCK_TEMP_WITHOUT_VOLUME] = "temp-without-volume",
    [FSCK_IMAGE_REMNANT] = "image-remnant",
    [FSCK_LEFTOVER_CUT] = "leftover-cut",
    [FSCK_TRASH_WITHOUT_KEY] = "trash-without-key",
    [FSCK_PURGE_WITHOUT_TRASH] = "purge-without-trash",
    [FSCK_PURGE_PENDING] = "purge-pending",
    [FSCK_FLATTEN_PENDING] = "flatten-pending",
    [FSCK_VOLUME_WITHOUT_PV] = "volume-without-pv",
    [FSCK_PV_RETAINED] = "pv-retained",
    [FSCK_SNAPSHOT_WITHOUT_SOURCE] = "snapshot-without-source",
};

static const char *const SEVERITIES[] = {
    [FSCK_NOTE] = "note",
    [FSCK_WARNING] = "warning",
    [FSCK_ERROR] = "error",
    [FSCK_DATA_LOSS] = "DATA-LOSS",
};

static const char *const ACTIONS[] = {
    [FSCK_NO_REPAIR] = "nothing",
    [FSCK_FORGET_NAME] = "remove the name from the journal",
    [FSCK_FORGET_ENTRY] = "remove the entry from the journal",
    [FSCK_FORGET_PURGE] = "remove the purge key",
    [FSCK_REMOVE_CUT] = "remove the snapshot",
    [FSCK_DISCARD_IMAGE] = "move the image to the trash and queue its data for removal",
};

const char *fsck_kind_name(enum fsck_kind kind)
{
    return KINDS[kind];
}

const char *fsck_severity_name(enum fsck_severity severity)
{
    return SEVERITIES[severity];
}

const char *fsck_action_text(enum fsck_action action)
{
    return ACTIONS[action];
}

struct fsck_finding *scan_report(struct scan *scan, enum fsck_kind kind,
                                 enum fsck_severity severity, size_t pool, const char *object,
                                 const char *fmt, ...)
{
    struct fsck_report *report = scan->report;

    struct fsck_finding *finding = array_add(report->findings, report->count);
    *finding = (struct fsck_finding){
        .kind = kind,
        .severity = severity,
        .cluster_id = xstrdup(scan->session.cluster->cluster_id),
        .pool = xstrdup(pool == SCAN_NO_POOL ? "-" : scan->pools[pool].pool->name),
        .object = xstrdup(object),
        .explanation = xformat_arguments(fmt),
    };
    return finding;
}

void finding_under_way(struct fsck_finding *finding)
{
    _cleanup_free_ char *text = finding->explanation;

    finding->explanation = xasprintf("%s; may be under way: run again", text);
    finding->under_way = true;
    finding->repair.action = FSCK_NO_REPAIR;
}

int finding_mark_if_young(struct scan *scan, struct fsck_finding *finding, struct ceph_pool *pool,
                          const char *object, struct error *err)
{
    time_t modified = 0;

    if (object_last_write(pool, scan->call, object, &modified, err) < 0)
        return -1;
    if (modified == 0 || time(NULL) - modified < scan->options->min_age_s)
        finding_under_way(finding);
    return 0;
}

void finding_set_handle(struct scan *scan, struct fsck_finding *finding,
                        const struct scan_entry *entry)
{
    const char *cluster_id = scan->session.cluster->cluster_id;
    struct volume_id id = {.location_id = (uint64_t)scan->pools[entry->pool].pool->id,
                           .uuid = entry->uuid};

    if (!volume_id_cluster_is_valid(cluster_id))
        return;
    memcpy(id.cluster_id, cluster_id, strlen(cluster_id) + 1);
    volume_id_format(&id, finding->handle);
}

void finding_forget_entry(struct scan *scan, struct fsck_finding *finding,
                          const struct scan_entry *entry, const struct scan_key *name,
                          const struct trash_entry *trash)
{
    size_t directory = name ? name->directory : entry->pool;
    size_t pool = name && name->pool != SCAN_NO_POOL ? name->pool : entry->pool;

    finding->repair = (struct fsck_repair){
        .action = FSCK_FORGET_ENTRY,
        .kind = entry->kind,
        .uuid = entry->uuid,
        .pool_id = scan->pools[pool].pool->id,
        .directory_id = scan->pools[directory].pool->id,
        .has_half = directory != pool,
        .directory_object = name ? xstrdup(name->object) : NULL,
        .key = name ? xstrdup(name->key) : NULL,
        .value = name ? xstrdup(name->value) : NULL,
        .image = xstrdup(scan_attributes(scan, entry, name)->entry.image_name),
        .image_id = trash ? xstrdup(trash->id) : NULL,
    };
}

static int compare_findings(const void *a, const void *b)
{
    const struct fsck_finding *left = a;
    const struct fsck_finding *right = b;
    int order = (int)right->severity - (int)left->severity;

    if (order == 0)
        order = (int)left->kind - (int)right->kind;
    if (order == 0)
        order = strcmp(left->cluster_id, right->cluster_id);
    if (order == 0)
        order = strcmp(left->pool, right->pool);
    return order ? order : strcmp(left->object, right->object);
}

void fsck_report_sort(struct fsck_report *report)
{
    if (report->count > 0)
        qsort(report->findings, report->count, sizeof(*report->findings), compare_findings);
}

void fsck_report_done(struct fsck_report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        struct fsck_finding *finding = &report->findings[i];

        free_all(finding->cluster_id, finding->pool, finding->object, finding->explanation,
                 finding->repair.directory_object, finding->repair.key, finding->repair.value,
                 finding->repair.image, finding->repair.image_id, finding->repair.snapshot);
    }
    free(report->findings);
    string_list_done(&report->unreadable);
    *report = (struct fsck_report){0};
}
