#pragma once

#include "common/base/string_list.h"
#include "common/base/text.h"

/*
 * A table for people: cells are added line by line, from left to right, the titles first, and are
 * printed in columns as wide as they need to be. One thread.
 *
 *   struct columns columns = {.count = 3, .right = 1 << 1};
 */
struct columns {
    size_t count;   /* of columns, at most 32 */
    unsigned right; /* bit n: column n stands to the right, as numbers do */
    struct string_list cells;
};

/* Copies @text. */
void columns_add(struct columns *columns, const char *text);
/* Frees @text. */
void columns_take(struct columns *columns, char *text);
/* Two spaces between columns, none at the end of a line. */
void columns_print(const struct columns *columns, struct text *out);
void columns_done(struct columns *columns);
#define _cleanup_columns_ _cleanup_(columns_done)
