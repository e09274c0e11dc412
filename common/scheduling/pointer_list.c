#include "common/scheduling/pointer_list.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

static void reserve(struct pointer_list *list)
{
    if (list->count < list->room)
        return;
    list->room = list->room ? list->room * 2 : 4;
    list->items = xreallocarray(list->items, list->room, sizeof(*list->items));
}

void pointer_list_add(struct pointer_list *list, void *item)
{
    reserve(list);
    list->items[list->count++] = item;
}

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

void pointer_list_insert(struct pointer_list *list, void *item, pointer_compare *compare)
{
    size_t at = pointer_list_locate(list, item, compare);

    reserve(list);
    memmove(list->items + at + 1, list->items + at, (list->count - at) * sizeof(*list->items));
    list->items[at] = item;
    list->count++;
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

void pointer_list_remove_at(struct pointer_list *list, size_t at)
{
    list->count--;
    memmove(list->items + at, list->items + at + 1, (list->count - at) * sizeof(*list->items));
}

bool pointer_list_remove(struct pointer_list *list, const void *item)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == item) {
            pointer_list_remove_at(list, i);
            return true;
        }
    return false;
}

void pointer_list_done(struct pointer_list *list)
{
    free(list->items);
    *list = (struct pointer_list){0};
}
