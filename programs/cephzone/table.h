#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/string_list.h"

/* A table for people: columns as wide as their widest cell, the last one as it comes. */
struct table_column {
    const char *title;
    bool is_number; /* to the right */
};

struct table {
    const struct table_column *columns;
    size_t count;
    struct string_list cells; /* row by row */
};

/* Copies one cell; NULL is "-". */
void table_add(struct table *table, const char *cell);
void table_print(const struct table *table, FILE *file);
void table_done(struct table *table);
#define _cleanup_table_ _cleanup_(table_done)
