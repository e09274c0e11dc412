#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/volume/config.h"

/*
 * For tests of config.json: a folder for each test, a clock that stands still unless the test moves
 * it, and assertions. For one translation unit per program.
 */
#define GOOD_A "[{\"clusterID\": \"a\", \"monitors\": [\"mon-a\"]}]"
#define GOOD_B "[{\"clusterID\": \"b\", \"monitors\": [\"mon-b\"]}]"
#define BROKEN "[{\"clusterID\": \"b\", \"monitors\": [\"mon-b\"]}"

#define _cleanup_config_file_ _cleanup_(config_file_freep)

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
    folder = xstrdup("/tmp/test_config.XXXXXX");
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

/* A new config.json in the test's folder. Caller frees. */
static inline char *make_file(const char *content)
{
    char *path = path_of("config.json");

    replace_file(path, content);
    return path;
}

/* --- what is in it ---------------------------------------------------------------------------- */

static inline struct config *get(struct config_file *file)
{
    _cleanup_error_ struct error err = {0};
    struct config *config = NULL;

    if (config_file_get(file, &config, &err) < 0)
        fail_msg("%s", err.message);
    return config;
}

static inline struct config *load(const char *path)
{
    _cleanup_config_file_ struct config_file *file = config_file_new(path);

    return get(file);
}

static inline struct config *load_text(const char *content)
{
    _cleanup_free_ char *path = make_file(content);

    return load(path);
}

static inline const struct cluster_config *find(const struct config *config, const char *cluster_id)
{
    const struct cluster_config *cluster = NULL;
    _cleanup_error_ struct error err = {0};

    if (config_find_cluster(config, cluster_id, &cluster, &err) < 0)
        fail_msg("%s", err.message);
    return cluster;
}

static inline void assert_not_found(const struct config *config, const char *cluster_id,
                                    const char *message)
{
    const struct cluster_config *cluster = NULL;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(config_find_cluster(config, cluster_id, &cluster, &err), -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_string_equal(err.message, message);
    assert_null(cluster);
}

/* The version that the file's readers get is the one with @cluster_id. */
static inline void assert_in_force(struct config_file *file, const char *cluster_id)
{
    _cleanup_config_ struct config *config = get(file);

    find(config, cluster_id);
}

static inline void assert_unavailable(struct config_file *file, const char *message)
{
    _cleanup_error_ struct error err = {0};
    struct config *config = NULL;

    assert_int_equal(config_file_get(file, &config, &err), -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    assert_string_equal(err.message, message);
    assert_null(config);
}

static inline void assert_healthy(struct config_file *file, time_t since)
{
    _cleanup_free_ char *message = NULL;
    time_t told = 0;

    assert_true(config_file_is_healthy(file, &message, &told));
    assert_string_equal(message, "");
    assert_int_equal(told, since);
}

static inline void assert_unhealthy(struct config_file *file, const char *reason, time_t since)
{
    _cleanup_free_ char *message = NULL;
    time_t told = 0;

    assert_false(config_file_is_healthy(file, &message, &told));
    assert_string_equal(message, reason);
    assert_int_equal(told, since);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
