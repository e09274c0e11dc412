/*
 * Reads a cluster for fsck: names and purge keys, then images and trash, then the objects. Drivers
 * work meanwhile, so that what was begun or ended in between looks odd for a moment: the checks
 * read again what they are about to report.
 *
 * Directories are read in all pools, also in those that findings are not wanted of: a name may be
 * in another pool than its image, and only knowing all names shows that an object has none.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "controller/fsck/fsck_look.h"

#define POOL_ID_DIGITS 16

/* --- questions --- */

size_t look_find_pool(const struct look *look, int64_t id)
{
    for (size_t i = 0; i < look->pool_count; i++)
        if (look->pools[i].pool->id == id)
            return i;
    return LOOK_NO_POOL;
}

static int compare_entries(const void *a, const void *b)
{
    const struct look_entry *left = a;
    const struct look_entry *right = b;
    int order = strcmp(left->uuid.chars, right->uuid.chars);

    if (order == 0)
        order = (left->kind > right->kind) - (left->kind < right->kind);
    if (order == 0)
        order = (left->pool > right->pool) - (left->pool < right->pool);
    return order;
}

static int compare_names(const void *a, const void *b)
{
    const struct look_name *left = a;
    const struct look_name *right = b;
    int order = strcmp(left->ref.uuid.chars, right->ref.uuid.chars);

    return order ? order : strcmp(left->key, right->key);
}

const struct look_entry *look_find_entry(const struct look *look, enum journal_kind kind,
                                         size_t pool, const struct uuid_text *uuid)
{
    const struct look_entry wanted = {.kind = kind, .pool = pool, .uuid = *uuid};

    if (look->entry_count == 0)
        return NULL;
    const struct look_entry *entry =
        bsearch(&wanted, look->entries, look->entry_count, sizeof(*look->entries), compare_entries);
    return entry && entry->found ? entry : NULL;
}

const struct look_name *look_next_name(const struct look *look, const struct uuid_text *uuid,
                                       const struct look_name *previous)
{
    size_t low = previous ? (size_t)(previous - look->names) + 1 : 0;
    size_t high = previous ? low : look->name_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(look->names[middle].ref.uuid.chars, uuid->chars) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == look->name_count || strcmp(look->names[low].ref.uuid.chars, uuid->chars) != 0)
        return NULL;
    return &look->names[low];
}

const char *look_request_name(const struct look_name *name)
{
    return name->key + strlen(journal_key_prefix(name->kind));
}

const struct look_name *look_name_of(const struct look *look, const struct look_entry *entry)
{
    const struct look_name *name = NULL;
    const struct look_name *best = NULL;

    while ((name = look_next_name(look, &entry->uuid, name)))
        if (name->kind == entry->kind && name->pool == entry->pool && (!best || name->is_ours))
            best = name;
    return best;
}

bool look_is_half(const struct look *look, const struct look_entry *entry)
{
    const struct look_name *name = NULL;

    while ((name = look_next_name(look, &entry->uuid, name)))
        if (name->kind == entry->kind && name->directory == entry->pool &&
            name->pool != entry->pool)
            return true;
    return false;
}

const struct look_entry *look_attributes(const struct look *look, const struct look_entry *entry,
                                         const struct look_name *name)
{
    if (entry->entry.request_name || !name || name->directory == entry->pool)
        return entry;
    const struct look_entry *half =
        look_find_entry(look, entry->kind, name->directory, &entry->uuid);
    return half && half->entry.request_name ? half : entry;
}

bool look_uuid_of(const char *name, struct uuid_text *uuid, bool *is_temp)
{
    size_t length = strlen(name);

    *is_temp = text_has_suffix(name, IMAGE_SUFFIX_CLONE);
    if (*is_temp)
        length -= strlen(IMAGE_SUFFIX_CLONE);
    if (length <= UUID_LENGTH)
        return false;
    memcpy(uuid->chars, name + length - UUID_LENGTH, UUID_LENGTH);
    uuid->chars[UUID_LENGTH] = '\0';
    return uuid_text_is_valid(uuid->chars);
}

const struct trash_entry *look_find_trash(const struct look_pool *pool, const char *name,
                                          const char *id)
{
    for (size_t i = 0; i < pool->trash.count; i++) {
        const struct trash_entry *item = &pool->trash.items[i];

        if ((name && strcmp(item->name, name) == 0) || (id && strcmp(item->id, id) == 0))
            return item;
    }
    return NULL;
}

bool look_has_purge(const struct look *look, int64_t pool_id, const char *image_id)
{
    for (size_t i = 0; i < look->purge_count; i++)
        if (look->purges[i].image_id && look->purges[i].pool_id == pool_id &&
            strcmp(look->purges[i].image_id, image_id) == 0)
            return true;
    return false;
}

int look_is_young(struct look *look, struct ceph_pool *pool, const char *object, bool *young,
                  struct error *err)
{
    time_t modified = 0;

    if (pool->ops->object_modified(pool, look->call, object, &modified, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err);
        *young = true;
        return 0;
    }
    *young = time(NULL) - modified < look->options->min_age_s;
    return 0;
}

/* --- directories --- */

static bool parse_purge_key(const char *key, int64_t *pool_id, const char **image_id)
{
    const char *digits = key + strlen(PURGE_KEY);
    char *end = NULL;

    *pool_id = (int64_t)strtoull(digits, &end, 16);
    *image_id = end + 1;
    return end == digits + POOL_ID_DIGITS && *end == '.' && end[1] != '\0';
}

static void add_purge(struct look *look, size_t directory, const char *object, bool is_ours,
                      const struct strmap_entry *item)
{
    struct look_purge *purge = array_add(look->purges, look->purge_count);
    *purge = (struct look_purge){
        .directory = directory,
        .object = xstrdup(object),
        .is_ours = is_ours,
        .key = xstrdup(item->key),
        .value = xstrdup(item->value),
    };
    if (!parse_purge_key(purge->key, &purge->pool_id, &purge->image_id))
        purge->image_id = NULL;
}

static void add_name(struct look *look, size_t directory, enum journal_kind kind,
                     const char *object, bool is_ours, const struct strmap_entry *item)
{
    _cleanup_error_ struct error err = {0};

    struct look_name *name = array_add(look->names, look->name_count);
    *name = (struct look_name){
        .kind = kind,
        .directory = directory,
        .object = xstrdup(object),
        .is_ours = is_ours,
        .key = xstrdup(item->key),
        .value = xstrdup(item->value),
        .pool = LOOK_NO_POOL,
    };
    name->broken = journal_parse_value(look->pools[directory].pool, item->key, item->value,
                                       &name->ref, &err) < 0;
    if (!name->broken)
        name->pool = look_find_pool(look, name->ref.image_pool_id);
}

static void add_key(struct look *look, size_t directory, const struct journal *journal,
                    const char *object, const struct strmap_entry *item)
{
    bool is_ours = strcmp(journal->instance, look->options->instance_id) == 0;

    if (text_has_prefix(item->key, PURGE_KEY))
        add_purge(look, directory, object, is_ours, item);
    else if (text_has_prefix(item->key, journal_key_prefix(journal->kind)))
        add_name(look, directory, journal->kind, object, is_ours, item);
}

static void note_unreadable(struct look *look, const struct ceph_pool *pool)
{
    _cleanup_free_ char *name = xasprintf("%s/%s", look->session.cluster->cluster_id, pool->name);

    if (!string_list_has(&look->report->unreadable, name))
        string_list_add(&look->report->unreadable, name);
    look->is_partial = true;
}

/* *@exists says whether the directory is there. */
static int read_directory(struct look *look, size_t directory, const struct journal *journal,
                          bool *exists, struct error *err)
{
    struct ceph_pool *pool = look->pools[directory].pool;
    _cleanup_free_ char *object = journal_directory(journal);
    _cleanup_free_ char *after = xstrdup("");
    bool more = true;

    *exists = false;
    while (more) {
        _cleanup_strmap_ struct strmap keys = {0};

        if (pool->ops->omap_list(pool, look->call, object, after, "", &keys, &more, err) < 0) {
            if (err->status != STATUS_NOT_FOUND && err->status != STATUS_PERMISSION_DENIED)
                return -1;
            if (err->status == STATUS_PERMISSION_DENIED)
                note_unreadable(look, pool);
            error_clear(err);
            return 0;
        }
        *exists = true;
        for (size_t i = 0; i < keys.count; i++)
            add_key(look, directory, journal, object, &keys.entries[i]);
        if (keys.count == 0)
            return 0;
        free(after);
        after = xstrdup(keys.entries[keys.count - 1].key);
    }
    return 0;
}

static int read_directories(struct look *look, size_t directory, const char *instance,
                            bool *has_any, struct error *err)
{
    for (int kind = 0; kind < LOOK_KINDS; kind++) {
        const struct journal journal = {(enum journal_kind)kind, instance};
        bool exists = false;

        if (call_check(look->call, err) < 0 ||
            read_directory(look, directory, &journal, &exists, err) < 0)
            return -1;
        *has_any = *has_any || exists;
    }
    return 0;
}

/* --- pools --- */

static int check_wanted_exist(const struct look *look, const struct string_list *names,
                              struct error *err)
{
    const struct string_list *wanted = look->options->pools;

    for (size_t i = 0; i < wanted->count; i++)
        if (!string_list_has(names, wanted->items[i]))
            return error_set(err, STATUS_NOT_FOUND, "cluster '%s' has no pool '%s'",
                             look->session.cluster->cluster_id, wanted->items[i]);
    return 0;
}

static int open_pools(struct look *look, struct error *err)
{
    struct ceph_cluster *cluster = look->session.cluster;
    _cleanup_string_list_ struct string_list names = {0};

    if (cluster->ops->pool_list(cluster, look->call, &names, err) < 0 ||
        check_wanted_exist(look, &names, err) < 0)
        return -1;
    look->pools = xcalloc(names.count + 1, sizeof(*look->pools));
    for (size_t i = 0; i < names.count; i++) {
        struct look_pool *pool = &look->pools[look->pool_count];

        if (cluster->ops->pool_open(cluster, look->call, names.items[i],
                                    session_rbd_namespace(&look->session), &pool->pool, err) == 0) {
            pool->wanted = string_list_has(look->options->pools, names.items[i]);
            look->pool_count++;
            continue;
        }
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err); /* removed meanwhile */
    }
    return 0;
}

/* The pools to report on: those asked for, else those with a directory; and where names lead. */
static void choose_pools(struct look *look, const bool *has_directory)
{
    for (size_t i = 0; look->options->pools->count == 0 && i < look->pool_count; i++)
        look->pools[i].wanted = has_directory[i];
    for (size_t i = 0; i < look->name_count; i++) {
        const struct look_name *name = &look->names[i];

        if (name->pool != LOOK_NO_POOL && look->pools[name->directory].wanted)
            look->pools[name->pool].wanted = true;
    }
}

/* --- objects --- */

static void add_entry(struct look *look, enum journal_kind kind, size_t pool, const char *uuid)
{
    struct look_entry *entry = array_add(look->entries, look->entry_count);
    *entry = (struct look_entry){.kind = kind, .pool = pool};
    memcpy(entry->uuid.chars, uuid, UUID_LENGTH + 1);
}

static void sort_entries(struct look *look)
{
    size_t kept = 0;

    if (look->entry_count == 0)
        return;
    qsort(look->entries, look->entry_count, sizeof(*look->entries), compare_entries);
    for (size_t i = 1; i < look->entry_count; i++)
        if (compare_entries(&look->entries[kept], &look->entries[i]) != 0)
            look->entries[++kept] = look->entries[i];
    look->entry_count = kept + 1;
}

/* An object that a scan has come across: one of a uuid, or the directory of some instance. */
static void take_object(struct look *look, size_t pool, const char *name)
{
    for (int kind = 0; kind < LOOK_KINDS; kind++) {
        const struct journal any = {(enum journal_kind)kind, ""};
        const char *prefix = journal_key_prefix(any.kind);
        _cleanup_free_ char *directory = journal_directory(&any);

        if (text_has_prefix(name, prefix) && uuid_text_is_valid(name + strlen(prefix)))
            add_entry(look, any.kind, pool, name + strlen(prefix));
        const char *instance = name + strlen(directory);
        if (text_has_prefix(name, directory) && strcmp(instance, look->options->instance_id) != 0 &&
            !string_list_has(&look->instances, instance))
            string_list_add(&look->instances, instance);
    }
}

static int scan_pool(struct look *look, size_t index, struct error *err)
{
    struct ceph_pool *pool = look->pools[index].pool;
    _cleanup_string_list_ struct string_list names = {0};

    if (pool->ops->object_list(pool, look->call, JOURNAL_OBJECTS, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.count; i++)
        take_object(look, index, names.items[i]);
    return 0;
}

/* Finds all objects, and the names that other instances gave to some of them. */
static int scan_pools(struct look *look, struct error *err)
{
    bool has_any = false;

    for (size_t i = 0; look->options->scan && i < look->pool_count; i++)
        if (look->pools[i].wanted && scan_pool(look, i, err) < 0)
            return -1;
    for (size_t n = 0; n < look->instances.count; n++)
        for (size_t i = 0; i < look->pool_count; i++)
            if (read_directories(look, i, look->instances.items[n], &has_any, err) < 0)
                return -1;
    return 0;
}

/* Where objects ought to be: where names lead and, for halves, beside these names. */
static void add_named_entries(struct look *look)
{
    for (size_t i = 0; i < look->name_count; i++) {
        const struct look_name *name = &look->names[i];

        if (name->broken || !(look->pools[name->directory].wanted ||
                              (name->pool != LOOK_NO_POOL && look->pools[name->pool].wanted)))
            continue;
        if (name->pool != LOOK_NO_POOL)
            add_entry(look, name->kind, name->pool, name->ref.uuid.chars);
        if (name->pool != name->directory)
            add_entry(look, name->kind, name->directory, name->ref.uuid.chars);
    }
}

/* Images whose uuid no name and no scan has shown may have an object all the same. */
static void add_entries_of_images(struct look *look)
{
    const size_t known = look->entry_count;

    for (size_t p = 0; p < look->pool_count; p++) {
        const struct strmap *images = &look->pools[p].images;

        for (size_t i = 0; i < images->count; i++) {
            struct look_entry wanted = {.kind = JOURNAL_VOLUME, .pool = p};
            bool is_temp = false;

            if (!look_uuid_of(images->entries[i].key, &wanted.uuid, &is_temp))
                continue;
            for (int kind = JOURNAL_VOLUME; kind <= JOURNAL_SNAPSHOT; kind++) {
                wanted.kind = (enum journal_kind)kind;
                if (known == 0 ||
                    !bsearch(&wanted, look->entries, known, sizeof(wanted), compare_entries))
                    add_entry(look, wanted.kind, p, wanted.uuid.chars);
            }
        }
    }
    sort_entries(look);
}

static int read_entries(struct look *look, struct error *err)
{
    for (size_t i = 0; i < look->entry_count; i++) {
        struct look_entry *entry = &look->entries[i];
        const struct journal journal = {entry->kind, look->options->instance_id};

        if (call_check(look->call, err) < 0 ||
            journal_read(&journal, look->call, look->pools[entry->pool].pool, &entry->uuid,
                         &entry->entry, &entry->found, err) < 0)
            return -1;
    }
    return 0;
}

static int read_images(struct look *look, struct error *err)
{
    for (size_t i = 0; i < look->pool_count; i++) {
        struct look_pool *pool = &look->pools[i];

        if (!pool->wanted)
            continue;
        if (pool->pool->ops->image_list(pool->pool, look->call, &pool->images, err) < 0 ||
            pool->pool->ops->trash_list(pool->pool, look->call, &pool->trash, err) < 0)
            return -1;
        look->report->pools++;
        look->report->images += pool->images.count;
        look->report->trashed += pool->trash.count;
    }
    return 0;
}

int look_read(struct look *look, struct error *err)
{
    if (open_pools(look, err) < 0)
        return -1;
    _cleanup_free_ bool *has_directory = xcalloc(look->pool_count + 1, sizeof(bool));
    for (size_t i = 0; i < look->pool_count; i++)
        if (read_directories(look, i, look->options->instance_id, &has_directory[i], err) < 0)
            return -1;
    choose_pools(look, has_directory);
    if (scan_pools(look, err) < 0)
        return -1;
    if (look->name_count > 0)
        qsort(look->names, look->name_count, sizeof(*look->names), compare_names);
    add_named_entries(look);
    sort_entries(look);
    if (read_images(look, err) < 0)
        return -1;
    add_entries_of_images(look);
    return read_entries(look, err);
}

void look_done(struct look *look)
{
    for (size_t i = 0; i < look->name_count; i++) {
        free(look->names[i].object);
        free(look->names[i].key);
        free(look->names[i].value);
    }
    for (size_t i = 0; i < look->purge_count; i++) {
        free(look->purges[i].object);
        free(look->purges[i].key);
        free(look->purges[i].value);
    }
    for (size_t i = 0; i < look->entry_count; i++)
        journal_entry_done(&look->entries[i].entry);
    for (size_t i = 0; i < look->pool_count; i++) {
        strmap_done(&look->pools[i].images);
        trash_entries_done(&look->pools[i].trash);
        ceph_pool_close(look->pools[i].pool);
    }
    string_list_done(&look->instances);
    free(look->names);
    free(look->purges);
    free(look->entries);
    free(look->pvs);
    free(look->pools);
    session_close(&look->session);
    *look = (struct look){0};
}
