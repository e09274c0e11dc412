#include "tests/integration/liveness_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/test.h"

extern char **environ;

/* The port that it chose, from its log; 0 while it is not there. */
static uint16_t find_port(const char *log_path)
{
    static const char marker[] = "metrics on port ";
    _cleanup_fclose_ FILE *file = fopen(log_path, "re");
    char line[512];

    while (file && fgets(line, sizeof(line), file)) {
        const char *found = strstr(line, marker);

        if (found)
            return (uint16_t)strtoul(found + strlen(marker), NULL, 10);
    }
    return 0;
}

void liveness_start(struct liveness_process *liveness, const struct driver_process *driver)
{
    _cleanup_free_ char *endpoint = xasprintf("--endpoint=%s", driver->endpoint);
    char *argv[] = {xstrdup(getenv("CEPHCSI")),
                    xstrdup("--type=liveness"),
                    endpoint,
                    xstrdup("--metricsport=0"),
                    xstrdup("--polltime=100ms"),
                    xstrdup("--timeout=20s"),
                    NULL};
    posix_spawn_file_actions_t actions;

    liveness->log_path = xasprintf("%s/liveness.log", driver->folder);
    setenv("POD_IP", "127.0.0.1", 1);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, liveness->log_path,
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_int_equal(posix_spawn(&liveness->pid, argv[0], &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 0; argv[i]; i++)
        if (argv[i] != endpoint)
            free(argv[i]);
    liveness_find_port(liveness);
}

void liveness_find_port(struct liveness_process *liveness)
{
    wait_until((liveness->port = find_port(liveness->log_path)) != 0);
}

void liveness_stop(struct liveness_process *liveness)
{
    int status = 0;

    kill(liveness->pid, SIGTERM);
    waitpid(liveness->pid, &status, 0);
    harness_assert_no_report(liveness->log_path);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    unlink(liveness->log_path);
    free(liveness->log_path);
    *liveness = (struct liveness_process){0};
}

/* The whole answer, headers and all. Caller frees. */
static char *http_get(uint16_t port, const char *path)
{
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    _cleanup_free_ char *request =
        xasprintf("GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
    _cleanup_text_ struct text answer = TEXT_INIT(4 * 1024 * 1024);
    char chunk[4096];
    ssize_t length = 0;

    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(write(fd, request, strlen(request)), strlen(request));
    while ((length = read(fd, chunk, sizeof(chunk))) > 0)
        text_add_bytes(&answer, chunk, (size_t)length);
    return text_take(&answer);
}

void liveness_assert_answers(const struct liveness_process *liveness, const char *path,
                             const char *status, const char *part)
{
    _cleanup_free_ char *wanted = xasprintf("HTTP/1.1 %s", status);
    struct test_wait wait = {0};

    for (;;) {
        _cleanup_free_ char *answer = http_get(liveness->port, path);

        if (text_has_prefix(answer, wanted) && strstr(answer, part))
            return;
        if (!test_wait_more(&wait))
            fail_msg("%s: wanted %s with '%s', got %s", path, status, part, answer);
    }
}
