#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/cleanup.h"

/*
 * A key or passphrase. Zeroed when released; has no formatter on purpose. secret_reveal() marks
 * each place where the plain text leaves the type, so that a reader can find them all.
 */
struct secret {
    char *bytes; /* NUL-terminated; NULL when unset */
    size_t length;
};

/* Replaces the content by a copy of @text. */
void secret_set(struct secret *secret, const char *text);
void secret_copy(struct secret *to, const struct secret *from);
/* The plain text, "" when unset. Borrowed. */
const char *secret_reveal(const struct secret *secret);
bool secret_is_set(const struct secret *secret);
bool secret_is_equal(const struct secret *a, const struct secret *b);
void secret_done(struct secret *secret);

#define _cleanup_secret_ _cleanup_(secret_done)
