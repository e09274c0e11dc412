#include "tests/fakes/fake_ceph_subvolumes.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/uuid.h"
#include "tests/fakes/fake_ceph_subvolumes_state.h"

/*
 * Flat lists, searched from the front. A subvolume that was removed with its snapshots kept stays
 * in the list as retained. Ceph's own words are kept where the driver looks at them.
 */

const char *fake_fs_argument(const struct fs_command *command, const char *key)
{
    const char *value = json_string_value(json_object_get(command->json, key));

    return value ? value : "";
}

_printf_(3, 4) int fake_fs_refuse(const struct fs_command *command, int negative_errno,
                                  const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    _cleanup_free_ char *words = xvasprintf(fmt, args);
    va_end(args);
    text_add(command->reply, words);
    return negative_errno;
}

/* --- what there is --- */

struct fake_subvolume *fake_fs_find_named(const struct fs_command *command, const char *name)
{
    for (size_t i = 0; i < command->all->count; i++) {
        struct fake_subvolume *item = &command->all->items[i];

        if (strcmp(item->fs, fake_fs_argument(command, "vol_name")) == 0 &&
            strcmp(item->group, fake_fs_argument(command, "group_name")) == 0 &&
            strcmp(item->name, name) == 0)
            return item;
    }
    return NULL;
}

struct fake_subvolume *fake_fs_find(const struct fs_command *command)
{
    return fake_fs_find_named(command, fake_fs_argument(command, "sub_name"));
}

struct fake_fs_snapshot *fake_subvolume_find_snapshot(const struct fake_subvolume *item,
                                                      const char *name)
{
    for (size_t i = 0; i < item->snapshot_count; i++)
        if (strcmp(item->snapshots[i].name, name) == 0)
            return &item->snapshots[i];
    return NULL;
}

void fake_subvolume_add_snapshot(struct fake_subvolume *item, const char *name)
{
    item->snapshots =
        xreallocarray(item->snapshots, item->snapshot_count + 1, sizeof(*item->snapshots));
    item->snapshots[item->snapshot_count++] = (struct fake_fs_snapshot){.name = xstrdup(name)};
}

/* Without data pools of its own a file system takes any name but one. */
bool fake_fs_is_valid_layout(const struct fs_command *command)
{
    const char *fs = fake_fs_argument(command, "vol_name");
    const char *pool = fake_fs_argument(command, "pool_layout");

    if (!fake_fs_find_pool(command->all, fs, ""))
        return strcmp(pool, "no-such-pool") != 0;
    return fake_fs_find_pool(command->all, fs, pool) != NULL;
}

struct fake_subvolume *fake_fs_add(const struct fs_command *command, const char *name)
{
    struct fake_subvolumes *all = command->all;
    const struct fake_data_pool *first =
        fake_fs_find_pool(all, fake_fs_argument(command, "vol_name"), "");
    const char *pool = fake_fs_argument(command, "pool_layout");

    all->items = xreallocarray(all->items, all->count + 1, sizeof(*all->items));
    struct fake_subvolume *item = &all->items[all->count++];
    *item = (struct fake_subvolume){
        .fs = xstrdup(fake_fs_argument(command, "vol_name")),
        .group = xstrdup(fake_fs_argument(command, "group_name")),
        .name = xstrdup(name),
        .data_pool = xstrdup(pool[0] ? pool
                             : first ? first->name
                                     : "default"),
        .uuid = uuid_text_generate(),
    };
    return item;
}

static void subvolume_done(struct fake_subvolume *item)
{
    for (size_t i = 0; i < item->snapshot_count; i++) {
        free(item->snapshots[i].name);
        strmap_done(&item->snapshots[i].metadata);
    }
    free(item->snapshots);
    free(item->fs);
    free(item->group);
    free(item->name);
    free(item->data_pool);
    free(item->source);
    strmap_done(&item->metadata);
}

static void drop(struct fake_subvolumes *all, struct fake_subvolume *item)
{
    subvolume_done(item);
    *item = all->items[--all->count];
}

bool fake_subvolumes_has_pending_clones(const struct fake_subvolumes *all,
                                        const struct fake_subvolume *item, const char *snapshot)
{
    _cleanup_free_ char *source = xasprintf("%s@%s", item->name, snapshot);

    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].clone == CLONE_IS_PENDING && strcmp(all->items[i].source, source) == 0)
            return true;
    return false;
}

int fake_fs_missing(const struct fs_command *command, const char *name)
{
    return fake_fs_refuse(command, -ENOENT, "subvolume '%s' does not exist", name);
}

/* The subvolume that the command names, if it can be worked on; else *@result is set. */
static struct fake_subvolume *need(const struct fs_command *command, const char *operation,
                                   int *result)
{
    struct fake_subvolume *item = fake_fs_find(command);

    *result = 0;
    if (!item)
        *result = fake_fs_missing(command, fake_fs_argument(command, "sub_name"));
    else if (item->clone != NO_CLONE && item->clone != CLONE_IS_DONE)
        *result = fake_fs_refuse(command, -EAGAIN, "subvolume '%s' is not ready for operation %s",
                                 item->name, operation);
    return *result < 0 ? NULL : item;
}

/* As need(), but not one that is kept for its snapshots only. */
static struct fake_subvolume *need_live(const struct fs_command *command, const char *operation,
                                        int *result)
{
    struct fake_subvolume *item = need(command, operation, result);

    if (!item || !item->retained)
        return item;
    *result = fake_fs_refuse(
        command, -ENOENT, "subvolume '%s' is removed and has only snapshots retained", item->name);
    return NULL;
}

/* --- subvolumes --- */

static int create_subvolume(const struct fs_command *command)
{
    struct fake_subvolume *item = fake_fs_find(command);

    if (!fake_fs_is_valid_layout(command))
        return fake_fs_refuse(command, -EINVAL, "invalid pool layout -- need a valid data pool");
    if (!item)
        item = fake_fs_add(command, fake_fs_argument(command, "sub_name"));
    item->size = json_integer_value(json_object_get(command->json, "size"));
    return 0;
}

static int info(const struct fs_command *command)
{
    int result = 0;
    const struct fake_subvolume *item = need(command, "info", &result);

    if (!item)
        return result;
    if (item->retained) {
        text_add(command->reply,
                 "{\"features\":[\"snapshot-retention\"],\"state\":\"snapshot-retained\"}");
        return 0;
    }
    text_addf(command->reply,
              "{\"path\":\"/volumes/%s/%s/%s\",\"features\":[\"snapshot-retention\"],"
              "\"state\":\"complete\",\"data_pool\":\"%s\",\"bytes_quota\":",
              item->group, item->name, item->uuid.chars, item->data_pool);
    if (item->size > 0)
        text_addf(command->reply, "%lld}", item->size);
    else
        text_add(command->reply, "\"infinite\"}");
    return 0;
}

static int resize(const struct fs_command *command)
{
    int result = 0;
    struct fake_subvolume *item = need_live(command, "resize", &result);

    if (!item)
        return result;
    const long long size = strtoll(fake_fs_argument(command, "new_size"), NULL, 10);
    if ((uint64_t)size < item->used)
        return fake_fs_refuse(command, -EINVAL,
                              "the new size '%lld' would be lesser than the used size", size);
    item->size = size;
    return 0;
}

static int remove_subvolume(const struct fs_command *command)
{
    const bool force = json_is_true(json_object_get(command->json, "force"));
    struct fake_subvolume *item = fake_fs_find(command);

    if (!item)
        return force ? 0 : fake_fs_missing(command, fake_fs_argument(command, "sub_name"));
    if ((item->clone == CLONE_IS_PENDING || item->clone == CLONE_IS_LOST) && force)
        return fake_fs_refuse(command, -EAGAIN,
                              "%s clone in-progress -- please cancel the clone and retry",
                              item->name);
    if (item->clone != NO_CLONE && item->clone != CLONE_IS_DONE && !force)
        return fake_fs_refuse(command, -EAGAIN, "subvolume '%s' is not ready for operation rm",
                              item->name);
    if (item->snapshot_count == 0) {
        drop(command->all, item);
        return 0;
    }
    if (!json_is_true(json_object_get(command->json, "retain_snapshots")))
        return fake_fs_refuse(command, -ENOTEMPTY, "subvolume '%s' has snapshots", item->name);
    item->retained = true;
    return 0;
}

static int set_metadata(const struct fs_command *command)
{
    int result = 0;
    struct fake_subvolume *item = need_live(command, "metadata", &result);

    if (item)
        strmap_set(&item->metadata, fake_fs_argument(command, "key_name"),
                   fake_fs_argument(command, "value"));
    return result;
}

static void tell_metadata(const struct fs_command *command, const struct strmap *metadata)
{
    json_auto_t *all = json_object();

    for (size_t i = 0; i < metadata->count; i++)
        json_object_set_new(all, metadata->entries[i].key, json_string(metadata->entries[i].value));
    _cleanup_free_ char *text = json_dumps(all, 0);
    text_add(command->reply, text);
}

static int forget_metadata(const struct fs_command *command, struct strmap *metadata)
{
    const char *key = fake_fs_argument(command, "key_name");

    if (!strmap_has(metadata, key) && !json_is_true(json_object_get(command->json, "force")))
        return fake_fs_refuse(command, -ENOENT, "key '%s' does not exist.", key);
    strmap_remove(metadata, key);
    return 0;
}

static int list_metadata(const struct fs_command *command)
{
    int result = 0;
    const struct fake_subvolume *item = need_live(command, "metadata", &result);

    if (item)
        tell_metadata(command, &item->metadata);
    return result;
}

static int remove_metadata(const struct fs_command *command)
{
    int result = 0;
    struct fake_subvolume *item = need_live(command, "metadata", &result);

    return item ? forget_metadata(command, &item->metadata) : result;
}

/* --- snapshots --- */

static int create_snapshot(const struct fs_command *command)
{
    const char *name = fake_fs_argument(command, "snap_name");
    int result = 0;
    struct fake_subvolume *item = need_live(command, "snap-create", &result);

    if (item && !fake_subvolume_find_snapshot(item, name))
        fake_subvolume_add_snapshot(item, name);
    return result;
}

static int remove_snapshot(const struct fs_command *command)
{
    const char *name = fake_fs_argument(command, "snap_name");
    struct fake_subvolume *item = fake_fs_find(command);
    struct fake_fs_snapshot *snapshot = item ? fake_subvolume_find_snapshot(item, name) : NULL;

    if (!snapshot)
        return 0; /* always with force */
    if (fake_subvolumes_has_pending_clones(command->all, item, name) || snapshot->orphan_clones > 0)
        return fake_fs_refuse(command, -EAGAIN, "snapshot '%s' has pending clones", name);
    free(snapshot->name);
    strmap_done(&snapshot->metadata);
    *snapshot = item->snapshots[--item->snapshot_count];
    if (item->retained && item->snapshot_count == 0)
        drop(command->all, item);
    return 0;
}

/* NULL, with *@result set, if there is none. */
struct fake_fs_snapshot *fake_fs_need_snapshot(const struct fs_command *command, int *result)
{
    const struct fake_subvolume *item = need(command, "snap-info", result);
    struct fake_fs_snapshot *snapshot =
        item ? fake_subvolume_find_snapshot(item, fake_fs_argument(command, "snap_name")) : NULL;

    if (item && !snapshot)
        *result = fake_fs_refuse(command, -ENOENT, "snapshot '%s' does not exist",
                                 fake_fs_argument(command, "snap_name"));
    return snapshot;
}

static int snapshot_info(const struct fs_command *command)
{
    int result = 0;
    const struct fake_fs_snapshot *snapshot = fake_fs_need_snapshot(command, &result);

    if (snapshot)
        text_addf(
            command->reply,
            "{\"created_at\":\"" FAKE_SNAPSHOT_CREATED "\",\"has_pending_clones\":\"%s\","
            "\"orphan_clones_count\":%u}",
            fake_subvolumes_has_pending_clones(command->all, fake_fs_find(command), snapshot->name)
                ? "yes"
                : "no",
            snapshot->orphan_clones);
    return result;
}

/* As fake_fs_need_snapshot(), but none of a subvolume that is kept for it only. */
static struct fake_fs_snapshot *need_described(const struct fs_command *command, int *result)
{
    return need_live(command, "snap-metadata", result) ? fake_fs_need_snapshot(command, result)
                                                       : NULL;
}

static int set_snapshot_metadata(const struct fs_command *command)
{
    int result = 0;
    struct fake_fs_snapshot *snapshot = need_described(command, &result);

    if (snapshot)
        strmap_set(&snapshot->metadata, fake_fs_argument(command, "key_name"),
                   fake_fs_argument(command, "value"));
    return result;
}

static int list_snapshot_metadata(const struct fs_command *command)
{
    int result = 0;
    const struct fake_fs_snapshot *snapshot = need_described(command, &result);

    if (snapshot)
        tell_metadata(command, &snapshot->metadata);
    return result;
}

static int remove_snapshot_metadata(const struct fs_command *command)
{
    int result = 0;
    struct fake_fs_snapshot *snapshot = need_described(command, &result);

    return snapshot ? forget_metadata(command, &snapshot->metadata) : result;
}

/* --- commands --- */

static const struct {
    const char *prefix;
    int (*run)(const struct fs_command *command);
} COMMANDS[] = {
    {"fs subvolume create", create_subvolume},
    {"fs subvolume info", info},
    {"fs subvolume resize", resize},
    {"fs subvolume rm", remove_subvolume},
    {"fs subvolume metadata set", set_metadata},
    {"fs subvolume metadata ls", list_metadata},
    {"fs subvolume metadata rm", remove_metadata},
    {"fs subvolume snapshot create", create_snapshot},
    {"fs subvolume snapshot rm", remove_snapshot},
    {"fs subvolume snapshot info", snapshot_info},
    {"fs subvolume snapshot metadata set", set_snapshot_metadata},
    {"fs subvolume snapshot metadata ls", list_snapshot_metadata},
    {"fs subvolume snapshot metadata rm", remove_snapshot_metadata},
    {"fs subvolume snapshot clone", fake_fs_clone_snapshot},
    {"fs clone status", fake_fs_clone_status},
    {"fs clone cancel", fake_fs_cancel_clone},
};

static int check_place(const struct fs_command *command)
{
    const char *fs = fake_fs_argument(command, "vol_name");
    const char *group = fake_fs_argument(command, "group_name");

    for (size_t i = 0; i < command->all->filesystem_count; i++) {
        if (strcmp(command->all->filesystems[i].name, fs) != 0)
            continue;
        if (strcmp(command->all->filesystems[i].group, group) == 0)
            return 0;
        return fake_fs_refuse(command, -ENOENT, "subvolume group '%s' does not exist", group);
    }
    return fake_fs_refuse(command, -ENOENT, "FS '%s' not found", fs);
}

static int run(const struct fs_command *command)
{
    const char *prefix = fake_fs_argument(command, "prefix");

    if (strcmp(prefix, "fs quiesce") == 0)
        return fake_fs_quiesce(command);
    int result = check_place(command);
    for (size_t i = 0; result == 0 && i < ARRAY_LENGTH(COMMANDS); i++)
        if (strcmp(COMMANDS[i].prefix, prefix) == 0)
            return COMMANDS[i].run(command);
    return result < 0 ? result
                      : fake_fs_refuse(command, -EINVAL, "No handler found for '%s'", prefix);
}

static int answer_mgr(void *object, const char *text, struct text *reply)
{
    struct fake_subvolumes *all = object;
    json_auto_t *json = json_loads(text, 0, NULL);
    const struct fs_command command = {all, json, reply};

    pthread_mutex_lock(&all->lock);
    int result = json ? run(&command) : -EINVAL;
    pthread_mutex_unlock(&all->lock);
    return result;
}

int fake_subvolumes_command(struct fake_subvolumes *all, const char *text)
{
    json_auto_t *json = json_loads(text, 0, NULL);
    _cleanup_text_ struct text reply = TEXT_INIT(65536);

    json_object_set_new(json, "vol_name", json_string(all->filesystems[0].name));
    json_object_set_new(json, "group_name", json_string(all->filesystems[0].group));
    _cleanup_free_ char *whole = json_dumps(json, 0);
    return answer_mgr(all, whole, &reply);
}

/* --- the dump --- */

static _printf_(2, 3) void add_line(struct string_list *lines, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    _cleanup_free_ char *line = xvasprintf(fmt, args);
    va_end(args);
    string_list_add(lines, line);
}

static void dump_one(const struct fake_subvolume *item, struct string_list *lines)
{
    static const char *const stages[] = {
        [NO_CLONE] = "",
        [CLONE_IS_PENDING] = " pending",
        [CLONE_IS_DONE] = " cloned",
        [CLONE_HAS_FAILED] = " failed",
        [CLONE_IS_LOST] = " lost",
    };
    _cleanup_free_ char *place = xasprintf("subvolume %s/%s/%s", item->fs, item->group, item->name);

    add_line(lines, "%s size=%lld pool=%s%s%s", place, item->size, item->data_pool,
             stages[item->clone], item->retained ? " retained" : "");
    for (size_t i = 0; i < item->metadata.count; i++)
        add_line(lines, "%s metadata [%s] = %s", place, item->metadata.entries[i].key,
                 item->metadata.entries[i].value);
    for (size_t i = 0; i < item->snapshot_count; i++) {
        const struct fake_fs_snapshot *snapshot = &item->snapshots[i];

        add_line(lines, "%s snapshot [%s]", place, snapshot->name);
        for (size_t k = 0; k < snapshot->metadata.count; k++)
            add_line(lines, "%s snapshot [%s] metadata [%s] = %s", place, snapshot->name,
                     snapshot->metadata.entries[k].key, snapshot->metadata.entries[k].value);
    }
}

static void dump(void *object, struct string_list *lines)
{
    struct fake_subvolumes *all = object;

    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < all->count; i++)
        dump_one(&all->items[i], lines);
    for (size_t i = 0; i < all->quiesce_sets.count; i++)
        if (strcmp(all->quiesce_sets.entries[i].value, "QUIESCED") == 0)
            add_line(lines, "writers pause");
    pthread_mutex_unlock(&all->lock);
}

/* --- the fake --- */

struct fake_subvolumes *fake_subvolumes_new(struct fake_ceph *fake)
{
    struct fake_subvolumes *all = xcalloc(1, sizeof(*all));

    pthread_mutex_init(&all->lock, NULL);
    all->pace = 1;
    fake_ceph_answer_mgr(fake, answer_mgr, all);
    fake_ceph_answer_mon(fake, fake_fs_answer_mon, all);
    fake_ceph_set_dump(fake, dump, all);
    fake->subvolumes = all;
    return all;
}

void fake_subvolumes_free(struct fake_subvolumes *all)
{
    for (size_t i = 0; i < all->count; i++)
        subvolume_done(&all->items[i]);
    for (size_t i = 0; i < all->filesystem_count; i++) {
        free(all->filesystems[i].name);
        free(all->filesystems[i].group);
    }
    for (size_t i = 0; i < all->pool_count; i++) {
        free(all->pools[i].fs);
        free(all->pools[i].name);
        strmap_done(&all->pools[i].metadata);
    }
    free(all->pools);
    free(all->items);
    free(all->filesystems);
    strmap_done(&all->quiesce_sets);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

void fake_subvolumes_set_used(struct fake_subvolumes *all, uint64_t bytes)
{
    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < all->count; i++)
        all->items[i].used = bytes;
    pthread_mutex_unlock(&all->lock);
}
