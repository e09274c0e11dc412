#include "common/ceph/journal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"

struct journal_names {
    const char *directory;    /* object, before the instance */
    const char *prefix;       /* of an entry's object, before the uuid; of a directory key */
    const char *name_key;     /* attribute that holds the request name */
    const char *image_key;    /* attribute that holds the image's name */
    const char *image_prefix; /* of images, unless the class names one */
};

static const struct journal_names NAMES[] = {
    [JOURNAL_VOLUME] = {JOURNAL_VOLUMES, JOURNAL_VOLUME_PREFIX, JOURNAL_KEY_VOLUME_NAME,
                        JOURNAL_KEY_IMAGE_NAME, IMAGE_PREFIX_VOLUME},
    [JOURNAL_SNAPSHOT] = {JOURNAL_SNAPSHOTS, JOURNAL_SNAPSHOT_PREFIX, JOURNAL_KEY_SNAPSHOT_NAME,
                          JOURNAL_KEY_IMAGE_NAME, IMAGE_PREFIX_SNAPSHOT},
    [JOURNAL_GROUP] = {JOURNAL_GROUPS, JOURNAL_GROUP_PREFIX, JOURNAL_KEY_VOLUME_NAME,
                       JOURNAL_KEY_GROUP_NAME, IMAGE_PREFIX_GROUP},
};

#define POOL_ID_DIGITS 16

char *journal_directory(const struct journal *journal)
{
    return xasprintf("%s%s", NAMES[journal->kind].directory, journal->instance);
}

static char *print_directory_key(const struct journal *journal, const char *request_name)
{
    return xasprintf("%s%s", NAMES[journal->kind].prefix, request_name);
}

char *journal_object(const struct journal *journal, const struct uuid_text *uuid)
{
    return xasprintf("%s%s", NAMES[journal->kind].prefix, uuid->chars);
}

const char *journal_key_prefix(enum journal_kind kind)
{
    return NAMES[kind].prefix;
}

static char *print_directory_value(const struct ceph_pool *directory, int64_t image_pool_id,
                                   const struct uuid_text *uuid)
{
    if (directory->id == image_pool_id)
        return xstrdup(uuid->chars);
    return xasprintf("%016llx/%s", (unsigned long long)image_pool_id, uuid->chars);
}

/* Reads what begins with a pool's id and goes on with something else, or ends there. */
static bool parse_pool_id(const char *text, int64_t *id)
{
    *id = (int64_t)strtoull(text, NULL, 16);
    return strspn(text, "0123456789abcdefABCDEF") == POOL_ID_DIGITS;
}

int journal_parse_value(const struct ceph_pool *directory, const char *key, const char *value,
                        struct journal_ref *ref, struct error *err)
{
    const char *uuid = value;
    int64_t pool_id = directory->id;

    if (strlen(value) == POOL_ID_DIGITS + 1 + UUID_LENGTH) {
        uuid = value + POOL_ID_DIGITS + 1;
        if (value[POOL_ID_DIGITS] != '/' || !parse_pool_id(value, &pool_id))
            uuid = "";
    }
    if (!uuid_text_is_valid(uuid))
        return error_set(err, STATUS_DATA_LOSS,
                         "journal key '%s' in pool '%s' holds '%.80s', which is neither a uuid nor "
                         "POOLID/UUID",
                         key, directory->name, value);
    memcpy(ref->uuid.chars, uuid, UUID_LENGTH + 1);
    ref->image_pool_id = pool_id;
    return 0;
}

int journal_find(const struct journal *journal, struct call *call, struct ceph_pool *directory,
                 const char *request_name, struct journal_ref *ref, bool *found, struct error *err)
{
    _cleanup_free_ char *object = journal_directory(journal);
    _cleanup_free_ char *key = print_directory_key(journal, request_name);
    _cleanup_free_ char *value = NULL;

    if (directory->ops->omap_get(directory, call, object, key, &value, err) < 0)
        return error_wrap(err, "look up name '%s'", request_name);
    if (value && journal_parse_value(directory, key, value, ref, err) < 0)
        return -1;
    *found = value != NULL;
    return 0;
}

int journal_find_in_pools(const struct journal *journal, struct call *call,
                          struct ceph_pool *const *directories, size_t count,
                          const char *request_name, int64_t patience_ms, struct journal_ref *ref,
                          ssize_t *index, struct error *err)
{
    _cleanup_free_ char *object = journal_directory(journal);
    _cleanup_free_ char *key = print_directory_key(journal, request_name);
    struct omap_answer *answers = xcalloc(count + 1, sizeof(*answers));
    const struct ceph_pool *silent = NULL;
    int result = 0;

    *index = -1;
    if (count > 0)
        result = directories[0]->ops->omap_get_many(directories, count, call, object, key,
                                                    patience_ms, answers, err);
    for (size_t i = 0; result == 0 && *index < 0 && i < count; i++) {
        if (!answers[i].answered)
            silent = directories[i];
        if (!answers[i].value)
            continue;
        *index = (ssize_t)i;
        result = journal_parse_value(directories[i], key, answers[i].value, ref, err);
    }
    if (result == 0 && *index < 0 && silent)
        result = error_set(err, STATUS_UNAVAILABLE,
                           "pool '%s' does not answer whether it has the name", silent->name);
    for (size_t i = 0; i < count; i++)
        free(answers[i].value);
    free(answers);
    return result < 0 ? error_wrap(err, "look up name '%s'", request_name) : 0;
}

int journal_claim(const struct journal *journal, struct call *call, struct ceph_pool *directory,
                  const char *request_name, int64_t image_pool_id, struct journal_ref *ref,
                  bool *fresh, struct error *err)
{
    _cleanup_free_ char *object = journal_directory(journal);
    _cleanup_free_ char *key = print_directory_key(journal, request_name);
    struct journal_ref claimed = {uuid_text_generate(), image_pool_id};
    _cleanup_free_ char *value = print_directory_value(directory, image_pool_id, &claimed.uuid);
    bool found = false;

    call_stage(call, "reserving the name in pool '%s' for {age}", directory->name);
    if (directory->ops->omap_add(directory, call, object, key, value, err) == 0) {
        *ref = claimed;
        *fresh = true;
        return 0;
    }
    if (err->status != STATUS_ALREADY_EXISTS)
        return error_wrap(err, "reserve name '%s'", request_name);
    error_clear(err); /* another process was faster: its uuid is the one */
    if (journal_find(journal, call, directory, request_name, ref, &found, err) < 0)
        return -1;
    if (!found)
        return error_set(err, STATUS_ABORTED,
                         "name '%s' was reserved and given back by another process just now; retry",
                         request_name);
    *fresh = false;
    return 0;
}

int journal_claim_for(const struct journal *journal, struct call *call, struct ceph_pool *directory,
                      const char *request_name, const struct journal_ref *ref, struct error *err)
{
    _cleanup_free_ char *object = journal_directory(journal);
    _cleanup_free_ char *key = print_directory_key(journal, request_name);
    _cleanup_free_ char *value = print_directory_value(directory, ref->image_pool_id, &ref->uuid);

    if (directory->ops->omap_add(directory, call, object, key, value, err) == 0)
        return 0;
    if (err->status == STATUS_ALREADY_EXISTS)
        error_recode(err, STATUS_ABORTED);
    return error_wrap(err, "reserve name '%s'", request_name);
}

/* Names of attributes that are a plain string in struct journal_entry. */
static const struct {
    const char *key;
    size_t offset;
} ATTRIBUTES[] = {
    {JOURNAL_KEY_IMAGE_ID, offsetof(struct journal_entry, image_id)},
    {JOURNAL_KEY_SOURCE, offsetof(struct journal_entry, source)},
    {JOURNAL_KEY_OWNER, offsetof(struct journal_entry, owner)},
    {JOURNAL_KEY_KMS, offsetof(struct journal_entry, kms_id)},
    {JOURNAL_KEY_ENCRYPTION, offsetof(struct journal_entry, encryption_type)},
    {JOURNAL_KEY_GROUP, offsetof(struct journal_entry, group_id)},
};

static char **find_attribute(const struct journal_entry *entry, size_t index)
{
    return (char **)((uintptr_t)entry + ATTRIBUTES[index].offset);
}

/* As JOURNAL_KEY_POOL has it. Caller frees. */
static char *print_pool_id(int64_t id)
{
    return xasprintf("%016llx", (unsigned long long)id);
}

static void collect_attributes(const struct journal *journal, const struct ceph_pool *pool,
                               const struct journal_entry *entry, struct strmap *attributes)
{
    const struct journal_names *names = &NAMES[journal->kind];

    strmap_merge(attributes, &entry->extra);
    strmap_set(attributes, names->name_key, entry->request_name);
    strmap_set(attributes, names->image_key, entry->image_name);
    for (size_t i = 0; i < ARRAY_LENGTH(ATTRIBUTES); i++)
        if (*find_attribute(entry, i))
            strmap_set(attributes, ATTRIBUTES[i].key, *find_attribute(entry, i));
    if (entry->journal_pool_id >= 0 && entry->journal_pool_id != pool->id) {
        _cleanup_free_ char *id = print_pool_id(entry->journal_pool_id);

        strmap_set(attributes, JOURNAL_KEY_POOL, id);
    }
}

int journal_write(const struct journal *journal, struct call *call, struct ceph_pool *pool,
                  const struct journal_entry *entry, struct error *err)
{
    _cleanup_free_ char *object = journal_object(journal, &entry->uuid);
    _cleanup_strmap_ struct strmap attributes = {0};

    collect_attributes(journal, pool, entry, &attributes);
    if (pool->ops->object_create(pool, call, object, &attributes, err) < 0)
        return error_wrap(err, "write the journal entry of '%s'", entry->request_name);
    return 0;
}

int journal_fill(const struct journal *journal, struct call *call, struct ceph_pool *pool,
                 const struct journal_entry *entry, struct error *err)
{
    _cleanup_strmap_ struct strmap attributes = {0};

    collect_attributes(journal, pool, entry, &attributes);
    return journal_set(journal, call, pool, &entry->uuid, &attributes, err);
}

int journal_check_name(const struct journal_entry *entry, const char *request_name,
                       struct error *err)
{
    if (strcmp(entry->request_name, request_name) == 0)
        return 0;
    return error_set(err, STATUS_DATA_LOSS,
                     "the journal leads from name '%s' to entry '%s', which is that of '%s'",
                     request_name, entry->uuid.chars, entry->request_name);
}

/* Takes the value of @key out of @attributes; NULL if it is not there. */
static char *take_out(struct strmap *attributes, const char *key)
{
    const char *value = strmap_get(attributes, key);
    char *copy = value ? xstrdup(value) : NULL;

    strmap_remove(attributes, key);
    return copy;
}

/* What has no member of its own stays in @attributes, which becomes the entry's extra. */
static void decode_attributes(const struct journal *journal, const struct uuid_text *uuid,
                              struct strmap *attributes, struct journal_entry *entry)
{
    const struct journal_names *names = &NAMES[journal->kind];
    _cleanup_free_ char *journal_pool = take_out(attributes, JOURNAL_KEY_POOL);

    *entry = (struct journal_entry){.uuid = *uuid, .journal_pool_id = -1};
    entry->request_name = take_out(attributes, names->name_key);
    entry->image_name = take_out(attributes, names->image_key);
    if (!entry->image_name) /* written before Ceph-CSI 2.1, or split over two pools by 3.0-3.10 */
        entry->image_name = xasprintf("%s%s", names->image_prefix, uuid->chars);
    for (size_t i = 0; i < ARRAY_LENGTH(ATTRIBUTES); i++)
        *find_attribute(entry, i) = take_out(attributes, ATTRIBUTES[i].key);
    if (!journal_pool || !parse_pool_id(journal_pool, &entry->journal_pool_id))
        entry->journal_pool_id = -1;
    entry->extra = *attributes;
    *attributes = (struct strmap){0};
}

int journal_read(const struct journal *journal, struct call *call, struct ceph_pool *pool,
                 const struct uuid_text *uuid, struct journal_entry *entry, bool *found,
                 struct error *err)
{
    _cleanup_free_ char *object = journal_object(journal, uuid);
    _cleanup_strmap_ struct strmap attributes = {0};
    bool more = false;

    if (pool->ops->omap_list(pool, call, object, "", "", &attributes, &more, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return error_wrap(err, "read journal entry '%s'", uuid->chars);
        error_clear(err);
        *found = false;
        return 0;
    }
    decode_attributes(journal, uuid, &attributes, entry);
    *found = true;
    return 0;
}

int journal_set(const struct journal *journal, struct call *call, struct ceph_pool *pool,
                const struct uuid_text *uuid, const struct strmap *attributes, struct error *err)
{
    _cleanup_free_ char *object = journal_object(journal, uuid);

    if (pool->ops->omap_set(pool, call, object, attributes, err) < 0)
        return error_wrap(err, "change journal entry '%s'", uuid->chars);
    return 0;
}

int journal_set_for_image(const struct journal *journal, struct call *call, struct ceph_pool *pool,
                          const struct uuid_text *uuid, const char *image_name,
                          const struct strmap *attributes, struct error *err)
{
    const char *key = NAMES[journal->kind].image_key;
    _cleanup_free_ char *object = journal_object(journal, uuid);
    _cleanup_strmap_ struct strmap changed = {0};
    bool is_changed = false;

    strmap_set(&changed, key, image_name);
    strmap_merge(&changed, attributes);
    if (pool->ops->omap_remove_if(pool, call, object, key, image_name, &changed, &is_changed, err) <
        0)
        return error_wrap(err, "change journal entry '%s'", uuid->chars);
    if (!is_changed)
        return error_set(err, STATUS_ABORTED,
                         "journal entry '%s' names '%s' no longer: another process of the driver "
                         "changed or removed it just now; retry",
                         uuid->chars, image_name);
    return 0;
}

int journal_set_image_id(const struct journal *journal, struct call *call, struct ceph_pool *pool,
                         const struct uuid_text *uuid, const char *image_id, struct error *err)
{
    _cleanup_strmap_ struct strmap attributes = {0};

    strmap_set(&attributes, JOURNAL_KEY_IMAGE_ID, image_id);
    return journal_set(journal, call, pool, uuid, &attributes, err);
}

int journal_release_name(const struct journal *journal, struct call *call,
                         struct ceph_pool *directory, const char *request_name,
                         int64_t image_pool_id, const struct uuid_text *uuid,
                         const struct strmap *queued, struct error *err)
{
    _cleanup_free_ char *object = journal_directory(journal);
    _cleanup_free_ char *value = print_directory_value(directory, image_pool_id, uuid);
    bool removed = false;

    call_stage(call, "giving the name back in pool '%s' for {age}", directory->name);
    if (request_name) {
        _cleanup_free_ char *key = print_directory_key(journal, request_name);

        if (directory->ops->omap_remove_if(directory, call, object, key, value, queued, &removed,
                                           err) < 0)
            return error_wrap(err, "give name '%s' back", request_name);
    }
    for (size_t i = 0; queued && !removed && i < queued->count; i++) {
        const struct strmap_entry *item = &queued->entries[i];

        if (directory->ops->omap_add(directory, call, object, item->key, item->value, err) == 0)
            continue;
        if (err->status != STATUS_ALREADY_EXISTS)
            return error_wrap(err, "queue '%s'", item->key);
        error_clear(err);
    }
    return 0;
}

/* Success as well if an earlier move did it. */
static int claim_beside(const struct journal *journal, struct call *call, struct ceph_pool *pool,
                        const struct journal_entry *entry, struct error *err)
{
    const struct journal_ref ref = {entry->uuid, pool->id};
    struct journal_ref there;
    bool found = false;

    if (journal_find(journal, call, pool, entry->request_name, &there, &found, err) < 0)
        return -1;
    if (!found)
        return journal_claim_for(journal, call, pool, entry->request_name, &ref, err);
    if (strcmp(there.uuid.chars, entry->uuid.chars) == 0)
        return 0;
    return error_set(err, STATUS_ABORTED,
                     "name '%s' leads to another entry, '%s', in pool '%s': see 'cephzone fsck'",
                     entry->request_name, there.uuid.chars, pool->name);
}

int journal_move_name(const struct journal *journal, struct call *call, struct ceph_pool *directory,
                      struct ceph_pool *pool, const struct journal_entry *entry, struct error *err)
{
    _cleanup_free_ char *object = journal_object(journal, &entry->uuid);
    _cleanup_free_ char *recorded = print_pool_id(directory->id);
    bool removed = false;

    if (claim_beside(journal, call, pool, entry, err) < 0 ||
        pool->ops->omap_remove_if(pool, call, object, JOURNAL_KEY_POOL, recorded, NULL, &removed,
                                  err) < 0)
        return error_wrap(err, "move name '%s'", entry->request_name);
    return journal_release_name(journal, call, directory, entry->request_name, pool->id,
                                &entry->uuid, NULL, err);
}

int journal_remove(const struct journal *journal, struct call *call, struct ceph_pool *pool,
                   const struct uuid_text *uuid, struct error *err)
{
    _cleanup_free_ char *object = journal_object(journal, uuid);

    if (pool->ops->object_remove(pool, call, object, err) < 0)
        return error_wrap(err, "remove journal entry '%s'", uuid->chars);
    return 0;
}

void journal_entry_done(struct journal_entry *entry)
{
    free(entry->request_name);
    free(entry->image_name);
    for (size_t i = 0; i < ARRAY_LENGTH(ATTRIBUTES); i++)
        free(*find_attribute(entry, i));
    strmap_done(&entry->extra);
    *entry = (struct journal_entry){0};
}
