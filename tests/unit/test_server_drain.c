#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/fixtures/rpc.h"

extern char **environ;

/* How a driver whose handlers never end leaves: see stuck_main(). */
#define EXIT_STUCK 42
#define LONG_MS 3600000 /* whoever waits for it is ended with the test */

/* Starts this program again, with another main. */
static pid_t start_again(const char *role, const char *argument)
{
    char *argv[] = {(char[]){"test_server_drain"}, (char *)(uintptr_t)role,
                    (char *)(uintptr_t)argument, NULL};
    char program[4096] = "";
    pid_t child = 0;

    /* not executed under this name, which valgrind would not understand */
    assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
    assert_int_equal(posix_spawn(&child, program, NULL, NULL, argv, environ), 0);
    return child;
}

static int exit_code_of(pid_t child)
{
    int status = 0;

    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(idle_server_drains_at_once)
{
    const struct rpc_server_options options = {.drain_ms = LONG_MS};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    _cleanup_error_ struct error err = {0};

    assert_int_equal(access(fixture->socket, F_OK), 0);
    assert_true(rpc_server_drain(fixture->server));
    assert_int_equal(access(fixture->socket, F_OK), -1);
    assert_int_equal(rpc_fixture_send_probe(fixture->client, false, &err), -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
}

TEST(long_call_is_cancelled_after_the_drain_time)
{
    const struct rpc_server_options options = {.drain_ms = 100, .cancel_ms = LONG_MS};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    struct background_call call;

    background_start(&call, fixture, "wait", deadline_never());
    rpc_fixture_wait_for_running(fixture, 1);
    assert_true(rpc_server_drain(fixture->server));
    assert_int_equal(fixture->cancelled, 1);
    background_join(&call);
    assert_int_equal(call.result, -1);
    assert_int_equal(call.err.status, STATUS_UNAVAILABLE);
    error_clear(&call.err);
}

static void *drain(void *argument)
{
    struct rpc_fixture *fixture = argument;

    return rpc_server_drain(fixture->server) ? fixture : NULL;
}

/* Begins to drain in a thread, and returns when new calls are refused, with their error. */
static pthread_t start_draining(struct rpc_fixture *fixture, struct error *err)
{
    pthread_t drainer;

    assert_int_equal(pthread_create(&drainer, NULL, drain, fixture), 0);
    wait_until(rpc_fixture_send_probe(fixture->client, false, err) < 0);
    return drainer;
}

TEST(running_calls_may_end_while_draining)
{
    const struct rpc_server_options options = {.drain_ms = LONG_MS};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    struct background_call calls[3];
    _cleanup_error_ struct error err = {0};
    void *drained = NULL;

    for (size_t i = 0; i < ARRAY_LENGTH(calls); i++)
        background_start(&calls[i], fixture, "hold", deadline_never());
    rpc_fixture_wait_for_running(fixture, ARRAY_LENGTH(calls));
    pthread_t drainer = start_draining(fixture, &err);
    rpc_fixture_let_go(fixture);
    pthread_join(drainer, &drained);
    assert_ptr_equal(drained, fixture);
    assert_int_equal(fixture->served, ARRAY_LENGTH(calls));
    for (size_t i = 0; i < ARRAY_LENGTH(calls); i++) {
        background_join(&calls[i]);
        assert_int_equal(calls[i].result, 0);
    }
}

TEST(new_call_is_refused_while_draining)
{
    const struct rpc_server_options options = {.drain_ms = LONG_MS};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    _cleanup_error_ struct error err = {0};
    struct background_call held;
    void *drained = NULL;

    background_start(&held, fixture, "hold", deadline_never());
    rpc_fixture_wait_for_running(fixture, 1);
    pthread_t drainer = start_draining(fixture, &err);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    assert_string_equal(err.message, "this process is ending; repeat the call");
    rpc_fixture_let_go(fixture);
    background_join(&held);
    assert_int_equal(held.result, 0);
    pthread_join(drainer, &drained);
    assert_ptr_equal(drained, fixture);
}

TEST(waiting_calls_are_answered_while_draining)
{
    const struct rpc_server_options options = {.workers = 1, .drain_ms = LONG_MS};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    struct background_call calls[4];

    for (size_t i = 0; i < ARRAY_LENGTH(calls); i++)
        background_start(&calls[i], fixture, i == 0 ? "hold" : "x", deadline_never());
    rpc_fixture_wait_for_running(fixture, 1);
    rpc_fixture_let_go(fixture);
    assert_true(rpc_server_drain(fixture->server));
    for (size_t i = 0; i < ARRAY_LENGTH(calls); i++) {
        background_join(&calls[i]);
        /* what comes while core shuts down is refused by core itself */
        assert_true(calls[i].result == 0 || calls[i].err.status == STATUS_UNAVAILABLE ||
                    calls[i].err.status == STATUS_CANCELLED);
        error_clear(&calls[i].err);
    }
}

/* A program whose handler never ends. */
static int stuck_main(void)
{
    const struct rpc_server_options options = {.drain_ms = 50, .cancel_ms = 50};
    struct rpc_fixture *fixture = rpc_fixture_new(&options);
    struct background_call call;

    background_start(&call, fixture, "hold", deadline_never());
    rpc_fixture_wait_for_running(fixture, 1);
    bool has_ended = rpc_server_drain(fixture->server);
    background_join(&call);
    rmdir(fixture->folder);
    _exit(has_ended ? 0 : EXIT_STUCK);
}

TEST(stuck_handler_is_told_to_the_caller)
{
    assert_int_equal(exit_code_of(start_again("stuck", NULL)), EXIT_STUCK);
}

/* A program that makes one call and waits. */
static int client_main(const char *socket)
{
    _cleanup_(rpc_client_freep) struct rpc_client *client = NULL;
    _cleanup_error_ struct error err = {0};

    if (rpc_client_new(socket, &client, &err) == 0 &&
        rpc_fixture_create(client, "wait", NULL, deadline_never(), NULL, &err) == 0)
        return 0;
    return 1;
}

TEST(handler_sees_that_its_client_has_died)
{
    const struct rpc_server_options options = {0};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    pid_t client = start_again("client", fixture->socket);

    rpc_fixture_wait_for_running(fixture, 1);
    kill(client, SIGKILL);
    assert_int_equal(exit_code_of(client), -SIGKILL);
    rpc_fixture_wait_for_cancelled(fixture, 1);
}

TEST(successor_keeps_the_socket)
{
    const struct rpc_server_options options = {.drain_ms = LONG_MS};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    _cleanup_(rpc_client_freep) struct rpc_client *client = NULL;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(rpc_fixture_send_probe(fixture->client, false, &err), 0);
    struct rpc_server *successor = rpc_fixture_serve(fixture, &options);
    assert_int_equal(rpc_fixture_send_probe(fixture->client, false, &err), 0);
    rpc_server_free(TAKE(fixture->server));
    assert_int_equal(rpc_client_new(fixture->socket, &client, &err), 0);
    assert_int_equal(rpc_fixture_send_probe(client, false, &err), 0);
    /* the old connection comes back too */
    assert_int_equal(rpc_fixture_send_probe(fixture->client, true, &err), 0);
    rpc_server_free(successor);
    assert_int_equal(access(fixture->socket, F_OK), -1);
}

TEST(client_can_wait_for_the_server)
{
    const struct rpc_server_options options = {0};
    _cleanup_(rpc_fixture_freep) struct rpc_fixture *fixture = rpc_fixture_new(&options);
    _cleanup_error_ struct error err = {0};

    rpc_server_free(TAKE(fixture->server));
    assert_int_equal(rpc_fixture_send_probe(fixture->client, false, &err), -1);
    error_clear(&err);
    fixture->server = rpc_fixture_serve(fixture, &options);
    assert_int_equal(rpc_fixture_send_probe(fixture->client, true, &err), 0);
}

TEST(start_fails_without_a_folder)
{
    const struct rpc_server_options options = {.endpoint = "unix:///tmp/no/such/folder/csi.sock",
                                               .workers = 2};
    _cleanup_(rpc_server_freep) struct rpc_server *server = NULL;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(rpc_server_new(&options, &server, &err), 0);
    assert_int_equal(rpc_server_start(server, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
}

TEST(start_fails_where_a_file_is_in_the_way)
{
    char path[] = "/tmp/test-rpc-file-XXXXXX";
    int fd = mkstemp(path);
    const struct rpc_server_options options = {.endpoint = path, .workers = 2};
    _cleanup_(rpc_server_freep) struct rpc_server *server = NULL;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(rpc_server_new(&options, &server, &err), 0);
    assert_int_equal(rpc_server_start(server, &err), -1);
    assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
    assert_int_equal(unlink(path), 0);
    close(fd);
}

TEST(server_that_was_not_started_can_be_freed)
{
    const struct rpc_server_options options = {.endpoint = "/tmp/x.sock"};
    struct rpc_server *server = NULL;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(rpc_server_new(&options, &server, &err), 0);
    rpc_server_free(server);
    rpc_server_free(NULL);
}

int test_child(int argc, char **argv)
{
    rpc_init();
    if (strcmp(argv[1], "stuck") == 0)
        return stuck_main();
    return argc > 2 && strcmp(argv[1], "client") == 0 ? client_main(argv[2]) : 2;
}

static int start_rpc(void **state)
{
    (void)state;
    rpc_init();
    return 0;
}

static int stop_rpc(void **state)
{
    (void)state;
    rpc_shutdown();
    return 0;
}

TEST_GROUP(start_rpc, stop_rpc)
