#pragma once

#include "common/base/error.h"

/* Kubernetes label syntax: keys are [prefix/]name, prefix a DNS name of at most 253 bytes, name and
 * value at most 63 bytes of alphanumerics, '-', '_' and '.', alphanumeric at both ends; a value may
 * be empty. Pure; any thread. */
#define LABEL_NAME_MAX 63
#define LABEL_PREFIX_MAX 253

/* INVALID_ARGUMENT saying which rule is broken. */
_must_check_ int label_key_check(const char *key, struct error *err);
_must_check_ int label_value_check(const char *value, struct error *err);

/* What stands behind the first slash; all of it where there is none. Borrowed. */
const char *label_tail(const char *key);
