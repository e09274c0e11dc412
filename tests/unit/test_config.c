#include "tests/unit/fixtures/config.h"

#include "common/base/text.h"

#define DATA "tests/data/config/"
#define MIB ((size_t)1024 * 1024)
#define SIXTEEN "0123456789abcdef"
#define SIXTY_FOUR SIXTEEN SIXTEEN SIXTEEN SIXTEEN

/* --- forms --- */

TEST(file_of_the_manual_is_understood)
{
    _cleanup_config_ struct config *config = config_load(DATA "manual.json");
    const struct cluster_config *cluster =
        config_get_cluster(config, "01616094-9d93-4178-bf45-c7eac19e8b15");

    assert_string_equal(cluster->cluster_id, "01616094-9d93-4178-bf45-c7eac19e8b15");
    assert_int_equal(cluster->monitor_list.count, 3);
    assert_string_equal(cluster->monitors, "192.168.39.82:6789,192.168.39.83:6789,"
                                           "[v2:192.168.39.84:3300,v1:192.168.39.84:6789]");
    assert_string_equal(cluster->rbd.rados_namespace, "kubernetes");
    assert_int_equal(cluster->rbd.mirror_daemon_count, 2);
    assert_string_equal(cluster->rbd.net_namespace_path,
                        "/var/lib/kubelet/plugins/rbd.csi.ceph.com/net");
    assert_string_equal(cluster->cephfs.subvolume_group, "k8s");
    assert_string_equal(cluster->cephfs.rados_namespace, "csi-journal");
    assert_string_equal(cluster->cephfs.net_namespace_path,
                        "/var/lib/kubelet/plugins/cephfs.csi.ceph.com/net");
    assert_string_equal(cluster->cephfs.kernel_mount_options,
                        "ms_mode=secure,recover_session=clean");
    assert_string_equal(cluster->cephfs.fuse_mount_options, "debug");
    assert_true(cluster->read_affinity.enabled);
    assert_int_equal(cluster->read_affinity.crush_location_labels.count, 2);
    assert_string_equal(cluster->read_affinity.crush_location_labels.items[1],
                        "topology.kubernetes.io/zone");
    assert_string_equal(config_get_cluster(config, "archive")->monitors,
                        "mon.archive.example:6789");
}

TEST(what_the_file_leaves_out_is_unset)
{
    _cleanup_config_ struct config *config = config_load(DATA "manual.json");
    const struct cluster_config *cluster = config_get_cluster(config, "archive");

    assert_null(cluster->rbd.rados_namespace);
    assert_null(cluster->rbd.net_namespace_path);
    assert_null(cluster->rbd.controller_secret.name);
    assert_int_equal(cluster->rbd.mirror_daemon_count, 0);
    assert_null(cluster->cephfs.subvolume_group);
    assert_null(cluster->cephfs.kernel_mount_options);
    assert_false(cluster->read_affinity.enabled);
    assert_int_equal(cluster->read_affinity.crush_location_labels.count, 0);
}

TEST(file_that_rook_writes_is_understood)
{
    _cleanup_config_ struct config *config = config_load(DATA "rook.json");
    const struct cluster_config *cluster = config_get_cluster(config, "rook-ceph");

    assert_string_equal(cluster->monitors,
                        "10.101.67.5:6789,10.101.208.34:6789,10.107.16.201:6789");
    assert_string_equal(cluster->rbd.rados_namespace, "");
    assert_string_equal(cluster->cephfs.subvolume_group, "");
    assert_false(cluster->read_affinity.enabled);
    assert_int_equal(cluster->read_affinity.crush_location_labels.count, 0);
    cluster = config_get_cluster(
        config, "80fc4f4bacc064be641633e6ed25ba7e"); /* of a CephBlockPoolRadosNamespace */
    assert_string_equal(cluster->rbd.rados_namespace, "tenant-a");
}

TEST(file_that_the_operator_writes_is_understood)
{
    _cleanup_config_ struct config *config = config_load(DATA "operator.json");
    const struct cluster_config *cluster = config_get_cluster(config, "storage");

    assert_int_equal(cluster->rbd.mirror_daemon_count, 3);
    assert_string_equal(cluster->rbd.rados_namespace, "tenant-b");
    assert_string_equal(cluster->rbd.controller_secret.name, "rbd-provisioner");
    assert_string_equal(cluster->rbd.controller_secret.namespace_name, "ceph-csi");
    assert_string_equal(cluster->cephfs.controller_secret.name, "cephfs-provisioner");
    assert_string_equal(cluster->cephfs.controller_secret.namespace_name, "ceph-csi");
    assert_string_equal(cluster->cephfs.kernel_mount_options, "ms_mode=prefer-crc");
    assert_true(cluster->read_affinity.enabled);
    assert_string_equal(cluster->read_affinity.crush_location_labels.items[0],
                        "kubernetes.io/hostname");
    assert_not_found(config, "storage-dr", "cluster 'storage-dr' has no monitors in config.json");
}

TEST(version_2_has_the_same_array_inside)
{
    _cleanup_config_ struct config *config = config_load(DATA "version-2.json");
    const char *fault = NULL;
    const struct takeover_map *map = config_takeover(config, &fault);

    assert_non_null(map);
    assert_int_equal(map->count, 2);
    assert_non_null(takeover_find(map, "zone", "zone-a"));
    assert_true(takeover_find(map, "rack", "r7")->to_all);
    assert_string_equal(config_get_cluster(config, "zone-a")->monitors,
                        "10.1.0.11:3300,10.1.0.12:3300,10.1.0.13:3300");
    assert_string_equal(config_get_cluster(config, "zone-a")->rbd.rados_namespace, "prod");
    assert_string_equal(config_get_cluster(config, "zone-b")->cephfs.subvolume_group, "prod");
}

TEST(keys_are_matched_without_case, WITH_FOLDER)
{
    static const char *const forms[] = {
        "[{\"ClusterId\": \"c1\", \"MONITORS\": [\"a\"], \"RBD\": {\"radosnamespace\": \"ns\"},"
        " \"cephfs\": {\"SubVolumeGroup\": \"g\"}, \"readaffinity\": {\"Enabled\": true}}]",
        "{\"Version\": 2, \"CLUSTERS\": [{\"clusterid\": \"c1\", \"Monitors\": [\"a\"],"
        " \"Rbd\": {\"RADOSNAMESPACE\": \"ns\"}, \"CephFs\": {\"subvolumegroup\": \"g\"},"
        " \"ReadAffinity\": {\"ENABLED\": true}}]}",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(forms); i++) {
        _cleanup_config_ struct config *config = config_load_text(forms[i]);
        const struct cluster_config *cluster = config_get_cluster(config, "c1");

        assert_string_equal(cluster->monitors, "a");
        assert_string_equal(cluster->rbd.rados_namespace, "ns");
        assert_string_equal(cluster->cephfs.subvolume_group, "g");
        assert_true(cluster->read_affinity.enabled);
    }
}

TEST(unknown_keys_are_ignored, WITH_FOLDER)
{
    _cleanup_config_ struct config *config = config_load_text(
        "[{\"clusterID\": \"c1\", \"monitors\": [\"a\"], \"future\": {\"deep\": [1, {}, null]},"
        " \"rbd\": {\"x\": 1.5, \"futureSecretRef\": {\"name\": 7}}, \"nfs\": false}]");

    assert_string_equal(config_get_cluster(config, "c1")->monitors, "a");
}

TEST(mirror_daemons_have_two_names, WITH_FOLDER)
{
    static const struct {
        const char *rbd;
        int64_t count;
    } cases[] = {
        {"{}", 0},
        {"{\"mirrorDaemonCount\": 2}", 2},
        {"{\"mirrorCount\": 3}", 3},
        {"{\"mirrorcount\": 4}", 4},
        {"{\"mirrorCount\": 3, \"mirrorDaemonCount\": 2}", 2}, /* Ceph-CSI's own name wins */
        {"{\"mirrorDaemonCount\": 2, \"mirrorCount\": 3}", 2},
        {"{\"mirrorCount\": null}", 0},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *text = xasprintf(
            "[{\"clusterID\": \"c1\", \"monitors\": [\"a\"], \"rbd\": %s}]", cases[i].rbd);
        _cleanup_config_ struct config *config = config_load_text(text);

        assert_int_equal(config_get_cluster(config, "c1")->rbd.mirror_daemon_count, cases[i].count);
    }
}

TEST(monitors_are_joined_with_commas, WITH_FOLDER)
{
    static const struct {
        const char *list;
        const char *joined;
    } cases[] = {
        {"[\"a\"]", "a"},
        {"[\"a\", \"b\"]", "a,b"},
        {"[\"10.0.0.1:6789\", \"[fd00::1]:3300\", \"mon-c\"]",
         "10.0.0.1:6789,[fd00::1]:3300,mon-c"},
        {"[\"a,b\", \"c\"]", "a,b,c"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *text =
            xasprintf("[{\"clusterID\": \"c1\", \"monitors\": %s}]", cases[i].list);
        _cleanup_config_ struct config *config = config_load_text(text);

        assert_string_equal(config_get_cluster(config, "c1")->monitors, cases[i].joined);
    }
}

/* --- look-ups --- */

TEST(first_of_several_clusters_with_an_id_counts, WITH_FOLDER)
{
    _cleanup_config_ struct config *config =
        config_load_text("[{\"clusterID\": \"other\", \"monitors\": [\"x\"]},"
                         " {\"clusterID\": \"c1\", \"monitors\": [\"first\"]},"
                         " {\"clusterID\": \"c1\", \"monitors\": [\"second\"]}]");

    assert_string_equal(config_get_cluster(config, "c1")->monitors, "first");
}

TEST(cluster_without_monitors_is_refused, WITH_FOLDER)
{
    static const char *const entries[] = {
        "{\"clusterID\": \"c1\"}",
        "{\"clusterID\": \"c1\", \"monitors\": []}",
        "{\"clusterID\": \"c1\", \"monitors\": null}",
        "{\"clusterID\": \"c1\"}, {\"clusterID\": \"c1\", \"monitors\": [\"a\"]}",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(entries); i++) {
        _cleanup_free_ char *text = xasprintf("[%s]", entries[i]);
        _cleanup_config_ struct config *config = config_load_text(text);

        assert_not_found(config, "c1", "cluster 'c1' has no monitors in config.json");
    }
}

TEST(unknown_cluster_is_told_with_those_that_exist, WITH_FOLDER)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {GOOD_A, "clusterID 'c9' is not configured; config.json has 'a'"},
        {"[{\"clusterID\": \"a\"}, {\"clusterID\": \"b\"}, {\"clusterID\": \"C9\"}]",
         "clusterID 'c9' is not configured; config.json has 'a', 'b', 'C9'"},
        {"[]", "clusterID 'c9' is not configured; config.json has no cluster at all"},
        {"{\"clusters\": []}",
         "clusterID 'c9' is not configured; config.json has no cluster at all"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_config_ struct config *config = config_load_text(cases[i].text);

        assert_not_found(config, "c9", cases[i].message);
    }
}

TEST(clusters_are_walked_over_in_their_order, WITH_FOLDER)
{
    _cleanup_config_ struct config *config = config_load_text(
        "[{\"clusterID\": \"b\"}, {\"clusterID\": \"c\"}, {\"clusterID\": \"a\"}]");

    assert_int_equal(config_cluster_count(config), 3);
    assert_string_equal(config_cluster_id(config, 0), "b");
    assert_string_equal(config_cluster_id(config, 1), "c");
    assert_string_equal(config_cluster_id(config, 2), "a");
}

TEST(thousand_clusters_do_not_make_the_message_endless, WITH_FOLDER)
{
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);
    const struct cluster_config *cluster = NULL;
    _cleanup_error_ struct error err = {0};

    for (int i = 0; i < 1000; i++)
        text_addf(&text, "%s{\"clusterID\": \"cluster-%d\", \"monitors\": [\"mon-%d\"]}",
                  i ? "," : "[", i, i);
    text_add(&text, "]");
    _cleanup_config_ struct config *config = config_load_text(text_chars(&text));
    assert_string_equal(config_get_cluster(config, "cluster-999")->monitors, "mon-999");
    assert_int_equal(config_find_cluster(config, "none", &cluster, &err), -1);
    assert_true(strlen(err.message) < 1200);
}

/* --- mistakes --- */

TEST(mistake_is_told_with_its_place, WITH_FOLDER)
{
    static const struct {
        const char *text;
        const char *fault; /* behind the path */
    } cases[] = {
        {"[\n  {\"clusterID\": \"c1\",\n   \"monitors\": [\"a\" \"b\"]}\n]",
         "line 3, column 23: ']' expected"},
        {"", "line 1, column 0: '[' or '{' expected near end of file"},
        {"clusters: []", "line 1, column 8: '[' or '{' expected"},
        {"[{\"clusterID\": \"c1\"},]", "line 1, column 22: unexpected token"},
        {"[{\"clusterID\": \"a\", \"clusterID\": \"b\"}]",
         "line 1, column 31: duplicate object key near '\"clusterID\"'"},
        {"[] []", "line 1, column 4: end of file expected"},
        {"[7]", "[0]: expected an object, found a number"},
        {"[{\"clusterID\": 7}]", "[0].clusterID: expected a string, found a number"},
        {"[{}, {\"monitors\": \"a,b\"}]", "[1].monitors: expected an array, found a string"},
        {"[{}, {}, {\"monitors\": [\"a\", 1]}]",
         "[2].monitors[1]: expected a string, found a number"},
        {"[{\"rbd\": {\"radosNamespace\": [\"ns\"]}}]",
         "[0].rbd.radosNamespace: expected a string, found an array"},
        {"[{\"rbd\": \"ns\"}]", "[0].rbd: expected an object, found a string"},
        {"[{\"rbd\": {\"mirrorDaemonCount\": \"2\"}}]",
         "[0].rbd.mirrorDaemonCount: expected a whole number, found a string"},
        {"[{\"rbd\": {\"mirrorCount\": 1.5}}]",
         "[0].rbd.mirrorCount: expected a whole number, found one with a fraction or an exponent"},
        {"[{\"rbd\": {\"controllerPublishSecretRef\": {\"name\": true}}}]",
         "[0].rbd.controllerPublishSecretRef.name: expected a string, found a boolean"},
        {"[{\"readAffinity\": {\"enabled\": \"true\"}}]",
         "[0].readAffinity.enabled: expected true or false, found a string"},
        {"[{\"readAffinity\": {\"enabled\": 1}}]",
         "[0].readAffinity.enabled: expected true or false, found a number"},
        {"[{\"readAffinity\": {\"crushLocationLabels\": \"zone\"}}]",
         "[0].readAffinity.crushLocationLabels: expected an array, found a string"},
        {"{}", "expected an array of clusters, or an object that has one under 'clusters'"},
        {"{\"version\": 2}",
         "expected an array of clusters, or an object that has one under 'clusters'"},
        {"{\"clusters\": null}",
         "expected an array of clusters, or an object that has one under 'clusters'"},
        {"{\"clusterID\": \"c1\", \"monitors\": [\"a\"]}",
         "expected an array of clusters, or an object that has one under 'clusters'"},
        {"{\"clusters\": {}}", "clusters: expected an array, found an object"},
        {"{\"clusters\": [{}, {\"clusterID\": []}]}",
         "clusters[1].clusterID: expected a string, found an array"},
        {"[{\"clusterID\": \"a\"}, {\"clusterID\": \"\"}]", "[1]: clusterID is empty or missing"},
        {"[{\"monitors\": [\"x\"]}]", "[0]: clusterID is empty or missing"},
        {"[{\"clusterID\": null}]", "[0]: clusterID is empty or missing"},
        {"[null]", "[0]: clusterID is empty or missing"},
        {"[{\"clusterID\": \"a/b\", \"monitors\": [\"x\"]}]",
         "[0]: clusterID has a slash or a control character, which a volume handle cannot carry"},
        {"{\"clusters\": [{\"clusterID\": \"a\"}, {\"clusterID\": \"a\\n\"}]}",
         "clusters[1]: clusterID has a slash or a control character, which a volume handle cannot "
         "carry"},
        {"[{\"clusterID\": \"" SIXTY_FOUR "\"}, {\"clusterID\": \"" SIXTY_FOUR "x\"}]",
         "[1]: clusterID has more than 64 bytes and does not fit into a volume handle"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *path = make_config(cases[i].text);
        _cleanup_config_file_ struct config_file *file = config_file_new(path);
        _cleanup_free_ char *fault = xasprintf("%s: %s", path, cases[i].fault);
        _cleanup_free_ char *refusal =
            xasprintf("the driver has no cluster configuration: %s", fault);

        assert_unavailable(file, refusal);
        assert_unhealthy(file, fault, now);
    }
}

TEST(cluster_without_a_usable_id_leaves_the_last_good_version_in_force, WITH_FOLDER)
{
    _cleanup_free_ char *path = make_config(GOOD_A);
    _cleanup_config_file_ struct config_file *file = config_file_new(path);
    _cleanup_free_ char *fault = xasprintf("%s: [1]: clusterID is empty or missing", path);
    static const char broken[] = "[{\"clusterID\": \"b\"}, {\"clusterID\": \"\"}]";

    assert_in_force(file, "a");
    write_bytes(path, broken, sizeof(broken) - 1);
    assert_in_force(file, "a");
    assert_unhealthy(file, fault, now);
}

TEST(file_of_two_mebibytes_is_refused, WITH_FOLDER)
{
    const size_t length = 2 * MIB;
    _cleanup_free_ char *content = xmalloc(length + 1);
    _cleanup_free_ char *path = path_of("config.json");
    _cleanup_config_file_ struct config_file *file = config_file_new(path);
    _cleanup_free_ char *fault = xasprintf("'%s' is larger than 1048576 bytes", path);
    _cleanup_free_ char *refusal = xasprintf("the driver has no cluster configuration: %s", fault);

    memset(content, ' ', length);
    memcpy(content, GOOD_A, sizeof(GOOD_A) - 1);
    write_bytes(path, content, length);
    assert_unavailable(file, refusal);
    assert_unhealthy(file, fault, now);
    write_bytes(path, content, MIB); /* as large as a ConfigMap may be */
    assert_in_force(file, "a");
    write_bytes(path, content, MIB + 1);
    assert_in_force(file, "a");
    assert_unhealthy(file, fault, now);
}

TEST(folder_is_no_configuration, WITH_FOLDER)
{
    _cleanup_config_file_ struct config_file *file = config_file_new(folder_path());
    _cleanup_free_ char *fault = xasprintf("'%s': read: Is a directory", folder_path());

    assert_unhealthy(file, fault, now);
}
