#include "tests/unit/fixtures/kube.h"

#include <pthread.h>
#include <stdatomic.h>

#include "common/kube/events.h"
#include "common/kube/informer.h"
#include "common/kube/kube_client.h"
#include "common/kube/kube_node_labels.h"
#include "common/kube/lease.h"
#include "tests/fakes/flapping_kube.h"
#include "tests/fakes/flapping_server.h"

/* The real client against servers that are slow, flap and lie. */

#define NODE "/api/v1/nodes/n1"
#define NODE_JSON "{\"metadata\":{\"name\":\"n1\",\"resourceVersion\":\"7\"}}"

struct world {
    struct flapping_server *server;
    struct kube *kube;
    struct call call;
    struct error err;
    pthread_mutex_t lock; /* over the rest, which the server's threads use */
    struct text seen;     /* what the server was asked */
    unsigned bad_answers; /* how many come before the good ones */
    flapping_answer_fn *bad;
    const char *good; /* body */
};

/* Bad answers first, then good ones. */
static void answer(void *object, const struct flapping_request *request,
                   struct flapping_connection *connection)
{
    struct world *world = object;

    pthread_mutex_lock(&world->lock);
    text_addf(&world->seen, "%s %s %s [%s] %s %s\n", request->method, request->path, request->query,
              request->token, request->content_type, request->body);
    flapping_answer_fn *bad = world->bad_answers > 0 ? world->bad : NULL;
    const char *good = world->good;
    world->bad_answers -= bad != NULL;
    pthread_mutex_unlock(&world->lock);
    if (bad)
        bad(object, request, connection);
    else
        flapping_answer(connection, 200, "", good);
}

static void answer_badly(struct world *world, flapping_answer_fn *bad, unsigned count)
{
    pthread_mutex_lock(&world->lock);
    world->bad = bad;
    world->bad_answers = count;
    pthread_mutex_unlock(&world->lock);
}

static void answer_well(struct world *world, const char *body)
{
    pthread_mutex_lock(&world->lock);
    world->good = body;
    pthread_mutex_unlock(&world->lock);
}

/* What the server was asked; borrowed until it is asked again. */
static const char *seen(struct world *world)
{
    pthread_mutex_lock(&world->lock);
    const char *text = text_chars(&world->seen);
    pthread_mutex_unlock(&world->lock);
    return text;
}

static struct kube *client_of(const char *url, const char *token, const char *token_file)
{
    struct kube_config config = {.source = xstrdup("the test"),
                                 .server = xstrdup(url),
                                 .name_space = xstrdup("default"),
                                 .token_file = token_file ? xstrdup(token_file) : NULL};

    if (token)
        secret_set(&config.token, token);
    return kube_client_new(&config);
}

static int open_world(void **state)
{
    struct world *world = xcalloc(1, sizeof(*world));

    pthread_mutex_init(&world->lock, NULL);
    world->seen.limit = 1 << 20;
    world->good = NODE_JSON;
    world->server = flapping_server_new(answer, world);
    world->kube = client_of(flapping_server_url(world->server), "topsecret", NULL);
    call_init(&world->call, 1, "test", deadline_in_ms(60000));
    *state = world;
    return 0;
}

static int close_world(void **state)
{
    struct world *world = *state;

    kube_free(world->kube);
    flapping_server_free(world->server);
    call_done(&world->call);
    error_clear(&world->err);
    text_done(&world->seen);
    pthread_mutex_destroy(&world->lock);
    free(world);
    return 0;
}

#define IN_WORLD .setup_func = open_world, .teardown_func = close_world

static int get(struct world *world)
{
    json_auto_t *item = NULL;

    error_clear(&world->err);
    int result = world->kube->ops->get(world->kube, &world->call, NODE, &item, &world->err);
    if (result == 0)
        assert_string_equal(kube_name(item), "n1");
    else
        assert_null(item);
    if (world->err.message)
        assert_null(strstr(world->err.message, "topsecret"));
    return result;
}

/* --- bad answers --- */

static void reset(void *object, const struct flapping_request *request,
                  struct flapping_connection *connection)
{
    (void)object;
    (void)request;
    flapping_reset(connection);
}

static void reset_within_the_body(void *object, const struct flapping_request *request,
                                  struct flapping_connection *connection)
{
    static const char part[] = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"metadata\":";

    (void)object;
    (void)request;
    flapping_raw(connection, part, strlen(part));
    flapping_reset(connection);
}

static void truncate_json(void *object, const struct flapping_request *request,
                          struct flapping_connection *connection)
{
    (void)object;
    (void)request;
    flapping_answer(connection, 200, "", "{\"metadata\":{\"name\":");
}

static void answer_html(void *object, const struct flapping_request *request,
                        struct flapping_connection *connection)
{
    (void)object;
    (void)request;
    flapping_answer(connection, 200, "Content-Type: text/html\r\n", "<html>log in</html>");
}

static void answer_array(void *object, const struct flapping_request *request,
                         struct flapping_connection *connection)
{
    (void)object;
    (void)request;
    flapping_answer(connection, 200, "", "[]");
}

static void answer_unavailable(void *object, const struct flapping_request *request,
                               struct flapping_connection *connection)
{
    (void)object;
    (void)request;
    flapping_answer(connection, 503, "", "starting");
}

static void answer_garbage(void *object, const struct flapping_request *request,
                           struct flapping_connection *connection)
{
    (void)object;
    (void)request;
    flapping_raw(connection, "\0\xff\r\n\r\nHTTP/9.9 hello\r\n\r\n", 23);
    flapping_close(connection);
}

static void too_many(void *object, const struct flapping_request *request,
                     struct flapping_connection *connection)
{
    (void)object;
    (void)request;
    flapping_answer(connection, 429, "Retry-After: 1\r\n",
                    "{\"kind\":\"Status\",\"reason\":\"TooManyRequests\",\"message\":\"wait\"}");
}

static void too_many_for_long(void *object, const struct flapping_request *request,
                              struct flapping_connection *connection)
{
    (void)object;
    (void)request;
    flapping_answer(connection, 429, "Retry-After: 3000\r\n", "{\"message\":\"wait\"}");
}

static void send_without_end(void *object, const struct flapping_request *request,
                             struct flapping_connection *connection)
{
    _cleanup_free_ char *much = xmalloc(1 << 20);

    (void)object;
    (void)request;
    memset(much, ' ', 1 << 20);
    flapping_begin_chunks(connection, 200);
    for (unsigned i = 0; i < 1000 && flapping_chunk(connection, much, 1 << 20); i++)
        ;
    flapping_close(connection);
}

static void send_slowly(void *object, const struct flapping_request *request,
                        struct flapping_connection *connection)
{
    _cleanup_free_ char *whole =
        xasprintf("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(NODE_JSON), NODE_JSON);

    (void)object;
    (void)request;
    for (size_t i = 0; i < strlen(whole); i++) {
        if (!flapping_raw(connection, whole + i, 1))
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void stay_silent(void *object, const struct flapping_request *request,
                        struct flapping_connection *connection)
{
    (void)object;
    (void)request;
    flapping_stay_silent(connection);
}

static void answer_unauthenticated(void *object, const struct flapping_request *request,
                                   struct flapping_connection *connection)
{
    (void)object;
    (void)request;
    flapping_answer(connection, 401, "",
                    "{\"kind\":\"Status\",\"reason\":\"Unauthorized\",\"message\":\"no\"}");
}

/* --- tests --- */

TEST(connection_and_token_are_used_for_each_request, IN_WORLD)
{
    struct world *world = *state;

    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(get(world), 0);
    assert_int_equal(flapping_server_requests(world->server), 5);
    assert_int_equal(flapping_server_connections(world->server), 1);
    assert_true(text_has_prefix(seen(world), "GET " NODE "  [topsecret]  \n"));
}

TEST(writes_are_sent_as_the_api_wants_them, IN_WORLD)
{
    struct world *world = *state;
    const struct kube_ops *ops = world->kube->ops;
    json_auto_t *item = json_pack("{s:i}", "x", 1);
    const struct kube_preconditions conditions = {.uid = "u"};
    struct kube *kube = world->kube;

    assert_int_equal(ops->create(kube, &world->call, "/c", item, NULL, &world->err), 0);
    assert_int_equal(ops->update(kube, &world->call, "/o", item, NULL, &world->err), 0);
    assert_int_equal(ops->patch(kube, &world->call, "/o/status", item, NULL, &world->err), 0);
    assert_int_equal(ops->remove(kube, &world->call, "/o", &conditions, &world->err), 0);
    assert_string_equal(
        seen(world),
        "POST /c  [topsecret] application/json {\"x\":1}\n"
        "PUT /o  [topsecret] application/json {\"x\":1}\n"
        "PATCH /o/status  [topsecret] application/merge-patch+json {\"x\":1}\n"
        "DELETE /o  [topsecret] application/json {\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\","
        "\"propagationPolicy\":\"Background\",\"preconditions\":{\"uid\":\"u\"}}\n");
}

TEST(bad_answers_are_asked_for_again, IN_WORLD)
{
    static flapping_answer_fn *const bad[] = {
        reset,        reset_within_the_body, truncate_json, answer_html,
        answer_array, answer_unavailable,    answer_garbage};
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        unsigned before = flapping_server_requests(world->server);

        answer_badly(world, bad[i], 2);
        if (get(world) < 0)
            fail_msg("%zu: %s", i, world->err.message);
        assert_between(flapping_server_requests(world->server) - before, 2, 3);
    }
}

TEST(server_that_is_always_bad_is_given_up, IN_WORLD)
{
    struct world *world = *state;

    answer_badly(world, truncate_json, 1000);
    assert_int_equal(get(world), -1);
    assert_int_equal(world->err.status, STATUS_UNAVAILABLE);
    assert_true(text_has_prefix(world->err.message, "GET " NODE ": "));
    assert_int_equal(flapping_server_requests(world->server), 5);
}

TEST(create_is_not_repeated_when_it_may_have_happened, IN_WORLD)
{
    struct world *world = *state;
    json_auto_t *item = json_pack("{s:i}", "x", 1);

    answer_badly(world, reset_within_the_body, 1);
    assert_int_equal(
        world->kube->ops->create(world->kube, &world->call, "/c", item, NULL, &world->err), -1);
    assert_int_equal(world->err.status, STATUS_UNAVAILABLE);
    assert_int_equal(flapping_server_requests(world->server), 1);
}

TEST(retry_after_is_obeyed_even_for_create, IN_WORLD)
{
    struct world *world = *state;
    json_auto_t *item = json_pack("{s:i}", "x", 1);

    answer_badly(world, too_many, 1);
    assert_int_equal(
        world->kube->ops->create(world->kube, &world->call, "/c", item, NULL, &world->err), 0);
    assert_int_equal(flapping_server_requests(world->server), 2);
}

TEST(retry_after_beyond_reason_ends_the_call, IN_WORLD)
{
    struct world *world = *state;

    answer_badly(world, too_many_for_long, 1000);
    assert_int_equal(get(world), -1);
    assert_int_equal(world->err.status, STATUS_UNAVAILABLE);
    assert_int_equal(flapping_server_requests(world->server), 1);
}

TEST(body_without_end_is_refused, IN_WORLD)
{
    struct world *world = *state;

    answer_badly(world, send_without_end, 1);
    assert_int_equal(get(world), -1);
    assert_string_equal(world->err.message,
                        "GET " NODE ": the answer is larger than 16777216 bytes");
    assert_int_equal(get(world), 0);
}

TEST(slow_bytes_are_waited_for, IN_WORLD)
{
    struct world *world = *state;

    answer_badly(world, send_slowly, 1);
    assert_int_equal(get(world), 0);
    assert_int_equal(flapping_server_requests(world->server), 1);
}

TEST(deadline_ends_the_wait, IN_WORLD)
{
    struct world *world = *state;

    answer_badly(world, stay_silent, 1);
    world->call.deadline = deadline_in_ms(50);
    assert_int_equal(get(world), -1);
    assert_int_equal(world->err.status, STATUS_DEADLINE_EXCEEDED);
}

static void *cancel(void *object)
{
    atomic_bool *cancelled = object;

    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    atomic_store(cancelled, true);
    return NULL;
}

TEST(caller_who_goes_ends_the_wait, IN_WORLD)
{
    struct world *world = *state;
    atomic_bool cancelled = false;
    pthread_t thread;

    answer_badly(world, stay_silent, 1);
    world->call.cancelled = &cancelled;
    assert_int_equal(pthread_create(&thread, NULL, cancel, &cancelled), 0);
    assert_int_equal(get(world), -1);
    assert_int_equal(world->err.status, STATUS_CANCELLED);
    pthread_join(thread, NULL);
    world->call.cancelled = NULL;
}

TEST(nobody_listening_is_unavailable, IN_WORLD)
{
    struct world *world = *state;

    kube_free(world->kube);
    world->kube = client_of("http://127.0.0.1:1", NULL, NULL);
    assert_int_equal(get(world), -1);
    assert_int_equal(world->err.status, STATUS_UNAVAILABLE);
}

static void write_token(const char *path, const char *token)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(token, file) >= 0);
}

TEST(new_token_is_used_when_the_old_one_expired, IN_WORLD)
{
    struct world *world = *state;
    char path[] = "/tmp/test_http.XXXXXX";
    _cleanup_close_ int fd = mkstemp(path);

    assert_true(fd >= 0);
    kube_free(world->kube);
    world->kube = client_of(flapping_server_url(world->server), NULL, path);
    write_token(path, "old\n");
    answer_badly(world, answer_unauthenticated, 1);
    assert_int_equal(get(world), -1);
    assert_int_equal(world->err.status, STATUS_UNAUTHENTICATED);
    write_token(path, "new\n");
    assert_int_equal(get(world), 0);
    assert_non_null(strstr(seen(world), "[old]"));
    assert_non_null(strstr(seen(world), "[new]"));
    unlink(path);
    assert_int_equal(get(world), -1);
    assert_int_equal(world->err.status, STATUS_UNAUTHENTICATED);
}

TEST(list_that_is_none_is_refused, IN_WORLD)
{
    static const char *const bodies[] = {"{}", "{\"items\":[]}", "{\"items\":7}",
                                         "{\"items\":{},\"metadata\":{\"resourceVersion\":\"1\"}}"};
    struct world *world = *state;
    const struct kube_list_options options = {.limit = 5, .position = "a b/="};

    for (size_t i = 0; i < ARRAY_LENGTH(bodies); i++) {
        struct kube_page page = {0};

        answer_well(world, bodies[i]);
        error_clear(&world->err);
        assert_int_equal(world->kube->ops->list_page(world->kube, &world->call, "/api/v1/nodes",
                                                     &options, &page, &world->err),
                         -1);
        assert_null(page.items);
    }
    assert_non_null(strstr(seen(world), "limit=5&continue=a%20b%2F%3D"));
}

/* Objects so large that no more than ten fit one answer, with a NUL in each. */
static void send_large_objects(void *object, const struct flapping_request *request,
                               struct flapping_connection *connection)
{
    _cleanup_free_ char *limit = flapping_query(request, "limit");
    _cleanup_free_ char *position = flapping_query(request, "continue");
    unsigned count = (unsigned)strtoul(limit, NULL, 10);
    unsigned first = position ? (unsigned)strtoul(position, NULL, 10) : 0;
    _cleanup_text_ struct text body = TEXT_INIT(1 << 20);

    if (count > 10) {
        send_without_end(object, request, connection);
        return;
    }
    text_add(&body, "{\"items\":[");
    for (unsigned i = first; i < first + count && i < 20; i++)
        text_addf(&body, "%s{\"metadata\":{\"name\":\"n%u\",\"annotations\":{\"a\":\"\\u0000\"}}}",
                  i == first ? "" : ",", i);
    text_add(&body, "],\"metadata\":{\"resourceVersion\":\"1\"");
    if (first + count < 20)
        text_addf(&body, ",\"continue\":\"%u\"", first + count);
    text_add(&body, "}}");
    flapping_answer(connection, 200, "", text_chars(&body));
}

static void start_counting(void *object)
{
    *(unsigned *)object = 0;
}

static int count_item(void *object, json_t *item, struct error *err)
{
    (void)item;
    (void)err;
    *(unsigned *)object += 1;
    return 0;
}

TEST(large_and_odd_objects_do_not_hide_the_others, IN_WORLD)
{
    struct world *world = *state;
    unsigned items = 0;
    const struct kube_list_sink sink = {start_counting, count_item, &items};
    _cleanup_free_ char *version = NULL;

    answer_badly(world, send_large_objects, 1000);
    if (kube_list(world->kube, &world->call, "/api/v1/nodes", NULL, &sink, &version, &world->err) <
        0)
        fail_msg("%s", world->err.message);
    assert_int_equal(items, 20);
}

/* --- watches --- */

#define EVENT(name) "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"" name "\"}}}\n"

static int note_event(void *object, enum kube_event_kind kind, json_t *item, struct error *err)
{
    (void)err;
    text_addf(object, "%d%s ", kind, kube_name(item));
    return 0;
}

/* Two events in three pieces and then the rest of the answer. */
static void begin_watch(struct flapping_connection *connection)
{
    static const char events[] = EVENT("a") EVENT("b");

    flapping_begin_chunks(connection, 200);
    flapping_chunk(connection, events, 10);
    flapping_chunk(connection, events + 10, 60);
    flapping_chunk(connection, events + 70, strlen(events) - 70);
}

static void end_properly(void *object, const struct flapping_request *request,
                         struct flapping_connection *connection)
{
    (void)object;
    (void)request;
    begin_watch(connection);
    flapping_end_chunks(connection);
}

static void cut_within_a_line(void *object, const struct flapping_request *request,
                              struct flapping_connection *connection)
{
    (void)object;
    (void)request;
    begin_watch(connection);
    flapping_chunk(connection, EVENT("c"), 20);
    flapping_close(connection); /* a reset would overtake the bytes */
}

static void say_gone(void *object, const struct flapping_request *request,
                     struct flapping_connection *connection)
{
    static const char gone[] = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
                               "\"reason\":\"Expired\",\"message\":\"too old\"}}\n";

    (void)object;
    (void)request;
    begin_watch(connection);
    flapping_chunk(connection, gone, strlen(gone));
    flapping_end_chunks(connection);
}

static void send_endless_line(void *object, const struct flapping_request *request,
                              struct flapping_connection *connection)
{
    _cleanup_free_ char *much = xmalloc(1 << 20);

    (void)object;
    (void)request;
    memset(much, 'x', 1 << 20);
    begin_watch(connection);
    for (unsigned i = 0; i < 1000 && flapping_chunk(connection, much, 1 << 20); i++)
        ;
    flapping_close(connection);
}

TEST(watch_ends_as_the_server_ends_it, IN_WORLD)
{
    static const struct {
        flapping_answer_fn *end;
        int result;
        enum status status;
        const char *message;
    } cases[] = {
        {end_properly, 0, STATUS_OK, NULL},
        {cut_within_a_line, -1, STATUS_UNAVAILABLE, NULL},
        {say_gone, -1, STATUS_OUT_OF_RANGE, "GET /api/v1/nodes: watch: 410 Expired: too old"},
        {send_endless_line, -1, STATUS_UNAVAILABLE,
         "GET /api/v1/nodes: watch: an event of more than 4194304 bytes"},
    };
    struct world *world = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_text_ struct text events = TEXT_INIT(4096);
        const struct kube_watch_options options = {.select = {.fields = "metadata.name=a"},
                                                   .resource_version = "42",
                                                   .timeout_s = 9,
                                                   .event = note_event,
                                                   .object = &events};

        answer_badly(world, cases[i].end, 1);
        error_clear(&world->err);
        assert_int_equal(world->kube->ops->watch(world->kube, &world->call, "/api/v1/nodes",
                                                 &options, &world->err),
                         cases[i].result);
        assert_string_equal(text_chars(&events), "0a 0b ");
        assert_int_equal(world->err.status, cases[i].status);
        if (cases[i].message)
            assert_string_equal(world->err.message, cases[i].message);
    }
    assert_true(text_has_prefix(seen(world), "GET /api/v1/nodes watch=1&allowWatchBookmarks=true&"
                                             "resourceVersion=42&timeoutSeconds=9&"
                                             "fieldSelector=metadata.name%3Da [topsecret]"));
}

/* --- everything at once --- */

struct counts {
    atomic_uint gains;
    atomic_uint changes;
};

static void gained(void *object)
{
    struct counts *counts = object;

    atomic_fetch_add(&counts->gains, 1);
}

static void lost(void *object, const char *reason)
{
    (void)object;
    (void)reason;
}

static void changed(void *object, const struct strmap *labels)
{
    struct counts *counts = object;

    (void)labels;
    atomic_fetch_add(&counts->changes, 1);
}

static bool zone_is(struct kube_node_labels *labels, const char *zone)
{
    _cleanup_strmap_ struct strmap map = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "test", deadline_in_ms(1));
    bool found = kube_node_labels_copy(labels, &call, &map, &err) == 0 &&
                 strcmp(strmap_get_or(&map, "zone", ""), zone) == 0;
    call_done(&call);
    return found;
}

static bool has_all(struct informer *informer, struct fake_kube *fake, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        _cleanup_free_ char *name = xasprintf("n%u", i);
        _cleanup_free_ char *path = xasprintf("/api/v1/nodes/%s", name);
        json_auto_t *here = informer_get(informer, "", name);
        json_auto_t *there = fake_kube_get(fake, path);

        if (!there != !here || (there && !json_equal(here, there)))
            return false;
    }
    return true;
}

#define NODES_MAX 150 /* two pages */

static void change_nodes(struct fake_kube *fake, unsigned round)
{
    for (unsigned i = 0; i < NODES_MAX; i++) {
        _cleanup_free_ char *path = xasprintf("/api/v1/nodes/n%u", i);
        _cleanup_free_ char *json =
            xasprintf("{\"metadata\":{\"labels\":{\"zone\":\"z%u\"}}}", round);
        json_auto_t *there = fake_kube_get(fake, path);

        if (i != 0 && there && (i + round) % 7 == 0)
            fake_kube_drop(fake, path);
        else if (i == 0 || (i + round) % 3 == 0)
            fake_kube_put(fake, path, json);
    }
    if (round % 4 == 3)
        fake_kube_compact(fake);
    if (round % 3 == 1)
        fake_kube_cut_watches(fake);
}

static void converge(struct fake_kube *fake, struct flapping_kube *flapping)
{
    struct kube *kube = client_of(flapping_server_url(flapping->server), "topsecret", NULL);
    struct counts counts = {0};
    const struct informer_options informer_options = {
        .path = "/api/v1/nodes", .retry_first_ms = 5, .retry_limit_ms = 50};
    const struct kube_node_labels_options label_options = {
        .node = "n0", .changed = changed, .object = &counts, .retry_first_ms = 5};
    const struct lease_options lease_options = {.name_space = "ceph",
                                                .name = "driver",
                                                .identity = "one",
                                                .retry_ms = 50,
                                                .gained = gained,
                                                .lost = lost,
                                                .object = &counts};
    const struct event_subject subject = {"v1", "Node", "", "n0", "n0"};
    _cleanup_error_ struct error err = {0};
    struct kube_node_labels *labels = NULL;
    struct lease *lease = NULL;

    struct informer *informer = informer_new(kube, &informer_options);
    struct events *events = events_new(kube, "test", "");
    assert_int_equal(kube_node_labels_new(kube, &label_options, &labels, &err), 0);
    assert_int_equal(lease_new(kube, &lease_options, &lease, &err), 0);
    for (unsigned round = 0; round < 12; round++) {
        change_nodes(fake, round);
        events_emit(events, &subject, EVENT_NORMAL, "Round", "round %u", round % 3);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    wait_until(has_all(informer, fake, NODES_MAX));
    wait_until(zone_is(labels, "z11"));
    wait_until(atomic_load(&counts.gains) > 0);
    lease_free(lease);
    kube_node_labels_free(labels);
    events_free(events);
    informer_free(informer);
    kube_free(kube);
}

TEST(everything_converges_whatever_happens_on_the_way)
{
    for (unsigned seed = 0; seed < 3; seed++) {
        _cleanup_fake_kube_ struct fake_kube *fake = fake_kube_new();
        struct flapping_kube flapping = {
            .permille = 100 + 200 * seed, .seed = seed, .token = "topsecret"};

        flapping_kube_start(&flapping, fake);
        converge(fake, &flapping);
        flapping_kube_stop(&flapping);
    }
}
