/* What the directories say: names that lead nowhere or astray, and purge keys. */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/on_disk.h"
#include "controller/fsck/fsck_look.h"

/* Whether the name is still as it was read: creations and deletions go on meanwhile. */
static int name_stands(struct look *look, const struct look_name *name, bool *stands,
                       struct error *err)
{
    struct ceph_pool *directory = look->pools[name->directory].pool;
    _cleanup_free_ char *value = NULL;

    if (directory->ops->omap_get(directory, look->call, name->object, name->key, &value, err) < 0)
        return -1;
    *stands = value && strcmp(value, name->value) == 0;
    return 0;
}

/* A name's own age is not known; it is no younger than its directory's last change. */
static int mark_if_young(struct look *look, const struct look_name *name,
                         struct fsck_finding *finding, struct error *err)
{
    bool young = false;

    if (look_is_young(look, look->pools[name->directory].pool, name->object, &young, err) < 0)
        return -1;
    if (young)
        finding_under_way(finding);
    return 0;
}

static void set_forget_name(struct look *look, const struct look_name *name,
                            struct fsck_finding *finding)
{
    finding->repair = (struct fsck_repair){
        .action = FSCK_FORGET_NAME,
        .kind = name->kind,
        .uuid = name->ref.uuid,
        .pool_id = name->pool == LOOK_NO_POOL ? -1 : look->pools[name->pool].pool->id,
        .directory_id = look->pools[name->directory].pool->id,
        .directory_object = xstrdup(name->object),
        .key = xstrdup(name->key),
        .value = xstrdup(name->value),
    };
}

static const char *create_method(enum journal_kind kind)
{
    static const char *const methods[] = {
        [JOURNAL_VOLUME] = "CreateVolume",
        [JOURNAL_SNAPSHOT] = "CreateSnapshot",
        [JOURNAL_GROUP] = "CreateVolumeGroupSnapshot",
    };

    return methods[kind];
}

/* The name's object is not where the name leads. */
static int check_dangling(struct look *look, const struct look_name *name, struct error *err)
{
    const char *request_name = look_request_name(name);
    const struct look_entry *half =
        look_find_entry(look, name->kind, name->directory, &name->ref.uuid);
    bool stands = false;

    if (name_stands(look, name, &stands, err) < 0)
        return -1;
    if (!stands)
        return 0;
    if (half && name->pool != name->directory)
        return 0; /* its attributes are beside the directory: check_half() */
    struct fsck_finding *finding = look_report(
        look, FSCK_NAME_WITHOUT_OBJECT, FSCK_WARNING, name->directory, request_name,
        "the name leads to %s, which has no object: %s was cut; its retry finishes it; if none "
        "comes, nothing but the name is left",
        name->ref.uuid.chars, create_method(name->kind));
    set_forget_name(look, name, finding);
    return mark_if_young(look, name, finding, err);
}

static int check_pool_gone(struct look *look, const struct look_name *name, struct error *err)
{
    const struct look_entry *half =
        look_find_entry(look, name->kind, name->directory, &name->ref.uuid);
    struct fsck_finding *finding = look_report(
        look, FSCK_NAME_WITHOUT_POOL, FSCK_WARNING, name->directory, look_request_name(name),
        "the name leads to %s in pool %lld, which is gone, and its images with it",
        name->ref.uuid.chars, (long long)name->ref.image_pool_id);

    (void)err;
    if (!half)
        set_forget_name(look, name, finding);
    return 0;
}

static int check_mismatch(struct look *look, const struct look_name *name,
                          const struct look_entry *entry, struct error *err)
{
    bool stands = false;

    if (name_stands(look, name, &stands, err) < 0)
        return -1;
    if (stands)
        look_report(look, FSCK_NAME_MISMATCH, FSCK_ERROR, name->directory, look_request_name(name),
                    "the name leads to %s, which calls itself '%s': Ceph-CSI refuses the name for "
                    "ever; compare with the PVs and remove the key '%s' of '%s' if no PV has that "
                    "name",
                    name->ref.uuid.chars, entry->entry.request_name, name->key, name->object);
    return 0;
}

static int check_name(struct look *look, const struct look_name *name, struct error *err)
{
    if (name->broken) {
        look_report(look, FSCK_NAME_BROKEN, FSCK_ERROR, name->directory, look_request_name(name),
                    "the name holds '%.80s', which is neither a uuid nor POOLID/UUID; nobody can "
                    "follow it",
                    name->value);
        return 0;
    }
    if (name->pool == LOOK_NO_POOL)
        return check_pool_gone(look, name, err);
    const struct look_entry *entry = look_find_entry(look, name->kind, name->pool, &name->ref.uuid);
    if (!entry)
        return check_dangling(look, name, err);
    const struct look_entry *attributes = look_attributes(look, entry, name);
    if (attributes->entry.request_name &&
        strcmp(attributes->entry.request_name, look_request_name(name)) != 0)
        return check_mismatch(look, name, attributes, err);
    return 0;
}

/* --- the same name in several pools --- */

static int compare_keys(const void *a, const void *b)
{
    const struct look_name *left = *(const struct look_name *const *)a;
    const struct look_name *right = *(const struct look_name *const *)b;
    int order = (int)left->kind - (int)right->kind;

    return order ? order : strcmp(left->key, right->key);
}

/* Ceph-CSI chooses the pool before it looks for the name: a retry in another zone makes a second
 * image. */
static void check_twice(struct look *look)
{
    _cleanup_free_ const struct look_name **ours = xcalloc(look->name_count + 1, sizeof(*ours));
    size_t count = 0;

    for (size_t i = 0; i < look->name_count; i++)
        if (look->names[i].is_ours)
            ours[count++] = &look->names[i];
    if (count > 1)
        qsort(ours, count, sizeof(struct look_name *), compare_keys);
    for (size_t i = 1; i < count; i++) {
        const struct look_name *first = ours[i - 1];
        const struct look_name *second = ours[i];

        if (compare_keys(&ours[i - 1], &ours[i]) != 0 ||
            !(look->pools[first->directory].wanted || look->pools[second->directory].wanted))
            continue;
        look_report(
            look, FSCK_NAME_IN_TWO_POOLS, FSCK_WARNING, second->directory,
            look_request_name(second),
            "the name is in pool '%s' (%s) and in pool '%s' (%s): a creation retried in "
            "another zone by Ceph-CSI; at most one has a PV, delete the other by its handle",
            look->pools[first->directory].pool->name, first->value,
            look->pools[second->directory].pool->name, second->value);
    }
}

/* --- purge keys --- */

static int check_purge_gone(struct look *look, const struct look_purge *purge, struct error *err)
{
    struct ceph_pool *directory = look->pools[purge->directory].pool;
    _cleanup_free_ char *value = NULL;

    if (directory->ops->omap_get(directory, look->call, purge->object, purge->key, &value, err) < 0)
        return -1;
    if (!value || strcmp(value, purge->value) != 0)
        return 0; /* worked off meanwhile */
    struct fsck_finding *finding = look_report(
        look, FSCK_PURGE_WITHOUT_TRASH, FSCK_WARNING, purge->directory, purge->key,
        "the data of '%s' was to be removed, but it is not in the trash: a purge was cut behind "
        "its "
        "last step, and the driver's next one drops the key; or somebody took it out of the trash",
        purge->value);
    finding->repair = (struct fsck_repair){
        .action = FSCK_FORGET_PURGE,
        .pool_id = purge->pool_id,
        .directory_id = directory->id,
        .directory_object = xstrdup(purge->object),
        .key = xstrdup(purge->key),
        .value = xstrdup(purge->value),
        .image_id = xstrdup(purge->image_id),
    };
    return 0;
}

static void report_broken_purge(struct look *look, const struct look_purge *purge)
{
    look_report(look, FSCK_NAME_BROKEN, FSCK_ERROR, purge->directory, purge->key,
                "the key is no cephzone.purge.POOLID.IMAGEID: the driver stops at it, and nothing "
                "behind it is removed; remove the key by hand");
}

/* *@pending counts the keys of one directory pool that still have something to remove. */
static int check_purge(struct look *look, const struct look_purge *purge, size_t *pending,
                       struct error *err)
{
    if (!purge->image_id) {
        report_broken_purge(look, purge);
        return 0;
    }
    size_t pool = look_find_pool(look, purge->pool_id);
    if (pool != LOOK_NO_POOL && !look->pools[pool].wanted)
        return 0; /* its trash was not read */
    if (pool != LOOK_NO_POOL && look_find_trash(&look->pools[pool], NULL, purge->image_id)) {
        (*pending)++;
        return 0;
    }
    return check_purge_gone(look, purge, err);
}

static int check_purges(struct look *look, size_t pool, struct error *err)
{
    size_t pending = 0;

    for (size_t i = 0; i < look->purge_count; i++)
        if (look->purges[i].directory == pool && look->purges[i].is_ours &&
            check_purge(look, &look->purges[i], &pending, err) < 0)
            return -1;
    if (pending > 0)
        look_report(look, FSCK_PURGE_PENDING, FSCK_NOTE, pool, PURGE_KEY "*",
                    "%zu deleted image(s) wait in the trash for the driver to remove their data; "
                    "one whose clones still need it stays until they are gone",
                    pending);
    return 0;
}

int look_check_names(struct look *look, struct error *err)
{
    for (size_t i = 0; i < look->name_count; i++) {
        const struct look_name *name = &look->names[i];

        if (!name->is_ours || !look->pools[name->directory].wanted)
            continue;
        if (call_check(look->call, err) < 0 || check_name(look, name, err) < 0)
            return -1;
    }
    check_twice(look);
    for (size_t i = 0; i < look->pool_count; i++)
        if (look->pools[i].wanted && check_purges(look, i, err) < 0)
            return -1;
    return 0;
}
