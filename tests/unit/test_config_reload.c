#include "tests/unit/fixtures/config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

/* What happens when config.json changes, breaks, goes and comes back. */

TEST(unchanged_file_is_not_read_again, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    _cleanup_config_file_ struct config_file *file = config_file_new(path);
    _cleanup_config_ struct config *first = config_get(file);
    _cleanup_config_ struct config *second = config_get(file);

    assert_ptr_equal(first, second);
    assert_healthy(file, now);
    _cleanup_config_ struct config *third = config_get(file);
    assert_ptr_equal(first, third);
}

TEST(renamed_file_takes_effect, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    _cleanup_config_file_ struct config_file *file = config_file_new(path);

    assert_in_force(file, "a");
    replace_file(path, GOOD_B); /* of the same length */
    assert_in_force(file, "b");
    replace_file(path, GOOD_A);
    assert_in_force(file, "a");
}

TEST(file_written_in_place_takes_effect, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    _cleanup_config_file_ struct config_file *file = config_file_new(path);

    assert_in_force(file, "a");
    write_bytes(path, GOOD_B " ", strlen(GOOD_B " "));
    assert_in_force(file, "b");
}

TEST(file_of_the_same_size_and_inode_is_told_by_its_time, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    _cleanup_config_file_ struct config_file *file = config_file_new(path);
    struct stat before;

    assert_in_force(file, "a");
    assert_int_equal(stat(path, &before), 0);
    write_bytes(path, GOOD_B, strlen(GOOD_B));
    struct timespec times[] = {before.st_mtim, before.st_mtim};
    times[1].tv_nsec = (times[1].tv_nsec + 1) % 1000000000;
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    assert_in_force(file, "b");
}

TEST(swapped_configmap_takes_effect, WITH_FOLDER)
{
    _cleanup_free_ char *path = path_of("config.json");
    _cleanup_config_file_ struct config_file *file = config_file_new(path);

    write_configmap("..2023_11_14_22_13_20.1234567890", GOOD_A);
    assert_int_equal(symlink("..data/config.json", path), 0);
    assert_in_force(file, "a");
    write_configmap("..2023_11_14_22_15_07.2345678901", GOOD_B);
    remove_configmap_version("..2023_11_14_22_13_20.1234567890");
    assert_in_force(file, "b");
    assert_healthy(file, now);
    write_configmap("..2023_11_14_22_18_55.3456789012", BROKEN);
    assert_in_force(file, "b");
    _cleanup_free_ char *fault =
        xasprintf("%s: line 1, column 42: ']' expected near end of file", path);
    assert_unhealthy(file, fault, now);
    write_configmap("..2023_11_14_22_21_30.4567890123", GOOD_A);
    assert_in_force(file, "a");
    assert_healthy(file, now);
}

TEST(version_in_use_outlives_its_successor, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    struct config_file *file = config_file_new(path);
    _cleanup_config_ struct config *old = config_get(file);
    const struct cluster_config *cluster = config_get_cluster(old, "a");

    replace_file(path, GOOD_B);
    _cleanup_config_ struct config *new = config_get(file);
    assert_ptr_not_equal(old, new);
    config_file_free(file);
    assert_string_equal(cluster->monitors, "mon-a");
    assert_not_found(old, "b", "clusterID 'b' is not configured; config.json has 'a'");
    assert_string_equal(config_get_cluster(new, "b")->monitors, "mon-b");
}

TEST(broken_version_leaves_the_last_good_one_in_force, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    _cleanup_config_file_ struct config_file *file = config_file_new(path);
    _cleanup_free_ char *fault =
        xasprintf("%s: line 1, column 42: ']' expected near end of file", path);
    const time_t start = now;

    assert_in_force(file, "a");
    assert_healthy(file, start);
    now += 100;
    replace_file(path, BROKEN);
    assert_in_force(file, "a");
    now += 100;
    assert_in_force(file, "a");
    assert_unhealthy(file, fault, start + 100);
    now += 100;
    replace_file(path, GOOD_B);
    assert_in_force(file, "b");
    assert_healthy(file, start + 300);
}

TEST(one_bad_version_after_another_is_one_outage, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    _cleanup_config_file_ struct config_file *file = config_file_new(path);
    _cleanup_free_ char *syntax =
        xasprintf("%s: line 1, column 42: ']' expected near end of file", path);
    _cleanup_free_ char *type = xasprintf("%s: [0]: expected an object, found a number", path);
    _cleanup_free_ char *gone = xasprintf("cannot read '%s': No such file or directory", path);
    const time_t start = now;

    assert_in_force(file, "a");
    now += 100;
    replace_file(path, BROKEN);
    assert_unhealthy(file, syntax, start + 100);
    now += 100;
    replace_file(path, "[1]");
    assert_unhealthy(file, type, start + 100);
    now += 100;
    assert_int_equal(unlink(path), 0);
    assert_unhealthy(file, gone, start + 100);
    assert_in_force(file, "a");
    now += 100;
    replace_file(path, GOOD_A);
    assert_healthy(file, start + 400);
    now += 100;
    replace_file(path, GOOD_B);
    assert_healthy(file, start + 400);
}

TEST(file_that_never_was_may_still_come, WITH_FOLDER)
{
    _cleanup_free_ char *path = path_of("config.json");
    _cleanup_config_file_ struct config_file *file = config_file_new(path);
    _cleanup_free_ char *fault = xasprintf("cannot read '%s': No such file or directory", path);
    _cleanup_free_ char *refusal = xasprintf("the driver has no cluster configuration: %s", fault);

    assert_unavailable(file, refusal);
    assert_unhealthy(file, fault, now);
    replace_file(path, BROKEN);
    _cleanup_free_ char *broken = xasprintf("the driver has no cluster configuration: %s: line 1, "
                                            "column 42: ']' expected near end of file",
                                            path);
    assert_unavailable(file, broken);
    replace_file(path, GOOD_A);
    assert_in_force(file, "a");
    assert_healthy(file, now);
}

TEST(vanished_file_leaves_the_last_good_version_in_force, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    _cleanup_free_ char *aside = path_of("aside.json");
    _cleanup_config_file_ struct config_file *file = config_file_new(path);
    _cleanup_free_ char *fault = xasprintf("cannot read '%s': No such file or directory", path);
    const time_t start = now;

    assert_in_force(file, "a");
    now += 100;
    assert_int_equal(rename(path, aside), 0);
    assert_in_force(file, "a");
    assert_unhealthy(file, fault, start + 100);
    now += 100;
    assert_int_equal(rename(aside, path), 0); /* the very same file, nothing newer */
    assert_healthy(file, start + 200);
    assert_in_force(file, "a");
}

/* The version must not count as seen: it stays the same when the shortage is over. */
TEST(want_of_descriptors_is_not_held_against_the_file, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    _cleanup_config_file_ struct config_file *file = config_file_new(path);
    _cleanup_free_ char *fault = xasprintf("open '%s': Too many open files", path);
    struct rlimit limit;

    assert_in_force(file, "a");
    replace_file(path, GOOD_B);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    _cleanup_config_ struct config *kept = config_get(file);
    _cleanup_free_ char *message = NULL;
    time_t since = 0;
    bool healthy = config_file_is_healthy(file, &message, &since);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_string_equal(config_get_cluster(kept, "a")->monitors, "mon-a");
    assert_false(healthy);
    assert_string_equal(message, fault);
    assert_in_force(file, "b");
    assert_healthy(file, now);
}

TEST(each_fault_is_logged_once, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    _cleanup_free_ char *log = path_of("log");
    _cleanup_config_file_ struct config_file *file = config_file_new(path);
    int saved = divert_stderr(log);

    assert_in_force(file, "a");
    replace_file(path, BROKEN);
    for (int i = 0; i < 10; i++)
        assert_in_force(file, "a");
    replace_file(path, "[1]");
    for (int i = 0; i < 10; i++)
        assert_in_force(file, "a");
    replace_file(path, GOOD_B);
    for (int i = 0; i < 10; i++)
        assert_in_force(file, "b");
    assert_int_equal(unlink(path), 0);
    for (int i = 0; i < 10; i++)
        assert_in_force(file, "b");
    restore_stderr(saved);
    assert_int_equal(count_lines(log, "] "), 4);
    assert_int_equal(count_lines(log, "] keeping the last good configuration: "), 3);
    assert_int_equal(count_lines(log, "No such file or directory"), 1);
    assert_int_equal(count_lines(log, "line 1, column 42: ']' expected"), 1);
    assert_int_equal(count_lines(log, "[0]: expected an object, found a number"), 1);
    assert_int_equal(count_lines(log, "config.json is good again"), 1);
}

TEST(path_is_copied, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    _cleanup_free_ char *changed = xstrdup(path);
    _cleanup_config_file_ struct config_file *file = config_file_new(changed);

    changed[0] = 'x';
    assert_string_equal(config_file_path(file), path);
    assert_in_force(file, "a");
}

TEST(nothing_is_released_without_harm, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    _cleanup_config_file_ struct config_file *file = config_file_new(path);

    assert_in_force(file, "a");
    config_file_free(NULL);
    config_unref(NULL);
    assert_in_force(file, "a");
    assert_string_equal(config_file_path(file), path);
}

/* --- threads --- */

struct readers {
    struct config_file *file;
    atomic_bool stop;
    atomic_int faults; /* cmocka's assertions work on its own thread only */
    atomic_int reads;
};

/* Either version is whole, and the clusters of one never appear with the monitors of the other. */
static bool version_is_whole(const struct config *config)
{
    const struct cluster_config *cluster = NULL;
    _cleanup_error_ struct error err = {0};

    if (config_find_cluster(config, "a", &cluster, &err) == 0)
        return strcmp(cluster->monitors, "mon-a") == 0;
    error_clear(&err);
    return config_find_cluster(config, "b", &cluster, &err) == 0 &&
           strcmp(cluster->monitors, "mon-b") == 0;
}

static void *read_often(void *context)
{
    struct readers *readers = context;

    while (!atomic_load(&readers->stop)) {
        _cleanup_config_ struct config *config = NULL;
        _cleanup_free_ char *message = NULL;
        _cleanup_error_ struct error err = {0};
        time_t since = 0;

        if (config_file_get(readers->file, &config, &err) < 0 || !version_is_whole(config) ||
            !config_file_is_healthy(readers->file, &message, &since))
            atomic_fetch_add(&readers->faults, 1);
        atomic_fetch_add(&readers->reads, 1);
    }
    return NULL;
}

TEST(readers_see_whole_versions_while_the_file_changes, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    _cleanup_config_file_ struct config_file *file = config_file_new(path);
    struct readers readers = {.file = file};
    pthread_t threads[8];

    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_often, &readers), 0);
    for (int i = 0; i < 500 || atomic_load(&readers.reads) < 1000; i++)
        replace_file(path, i % 2 ? GOOD_A : GOOD_B);
    atomic_store(&readers.stop, true);
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&readers.faults), 0);
}
