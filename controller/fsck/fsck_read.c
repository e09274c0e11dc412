/*
 * Reads a cluster for fsck: names and purge keys, then images and trash, then the objects. Drivers
 * work meanwhile, so that what was begun or ended in between looks odd for a moment: the checks
 * read again what they are about to report.
 *
 * Directories are read in all pools, also in those that findings are not wanted of: a name may be
 * in another pool than its image, and only knowing all names shows that an object has none.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/usage/pool_purpose.h"
#include "controller/fsck/fsck_scan.h"
#include "controller/rbd/purge.h"

/* --- look-ups --- */

size_t scan_find_pool(const struct scan *scan, int64_t id)
{
    for (size_t i = 0; i < scan->pool_count; i++)
        if (scan->pools[i].pool->id == id)
            return i;
    return SCAN_NO_POOL;
}

static int compare_entries(const void *a, const void *b)
{
    const struct scan_entry *left = a;
    const struct scan_entry *right = b;
    int order = strcmp(left->uuid.chars, right->uuid.chars);

    if (order == 0)
        order = (left->kind > right->kind) - (left->kind < right->kind);
    if (order == 0)
        order = (left->pool > right->pool) - (left->pool < right->pool);
    return order;
}

static int compare_names(const void *a, const void *b)
{
    const struct scan_key *left = a;
    const struct scan_key *right = b;
    int order = strcmp(left->ref.uuid.chars, right->ref.uuid.chars);

    return order ? order : strcmp(left->key, right->key);
}

const struct scan_entry *scan_find_entry(const struct scan *scan, enum journal_kind kind,
                                         size_t pool, const struct uuid_text *uuid)
{
    const struct scan_entry wanted = {.kind = kind, .pool = pool, .uuid = *uuid};

    if (scan->entry_count == 0)
        return NULL;
    const struct scan_entry *entry =
        bsearch(&wanted, scan->entries, scan->entry_count, sizeof(*scan->entries), compare_entries);
    return entry && entry->found ? entry : NULL;
}

const struct scan_key *scan_next_name(const struct scan *scan, const struct uuid_text *uuid,
                                      const struct scan_key *previous)
{
    size_t low = previous ? (size_t)(previous - scan->names) + 1 : 0;
    size_t high = previous ? low : scan->name_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(scan->names[middle].ref.uuid.chars, uuid->chars) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == scan->name_count || strcmp(scan->names[low].ref.uuid.chars, uuid->chars) != 0)
        return NULL;
    return &scan->names[low];
}

const char *scan_request_name(const struct scan_key *name)
{
    return name->key + strlen(journal_key_prefix(name->kind));
}

const struct scan_key *scan_name_of(const struct scan *scan, const struct scan_entry *entry)
{
    const struct scan_key *name = NULL;
    const struct scan_key *best = NULL;

    while ((name = scan_next_name(scan, &entry->uuid, name)))
        if (name->kind == entry->kind && name->pool == entry->pool && (!best || name->is_ours))
            best = name;
    return best;
}

bool scan_is_half(const struct scan *scan, const struct scan_entry *entry)
{
    const struct scan_key *name = NULL;

    while ((name = scan_next_name(scan, &entry->uuid, name)))
        if (name->kind == entry->kind && name->directory == entry->pool &&
            name->pool != entry->pool)
            return true;
    return false;
}

const struct scan_entry *scan_attributes(const struct scan *scan, const struct scan_entry *entry,
                                         const struct scan_key *name)
{
    if (entry->entry.request_name || !name || name->directory == entry->pool)
        return entry;
    const struct scan_entry *half =
        scan_find_entry(scan, entry->kind, name->directory, &entry->uuid);
    return half && half->entry.request_name ? half : entry;
}

bool scan_uuid_of(const char *name, struct uuid_text *uuid, bool *is_temp)
{
    size_t length = strlen(name);
    bool has_suffix = text_has_suffix(name, IMAGE_SUFFIX_CLONE);

    if (is_temp)
        *is_temp = has_suffix;
    if (has_suffix)
        length -= strlen(IMAGE_SUFFIX_CLONE);
    return length > UUID_LENGTH && uuid_text_at_end(name, length, uuid);
}

const struct trash_entry *scan_find_trash(const struct scan_pool *pool, const char *name,
                                          const char *id)
{
    for (size_t i = 0; i < pool->trash.count; i++) {
        const struct trash_entry *item = &pool->trash.items[i];

        if ((name && strcmp(item->name, name) == 0) || (id && strcmp(item->id, id) == 0))
            return item;
    }
    return NULL;
}

bool scan_has_purge(const struct scan *scan, int64_t pool_id, const char *image_id)
{
    for (size_t i = 0; i < scan->purge_count; i++)
        if (!scan->purges[i].broken && scan->purges[i].ref.image_pool_id == pool_id &&
            strcmp(scan->purges[i].image_id, image_id) == 0)
            return true;
    return false;
}

int object_last_write(struct ceph_pool *pool, struct call *call, const char *object,
                      time_t *modified, struct error *err)
{
    *modified = 0;
    if (pool->ops->object_modified(pool, call, object, modified, err) == 0)
        return 0;
    return error_ignore(err, STATUS_NOT_FOUND);
}

int scan_key_is_unchanged(struct scan *scan, const struct scan_key *key, bool *unchanged,
                          struct error *err)
{
    struct ceph_pool *directory = scan->pools[key->directory].pool;
    _cleanup_free_ char *value = NULL;

    if (directory->ops->omap_get(directory, scan->call, key->object, key->key, &value, err) < 0)
        return -1;
    *unchanged = value && strcmp(value, key->value) == 0;
    return 0;
}

/* --- directories --- */

static void add_key(struct scan *scan, size_t directory, const struct journal *journal,
                    const char *object, const struct strmap_entry *item)
{
    const bool is_purge = text_has_prefix(item->key, PURGE_KEY);
    const bool is_flatten = text_has_prefix(item->key, FLATTEN_KEY);
    _cleanup_error_ struct error err = {0};

    if (!is_purge && !is_flatten && !text_has_prefix(item->key, journal_key_prefix(journal->kind)))
        return;
    struct scan_key *key = is_purge     ? array_add(scan->purges, scan->purge_count)
                           : is_flatten ? array_add(scan->flattens, scan->flatten_count)
                                        : array_add(scan->names, scan->name_count);
    *key = (struct scan_key){
        .kind = journal->kind,
        .directory = directory,
        .object = xstrdup(object),
        .is_ours = strcmp(journal->instance, scan->options->instance_id) == 0,
        .key = xstrdup(item->key),
        .value = xstrdup(item->value),
        .pool = SCAN_NO_POOL,
    };
    if (is_purge)
        key->broken = !purge_key_parse(key->key, &key->ref.image_pool_id, &key->image_id);
    else if (is_flatten)
        key->image_id = key->key + strlen(FLATTEN_KEY);
    else
        key->broken = journal_parse_value(scan->pools[directory].pool, item->key, item->value,
                                          &key->ref, &err) < 0;
    if (!key->broken && !is_flatten)
        key->pool = scan_find_pool(scan, key->ref.image_pool_id);
}

static void note_unreadable(struct scan *scan, const char *pool)
{
    _cleanup_free_ char *name = xasprintf("%s/%s", scan->session.cluster->cluster_id, pool);

    if (string_list_has(&scan->report->unreadable, name) ||
        pool_is_for_others(scan->session.cluster, scan->call, pool))
        return;
    string_list_add(&scan->report->unreadable, name);
    scan->is_partial = true;
}

/* Of a part of a directory. */
static void count_keys(struct scan *scan, size_t pool, const char *object, size_t keys)
{
    for (size_t i = 0; i < scan->newer_count; i++)
        if (scan->newer[i].pool == pool && strcmp(scan->newer[i].object, object) == 0)
            scan->newer[i].keys += keys;
}

/* *@exists says whether the directory is there. */
static int read_directory(struct scan *scan, size_t directory, const struct journal *journal,
                          bool *exists, struct error *err)
{
    struct ceph_pool *pool = scan->pools[directory].pool;
    _cleanup_free_ char *object = journal_directory(journal);
    _cleanup_free_ char *after = xstrdup("");
    bool more = true;

    *exists = false;
    while (more) {
        _cleanup_strmap_ struct strmap keys = {0};

        if (pool->ops->omap_list(pool, scan->call, object, after, "", &keys, &more, err) < 0) {
            if (err->status != STATUS_NOT_FOUND && err->status != STATUS_PERMISSION_DENIED)
                return -1;
            if (err->status == STATUS_PERMISSION_DENIED)
                note_unreadable(scan, pool->name);
            error_clear(err);
            return 0;
        }
        *exists = true;
        for (size_t i = 0; i < keys.count; i++)
            add_key(scan, directory, journal, object, &keys.entries[i]);
        count_keys(scan, directory, object, keys.count);
        if (keys.count == 0)
            return 0;
        free(after);
        after = xstrdup(keys.entries[keys.count - 1].key);
    }
    return 0;
}

static int read_directories(struct scan *scan, size_t directory, const char *instance,
                            bool *has_any, struct error *err)
{
    for (int kind = 0; kind < SCAN_KINDS; kind++) {
        const struct journal journal = {(enum journal_kind)kind, instance};
        bool exists = false;

        if (call_check(scan->call, err) < 0 ||
            read_directory(scan, directory, &journal, &exists, err) < 0)
            return -1;
        *has_any = *has_any || exists;
    }
    return 0;
}

/* --- pools --- */

static int open_pools(struct scan *scan, struct error *err)
{
    struct ceph_cluster *cluster = scan->session.cluster;
    const struct string_list *wanted = scan->options->pools;
    _cleanup_string_list_ struct string_list names = {0};

    if (cluster->ops->pool_list(cluster, scan->call, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < wanted->count; i++)
        if (!string_list_has(&names, wanted->items[i]))
            return error_set(err, STATUS_NOT_FOUND, "cluster '%s' has no pool '%s'",
                             cluster->cluster_id, wanted->items[i]);
    scan->pools = xcalloc(names.count + 1, sizeof(*scan->pools));
    for (size_t i = 0; i < names.count; i++) {
        struct scan_pool *pool = &scan->pools[scan->pool_count];

        if (cluster->ops->pool_open(cluster, scan->call, names.items[i],
                                    session_rbd_namespace(&scan->session), &pool->pool, err) == 0) {
            pool->wanted = string_list_has(wanted, names.items[i]);
            scan->pool_count++;
            continue;
        }
        if (error_ignore(err, STATUS_NOT_FOUND) < 0) /* removed meanwhile */
            return -1;
    }
    return 0;
}

/* --- objects --- */

static void add_entry(struct scan *scan, enum journal_kind kind, size_t pool, const char *uuid)
{
    struct scan_entry *entry = array_add(scan->entries, scan->entry_count);
    *entry = (struct scan_entry){.kind = kind, .pool = pool};
    memcpy(entry->uuid.chars, uuid, UUID_LENGTH + 1);
}

/* Sorts, and drops what was added twice. */
static void sort_entries(struct scan *scan)
{
    size_t kept = 0;

    if (scan->entry_count == 0)
        return;
    qsort(scan->entries, scan->entry_count, sizeof(*scan->entries), compare_entries);
    for (size_t i = 1; i < scan->entry_count; i++)
        if (compare_entries(&scan->entries[kept], &scan->entries[i]) != 0)
            scan->entries[++kept] = scan->entries[i];
    scan->entry_count = kept + 1;
}

static void add_newer(struct scan *scan, size_t pool, const char *name, bool is_part)
{
    *array_add(scan->newer, scan->newer_count) =
        (struct scan_newer){.pool = pool, .object = xstrdup(name), .is_part = is_part};
    scan->pools[pool].has_unknown = scan->pools[pool].has_unknown || !is_part;
}

/* Whether a directory of that instance may be a part of ours: "default.7", "default-0a". Another
 * instance may be called so, too. */
static bool may_be_part(const struct scan *scan, const char *instance)
{
    const char *ours = scan->options->instance_id;

    return text_has_prefix(instance, ours) && !isalnum((unsigned char)instance[strlen(ours)]);
}

/* An object that the scan has come across: one of a uuid, or the directory of some instance. */
static void add_object(struct scan *scan, size_t pool, const char *name)
{
    bool is_known = false;

    for (int kind = 0; kind < SCAN_KINDS; kind++) {
        const struct journal any = {(enum journal_kind)kind, ""};
        const char *prefix = journal_key_prefix(any.kind);
        _cleanup_free_ char *directory = journal_directory(&any);

        if (text_has_prefix(name, prefix) && uuid_text_is_valid(name + strlen(prefix))) {
            add_entry(scan, any.kind, pool, name + strlen(prefix));
            is_known = true;
        }
        if (!text_has_prefix(name, directory))
            continue;
        const char *instance = name + strlen(directory);
        is_known = true;
        if (strcmp(instance, scan->options->instance_id) == 0)
            continue;
        if (!string_list_has(&scan->instances, instance))
            string_list_add(&scan->instances, instance);
        if (may_be_part(scan, instance))
            add_newer(scan, pool, name, true);
    }
    if (!is_known)
        add_newer(scan, pool, name, false);
}

/* Finds all objects, and the names that other instances gave to some of them. */
static int find_objects(struct scan *scan, struct error *err)
{
    bool has_any = false;

    for (size_t i = 0; scan->options->scan && i < scan->pool_count; i++) {
        struct ceph_pool *pool = scan->pools[i].pool;
        _cleanup_string_list_ struct string_list names = {0};

        if (!scan->pools[i].wanted)
            continue;
        if (pool->ops->object_list(pool, scan->call, JOURNAL_OBJECTS, &names, err) < 0)
            return -1;
        for (size_t j = 0; j < names.count; j++)
            add_object(scan, i, names.items[j]);
    }
    for (size_t n = 0; n < scan->instances.count; n++)
        for (size_t i = 0; i < scan->pool_count; i++)
            if (read_directories(scan, i, scan->instances.items[n], &has_any, err) < 0)
                return -1;
    return 0;
}

/* Where objects ought to be: where names lead and, for halves, beside these names. */
static void add_named_entries(struct scan *scan)
{
    for (size_t i = 0; i < scan->name_count; i++) {
        const struct scan_key *name = &scan->names[i];

        if (name->broken || !(scan->pools[name->directory].wanted ||
                              (name->pool != SCAN_NO_POOL && scan->pools[name->pool].wanted)))
            continue;
        if (name->pool != SCAN_NO_POOL)
            add_entry(scan, name->kind, name->pool, name->ref.uuid.chars);
        if (name->pool != name->directory)
            add_entry(scan, name->kind, name->directory, name->ref.uuid.chars);
    }
}

/* Images whose uuid no name and no object has shown may have an object all the same. */
static void add_entries_of_images(struct scan *scan)
{
    for (size_t p = 0; p < scan->pool_count; p++) {
        const struct strmap *images = &scan->pools[p].images;

        for (size_t i = 0; i < images->count; i++) {
            struct uuid_text uuid;

            if (!scan_uuid_of(images->entries[i].key, &uuid, NULL))
                continue;
            add_entry(scan, JOURNAL_VOLUME, p, uuid.chars);
            add_entry(scan, JOURNAL_SNAPSHOT, p, uuid.chars);
        }
    }
}

static int read_entries(struct scan *scan, struct error *err)
{
    for (size_t i = 0; i < scan->entry_count; i++) {
        struct scan_entry *entry = &scan->entries[i];
        const struct journal journal = {entry->kind, scan->options->instance_id};

        if (call_check(scan->call, err) < 0 ||
            journal_read(&journal, scan->call, scan->pools[entry->pool].pool, &entry->uuid,
                         &entry->entry, &entry->found, err) < 0)
            return -1;
    }
    return 0;
}

static int read_images(struct scan *scan, struct error *err)
{
    for (size_t i = 0; i < scan->pool_count; i++) {
        struct scan_pool *pool = &scan->pools[i];

        if (!pool->wanted)
            continue;
        if (pool->pool->ops->image_list(pool->pool, scan->call, &pool->images, err) < 0 ||
            pool->pool->ops->trash_list(pool->pool, scan->call, &pool->trash, err) < 0)
            return -1;
        scan->report->pools++;
        scan->report->images += pool->images.count;
        scan->report->trashed += pool->trash.count;
    }
    return 0;
}

int scan_read(struct scan *scan, struct error *err)
{
    if (open_pools(scan, err) < 0)
        return -1;
    _cleanup_free_ bool *has_directory = xcalloc(scan->pool_count + 1, sizeof(bool));
    for (size_t i = 0; i < scan->pool_count; i++)
        if (read_directories(scan, i, scan->options->instance_id, &has_directory[i], err) < 0)
            return -1;
    /* those asked for, else those with a directory; and where their names lead */
    for (size_t i = 0; scan->options->pools->count == 0 && i < scan->pool_count; i++)
        scan->pools[i].wanted = has_directory[i];
    for (size_t i = 0; i < scan->name_count; i++) {
        const struct scan_key *name = &scan->names[i];

        if (name->pool != SCAN_NO_POOL && scan->pools[name->directory].wanted)
            scan->pools[name->pool].wanted = true;
    }
    if (find_objects(scan, err) < 0)
        return -1;
    if (scan->name_count > 0)
        qsort(scan->names, scan->name_count, sizeof(*scan->names), compare_names);
    add_named_entries(scan);
    if (read_images(scan, err) < 0)
        return -1;
    add_entries_of_images(scan);
    sort_entries(scan);
    return read_entries(scan, err);
}

static void free_keys(struct scan_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free_all(keys[i].object, keys[i].key, keys[i].value);
    free(keys);
}

void scan_done(struct scan *scan)
{
    free_keys(scan->names, scan->name_count);
    free_keys(scan->purges, scan->purge_count);
    free_keys(scan->flattens, scan->flatten_count);
    for (size_t i = 0; i < scan->entry_count; i++)
        journal_entry_done(&scan->entries[i].entry);
    for (size_t i = 0; i < scan->pool_count; i++) {
        strmap_done(&scan->pools[i].images);
        trash_entries_done(&scan->pools[i].trash);
        ceph_pool_close(scan->pools[i].pool);
    }
    string_list_done(&scan->instances);
    for (size_t i = 0; i < scan->newer_count; i++)
        free(scan->newer[i].object);
    free_all(scan->newer, scan->entries, scan->pvs, scan->pools);
    session_close(&scan->session);
    *scan = (struct scan){0};
}
