#include "controller/takeover/fences.h"

#include <errno.h>

#include "common/base/text.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/unit/fixtures/files.h"

/* Blocklists of two clusters, which need not agree. */

#define LASTING "2999-01-01T00:00:00.000000+0000"
#define SHORT "2001-01-01T00:00:00.000000+0000"

struct clusters {
    struct fake_ceph *fake;
    char *config_path;
    struct config_file *config;
    struct standing_credentials *standing;
    struct fences fences;
    const char *lists[2]; /* the answers to "osd blocklist ls" */
    unsigned commands;    /* each goes to the first, then to the second */
    unsigned changes;
    bool second_is_away;
};

static int answer_mon(void *object, const char *command, struct text *reply)
{
    struct clusters *clusters = object;
    const unsigned cluster = clusters->commands++ % 2;

    if (cluster == 1 && clusters->second_is_away)
        return -ETIMEDOUT;
    if (strstr(command, "osd blocklist ls"))
        text_add(reply, clusters->lists[cluster]);
    else
        clusters->changes++;
    return 0;
}

static void clusters_init(struct clusters *clusters)
{
    struct credentials keyring = {.user = xstrdup("csi")};

    secret_set(&keyring.key, "AQB");
    clusters->config_path = path_of("config.json");
    replace_file(clusters->config_path, "[{\"clusterID\": \"c1\", \"monitors\": [\"m1\"]},"
                                        "{\"clusterID\": \"c2\", \"monitors\": [\"m2\"]}]");
    clusters->fake = fake_ceph_new();
    fake_ceph_answer_mon(clusters->fake, answer_mon, clusters);
    clusters->config = config_file_new(clusters->config_path);
    clusters->standing =
        standing_credentials_new(&(struct standing_credentials_options){.keyring = &keyring});
    credentials_done(&keyring);
    clusters->fences =
        (struct fences){fake_ceph_as_ceph(clusters->fake), clusters->config, clusters->standing};
}

static void clusters_done(struct clusters *clusters)
{
    standing_credentials_free(clusters->standing);
    config_file_free(clusters->config);
    fake_ceph_free(clusters->fake);
    free(clusters->config_path);
}
#define _cleanup_clusters_ _cleanup_(clusters_done)

static void assert_list(const struct string_list *list, const char *wanted)
{
    _cleanup_text_ struct text found = TEXT_INIT(1024);

    for (size_t i = 0; i < list->count; i++)
        text_addf(&found, "%s%s", i ? " " : "", list->items[i]);
    assert_string_equal(text_chars(&found), wanted);
}

static void read_sight(struct clusters *clusters, struct fence_sight *sight)
{
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "test", deadline_in_ms(60000));
    int result = fences_read(&clusters->fences, &call, sight, &err);
    call_done(&call);
    if (result < 0)
        fail_msg("%s", err.message);
}

TEST(address_is_fenced_where_every_cluster_has_it_for_long, WITH_FOLDER)
{
    _cleanup_clusters_ struct clusters clusters = {0};
    _cleanup_fence_sight_ struct fence_sight sight = {0};

    clusters_init(&clusters);
    clusters.lists[0] = "[{\"addr\": \"10.0.0.1:0/0\", \"until\": \"" LASTING "\"},"
                        "{\"addr\": \"10.0.0.2:0/0\", \"until\": \"" LASTING "\"},"
                        "{\"addr\": \"10.0.0.3:0/0\", \"until\": \"" SHORT "\"},"
                        "{\"addr\": \"10.0.0.4:0/99\", \"until\": \"" LASTING "\"}]"
                        "[{\"range\": \"10.1.0.0:0/16\", \"until\": \"" LASTING "\"}]";
    clusters.lists[1] = "[{\"addr\": \"10.0.0.1:0/0\", \"until\": \"" LASTING "\"},"
                        "{\"addr\": \"10.0.0.3:0/0\", \"until\": \"" LASTING "\"},"
                        "{\"addr\": \"10.0.0.5:0/0\", \"until\": \"" LASTING "\"}]"
                        "[{\"range\": \"10.1.0.0:0/16\", \"until\": \"" LASTING "\"},"
                        "{\"range\": \"fd00:::0/64\", \"until\": \"" SHORT "\"}]";
    read_sight(&clusters, &sight);
    assert_list(&sight.everywhere, "10.0.0.1");
    assert_list(&sight.partly, "10.0.0.2 10.0.0.3 10.0.0.5");
    assert_list(&sight.ranges, "10.1.0.0/16 fd00::/64");
}

/* What was removed in one cluster alone is not gone. */
TEST(removal_that_stopped_midway_leaves_it_visible, WITH_FOLDER)
{
    static const char has_it[] = "[{\"addr\": \"10.0.0.1:0/0\", \"until\": \"" LASTING "\"}][]";
    _cleanup_clusters_ struct clusters clusters = {.lists = {has_it, has_it},
                                                   .second_is_away = true};
    _cleanup_fence_sight_ struct fence_sight sight = {0};
    _cleanup_fence_sight_ struct fence_sight none = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    clusters_init(&clusters);
    call_init(&call, 1, "test", deadline_in_ms(60000));
    assert_int_equal(fences_remove(&clusters.fences, &call, "10.0.0.1", &err), -1);
    assert_non_null(strstr(err.message, "unfence '10.0.0.1': cluster 'c2'"));
    assert_int_equal(clusters.changes, 1);
    error_clear(&err);
    assert_int_equal(fences_read(&clusters.fences, &call, &none, &err), -1);
    call_done(&call);
    clusters.second_is_away = false;
    clusters.lists[0] = "[][]";
    read_sight(&clusters, &sight);
    assert_list(&sight.everywhere, "");
    assert_list(&sight.partly, "10.0.0.1");
}
