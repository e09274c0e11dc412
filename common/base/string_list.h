#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/cleanup.h"

/* A list of strings in the order in which they were added. Owns its items. */
struct string_list {
    char **items;
    size_t count;
};

/* Copies @item to the end. */
void string_list_add(struct string_list *list, const char *item);
_printf_(2, 3) void string_list_addf(struct string_list *list, const char *fmt, ...);
bool string_list_has(const struct string_list *list, const char *item);
/* The same items in the same order. */
bool string_list_is_equal(const struct string_list *a, const struct string_list *b);
void string_list_done(struct string_list *list);

#define _cleanup_string_list_ _cleanup_(string_list_done)
