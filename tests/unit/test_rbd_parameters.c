#include "common/base/text.h"
#include "common/config/rbd_parameters.h"
#include "tests/test.h"

#define LETTERS_64 "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"

/* Bits of the on-disk format of RBD images (rbd/features.h). */
enum {
    LAYERING = 1,
    EXCLUSIVE_LOCK = 4,
    OBJECT_MAP = 8,
    FAST_DIFF = 16,
    DEEP_FLATTEN = 32,
    JOURNALING = 64,
};

/* The least that a class must say. */
static struct strmap make_class(void)
{
    struct strmap parameters = {0};

    strmap_set(&parameters, "clusterID", "rook-ceph");
    strmap_set(&parameters, "pool", "replicapool");
    return parameters;
}

static void assert_parsed(const struct strmap *parameters, struct rbd_parameters *parsed)
{
    _cleanup_error_ struct error err = {0};

    if (rbd_parameters_parse(parameters, parsed, &err) < 0)
        fail_msg("%s", err.message);
    assert_null(err.message);
}

static void assert_refused(const struct strmap *parameters, const char *message)
{
    struct rbd_parameters parsed = {.pool = "untouched"};
    _cleanup_error_ struct error err = {0};

    if (rbd_parameters_parse(parameters, &parsed, &err) == 0)
        fail_msg("accepted instead of: %s", message);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_string_equal(err.message, message);
    assert_string_equal(parsed.pool, "untouched");
    assert_null(parsed.cluster_id);
}

TEST(least_class_leaves_the_rest_to_defaults)
{
    _cleanup_strmap_ struct strmap parameters = make_class();
    struct rbd_parameters parsed;

    assert_parsed(&parameters, &parsed);
    assert_string_equal(parsed.cluster_id, "rook-ceph");
    assert_string_equal(parsed.pool, "replicapool");
    assert_string_equal(parsed.name_prefix, "csi-vol-");
    assert_null(parsed.owner);
    assert_true(parsed.image.features == IMAGE_FEATURES_DEFAULT);
    assert_true(parsed.image.stripe_unit == 0);
    assert_true(parsed.image.stripe_count == 0);
    assert_true(parsed.image.object_order == 0);
    assert_null(parsed.image.data_pool);
}

TEST(full_class_is_understood)
{
    static const char *const pairs[][2] = {
        {"clusterID", "01616094-9d93-4178-bf45-c7eac19e8b15"},
        {"pool", "rbd-meta"},
        {"dataPool", "rbd-ec"},
        {"radosNamespace", "ignored"},
        {"volumeNamePrefix", "prod-"},
        {"imageFormat", "2"}, /* Rook passes it */
        {"imageFeatures", "layering,exclusive-lock,object-map,fast-diff,deep-flatten"},
        {"mounter", "rbd"},
        {"mapOptions", "krbd:queue_depth=1024"},
        {"unmapOptions", "force"},
        {"mkfsOptions", "-m0 -E nodiscard"},
        {"stripeUnit", "65536"},
        {"stripeCount", "16"},
        {"objectSize", "8388608"},
        {"encrypted", "false"},
        {"encryptionKMSID", "vault"},
        {"encryptionType", "block"},
        {"csi.storage.k8s.io/fstype", "ext4"},
        {"csi.storage.k8s.io/pvc/name", "data-0"},
        {"csi.storage.k8s.io/pvc/namespace", "shop"},
        {"csi.storage.k8s.io/pv/name", "pvc-7e2b2f5c"},
    };
    _cleanup_strmap_ struct strmap parameters = {0};
    struct rbd_parameters parsed;

    for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++)
        strmap_set(&parameters, pairs[i][0], pairs[i][1]);
    assert_parsed(&parameters, &parsed);
    assert_string_equal(parsed.cluster_id, "01616094-9d93-4178-bf45-c7eac19e8b15");
    assert_string_equal(parsed.pool, "rbd-meta");
    assert_string_equal(parsed.name_prefix, "prod-");
    assert_string_equal(parsed.owner, "shop");
    assert_string_equal(parsed.image.data_pool, "rbd-ec");
    assert_true(parsed.image.features ==
                (LAYERING | EXCLUSIVE_LOCK | OBJECT_MAP | FAST_DIFF | DEEP_FLATTEN));
    assert_true(parsed.image.stripe_unit == 65536);
    assert_true(parsed.image.stripe_count == 16);
    assert_true(parsed.image.object_order == 23);
}

TEST(strings_are_borrowed_from_the_parameters)
{
    _cleanup_strmap_ struct strmap parameters = make_class();
    struct rbd_parameters parsed;

    assert_parsed(&parameters, &parsed);
    assert_ptr_equal(parsed.cluster_id, strmap_get(&parameters, "clusterID"));
    assert_ptr_equal(parsed.pool, strmap_get(&parameters, "pool"));
}

/* One parameter more than, or other than, the least class. */
TEST(malformed_parameter_is_named)
{
    static const struct {
        const char *key;
        const char *value;
        const char *message;
    } cases[] = {
        {"clusterID", "", "parameter clusterID is missing"},
        {"clusterID", LETTERS_64 "x",
         "parameters: clusterID has more than 64 bytes and does not fit into a volume handle"},
        {"clusterID", "a/b",
         "parameters: clusterID has a slash or a control character, which a volume handle cannot "
         "carry"},
        {"clusterID", "a\nb",
         "parameters: clusterID has a slash or a control character, which a volume handle cannot "
         "carry"},
        {"pool", "", "parameter pool is empty"},
        {"dataPool", "", "parameter dataPool is empty"},
        {"radosNamespace", "", "parameter radosNamespace is empty"},
        {"imageFeatures", "", "parameter imageFeatures is empty"},
        {"volumeNamePrefix", "", "parameter volumeNamePrefix is empty"},
        {"encryptionType", "", "parameter encryptionType is empty"},
        {"imageFeatures", "layering,", "imageFeatures: unknown feature ''"},
        {"imageFeatures", "layring",
         "imageFeatures: unknown feature 'layring'; did you mean 'layering'?"},
        {"imageFeatures", "fast-diff", "imageFeatures: 'fast-diff' needs 'object-map' as well"},
        {"stripeUnit", "65536", "stripeUnit and stripeCount must be given together"},
        {"stripeCount", "16", "stripeUnit and stripeCount must be given together"},
        {"stripeUnit", "64k", "stripeUnit: '64k' is not a whole number below 2^64"},
        {"stripeUnit", "", "stripeUnit: '' is not a whole number"},
        {"stripeUnit", "-1", "stripeUnit: '-1' is not a whole number"},
        {"stripeCount", "18446744073709551616",
         "stripeCount: '18446744073709551616' is not a whole number below 2^64"},
        {"stripeCount", "1.5", "stripeCount: '1.5' is not a whole number below 2^64"},
        {"objectSize", "4M", "objectSize: '4M' is not a whole number below 2^64"},
        {"objectSize", " 4096", "objectSize: ' 4096' is not a whole number"},
        {"objectSize", "4194303", "objectSize: 4194303 is not a power of two"},
        {"objectSize", "3", "objectSize: 3 is not a power of two"},
        {"objectSize", "18446744073709551615",
         "objectSize: 18446744073709551615 is not a power of two"},
        {"objectSize", "1", "objectSize: 1 is not between 4096 and 33554432"},
        {"objectSize", "2048", "objectSize: 2048 is not between 4096 and 33554432"},
        {"objectSize", "67108864", "objectSize: 67108864 is not between 4096 and 33554432"},
        {"objectSize", "9223372036854775808",
         "objectSize: 9223372036854775808 is not between 4096 and 33554432"},
        {"encrypted", "yes", "encrypted: 'yes' is not a boolean (true or false)"},
        {"encrypted", "", "encrypted: '' is not a boolean (true or false)"},
        {"encrypted", "true",
         "parameter encrypted: this driver does not encrypt volumes; leave it out or keep such "
         "classes with Ceph-CSI"},
        {"encrypted", "1",
         "parameter encrypted: this driver does not encrypt volumes; leave it out or keep such "
         "classes with Ceph-CSI"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_strmap_ struct strmap parameters = make_class();

        strmap_set(&parameters, cases[i].key, cases[i].value);
        assert_refused(&parameters, cases[i].message);
    }
}

TEST(parameters_that_others_read_are_not_checked)
{
    static const char *const pairs[][2] = {
        {"imageFormat", "2"},
        {"imageFormat", ""},
        {"someFutureKey", "whatever"},
        {"mounter", "something-else"}, /* Ceph-CSI does not refuse it at creation either */
        {"mounter", ""},
        {"radosNamespace", "other"},
        {"encrypted", "false"},
        {"encrypted", "F"},
        {"encryptionKMSID", ""},
        {"encryptionType", "file"},
        {"tryOtherMounters", "maybe"},
        {"Pool", ""}, /* keys of a class are case-sensitive */
        {"csi.storage.k8s.io/fstype", ""},
        {"", ""},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++) {
        _cleanup_strmap_ struct strmap parameters = make_class();
        struct rbd_parameters parsed;

        strmap_set(&parameters, pairs[i][0], pairs[i][1]);
        assert_parsed(&parameters, &parsed);
        assert_string_equal(parsed.pool, "replicapool");
    }
}

TEST(cluster_id_is_needed)
{
    _cleanup_strmap_ struct strmap none = {0};
    _cleanup_strmap_ struct strmap parameters = make_class();

    assert_refused(&none, "parameter clusterID is missing");
    strmap_remove(&parameters, "clusterID");
    assert_refused(&parameters, "parameter clusterID is missing");
    strmap_set(&parameters, "clusterid", "rook-ceph");
    assert_refused(&parameters, "parameter clusterID is missing");
}

TEST(longest_cluster_id_fits)
{
    _cleanup_strmap_ struct strmap parameters = make_class();
    struct rbd_parameters parsed;

    strmap_set(&parameters, "clusterID", LETTERS_64);
    assert_parsed(&parameters, &parsed);
    assert_string_equal(parsed.cluster_id, LETTERS_64);
}

TEST(pool_is_needed_unless_topology_names_pools)
{
    static const char pools[] = "[{\"poolName\": \"zone-a\"}]";
    static const struct {
        const char *pool;     /* NULL: absent */
        const char *topology; /* NULL: absent */
        const char *message;  /* NULL: fine */
    } cases[] = {
        {"rbd", NULL, NULL},
        {"rbd", "", NULL},
        {"rbd", pools, NULL},
        {NULL, pools, NULL},
        {NULL, NULL, "parameter pool is missing"},
        {NULL, "", "parameter pool is missing"},
        {"", NULL, "parameter pool is empty"},
        {"", "", "parameter pool is empty"},
        {"", pools, "parameter pool is empty"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_strmap_ struct strmap parameters = {0};
        struct rbd_parameters parsed;

        strmap_set(&parameters, "clusterID", "rook-ceph");
        if (cases[i].pool)
            strmap_set(&parameters, "pool", cases[i].pool);
        if (cases[i].topology)
            strmap_set(&parameters, "topologyConstrainedPools", cases[i].topology);
        if (cases[i].message) {
            assert_refused(&parameters, cases[i].message);
            continue;
        }
        assert_parsed(&parameters, &parsed);
        if (cases[i].pool)
            assert_string_equal(parsed.pool, cases[i].pool);
        else
            assert_null(parsed.pool);
    }
}

TEST(object_size_becomes_an_order)
{
    static const struct {
        const char *size;
        uint64_t order;
    } cases[] = {
        {"4096", 12},    {"65536", 16},    {"1048576", 20},
        {"4194304", 22}, {"33554432", 25}, {"0", 0}, /* librbd's choice */
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_strmap_ struct strmap parameters = make_class();
        struct rbd_parameters parsed;

        strmap_set(&parameters, "objectSize", cases[i].size);
        assert_parsed(&parameters, &parsed);
        assert_true(parsed.image.object_order == cases[i].order);
    }
}

TEST(stripes_are_given_together_or_not_at_all)
{
    static const struct {
        const char *unit;
        const char *count;
        bool fine;
    } cases[] = {
        {"4096", "8", true},  {"0", "0", true},  {"18446744073709551615", "1", true},
        {"4096", "0", false}, {"0", "8", false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_strmap_ struct strmap parameters = make_class();
        struct rbd_parameters parsed;

        strmap_set(&parameters, "stripeUnit", cases[i].unit);
        strmap_set(&parameters, "stripeCount", cases[i].count);
        if (cases[i].fine)
            assert_parsed(&parameters, &parsed);
        else
            assert_refused(&parameters, "stripeUnit and stripeCount must be given together");
    }
}

TEST(owner_is_the_namespace_of_the_claim)
{
    _cleanup_strmap_ struct strmap parameters = make_class();
    struct rbd_parameters parsed;

    strmap_set(&parameters, "csi.storage.k8s.io/pvc/namespace", "shop");
    assert_parsed(&parameters, &parsed);
    assert_string_equal(parsed.owner, "shop");
    strmap_set(&parameters, "csi.storage.k8s.io/pvc/namespace", "");
    assert_parsed(&parameters, &parsed);
    assert_null(parsed.owner);
}

TEST(journaling_asks_for_the_mounter_of_the_class)
{
    _cleanup_strmap_ struct strmap parameters = make_class();
    struct rbd_parameters parsed;
    static const char refusal[] = "imageFeatures: 'journaling' needs 'mounter: rbd-nbd', because "
                                  "the kernel's client does not have it";

    strmap_set(&parameters, "imageFeatures", "exclusive-lock,journaling");
    assert_refused(&parameters, refusal);
    strmap_set(&parameters, "mounter", "rbd");
    assert_refused(&parameters, refusal);
    strmap_set(&parameters, "mounter", "rbd-nbd");
    assert_parsed(&parameters, &parsed);
    assert_true(parsed.image.features == (EXCLUSIVE_LOCK | JOURNALING));
}

TEST(features_are_bits)
{
    static const struct {
        const char *text;
        const char *mounter;
        uint64_t bits;
    } cases[] = {
        {"layering", "rbd", LAYERING},
        {"exclusive-lock", "rbd", EXCLUSIVE_LOCK},
        {"deep-flatten", "rbd", DEEP_FLATTEN},
        {"layering,exclusive-lock", "rbd", LAYERING | EXCLUSIVE_LOCK},
        {"exclusive-lock,object-map", "rbd", EXCLUSIVE_LOCK | OBJECT_MAP},
        {"object-map,exclusive-lock", "rbd", EXCLUSIVE_LOCK | OBJECT_MAP}, /* any order */
        {"fast-diff,object-map,exclusive-lock", "rbd", EXCLUSIVE_LOCK | OBJECT_MAP | FAST_DIFF},
        {"exclusive-lock,journaling", "rbd-nbd", EXCLUSIVE_LOCK | JOURNALING},
        {"layering,layering", "rbd", LAYERING}, /* twice is once */
        {"layering,exclusive-lock,object-map,fast-diff,deep-flatten,journaling", "rbd-nbd",
         LAYERING | EXCLUSIVE_LOCK | OBJECT_MAP | FAST_DIFF | DEEP_FLATTEN | JOURNALING},
        {"layering", "rbd-nbd", LAYERING},
        {"layering", "", LAYERING},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        uint64_t bits = 0;

        if (rbd_features_parse(cases[i].text, cases[i].mounter, &bits, &err) < 0)
            fail_msg("'%s': %s", cases[i].text, err.message);
        if (bits != cases[i].bits)
            fail_msg("'%s': got %llu", cases[i].text, (unsigned long long)bits);
    }
}

TEST(impossible_features_are_refused)
{
    static const struct {
        const char *text;
        const char *mounter;
        const char *message;
    } cases[] = {
        /* dependencies */
        {"object-map", "rbd", "imageFeatures: 'object-map' needs 'exclusive-lock' as well"},
        {"layering,object-map", "rbd",
         "imageFeatures: 'object-map' needs 'exclusive-lock' as well"},
        {"fast-diff", "rbd", "imageFeatures: 'fast-diff' needs 'object-map' as well"},
        {"exclusive-lock,fast-diff", "rbd",
         "imageFeatures: 'fast-diff' needs 'object-map' as well"},
        {"object-map,fast-diff", "rbd",
         "imageFeatures: 'object-map' needs 'exclusive-lock' as well"},
        {"journaling", "rbd-nbd", "imageFeatures: 'journaling' needs 'exclusive-lock' as well"},
        {"journaling", "rbd", "imageFeatures: 'journaling' needs 'exclusive-lock' as well"},
        {"exclusive-lock,journaling", "rbd",
         "imageFeatures: 'journaling' needs 'mounter: rbd-nbd', because the kernel's client does "
         "not have it"},
        {"exclusive-lock,journaling", "nbd",
         "imageFeatures: 'journaling' needs 'mounter: rbd-nbd', because the kernel's client does "
         "not have it"},
        /* names */
        {"", "rbd", "imageFeatures: unknown feature ''"},
        {",", "rbd", "imageFeatures: unknown feature ''"},
        {",layering", "rbd", "imageFeatures: unknown feature ''"},
        {"layering,", "rbd", "imageFeatures: unknown feature ''"},
        {"layering,,deep-flatten", "rbd", "imageFeatures: unknown feature ''"},
        {"layering, exclusive-lock", "rbd", /* spaces are not trimmed, as in Ceph-CSI */
         "imageFeatures: unknown feature ' exclusive-lock'; did you mean 'exclusive-lock'?"},
        {"layering ", "rbd",
         "imageFeatures: unknown feature 'layering '; did you mean 'layering'?"},
        {"Layering", "rbd", "imageFeatures: unknown feature 'Layering'; did you mean 'layering'?"},
        {"exclusive_lock", "rbd",
         "imageFeatures: unknown feature 'exclusive_lock'; did you mean 'exclusive-lock'?"},
        {"striping", "rbd", "imageFeatures: unknown feature 'striping'"},
        {"data-pool", "rbd", "imageFeatures: unknown feature 'data-pool'"},
        {"61", "rbd", "imageFeatures: unknown feature '61'"},
        {"layering;exclusive-lock", "rbd",
         "imageFeatures: unknown feature 'layering;exclusive-lock'"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        uint64_t bits = 42;

        if (rbd_features_parse(cases[i].text, cases[i].mounter, &bits, &err) == 0)
            fail_msg("'%s' was accepted", cases[i].text);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_string_equal(err.message, cases[i].message);
        assert_true(bits == 42);
    }
}
