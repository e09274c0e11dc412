/* The takeover map: any bytes as the file, applied to a node of three levels. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/encoding/json.h"
#include "common/topology/labels.h"
#include "common/topology/takeover.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#define NODE_LEVELS "x/region,x/zone,x/rack"

/* What is added can be a label of the node, and the home stays as it was. */
static void check_segments(const struct strmap *home, const struct strmap *segments)
{
    _cleanup_strmap_ struct strmap seen = {0};
    _cleanup_error_ struct error err = {0};

    for (size_t i = 0; i < home->count; i++)
        assert(strcmp(strmap_get_or(segments, home->entries[i].key, ""), home->entries[i].value) ==
               0);
    for (size_t i = 0; i < segments->count; i++) {
        assert(label_key_check(segments->entries[i].key, &err) == 0);
        assert(membership_key_claim(&seen, segments->entries[i].key, &err) == 0);
    }
}

static void apply(const struct takeover_map *map)
{
    _cleanup_topology_levels_ struct topology_levels levels = {0};
    _cleanup_strmap_ struct strmap labels = {0};
    _cleanup_strmap_ struct strmap home = {0};
    _cleanup_strmap_ struct strmap segments = {0};
    _cleanup_string_list_ struct string_list notes = {0};
    _cleanup_error_ struct error err = {0};

    assert(topology_levels_parse("rbd.csi.ceph.com", NODE_LEVELS, &levels, &err) == 0);
    strmap_set(&labels, "x/region", "r1");
    strmap_set(&labels, "x/zone", "zone-b");
    strmap_set(&labels, "x/rack", "b");
    topology_home(&levels, &labels, &home, &notes);
    assert(notes.count == 0);
    strmap_merge(&segments, &home);
    takeover_apply(map, &levels, &labels, &segments, &notes);
    check_segments(&home, &segments);
    assert(segments.count - home.count + notes.count <= map->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    _cleanup_takeover_map_ struct takeover_map map = {0};
    _cleanup_error_ struct error err = {0};
    json_auto_t *value = NULL;

    if (json_load_text((const char *)bytes, length, "map", &value, &err) < 0 ||
        takeover_map_decode(value, &map, &err) < 0) {
        assert(err.status == STATUS_INVALID_ARGUMENT && map.count == 0);
        return 0;
    }
    for (size_t i = 0; i < map.count; i++) {
        const struct takeover_entry *entry = &map.entries[i];

        assert(takeover_find(&map, entry->level, entry->value) == entry);
        assert(entry->to_all || entry->targets.count > 0);
    }
    apply(&map);
    return 0;
}
