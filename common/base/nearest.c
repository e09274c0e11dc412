#include "common/base/nearest.h"

#include <stddef.h>
#include <string.h>

/* Two typing mistakes; more than that is another word. */
#define DISTANCE_LIMIT 2

static int fold_case(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter;
}

static int smaller_of(int a, int b)
{
    return a < b ? a : b;
}

/*
 * Number of letters to add, remove or replace that make @a into @b; budget + 1 for anything above
 * @budget. Equal letters cost nothing and one difference leaves three ways to go on, so with the
 * small budget this is a handful of passes over the words and needs no table of their size.
 */
static int distance_within(const char *a, const char *b, int budget)
{
    while (*a != '\0' && fold_case(*a) == fold_case(*b)) {
        a++;
        b++;
    }
    if (*a == '\0' && *b == '\0')
        return 0;
    if (budget == 0)
        return 1;
    int rest = budget; /* one more than what may follow the edit made here */
    if (*a != '\0' && *b != '\0')
        rest = smaller_of(rest, distance_within(a + 1, b + 1, budget - 1));
    if (*a != '\0')
        rest = smaller_of(rest, distance_within(a + 1, b, budget - 1));
    if (*b != '\0')
        rest = smaller_of(rest, distance_within(a, b + 1, budget - 1));
    return 1 + rest;
}

void nearest_offer(struct nearest *nearest, const char *name)
{
    int distance = distance_within(nearest->word, name, DISTANCE_LIMIT);
    size_t word_length = strlen(nearest->word);
    size_t name_length = strlen(name);
    size_t longer = word_length > name_length ? word_length : name_length;

    if (distance > DISTANCE_LIMIT || 2 * (size_t)distance > longer)
        return;
    if (nearest->name && nearest->distance <= distance)
        return;
    nearest->name = name;
    nearest->distance = distance;
}
