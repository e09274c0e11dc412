#include "node/staged_users.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/volume/volume_id.h"
#include "node/staged_secret.h"

/* A list: it is searched once per call, and a node has hundreds of volumes. */
struct staged_users {
    pthread_mutex_t lock;
    struct stage_request *known; /* handle, context and credentials alone */
    size_t count;
};

struct staged_users *staged_users_new(void)
{
    struct staged_users *users = xcalloc(1, sizeof(*users));

    pthread_mutex_init(&users->lock, NULL);
    return users;
}

void staged_users_free(struct staged_users *users)
{
    if (!users)
        return;
    for (size_t i = 0; i < users->count; i++)
        stage_request_done(&users->known[i]);
    free(users->known);
    pthread_mutex_destroy(&users->lock);
    free(users);
}

static void copy_user(const struct stage_request *from, struct stage_request *to)
{
    strmap_merge(&to->context, &from->context);
    credentials_copy(&to->credentials, &from->credentials);
}

/* Lock held. NULL: not known. */
static struct stage_request *find_volume(struct staged_users *users, const char *handle)
{
    for (size_t i = 0; i < users->count; i++)
        if (strcmp(users->known[i].handle, handle) == 0)
            return &users->known[i];
    return NULL;
}

/* Lock held. */
static void drop_volume(struct staged_users *users, const char *handle)
{
    struct stage_request *known = find_volume(users, handle);

    if (!known)
        return;
    stage_request_done(known);
    *known = users->known[--users->count];
}

void staged_users_note(struct staged_users *users, const struct stage_request *request)
{
    struct stage_request entry = {0};

    if (!request->credentials.user || !secret_is_set(&request->credentials.key))
        return;
    entry.handle = xstrdup(request->handle);
    copy_user(request, &entry);
    pthread_mutex_lock(&users->lock);
    drop_volume(users, request->handle);
    *array_add(users->known, users->count) = entry;
    pthread_mutex_unlock(&users->lock);
}

void staged_users_forget(struct staged_users *users, const char *handle)
{
    pthread_mutex_lock(&users->lock);
    drop_volume(users, handle);
    pthread_mutex_unlock(&users->lock);
}

bool staged_users_get(struct staged_users *users, const char *handle, struct stage_request *request)
{
    pthread_mutex_lock(&users->lock);
    const struct stage_request *known = find_volume(users, handle);
    if (known)
        copy_user(known, request);
    pthread_mutex_unlock(&users->lock);
    return known;
}

/* The Secret that config.json names for nodes. The credentials stay unset if it names none. */
static int find_configured_user(const struct node_volumes *volumes, struct call *call,
                                const char *cluster_id, struct credentials *found,
                                struct error *err)
{
    _cleanup_config_ struct config *config = NULL;
    const struct cluster_config *cluster = NULL;

    if (!volumes->kube || !volumes->standing)
        return 0;
    if (config_file_get(volumes->config, &config, err) < 0 ||
        config_find_cluster(config, cluster_id, &cluster, err) < 0)
        return -1;
    const struct secret_ref *secret = &cluster->rbd.node_secret;
    if (text_is_empty(secret->name) || text_is_empty(secret->namespace_name))
        return 0;
    return standing_credentials_of_secret(volumes->standing, call, secret, found, err);
}

/* The API server may be away, or not ours to ask; the standing user may do all the same. */
static int find_other_user(const struct node_volumes *volumes, struct call *call,
                           const char *handle, const char *path, struct stage_request *found,
                           struct error *err)
{
    _cleanup_error_ struct error why = {0};
    struct volume_id id;
    int result = staged_secret_find(volumes, call, handle, path, found, &why);

    if (result == 0 && found->credentials.user)
        return 0;
    if (volume_id_parse(handle, &id, err) < 0)
        return -1;
    if (result == 0)
        result = find_configured_user(volumes, call, id.cluster_id, &found->credentials, &why);
    if (result == 0 && found->credentials.user)
        return 0;
    if (standing_credentials_get(volumes->standing, call, id.cluster_id, NULL, &found->credentials,
                                 err) < 0)
        return result < 0 ? error_hint(err, "its own Secret: %s", why.message) : -1;
    return 0;
}

int staged_user_find(const struct node_volumes *volumes, struct call *call, const char *handle,
                     const char *path, const struct credentials *own, struct stage_request *found,
                     struct error *err)
{
    found->handle = xstrdup(handle);
    staged_users_get(volumes->users, handle, found);
    if (own->user && secret_is_set(&own->key)) {
        credentials_done(&found->credentials);
        credentials_copy(&found->credentials, own);
    }
    return found->credentials.user ? 0 : find_other_user(volumes, call, handle, path, found, err);
}
