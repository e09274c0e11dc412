#include "common/linux/arguments.h"

#include <stdarg.h>
#include <stdlib.h>

#include "common/base/memory.h"

void arguments_add(struct arguments *arguments, const char *fmt, ...)
{
    va_list args;

    if (arguments->count == ARGUMENTS_MAX)
        return;
    va_start(args, fmt);
    arguments->items[arguments->count++] = xvasprintf(fmt, args);
    va_end(args);
}

void arguments_done(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->items[i]);
}
