#include "tests/integration/cephfs.h"
#include "tests/integration/storm.h"
#include "tests/test.h"

static char *request(const char *name, const char *snapshot)
{
    return cephfs_request(
        &(struct cephfs_wish){.name = name, .size_bytes = 4LL << 20, .source_snapshot = snapshot});
}

const struct storm_kind STORM_KIND = {
    .flags = CEPHFS_FLAGS,
    .threads = 4,
    .rounds = 3,
    .request = request,
    .assert_empties = cephfs_assert_empties,
};

TEST_CLEANUP(cephfs_clean_up)
