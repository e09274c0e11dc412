#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

#include "common/volume/cephfs_parameters.h"

static void plain_class_is_read(void **state)
{
    _cleanup_strmap_ struct strmap parameters = {0};
    struct cephfs_parameters parsed = {0};
    _cleanup_error_ struct error err = {0};

    (void)state;
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

static void each_fault_is_named(void **state)
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

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_class_is_read),
        cmocka_unit_test(each_fault_is_named),
    };

    return cmocka_run_group_tests_name("cephfs parameters", tests, NULL, NULL);
}
