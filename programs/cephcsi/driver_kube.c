#include "programs/cephcsi/driver_kube.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/kube/kube.h"
#include "common/kube/kube_client.h"

/* *@found is false where nothing points to a Kubernetes. */
static int load_config(const char *path, struct kube_config *config, bool *found, struct error *err)
{
    *found = true;
    if (text_is_empty(path))
        path = getenv("KUBERNETES_CONFIG_PATH"); /* Ceph-CSI's */
    if (!text_is_empty(path))
        return kube_config_load_file(path, NULL, config, err);
    *found = false;
    if (text_is_empty(getenv("KUBERNETES_SERVICE_HOST")))
        return 0;
    if (kube_config_load_in_cluster(KUBE_SERVICE_ACCOUNT, config, err) < 0) {
        log_warn(NULL, "going without the Kubernetes API: %s", err->message);
        error_clear(err);
        return 0;
    }
    *found = true;
    return 0;
}

int driver_kube_init(struct driver_kube *kube, const struct options *options,
                     struct metrics *metrics, struct error *err)
{
    _cleanup_kube_config_ struct kube_config config = {0};
    const char *name_space = getenv("POD_NAMESPACE");
    bool found = false;

    if (load_config(options->kubeconfig, &config, &found, err) < 0)
        return error_wrap(err, "kubeconfig");
    if (!found)
        return 0;
    if (gethostname(kube->identity, sizeof(kube->identity) - 1) < 0)
        snprintf(kube->identity, sizeof(kube->identity), "controller");
    log_info(NULL, "Kubernetes is at %s (%s)", config.server, config.source);
    kube->name_space = xstrdup(text_is_empty(name_space) ? config.name_space : name_space);
    kube->kube = kube_client_new(&config);
    kube->events =
        events_new(kube->kube, options->driver_name, options->node_server ? options->node_id : "");
    events_register(kube->events, metrics);
    return 0;
}

void driver_kube_done(struct driver_kube *kube)
{
    events_free(kube->events);
    kube_free(kube->kube);
    free(kube->name_space);
    *kube = (struct driver_kube){0};
}
