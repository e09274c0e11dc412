#include "node/read_affinity.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/topology/labels.h"

#define OPTIONS_BYTES_MAX 4096 /* the kernel takes a page */

/* "topology.kubernetes.io/zone" names a zone. CRUSH has no dots in names. */
static void add_bucket(const char *label, const char *value, struct strmap *seen,
                       struct text *location)
{
    const char *tail = label_tail(label);
    const char *type = strcmp(tail, "hostname") == 0 ? "host" : tail;
    _cleanup_free_ char *copy = xstrdup(value);
    char *name = text_trim(copy);

    for (char *c = name; *c; c++)
        if (*c == '.')
            *c = '-';
    /* a comma or bar would be read as the next option or bucket */
    if (name[0] == '\0' || strpbrk(name, ",|:") || strpbrk(type, ",|:") || strmap_has(seen, type))
        return;
    strmap_set(seen, type, name);
    text_addf(location, "%s%s:%s", location->length ? "|" : "", type, name);
}

char *read_affinity_format(const struct string_list *wanted, const struct strmap *labels)
{
    _cleanup_text_ struct text location = TEXT_INIT(OPTIONS_BYTES_MAX);
    _cleanup_strmap_ struct strmap seen = {0};

    for (size_t i = 0; i < wanted->count; i++) {
        _cleanup_free_ char *copy = xstrdup(wanted->items[i]);
        const char *label = text_trim(copy);
        const char *value = strmap_get(labels, label);

        if (value)
            add_bucket(label, value, &seen, &location);
    }
    if (location.length == 0 || location.truncated)
        return NULL;
    return xasprintf("read_from_replica=localize,crush_location=%s", text_chars(&location));
}

char *read_affinity_options(const struct read_affinity *affinity,
                            const struct read_affinity_config *cluster, struct call *call)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_string_list_ struct string_list flags = {0};
    const struct string_list *wanted = &cluster->crush_location_labels;

    if (!affinity || !cluster->enabled)
        return NULL;
    if (wanted->count == 0 && affinity->is_enabled) {
        _cleanup_free_ char *copy = xstrdup(affinity->labels);
        char *rest = NULL;

        for (char *label = strtok_r(copy, ",", &rest); label; label = strtok_r(NULL, ",", &rest))
            string_list_add(&flags, label);
        wanted = &flags;
    }
    if (wanted->count == 0)
        return NULL;
    if (node_labels_get(affinity->source, call, &labels, &err) < 0) {
        log_warn(call, "reading from any replica: %s", err.message);
        return NULL;
    }
    return read_affinity_format(wanted, &labels);
}
