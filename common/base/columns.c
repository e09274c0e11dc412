#include "common/base/columns.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 32

void columns_add(struct columns *columns, const char *text)
{
    string_list_add(&columns->cells, text);
}

void columns_take(struct columns *columns, char *text)
{
    columns_add(columns, text);
    free(text);
}

void columns_print(const struct columns *columns, struct text *out)
{
    size_t widths[COLUMNS_MAX] = {0};

    for (size_t i = 0; i < columns->cells.count; i++) {
        size_t *width = &widths[i % columns->count];
        size_t length = strlen(columns->cells.items[i]);

        if (length > *width)
            *width = length;
    }
    for (size_t i = 0; i < columns->cells.count; i++) {
        size_t column = i % columns->count;
        const char *cell = columns->cells.items[i];

        if (column + 1 == columns->count)
            text_addf(out, "%s\n", cell);
        else if (columns->right & (1U << column))
            text_addf(out, "%*s  ", (int)widths[column], cell);
        else
            text_addf(out, "%-*s  ", (int)widths[column], cell);
    }
}

void columns_done(struct columns *columns)
{
    string_list_done(&columns->cells);
}
