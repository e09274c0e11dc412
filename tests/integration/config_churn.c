#include "tests/integration/config_churn.h"

#include <sys/stat.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "tests/test.h"

/* --- contents --- */

static char *plain(void)
{
    const struct harness_cluster *cluster = harness_cluster();

    return xasprintf("[{\"clusterID\":\"%s\",\"monitors\":[\"%s\"]}]", cluster->fsid,
                     cluster->monitors);
}

static char *reordered(void)
{
    const struct harness_cluster *cluster = harness_cluster();

    return xasprintf("[{\"monitors\":[\"%s\"],\"clusterID\":\"%s\"}]", cluster->monitors,
                     cluster->fsid);
}

static char *cut_off(void)
{
    char *text = plain();

    text[strlen(text) / 2] = '\0';
    return text;
}

static char *as_object(void)
{
    _cleanup_free_ char *list = reordered();

    return xasprintf("{\"clusters\":%s}", list);
}

static char *of_a_wrong_type(void)
{
    return xstrdup("[{\"clusterID\":7}]");
}

/* The same monitor, but what the driver compares differs: it connects anew. */
static char *spelled_otherwise(void)
{
    const struct harness_cluster *cluster = harness_cluster();

    return xasprintf("[{\"clusterID\":\"%s\",\"monitors\":[\"v2:%s\"]}]", cluster->fsid,
                     cluster->monitors);
}

static char *(*const CONTENTS[])(void) = {plain,     reordered,       cut_off,
                                          as_object, of_a_wrong_type, spelled_otherwise};

/* --- ways --- */

static char *path_in_folder(const struct config_churn *churn, const char *name)
{
    return xasprintf("%s/%s", churn->driver->folder, name);
}

/* An editor's way: a reader may find it empty, or the first half of it. */
static void write_in_place(const char *path, const char *content)
{
    const size_t half = strlen(content) / 2;
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, half, file), half);
    assert_int_equal(fflush(file), 0);
    assert_true(fputs(content + half, file) >= 0);
}

static void swap_in_place(struct config_churn *churn, const char *content)
{
    write_in_place(churn->driver->config_path, content);
}

static void swap_by_rename(struct config_churn *churn, const char *content)
{
    harness_write_config(churn->driver, content);
}

static void swap_with_a_gap(struct config_churn *churn, const char *content)
{
    assert_int_equal(unlink(churn->driver->config_path), 0);
    harness_write_config(churn->driver, content);
}

static void point_link(const struct config_churn *churn, const char *name, const char *target)
{
    _cleanup_free_ char *path = path_in_folder(churn, name);
    _cleanup_free_ char *temporary = path_in_folder(churn, "link.new");

    assert_int_equal(symlink(target, temporary), 0);
    assert_int_equal(rename(temporary, path), 0);
}

/* kubelet's way with a ConfigMap: config.json -> ..data/config.json, ..data -> a folder. */
static void swap_by_link(struct config_churn *churn, const char *content)
{
    const char *version = churn->count % 2 ? "..odd" : "..even";
    _cleanup_free_ char *folder = path_in_folder(churn, version);
    _cleanup_free_ char *file = xasprintf("%s/config.json", folder);

    mkdir(folder, 0700); /* may be there */
    write_in_place(file, content);
    point_link(churn, "..data", version);
    point_link(churn, "config.json", "..data/config.json");
}

static void (*const WAYS[])(struct config_churn *churn, const char *content) = {
    swap_by_rename, swap_by_link, swap_in_place, swap_with_a_gap};

/* --- what the test sees --- */

size_t config_churn_round(void)
{
    return ARRAY_LENGTH(CONTENTS) * ARRAY_LENGTH(WAYS);
}

void config_churn_next(struct config_churn *churn)
{
    const size_t which = churn->count % ARRAY_LENGTH(CONTENTS);
    const size_t way = churn->count / ARRAY_LENGTH(CONTENTS) % ARRAY_LENGTH(WAYS);
    _cleanup_free_ char *content = CONTENTS[which]();

    WAYS[way](churn, content);
    churn->count++;
}

void config_churn_done(struct config_churn *churn)
{
    static const char *const files[] = {"..odd/config.json", "..even/config.json", "..data"};
    static const char *const folders[] = {"..odd", "..even"};
    _cleanup_free_ char *content = plain();

    harness_write_config(churn->driver, content);
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        _cleanup_free_ char *path = path_in_folder(churn, files[i]);

        unlink(path);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) {
        _cleanup_free_ char *path = path_in_folder(churn, folders[i]);

        rmdir(path);
    }
}
