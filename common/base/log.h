#pragma once

#include <stdbool.h>

#include "common/base/call.h"
#include "common/base/cleanup.h"

/*
 * Log lines on stderr (and, with --log_file, in a file) in klog's format, because operators parse
 * it:
 *
 *   I1116 01:31:28.141553       1 stage.c:120] ID: 17 Req-ID: pvc-1 mapped as '/dev/rbd0'
 *
 * The call gives ID and Req-ID; NULL where there is none. Any thread. A line is written by one
 * write(2), so lines of several threads do not mix (in a pipe up to 4 KiB, as POSIX says).
 */
enum log_severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_ERROR };

struct log_options {
    int verbosity;        /* --v */
    const char *file;     /* --log_file; NULL or "": none */
    bool to_stderr;       /* --logtostderr or --alsologtostderr */
    bool without_headers; /* --skip_headers */
};

/* Once, before other threads exist. Falls back to stderr, and says so, when the file cannot be
 * opened: a driver without a log file is better than none. */
void log_start(const struct log_options *options);

bool log_is_verbose(int level);

_printf_(5, 6) void log_write(enum log_severity severity, const struct call *call, const char *file,
                              int line, const char *fmt, ...);

#define log_error(call, ...) log_write(SEVERITY_ERROR, (call), __FILE__, __LINE__, __VA_ARGS__)
#define log_warn(call, ...) log_write(SEVERITY_WARNING, (call), __FILE__, __LINE__, __VA_ARGS__)
#define log_info(call, ...) log_write(SEVERITY_INFO, (call), __FILE__, __LINE__, __VA_ARGS__)
#define log_v(level, call, ...)                                                                    \
    do {                                                                                           \
        if (log_is_verbose(level))                                                                 \
            log_write(SEVERITY_INFO, (call), __FILE__, __LINE__, __VA_ARGS__);                     \
    } while (0)
