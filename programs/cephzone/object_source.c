#include "programs/cephzone/object_source.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/yaml.h"
#include "common/kube/kube_config.h"
#include "programs/cephzone/live_objects.h"

#define OBJECTS_FILES_MAX 10000

int object_flags_options(const struct object_flags *flags, struct binding_options *options,
                         struct error *err)
{
    if (binding_options_parse(flags->version, options, err) < 0)
        return error_wrap(err, "--kubernetes-version");
    if (flags->shape[0] != '\0' && binding_options_set_shape(options, flags->shape, err) < 0)
        return error_wrap(err, "--shape");
    return 0;
}

static int visit_file(const char *path, object_document_fn *visit, void *context, struct error *err)
{
    json_auto_t *documents = NULL;

    if (documents_load_path(path, OBJECTS_FILE_LIMIT, &documents, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(documents); i++)
        if (visit(context, json_array_get(documents, i), err) < 0)
            return json_array_size(documents) > 1 ? error_wrap(err, "'%s': [%zu]", path, i)
                                                  : error_wrap(err, "'%s'", path);
    return 0;
}

static int is_object_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.' &&
           (text_has_suffix(entry->d_name, ".json") || text_has_suffix(entry->d_name, ".yaml") ||
            text_has_suffix(entry->d_name, ".yml"));
}

static int visit_folder(const char *path, object_document_fn *visit, void *context,
                        struct error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_object_file, alphasort);
    int result = 0;

    if (count < 0)
        return error_set_errno(err, -errno, "open '%s'", path);
    if (count == 0)
        result = error_set(err, STATUS_NOT_FOUND, "no *.json, *.yaml or *.yml in '%s'", path);
    if (count > OBJECTS_FILES_MAX)
        result = error_set(err, STATUS_INVALID_ARGUMENT, "'%s' has more than %d files", path,
                           OBJECTS_FILES_MAX);
    for (int i = 0; i < count; i++) {
        _cleanup_free_ char *file = xasprintf("%s/%s", path, entries[i]->d_name);

        if (result == 0)
            result = visit_file(file, visit, context, err);
        free(entries[i]);
    }
    free(entries);
    return result;
}

int objects_each_document(const char *path, object_document_fn *visit, void *context,
                          struct error *err)
{
    struct stat status;

    if (stat(path, &status) < 0)
        return error_set_errno(err, -errno, "open '%s'", path);
    return S_ISDIR(status.st_mode) ? visit_folder(path, visit, context, err)
                                   : visit_file(path, visit, context, err);
}

/* An empty dump was made by mistake, and every conclusion from it would mislead. */
static int check_not_empty(const char *path, const struct cluster_objects *cluster,
                           struct error *err)
{
    for (int kind = 0; kind < KUBE_KINDS; kind++)
        if (cluster_count(cluster, (enum kube_kind)kind) > 0)
            return 0;
    error_set(err, STATUS_NOT_FOUND, "'%s' has no objects that scheduling looks at", path);
    return cluster->foreign_count
               ? error_hint(err, "%zu of other kinds are there", cluster->foreign_count)
               : -1;
}

static int read_document(void *context, json_t *document, struct error *err)
{
    return cluster_read(context, document, err);
}

int objects_load(const char *path, struct cluster_objects *cluster, struct error *err)
{
    if (objects_each_document(path, read_document, cluster, err) < 0 ||
        check_not_empty(path, cluster, err) < 0)
        return -1;
    cluster_settle(cluster);
    return 0;
}

int objects_get(const struct object_flags *flags, struct cluster_objects *cluster,
                struct error *err)
{
    if (flags->from[0] != '\0')
        return objects_load(flags->from, cluster, err);
    return live_objects_load(flags->kubeconfig, flags->context, cluster, err);
}

int objects_namespace(const struct object_flags *flags, char **ns, struct error *err)
{
    _cleanup_kube_config_ struct kube_config config = {0};

    if (flags->from[0] == '\0' &&
        kube_config_load(flags->kubeconfig, flags->context, &config, err) < 0)
        return -1;
    *ns = xstrdup(config.name_space ? config.name_space : "default");
    return 0;
}
