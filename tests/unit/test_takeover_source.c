#include "tests/unit/fixtures/files.h"

#include <pthread.h>
#include <stdatomic.h>

#include "common/config/takeover_source.h"
#include "tests/unit/fixtures/kube.h"

/* Which map is in force, and what happens when it changes, breaks or goes away. */

#define CONFIG(map) "{\"version\": 2, \"clusters\": [], \"topology-takeover\": " map "}"

struct sources {
    char *config_path;
    char *map_path;
    struct config_file *config;
    struct takeover_source *source;
};

static void sources_init(struct sources *sources, const char *config)
{
    sources->config_path = path_of("config.json");
    sources->map_path = path_of("takeover.json");
    if (config)
        replace_file(sources->config_path, config);
    sources->config = config_file_new(sources->config_path);
    sources->source = takeover_source_new(
        &(struct takeover_setup){.path = sources->map_path, .config = sources->config});
}

static void sources_done(struct sources *sources)
{
    takeover_source_free(sources->source);
    config_file_free(sources->config);
    free(sources->config_path);
    free(sources->map_path);
}
#define _cleanup_sources_ _cleanup_(sources_done)

/* "a b": the domains under takeover; "" for none, "unknown" if nobody knows. */
static void assert_taken_over(struct sources *sources, const char *domains)
{
    _cleanup_takeover_snapshot_ struct takeover_snapshot snapshot = {0};
    _cleanup_text_ struct text found = TEXT_INIT(1024);

    takeover_source_get(sources->source, &snapshot);
    if (snapshot.unknown) {
        assert_int_equal(snapshot.map->count, 0);
        text_add(&found, "unknown");
    }
    for (size_t i = 0; i < snapshot.map->count; i++)
        text_addf(&found, "%s%s", i ? " " : "", snapshot.map->entries[i].value);
    assert_string_equal(text_chars(&found), domains);
}

static void assert_healthy(struct sources *sources)
{
    _cleanup_free_ char *message = NULL;
    time_t since = 0;

    if (!takeover_source_is_healthy(sources->source, &message, &since))
        fail_msg("%s", message);
    assert_string_equal(message, "");
}

static void assert_unhealthy(struct sources *sources, const char *part)
{
    _cleanup_free_ char *message = NULL;
    time_t since = 0;

    assert_false(takeover_source_is_healthy(sources->source, &message, &since));
    if (!strstr(message, part))
        fail_msg("wanted '%s', got '%s'", part, message);
}

TEST(nothing_anywhere_is_no_takeover, WITH_FOLDER)
{
    _cleanup_sources_ struct sources sources = {0};

    sources_init(&sources, NULL);
    assert_taken_over(&sources, "unknown");
    assert_healthy(&sources); /* config.json reports for itself */
    replace_file(sources.config_path, "[]");
    assert_taken_over(&sources, "");
    replace_file(sources.config_path, CONFIG("null"));
    assert_taken_over(&sources, "");
    assert_healthy(&sources);
}

TEST(file_of_its_own_wins_over_config, WITH_FOLDER)
{
    _cleanup_sources_ struct sources sources = {0};

    sources_init(&sources, CONFIG("{\"from-config\": [\"x\"]}"));
    assert_taken_over(&sources, "from-config");
    replace_file(sources.map_path, "{\"from-file\": [\"x\"]}");
    assert_taken_over(&sources, "from-file");
    replace_file(sources.map_path, "{}"); /* found, and says that there is none */
    assert_taken_over(&sources, "");
    assert_healthy(&sources);
}

#define MAP_PATH "/api/v1/namespaces/ceph/configmaps/cephzone-takeover"

static bool is_taken_over(struct sources *sources, const char *domain)
{
    _cleanup_takeover_snapshot_ struct takeover_snapshot snapshot = {0};

    takeover_source_get(sources->source, &snapshot);
    return takeover_find(snapshot.map, NULL, domain) != NULL;
}

/* The file is a copy of it that kubelet brings a minute later. */
TEST(configmap_wins_over_the_file_when_it_can_be_read, WITH_FOLDER)
{
    _cleanup_sources_ struct sources sources = {0};
    _cleanup_fake_kube_ struct fake_kube *fake = fake_kube_new();

    sources_init(&sources, CONFIG("{}"));
    replace_file(sources.map_path, "{\"from-file\": [\"x\"]}");
    fake_kube_put(fake, MAP_PATH,
                  "{\"data\":{\"takeover.json\":\"{\\\"from-kube\\\": [\\\"x\\\"]}\"}}");
    fake_kube_forbid(fake, "get", MAP_PATH);
    takeover_source_free(sources.source);
    sources.source = takeover_source_new(&(struct takeover_setup){.path = sources.map_path,
                                                                  .config = sources.config,
                                                                  .kube = fake_kube_as_kube(fake),
                                                                  .name_space = "ceph",
                                                                  .poll_ms = 1});
    assert_taken_over(&sources, "from-file");
    fake_kube_forbid(fake, NULL, NULL);
    wait_until(is_taken_over(&sources, "from-kube"));
    takeover_source_free(TAKE(sources.source));
}

static bool is_doubted(struct sources *sources)
{
    _cleanup_takeover_snapshot_ struct takeover_snapshot snapshot = {0};

    takeover_source_get(sources->source, &snapshot);
    return snapshot.doubt != NULL;
}

/* Nobody says that there is none. */
TEST(map_that_cannot_be_read_is_unknown, WITH_FOLDER)
{
    _cleanup_sources_ struct sources sources = {0};
    _cleanup_fake_kube_ struct fake_kube *fake = fake_kube_new();

    sources_init(&sources, CONFIG("{}"));
    fake_kube_fail_all(fake, STATUS_UNAVAILABLE);
    takeover_source_free(sources.source);
    sources.source = takeover_source_new(&(struct takeover_setup){.path = sources.map_path,
                                                                  .config = sources.config,
                                                                  .kube = fake_kube_as_kube(fake),
                                                                  .name_space = "ceph",
                                                                  .poll_ms = 1});
    assert_taken_over(&sources, "unknown");
    replace_file(sources.config_path, CONFIG("{\"from-config\": [\"x\"]}"));
    assert_taken_over(&sources, "from-config");
    replace_file(sources.config_path, CONFIG("{}"));
    assert_taken_over(&sources, "unknown");
    replace_file(sources.map_path, "{}"); /* it may be an old copy */
    assert_taken_over(&sources, "");
    assert_true(is_doubted(&sources));
    fake_kube_fail_all(fake, STATUS_OK); /* there is no ConfigMap: the file is what counts */
    wait_until(!is_doubted(&sources));
    fake_kube_forbid(fake, "get", MAP_PATH); /* nor is it for us */
    fake_kube_put(fake, MAP_PATH, "{\"data\":{}}");
    assert_false(is_doubted(&sources));
    takeover_source_free(TAKE(sources.source));
}

TEST(changes_take_effect_at_the_next_look, WITH_FOLDER)
{
    _cleanup_sources_ struct sources sources = {0};

    sources_init(&sources, CONFIG("{\"a\": [\"b\"]}"));
    assert_taken_over(&sources, "a");
    replace_file(sources.config_path, CONFIG("{\"a\": [\"b\"], \"c\": [\"b\"]}"));
    assert_taken_over(&sources, "a c");
    replace_file(sources.config_path, CONFIG("{}"));
    assert_taken_over(&sources, "");
    replace_file(sources.config_path, CONFIG("{\"a\": [\"b\"]}"));
    assert_taken_over(&sources, "a");
    replace_file(sources.config_path, "[]"); /* the form of version 1 has no map */
    assert_taken_over(&sources, "");
}

TEST(broken_map_leaves_the_last_good_one_in_force, WITH_FOLDER)
{
    _cleanup_sources_ struct sources sources = {0};

    sources_init(&sources, CONFIG("{\"a\": [\"b\"]}"));
    assert_taken_over(&sources, "a");
    replace_file(sources.config_path, CONFIG("{\"a\": [\"a\"]}"));
    assert_taken_over(&sources, "a");
    assert_unhealthy(&sources, "config.json: topology-takeover: 'a': [0]: 'a' cannot take itself");
    replace_file(sources.config_path, "{");
    assert_taken_over(&sources, "a");
    replace_file(sources.config_path, CONFIG("{\"c\": [\"b\"]}"));
    assert_taken_over(&sources, "c");
    assert_healthy(&sources);
    replace_file(sources.map_path, "{\"d\": [\"b\"]}");
    assert_taken_over(&sources, "d");
    replace_file(sources.map_path, "{\"d\": [\"b\"]");
    assert_taken_over(&sources, "d");
    assert_unhealthy(&sources, "takeover.json: line 1");
    replace_file(sources.map_path, "{\"e\": [\"b\"]}");
    assert_taken_over(&sources, "e");
    assert_healthy(&sources);
}

/* Who wrote a map there meant it to count: another's must not come into force by a slip. */
TEST(file_that_was_never_good_still_wins, WITH_FOLDER)
{
    _cleanup_sources_ struct sources sources = {0};

    sources_init(&sources, CONFIG("{\"from-config\": [\"x\"]}"));
    replace_file(sources.map_path, "{\"a\": []}");
    assert_taken_over(&sources, "unknown");
    assert_unhealthy(&sources, "nobody is named");
    assert_int_equal(unlink(sources.map_path), 0);
    assert_taken_over(&sources, "from-config");
    assert_healthy(&sources);
}

TEST(vanished_file_keeps_its_map, WITH_FOLDER)
{
    _cleanup_sources_ struct sources sources = {0};

    sources_init(&sources, CONFIG("{\"from-config\": [\"x\"]}"));
    replace_file(sources.map_path, "{\"a\": [\"b\"]}");
    assert_taken_over(&sources, "a");
    assert_int_equal(unlink(sources.map_path), 0);
    assert_taken_over(&sources, "a");
    assert_unhealthy(&sources, "takeover.json': No such file");
}

TEST(broken_map_leaves_the_clusters_alone, WITH_FOLDER)
{
    _cleanup_sources_ struct sources sources = {0};
    _cleanup_config_ struct config *config = NULL;
    const struct cluster_config *cluster = NULL;
    _cleanup_error_ struct error err = {0};

    sources_init(&sources, "{\"clusters\": [{\"clusterID\": \"c\", \"monitors\": [\"m\"]}],"
                           " \"topology-takeover\": []}");
    assert_int_equal(config_file_get(sources.config, &config, &err), 0);
    assert_int_equal(config_find_cluster(config, "c", &cluster, &err), 0);
    assert_taken_over(&sources, "unknown");
    assert_unhealthy(&sources, "expected an object");
}

TEST(map_in_use_outlives_its_successor, WITH_FOLDER)
{
    _cleanup_sources_ struct sources sources = {0};
    _cleanup_takeover_snapshot_ struct takeover_snapshot snapshot = {0};

    sources_init(&sources, CONFIG("{\"a\": [\"b\"]}"));
    takeover_source_get(sources.source, &snapshot);
    replace_file(sources.config_path, CONFIG("{}"));
    assert_taken_over(&sources, "");
    assert_string_equal(snapshot.map->entries[0].value, "a");
}

TEST(swapped_configmap_takes_effect, WITH_FOLDER)
{
    _cleanup_sources_ struct sources sources = {0};

    sources_init(&sources, NULL);
    write_configmap("..1", CONFIG("{\"a\": [\"b\"]}"));
    assert_int_equal(symlink("..data/config.json", sources.config_path), 0);
    assert_taken_over(&sources, "a");
    write_configmap("..2", CONFIG("{\"c\": [\"b\"]}"));
    remove_configmap_version("..1");
    assert_taken_over(&sources, "c");
    write_configmap("..3", CONFIG("{\"c\": 7}"));
    assert_taken_over(&sources, "c");
    assert_unhealthy(&sources, "'c': expected a list");
}

TEST(each_fault_is_logged_and_counted_once, WITH_FOLDER)
{
    _cleanup_sources_ struct sources sources = {0};
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    _cleanup_text_ struct text text = TEXT_INIT(4096);
    _cleanup_free_ char *log = path_of("log");
    int saved = divert_stderr(log);

    sources_init(&sources, CONFIG("{\"a\": [\"b\"]}"));
    takeover_source_register(sources.source, metrics);
    assert_taken_over(&sources, "a");
    replace_file(sources.config_path, CONFIG("{\"a\": [\"a\"]}"));
    for (int i = 0; i < 10; i++)
        assert_unhealthy(&sources, "itself");
    metrics_print(metrics, &text);
    assert_non_null(strstr(text_chars(&text), "csi_takeover_map_broken 1\n"));
    replace_file(sources.config_path, CONFIG("{}"));
    for (int i = 0; i < 10; i++)
        assert_healthy(&sources);
    restore_stderr(saved);
    metrics_print(metrics, &text);
    assert_non_null(strstr(text_chars(&text), "csi_takeover_map_broken 0\n"));
    assert_int_equal(count_lines(log, "keeping the last good takeover map: "), 1);
    assert_int_equal(count_lines(log, "is good again"), 1);
    assert_int_equal(count_lines(log, "] "), 2);
}

struct readers {
    struct sources *sources;
    atomic_bool stop;
    atomic_int faults;
    atomic_int reads;
};

static void *read_maps(void *object)
{
    struct readers *readers = object;

    while (!atomic_load(&readers->stop)) {
        _cleanup_takeover_snapshot_ struct takeover_snapshot snapshot = {0};
        _cleanup_free_ char *message = NULL;
        time_t since = 0;

        takeover_source_get(readers->sources->source, &snapshot);
        takeover_source_is_healthy(readers->sources->source, &message, &since);
        if (snapshot.map->count != 1 || snapshot.map->entries[0].targets.count != 1)
            atomic_fetch_add(&readers->faults, 1);
        atomic_fetch_add(&readers->reads, 1);
    }
    return NULL;
}

TEST(readers_see_whole_maps_while_they_change, WITH_FOLDER)
{
    _cleanup_sources_ struct sources sources = {0};
    struct readers readers = {.sources = &sources};
    pthread_t threads[4];

    sources_init(&sources, CONFIG("{\"a\": [\"b\"]}"));
    assert_taken_over(&sources, "a");
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_maps, &readers), 0);
    for (int i = 0; i < 200 || atomic_load(&readers.reads) < 400; i++)
        replace_file(sources.config_path,
                     i % 2 ? CONFIG("{\"a\": [\"b\"]}") : CONFIG("{\"c\": [\"b\"]}"));
    atomic_store(&readers.stop, true);
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&readers.faults), 0);
}
