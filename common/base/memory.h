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
_printf_(1, 2) char *xasprintf(const char *fmt, ...);
_printf_(1, 0) char *xvasprintf(const char *fmt, va_list args);
