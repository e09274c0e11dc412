#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/test.h"

/*
 * For tests of files that change: a folder for each test, and a clock that stands still unless the
 * test moves it. For one translation unit per program.
 */
static time_t now = 1700000000;

/* Stands in for the C library's. */
time_t time(time_t *copy)
{
    if (copy)
        *copy = now;
    return now;
}

/* --- files ------------------------------------------------------------------------------------ */

static char *folder; /* of the running test */

static inline int make_folder(void **state)
{
    (void)state;
    folder = xstrdup("/tmp/test_files.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_one(const char *path, const struct stat *status, int kind,
                             struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static inline int remove_folder(void **state)
{
    int result = nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);

    (void)state;
    free(TAKE(folder));
    return result;
}

/* Caller frees. */
static inline char *path_of(const char *name)
{
    return xasprintf("%s/%s", folder, name);
}

static inline void write_bytes(const char *path, const char *bytes, size_t length)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), length);
}

/* Puts @content in place of the file at once, as a careful editor does. */
static inline void replace_file(const char *path, const char *content)
{
    _cleanup_free_ char *draft = xasprintf("%s.new", path);

    write_bytes(draft, content, strlen(content));
    assert_int_equal(rename(draft, path), 0);
}

/* A ConfigMap as kubelet lays it out: config.json -> ..data/config.json, ..data -> ..VERSION. */
static inline void write_configmap(const char *version, const char *content)
{
    _cleanup_free_ char *versioned = path_of(version);
    _cleanup_free_ char *content_path = xasprintf("%s/config.json", versioned);
    _cleanup_free_ char *draft = path_of("..data_tmp");
    _cleanup_free_ char *current = path_of("..data");

    assert_int_equal(mkdir(versioned, 0755), 0);
    write_bytes(content_path, content, strlen(content));
    assert_int_equal(symlink(version, draft), 0);
    assert_int_equal(rename(draft, current), 0);
}

static inline void remove_configmap_version(const char *version)
{
    _cleanup_free_ char *versioned = path_of(version);
    _cleanup_free_ char *content_path = xasprintf("%s/config.json", versioned);

    assert_int_equal(unlink(content_path), 0);
    assert_int_equal(rmdir(versioned), 0);
}

/* What the tested calls write to stderr, which goes to a file meanwhile. */
static inline int divert_stderr(const char *path)
{
    int saved = dup(STDERR_FILENO);
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(saved >= 0 && fd >= 0);
    assert_true(dup2(fd, STDERR_FILENO) >= 0);
    return saved;
}

static inline void restore_stderr(int saved)
{
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
}

static inline size_t count_lines(const char *path, const char *part)
{
    _cleanup_fclose_ FILE *lines = fopen(path, "re");
    _cleanup_free_ char *line = NULL;
    size_t capacity = 0;
    size_t count = 0;

    assert_non_null(lines);
    while (getline(&line, &capacity, lines) >= 0)
        count += strstr(line, part) != NULL;
    return count;
}

#define WITH_FOLDER .setup_func = make_folder, .teardown_func = remove_folder
