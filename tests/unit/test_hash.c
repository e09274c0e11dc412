#include "common/base/hash.h"
#include "tests/test.h"

TEST(known_values_stay)
{
    assert_true(hash_text(HASH_START, "") == HASH_START);
    assert_true(hash_text(HASH_START, "a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(hash_text(HASH_START, "foobar") == UINT64_C(0x85944171f73967e8));
    assert_true(hash_mix(1) == UINT64_C(0xb456bcfc34c2cb2c));
}

TEST(text_goes_on_where_the_former_ended)
{
    assert_true(hash_text(hash_text(HASH_START, "foo"), "bar") == hash_text(HASH_START, "foobar"));
    assert_true(hash_bytes(HASH_START, "foobar", 3) == hash_text(HASH_START, "foo"));
}

TEST(fields_have_an_end)
{
    uint64_t first = hash_field(hash_field(HASH_START, "a"), "bc");
    uint64_t second = hash_field(hash_field(HASH_START, "ab"), "c");

    assert_true(first != second);
    assert_true(hash_field(HASH_START, "a") == hash_text(HASH_START, "a\xff"));
}
