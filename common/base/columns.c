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

/* The line that begins with the cell at @first; spaces at its end are left out. */
static void print_line(const struct columns *columns, size_t first, const size_t *widths,
                       struct text *out)
{
    _cleanup_text_ struct text line = TEXT_INIT(out->limit);
    size_t length = 0;

    for (size_t i = 0; i < columns->count && first + i < columns->cells.count; i++) {
        const char *cell = columns->cells.items[first + i];

        text_add(&line, i ? "  " : "");
        if (columns->right & (1U << i))
            text_addf(&line, "%*s", (int)widths[i], cell);
        else
            text_addf(&line, "%-*s", (int)widths[i], cell);
        if (cell[0])
            length = line.length - (columns->right & (1U << i) ? 0 : widths[i] - strlen(cell));
    }
    text_add_bytes(out, text_chars(&line), length);
    text_add(out, "\n");
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
    for (size_t i = 0; i < columns->cells.count; i += columns->count)
        print_line(columns, i, widths, out);
}

void columns_done(struct columns *columns)
{
    string_list_done(&columns->cells);
}
