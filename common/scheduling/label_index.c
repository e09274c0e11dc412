#include "common/scheduling/label_index.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

struct label_pair_entry {
    char *key;
    char *value;
    uint32_t number;
};

static uint32_t number_pair(struct label_pairs *pairs, const char *key, const char *value)
{
    struct label_pair_entry *entry = name_table_get(&pairs->entries.names, key, value);

    if (entry)
        return entry->number;
    entry = xcalloc(1, sizeof(*entry));
    *entry = (struct label_pair_entry){xstrdup(key), xstrdup(value),
                                       (uint32_t)pairs->entries.all.count + 1};
    named_list_add(&pairs->entries, entry->key, entry->value, entry);
    return entry->number;
}

static void free_pair(void *item)
{
    struct label_pair_entry *entry = item;

    free_all(entry->key, entry->value, entry);
}

void label_pairs_done(struct label_pairs *pairs)
{
    named_list_done(&pairs->entries, free_pair);
}

uint32_t *label_pairs_of(struct label_pairs *pairs, const struct strmap *labels)
{
    uint32_t *numbers = xcalloc(labels->count + 1, sizeof(*numbers));

    for (size_t i = 0; i < labels->count; i++)
        numbers[i] = number_pair(pairs, labels->entries[i].key, labels->entries[i].value);
    return numbers;
}

bool label_index_is_exact(const struct selector_requirements *term)
{
    return term->count == 1 && term->items[0].op == SELECTOR_IN;
}

static struct label_bucket *find_bucket(const struct label_index *index, uint32_t pair)
{
    /* spreads numbers that follow each other */
    size_t at = (pair * UINT32_C(2654435769) >> 7) & (index->capacity - 1);

    while (index->buckets[at].pair != 0 && index->buckets[at].pair != pair)
        at = (at + 1) & (index->capacity - 1);
    return &index->buckets[at];
}

static size_t filter_bit(const struct label_index *index, uint32_t pair)
{
    return (pair * UINT32_C(2246822519) >> 5) & (index->capacity * 2 - 1);
}

static void filter_add(const struct label_index *index, uint32_t pair)
{
    size_t bit = filter_bit(index, pair);

    index->filter[bit / 64] |= UINT64_C(1) << (bit % 64);
}

const struct label_bucket *label_index_find(const struct label_index *index, uint32_t pair)
{
    if (index->used == 0)
        return NULL;
    size_t bit = filter_bit(index, pair);
    if ((index->filter[bit / 64] >> (bit % 64) & 1) == 0)
        return NULL;
    const struct label_bucket *bucket = find_bucket(index, pair);
    return bucket->pair ? bucket : NULL;
}

static void grow_index(struct label_index *index)
{
    struct label_bucket *old = index->buckets;
    size_t old_capacity = index->capacity;

    if (old_capacity > 0 && (index->used + 1) * 2 <= old_capacity)
        return;
    index->capacity = 32;
    while (index->capacity < (index->used + 1) * 4)
        index->capacity *= 2;
    index->buckets = xcalloc(index->capacity, sizeof(*index->buckets));
    free(index->filter);
    index->filter = xcalloc(index->capacity * 2 / 64, sizeof(*index->filter));
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].pair != 0) {
            *find_bucket(index, old[i].pair) = old[i];
            filter_add(index, old[i].pair);
        }
    free(old);
}

static void bucket_add(struct label_bucket *bucket, void *item)
{
    /* one item under a pair once, also when two terms name the pair */
    if (bucket->count > 0 && label_bucket_item(bucket, bucket->count - 1) == item)
        return;
    if (bucket->count == 0) {
        bucket->first = item;
        bucket->count = 1;
        return;
    }
    size_t more = bucket->count - 1;
    *array_add(bucket->more, more) = item;
    bucket->count++;
}

static void bucket_remove(struct label_bucket *bucket, const void *item)
{
    struct label_bucket kept = {.pair = bucket->pair};
    bool is_there = false;

    for (size_t i = 0; i < bucket->count; i++)
        is_there = is_there || label_bucket_item(bucket, i) == item;
    if (!is_there)
        return;
    for (size_t i = 0; i < bucket->count; i++)
        if (label_bucket_item(bucket, i) != item)
            bucket_add(&kept, label_bucket_item(bucket, i));
    free(bucket->more);
    *bucket = kept;
}

/* How many candidates a node gets from this In, at worst. */
static size_t count_candidates(const struct label_index *index, struct label_pairs *pairs,
                               const struct selector_requirement *in)
{
    size_t most = 0;

    for (size_t i = 0; i < in->values.count; i++) {
        const struct label_bucket *bucket =
            label_index_find(index, number_pair(pairs, in->key, in->values.items[i]));

        if (bucket && bucket->count > most)
            most = bucket->count;
    }
    return most;
}

static const struct selector_requirement *choose_in(const struct label_index *index,
                                                    struct label_pairs *pairs,
                                                    const struct selector_requirements *term)
{
    const struct selector_requirement *best = NULL;
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < term->count; i++) {
        const struct selector_requirement *requirement = &term->items[i];

        if (requirement->op != SELECTOR_IN)
            continue;
        size_t here = count_candidates(index, pairs, requirement);
        if (here < least) {
            least = here;
            best = requirement;
        }
    }
    return best;
}

void label_index_add(struct label_index *index, struct label_pairs *pairs,
                     const struct selector_requirements *const *terms, size_t term_count,
                     void *item)
{
    for (size_t i = 0; i < term_count; i++)
        if (!choose_in(index, pairs, terms[i])) {
            bucket_add(&index->always, item);
            return;
        }
    for (size_t i = 0; i < term_count; i++) {
        const struct selector_requirement *in = choose_in(index, pairs, terms[i]);

        for (size_t j = 0; j < in->values.count; j++) {
            grow_index(index);
            uint32_t pair = number_pair(pairs, in->key, in->values.items[j]);
            struct label_bucket *bucket = find_bucket(index, pair);
            if (bucket->pair == 0) {
                bucket->pair = pair;
                filter_add(index, pair);
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
        if (index->buckets[i].pair != 0)
            bucket_remove(&index->buckets[i], item);
}

void label_index_done(struct label_index *index)
{
    for (size_t i = 0; i < index->capacity; i++)
        free(index->buckets[i].more);
    free_all(index->buckets, index->filter, index->always.more);
    *index = (struct label_index){0};
}
