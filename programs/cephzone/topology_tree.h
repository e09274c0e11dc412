#pragma once

#include <jansson.h>
#include <stdio.h>

#include "programs/cephzone/clusters.h"

/*
 * Places within places, and the pools in them: what cephzone topology prints. Main thread.
 * The root is everywhere: level and value are NULL.
 */
struct tree_pool {
    char *pool;
    char *data_pool;    /* NULL: none */
    char *class_name;   /* of the StorageClass */
    char *cluster_id;   /* "" never */
    const char *origin; /* static: class, metadata, crush */
    struct pool_figures figures;
};

struct tree_place {
    char *level;
    char *value;
    char *takeover; /* "zone-b, zone-c": who takes it over; NULL: nobody */
    struct tree_place **places;
    size_t place_count;
    struct tree_pool *pools;
    size_t pool_count;
    uint64_t room_bytes; /* of all pools here and below, shared free space counted once */
};

/* Adds a pool of a class at its place. Levels that @levels has come in its order, the others in
 * that of the entry. */
void tree_add(struct tree_place *root, const struct topology_levels *levels,
              const struct storage_class *class, const struct pool_entry *entry,
              const struct pool_figures *figures);
/* Fills in free space and takeovers, once all pools are there. @map may be NULL. */
void tree_finish(struct tree_place *root, const struct takeover_map *map);
void tree_done(struct tree_place *root);

void tree_print_text(const struct tree_place *root, FILE *file);
/* Caller frees with json_decref(). */
json_t *tree_to_json(const struct tree_place *root);
/* A picture: boxes in boxes, each pool with a bar that shows how full it is. */
void tree_print_svg(const struct tree_place *root, FILE *file);
