#include "tests/unit/fixtures/files.h"

#include <stdatomic.h>

#include "node/node_labels.h"

#define ZONE "topology.kubernetes.io/zone"

#define _cleanup_source_ _cleanup_(node_labels_done)

static void get(const struct node_labels_source *source, struct strmap *labels)
{
    _cleanup_error_ struct error err = {0};

    if (node_labels_get(source, NULL, labels, &err) < 0)
        fail_msg("%s", err.message);
}

static void assert_zone(const struct node_labels_source *source, const char *zone)
{
    _cleanup_strmap_ struct strmap labels = {0};

    get(source, &labels);
    assert_string_equal(strmap_get_or(&labels, ZONE, ""), zone);
}

static void assert_health(const struct node_labels_source *source, bool healthy, const char *part)
{
    _cleanup_free_ char *message = NULL;
    time_t since = 0;

    assert_int_equal(source->is_healthy(source->object, &message, &since), healthy);
    if (!strstr(message, part))
        fail_msg("wanted '%s', got '%s'", part, message);
}

TEST(flag_gives_labels)
{
    _cleanup_source_ struct node_labels_source source = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(
        node_labels_from_text("a=1,x/b=\"2\", c = 3 ,d=," ZONE "=zone-a", &source, &err), 0);
    get(&source, &labels);
    assert_int_equal(labels.count, 5);
    assert_string_equal(strmap_get(&labels, "a"), "1");
    assert_string_equal(strmap_get(&labels, "x/b"), "2");
    assert_string_equal(strmap_get(&labels, "c"), "3");
    assert_string_equal(strmap_get(&labels, "d"), "");
    assert_zone(&source, "zone-a");
    assert_health(&source, true, "");
}

TEST(malformed_flags_are_refused)
{
    static const struct {
        const char *text;
        const char *reason;
    } cases[] = {
        {"a", "expected label=value, found 'a'"},
        {"a=1,,b=2", "expected label=value, found ''"},
        {"a=1,a=2", "label 'a' is given twice"},
        {"=1", ""},
        {"a b=1", ""},
        {"a=x y", "label 'a': "},
        {"a=x|y", "label 'a': "},
        {"a=\"", "label 'a': "},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct node_labels_source source = {0};
        _cleanup_error_ struct error err = {0};

        if (node_labels_from_text(cases[i].text, &source, &err) == 0)
            fail_msg("'%s' was taken", cases[i].text);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        if (!strstr(err.message, cases[i].reason))
            fail_msg("'%s': %s", cases[i].text, err.message);
        assert_null(source.get);
    }
}

TEST(files_of_all_forms_are_read, WITH_FOLDER)
{
    static const char *const contents[] = {
        ZONE "=zone-a\n",
        ZONE "=zone-a",
        "# written by hand\r\n\r\n  " ZONE " = zone-a\r\nother=x\n",
        /* the downward API's */
        "app=\"csi\"\n" ZONE "=\"zone-a\"\n",
        "{\"" ZONE "\": \"zone-a\"}",
        "\n {\"x\": \"\", \"" ZONE "\": \"zone-a\"}\n",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(contents); i++) {
        _cleanup_free_ char *path = path_of("labels");
        _cleanup_source_ struct node_labels_source source = {0};

        replace_file(path, contents[i]);
        node_labels_from_file(path, &source);
        assert_zone(&source, "zone-a");
        assert_health(&source, true, "");
    }
}

TEST(broken_file_keeps_the_last_good_labels, WITH_FOLDER)
{
    static const struct {
        const char *content;
        const char *reason;
    } cases[] = {
        {"a=1\nb\n", "labels: line 2: expected label=value, found 'b'"},
        {"a=1\na=2\n", "line 2: label 'a' is given twice"},
        {"{\"a\": 1}", "labels: label 'a': expected a string"},
        {"{\"a\": \"x y\"}", "label 'a': "},
        {"{\"a\"", "line 1"},
    };
    _cleanup_free_ char *path = path_of("labels");
    _cleanup_source_ struct node_labels_source source = {0};

    replace_file(path, ZONE "=zone-a\n");
    node_labels_from_file(path, &source);
    assert_non_null(strstr(source.subject, "/labels"));
    assert_zone(&source, "zone-a");
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        replace_file(path, cases[i].content);
        assert_zone(&source, "zone-a");
        assert_health(&source, false, cases[i].reason);
    }
    write_bytes(path, "a=\0b", 4);
    assert_health(&source, false, "NUL");
    assert_int_equal(unlink(path), 0);
    assert_zone(&source, "zone-a");
    assert_health(&source, false, "No such file");
    replace_file(path, ZONE "=zone-b\n");
    assert_zone(&source, "zone-b");
    assert_health(&source, true, "");
}

TEST(file_may_come_later, WITH_FOLDER)
{
    _cleanup_free_ char *path = path_of("labels");
    _cleanup_source_ struct node_labels_source source = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_error_ struct error err = {0};

    node_labels_from_file(path, &source);
    assert_int_equal(node_labels_get(&source, NULL, &labels, &err), -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    assert_health(&source, false, "No such file");
    replace_file(path, ZONE "=zone-a\n");
    assert_zone(&source, "zone-a");
    assert_health(&source, true, "");
}

TEST(no_source_says_what_would_help)
{
    _cleanup_source_ struct node_labels_source source = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_error_ struct error err = {0};

    node_labels_from_nowhere(&source);
    assert_int_equal(node_labels_get(&source, NULL, &labels, &err), -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "--node-labels-file"));
}

/* Takes note of how long it might wait. */
static int note_patience(void *object, struct call *call, struct strmap *labels, struct error *err)
{
    (void)labels, (void)err;
    *(int64_t *)object = call_is_cancelled(call) ? 0 : deadline_remaining_ms(call->deadline);
    return 0;
}

static int64_t patience_with(struct call *call)
{
    int64_t patience_ms = -1;
    const struct node_labels_source source = {.object = &patience_ms, .get = note_patience};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(node_labels_get(&source, call, &labels, &err), 0);
    return patience_ms;
}

TEST(patience_is_bounded)
{
    struct call call;
    atomic_bool cancelled = true;

    assert_int_equal(patience_with(NULL), 0);
    call_init(&call, 1, "NodeGetInfo", deadline_never());
    int64_t patience_ms = patience_with(&call);
    assert_true(patience_ms > 0 && patience_ms <= NODE_LABELS_WAIT_MS);
    call.cancelled = &cancelled;
    assert_int_equal(patience_with(&call), 0);
    call.cancelled = NULL;
    call.deadline = deadline_in_ms(-1);
    assert_int_equal(patience_with(&call), 0);
    call_done(&call);
}
