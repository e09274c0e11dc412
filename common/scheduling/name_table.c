#include "common/scheduling/name_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"

static const char REMOVED[] = "";

uint64_t name_hash(const char *first, const char *second)
{
    uint64_t hash = hash_text(hash_field(HASH_START, first ? first : ""), second);

    /* FNV's low bits depend on low bits only; the tables mask them */
    return hash ^ (hash >> 32);
}

static bool is_same(const struct name_entry *entry, const char *ns, const char *name)
{
    return entry->name != REMOVED && strcmp(entry->name, name) == 0 &&
           strcmp(entry->ns ? entry->ns : "", ns ? ns : "") == 0;
}

/* The entry of that name, or the free one that ends the search. */
static struct name_entry *locate(const struct name_table *table, const char *ns, const char *name,
                                 uint64_t hash)
{
    size_t at = hash & (table->capacity - 1);

    while (table->entries[at].name &&
           !(table->entries[at].hash == hash && is_same(&table->entries[at], ns, name)))
        at = (at + 1) & (table->capacity - 1);
    return &table->entries[at];
}

static void grow(struct name_table *table)
{
    struct name_table larger = {0};

    if (table->capacity > 0 && (table->used + 1) * 4 <= table->capacity * 3)
        return;
    larger.capacity = 16;
    while (larger.capacity < (table->count + 1) * 2)
        larger.capacity *= 2;
    larger.entries = xcalloc(larger.capacity, sizeof(*larger.entries));
    for (size_t i = 0; i < table->capacity; i++) {
        const struct name_entry *entry = &table->entries[i];

        if (entry->name && entry->name != REMOVED)
            *locate(&larger, entry->ns, entry->name, entry->hash) = *entry;
    }
    larger.count = table->count;
    larger.used = table->count;
    free(table->entries);
    *table = larger;
}

void *name_table_get(const struct name_table *table, const char *ns, const char *name)
{
    if (table->count == 0)
        return NULL;
    const struct name_entry *entry = locate(table, ns, name, name_hash(ns, name));
    return entry->name ? entry->value : NULL;
}

void name_table_set(struct name_table *table, const char *ns, const char *name, void *value)
{
    uint64_t hash = name_hash(ns, name);

    grow(table);
    struct name_entry *entry = locate(table, ns, name, hash);
    if (!entry->name) {
        table->count++;
        table->used++;
    }
    *entry = (struct name_entry){ns, name, value, hash};
}

void name_table_remove(struct name_table *table, const char *ns, const char *name)
{
    if (table->count == 0)
        return;
    struct name_entry *entry = locate(table, ns, name, name_hash(ns, name));
    if (!entry->name)
        return;
    *entry = (struct name_entry){.name = REMOVED};
    table->count--;
}

void name_table_done(struct name_table *table)
{
    free(table->entries);
    *table = (struct name_table){0};
}
