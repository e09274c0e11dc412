#include "common/base/secret.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

void secret_set(struct secret *secret, const char *text)
{
    char *copy = xstrdup(text);

    secret_done(secret);
    secret->bytes = copy;
    secret->length = strlen(copy);
}

void secret_copy(struct secret *to, const struct secret *from)
{
    secret_set(to, secret_reveal(from));
}

const char *secret_reveal(const struct secret *secret)
{
    return secret->bytes ? secret->bytes : "";
}

bool secret_is_set(const struct secret *secret)
{
    return secret->length > 0;
}

bool secret_is_equal(const struct secret *a, const struct secret *b)
{
    unsigned char difference = 0;

    if (a->length != b->length)
        return false;
    for (size_t i = 0; i < a->length; i++) /* time does not depend on where they differ */
        difference |= (unsigned char)(a->bytes[i] ^ b->bytes[i]);
    return difference == 0;
}

void secret_done(struct secret *secret)
{
    if (secret->bytes)
        explicit_bzero(secret->bytes, secret->length);
    free(secret->bytes);
    *secret = (struct secret){0};
}
