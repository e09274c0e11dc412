#include "tests/unit/fixtures/kube.h"

#include "common/base/backoff.h"
#include "common/base/string_list.h"
#include "common/kube/api_error.h"
#include "common/kube/kube_secret.h"
#include "common/kube/watch_stream.h"

/* Paths, lists, errors, streams and Secrets; and that the fake behaves as an API server. */

TEST(paths_are_made_from_parts)
{
    static const struct {
        struct kube_location location;
        const char *path;
    } cases[] = {
        {{"v1", "nodes", NULL, NULL, NULL}, "/api/v1/nodes"},
        {{"v1", "nodes", NULL, "n1.example.org", "status"}, "/api/v1/nodes/n1.example.org/status"},
        {{"v1", "pods", "kube-system", "p", NULL}, "/api/v1/namespaces/kube-system/pods/p"},
        {{"storage.k8s.io/v1", "csinodes", NULL, "n1", NULL},
         "/apis/storage.k8s.io/v1/csinodes/n1"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        _cleanup_free_ char *path = NULL;

        assert_int_equal(kube_path(&cases[i].location, &path, &err), 0);
        assert_string_equal(path, cases[i].path);
    }
}

TEST(names_cannot_lead_elsewhere)
{
    static const char *const names[] = {"",   ".",       "..",  "a/b",       "a?watch=1",
                                        "a#", "a%2e%2e", "a b", "a\r\nX: y", "\xc3\xa4"};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        const struct kube_location named = {"v1", "nodes", NULL, names[i], NULL};
        const struct kube_location spaced = {"v1", "pods", names[i], NULL, NULL};
        _cleanup_error_ struct error err = {0};
        char *path = NULL;

        assert_int_equal(kube_path(&named, &path, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        error_clear(&err);
        assert_int_equal(kube_path(&spaced, &path, &err), -1);
        assert_null(path);
    }
}

/* --- lists --- */

struct collected {
    struct fake_kube *fake;
    struct string_list names;
    unsigned starts;
    size_t compact_at; /* the server forgets its history when that many came; 0: never */
};

static void start(void *object)
{
    struct collected *collected = object;

    collected->starts++;
    string_list_done(&collected->names);
}

static int collect(void *object, json_t *item, struct error *err)
{
    struct collected *collected = object;

    (void)err;
    string_list_add(&collected->names, kube_name(item));
    if (collected->compact_at > 0 && collected->names.count == collected->compact_at)
        fake_kube_compact(collected->fake);
    return 0;
}

static void put_nodes(struct fake_kube *fake, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        _cleanup_free_ char *path = xasprintf("/api/v1/nodes/n%04u", i);

        fake_kube_put(fake, path, "{\"kind\":\"Node\"}");
    }
}

static void check_list(struct kube_fixture *fixture, struct collected *collected, size_t count,
                       unsigned starts)
{
    const struct kube_list_sink sink = {start, collect, collected};
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *version = NULL;

    collected->fake = fixture->fake;
    int result =
        kube_list(fixture->kube, &fixture->call, "/api/v1/nodes", NULL, &sink, &version, &err);
    if (result < 0)
        fail_msg("%s", err.message);
    assert_int_equal(collected->names.count, count);
    assert_int_equal(collected->starts, starts);
    assert_non_null(version);
    string_list_done(&collected->names);
}

TEST(list_walks_over_all_pages, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    struct collected collected = {0};

    put_nodes(fixture->fake, 250);
    check_list(fixture, &collected, 250, 1);
    assert_int_equal(fake_kube_calls(fixture->fake), 3);
}

TEST(empty_list_is_one_page, WITH_KUBE)
{
    struct collected collected = {0};

    check_list(*state, &collected, 0, 1);
}

TEST(list_that_expires_starts_over, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    struct collected collected = {.compact_at = 100}; /* each time at the end of the first page */

    put_nodes(fixture->fake, 250);
    check_list(fixture, &collected, 250, KUBE_LIST_RESTARTS + 1);
}

static int refuse_item(void *object, json_t *item, struct error *err)
{
    (void)object;
    (void)item;
    return error_set(err, STATUS_FAILED_PRECONDITION, "enough");
}

TEST(list_ends_when_its_receiver_fails, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    struct collected collected = {0};
    const struct kube_list_sink sink = {start, refuse_item, &collected};
    _cleanup_error_ struct error err = {0};
    char *version = NULL;

    put_nodes(fixture->fake, 3);
    assert_int_equal(
        kube_list(fixture->kube, &fixture->call, "/api/v1/nodes", NULL, &sink, &version, &err), -1);
    assert_string_equal(err.message, "enough");
    assert_null(version);
}

/* --- errors --- */

TEST(answers_become_errors)
{
    static const struct {
        long http_status;
        const char *body;
        enum status status;
        const char *message;
    } cases[] = {
        {404,
         "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"nodes \\\"n\\\" not found\"}",
         STATUS_NOT_FOUND, "GET /x: 404 NotFound: nodes \"n\" not found"},
        {409, "{\"reason\":\"Conflict\",\"message\":\"changed\"}", STATUS_ABORTED,
         "GET /x: 409 Conflict: changed"},
        {409, "{\"reason\":\"AlreadyExists\",\"message\":\"there\"}", STATUS_ALREADY_EXISTS,
         "GET /x: 409 AlreadyExists: there"},
        {403, "{\"reason\":\"Forbidden\",\"message\":\"a\\nb\"}", STATUS_PERMISSION_DENIED,
         "GET /x: 403 Forbidden: a b"},
        {502, "<html>topsecret</html>", STATUS_UNAVAILABLE,
         "GET /x: HTTP status 502 without reason"},
        {410, "", STATUS_OUT_OF_RANGE, "GET /x: HTTP status 410 without reason"},
        {401, "[1]", STATUS_UNAUTHENTICATED, "GET /x: HTTP status 401 without reason"},
        {429, "{", STATUS_UNAVAILABLE, "GET /x: HTTP status 429 without reason"},
        {422, "{\"message\":7}", STATUS_INVALID_ARGUMENT, "GET /x: HTTP status 422 without reason"},
        {504, "{}", STATUS_DEADLINE_EXCEEDED, "GET /x: HTTP status 504 without reason"},
        {302, "{}", STATUS_UNKNOWN, "GET /x: HTTP status 302 without reason"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_text_ struct text body = TEXT_INIT(4096);
        _cleanup_error_ struct error err = {0};

        text_add(&body, cases[i].body);
        assert_int_equal(api_error_set(&err, "GET /x", cases[i].http_status, &body), -1);
        assert_int_equal(err.status, cases[i].status);
        assert_string_equal(err.message, cases[i].message);
    }
}

/* --- streams --- */

static int note_event(void *object, enum kube_event_kind kind, json_t *item, struct error *err)
{
    (void)err;
    text_addf(object, "%d %s\n", kind, kube_name(item));
    return 0;
}

#define STREAM                                                                                     \
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n"                            \
    "\n"                                                                                           \
    "{\"type\":\"LATER\",\"object\":{}}\n"                                                         \
    "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n"                          \
    "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"cut\"}}"

TEST(events_come_whole_whatever_the_pieces)
{
    for (size_t piece = 1; piece <= strlen(STREAM); piece += 7) {
        _cleanup_text_ struct text seen = TEXT_INIT(4096);
        struct watch_stream stream = WATCH_STREAM_INIT("watch", note_event, &seen);
        _cleanup_error_ struct error err = {0};

        for (size_t at = 0; at < strlen(STREAM); at += piece) {
            size_t left = strlen(STREAM) - at;

            assert_int_equal(
                watch_stream_feed(&stream, &STREAM[at], left < piece ? left : piece, &err), 0);
        }
        assert_string_equal(text_chars(&seen), "0 a\n2 b\n");
        watch_stream_done(&stream);
    }
}

TEST(broken_events_end_the_stream)
{
    static const struct {
        const char *line;
        enum status status;
        const char *message;
    } cases[] = {
        {"{\"type\":\n", STATUS_UNAVAILABLE, "watch: line 1, column 8: unexpected token"},
        {"<html>\n", STATUS_UNAVAILABLE, "watch: line 1, column 1: '[' or '{' expected"},
        {"{\"type\":\"ADDED\"}\n", STATUS_UNAVAILABLE, "watch: an event without an object"},
        {"{\"type\":\"ERROR\",\"object\":{\"code\":410,\"reason\":\"Expired\",\"message\":\"old\"}}"
         "\n",
         STATUS_OUT_OF_RANGE, "watch: 410 Expired: old"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_text_ struct text seen = TEXT_INIT(4096);
        struct watch_stream stream = WATCH_STREAM_INIT("watch", note_event, &seen);
        _cleanup_error_ struct error err = {0};

        assert_int_equal(watch_stream_feed(&stream, cases[i].line, strlen(cases[i].line), &err),
                         -1);
        assert_int_equal(err.status, cases[i].status);
        if (strncmp(err.message, cases[i].message, 20) != 0)
            fail_msg("%s", err.message);
        watch_stream_done(&stream);
    }
}

TEST(line_without_end_is_refused)
{
    _cleanup_text_ struct text seen = TEXT_INIT(4096);
    struct watch_stream stream = WATCH_STREAM_INIT("watch", note_event, &seen);
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *much = xmalloc(1 << 20);
    int result = 0;

    memset(much, 'x', 1 << 20);
    for (unsigned i = 0; i < 5 && result == 0; i++)
        result = watch_stream_feed(&stream, much, 1 << 20, &err);
    assert_int_equal(result, -1);
    assert_string_equal(err.message, "watch: an event of more than 4194304 bytes");
    watch_stream_done(&stream);
}

TEST(pauses_grow_up_to_their_limit)
{
    struct backoff backoff = BACKOFF_INIT(100, 1000);

    for (unsigned i = 0; i < 100; i++) {
        int64_t most = i < 4 ? 100 << i : 1000;
        int64_t pause = backoff_next_ms(&backoff);

        assert_between(pause, most / 2, most);
    }
    backoff_reset(&backoff);
    assert_between(backoff_next_ms(&backoff), 50, 100);
}

/* --- Secrets --- */

#define SECRET "/api/v1/namespaces/ceph/secrets/admin"

TEST(secret_is_decoded, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_kube_secret_ struct kube_secret secret = {0};
    _cleanup_error_ struct error err = {0};

    fake_kube_put(fixture->fake, SECRET,
                  "{\"data\":{\"userID\":\"YWRtaW4=\",\"userKey\":\"c2Vzc2Ft\",\"empty\":\"\","
                  "\"binary\":\"AAEC\"}}");
    assert_int_equal(
        kube_secret_read(fixture->kube, &fixture->call, "ceph", "admin", &secret, &err), 0);
    assert_int_equal(secret.count, 3);
    assert_string_equal(secret_reveal(kube_secret_get(&secret, "userID")), "admin");
    assert_string_equal(secret_reveal(kube_secret_get(&secret, "userKey")), "sessam");
    assert_false(secret_is_set(kube_secret_get(&secret, "empty")));
    assert_null(kube_secret_get(&secret, "binary"));
}

TEST(secret_that_cannot_be_read_says_why_without_its_content, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    struct kube_secret secret = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(
        kube_secret_read(fixture->kube, &fixture->call, "ceph", "admin", &secret, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    error_clear(&err);
    fake_kube_put(fixture->fake, SECRET, "{\"data\":{\"userKey\":\"!topsecret!\"}}");
    assert_int_equal(
        kube_secret_read(fixture->kube, &fixture->call, "ceph", "admin", &secret, &err), -1);
    assert_string_equal(err.message, "secret 'ceph/admin': entry 'userKey' is not base64");
    error_clear(&err);
    fake_kube_forbid(fixture->fake, "get", "/api/v1/namespaces/ceph/secrets");
    assert_int_equal(
        kube_secret_read(fixture->kube, &fixture->call, "ceph", "admin", &secret, &err), -1);
    assert_int_equal(err.status, STATUS_PERMISSION_DENIED);
    error_clear(&err);
    assert_int_equal(kube_secret_read(fixture->kube, &fixture->call, "ceph", "../x", &secret, &err),
                     -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
}

/* --- the fake --- */

TEST(fake_creates_once_and_updates_what_has_not_changed, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    const struct kube_ops *ops = fixture->kube->ops;
    _cleanup_error_ struct error err = {0};
    json_auto_t *item = json_pack("{s:{s:s}}", "metadata", "name", "n1");
    json_auto_t *created = NULL;
    json_auto_t *updated = NULL;

    assert_int_equal(
        ops->create(fixture->kube, &fixture->call, "/api/v1/nodes", item, &created, &err), 0);
    assert_int_equal(ops->create(fixture->kube, &fixture->call, "/api/v1/nodes", item, NULL, &err),
                     -1);
    assert_int_equal(err.status, STATUS_ALREADY_EXISTS);
    error_clear(&err);
    assert_int_equal(
        ops->update(fixture->kube, &fixture->call, "/api/v1/nodes/n1", created, &updated, &err), 0);
    assert_int_equal(
        ops->update(fixture->kube, &fixture->call, "/api/v1/nodes/n1", created, NULL, &err), -1);
    assert_int_equal(err.status, STATUS_ABORTED);
    error_clear(&err);
    const struct kube_preconditions old = {.resource_version = kube_resource_version(created)};
    assert_int_equal(ops->remove(fixture->kube, &fixture->call, "/api/v1/nodes/n1", &old, &err),
                     -1);
    assert_int_equal(err.status, STATUS_ABORTED);
    error_clear(&err);
    const struct kube_preconditions same = {.uid = kube_text(updated, "metadata", "uid", NULL)};
    assert_int_equal(ops->remove(fixture->kube, &fixture->call, "/api/v1/nodes/n1", &same, &err),
                     0);
    assert_null(fake_kube_get(fixture->fake, "/api/v1/nodes/n1"));
}

TEST(fake_merges_patches_and_selects, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_error_ struct error err = {0};
    _cleanup_(kube_page_done) struct kube_page page = {0};
    json_auto_t *changes =
        json_pack("{s:{s:{s:s, s:n}}}", "metadata", "labels", "zone", "b", "rack");
    json_auto_t *patched = NULL;
    const struct kube_list_options options = {.select = {.labels = "zone=b"}};

    fake_kube_put(fixture->fake, "/api/v1/namespaces/x/pods/p",
                  "{\"metadata\":{\"labels\":{\"rack\":\"1\",\"zone\":\"a\"}}}");
    fake_kube_put(fixture->fake, "/api/v1/namespaces/y/pods/q", "{}");
    assert_int_equal(fixture->kube->ops->patch(fixture->kube, &fixture->call,
                                               "/api/v1/namespaces/x/pods/p/status", changes,
                                               &patched, &err),
                     0);
    assert_string_equal(kube_text(patched, "metadata", "labels", "zone", NULL), "b");
    assert_string_equal(kube_text(patched, "metadata", "labels", "rack", NULL), "");
    assert_int_equal(fixture->kube->ops->list_page(fixture->kube, &fixture->call, "/api/v1/pods",
                                                   &options, &page, &err),
                     0);
    assert_int_equal(json_array_size(page.items), 1);
}
