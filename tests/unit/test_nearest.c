#include "common/base/cleanup.h"
#include "common/base/nearest.h"
#include "tests/test.h"

static const char *nearest_of(const char *word, const char *const *names, size_t count)
{
    struct nearest nearest = NEAREST_INIT(word);

    for (size_t i = 0; i < count; i++)
        nearest_offer(&nearest, names[i]);
    return nearest.name;
}

TEST(misspelt_words_find_their_name)
{
    static const char *const names[] = {"domainSegments", "poolName", "dataPool",
                                        "clusterID",      "type",     "v"};
    static const struct {
        const char *word;
        const char *name; /* NULL: none is near */
    } cases[] = {
        {"domainSegment", "domainSegments"},   /* one missing */
        {"domainSegmentss", "domainSegments"}, /* one too many */
        {"domainSegmenst", "domainSegments"},  /* two swapped */
        {"dmainSegmnts", "domainSegments"},    /* two missing */
        {"domainsegment", "domainSegments"},   /* case does not count */
        {"POOLNAME", "poolName"},
        {"xpoolName", "poolName"},
        {"pooolNamee", "poolName"},
        {"datapol", "dataPool"},
        {"clusterIP", "clusterID"},
        {"tpye", "type"},
        {"typ", "type"},
        {"vv", "v"},
        {"dminSegmnts", NULL}, /* three missing */
        {"poolNameXYZ", NULL},
        {"te", "type"},
        {"t", NULL}, /* nothing is left of so short a word */
        {"x", NULL},
        {"", NULL},
        {"completely different", NULL},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *found = nearest_of(cases[i].word, names, ARRAY_LENGTH(names));

        if (!cases[i].name && found)
            fail_msg("'%s' found '%s'", cases[i].word, found);
        if (cases[i].name && (!found || strcmp(found, cases[i].name) != 0))
            fail_msg("'%s' found '%s'", cases[i].word, found ? found : "nothing");
    }
}

TEST(nearest_of_several_wins)
{
    static const char *const names[] = {"levels", "level", "leveled"};

    assert_string_equal(nearest_of("levell", names, 3), "levels");
    assert_string_equal(nearest_of("levl", names, 3), "level");
    assert_string_equal(nearest_of("levele", names, 3), "levels");
}

TEST(first_of_equally_near_names_stays)
{
    static const char *const names[] = {"zone-a", "zone-b"};

    assert_string_equal(nearest_of("zone-c", names, 2), "zone-a");
}

TEST(nothing_offered_is_nothing_found)
{
    assert_null(nearest_of("word", NULL, 0));
}

TEST(long_words_are_compared_quickly)
{
    static char word[100001];
    static char name[100001];

    memset(word, 'a', 100000);
    memset(name, 'a', 100000);
    name[50000] = 'b';
    name[99999] = 'b';
    const char *const names[] = {name};
    assert_ptr_equal(nearest_of(word, names, 1), name);
    name[0] = 'b';
    assert_null(nearest_of(word, names, 1));
}
