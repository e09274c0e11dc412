#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/scheduling/pointer_list.h"

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

/* Items in the order in which they were added, or in another, and a table of their names. */
struct named_list {
    struct pointer_list all;
    struct name_table names;
};

void named_list_add(struct named_list *list, const char *ns, const char *name, void *item);
/* Frees each item by @free_item, then the list. */
void named_list_done(struct named_list *list, void (*free_item)(void *item));
