#pragma once

/*
 * Finds what somebody meant who wrote a name that does not exist:
 *
 *   struct nearest nearest = NEAREST_INIT("domainlabel");
 *   for (...)
 *       nearest_offer(&nearest, table[i].name);
 *   if (nearest.name)
 *       error_hint(err, "did you mean '%s'?", nearest.name);
 *
 * A name is near when at most two letters have to be added, removed or replaced, upper and lower
 * case being the same, and when no more than half of the word changes ("-v" is no misspelt "-x").
 * The first of several equally near names stays.
 */
struct nearest {
    const char *word; /* borrowed, as is the name */
    const char *name; /* NULL while nothing near was offered */
    int distance;
};

#define NEAREST_INIT(misspelt_word)                                                                \
    {                                                                                              \
        .word = (misspelt_word)                                                                    \
    }

void nearest_offer(struct nearest *nearest, const char *name);
