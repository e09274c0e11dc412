#pragma once

#include "tests/unit/test_files_fixture.h"

#include "common/volume/config.h"

/* For tests of config.json: assertions. For one translation unit per program. */
#define GOOD_A "[{\"clusterID\": \"a\", \"monitors\": [\"mon-a\"]}]"
#define GOOD_B "[{\"clusterID\": \"b\", \"monitors\": [\"mon-b\"]}]"
#define BROKEN "[{\"clusterID\": \"b\", \"monitors\": [\"mon-b\"]}"

#define _cleanup_config_file_ _cleanup_(config_file_freep)

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
