#include "programs/cephzone/fsck_print.h"

#include <stdio.h>

#include "common/base/columns.h"
#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "programs/cephzone/output.h"

#define SEVERITY_COUNT (FSCK_DATA_LOSS + 1)

static void add_finding(const struct fsck_report *report, const struct fsck_finding *finding,
                        struct columns *columns)
{
    bool is_repairable = finding->repair.action != FSCK_NO_REPAIR;

    columns_add(columns, fsck_severity_name(finding->severity));
    columns_add(columns, fsck_kind_name(finding->kind));
    columns_take(columns, report->clusters > 1
                              ? xasprintf("%s/%s", finding->cluster_id, finding->pool)
                              : xstrdup(finding->pool));
    columns_add(columns, finding->object);
    columns_take(columns, xasprintf("%s%s%s%s%s", finding->explanation,
                                    finding->handle[0] ? "; handle " : "", finding->handle,
                                    is_repairable ? "; --repair would " : "",
                                    is_repairable ? fsck_action_text(finding->repair.action) : ""));
}

static void count_severities(const struct fsck_report *report, size_t *counts)
{
    for (size_t i = 0; i < report->count; i++)
        counts[report->findings[i].severity]++;
}

static void print_summary(const struct fsck_report *report)
{
    size_t counts[SEVERITY_COUNT] = {0};

    count_severities(report, counts);
    printf("%zu data loss, %zu errors, %zu warnings, %zu notes; looked at %zu volumes, %zu "
           "snapshots, %zu groups, %zu images and %zu in the trash, in %zu pools of %zu clusters",
           counts[FSCK_DATA_LOSS], counts[FSCK_ERROR], counts[FSCK_WARNING], counts[FSCK_NOTE],
           report->volumes, report->snapshots, report->groups, report->images, report->trashed,
           report->pools, report->clusters);
    if (report->pvs + report->pvs_unchecked > 0)
        printf("; at %zu PVs, not at %zu that are static, migrated or of other pools", report->pvs,
               report->pvs_unchecked);
    for (size_t i = 0; i < report->unreadable.count; i++)
        printf("%s%s", i ? ", " : "; this user may not read ", report->unreadable.items[i]);
    putchar('\n');
}

void fsck_print_table(const struct fsck_report *report)
{
    static const char *const titles[] = {"SEVERITY", "KIND", "POOL", "OBJECT", "EXPLANATION"};
    _cleanup_columns_ struct columns columns = {0};

    columns_add_titles(&columns, titles, ARRAY_LENGTH(titles));
    for (size_t i = 0; i < report->count; i++)
        add_finding(report, &report->findings[i], &columns);
    if (report->count > 0)
        columns_write(&columns, stdout);
    print_summary(report);
}

static json_t *finding_json(const struct fsck_finding *finding, bool repaired)
{
    const char *repair =
        finding->repair.action == FSCK_NO_REPAIR ? NULL : fsck_action_text(finding->repair.action);
    const char *handle = finding->handle[0] ? finding->handle : NULL;

    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:b, s:s?, s:b}", "severity",
                     fsck_severity_name(finding->severity), "kind", fsck_kind_name(finding->kind),
                     "cluster", finding->cluster_id, "pool", finding->pool, "object",
                     finding->object, "explanation", finding->explanation, "handle", handle,
                     "underWay", finding->under_way, "repair", repair, "repaired", repaired);
}

static json_t *looked_json(const struct fsck_report *report)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "clusters",
                     (json_int_t)report->clusters, "pools", (json_int_t)report->pools, "volumes",
                     (json_int_t)report->volumes, "snapshots", (json_int_t)report->snapshots,
                     "groups", (json_int_t)report->groups, "images", (json_int_t)report->images,
                     "trash", (json_int_t)report->trashed, "pvs", (json_int_t)report->pvs,
                     "pvsNotLookedAt", (json_int_t)report->pvs_unchecked);
}

void fsck_print_json(const struct fsck_report *report, const bool *repaired)
{
    size_t counts[SEVERITY_COUNT] = {0};
    json_t *findings = json_array();

    count_severities(report, counts);
    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(findings,
                              finding_json(&report->findings[i], repaired && repaired[i]));
    json_t *root = json_pack(
        "{s:o, s:{s:I, s:I, s:I, s:I}, s:o, s:o}", "findings", findings, "counts", "dataLoss",
        (json_int_t)counts[FSCK_DATA_LOSS], "errors", (json_int_t)counts[FSCK_ERROR], "warnings",
        (json_int_t)counts[FSCK_WARNING], "notes", (json_int_t)counts[FSCK_NOTE], "looked",
        looked_json(report), "unreadablePools", json_from_strings(&report->unreadable));
    output_json(root, stdout);
}
