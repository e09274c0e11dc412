#pragma once

#include <stddef.h>
#include <stdint.h>

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
    uint64_t hash; /* of key and value; two pairs with one hash share a bucket, which is harmless */
    void **items;
    size_t count;
};

struct label_index {
    struct label_bucket *buckets; /* open addressing; items NULL and hash 0: free */
    size_t capacity;
    size_t used;
    struct label_bucket always;
};

/* ORed conditions; of each, all requirements are ANDed. A condition without an In makes the item a
 * candidate for every node. */
void label_index_add(struct label_index *index, const struct selector_requirements *const *terms,
                     size_t term_count, void *item);
void label_index_remove(struct label_index *index, const void *item);
void label_index_done(struct label_index *index);

/* The hashes of a node's labels. Caller frees. */
uint64_t *label_hashes(const struct strmap *labels);
/* The bucket of one pair; NULL if there is none. */
const struct label_bucket *label_index_find(const struct label_index *index, uint64_t hash);
