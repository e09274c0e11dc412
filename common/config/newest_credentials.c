#include "common/config/newest_credentials.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

#define USERS_MAX 256 /* whoever came first goes when there are more */

struct user {
    char *cluster_id;
    struct credentials credentials;
};

struct newest_credentials {
    pthread_mutex_t lock;
    struct user users[USERS_MAX];
    size_t count;
};

struct newest_credentials *newest_credentials_new(void)
{
    struct newest_credentials *newest = xcalloc(1, sizeof(*newest));

    pthread_mutex_init(&newest->lock, NULL);
    return newest;
}

static void user_done(struct user *user)
{
    free(user->cluster_id);
    credentials_done(&user->credentials);
}

void newest_credentials_free(struct newest_credentials *newest)
{
    for (size_t i = 0; i < newest->count; i++)
        user_done(&newest->users[i]);
    pthread_mutex_destroy(&newest->lock);
    free(newest);
}

/* Lock held. NULL: no call has come as this user. */
static struct user *find_user(struct newest_credentials *newest, const char *cluster_id,
                              const char *name)
{
    for (size_t i = 0; i < newest->count; i++)
        if (strcmp(newest->users[i].cluster_id, cluster_id) == 0 &&
            strcmp(newest->users[i].credentials.user, name) == 0)
            return &newest->users[i];
    return NULL;
}

/* Lock held. */
static void add_user(struct newest_credentials *newest, const char *cluster_id,
                     const struct credentials *credentials)
{
    if (newest->count == USERS_MAX) {
        user_done(&newest->users[0]);
        newest->count--;
        memmove(newest->users, newest->users + 1, newest->count * sizeof(newest->users[0]));
    }
    struct user *user = &newest->users[newest->count++];
    *user = (struct user){.cluster_id = xstrdup(cluster_id)};
    credentials_copy(&user->credentials, credentials);
}

bool newest_credentials_note(struct newest_credentials *newest, const char *cluster_id,
                             const struct credentials *credentials)
{
    bool is_changed = false;

    pthread_mutex_lock(&newest->lock);
    struct user *user = find_user(newest, cluster_id, credentials->user);
    if (!user) {
        add_user(newest, cluster_id, credentials);
    } else if (!secret_is_equal(&user->credentials.key, &credentials->key)) {
        credentials_done(&user->credentials);
        user->credentials = (struct credentials){0};
        credentials_copy(&user->credentials, credentials);
        is_changed = true;
    }
    pthread_mutex_unlock(&newest->lock);
    return is_changed;
}

void newest_credentials_get(struct newest_credentials *newest, const char *cluster_id,
                            const struct credentials *known, struct credentials *credentials)
{
    pthread_mutex_lock(&newest->lock);
    const struct user *user = find_user(newest, cluster_id, known->user);
    credentials_copy(credentials, user ? &user->credentials : known);
    pthread_mutex_unlock(&newest->lock);
}
