#include <stddef.h>

#include "tests/integration/harness.h"
#include "tests/integration/races.h"

#define POOL "zone-b"

static char *request(const char *name)
{
    return harness_create_request(name, POOL, 4LL << 20);
}

static void assert_empties(void)
{
    harness_assert_pool_empties(POOL);
}

const struct race_kind RACE_KIND = {NULL, request, assert_empties, harness_clean_up};
