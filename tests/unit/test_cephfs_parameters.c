#include "common/config/cephfs_parameters.h"
#include "tests/test.h"

TEST(plain_class_is_read)
{
    _cleanup_strmap_ struct strmap parameters = {0};
    struct cephfs_parameters parsed = {0};
    _cleanup_error_ struct error err = {0};

    strmap_set(&parameters, "clusterID", "c1");
    strmap_set(&parameters, "fsName", "fs1");
    strmap_set(&parameters, "pool", "fast");
    strmap_set(&parameters, "somethingElse", "");
    strmap_set(&parameters, "csi.storage.k8s.io/pvc/namespace", "ns");
    assert_int_equal(cephfs_parameters_parse(&parameters, &parsed, &err), 0);
    assert_string_equal(parsed.cluster_id, "c1");
    assert_string_equal(parsed.fs_name, "fs1");
    assert_string_equal(parsed.data_pool, "fast");
    assert_string_equal(parsed.name_prefix, "csi-vol-");
    assert_string_equal(parsed.owner, "ns");
    assert_int_equal(parsed.backing, BACKING_BY_MODE);
}

TEST(each_fault_is_named)
{
    static const struct {
        const char *key;
        const char *value;
    } cases[] = {
        {"clusterID", ""},
        {"clusterID", "a/b"},
        {"fsName", ""},
        {"pool", ""},
        {"mounter", ""},
        {"mounter", "ganesha"},
        {"kernelMountOptions", ""},
        {"fuseMountOptions", ""},
        {"volumeNamePrefix", ""},
        {"volumeNamePrefix", "a b"},
        {"volumeNamePrefix", "."},
        {"volumeNamePrefix", "../"},
        {"backingSnapshot", ""},
        {"backingSnapshot", "yes"},
        {"encrypted", "true"},
        {"encrypted", "maybe"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_strmap_ struct strmap parameters = {0};
        _cleanup_error_ struct error err = {0};
        struct cephfs_parameters parsed = {0};

        strmap_set(&parameters, "clusterID", "c1");
        strmap_set(&parameters, "fsName", "fs1");
        strmap_set(&parameters, cases[i].key, cases[i].value);
        assert_int_equal(cephfs_parameters_parse(&parameters, &parsed, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        if (!strstr(err.message, cases[i].key))
            fail_msg("%s: %s", cases[i].key, err.message);
    }
}
