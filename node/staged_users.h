#pragma once

#include <stdbool.h>

#include "common/base/cleanup.h"
#include "common/config/credentials.h"
#include "node/volumes.h"

/*
 * With which Ceph user a volume was staged, and its volume_context: for calls that need not bring
 * secrets but must ask Ceph all the same. In memory alone, and nothing depends on it: what a
 * restart forgets, the secrets of the call or the standing credentials replace. Holds one entry for
 * each volume that was staged and not unstaged since. Any thread.
 */
struct staged_users;

struct staged_users *staged_users_new(void);
/* NULL is fine. Wipes the keys. */
void staged_users_free(struct staged_users *users);

/* Of a volume that is staged now; replaces what was known, if the request brought a Ceph user. */
void staged_users_note(struct staged_users *users, const struct stage_request *request);
void staged_users_forget(struct staged_users *users, const char *handle);

/* Copies context and credentials to @request, which has none; false if the volume is not known. */
bool staged_users_get(struct staged_users *users, const char *handle,
                      struct stage_request *request);

/*
 * The Ceph user for a call that need not bring secrets: @own, if it did, else the one that the
 * volume was staged with, as this process remembers it or as its PersistentVolume says (see
 * staged_secret.h), else that of the Secret that config.json names (rbd.nodePublishSecretRef), else
 * the standing one. @path: where it is staged or published. Fills handle,
 * context and credentials of @found. Errors as those of standing_credentials_get().
 */
_must_check_ int staged_user_find(const struct node_volumes *volumes, struct call *call,
                                  const char *handle, const char *path,
                                  const struct credentials *own, struct stage_request *found,
                                  struct error *err);
