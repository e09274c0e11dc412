#include <assert.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/topology/domain.h"
#include "common/topology/labels.h"
#include "common/topology/pool_entry.h"
#include "tests/fuzz/bytes.h"

/* topologyConstrainedPools, as text or built; what is taken keeps the promises of pool_entry.h. */

static const char *const WORDS[] = {"poolName",       "dataPool",    "clusterID", "fsName",
                                    "domainSegments", "domainLabel", "value",     "poolname",
                                    "VALUE",          "zone",        "Zone",      "region",
                                    "zone-a",         "x/zone",      ""};
static const struct fuzz_words ALL_WORDS = {WORDS, ARRAY_LENGTH(WORDS)};

static void check_entry(const struct pool_entry *entry)
{
    _cleanup_free_ char *place = pool_entry_place(entry);

    assert(entry->pool && entry->pool[0] && entry->origin && place[0]);
    assert(entry->count <= TOPOLOGY_LEVELS_MAX);
    assert(!entry->data_pool || entry->data_pool[0]);
    assert(!entry->cluster_id || entry->cluster_id[0]);
    for (size_t i = 0; i < entry->count; i++) {
        _cleanup_error_ struct error err = {0};

        assert(label_key_check(entry->segments[i].level, &err) == 0);
        assert(label_value_check(entry->segments[i].value, &err) == 0);
        assert(entry->segments[i].value[0] && !strchr(entry->segments[i].level, '/'));
        for (size_t j = 0; j < i; j++)
            assert(strcasecmp(entry->segments[i].level, entry->segments[j].level) != 0);
    }
}

/* An input that begins as JSON does is taken as it is, with its line breaks. */
static char *make_text(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};

    if (size > 0 && (data[0] == '[' || data[0] == '{'))
        return xstrndup((const char *)data, size);
    json_auto_t *value = fuzz_json(&bytes, &ALL_WORDS);
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    return text ? text : xstrdup("");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = make_text(data, size);
    _cleanup_pool_entries_ struct pool_entries entries = {0};
    _cleanup_error_ struct error err = {0};

    if (pool_entries_parse(text, &entries, &err) < 0) {
        assert(err.status == STATUS_INVALID_ARGUMENT && err.message && !entries.items);
        return 0;
    }
    assert(entries.count > 0 && entries.count <= POOL_ENTRIES_MAX);
    for (size_t i = 0; i < entries.count; i++)
        check_entry(&entries.items[i]);
    return 0;
}
