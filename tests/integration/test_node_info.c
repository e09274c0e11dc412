/* NodeGetInfo of real drivers: homes, takeovers by file and by config.json, labels that are missing
 * or change, and what the health report says of it. */
#include <signal.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "common/base/text.h"
#include "tests/integration/liveness_process.h"
#include "tests/test.h"

#define PREFIX "topology.rbd.csi.ceph.com/"
#define REGION "topology.kubernetes.io/region"
#define ZONE "topology.kubernetes.io/zone"

static const char LEVELS[] = "--domainlabels=" REGION "," ZONE;
static const char LABELS_B[] = "--node-labels=" REGION "=r1," ZONE "=zone-b";

/* A driver with the files that it watches. */
struct place {
    struct driver_process driver;
    char *map_path;
    char *labels_path;
    char *map_flag;
    char *labels_flag;
};

static void place_init(struct place *place)
{
    harness_init(&place->driver);
    place->map_path = xasprintf("%s/takeover.json", place->driver.folder);
    place->labels_path = xasprintf("%s/labels", place->driver.folder);
    place->map_flag = xasprintf("--takeover-file=%s", place->map_path);
    place->labels_flag = xasprintf("--node-labels-file=%s", place->labels_path);
}

static void place_done(struct place *place)
{
    unlink(place->map_path);
    unlink(place->labels_path);
    harness_done(&place->driver);
    free(place->map_path);
    free(place->labels_path);
    free(place->map_flag);
    free(place->labels_flag);
}
#define _cleanup_place_ _cleanup_(place_done)

/* A node of @zone in region r1 that tells its takeovers. */
static void start_in(struct place *place, const char *zone)
{
    _cleanup_free_ char *labels = xasprintf("--node-labels=" REGION "=r1," ZONE "=%s", zone);

    harness_start(&place->driver,
                  (const char *[]){LEVELS, labels, place->map_flag, "--takeover-via=nodeinfo",
                                   "--max-volumes-per-node=110", NULL});
}

/* Appears at once. */
static void write_file(const char *path, const char *content)
{
    _cleanup_free_ char *draft = xasprintf("%s.new", path);
    FILE *file = fopen(draft, "we");

    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(draft, path), 0);
}

static json_t *get_info(struct place *place)
{
    _cleanup_error_ struct error err = {0};
    json_t *reply = NULL;

    if (harness_call(&place->driver,
                     &(struct harness_call){.method = "NodeGetInfo", .request = "{}"}, &reply,
                     &err) < 0)
        fail_msg("%s", err.message);
    return reply;
}

/* Without a retry: the caller is not to take the node for one without a place. */
static void assert_unavailable(struct place *place, const char *part)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *reply = NULL;

    assert_int_equal(
        harness_call(&place->driver,
                     &(struct harness_call){.method = "NodeGetInfo", .request = "{}", .once = true},
                     &reply, &err),
        -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    if (!strstr(err.message, part))
        fail_msg("wanted '%s', got '%s'", part, err.message);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "member.zone.zone-a zone=zone-b": segments in order, without prefix and "=true". Caller frees. */
static char *told_by(json_t *reply)
{
    json_t *segments = json_object_get(json_object_get(reply, "accessible_topology"), "segments");
    _cleanup_text_ struct text told = TEXT_INIT(4096);
    const char *keys[64];
    const char *key = NULL;
    json_t *value = NULL;
    size_t count = 0;

    json_object_foreach(segments, key, value)
    {
        assert_true(count < ARRAY_LENGTH(keys) && text_has_prefix(key, PREFIX));
        keys[count++] = key;
    }
    qsort(keys, count, sizeof(keys[0]), compare_names);
    for (size_t i = 0; i < count; i++) {
        const char *place = json_string_value(json_object_get(segments, keys[i]));
        bool is_member = strcmp(place, "true") == 0;

        text_addf(&told, "%s%s%s%s", i ? " " : "", keys[i] + strlen(PREFIX), is_member ? "" : "=",
                  is_member ? "" : place);
    }
    return xstrdup(text_chars(&told));
}

/* Twice: the answer does not wear out. */
static void assert_tells(struct place *place, const char *segments)
{
    for (int i = 0; i < 2; i++) {
        json_auto_t *reply = get_info(place);
        _cleanup_free_ char *told = told_by(reply);

        assert_string_equal(json_string_value(json_object_get(reply, "node_id")), "node-1");
        assert_true(json_is_object(json_object_get(reply, "accessible_topology")));
        assert_string_equal(told, segments);
    }
}

#define HOME(zone) "member.region.r1 member.zone." zone " region=r1 zone=" zone
#define B_SERVES_A "member.region.r1 member.zone.zone-a member.zone.zone-b region=r1 zone=zone-b"

/* --- takeovers --- */

TEST(zone_b_serves_zone_a_until_the_entry_goes)
{
    _cleanup_place_ struct place b = {0};
    _cleanup_place_ struct place c = {0};

    place_init(&b);
    place_init(&c);
    start_in(&b, "zone-b");
    start_in(&c, "zone-c");
    assert_tells(&b, HOME("zone-b"));
    write_file(b.map_path, "{\"zone-a\": [\"zone-b\"]}");
    write_file(c.map_path, "{\"zone-a\": [\"zone-b\"]}");
    assert_tells(&b, B_SERVES_A);
    assert_tells(&c, HOME("zone-c"));
    write_file(b.map_path, "{}");
    assert_tells(&b, HOME("zone-b"));
    /* every other domain */
    write_file(b.map_path, "{\"zone=zone-a\": [\"all\"]}");
    write_file(c.map_path, "{\"zone=zone-a\": [\"all\"]}");
    assert_tells(&b, B_SERVES_A);
    assert_tells(&c,
                 "member.region.r1 member.zone.zone-a member.zone.zone-c region=r1 zone=zone-c");
}

TEST(map_in_config_json_counts_while_there_is_no_file)
{
    _cleanup_place_ struct place b = {0};

    place_init(&b);
    start_in(&b, "zone-b");
    harness_write_config(&b.driver, "{\"version\": 2, \"clusters\": [],"
                                    " \"topology-takeover\": {\"zone-a\": [\"zone-b\"]}}");
    assert_tells(&b, B_SERVES_A);
    harness_write_config(&b.driver, "{\"version\": 2, \"clusters\": []}");
    assert_tells(&b, HOME("zone-b"));
    harness_write_config(&b.driver, "{\"version\": 2, \"clusters\": [],"
                                    " \"topology-takeover\": {\"zone-a\": [\"zone-b\"]}}");
    write_file(b.map_path, "{\"zone-d\": [\"zone-b\"]}");
    assert_tells(&b,
                 "member.region.r1 member.zone.zone-b member.zone.zone-d region=r1 zone=zone-b");
}

TEST(takeover_by_labels_is_left_to_the_controller)
{
    _cleanup_place_ struct place b = {0};

    place_init(&b);
    write_file(b.map_path, "{\"zone-a\": [\"zone-b\"]}");
    harness_start(&b.driver, (const char *[]){LEVELS, LABELS_B, b.map_flag, NULL});
    assert_tells(&b, HOME("zone-b"));
}

static size_t count_in_log(struct place *place, const char *part)
{
    _cleanup_free_ char *log = harness_log(&place->driver);
    size_t count = 0;

    for (const char *at = log; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

TEST(broken_map_changes_nothing_and_is_reported)
{
    _cleanup_place_ struct place b = {0};
    struct liveness_process liveness = {0};

    place_init(&b);
    write_file(b.map_path, "{\"zone-a\": [\"zone-b\"]}");
    start_in(&b, "zone-b");
    liveness_start(&liveness, &b.driver);
    assert_tells(&b, B_SERVES_A);
    liveness_assert_answers(&liveness, "/readyz", "200", "ok      takeover map");
    liveness_assert_answers(&liveness, "/metrics", "200", "csi_takeover_map_broken 0");
    write_file(b.map_path, "{\"zone-a\": [\"zone-b\"");
    assert_tells(&b, B_SERVES_A);
    liveness_assert_answers(&liveness, "/readyz", "503", "trouble takeover map");
    liveness_assert_answers(&liveness, "/readyz", "503", "takeover.json: line 1");
    liveness_assert_answers(&liveness, "/metrics", "200", "csi_takeover_map_broken 1");
    liveness_assert_answers(&liveness, "/healthz", "200", "ok");
    assert_tells(&b, B_SERVES_A);
    assert_int_equal(count_in_log(&b, "keeping the last good takeover map: "), 1);
    write_file(b.map_path, "{}");
    assert_tells(&b, HOME("zone-b"));
    liveness_assert_answers(&liveness, "/readyz", "200", "ok      takeover map");
    liveness_stop(&liveness);
}

TEST(ambiguous_name_is_skipped_and_reported)
{
    _cleanup_place_ struct place b = {0};
    struct liveness_process liveness = {0};

    place_init(&b);
    harness_start(&b.driver, (const char *[]){LEVELS, "--node-labels=" REGION "=b," ZONE "=b",
                                              b.map_flag, "--takeover-via=nodeinfo", NULL});
    liveness_start(&liveness, &b.driver);
    write_file(b.map_path, "{\"a\": [\"b\"], \"zone=c\": [\"b\"]}");
    assert_tells(&b, "member.region.b member.zone.b member.zone.c region=b zone=b");
    liveness_assert_answers(&liveness, "/readyz", "503",
                            "'a' may be a region or a zone: write 'region=a' or 'zone=a'");
    liveness_assert_answers(&liveness, "/metrics", "200", "csi_takeover_entries_skipped 1");
    write_file(b.map_path, "{\"region=a\": [\"b\"]}");
    assert_tells(&b, "member.region.a member.region.b member.zone.b region=b zone=b");
    liveness_assert_answers(&liveness, "/readyz", "200", "ok      takeovers of this node");
    liveness_stop(&liveness);
}

/* --- labels --- */

TEST(labels_may_come_late_and_then_stay)
{
    _cleanup_place_ struct place b = {0};
    struct liveness_process liveness = {0};

    place_init(&b);
    harness_start(&b.driver, (const char *[]){LEVELS, b.labels_flag, NULL});
    liveness_start(&liveness, &b.driver);
    assert_unavailable(&b, "/labels': No such file");
    liveness_assert_answers(&liveness, "/readyz", "503", "/labels': No such file");
    liveness_assert_answers(&liveness, "/metrics", "200", "csi_node_labels_missing 2");
    write_file(b.labels_path, ZONE "=zone-b\n");
    assert_tells(&b, "member.zone.zone-b zone=zone-b");
    liveness_assert_answers(&liveness, "/readyz", "503", "no usable label '" REGION "'");
    liveness_assert_answers(&liveness, "/metrics", "200", "csi_node_labels_missing 1");
    write_file(b.labels_path, "{\"" ZONE "\": \"zone-b\", \"" REGION "\": \"r1\"}");
    assert_tells(&b, HOME("zone-b"));
    liveness_assert_answers(&liveness, "/readyz", "200", "/labels");
    write_file(b.labels_path, ZONE "=zone-c\n" REGION "=r1\n");
    assert_tells(&b, HOME("zone-b"));
    liveness_assert_answers(&liveness, "/readyz", "503", "was 'zone-b' and is 'zone-c' now");
    liveness_assert_answers(&liveness, "/healthz", "200", "ok");
    liveness_stop(&liveness);
    /* a restart makes the new one count */
    assert_int_equal(harness_stop(&b.driver, SIGTERM, 120000), 0);
    harness_start(&b.driver, (const char *[]){LEVELS, b.labels_flag, NULL});
    assert_tells(&b, HOME("zone-c"));
}

TEST(levels_without_any_labels_are_served_without_topology)
{
    _cleanup_place_ struct place b = {0};
    struct liveness_process liveness = {0};

    place_init(&b);
    harness_start(&b.driver, (const char *[]){LEVELS, NULL});
    liveness_start(&liveness, &b.driver);
    assert_tells(&b, "");
    liveness_assert_answers(&liveness, "/readyz", "503", "--node-labels-file");
    liveness_stop(&liveness);
}

TEST(without_domainlabels_the_topology_is_empty)
{
    _cleanup_place_ struct place b = {0};

    place_init(&b);
    harness_start(&b.driver, (const char *[]){"--node-labels=" ZONE "=zone-b", NULL});
    assert_tells(&b, "");
    json_auto_t *reply = get_info(&b);
    assert_null(json_object_get(reply, "max_volumes_per_node"));
}

TEST(limit_of_volumes_is_told)
{
    _cleanup_place_ struct place b = {0};

    place_init(&b);
    start_in(&b, "zone-b");
    json_auto_t *reply = get_info(&b);
    assert_int_equal(json_integer_value(json_object_get(reply, "max_volumes_per_node")), 110);
}

static void refuse_flags(const char *first, const char *second, const char *reason)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const char *const argv[] = {getenv("CEPHCSI"), "--type=rbd", "--nodeid=n", first, second, NULL};
    const struct subprocess spec = {.argv = argv, .deadline = deadline_in_ms(30000)};

    assert_int_equal(subprocess_run(&spec, &result, &err), 0);
    assert_int_equal(result.exit_code, 1);
    if (!strstr(text_chars(&result.errors), reason))
        fail_msg("wanted '%s', got %s", reason, text_chars(&result.errors));
}

TEST(flags_that_make_no_sense_are_refused_at_start)
{
    refuse_flags("--domainlabels=a,a", "--v=1", "--domainlabels: labels 'a' and 'a'");
    refuse_flags("--node-labels=a", "--v=1", "--node-labels: expected label=value, found 'a'");
    refuse_flags("--node-labels=a=1", "--node-labels-file=/x", "exclude each other");
    refuse_flags("--takeover-via=magic", "--v=1", "--takeover-via must be labels or nodeinfo");
    refuse_flags("--max-volumes-per-node=-1", "--v=1", "--max-volumes-per-node");
}

TEST_GROUP(harness_begin, harness_end)
