#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/volume/volume_id.h"
#include "tests/test.h"

#define UUID "b0285c97-a0ce-11eb-8c66-0242ac110002"
#define HANDLE "0001-0009-rook-ceph-0000000000000002-" UUID
#define LETTERS_64 "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_"

static struct volume_id make_id(const char *cluster_id, uint64_t location_id, const char *uuid)
{
    struct volume_id id = {.location_id = location_id};

    assert_true(strlen(cluster_id) <= VOLUME_ID_CLUSTER_MAX);
    memcpy(id.cluster_id, cluster_id, strlen(cluster_id));
    memcpy(id.uuid.chars, uuid, UUID_LENGTH);
    return id;
}

static void assert_parsed(const char *handle, const char *cluster_id, uint64_t location_id,
                          const char *uuid)
{
    _cleanup_error_ struct error err = {0};
    struct volume_id id = {0};

    if (volume_id_parse(handle, &id, &err) < 0)
        fail_msg("%s", err.message);
    assert_null(err.message);
    assert_string_equal(id.cluster_id, cluster_id);
    assert_true(id.location_id == location_id);
    assert_string_equal(id.uuid.chars, uuid);
}

/* Refused as naming nothing of ours, and without a trace in the result. */
static void assert_refused(const char *handle, const char *fault)
{
    const struct volume_id before = make_id("untouched", 77, UUID);
    struct volume_id id = before;
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *expected =
        xasprintf("'%.128s' is not a handle of this driver: %s", handle, fault);

    if (volume_id_parse(handle, &id, &err) == 0)
        fail_msg("'%s' was accepted", handle);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    assert_string_equal(err.message, expected);
    assert_memory_equal(&id, &before, sizeof(id));
}

/* For tests in which the reason does not matter. */
static void assert_not_parsed(const char *handle)
{
    _cleanup_error_ struct error err = {0};
    struct volume_id id = {0};

    if (volume_id_parse(handle, &id, &err) == 0)
        fail_msg("'%s' was accepted", handle);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
}

/* Handles that Ceph-CSI made, worked out field by field. */
static const struct {
    const char *cluster_id;
    uint64_t location_id;
    const char *uuid;
    const char *handle;
    size_t length;
} WORKED[] = {
    {"rook-ceph", 2, "b0285c97-a0ce-11eb-8c66-0242ac110002",
     "0001-0009-rook-ceph-0000000000000002-b0285c97-a0ce-11eb-8c66-0242ac110002", 73},
    {"01616094-9d93-4178-bf45-c7eac19e8b15", 11, "8d74fb16-d233-49ea-8826-ea13fe37b778",
     "0001-0024-01616094-9d93-4178-bf45-c7eac19e8b15-000000000000000b-"
     "8d74fb16-d233-49ea-8826-ea13fe37b778",
     100},
};

TEST(handles_are_written_as_ceph_csi_writes_them)
{
    for (size_t i = 0; i < ARRAY_LENGTH(WORKED); i++) {
        struct volume_id id = make_id(WORKED[i].cluster_id, WORKED[i].location_id, WORKED[i].uuid);
        char handle[VOLUME_ID_LENGTH_MAX + 1];

        volume_id_format(&id, handle);
        assert_string_equal(handle, WORKED[i].handle);
        assert_int_equal(strlen(handle), WORKED[i].length);
    }
}

TEST(handles_of_ceph_csi_are_understood)
{
    for (size_t i = 0; i < ARRAY_LENGTH(WORKED); i++)
        assert_parsed(WORKED[i].handle, WORKED[i].cluster_id, WORKED[i].location_id,
                      WORKED[i].uuid);
}

TEST(what_is_written_is_read_back)
{
    static const struct {
        const char *cluster_id;
        uint64_t location_id;
    } cases[] = {
        {"c", 0},
        {"c", 1},
        {"-", 2}, /* the separator itself */
        {"--------", 3},
        {"0001-0009-rook-ceph-0000000000000002", 4}, /* looks like a handle */
        {"f5a1d000-0000-4000-8000-00000000f51d", 0x1234},
        {"with space", 5},
        {"z\xc3\xbcrich", 6},
        {"a.b:c,d;e=f@g#h%s%n", 7},
        {"backslash\\quote'\"", 8},
        {LETTERS_64, 9},
        {"c", 0xfedcba9876543210},
        {"c", INT64_MAX},
        {"c", UINT64_MAX},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct uuid_text uuid = uuid_text_generate();
        struct volume_id id = make_id(cases[i].cluster_id, cases[i].location_id, uuid.chars);
        char handle[VOLUME_ID_LENGTH_MAX + 1];

        volume_id_format(&id, handle);
        assert_int_equal(strlen(handle), 64 + strlen(cases[i].cluster_id));
        assert_parsed(handle, cases[i].cluster_id, cases[i].location_id, uuid.chars);
    }
}

TEST(longest_handle_has_128_bytes)
{
    struct volume_id id = make_id(LETTERS_64, 2, UUID);
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    volume_id_format(&id, handle);
    assert_string_equal(handle, "0001-0040-" LETTERS_64 "-0000000000000002-" UUID);
    assert_int_equal(strlen(handle), 128);
    assert_parsed(handle, LETTERS_64, 2, UUID);
    assert_refused("0001-0041-" LETTERS_64 "x-0000000000000002-" UUID, "its length is wrong");
}

TEST(digits_are_written_in_lower_case)
{
    struct volume_id id = make_id("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 0xABCDEF, UUID);
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    volume_id_format(&id, handle);
    assert_string_equal(handle, "0001-001a-ABCDEFGHIJKLMNOPQRSTUVWXYZ-0000000000abcdef-" UUID);
}

TEST(upper_case_digits_are_read)
{
    assert_parsed("0001-000A-abcdefghij-00000000ABCDEF01-" UUID, "abcdefghij", 0xabcdef01, UUID);
    assert_parsed("0001-000a-abcdefghij-FFFFFFFFFFFFFFFF-" UUID, "abcdefghij", UINT64_MAX, UUID);
    /* Names of objects are made from the uuid, so its case stays. */
    assert_parsed("0001-0001-c-0000000000000002-B0285C97-A0CE-11EB-8C66-0242AC110002", "c", 2,
                  "B0285C97-A0CE-11EB-8C66-0242AC110002");
}

TEST(any_encoding_version_is_read)
{
    static const char *const versions[] = {"0000", "0001", "0002", "00ff", "FFFF", "abcd"};

    for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
        _cleanup_free_ char *handle =
            xasprintf("%s-0009-rook-ceph-0000000000000002-" UUID, versions[i]);

        assert_parsed(handle, "rook-ceph", 2, UUID);
    }
}

TEST(uuid_of_any_version_is_read)
{
    static const char *const uuids[] = {
        "8d74fb16-d233-49ea-8826-ea13fe37b778", "b0285c97-a0ce-11eb-8c66-0242ac110002",
        "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"};

    for (size_t i = 0; i < ARRAY_LENGTH(uuids); i++) {
        _cleanup_free_ char *handle =
            xasprintf("0001-0009-rook-ceph-0000000000000002-%s", uuids[i]);

        assert_parsed(handle, "rook-ceph", 2, uuids[i]);
    }
}

#define LENGTH "its length is wrong"
#define START "it does not start with two hexadecimal fields"
#define CLUSTER_LENGTH "its cluster id has another length than it says"
#define CLUSTER "its cluster id has characters that none can have"
#define LOCATION "it has no 16-digit location"
#define END "it does not end in a uuid"

TEST(malformed_handles_name_nothing_of_ours)
{
    static const struct {
        const char *handle;
        const char *fault;
    } cases[] = {
        /* not even near */
        {"", LENGTH},
        {"0001", LENGTH},
        {"pvc-7e2b2f5c-6d0c-4f3e-9b0a-1c2d3e4f5a6b", LENGTH},
        {"csi-vol-" UUID, LENGTH}, /* image of a static volume */
        {"non-existent-volume-of-a-test-suite", LENGTH},
        {UUID, LENGTH},
        {"mig_mons-b7f67366bb43f32e07d8a261a7840da9_image-e0b45b52-7e09-47d3-8f1b-806995fa4412_"
         "7265706c696361706f6f6c",
         START}, /* migrated from the in-tree driver */
        /* no cluster id */
        {"0001-0000--0000000000000002-" UUID, LENGTH},
        {"0001-0000-0000000000000002-" UUID, LENGTH},
        /* version and length fields */
        {"0x01-0009-rook-ceph-0000000000000002-" UUID, START},
        {"   1-0009-rook-ceph-0000000000000002-" UUID, START},
        {"-001-0009-rook-ceph-0000000000000002-" UUID, START},
        {"+001-0009-rook-ceph-0000000000000002-" UUID, START},
        {"000g-0009-rook-ceph-0000000000000002-" UUID, START},
        {"0001-000G-rook-ceph-0000000000000002-" UUID, START},
        {"0001-0x09-rook-ceph-0000000000000002-" UUID, START},
        {"0001-   9-rook-ceph-0000000000000002-" UUID, START},
        {"0001-9-rook-ceph-0000000000000002-" UUID, START},
        {"1-0009-rook-ceph-0000000000000002-" UUID, START},
        {"00001-0009-rook-ceph-0000000000000002-" UUID, START},
        {"0001--009-rook-ceph-0000000000000002-" UUID, START},
        /* a length that does not fit */
        {"0001-0000-rook-ceph-0000000000000002-" UUID, CLUSTER_LENGTH},
        {"0001-0008-rook-ceph-0000000000000002-" UUID, CLUSTER_LENGTH},
        {"0001-000a-rook-ceph-0000000000000002-" UUID, CLUSTER_LENGTH},
        {"0001-0024-rook-ceph-0000000000000002-" UUID, CLUSTER_LENGTH},
        {"0001-0040-rook-ceph-0000000000000002-" UUID, CLUSTER_LENGTH},
        {"0001-ffff-rook-ceph-0000000000000002-" UUID, CLUSTER_LENGTH},
        {"0001-0009-rook-cep-0000000000000002-" UUID, CLUSTER_LENGTH},
        {"0001-0009-rook-cephs-0000000000000002-" UUID, CLUSTER_LENGTH},
        {"0001-0009-rook-ceph-000000000000002-" UUID, CLUSTER_LENGTH},
        {"0001-0009-rook-ceph-00000000000000002-" UUID, CLUSTER_LENGTH},
        {HANDLE "0", CLUSTER_LENGTH},
        {HANDLE " ", CLUSTER_LENGTH},
        {HANDLE "\n", CLUSTER_LENGTH},
        /* separators */
        {"0001_0009-rook-ceph-0000000000000002-" UUID, START},
        {"0001-0009_rook-ceph-0000000000000002-" UUID, START},
        {"0001-0009-rook-ceph_0000000000000002-" UUID, LOCATION},
        {"0001-0009-rook-ceph-0000000000000002_" UUID, LOCATION},
        {"0001-0009-rook-ceph00000000000000002-" UUID, LOCATION},
        /* cluster ids */
        {"0001-0009-rook/ceph-0000000000000002-" UUID, CLUSTER},
        {"0001-0009-/ook-ceph-0000000000000002-" UUID, CLUSTER},
        {"0001-0009-../../../-0000000000000002-" UUID, CLUSTER},
        {"0001-0009-rook\nceph-0000000000000002-" UUID, CLUSTER},
        {"0001-0009-rook\tceph-0000000000000002-" UUID, CLUSTER},
        {"0001-0009-\x1b[2J-ceph-0000000000000002-" UUID, CLUSTER},
        {"0001-0009-rook-cep\x7f-0000000000000002-" UUID, CLUSTER},
        {"0001-0009-\x01ook-ceph-0000000000000002-" UUID, CLUSTER},
        /* locations */
        {"0001-0009-rook-ceph-000000000000000g-" UUID, LOCATION},
        {"0001-0009-rook-ceph-0x00000000000002-" UUID, LOCATION},
        {"0001-0009-rook-ceph--000000000000002-" UUID, LOCATION},
        {"0001-0009-rook-ceph-+000000000000002-" UUID, LOCATION},
        {"0001-0009-rook-ceph-               2-" UUID, LOCATION},
        {"0001-0009-rook-ceph-00000000/0000002-" UUID, LOCATION},
        /* uuids */
        {"0001-0009-rook-ceph-0000000000000002-b0285c97_a0ce-11eb-8c66-0242ac110002", END},
        {"0001-0009-rook-ceph-0000000000000002-b0285c97-a0ce-11eb-8c66-0242ac11000g", END},
        {"0001-0009-rook-ceph-0000000000000002-b0285c97a-0ce-11eb-8c66-0242ac110002", END},
        {"0001-0009-rook-ceph-0000000000000002-b0285c97a0ce11eb8c660242ac1100020000", END},
        {"0001-0009-rook-ceph-0000000000000002-b0285c97-a0ce-11eb-8c66-0242ac11/002", END},
        {"0001-0009-rook-ceph-0000000000000002-b0285c97-a0ce-11eb-8c66-0242ac1100\n2", END},
        {"0001-0009-rook-ceph-0000000000000002-{0285c97-a0ce-11eb-8c66-0242ac11000}", END},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_refused(cases[i].handle, cases[i].fault);
}

/* Each in memory of its own, so that a sanitizer sees a byte read behind the end. */
TEST(handle_that_is_cut_off_is_refused)
{
    for (size_t length = 0; length < strlen(HANDLE); length++) {
        _cleanup_free_ char *cut = xstrndup(HANDLE, length);

        assert_not_parsed(cut);
    }
}

/* Outside of the cluster id every byte is a digit or a dash; inside neither of these may be. */
TEST(dangerous_byte_is_refused_anywhere)
{
    static const char bytes[] = {'/', '\n', '\r', '\t', '\x01', '\x1b', '\x7f'};

    for (size_t at = 0; at < strlen(HANDLE); at++) {
        for (size_t i = 0; i < sizeof(bytes); i++) {
            char handle[] = HANDLE;

            handle[at] = bytes[i];
            assert_not_parsed(handle);
        }
    }
}

TEST(letter_for_a_digit_or_dash_is_refused)
{
    const size_t cluster_start = strlen("0001-0009-");
    const size_t cluster_end = strlen("0001-0009-rook-ceph");

    for (size_t at = 0; at < strlen(HANDLE); at++) {
        char handle[] = HANDLE;

        if (at >= cluster_start && at < cluster_end)
            continue;
        handle[at] = 'g';
        assert_not_parsed(handle);
    }
}

TEST(digit_for_a_dash_is_refused)
{
    for (size_t at = 0; at < strlen(HANDLE); at++) {
        char handle[] = HANDLE;

        if (handle[at] != '-' || at == strlen("0001-0009-rook"))
            continue;
        handle[at] = '0';
        assert_not_parsed(handle);
    }
}

TEST(long_text_is_not_quoted_whole)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *handle = xcalloc(1, 100001);
    struct volume_id id = {0};

    memset(handle, 'a', 100000);
    assert_int_equal(volume_id_parse(handle, &id, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    assert_true(strlen(err.message) < 256);
    assert_true(text_has_suffix(err.message, LENGTH));
}

TEST(cluster_id_must_fit_into_a_handle)
{
    static const struct {
        const char *cluster_id;
        bool fits;
    } cases[] = {
        {"c", true},
        {"rook-ceph", true},
        {"01616094-9d93-4178-bf45-c7eac19e8b15", true},
        {"z\xc3\xbcrich", true},
        {"with space", true},
        {LETTERS_64, true},
        {"", false},
        {LETTERS_64 "x", false},
        {"a/b", false},
        {"/", false},
        {"a\nb", false},
        {"a\x7f", false},
        {"\x01", false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        if (volume_id_cluster_is_valid(cases[i].cluster_id) != cases[i].fits)
            fail_msg("'%s' should %s", cases[i].cluster_id, cases[i].fits ? "fit" : "not fit");
}
