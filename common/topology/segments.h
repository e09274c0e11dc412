#pragma once

#include "common/base/strmap.h"

/* Segments as one text, "KEY=VALUE,KEY=VALUE": keys and values of labels have neither of these
 * signs. Pure; any thread. */

/* Caller frees. */
char *segments_format(const struct strmap *segments);
/* Adds to @segments; a key without a value has an empty one. */
void segments_parse(const char *text, struct strmap *segments);
