#include "controller/fingerprint.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/class_parameters.h"

struct part {
    const char *key;
    const char *what;
    char *(*print)(const struct create_request *request);
};

static char *print_source(const struct create_request *request)
{
    static const char *const kinds[] = {
        [SOURCE_NONE] = "none", [SOURCE_SNAPSHOT] = "snapshot", [SOURCE_VOLUME] = "volume"};

    if (request->source_kind == SOURCE_NONE)
        return xstrdup(kinds[SOURCE_NONE]);
    return xasprintf("%s:%s", kinds[request->source_kind], request->source_handle);
}

static char *print_capabilities(const struct create_request *request)
{
    struct text text = TEXT_INIT(4096);

    for (size_t i = 0; i < request->capabilities.count; i++) {
        const struct volume_capability *item = &request->capabilities.items[i];

        text_addf(&text, "%s%s:%s", i ? "," : "",
                  item->type == ACCESS_TYPE_BLOCK ? "block" : "mount",
                  access_mode_name(item->mode));
    }
    return text_take(&text);
}

/* Parameters can be long, and only whether they are the same matters: a hash.
 * What the sidecars add is left out: it names the claim, not the class. */
static char *print_parameters(const struct create_request *request)
{
    uint64_t hash = HASH_START;

    for (size_t i = 0; i < request->parameters.count; i++) {
        const struct strmap_entry *item = &request->parameters.entries[i];

        if (text_has_prefix(item->key, PARAM_SIDECAR))
            continue;
        _cleanup_free_ char *line = xasprintf("%s=%s\n", item->key, item->value);
        hash = hash_text(hash, line);
    }
    return xasprintf("%016llx", (unsigned long long)hash);
}

static const struct part PARTS[] = {
    {JOURNAL_KEY_REQUEST_SOURCE, "content source", print_source},
    {JOURNAL_KEY_CAPABILITIES, "capabilities", print_capabilities},
    {JOURNAL_KEY_PARAMETERS, "parameters (hash)", print_parameters},
};

void fingerprint_write(const struct create_request *request, uint64_t size_bytes,
                       struct strmap *extra)
{
    _cleanup_free_ char *size = xasprintf("%llu", (unsigned long long)size_bytes);

    strmap_set(extra, JOURNAL_KEY_SIZE, size);
    for (size_t i = 0; i < ARRAY_LENGTH(PARTS); i++) {
        _cleanup_free_ char *value = PARTS[i].print(request);

        strmap_set(extra, PARTS[i].key, value);
    }
}

int fingerprint_check(const struct create_request *request, const struct strmap *extra,
                      struct error *err)
{
    for (size_t i = 0; i < ARRAY_LENGTH(PARTS); i++) {
        const char *recorded = strmap_get(extra, PARTS[i].key);
        _cleanup_free_ char *asked = PARTS[i].print(request);

        if (recorded && strcmp(recorded, asked) != 0)
            return error_set(err, STATUS_ALREADY_EXISTS,
                             "a volume of that name exists with %s %s; asked for is %s",
                             PARTS[i].what, recorded, asked);
    }
    return 0;
}

bool fingerprint_is_present(const struct strmap *extra)
{
    return strmap_has(extra, JOURNAL_KEY_SIZE);
}

uint64_t fingerprint_size(const struct strmap *extra)
{
    return strtoull(strmap_get_or(extra, JOURNAL_KEY_SIZE, "0"), NULL, 10);
}

const char *fingerprint_source_volume(const struct strmap *extra)
{
    static const char VOLUME[] = "volume:";
    const char *source = strmap_get_or(extra, JOURNAL_KEY_REQUEST_SOURCE, "");

    return text_has_prefix(source, VOLUME) ? source + strlen(VOLUME) : NULL;
}
