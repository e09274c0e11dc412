#include "common/config/class_parameters.h"

#include "common/base/text.h"
#include "tests/test.h"

TEST(every_default_passes_its_check)
{
    size_t count = 0;
    const struct class_parameter *table = class_parameters(&count);

    for (size_t i = 0; i < count; i++) {
        _cleanup_error_ struct error err = {0};

        if (table[i].fallback && table[i].check &&
            table[i].check(&table[i], table[i].fallback, &err) < 0)
            fail_msg("%s: %s", table[i].key, err.message);
    }
}

TEST(every_row_is_complete_and_alone)
{
    size_t count = 0;
    const struct class_parameter *table = class_parameters(&count);

    for (size_t i = 0; i < count; i++) {
        const struct class_parameter *row = &table[i];

        assert_true(row->drivers & CLASS_ANY_DRIVER);
        assert_true(row->calls != 0);
        assert_non_null(row->values);
        if (!text_has_suffix(row->help, ".") || strchr(row->help, '|'))
            fail_msg("%s: '%s' is no sentence for a table", row->key, row->help);
        for (size_t k = 0; k < i; k++)
            if (strcmp(table[k].key, row->key) == 0 && (table[k].drivers & row->drivers))
                fail_msg("%s is there twice", row->key);
    }
}

TEST(default_prefixes_are_those_of_the_journal)
{
    _cleanup_strmap_ struct strmap nothing = {0};

    assert_string_equal(class_parameter_get(&nothing, PARAM_VOLUME_PREFIX), IMAGE_PREFIX_VOLUME);
    assert_string_equal(class_parameter_get(&nothing, PARAM_SNAPSHOT_PREFIX),
                        IMAGE_PREFIX_SNAPSHOT);
    assert_string_equal(class_parameter_get(&nothing, PARAM_GROUP_PREFIX), IMAGE_PREFIX_GROUP);
}

TEST(value_comes_before_the_default_unless_it_is_empty)
{
    _cleanup_strmap_ struct strmap parameters = {0};

    assert_null(class_parameter_get(&parameters, PARAM_POOL));
    strmap_set(&parameters, "cephLogDir", "");
    assert_string_equal(class_parameter_get(&parameters, PARAM_LOG_DIR), "/var/log/ceph");
    strmap_set(&parameters, "cephLogDir", "/logs");
    assert_string_equal(class_parameter_get(&parameters, PARAM_LOG_DIR), "/logs");
}

/* One wrong value for each check, beside those of the tests of rbd and cephfs classes. */
TEST(wrong_values_are_named)
{
    static const struct {
        enum class_driver driver;
        const char *key;
        const char *value;
        const char *message; /* NULL: fine */
    } cases[] = {
        {CLASS_RBD, "topologyPools", "auto", NULL},
        {CLASS_RBD, "topologyPools", "", NULL},
        {CLASS_RBD, "topologyPools", "aut",
         "topologyPools: 'aut' is unknown; there is only 'auto'"},
        {CLASS_RBD, "crossPoolRestore", "copy", NULL},
        {CLASS_RBD, "crossPoolRestore", "none", NULL},
        {CLASS_RBD, "crossPoolRestore", "", NULL},
        {CLASS_RBD, "crossPoolRestore", "copy, none",
         "crossPoolRestore: 'copy, none' is neither 'copy' nor 'none'"},
        {CLASS_RBD, "crossPoolRestore", "cop",
         "crossPoolRestore: 'cop' is neither 'copy' nor 'none'"},
        {CLASS_CEPHFS, "mounter", "kernel", NULL},
        {CLASS_CEPHFS, "mounter", "fuse", NULL},
        {CLASS_CEPHFS, "mounter", "rbd", "mounter: 'rbd' is neither 'kernel' nor 'fuse'"},
        {CLASS_CEPHFS, "mounter", "", "parameter mounter is empty"},
        {CLASS_RBD, "mounter", "anything", NULL},
        {CLASS_RBD, "poolSelection", "", NULL},
        {CLASS_RBD, "poolSelection", "pack", NULL},
        {CLASS_RBD, "poolSelection", "7",
         "poolSelection: '7' is none of free-space, spread, pack and first"},
        {CLASS_RBD, "topologyPinning", "7",
         "topologyPinning: '7' is none of auto, membership, plain, standard and none"},
        {CLASS_RBD, "overcommit", "x",
         "overcommit: 'x' is not a number between 0.001 and 1000 with at most three decimals"},
        {CLASS_RBD, "snapshotNamePrefix", "a b", NULL},
        {CLASS_RBD, "snapshotNamePrefix", "", "parameter snapshotNamePrefix is empty"},
        {CLASS_CEPHFS, "snapshotNamePrefix", "snap-", NULL},
        {CLASS_CEPHFS, "snapshotNamePrefix", "a b",
         "parameter snapshotNamePrefix: only letters, digits, '.', '_' and '-' can be in the name "
         "of a subvolume, and no '.' at its beginning"},
        {CLASS_RBD, "rbd_qos_iops_limit", "1k",
         "rbd_qos_iops_limit: '1k' is not a whole number below 2^64"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_strmap_ struct strmap parameters = {0};
        _cleanup_error_ struct error err = {0};

        strmap_set(&parameters, cases[i].key, cases[i].value);
        int result = class_parameter_check(&parameters, cases[i].driver, cases[i].key, &err);
        assert_int_equal(result, cases[i].message ? -1 : 0);
        if (cases[i].message)
            assert_string_equal(err.message, cases[i].message);
    }
}

TEST(longest_prefix_of_a_subvolume_fits)
{
    char prefix[130] = {0};

    memset(prefix, 'a', 129);
    for (int length = 129; length >= 128; length--) {
        _cleanup_strmap_ struct strmap parameters = {0};
        _cleanup_error_ struct error err = {0};

        prefix[length] = '\0';
        strmap_set(&parameters, PARAM_SNAPSHOT_PREFIX, prefix);
        assert_int_equal(
            class_parameter_check(&parameters, CLASS_CEPHFS, PARAM_SNAPSHOT_PREFIX, &err),
            length > 128 ? -1 : 0);
    }
}

TEST(misspelt_key_is_recognised)
{
    static const struct {
        enum class_driver driver;
        enum class_call call;
        const char *key;
        const char *meant; /* NULL: nothing is close */
    } cases[] = {
        {CLASS_RBD, CLASS_CREATE_VOLUME, "imageFeature", "imageFeatures"},
        {CLASS_RBD, CLASS_CREATE_VOLUME, "Pool", "pool"},
        {CLASS_RBD, CLASS_CREATE_VOLUME, "clusterId", "clusterID"},
        {CLASS_RBD, CLASS_CREATE_VOLUME, "topologyConstrainedPool", "topologyConstrainedPools"},
        {CLASS_CEPHFS, CLASS_CREATE_VOLUME, "fsname", "fsName"},
        {CLASS_RBD, CLASS_CREATE_VOLUME, "fsname", NULL},
        {CLASS_CEPHFS, CLASS_CREATE_VOLUME, "imageFeature", NULL},
        {CLASS_RBD, CLASS_CREATE_VOLUME, "rbd_qos_iops_limt", NULL},
        {CLASS_RBD, CLASS_MODIFY_VOLUME, "rbd_qos_iops_limt", "rbd_qos_iops_limit"},
        {CLASS_RBD, CLASS_CREATE_VOLUME, "baseReadIop", "baseReadIops"},
        {CLASS_CEPHFS, CLASS_CREATE_VOLUME, "baseReadIop", NULL},
        {CLASS_RBD, CLASS_CREATE_VOLUME, "staticVolumes", NULL},
        {CLASS_RBD, CLASS_CREATE_VOLUME, "somethingElse", NULL},
        {CLASS_RBD, CLASS_CREATE_VOLUME, "csi.storage.k8s.io", NULL},
        {CLASS_RBD, CLASS_CREATE_VOLUME, "", NULL},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *meant = class_parameter_suggest(cases[i].key, cases[i].driver, cases[i].call);

        if (cases[i].meant)
            assert_string_equal(meant, cases[i].meant);
        else
            assert_null(meant);
        assert_null(class_parameter_find(cases[i].key, CLASS_ANY_DRIVER));
    }
}

TEST(keys_of_the_sidecars_are_known)
{
    assert_non_null(class_parameter_find("csi.storage.k8s.io/fstype", CLASS_RBD));
    assert_non_null(class_parameter_find("csi.storage.k8s.io/anything-new", CLASS_CEPHFS));
    assert_null(class_parameter_find("csi.storage.k8s.iox", CLASS_ANY_DRIVER));
    assert_null(class_parameter_find("dataPool", CLASS_CEPHFS));
    assert_non_null(class_parameter_find("dataPool", CLASS_ANY_DRIVER));
}

TEST(context_is_the_class_without_what_nodes_do_not_need)
{
    static const struct {
        const char *key;
        const char *value;
        bool kept;
    } cases[] = {
        {"clusterID", "rook-ceph", true},
        {"pool", "replicapool", true},
        {"dataPool", "ec", true},
        {"imageFeatures", "layering", true},
        {"imageFormat", "2", true},
        {"mounter", "rbd-nbd", true},
        {"mapOptions", "krbd:queue_depth=1024", true},
        {"mkfsOptions", "-m0", true},
        {"someFutureKey", "", true},
        {"encrypted", "false", true},
        {"TopologyConstrainedPools", "[]", true}, /* another key */
        {"csi.storage.k8s.io", "no slash", true},
        {"topologyConstrainedPools", "[{\"poolName\": \"zone-a\"}]", false},
        {"csi.storage.k8s.io/fstype", "ext4", false},
        {"csi.storage.k8s.io/pvc/name", "data-0", false},
        {"csi.storage.k8s.io/pvc/namespace", "shop", false},
        {"csi.storage.k8s.io/pv/name", "pvc-1", false},
        {"csi.storage.k8s.io/provisioner-secret-name", "rook-csi-rbd-provisioner", false},
        {"csi.storage.k8s.io/", "", false},
    };
    _cleanup_strmap_ struct strmap parameters = {0};
    _cleanup_strmap_ struct strmap context = {0};
    size_t kept = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        strmap_set(&parameters, cases[i].key, cases[i].value);
    class_parameters_to_context(&parameters, &context);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        if (strmap_has(&context, cases[i].key) != cases[i].kept)
            fail_msg("'%s' was %s", cases[i].key, cases[i].kept ? "dropped" : "kept");
        if (cases[i].kept)
            assert_string_equal(strmap_get(&context, cases[i].key), cases[i].value);
        kept += cases[i].kept;
    }
    assert_int_equal(context.count, kept);
    assert_int_equal(parameters.count, ARRAY_LENGTH(cases));
}

TEST(context_keeps_what_was_there)
{
    _cleanup_strmap_ struct strmap parameters = {0};
    _cleanup_strmap_ struct strmap context = {0};

    strmap_set(&parameters, "clusterID", "rook-ceph");
    strmap_set(&parameters, "pool", "replicapool");
    strmap_set(&context, "imageName", "csi-vol-1");
    strmap_set(&context, "pool", "old");
    class_parameters_to_context(&parameters, &context);
    assert_string_equal(strmap_get(&context, "imageName"), "csi-vol-1");
    assert_string_equal(strmap_get(&context, "pool"), "replicapool");
    assert_int_equal(context.count, 3);
}
