#include "common/config/watched_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/base/condition.h"
#include "common/base/log.h"
#include "common/base/memory.h"

/* What tells one state of the file from the next. */
struct file_stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified;
};

struct watched_file {
    char *path;
    const struct watched_kind *kind;
    pthread_mutex_t lock; /* over the rest; held over stat() and the read of a local file */
    struct watched_version *current;
    struct file_stamp stamp;
    bool has_stamp; /* of a file that was read, whatever was in it */
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

static struct file_stamp stamp_of(const struct stat *status)
{
    return (struct file_stamp){status->st_dev, status->st_ino, status->st_size, status->st_mtim};
}

static bool stamp_is_equal(const struct file_stamp *a, const struct file_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec;
}

/* @fault NULL: the file is as it should be. */
static void note(struct watched_file *file, const char *fault)
{
    switch (condition_note(&file->condition, fault)) {
    case CONDITION_FAULT:
        log_warn(NULL, "%s %s: %s", file->current ? "keeping the last good" : "no",
                 file->kind->what, fault);
        break;
    case CONDITION_MENDED:
        log_info(NULL, "%s is good again", file->path);
        break;
    case CONDITION_UNCHANGED:
        break;
    }
}

static void note_absence(struct watched_file *file, int reason)
{
    errno = reason;
    _cleanup_free_ char *fault = xasprintf("cannot read '%s': %m", file->path);

    file->has_stamp = false;
    if (reason == ENOENT && file->kind->is_optional && !file->current)
        note(file, NULL);
    else
        note(file, fault);
}

/* Brings @file up to date with the disk. Lock held. */
static void refresh(struct watched_file *file)
{
    _cleanup_error_ struct error err = {0};
    struct watched_version *version = NULL;
    struct stat status;

    if (stat(file->path, &status) < 0) {
        note_absence(file, errno);
        return;
    }
    struct file_stamp stamp = stamp_of(&status);
    if (file->has_stamp && stamp_is_equal(&stamp, &file->stamp))
        return;
    file->stamp = stamp;
    file->has_stamp = true;
    if (file->kind->load(file->path, &version, &err) < 0) {
        if (err.sys_errno != 0) /* unread, perhaps for want of descriptors: try again */
            file->has_stamp = false;
        note(file, err.message);
        return;
    }
    watched_version_unref(file->current);
    file->current = version;
    note(file, NULL);
}

int watched_file_get(struct watched_file *file, struct watched_version **version, struct error *err)
{
    int result = 0;

    pthread_mutex_lock(&file->lock);
    refresh(file);
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
    refresh(file);
    bool healthy = condition_is_healthy(&file->condition, message, since);
    pthread_mutex_unlock(&file->lock);
    return healthy;
}
