/* Segments as text, and what a node serves of those that a volume is pinned to. */
#include "common/base/memory.h"
#include "common/topology/segments.h"
#include "tests/test.h"

#define PREFIX "topology.rbd.csi.ceph.com/"
#define LONG "a-very-long-name-of-a-zone-that-does-not-fit-into-a-label-key"

/* "zone=a,+zone=b": plain segments and membership keys; others as they are, with their slash. */
static void add_segments(struct strmap *segments, const char *text)
{
    _cleanup_free_ char *copy = xstrdup(text);
    char *rest = NULL;

    for (char *part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(part, '=');

        *value++ = '\0';
        _cleanup_free_ char *key =
            part[0] == '+'      ? membership_key("topology.rbd.csi.ceph.com", part + 1, value)
            : strchr(part, '/') ? xstrdup(part)
                                : xasprintf(PREFIX "%s", part);
        strmap_set(segments, key, part[0] == '+' ? "true" : value);
    }
}

static const struct {
    const char *name;
    const char *pinned;
    const char *served;
    bool knows_members;
    const char *unserved; /* a part of the key; NULL: none */
} RULES[] = {
    {"unpinned", "", "zone=a,+zone=a", true, NULL},
    {"home", "+zone=a", "zone=a,+zone=a", true, NULL},
    {"home in plain keys", "zone=a", "zone=a,+zone=a", true, NULL},
    {"another zone", "+zone=a", "zone=b,+zone=b", true, "member.zone.a"},
    {"another zone in plain keys", "zone=a", "zone=b,+zone=b", true, "/zone"},
    {"taken over", "+zone=a", "zone=b,+zone=b,+zone=a", true, NULL},
    {"a takeover does not serve plain keys", "zone=a", "zone=b,+zone=b,+zone=a", true, "/zone"},
    {"all keys count", "+region=r,+zone=a", "region=r,zone=b,+region=r,+zone=b", true,
     "member.zone.a"},
    {"the first that is not served is told", "+region=q,+zone=a",
     "region=r,zone=b,+region=r,+zone=b", true, "member.region.q"},
    {"a membership key that is not true", "+zone=a", "zone=b," PREFIX "member.zone.a=false", true,
     "member.zone.a"},
    {"a level without a domain here", "+rack=7", "zone=a,+zone=a", true, NULL},
    {"a level that this node lacks", "+zone=a,rack=7", "zone=a,+zone=a", true, NULL},
    {"a node without any domain", "+zone=a", "", true, NULL},
    {"members are not known", "+zone=a", "zone=b,+zone=b", false, NULL},
    {"plain keys are, all the same", "zone=a", "zone=b,+zone=b", false, "/zone"},
    {"keys of others are left to kubelet", "topology.kubernetes.io/zone=a", "zone=b,+zone=b", true,
     NULL},
    {"a prefix that only begins alike", "topology.rbd.csi.ceph.com.x/zone=a", "zone=b", true, NULL},
    {"a level that begins alike", "zones=a", "zone=b,+zone=b", true, NULL},
    {"long names", "+zone=" LONG "-1", "zone=" LONG "-1,+zone=" LONG "-1", true, NULL},
    {"long names that begin alike", "+zone=" LONG "-1", "zone=" LONG "-2,+zone=" LONG "-2", true,
     "member.zone."},
};

TEST(every_rule_holds)
{
    _cleanup_topology_levels_ struct topology_levels levels = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(
        topology_levels_parse("rbd.csi.ceph.com", "k/region,k/zone,k/rack", &levels, &err), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(RULES); i++) {
        _cleanup_strmap_ struct strmap pinned = {0};
        _cleanup_strmap_ struct strmap served = {0};

        add_segments(&pinned, RULES[i].pinned);
        add_segments(&served, RULES[i].served);
        const struct strmap_entry *unserved =
            segments_find_unserved(&pinned, &levels, &served, RULES[i].knows_members);
        const char *key = unserved ? unserved->key : "";
        if (RULES[i].unserved ? !strstr(key, RULES[i].unserved) : key[0] != '\0')
            fail_msg("%s: '%s'", RULES[i].name, key);
    }
    printf("note: %zu rules of places that nodes serve\n", ARRAY_LENGTH(RULES));
}

TEST(text_is_read_as_it_was_written)
{
    static const char *const texts[] = {"", "a=1", "a=1,b=2", "a=1,b=,c=3"};

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        _cleanup_strmap_ struct strmap segments = {0};

        segments_parse(texts[i], &segments);
        assert_int_equal(segments.count, i);
        _cleanup_free_ char *text = segments_format(&segments);
        assert_string_equal(text, texts[i]);
    }
}

/* What somebody has written into a PersistentVolume. */
TEST(anything_can_be_read)
{
    static const char *const texts[] = {",", "=", "a", ",,=,", "a=b=c", "=,=x", "\x01=\x7f"};

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        _cleanup_topology_levels_ struct topology_levels levels = {0};
        _cleanup_strmap_ struct strmap segments = {0};
        _cleanup_strmap_ struct strmap served = {0};
        _cleanup_error_ struct error err = {0};

        assert_int_equal(topology_levels_parse("rbd.csi.ceph.com", "k/zone", &levels, &err), 0);
        segments_parse(texts[i], &segments);
        assert_null(segments_find_unserved(&segments, &levels, &served, true));
    }
}
