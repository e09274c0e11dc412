#include "common/scheduling/name_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"

static const char REMOVED[] = "";

static uint64_t hash_name(const char *ns, const char *name)
{
    uint64_t hash = hash_text(hash_field(HASH_START, ns ? ns : ""), name);

    /* FNV's low bits depend on low bits only; the tables mask them */
    return hash ^ (hash >> 32);
}

static bool is_same(const struct name_entry *entry, const char *ns, const char *name)
{
    return entry->name != REMOVED && strcmp(entry->name, name) == 0 &&
           strcmp(entry->ns ? entry->ns : "", ns ? ns : "") == 0;
}

/* The entry of that name, or the free one that ends the search. */
static struct name_entry *find_entry(const struct name_table *table, const char *ns,
                                     const char *name, uint64_t hash)
{
    size_t at = hash & (table->capacity - 1);

    while (table->entries[at].name &&
           !(table->entries[at].hash == hash && is_same(&table->entries[at], ns, name)))
        at = (at + 1) & (table->capacity - 1);
    return &table->entries[at];
}

static void grow_table(struct name_table *table)
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
            *find_entry(&larger, entry->ns, entry->name, entry->hash) = *entry;
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
    const struct name_entry *entry = find_entry(table, ns, name, hash_name(ns, name));
    return entry->name ? entry->value : NULL;
}

void name_table_set(struct name_table *table, const char *ns, const char *name, void *value)
{
    uint64_t hash = hash_name(ns, name);

    grow_table(table);
    struct name_entry *entry = find_entry(table, ns, name, hash);
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
    struct name_entry *entry = find_entry(table, ns, name, hash_name(ns, name));
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

void named_list_add(struct named_list *list, const char *ns, const char *name, void *item)
{
    *array_add(list->all.items, list->all.count) = item;
    name_table_set(&list->names, ns, name, item);
}

void named_list_done(struct named_list *list, void (*free_item)(void *item))
{
    for (size_t i = 0; i < list->all.count; i++)
        free_item(list->all.items[i]);
    pointer_list_done(&list->all);
    name_table_done(&list->names);
}
