#include "common/topology/labels.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

const char *label_tail(const char *key)
{
    const char *slash = strchr(key, '/');

    return slash ? slash + 1 : key;
}

static bool is_label_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool inner = i > 0 && i + 1 < length && strchr("-_.", text[i]);

        if (!isalnum((unsigned char)text[i]) && !inner)
            return false;
    }
    return length <= LABEL_NAME_MAX;
}

int label_key_check(const char *key, struct error *err)
{
    const char *tail = label_tail(key);

    if (tail[0] == '\0' || !is_label_name(tail, strlen(tail)))
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is no label", key);
    return 0;
}

int label_value_check(const char *value, struct error *err)
{
    if (!is_label_name(value, strlen(value)))
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' is no label value", value);
    return 0;
}
