#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "common/base/string_list.h"
#include "common/base/text.h"

/*
 * A table for people: cells are added row by row, from left to right, the titles first, and are
 * printed in columns as wide as they need to be. One thread.
 *
 *   static const char *const titles[] = {"POOL", "FREE"};
 *   struct columns columns = {.right = 1 << 1};
 *
 *   columns_add_titles(&columns, titles, ARRAY_LENGTH(titles));
 */
struct columns {
    size_t count;    /* of columns, at most 32 */
    unsigned right;  /* bit n: column n is right-aligned, as numbers are */
    bool has_dashes; /* empty cells are printed as "-" */
    struct string_list cells;
};

/* The first row; says how many columns there are. */
void columns_add_titles(struct columns *columns, const char *const *titles, size_t count);
/* Copies @text; NULL is "-". */
void columns_add(struct columns *columns, const char *text);
/* As columns_add(), and frees @text. */
void columns_take(struct columns *columns, char *text);
/* Two spaces between columns, none at the end of a line. */
void columns_print(const struct columns *columns, struct text *out);
void columns_write(const struct columns *columns, FILE *file);
void columns_done(struct columns *columns);
#define _cleanup_columns_ _cleanup_(columns_done)
