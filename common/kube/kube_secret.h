#pragma once

#include "common/base/secret.h"
#include "common/kube/kube_ops.h"

/* The entries of a Secret, decoded. */
struct kube_secret_entry {
    char *key;
    struct secret value;
};

struct kube_secret {
    struct kube_secret_entry *entries;
    size_t count;
};

/*
 * Reads a Secret. Entries that are no text (with NUL inside) are left out: nothing we use is
 * binary. Errors name the Secret and never a value; INVALID_ARGUMENT when namespace or name are
 * none, or an entry is no base64. @secret is zero before; kube_secret_done() frees and wipes. Any
 * thread; one request.
 */
_must_check_ int kube_secret_read(struct kube *kube, struct call *call, const char *name_space,
                                  const char *name, struct kube_secret *secret, struct error *err);
/* The same from an object that was read elsewhere. Its values are wiped. */
_must_check_ int kube_secret_decode(json_t *item, struct kube_secret *secret, struct error *err);
/* NULL if there is no such entry. Borrowed. */
const struct secret *kube_secret_get(const struct kube_secret *secret, const char *key);
void kube_secret_done(struct kube_secret *secret);
#define _cleanup_kube_secret_ _cleanup_(kube_secret_done)
