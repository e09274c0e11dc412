#include "programs/cephcsi/generator.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/metrics.h"
#include "common/rpc/http_server.h"
#include "controller/regenerate/regenerator.h"
#include "programs/cephcsi/driver_kube.h"

struct generator {
    struct metrics *metrics;
    struct config_file *config;
    struct driver_kube kube;
    struct ceph *ceph;
    struct standing_credentials *standing;
    struct regenerator *regenerator;
    struct http_server *http;
};

static void answer_metrics(void *object, struct http_reply *reply)
{
    struct generator *generator = object;

    reply->content_type = "text/plain; version=0.0.4; charset=utf-8";
    metrics_print(generator->metrics, &reply->body);
}

static void answer_readyz(void *object, struct http_reply *reply)
{
    struct generator *generator = object;
    _cleanup_free_ char *message = NULL;
    time_t since = 0;

    if (regenerator_is_healthy(generator->regenerator, &message, &since))
        return;
    reply->status = 503;
    text_addf(&reply->body, "journal: %s\n", message);
}

static int serve_metrics(struct generator *generator, const struct options *options,
                         struct error *err)
{
    const char *address = getenv("POD_IP");
    const struct http_route routes[] = {
        {"/readyz", answer_readyz, generator},
        {options->metrics_path, answer_metrics, generator},
    };

    if (options->generator_port < 0)
        return 0;
    if (http_server_new(address ? address : "", (uint16_t)options->generator_port, routes,
                        ARRAY_LENGTH(routes), &generator->http, err) < 0)
        return error_wrap(err, "--generator-metricsport");
    log_info(NULL, "serving metrics on port %d", http_server_port(generator->http));
    return 0;
}

static int start_generator(struct generator *generator, const struct options *options,
                           struct ceph *(*make_ceph)(const struct ceph_options *options),
                           struct error *err)
{
    process_metrics_register(generator->metrics);
    generator->ceph = make_ceph(&(struct ceph_options){
        .connect_timeout_ms = options->ceph_timeout_ms,
        .mon_op_timeout_ms = options->ceph_timeout_ms,
        .osd_op_timeout_ms = options->ceph_timeout_ms,
    });
    generator->standing = standing_credentials_new(
        &(struct standing_credentials_options){.kube = generator->kube.kube});
    const struct regenerator_options regenerator = {
        .site = {.ceph = generator->ceph,
                 .config = generator->config,
                 .instance_id = options->instance_id,
                 .mapping_path = options->mapping_path,
                 .cluster_name = options->cluster_name},
        .kube = generator->kube.kube,
        .standing = generator->standing,
        .events = generator->kube.events,
        .driver_name = options->driver_name,
        .name_space = options->driver_namespace,
        .identity = generator->kube.identity,
        .metrics = generator->metrics,
    };
    if (regenerator_new(&regenerator, &generator->regenerator, err) < 0)
        return -1;
    return serve_metrics(generator, options, err);
}

/* False if something hangs in Ceph and the process can only end by _exit(). */
static bool stop_generator(struct generator *generator)
{
    http_server_free(generator->http);
    regenerator_free(generator->regenerator);
    standing_credentials_free(generator->standing);
    bool is_free = !generator->ceph || ceph_free(generator->ceph);
    metrics_free(generator->metrics);
    driver_kube_done(&generator->kube);
    config_file_free(generator->config);
    return is_free;
}

int generator_run(const struct options *options, const sigset_t *signals,
                  struct ceph *(*make_ceph)(const struct ceph_options *options))
{
    _cleanup_error_ struct error err = {0};
    struct generator generator = {.metrics = metrics_new(),
                                  .config = config_file_new(options->config_path)};
    int signal_number = 0;
    int result = driver_kube_init(&generator.kube, options, generator.metrics, &err);

    if (result == 0 && generator.kube.kube)
        result = start_generator(&generator, options, make_ceph, &err);
    else if (result == 0)
        log_warn(NULL, "there is no Kubernetes to read PersistentVolumes from: no journal is "
                       "regenerated; this process only waits");
    if (result < 0) {
        log_error(NULL, "cannot start: %s", err.message);
    } else {
        sigwait(signals, &signal_number);
        log_info(NULL, "got %s, ending", sigabbrev_np(signal_number));
    }
    if (!stop_generator(&generator)) {
        log_warn(NULL, "something still waits for Ceph; leaving it");
        _exit(result < 0 ? 1 : 0);
    }
    return result < 0 ? 1 : 0;
}
