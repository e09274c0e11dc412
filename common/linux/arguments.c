#include "common/linux/arguments.h"

#include <stdarg.h>
#include <stdlib.h>

#include "common/base/memory.h"

static void take_argument(struct arguments *arguments, char *argument)
{
    if (arguments->count < ARGUMENTS_MAX)
        arguments->items[arguments->count++] = argument;
    else
        free(argument);
}

void arguments_add(struct arguments *arguments, const char *fmt, ...)
{
    take_argument(arguments, xformat_arguments(fmt));
}

void arguments_add_option(struct arguments *arguments, const char *option, const char *fmt, ...)
{
    take_argument(arguments, xstrdup(option));
    take_argument(arguments, xformat_arguments(fmt));
}

void arguments_done(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->items[i]);
}
