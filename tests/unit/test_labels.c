#include "tests/unit/fixtures/topology_tables.h"

#include "common/base/memory.h"
#include "common/topology/labels.h"

#define A10 "aaaaaaaaaa"
#define A60 A10 A10 A10 A10 A10 A10
#define A63 A60 "aaa"
#define A250 A60 A60 A60 A60 A10

struct label_case {
    const char *rule;
    const char *text;
    const char *fault; /* NULL: allowed */
};

static const struct label_case KEYS[] = {
    {"name alone", "zone", NULL},
    {"name of one byte", "z", NULL},
    {"upper case in a name", "Zone", NULL},
    {"digits at both ends", "0zone9", NULL},
    {"first and last of each kind of character", "AaZz09mM90zZaA", NULL},
    {"capital A alone", "A", NULL},
    {"capital Z alone", "Z", NULL},
    {"first and last of each kind in a prefix", "a0.z9/x", NULL},
    {"dash, underscore and dot inside", "a-b_c.d", NULL},
    {"several of these in a row", "a-_.-b", NULL},
    {"name of 63 bytes", A63, NULL},
    {"prefix and name", "topology.kubernetes.io/zone", NULL},
    {"prefix of one part", "example/zone", NULL},
    {"prefix of one byte", "a/b", NULL},
    {"digits in a prefix", "1.2/b", NULL},
    {"dash inside a prefix", "a-b.c--d/e", NULL},
    {"prefix of 253 bytes", A250 "aaa/b", NULL},
    {"part of a prefix may have more than 63 bytes", A63 "a.b/c", NULL},
    {"driver's segment", "topology.rbd.csi.ceph.com/zone", NULL},
    {"driver's membership key", "topology.rbd.csi.ceph.com/member.zone.zone-a", NULL},

    {"empty key", "", "is empty"},
    {"name of 64 bytes", A63 "a", "name has 64 bytes, more than 63"},
    {"name starts with a dash", "-zone", "start and end"},
    {"name ends with a dash", "zone-", "start and end"},
    {"name starts with a dot", ".zone", "start and end"},
    {"name ends with an underscore", "zone_", "start and end"},
    {"name is a dot", ".", "start and end"},
    {"space in a name", "my zone", "other characters"},
    {"before capital A", "x@x", "other characters"},
    {"behind capital Z", "x[x", "other characters"},
    {"before small a", "x`x", "other characters"},
    {"behind small z", "x{x", "other characters"},
    {"behind 9", "x:x", "other characters"},
    {"colon in a name", "my:zone", "other characters"},
    {"beyond ASCII in a name", "z\xc3\xbcrich", "other characters"},
    {"equals sign in a name", "a=b", "other characters"},
    {"line feed in a name", "zone\n", "other characters"},
    {"prefix missing before the slash", "/zone", "nothing before the slash"},
    {"name missing behind the slash", "example.com/", "nothing behind the slash"},
    {"slash alone", "/", "nothing before the slash"},
    {"two slashes", "a/b/c", "more than one slash"},
    {"two slashes in a row", "a//c", "more than one slash"},
    {"prefix of 254 bytes", A250 "aaaa/b", "prefix has 254 bytes, more than 253"},
    {"upper case in a prefix", "Example.com/zone", "lower-case letters"},
    {"underscore in a prefix", "my_site/zone", "other characters"},
    {"prefix starts with a dot", ".com/zone", "part of the prefix"},
    {"prefix ends with a dot", "com./zone", "part of the prefix"},
    {"two dots in a prefix", "a..b/zone", "part of the prefix"},
    {"prefix starts with a dash", "-a/zone", "part of the prefix"},
    {"prefix ends with a dash", "a-/zone", "part of the prefix"},
    {"dash before a dot in a prefix", "a-.b/zone", "part of the prefix"},
    {"dash behind a dot in a prefix", "a.-b/zone", "part of the prefix"},
    {"name of 64 bytes behind a prefix", "a/" A63 "a", "name has 64 bytes"},
};

static const struct label_case VALUES[] = {
    {"empty value", "", NULL},
    {"value of one byte", "a", NULL},
    {"value of digits", "42", NULL},
    {"upper case", "EU-West", NULL},
    {"dash, underscore and dot inside", "a-b_c.d", NULL},
    {"two underscores between zones", "zone-a__zone-b", NULL},
    {"value of 63 bytes", A63, NULL},
    {"the word of a membership key", "true", NULL},

    {"value of 64 bytes", A63 "a", "64 bytes, more than 63"},
    {"negative number", "-5", "start and end"},
    {"plus sign", "+5", "other characters"},
    {"ends with a dot", "a.", "start and end"},
    {"starts with an underscore", "_a", "start and end"},
    {"slash", "a/b", "other characters"},
    {"space", "a b", "other characters"},
    {"space alone", " ", "other characters"},
    {"comma", "a,b", "other characters"},
    {"beyond ASCII", "m\xc3\xbcnchen", "other characters"},
};

static const struct {
    const char *rule;
    const char *key;
    const char *tail;
} TAILS[] = {
    {"behind the slash", "topology.kubernetes.io/zone", "zone"},
    {"all of it without a slash", "zone", "zone"},
    {"behind the first of two slashes", "a/b/c", "b/c"},
    {"nothing behind the slash", "a/", ""},
    {"nothing at all", "", ""},
};

static void check_case(const struct label_case *label,
                       int (*check)(const char *text, struct error *err))
{
    _cleanup_error_ struct error err = {0};
    int status = check(label->text, &err);

    if (!label->fault && status < 0)
        fail_msg("%s: %s", label->rule, err.message);
    if (!label->fault)
        return;
    if (status == 0)
        fail_msg("%s: '%s' was accepted", label->rule, label->text);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    assert_mentions(label->rule, err.message, label->fault);
}

TEST(keys_follow_the_syntax_of_kubernetes)
{
    for (size_t i = 0; i < ARRAY_LENGTH(KEYS); i++)
        check_case(&KEYS[i], label_key_check);
    report_cases("label keys", ARRAY_LENGTH(KEYS));
}

TEST(values_follow_the_syntax_of_kubernetes)
{
    for (size_t i = 0; i < ARRAY_LENGTH(VALUES); i++)
        check_case(&VALUES[i], label_value_check);
    report_cases("label values", ARRAY_LENGTH(VALUES));
}

TEST(tail_is_what_ceph_csi_calls_the_domain_label)
{
    for (size_t i = 0; i < ARRAY_LENGTH(TAILS); i++)
        if (strcmp(label_tail(TAILS[i].key), TAILS[i].tail) != 0)
            fail_msg("%s: '%s'", TAILS[i].rule, label_tail(TAILS[i].key));
    report_cases("label tails", ARRAY_LENGTH(TAILS));
}

TEST(long_key_is_not_quoted_whole)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *key = xcalloc(1, 100001);

    memset(key, 'a', 100000);
    assert_int_equal(label_key_check(key, &err), -1);
    assert_true(strlen(err.message) < 256);
}
