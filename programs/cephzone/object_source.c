#include "programs/cephzone/object_source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/encoding/yaml.h"
#include "programs/cephzone/live_objects.h"

int objects_parse_flags(const struct flag *table, size_t count, int argc, char **argv,
                        struct string_list *arguments, struct error *err)
{
    while (argc > 1) {
        int next = 0;

        if (flags_parse(table, count, argc, argv, &next, err) < 0)
            return -1;
        if (next >= argc)
            return 0;
        string_list_add(arguments, argv[next]);
        argc -= next;
        argv += next;
    }
    return 0;
}

int objects_options(const struct objects_flags *flags, struct binding_options *options,
                    struct error *err)
{
    if (binding_options_parse(flags->version, options, err) < 0)
        return error_wrap(err, "--kubernetes-version");
    if (flags->shape[0] != '\0' && binding_options_set_shape(options, flags->shape, err) < 0)
        return error_wrap(err, "--shape");
    return 0;
}

/* The first character that says something; EOF if the file has none. */
static int first_character(const char *path, int *first, struct error *err)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    int c = 0;

    if (!file)
        return error_set_errno(err, -errno, "open '%s'", path);
    do {
        c = getc(file);
    } while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
    *first = c;
    return 0;
}

static int load_file(const char *path, struct cluster_objects *cluster, struct error *err)
{
    json_auto_t *json = NULL;
    int first = EOF;

    if (first_character(path, &first, err) < 0)
        return -1;
    int result = first == '{' || first == '['
                     ? json_load_path(path, OBJECTS_FILE_LIMIT, &json, err)
                     : yaml_load_path(path, OBJECTS_FILE_LIMIT, &json, err);
    if (result < 0)
        return -1;
    if (cluster_read(cluster, json, err) < 0)
        return error_wrap(err, "'%s'", path);
    return 0;
}

static int is_object_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.' &&
           (text_has_suffix(entry->d_name, ".json") || text_has_suffix(entry->d_name, ".yaml") ||
            text_has_suffix(entry->d_name, ".yml"));
}

static int load_files(const char *path, struct dirent **entries, int count,
                      struct cluster_objects *cluster, struct error *err)
{
    if (count == 0)
        return error_set(err, STATUS_NOT_FOUND, "no *.json, *.yaml or *.yml in '%s'", path);
    if (count > OBJECTS_FILES_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' has more than %d files", path,
                         OBJECTS_FILES_MAX);
    for (int i = 0; i < count; i++) {
        _cleanup_free_ char *file = xasprintf("%s/%s", path, entries[i]->d_name);

        if (load_file(file, cluster, err) < 0)
            return -1;
    }
    return 0;
}

static int load_folder(const char *path, struct cluster_objects *cluster, struct error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, is_object_file, alphasort);

    if (count < 0)
        return error_set_errno(err, -errno, "open '%s'", path);
    int result = load_files(path, entries, count, cluster, err);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return result;
}

/* An empty dump is a mistake of who made it, and everything said about it would mislead. */
static int check_any(const char *path, const struct cluster_objects *cluster, struct error *err)
{
    for (int kind = 0; kind < KUBE_KINDS; kind++)
        if (cluster_count(cluster, (enum kube_kind)kind) > 0)
            return 0;
    error_set(err, STATUS_NOT_FOUND, "'%s' has no objects that scheduling looks at", path);
    return cluster->foreign_count
               ? error_hint(err, "%zu of other kinds are there", cluster->foreign_count)
               : -1;
}

int objects_load(const char *path, struct cluster_objects *cluster, struct error *err)
{
    struct stat status;

    if (stat(path, &status) < 0)
        return error_set_errno(err, -errno, "open '%s'", path);
    int result =
        S_ISDIR(status.st_mode) ? load_folder(path, cluster, err) : load_file(path, cluster, err);
    if (result < 0 || check_any(path, cluster, err) < 0)
        return -1;
    cluster_settle(cluster);
    return 0;
}

int objects_get(const struct objects_flags *flags, struct cluster_objects *cluster,
                struct error *err)
{
    if (flags->from[0] != '\0')
        return objects_load(flags->from, cluster, err);
    return live_objects_load(flags->kubeconfig, flags->context, cluster, err);
}
