#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/volume/migration.h"
#include "tests/test.h"

#define HASH "b7f67366bb43f32e07d8a261a7840da9"
#define UUID "e0b45b52-7e09-47d3-8f1b-806995fa4412"
#define START "mig_mons-" HASH "_image-" UUID "_"

static void assert_refused(const char *handle)
{
    struct migrated_id id = {.pool = "untouched"};
    _cleanup_error_ struct error err = {0};

    if (migrated_id_parse(handle, &id, &err) == 0)
        fail_msg("'%s' was accepted", handle);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    assert_string_equal(id.pool, "untouched");
}

TEST(handle_names_cluster_image_and_pool)
{
    struct migrated_id id = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(migrated_id_parse(START "7265706c696361706f6f6c", &id, &err), 0);
    assert_string_equal(id.cluster_id, HASH);
    assert_string_equal(id.image_name, "kubernetes-dynamic-pvc-" UUID);
    assert_string_equal(id.pool, "replicapool");
}

TEST(pool_names_may_have_any_printable_character)
{
    struct migrated_id id = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(migrated_id_parse(START "5f612e2d20c3a4", &id, &err), 0);
    assert_string_equal(id.pool, "_a.- \xc3\xa4");
}

TEST(handles_of_the_journal_are_told_apart)
{
    assert_true(migrated_id_is(START "7265"));
    assert_true(migrated_id_is("mig_mons-"));
    assert_false(migrated_id_is("0001-0009-rook-ceph-0000000000000002-" UUID));
    assert_false(migrated_id_is(""));
    assert_false(migrated_id_is("mig_image-" UUID "_mons-" HASH "_7265"));
}

TEST(broken_handles_are_refused)
{
    static const char *const broken[] = {
        "",
        "mig_mons-",
        "mig_mons-" HASH,
        "mig_mons-" HASH "_image-",
        "mig_mons-" HASH "_image-" UUID,
        START,
        START "7",
        START "726",
        START "726g",
        START "72_65",
        START "72 5",
        START "7265\n",
        START "7200",
        START "722f",
        START "720a",
        START "7F",
        "mig_mons-_image-" UUID "_7265",
        "mig_mons-a/b_image-" UUID "_7265",
        "mig_mons-" HASH "_image-e0b45b52_7265",
        "mig_mons-" HASH "_image-" UUID "0_7265",
        "mig_mons-" HASH "_image-../../7e09-47d3-8f1b-806995fa441200000_7265",
        "mig_mons-" HASH "_" UUID "_7265",
        "xmig_mons-" HASH "_image-" UUID "_7265",
        "0001-0009-rook-ceph-0000000000000002-" UUID,
    };

    for (size_t i = 0; i < ARRAY_LENGTH(broken); i++)
        assert_refused(broken[i]);
}

static char *repeat(const char *start, const char *part, size_t times, const char *end)
{
    struct text text = TEXT_INIT(65536);

    text_add(&text, start);
    for (size_t i = 0; i < times; i++)
        text_add(&text, part);
    text_add(&text, end);
    return text_take(&text);
}

TEST(lengths_are_bounded)
{
    _cleanup_free_ char *pool = repeat(START, "61", MIGRATED_POOL_MAX, "");
    _cleanup_free_ char *long_pool = repeat(START, "61", MIGRATED_POOL_MAX + 1, "");
    _cleanup_free_ char *cluster =
        repeat("mig_mons-", "c", VOLUME_ID_CLUSTER_MAX, "_image-" UUID "_7265");
    _cleanup_free_ char *long_cluster =
        repeat("mig_mons-", "c", VOLUME_ID_CLUSTER_MAX + 1, "_image-" UUID "_7265");
    struct migrated_id id = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(migrated_id_parse(pool, &id, &err), 0);
    assert_int_equal(strlen(id.pool), MIGRATED_POOL_MAX);
    assert_refused(long_pool);
    assert_int_equal(migrated_id_parse(cluster, &id, &err), 0);
    assert_int_equal(strlen(id.cluster_id), VOLUME_ID_CLUSTER_MAX);
    assert_refused(long_cluster);
}
