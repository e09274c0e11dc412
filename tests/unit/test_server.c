#include "common/base/metrics.h"
#include "google/protobuf/wrappers.pb-c.h"
#include "tests/unit/fixtures/rpc.h"

static char log_path[] = "/tmp/test-rpc-log-XXXXXX";

/* What was logged since @from; moves it to the end. Caller frees. */
static char *log_since(long *from)
{
    _cleanup_fclose_ FILE *file = fopen(log_path, "r");
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);
    char piece[4096];
    size_t length = 0;

    fseek(file, *from, SEEK_SET);
    while ((length = fread(piece, 1, sizeof(piece), file)) > 0)
        text_add_bytes(&text, piece, length);
    *from = ftell(file);
    return text_take(&text);
}

static size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;

    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

static void assert_fails(int result, const struct error *err, enum status status,
                         const char *message)
{
    assert_int_equal(result, -1);
    assert_string_equal(status_name(err->status), status_name(status));
    if (message)
        assert_string_equal(err->message, message);
}

TEST(call_is_answered)
{
    struct rpc_fixture *fixture = *state;
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *id = NULL;

    if (rpc_fixture_create(fixture->client, "pvc-1", NULL, deadline_never(), &id, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(id, "pvc-1");
    assert_int_equal(rpc_fixture_send_probe(fixture->client, false, &err), 0);
}

TEST(status_and_message_come_as_they_were_set)
{
    static const char text[] = "pool 'zone-ä' is 100% full:\n\ttry \"other\" pools";
    struct rpc_fixture *fixture = *state;
    _cleanup_error_ struct error err = {0};

    assert_fails(rpc_fixture_create(fixture->client, "fail", text, deadline_never(), NULL, &err),
                 &err, STATUS_ALREADY_EXISTS, text);
}

TEST(long_message_is_cut_between_characters)
{
    struct rpc_fixture *fixture = *state;
    _cleanup_free_ char *text = xcalloc(1, 20001);
    _cleanup_error_ struct error err = {0};

    for (size_t i = 0; i < 20000; i++)
        text[i] = "ä"[i % 2];
    assert_fails(rpc_fixture_create(fixture->client, "fail", text, deadline_never(), NULL, &err),
                 &err, STATUS_ALREADY_EXISTS, NULL);
    assert_int_equal(strlen(err.message), 1364); /* of 4096 bytes, three for each of these */
    assert_memory_equal(err.message, text, 1364);
    error_clear(&err);
    memset(text, 'x', 20000);
    assert_fails(rpc_fixture_create(fixture->client, "fail", text, deadline_never(), NULL, &err),
                 &err, STATUS_ALREADY_EXISTS, NULL);
    assert_int_equal(strlen(err.message), 4096);
}

static int call_path(struct rpc_fixture *fixture, const char *path, const ProtobufCMessage *message,
                     struct error *err)
{
    _cleanup_(message_freep) ProtobufCMessage *reply = NULL;
    const struct rpc_request request = {
        .path = path,
        .message = message,
        .response = &csi__v1__create_volume_response__descriptor,
        .deadline = deadline_in_ms(120000), /* ends a hang */
    };

    return rpc_client_call(fixture->client, &request, &reply, err);
}

TEST(unknown_method_is_unimplemented)
{
    struct rpc_fixture *fixture = *state;
    _cleanup_error_ struct error err = {0};
    Csi__V1__ProbeRequest message;

    csi__v1__probe_request__init(&message);
    assert_fails(call_path(fixture, "/csi.v1.Node/NodeGetInfo", &message.base, &err), &err,
                 STATUS_UNIMPLEMENTED, "this process does not serve /csi.v1.Node/NodeGetInfo");
}

/* BytesValue has its bytes in field 1, where CreateVolumeRequest has its name. */
TEST(bad_string_is_invalid)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *error;
    } cases[] = {
        {"pvc\0x", 5, "name: contains a NUL byte"},
        {"pvc\xff", 4, "name: is not valid UTF-8"},
    };
    struct rpc_fixture *fixture = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        Google__Protobuf__BytesValue message;
        _cleanup_error_ struct error err = {0};

        google__protobuf__bytes_value__init(&message);
        message.value.data = (uint8_t *)(uintptr_t)cases[i].bytes;
        message.value.len = cases[i].length;
        assert_fails(call_path(fixture, "/csi.v1.Controller/CreateVolume", &message.base, &err),
                     &err, STATUS_INVALID_ARGUMENT, cases[i].error);
    }
}

TEST(malformed_message_is_invalid)
{
    struct rpc_fixture *fixture = *state;
    Google__Protobuf__UInt64Value message;
    _cleanup_error_ struct error err = {0};

    google__protobuf__uint64_value__init(&message);
    message.value = 5;
    assert_fails(call_path(fixture, "/csi.v1.Controller/CreateVolume", &message.base, &err), &err,
                 STATUS_INVALID_ARGUMENT,
                 "request is not a valid csi.v1.CreateVolumeRequest: field 1: has the wrong wire "
                 "type");
}

TEST(oversize_message_is_refused)
{
    struct rpc_fixture *fixture = *state;
    _cleanup_free_ char *name = xcalloc(1, 5000001);
    _cleanup_error_ struct error err = {0};

    memset(name, 'x', 5000000);
    assert_fails(rpc_fixture_create(fixture->client, name, NULL, deadline_never(), NULL, &err),
                 &err, STATUS_RESOURCE_EXHAUSTED, NULL);
    assert_non_null(strstr(err.message, "larger than max"));
    error_clear(&err);
    assert_int_equal(rpc_fixture_send_probe(fixture->client, false, &err), 0);
}

/* CreateVolume's handler runs, or has seen that it was cancelled. */
static bool has_been_called(struct rpc_fixture *fixture)
{
    pthread_mutex_lock(&fixture->lock);
    bool has = fixture->running + fixture->cancelled > 0;
    pthread_mutex_unlock(&fixture->lock);
    return has;
}

TEST(handler_sees_the_deadline)
{
    struct rpc_fixture *fixture = *state;
    _cleanup_error_ struct error err = {0};

    /* on a slow machine the first may not come as far as the handler */
    for (int64_t patience_ms = 150; !has_been_called(fixture); patience_ms *= 2) {
        error_clear(&err);
        assert_fails(rpc_fixture_create(fixture->client, "wait", NULL, deadline_in_ms(patience_ms),
                                        NULL, &err),
                     &err, STATUS_DEADLINE_EXCEEDED, NULL);
    }
    rpc_fixture_wait_for_cancelled(fixture, 1);
}

TEST(call_that_nobody_waits_for_is_not_run)
{
    const struct rpc_server_options options = {.workers = 1};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    struct background_call held;
    _cleanup_error_ struct error err = {0};
    _cleanup_error_ struct error probe_err = {0};

    background_start(&held, fixture, "hold", deadline_never());
    rpc_fixture_wait_for_running(fixture, 1);
    assert_fails(rpc_fixture_create(fixture->client, "late", NULL, deadline_in_ms(50), NULL, &err),
                 &err, STATUS_DEADLINE_EXCEEDED, NULL);
    /* behind the word that the call has ended, on the same connection */
    assert_int_equal(rpc_fixture_send_probe(fixture->client, false, &probe_err), 0);
    rpc_fixture_let_go(fixture);
    background_join(&held);
    assert_int_equal(held.result, 0);
    assert_true(rpc_server_drain(fixture->server));
    assert_int_equal(fixture->served, 1);
}

TEST(quick_method_answers_while_workers_hang)
{
    const struct rpc_server_options options = {.workers = 1};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    struct background_call held;
    _cleanup_error_ struct error err = {0};

    background_start(&held, fixture, "hold", deadline_never());
    rpc_fixture_wait_for_running(fixture, 1);
    assert_int_equal(rpc_fixture_send_probe(fixture->client, false, &err), 0);
    rpc_fixture_let_go(fixture);
    background_join(&held);
    assert_int_equal(held.result, 0);
}

TEST(slow_methods_leave_half_of_the_workers_to_others)
{
    const struct rpc_server_options options = {.workers = 2};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    struct background_call held;
    _cleanup_error_ struct error err = {0};

    background_start(&held, fixture, "slow", deadline_never());
    rpc_fixture_wait_for_running(fixture, 1);
    assert_fails(
        rpc_fixture_create(fixture->client, "slow too", NULL, deadline_never(), NULL, &err), &err,
        STATUS_ABORTED, "1 calls that may take long are running already; retry");
    error_clear(&err);
    assert_int_equal(
        rpc_fixture_create(fixture->client, "other", NULL, deadline_never(), NULL, &err), 0);
    rpc_fixture_let_go(fixture);
    background_join(&held);
    assert_int_equal(held.result, 0);
    assert_int_equal(
        rpc_fixture_create(fixture->client, "slow again", NULL, deadline_never(), NULL, &err), 0);
}

/* Which of two calls has ended, and is joined; 2 for none. */
static size_t ended_one(struct background_call *calls)
{
    size_t i = 0;

    while (i < 2 && pthread_tryjoin_np(calls[i].thread, NULL) != 0)
        i++;
    return i;
}

/* One runs and one waits; which of the others that is does not matter. */
TEST(full_queue_is_unavailable)
{
    const struct rpc_server_options options = {.workers = 1, .queue_limit = 1};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    struct background_call held;
    struct background_call others[2];
    size_t refused = 2;

    background_start(&held, fixture, "hold", deadline_never());
    rpc_fixture_wait_for_running(fixture, 1);
    for (size_t i = 0; i < 2; i++)
        background_start(&others[i], fixture, "x", deadline_never());
    wait_until((refused = ended_one(others)) < 2);
    rpc_fixture_let_go(fixture);
    background_join(&held);
    background_join(&others[1 - refused]);
    assert_int_equal(held.result, 0);
    assert_int_equal(others[1 - refused].result, 0);
    assert_fails(others[refused].result, &others[refused].err, STATUS_UNAVAILABLE,
                 "all 1 workers are busy and 1 calls wait for one already");
    error_clear(&others[refused].err);
}

TEST(failed_call_is_logged_once)
{
    struct rpc_fixture *fixture = *state;
    _cleanup_error_ struct error err = {0};
    long from = 0;

    free(log_since(&from));
    assert_fails(
        rpc_fixture_create(fixture->client, "fail", "this one", deadline_never(), NULL, &err), &err,
        STATUS_ALREADY_EXISTS, "this one");
    _cleanup_free_ char *lines = log_since(&from);
    assert_int_equal(occurrences(lines, "failed with ALREADY_EXISTS after"), 1);
    assert_int_equal(occurrences(lines, "GRPC call: /csi.v1.Controller/CreateVolume"), 1);
    assert_int_equal(occurrences(lines, "Req-ID: fail GRPC error: CreateVolume"), 1);
    assert_int_equal(occurrences(lines, "GRPC request: {\"name\":\"fail\""), 1);
}

static bool is_told_twice(long from)
{
    _cleanup_free_ char *lines = log_since(&from);

    return occurrences(lines, "Slow GRPC call CreateVolume 'hold' has been acting for") >= 2 &&
           strstr(lines, "nobody waits for it any more");
}

TEST(slow_call_is_logged_until_it_ends)
{
    const struct rpc_server_options options = {.slow_call_interval_ms = 500};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    struct background_call held;
    long from = 0;

    free(log_since(&from));
    for (int64_t patience_ms = 1000; !has_been_called(fixture); patience_ms *= 2) {
        background_start(&held, fixture, "hold", deadline_in_ms(patience_ms));
        background_join(&held);
        error_clear(&held.err);
    }
    wait_until(is_told_twice(from));
    rpc_fixture_let_go(fixture);
}

TEST(calls_are_counted)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    const struct rpc_server_options options = {.metrics = metrics, .metrics_prefix = "test"};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);
    _cleanup_error_ struct error err = {0};

    assert_int_equal(rpc_fixture_send_probe(fixture->client, false, &err), 0);
    assert_int_equal(rpc_fixture_send_probe(fixture->client, false, &err), 0);
    assert_int_equal(
        rpc_fixture_create(fixture->client, "fail", NULL, deadline_never(), NULL, &err), -1);
    error_clear(&err);
    Csi__V1__ProbeRequest message;
    csi__v1__probe_request__init(&message);
    assert_int_equal(call_path(fixture, "/no/such", &message.base, &err), -1);
    metrics_print(metrics, &text);
    static const char *const expected[] = {
        "test_rpc_total{method=\"Probe\",status=\"OK\"} 2\n",
        "test_rpc_total{method=\"CreateVolume\",status=\"ALREADY_EXISTS\"} 1\n",
        "test_rpc_total{method=\"unknown\",status=\"UNIMPLEMENTED\"} 1\n",
        "test_rpc_duration_seconds_count{method=\"Probe\"} 2\n",
        "test_rpc_in_flight{method=\"Probe\"} 0\n",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
        if (!strstr(text_chars(&text), expected[i]))
            fail_msg("missing: %s in %s", expected[i], text_chars(&text));
}

#define LOAD_THREADS 32
#define LOAD_CALLS 200

static void *load(void *argument)
{
    struct rpc_fixture *fixture = argument;
    uintptr_t answered = 0;

    for (int i = 0; i < LOAD_CALLS; i++) {
        _cleanup_free_ char *name = xasprintf("pvc-%d", i);
        _cleanup_error_ struct error err = {0};
        _cleanup_free_ char *id = NULL;

        if (rpc_fixture_create(fixture->client, name, NULL, deadline_never(), &id, &err) == 0)
            answered += strcmp(id, name) == 0;
    }
    return (void *)answered;
}

TEST(many_threads_call_at_once)
{
    const struct rpc_server_options options = {0};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    pthread_t threads[LOAD_THREADS];
    int64_t start = clock_monotonic_ms();

    for (size_t i = 0; i < LOAD_THREADS; i++)
        pthread_create(&threads[i], NULL, load, fixture);
    for (size_t i = 0; i < LOAD_THREADS; i++) {
        void *answered = NULL;

        pthread_join(threads[i], &answered);
        assert_int_equal((uintptr_t)answered, LOAD_CALLS);
    }
    int64_t ms = clock_monotonic_ms() - start;
    print_message("%d calls in %lld ms, %lld/s\n", LOAD_THREADS * LOAD_CALLS, (long long)ms,
                  1000LL * LOAD_THREADS * LOAD_CALLS / (long long)(ms + 1));
}

TEST(client_without_server_is_unavailable)
{
    _cleanup_(rpc_client_freep) struct rpc_client *client = NULL;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(rpc_client_new("unix:///tmp/no such socket", &client, &err), 0);
    assert_fails(rpc_fixture_send_probe(client, false, &err), &err, STATUS_UNAVAILABLE, NULL);
}

static int start_group(void **state)
{
    const struct rpc_server_options options = {.slow_call_interval_ms = 30000};
    _cleanup_close_ int fd = mkstemp(log_path);

    assert_true(fd >= 0);
    log_start(&(struct log_options){.verbosity = 5, .file = log_path});
    rpc_init();
    *state = rpc_fixture_new(&options);
    return 0;
}

static int stop_group(void **state)
{
    rpc_fixture_free(*state);
    rpc_shutdown();
    unlink(log_path);
    return 0;
}

TEST_GROUP(start_group, stop_group)
