#include <sys/uio.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/rpc/message.h"
#include "csi.pb-c.h"
#include "tests/test.h"

/* A message that CSI has no like of: recursive, with packed numbers and fixed-width ones. */
struct sample {
    ProtobufCMessage base;
    struct sample *inner;
    size_t n_numbers;
    int32_t *numbers;
    size_t n_fixed;
    uint64_t *fixed;
    size_t n_children;
    struct sample **children;
    ProtobufCBinaryData bytes;
};

static const ProtobufCMessageDescriptor sample_type;

static void sample_init(ProtobufCMessage *message)
{
    memset(message, 0, sizeof(struct sample));
    message->descriptor = &sample_type;
}

static const ProtobufCFieldDescriptor sample_fields[] = {
    {.name = "inner",
     .id = 1,
     .label = PROTOBUF_C_LABEL_NONE,
     .type = PROTOBUF_C_TYPE_MESSAGE,
     .offset = offsetof(struct sample, inner),
     .descriptor = &sample_type},
    {.name = "numbers",
     .id = 2,
     .label = PROTOBUF_C_LABEL_REPEATED,
     .type = PROTOBUF_C_TYPE_SINT32,
     .quantifier_offset = offsetof(struct sample, n_numbers),
     .offset = offsetof(struct sample, numbers)},
    {.name = "fixed",
     .id = 3,
     .label = PROTOBUF_C_LABEL_REPEATED,
     .type = PROTOBUF_C_TYPE_FIXED64,
     .quantifier_offset = offsetof(struct sample, n_fixed),
     .offset = offsetof(struct sample, fixed)},
    {.name = "children",
     .id = 4,
     .label = PROTOBUF_C_LABEL_REPEATED,
     .type = PROTOBUF_C_TYPE_MESSAGE,
     .quantifier_offset = offsetof(struct sample, n_children),
     .offset = offsetof(struct sample, children),
     .descriptor = &sample_type},
    {.name = "bytes",
     .id = 5,
     .label = PROTOBUF_C_LABEL_NONE,
     .type = PROTOBUF_C_TYPE_BYTES,
     .offset = offsetof(struct sample, bytes)},
};
static const unsigned sample_names[] = {4, 3, 2, 0, 1};
static const ProtobufCIntRange sample_ranges[] = {{1, 0}, {0, 5}};
static const ProtobufCMessageDescriptor sample_type = {
    .magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
    .name = "test.Sample",
    .short_name = "Sample",
    .c_name = "Sample",
    .package_name = "test",
    .sizeof_message = sizeof(struct sample),
    .n_fields = 5,
    .fields = sample_fields,
    .fields_sorted_by_name = sample_names,
    .n_field_ranges = 1,
    .field_ranges = sample_ranges,
    .message_init = sample_init,
};

struct wire_case {
    const ProtobufCMessageDescriptor *type;
    const char *bytes;
    size_t length;
    const char *error; /* NULL: passes */
};

#define WIRE(literal) literal, sizeof(literal) - 1
#define CREATE &csi__v1__create_volume_request__descriptor
#define NOT_CREATE "request is not a valid csi.v1.CreateVolumeRequest: "
#define NOT_SAMPLE "request is not a valid test.Sample: "

static const struct wire_case wire_cases[] = {
    {CREATE, WIRE(""), NULL},
    {CREATE, WIRE("\x0a\x05pvc-1"), NULL},
    {CREATE, WIRE("\x0a\x05pvc-1\x0a\x05pvc-2"), NULL},
    {CREATE, WIRE("\x0a\x06p\xc3\xbcvc1"), NULL},
    {CREATE, WIRE("\x22\x0a\x0a\x04pool\x12\x02p1"), NULL},
    {CREATE, WIRE("\x22\x00"), NULL},
    {CREATE, WIRE("\xfa\x07\x03new\xf0\x07\x01\xf9\x07xxxxxxxx\xfd\x07xxxx"), NULL},
    {CREATE, WIRE("\x12\x04\x08\x80\x80\x40"), NULL},
    /* strings */
    {CREATE,
     WIRE("\x0a\x03"
          "a\0b"),
     "name: contains a NUL byte"},
    {CREATE, WIRE("\x0a\x02\xc3\x28"), "name: is not valid UTF-8"},
    {CREATE, WIRE("\x0a\x02\xc0\x80"), "name: is not valid UTF-8"},
    {CREATE, WIRE("\x0a\x03\xed\xa0\x80"), "name: is not valid UTF-8"},
    {CREATE, WIRE("\x22\x05\x0a\x01k\x12\x00\x22\x05\x0a\x01q\x12\x01\0"),
     NOT_CREATE "parameters[1]: field 2: ends too early"},
    {CREATE, WIRE("\x22\x05\x0a\x01k\x12\x00\x22\x06\x0a\x01q\x12\x01\0"),
     "parameters[1].value: contains a NUL byte"},
    {CREATE, WIRE("\x2a\x06\x0a\x01\xff\x12\x01x"), "secrets[0].key: is not valid UTF-8"},
    {CREATE, WIRE("\x1a\x05\x12\x03\x12\x01\xff"),
     "volume_capabilities[0].mount.mount_flags[0]: is not valid UTF-8"},
    /* the wire */
    {CREATE, WIRE("\x0a"), NOT_CREATE "field 1: ends too early"},
    {CREATE, WIRE("\x0a\x05pvc"), NOT_CREATE "field 1: ends too early"},
    {CREATE, WIRE("\x0a\xff\xff\xff\xff\xff\x7f"), NOT_CREATE "field 1: ends too early"},
    {CREATE, WIRE("\x0a\xff\xff\xff\xff\x0f"), NOT_CREATE "field 1: ends too early"},
    {CREATE, WIRE("\x80"), NOT_CREATE "a field has no number"},
    {CREATE, WIRE("\x80\x80\x80\x80\x80\x01"), NOT_CREATE "a field has no number"},
    {CREATE, WIRE("\x02\x00"), NOT_CREATE "a field has no number"},
    {CREATE, WIRE("\x0b"), NOT_CREATE "field 1: has an unknown wire type"},
    {CREATE, WIRE("\x0f"), NOT_CREATE "field 1: has an unknown wire type"},
    {CREATE, WIRE("\x08\x01"), NOT_CREATE "field 1: has the wrong wire type"},
    {CREATE, WIRE("\x12\x02\x08\x80"), NOT_CREATE "capacity_range: field 1: ends too early"},
    {CREATE, WIRE("\x12\x0c\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
     NOT_CREATE "capacity_range: field 1: ends too early"},
    {CREATE, WIRE("\x12\x00\x12\x00"), NOT_CREATE "field 2: occurs twice"},
    {CREATE, WIRE("\xf9\x07xxx"), NOT_CREATE "field 127: ends too early"},
    {CREATE, WIRE("\xfd\x07xxx"), NOT_CREATE "field 127: ends too early"},
    /* a oneof given twice: the last wins */
    {CREATE, WIRE("\x1a\x04\x0a\x00\x12\x00"), NULL},
    /* numbers one by one and packed */
    {&sample_type, WIRE("\x10\x01\x10\x02\x12\x03\x01\x80\x01"), NULL},
    {&sample_type, WIRE("\x12\x01\x80"), NOT_SAMPLE "field 2: ends within a number"},
    {&sample_type, WIRE("\x19xxxxxxxx\x1a\x08xxxxxxxx"), NULL},
    {&sample_type, WIRE("\x1a\x07xxxxxxx"), NOT_SAMPLE "field 3: ends within a number"},
    {&sample_type, WIRE("\x2a\x02\0\xff"), NULL},
    {&sample_type, WIRE("\x0d"), NOT_SAMPLE "field 1: ends too early"},
};

static void assert_checks(const struct wire_case *c, const struct message_limits *limits)
{
    _cleanup_error_ struct error err = {0};
    int result = message_check(c->type, (const uint8_t *)c->bytes, c->length, limits, &err);

    if (!c->error && result < 0)
        fail_msg("unexpected: %s", err.message);
    assert_int_equal(result, c->error ? -1 : 0);
    if (c->error) {
        assert_string_equal(err.message, c->error);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    }
}

TEST(bytes_are_checked_field_by_field)
{
    for (size_t i = 0; i < ARRAY_LENGTH(wire_cases); i++)
        assert_checks(&wire_cases[i], NULL);
}

/* Says whether the bytes passed; those that did must unpack. */
static bool check_and_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                             size_t length)
{
    _cleanup_error_ struct error err = {0};

    if (message_check(type, bytes, length, NULL, &err) < 0)
        return false;
    ProtobufCMessage *message = protobuf_c_message_unpack(type, message_allocator(), length, bytes);
    assert_non_null(message);
    protobuf_c_message_free_unpacked(message, message_allocator());
    return true;
}

TEST(what_passes_can_be_unpacked)
{
    unsigned seed = 1;
    size_t passed = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(wire_cases); i++) {
        const struct wire_case *c = &wire_cases[i];

        for (int round = 0; round < 3000; round++) {
            /* on the heap, so that a sanitizer sees each byte read too far */
            _cleanup_free_ uint8_t *bytes = xmalloc(c->length);

            memcpy(bytes, c->bytes, c->length);
            for (int change = rand_r(&seed) % 4; change > 0 && c->length > 0; change--)
                bytes[(size_t)rand_r(&seed) % c->length] ^= (uint8_t)(1 << rand_r(&seed) % 8);
            passed += check_and_unpack(c->type, bytes, c->length);
        }
    }
    assert_true(passed > 10000);
}

/* @count fields of one number, each with the content of one byte length and @length letters. */
static char *repeat_field(uint8_t tag, size_t count, uint8_t length, size_t *total)
{
    char *bytes = xmalloc(count * (2u + length));

    *total = 0;
    for (size_t i = 0; i < count; i++) {
        bytes[(*total)++] = (char)tag;
        bytes[(*total)++] = (char)length;
        memset(bytes + *total, 'x', length);
        *total += length;
    }
    return bytes;
}

TEST(number_of_elements_is_limited)
{
    const struct message_limits limits = {1000, 1000, 1000, 3, 1000, 10};
    size_t length = 0;
    _cleanup_free_ char *bytes = repeat_field(0x1a, 4, 0, &length);

    assert_checks(&(struct wire_case){CREATE, bytes, 6, NULL}, &limits);
    assert_checks(&(struct wire_case){CREATE, bytes, 8,
                                      "volume_capabilities: has 4 elements, at most 3 are allowed"},
                  &limits);
    assert_checks(&(struct wire_case){&sample_type, WIRE("\x12\x04\1\2\3\4"),
                                      "numbers: has 4 elements, at most 3 are allowed"},
                  &limits);
}

TEST(number_of_fields_is_limited)
{
    const struct message_limits limits = {1000, 1000, 1000, 1000, 5, 10};
    size_t length = 0;
    _cleanup_free_ char *bytes = repeat_field(0x7a, 6, 1, &length);

    assert_checks(&(struct wire_case){CREATE, bytes, 15, NULL}, &limits);
    assert_checks(
        &(struct wire_case){CREATE, bytes, 18, "request has 6 fields, at most 5 are allowed"},
        &limits);
}

TEST(lengths_are_limited)
{
    const struct message_limits limits = {20, 4, 8, 10, 100, 10};

    assert_checks(&(struct wire_case){CREATE, WIRE("\x0a\x04xxxx"), NULL}, &limits);
    assert_checks(&(struct wire_case){CREATE, WIRE("\x0a\x05xxxxx"),
                                      "name: has 5 bytes, at most 4 are allowed"},
                  &limits);
    assert_checks(&(struct wire_case){CREATE, WIRE("\x22\x08\x0a\x06xxxxxx"), NULL}, &limits);
    assert_checks(&(struct wire_case){CREATE, WIRE("\x22\x03\x0a\x01x\x22\x06\x0a\x04xxxx"),
                                      "parameters: has 9 bytes, at most 8 are allowed"},
                  &limits);
    assert_checks(&(struct wire_case){CREATE, WIRE("\x7a\x13xxxxxxxxxxxxxxxxxxx"),
                                      "request has 21 bytes, at most 20 are allowed"},
                  &limits);
}

TEST(default_limits_hold_what_csi_allows)
{
    Csi__V1__CreateVolumeRequest request;
    Csi__V1__CreateVolumeRequest__ParametersEntry entry;
    Csi__V1__CreateVolumeRequest__ParametersEntry *entries[] = {&entry};
    _cleanup_free_ char *pools = xcalloc(1, 250001);
    _cleanup_error_ struct error err = {0};

    memset(pools, 'p', 250000);
    csi__v1__create_volume_request__init(&request);
    csi__v1__create_volume_request__parameters_entry__init(&entry);
    entry.key = (char[]){"topologyConstrainedPools"};
    entry.value = pools;
    request.n_parameters = 1;
    request.parameters = entries;
    size_t length = protobuf_c_message_get_packed_size(&request.base);
    _cleanup_free_ uint8_t *bytes = xmalloc(length);
    protobuf_c_message_pack(&request.base, bytes);
    assert_int_equal(message_check(CREATE, bytes, length, NULL, &err), 0);
}

/* Nests messages in their first field, from the inside out. Each level has two bytes and at most
 * 125 bytes inside. */
static size_t nest(uint8_t tag, size_t depth, char bytes[static 128])
{
    for (size_t i = 0; i < depth; i++) {
        bytes[2 * i] = (char)tag;
        bytes[2 * i + 1] = (char)(2 * (depth - i - 1));
    }
    return 2 * depth;
}

TEST(depth_is_limited)
{
    char bytes[128];

    size_t length = nest(0x0a, 31, bytes);
    assert_checks(&(struct wire_case){&sample_type, bytes, length, NULL}, NULL);
    length = nest(0x0a, 32, bytes);
    assert_checks(&(struct wire_case){&sample_type, bytes, length,
                                      "request has 33 levels of nesting, at most 32 are allowed"},
                  NULL);
    length = nest(0x22, 40, bytes);
    assert_checks(&(struct wire_case){&sample_type, bytes, length,
                                      "request has 33 levels of nesting, at most 32 are allowed"},
                  NULL);
}

TEST(subject_is_the_first_name_that_is_set)
{
    Csi__V1__CreateVolumeRequest create;
    Csi__V1__CreateSnapshotRequest snapshot;
    Csi__V1__ProbeRequest probe;
    char name[] = "pvc-1";
    char source[] = "handle-1";

    csi__v1__create_volume_request__init(&create);
    csi__v1__create_snapshot_request__init(&snapshot);
    csi__v1__probe_request__init(&probe);
    assert_null(message_subject(&create.base));
    create.name = name;
    assert_string_equal(message_subject(&create.base), "pvc-1");
    snapshot.source_volume_id = source;
    assert_string_equal(message_subject(&snapshot.base), "handle-1");
    snapshot.name = name;
    assert_string_equal(message_subject(&snapshot.base), "pvc-1");
    assert_null(message_subject(&probe.base));
}

/* Freed memory must not be looked at by the program, but the kernel may. */
static void peek(const void *address, void *buffer, size_t length)
{
    struct iovec to = {.iov_base = buffer, .iov_len = length};
    struct iovec from = {.iov_base = (void *)(uintptr_t)address, .iov_len = length};

    assert_int_equal(process_vm_readv(getpid(), &to, 1, &from, 1, 0), length);
}

TEST(freed_memory_is_zeroed)
{
    ProtobufCAllocator *allocator = message_allocator();
    char *secret = allocator->alloc(allocator->allocator_data, 1000);
    uintptr_t address = (uintptr_t)secret;
    char seen[1000];

    memset(secret, 's', sizeof(seen));
    peek(secret, seen, sizeof(seen));
    assert_non_null(memmem(seen, sizeof(seen), "ssssssss", 8));
    allocator->free(allocator->allocator_data, secret);
    peek((void *)address, seen, sizeof(seen));
    assert_null(memmem(seen, sizeof(seen), "ssssssss", 8));
    allocator->free(allocator->allocator_data, NULL);
}
