#include "common/base/condition.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

enum condition_news condition_note(struct condition *condition, const char *fault)
{
    enum condition_news news = CONDITION_UNCHANGED;

    if (fault && (!condition->fault || strcmp(condition->fault, fault) != 0))
        news = CONDITION_FAULT;
    if (!fault && condition->fault)
        news = CONDITION_MENDED;
    if (condition->since == 0 || !fault != !condition->fault)
        condition->since = time(NULL);
    if (news != CONDITION_UNCHANGED) {
        free(condition->fault);
        condition->fault = fault ? xstrdup(fault) : NULL;
    }
    return news;
}

bool condition_is_healthy(const struct condition *condition, char **message, time_t *since)
{
    *message = xstrdup(condition->fault ? condition->fault : "");
    *since = condition->since;
    return !condition->fault;
}

void condition_done(struct condition *condition)
{
    free(condition->fault);
    *condition = (struct condition){0};
}
