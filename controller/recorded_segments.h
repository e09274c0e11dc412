#pragma once

#include <stdbool.h>

#include "common/base/strmap.h"

/* What a volume is pinned to, kept in its journal entry, so that a retry gives the same answer
 * whatever it asks for. */
void segments_write(const struct strmap *segments, struct strmap *extra);
bool segments_are_written(const struct strmap *extra);
void segments_read(const struct strmap *extra, struct strmap *segments);
