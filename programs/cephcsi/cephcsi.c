/* The driver's main(): command line, log, signals, and what --type names. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/rpc/rpc.h"
#include "programs/cephcsi/driver.h"
#include "programs/cephcsi/generator.h"
#include "programs/cephcsi/liveness.h"
#include "programs/cephcsi/options.h"

/* The signals that the main thread waits for; blocked in all threads, so that only it gets them. */
static sigset_t block_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signals;
}

static int run_type(const struct options *options, const sigset_t *signals)
{
    if (strcmp(options->type, "liveness") == 0)
        return liveness_run(options, signals);
    if (strcmp(options->type, "controller") == 0)
        return generator_run(options, signals, ceph_new);
    return driver_run(options, signals, ceph_new, host_new);
}

int main(int argc, char **argv)
{
    struct options options;
    int code = options_read(&options, argc, argv);

    if (code >= 0)
        return code;
    log_start(&(struct log_options){
        .verbosity = (int)options.verbosity,
        .file = options.log_file,
        .to_stderr = options.log_to_stderr || options.also_log_to_stderr,
        .without_headers = options.skip_headers,
    });
    sigset_t signals = block_signals();
    rpc_init();
    log_info(NULL, "cephcsi %s (%s) starts as %s, driver '%s'", CEPHZONE_VERSION, CEPHZONE_COMMIT,
             options.type, options.driver_name);
    options_warn_of_ignored(&options);
    code = run_type(&options, &signals);
    rpc_shutdown();
    return code;
}
