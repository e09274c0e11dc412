/* What the uuids' objects say: without a name, without an image, unfinished, split over two pools,
 * groups with missing members. */
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "controller/fsck/fsck_look.h"
#include "controller/rbd/rbd_images.h"

/* Everything that is known of one object. */
struct subject {
    const struct look_entry *entry;
    const struct look_name *name;           /* NULL: none leads to it */
    const struct journal_entry *attributes; /* its own or those of the other half */
    const char *image_id;                   /* of the image of that name; NULL: there is none */
    const struct trash_entry *trash;        /* the image in the trash */
    const struct look_pv *pv;
    char *object;
};

static struct look_pool *pool_of(const struct look *look, const struct subject *subject)
{
    return &look->pools[subject->entry->pool];
}

static const char *renamed_to(const struct look_pool *pool, const char *id)
{
    for (size_t i = 0; id && i < pool->images.count; i++)
        if (strcmp(pool->images.entries[i].value, id) == 0)
            return pool->images.entries[i].key;
    return NULL;
}

/* Adds a repair that removes the entry, or says that it may be under way. */
static int offer_to_forget(struct look *look, const struct subject *subject,
                           struct fsck_finding *finding, struct error *err)
{
    bool young = false;

    finding_forget_entry(look, finding, subject->entry, subject->name, subject->trash);
    if (look_is_young(look, pool_of(look, subject)->pool, subject->object, &young, err) < 0)
        return -1;
    if (young)
        finding_under_way(finding);
    return 0;
}

/* Whether some image of the pool, or of its trash unless queued for removal, ends with the uuid. */
static bool uuid_has_image(const struct look *look, const struct subject *subject)
{
    const struct look_pool *pool = pool_of(look, subject);
    const char *uuid = subject->entry->uuid.chars;

    for (size_t i = 0; i < pool->images.count; i++)
        if (text_has_suffix(pool->images.entries[i].key, uuid))
            return true;
    for (size_t i = 0; i < pool->trash.count; i++)
        if (text_has_suffix(pool->trash.items[i].name, uuid) &&
            !look_has_purge(look, pool->pool->id, pool->trash.items[i].id))
            return true;
    return false;
}

/* An image that somebody renamed or put into the trash may come back, and one whose attributes are
 * out of sight may have any prefix: their entries must stay. */
static bool image_may_return(const struct look *look, const struct subject *subject)
{
    const struct look_pool *pool = pool_of(look, subject);

    return (subject->trash && !look_has_purge(look, pool->pool->id, subject->trash->id)) ||
           renamed_to(pool, subject->attributes->image_id) || uuid_has_image(look, subject);
}

/* --- without a name --- */

static int check_nameless(struct look *look, const struct subject *subject, struct error *err)
{
    const struct journal_entry *attributes = subject->attributes;
    struct fsck_finding *finding = NULL;
    const char *where = look->is_partial ? " (not all pools could be searched for it)" : "";

    if (subject->image_id) {
        finding = look_report(look, FSCK_OBJECT_WITHOUT_NAME, FSCK_ERROR, subject->entry->pool,
                              subject->object,
                              "no name leads to it%s, but its image '%s' exists: the handle works, "
                              "a retried creation of '%s' would make a second volume",
                              where, attributes->image_name,
                              attributes->request_name ? attributes->request_name : "?");
        finding_set_handle(look, finding, subject->entry->pool, &subject->entry->uuid);
        return 0;
    }
    if (!attributes->request_name)
        finding = look_report(look, FSCK_OBJECT_WITHOUT_NAME, FSCK_WARNING, subject->entry->pool,
                              subject->object,
                              "an empty object that no name leads to%s: Ceph-CSI was cut between "
                              "its first two steps",
                              where);
    else
        finding = look_report(look, FSCK_OBJECT_WITHOUT_NAME, FSCK_WARNING, subject->entry->pool,
                              subject->object,
                              "the name '%s' and the image '%s' are gone%s: a deletion was cut "
                              "before its last step; its retry finishes it",
                              attributes->request_name, attributes->image_name, where);
    finding_set_handle(look, finding, subject->entry->pool, &subject->entry->uuid);
    if (subject->pv || image_may_return(look, subject))
        return 0;
    return offer_to_forget(look, subject, finding, err);
}

/* --- without an image --- */

static int report_without_image(struct look *look, const struct subject *subject, struct error *err)
{
    const struct journal_entry *attributes = subject->attributes;
    const struct look_pool *pool = pool_of(look, subject);
    const char *renamed = renamed_to(pool, attributes->image_id);
    bool finished = attributes->image_id != NULL;
    struct fsck_finding *finding = look_report(
        look, FSCK_OBJECT_WITHOUT_IMAGE, finished ? FSCK_ERROR : FSCK_WARNING, subject->entry->pool,
        subject->object, "'%s' has no image '%s': %s%s%s", attributes->request_name,
        attributes->image_name,
        subject->trash ? "it is in the trash: a deletion was cut, or somebody moved it there; "
                         "delete it by its handle, or restore it"
        : renamed      ? "somebody renamed it to '"
        : finished     ? "a deletion was cut, and its retry finishes it; or somebody removed the "
                         "image"
                       : "the creation was cut; its retry finishes it; if none comes, nothing but "
                         "the entry is left",
        renamed && !subject->trash ? renamed : "", renamed && !subject->trash ? "'" : "");

    finding_set_handle(look, finding, subject->entry->pool, &subject->entry->uuid);
    if (image_may_return(look, subject))
        return 0;
    /* a finished one had data: only Kubernetes can tell that nobody wants it any more */
    if (finished && (subject->entry->kind != JOURNAL_VOLUME || !look->options->pvs))
        return 0;
    return offer_to_forget(look, subject, finding, err);
}

/* Reads once more before it is said: drivers work meanwhile. */
static int check_without_image(struct look *look, const struct subject *subject, struct error *err)
{
    struct ceph_pool *pool = pool_of(look, subject)->pool;
    const struct journal journal = {subject->entry->kind, look->options->instance_id};
    _cleanup_journal_entry_ struct journal_entry again = {0};
    _cleanup_free_ char *image_id = NULL;
    bool found = false;

    if (image_find(pool, look->call, subject->attributes->image_name, &image_id, err) < 0)
        return -1;
    if (image_id)
        return 0;
    if (journal_read(&journal, look->call, pool, &subject->entry->uuid, &again, &found, err) < 0)
        return -1;
    if (!found || subject->pv) /* look_check_pvs() speaks of those with a PV */
        return 0;
    if (!subject->attributes->request_name) {
        struct fsck_finding *finding = look_report(
            look, FSCK_ENTRY_EMPTY, FSCK_WARNING, subject->entry->pool, subject->object,
            "'%s' leads to an empty object without image: Ceph-CSI was cut between its second and "
            "third step, and refuses the name from then on",
            look_request_name(subject->name));

        if (image_may_return(look, subject))
            return 0;
        return offer_to_forget(look, subject, finding, err);
    }
    return report_without_image(look, subject, err);
}

/* --- with an image --- */

static int check_unfinished(struct look *look, const struct subject *subject, struct error *err)
{
    struct fsck_finding *finding = NULL;
    bool young = false;

    if (look_is_young(look, pool_of(look, subject)->pool, subject->object, &young, err) < 0)
        return -1;
    if (subject->pv) /* Ceph-CSI adds it at the next use */
        look_report(look, FSCK_ENTRY_UNFINISHED, FSCK_NOTE, subject->entry->pool, subject->object,
                    "PV '%s' uses it, but it lacks the image's id", subject->pv->pv->meta.name);
    else
        finding = look_report(look, FSCK_ENTRY_UNFINISHED, FSCK_WARNING, subject->entry->pool,
                              subject->object,
                              "image '%s' of '%s' exists, but its creation was cut; its retry "
                              "finishes it; if none comes, delete it by its handle",
                              subject->attributes->image_name, subject->attributes->request_name);
    if (!finding)
        return 0;
    finding_set_handle(look, finding, subject->entry->pool, &subject->entry->uuid);
    if (young)
        finding_under_way(finding);
    return 0;
}

static int check_image_of(struct look *look, const struct subject *subject, struct error *err)
{
    const struct journal_entry *attributes = subject->attributes;

    if (!attributes->request_name)
        return 0; /* Ceph-CSI 1.x and 2.0, or half of an entry whose other half is out of sight */
    if (!attributes->image_id)
        return check_unfinished(look, subject, err);
    if (strcmp(attributes->image_id, subject->image_id) != 0)
        look_report(look, FSCK_IMAGE_ID_DIFFERS, FSCK_ERROR, subject->entry->pool, subject->object,
                    JOURNAL_KEY_IMAGE_ID
                    " is '%s', but image '%s' has '%s': the image was replaced by "
                    "another of that name; if it is the right one, set csi.imageid to its id",
                    attributes->image_id, attributes->image_name, subject->image_id);
    if (subject->entry->kind == JOURNAL_SNAPSHOT && attributes->source &&
        !strmap_has(&pool_of(look, subject)->images, attributes->source))
        look_report(look, FSCK_SNAPSHOT_WITHOUT_SOURCE, FSCK_NOTE, subject->entry->pool,
                    subject->object,
                    "its source '%s' has been deleted; the snapshot is complete without it",
                    attributes->source);
    return 0;
}

/* --- split over two pools --- */

/* @entry holds attributes that belong to an object in another pool. */
static int check_half(struct look *look, const struct look_entry *entry, struct error *err)
{
    const struct look_name *name = NULL;
    const struct look_name *next = NULL;
    _cleanup_free_ char *image_id = NULL;

    while ((next = look_next_name(look, &entry->uuid, next)))
        if (next->kind == entry->kind && next->directory == entry->pool)
            name = next;
    const struct journal journal = {entry->kind, look->options->instance_id};
    _cleanup_free_ char *object = journal_object(&journal, &entry->uuid);
    if (!name || !name->is_ours)
        return 0;
    if (name->pool != LOOK_NO_POOL &&
        look_find_entry(look, entry->kind, name->pool, &entry->uuid)) {
        look_report(
            look, FSCK_SPLIT_ENTRY, FSCK_NOTE, entry->pool, object,
            "made by Ceph-CSI 3.0 to 3.10 with topology: its attributes are here, its image "
            "in pool '%s'; this driver handles it, Ceph-CSI leaves this half when it "
            "deletes the volume",
            look->pools[name->pool].pool->name);
        return 0;
    }
    struct fsck_finding *finding = look_report(
        look, FSCK_HALF_ENTRY, FSCK_WARNING, entry->pool, object,
        "half an entry of Ceph-CSI 3.0 to 3.10: the other half and the image were in pool %lld and "
        "are gone; its deletion leaves name and attributes",
        (long long)name->ref.image_pool_id);
    const struct subject subject = {
        .entry = entry, .name = name, .attributes = &entry->entry, .object = object};
    if (name->pool != LOOK_NO_POOL && image_find(look->pools[name->pool].pool, look->call,
                                                 entry->entry.image_name, &image_id, err) < 0)
        return -1;
    if (image_id || look_find_pv(look, &entry->uuid) ||
        (name->pool != LOOK_NO_POOL &&
         look_find_trash(&look->pools[name->pool], entry->entry.image_name, NULL)))
        return 0;
    return offer_to_forget(look, &subject, finding, err);
}

/* --- groups --- */

/* Members are snapshots, or volumes where Ceph-CSI's add-ons made the group. */
static int member_exists(struct look *look, const struct volume_id *id, bool *exists,
                         struct error *err)
{
    size_t pool = look_find_pool(look, (int64_t)id->location_id);

    *exists = false;
    for (int kind = JOURNAL_VOLUME; pool != LOOK_NO_POOL && kind <= JOURNAL_SNAPSHOT; kind++) {
        const struct journal journal = {(enum journal_kind)kind, look->options->instance_id};
        _cleanup_journal_entry_ struct journal_entry entry = {0};
        bool found = false;

        if (journal_read(&journal, look->call, look->pools[pool].pool, &id->uuid, &entry, &found,
                         err) < 0)
            return -1;
        *exists = *exists || found;
    }
    return 0;
}

static int check_group(struct look *look, const struct subject *subject, struct error *err)
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
        if (member_exists(look, &id, &exists, err) < 0)
            return -1;
        count++;
        missing += !exists;
    }
    if (missing == 0)
        return 0;
    struct fsck_finding *finding = look_report(
        look, FSCK_GROUP_INCOMPLETE, FSCK_WARNING, subject->entry->pool, subject->object,
        "%zu of the %zu members of group '%s' are gone: a deletion was cut, and its "
        "retry finishes it; or somebody removed them",
        missing, count,
        subject->attributes->request_name ? subject->attributes->request_name : "?");
    finding_set_handle(look, finding, subject->entry->pool, &subject->entry->uuid);
    return 0;
}

/* --- the whole --- */

static void count_entry(struct look *look, const struct look_entry *entry)
{
    struct fsck_report *report = look->report;

    report->volumes += entry->kind == JOURNAL_VOLUME;
    report->snapshots += entry->kind == JOURNAL_SNAPSHOT;
    report->groups += entry->kind == JOURNAL_GROUP;
}

/* The name may have come after the directories were read. */
static int has_new_name(struct look *look, const struct subject *subject, bool *has,
                        struct error *err)
{
    const struct journal_entry *attributes = subject->attributes;
    const struct journal journal = {subject->entry->kind, look->options->instance_id};
    size_t directory = subject->entry->pool;
    struct journal_ref ref;

    *has = false;
    if (!attributes->request_name)
        return 0;
    if (attributes->journal_pool_id >= 0)
        directory = look_find_pool(look, attributes->journal_pool_id);
    if (directory == LOOK_NO_POOL)
        return 0;
    if (journal_find(&journal, look->call, look->pools[directory].pool, attributes->request_name,
                     &ref, has, err) < 0)
        return -1;
    *has = *has && strcmp(ref.uuid.chars, subject->entry->uuid.chars) == 0;
    return 0;
}

static int check_subject(struct look *look, const struct subject *subject, struct error *err)
{
    bool has_name = subject->name != NULL;

    if (!has_name && has_new_name(look, subject, &has_name, err) < 0)
        return -1;
    if (!has_name)
        return check_nameless(look, subject, err);
    if (!subject->name) /* just begun: another look will see all of it */
        return 0;
    if (subject->entry->kind == JOURNAL_GROUP)
        return check_group(look, subject, err);
    if (!subject->image_id)
        return check_without_image(look, subject, err);
    return check_image_of(look, subject, err);
}

static int check_entry(struct look *look, const struct look_entry *entry, struct error *err)
{
    const struct journal journal = {entry->kind, look->options->instance_id};
    _cleanup_free_ char *object = journal_object(&journal, &entry->uuid);
    const struct look_pool *pool = &look->pools[entry->pool];
    struct subject subject = {
        .entry = entry,
        .name = look_name_of(look, entry),
        .pv = look_find_pv(look, &entry->uuid),
        .object = object,
    };

    if (!subject.name && look_is_half(look, entry))
        return check_half(look, entry, err);
    if (subject.name && !subject.name->is_ours)
        return 0; /* another instance's */
    count_entry(look, entry);
    subject.attributes = &look_attributes(look, entry, subject.name)->entry;
    subject.image_id = strmap_get(&pool->images, subject.attributes->image_name);
    subject.trash =
        look_find_trash(pool, subject.attributes->image_name, subject.attributes->image_id);
    return check_subject(look, &subject, err);
}

int look_check_entries(struct look *look, struct error *err)
{
    for (size_t i = 0; i < look->entry_count; i++) {
        const struct look_entry *entry = &look->entries[i];

        if (!entry->found || !look->pools[entry->pool].wanted)
            continue;
        if (call_check(look->call, err) < 0 || check_entry(look, entry, err) < 0)
            return -1;
    }
    return 0;
}
