/* What the pools hold that the journal does not know: images, intermediate images, snapshots that
 * clones were made from, trash. */
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "controller/fsck/fsck_scan.h"
#include "controller/rbd/rbd_images.h"

/* The volume or snapshot of that uuid; NULL if the journal has none in this pool. */
static const struct scan_entry *find_owner(const struct scan *scan, size_t pool,
                                           const struct uuid_text *uuid)
{
    const struct scan_entry *owner = scan_find_entry(scan, JOURNAL_VOLUME, pool, uuid);

    return owner ? owner : scan_find_entry(scan, JOURNAL_SNAPSHOT, pool, uuid);
}

/* Clones may be in another pool than what they are made from. Sets *@owner if its object was read;
 * true also for one of which only the name is known. */
static bool is_known(const struct scan *scan, const struct uuid_text *uuid,
                     const struct scan_entry **owner)
{
    *owner = NULL;
    for (size_t pool = 0; pool < scan->pool_count && !*owner; pool++)
        *owner = find_owner(scan, pool, uuid);
    return *owner || scan_next_name(scan, uuid, NULL);
}

/* A half entry without its other half still says whose the image is. */
static bool has_name(const struct scan *scan, size_t pool, const struct uuid_text *uuid)
{
    const struct scan_key *name = NULL;

    while ((name = scan_next_name(scan, uuid, name)))
        if (name->pool == pool)
            return true;
    return false;
}

static int mark_image_if_young(struct scan *scan, struct ceph_pool *pool, const char *image,
                               struct fsck_finding *finding, struct error *err)
{
    _cleanup_image_facts_ struct image_facts facts = {0};

    if (pool->ops->image_get_facts(pool, scan->call, image, &facts, err) < 0) {
        if (error_ignore(err, STATUS_NOT_FOUND) < 0)
            return -1;
        finding_under_way(finding);
        return 0;
    }
    if (time(NULL) - facts.created.tv_sec < scan->options->min_age_s)
        finding_under_way(finding);
    return 0;
}

/* --- images that the journal does not know --- */

/* Ceph-CSI's clones of volumes go through an image of this name, which is never a volume itself. */
static int report_temp(struct scan *scan, size_t index, const struct strmap_entry *image,
                       struct error *err)
{
    struct scan_pool *pool = &scan->pools[index];
    _cleanup_free_ char *volume =
        xstrndup(image->key, strlen(image->key) - strlen(IMAGE_SUFFIX_CLONE));
    struct fsck_finding *finding =
        scan_report(scan, FSCK_TEMP_WITHOUT_VOLUME, FSCK_WARNING, index, image->key,
                    "Ceph-CSI made it on the way to the clone '%s', which is gone; its deletion "
                    "was interrupted",
                    volume);

    if (strmap_has(&pool->images, volume) || scan_find_trash(pool, volume, NULL) ||
        scan->is_partial)
        return 0; /* such an image without journal is for a human to judge, and this one with it */
    finding->repair = (struct fsck_repair){
        .action = FSCK_DISCARD_IMAGE,
        .pool_id = pool->pool->id,
        .directory_id = pool->pool->id,
        .image = xstrdup(image->key),
        .image_id = xstrdup(image->value),
    };
    scan_uuid_of(image->key, &finding->repair.uuid, NULL);
    return mark_image_if_young(scan, pool->pool, image->key, finding, err);
}

static bool is_static_volume(const struct scan *scan, const char *image)
{
    const struct pv_dump *pvs = scan->options->pvs;

    for (size_t i = 0; pvs && i < pvs->count; i++)
        if (strcmp(pvs->items[i]->handle, image) == 0)
            return true;
    return false;
}

/* The journal has the uuid now, though it had not when it was read. */
static int is_known_now(struct scan *scan, struct ceph_pool *pool, const struct uuid_text *uuid,
                        bool *known, struct error *err)
{
    *known = false;
    for (int kind = JOURNAL_VOLUME; kind <= JOURNAL_SNAPSHOT && !*known; kind++) {
        const struct journal journal = {(enum journal_kind)kind, scan->options->instance_id};
        _cleanup_journal_entry_ struct journal_entry entry = {0};

        if (journal_read(&journal, scan->call, pool, uuid, &entry, known, err) < 0)
            return -1;
    }
    return 0;
}

/* It cannot be opened. Who makes or removes an image has an entry for it from before until after:
 * without one nobody is at it any more. */
static int check_remnant(struct scan *scan, size_t index, const struct strmap_entry *image,
                         struct error *err)
{
    struct ceph_pool *pool = scan->pools[index].pool;
    _cleanup_free_ char *image_id = NULL;
    struct uuid_text uuid = {0};
    bool known = false;

    scan_uuid_of(image->key, &uuid, NULL);
    if (image_find_listed(pool, scan->call, image->key, &image_id, err) < 0 ||
        is_known_now(scan, pool, &uuid, &known, err) < 0)
        return -1;
    if (!image_id || known || strcmp(image_id, image->value) != 0)
        return 0; /* removed or made meanwhile */
    struct fsck_finding *finding =
        scan_report(scan, FSCK_IMAGE_REMNANT, FSCK_WARNING, index, image->key,
                    "the pool lists it, but it cannot be opened: its creation or removal was "
                    "interrupted inside librbd, and the journal knows nothing of it");
    if (scan->is_partial)
        return 0;
    finding->repair = (struct fsck_repair){
        .action = FSCK_DISCARD_IMAGE,
        .uuid = uuid,
        .pool_id = pool->id,
        .directory_id = pool->id,
        .image = xstrdup(image->key),
        .image_id = xstrdup(image->value),
    };
    return 0;
}

static int check_unknown(struct scan *scan, size_t index, const struct strmap_entry *image,
                         bool is_temp, struct error *err)
{
    struct ceph_pool *pool = scan->pools[index].pool;
    _cleanup_free_ char *image_id = NULL;

    if (image_find(pool, scan->call, image->key, &image_id, err) < 0)
        return -1;
    if (!image_id)
        return check_remnant(scan, index, image, err);
    if (is_static_volume(scan, image->key))
        return 0;
    if (is_temp)
        return report_temp(scan, index, image, err);
    struct fsck_finding *finding = scan_report(
        scan, FSCK_IMAGE_WITHOUT_JOURNAL, FSCK_WARNING, index, image->key,
        "no entry of the journal speaks of this image%s: its journal was removed by hand, or it is "
        "of another origin; if nobody needs it: rbd trash mv %s/%s",
        scan->options->pvs ? " and no static PV uses it" : "", pool->name, image->key);
    return mark_image_if_young(scan, pool, image->key, finding, err);
}

/* --- snapshots that clones were made from --- */

/* A snapshot image has a snapshot of its own name, a -temp image one of its clone's name. */
static bool belongs_there(const char *image, const char *snapshot)
{
    size_t length = strlen(snapshot);

    return strncmp(image, snapshot, length) == 0 &&
           (image[length] == '\0' || strcmp(image + length, IMAGE_SUFFIX_CLONE) == 0);
}

static void report_leftover(struct scan *scan, size_t index, const struct strmap_entry *image,
                            const char *snapshot, const struct uuid_text *uuid)
{
    const struct scan_entry *owner = NULL;
    bool known = is_known(scan, uuid, &owner);
    bool finished = !known || (owner && owner->entry.image_id);
    _cleanup_free_ char *object = xasprintf("%s@%s", image->key, snapshot);
    const char *cause = "a clone or snapshot is to be made from it; the retry of its creation "
                        "removes it";
    bool is_certainly_ours = owner || text_has_prefix(snapshot, IMAGE_PREFIX_VOLUME) ||
                             text_has_prefix(snapshot, IMAGE_PREFIX_SNAPSHOT);

    if (!known)
        cause = "a clone or snapshot was to be made from it and was given up; it goes with the "
                "image at the latest";
    else if (finished)
        cause = "a clone or snapshot was made from it, and its removal was interrupted; it goes "
                "with the image at the latest";
    struct fsck_finding *finding =
        scan_report(scan, FSCK_LEFTOVER_CUT, FSCK_WARNING, index, object, "%s", cause);
    if (!finished) {
        finding_under_way(finding);
        return;
    }
    if (!is_certainly_ours || (!known && scan->is_partial))
        return;
    finding->repair = (struct fsck_repair){
        .action = FSCK_REMOVE_CUT,
        .uuid = *uuid,
        .pool_id = scan->pools[index].pool->id,
        .image = xstrdup(image->key),
        .snapshot = xstrdup(snapshot),
    };
}

static int check_snapshots(struct scan *scan, size_t index, const struct strmap_entry *image,
                           struct error *err)
{
    struct ceph_pool *pool = scan->pools[index].pool;
    _cleanup_(image_snapshots_done) struct image_snapshots snapshots = {0};
    bool has_snapshots = false;

    if (pool->ops->image_has_snapshots(pool, scan->call, image->value, &has_snapshots, err) < 0 ||
        (has_snapshots &&
         pool->ops->snapshot_list(pool, scan->call, image->key, &snapshots, err) < 0))
        return error_ignore(err, STATUS_NOT_FOUND); /* deleted meanwhile */
    for (size_t i = 0; i < snapshots.count; i++) {
        const struct image_snapshot *item = &snapshots.items[i];
        struct uuid_text uuid;

        if (item->kind == SNAPSHOT_USER && scan_uuid_of(item->name, &uuid, NULL) &&
            !belongs_there(image->key, item->name))
            report_leftover(scan, index, image, item->name, &uuid);
    }
    return 0;
}

/* --- all images --- */

static int check_image(struct scan *scan, size_t index, const struct strmap_entry *image,
                       struct error *err)
{
    const struct scan_entry *owner = NULL;
    struct uuid_text uuid;
    bool is_temp = false;

    if (!scan_uuid_of(image->key, &uuid, &is_temp))
        return 0; /* not made by a CSI driver */
    bool known = is_temp ? is_known(scan, &uuid, &owner)
                         : find_owner(scan, index, &uuid) || has_name(scan, index, &uuid);
    if (!known)
        return check_unknown(scan, index, image, is_temp, err);
    return check_snapshots(scan, index, image, err);
}

static void report_trash(struct scan *scan, size_t index)
{
    const struct scan_pool *pool = &scan->pools[index];

    for (size_t i = 0; i < pool->trash.count; i++) {
        const struct trash_entry *item = &pool->trash.items[i];
        struct uuid_text uuid;

        if (!scan_uuid_of(item->name, &uuid, NULL) ||
            scan_has_purge(scan, pool->pool->id, item->id))
            continue;
        struct fsck_finding *finding =
            scan_report(scan, FSCK_TRASH_WITHOUT_KEY, FSCK_WARNING, index, item->name,
                        "in the trash as %s, but not queued by this driver: Ceph-CSI leaves the "
                        "removal to the mgr ('ceph rbd task list'), or somebody moved it there; if "
                        "nobody needs it: rbd trash rm %s/%s",
                        item->id, pool->pool->name, item->id);
        finding_under_way(finding);
    }
}

int scan_check_images(struct scan *scan, struct error *err)
{
    for (size_t p = 0; p < scan->pool_count; p++) {
        const struct strmap *images = &scan->pools[p].images;

        for (size_t i = 0; i < images->count; i++)
            if (call_check(scan->call, err) < 0 ||
                check_image(scan, p, &images->entries[i], err) < 0)
                return -1;
        report_trash(scan, p);
    }
    return 0;
}
