#include "common/encoding/md5.h"

#include <string.h>

#include "tests/test.h"

/* Expected values: RFC 1321, appendix A.5, and md5sum(1). */
static void assert_md5(const char *input, const char *expected)
{
    const struct md5_text text = md5_of(input, strlen(input));

    assert_string_equal(text.chars, expected);
}

TEST(known_texts_have_their_digests)
{
    assert_md5("", "d41d8cd98f00b204e9800998ecf8427e");
    assert_md5("abc", "900150983cd24fb0d6963f7d28e17f72");
    assert_md5("12345678901234567890123456789012345678901234567890123456789012345678901234567890",
               "57edf4a22be3c955ac49da2e2107b67a");
}
