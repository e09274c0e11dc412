/* What the directories say: names that lead nowhere or astray, and purge keys. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/on_disk.h"
#include "controller/fsck/fsck_scan.h"
#include "controller/rbd/purge_claim.h"

static void set_forget_name(struct scan *scan, const struct scan_key *name,
                            struct fsck_finding *finding)
{
    finding->repair = (struct fsck_repair){
        .action = FSCK_FORGET_NAME,
        .kind = name->kind,
        .uuid = name->ref.uuid,
        .pool_id = name->pool == SCAN_NO_POOL ? -1 : scan->pools[name->pool].pool->id,
        .directory_id = scan->pools[name->directory].pool->id,
        .directory_object = xstrdup(name->object),
        .key = xstrdup(name->key),
        .value = xstrdup(name->value),
    };
}

/* The name's object is not where the name leads. */
static int check_dangling(struct scan *scan, const struct scan_key *name, struct error *err)
{
    static const char *const methods[] = {
        [JOURNAL_VOLUME] = "CreateVolume",
        [JOURNAL_SNAPSHOT] = "CreateSnapshot",
        [JOURNAL_GROUP] = "CreateVolumeGroupSnapshot",
    };
    bool unchanged = false;

    if (scan_key_is_unchanged(scan, name, &unchanged, err) < 0)
        return -1;
    if (!unchanged)
        return 0;
    if (name->pool != name->directory &&
        scan_find_entry(scan, name->kind, name->directory, &name->ref.uuid))
        return 0; /* its attributes are beside the directory: check_half() */
    struct fsck_finding *finding = scan_report(
        scan, FSCK_NAME_WITHOUT_OBJECT, FSCK_WARNING, name->directory, scan_request_name(name),
        "the name leads to %s, which has no object: %s was interrupted; its retry finishes it; if "
        "none comes, nothing but the name is left",
        name->ref.uuid.chars, methods[name->kind]);
    set_forget_name(scan, name, finding);
    /* a name's own age is not known; it is no younger than its directory's last change */
    return finding_mark_if_young(scan, finding, scan->pools[name->directory].pool, name->object,
                                 err);
}

static int check_name(struct scan *scan, const struct scan_key *name, struct error *err)
{
    bool unchanged = false;

    if (name->broken) {
        scan_report(scan, FSCK_NAME_BROKEN, FSCK_ERROR, name->directory, scan_request_name(name),
                    "the name holds '%.80s', which is neither a uuid nor POOLID/UUID; nobody can "
                    "follow it",
                    name->value);
        return 0;
    }
    if (name->pool == SCAN_NO_POOL) {
        struct fsck_finding *finding = scan_report(
            scan, FSCK_NAME_WITHOUT_POOL, FSCK_WARNING, name->directory, scan_request_name(name),
            "the name leads to %s in pool %lld, which is gone, and its images with it",
            name->ref.uuid.chars, (long long)name->ref.image_pool_id);

        if (!scan_find_entry(scan, name->kind, name->directory, &name->ref.uuid))
            set_forget_name(scan, name, finding);
        return 0;
    }
    const struct scan_entry *entry = scan_find_entry(scan, name->kind, name->pool, &name->ref.uuid);
    if (!entry)
        return check_dangling(scan, name, err);
    const char *recorded = scan_attributes(scan, entry, name)->entry.request_name;
    if (!recorded || strcmp(recorded, scan_request_name(name)) == 0)
        return 0;
    if (scan_key_is_unchanged(scan, name, &unchanged, err) < 0)
        return -1;
    if (unchanged)
        scan_report(scan, FSCK_NAME_MISMATCH, FSCK_ERROR, name->directory, scan_request_name(name),
                    "the name leads to %s, which calls itself '%s': Ceph-CSI refuses the name for "
                    "ever; compare with the PVs and remove the key '%s' of '%s' if no PV has that "
                    "name",
                    name->ref.uuid.chars, recorded, name->key, name->object);
    return 0;
}

/* --- the same name in several pools --- */

static int compare_keys(const void *a, const void *b)
{
    const struct scan_key *left = *(const struct scan_key *const *)a;
    const struct scan_key *right = *(const struct scan_key *const *)b;
    int order = (int)left->kind - (int)right->kind;

    return order ? order : strcmp(left->key, right->key);
}

/* Ceph-CSI chooses the pool before it looks for the name: a retry in another zone makes a second
 * image. */
static void report_names_in_two_pools(struct scan *scan)
{
    _cleanup_free_ const struct scan_key **ours = xcalloc(scan->name_count + 1, sizeof(*ours));
    size_t count = 0;

    for (size_t i = 0; i < scan->name_count; i++)
        if (scan->names[i].is_ours)
            ours[count++] = &scan->names[i];
    if (count > 1)
        qsort(ours, count, sizeof(struct scan_key *), compare_keys);
    for (size_t i = 1; i < count; i++) {
        const struct scan_key *first = ours[i - 1];
        const struct scan_key *second = ours[i];

        if (compare_keys(&ours[i - 1], &ours[i]) != 0 ||
            !(scan->pools[first->directory].wanted || scan->pools[second->directory].wanted))
            continue;
        scan_report(
            scan, FSCK_NAME_IN_TWO_POOLS, FSCK_WARNING, second->directory,
            scan_request_name(second),
            "the name is in pool '%s' (%s) and in pool '%s' (%s): a creation retried in "
            "another zone by Ceph-CSI; at most one has a PV, delete the other by its handle",
            scan->pools[first->directory].pool->name, first->value,
            scan->pools[second->directory].pool->name, second->value);
    }
}

/* --- purge keys --- */

#define PURGE_PATIENCE_MS 2000
#define PURGE_PAUSE_MS 50

/* Whether its image is not in the trash any more. */
static bool purge_lacks_trash(const struct scan *scan, const struct scan_key *purge)
{
    const struct scan_pool *pool = purge->pool == SCAN_NO_POOL ? NULL : &scan->pools[purge->pool];

    if (!purge->is_ours || purge->broken || !scan->pools[purge->directory].wanted)
        return false;
    return !pool || (pool->wanted && !scan_find_trash(pool, NULL, purge->image_id));
}

/* A driver that purges takes the image out of the trash first, and removes the key with its next
 * requests: it gets the time for these. */
static int await_purges(struct scan *scan, struct error *err)
{
    const struct deadline end = deadline_in_ms(PURGE_PATIENCE_MS);
    bool is_there = true;

    while (is_there && !deadline_has_passed(end)) {
        is_there = false;
        for (size_t i = 0; i < scan->purge_count && !is_there; i++)
            if (purge_lacks_trash(scan, &scan->purges[i]) &&
                scan_key_is_unchanged(scan, &scan->purges[i], &is_there, err) < 0)
                return -1;
        if (is_there && call_pause(scan->call, PURGE_PAUSE_MS, err) < 0)
            return -1;
    }
    return 0;
}

/* The key's image is not in the trash. */
static int check_purge_gone(struct scan *scan, const struct scan_key *purge, struct error *err)
{
    bool unchanged = false;
    bool is_at_work = false;

    if (scan_key_is_unchanged(scan, purge, &unchanged, err) < 0 ||
        purge_claim_is_fresh(scan->pools[purge->directory].pool, scan->call, purge->object,
                             purge->key, &is_at_work, err) < 0)
        return -1;
    if (!unchanged || is_at_work)
        return 0; /* processed meanwhile, or a driver is about to */
    struct fsck_finding *finding = scan_report(
        scan, FSCK_PURGE_WITHOUT_TRASH, FSCK_WARNING, purge->directory, purge->key,
        "the data of '%s' was to be removed, but it is not in the trash: a purge was interrupted "
        "after its last step, and the driver's next one drops the key; or somebody took it out of "
        "the trash",
        purge->value);
    finding->repair = (struct fsck_repair){
        .action = FSCK_FORGET_PURGE,
        .pool_id = purge->ref.image_pool_id,
        .directory_id = scan->pools[purge->directory].pool->id,
        .directory_object = xstrdup(purge->object),
        .key = xstrdup(purge->key),
        .value = xstrdup(purge->value),
        .image_id = xstrdup(purge->image_id),
    };
    return 0;
}

/* *@pending counts the keys of one directory pool that still have something to remove. */
static int check_purge(struct scan *scan, const struct scan_key *purge, size_t *pending,
                       struct error *err)
{
    if (purge->broken) {
        scan_report(
            scan, FSCK_NAME_BROKEN, FSCK_ERROR, purge->directory, purge->key,
            "the key is no cephzone.purge.POOLID.IMAGEID: the driver cannot tell which data "
            "are to be removed; remove the key by hand");
        return 0;
    }
    if (purge_lacks_trash(scan, purge))
        return check_purge_gone(scan, purge, err);
    if (!scan->pools[purge->pool].wanted)
        return 0; /* its trash was not read */
    (*pending)++;
    return 0;
}

static int check_purges(struct scan *scan, size_t pool, struct error *err)
{
    size_t pending = 0;

    for (size_t i = 0; i < scan->purge_count; i++)
        if (scan->purges[i].directory == pool && scan->purges[i].is_ours &&
            check_purge(scan, &scan->purges[i], &pending, err) < 0)
            return -1;
    if (pending > 0)
        scan_report(scan, FSCK_PURGE_PENDING, FSCK_NOTE, pool, PURGE_KEY "*",
                    "%zu deleted image(s) wait in the trash for the driver to remove their data; "
                    "one whose clones still need it stays until they are gone",
                    pending);
    return 0;
}

/* --- flatten keys --- */

/* Those of images that are gone are dropped by the driver. */
static void check_flattens(struct scan *scan, size_t pool)
{
    size_t pending = 0;

    for (size_t i = 0; i < scan->flatten_count; i++) {
        const struct scan_key *key = &scan->flattens[i];
        const char *image_id = strmap_get_or(&scan->pools[pool].images, key->value, "");

        pending += key->directory == pool && key->is_ours && strcmp(image_id, key->image_id) == 0;
    }
    if (pending > 0)
        scan_report(scan, FSCK_FLATTEN_PENDING, FSCK_NOTE, pool, FLATTEN_KEY "*",
                    "%zu clone(s) in this pool are to be copies and still need their source in "
                    "another pool: the driver flattens them in the background; before that, do not "
                    "give up the other pool",
                    pending);
}

/* --- what newer versions write --- */

static void report_newer(struct scan *scan, const struct scan_newer *newer)
{
    if (newer->is_part)
        scan_report(scan, FSCK_DIRECTORY_PART, FSCK_WARNING, newer->pool, newer->object,
                    "%zu key(s): a part of a directory that a newer Ceph-CSI has split, or the "
                    "directory of an instance of that name. The driver finds what is named in it "
                    "by handles, but not by names: a creation that Ceph-CSI began and this driver "
                    "retries would make a second volume. Nothing that it names is repaired",
                    newer->keys);
    else
        scan_report(scan, FSCK_OBJECT_UNKNOWN, FSCK_WARNING, newer->pool, newer->object,
                    "an object of the journal in a form that this version does not know, perhaps "
                    "of a newer Ceph-CSI. There may be names in it: no entry of this pool that "
                    "seems to have none is repaired");
}

int scan_check_names(struct scan *scan, struct error *err)
{
    for (size_t i = 0; i < scan->newer_count; i++)
        report_newer(scan, &scan->newer[i]);
    for (size_t i = 0; i < scan->name_count; i++) {
        const struct scan_key *name = &scan->names[i];

        if (!name->is_ours || !scan->pools[name->directory].wanted)
            continue;
        if (call_check(scan->call, err) < 0 || check_name(scan, name, err) < 0)
            return -1;
    }
    report_names_in_two_pools(scan);
    if (await_purges(scan, err) < 0)
        return -1;
    for (size_t i = 0; i < scan->pool_count; i++)
        if (scan->pools[i].wanted && check_purges(scan, i, err) < 0)
            return -1;
    for (size_t i = 0; i < scan->pool_count; i++)
        if (scan->pools[i].wanted)
            check_flattens(scan, i);
    return 0;
}
