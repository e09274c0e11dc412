/*
 * Runs the cases in tests/data/node (see tests/fakes/case_file.h): what kubelet makes of a driver
 * that registers, and which node affinity the API server lets a volume have.
 *
 *   node n1 ... | csinode n1 ...               as in tests/fakes/cluster_script.h
 *   register n1 d id=ID limit=5 zone=a ok | fails: TEXT          NodeGetInfo told this
 *   refresh n1 d id=ID limit=5 zone=a ok | fails: TEXT           and when asked again
 *   deregister n1 d
 *   put OBJECT                                 somebody else changes it
 *   > n1 labels zone=a rack=r                  all that the Node has; "none"
 *   > n1 ids d=ID e=ID                         the annotation; "none"
 *   > n1 drivers d:ID:LIMIT:key,key ...        of the CSINode; "-" for no limit; "none"; "no
 * CSINode" change WORDS => WORDS ok | fails: TEXT     affinity of a volume before and after
 *   change-mutable WORDS => WORDS ok | ...     with the feature gate on
 */

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/scheduling/affinity_update.h"
#include "common/scheduling/simulation/actors.h"
#include "tests/fakes/case_file.h"
#include "tests/fakes/cluster_script.h"
#include "tests/test.h"

struct run {
    struct cluster_objects cluster;
    struct binding_options options;
    struct actors actors;
    bool is_settled;
};

static void settle(struct run *run)
{
    if (run->is_settled)
        return;
    cluster_settle(&run->cluster);
    actors_init(&run->actors, &run->cluster, &run->options);
    run->is_settled = true;
}

static struct kube_node *node_named(const struct run *run, const char *name)
{
    struct kube_node *node = cluster_find(&run->cluster, KUBE_NODE, NULL, name);

    if (!node)
        fail_msg("no node '%s'", name);
    return node;
}

static void expect_result(int result, const char *expected, const struct error *err)
{
    if (strcmp(expected, "ok") == 0) {
        if (result < 0)
            fail_msg("failed: %s", err->message);
        return;
    }
    assert_true(text_has_prefix(expected, "fails: "));
    assert_int_equal(result, -1);
    if (!strstr(err->message, expected + strlen("fails: ")))
        fail_msg("expected '%s', found '%s'", expected, err->message);
}

/* --- registration --- */

/* Reads "id=ID limit=5 zone=a" up to the word that says what becomes of it. */
static void read_report(const char **line, char **node_id, int64_t *limit, struct strmap *segments)
{
    while (strchr(*line, '=') && !text_has_prefix(*line, "fails: ") && strcmp(*line, "ok") != 0) {
        _cleanup_free_ char *word = case_next_word(line);
        char *value = strchr(word, '=');

        *value++ = '\0';
        if (strcmp(word, "id") == 0) {
            free(*node_id);
            *node_id = xstrdup(value);
        } else if (strcmp(word, "limit") == 0) {
            *limit = strtoll(value, NULL, 10);
        } else {
            strmap_set(segments, word, value);
        }
    }
}

static void act_register(struct run *run, const char *line, bool is_refresh)
{
    _cleanup_free_ char *name = case_next_word(&line);
    _cleanup_free_ char *driver = case_next_word(&line);
    _cleanup_free_ char *node_id = xstrdup("id");
    _cleanup_strmap_ struct strmap segments = {0};
    _cleanup_error_ struct error err = {0};
    int64_t limit = 0;

    read_report(&line, &node_id, &limit, &segments);
    const struct node_report report = {driver, node_id, limit, &segments};
    struct kube_node *node = node_named(run, name);
    int result = is_refresh ? kubelet_refresh(&run->actors, node, &report, &err)
                            : kubelet_register(&run->actors, node, &report, &err);
    expect_result(result, line, &err);
}

static void act_deregister(struct run *run, const char *line)
{
    _cleanup_free_ char *name = case_next_word(&line);

    kubelet_deregister(&run->actors, node_named(run, name), line);
}

static void describe_map(const struct strmap *map, struct text *text)
{
    for (size_t i = 0; i < map->count; i++)
        text_addf(text, "%s%s=%s", i ? " " : "", map->entries[i].key, map->entries[i].value);
    if (map->count == 0)
        text_add(text, "none");
}

static void describe_ids(const struct kube_node *node, struct text *text)
{
    const char *annotation = strmap_get(&node->meta.annotations, "csi.volume.kubernetes.io/nodeid");
    json_auto_t *ids = annotation ? json_loads(annotation, 0, NULL) : json_object();
    _cleanup_strmap_ struct strmap map = {0};
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(ids, key, value)
    {
        strmap_set(&map, key, json_string_value(value));
    }
    describe_map(&map, text);
}

static void describe_driver(const struct kube_node_driver *entry, struct text *text)
{
    text_addf(text, "%s%s:%s:", text->length ? " " : "", entry->name, entry->node_id);
    if (entry->has_limit)
        text_addf(text, "%lld", (long long)entry->limit);
    else
        text_add(text, "-");
    for (size_t i = 0; i < entry->topology_keys.count; i++)
        text_addf(text, "%s%s", i ? "," : ":", entry->topology_keys.items[i]);
}

static void describe_drivers(const struct run *run, const char *name, struct text *text)
{
    const struct kube_csi_node *csi_node = cluster_find(&run->cluster, KUBE_CSI_NODE, NULL, name);

    for (size_t i = 0; csi_node && i < csi_node->driver_count; i++)
        describe_driver(&csi_node->drivers[i], text);
    if (text->length == 0)
        text_add(text, csi_node ? "none" : "no CSINode");
}

static void expect(const struct run *run, const char *line)
{
    _cleanup_free_ char *name = case_next_word(&line);
    _cleanup_free_ char *what = case_next_word(&line);
    _cleanup_text_ struct text found = TEXT_INIT(4096);

    if (strcmp(what, "labels") == 0)
        describe_map(&node_named(run, name)->meta.labels, &found);
    else if (strcmp(what, "ids") == 0)
        describe_ids(node_named(run, name), &found);
    else if (strcmp(what, "drivers") == 0)
        describe_drivers(run, name, &found);
    assert_string_equal(text_chars(&found), line);
}

/* --- affinity of volumes --- */

static struct kube_pv *volume_of(const char *words, size_t length)
{
    enum kube_kind kind = KUBE_KINDS;
    _cleanup_free_ char *line = xasprintf("pv v %.*s", (int)length, words);

    return cluster_script_object(line, &kind);
}

static void act_change(const char *line, bool is_mutable)
{
    const char *arrow = strstr(line, "=> ");
    _cleanup_error_ struct error err = {0};

    assert_non_null(arrow);
    const char *after = arrow + strlen("=> ");
    const char *expected = strstr(after, "fails: ");
    if (!expected)
        expected = after + strlen(after) - strlen("ok");
    struct kube_pv *old = volume_of(line, (size_t)(arrow - line));
    struct kube_pv *new = volume_of(after, (size_t)(expected - after));
    int result = affinity_update_check(old, new, is_mutable, &err);
    kube_object_free(KUBE_PV, old);
    kube_object_free(KUBE_PV, new);
    expect_result(result, expected, &err);
}

/* --- lines --- */

static void act(struct run *run, const char *line)
{
    const char *whole = line;
    _cleanup_free_ char *word = case_next_word(&line);

    if (cluster_script_is_object(whole)) {
        cluster_script(&run->cluster, whole);
        return;
    }
    settle(run);
    if (strcmp(word, "register") == 0)
        act_register(run, line, false);
    else if (strcmp(word, "refresh") == 0)
        act_register(run, line, true);
    else if (strcmp(word, "deregister") == 0)
        act_deregister(run, line);
    else if (strcmp(word, "put") == 0)
        cluster_script(&run->cluster, line);
    else if (strcmp(word, "change") == 0 || strcmp(word, "change-mutable") == 0)
        act_change(line, strcmp(word, "change-mutable") == 0);
    else if (strcmp(word, ">") == 0)
        expect(run, line);
    else
        fail_msg("no such line: '%s'", whole);
}

static void run_case(void **state)
{
    const struct case_lines *one = *state;
    struct run run = {.options = newest_binding_options()};

    for (size_t i = 0; i < one->lines.count; i++) {
        print_message("  %s\n", one->lines.items[i]); /* the last one is the one that failed */
        act(&run, one->lines.items[i]);
    }
    assert_true(run.is_settled); /* something was done */
    cluster_done(&run.cluster);
}

static void add_cases(void)
{
    case_files_add("tests/data/node/*.cases", run_case);
}

TEST_CASES(add_cases)
