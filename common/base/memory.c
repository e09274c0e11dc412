#include "common/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *abort_if_null(void *pointer)
{
    if (!pointer) {
        fputs("out of memory\n", stderr);
        abort();
    }
    return pointer;
}

void *xmalloc(size_t size)
{
    return abort_if_null(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
    return abort_if_null(calloc(count ? count : 1, size ? size : 1));
}

void *xreallocarray(void *pointer, size_t count, size_t size)
{
    return abort_if_null(reallocarray(pointer, count ? count : 1, size ? size : 1));
}

void free_pointers(void *const *pointers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(pointers[i]);
}

/* The capacity is 4, 8, 16, ... elements: it is used up when the count is one of these. */
void *array_grow(void *items, size_t count, size_t size)
{
    enum { FIRST_CAPACITY = 4 };
    char *grown = items;

    if (count == 0)
        grown = xreallocarray(items, FIRST_CAPACITY, size);
    else if (count >= FIRST_CAPACITY && (count & (count - 1)) == 0)
        grown = xreallocarray(items, count * 2, size);
    memset(grown + count * size, 0, size);
    return grown;
}

char *xstrdup(const char *text)
{
    return abort_if_null(strdup(text));
}

char *xstrndup(const char *text, size_t length)
{
    return abort_if_null(strndup(text, length));
}

char *xvasprintf(const char *fmt, va_list args)
{
    char *text = NULL;

    if (vasprintf(&text, fmt, args) < 0)
        abort_if_null(NULL);
    return text;
}

char *xasprintf(const char *fmt, ...)
{
    return xformat_arguments(fmt);
}
