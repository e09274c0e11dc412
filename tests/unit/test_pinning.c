/* What a volume is pinned to once its pool is chosen. */
#include "common/topology/pinning.h"
#include "tests/unit/fixtures/placement_question.h"

#define P PREFIX "/"
#define MEMBER P "member."
#define STANDARD "topology.kubernetes.io/"

static const struct {
    const char *name;
    const char *pools; /* the first one is chosen */
    const char *terms; /* NULL: no requirement */
    enum pinning pinning;
    const char *segments; /* "key=value,..." sorted by key; NULL: refused */
} RULES[] = {
    /* unpinned */
    {"no requirement: unpinned", "a:zone=a", NULL, PINNING_AUTO, ""},
    {"no requirement: unpinned, whatever the class says", "a:zone=a", NULL, PINNING_MEMBERSHIP, ""},
    {"a pool for everywhere: unpinned", "a:", "zone=a,+zone=a", PINNING_AUTO, ""},
    {"a pool for everywhere is not refused under standard", "a:", "zone=a", PINNING_STANDARD, ""},
    {"none: unpinned", "a:zone=a", "zone=a,+zone=a", PINNING_NONE, ""},
    /* auto */
    {"auto: membership where the term carries it", "a:zone=a", "zone=a,+zone=a", PINNING_AUTO,
     MEMBER "zone.a=true"},
    {"auto: plain where it does not", "a:zone=a", "zone=a", PINNING_AUTO, P "zone=a"},
    {"auto: membership of another domain does not count", "a:zone=a", "zone=a,+zone=b",
     PINNING_AUTO, P "zone=a"},
    {"auto: membership of an outer level alone does not count", "a:region=r,zone=a",
     "region=r,zone=a,+region=r", PINNING_AUTO, P "region=r," P "zone=a"},
    {"auto: a member without plain segments", "a:zone=a", "+zone=a", PINNING_AUTO,
     MEMBER "zone.a=true"},
    /* membership */
    {"membership takes the deepest level only", "a:region=r,zone=a",
     "region=r,zone=a,+region=r,+zone=a", PINNING_AUTO, MEMBER "zone.a=true"},
    {"membership by the class where the term has no such key", "a:zone=a", "zone=a",
     PINNING_MEMBERSHIP, MEMBER "zone.a=true"},
    {"membership of three levels", "a:region=r,zone=a,rack=7", "region=r,zone=a,rack=7",
     PINNING_MEMBERSHIP, MEMBER "rack.7=true"},
    {"only levels that the pool constrains are pinned", "a:region=r",
     "region=r,zone=a,+region=r,+zone=a", PINNING_AUTO, MEMBER "region.r=true"},
    /* ambiguous values */
    {"a value that is elsewhere under other parents: all levels",
     "a:region=r1,zone=a;b:region=r2,zone=a", "region=r1,zone=a,+region=r1,+zone=a", PINNING_AUTO,
     MEMBER "region.r1=true," MEMBER "zone.a=true"},
    {"the same under membership by the class", "a:region=r1,zone=a;b:region=r2,zone=a",
     "region=r1,zone=a", PINNING_MEMBERSHIP, MEMBER "region.r1=true," MEMBER "zone.a=true"},
    {"a unique value beside others", "a:region=r1,zone=a;b:region=r2,zone=b",
     "region=r1,zone=a,+zone=a", PINNING_AUTO, MEMBER "zone.a=true"},
    {"the same place twice is not ambiguous", "a:region=r1,zone=a;b:region=r1,zone=a",
     "region=r1,zone=a,+zone=a", PINNING_AUTO, MEMBER "zone.a=true"},
    {"a pool that does not tell its parents is not ambiguous", "a:region=r1,zone=a;b:zone=a",
     "region=r1,zone=a,+zone=a", PINNING_AUTO, MEMBER "zone.a=true"},
    {"the same value on another level is not ambiguous", "a:region=r1,zone=x;b:region=x,zone=y",
     "region=r1,zone=x,+zone=x", PINNING_AUTO, MEMBER "zone.x=true"},
    {"a deeper pool under other parents is ambiguous",
     "a:region=r1,zone=a;b:region=r2,zone=a,rack=1", "region=r1,zone=a,+zone=a", PINNING_AUTO,
     MEMBER "region.r1=true," MEMBER "zone.a=true"},
    {"racks of one zone are told apart by themselves", "a:zone=a,rack=1;b:zone=a,rack=2",
     "zone=a,rack=1,+zone=a,+rack=1", PINNING_AUTO, MEMBER "rack.1=true"},
    {"racks of the same name in two zones are not", "a:zone=a,rack=1;b:zone=b,rack=1",
     "zone=a,rack=1,+zone=a,+rack=1", PINNING_AUTO, MEMBER "rack.1=true," MEMBER "zone.a=true"},
    /* plain */
    {"plain: all levels of the pool", "a:region=r,zone=a", "region=r,zone=a,+zone=a", PINNING_PLAIN,
     P "region=r," P "zone=a"},
    {"plain: not what only the term says", "a:zone=a", "rack=1,region=r,zone=a", PINNING_PLAIN,
     P "zone=a"},
    /* the term's own keys */
    {"a plain key is taken as the term has it", "a:zone=a", "other.io/zone=a", PINNING_AUTO,
     "other.io/zone=a"},
    {"a membership key is taken as the term has it", "a:zone=a",
     "other.io/zone=a,other.io/member.zone.a=true", PINNING_AUTO, "other.io/member.zone.a=true"},
    {"a membership key that is not true does not count", "a:zone=a",
     "zone=a,other.io/member.zone.a=false", PINNING_AUTO, P "zone=a"},
    /* standard */
    {"standard: zone and region", "a:region=r,zone=a", "region=r,zone=a", PINNING_STANDARD,
     STANDARD "region=r," STANDARD "zone=a"},
    {"standard: zone alone", "a:zone=a,rack=7", "zone=a,rack=7", PINNING_STANDARD,
     STANDARD "zone=a"},
    {"standard needs a zone or a region", "a:rack=7", "rack=7", PINNING_STANDARD, NULL},
};

static void check_rule(size_t i)
{
    _cleanup_question_ struct question question;
    _cleanup_strmap_ struct strmap segments = {0};
    _cleanup_error_ struct error err = {0};
    _cleanup_text_ struct text text = TEXT_INIT(4096);

    question_init(&question, RULES[i].pools, NULL, RULES[i].terms);
    const struct decision decision = {
        .request = &question.request,
        .chosen = 0,
        .term = RULES[i].terms ? &question.requirement.requisite.items[0] : NULL,
    };
    int result = placement_pin(&decision, PREFIX, RULES[i].pinning, &segments, &err);
    if (result != (RULES[i].segments ? 0 : -1))
        fail_msg("%s: %s", RULES[i].name, err.message ? err.message : "was taken");
    for (size_t j = 0; j < segments.count; j++)
        text_addf(&text, "%s%s=%s", j ? "," : "", segments.entries[j].key,
                  segments.entries[j].value);
    if (RULES[i].segments && strcmp(text_chars(&text), RULES[i].segments) != 0)
        fail_msg("%s: wanted '%s', got '%s'", RULES[i].name, RULES[i].segments, text_chars(&text));
    if (!RULES[i].segments)
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
}

TEST(every_rule_holds)
{
    for (size_t i = 0; i < ARRAY_LENGTH(RULES); i++)
        check_rule(i);
    printf("note: %zu rules of pinning\n", ARRAY_LENGTH(RULES));
}

TEST(modes_are_known_by_name)
{
    static const struct {
        const char *text;
        int pinning; /* -1: refused */
    } cases[] = {
        {"auto", PINNING_AUTO},
        {"membership", PINNING_MEMBERSHIP},
        {"plain", PINNING_PLAIN},
        {"standard", PINNING_STANDARD},
        {"none", PINNING_NONE},
        {NULL, PINNING_AUTO},
        {"", PINNING_AUTO},
        {"Plain", -1},
        {"both", -1},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        enum pinning pinning = PINNING_AUTO;
        int result = pinning_parse(cases[i].text, &pinning, &err);

        assert_int_equal(result, cases[i].pinning < 0 ? -1 : 0);
        if (result == 0)
            assert_int_equal(pinning, cases[i].pinning);
        else
            assert_non_null(
                strstr(err.message, "is none of auto, membership, plain, standard and none"));
    }
}
