#include "common/base/log.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"

/* Set once at start, before any other thread exists. */
static struct {
    int verbosity;
    int file_fd;
    bool to_stderr;
    bool without_headers;
} settings = {.file_fd = -1, .to_stderr = true};

/* One line is never longer; a request printed at --v=5 is the longest thing logged. */
#define LOG_LINE_LIMIT (64 * 1024)

void log_start(const struct log_options *options)
{
    settings.verbosity = options->verbosity;
    settings.without_headers = options->without_headers;
    settings.to_stderr = options->to_stderr || text_is_empty(options->file);
    if (text_is_empty(options->file))
        return;
    settings.file_fd = open(options->file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (settings.file_fd < 0) {
        settings.to_stderr = true;
        log_warn(NULL, "cannot open log file '%s', logging to stderr: %m", options->file);
    }
}

bool log_is_verbose(int level)
{
    return level <= settings.verbosity;
}

static void add_header(struct text *line, enum log_severity severity, const char *file, int number)
{
    const char *slash = strrchr(file, '/');
    struct timespec now;
    struct tm local;

    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    text_addf(line, "%c%02d%02d %02d:%02d:%02d.%06ld %7d %s:%d] ", "IWE"[severity],
              local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
              now.tv_nsec / 1000, getpid(), slash ? slash + 1 : file, number);
}

/* A newline in a peer's string must not forge a line of its own, nor an escape sequence colour the
 * operator's terminal. */
static void flatten_controls(struct text *line, size_t from)
{
    for (size_t i = from; i < line->length; i++)
        if ((unsigned char)line->chars[i] < ' ' || line->chars[i] == 0x7f)
            line->chars[i] = ' ';
}

void log_write(enum log_severity severity, const struct call *call, const char *file, int number,
               const char *fmt, ...)
{
    _cleanup_text_ struct text line = TEXT_INIT(LOG_LINE_LIMIT);

    _cleanup_free_ char *message = xformat_arguments(fmt);
    if (!settings.without_headers)
        add_header(&line, severity, file, number);
    size_t start = line.length;
    if (call)
        text_addf(&line, "ID: %llu ", (unsigned long long)call->id);
    if (call && call->request_id)
        text_addf(&line, "Req-ID: %s ", call->request_id);
    text_add(&line, message);
    flatten_controls(&line, start);
    line.limit++; /* a truncated line gets its newline, too */
    text_add(&line, "\n");
    /* there is nowhere to report a failure */
    if (settings.to_stderr)
        text_write_fd(STDERR_FILENO, line.chars, line.length);
    if (settings.file_fd >= 0)
        text_write_fd(settings.file_fd, line.chars, line.length);
}
