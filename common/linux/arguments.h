#pragma once

#include <stddef.h>

#include "common/base/cleanup.h"

#define ARGUMENTS_MAX 64

/* Arguments of a program, ending with NULL; owns them. Zero-initialise. What is too much is left
 * out, and the program complains. */
struct arguments {
    char *items[ARGUMENTS_MAX + 1];
    size_t count;
};

_printf_(2, 3) void arguments_add(struct arguments *arguments, const char *fmt, ...);
/* An option and its value, the formatted text, as two arguments. */
_printf_(3, 4) void arguments_add_option(struct arguments *arguments, const char *option,
                                         const char *fmt, ...);
void arguments_done(struct arguments *arguments);
#define _cleanup_arguments_ _cleanup_(arguments_done)
