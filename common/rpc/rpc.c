#include "common/rpc/rpc.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/deadline.h"
#include "common/base/log.h"

#define LOG_WINDOW_MS 10000
#define LOG_LINES_PER_WINDOW 10

/*
 * Core's lines go into our log. A peer can cause them without end (a wrong content-type is one line
 * per request), so only a few are let through in each window. The counters are global because core
 * calls back without a context; when two threads race at the turn of a window a line more or less
 * gets through, which does not matter.
 */
static void log_line(gpr_log_func_args *args)
{
    static atomic_int_least64_t window_start_ms;
    static atomic_uint lines;
    int64_t now = clock_monotonic_ms();

    if (now - atomic_load(&window_start_ms) > LOG_WINDOW_MS) {
        unsigned seen = atomic_exchange(&lines, 0);

        atomic_store(&window_start_ms, now);
        if (seen > LOG_LINES_PER_WINDOW)
            log_warn(NULL, "gRPC: %u more lines were dropped", seen - LOG_LINES_PER_WINDOW);
    }
    if (atomic_fetch_add(&lines, 1) < LOG_LINES_PER_WINDOW)
        log_write(args->severity == GPR_LOG_SEVERITY_ERROR ? SEVERITY_WARNING : SEVERITY_INFO, NULL,
                  args->file, args->line, "gRPC: %s", args->message);
}

void rpc_init(void)
{
    gpr_set_log_function(log_line);
    if (!getenv("GRPC_VERBOSITY"))
        gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
    grpc_init();
}

void rpc_shutdown(void)
{
    grpc_shutdown();
}
