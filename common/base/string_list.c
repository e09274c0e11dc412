#include "common/base/string_list.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

void string_list_add(struct string_list *list, const char *item)
{
    char *copy = xstrdup(item);

    *array_add(list->items, list->count) = copy;
}

void string_list_addf(struct string_list *list, const char *fmt, ...)
{
    _cleanup_free_ char *item = xformat_arguments(fmt);
    string_list_add(list, item);
}

bool string_list_has(const struct string_list *list, const char *item)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], item) == 0)
            return true;
    return false;
}

bool string_list_is_equal(const struct string_list *a, const struct string_list *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return true;
}

void string_list_done(struct string_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct string_list){0};
}
