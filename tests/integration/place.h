#pragma once

#include <rados/librados.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/cleanup.h"
#include "common/base/string_list.h"
#include "common/base/strmap.h"

/*
 * Plain access to the pools of the throwaway cluster, as client.admin over one connection per test
 * program: librados alone, nothing of the driver, so that what the driver does can be checked. One
 * thread. Every failure ends the test.
 */

/* Fails the test, naming the call, unless @result is good. */
#define place_must(result) place_check((result), #result, __FILE__, __LINE__)
int place_check(int result, const char *what, const char *file, int line);

/* A pool and RADOS namespace. */
struct place {
    rados_ioctx_t io;
    int64_t id; /* of the pool */
};

/* @rados_namespace may be NULL for the default one. */
struct place place_open(const char *pool, const char *rados_namespace);
void place_close(struct place *place);
#define _cleanup_place_ _cleanup_(place_close)

void place_set(const struct place *place, const char *object, const char *key, const char *value);
/* Creates an empty object that must not exist. */
void place_create(const struct place *place, const char *object);
void place_remove(const struct place *place, const char *object);
/* All objects of a namespace, if there are any. */
void place_wipe(const char *pool, const char *rados_namespace);
bool place_has(const struct place *place, const char *object);
/* Caller frees; NULL if object or key are absent. */
char *place_get(const struct place *place, const char *object, const char *key);
/* All entries of an omap whose values are text. */
void place_list(const struct place *place, const char *object, struct strmap *entries);
/* All keys of an omap, whatever its values; none if the object is absent. */
void place_keys(const struct place *place, const char *object, struct string_list *keys);

/* Calls @each for every object of every namespace of @pool. */
void pool_each_object(const char *pool,
                      void (*each)(void *context, const char *rados_namespace, const char *object),
                      void *context);

/* Removes everything from the pools of RBD, whatever state it is in. */
void place_wipe_pools(void);

/* What the manager answers to a command in JSON; NULL if it refuses. Caller frees. */
char *place_mgr_command(const char *command);
