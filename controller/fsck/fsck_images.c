/* What the pools hold that the journal does not know: images, intermediate images, snapshots that
 * clones were made from, trash. */
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "controller/fsck/fsck_look.h"
#include "controller/rbd/rbd_images.h"

/* The volume or snapshot of that uuid; NULL if the journal has none in this pool. */
static const struct look_entry *find_owner(const struct look *look, size_t pool,
                                           const struct uuid_text *uuid)
{
    const struct look_entry *owner = look_find_entry(look, JOURNAL_VOLUME, pool, uuid);

    return owner ? owner : look_find_entry(look, JOURNAL_SNAPSHOT, pool, uuid);
}

/* Clones may be in another pool than what they are made from. Sets *@owner if its object was read;
 * true also for one of which only the name is known. */
static bool is_known(const struct look *look, const struct uuid_text *uuid,
                     const struct look_entry **owner)
{
    *owner = NULL;
    for (size_t pool = 0; pool < look->pool_count && !*owner; pool++)
        *owner = find_owner(look, pool, uuid);
    return *owner || look_next_name(look, uuid, NULL);
}

/* A half entry without its other half still says whose the image is. */
static bool has_name(const struct look *look, size_t pool, const struct uuid_text *uuid)
{
    const struct look_name *name = NULL;

    while ((name = look_next_name(look, uuid, name)))
        if (name->pool == pool)
            return true;
    return false;
}

static int mark_if_young(struct look *look, struct ceph_pool *pool, const char *image,
                         struct fsck_finding *finding, struct error *err)
{
    _cleanup_image_facts_ struct image_facts facts = {0};

    if (pool->ops->image_get_facts(pool, look->call, image, &facts, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err);
        finding_under_way(finding);
        return 0;
    }
    if (time(NULL) - facts.created.tv_sec < look->options->min_age_s)
        finding_under_way(finding);
    return 0;
}

/* --- images that the journal does not know --- */

/* Ceph-CSI's clones of volumes go through an image of this name, which is never a volume itself. */
static int report_temp(struct look *look, size_t index, const struct strmap_entry *image,
                       struct error *err)
{
    struct look_pool *pool = &look->pools[index];
    _cleanup_free_ char *volume =
        xstrndup(image->key, strlen(image->key) - strlen(IMAGE_SUFFIX_CLONE));
    struct fsck_finding *finding =
        look_report(look, FSCK_TEMP_WITHOUT_VOLUME, FSCK_WARNING, index, image->key,
                    "Ceph-CSI made it on the way to the clone '%s', which is gone; its deletion "
                    "was cut",
                    volume);

    if (strmap_has(&pool->images, volume) || look_find_trash(pool, volume, NULL) ||
        look->is_partial)
        return 0; /* such an image without journal is for a human to judge, and this one with it */
    finding->repair = (struct fsck_repair){
        .action = FSCK_DISCARD_IMAGE,
        .pool_id = pool->pool->id,
        .directory_id = pool->pool->id,
        .image = xstrdup(image->key),
        .image_id = xstrdup(image->value),
    };
    look_uuid_of(image->key, &finding->repair.uuid, &(bool){false});
    return mark_if_young(look, pool->pool, image->key, finding, err);
}

static bool is_static_volume(const struct look *look, const char *image)
{
    const struct pv_dump *pvs = look->options->pvs;

    for (size_t i = 0; pvs && i < pvs->count; i++)
        if (strcmp(pvs->items[i]->handle, image) == 0)
            return true;
    return false;
}

static int report_image(struct look *look, size_t index, const struct strmap_entry *image,
                        struct error *err)
{
    struct fsck_finding *finding = look_report(
        look, FSCK_IMAGE_WITHOUT_JOURNAL, FSCK_WARNING, index, image->key,
        "no entry of the journal speaks of this image%s: its journal was removed by hand, or it is "
        "of another origin; if nobody needs it: rbd trash mv %s/%s",
        look->options->pvs ? " and no static PV uses it" : "", look->pools[index].pool->name,
        image->key);

    return mark_if_young(look, look->pools[index].pool, image->key, finding, err);
}

static int check_unknown(struct look *look, size_t index, const struct strmap_entry *image,
                         bool is_temp, struct error *err)
{
    struct ceph_pool *pool = look->pools[index].pool;
    _cleanup_free_ char *image_id = NULL;

    if (image_find(pool, look->call, image->key, &image_id, err) < 0)
        return -1;
    if (!image_id || is_static_volume(look, image->key)) /* deleted meanwhile, or in use */
        return 0;
    return is_temp ? report_temp(look, index, image, err) : report_image(look, index, image, err);
}

/* --- cuts --- */

/* A snapshot image has a snapshot of its own name, a -temp image one of its clone's name. */
static bool belongs_there(const char *image, const char *snapshot)
{
    size_t length = strlen(snapshot);

    return strncmp(image, snapshot, length) == 0 &&
           (image[length] == '\0' || strcmp(image + length, IMAGE_SUFFIX_CLONE) == 0);
}

/* A cut of one of the drivers' own names, or of something that the journal knows. */
static bool is_certainly_ours(const char *snapshot, const struct look_entry *owner)
{
    return owner || text_has_prefix(snapshot, IMAGE_PREFIX_VOLUME) ||
           text_has_prefix(snapshot, IMAGE_PREFIX_SNAPSHOT);
}

static void report_cut(struct look *look, size_t index, const struct strmap_entry *image,
                       const char *snapshot, const struct uuid_text *uuid)
{
    const struct look_entry *owner = NULL;
    bool known = is_known(look, uuid, &owner);
    bool finished = !known || (owner && owner->entry.image_id);
    _cleanup_free_ char *object = xasprintf("%s@%s", image->key, snapshot);
    struct fsck_finding *finding = look_report(
        look, FSCK_LEFTOVER_CUT, FSCK_WARNING, index, object, "%s",
        !known ? "a clone or snapshot was to be made from it and was given up; it goes with the "
                 "image at the latest"
        : finished ? "a clone or snapshot was made from it, and its removal was cut; it goes with "
                     "the image at the latest"
                   : "a clone or snapshot is to be made from it; the retry of its creation removes "
                     "it");

    if (!finished) {
        finding_under_way(finding);
        return;
    }
    if (!is_certainly_ours(snapshot, owner) || (!known && look->is_partial))
        return;
    finding->repair = (struct fsck_repair){
        .action = FSCK_REMOVE_CUT,
        .uuid = *uuid,
        .pool_id = look->pools[index].pool->id,
        .image = xstrdup(image->key),
        .snapshot = xstrdup(snapshot),
    };
}

static int check_cuts(struct look *look, size_t index, const struct strmap_entry *image,
                      struct error *err)
{
    struct ceph_pool *pool = look->pools[index].pool;
    _cleanup_(image_snapshots_done) struct image_snapshots snapshots = {0};
    bool has_snapshots = false;

    if (pool->ops->image_has_snapshots(pool, look->call, image->value, &has_snapshots, err) < 0 ||
        (has_snapshots &&
         pool->ops->snapshot_list(pool, look->call, image->key, &snapshots, err) < 0)) {
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err); /* deleted meanwhile */
        return 0;
    }
    for (size_t i = 0; i < snapshots.count; i++) {
        const struct image_snapshot *item = &snapshots.items[i];
        struct uuid_text uuid;
        bool is_temp = false;

        if (item->kind == SNAPSHOT_USER && look_uuid_of(item->name, &uuid, &is_temp) &&
            !belongs_there(image->key, item->name))
            report_cut(look, index, image, item->name, &uuid);
    }
    return 0;
}

/* --- the whole --- */

static int check_image(struct look *look, size_t index, const struct strmap_entry *image,
                       struct error *err)
{
    const struct look_entry *owner = NULL;
    struct uuid_text uuid;
    bool is_temp = false;

    if (!look_uuid_of(image->key, &uuid, &is_temp))
        return 0; /* not of a CSI driver's making */
    bool known = is_temp ? is_known(look, &uuid, &owner)
                         : find_owner(look, index, &uuid) || has_name(look, index, &uuid);
    if (!known)
        return check_unknown(look, index, image, is_temp, err);
    return check_cuts(look, index, image, err);
}

static void check_trash(struct look *look, size_t index)
{
    const struct look_pool *pool = &look->pools[index];

    for (size_t i = 0; i < pool->trash.count; i++) {
        const struct trash_entry *item = &pool->trash.items[i];
        struct uuid_text uuid;
        bool is_temp = false;

        if (!look_uuid_of(item->name, &uuid, &is_temp) ||
            look_has_purge(look, pool->pool->id, item->id))
            continue;
        struct fsck_finding *finding =
            look_report(look, FSCK_TRASH_WITHOUT_KEY, FSCK_WARNING, index, item->name,
                        "in the trash as %s, but not queued by this driver: Ceph-CSI leaves the "
                        "removal to the mgr ('ceph rbd task list'), or somebody moved it there; if "
                        "nobody needs it: rbd trash rm %s/%s",
                        item->id, pool->pool->name, item->id);
        finding_under_way(finding);
    }
}

int look_check_images(struct look *look, struct error *err)
{
    for (size_t p = 0; p < look->pool_count; p++) {
        const struct strmap *images = &look->pools[p].images;

        for (size_t i = 0; i < images->count; i++)
            if (call_check(look->call, err) < 0 ||
                check_image(look, p, &images->entries[i], err) < 0)
                return -1;
        check_trash(look, p);
    }
    return 0;
}
