#include "common/topology/label_index.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/topology/name_table.h"

/* 0 marks a free bucket. */
static uint64_t pair_hash(const char *key, const char *value)
{
    uint64_t hash = name_hash(key, value);

    return hash ? hash : 1;
}

uint64_t *label_hashes(const struct strmap *labels)
{
    uint64_t *hashes = xcalloc(labels->count + 1, sizeof(*hashes));

    for (size_t i = 0; i < labels->count; i++)
        hashes[i] = pair_hash(labels->entries[i].key, labels->entries[i].value);
    return hashes;
}

static struct label_bucket *locate(const struct label_index *index, uint64_t hash)
{
    size_t at = hash & (index->capacity - 1);

    while (index->buckets[at].hash != 0 && index->buckets[at].hash != hash)
        at = (at + 1) & (index->capacity - 1);
    return &index->buckets[at];
}

const struct label_bucket *label_index_find(const struct label_index *index, uint64_t hash)
{
    if (index->used == 0)
        return NULL;
    const struct label_bucket *bucket = locate(index, hash);
    return bucket->hash ? bucket : NULL;
}

static void grow(struct label_index *index)
{
    struct label_index larger = {.capacity = 16, .used = index->used, .always = index->always};

    if (index->capacity > 0 && (index->used + 1) * 2 <= index->capacity)
        return;
    while (larger.capacity < (index->used + 1) * 4)
        larger.capacity *= 2;
    larger.buckets = xcalloc(larger.capacity, sizeof(*larger.buckets));
    for (size_t i = 0; i < index->capacity; i++)
        if (index->buckets[i].hash != 0)
            *locate(&larger, index->buckets[i].hash) = index->buckets[i];
    free(index->buckets);
    *index = larger;
}

static void bucket_add(struct label_bucket *bucket, void *item)
{
    /* one item under a pair once, also when two terms name the pair */
    if (bucket->count > 0 && bucket->items[bucket->count - 1] == item)
        return;
    if ((bucket->count & (bucket->count - 1)) == 0)
        bucket->items = xreallocarray(bucket->items, bucket->count ? bucket->count * 2 : 1,
                                      sizeof(*bucket->items));
    bucket->items[bucket->count++] = item;
}

/* Keeps the order and the room: the size is reckoned from the count when adding. */
static void bucket_remove(struct label_bucket *bucket, const void *item)
{
    size_t kept = 0;

    for (size_t i = 0; i < bucket->count; i++)
        if (bucket->items[i] != item)
            bucket->items[kept++] = bucket->items[i];
    if (kept == bucket->count)
        return;
    bucket->count = kept;
    size_t room = 1;
    while (room < kept)
        room *= 2;
    bucket->items = xreallocarray(bucket->items, room, sizeof(*bucket->items));
}

/* How many candidates a node gets from this In, at worst. */
static size_t crowd(const struct label_index *index, const struct selector_requirement *in)
{
    size_t most = 0;

    for (size_t i = 0; i < in->values.count; i++) {
        const struct label_bucket *bucket =
            label_index_find(index, pair_hash(in->key, in->values.items[i]));

        if (bucket && bucket->count > most)
            most = bucket->count;
    }
    return most;
}

static const struct selector_requirement *choose(const struct label_index *index,
                                                 const struct selector_requirements *term)
{
    const struct selector_requirement *best = NULL;
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < term->count; i++) {
        const struct selector_requirement *requirement = &term->items[i];

        if (requirement->op != SELECTOR_IN)
            continue;
        size_t here = crowd(index, requirement);
        if (here < least) {
            least = here;
            best = requirement;
        }
    }
    return best;
}

void label_index_add(struct label_index *index, const struct selector_requirements *const *terms,
                     size_t term_count, void *item)
{
    for (size_t i = 0; i < term_count; i++)
        if (!choose(index, terms[i])) {
            bucket_add(&index->always, item);
            return;
        }
    for (size_t i = 0; i < term_count; i++) {
        const struct selector_requirement *in = choose(index, terms[i]);

        for (size_t j = 0; j < in->values.count; j++) {
            grow(index);
            uint64_t hash = pair_hash(in->key, in->values.items[j]);
            struct label_bucket *bucket = locate(index, hash);
            if (bucket->hash == 0) {
                bucket->hash = hash;
                index->used++;
            }
            bucket_add(bucket, item);
        }
    }
}

void label_index_remove(struct label_index *index, const void *item)
{
    bucket_remove(&index->always, item);
    for (size_t i = 0; i < index->capacity; i++)
        if (index->buckets[i].hash != 0)
            bucket_remove(&index->buckets[i], item);
}

void label_index_done(struct label_index *index)
{
    for (size_t i = 0; i < index->capacity; i++)
        free(index->buckets[i].items);
    free(index->buckets);
    free(index->always.items);
    *index = (struct label_index){0};
}
