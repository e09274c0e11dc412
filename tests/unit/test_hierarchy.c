/* Volumes are pinned alike, in whichever order a class lists the levels of a pool. */
#include "common/base/memory.h"
#include "common/topology/hierarchy.h"
#include "common/topology/pinning.h"
#include "tests/unit/fixtures/placement_question.h"

#define LEVELS 4
#define DRIVER "rbd.csi.ceph.com"

static const char *const NAMES[LEVELS] = {"region", "zone", "row", "rack"}; /* outermost first */

/* Who knows the order of levels. */
enum knowledge { BY_LABELS, BY_TYPES, LABELS_BEFORE_TYPES, LABELS_LACK_ONE, NOBODY, KNOWLEDGES };

struct knower {
    struct topology_levels labels;
    struct string_list types;
    struct hierarchy hierarchy;
};

static void knower_init(struct knower *knower, enum knowledge knowledge)
{
    static const char *const labels[KNOWLEDGES] = {
        [BY_LABELS] = "x.io/region,x.io/zone,x.io/row,x.io/rack",
        [BY_TYPES] = "",
        [LABELS_BEFORE_TYPES] = "x.io/region,x.io/zone,x.io/row,x.io/rack",
        [LABELS_LACK_ONE] = "x.io/rack",
        [NOBODY] = "x.io/shelf",
    };
    _cleanup_error_ struct error err = {0};

    *knower = (struct knower){0};
    assert_int_equal(topology_levels_parse(DRIVER, labels[knowledge], &knower->labels, &err), 0);
    for (size_t i = 0; i < LEVELS && knowledge != BY_LABELS && knowledge != NOBODY; i++)
        string_list_add(&knower->types,
                        NAMES[knowledge == LABELS_BEFORE_TYPES ? LEVELS - 1 - i : i]);
    knower->hierarchy = (struct hierarchy){&knower->labels, &knower->types};
}

static void knower_done(struct knower *knower)
{
    topology_levels_done(&knower->labels);
    string_list_done(&knower->types);
}

/* The levels in that order, each with a value of its own, and a term of a node that is there. */
static void question_of(const size_t *order, size_t count, bool has_members,
                        struct question *question)
{
    _cleanup_text_ struct text pools = TEXT_INIT(512);
    _cleanup_text_ struct text term = TEXT_INIT(512);

    text_addf(&pools, "a:");
    for (size_t i = 0; i < count; i++)
        text_addf(&pools, "%s%s=v%zu", i ? "," : "", NAMES[order[i]], order[i]);
    for (size_t i = 0; i < LEVELS; i++) {
        text_addf(&term, "%s%s=v%zu", i ? "," : "", NAMES[i], i);
        if (has_members)
            text_addf(&term, ",+%s=v%zu", NAMES[i], i);
    }
    question_init(question, text_chars(&pools), NULL, text_chars(&term));
}

/* What must come out, said without any order. */
static void expect_segments(unsigned levels, bool is_member, bool is_ordered,
                            struct strmap *expected)
{
    for (size_t i = LEVELS; i-- > 0;) {
        _cleanup_free_ char *value = xasprintf("v%zu", i);
        _cleanup_free_ char *key =
            is_member ? membership_key(PREFIX, NAMES[i], value) : segment_key(PREFIX, NAMES[i]);

        if (!(levels & 1u << i))
            continue;
        strmap_set(expected, key, is_member ? "true" : value);
        if (is_member && is_ordered)
            return;
    }
}

static void check_order(const size_t *order, size_t count, enum knowledge knowledge,
                        bool has_members)
{
    _cleanup_(knower_done) struct knower knower;
    _cleanup_question_ struct question question;
    _cleanup_strmap_ struct strmap segments = {0};
    _cleanup_strmap_ struct strmap expected = {0};
    _cleanup_error_ struct error err = {0};
    unsigned levels = 0;

    knower_init(&knower, knowledge);
    question_of(order, count, has_members, &question);
    pool_entry_order(&question.entries.items[0], &knower.hierarchy);
    const struct decision decision = {.request = &question.request,
                                      .term = &question.requirement.requisite.items[0]};
    assert_int_equal(placement_pin(&decision, PREFIX, PINNING_AUTO, &segments, &err), 0);
    for (size_t i = 0; i < count; i++)
        levels |= 1u << order[i];
    assert_int_equal(question.entries.items[0].is_unordered, knowledge == NOBODY && count > 1);
    expect_segments(levels, has_members, knowledge != NOBODY, &expected);
    assert_int_equal(segments.count, expected.count);
    for (size_t i = 0; i < expected.count; i++)
        assert_string_equal(strmap_get_or(&segments, expected.entries[i].key, "(not pinned)"),
                            expected.entries[i].value);
}

/* All orders of all sets of levels that begin with these @count. */
static size_t check_orders(size_t *order, size_t count)
{
    size_t checked = 0;

    for (int knowledge = 0; count > 0 && knowledge < KNOWLEDGES; knowledge++)
        for (int has_members = 0; has_members < 2; has_members++)
            check_order(order, count, (enum knowledge)knowledge, has_members);
    for (size_t next = 0; next < LEVELS; next++) {
        bool is_there = false;

        for (size_t i = 0; i < count; i++)
            is_there |= order[i] == next;
        if (is_there)
            continue;
        order[count] = next;
        checked += check_orders(order, count + 1);
    }
    return checked + (count > 0);
}

TEST(every_order_of_the_levels_pins_alike)
{
    size_t order[LEVELS + 1] = {0};
    size_t checked = check_orders(order, 0);

    print_message("figure: %zu orders of up to %d levels pin alike, each with %d sources of the "
                  "hierarchy\n",
                  checked, LEVELS, KNOWLEDGES);
    assert_int_equal(checked, 4 + 12 + 24 + 24);
}

TEST(nothing_is_needed_to_order_a_single_level)
{
    _cleanup_question_ struct question question;

    question_init(&question, "a:shelf=1;b:", NULL, NULL);
    for (size_t i = 0; i < 2; i++) {
        pool_entry_order(&question.entries.items[i], &(struct hierarchy){0});
        assert_false(question.entries.items[i].is_unordered);
    }
}

TEST(what_was_unordered_is_not_when_the_order_gets_known)
{
    _cleanup_question_ struct question question;
    _cleanup_string_list_ struct string_list types = {0};
    struct pool_entry *entry;

    question_init(&question, "a:zone=z,rack=1", NULL, NULL);
    entry = &question.entries.items[0];
    pool_entry_order(entry, &(struct hierarchy){0});
    assert_true(entry->is_unordered);
    assert_string_equal(entry->segments[0].level, "rack"); /* by name */
    string_list_add(&types, "zone");
    string_list_add(&types, "rack");
    pool_entry_order(entry, &(struct hierarchy){.types = &types});
    assert_false(entry->is_unordered);
    assert_string_equal(entry->segments[0].level, "zone");
    assert_string_equal(entry->segments[0].value, "z");
}
