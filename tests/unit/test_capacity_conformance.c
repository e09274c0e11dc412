#include "tests/unit/fixtures/kube.h"

#include "common/encoding/json.h"
#include "controller/capacity/publish_capacity.h"
#include "tests/fakes/case_file.h"

/*
 * Runs the cases in tests/data/capacity_places (see tests/fakes/case_file.h): which
 * CSIStorageCapacity objects there are for which nodes and classes.
 *
 *   node n1 zone=a rack=r       a Node and its labels
 *   csinode n1 zone,rack        the driver is registered there with these keys; "-" without keys;
 *                               "other" if only another driver is
 *   class fast wait             or immediate, or foreign (of another driver)
 *   drop node n1                or csinode, or class
 *   bytes 500                   what is asked from now on answers; "fails" for an error
 *   publish 2                   one look, with so many writes; "fails" if it must
 *   > fast zone=a; rack=r,zone=b    places of the objects of a class; "none"; "everywhere"
 *   > fast bytes 500            all of them say so
 */

#define DRIVER "rbd.csi.ceph.com"

struct world {
    struct kube_fixture *fixture;
    struct publish_site site;
    uint64_t bytes;
    bool is_failing;
};

static int ask(void *object, struct call *call, const struct strmap *parameters,
               const struct strmap *segment, struct published_capacity *capacity, struct error *err)
{
    const struct world *world = object;

    (void)call;
    (void)parameters;
    (void)segment;
    if (world->is_failing)
        return error_set(err, STATUS_UNAVAILABLE, "no figures");
    *capacity = (struct published_capacity){.available_bytes = world->bytes};
    return 0;
}

/* --- objects --- */

static const char *const FOLDERS[][2] = {{"node", "/api/v1/nodes"},
                                         {"csinode", "/apis/storage.k8s.io/v1/csinodes"},
                                         {"class", "/apis/storage.k8s.io/v1/storageclasses"}};

static char *path_of_object(const char *kind, const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(FOLDERS); i++)
        if (strcmp(FOLDERS[i][0], kind) == 0)
            return xasprintf("%s/%s", FOLDERS[i][1], name);
    fail_msg("no such kind: '%s'", kind);
    return NULL;
}

static json_t *node_json(const char *line)
{
    json_t *labels = json_object();

    while (line[0]) {
        _cleanup_free_ char *word = case_next_word(&line);
        char *value = strchr(word, '=');

        *value++ = '\0';
        json_object_set_new(labels, word, json_string(value));
    }
    return json_pack("{s:{s:o}}", "metadata", "labels", labels);
}

static json_t *csinode_json(const char *line)
{
    json_t *keys = json_array();
    bool is_other = strcmp(line, "other") == 0;

    while (!is_other && strcmp(line, "-") != 0 && line[0]) {
        size_t length = strcspn(line, ",");

        json_array_append_new(keys, json_stringn(line, length));
        line += length;
        line += line[0] == ',';
    }
    return json_pack("{s:{s:[{s:s, s:o}]}}", "spec", "drivers", "name",
                     is_other ? "other.csi" : DRIVER, "topologyKeys", keys);
}

static json_t *class_json(const char *line)
{
    return json_pack("{s:s, s:s}", "provisioner",
                     strcmp(line, "foreign") == 0 ? "other.csi" : DRIVER, "volumeBindingMode",
                     strcmp(line, "immediate") == 0 ? "Immediate" : "WaitForFirstConsumer");
}

static void put(struct world *world, const char *kind, const char *line)
{
    _cleanup_free_ char *name = case_next_word(&line);
    _cleanup_free_ char *path = path_of_object(kind, name);
    json_auto_t *json = strcmp(kind, "node") == 0      ? node_json(line)
                        : strcmp(kind, "csinode") == 0 ? csinode_json(line)
                                                       : class_json(line);
    _cleanup_free_ char *text = json_dumps(json, JSON_COMPACT);

    fake_kube_put(world->fixture->fake, path, text);
}

static void drop(struct world *world, const char *line)
{
    _cleanup_free_ char *kind = case_next_word(&line);
    _cleanup_free_ char *path = path_of_object(kind, line);

    fake_kube_drop(world->fixture->fake, path);
}

/* --- publishing --- */

static bool always(void *object)
{
    (void)object;
    return true;
}

static void publish(struct world *world, const char *expected)
{
    _cleanup_publish_view_ struct publish_view view = {0};
    _cleanup_publish_outcome_ struct publish_outcome outcome = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "test", deadline_in_ms(60000));
    int result = publish_capacity_once(&world->site, &call, always, NULL, &view, &outcome, &err);
    call_done(&call);
    assert_null(outcome.foreign);
    if (strcmp(expected, "fails") == 0) {
        assert_int_equal(result, -1);
        return;
    }
    if (result < 0)
        fail_msg("%s", err.message);
    assert_int_equal(outcome.writes, strtoull(expected, NULL, 10));
}

static char *place_of(const json_t *object)
{
    const json_t *labels = json_object_get(json_object_get(object, "nodeTopology"), "matchLabels");
    struct strmap map = {0};
    struct text text = TEXT_INIT(1024);
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach((json_t *)(uintptr_t)labels, key, value)
    {
        strmap_set(&map, key, json_string_value(value));
    }
    for (size_t i = 0; i < map.count; i++)
        text_addf(&text, "%s%s=%s", i ? "," : "", map.entries[i].key, map.entries[i].value);
    if (map.count == 0)
        text_add(&text, "everywhere");
    strmap_done(&map);
    return text_take(&text);
}

/* Places of the class's objects, each with its figure. */
static void read_places(struct world *world, const char *class, struct strmap *places)
{
    _cleanup_text_ struct text dump = TEXT_INIT(1 << 20);

    fake_kube_dump(world->fixture->fake, &dump);
    for (const char *line = text_chars(&dump); line[0];) {
        size_t length = strcspn(line, "\n");
        _cleanup_free_ char *copy = xstrndup(line, length);
        const char *json = strchr(copy, '{');
        json_auto_t *object = json ? json_loads(json, 0, NULL) : NULL;

        line += length + (line[length] == '\n');
        const char *name = json_string_value(json_object_get(object, "storageClassName"));
        if (!name || strcmp(name, class) != 0)
            continue;
        _cleanup_free_ char *place = place_of(object);
        assert_false(strmap_has(places, place)); /* one object for each */
        strmap_set(places, place, json_string_value(json_object_get(object, "capacity")));
    }
}

static void expect(struct world *world, const char *line)
{
    _cleanup_free_ char *class = case_next_word(&line);
    _cleanup_strmap_ struct strmap places = {0};
    _cleanup_text_ struct text found = TEXT_INIT(4096);

    read_places(world, class, &places);
    for (size_t i = 0; text_has_prefix(line, "bytes ") && i < places.count; i++)
        assert_string_equal(places.entries[i].value, line + strlen("bytes "));
    if (text_has_prefix(line, "bytes ")) {
        assert_true(places.count > 0);
        return;
    }
    for (size_t i = 0; i < places.count; i++)
        text_addf(&found, "%s%s", i ? "; " : "", places.entries[i].key);
    if (places.count == 0)
        text_add(&found, "none");
    assert_string_equal(text_chars(&found), line);
}

/* --- lines --- */

static void act(struct world *world, const char *line)
{
    _cleanup_free_ char *word = case_next_word(&line);

    if (strcmp(word, "drop") == 0) {
        drop(world, line);
    } else if (strcmp(word, "bytes") == 0) {
        world->is_failing = strcmp(line, "fails") == 0;
        world->bytes = strtoull(line, NULL, 10);
    } else if (strcmp(word, "publish") == 0) {
        publish(world, line);
    } else if (strcmp(word, ">") == 0) {
        expect(world, line);
    } else {
        put(world, word, line);
    }
}

static void run_case(void **state)
{
    const struct case_lines *one = *state;
    void *fixture = NULL;
    struct world world = {.bytes = 1000};

    assert_int_equal(kube_fixture_make(&fixture), 0);
    world.fixture = fixture;
    world.site = (struct publish_site){
        .kube = world.fixture->kube,
        .name_space = "ceph",
        .driver_name = DRIVER,
        .ask = ask,
        .object = &world,
    };
    fake_kube_put(world.fixture->fake, "/apis/storage.k8s.io/v1/csidrivers/" DRIVER, "{}");
    for (size_t i = 0; i < one->lines.count; i++) {
        print_message("  %s\n", one->lines.items[i]); /* the last one is the one that failed */
        act(&world, one->lines.items[i]);
    }
    kube_fixture_free(&fixture);
}

static void add_cases(void)
{
    case_files_add("tests/data/capacity_places/*.cases", run_case);
}

TEST_CASES(add_cases)
