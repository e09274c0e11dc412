#include "controller/begun.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/memory.h"
#include "common/ceph/on_disk.h"

#define OTHERS_MAX_S 60 /* a process that takes longer is considered dead */

void begun_write(const struct controller *controller, struct strmap *extra)
{
    _cleanup_free_ char *now = xasprintf("%lld", (long long)time(NULL));

    strmap_set(extra, JOURNAL_KEY_BEGUN, now);
    strmap_set(extra, JOURNAL_KEY_PROCESS, controller->process_id.chars);
}

bool begun_is_written(const struct strmap *extra)
{
    return strmap_has(extra, JOURNAL_KEY_BEGUN);
}

int begun_check_abandoned(const struct controller *controller, const struct strmap *extra,
                          const char *image, const char *pool, struct error *err)
{
    const char *process = strmap_get_or(extra, JOURNAL_KEY_PROCESS, "");
    long long begun = strtoll(strmap_get_or(extra, JOURNAL_KEY_BEGUN, "0"), NULL, 10);
    long long age = (long long)time(NULL) - begun;

    if (begun == 0 || age >= OTHERS_MAX_S || strcmp(process, controller->process_id.chars) == 0)
        return 0;
    return error_set(err, STATUS_ABORTED,
                     "another process of the driver began to make image '%s' in pool '%s' %lld s "
                     "ago; if it has died, a retry in %lld s takes over",
                     image, pool, age, OTHERS_MAX_S - age);
}
