#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/yaml.h"
#include "tests/test.h"

/* The documents of @text as compact JSON; the error's message if it is refused. Caller frees. */
static char *loaded(const char *text, size_t length)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *documents = NULL;

    if (yaml_load_text(text, length, "t", &documents, &err) < 0) {
        assert_null(documents);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        return xstrdup(err.message);
    }
    assert_null(err.message);
    return json_dumps(documents, JSON_COMPACT | JSON_SORT_KEYS);
}

struct yaml_case {
    const char *text;
    const char *expected;
};

static void check(const struct yaml_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *found = loaded(cases[i].text, strlen(cases[i].text));

        if (strcmp(found, cases[i].expected) != 0)
            fail_msg("%s\nexpected %s\nfound    %s", cases[i].text, cases[i].expected, found);
    }
}

TEST(plain_scalars_have_the_types_of_kubernetes)
{
    static const struct yaml_case cases[] = {
        {"[true, True, yes, on, y]", "[[true,true,true,true,true]]"},
        {"[false, FALSE, no, Off, n]", "[[false,false,false,false,false]]"},
        {"a: ~\nb: null\nc:\n", "[{\"a\":null,\"b\":null,\"c\":null}]"},
        {"[0, -1, +7, 1_000, 0x1F, 0o17, 017, 0b101, -0x10]", "[[0,-1,7,1000,31,15,15,5,-16]]"},
        {"[9223372036854775807, -9223372036854775808]",
         "[[9223372036854775807,-9223372036854775808]]"},
        {"[1.5, .5, 2., 1e3, 08]", "[[1.5,0.5,2.0,1000.0,8.0]]"},
        {"[0x0x1, 1:30, 2026-11-16, 1Gi, 1.2.3, truely, 0b2, -x]",
         "[[\"0x0x1\",\"1:30\",\"2026-11-16\",\"1Gi\",\"1.2.3\",\"truely\",\"0b2\",\"-x\"]]"},
        {"[1e999]", "[[\"1e999\"]]"},
    };

    check(cases, ARRAY_LENGTH(cases));
}

TEST(quoted_scalars_and_blocks_stay_strings)
{
    static const struct yaml_case cases[] = {
        {"['true', \"12\", '~', '']", "[[\"true\",\"12\",\"~\",\"\"]]"},
        {"a: |\n  12\n  13\n", "[{\"a\":\"12\\n13\\n\"}]"},
        {"a: >-\n  yes\n", "[{\"a\":\"yes\"}]"},
        {"[!!str 12, !!int 12, ! yes]", "[[\"12\",12,\"yes\"]]"},
        {"a: \"\\u00e4\"\n", "[{\"a\":\"\xc3\xa4\"}]"},
    };

    check(cases, ARRAY_LENGTH(cases));
}

TEST(documents_become_a_list_without_the_empty_ones)
{
    static const struct yaml_case cases[] = {
        {"", "[]"},
        {"# nothing\n", "[]"},
        {"---\n---\na: 1\n---\n# gone\n---\n- 2\n...\n", "[{\"a\":1},[2]]"},
        {"kind: A\n---\nkind: B\n", "[{\"kind\":\"A\"},{\"kind\":\"B\"}]"},
        {"word", "[\"word\"]"},
    };

    check(cases, ARRAY_LENGTH(cases));
}

TEST(keys_become_strings)
{
    static const struct yaml_case cases[] = {
        {"1: a\nyes: b\n'2': c\n", "[{\"1\":\"a\",\"2\":\"c\",\"true\":\"b\"}]"},
        {"a/b.c: {d: [e, {f: g}]}\n", "[{\"a/b.c\":{\"d\":[\"e\",{\"f\":\"g\"}]}}]"},
        {"[a]: b\n", "t: line 1, column 1: a key must be a plain word or a quoted string"},
        {"a: 1\nb: 2\na: 3\n", "t: line 3, column 1: this key is there already"},
        {"1: a\n'1': b\n", "t: line 2, column 1: this key is there already"},
    };

    check(cases, ARRAY_LENGTH(cases));
}

TEST(json_is_read_as_it_is)
{
    static const struct yaml_case cases[] = {
        {"{\"a\": [1, true, null, \"\\ud83d\\ude00\"]}",
         "[{\"a\":[1,true,null,\"\xf0\x9f\x98\x80\"]}]"},
        {"{\n\t\"a\":\t\"b\"\n}\n", "[{\"a\":\"b\"}]"},
        {"{a: b}", "[{\"a\":\"b\"}]"},
    };

    check(cases, ARRAY_LENGTH(cases));
}

TEST(what_could_multiply_or_mean_two_things_is_refused)
{
    static const struct yaml_case cases[] = {
        {"a: &x [1]\nb: *x\n",
         "t: line 2, column 4: aliases (*name) are not supported; write the value out"},
        {"a: &x {b: 1}\nc:\n  <<: *x\n",
         "t: line 3, column 3: merge keys (<<) are not supported; write the keys out"},
        {"a: !!binary aGFsbG8=\n",
         "t: line 1, column 4: tags other than !!str, !!int, ... are not supported"},
        {"a: !thing {b: c}\n",
         "t: line 1, column 4: tags other than !!map and !!seq are not supported here"},
        {"a: !!int topsecret\n", "t: line 1, column 4: the value is not what its tag says"},
        {"a: .inf\n", "t: line 1, column 4: infinity and NaN are not numbers of JSON"},
        {"a: \"x\\0y\"\n", "t: line 1, column 4: a string must not contain NUL"},
        {"a: [1, 2\n", "t: line 2, column 1: did not find expected ',' or ']'"},
        {"a: 'topsecret\n", "t: line 2, column 1: found unexpected end of stream"},
        {"a: \xff\n", "t: byte 3: invalid leading UTF-8 octet"},
    };

    check(cases, ARRAY_LENGTH(cases));
}

TEST(unused_anchor_does_no_harm)
{
    static const struct yaml_case cases[] = {{"a: &x 1\n", "[{\"a\":1}]"}};

    check(cases, ARRAY_LENGTH(cases));
}

/* @count times @piece. */
static char *repeated(const char *piece, size_t count)
{
    struct text text = TEXT_INIT(SIZE_MAX / 2);

    for (size_t i = 0; i < count; i++)
        text_add(&text, piece);
    return text_take(&text);
}

TEST(depth_size_and_number_of_values_are_bounded)
{
    _cleanup_free_ char *deep = repeated("[", YAML_DEPTH_LIMIT + 1);
    _cleanup_free_ char *deeper = repeated("- ", 100000);
    _cleanup_free_ char *many = repeated("- 1\n", YAML_NODE_LIMIT + 1);
    _cleanup_free_ char *large = repeated("# comment", YAML_TEXT_LIMIT / 9 + 1);

    _cleanup_free_ char *deep_reason = loaded(deep, strlen(deep));
    assert_string_equal(deep_reason, "t: line 1, column 65: nested too deeply");
    _cleanup_free_ char *deeper_reason = loaded(deeper, strlen(deeper));
    assert_string_equal(deeper_reason, "t: line 1, column 129: nested too deeply");
    _cleanup_free_ char *many_reason = loaded(many, strlen(many));
    assert_string_equal(many_reason, "t: line 500000, column 3: more values than a text may have");
    _cleanup_free_ char *large_reason = loaded(large, strlen(large));
    assert_string_equal(large_reason, "t: larger than 4194304 bytes");
}

TEST(file_is_read_up_to_its_limit)
{
    char path[] = "/tmp/test_yaml.XXXXXX";
    _cleanup_close_ int fd = mkstemp(path);
    _cleanup_error_ struct error err = {0};
    json_auto_t *documents = NULL;

    assert_int_equal(write(fd, "a: 1\n", 5), 5);
    assert_int_equal(yaml_load_path(path, 5, &documents, &err), 0);
    assert_int_equal(json_array_size(documents), 1);
    json_t *none = NULL;
    assert_int_equal(yaml_load_path(path, 4, &none, &err), -1);
    assert_non_null(strstr(err.message, "larger than 4 bytes"));
    error_clear(&err);
    unlink(path);
    assert_int_equal(yaml_load_path(path, 5, &none, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
}
