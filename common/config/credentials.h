#pragma once

#include "common/base/error.h"
#include "common/base/secret.h"

/* The Ceph user of a call, from the secrets that came with it. */
struct credentials {
    char *user; /* without "client." */
    struct secret key;
    char *passed_over; /* adminID of secrets that have both pairs; NULL if they do not */
};

/* One key of a request's secrets. Borrowed. */
struct secret_entry {
    const char *name;
    const char *value;
};

/* The keys that credentials_from_secrets() looks at. */
#define CREDENTIALS_SECRET_KEYS                                                                    \
    {                                                                                              \
        "userID", "userKey", "adminID", "adminKey", "adminId", "key"                               \
    }

/*
 * Takes userID and userKey, else adminID and adminKey (CephFS before Ceph-CSI 3.14), or, as in
 * volumes migrated from the in-tree driver, key and adminId. Of two complete pairs the user's is
 * taken, as Ceph-CSI does from 3.14 on; before, it took the admin's for volumes that it made.
 * What is missing stays unset: whether it is needed shows only later.
 */
void credentials_from_secrets(const struct secret_entry *secrets, size_t count,
                              struct credentials *credentials);

/* INVALID_ARGUMENT naming what is missing; never quotes a value. */
_must_check_ int credentials_check(const struct credentials *credentials, struct error *err);

/* To a failure of a call made with them: if the user may not do what was asked, and the secrets
 * have an adminID that was not taken, says so. Returns -1. */
int credentials_explain(const struct credentials *credentials, struct error *err);

/* @to is empty; credentials_done() frees. */
void credentials_copy(struct credentials *to, const struct credentials *from);

void credentials_done(struct credentials *credentials);
#define _cleanup_credentials_ _cleanup_(credentials_done)
