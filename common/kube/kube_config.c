#include "common/kube/kube_config.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

#define PEM_LIMIT ((size_t)1024 * 1024)
#define TOKEN_LIMIT ((size_t)64 * 1024)

void kube_config_done(struct kube_config *config)
{
    free_all(config->source, config->server, config->tls_server_name, config->proxy_url,
             config->name_space, config->ca_file, config->ca_pem, config->certificate_file,
             config->certificate_pem, config->key_file);
    secret_done(&config->key_pem);
    free(config->token_file);
    secret_done(&config->token);
    *config = (struct kube_config){0};
}

/* The file without white space at its end. Caller frees. */
static char *read_line(const char *path, size_t limit, struct error *err)
{
    _cleanup_text_ struct text content = TEXT_INIT(limit);

    if (text_read_path(&content, path, err) < 0)
        return NULL;
    char *chars = text_take(&content);
    size_t length = strlen(chars);
    while (length > 0 && strchr(" \t\r\n", chars[length - 1]))
        length--;
    chars[length] = '\0';
    return chars;
}

int kube_config_load_in_cluster(const char *directory, struct kube_config *config,
                                struct error *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    _cleanup_error_ struct error ignored = {0};

    if (!host || !port || host[0] == '\0' || port[0] == '\0')
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is "
                         "not a pod; name a kubeconfig file");
    _cleanup_free_ char *token_file = xasprintf("%s/token", directory);
    if (access(token_file, R_OK) < 0)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "there is no service account token at '%s'; set "
                         "automountServiceAccountToken or name a kubeconfig file",
                         token_file);
    _cleanup_free_ char *namespace_file = xasprintf("%s/namespace", directory);
    char *name_space = read_line(namespace_file, 1024, &ignored);
    bool is_ipv6 = strchr(host, ':') != NULL; /* needs brackets in a URL */
    *config = (struct kube_config){
        .source = xasprintf("service account in '%s'", directory),
        .server =
            xasprintf("https://%s%s%s:%s", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port),
        .name_space = name_space ? name_space : xstrdup("default"),
        .ca_file = xasprintf("%s/ca.crt", directory),
        .token_file = TAKE(token_file),
    };
    return 0;
}

static int load_from_home(const char *context, struct kube_config *config, struct error *err)
{
    const char *home = getenv("HOME");
    _cleanup_free_ char *path = xasprintf("%s/.kube/config", home ? home : "");

    if (text_is_empty(home) || access(path, R_OK) < 0)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "no way to the API server: no kubeconfig file is named, KUBECONFIG is "
                         "not set, this is not a pod, and there is no readable '%s'",
                         path);
    return kube_config_load_file(path, context, config, err);
}

int kube_config_load(const char *path, const char *context, struct kube_config *config,
                     struct error *err)
{
    if (text_is_empty(path))
        path = getenv("KUBECONFIG");
    if (!text_is_empty(path))
        return kube_config_load_file(path, context, config, err);
    if (!text_is_empty(getenv("KUBERNETES_SERVICE_HOST")))
        return kube_config_load_in_cluster(KUBE_SERVICE_ACCOUNT, config, err);
    return load_from_home(context, config, err);
}

/* The text itself if it was in the configuration, else the file's. Caller frees. */
static char *read_pem(const char *pem, const char *path, struct error *err)
{
    if (pem)
        return xstrdup(pem);
    return path ? read_line(path, PEM_LIMIT, err) : xstrdup("");
}

static int read_secret(const struct secret *value, const char *path, size_t limit,
                       struct secret *out, struct error *err)
{
    if (!path || secret_is_set(value)) {
        secret_copy(out, value);
        return 0;
    }
    char *chars = read_line(path, limit, err);
    if (!chars)
        return -1;
    secret_set(out, chars);
    explicit_bzero(chars, strlen(chars));
    free(chars);
    return 0;
}

static int read_parts(const struct kube_config *config, struct kube_credentials *credentials,
                      struct error *err)
{
    static const struct secret none = {0};

    credentials->ca_pem = read_pem(config->ca_pem, config->ca_file, err);
    if (!credentials->ca_pem)
        return -1;
    credentials->certificate_pem = read_pem(config->certificate_pem, config->certificate_file, err);
    if (!credentials->certificate_pem)
        return -1;
    if (read_secret(&config->key_pem, config->key_file, PEM_LIMIT, &credentials->key_pem, err) < 0)
        return -1;
    /* of a token and a file with one the file wins, as in kubectl */
    return read_secret(config->token_file ? &none : &config->token, config->token_file, TOKEN_LIMIT,
                       &credentials->token, err);
}

int kube_credentials_read(const struct kube_config *config, struct kube_credentials *credentials,
                          struct error *err)
{
    struct kube_credentials read = {0};

    if (read_parts(config, &read, err) < 0) {
        kube_credentials_done(&read);
        error_recode(err, STATUS_UNAUTHENTICATED);
        return error_wrap(err, "credentials for the API server, %s", config->source);
    }
    *credentials = read;
    return 0;
}

void kube_credentials_done(struct kube_credentials *credentials)
{
    free(credentials->ca_pem);
    free(credentials->certificate_pem);
    secret_done(&credentials->key_pem);
    secret_done(&credentials->token);
    *credentials = (struct kube_credentials){0};
}
