#include "common/scheduling/pointer_list.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

size_t pointer_list_locate(const struct pointer_list *list, const void *item,
                           pointer_compare *compare)
{
    size_t low = 0;
    size_t high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(list->items[middle], item) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pointer_list_insert(struct pointer_list *list, void *item, pointer_compare *order)
{
    size_t at = order ? pointer_list_locate(list, item, order) : list->count;
    size_t behind = list->count - at;

    array_add(list->items, list->count);
    memmove(list->items + at + 1, list->items + at, behind * sizeof(*list->items));
    list->items[at] = item;
}

size_t pointer_list_find(const struct pointer_list *list, const void *item, pointer_compare *order)
{
    size_t at = order ? pointer_list_locate(list, item, order) : 0;

    if (at < list->count && list->items[at] == item)
        return at;
    for (at = 0; at < list->count && list->items[at] != item;)
        at++;
    return at;
}

void pointer_list_remove(struct pointer_list *list, const void *item, pointer_compare *order)
{
    size_t at = pointer_list_find(list, item, order);

    if (at == list->count)
        return;
    list->count--;
    memmove(list->items + at, list->items + at + 1, (list->count - at) * sizeof(*list->items));
}

static int compare_indirect(const void *a, const void *b, void *compare)
{
    return (*(pointer_compare **)compare)(*(void *const *)a, *(void *const *)b);
}

void pointer_list_sort(struct pointer_list *list, pointer_compare *compare)
{
    if (list->count > 1)
        qsort_r(list->items, list->count, sizeof(*list->items), compare_indirect, (void *)&compare);
}

void pointer_list_done(struct pointer_list *list)
{
    free(list->items);
    *list = (struct pointer_list){0};
}
