#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/encoding/base64.h"
#include "common/encoding/json.h"
#include "common/encoding/yaml.h"
#include "common/kube/kube_config.h"

/*
 * kubeconfig files: lists of named clusters, users and contexts (a cluster with a user). Decoded by
 * tables, then the parts of one context are taken over. Certificates come inline (base64) or as
 * names of files, which are relative to the folder of the kubeconfig.
 */
#define KUBECONFIG_LIMIT ((size_t)4 * 1024 * 1024)

struct cluster_fields {
    char *server;
    char *ca_file;
    char *ca_data;
    char *tls_server_name;
    char *proxy_url;
    bool insecure;
};

static const struct json_field CLUSTER_FIELDS[] = {
    JSON_FIELD_STRING("server", struct cluster_fields, server),
    JSON_FIELD_STRING("certificate-authority", struct cluster_fields, ca_file),
    JSON_FIELD_STRING("certificate-authority-data", struct cluster_fields, ca_data),
    JSON_FIELD_STRING("tls-server-name", struct cluster_fields, tls_server_name),
    JSON_FIELD_STRING("proxy-url", struct cluster_fields, proxy_url),
    JSON_FIELD_BOOL("insecure-skip-tls-verify", struct cluster_fields, insecure),
};
static const struct json_table CLUSTER_TABLE = JSON_TABLE(struct cluster_fields, CLUSTER_FIELDS);

struct user_fields {
    char *certificate_file;
    char *certificate_data;
    char *key_file;
    char *key_data;
    char *token;
    char *token_file;
    bool has_exec;
    bool has_auth_provider;
    bool has_username;
    bool has_as;
};

static const struct json_field USER_FIELDS[] = {
    JSON_FIELD_STRING("client-certificate", struct user_fields, certificate_file),
    JSON_FIELD_STRING("client-certificate-data", struct user_fields, certificate_data),
    JSON_FIELD_STRING("client-key", struct user_fields, key_file),
    JSON_FIELD_STRING("client-key-data", struct user_fields, key_data),
    JSON_FIELD_STRING("token", struct user_fields, token),
    JSON_FIELD_STRING("tokenFile", struct user_fields, token_file),
    JSON_FIELD_PRESENT("exec", struct user_fields, has_exec),
    JSON_FIELD_PRESENT("auth-provider", struct user_fields, has_auth_provider),
    JSON_FIELD_PRESENT("username", struct user_fields, has_username),
    JSON_FIELD_PRESENT("as", struct user_fields, has_as),
};
static const struct json_table USER_TABLE = JSON_TABLE(struct user_fields, USER_FIELDS);

struct context_fields {
    char *cluster;
    char *user;
    char *name_space;
};

static const struct json_field CONTEXT_FIELDS[] = {
    JSON_FIELD_STRING("cluster", struct context_fields, cluster),
    JSON_FIELD_STRING("user", struct context_fields, user),
    JSON_FIELD_STRING("namespace", struct context_fields, name_space),
};
static const struct json_table CONTEXT_TABLE = JSON_TABLE(struct context_fields, CONTEXT_FIELDS);

/* Decodes the member @kind of the element of @list that has the name: clusters[].cluster. One that
 * is absent or null decodes as nothing. */
static int decode_named(const json_t *file, const char *list, const char *kind, const char *name,
                        const struct json_table *table, void *target, struct error *err)
{
    const json_t *array = json_object_get(file, list);
    struct nearest nearest = NEAREST_INIT(name);

    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *element = json_array_get(array, i);
        const char *named = json_string_value(json_object_get(element, "name"));

        if (named && strcmp(named, name) == 0) {
            const json_t *value = json_object_get(element, kind);

            if (!value || json_is_null(value))
                return 0;
            return json_decode(value, table, target, err) < 0 ? error_wrap(err, "%s", kind) : 0;
        }
        if (named)
            nearest_offer(&nearest, named);
    }
    error_set(err, STATUS_NOT_FOUND, "there is no %s '%s' among the %zu in '%s'", kind, name,
              json_array_size(array), list);
    return nearest.name ? error_hint(err, "did you mean '%s'?", nearest.name) : -1;
}

static int refuse_user(const struct user_fields *user, struct error *err)
{
    const char *kind = user->has_exec            ? "exec"
                       : user->has_auth_provider ? "auth-provider"
                       : user->has_username      ? "username"
                       : user->has_as            ? "as"
                                                 : NULL;

    if (!kind)
        return 0;
    return error_set(err, STATUS_UNIMPLEMENTED,
                     "the user is described by '%s', which is not supported; use a client "
                     "certificate, a token or a tokenFile (kubectl create token ...)",
                     kind);
}

/* NULL for nothing; relative names start at the folder of the kubeconfig. Caller frees. */
static char *beside(const char *kubeconfig, const char *path)
{
    const char *slash = strrchr(kubeconfig, '/');

    if (text_is_empty(path))
        return NULL;
    if (path[0] == '/' || !slash)
        return xstrdup(path);
    return xasprintf("%.*s/%s", (int)(slash - kubeconfig), kubeconfig, path);
}

/* Decodes base64 into a text, which the caller frees; nothing stays NULL. */
static int decode_pem(const char *data, const char *key, char **pem, struct error *err)
{
    size_t limit = data ? strlen(data) / 4 * 3 + 3 : 0;
    size_t length = 0;

    if (text_is_empty(data))
        return 0;
    _cleanup_free_ char *bytes = xcalloc(1, limit + 1);
    if (!base64_decode(data, (unsigned char *)bytes, limit, &length) || strlen(bytes) != length)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is not base64 of a PEM text", key);
    *pem = TAKE(bytes);
    return 0;
}

static int take_cluster(const char *path, const struct cluster_fields *cluster,
                        struct kube_config *config, struct error *err)
{
    size_t length = cluster->server ? strlen(cluster->server) : 0;

    if (length == 0 || (!text_has_prefix(cluster->server, "https://") &&
                        !text_has_prefix(cluster->server, "http://")))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "cluster: server: expected an address that begins with https://");
    while (cluster->server[length - 1] == '/')
        length--;
    config->server = xstrndup(cluster->server, length);
    config->insecure = cluster->insecure;
    if (!text_is_empty(cluster->tls_server_name))
        config->tls_server_name = xstrdup(cluster->tls_server_name);
    if (!text_is_empty(cluster->proxy_url))
        config->proxy_url = xstrdup(cluster->proxy_url);
    config->ca_file = beside(path, cluster->ca_file);
    return decode_pem(cluster->ca_data, "certificate-authority-data", &config->ca_pem, err);
}

static int take_user(const char *path, const struct user_fields *user, struct kube_config *config,
                     struct error *err)
{
    if (refuse_user(user, err) < 0)
        return -1;
    config->certificate_file = beside(path, user->certificate_file);
    config->key_file = beside(path, user->key_file);
    config->token_file = beside(path, user->token_file);
    if (!text_is_empty(user->token))
        secret_set(&config->token, user->token);
    if (decode_pem(user->certificate_data, "client-certificate-data", &config->certificate_pem,
                   err) < 0)
        return -1;
    _cleanup_free_ char *key = NULL;
    if (decode_pem(user->key_data, "client-key-data", &key, err) < 0)
        return -1;
    if (key) {
        secret_set(&config->key_pem, key);
        explicit_bzero(key, strlen(key));
    }
    bool has_certificate = config->certificate_file || config->certificate_pem;
    bool has_key = config->key_file || secret_is_set(&config->key_pem);
    if (has_certificate != has_key)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "user: a client certificate needs its key and a key its certificate");
    return 0;
}

static int load_user(const json_t *file, const char *path, const char *name,
                     struct kube_config *config, struct error *err)
{
    struct user_fields user = {0};

    if (!name || name[0] == '\0')
        return 0; /* anonymous: for servers without authentication, as in tests */
    int result = decode_named(file, "users", "user", name, &USER_TABLE, &user, err);
    if (result == 0)
        result = take_user(path, &user, config, err);
    if (user.token)
        explicit_bzero(user.token, strlen(user.token));
    if (user.key_data)
        explicit_bzero(user.key_data, strlen(user.key_data));
    json_free_fields(&USER_TABLE, &user);
    return result;
}

static int load_cluster(const json_t *file, const char *path, const char *name,
                        struct kube_config *config, struct error *err)
{
    struct cluster_fields cluster = {0};
    int result = decode_named(file, "clusters", "cluster", name, &CLUSTER_TABLE, &cluster, err);

    if (result == 0)
        result = take_cluster(path, &cluster, config, err);
    json_free_fields(&CLUSTER_TABLE, &cluster);
    return result;
}

static int load_parts(const json_t *file, const char *path, const struct context_fields *context,
                      struct kube_config *config, struct error *err)
{
    if (!context->cluster || context->cluster[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "the context names no cluster");
    config->name_space =
        xstrdup(text_is_empty(context->name_space) ? "default" : context->name_space);
    if (load_cluster(file, path, context->cluster, config, err) < 0)
        return -1;
    return load_user(file, path, context->user, config, err);
}

static int load_context(const json_t *file, const char *path, const char *name,
                        struct kube_config *config, struct error *err)
{
    const char *current = json_string_value(json_object_get(file, "current-context"));
    struct context_fields context = {0};

    if (text_is_empty(name))
        name = current;
    if (!name || name[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "there is no current-context; set it or name a context");
    config->source = xasprintf("'%s', context '%s'", path, name);
    int result = decode_named(file, "contexts", "context", name, &CONTEXT_TABLE, &context, err);
    if (result == 0)
        result = load_parts(file, path, &context, config, err);
    json_free_fields(&CONTEXT_TABLE, &context);
    return result;
}

int kube_config_load_file(const char *path, const char *context, struct kube_config *config,
                          struct error *err)
{
    json_auto_t *documents = NULL;
    struct kube_config loaded = {0};

    if (yaml_load_path(path, KUBECONFIG_LIMIT, &documents, err) < 0)
        return error_wrap(err, "kubeconfig");
    const json_t *file = json_array_get(documents, 0);
    if (json_array_size(documents) != 1 || !json_is_object(file))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "kubeconfig '%s': expected one document with clusters, users and contexts",
                         path);
    if (load_context(file, path, context, &loaded, err) < 0) {
        kube_config_done(&loaded);
        return error_wrap(err, "kubeconfig '%s'", path);
    }
    *config = loaded;
    return 0;
}
