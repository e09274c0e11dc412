#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "common/base/cleanup.h"

/*
 * Allocation that never fails: out of memory aborts. All state is in Ceph and every rpc is
 * repeatable, so a restart loses nothing; in return every size that a peer controls is bounded
 * before it gets here. Any thread.
 */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
/* Resizes to @count elements of @size bytes; aborts when the product overflows. */
void *xreallocarray(void *pointer, size_t count, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t length);
/* free() of several pointers, NULLs among them: free_all(entry->name, entry->value, entry). */
#define free_all(...)                                                                              \
    free_pointers((void *const[]){__VA_ARGS__}, ARRAY_LENGTH(((void *const[]){__VA_ARGS__})))
void free_pointers(void *const *pointers, size_t count);
/*
 * Appends one zeroed element to the array and counts it; gives a pointer to it, valid until the
 * next one is appended. Grows by doubling, so that n elements cost n steps. The array must have
 * been built by array_add() alone, from NULL:
 *
 *   struct pool *pool = array_add(list->items, list->count);
 */
#define array_add(items, count)                                                                    \
    ((items) = array_grow((items), (count), sizeof(*(items))), &(items)[(count)++])
/* Grows the array for one more element behind @count, and zeroes that. */
void *array_grow(void *items, size_t count, size_t size);
_printf_(1, 2) char *xasprintf(const char *fmt, ...);
_printf_(1, 0) char *xvasprintf(const char *fmt, va_list args);
/* The same for a function's own arguments, @fmt being the last that has a name. */
#define xformat_arguments(fmt)                                                                     \
    ({                                                                                             \
        va_list args_;                                                                             \
        va_start(args_, fmt);                                                                      \
        char *text_ = xvasprintf((fmt), args_);                                                    \
        va_end(args_);                                                                             \
        text_;                                                                                     \
    })
