#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A hash table from namespace and name to an object. Both texts are borrowed and must live as long
 * as the entry: they usually belong to the object. @ns NULL and "" are the same. Not for several
 * threads at once while one writes.
 */
struct name_entry {
    const char *ns;
    const char *name; /* NULL: free; the table's own mark: was removed */
    void *value;
    uint64_t hash;
};

struct name_table {
    struct name_entry *entries;
    size_t capacity; /* a power of two */
    size_t count;
    size_t used; /* with those removed */
};

void *name_table_get(const struct name_table *table, const char *ns, const char *name);
/* Adds, or replaces value and texts. */
void name_table_set(struct name_table *table, const char *ns, const char *name, void *value);
void name_table_remove(struct name_table *table, const char *ns, const char *name);
/* Frees the table, not the values. */
void name_table_done(struct name_table *table);

/* FNV-1a; a pair hashes as both texts with a mark between. */
uint64_t name_hash(const char *first, const char *second);
