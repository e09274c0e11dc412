#include "common/config/standing_credentials.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "common/kube/kube_secret.h"

#define LIFE_MS 60000
#define LIVES_WITHOUT_SERVER 10
#define SECRETS_MAX 64 /* cached at once; classes use few */

/* A Secret, or why it cannot be read. */
struct known_secret {
    char *name_space;
    char *name;
    struct credentials credentials; /* without user: it could not be read */
    enum status status;             /* of that failure */
    char *fault;
    int64_t read_ms;
};

struct standing_credentials {
    struct kube *kube;
    struct config_file *config;
    struct credentials keyring;
    bool is_cephfs;
    int64_t life_ms;
    pthread_mutex_t lock; /* over the two below */
    struct known_secret *known;
    size_t count;
};

/* --- cache --- */

static void known_done(struct known_secret *known)
{
    free_all(known->name_space, known->name, known->fault);
    credentials_done(&known->credentials);
    *known = (struct known_secret){0};
}

/* Lock held. NULL if it was never read. */
static struct known_secret *find_known(struct standing_credentials *standing,
                                       const struct secret_ref *ref)
{
    for (size_t i = 0; i < standing->count; i++)
        if (strcmp(standing->known[i].name, ref->name) == 0 &&
            strcmp(standing->known[i].name_space, ref->namespace_name) == 0)
            return &standing->known[i];
    return NULL;
}

/* Replaces what is known of the Secret, else the one that was read longest ago if there are too
 * many. @failure NULL: @credentials is what was read. */
static void remember_secret(struct standing_credentials *standing, const struct secret_ref *ref,
                            const struct credentials *credentials, const struct error *failure)
{
    pthread_mutex_lock(&standing->lock);
    struct known_secret *known = find_known(standing, ref);
    if (!known && standing->count < SECRETS_MAX) {
        known = array_add(standing->known, standing->count);
    } else if (!known) {
        known = &standing->known[0];
        for (size_t i = 1; i < standing->count; i++)
            if (standing->known[i].read_ms < known->read_ms)
                known = &standing->known[i];
    }
    known_done(known);
    *known = (struct known_secret){.name_space = xstrdup(ref->namespace_name),
                                   .name = xstrdup(ref->name),
                                   .status = failure ? failure->status : STATUS_OK,
                                   .fault = failure ? xstrdup(failure->message) : NULL,
                                   .read_ms = clock_monotonic_ms()};
    if (!failure)
        credentials_copy(&known->credentials, credentials);
    pthread_mutex_unlock(&standing->lock);
}

/* True if the cache has the answer, which may be a failure. */
static bool answer_from_cache(struct standing_credentials *standing, const struct secret_ref *ref,
                              int64_t life_ms, struct credentials *credentials, int *result,
                              struct error *err)
{
    pthread_mutex_lock(&standing->lock);
    const struct known_secret *known = find_known(standing, ref);
    bool is_fresh = known && clock_monotonic_ms() - known->read_ms < life_ms;
    if (is_fresh && known->credentials.user) {
        credentials_copy(credentials, &known->credentials);
        *result = 0;
    } else if (is_fresh) {
        *result = error_set(err, known->status, "%s", known->fault);
    }
    pthread_mutex_unlock(&standing->lock);
    return is_fresh;
}

/* --- reading --- */

static bool server_is_away(const struct error *err)
{
    return err->status == STATUS_UNAVAILABLE || err->status == STATUS_DEADLINE_EXCEEDED ||
           err->status == STATUS_CANCELLED || err->status == STATUS_UNAUTHENTICATED;
}

static int read_secret(struct standing_credentials *standing, struct call *call,
                       const struct secret_ref *ref, struct credentials *credentials,
                       struct error *err)
{
    static const char *const keys[] = CREDENTIALS_SECRET_KEYS;
    _cleanup_kube_secret_ struct kube_secret secret = {0};
    struct secret_entry entries[ARRAY_LENGTH(keys)];

    if (kube_secret_read(standing->kube, call, ref->namespace_name, ref->name, &secret, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        const struct secret *value = kube_secret_get(&secret, keys[i]);

        entries[i] = (struct secret_entry){keys[i], value ? secret_reveal(value) : ""};
    }
    credentials_from_secrets(entries, ARRAY_LENGTH(entries), credentials);
    if (credentials_check(credentials, err) < 0) {
        credentials_done(credentials);
        return error_wrap(err, "secret '%s/%s'", ref->namespace_name, ref->name);
    }
    return 0;
}

int standing_credentials_of_secret(struct standing_credentials *standing, struct call *call,
                                   const struct secret_ref *secret, struct credentials *credentials,
                                   struct error *err)
{
    _cleanup_error_ struct error old_failure = {0};
    int result = 0;

    if (answer_from_cache(standing, secret, standing->life_ms, credentials, &result, err))
        return result;
    if (read_secret(standing, call, secret, credentials, err) == 0) {
        remember_secret(standing, secret, credentials, NULL);
        return 0;
    }
    if (!server_is_away(err)) {
        remember_secret(standing, secret, credentials, err);
        return -1;
    }
    if (answer_from_cache(standing, secret, standing->life_ms * LIVES_WITHOUT_SERVER, credentials,
                          &result, &old_failure) &&
        result == 0) {
        error_clear(err);
        return 0;
    }
    return -1;
}

/* --- which Secret --- */

/* False if the class names no Secret. What it names is owned by the class. */
static bool find_class_secret(const struct strmap *class, struct secret_ref *ref)
{
    static const char *const keys[][2] = {
        {PARAM_PROVISIONER_SECRET "-name", PARAM_PROVISIONER_SECRET "-namespace"},
        {PARAM_EXPAND_SECRET "-name", PARAM_EXPAND_SECRET "-namespace"},
    };

    for (size_t i = 0; class && i < ARRAY_LENGTH(keys); i++) {
        const char *name = strmap_get(class, keys[i][0]);
        const char *name_space = strmap_get(class, keys[i][1]);

        /* a template (${pvc.name}) means another Secret for each claim */
        if (text_is_empty(name) || text_is_empty(name_space) || strchr(name, '$') ||
            strchr(name_space, '$'))
            continue;
        *ref = (struct secret_ref){(char *)(uintptr_t)name, (char *)(uintptr_t)name_space};
        return true;
    }
    return false;
}

static const struct secret_ref *find_cluster_secret(const struct standing_credentials *standing,
                                                    const struct cluster_config *cluster)
{
    const struct secret_ref *ref =
        standing->is_cephfs ? &cluster->cephfs.controller_secret : &cluster->rbd.controller_secret;

    return text_is_empty(ref->name) || text_is_empty(ref->namespace_name) ? NULL : ref;
}

/* Borrowed from *@config, which the caller releases; NULL if config.json names none. */
static const struct secret_ref *find_configured_secret(const struct standing_credentials *standing,
                                                       const char *cluster_id,
                                                       struct config **config)
{
    _cleanup_error_ struct error err = {0};
    const struct cluster_config *cluster = NULL;

    if (!standing->config || config_file_get(standing->config, config, &err) < 0 ||
        config_find_cluster(*config, cluster_id, &cluster, &err) < 0)
        return NULL;
    return find_cluster_secret(standing, cluster);
}

/* --- the credentials --- */

struct standing_credentials *
standing_credentials_new(const struct standing_credentials_options *options)
{
    struct standing_credentials *standing = xcalloc(1, sizeof(*standing));

    standing->kube = options->kube;
    standing->config = options->config;
    standing->is_cephfs = options->is_cephfs;
    standing->life_ms = options->life_ms > 0 ? options->life_ms : LIFE_MS;
    if (options->keyring)
        credentials_copy(&standing->keyring, options->keyring);
    pthread_mutex_init(&standing->lock, NULL);
    return standing;
}

void standing_credentials_free(struct standing_credentials *standing)
{
    if (!standing)
        return;
    for (size_t i = 0; i < standing->count; i++)
        known_done(&standing->known[i]);
    free(standing->known);
    credentials_done(&standing->keyring);
    pthread_mutex_destroy(&standing->lock);
    free(standing);
}

bool standing_credentials_exist(struct standing_credentials *standing)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_config_ struct config *config = NULL;

    if (!standing)
        return false;
    if (standing->keyring.user)
        return true;
    if (!standing->kube || !standing->config ||
        config_file_get(standing->config, &config, &err) < 0)
        return false;
    for (size_t i = 0; i < config_cluster_count(config); i++) {
        const struct cluster_config *cluster = NULL;

        if (config_find_cluster(config, config_cluster_id(config, i), &cluster, &err) == 0 &&
            find_cluster_secret(standing, cluster))
            return true;
        error_clear(&err);
    }
    return false;
}

/* True if it decides. A failure is added to @tried; that the server is away becomes the status of
 * the whole. */
static bool try_secret(struct standing_credentials *standing, struct call *call,
                       const struct secret_ref *ref, struct credentials *credentials,
                       struct text *tried, enum status *status)
{
    _cleanup_error_ struct error err = {0};

    if (standing_credentials_of_secret(standing, call, ref, credentials, &err) == 0)
        return true;
    if (server_is_away(&err))
        *status = err.status == STATUS_UNAUTHENTICATED ? STATUS_UNAVAILABLE : err.status;
    text_addf(tried, "%s%s", tried->length ? "; " : "", err.message);
    return false;
}

int standing_credentials_get(struct standing_credentials *standing, struct call *call,
                             const char *cluster_id, const struct strmap *class,
                             struct credentials *credentials, struct error *err)
{
    _cleanup_config_ struct config *config = NULL;
    _cleanup_text_ struct text tried = TEXT_INIT(2048);
    enum status status = STATUS_FAILED_PRECONDITION;
    struct secret_ref named = {0};

    if (standing && standing->kube) {
        const struct secret_ref *configured = find_configured_secret(standing, cluster_id, &config);

        if ((find_class_secret(class, &named) &&
             try_secret(standing, call, &named, credentials, &tried, &status)) ||
            (configured && try_secret(standing, call, configured, credentials, &tried, &status)))
            return 0;
    }
    if (standing && standing->keyring.user) {
        credentials_copy(credentials, &standing->keyring);
        return 0;
    }
    return error_set(err, status,
                     "this call carries no secrets, and there is no Ceph user for it in cluster "
                     "'%s': no Secret of the class or of config.json (controllerPublishSecretRef) "
                     "can be read%s%s%s, and --keyring names none",
                     cluster_id, tried.length ? " (" : "", text_chars(&tried),
                     tried.length ? ")" : "");
}
