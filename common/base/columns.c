#include "common/base/columns.h"

#include <assert.h>
#include <stdlib.h>

#define COLUMNS_MAX 32
#define WRITE_LIMIT ((size_t)1 << 30)

void columns_add_titles(struct columns *columns, const char *const *titles, size_t count)
{
    assert(count > 0 && count <= COLUMNS_MAX);
    columns->count = count;
    for (size_t i = 0; i < count; i++)
        columns_add(columns, titles[i]);
}

void columns_add(struct columns *columns, const char *text)
{
    bool is_dash = !text || (columns->has_dashes && text[0] == '\0');

    string_list_add(&columns->cells, is_dash ? "-" : text);
}

void columns_take(struct columns *columns, char *text)
{
    columns_add(columns, text);
    free(text);
}

/* Characters, not bytes: names may be in any script. */
static size_t text_width(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

/* The line that begins with the cell at @first. Padding is written before the next cell that has
 * text, so that none is left at the end of the line. */
static void print_line(const struct columns *columns, size_t first, const size_t *widths,
                       struct text *out)
{
    size_t padding = 0;

    for (size_t i = 0; i < columns->count && first + i < columns->cells.count; i++) {
        const char *cell = columns->cells.items[first + i];
        size_t space = widths[i] - text_width(cell);

        if (cell[0] == '\0') {
            padding += widths[i] + 2;
        } else if (columns->right & (1U << i)) {
            text_addf(out, "%*s%s", (int)(padding + space), "", cell);
            padding = 2;
        } else {
            text_addf(out, "%*s%s", (int)padding, "", cell);
            padding = space + 2;
        }
    }
    text_add(out, "\n");
}

void columns_print(const struct columns *columns, struct text *out)
{
    size_t widths[COLUMNS_MAX] = {0};

    for (size_t i = 0; i < columns->cells.count; i++) {
        size_t *width = &widths[i % columns->count];
        size_t own = text_width(columns->cells.items[i]);

        if (own > *width)
            *width = own;
    }
    for (size_t i = 0; i < columns->cells.count; i += columns->count)
        print_line(columns, i, widths, out);
}

void columns_write(const struct columns *columns, FILE *file)
{
    _cleanup_text_ struct text out = TEXT_INIT(WRITE_LIMIT);

    columns_print(columns, &out);
    fputs(text_chars(&out), file);
}

void columns_done(struct columns *columns)
{
    string_list_done(&columns->cells);
}
