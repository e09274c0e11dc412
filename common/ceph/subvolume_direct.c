/*
 * A subvolume is a base directory /volumes/GROUP/NAME with the file .meta, which names the
 * directory of the data below it. The manager keeps no lock that others could take: so nothing here
 * rewrites .meta, and a subvolume counts only if .meta is as the manager writes it for a complete
 * subvolume of version 2, and no file below _legacy says that the manager takes it for an older
 * one.
 */
#include "common/ceph/subvolume_direct.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/ceph/subvolume_meta.h"
#include "common/encoding/md5.h"

/* A subvolume that is fit for this, in its file system. */
struct direct {
    const struct subvolume_group *group;
    struct call *call;
    const char *name;
    struct ceph_fs *fs;
    char *base;
    struct subvolume_meta meta;
    const char *path; /* of the data; borrowed from meta */
};

static void direct_done(struct direct *direct)
{
    ceph_fs_close(direct->fs);
    free(direct->base);
    subvolume_meta_done(&direct->meta);
}
#define _cleanup_direct_ _cleanup_(direct_done)

/* --- whose it is --- */

static _printf_(2, 3) void log_leaving(const struct direct *direct, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    _cleanup_free_ char *reason = xvasprintf(fmt, args);
    va_end(args);
    log_v(2, direct->call, "subvolume '%s' is left to the manager: %s", direct->name, reason);
}
#define leave_to_manager(...) (log_leaving(__VA_ARGS__), LEFT_TO_MANAGER)

/* What a failed request means: rights that do not suffice are the manager's opportunity. */
static int judge_failure(const struct direct *direct, struct error *err)
{
    const char *fs_name = direct->group->fs_name;

    if (err->sys_errno != EPERM && err->sys_errno != EACCES)
        return -1;
    if (direct->group->cluster->cephfs_path == CEPHFS_DIRECT) {
        error_hint(
            err,
            "--cephfs-path=direct needs the rights mds 'allow rwps fsname=%s' and osd 'allow "
            "rw tag cephfs data=%s'; with auto the manager does what the user may not",
            fs_name, fs_name);
        return -1;
    }
    const int result = leave_to_manager(direct, "%s", err->message);
    error_clear(err);
    return result;
}

/* 0 if it is there, 1 if not. */
static int look_up(const struct direct *direct, const char *path, struct error *err)
{
    struct fs_stat stat = {0};

    if (direct->fs->ops->fs_stat(direct->fs, direct->call, path, &stat, err) == 0)
        return 0;
    if (err->sys_errno != ENOENT)
        return -1;
    error_clear(err);
    return 1;
}

/* There is no .meta. Either there is no subvolume, or one of another kind, or no group. */
static int explain_missing(const struct direct *direct, struct error *err)
{
    const char *slash = strrchr(direct->base, '/');
    _cleanup_free_ char *group = xstrndup(direct->base, (size_t)(slash - direct->base));
    int missing = look_up(direct, direct->base, err);

    if (missing == 0)
        return leave_to_manager(direct, "it has no " SUBVOLUME_META);
    if (missing > 0)
        missing = look_up(direct, group, err);
    if (missing < 0)
        return judge_failure(direct, err);
    if (missing > 0)
        return leave_to_manager(direct, "there is no '%s'", group);
    return error_set_errno(err, -ENOENT, "subvolume '%s' of file system '%s'", direct->name,
                           direct->group->fs_name);
}

static int read_meta(struct direct *direct, struct error *err)
{
    _cleanup_free_ char *file = xasprintf("%s/" SUBVOLUME_META, direct->base);
    _cleanup_free_ char *content = NULL;
    _cleanup_error_ struct error fault = {0};

    if (direct->fs->ops->fs_read(direct->fs, direct->call, file, &content, err) < 0) {
        if (err->sys_errno == ENOENT) {
            error_clear(err);
            return explain_missing(direct, err);
        }
        if (err->sys_errno != EFBIG && err->sys_errno != EILSEQ)
            return judge_failure(direct, err);
        const int result = leave_to_manager(direct, "%s", err->message);
        error_clear(err);
        return result;
    }
    if (subvolume_meta_parse(content, &direct->meta, &fault) < 0)
        return leave_to_manager(direct, "its " SUBVOLUME_META " is unusual: %s", fault.message);
    return 0;
}

/* Complete, of version 2, and with its data where they belong. */
static int check_meta(struct direct *direct)
{
    const struct subvolume_meta *meta = &direct->meta;
    const char *path = subvolume_meta_get(meta, "path");
    const char *type = subvolume_meta_get(meta, "type");
    const size_t length = strlen(direct->base);

    if (strcmp(subvolume_meta_get(meta, "version"), "2") != 0)
        return leave_to_manager(direct, "its version is '%s'", subvolume_meta_get(meta, "version"));
    if (strcmp(subvolume_meta_get(meta, "state"), "complete") != 0)
        return leave_to_manager(direct, "its state is '%s'", subvolume_meta_get(meta, "state"));
    if (strcmp(type, "subvolume") != 0 && strcmp(type, "clone") != 0)
        return leave_to_manager(direct, "its type is '%s'", type);
    if (strncmp(path, direct->base, length) != 0 || path[length] != '/' ||
        path[length + 1] == '\0' || path[length + 1] == '.' || strchr(path + length + 1, '/'))
        return leave_to_manager(direct, "its data are in '%s'", path);
    direct->path = path;
    return 0;
}

/* Whether the manager takes it for one of an old kind, whatever .meta says. */
static int check_legacy(const struct direct *direct, struct error *err)
{
    const struct md5_text md5 = md5_of(direct->base, strlen(direct->base));
    _cleanup_free_ char *path = xasprintf(SUBVOLUMES_LEGACY "%s" SUBVOLUME_META, md5.chars);
    const int missing = look_up(direct, path, err);

    if (missing < 0)
        return judge_failure(direct, err);
    return missing > 0 ? 0 : leave_to_manager(direct, "'%s' is there", path);
}

static bool is_plain_name(const char *name)
{
    return name[0] && name[0] != '.' && !strchr(name, '/');
}

/* Finds the subvolume. Caller calls direct_done(), whatever the result. */
static int direct_open(const struct subvolume_group *group, struct call *call, const char *name,
                       struct direct *direct, struct error *err)
{
    const char *group_name = group->name[0] ? group->name : SUBVOLUMES_NO_GROUP;
    struct ceph_cluster *cluster = group->cluster;

    *direct = (struct direct){.group = group, .call = call, .name = name};
    if (cluster->cephfs_path == CEPHFS_BY_MANAGER)
        return LEFT_TO_MANAGER;
    if (!is_plain_name(name) || !is_plain_name(group_name))
        return leave_to_manager(direct, "its name or that of group '%s' is unusual", group_name);
    direct->base = xasprintf(SUBVOLUMES_ROOT "/%s/%s", group_name, name);
    if (cluster->ops->fs_open(cluster, call, group->fs_name, &direct->fs, err) < 0) {
        if (err->sys_errno != ENOENT)
            return judge_failure(direct, err);
        const int result = leave_to_manager(direct, "%s", err->message);
        error_clear(err); /* the manager says which file systems there are */
        return result;
    }
    int result = read_meta(direct, err);
    if (result == 0)
        result = check_meta(direct);
    if (result == 0)
        result = check_legacy(direct, err);
    return result;
}

/* --- what it is --- */

/* *@value is NULL if the directory of the data does not have the attribute. */
static int read_attribute(const struct direct *direct, const char *attribute, char **value,
                          struct error *err)
{
    if (direct->fs->ops->fs_get_attribute(direct->fs, direct->call, direct->path, attribute, value,
                                          err) == 0)
        return 0;
    if (err->sys_errno == ENOENT) { /* a manager was interrupted: it knows what to say */
        const int result = leave_to_manager(direct, "%s", err->message);
        error_clear(err);
        return result;
    }
    if (err->sys_errno != ENODATA)
        return judge_failure(direct, err);
    error_clear(err);
    return 0;
}

/* *@size_bytes is 0 without a quota. */
static int read_quota(const struct direct *direct, uint64_t *size_bytes, struct error *err)
{
    _cleanup_free_ char *value = NULL;
    int result = read_attribute(direct, ATTRIBUTE_QUOTA, &value, err);

    if (result != 0)
        return result;
    *size_bytes = 0;
    if (value && text_parse_u64(value, size_bytes, err) < 0) {
        error_recode(err, STATUS_INTERNAL);
        return error_wrap(err, "quota of subvolume '%s'", direct->name);
    }
    return 0;
}

int direct_get_facts(const struct subvolume_group *group, struct call *call, const char *name,
                     struct subvolume_facts *facts, struct error *err)
{
    _cleanup_direct_ struct direct direct;
    _cleanup_free_ char *pool = NULL;
    uint64_t size_bytes = 0;
    int result = direct_open(group, call, name, &direct, err);

    if (result == 0)
        result = read_quota(&direct, &size_bytes, err);
    if (result == 0)
        result = read_attribute(&direct, ATTRIBUTE_POOL, &pool, err);
    if (result != 0)
        return result;
    if (!pool)
        return leave_to_manager(&direct, "it has no data pool of its own");
    *facts = (struct subvolume_facts){
        .path = xstrdup(direct.path), .size_bytes = size_bytes, .data_pool = TAKE(pool)};
    return 0;
}

/* The snapshot's directory. Caller frees. */
static char *snapshot_path(const struct direct *direct, const char *snapshot)
{
    return xasprintf("%s/" SUBVOLUME_SNAPSHOTS "/%s", direct->base, snapshot);
}

/* NOT_FOUND if there is no such snapshot. */
static int need_snapshot(const struct direct *direct, const char *snapshot, struct error *err)
{
    _cleanup_free_ char *path = snapshot_path(direct, snapshot);
    const int missing = is_plain_name(snapshot) ? look_up(direct, path, err) : 1;

    if (missing < 0)
        return judge_failure(direct, err);
    if (missing == 0)
        return 0;
    return error_set_errno(err, -ENOENT, "snapshot '%s' of subvolume '%s'", snapshot, direct->name);
}

int direct_get_metadata(const struct subvolume_group *group, struct call *call, const char *name,
                        const char *snapshot, struct strmap *entries, struct error *err)
{
    _cleanup_direct_ struct direct direct;
    _cleanup_free_ char *section =
        snapshot ? xasprintf(SUBVOLUME_META_SNAPSHOT "%s", snapshot) : xstrdup(SUBVOLUME_META_USER);
    int result = direct_open(group, call, name, &direct, err);

    if (result == 0 && snapshot)
        result = need_snapshot(&direct, snapshot, err);
    if (result != 0)
        return result;
    const struct strmap *found = subvolume_meta_find(&direct.meta, section);
    if (found)
        strmap_merge(entries, found);
    return 0;
}

/* --- changes --- */

int direct_resize(const struct subvolume_group *group, struct call *call, const char *name,
                  uint64_t size_bytes, struct error *err)
{
    _cleanup_direct_ struct direct direct;
    _cleanup_free_ char *text = xasprintf("%llu", (unsigned long long)size_bytes);
    struct fs_stat stat = {0};
    uint64_t quota = 0;
    int result = direct_open(group, call, name, &direct, err);

    if (result == 0)
        result = read_quota(&direct, &quota, err);
    if (result != 0)
        return result;
    const struct ceph_ops *ops = direct.fs->ops;
    if (ops->fs_stat(direct.fs, call, direct.path, &stat, err) < 0)
        return judge_failure(&direct, err);
    if (size_bytes < stat.size_bytes)
        return error_set_errno(err, -EINVAL,
                               "resize subvolume '%s' to %s bytes, of which %llu are used", name,
                               text, (unsigned long long)stat.size_bytes);
    if (size_bytes != quota &&
        ops->fs_set_attribute(direct.fs, call, direct.path, ATTRIBUTE_QUOTA, text, err) < 0)
        return judge_failure(&direct, err);
    return 0;
}

/* --- snapshots --- */

/* The manager refuses names that the whole group has a snapshot of. */
static int check_snapshot_name(const struct direct *direct, const char *snapshot, struct error *err)
{
    const char *slash = strrchr(direct->base, '/');
    _cleanup_free_ char *path = xasprintf("%.*s/" SUBVOLUME_SNAPSHOTS "/%s",
                                          (int)(slash - direct->base), direct->base, snapshot);

    if (!is_plain_name(snapshot) ||
        snapshot[0] == '_') /* so Ceph names those of directories above */
        return leave_to_manager(direct, "the name of snapshot '%s' is unusual", snapshot);
    const int missing = look_up(direct, path, err);
    if (missing < 0)
        return judge_failure(direct, err);
    return missing > 0 ? 0 : leave_to_manager(direct, "its group has a snapshot '%s'", snapshot);
}

int direct_snapshot_create(const struct subvolume_group *group, struct call *call, const char *name,
                           const char *snapshot, struct error *err)
{
    _cleanup_direct_ struct direct direct;
    int result = direct_open(group, call, name, &direct, err);

    if (result == 0)
        result = check_snapshot_name(&direct, snapshot, err);
    if (result != 0)
        return result;
    _cleanup_free_ char *path = snapshot_path(&direct, snapshot);
    if (direct.fs->ops->fs_make_directory(direct.fs, call, path, 0755, err) == 0)
        return 0;
    if (err->sys_errno != EEXIST)
        return judge_failure(&direct, err);
    error_clear(err);
    return 0;
}

/* Whether .meta says that it is being copied, which only the manager can tell from an orphan. */
static bool is_snapshot_marked(const struct direct *direct, const char *snapshot)
{
    const struct strmap *clones = subvolume_meta_find(&direct->meta, SUBVOLUME_META_CLONES);

    for (size_t i = 0; clones && i < clones->count; i++)
        if (strcmp(clones->entries[i].value, snapshot) == 0)
            return true;
    return false;
}

/* "SECONDS.NANOSECONDS" to microseconds, by way of a double as the manager does, so that both give
 * the same time. */
static int parse_birth(const char *text, struct timespec *time)
{
    char *end = NULL;
    const double seconds = strtod(text, &end);

    if (end == text || *end || !(seconds > 0) || seconds > 1e11)
        return -1;
    double whole = 0;
    const double micros = rint(modf(seconds, &whole) * 1e6);
    const long long all = (long long)whole * 1000000 + (long long)micros;
    *time = (struct timespec){.tv_sec = (time_t)(all / 1000000), .tv_nsec = all % 1000000 * 1000};
    return 0;
}

int direct_snapshot_get_facts(const struct subvolume_group *group, struct call *call,
                              const char *name, const char *snapshot,
                              struct subvolume_snapshot_facts *facts, struct error *err)
{
    _cleanup_direct_ struct direct direct;
    _cleanup_free_ char *birth = NULL;
    struct timespec created = {0};
    int result = direct_open(group, call, name, &direct, err);

    if (result == 0)
        result = need_snapshot(&direct, snapshot, err);
    if (result != 0)
        return result;
    if (is_snapshot_marked(&direct, snapshot))
        return leave_to_manager(&direct, "snapshot '%s' is being copied", snapshot);
    _cleanup_free_ char *path = snapshot_path(&direct, snapshot);
    if (direct.fs->ops->fs_get_attribute(direct.fs, call, path, ATTRIBUTE_SNAPSHOT_BIRTH, &birth,
                                         err) < 0)
        return judge_failure(&direct, err);
    if (parse_birth(birth, &created) < 0)
        return leave_to_manager(&direct, "its snapshot '%s' was made at '%s'", snapshot, birth);
    *facts = (struct subvolume_snapshot_facts){.created = created};
    return 0;
}

/* --- clones --- */

int direct_clone_is_complete(const struct subvolume_group *group, struct call *call,
                             const char *name, struct error *err)
{
    _cleanup_direct_ struct direct direct;
    const int result = direct_open(group, call, name, &direct, err);

    if (result < 0 && err->status == STATUS_NOT_FOUND) {
        error_clear(err);
        return leave_to_manager(&direct, "it is not there yet");
    }
    if (result != 0)
        return result;
    return strcmp(subvolume_meta_get(&direct.meta, "type"), "clone") == 0
               ? 0
               : leave_to_manager(&direct, "it is no clone");
}
