/* Kubernetes' volumes against the journal: PVs whose volume is gone, and volumes without a PV. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "controller/fsck/fsck_look.h"
#include "controller/rbd/rbd_images.h"

static int compare_pvs(const void *a, const void *b)
{
    const struct look_pv *left = a;
    const struct look_pv *right = b;

    return strcmp(left->id.uuid.chars, right->id.uuid.chars);
}

void look_read_pvs(struct look *look)
{
    const struct pv_dump *dump = look->options->pvs;

    if (!dump)
        return;
    look->pvs = xcalloc(dump->count + 1, sizeof(*look->pvs));
    for (size_t i = 0; i < dump->count; i++) {
        _cleanup_error_ struct error err = {0};
        struct look_pv *pv = &look->pvs[look->pv_count];

        if (volume_id_parse(dump->items[i]->handle, &pv->id, &err) < 0)
            continue; /* static or migrated: no journal speaks of it */
        pv->pv = dump->items[i];
        look->pv_count++;
    }
    if (look->pv_count > 0)
        qsort(look->pvs, look->pv_count, sizeof(*look->pvs), compare_pvs);
}

/* By uuid alone: after a recovery elsewhere the cluster and the pool in the handle are others. */
const struct look_pv *look_find_pv(const struct look *look, const struct uuid_text *uuid)
{
    const struct look_pv wanted = {.id = {.uuid = *uuid}};

    if (look->pv_count == 0)
        return NULL;
    return bsearch(&wanted, look->pvs, look->pv_count, sizeof(*look->pvs), compare_pvs);
}

/* --- PVs --- */

static void report_missing(struct look *look, const struct look_pv *pv, size_t pool,
                           const char *what)
{
    struct fsck_finding *finding =
        look_report(look, FSCK_PV_WITHOUT_VOLUME, FSCK_DATA_LOSS, pool, pv->pv->meta.name,
                    "%s; unless the PV was deleted after the dump was made, its data is lost or "
                    "somewhere else: look into the trash and into mirrors before anything else",
                    what);

    snprintf(finding->handle, sizeof(finding->handle), "%s", pv->pv->handle);
}

static const struct journal_entry *attributes_of(const struct look *look, size_t pool,
                                                 const struct uuid_text *uuid)
{
    const struct look_entry *entry = look_find_entry(look, JOURNAL_VOLUME, pool, uuid);

    if (!entry)
        return NULL;
    return &look_attributes(look, entry, look_name_of(look, entry))->entry;
}

static void report_without_image(struct look *look, const struct look_pv *pv, size_t pool,
                                 const struct journal_entry *attributes)
{
    const struct trash_entry *trash =
        look_find_trash(&look->pools[pool], attributes->image_name, attributes->image_id);
    _cleanup_free_ char *what =
        trash ? xasprintf("image '%s' is in the trash: rbd trash restore %s/%s brings it back",
                          attributes->image_name, look->pools[pool].pool->name, trash->id)
              : xasprintf("image '%s' does not exist", attributes->image_name);

    report_missing(look, pv, pool, what);
}

static int check_volume_of(struct look *look, const struct look_pv *pv, size_t pool,
                           struct error *err)
{
    const struct journal journal = {JOURNAL_VOLUME, look->options->instance_id};
    struct ceph_pool *image_pool = look->pools[pool].pool;
    const struct journal_entry *attributes = attributes_of(look, pool, &pv->id.uuid);
    _cleanup_journal_entry_ struct journal_entry read = {0};
    _cleanup_free_ char *image_id = NULL;
    bool found = attributes != NULL;

    if (!attributes) {
        if (journal_read(&journal, look->call, image_pool, &pv->id.uuid, &read, &found, err) < 0)
            return -1;
        attributes = &read;
    }
    if (!found) {
        report_missing(look, pv, pool, "the journal has no entry for its handle");
        return 0;
    }
    if (image_find(image_pool, look->call, attributes->image_name, &image_id, err) < 0)
        return -1;
    if (!image_id)
        report_without_image(look, pv, pool, attributes);
    return 0;
}

static void check_retained(struct look *look, const struct look_pv *pv, size_t pool)
{
    const char *policy = pv->pv->reclaim_policy;
    const char *phase = pv->pv->phase;

    if (policy && phase && strcmp(policy, "Retain") == 0 && strcmp(phase, "Released") == 0)
        look_report(look, FSCK_PV_RETAINED, FSCK_NOTE, pool, pv->pv->meta.name,
                    "released, and its reclaim policy is Retain: nobody uses the volume, and it "
                    "stays until somebody sets the policy to Delete");
}

static int check_pv(struct look *look, const struct look_pv *pv, struct error *err)
{
    size_t pool = look_find_pool(look, (int64_t)pv->id.location_id);

    if (strcmp(pv->id.cluster_id, look->session.cluster->cluster_id) != 0)
        return 0;
    if (pool == LOOK_NO_POOL) {
        look->report->pvs++;
        report_missing(look, pv, pool, "its pool does not exist");
        return 0;
    }
    if (!look->pools[pool].wanted && look->options->pools->count > 0)
        return 0;
    look->report->pvs++;
    if (check_volume_of(look, pv, pool, err) < 0)
        return -1;
    check_retained(look, pv, pool);
    return 0;
}

/* --- volumes --- */

/* A volume that is younger than the dump cannot be in it. */
static int is_after_dump(struct look *look, const struct look_entry *entry, bool *after,
                         struct error *err)
{
    const struct journal journal = {JOURNAL_VOLUME, look->options->instance_id};
    _cleanup_free_ char *object = journal_object(&journal, &entry->uuid);
    struct ceph_pool *pool = look->pools[entry->pool].pool;
    time_t modified = 0;

    if (pool->ops->object_modified(pool, look->call, object, &modified, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err); /* deleted meanwhile */
        *after = true;
        return 0;
    }
    *after = modified > look->options->pvs_taken - look->options->min_age_s;
    return 0;
}

static int check_volume(struct look *look, const struct look_entry *entry, struct error *err)
{
    const struct look_name *name = look_name_of(look, entry);
    bool after = false;

    if (!name || !name->is_ours || look_find_pv(look, &entry->uuid))
        return 0;
    const struct journal_entry *attributes = &look_attributes(look, entry, name)->entry;
    if (!attributes->image_id ||
        !strmap_has(&look->pools[entry->pool].images, attributes->image_name))
        return 0; /* reported as unfinished or without image */
    if (is_after_dump(look, entry, &after, err) < 0)
        return -1;
    if (after)
        return 0;
    struct fsck_finding *finding = look_report(
        look, FSCK_VOLUME_WITHOUT_PV, FSCK_WARNING, entry->pool, attributes->image_name,
        "no PV has the volume '%s': a PV with reclaim policy Retain was deleted, the creation was "
        "given up by Kubernetes, or it belongs to another Kubernetes cluster; if nobody needs it, "
        "delete it by its handle",
        attributes->request_name ? attributes->request_name : look_request_name(name));
    finding_set_handle(look, finding, entry->pool, &entry->uuid);
    return 0;
}

int look_check_pvs(struct look *look, struct error *err)
{
    for (size_t i = 0; i < look->pv_count; i++)
        if (call_check(look->call, err) < 0 || check_pv(look, &look->pvs[i], err) < 0)
            return -1;
    for (size_t i = 0; look->options->pvs && i < look->entry_count; i++) {
        const struct look_entry *entry = &look->entries[i];

        if (!entry->found || entry->kind != JOURNAL_VOLUME || !look->pools[entry->pool].wanted)
            continue;
        if (call_check(look->call, err) < 0 || check_volume(look, entry, err) < 0)
            return -1;
    }
    return 0;
}
