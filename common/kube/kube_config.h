#pragma once

#include <stdbool.h>

#include "common/base/error.h"
#include "common/base/secret.h"

/*
 * Where the API server is, how to verify it and how to authenticate: from a kubeconfig file or from
 * the service account of the pod. Does not change after it was loaded; files that it names are read
 * again for each request by kube_credentials_read(), so that a rotated token, certificate or CA
 * takes effect at once.
 */
struct kube_config {
    char *source;          /* for messages: "'/root/.kube/config', context 'admin'" */
    char *server;          /* "https://10.96.0.1:443", perhaps with a path; no slash at the end */
    char *tls_server_name; /* NULL: the host in server */
    char *proxy_url;       /* NULL: from the environment */
    bool insecure;         /* do not verify the server's certificate */
    char *name_space;      /* of the context or pod; "default" if it has none */
    char *ca_file;         /* NULL: none; so below */
    char *ca_pem;
    char *certificate_file;
    char *certificate_pem;
    char *key_file;
    struct secret key_pem;
    char *token_file;
    struct secret token;
};

/* kubeconfig in YAML or JSON; @context NULL or "" for the current one. Refuses users with exec,
 * auth-provider, username and impersonation, saying what to use instead. */
_must_check_ int kube_config_load_file(const char *path, const char *context,
                                       struct kube_config *config, struct error *err);

/* The pod's service account: @directory holds token, ca.crt and namespace, address and port come
 * from the environment. FAILED_PRECONDITION when this is no pod. */
#define KUBE_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
_must_check_ int kube_config_load_in_cluster(const char *directory, struct kube_config *config,
                                             struct error *err);

/* @path if it is given, else $KUBECONFIG, else the service account, else ~/.kube/config. */
_must_check_ int kube_config_load(const char *path, const char *context, struct kube_config *config,
                                  struct error *err);
void kube_config_done(struct kube_config *config);
#define _cleanup_kube_config_ _cleanup_(kube_config_done)

/* What one request shows and expects; members are "" when there is none. */
struct kube_credentials {
    char *ca_pem;
    char *certificate_pem;
    struct secret key_pem;
    struct secret token;
};

/* Reads the files that @config names. UNAUTHENTICATED when one cannot be read. Any thread. */
_must_check_ int kube_credentials_read(const struct kube_config *config,
                                       struct kube_credentials *credentials, struct error *err);
void kube_credentials_done(struct kube_credentials *credentials);
#define _cleanup_kube_credentials_ _cleanup_(kube_credentials_done)
