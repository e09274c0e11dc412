/* Kubernetes' volumes against the journal: PVs whose volume is gone, and volumes without a PV. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "controller/fsck/fsck_scan.h"
#include "controller/rbd/rbd_images.h"

static int compare_pvs(const void *a, const void *b)
{
    const struct scan_pv *left = a;
    const struct scan_pv *right = b;

    return strcmp(left->id.uuid.chars, right->id.uuid.chars);
}

void scan_read_pvs(struct scan *scan)
{
    const struct pv_dump *dump = scan->options->pvs;

    if (!dump)
        return;
    scan->pvs = xcalloc(dump->count + 1, sizeof(*scan->pvs));
    for (size_t i = 0; i < dump->count; i++) {
        _cleanup_error_ struct error err = {0};
        struct scan_pv *pv = &scan->pvs[scan->pv_count];

        if (volume_id_parse(dump->items[i]->handle, &pv->id, &err) < 0)
            continue; /* static or migrated: not in the journal */
        pv->pv = dump->items[i];
        scan->pv_count++;
    }
    if (scan->pv_count > 0)
        qsort(scan->pvs, scan->pv_count, sizeof(*scan->pvs), compare_pvs);
}

/* By uuid alone: after a recovery elsewhere the cluster and the pool in the handle are others. */
const struct scan_pv *scan_find_pv(const struct scan *scan, const struct uuid_text *uuid)
{
    const struct scan_pv wanted = {.id = {.uuid = *uuid}};

    if (scan->pv_count == 0)
        return NULL;
    return bsearch(&wanted, scan->pvs, scan->pv_count, sizeof(*scan->pvs), compare_pvs);
}

/* --- PVs --- */

static void report_missing(struct scan *scan, const struct scan_pv *pv, size_t pool,
                           const char *what)
{
    struct fsck_finding *finding =
        scan_report(scan, FSCK_PV_WITHOUT_VOLUME, FSCK_DATA_LOSS, pool, pv->pv->meta.name,
                    "%s; unless the PV was deleted after the dump was made, its data is lost or "
                    "somewhere else: look into the trash and into mirrors before anything else",
                    what);

    snprintf(finding->handle, sizeof(finding->handle), "%s", pv->pv->handle);
}

static int check_volume_of(struct scan *scan, const struct scan_pv *pv, size_t pool,
                           struct error *err)
{
    const struct journal journal = {JOURNAL_VOLUME, scan->options->instance_id};
    struct ceph_pool *image_pool = scan->pools[pool].pool;
    const struct scan_entry *entry = scan_find_entry(scan, JOURNAL_VOLUME, pool, &pv->id.uuid);
    _cleanup_journal_entry_ struct journal_entry read = {0};
    const struct journal_entry *attributes = &read;
    _cleanup_free_ char *image_id = NULL;
    bool found = entry != NULL;

    if (entry)
        attributes = &scan_attributes(scan, entry, scan_name_of(scan, entry))->entry;
    else if (journal_read(&journal, scan->call, image_pool, &pv->id.uuid, &read, &found, err) < 0)
        return -1;
    if (!found) {
        report_missing(scan, pv, pool, "the journal has no entry for its handle");
        return 0;
    }
    if (image_find(image_pool, scan->call, attributes->image_name, &image_id, err) < 0)
        return -1;
    if (image_id)
        return 0;
    const struct trash_entry *trash =
        scan_find_trash(&scan->pools[pool], attributes->image_name, attributes->image_id);
    _cleanup_free_ char *what =
        trash ? xasprintf("image '%s' is in the trash: rbd trash restore %s/%s brings it back",
                          attributes->image_name, image_pool->name, trash->id)
              : xasprintf("image '%s' does not exist", attributes->image_name);
    report_missing(scan, pv, pool, what);
    return 0;
}

static int check_pv(struct scan *scan, const struct scan_pv *pv, struct error *err)
{
    size_t pool = scan_find_pool(scan, (int64_t)pv->id.location_id);
    const char *policy = pv->pv->reclaim_policy;
    const char *phase = pv->pv->phase;

    if (strcmp(pv->id.cluster_id, scan->session.cluster->cluster_id) != 0)
        return 0;
    if (pool == SCAN_NO_POOL) {
        scan->report->pvs++;
        report_missing(scan, pv, pool, "its pool does not exist");
        return 0;
    }
    if (!scan->pools[pool].wanted && scan->options->pools->count > 0)
        return 0;
    scan->report->pvs++;
    if (check_volume_of(scan, pv, pool, err) < 0)
        return -1;
    if (policy && phase && strcmp(policy, "Retain") == 0 && strcmp(phase, "Released") == 0)
        scan_report(scan, FSCK_PV_RETAINED, FSCK_NOTE, pool, pv->pv->meta.name,
                    "released, and its reclaim policy is Retain: nobody uses the volume, and it "
                    "stays until somebody sets the policy to Delete");
    return 0;
}

/* --- volumes --- */

static int check_volume(struct scan *scan, const struct scan_entry *entry, struct error *err)
{
    const struct scan_key *name = scan_name_of(scan, entry);
    const struct journal journal = {JOURNAL_VOLUME, scan->options->instance_id};
    _cleanup_free_ char *object = journal_object(&journal, &entry->uuid);
    const struct scan_pool *pool = &scan->pools[entry->pool];
    time_t modified = 0;

    if (!name || !name->is_ours || scan_find_pv(scan, &entry->uuid))
        return 0;
    const struct journal_entry *attributes = &scan_attributes(scan, entry, name)->entry;
    if (!attributes->image_id || !strmap_has(&pool->images, attributes->image_name))
        return 0; /* reported as unfinished or without image */
    if (object_last_write(pool->pool, scan->call, object, &modified, err) < 0)
        return -1;
    if (modified == 0 || modified > scan->options->pvs_taken - scan->options->min_age_s)
        return 0; /* deleted meanwhile, or younger than the dump */
    struct fsck_finding *finding = scan_report(
        scan, FSCK_VOLUME_WITHOUT_PV, FSCK_WARNING, entry->pool, attributes->image_name,
        "no PV has the volume '%s': a PV with reclaim policy Retain was deleted, the creation was "
        "given up by Kubernetes, or it belongs to another Kubernetes cluster; if nobody needs it, "
        "delete it by its handle",
        attributes->request_name ? attributes->request_name : scan_request_name(name));
    finding_set_handle(scan, finding, entry);
    return 0;
}

int scan_check_pvs(struct scan *scan, struct error *err)
{
    for (size_t i = 0; i < scan->pv_count; i++)
        if (call_check(scan->call, err) < 0 || check_pv(scan, &scan->pvs[i], err) < 0)
            return -1;
    for (size_t i = 0; scan->options->pvs && i < scan->entry_count; i++) {
        const struct scan_entry *entry = &scan->entries[i];

        if (!entry->found || entry->kind != JOURNAL_VOLUME || !scan->pools[entry->pool].wanted)
            continue;
        if (call_check(scan->call, err) < 0 || check_volume(scan, entry, err) < 0)
            return -1;
    }
    return 0;
}
