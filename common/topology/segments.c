#include "common/topology/segments.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

#define SEGMENTS_LIMIT 8192

char *segments_format(const struct strmap *segments)
{
    _cleanup_text_ struct text text = TEXT_INIT(SEGMENTS_LIMIT);

    for (size_t i = 0; i < segments->count; i++)
        text_addf(&text, "%s%s=%s", i ? "," : "", segments->entries[i].key,
                  segments->entries[i].value);
    return xstrdup(text_chars(&text));
}

void segments_parse(const char *text, struct strmap *segments)
{
    const char *next = text;

    while (*next) {
        size_t length = strcspn(next, ",");
        size_t key_length = strcspn(next, "=,");
        _cleanup_free_ char *key = xstrndup(next, key_length);
        _cleanup_free_ char *value = key_length < length
                                         ? xstrndup(next + key_length + 1, length - key_length - 1)
                                         : xstrdup("");

        strmap_set(segments, key, value);
        next += length;
        next += *next == ',';
    }
}
