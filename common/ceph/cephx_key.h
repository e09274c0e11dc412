#pragma once

#include "common/base/error.h"
#include "common/base/secret.h"

/*
 * Checks the form of a key: base64 of type, time of creation, length and that many bytes.
 *
 * Fails with STATUS_UNAUTHENTICATED if @key is not a Ceph key, or of a type that this driver or
 * libraries of @library_version do not know; the message says which, without the key. librados
 * prints a key that it cannot read to stderr, so it must not see one. Pure.
 */
_must_check_ int cephx_key_check(const struct secret *key, const char *library_version,
                                 struct error *err);

/* The type of a key that has passed the check; 0 of one that is not a Ceph key. */
unsigned cephx_key_type(const struct secret *key);
/* Its name for users: "aes", "aes256k" or "unknown". */
const char *cephx_key_type_name(unsigned type);
