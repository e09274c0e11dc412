#include "common/linux/arguments.h"

#include <stdarg.h>
#include <stdlib.h>

#include "common/base/memory.h"

void arguments_add(struct arguments *arguments, const char *fmt, ...)
{
    if (arguments->count == ARGUMENTS_MAX)
        return;
    arguments->items[arguments->count++] = xformat_arguments(fmt);
}

void arguments_done(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->items[i]);
}
