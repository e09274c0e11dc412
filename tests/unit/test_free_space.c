/* The arithmetic of room: pools one by one, and together. */

#include "common/base/memory.h"
#include "common/topology/free_space.h"
#include "tests/test.h"

/* --- one pool --- */

/* stored, max_avail, quota, objects, quota of objects, full flag; promised, in flight */
static const struct {
    const char *name;
    uint64_t stored, left, quota, objects, quota_objects;
    bool is_full;
    uint64_t overcommit; /* thousandths */
    uint64_t promised, in_flight;
    uint64_t bytes;
    const char *remark;
} ROOMS[] = {
    {"what can be written is the room", 10, 100, 0, 0, 0, false, 0, 0, 0, 100, ""},
    {"nothing can be written", 10, 0, 0, 0, 0, false, 0, 0, 0, 0, "full"},
    {"a quota bounds it", 10, 100, 50, 0, 0, false, 0, 0, 0, 40, ""},
    {"a quota beyond what fits does not", 10, 100, 500, 0, 0, false, 0, 0, 0, 100, ""},
    {"a quota that is reached", 50, 100, 50, 0, 0, false, 0, 0, 0, 0, "quota used up"},
    {"a quota that is exceeded", 51, 100, 50, 0, 0, false, 0, 0, 0, 0, "quota used up"},
    {"a quota of objects not reached", 10, 100, 0, 4, 5, false, 0, 0, 0, 100, ""},
    {"a quota of objects reached", 10, 100, 0, 5, 5, false, 0, 0, 0, 0, "quota of objects used up"},
    {"a quota of objects exceeded", 10, 100, 0, 6, 5, false, 0, 0, 0, 0,
     "quota of objects used up"},
    {"objects without a quota do not matter", 10, 100, 0, 1000000, 0, false, 0, 0, 0, 100, ""},
    {"the full flag", 10, 100, 0, 0, 0, true, 0, 0, 0, 0, "marked full"},
    {"quota is the better reason than the flag", 50, 100, 50, 0, 0, true, 0, 0, 0, 0,
     "quota used up"},
    {"promises do not count without overcommit", 10, 100, 0, 0, 0, false, 0, 5000, 9, 100, ""},
    {"overcommit 1: all that fits, less what is promised", 10, 90, 0, 0, 0, false, 1000, 30, 0, 70,
     ""},
    {"in flight counts", 10, 90, 0, 0, 0, false, 1000, 30, 20, 50, ""},
    {"overcommit 1.5", 10, 90, 0, 0, 0, false, 1500, 30, 0, 120, ""},
    {"overcommit 0.5 keeps half back", 10, 90, 0, 0, 0, false, 500, 0, 0, 50, ""},
    {"overcommit rounds down", 0, 999, 0, 0, 0, false, 1, 0, 0, 0, "all promised to volumes"},
    {"all is promised", 10, 90, 0, 0, 0, false, 1000, 100, 0, 0, "all promised to volumes"},
    {"more than all is promised", 10, 90, 0, 0, 0, false, 1000, 200, 0, 0,
     "all promised to volumes"},
    {"in flight alone may take all", 10, 90, 0, 0, 0, false, 1000, 0, 100, 0,
     "all promised to volumes"},
    {"overcommit of a quota", 10, 1000, 50, 0, 0, false, 2000, 0, 0, 100, ""},
    {"overcommit does not make room in a full pool", 100, 0, 0, 0, 0, false, 9000, 0, 0, 0, "full"},
    {"overcommit does not make room behind the full flag", 1, 9, 0, 0, 0, true, 9000, 0, 0, 0,
     "marked full"},
    {"a product beyond 64 bits", UINT64_C(1) << 62, UINT64_C(1) << 62, 0, 0, 0, false, 1000000, 0,
     0, INT64_MAX, ""},
    {"promises beyond 64 bits", 10, 90, 0, 0, 0, false, 1000, UINT64_MAX, UINT64_MAX, 0,
     "all promised to volumes"},
};

TEST(every_room_is_as_the_rule_says)
{
    for (size_t i = 0; i < ARRAY_LENGTH(ROOMS); i++) {
        const struct pool_usage usage = {.stored_bytes = ROOMS[i].stored,
                                         .max_avail_bytes = ROOMS[i].left,
                                         .quota_bytes = ROOMS[i].quota,
                                         .objects = ROOMS[i].objects,
                                         .quota_objects = ROOMS[i].quota_objects,
                                         .has_figures = true,
                                         .is_full = ROOMS[i].is_full};
        const struct pool_provision provision = {
            .bytes = ROOMS[i].promised, .in_flight = ROOMS[i].in_flight, .is_known = true};
        struct free_space room = free_space_of_pool(&usage, &provision, ROOMS[i].overcommit);

        if (!room.is_known || room.bytes != ROOMS[i].bytes ||
            strcmp(room.remark, ROOMS[i].remark) != 0)
            fail_msg("%s: got %llu (%s)", ROOMS[i].name, (unsigned long long)room.bytes,
                     room.remark);
    }
    printf("note: %zu rules of room\n", ARRAY_LENGTH(ROOMS));
}

TEST(what_is_not_known_is_said)
{
    const struct pool_usage fresh = {.name = NULL};
    const struct pool_usage usage = {.max_avail_bytes = 100, .has_figures = true};
    const struct pool_usage full = {.has_figures = true};
    const struct pool_provision uncounted = {.bytes = 5};

    assert_false(free_space_of_pool(&fresh, NULL, 0).is_known);
    assert_string_equal(free_space_of_pool(&fresh, NULL, 0).remark, "no figures yet");
    assert_false(free_space_of_pool(&usage, &uncounted, 1000).is_known);
    assert_string_equal(free_space_of_pool(&usage, NULL, 1000).remark, "volumes not counted yet");
    assert_true(free_space_of_pool(&usage, NULL, 0).is_known);
    /* full is full, whatever is promised */
    assert_true(free_space_of_pool(&full, &uncounted, 1000).is_known);
}

/* --- overcommit --- */

TEST(overcommit_is_a_number_with_three_decimals)
{
    static const struct {
        const char *text;
        uint64_t value; /* 0: refused */
    } cases[] = {
        {"1", 1000},   {"1.5", 1500},     {"1.25", 1250},
        {"0.001", 1},  {"1000", 1000000}, {"1000.0", 1000000},
        {"007", 7000}, {"2.000", 2000},   {"", 0},
        {"0", 0},      {"0.000", 0},      {"0.0001", 0},
        {"1.0000", 0}, {"1000.001", 0},   {"1001", 0},
        {"-1", 0},     {"+1", 0},         {".5", 0},
        {"1.", 0},     {"1,5", 0},        {"1.5x", 0},
        {" 1", 0},     {"1e3", 0},        {"99999999999999999999", 0},
        {"inf", 0},    {"150%", 0},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        uint64_t value = 0;
        int result = overcommit_parse(cases[i].text, &value, &err);

        if (result != (cases[i].value ? 0 : -1) || value != cases[i].value)
            fail_msg("'%s': got %llu", cases[i].text, (unsigned long long)value);
        if (result < 0)
            assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    }
}

/* --- several pools --- */

#define ITEM(room_bytes, root_name)                                                                \
    {                                                                                              \
        {.bytes = (room_bytes), .is_known = true, .remark = ""}, root_name, NULL                   \
    }

static const struct {
    const char *name;
    struct free_space_item items[4];
    size_t count;
    uint64_t total, largest;
} SUMS[] = {
    {"none", {{{0}, NULL, NULL}}, 0, 0, 0},
    {"one", {ITEM(5, "default")}, 1, 5, 5},
    {"different roots add up", {ITEM(5, "a"), ITEM(7, "b")}, 2, 12, 7},
    {"one root is shared: the largest counts", {ITEM(5, "a"), ITEM(7, "a")}, 2, 7, 7},
    {"one root, equal rooms", {ITEM(5, "a"), ITEM(5, "a"), ITEM(5, "a")}, 3, 5, 5},
    {"the largest first", {ITEM(7, "a"), ITEM(5, "a"), ITEM(3, "b")}, 3, 10, 7},
    {"device classes are roots of their own", {ITEM(5, "a~ssd"), ITEM(7, "a~hdd")}, 2, 12, 7},
    {"unknown roots share with nobody", {ITEM(5, NULL), ITEM(5, NULL), ITEM(5, "a")}, 3, 15, 5},
    {"no room adds nothing", {ITEM(0, "a"), ITEM(5, "b")}, 2, 5, 5},
    {"unknown room adds nothing", {{{0}, "a", NULL}, ITEM(5, "b")}, 2, 5, 5},
    {"two shared roots", {ITEM(1, "a"), ITEM(2, "b"), ITEM(3, "a"), ITEM(4, "b")}, 4, 7, 4},
    {"roots of two clusters are different roots",
     {{{5, true, ""}, "a", "c1"}, {{7, true, ""}, "a", "c2"}, {{3, true, ""}, "a", "c1"}},
     3,
     12,
     7},
    {"a sum beyond CSI's numbers", {ITEM(INT64_MAX, "a"), ITEM(1, "b")}, 2, INT64_MAX, INT64_MAX},
};

TEST(sums_count_shared_roots_once)
{
    for (size_t i = 0; i < ARRAY_LENGTH(SUMS); i++) {
        uint64_t total = 0;
        uint64_t largest = 0;

        free_space_sum(SUMS[i].items, SUMS[i].count, &total, &largest);
        if (total != SUMS[i].total || largest != SUMS[i].largest)
            fail_msg("%s: got %llu, %llu", SUMS[i].name, (unsigned long long)total,
                     (unsigned long long)largest);
    }
}
