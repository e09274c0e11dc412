#include <string.h>

#include "common/base/memory.h"
#include "common/scheduling/library/assumed_pods.h"

_Static_assert(CZS_OBJECTS_MAX == CLUSTER_OBJECTS_MAX, "the public limit is the one that holds");

/* --- errors --- */

static int public_status(enum status status)
{
    switch (status) {
    case STATUS_INVALID_ARGUMENT:
        return CZS_INVALID;
    case STATUS_NOT_FOUND:
        return CZS_NOT_FOUND;
    case STATUS_RESOURCE_EXHAUSTED:
        return CZS_TOO_LARGE;
    case STATUS_ABORTED:
        return CZS_STALE;
    default:
        return CZS_REFUSED;
    }
}

int library_fail(struct error *err, char **error)
{
    int status = public_status(err->status);

    if (error)
        *error = TAKE(err->message);
    error_clear(err);
    return status;
}

int library_refuse_null(const char *what, char **error)
{
    if (error)
        *error = xasprintf("%s is missing", what);
    return CZS_INVALID;
}

const char *czs_version(void)
{
    return CEPHZONE_VERSION;
}

void czs_text_free(char *text)
{
    free(text);
}

/* --- life --- */

int czs_cluster_new(const char *kubernetes_version, struct czs_cluster **cluster, char **error)
{
    _cleanup_error_ struct error err = {0};
    struct binding_options options;

    if (!cluster)
        return library_refuse_null("a place for the cluster", error);
    if (binding_options_parse(kubernetes_version ? kubernetes_version : "", &options, &err) < 0)
        return library_fail(&err, error);
    *cluster = xcalloc(1, sizeof(**cluster));
    (*cluster)->options = options;
    (*cluster)->objects.rules = options.rules;
    return CZS_OK;
}

void czs_cluster_free(struct czs_cluster *cluster)
{
    if (!cluster)
        return;
    assumed_pods_done(&cluster->assumed);
    cluster_done(&cluster->objects);
    free(cluster);
}

int czs_cluster_set_shape(struct czs_cluster *cluster, const char *shape, char **error)
{
    _cleanup_error_ struct error err = {0};

    if (!cluster || !shape)
        return library_refuse_null("a cluster or a shape", error);
    if (binding_options_set_shape(&cluster->options, shape, &err) < 0)
        return library_fail(&err, error);
    cluster->generation++;
    return CZS_OK;
}

void library_settle(struct czs_cluster *cluster)
{
    if (!cluster->objects.is_settled)
        cluster_settle(&cluster->objects);
}

/* --- reading --- */

size_t czs_cluster_count(const struct czs_cluster *cluster, const char *kind)
{
    enum kube_kind found = kind ? kube_kind_find(kind) : KUBE_KINDS;

    return cluster && found != KUBE_KINDS ? cluster_count(&cluster->objects, found) : 0;
}

uint64_t czs_cluster_generation(const struct czs_cluster *cluster)
{
    return cluster ? cluster->generation : 0;
}
