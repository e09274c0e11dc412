#include "controller/recorded_segments.h"

#include "common/base/memory.h"
#include "common/ceph/on_disk.h"
#include "common/topology/segments.h"

void segments_write(const struct strmap *segments, struct strmap *extra)
{
    _cleanup_free_ char *text = segments_format(segments);

    strmap_set(extra, JOURNAL_KEY_SEGMENTS, text);
}

bool segments_are_written(const struct strmap *extra)
{
    return strmap_has(extra, JOURNAL_KEY_SEGMENTS);
}

void segments_read(const struct strmap *extra, struct strmap *segments)
{
    segments_parse(strmap_get_or(extra, JOURNAL_KEY_SEGMENTS, ""), segments);
}
