/* What the uuids' objects say: without a name, without an image, unfinished, split over two pools,
 * groups with missing members. */
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "controller/fsck/fsck_scan.h"
#include "controller/rbd/rbd_images.h"

/* Everything that is known of one object. */
struct subject {
    const struct scan_entry *entry;
    const struct scan_key *name;            /* NULL: none leads to it */
    const struct journal_entry *attributes; /* its own or those of the other half */
    const char *image_id;                   /* of the image of that name; NULL: there is none */
    const struct trash_entry *trash;        /* the image in the trash */
    const struct scan_pv *pv;
    char *object;
};

static struct scan_pool *pool_of(const struct scan *scan, const struct subject *subject)
{
    return &scan->pools[subject->entry->pool];
}

static const char *renamed_to(const struct scan_pool *pool, const char *id)
{
    for (size_t i = 0; id && i < pool->images.count; i++)
        if (strcmp(pool->images.entries[i].value, id) == 0)
            return pool->images.entries[i].key;
    return NULL;
}

/* Adds a repair that removes the entry, or says that it may be under way. */
static int offer_to_forget(struct scan *scan, const struct subject *subject,
                           struct fsck_finding *finding, struct error *err)
{
    finding_forget_entry(scan, finding, subject->entry, subject->name, subject->trash);
    return finding_mark_if_young(scan, finding, pool_of(scan, subject)->pool, subject->object, err);
}

/* Whether some image of the pool, or of its trash unless queued for removal, ends with the uuid. */
static bool uuid_has_image(const struct scan *scan, const struct subject *subject)
{
    const struct scan_pool *pool = pool_of(scan, subject);
    const char *uuid = subject->entry->uuid.chars;

    for (size_t i = 0; i < pool->images.count; i++)
        if (text_has_suffix(pool->images.entries[i].key, uuid))
            return true;
    for (size_t i = 0; i < pool->trash.count; i++)
        if (text_has_suffix(pool->trash.items[i].name, uuid) &&
            !scan_has_purge(scan, pool->pool->id, pool->trash.items[i].id))
            return true;
    return false;
}

/* An image that somebody renamed or put into the trash may come back, and one whose attributes are
 * out of sight may have any prefix: their entries must stay. */
static bool image_may_return(const struct scan *scan, const struct subject *subject)
{
    const struct scan_pool *pool = pool_of(scan, subject);

    return (subject->trash && !scan_has_purge(scan, pool->pool->id, subject->trash->id)) ||
           renamed_to(pool, subject->attributes->image_id) || uuid_has_image(scan, subject);
}

/* --- without a name --- */

/* Whether there may be a name that was not seen: its pool was not gone through, or has objects of a
 * form that nobody knows. */
static bool name_may_be_hidden(const struct scan *scan, const struct subject *subject)
{
    const int64_t id = subject->attributes->journal_pool_id;
    const size_t directory = id < 0 ? subject->entry->pool : scan_find_pool(scan, id);

    return directory != SCAN_NO_POOL &&
           (!scan->options->scan || !scan->pools[directory].wanted ||
            scan->pools[directory].has_unknown || pool_of(scan, subject)->has_unknown);
}

static int check_nameless(struct scan *scan, const struct subject *subject, struct error *err)
{
    const struct journal_entry *attributes = subject->attributes;
    struct fsck_finding *finding = NULL;
    const char *where = scan->is_partial ? " (not all pools could be searched for it)" : "";

    if (subject->image_id) {
        finding = scan_report(scan, FSCK_OBJECT_WITHOUT_NAME, FSCK_ERROR, subject->entry->pool,
                              subject->object,
                              "no name leads to it%s, but its image '%s' exists: the handle works, "
                              "a retried creation of '%s' would make a second volume",
                              where, attributes->image_name,
                              attributes->request_name ? attributes->request_name : "?");
        finding_set_handle(scan, finding, subject->entry);
        return 0;
    }
    if (!attributes->request_name)
        finding = scan_report(
            scan, FSCK_OBJECT_WITHOUT_NAME, FSCK_WARNING, subject->entry->pool, subject->object,
            "an empty object that no name leads to%s: Ceph-CSI was interrupted between "
            "its first two steps",
            where);
    else
        finding = scan_report(
            scan, FSCK_OBJECT_WITHOUT_NAME, FSCK_WARNING, subject->entry->pool, subject->object,
            "the name '%s' and the image '%s' are gone%s: a deletion was interrupted "
            "before its last step; its retry finishes it",
            attributes->request_name, attributes->image_name, where);
    finding_set_handle(scan, finding, subject->entry);
    if (subject->pv || image_may_return(scan, subject) || name_may_be_hidden(scan, subject))
        return 0;
    return offer_to_forget(scan, subject, finding, err);
}

/* --- without an image --- */

static int report_without_image(struct scan *scan, const struct subject *subject, struct error *err)
{
    const struct journal_entry *attributes = subject->attributes;
    const char *renamed = renamed_to(pool_of(scan, subject), attributes->image_id);
    bool finished = attributes->image_id != NULL;
    const char *cause =
        "the creation was interrupted; its retry finishes it; if none comes, nothing "
        "but the entry is left";
    _cleanup_free_ char *rename =
        renamed ? xasprintf("somebody renamed it to '%s'", renamed) : NULL;

    if (subject->trash)
        cause = "it is in the trash: a deletion was interrupted, or somebody moved it there; "
                "delete it by its handle, or restore it";
    else if (renamed)
        cause = rename;
    else if (finished)
        cause =
            "a deletion was interrupted, and its retry finishes it; or somebody removed the image";
    struct fsck_finding *finding =
        scan_report(scan, FSCK_OBJECT_WITHOUT_IMAGE, finished ? FSCK_ERROR : FSCK_WARNING,
                    subject->entry->pool, subject->object, "'%s' has no image '%s': %s",
                    attributes->request_name, attributes->image_name, cause);
    finding_set_handle(scan, finding, subject->entry);
    /* a finished one had data: only Kubernetes can tell that nobody wants it any more */
    if (image_may_return(scan, subject) ||
        (finished && (subject->entry->kind != JOURNAL_VOLUME || !scan->options->pvs)))
        return 0;
    return offer_to_forget(scan, subject, finding, err);
}

/* Reads once more before it is said: drivers work meanwhile. */
static int check_without_image(struct scan *scan, const struct subject *subject, struct error *err)
{
    struct ceph_pool *pool = pool_of(scan, subject)->pool;
    const struct journal journal = {subject->entry->kind, scan->options->instance_id};
    _cleanup_journal_entry_ struct journal_entry again = {0};
    _cleanup_free_ char *image_id = NULL;
    bool found = false;

    if (image_find(pool, scan->call, subject->attributes->image_name, &image_id, err) < 0)
        return -1;
    if (image_id)
        return 0;
    if (journal_read(&journal, scan->call, pool, &subject->entry->uuid, &again, &found, err) < 0)
        return -1;
    if (!found || subject->pv) /* scan_check_pvs() reports those with a PV */
        return 0;
    if (subject->attributes->request_name)
        return report_without_image(scan, subject, err);
    struct fsck_finding *finding =
        scan_report(scan, FSCK_ENTRY_EMPTY, FSCK_WARNING, subject->entry->pool, subject->object,
                    "'%s' leads to an empty object without image: Ceph-CSI was interrupted between "
                    "its second and third step, and refuses the name from then on",
                    scan_request_name(subject->name));
    return image_may_return(scan, subject) ? 0 : offer_to_forget(scan, subject, finding, err);
}

/* --- with an image --- */

/* The image's id is not in the entry. */
static int check_unfinished(struct scan *scan, const struct subject *subject, struct error *err)
{
    if (subject->pv) { /* Ceph-CSI adds it at the next use */
        scan_report(scan, FSCK_ENTRY_UNFINISHED, FSCK_NOTE, subject->entry->pool, subject->object,
                    "PV '%s' uses it, but it lacks the image's id", subject->pv->pv->meta.name);
        return 0;
    }
    struct fsck_finding *finding = scan_report(
        scan, FSCK_ENTRY_UNFINISHED, FSCK_WARNING, subject->entry->pool, subject->object,
        "image '%s' of '%s' exists, but its creation was interrupted; its retry finishes it; "
        "if none comes, delete it by its handle",
        subject->attributes->image_name, subject->attributes->request_name);
    finding_set_handle(scan, finding, subject->entry);
    return finding_mark_if_young(scan, finding, pool_of(scan, subject)->pool, subject->object, err);
}

static int check_image_of(struct scan *scan, const struct subject *subject, struct error *err)
{
    const struct journal_entry *attributes = subject->attributes;

    if (!attributes->request_name)
        return 0; /* Ceph-CSI 1.x and 2.0, or half of an entry whose other half is out of sight */
    if (!attributes->image_id)
        return check_unfinished(scan, subject, err);
    if (strcmp(attributes->image_id, subject->image_id) != 0)
        scan_report(scan, FSCK_IMAGE_ID_DIFFERS, FSCK_ERROR, subject->entry->pool, subject->object,
                    JOURNAL_KEY_IMAGE_ID
                    " is '%s', but image '%s' has '%s': the image was replaced by "
                    "another of that name; if it is the right one, set csi.imageid to its id",
                    attributes->image_id, attributes->image_name, subject->image_id);
    if (subject->entry->kind == JOURNAL_SNAPSHOT && attributes->source &&
        !strmap_has(&pool_of(scan, subject)->images, attributes->source))
        scan_report(scan, FSCK_SNAPSHOT_WITHOUT_SOURCE, FSCK_NOTE, subject->entry->pool,
                    subject->object,
                    "its source '%s' has been deleted; the snapshot is complete without it",
                    attributes->source);
    return 0;
}

/* --- split over two pools --- */

/* @entry holds attributes that belong to an object in another pool. */
static int check_half(struct scan *scan, const struct scan_entry *entry, struct error *err)
{
    const struct scan_key *name = NULL;
    const struct scan_key *next = NULL;
    _cleanup_free_ char *image_id = NULL;

    while ((next = scan_next_name(scan, &entry->uuid, next)))
        if (next->kind == entry->kind && next->directory == entry->pool)
            name = next;
    const struct journal journal = {entry->kind, scan->options->instance_id};
    _cleanup_free_ char *object = journal_object(&journal, &entry->uuid);
    if (!name || !name->is_ours)
        return 0;
    if (name->pool != SCAN_NO_POOL &&
        scan_find_entry(scan, entry->kind, name->pool, &entry->uuid)) {
        scan_report(
            scan, FSCK_SPLIT_ENTRY, FSCK_NOTE, entry->pool, object,
            "made by Ceph-CSI 3.0 to 3.10 with topology: its attributes are here, its image "
            "in pool '%s'; this driver handles it, Ceph-CSI leaves this half when it "
            "deletes the volume",
            scan->pools[name->pool].pool->name);
        return 0;
    }
    struct fsck_finding *finding = scan_report(
        scan, FSCK_HALF_ENTRY, FSCK_WARNING, entry->pool, object,
        "half an entry of Ceph-CSI 3.0 to 3.10: the other half and the image were in pool %lld and "
        "are gone; its deletion leaves name and attributes",
        (long long)name->ref.image_pool_id);
    const struct subject subject = {
        .entry = entry, .name = name, .attributes = &entry->entry, .object = object};
    if (name->pool != SCAN_NO_POOL && image_find(scan->pools[name->pool].pool, scan->call,
                                                 entry->entry.image_name, &image_id, err) < 0)
        return -1;
    if (image_id || scan_find_pv(scan, &entry->uuid) ||
        (name->pool != SCAN_NO_POOL &&
         scan_find_trash(&scan->pools[name->pool], entry->entry.image_name, NULL)))
        return 0;
    return offer_to_forget(scan, &subject, finding, err);
}

/* --- groups --- */

/* Members are snapshots, or volumes where Ceph-CSI's add-ons made the group. */
static int member_exists(struct scan *scan, const struct volume_id *id, bool *exists,
                         struct error *err)
{
    size_t pool = scan_find_pool(scan, (int64_t)id->location_id);

    *exists = false;
    for (int kind = JOURNAL_VOLUME; pool != SCAN_NO_POOL && kind <= JOURNAL_SNAPSHOT; kind++) {
        const struct journal journal = {(enum journal_kind)kind, scan->options->instance_id};
        _cleanup_journal_entry_ struct journal_entry entry = {0};
        bool found = false;

        if (journal_read(&journal, scan->call, scan->pools[pool].pool, &id->uuid, &entry, &found,
                         err) < 0)
            return -1;
        *exists = *exists || found;
    }
    return 0;
}

static int check_group(struct scan *scan, const struct subject *subject, struct error *err)
{
    const struct strmap *members = &subject->entry->entry.extra;
    size_t missing = 0;
    size_t count = 0;

    for (size_t i = 0; i < members->count; i++) {
        _cleanup_error_ struct error not_a_handle = {0};
        struct volume_id id;
        bool exists = false;

        if (volume_id_parse(members->entries[i].key, &id, &not_a_handle) < 0)
            continue;
        if (member_exists(scan, &id, &exists, err) < 0)
            return -1;
        count++;
        missing += !exists;
    }
    if (missing == 0)
        return 0;
    struct fsck_finding *finding = scan_report(
        scan, FSCK_GROUP_INCOMPLETE, FSCK_WARNING, subject->entry->pool, subject->object,
        "%zu of the %zu members of group '%s' are gone: a deletion was interrupted, and its "
        "retry finishes it; or somebody removed them",
        missing, count,
        subject->attributes->request_name ? subject->attributes->request_name : "?");
    finding_set_handle(scan, finding, subject->entry);
    return 0;
}

/* --- all entries --- */

/* The name may have come after the directories were read. */
static int has_new_name(struct scan *scan, const struct subject *subject, bool *has,
                        struct error *err)
{
    const struct journal_entry *attributes = subject->attributes;
    const struct journal journal = {subject->entry->kind, scan->options->instance_id};
    size_t directory = subject->entry->pool;
    struct journal_ref ref;

    *has = false;
    if (!attributes->request_name)
        return 0;
    if (attributes->journal_pool_id >= 0)
        directory = scan_find_pool(scan, attributes->journal_pool_id);
    if (directory == SCAN_NO_POOL)
        return 0;
    if (journal_find(&journal, scan->call, scan->pools[directory].pool, attributes->request_name,
                     &ref, has, err) < 0)
        return -1;
    *has = *has && strcmp(ref.uuid.chars, subject->entry->uuid.chars) == 0;
    return 0;
}

static int check_entry(struct scan *scan, const struct scan_entry *entry, struct error *err)
{
    const struct journal journal = {entry->kind, scan->options->instance_id};
    _cleanup_free_ char *object = journal_object(&journal, &entry->uuid);
    const struct scan_pool *pool = &scan->pools[entry->pool];
    struct subject subject = {
        .entry = entry,
        .name = scan_name_of(scan, entry),
        .pv = scan_find_pv(scan, &entry->uuid),
        .object = object,
    };
    bool has_name = subject.name != NULL;

    if (!has_name && scan_is_half(scan, entry))
        return check_half(scan, entry, err);
    if (has_name && !subject.name->is_ours)
        return 0; /* another instance's */
    scan->report->volumes += entry->kind == JOURNAL_VOLUME;
    scan->report->snapshots += entry->kind == JOURNAL_SNAPSHOT;
    scan->report->groups += entry->kind == JOURNAL_GROUP;
    subject.attributes = &scan_attributes(scan, entry, subject.name)->entry;
    subject.image_id = strmap_get(&pool->images, subject.attributes->image_name);
    subject.trash =
        scan_find_trash(pool, subject.attributes->image_name, subject.attributes->image_id);
    if (!has_name && has_new_name(scan, &subject, &has_name, err) < 0)
        return -1;
    if (!has_name)
        return check_nameless(scan, &subject, err);
    if (!subject.name) /* just begun: the next scan will see all of it */
        return 0;
    if (entry->kind == JOURNAL_GROUP)
        return check_group(scan, &subject, err);
    if (!subject.image_id)
        return check_without_image(scan, &subject, err);
    return check_image_of(scan, &subject, err);
}

int scan_check_entries(struct scan *scan, struct error *err)
{
    for (size_t i = 0; i < scan->entry_count; i++) {
        const struct scan_entry *entry = &scan->entries[i];

        if (!entry->found || !scan->pools[entry->pool].wanted)
            continue;
        if (call_check(scan->call, err) < 0 || check_entry(scan, entry, err) < 0)
            return -1;
    }
    return 0;
}
