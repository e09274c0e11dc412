#include <stddef.h>

#include "tests/integration/cephfs.h"
#include "tests/integration/races.h"

static char *request(const char *name)
{
    return cephfs_request(&(struct cephfs_wish){.name = name, .size_bytes = 4LL << 20});
}

const struct race_kind RACE_KIND = {CEPHFS_FLAGS, request, cephfs_assert_empties, cephfs_clean_up};
