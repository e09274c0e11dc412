#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A growing array of borrowed pointers. */
struct pointer_list {
    void **items;
    size_t count;
    size_t room;
};

typedef int pointer_compare(const void *a, const void *b);

void pointer_list_add(struct pointer_list *list, void *item);
/* Where @item is or belongs in a sorted list: the first place that is not less. */
size_t pointer_list_locate(const struct pointer_list *list, const void *item,
                           pointer_compare *compare);
void pointer_list_insert(struct pointer_list *list, void *item, pointer_compare *compare);
void pointer_list_sort(struct pointer_list *list, pointer_compare *compare);
/* By address; false if it is not there. Keeps the order. */
bool pointer_list_remove(struct pointer_list *list, const void *item);
void pointer_list_remove_at(struct pointer_list *list, size_t at);
void pointer_list_done(struct pointer_list *list);
