#include "common/config/watched_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/base/log.h"
#include "common/base/memory.h"

struct watched_file {
    char *path;
    const struct watched_kind *kind;
    pthread_mutex_t lock; /* over the rest; held over stat() and the read of a local file */
    struct watched_version *current;
    struct stat seen; /* of the file when it was last read */
    bool is_seen;     /* it was read, whatever was in it */
    struct condition condition;
};

void watched_version_init(struct watched_version *version,
                          void (*release)(struct watched_version *version))
{
    atomic_init(&version->refs, 1);
    version->free = release;
}

struct watched_version *watched_version_ref(struct watched_version *version)
{
    atomic_fetch_add(&version->refs, 1);
    return version;
}

void watched_version_unref(struct watched_version *version)
{
    if (version && atomic_fetch_sub(&version->refs, 1) == 1)
        version->free(version);
}

struct watched_file *watched_file_new(const char *path, const struct watched_kind *kind)
{
    struct watched_file *file = xcalloc(1, sizeof(*file));

    file->path = xstrdup(path);
    file->kind = kind;
    pthread_mutex_init(&file->lock, NULL);
    return file;
}

void watched_file_free(struct watched_file *file)
{
    if (!file)
        return;
    watched_version_unref(file->current);
    pthread_mutex_destroy(&file->lock);
    condition_done(&file->condition);
    free(file->path);
    free(file);
}

const char *watched_file_path(const struct watched_file *file)
{
    return file->path;
}

void watched_note(struct condition *condition, const char *fault, const char *what,
                  const char *subject, bool has_good)
{
    switch (condition_note(condition, fault)) {
    case CONDITION_FAULT:
        log_warn(NULL, "%s %s: %s", has_good ? "keeping the last good" : "no", what, fault);
        break;
    case CONDITION_MENDED:
        log_info(NULL, "%s is good again", subject);
        break;
    case CONDITION_UNCHANGED:
        break;
    }
}

static bool is_unchanged(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Brings @file up to date with the disk. Lock held. */
static void refresh_file(struct watched_file *file)
{
    const struct watched_kind *kind = file->kind;
    _cleanup_error_ struct error err = {0};
    struct stat status;

    if (stat(file->path, &status) < 0) {
        const bool is_fine = errno == ENOENT && kind->is_optional && !file->current;
        _cleanup_free_ char *fault = xasprintf("cannot read '%s': %m", file->path);

        file->is_seen = false;
        watched_note(&file->condition, is_fine ? NULL : fault, kind->what, file->path,
                     file->current);
        return;
    }
    if (file->is_seen && is_unchanged(&status, &file->seen))
        return;
    struct watched_version *version = NULL;
    file->seen = status;
    file->is_seen = true;
    if (kind->load(file->path, &version, &err) == 0) {
        watched_version_unref(file->current);
        file->current = version;
    } else if (err.sys_errno != 0) {
        file->is_seen = false; /* unread, perhaps for want of descriptors: try again */
    }
    watched_note(&file->condition, err.message, kind->what, file->path, file->current);
}

int watched_file_get(struct watched_file *file, struct watched_version **version, struct error *err)
{
    int result = 0;

    pthread_mutex_lock(&file->lock);
    refresh_file(file);
    if (file->current)
        *version = watched_version_ref(file->current);
    else if (file->condition.fault)
        result = error_set(err, STATUS_UNAVAILABLE, "%s", file->condition.fault);
    else
        *version = NULL;
    pthread_mutex_unlock(&file->lock);
    return result;
}

bool watched_file_is_healthy(struct watched_file *file, char **message, time_t *since)
{
    pthread_mutex_lock(&file->lock);
    refresh_file(file);
    bool healthy = condition_is_healthy(&file->condition, message, since);
    pthread_mutex_unlock(&file->lock);
    return healthy;
}
