#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/scheduling/name_table.h"
#include "common/topology/selector.h"

/*
 * Finds what may match a node by the node's labels, so that nobody walks through everything for
 * every node. An item whose condition says "KEY In [VALUES]" is kept under each of these pairs; one
 * whose condition cannot be told that way is always a candidate. Candidates are a superset: the
 * caller evaluates the condition. Items are borrowed pointers. Reading: any number of threads.
 *
 * Of several In's that are ANDed the one with the emptiest buckets is taken, so zone AND host ends
 * up under the host. Cost of a lookup: one probe per label of the node.
 */
struct label_bucket {
    uint32_t pair; /* 0: free */
    uint32_t count;
    void *first; /* most have one item: it costs no further look into memory */
    void **more;
};

static inline void *label_bucket_item(const struct label_bucket *bucket, size_t at)
{
    return at == 0 ? bucket->first : bucket->more[at - 1];
}

/* Numbers for all pairs of key and value that occur, from 1 on: two pairs have one number only if
 * they are the same. */
struct label_pairs {
    struct named_list entries;
};

void label_pairs_done(struct label_pairs *pairs);

struct label_index {
    struct label_bucket *buckets; /* open addressing */
    size_t capacity;
    size_t used;
    uint64_t *filter; /* two bits per bucket: most labels of a node lead nowhere, and soon */
    struct label_bucket always;
};

/* ORed conditions; of each, all requirements are ANDed. A condition without an In makes the item a
 * candidate for every node. */
void label_index_add(struct label_index *index, struct label_pairs *pairs,
                     const struct selector_requirements *const *terms, size_t term_count,
                     void *item);
/* Whether the condition is nothing but one In: then whatever is found under a pair matches. */
bool label_index_is_exact(const struct selector_requirements *term);
void label_index_remove(struct label_index *index, const void *item);
void label_index_done(struct label_index *index);

/* The pairs of a node's labels. Caller frees. */
uint32_t *label_pairs_of(struct label_pairs *pairs, const struct strmap *labels);
/* The bucket of one pair; NULL if there is none. */
const struct label_bucket *label_index_find(const struct label_index *index, uint32_t pair);
