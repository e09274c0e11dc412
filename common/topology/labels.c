#include "common/topology/labels.h"

#include <stdbool.h>
#include <string.h>

/* How much of a wrong key or value a message quotes. */
#define QUOTED_MAX 128

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alphanumeric(char c)
{
    return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

/* What names and values have in common; not for empty ones. */
static int check_word(const char *word, const char *what, struct error *err)
{
    size_t length = strlen(word);

    if (length > LABEL_NAME_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "%s has %zu bytes, more than %d", what,
                         length, LABEL_NAME_MAX);
    for (size_t i = 0; i < length; i++)
        if (!is_alphanumeric(word[i]) && !strchr("-_.", word[i]))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "%s has other characters than letters, digits, '-', '_' and '.'",
                             what);
    if (!is_alphanumeric(word[0]) || !is_alphanumeric(word[length - 1]))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "%s does not start and end with a letter or digit", what);
    return 0;
}

/* A DNS-1123 subdomain: lower-case letters, digits and inner dashes between single dots. Its parts
 * may be longer than 63 bytes. */
static int check_prefix(const char *prefix, size_t length, struct error *err)
{
    if (length == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "nothing before the slash");
    if (length > LABEL_PREFIX_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT, "prefix has %zu bytes, more than %d", length,
                         LABEL_PREFIX_MAX);
    for (size_t i = 0; i < length; i++) {
        if (is_lower_or_digit(prefix[i]))
            continue;
        if (prefix[i] != '-' && prefix[i] != '.')
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "prefix has other characters than lower-case letters, digits, '-' "
                             "and '.'");
        if (i == 0 || i + 1 == length || prefix[i - 1] == '.' || prefix[i + 1] == '.')
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "a part of the prefix does not start and end with a lower-case "
                             "letter or digit");
    }
    return 0;
}

int label_key_check(const char *key, struct error *err)
{
    const char *slash = strchr(key, '/');
    const char *name = label_tail(key);
    int result = 0;

    if (slash && strchr(name, '/'))
        result = error_set(err, STATUS_INVALID_ARGUMENT, "more than one slash");
    else if (slash)
        result = check_prefix(key, (size_t)(slash - key), err);
    if (result == 0 && name[0] == '\0')
        result = error_set(err, STATUS_INVALID_ARGUMENT, "%s",
                           slash ? "nothing behind the slash" : "is empty");
    else if (result == 0)
        result = check_word(name, "name", err);
    return result < 0 ? error_wrap(err, "label key '%.*s'", QUOTED_MAX, key) : 0;
}

int label_value_check(const char *value, struct error *err)
{
    if (value[0] != '\0' && check_word(value, "it", err) < 0)
        return error_wrap(err, "label value '%.*s'", QUOTED_MAX, value);
    return 0;
}

const char *label_tail(const char *key)
{
    const char *slash = strchr(key, '/');

    return slash ? slash + 1 : key;
}
