#include "programs/cephzone/live_cluster.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/config/class_parameters.h"
#include "common/kube/kube.h"
#include "common/kube/kube_client.h"
#include "common/kube/kube_secret.h"
#include "common/usage/storage_class.h"

/* One look. */
struct look {
    struct live_cluster *live;
    struct tool_flags *flags;
    struct kube *kube;
    struct call call;
    json_t *classes;     /* the list of StorageClasses */
    const json_t *class; /* of the driver; says where config and user are. Borrowed from it */
    char *config;        /* "NAMESPACE/NAME" of the ConfigMap; for people */
    char *secret;
};

/* --- files in memory --- */

/* Returns the file's path, which belongs to @live. */
static int keep_file(struct live_cluster *live, const char *text, const char **path,
                     struct error *err)
{
    assert(live->count < LIVE_CLUSTER_FILES);
    int fd = memfd_create("cephzone", MFD_CLOEXEC);

    if (fd < 0)
        return error_set_errno(err, -errno, "memfd_create");
    live->files[live->count] = fd;
    live->paths[live->count] = xasprintf("/proc/self/fd/%d", fd);
    *path = live->paths[live->count++];
    if (text_write_fd(fd, text, strlen(text)) < 0)
        return error_set_errno(err, -errno, "write to memory");
    return 0;
}

static int keep_json(struct live_cluster *live, const json_t *json, const char **path,
                     struct error *err)
{
    char *text = json_dumps(json, JSON_COMPACT);

    if (!text)
        return error_set(err, STATUS_INTERNAL, "JSON cannot be written");
    int result = keep_file(live, text, path, err);
    explicit_bzero(text, strlen(text)); /* it may have a key */
    free(text);
    return result;
}

void live_cluster_done(struct live_cluster *live)
{
    for (size_t i = 0; i < live->count; i++) {
        close(live->files[i]);
        free(live->paths[i]);
    }
    free(live->driver);
    *live = (struct live_cluster){0};
}

/* --- lists --- */

static void start_items(void *object)
{
    json_array_clear(json_object_get(object, "items"));
}

static int keep_item(void *object, json_t *item, struct error *err)
{
    const char *kind = json_string_value(json_object_get(object, "itemKind"));
    const char *api = json_string_value(json_object_get(object, "itemApi"));

    (void)err;
    json_object_set_new(item, "kind", json_string(kind));
    json_object_set_new(item, "apiVersion", json_string(api));
    json_array_append(json_object_get(object, "items"), item);
    return 0;
}

/* A List as kubectl prints it. Caller frees. */
static int list_objects(struct look *look, const struct kube_location *location, const char *kind,
                        const char *fields, json_t **list, struct error *err)
{
    json_auto_t *items = json_pack("{s:s, s:s, s:s, s:s, s:[]}", "kind", "List", "apiVersion", "v1",
                                   "itemKind", kind, "itemApi", location->api, "items");
    const struct kube_list_sink sink = {start_items, keep_item, items};
    const struct kube_select select = {.fields = fields};
    _cleanup_free_ char *path = NULL;
    _cleanup_free_ char *version = NULL;

    if (kube_path(location, &path, err) < 0)
        return -1;
    if (kube_list(look->kube, &look->call, path, &select, &sink, &version, err) < 0)
        return error_wrap(err, "list %s", location->resource);
    json_object_del(items, "itemKind");
    json_object_del(items, "itemApi");
    *list = json_incref(items);
    return 0;
}

/* --- the driver --- */

static const char *provisioner_of(const json_t *class)
{
    const char *name = json_string_value(json_object_get(class, "provisioner"));

    return name ? name : "";
}

/* The driver of the flags if it has a class; else the one of its type whose name ends like that,
 * as Rook prefixes the namespace; else any of Ceph's. */
static int choose_driver(struct look *look, struct error *err)
{
    _cleanup_string_list_ struct string_list names = {0};
    _cleanup_text_ struct text all = TEXT_INIT(4096);
    const char *wanted = look->flags->driver;
    const char *chosen = NULL;
    size_t alike = 0;
    size_t index = 0;
    const json_t *class = NULL;

    json_array_foreach(json_object_get(look->classes, "items"), index, class)
    {
        const char *name = provisioner_of(class);

        if (storage_class_is_served(name) && !string_list_has(&names, name))
            string_list_add(&names, name);
    }
    for (size_t i = 0; i < names.count; i++) {
        text_addf(&all, "%s'%s'", i ? ", " : "", names.items[i]);
        if (text_has_suffix(names.items[i], wanted)) {
            alike++;
            chosen = names.items[i];
        }
    }
    if (string_list_has(&names, wanted))
        chosen = wanted;
    else if (names.count == 0)
        return error_set(err, STATUS_NOT_FOUND, "no StorageClass has a driver of Ceph");
    else if (alike == 0 && names.count == 1)
        chosen = names.items[0];
    else if (alike != 1)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "classes have the drivers %s; --driver says which", text_chars(&all));
    look->live->driver = xstrdup(chosen);
    look->flags->driver = look->live->driver;
    return 0;
}

static int choose_class(struct look *look, struct error *err)
{
    size_t index = 0;
    const json_t *class = NULL;

    json_array_foreach(json_object_get(look->classes, "items"), index, class)
    {
        if (strcmp(provisioner_of(class), look->flags->driver) == 0 &&
            kube_text(class, "parameters", PARAM_CLUSTER_ID, NULL)[0]) {
            look->class = class;
            return 0;
        }
    }
    return error_set(err, STATUS_NOT_FOUND, "no class of driver '%s' has a clusterID",
                     look->flags->driver);
}

static int read_classes(struct look *look, struct error *err)
{
    const struct kube_location location = {.api = "storage.k8s.io/v1",
                                           .resource = "storageclasses"};

    if (list_objects(look, &location, "StorageClass", NULL, &look->classes, err) < 0 ||
        choose_driver(look, err) < 0 || choose_class(look, err) < 0)
        return error_hint(err, "--classes and --config name files instead");
    return keep_json(look->live, look->classes, &look->flags->classes, err);
}

/* --- config.json --- */

/* Whether config.json of this text has the cluster. */
static bool has_cluster(const char *text, const char *cluster_id)
{
    json_auto_t *clusters = json_loads(text, 0, NULL);
    size_t index = 0;
    const json_t *cluster = NULL;

    json_array_foreach(clusters, index, cluster)
    {
        const char *id = json_string_value(json_object_get(cluster, PARAM_CLUSTER_ID));

        if (id && strcmp(id, cluster_id) == 0)
            return true;
    }
    return false;
}

/* The text in one of the ConfigMaps of this name, in any namespace. NULL if none has the cluster;
 * borrowed from *@list, which the caller frees. */
static int find_config(struct look *look, const char *name, const char *key, json_t **list,
                       const char **text, struct error *err)
{
    const struct kube_location location = {.api = "v1", .resource = "configmaps"};
    const char *cluster_id = kube_text(look->class, "parameters", PARAM_CLUSTER_ID, NULL);
    _cleanup_free_ char *fields = xasprintf("metadata.name=%s", name);
    size_t index = 0;
    const json_t *item = NULL;

    if (list_objects(look, &location, "ConfigMap", fields, list, err) < 0)
        return -1;
    json_array_foreach(json_object_get(*list, "items"), index, item)
    {
        const char *found = kube_text(item, "data", key, NULL);

        if (has_cluster(found, cluster_id)) {
            look->config = xasprintf("%s/%s", kube_namespace(item), name);
            *text = found;
            return 0;
        }
    }
    return 0;
}

static int read_config(struct look *look, struct error *err)
{
    static const struct {
        const char *name, *key;
    } places[] = {
        {"ceph-csi-config", "config.json"}, /* Ceph-CSI, its operator, this chart */
        {"rook-ceph-csi-config", "csi-cluster-config-json"}, /* Rook */
    };

    for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
        json_auto_t *list = NULL;
        const char *text = NULL;

        if (find_config(look, places[i].name, places[i].key, &list, &text, err) < 0)
            return error_hint(err, "--config names a file instead");
        if (text)
            return keep_file(look->live, text, &look->flags->config, err);
    }
    error_set(err, STATUS_NOT_FOUND, "no ConfigMap '%s' or '%s' has the cluster '%s' of class '%s'",
              places[0].name, places[1].name,
              kube_text(look->class, "parameters", PARAM_CLUSTER_ID, NULL), kube_name(look->class));
    return error_hint(err, "--config names a file instead");
}

/* --- the Ceph user --- */

static int read_user(struct look *look, struct error *err)
{
    static const char *const keys[] = CREDENTIALS_SECRET_KEYS;
    const char *name = kube_text(look->class, "parameters", PARAM_PROVISIONER_SECRET "-name", NULL);
    const char *ns =
        kube_text(look->class, "parameters", PARAM_PROVISIONER_SECRET "-namespace", NULL);
    _cleanup_kube_secret_ struct kube_secret secret = {0};

    if (look->flags->secrets[0] || look->flags->keyring[0])
        return 0;
    if (name[0] == '\0' || strchr(name, '$') || strchr(ns, '$'))
        error_set(err, STATUS_NOT_FOUND, "class '%s' names no Secret that all volumes share",
                  kube_name(look->class));
    if (err->message || kube_secret_read(look->kube, &look->call, ns, name, &secret, err) < 0)
        return error_hint(err, "--keyring or --secrets name a file instead");
    json_auto_t *json = json_object();
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        const struct secret *value = kube_secret_get(&secret, keys[i]);

        if (value)
            json_object_set_new(json, keys[i], json_string(secret_reveal(value)));
    }
    look->secret = xasprintf("%s/%s", ns, name);
    return keep_json(look->live, json, &look->flags->secrets, err);
}

/* --- all of it --- */

bool live_cluster_is_wanted(const struct tool_flags *flags)
{
    return text_is_empty(flags->config) && text_is_empty(flags->classes);
}

static int read_volumes(struct look *look, const char **pvs, struct error *err)
{
    const struct kube_location location = {.api = "v1", .resource = "persistentvolumes"};
    json_auto_t *list = NULL;

    if (list_objects(look, &location, "PersistentVolume", NULL, &list, err) < 0)
        return error_hint(err, "--pvs names a file instead");
    return keep_json(look->live, list, pvs, err);
}

int live_cluster_fill(struct live_cluster *live, const char *command, struct tool_flags *flags,
                      const char **pvs, struct error *err)
{
    _cleanup_kube_config_ struct kube_config config = {0};
    struct look look = {.live = live, .flags = flags};

    if (kube_config_load(flags->kubeconfig, flags->context, &config, err) < 0)
        return error_hint(err, "--config and --classes name files instead");
    _cleanup_(kube_freep) struct kube *kube = kube_client_new(&config);
    look.kube = kube;
    call_init(&look.call, 1, command, deadline_in_ms(flags->timeout_ms));
    int result = read_classes(&look, err);
    if (result == 0)
        result = read_config(&look, err);
    if (result == 0)
        result = read_user(&look, err);
    if (result == 0 && pvs)
        result = read_volumes(&look, pvs, err);
    call_done(&look.call);
    if (result == 0)
        fprintf(stderr, "cephzone %s: driver '%s', ConfigMap '%s', %s '%s'\n", command,
                flags->driver, look.config, look.secret ? "Secret" : "Ceph user of",
                look.secret         ? look.secret
                : flags->keyring[0] ? flags->keyring
                                    : flags->secrets);
    json_decref(look.classes);
    free_all(look.config, look.secret);
    return result;
}
