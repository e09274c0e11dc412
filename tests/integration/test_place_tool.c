/* The built cephzone place and cephzone topology on a real Ceph with three zones. */
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "tests/integration/harness.h"
#include "tests/test.h"

#define ARGUMENTS_MAX 24
#define OUTPUT_LIMIT ((size_t)1 << 20)
#define ENTRY(zone)                                                                                \
    "{\"poolName\": \"" zone "\", \"domainSegments\": [{\"domainLabel\": \"zone\", \"value\": "    \
    "\"" zone "\"}]}"

extern char **environ;

static struct driver_process driver;
static char *config_flag;
static char *secrets_flag;
static char *classes_flag; /* YAML */
static char *other_flag;   /* a file that a test needs: --name=PATH */

static void write_file(const char *flag, const char *content)
{
    _cleanup_fclose_ FILE *file = fopen(strchr(flag, '=') + 1, "we");

    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
}

static void write_classes(const char *parameters)
{
    _cleanup_free_ char *text = xasprintf("apiVersion: storage.k8s.io/v1\n"
                                          "kind: StorageClass\n"
                                          "metadata: {name: zones}\n"
                                          "provisioner: rbd.csi.ceph.com\n"
                                          "parameters:\n"
                                          "  clusterID: %s\n"
                                          "  pool: common\n"
                                          "%s",
                                          harness_cluster()->fsid, parameters);

    write_file(classes_flag, text);
}

#define ZONES                                                                                      \
    "  topologyConstrainedPools: |\n"                                                              \
    "    [" ENTRY("zone-a") ",\n"                                                                  \
                            "     " ENTRY(                                                         \
                                "zone-b") ",\n"                                                    \
                                          "     " ENTRY(                                           \
                                              "zone-c") ",\n"                                      \
                                                        "     {\"poolName\": \"common\", "         \
                                                        "\"domainSegments\": []}]\n"

static int start_driver(void **state)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_free_ char *secrets =
        xasprintf("{\"userID\":\"%s\",\"userKey\":\"%s\"}", cluster->user, cluster->key);

    (void)state;
    harness_init(&driver);
    config_flag = xasprintf("--config=%s", driver.config_path);
    secrets_flag = xasprintf("--secrets=%s/secrets.json", driver.folder);
    classes_flag = xasprintf("--classes=%s/classes.yaml", driver.folder);
    other_flag = xasprintf("--takeover-file=%s/other", driver.folder);
    write_file(secrets_flag, secrets);
    return 0;
}

static int stop_driver(void **state)
{
    char **const flags[] = {&config_flag, &secrets_flag, &classes_flag, &other_flag};

    (void)state;
    unlink(strchr(secrets_flag, '=') + 1);
    unlink(strchr(classes_flag, '=') + 1);
    unlink(strchr(other_flag, '=') + 1);
    for (size_t i = 0; i < ARRAY_LENGTH(flags); i++)
        free(*flags[i]);
    harness_done(&driver);
    return 0;
}

/* --- running --- */

#define LIVE 1 /* with --config and --secrets */

static void run(const char *command, int how, const char *const *arguments, int code,
                struct subprocess_result *result)
{
    const char *argv[ARGUMENTS_MAX] = {getenv("CEPHZONE"), command, classes_flag};
    _cleanup_error_ struct error err = {0};
    size_t count = 3;

    if (how == LIVE) {
        argv[count++] = config_flag;
        argv[count++] = secrets_flag;
    }
    for (; *arguments; arguments++)
        argv[count++] = *arguments;
    const struct subprocess spec = {.argv = argv,
                                    .environment = (const char *const *)environ,
                                    .deadline = deadline_in_ms(60000),
                                    .output_limit = OUTPUT_LIMIT};
    if (subprocess_run(&spec, result, &err) < 0)
        fail_msg("%s", err.message);
    if (result->exit_code != code)
        fail_msg("wanted exit code %d, got %d: %s%s", code, result->exit_code,
                 text_chars(&result->output), text_chars(&result->errors));
}
#define ARGUMENTS(...) ((const char *[]){__VA_ARGS__, NULL})
#define NO_ARGUMENTS ((const char *[]){NULL})

static void assert_contains(const struct text *text, const char *part)
{
    if (!strstr(text_chars(text), part))
        fail_msg("wanted '%s', got '%s'", part, text_chars(text));
}

static void assert_prints(const char *command, int how, const char *const *arguments, int code,
                          const char *part)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};

    run(command, how, arguments, code, &result);
    assert_contains(&result.output, part);
}

static void assert_complains(const char *command, int how, const char *const *arguments, int code,
                             const char *part)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};

    run(command, how, arguments, code, &result);
    assert_contains(&result.errors, part);
}

static json_t *run_json(const char *command, int how, const char *const *arguments, int code)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    json_t *json = NULL;

    run(command, how, arguments, code, &result);
    if (json_load_text(text_chars(&result.output), result.output.length, "output", &json, &err) < 0)
        fail_msg("%s", err.message);
    return json;
}

static const char *string_in(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

/* --- place --- */

TEST(place_agrees_with_create_volume)
{
    write_classes(ZONES);
    json_auto_t *json =
        run_json("place", LIVE, ARGUMENTS("--topology=zone=zone-b", "-o", "json"), 0);
    assert_string_equal(string_in(json, "pool"), "zone-b");
    assert_string_equal(string_in(json, "status"), "OK");
    assert_string_equal(string_in(json, "clusterID"), harness_cluster()->fsid);
    assert_string_equal(
        string_in(json_object_get(json, "accessibleTopology"), "topology.rbd.csi.ceph.com/zone"),
        "zone-b");
    const json_t *first = json_array_get(json_object_get(json, "candidates"), 0);
    assert_true(json_integer_value(json_object_get(first, "roomBytes")) > 0);
}

TEST(place_needs_no_cluster_when_room_is_given)
{
    write_classes(ZONES);
    assert_prints("place", 0,
                  ARGUMENTS("--topology=zone=zone-a", "--room=zone-a=0", "--room=common=0"), 1,
                  "CreateVolume would answer RESOURCE_EXHAUSTED: no pool that serves the place has "
                  "room for 1.0 GiB in zone=zone-a");
    assert_prints("place", 0,
                  ARGUMENTS("--topology=zone=zone-a", "--topology=zone=zone-c", "--room=zone-a=0",
                            "--room=common=0", "--room=zone-c=5GiB"),
                  0, "* zone-c  zone=zone-c  5.0 GiB");
    assert_prints("place", 0, ARGUMENTS("--topology=zone=zone-a", "-o", "line"), 0,
                  "pool 'zone-a' (zone=zone-a): chosen (free-space) for 1.0 GiB in zone=zone-a");
    assert_prints("place", 0, NO_ARGUMENTS, 0, "any node may use the volume");
}

TEST(place_reads_nodes)
{
    _cleanup_free_ char *node_flag = xasprintf("--node=%s", strchr(other_flag, '=') + 1);

    write_classes(ZONES);
    write_file(other_flag, "kind: Node\nmetadata:\n  name: n1\n  labels: {x/zone: zone-c}\n");
    assert_prints("place", 0, ARGUMENTS(node_flag, "--domainlabels=x/zone"), 0,
                  "topology.rbd.csi.ceph.com/member.zone.zone-c: true");
    assert_prints("place", 0, ARGUMENTS("--node-labels=x/zone=zone-b", "--domainlabels=x/zone"), 0,
                  "topology.rbd.csi.ceph.com/member.zone.zone-b: true");
    assert_complains("place", 0, ARGUMENTS(node_flag), 2, "--domainlabels must say");
    assert_complains("place", 0, ARGUMENTS(node_flag, "--domainlabels=y/rack"), 2,
                     "node 'n1' has none of the labels");
}

TEST(place_finds_pools_and_counts_volumes)
{
    write_classes("  topologyPools: auto\n  topologyClass: nobody\n  poolSelection: spread\n");
    assert_complains("place", 0, NO_ARGUMENTS, 3, "--config is needed");
    assert_prints("place", LIVE, NO_ARGUMENTS, 1,
                  "'ceph osd pool application set POOL rbd cephzone.class nobody' makes one");
    write_classes(ZONES "  poolSelection: spread\n  overcommit: \"1.5\"\n");
    assert_prints("place", LIVE, ARGUMENTS("--topology=zone=zone-a"), 0, "chosen (spread)");
}

TEST(place_heeds_the_takeover_map)
{
    write_classes(ZONES);
    write_file(other_flag, "{\"zone-a\": [\"zone-b\"]}");
    assert_prints("place", 0, ARGUMENTS("--topology=zone=zone-a", other_flag), 0,
                  "its place is being taken over by others");
}

TEST(faults_of_the_class_are_what_create_volume_says)
{
    write_classes("  topologyConstrainedPools: '[{\"pool_name\": \"x\"}]'\n");
    assert_prints("place", 0, NO_ARGUMENTS, 1,
                  "CreateVolume would answer INVALID_ARGUMENT: topologyConstrainedPools: "
                  "[0].pool_name: unknown key");
    write_classes(
        "  topologyConstrainedPools: '[{\"poolName\": \"x\", \"domainSegments\": []}]'\n");
    assert_prints("place", LIVE, ARGUMENTS("--topology=zone=zone-a"), 1,
                  "topologyConstrainedPools[0].poolName: there is no pool 'x'");
}

TEST(mistakes_of_place_are_told_apart)
{
    static const struct {
        const char *arguments[4];
        int code;
        const char *message;
    } cases[] = {
        {{"--topolgy=zone=a"}, 2, "did you mean '--topology'?"},
        {{"x"}, 2, "'x' is no flag"},
        {{"-o", "svg"}, 2, "-o takes 'table', 'json' or 'line'"},
        {{"--topology=zone"}, 2, "'zone' is not of the form KEY=VALUE"},
        {{"--topology=zone=a,zone=b"}, 2, "'zone' is there twice"},
        {{"--topology=zone=a b"}, 2, "--topology: 'zone=a b'"},
        {{"--size=-1"}, 2, "--size: '-1' is negative"},
        {{"--size=0"}, 2, "a volume of 0 bytes"},
        {{"--size=ten"}, 2, "--size: quantity 'ten'"},
        {{"--room=zone-a"}, 2, "--room takes POOL=SIZE"},
        {{"--room=zone-a=x"}, 2, "--room 'zone-a=x'"},
        {{"--volumes=zone-a=-1"}, 2, "--volumes 'zone-a=-1'"},
        {{"--topology=zone=a", "--room=zone-d=1"}, 2, "no pool of that name"},
        {{"--keyring=x"}, 2, "--config is missing"},
        {{"--timeout=0s"}, 2, "--timeout must be positive"},
        {{"--classes="}, 2, "--classes is missing"},
        {{"--classes=/nope"}, 3, "'/nope'"},
        {{"--class=zone"}, 3, "there is no class 'zone'; there are 'zones'"},
        {{"--driver=other"}, 3, "has the provisioner 'other'"},
        {{"--node=/nope", "--domainlabels=zone"}, 3, "'/nope'"},
        {{"--takeover-file=/nope"}, 3, "'/nope'"},
    };

    write_classes(ZONES);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_complains("place", 0, cases[i].arguments, cases[i].code, cases[i].message);
}

/* --- topology --- */

TEST(topology_is_a_tree)
{
    write_classes(ZONES);
    write_file(other_flag, "{\"zone-c\": [\"zone-a\", \"zone-b\"]}");
    assert_prints("topology", LIVE, ARGUMENTS(other_flag), 0, "\n  zone zone-a  ");
    assert_prints("topology", LIVE, ARGUMENTS(other_flag), 0, "taken over by zone-a, zone-b\n");
    json_auto_t *json = run_json("topology", LIVE, ARGUMENTS(other_flag, "-o", "json"), 0);
    const json_t *places = json_object_get(json, "places");
    assert_int_equal(json_array_size(places), 3);
    const json_t *last = json_array_get(places, 2);
    assert_string_equal(string_in(last, "value"), "zone-c");
    assert_string_equal(string_in(last, "takenOverBy"), "zone-a, zone-b");
    const json_t *pool = json_array_get(json_object_get(last, "pools"), 0);
    assert_string_equal(string_in(pool, "placeFrom"), "class");
    assert_string_equal(string_in(pool, "root"), "zone-c");
    assert_true(json_integer_value(json_object_get(pool, "roomBytes")) > 0);
}

TEST(topology_is_a_picture)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};

    write_classes(ZONES);
    run("topology", LIVE, ARGUMENTS("-o", "svg"), 0, &result);
    assert_true(text_has_prefix(text_chars(&result.output), "<svg xmlns="));
    assert_true(text_has_suffix(text_chars(&result.output), "</svg>\n"));
    assert_contains(&result.output, ">zone zone-b: ");
}

TEST(mistakes_of_topology_are_told_apart)
{
    write_classes(ZONES);
    assert_complains("topology", 0, NO_ARGUMENTS, 2, "--config is missing");
    assert_complains("topology", LIVE, ARGUMENTS("-o", "line"), 2, "'table', 'json' or 'svg'");
    assert_complains("topology", LIVE, ARGUMENTS("--domainlabels=a,a"), 2, "--domainlabels: ");
    assert_complains("topology", LIVE, ARGUMENTS("--takeover-file=/nope"), 3, "'/nope'");
    write_classes("  overcommit: much\n");
    assert_complains("topology", LIVE, NO_ARGUMENTS, 1, "class 'zones': overcommit: 'much'");
    write_classes(
        "  topologyConstrainedPools: '[{\"poolName\": \"x\", \"domainSegments\": []}]'\n");
    assert_prints("topology", LIVE, NO_ARGUMENTS, 1, "no such pool");
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(harness_clean_up)
