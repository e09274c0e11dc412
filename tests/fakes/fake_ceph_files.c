#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "tests/fakes/fake_ceph_state.h"
#include "tests/fakes/fake_ceph_subvolumes_state.h"

/*
 * Subvolumes as files and directories, as the manager lays them out: what a path means is found out
 * each time from what the manager's commands work on.
 */

struct fake_open_fs {
    struct ceph_fs base;
    struct fake_client *client;
};

enum file_kind { FILE_NONE, FILE_DIRECTORY, FILE_META, FILE_DATA, FILE_SNAPSHOT };

/* What there is at a path, or could be: a snapshot that is not there has no @snapshot. */
struct file {
    enum file_kind kind;
    struct fake_subvolume *item;
    struct fake_fs_snapshot *snapshot;
    const char *name; /* of the snapshot */
};

/* --- what is where --- */

static bool has_group(const struct fake_subvolumes *all, const char *fs, const char *path)
{
    for (size_t i = 0; i < all->filesystem_count; i++) {
        _cleanup_free_ char *group = xasprintf("/volumes/%s", all->filesystems[i].group);

        if (strcmp(all->filesystems[i].name, fs) == 0 && strcmp(group, path) == 0)
            return true;
    }
    return false;
}

/* @rest is the path below the subvolume's base directory. */
static struct file find_in_subvolume(struct fake_subvolume *item, const char *rest)
{
    if (rest[0] == '\0')
        return (struct file){.kind = FILE_DIRECTORY, .item = item};
    if (strcmp(rest, "/.meta") == 0)
        return (struct file){.kind = FILE_META, .item = item};
    if (strncmp(rest, "/.snap/", 7) == 0)
        return (struct file){.kind = FILE_SNAPSHOT,
                             .item = item,
                             .snapshot = fake_subvolume_find_snapshot(item, rest + 7),
                             .name = rest + 7};
    if (rest[0] == '/' && strcmp(rest + 1, item->uuid.chars) == 0 && !item->retained)
        return (struct file){.kind = FILE_DATA, .item = item};
    return (struct file){0};
}

static struct file find_file(const struct fake_subvolumes *all, const char *fs, const char *path)
{
    for (size_t i = 0; i < all->count; i++) {
        struct fake_subvolume *item = &all->items[i];
        _cleanup_free_ char *base = xasprintf("/volumes/%s/%s", item->group, item->name);
        const size_t length = strlen(base);

        if (strcmp(item->fs, fs) == 0 && strncmp(path, base, length) == 0 &&
            (path[length] == '/' || path[length] == '\0'))
            return find_in_subvolume(item, path + length);
    }
    return (struct file){.kind = has_group(all, fs, path) ? FILE_DIRECTORY : FILE_NONE};
}

static bool is_there(const struct file *file)
{
    return file->kind != FILE_NONE && (file->kind != FILE_SNAPSHOT || file->snapshot);
}

/* --- the content of .meta --- */

static const char *state_of(const struct fake_subvolume *item)
{
    if (item->retained)
        return "snapshot-retained";
    switch (item->clone) {
    case CLONE_IS_PENDING:
        return "in-progress";
    case CLONE_IS_LOST:
        return "pending";
    case CLONE_HAS_FAILED:
        return "failed";
    default:
        return "complete";
    }
}

static void add_section(struct text *out, const char *prefix, const char *name,
                        const struct strmap *entries)
{
    if (entries->count == 0)
        return;
    text_addf(out, "[%s%s]\n", prefix, name);
    for (size_t i = 0; i < entries->count; i++)
        text_addf(out, "%s = %s\n", entries->entries[i].key, entries->entries[i].value);
    text_add(out, "\n");
}

static char *describe_subvolume(const struct fake_subvolumes *all,
                                const struct fake_subvolume *item)
{
    struct text out = TEXT_INIT(1 << 20);
    _cleanup_strmap_ struct strmap clones = {0};

    text_addf(&out, "[GLOBAL]\nversion = 2\ntype = %s\npath = ",
              item->clone == NO_CLONE ? "subvolume" : "clone");
    if (!item->retained)
        text_addf(&out, "/volumes/%s/%s/%s", item->group, item->name, item->uuid.chars);
    text_addf(&out, "\nstate = %s\n\n", state_of(item));
    add_section(&out, "USER_METADATA", "", &item->metadata);
    for (size_t i = 0; i < item->snapshot_count; i++) {
        const struct fake_fs_snapshot *snapshot = &item->snapshots[i];

        add_section(&out, "SNAP_METADATA_", snapshot->name, &snapshot->metadata);
        if (snapshot->orphan_clones > 0 ||
            fake_subvolumes_has_pending_clones(all, item, snapshot->name))
            strmap_set(&clones, snapshot->name, snapshot->name);
    }
    add_section(&out, "clone snaps", "", &clones);
    return text_take(&out);
}

/* --- operations --- */

static int begin_request(struct fake_step *step, struct ceph_fs *fs, struct call *call,
                         const char *operation, const char *path, struct file *file,
                         struct error *err)
{
    const struct fake_client *client = ((struct fake_open_fs *)fs)->client;
    struct fake_ceph *fake = client->fake;

    if (fake_step_begin(step, client, call, operation, err) < 0)
        return -1;
    if (fake->refused_files) {
        error_set_errno(err, fake->refused_files, "%s '%s'", operation, path);
        return fake_step_end(step, -1, err);
    }
    pthread_mutex_lock(&fake->subvolumes->lock);
    *file = find_file(fake->subvolumes, fs->name, path);
    return 0;
}

/* @negative_errno is 0 if all went well. */
static int end_request(struct fake_step *step, int negative_errno, const char *path,
                       struct error *err)
{
    pthread_mutex_unlock(&step->fake->subvolumes->lock);
    if (negative_errno < 0)
        error_set_errno(err, negative_errno, "%s '%s'", step->operation, path);
    return fake_step_end(step, negative_errno < 0 ? -1 : 0, err);
}

static bool has_filesystem(const struct fake_ceph *fake, const char *name)
{
    const struct fake_subvolumes *all = fake->subvolumes;

    for (size_t i = 0; all && i < all->filesystem_count; i++)
        if (strcmp(all->filesystems[i].name, name) == 0)
            return true;
    return false;
}

static int fs_open(struct ceph_cluster *cluster, struct call *call, const char *name,
                   struct ceph_fs **fs, struct error *err)
{
    struct fake_client *client = ((struct fake_cluster *)cluster)->client;
    struct fake_step step;
    int result = 0;

    if (fake_step_begin_connection(&step, client, call, "fs_open", err) < 0)
        return -1;
    if (!has_filesystem(client->fake, name))
        result = error_set_errno(err, -ENOENT, "mount file system '%s'", name);
    if (fake_step_end(&step, result, err) < 0)
        return -1;
    struct fake_open_fs *opened = xcalloc(1, sizeof(*opened));
    opened->base = (struct ceph_fs){cluster->ops, cluster, xstrdup(name)};
    opened->client = client;
    atomic_fetch_add(&client->fake->open_handles, 1);
    *fs = &opened->base;
    return 0;
}

static void fs_close(struct ceph_fs *fs)
{
    atomic_fetch_sub(&((struct fake_open_fs *)fs)->client->fake->open_handles, 1);
    free_all(fs->name, fs);
}

static int stat_file(struct ceph_fs *fs, struct call *call, const char *path, struct fs_stat *stat,
                     struct error *err)
{
    struct fake_step step;
    struct file file = {0};

    if (begin_request(&step, fs, call, "fs_stat", path, &file, err) < 0)
        return -1;
    const uint64_t size = file.item ? file.item->used : 0;
    if (end_request(&step, is_there(&file) ? 0 : -ENOENT, path, err) < 0)
        return -1;
    *stat = (struct fs_stat){file.kind != FILE_META, size};
    return 0;
}

static int read_file(struct ceph_fs *fs, struct call *call, const char *path, char **content,
                     struct error *err)
{
    struct fake_step step;
    struct file file = {0};

    if (begin_request(&step, fs, call, "fs_read", path, &file, err) < 0)
        return -1;
    _cleanup_free_ char *text = file.kind == FILE_META && !file.item->lacks_meta
                                    ? describe_subvolume(step.fake->subvolumes, file.item)
                                    : NULL;
    if (end_request(&step, text ? 0 : -ENOENT, path, err) < 0)
        return -1;
    *content = TAKE(text);
    return 0;
}

static char *read_value(const struct file *file, const char *attribute)
{
    if (file->kind == FILE_DATA && strcmp(attribute, "ceph.dir.layout.pool") == 0)
        return xstrdup(file->item->data_pool);
    if (file->kind == FILE_DATA && strcmp(attribute, "ceph.quota.max_bytes") == 0 &&
        file->item->size > 0)
        return xasprintf("%lld", file->item->size);
    if (file->kind == FILE_SNAPSHOT && strcmp(attribute, "ceph.snap.btime") == 0)
        return xstrdup(FAKE_SNAPSHOT_BIRTH);
    return NULL;
}

static int get_attribute(struct ceph_fs *fs, struct call *call, const char *path,
                         const char *attribute, char **value, struct error *err)
{
    struct fake_step step;
    struct file file = {0};

    if (begin_request(&step, fs, call, "fs_get_attribute", path, &file, err) < 0)
        return -1;
    _cleanup_free_ char *text = is_there(&file) ? read_value(&file, attribute) : NULL;
    const int missing = is_there(&file) ? -ENODATA : -ENOENT;
    if (end_request(&step, text ? 0 : missing, path, err) < 0)
        return -1;
    *value = TAKE(text);
    return 0;
}

static int set_attribute(struct ceph_fs *fs, struct call *call, const char *path,
                         const char *attribute, const char *value, struct error *err)
{
    struct fake_step step;
    struct file file = {0};
    int result = 0;

    if (begin_request(&step, fs, call, "fs_set_attribute", path, &file, err) < 0)
        return -1;
    if (!is_there(&file))
        result = -ENOENT;
    else if (file.kind != FILE_DATA || strcmp(attribute, "ceph.quota.max_bytes") != 0)
        result = -EOPNOTSUPP;
    else
        file.item->size = strtoll(value, NULL, 10);
    return end_request(&step, result, path, err);
}

static int make_directory(struct ceph_fs *fs, struct call *call, const char *path, unsigned mode,
                          struct error *err)
{
    struct fake_step step;
    struct file file = {0};
    int result = 0;

    (void)mode;
    if (begin_request(&step, fs, call, "fs_make_directory", path, &file, err) < 0)
        return -1;
    if (is_there(&file))
        result = -EEXIST;
    else if (file.kind != FILE_SNAPSHOT)
        result = -ENOENT;
    else
        fake_subvolume_add_snapshot(file.item, file.name);
    return end_request(&step, result, path, err);
}

void fake_file_ops(struct ceph_ops *ops)
{
    ops->fs_open = fs_open;
    ops->fs_close = fs_close;
    ops->fs_stat = stat_file;
    ops->fs_read = read_file;
    ops->fs_get_attribute = get_attribute;
    ops->fs_set_attribute = set_attribute;
    ops->fs_make_directory = make_directory;
}

/* --- set by the test --- */

void fake_ceph_set_cephfs_path(struct fake_ceph *fake, enum cephfs_path path)
{
    pthread_mutex_lock(&fake->lock);
    fake->cephfs_path = path;
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_refuse_files(struct fake_ceph *fake, int negative_errno)
{
    pthread_mutex_lock(&fake->lock);
    fake->refused_files = negative_errno;
    pthread_mutex_unlock(&fake->lock);
}
