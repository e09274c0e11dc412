#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/cleanup.h"

/*
 * A map from string to string, kept sorted by key: lookups are binary searches, printing is stable.
 * Meant for what CSI calls a map (parameters, contexts, segments), not for millions of entries.
 * Not for secrets: see secret.h.
 */
struct strmap_entry {
    char *key;
    char *value;
};

struct strmap {
    struct strmap_entry *entries;
    size_t count;
};

/* Adds or replaces; copies both. */
void strmap_set(struct strmap *map, const char *key, const char *value);
/* The value, or NULL if there is none. Borrowed. */
const char *strmap_get(const struct strmap *map, const char *key);
/* As strmap_get(), but @fallback if there is none or it is empty. */
const char *strmap_get_or(const struct strmap *map, const char *key, const char *fallback);
bool strmap_has(const struct strmap *map, const char *key);
/* Removes if present. */
void strmap_remove(struct strmap *map, const char *key);
/* Adds all of @from, which win over what is there. */
void strmap_merge(struct strmap *map, const struct strmap *from);
bool strmap_is_equal(const struct strmap *a, const struct strmap *b);
void strmap_done(struct strmap *map);

#define _cleanup_strmap_ _cleanup_(strmap_done)
