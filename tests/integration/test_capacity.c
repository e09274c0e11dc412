/* The built cephzone capacity on a real Ceph: zones, quotas, classes that make no sense. */
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "tests/fakes/flapping_kube.h"
#include "tests/integration/harness.h"
#include "tests/test.h"
#include "tests/unit/fixtures/live_cluster.h"

#define QUOTA_POOL "zone-c"
#define QUOTA_BYTES 1073741824
#define ARGUMENTS_MAX 16
#define OUTPUT_LIMIT ((size_t)1 << 20)

#define ZONE(name)                                                                                 \
    "{\\\"poolName\\\":\\\"" name "\\\",\\\"domainSegments\\\":[{\\\"domainLabel\\\":\\\"zone\\\"" \
    ",\\\"value\\\":\\\"" name "\\\"}]}"

extern char **environ;

static struct driver_process driver;
static char *config_flag;
static char *secrets_flag;
static char *classes_flag;

/* @flag is "--name=PATH". */
static void write_file(const char *flag, const char *content)
{
    _cleanup_fclose_ FILE *file = fopen(strchr(flag, '=') + 1, "we");

    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
}

/* Both outputs in @result; the exit code is returned. */
static int run(const char *const *argv, struct subprocess_result *result)
{
    _cleanup_error_ struct error err = {0};
    const struct subprocess spec = {
        .argv = argv,
        .environment = (const char *const *)environ,
        .deadline = deadline_in_ms(60000),
        .output_limit = OUTPUT_LIMIT,
    };

    if (subprocess_run(&spec, result, &err) < 0)
        fail_msg("%s", err.message);
    return result->exit_code;
}

static void set_quota(long long bytes)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_free_ char *number = xasprintf("%lld", bytes);

    if (run((const char *[]){"ceph", "osd", "pool", "set-quota", QUOTA_POOL, "max_bytes", number,
                             NULL},
            &result) != 0)
        fail_msg("set-quota: %s", text_chars(&result.errors));
}

static int start_driver(void **state)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_free_ char *secrets =
        xasprintf("{\"userID\":\"%s\",\"userKey\":\"%s\"}", cluster->user, cluster->key);

    (void)state;
    harness_init(&driver);
    config_flag = xasprintf("--config=%s", driver.config_path);
    secrets_flag = xasprintf("--secrets=%s/secrets.json", driver.folder);
    classes_flag = xasprintf("--classes=%s/classes.json", driver.folder);
    write_file(secrets_flag, secrets);
    return 0;
}

static int remove_quota(void **state)
{
    (void)state;
    set_quota(0);
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    unlink(strchr(secrets_flag, '=') + 1);
    unlink(strchr(classes_flag, '=') + 1);
    free(config_flag);
    free(secrets_flag);
    free(classes_flag);
    harness_done(&driver);
    return 0;
}

/* One class more in @list; @parameters are further members behind clusterID. */
static void add_class(struct text *list, const char *name, const char *cluster_id,
                      const char *parameters)
{
    text_addf(list,
              "%s{\"kind\":\"StorageClass\",\"metadata\":{\"name\":\"%s\"},\"provisioner\":"
              "\"rbd.csi.ceph.com\",\"parameters\":{\"clusterID\":\"%s\",%s}}",
              list->length ? "," : "{\"kind\":\"List\",\"items\":[", name, cluster_id, parameters);
}

static void write_classes(struct text *list)
{
    text_add(list, "]}");
    write_file(classes_flag, text_chars(list));
}

static void write_good_classes(void)
{
    _cleanup_text_ struct text list = TEXT_INIT(OUTPUT_LIMIT);
    const char *fsid = harness_cluster()->fsid;

    add_class(&list, "plain", fsid, "\"pool\":\"common\"");
    add_class(&list, "split", fsid, "\"pool\":\"common\",\"dataPool\":\"" QUOTA_POOL "\"");
    add_class(&list, "zones", fsid,
              "\"topologyConstrainedPools\":\"[" ZONE("zone-a") "," ZONE("zone-b") "," ZONE(
                  "zone-c") ",{\\\"poolName\\\":\\\"common\\\",\\\"domainSegments\\\":[]}]\"");
    write_classes(&list);
}

static void run_capacity(const char *const *arguments, int code, struct subprocess_result *result)
{
    const char *argv[ARGUMENTS_MAX] = {getenv("CEPHZONE"), "capacity", config_flag, secrets_flag,
                                       classes_flag};

    for (size_t i = 0; arguments[i]; i++)
        argv[5 + i] = arguments[i];
    if (run(argv, result) != code)
        fail_msg("wanted exit code %d, got %d: %s%s", code, result->exit_code,
                 text_chars(&result->output), text_chars(&result->errors));
}

#define ARGUMENTS(...) ((const char *[]){__VA_ARGS__, NULL})
#define NO_ARGUMENTS ((const char *[]){NULL})

/* The JSON output; json_decref(). */
static json_t *capacity_json(int code)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    json_t *json = NULL;

    run_capacity(ARGUMENTS("-o", "json"), code, &result);
    if (json_load_text(text_chars(&result.output), result.output.length, "output", &json, &err) < 0)
        fail_msg("%s", err.message);
    return json;
}

static json_t *find_row(const json_t *json, const char *class, const char *domain)
{
    const json_t *rows = json_object_get(json, "rows");

    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);

        if (strcmp(json_string_value(json_object_get(row, "class")), class) == 0 &&
            strcmp(json_string_value(json_object_get(row, "domain")), domain) == 0)
            return row;
    }
    fail_msg("no row of class '%s' in '%s'", class, domain);
    return NULL;
}

static long long number(const json_t *row, const char *key)
{
    return json_integer_value(json_object_get(row, key));
}

static void assert_contains(const struct text *text, const char *part)
{
    if (!strstr(text_chars(text), part))
        fail_msg("wanted '%s', got '%s'", part, text_chars(text));
}

static void assert_fails(const char *const *arguments, int code, const char *message)
{
    _cleanup_subprocess_result_ struct subprocess_result result = {0};

    run_capacity(arguments, code, &result);
    assert_contains(&result.errors, message);
}

/* --- tests --- */

TEST(every_zone_has_its_own_room)
{
    write_good_classes();
    json_auto_t *json = capacity_json(0);
    assert_int_equal(json_array_size(json_object_get(json, "rows")), 6);
    assert_int_equal(json_array_size(json_object_get(json, "errors")), 0);
    for (char zone[] = "zone=zone-a"; zone[10] <= 'c'; zone[10]++) {
        const json_t *row = find_row(json, "zones", zone);

        assert_string_equal(json_string_value(json_object_get(row, "pool")), zone + 5);
        assert_true(number(row, "roomBytes") > 0);
        assert_true(json_is_null(json_object_get(row, "quotaBytes")));
    }
    /* the common pool lies on the disks of all zones */
    assert_true(number(find_row(json, "zones", "anywhere"), "roomBytes") >
                number(find_row(json, "zones", "zone=zone-a"), "roomBytes"));
}

TEST(quota_bounds_the_room_while_it_is_set, .teardown_func = remove_quota)
{
    _cleanup_subprocess_result_ struct subprocess_result table = {0};

    write_good_classes();
    set_quota(QUOTA_BYTES);
    json_auto_t *bounded = capacity_json(0);
    const json_t *zone = find_row(bounded, "zones", "zone=" QUOTA_POOL);
    assert_int_equal(number(zone, "quotaBytes"), QUOTA_BYTES);
    assert_int_equal(number(zone, "roomBytes"), QUOTA_BYTES - number(zone, "usedBytes"));
    const json_t *split = find_row(bounded, "split", "anywhere");
    assert_string_equal(json_string_value(json_object_get(split, "dataPool")), QUOTA_POOL);
    assert_int_equal(number(split, "roomBytes"), number(zone, "roomBytes"));
    assert_true(number(find_row(bounded, "plain", "anywhere"), "roomBytes") > QUOTA_BYTES);
    run_capacity(NO_ARGUMENTS, 0, &table);
    assert_contains(&table.output, "CLASS  DOMAIN       POOL    DATA POOL");
    assert_contains(&table.output, "zones  zone=zone-c  zone-c  -");
    assert_contains(&table.output, "1.0 GiB");

    set_quota(0);
    json_auto_t *free_again = capacity_json(0);
    assert_true(number(find_row(free_again, "zones", "zone=" QUOTA_POOL), "roomBytes") >
                QUOTA_BYTES);
}

TEST(classes_that_make_no_sense_leave_the_others_alone)
{
    _cleanup_text_ struct text list = TEXT_INIT(OUTPUT_LIMIT);
    const char *fsid = harness_cluster()->fsid;

    add_class(&list, "misspelt", fsid,
              "\"topologyConstrainedPools\":\"[{\\\"poolNam\\\":\\\"zone-a\\\"}]\"");
    add_class(&list, "absent", fsid, "\"pool\":\"nope\"");
    add_class(&list, "plain", fsid, "\"pool\":\"common\"");
    write_classes(&list);
    json_auto_t *json = capacity_json(1);
    const json_t *absent = find_row(json, "absent", "anywhere");
    assert_string_equal(json_string_value(json_object_get(absent, "remark")), "no such pool");
    assert_int_equal(number(absent, "roomBytes"), 0);
    assert_true(number(find_row(json, "plain", "anywhere"), "roomBytes") > 0);
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(json, "errors"), 0)),
        "class 'misspelt': topologyConstrainedPools: [0].poolNam: unknown key (did you mean "
        "'poolName'?)");
    assert_fails(NO_ARGUMENTS, 1, "class 'misspelt': topologyConstrainedPools: [0].poolNam");
}

TEST(unknown_cluster_is_named_and_the_others_are_printed)
{
    _cleanup_text_ struct text list = TEXT_INIT(OUTPUT_LIMIT);

    add_class(&list, "lost", "nope", "\"pool\":\"common\"");
    add_class(&list, "lost-too", "nope", "\"pool\":\"common\"");
    add_class(&list, "plain", harness_cluster()->fsid, "\"pool\":\"common\"");
    write_classes(&list);
    json_auto_t *json = capacity_json(3);
    assert_int_equal(json_array_size(json_object_get(json, "rows")), 1);
    assert_int_equal(json_array_size(json_object_get(json, "errors")), 1);
    assert_true(number(find_row(json, "plain", "anywhere"), "roomBytes") > 0);
    assert_fails(NO_ARGUMENTS, 3, "cluster 'nope': ");
}

/* --- a live cluster --- */

static void put_class(struct fake_kube *fake)
{
    _cleanup_free_ char *text = xasprintf(
        "{\"provisioner\": \"rook-ceph.rbd.csi.ceph.com\", \"parameters\": {\"clusterID\": \"%s\", "
        "\"pool\": \"common\", \"csi.storage.k8s.io/provisioner-secret-name\": \"user\", "
        "\"csi.storage.k8s.io/provisioner-secret-namespace\": \"rook-ceph\"}}",
        harness_cluster()->fsid);

    fake_kube_put(fake, "/apis/storage.k8s.io/v1/storageclasses/block", text);
}

/* As Rook writes it. */
static void put_config(struct fake_kube *fake)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *config = NULL;

    if (json_load_path(driver.config_path, JSON_TEXT_LIMIT, &config, &err) < 0)
        fail_msg("%s", err.message);
    _cleanup_free_ char *inner = json_dumps(config, 0);
    json_auto_t *map = json_pack("{s:{s:s}}", "data", "csi-cluster-config-json", inner);
    _cleanup_free_ char *text = json_dumps(map, 0);
    fake_kube_put(fake, "/api/v1/namespaces/rook-ceph/configmaps/rook-ceph-csi-config", text);
}

TEST(cluster_of_rook_needs_no_file_and_no_flag)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_fake_kube_ struct fake_kube *fake = fake_kube_new();
    _cleanup_free_ char *kubeconfig = xasprintf("%s/kubeconfig", driver.folder);
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    _cleanup_error_ struct error err = {0};
    struct flapping_kube flapping = {.permille = 0};
    json_auto_t *json = NULL;

    put_class(fake);
    put_config(fake);
    fake_kube_put_secret(fake, "/api/v1/namespaces/rook-ceph/secrets/user", cluster->user,
                         cluster->key);
    flapping_kube_start(&flapping, fake);
    live_cluster_write_kubeconfig(kubeconfig, flapping_server_url(flapping.server));
    setenv("KUBECONFIG", kubeconfig, 1);
    int code = run((const char *[]){getenv("CEPHZONE"), "capacity", "-o", "json", NULL}, &result);
    unsetenv("KUBECONFIG");
    flapping_kube_stop(&flapping);
    unlink(kubeconfig);
    if (code != 0 ||
        json_load_text(text_chars(&result.output), result.output.length, "output", &json, &err) < 0)
        fail_msg("exit code %d: %s", code, text_chars(&result.errors));
    const json_t *row = json_array_get(json_object_get(json, "rows"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "class")), "block");
    assert_string_equal(json_string_value(json_object_get(row, "pool")), "common");
    assert_contains(&result.errors, "driver 'rook-ceph.rbd.csi.ceph.com', ConfigMap "
                                    "'rook-ceph/rook-ceph-csi-config', Secret 'rook-ceph/user'");
}

TEST(mistakes_are_told_apart)
{
    write_good_classes();
    assert_fails(ARGUMENTS("--clases=x"), 2, "did you mean");
    assert_fails(ARGUMENTS("x"), 2, "'x' is no flag");
    assert_fails(ARGUMENTS("-o", "xml"), 2, "'table' or 'json'");
    assert_fails(ARGUMENTS("--keyring=x"), 2, "one of --secrets and --keyring");
    assert_fails(ARGUMENTS("--classes="), 2, "--classes is missing");
    assert_fails(ARGUMENTS("--timeout=0s"), 2, "--timeout must be positive");
    assert_fails(ARGUMENTS("--classes=/nope"), 3, "'/nope'");
    assert_fails(ARGUMENTS("--secrets=", "--keyring=/nope"), 3, "no keyring '/nope'");
    assert_fails(ARGUMENTS("--driver=other"), 0, "has the provisioner 'other'");
    write_file(classes_flag, "{\"items\":[{\"kind\":\"Pod\"}]}");
    assert_fails(NO_ARGUMENTS, 3, "items[0]: kind: expected 'StorageClass'");
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(harness_clean_up)
