#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/scheduling/library/library.h"

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

/* --- objects --- */

int library_decode(const char *json, size_t length, struct decoded_objects *objects,
                   struct error *err)
{
    json_auto_t *value = NULL;

    if (length > CZS_INPUT_MAX)
        return error_set(err, STATUS_RESOURCE_EXHAUSTED,
                         "a document of %zu bytes, of at most %zu; pass it in parts", length,
                         CZS_INPUT_MAX);
    if (json_load_large(json, length, "objects", &value, err) < 0)
        return -1;
    return cluster_decode(value, objects, err);
}

int czs_cluster_put(struct czs_cluster *cluster, const char *json, size_t length, char **error)
{
    _cleanup_decoded_objects_ struct decoded_objects objects = {0};
    _cleanup_error_ struct error err = {0};

    if (!cluster || !json)
        return library_refuse_null("a cluster or JSON", error);
    if (library_decode(json, length, &objects, &err) < 0 ||
        cluster_take(&cluster->objects, &objects, &err) < 0)
        return library_fail(&err, error);
    cluster->generation++;
    return CZS_OK;
}

int czs_cluster_remove(struct czs_cluster *cluster, const char *kind, const char *name_space,
                       const char *name, char **error)
{
    _cleanup_error_ struct error err = {0};

    if (!cluster || !kind || !name)
        return library_refuse_null("a cluster, a kind or a name", error);
    enum kube_kind found = kube_kind_find(kind);
    if (found == KUBE_KINDS) {
        error_set(&err, STATUS_INVALID_ARGUMENT, "kind '%.80s' is not looked at", kind);
        return library_fail(&err, error);
    }
    cluster_remove(&cluster->objects, found, name_space, name);
    cluster->generation++;
    return CZS_OK;
}

size_t czs_cluster_count(const struct czs_cluster *cluster, const char *kind)
{
    enum kube_kind found = kind ? kube_kind_find(kind) : KUBE_KINDS;

    return cluster && found != KUBE_KINDS ? cluster_count(&cluster->objects, found) : 0;
}

uint64_t czs_cluster_generation(const struct czs_cluster *cluster)
{
    return cluster ? cluster->generation : 0;
}
