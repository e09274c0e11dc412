#pragma once

#include <stddef.h>

/* An array of borrowed pointers, built by array_add() and the functions here. */
struct pointer_list {
    void **items;
    size_t count;
};

typedef int pointer_compare(const void *a, const void *b);

/* Where @item is or belongs in a sorted list: the first place that is not less. */
size_t pointer_list_locate(const struct pointer_list *list, const void *item,
                           pointer_compare *compare);

/* A list is sorted by @order, or in no order if that is NULL. */
void pointer_list_insert(struct pointer_list *list, void *item, pointer_compare *order);
/* Finds by address; the number of items if it is not there. */
size_t pointer_list_find(const struct pointer_list *list, const void *item, pointer_compare *order);
/* By address, if it is there. Keeps the order. */
void pointer_list_remove(struct pointer_list *list, const void *item, pointer_compare *order);

void pointer_list_sort(struct pointer_list *list, pointer_compare *compare);
void pointer_list_done(struct pointer_list *list);
