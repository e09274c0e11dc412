#include "common/topology/requirement.h"

#include "common/base/memory.h"

void topology_terms_add(struct topology_terms *terms, const struct strmap *term)
{
    strmap_merge(array_add(terms->items, terms->count), term);
}

void topology_terms_done(struct topology_terms *terms)
{
    for (size_t i = 0; i < terms->count; i++)
        strmap_done(&terms->items[i]);
    free(terms->items);
    *terms = (struct topology_terms){0};
}

bool topology_requirement_is_empty(const struct topology_requirement *requirement)
{
    return requirement->requisite.count == 0 && requirement->preferred.count == 0;
}

void topology_requirement_done(struct topology_requirement *requirement)
{
    topology_terms_done(&requirement->requisite);
    topology_terms_done(&requirement->preferred);
}
