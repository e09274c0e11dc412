#include <pthread.h>

#include "common/base/cleanup.h"
#include "common/base/memory.h"
#include "common/encoding/uuid.h"
#include "tests/test.h"

TEST(new_uuid_is_a_random_one_in_lower_case)
{
    for (int i = 0; i < 100; i++) {
        struct uuid_text uuid = uuid_text_generate();

        assert_int_equal(strlen(uuid.chars), UUID_LENGTH);
        assert_true(uuid_text_is_valid(uuid.chars));
        assert_int_equal(strspn(uuid.chars, "0123456789abcdef-"), UUID_LENGTH);
        assert_int_equal(uuid.chars[14], '4');           /* version */
        assert_non_null(strchr("89ab", uuid.chars[19])); /* variant of RFC 4122 */
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct uuid_text *)a)->chars, ((const struct uuid_text *)b)->chars);
}

static void assert_all_differ(struct uuid_text *uuids, size_t count)
{
    qsort(uuids, count, sizeof(*uuids), compare);
    for (size_t i = 1; i < count; i++)
        assert_string_not_equal(uuids[i - 1].chars, uuids[i].chars);
}

TEST(new_uuids_differ)
{
    static struct uuid_text uuids[10000];

    for (size_t i = 0; i < ARRAY_LENGTH(uuids); i++)
        uuids[i] = uuid_text_generate();
    assert_all_differ(uuids, ARRAY_LENGTH(uuids));
}

enum { THREADS = 8, UUIDS_PER_THREAD = 500 };

static void *generate_some(void *context)
{
    struct uuid_text *uuids = context;

    for (size_t i = 0; i < UUIDS_PER_THREAD; i++)
        uuids[i] = uuid_text_generate();
    return NULL;
}

TEST(threads_get_different_uuids)
{
    static struct uuid_text uuids[THREADS * UUIDS_PER_THREAD];
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, generate_some, &uuids[i * UUIDS_PER_THREAD]), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_all_differ(uuids, ARRAY_LENGTH(uuids));
}

TEST(uuid_of_any_version_and_case_is_one)
{
    static const char *const cases[] = {
        "8d74fb16-d233-49ea-8826-ea13fe37b778", /* version 4: Ceph-CSI since 3.8 */
        "b0285c97-a0ce-11eb-8c66-0242ac110002", /* version 1: Ceph-CSI before */
        "8D74FB16-D233-49EA-8826-EA13FE37B778", "8d74FB16-d233-49ea-8826-EA13fe37b778",
        "018bd12c-58b0-7683-8a5b-8752d0e86651", /* version 7 */
        "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "0123abcd-4567-ef89-ABCD-EF0123456789",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        if (!uuid_text_is_valid(cases[i]))
            fail_msg("'%s' was refused", cases[i]);
}

TEST(other_text_is_no_uuid)
{
    static const char *const cases[] = {
        "",
        "-",
        "----",
        "8d74fb16",
        "8d74fb16d23349ea8826ea13fe37b778",                /* no dashes */
        "8d74fb16d23349ea8826ea13fe37b7780000",            /* no dashes, the right length */
        "{8d74fb16-d233-49ea-8826-ea13fe37b778}",          /* braces */
        "urn:uuid:8d74fb16-d233-49ea-8826-ea13fe37b778",   /* scheme */
        "8d74fb16-d233-49ea-8826-ea13fe37b77",             /* one digit short */
        "8d74fb16-d233-49ea-8826-ea13fe37b7788",           /* one too many */
        "8d74fb16-d233-49ea-8826-ea13fe37b778 ",           /* space behind */
        "8d74fb16-d233-49ea-8826-ea13fe37b778\n",          /* newline behind */
        " 8d74fb16-d233-49ea-8826-ea13fe37b778",           /* space before */
        " d74fb16-d233-49ea-8826-ea13fe37b778",            /* space for a digit */
        "8d74fb1-6d233-49ea-8826-ea13fe37b778",            /* first dash too early */
        "8d74fb16d-233-49ea-8826-ea13fe37b778",            /* and too late */
        "8d74fb16-d23-349ea-8826-ea13fe37b778",            /* second dash */
        "8d74fb16-d233-49e-a8826-ea13fe37b778",            /* third dash */
        "8d74fb16-d233-49ea-882-6ea13fe37b778",            /* fourth dash */
        "8d74fb16_d233_49ea_8826_ea13fe37b778",            /* other separator */
        "8d74fb16-d233-49ea-8826-ea13fe37b77g",            /* no digit */
        "8d74fb16-d233-49ea-8826-ea13fe37b77-",            /* a dash too many */
        "+d74fb16-d233-49ea-8826-ea13fe37b778",            /* sign */
        "0x74fb16-d233-49ea-8826-ea13fe37b778",            /* base */
        "8d74fb16-d233-49ea-8826-ea13fe37b7\xc3\xa9",      /* not ASCII */
        "8d74fb16-d233-49ea-8826-ea13/e37b778",            /* path */
        "XXXXXXXX-XXXX-XXXX-XXXX-XXXXXXXXXXXX",            /* pattern */
        "8d74fb16-d233-49ea-8826-ea13fe37b778-ea13fe37b7", /* more behind */
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        if (uuid_text_is_valid(cases[i]))
            fail_msg("'%s' was accepted", cases[i]);
}

/* Each in memory of its own, so that a sanitizer sees a byte read behind the end. */
TEST(text_is_not_read_behind_its_end)
{
    static const char uuid[] = "8d74fb16-d233-49ea-8826-ea13fe37b778";

    for (size_t length = 0; length < UUID_LENGTH; length++) {
        _cleanup_free_ char *cut = xstrndup(uuid, length);

        assert_false(uuid_text_is_valid(cut));
    }
    _cleanup_free_ char *whole = xstrdup(uuid);
    assert_true(uuid_text_is_valid(whole));
}

TEST(uuid_at_the_end_of_a_name)
{
    const char *name = "csi-vol-0c2e7d34-6f7b-4a0a-9c0d-1f6f7d2e9a11-temp";
    const size_t length = strlen(name) - strlen("-temp");
    struct uuid_text uuid;

    assert_true(uuid_text_at_end(name, length, &uuid));
    assert_string_equal(uuid.chars, "0c2e7d34-6f7b-4a0a-9c0d-1f6f7d2e9a11");
    assert_true(uuid_text_at_end(uuid.chars, UUID_LENGTH, &uuid));
    assert_false(uuid_text_at_end(name, strlen(name), &uuid));
    assert_false(uuid_text_at_end(name, length - 1, &uuid));
    assert_false(uuid_text_at_end("short", 5, &uuid));
}
