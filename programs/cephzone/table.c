#include "programs/cephzone/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

void table_add(struct table *table, const char *cell)
{
    string_list_add(&table->cells, cell && cell[0] ? cell : "-");
}

/* Characters, not bytes: names may be in any script. */
static size_t width_of(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += (*text & 0xc0) != 0x80;
    return width;
}

static void print_cell(const struct table *table, size_t column, const char *text, size_t width,
                       FILE *file)
{
    size_t space = width > width_of(text) ? width - width_of(text) : 0;

    if (column + 1 == table->count)
        fprintf(file, "%s\n", text);
    else if (table->columns[column].is_number)
        fprintf(file, "%*s%s  ", (int)space, "", text);
    else
        fprintf(file, "%s%*s  ", text, (int)space, "");
}

void table_print(const struct table *table, FILE *file)
{
    assert(table->count > 0);
    size_t *widths = xcalloc(table->count, sizeof(*widths));

    for (size_t i = 0; i < table->count; i++)
        widths[i] = width_of(table->columns[i].title);
    for (size_t i = 0; i < table->cells.count; i++)
        if (width_of(table->cells.items[i]) > widths[i % table->count])
            widths[i % table->count] = width_of(table->cells.items[i]);
    for (size_t i = 0; i < table->count; i++)
        print_cell(table, i, table->columns[i].title, widths[i], file);
    for (size_t i = 0; i < table->cells.count; i++)
        print_cell(table, i % table->count, table->cells.items[i], widths[i % table->count], file);
    free(widths);
}

void table_done(struct table *table)
{
    string_list_done(&table->cells);
}
