#include "tests/unit/fixtures/files.h"

#include <pthread.h>

#include "node/node_info.h"
#include "tests/fakes/fake_kube.h"

/* What NodeGetInfo answers while labels and takeovers come, go and break. */

#define PREFIX "topology.rbd.csi.ceph.com/"
#define REGION "topology.kubernetes.io/region"
#define ZONE "topology.kubernetes.io/zone"

struct fixture {
    char *labels_path;
    char *map_path;
    char *config_path;
    struct topology_levels levels;
    struct node_labels_source labels;
    struct config_file *config;
    struct takeover_source *takeover;
    struct node_info *info;
    struct events *events; /* NULL: nobody listens */
};

static void fixture_init(struct fixture *fixture, const char *domain_labels, bool via_nodeinfo)
{
    _cleanup_error_ struct error err = {0};

    fixture->labels_path = path_of("labels");
    fixture->map_path = path_of("takeover.json");
    fixture->config_path = path_of("config.json");
    assert_int_equal(
        topology_levels_parse("rbd.csi.ceph.com", domain_labels, &fixture->levels, &err), 0);
    node_labels_from_file(fixture->labels_path, &fixture->labels);
    fixture->config = config_file_new(fixture->config_path);
    fixture->takeover = takeover_source_new(
        &(struct takeover_setup){.path = fixture->map_path, .config = fixture->config});
    fixture->info = node_info_new(&(struct node_info_options){
        .node_id = "node-1",
        .max_volumes = 110,
        .levels = &fixture->levels,
        .labels = &fixture->labels,
        .takeover = fixture->takeover,
        .takeover_via_nodeinfo = via_nodeinfo,
        .events = fixture->events,
    });
}

static void fixture_done(struct fixture *fixture)
{
    node_info_free(fixture->info);
    takeover_source_free(fixture->takeover);
    config_file_free(fixture->config);
    node_labels_done(&fixture->labels);
    topology_levels_done(&fixture->levels);
    free(fixture->labels_path);
    free(fixture->map_path);
    free(fixture->config_path);
}
#define _cleanup_fixture_ _cleanup_(fixture_done)

/* "zone=zone-b member.zone.zone-b": the segments in their order, without prefix and "=true". */
static void assert_tells(struct fixture *fixture, const char *segments)
{
    _cleanup_node_answer_ struct node_answer answer = {0};
    _cleanup_text_ struct text told = TEXT_INIT(4096);
    _cleanup_error_ struct error err = {0};

    if (node_info_get(fixture->info, NULL, &answer, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(answer.node_id, "node-1");
    assert_int_equal(answer.max_volumes, 110);
    for (size_t i = 0; i < answer.segments.count; i++) {
        const struct strmap_entry *segment = &answer.segments.entries[i];
        bool is_membership = strcmp(segment->value, "true") == 0;

        assert_true(text_has_prefix(segment->key, PREFIX));
        text_addf(&told, "%s%s%s%s", i ? " " : "", segment->key + strlen(PREFIX),
                  is_membership ? "" : "=", is_membership ? "" : segment->value);
    }
    assert_string_equal(text_chars(&told), segments);
}

static void assert_unavailable(struct fixture *fixture, const char *part)
{
    _cleanup_node_answer_ struct node_answer answer = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(node_info_get(fixture->info, NULL, &answer, &err), -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    assert_null(answer.node_id);
    if (!strstr(err.message, part))
        fail_msg("wanted '%s', got '%s'", part, err.message);
}

struct wanted {
    const char *subject; /* its end */
    bool healthy;
    const char *part;
    int found;
};

static void compare(void *object, const char *subject, bool healthy, const char *message,
                    time_t since)
{
    struct wanted *wanted = object;

    (void)since;
    if (!text_has_suffix(subject, wanted->subject))
        return;
    wanted->found++;
    if (healthy != wanted->healthy || !strstr(message, wanted->part))
        fail_msg("%s: wanted '%s', got '%s'", subject, wanted->part, message);
}

static void assert_report(struct fixture *fixture, const char *subject, bool healthy,
                          const char *part)
{
    struct wanted wanted = {subject, healthy, part, 0};

    node_info_report(fixture->info, compare, &wanted);
    assert_int_equal(wanted.found, 1);
}

#define HOME_B "member.region.r1 member.zone.zone-b region=r1 zone=zone-b"

TEST(node_tells_its_home, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};

    fixture_init(&fixture, REGION "," ZONE, false);
    replace_file(fixture.labels_path, REGION "=r1\n" ZONE "=zone-b\nother=x\n");
    assert_tells(&fixture, HOME_B);
    assert_tells(&fixture, HOME_B);
    assert_report(&fixture, "/labels", true, "");
}

TEST(without_levels_the_topology_is_empty, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};
    struct wanted nothing = {"", true, "", 0};

    fixture_init(&fixture, "", true);
    replace_file(fixture.map_path, "{\"zone=zone-a\": [\"all\"]}");
    assert_tells(&fixture, "");
    node_info_report(fixture.info, compare, &nothing);
    assert_int_equal(nothing.found, 0);
}

TEST(missing_labels_are_told_as_they_come, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    _cleanup_text_ struct text text = TEXT_INIT(4096);

    fixture_init(&fixture, REGION "," ZONE, false);
    node_info_register(fixture.info, metrics);
    assert_unavailable(&fixture, "No such file");
    assert_report(&fixture, "/labels", false, "No such file");
    replace_file(fixture.labels_path, "no labels");
    assert_unavailable(&fixture, "expected label=value");
    replace_file(fixture.labels_path, "other=x\n");
    assert_tells(&fixture, "");
    assert_report(&fixture, "/labels", false, "it is served without topology");
    metrics_print(metrics, &text);
    assert_non_null(strstr(text_chars(&text), "csi_node_labels_missing 2\n"));
    replace_file(fixture.labels_path, ZONE "=zone-b\n");
    assert_tells(&fixture, "member.zone.zone-b zone=zone-b");
    assert_report(&fixture, "/labels", false,
                  "no usable label '" REGION "': it is served without that");
    metrics_print(metrics, &text);
    assert_non_null(strstr(text_chars(&text), "csi_node_labels_missing 1\n"));
    /* not complete yet, so still open to change */
    replace_file(fixture.labels_path, ZONE "=zone-c\n");
    assert_tells(&fixture, "member.zone.zone-c zone=zone-c");
    replace_file(fixture.labels_path, ZONE "=zone-b\n" REGION "=r1\n");
    assert_tells(&fixture, HOME_B);
    assert_report(&fixture, "/labels", true, "");
    metrics_print(metrics, &text);
    assert_non_null(strstr(text_chars(&text), "csi_node_labels_missing 0\n"));
}

/* Nobody would ever tell them: not to wait for. */
TEST(levels_without_a_source_of_labels_leave_the_topology_empty, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};

    fixture_init(&fixture, REGION "," ZONE, false);
    node_labels_done(&fixture.labels);
    node_labels_from_nowhere(&fixture.labels);
    assert_tells(&fixture, "");
    assert_report(&fixture, "node labels", false, "nothing tells the labels of this node");
}

TEST(missing_labels_are_told_on_the_node, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};
    _cleanup_text_ struct text dump = TEXT_INIT(65536);
    struct fake_kube *fake = fake_kube_new();

    fixture.events = events_new(fake_kube_as_kube(fake), "rbd.csi.ceph.com", "node-1");
    fixture_init(&fixture, REGION "," ZONE, false);
    replace_file(fixture.labels_path, REGION "=r1\n");
    assert_tells(&fixture, "member.region.r1 region=r1");
    assert_tells(&fixture, "member.region.r1 region=r1"); /* said once */
    replace_file(fixture.labels_path, REGION "=r1\n" ZONE "=zone-b\n");
    assert_tells(&fixture, HOME_B);
    assert_true(events_flush(fixture.events, 30000));
    fake_kube_dump(fake, &dump);
    const char *first = strstr(text_chars(&dump), "\"reason\":\"TopologyLabelsMissing\"");
    assert_non_null(first);
    assert_non_null(strstr(text_chars(&dump), "no usable label '" ZONE "'"));
    assert_null(strstr(first + 1, "\"reason\":\"TopologyLabelsMissing\""));
    assert_non_null(strstr(text_chars(&dump), "\"reason\":\"TopologyLabelsKnown\""));
    events_free(TAKE(fixture.events));
    fake_kube_free(fake);
}

TEST(home_stays_once_it_is_complete, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};

    fixture_init(&fixture, REGION "," ZONE, false);
    replace_file(fixture.labels_path, REGION "=r1\n" ZONE "=zone-b\n");
    assert_tells(&fixture, HOME_B);
    replace_file(fixture.labels_path, REGION "=r1\n" ZONE "=zone-c\n");
    assert_tells(&fixture, HOME_B);
    assert_report(&fixture, "/labels", false, "label '" ZONE "' was 'zone-b' and is 'zone-c' now");
    replace_file(fixture.labels_path, REGION "=r1\n");
    assert_tells(&fixture, HOME_B);
    assert_report(&fixture, "/labels", false, "label '" ZONE "' was 'zone-b' and is gone now");
    replace_file(fixture.labels_path, "no labels");
    assert_tells(&fixture, HOME_B);
    assert_report(&fixture, "/labels", false, "expected label=value");
    assert_int_equal(unlink(fixture.labels_path), 0);
    assert_tells(&fixture, HOME_B);
    assert_report(&fixture, "/labels", false, "No such file");
    replace_file(fixture.labels_path, REGION "=r1\n" ZONE "=zone-b\nother=y\n");
    assert_tells(&fixture, HOME_B);
    assert_report(&fixture, "/labels", true, "");
}

TEST(label_that_kubelet_would_refuse_is_reported, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};

    fixture_init(&fixture, REGION "," ZONE, false);
    replace_file(fixture.labels_path, REGION "=r1\n" ZONE "=zone-b\n" PREFIX "zone=zone-a\n");
    assert_tells(&fixture, HOME_B);
    assert_report(&fixture, "/labels", false,
                  "kubelet refuses to register the driver until that label is removed from the "
                  "node: detected topology value collision: driver reported \"" PREFIX
                  "zone\":\"zone-b\" but existing label is \"" PREFIX "zone\":\"zone-a\"");
    replace_file(fixture.labels_path, REGION "=r1\n" ZONE "=zone-b\n" PREFIX "zone=zone-b\n");
    assert_tells(&fixture, HOME_B);
    assert_report(&fixture, "/labels", true, "");
}

TEST(takeover_is_told_and_given_back, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};

    fixture_init(&fixture, REGION "," ZONE, true);
    replace_file(fixture.labels_path, REGION "=r1\n" ZONE "=zone-b\n");
    assert_tells(&fixture, HOME_B);
    replace_file(fixture.map_path, "{\"zone-a\": [\"zone-b\"]}");
    assert_tells(&fixture, "member.region.r1 member.zone.zone-a member.zone.zone-b region=r1 "
                           "zone=zone-b");
    assert_report(&fixture, "takeovers of this node", true, "");
    replace_file(fixture.map_path, "{\"zone-a\": [\"zone-b\"]");
    assert_tells(&fixture, "member.region.r1 member.zone.zone-a member.zone.zone-b region=r1 "
                           "zone=zone-b");
    replace_file(fixture.map_path, "{\"zone-a\": [\"zone-c\"]}");
    assert_tells(&fixture, HOME_B);
    replace_file(fixture.map_path, "{\"a\": [\"all\"]}");
    assert_tells(&fixture, HOME_B);
    assert_report(&fixture, "takeovers of this node", false, "'a' may be a region or a zone");
    replace_file(fixture.map_path, "{}");
    assert_tells(&fixture, HOME_B);
    assert_report(&fixture, "takeovers of this node", true, "");
}

TEST(takeover_by_labels_is_not_told, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};

    fixture_init(&fixture, REGION "," ZONE, false);
    replace_file(fixture.labels_path, REGION "=r1\n" ZONE "=zone-b\n");
    replace_file(fixture.map_path, "{\"zone=zone-a\": [\"all\"]}");
    assert_tells(&fixture, HOME_B);
}

/* By the home that was told, not by labels that changed since. */
TEST(takeover_goes_by_the_home_that_is_told, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};

    fixture_init(&fixture, ZONE, true);
    replace_file(fixture.labels_path, ZONE "=zone-b\n");
    replace_file(fixture.map_path, "{\"zone-a\": [\"zone-b\"], \"zone-d\": [\"zone-c\"]}");
    assert_tells(&fixture, "member.zone.zone-a member.zone.zone-b zone=zone-b");
    replace_file(fixture.labels_path, ZONE "=zone-c\n");
    assert_tells(&fixture, "member.zone.zone-a member.zone.zone-b zone=zone-b");
}

TEST(each_state_is_logged_once, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};
    _cleanup_free_ char *log = path_of("log");
    int saved = divert_stderr(log);

    fixture_init(&fixture, REGION "," ZONE, true);
    replace_file(fixture.labels_path, ZONE "=zone-b\n");
    replace_file(fixture.config_path, "{\"clusters\": [], \"topology-takeover\":"
                                      " {\"rak=r1\": [\"r2\"]}}");
    for (int i = 0; i < 10; i++)
        assert_tells(&fixture, "member.zone.zone-b zone=zone-b");
    replace_file(fixture.labels_path, ZONE "=zone-b\n" REGION "=r1");
    for (int i = 0; i < 10; i++)
        assert_tells(&fixture, HOME_B);
    restore_stderr(saved);
    assert_int_equal(count_lines(log, "has no usable label"), 1);
    assert_int_equal(count_lines(log, "no level is called 'rak'"), 1);
    assert_int_equal(count_lines(log, "all labels of the node are known"), 1);
    assert_int_equal(count_lines(log, "] "), 3);
}

/* As a source that gets its labels while somebody waits for them. */
static int come_when_waited_for(void *object, struct call *call, struct strmap *labels,
                                struct error *err)
{
    (void)object;
    if (call_is_cancelled(call))
        return error_set(err, STATUS_UNAVAILABLE, "no answer yet");
    strmap_set(labels, ZONE, "zone-b");
    return 0;
}

static bool is_never_stale(void *object, char **message, time_t *since)
{
    (void)object;
    *message = xstrdup("");
    *since = 0;
    return true;
}

TEST(calls_wait_for_the_first_labels_and_reports_do_not, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};
    _cleanup_node_answer_ struct node_answer answer = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    fixture_init(&fixture, ZONE, false);
    node_labels_done(&fixture.labels);
    fixture.labels = (struct node_labels_source){
        .subject = xstrdup("api"), .get = come_when_waited_for, .is_healthy = is_never_stale};
    assert_report(&fixture, "api", false, "no answer yet");
    assert_unavailable(&fixture, "where the node is, is not known yet: no answer yet");
    call_init(&call, 1, "NodeGetInfo", deadline_never());
    assert_int_equal(node_info_get(fixture.info, &call, &answer, &err), 0);
    call_done(&call);
    assert_string_equal(strmap_get(&answer.segments, PREFIX "zone"), "zone-b");
    /* lost again: what was told stays */
    assert_tells(&fixture, "member.zone.zone-b zone=zone-b");
    assert_report(&fixture, "api", false, "no answer yet");
}

/* --- volumes --- */

#define IN_A PREFIX "member.zone.zone-a"
#define IN_B PREFIX "member.zone.zone-b"

static int check_place(struct fixture *fixture, const char *key, const char *value,
                       struct error *err)
{
    _cleanup_strmap_ struct strmap segments = {0};
    struct call call;

    strmap_set(&segments, key, value);
    call_init(&call, 1, "NodeStageVolume", deadline_never());
    int result = node_info_check_place(fixture->info, &call, &segments, err);
    call_done(&call);
    return result;
}

static void assert_served(struct fixture *fixture, const char *key, const char *value)
{
    _cleanup_error_ struct error err = {0};

    if (check_place(fixture, key, value, &err) < 0)
        fail_msg("%s", err.message);
}

static void assert_unserved(struct fixture *fixture, const char *key, const char *value,
                            enum status status, const char *part)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(check_place(fixture, key, value, &err), -1);
    if (err.status != status || !strstr(err.message, part))
        fail_msg("wanted '%s', got %s: %s", part, status_name(err.status), err.message);
}

TEST(volumes_of_home_and_of_takeovers_are_served, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};

    fixture_init(&fixture, ZONE, true);
    assert_served(&fixture, IN_A, "true"); /* nothing is known of the node yet */
    replace_file(fixture.labels_path, ZONE "=zone-b\n");
    assert_served(&fixture, IN_B, "true");
    assert_unserved(&fixture, IN_A, "true", STATUS_FAILED_PRECONDITION,
                    "pinned to " IN_A "=true, which this node does not serve: it serves " IN_B
                    "=true," PREFIX "zone=zone-b");
    replace_file(fixture.map_path, "{\"zone-a\": [\"zone-b\"]}");
    assert_served(&fixture, IN_A, "true");
    replace_file(fixture.map_path, "{}"); /* given back */
    assert_unserved(&fixture, IN_A, "true", STATUS_FAILED_PRECONDITION, "does not serve");
    assert_unserved(&fixture, PREFIX "zone", "zone-a", STATUS_FAILED_PRECONDITION, "zone=zone-a");
}

/* Takeovers are labels of the Node then, which somebody who was given labels does not see. */
TEST(given_labels_do_not_tell_takeovers, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};

    fixture_init(&fixture, ZONE, false);
    replace_file(fixture.labels_path, ZONE "=zone-b\n");
    assert_served(&fixture, IN_A, "true");
    assert_unserved(&fixture, PREFIX "zone", "zone-a", STATUS_FAILED_PRECONDITION, "zone=zone-a");
}

TEST(node_without_levels_serves_all, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};

    fixture_init(&fixture, "", false);
    replace_file(fixture.labels_path, ZONE "=zone-b\n");
    assert_served(&fixture, PREFIX "zone", "zone-a");
}

/* The labels of a Node: what is known of them, and what they are. */
struct labels_of_node {
    const char *known;  /* value of IN_A */
    const char *actual; /* the same; NULL: cannot be asked for */
    unsigned reads;
};

static int get_known(void *object, struct call *call, struct strmap *labels, struct error *err)
{
    const struct labels_of_node *node = object;

    (void)call, (void)err;
    strmap_set(labels, ZONE, "zone-b");
    if (node->known[0])
        strmap_set(labels, IN_A, node->known);
    return 0;
}

static int read_actual(void *object, struct call *call, struct strmap *labels, struct error *err)
{
    struct labels_of_node *node = object;

    (void)call;
    node->reads++;
    if (!node->actual)
        return error_set(err, STATUS_DEADLINE_EXCEEDED, "no answer");
    strmap_set(labels, ZONE, "zone-b");
    if (node->actual[0])
        strmap_set(labels, IN_A, node->actual);
    return 0;
}

TEST(labels_are_asked_for_anew_before_a_volume_is_refused, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};
    struct labels_of_node node = {"true", "true", 0};

    fixture_init(&fixture, ZONE, false);
    node_labels_done(&fixture.labels);
    fixture.labels = (struct node_labels_source){.object = &node,
                                                 .subject = xstrdup("api"),
                                                 .get = get_known,
                                                 .is_healthy = is_never_stale,
                                                 .read_now = read_actual};
    assert_served(&fixture, IN_A, "true");
    assert_served(&fixture, IN_B, "true");
    assert_int_equal(node.reads, 0);
    node.known = ""; /* a takeover that has not come here yet */
    assert_served(&fixture, IN_A, "true");
    assert_int_equal(node.reads, 1);
    node.actual = "";
    assert_unserved(&fixture, IN_A, "true", STATUS_FAILED_PRECONDITION, "does not serve");
    node.known = "false";
    node.actual = "false";
    assert_unserved(&fixture, IN_A, "true", STATUS_FAILED_PRECONDITION, "does not serve");
    node.actual = NULL;
    assert_unserved(&fixture, IN_A, "true", STATUS_UNAVAILABLE,
                    "whether this node serves the volume's place: no answer");
}

static void *ask(void *object)
{
    for (int i = 0; i < 200; i++) {
        _cleanup_node_answer_ struct node_answer answer = {0};
        _cleanup_error_ struct error err = {0};

        if (node_info_get(object, NULL, &answer, &err) < 0 || answer.segments.count != 4)
            return object;
    }
    return NULL;
}

TEST(several_ask_at_once, WITH_FOLDER)
{
    _cleanup_fixture_ struct fixture fixture = {0};
    pthread_t threads[4];

    fixture_init(&fixture, REGION "," ZONE, true);
    replace_file(fixture.labels_path, REGION "=r1\n" ZONE "=zone-b\n");
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, fixture.info), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        void *fault = NULL;

        assert_int_equal(pthread_join(threads[i], &fault), 0);
        assert_null(fault);
    }
}
