#pragma once

#include <stdbool.h>

#include "common/base/cleanup.h"
#include "common/config/credentials.h"

/*
 * The key that calls brought last for each user of each cluster. Work that outlives its call by
 * hours asks here instead of keeping the key of its start, which may have been rotated meanwhile.
 * In memory only, and wiped at the end. Any thread.
 */
struct newest_credentials;

struct newest_credentials *newest_credentials_new(void);
void newest_credentials_free(struct newest_credentials *newest);

/* A call has come with these, and Ceph accepted them. True if the user had another key before. */
bool newest_credentials_note(struct newest_credentials *newest, const char *cluster_id,
                             const struct credentials *credentials);

/* Those of the same user, with the newest key; those of @known if no call came since. @credentials
 * is empty; credentials_done() frees. */
void newest_credentials_get(struct newest_credentials *newest, const char *cluster_id,
                            const struct credentials *known, struct credentials *credentials);
