/* Limits on I/O: from classes to metadata, and when the volume grows. */
#include "controller/rbd/qos.h"

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/must.h"
#include "tests/unit/fixtures/backends.h"
#include "tests/unit/fixtures/cluster_config.h"

#define RBD_STAGED WITH_STAGE(RBD_SETUP)

/* "key=value key=value" */
static void fill(struct strmap *map, const char *text)
{
    _cleanup_free_ char *copy = xstrdup(text);
    char *rest = copy;
    char *word = NULL;

    while ((word = strsep(&rest, " "))) {
        char *value = strchr(word, '=');

        if (!value)
            continue;
        *value = '\0';
        strmap_set(map, word, value + 1);
    }
}

static void assert_metadata(const char *parameters, uint64_t gib, const char *wanted)
{
    _cleanup_strmap_ struct strmap given = {0};
    _cleanup_strmap_ struct strmap expected = {0};
    _cleanup_strmap_ struct strmap entries = {0};

    fill(&given, parameters);
    fill(&expected, wanted);
    must(qos_check(&given, &err));
    qos_to_metadata(&given, gib << 30, &entries);
    if (strmap_is_equal(&entries, &expected))
        return;
    for (size_t i = 0; i < entries.count; i++)
        print_message("got %s=%s\n", entries.entries[i].key, entries.entries[i].value);
    fail_msg("%s: not %s", parameters, wanted);
}

TEST(policy_becomes_limits_of_librbd_and_is_kept)
{
    assert_metadata("baseIops=1800", 1,
                    "conf_rbd_qos_iops_limit=1800 rbd_base_qos_iops_limit=1800");
    assert_metadata("baseReadBps=10 baseWriteIops=20", 1,
                    "conf_rbd_qos_read_bps_limit=10 rbd_base_qos_read_bps_limit=10 "
                    "conf_rbd_qos_write_iops_limit=20 rbd_base_qos_write_iops_limit=20");
}

#define GROWING "baseReadIops=2000 readIopsPerGiB=20 maxReadIops=3000 baseVolSizeBytes=21474836480"
#define KEPT                                                                                       \
    " rbd_base_qos_read_iops_limit=2000 rbd_read_iops_per_gib_limit=20 "                           \
    "rbd_max_qos_read_iops_limit=3000 rbd_base_qos_vol_size=21474836480"

TEST(limits_grow_with_the_size_up_to_their_maximum)
{
    static const struct {
        uint64_t gib;
        const char *limit;
    } cases[] = {{1, "2000"},  {20, "2000"}, {21, "2020"},    {69, "2980"},
                 {70, "3000"}, {71, "3000"}, {100000, "3000"}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *wanted =
            xasprintf("conf_rbd_qos_read_iops_limit=%s" KEPT, cases[i].limit);

        assert_metadata(GROWING, cases[i].gib, wanted);
    }
}

TEST(part_of_a_gib_does_not_count)
{
    _cleanup_strmap_ struct strmap given = {0};
    _cleanup_strmap_ struct strmap entries = {0};

    fill(&given, GROWING);
    qos_to_metadata(&given, (22ULL << 30) - 1, &entries);
    assert_string_equal(strmap_get(&entries, "conf_rbd_qos_read_iops_limit"), "2020");
}

TEST(policy_without_size_or_maximum)
{
    assert_metadata("baseBps=5 bpsPerGiB=7", 50,
                    "conf_rbd_qos_bps_limit=5 rbd_base_qos_bps_limit=5 rbd_bps_per_gib_limit=7");
    assert_metadata("baseBps=5 bpsPerGiB=7 maxBps=max baseVolSizeBytes=0", 2,
                    "conf_rbd_qos_bps_limit=19 rbd_base_qos_bps_limit=5 rbd_bps_per_gib_limit=7 "
                    "rbd_base_qos_vol_size=0");
    assert_metadata("iopsPerGiB=5 maxIops=7 baseVolSizeBytes=0", 2, ""); /* there is no base */
    assert_metadata("baseIops=0", 2, "rbd_base_qos_iops_limit=0");
    assert_metadata("baseIops=1 iopsPerGiB=9223372036854775807 baseVolSizeBytes=0", 9,
                    "conf_rbd_qos_iops_limit=9223372036854775807 rbd_base_qos_iops_limit=1 "
                    "rbd_iops_per_gib_limit=9223372036854775807 rbd_base_qos_vol_size=0");
}

TEST(former_names_are_understood)
{
    assert_metadata("BaseReadBytesPerSecond=100 ReadBpsPerGiB=10 BaseVolSizeBytes=1073741824", 3,
                    "conf_rbd_qos_read_bps_limit=120 rbd_base_qos_read_bps_limit=100 "
                    "rbd_read_bps_per_gib_limit=10 rbd_base_qos_vol_size=1073741824");
    assert_metadata("BaseWriteIops=1 baseWriteIops=2", 1,
                    "conf_rbd_qos_write_iops_limit=2 rbd_base_qos_write_iops_limit=2");
}

TEST(maxima_alone_are_for_cgroups)
{
    assert_metadata("maxReadIops=100 maxWriteBps=max", 1,
                    ".rbd.csi.ceph.com/cgroup_qos_max_read_iops=100 "
                    ".rbd.csi.ceph.com/cgroup_qos_max_write_bps=max");
    assert_metadata("maxWriteIops=0 maxReadBps=5", 1,
                    ".rbd.csi.ceph.com/cgroup_qos_max_write_iops=0 "
                    ".rbd.csi.ceph.com/cgroup_qos_max_read_bps=5");
    assert_metadata("", 1, "");
}

TEST(options_of_librbd_stay_what_they_were)
{
    assert_metadata("rbd_qos_iops_limit=500 rbd_qos_write_bps_burst=9 rbd_qos_bps_limit=0", 1,
                    "conf_rbd_qos_iops_limit=500 conf_rbd_qos_write_bps_burst=9");
}

TEST(mistakes_are_told)
{
    static const struct {
        const char *parameters;
        const char *part;
    } cases[] = {
        {"baseIop=1", "'baseIop' is not known"},
        {"baseIop=1", "did you mean 'baseIops'?"},
        {"maxreadiops=1", "did you mean 'maxReadIops'?"},
        {"pool=rbd", "'pool' is not known"},
        {"baseIops=1k", "baseIops: '1k' is not a whole number"},
        {"baseIops=max", "baseIops: 'max' is not a whole number"},
        {"baseIops=-1", "baseIops: '-1' is not"},
        {"baseIops=9223372036854775808", "is not below 2^63"},
        {"maxReadIops=much", "'max' is no limit"},
        {"rbd_qos_iops_limit=1 baseIops=2",
         "'rbd_qos_iops_limit' and 'baseIops' cannot be in one class"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_strmap_ struct strmap given = {0};

        fill(&given, cases[i].parameters);
        must_refuse(qos_check(&given, &err), STATUS_INVALID_ARGUMENT, cases[i].part);
    }
}

TEST(keys_of_limits_are_known_from_others)
{
    static const char *const ours[] = {"conf_rbd_qos_iops_limit", "rbd_base_qos_vol_size",
                                       "rbd_max_qos_bps_limit", "rbd_write_bps_per_gib_limit",
                                       ".rbd.csi.ceph.com/cgroup_qos_max_read_iops"};
    static const char *const others[] = {"conf_rbd_cache", "rbd_something",
                                         ".rbd.csi.ceph.com/userid/x", "per_gib_limit"};

    for (size_t i = 0; i < ARRAY_LENGTH(ours); i++)
        assert_true(qos_has_key(ours[i]));
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
        assert_false(qos_has_key(others[i]));
}

/* --- volumes --- */

static int modify(struct stage *stage, const char *parameters, struct error *err)
{
    _cleanup_(modify_request_done) struct modify_request request = {
        .handle = xstrdup(stage->world.volume)};
    struct call call;

    fill(&request.mutable_parameters, parameters);
    set_credentials(&request.credentials);
    call_init(&call, 1, "ControllerModifyVolume", deadline_never());
    int result = controller_modify_volume(&stage->process.controller, &call, &request, err);
    call_done(&call);
    return result;
}

static void create(struct stage *stage)
{
    must(step_create_volume(&stage->process, &stage->world, &err));
}

TEST(class_replaces_all_limits_and_an_empty_one_lifts_them, RBD_STAGED)
{
    struct stage *stage = *state;

    create(stage);
    must(modify(stage, "baseIops=100 iopsPerGiB=10 baseVolSizeBytes=0", &err));
    assert_holds(stage, "metadata [conf_rbd_qos_iops_limit] = 110");
    must(modify(stage, "baseBps=5", &err));
    assert_holds_not(stage, "iops");
    assert_holds(stage, "metadata [conf_rbd_qos_bps_limit] = 5");
    must(modify(stage, "maxReadIops=7", &err));
    assert_holds_not(stage, "conf_rbd_qos");
    assert_holds_not(stage, "rbd_base_qos");
    assert_holds(stage, "metadata [.rbd.csi.ceph.com/cgroup_qos_max_read_iops] = 7");
    must(modify(stage, "", &err));
    assert_holds_not(stage, "qos");
}

TEST(unchanged_class_writes_nothing, RBD_STAGED)
{
    struct stage *stage = *state;

    create(stage);
    must(modify(stage, "maxReadIops=7", &err));
    fake_ceph_interrupt_before(stage->world.fake, "image_metadata_change",
                               (fake_ceph_interrupt)(void (*)(void))abort, NULL);
    must(modify(stage, "maxReadIops=7", &err));
    fake_ceph_interrupt_before(stage->world.fake, NULL, NULL, NULL);
}

TEST(mistake_changes_nothing, RBD_STAGED)
{
    struct stage *stage = *state;

    create(stage);
    must_refuse(modify(stage, "maxReadIops=7 maxWriteIop=8", &err), STATUS_INVALID_ARGUMENT,
                "did you mean 'maxWriteIops'?");
    assert_holds_not(stage, "qos");
}

TEST(limits_grow_with_the_volume, RBD_STAGED)
{
    struct stage *stage = *state;

    create(stage);
    must(
        modify(stage, "baseIops=100 iopsPerGiB=10 maxIops=115 baseVolSizeBytes=0 baseBps=5", &err));
    assert_holds(stage, "metadata [conf_rbd_qos_iops_limit] = 110");
    must(step_expand(&stage->process, &stage->world, &err));
    assert_holds(stage, "metadata [conf_rbd_qos_iops_limit] = 115");
    assert_holds(stage, "metadata [conf_rbd_qos_bps_limit] = 5");
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
