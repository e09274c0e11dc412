/* Programs, the daemons that some of them leave behind, and a way to talk to these. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/host_internal.h"

#define TERM_MS 10000
#define KILL_MS 5000
#define CONVERSE_MS 10000
#define REPLY_LIMIT ((size_t)1024 * 1024)
#define COMMAND_LIMIT ((size_t)64 * 1024) /* of a process's command line */

static int run_program(struct host *host, const struct subprocess *program,
                       struct subprocess_result *result, struct error *err)
{
    (void)host;
    return subprocess_check(program, result, err);
}

/* --- daemons --- */

/* The command line of @pid: arguments, each ending with NUL. Those of a dead process are none. */
static void read_arguments(const char *pid, struct string_list *arguments)
{
    _cleanup_free_ char *path = xasprintf("/proc/%s/cmdline", pid);
    _cleanup_free_ char *command = xcalloc(COMMAND_LIMIT + 1, 1);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, command, COMMAND_LIMIT);

    for (ssize_t i = 0; i < length; i += (ssize_t)strlen(command + i) + 1)
        string_list_add(arguments, command + i);
}

static bool is_daemon(const char *pid, const char *program, const char *argument)
{
    _cleanup_string_list_ struct string_list arguments = {0};

    read_arguments(pid, &arguments);
    if (arguments.count == 0 || strcmp(basename(arguments.items[0]), program) != 0)
        return false;
    for (size_t i = 0; i < arguments.count; i++)
        if (strstr(arguments.items[i], argument))
            return true;
    return false;
}

static int process_arguments(struct host *host, const char *pid, struct string_list *arguments,
                             struct error *err)
{
    uint64_t number = 0;

    (void)host;
    if (text_parse_u64(pid, &number, err) < 0)
        return error_wrap(err, "arguments of process '%.32s'", pid);
    read_arguments(pid, arguments);
    return 0;
}

static int daemon_list(struct host *host, const char *program, const char *argument,
                       struct string_list *pids, struct error *err)
{
    _cleanup_string_list_ struct string_list names = {0};

    if (host->ops->sysfs_list(host, "/proc", &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.count; i++)
        if (isdigit((unsigned char)names.items[i][0]) &&
            is_daemon(names.items[i], program, argument))
            string_list_add(pids, names.items[i]);
    return 0;
}

static int daemon_is_running(struct host *host, const char *program, const char *argument,
                             bool *running, struct error *err)
{
    _cleanup_string_list_ struct string_list pids = {0};

    if (daemon_list(host, program, argument, &pids, err) < 0)
        return -1;
    *running = pids.count > 0;
    return 0;
}

/* Through a pidfd, so that the signal reaches the process that was looked at or none. */
static int stop_process(const char *pid, const char *program, const char *argument,
                        struct error *err)
{
    static const struct {
        int number;
        int wait_ms;
    } signals[] = {{SIGTERM, TERM_MS}, {SIGKILL, KILL_MS}};
    struct pollfd ended = {.events = POLLIN};
    _cleanup_close_ int fd = pidfd_open((pid_t)strtol(pid, NULL, 10), 0);

    if (fd < 0 || !is_daemon(pid, program, argument))
        return 0;
    ended.fd = fd;
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        if (pidfd_send_signal(fd, signals[i].number, NULL, 0) < 0)
            return errno == ESRCH ? 0 : error_set_errno(err, -errno, "end process %s", pid);
        if (poll(&ended, 1, signals[i].wait_ms) > 0)
            return 0;
    }
    return error_set(err, STATUS_DEADLINE_EXCEEDED, "process %s, %s, does not end", pid, program);
}

static int daemon_stop(struct host *host, const char *program, const char *argument,
                       struct error *err)
{
    _cleanup_string_list_ struct string_list pids = {0};

    if (daemon_list(host, program, argument, &pids, err) < 0)
        return -1;
    for (size_t i = 0; i < pids.count; i++)
        if (stop_process(pids.items[i], program, argument, err) < 0)
            return -1;
    return 0;
}

/* --- talking to them --- */

/* The connected socket, or a negative errno. */
static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval timeout = {.tv_sec = CONVERSE_MS / 1000};
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    return TAKE_FD(fd);
}

/* Lines that do not contain @mark, such as greetings and events, are passed over. */
static int read_reply(int fd, const char *mark, struct deadline deadline, char **line)
{
    _cleanup_text_ struct text text = TEXT_INIT(REPLY_LIMIT);
    char c = 0;

    while (!text.truncated && !deadline_has_passed(deadline)) {
        ssize_t got = recv(fd, &c, 1, 0);

        if (got <= 0)
            return got < 0 ? -errno : -ECONNRESET;
        if (c != '\n') {
            text_add_bytes(&text, &c, 1);
            continue;
        }
        if (strstr(text_chars(&text), mark)) {
            *line = text_take(&text);
            return 0;
        }
        text_done(&text);
        text = (struct text)TEXT_INIT(REPLY_LIMIT);
    }
    return text.truncated ? -EFBIG : -ETIMEDOUT;
}

static int talk_to_daemon(struct host *host, const char *socket_path, const char *const *lines,
                          const char *mark, char **reply, struct error *err)
{
    struct deadline deadline = deadline_in_ms(CONVERSE_MS);
    _cleanup_free_ char *last = NULL;
    _cleanup_close_ int fd = connect_to(socket_path);
    int result = 0;

    (void)host;
    if (fd < 0)
        return error_set_errno(err, fd, "connect to '%s'", socket_path);
    for (size_t i = 0; lines[i] && result == 0; i++) {
        size_t length = strlen(lines[i]);

        free(TAKE(last));
        if (send(fd, lines[i], length, MSG_NOSIGNAL) != (ssize_t)length ||
            send(fd, "\n", 1, MSG_NOSIGNAL) != 1)
            result = -errno;
        else
            result = read_reply(fd, mark, deadline, &last);
    }
    if (result < 0)
        return error_set_errno(err, result, "talk to '%s'", socket_path);
    *reply = TAKE(last);
    return 0;
}

void programs_register(struct host_ops *ops)
{
    ops->run = run_program;
    ops->process_arguments = process_arguments;
    ops->daemon_list = daemon_list;
    ops->daemon_is_running = daemon_is_running;
    ops->daemon_stop = daemon_stop;
    ops->converse = talk_to_daemon;
}
