/*
 * Volumes for which no pod has chosen a node (immediateTopology), and places that no pool serves
 * (unservedDomains): the rules one by one, then random worlds beside an oracle.
 */
#include <math.h>

#include "common/base/memory.h"
#include "common/topology/pinning.h"
#include "tests/unit/fixtures/placement_question.h"

#define P PREFIX "/"
#define MEMBER P "member."

/* --- the rules --- */

static const struct rule {
    const char *name;
    const char *pools;
    const char *preferred;
    const char *requisite;
    enum immediate_topology immediate;
    bool may_be_anywhere;
    const char *chosen;   /* NULL: none */
    const char *segments; /* "key=value,...", sorted; "": unpinned */
} RULES[] = {
    /* with csi-provisioner's full requirement */
    {"first: the first term binds", "a/9/5:zone=a;b/9/1:zone=b", "zone=a|zone=b", "zone=a|zone=b",
     IMMEDIATE_FIRST, false, "a", P "zone=a"},
    {"spread: the policy decides among all terms", "a/9/5:zone=a;b/9/1:zone=b", "zone=a|zone=b",
     "zone=a|zone=b", IMMEDIATE_SPREAD, false, "b", ""},
    {"pin: likewise, and the volume is pinned to the pool's place", "a/9/5:zone=a;b/9/1:zone=b",
     "zone=a|zone=b", "zone=a|zone=b", IMMEDIATE_PIN, false, "b", P "zone=b"},
    {"pin: by membership where the term of the place has that key", "a/9/5:zone=a;b/9/1:zone=b",
     NULL, "zone=a|zone=b,+zone=b", IMMEDIATE_PIN, false, "b", MEMBER "zone.b=true"},
    {"pin: the first term that serves the pool counts", "b/9/1:zone=b",
     "zone=a|other.io/zone=b|zone=b", NULL, IMMEDIATE_PIN, false, "b", "other.io/zone=b"},
    {"spread: requisite counts beside preferred", "a/9/5:zone=a;b/9/1:zone=b", "zone=a", "zone=b",
     IMMEDIATE_SPREAD, false, "b", ""},
    {"spread: a place that is not asked for stays out", "a/9/5:zone=a;b/9/1:zone=b;c/9/0:zone=c",
     NULL, "zone=a|zone=b", IMMEDIATE_SPREAD, false, "b", ""},
    {"spread: full pools are skipped", "a/9/5:zone=a;b/0/1:zone=b", NULL, "zone=a|zone=b",
     IMMEDIATE_SPREAD, false, "a", ""},
    {"spread: refused pools are skipped", "a/9/5:zone=a;b!/9/1:zone=b", NULL, "zone=a|zone=b",
     IMMEDIATE_SPREAD, false, "a", ""},
    {"spread: a zone's pool beats one for everywhere", "e/9/0:;a/9/5:zone=a", NULL, "zone=a|zone=b",
     IMMEDIATE_SPREAD, false, "a", ""},
    {"spread: everywhere where all zones are full", "e/9/0:;a/0/5:zone=a", NULL, "zone=a|zone=b",
     IMMEDIATE_SPREAD, false, "e", ""},
    {"spread: all full is no room", "a/0:zone=a;b/0:zone=b", NULL, "zone=a|zone=b",
     IMMEDIATE_SPREAD, false, NULL, NULL},
    {"spread: no pool for any term is refused", "a:zone=a", NULL, "zone=x|zone=y", IMMEDIATE_SPREAD,
     false, NULL, NULL},
    {"pin: a pool for everywhere pins to nothing", "e:", NULL, "zone=a|zone=b", IMMEDIATE_PIN,
     false, "e", ""},
    /* without a requirement */
    {"first: unpinned", "a/9/5:zone=a;b/9/1:zone=b", NULL, NULL, IMMEDIATE_FIRST, false, "b", ""},
    {"spread: unpinned", "a/9/5:zone=a;b/9/1:zone=b", NULL, NULL, IMMEDIATE_SPREAD, false, "b", ""},
    {"pin: to the pool's place, in plain keys", "a/9/5:zone=a;b/9/1:region=r,zone=b", NULL, NULL,
     IMMEDIATE_PIN, false, "b", P "region=r," P "zone=b"},
    /* places without a pool */
    {"unserved: any pool, unpinned", "a/9/5:zone=a;b/9/1:zone=b", "zone=x", "zone=x",
     IMMEDIATE_FIRST, true, "b", ""},
    {"unserved: unpinned under pin as well", "a/9/5:zone=a;b/9/1:zone=b", "zone=x", NULL,
     IMMEDIATE_PIN, true, "b", ""},
    {"unserved: what counts is where the pod is to run", "a/9/5:zone=a;b/9/1:zone=b",
     "zone=x|zone=a", "zone=x|zone=a", IMMEDIATE_FIRST, true, "b", ""},
    {"unserved: of requisite alone one that is served is enough", "a/9/5:zone=a;b/9/1:zone=b", NULL,
     "zone=x|zone=a", IMMEDIATE_FIRST, true, "a", P "zone=a"},
    {"unserved: a place that is served is taken in the usual way", "a/9/5:zone=a;b/9/1:zone=b",
     "zone=a|zone=b", "zone=a|zone=b", IMMEDIATE_FIRST, true, "a", P "zone=a"},
    {"unserved: a full pool serves its place", "a/0:zone=a;b:zone=b", "zone=a", "zone=a",
     IMMEDIATE_FIRST, true, NULL, NULL},
    {"unserved: a refused pool serves its place", "a!:zone=a;b:zone=b", "zone=a", "zone=a",
     IMMEDIATE_FIRST, true, NULL, NULL},
    {"unserved: a pool for everywhere serves every place", "e/0:;b:zone=b", "zone=x", "zone=x",
     IMMEDIATE_FIRST, true, NULL, NULL},
    {"unserved: all full", "a/0:zone=a;b/0:zone=b", "zone=x", "zone=x", IMMEDIATE_FIRST, true, NULL,
     NULL},
    {"unserved: refused by default", "a:zone=a", "zone=x", "zone=x", IMMEDIATE_FIRST, false, NULL,
     NULL},
    {"unserved: says nothing without a requirement", "a/9/5:zone=a;b/9/1:zone=b", NULL, NULL,
     IMMEDIATE_PIN, true, "b", P "zone=b"},
};

static void ask(const struct rule *rule, struct question *question, struct decision *decision)
{
    _cleanup_strmap_ struct strmap segments = {0};
    _cleanup_text_ struct text text = TEXT_INIT(4096);
    _cleanup_error_ struct error err = {0};

    int result = placement_decide(&question->request, decision, &err);
    const char *chosen =
        decision->chosen >= 0 ? question->entries.items[decision->chosen].pool : "none";
    if (strcmp(chosen, rule->chosen ? rule->chosen : "none") != 0)
        fail_msg("%s: wanted '%s', got '%s'", rule->name, rule->chosen, chosen);
    if (result < 0) {
        assert_int_equal(err.status, STATUS_RESOURCE_EXHAUSTED);
        return;
    }
    assert_int_equal(placement_pin(decision, PREFIX, PINNING_AUTO, &segments, &err), 0);
    for (size_t i = 0; i < segments.count; i++)
        text_addf(&text, "%s%s=%s", i ? "," : "", segments.entries[i].key,
                  segments.entries[i].value);
    if (strcmp(text_chars(&text), rule->segments) != 0)
        fail_msg("%s: pinned to '%s'", rule->name, text_chars(&text));
}

TEST(every_rule_holds)
{
    for (size_t i = 0; i < ARRAY_LENGTH(RULES); i++) {
        _cleanup_question_ struct question question;
        _cleanup_decision_ struct decision decision = {0};

        question_init(&question, RULES[i].pools, RULES[i].preferred, RULES[i].requisite);
        question.request.policy = PLACEMENT_SPREAD;
        question.request.immediate = RULES[i].immediate;
        question.request.may_be_anywhere = RULES[i].may_be_anywhere;
        ask(&RULES[i], &question, &decision);
    }
    printf("note: %zu rules of immediate volumes\n", ARRAY_LENGTH(RULES));
}

TEST(values_are_known_by_name)
{
    static const struct {
        const char *text;
        const char *message; /* NULL: good */
        enum immediate_topology immediate;
    } cases[] = {
        {"first", NULL, IMMEDIATE_FIRST},
        {"spread", NULL, IMMEDIATE_SPREAD},
        {"pin", NULL, IMMEDIATE_PIN},
        {"spred", "did you mean 'spread'?", IMMEDIATE_FIRST},
        {"none", "immediateTopology: 'none' is none of first, spread and pin", IMMEDIATE_FIRST},
        {"", "is none of first, spread and pin", IMMEDIATE_FIRST},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        enum immediate_topology immediate = IMMEDIATE_FIRST;
        int result = immediate_topology_parse(cases[i].text, &immediate, &err);

        assert_int_equal(result, cases[i].message ? -1 : 0);
        assert_int_equal(immediate, cases[i].immediate);
        if (cases[i].message)
            assert_non_null(strstr(err.message, cases[i].message));
    }
}

TEST(the_line_says_that_no_pool_serves_the_place)
{
    static const struct {
        const char *pools;
        const char *line;
    } cases[] = {
        {"a/9/5:zone=a;b/9/1:zone=b",
         "pool 'b' (zone=b): chosen (spread) for 100 B in zone=x, which no pool serves: pool 'a' "
         "(zone=a): would do, but spread took another"},
        {"a/0:zone=a", "no pool of the class has room for 100 B in zone=x, which no pool serves: "
                       "pool 'a' (zone=a): full"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_question_ struct question question;
        _cleanup_decision_ struct decision decision = {0};
        _cleanup_text_ struct text line = TEXT_INIT(4096);
        _cleanup_error_ struct error err = {0};

        question_init(&question, cases[i].pools, "zone=x", NULL);
        question.request.policy = PLACEMENT_SPREAD;
        question.request.may_be_anywhere = true;
        assert_int_equal(placement_decide(&question.request, &decision, &err), i ? -1 : 0);
        decision_print_line(&decision, &line);
        assert_string_equal(text_chars(&line), cases[i].line);
    }
}

/* --- random worlds --- */

#define WORLDS 10000

static uint64_t random_state = 4242;

/* xorshift: the same worlds in every run */
static size_t below(size_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state >> 11) % limit;
}

static const char *const ZONES[] = {"a", "b", "c", "d"};
static const char *const REGIONS[] = {"r", "s"};

static void random_pools(struct text *text)
{
    size_t count = 1 + below(6);

    for (size_t i = 0; i < count; i++) {
        text_addf(text, "%sp%zu%s/%zu/%zu:", i ? ";" : "", i, below(9) == 0 ? "!" : "", below(4),
                  below(5));
        bool has_region = below(2);
        if (has_region)
            text_addf(text, "region=%s", REGIONS[below(2)]);
        if (below(4))
            text_addf(text, "%szone=%s", has_region ? "," : "", ZONES[below(4)]);
    }
}

static void random_terms(struct text *text)
{
    size_t count = 1 + below(3);

    for (size_t i = 0; i < count; i++)
        text_addf(text, "%sregion=%s,%szone=%s", i ? "|" : "", REGIONS[below(2)],
                  below(3) ? "" : "+", ZONES[below(4)]);
}

static bool is_usable(const struct placement_candidate *candidate)
{
    return !candidate->refusal && candidate->space.bytes > 0;
}

static bool serves_one_of(const struct pool_entry *entry, const struct topology_terms *terms,
                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pool_entry_is_served(entry, &terms->items[i]))
            return true;
    return false;
}

static bool oracle_is_unserved(const struct placement_request *request)
{
    const struct topology_requirement *requirement = request->requirement;
    const bool is_preferred = requirement->preferred.count > 0;

    if (!request->may_be_anywhere || topology_requirement_is_empty(requirement))
        return false;
    for (size_t i = 0; i < request->count; i++)
        if (serves_one_of(request->candidates[i].entry,
                          is_preferred ? &requirement->preferred : &requirement->requisite,
                          is_preferred ? 1 : requirement->requisite.count))
            return false;
    return true;
}

/* The fewest volumes among the narrowest that can be used and serve a term; -1: none. */
static ssize_t oracle_choice(const struct placement_request *request, bool any)
{
    const struct topology_requirement *requirement = request->requirement;
    ssize_t best = -1;

    for (size_t i = 0; i < request->count; i++) {
        const struct placement_candidate *candidate = &request->candidates[i];
        const struct placement_candidate *other = best < 0 ? NULL : &request->candidates[best];

        if (!is_usable(candidate) || !(any ||
                                       serves_one_of(candidate->entry, &requirement->preferred,
                                                     requirement->preferred.count) ||
                                       serves_one_of(candidate->entry, &requirement->requisite,
                                                     requirement->requisite.count)))
            continue;
        if (!other || candidate->entry->count > other->entry->count ||
            (candidate->entry->count == other->entry->count && candidate->volumes < other->volumes))
            best = (ssize_t)i;
    }
    return best;
}

TEST(random_worlds_agree_with_the_oracle)
{
    size_t placed = 0;
    size_t unserved = 0;

    for (size_t i = 0; i < WORLDS; i++) {
        _cleanup_text_ struct text pools = TEXT_INIT(4096);
        _cleanup_text_ struct text preferred = TEXT_INIT(4096);
        _cleanup_text_ struct text requisite = TEXT_INIT(4096);
        _cleanup_question_ struct question question;
        _cleanup_decision_ struct decision decision = {0};
        _cleanup_error_ struct error err = {0};

        random_pools(&pools);
        random_terms(&preferred);
        random_terms(&requisite);
        question_init(&question, text_chars(&pools), below(3) ? text_chars(&preferred) : NULL,
                      below(3) ? text_chars(&requisite) : NULL);
        question.request.policy = PLACEMENT_SPREAD;
        question.request.immediate = below(2) ? IMMEDIATE_SPREAD : IMMEDIATE_PIN;
        question.request.may_be_anywhere = below(2);
        placed += placement_decide(&question.request, &decision, &err) == 0;
        assert_int_equal(decision.is_unserved, oracle_is_unserved(&question.request));
        bool any =
            decision.is_unserved || topology_requirement_is_empty(question.request.requirement);
        assert_int_equal(decision.chosen, oracle_choice(&question.request, any));
        if (decision.is_unserved || question.request.immediate == IMMEDIATE_SPREAD)
            assert_null(decision.term);
        else if (decision.chosen >= 0)
            assert_non_null(decision.term);
        unserved += decision.is_unserved;
    }
    printf("note: %d random worlds, %zu found a pool, %zu asked for a place without one\n", WORLDS,
           placed, unserved);
    assert_true(placed > WORLDS / 2 && placed < WORLDS);
    assert_true(unserved > WORLDS / 20);
}
