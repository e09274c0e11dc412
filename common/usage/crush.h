#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/string_list.h"

/*
 * The part of a CRUSH map that says where a pool's data are: what each rule takes, and the buckets
 * above that. Pure: no I/O. Any thread.
 */
#define CRUSH_DUMP "{\"prefix\":\"osd crush dump\",\"format\":\"json\"}"

struct crush_bucket {
    int64_t id;
    char *name;
    char *type;
    int64_t type_id; /* grows outwards: host 1, zone 9, root 11 */
    int64_t parent;  /* id; 0 at the top (ids of buckets are negative) */
};

struct crush_rule {
    int64_t id;
    char *takes;   /* bucket's name and device class: "zone-a~ssd"; NULL if it takes several */
    char *strange; /* a step of an unknown kind, so that nothing is sure; NULL: none */
};

struct crush_type {
    char *name;
    int64_t id;
};

struct crush_map {
    struct crush_bucket *buckets; /* sorted by id */
    size_t bucket_count;
    struct crush_rule *rules; /* sorted by id */
    size_t rule_count;
    struct crush_type *types;
    size_t type_count;
};

/* From the answer to CRUSH_DUMP. INVALID_ARGUMENT naming the place. crush_map_done() frees. */
_must_check_ int crush_map_parse(const char *dump, struct crush_map *map, struct error *err);
void crush_map_done(struct crush_map *map);

/* What the rule takes, NULL if unknown or several. Borrowed. */
const char *crush_rule_takes(const struct crush_map *map, int64_t rule);
/* The step of the rule that is of no kind known here, NULL if there is none. Such a rule may put
 * data anywhere. Borrowed. */
const char *crush_rule_strange_step(const struct crush_map *map, int64_t rule);
/* The bucket of that name; a device class behind '~' does not matter. NULL if there is none. */
const struct crush_bucket *crush_find_bucket(const struct crush_map *map, const char *name);
/* The bucket above; NULL at the top. */
const struct crush_bucket *crush_parent(const struct crush_map *map,
                                        const struct crush_bucket *bucket);
/* How far out a type is, -1 if the map has no such type. */
int64_t crush_type_id(const struct crush_map *map, const char *type);
/* Adds the names of all types of buckets to @types, outermost first. */
void crush_list_types(const struct crush_map *map, struct string_list *types);
