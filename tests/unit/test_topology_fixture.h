#pragma once

#include "common/base/json.h"
#include "common/base/memory.h"
#include "common/base/strmap.h"
#include "common/base/text.h"
#include "tests/test.h"

/*
 * For the tables of the topology tests. Labels are written "zone=a,rack=r1" (an empty value is
 * "zone="), JSON with single quotes, texts that must appear in a message with '|' between them.
 */

/* Counted by tests/run's readers: how many rules a table holds. */
static inline void report_cases(const char *table, size_t count)
{
    printf("figure: %s: %zu cases\n", table, count);
}

static inline struct strmap make_labels(const char *text)
{
    struct strmap labels = {0};
    _cleanup_free_ char *copy = xstrdup(text);
    char *rest = copy;

    while (rest && rest[0] != '\0') {
        char *pair = strsep(&rest, ",");
        const char *key = strsep(&pair, "=");

        strmap_set(&labels, key, pair ? pair : "");
    }
    return labels;
}

static inline json_t *make_json(const char *text)
{
    _cleanup_free_ char *copy = xstrdup(text);
    json_error_t reason;

    for (char *quote = strchr(copy, '\''); quote; quote = strchr(quote, '\''))
        *quote = '"';
    json_t *value = json_loads(copy, JSON_DECODE_ANY, &reason);
    if (!value)
        fail_msg("%s: %s", text, reason.text);
    return value;
}

static inline void assert_mentions(const char *rule, const char *message, const char *parts)
{
    _cleanup_free_ char *copy = xstrdup(parts);
    char *rest = copy;

    while (rest) {
        const char *part = strsep(&rest, "|");

        if (!strstr(message, part))
            fail_msg("%s: '%s' does not say '%s'", rule, message, part);
    }
}
