/* What commands find out on a live cluster: of Ceph-CSI, of Rook, and where rights are missing. */
#include "programs/cephzone/live_cluster.h"

#include <unistd.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "tests/fakes/flapping_kube.h"
#include "tests/test.h"
#include "tests/unit/fixtures/command_run.h"
#include "tests/unit/fixtures/live_cluster.h"

#define CLASSES "/apis/storage.k8s.io/v1/storageclasses/"
#define ROOK "rook-ceph.rbd.csi.ceph.com"

struct world {
    struct fake_kube *fake;
    struct flapping_kube flapping;
    char kubeconfig[40];
    struct tool_flags flags;
    struct live_cluster live;
    struct error err;
};

static int world_make(void **state)
{
    struct world *world = xcalloc(1, sizeof(*world));

    *world = (struct world){.fake = fake_kube_new(),
                            .kubeconfig = "/tmp/cephzone-kubeconfig-XXXXXX",
                            .flags = TOOL_FLAGS_INIT(TOOL_TIMEOUT_MS)};
    close(mkstemp(world->kubeconfig));
    flapping_kube_start(&world->flapping, world->fake);
    live_cluster_write_kubeconfig(world->kubeconfig, flapping_server_url(world->flapping.server));
    world->flags.kubeconfig = world->kubeconfig;
    world->flags.context = world->flags.config = world->flags.classes = "";
    world->flags.secrets = world->flags.keyring = "";
    *state = world;
    return 0;
}

static int world_free(void **state)
{
    struct world *world = *state;

    flapping_kube_stop(&world->flapping);
    unlink(world->kubeconfig);
    live_cluster_done(&world->live);
    fake_kube_free(world->fake);
    error_clear(&world->err);
    free(world);
    return 0;
}

#define WITH_WORLD .setup_func = world_make, .teardown_func = world_free

static void put_class(struct world *world, const char *name, const char *driver,
                      const char *cluster)
{
    _cleanup_free_ char *path = xasprintf(CLASSES "%s", name);
    _cleanup_free_ char *text =
        xasprintf("{\"provisioner\": \"%s\", \"parameters\": {\"clusterID\": \"%s\", \"pool\": "
                  "\"p\", \"csi.storage.k8s.io/provisioner-secret-name\": \"user\", "
                  "\"csi.storage.k8s.io/provisioner-secret-namespace\": \"rook-ceph\"}}",
                  driver, cluster);

    fake_kube_put(world->fake, path, text);
}

static void put_config(struct world *world, const char *ns, const char *name, const char *key,
                       const char *cluster)
{
    _cleanup_free_ char *path = xasprintf("/api/v1/namespaces/%s/configmaps/%s", ns, name);
    _cleanup_free_ char *text =
        xasprintf("{\"data\": {\"%s\": \"[{\\\"clusterID\\\": \\\"%s\\\", \\\"monitors\\\": "
                  "[\\\"10.0.0.1\\\"]}]\"}}",
                  key, cluster);

    fake_kube_put(world->fake, path, text);
}

static void put_rook(struct world *world)
{
    put_class(world, "block", ROOK, "rook-ceph");
    put_config(world, "rook-ceph", "rook-ceph-csi-config", "csi-cluster-config-json", "rook-ceph");
    fake_kube_put_secret(world->fake, "/api/v1/namespaces/rook-ceph/secrets/user", "csi-rbd", "k1");
}

static int fill(struct world *world, const char **pvs)
{
    return live_cluster_fill(&world->live, "capacity", &world->flags, pvs, &world->err);
}

static void assert_filled(struct world *world)
{
    if (fill(world, NULL) < 0)
        fail_msg("%s", world->err.message);
}

static json_t *load(const char *path)
{
    _cleanup_error_ struct error err = {0};
    json_t *json = NULL;

    if (json_load_path(path, JSON_TEXT_LIMIT, &json, &err) < 0)
        fail_msg("%s", err.message);
    return json;
}

TEST(everything_of_rook_is_found, WITH_WORLD)
{
    struct world *world = *state;

    put_class(world, "aa-other", "ebs.csi.aws.com", "");
    put_rook(world);
    assert_filled(world);
    assert_string_equal(world->flags.driver, ROOK);
    json_auto_t *config = load(world->flags.config);
    json_auto_t *secrets = load(world->flags.secrets);
    json_auto_t *classes = load(world->flags.classes);
    json_auto_t *wanted =
        json_pack("[{s:s, s:[s]}]", "clusterID", "rook-ceph", "monitors", "10.0.0.1");
    json_auto_t *user = json_pack("{s:s, s:s}", "userID", "csi-rbd", "userKey", "k1");
    assert_true(json_equal(config, wanted));
    assert_true(json_equal(secrets, user));
    assert_int_equal(json_array_size(json_object_get(classes, "items")), 2);
}

TEST(config_is_the_one_with_the_cluster_of_the_class, WITH_WORLD)
{
    struct world *world = *state;

    put_class(world, "block", "rbd.csi.ceph.com", "c2");
    put_config(world, "a", "ceph-csi-config", "config.json", "c1");
    put_config(world, "b", "ceph-csi-config", "config.json", "c2");
    put_config(world, "b", "foreign", "config.json", "c2");
    world->flags.keyring = "/etc/ceph/keyring";
    assert_filled(world);
    json_auto_t *config = load(world->flags.config);
    assert_string_equal(json_string_value(json_object_get(json_array_get(config, 0), "clusterID")),
                        "c2");
    /* a keyring that was given is used, and no Secret read */
    assert_string_equal(world->flags.secrets, "");
}

TEST(driver_that_was_asked_for_is_taken, WITH_WORLD)
{
    struct world *world = *state;

    put_rook(world);
    put_class(world, "files", "rook-ceph.cephfs.csi.ceph.com", "rook-ceph");
    world->flags.driver = "rook-ceph.cephfs.csi.ceph.com";
    assert_filled(world);
    assert_string_equal(world->flags.driver, "rook-ceph.cephfs.csi.ceph.com");
}

TEST(driver_of_rbd_is_taken_beside_one_of_cephfs, WITH_WORLD)
{
    struct world *world = *state;

    put_class(world, "files", "rook-ceph.cephfs.csi.ceph.com", "rook-ceph");
    put_rook(world);
    assert_filled(world);
    assert_string_equal(world->flags.driver, ROOK);
}

TEST(only_driver_is_taken_also_if_it_is_of_cephfs, WITH_WORLD)
{
    struct world *world = *state;

    put_config(world, "rook-ceph", "rook-ceph-csi-config", "csi-cluster-config-json", "rook-ceph");
    fake_kube_put_secret(world->fake, "/api/v1/namespaces/rook-ceph/secrets/user", "u", "k1");
    put_class(world, "files", "rook-ceph.cephfs.csi.ceph.com", "rook-ceph");
    assert_filled(world);
    assert_string_equal(world->flags.driver, "rook-ceph.cephfs.csi.ceph.com");
}

TEST(which_of_several_drivers_is_not_guessed, WITH_WORLD)
{
    struct world *world = *state;

    put_rook(world);
    put_class(world, "second", "south.rbd.csi.ceph.com", "rook-ceph");
    assert_int_equal(fill(world, NULL), -1);
    assert_string_equal(world->err.message,
                        "classes have the drivers 'rook-ceph.rbd.csi.ceph.com', "
                        "'south.rbd.csi.ceph.com'; --driver says which; --classes and --config "
                        "name files instead");
}

TEST(cluster_without_ceph_is_told, WITH_WORLD)
{
    struct world *world = *state;

    put_class(world, "other", "ebs.csi.aws.com", "");
    assert_int_equal(fill(world, NULL), -1);
    assert_string_equal(world->err.message, "no StorageClass has a driver of Ceph; --classes and "
                                            "--config name files instead");
}

TEST(missing_right_is_named_with_what_replaces_it, WITH_WORLD)
{
    static const struct {
        const char *verb, *prefix, *right, *flag;
    } cases[] = {
        {"list", CLASSES, "list storageclasses", "--classes and --config name files"},
        {"list", "/api/v1/configmaps", "list configmaps", "--config names a file"},
        {"get", "/api/v1/namespaces/rook-ceph/secrets", "rook-ceph/user",
         "--keyring or --secrets name a file"},
        {"list", "/api/v1/persistentvolumes", "list persistentvolumes", "--pvs names a file"},
    };
    struct world *world = *state;

    put_rook(world);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *prefix = xstrdup(cases[i].prefix);
        const char *pvs = NULL;

        if (i == 0)
            prefix[strlen(prefix) - 1] = '\0';
        fake_kube_forbid(world->fake, cases[i].verb, prefix);
        world->flags.secrets = "";
        assert_int_equal(fill(world, &pvs), -1);
        fake_kube_forbid(world->fake, NULL, NULL);
        if (world->err.status != STATUS_PERMISSION_DENIED ||
            !strstr(world->err.message, cases[i].right) ||
            !strstr(world->err.message, cases[i].flag))
            fail_msg("%s: '%s'", cases[i].right, world->err.message);
        error_clear(&world->err);
        live_cluster_done(&world->live);
        world->flags.driver = "rbd.csi.ceph.com";
    }
}

TEST(secret_per_claim_is_no_user_for_all, WITH_WORLD)
{
    struct world *world = *state;

    put_rook(world);
    fake_kube_put(world->fake, CLASSES "block",
                  "{\"provisioner\": \"" ROOK "\", \"parameters\": {\"clusterID\": \"rook-ceph\", "
                  "\"csi.storage.k8s.io/provisioner-secret-name\": \"${pvc.name}\", "
                  "\"csi.storage.k8s.io/provisioner-secret-namespace\": \"x\"}}");
    assert_int_equal(fill(world, NULL), -1);
    assert_string_equal(world->err.message,
                        "class 'block' names no Secret that all volumes share; --keyring or "
                        "--secrets name a file instead");
}

TEST(config_that_lacks_the_cluster_is_told, WITH_WORLD)
{
    struct world *world = *state;

    put_rook(world);
    put_config(world, "rook-ceph", "rook-ceph-csi-config", "csi-cluster-config-json", "c9");
    assert_int_equal(fill(world, NULL), -1);
    assert_string_equal(world->err.message,
                        "no ConfigMap 'ceph-csi-config' or 'rook-ceph-csi-config' has the cluster "
                        "'rook-ceph' of class 'block'; --config names a file instead");
}

TEST(volumes_are_listed_for_fsck, WITH_WORLD)
{
    struct world *world = *state;
    const char *pvs = NULL;

    put_rook(world);
    fake_kube_put(world->fake, "/api/v1/persistentvolumes/pv-1", "{\"spec\": {}}");
    if (fill(world, &pvs) < 0)
        fail_msg("%s", world->err.message);
    json_auto_t *list = load(pvs);
    const json_t *item = json_array_get(json_object_get(list, "items"), 0);
    assert_string_equal(json_string_value(json_object_get(item, "kind")), "PersistentVolume");
}

TEST(commands_without_files_ask_the_live_cluster, WITH_WORLD)
{
    static const char *const commands[] = {"capacity", "topology", "fsck", "settle"};
    struct world *world = *state;
    _cleanup_free_ char *kubeconfig = xasprintf("--kubeconfig=%s", world->kubeconfig);

    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++) {
        _cleanup_command_result_ struct command_result result = {0};

        command_run(COMMAND(commands[i], kubeconfig), &result);
        assert_int_equal(result.code, 3);
        if (!strstr(result.err, "no StorageClass has a driver of Ceph"))
            fail_msg("%s: '%s'", commands[i], result.err);
    }
}

TEST(fsck_refuses_a_cluster_with_cephfs_alone, WITH_WORLD)
{
    struct world *world = *state;
    _cleanup_free_ char *kubeconfig = xasprintf("--kubeconfig=%s", world->kubeconfig);
    _cleanup_command_result_ struct command_result result = {0};

    put_config(world, "rook-ceph", "ceph-csi-config", "config.json", "c1");
    fake_kube_put_secret(world->fake, "/api/v1/namespaces/rook-ceph/secrets/user", "u", "k1");
    put_class(world, "files", "cephfs.csi.ceph.com", "c1");
    command_run(COMMAND("fsck", kubeconfig), &result);
    assert_int_equal(result.code, 3);
    assert_non_null(strstr(result.err, "fsck knows the journals of RBD"));
}
