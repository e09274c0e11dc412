#include "tests/integration/calls.h"
#include "tests/integration/storm.h"
#include "tests/test.h"

#define POOL "zone-b"

static char *create_request(const char *name, const char *snapshot)
{
    json_auto_t *request = call_create_request(&(struct create_call){
        .name = name, .pool = POOL, .size_bytes = 4LL << 20, .source_snapshot = snapshot});

    return json_dumps(request, 0);
}

static void assert_empties(void)
{
    harness_assert_pool_empties(POOL);
}

const struct storm_kind STORM_KIND = {
    .flags = (const char *const[]){NULL},
    .threads = 8,
    .rounds = 3,
    .request = create_request,
    .restores = true,
    .assert_empties = assert_empties,
};

TEST_CLEANUP(harness_clean_up)
