/* Which pool a volume gets: the rules one by one, then random worlds beside an oracle. */
#include <math.h>

#include "common/base/memory.h"
#include "common/topology/labels.h"
#include "tests/unit/fixtures/placement_question.h"

#define LAST_POLICY PLACEMENT_FIRST /* of the enum */

/* --- the rules --- */

struct rule {
    const char *name;
    const char *pools;
    const char *preferred;
    const char *requisite;
    const char *chosen;   /* NULL: none */
    const char *verdicts; /* a letter for each pool, see LETTERS; NULL: not looked at */
    enum placement_policy policy;
    bool has_overcommit;
};

/* Chosen, Not needed, Less specific, Policy, Room, reFused, Elsewhere */
static const char LETTERS[] = "CNLPRFE";

static const struct rule RULES[] = {
    /* order */
    {"preferred comes before requisite", "a:zone=a;b:zone=b", "zone=b", "zone=a|zone=b", "b", "NC",
     PLACEMENT_FIRST, false},
    {"preferred terms count in their order", "a:zone=a;b:zone=b", "zone=b|zone=a", NULL, "b", "NC",
     PLACEMENT_FIRST, false},
    {"requisite terms count in their order", "a:zone=a;b:zone=b", NULL, "zone=b|zone=a", "b", "NC",
     PLACEMENT_FIRST, false},
    {"requisite serves where no preferred term does", "a:zone=a;b:zone=b", "zone=x", "zone=a", "a",
     "CN", PLACEMENT_FIRST, false},
    {"the pools' order does not beat the terms' order", "a:zone=a;b:zone=b;c:zone=c",
     "zone=c|zone=b|zone=a", NULL, "c", "NNC", PLACEMENT_FIRST, false},
    {"one term alone is enough", "a:zone=a", NULL, "zone=a", "a", "C", PLACEMENT_FIRST, false},
    {"a term twice changes nothing", "a/0:zone=a;b:zone=b", "zone=a|zone=a|zone=b", NULL, "b", "RC",
     PLACEMENT_FIRST, false},
    /* domains */
    {"all segments of a pool must be in one term", "a:region=r1,zone=a", NULL, "region=r1|zone=a",
     NULL, "E", PLACEMENT_FIRST, false},
    {"a term may say more than the pool", "a:zone=a", NULL, "rack=7,region=r1,zone=a", "a", "C",
     PLACEMENT_FIRST, false},
    {"a term may not say less than the pool", "a:region=r1,zone=a", NULL, "zone=a", NULL, "E",
     PLACEMENT_FIRST, false},
    {"the same zone name in another region is another place",
     "a:region=r1,zone=a;b:region=r2,zone=a", NULL, "region=r2,zone=a", "b", "NC", PLACEMENT_FIRST,
     false},
    {"the order of a pool's segments does not matter", "a:zone=a,region=r1", NULL,
     "region=r1,zone=a", "a", "C", PLACEMENT_FIRST, false},
    {"three levels", "a:region=r1,zone=a,rack=1;b:region=r1,zone=a,rack=2", NULL,
     "region=r1,zone=a,rack=2", "b", "NC", PLACEMENT_FIRST, false},
    {"values are compared with their case", "a:zone=Zone-A", NULL, "zone=zone-a", NULL, "E",
     PLACEMENT_FIRST, false},
    {"a value that begins alike is another", "a:zone=a1", NULL, "zone=a", NULL, "E",
     PLACEMENT_FIRST, false},
    {"a level of another name with the same value is another", "a:zone=a", NULL, "rack=a", NULL,
     "E", PLACEMENT_FIRST, false},
    {"keys count by their tail, whoever's they are", "a:zone=a", NULL, "other.io/zone=a", "a", "C",
     PLACEMENT_FIRST, false},
    {"of two keys with one tail the last counts", "a:zone=a;b:zone=b", NULL,
     "one.io/zone=a,two.io/zone=b", "b", "NC", PLACEMENT_FIRST, false},
    {"a pool for everywhere serves any term", "a:", NULL, "zone=x", "a", "C", PLACEMENT_FIRST,
     false},
    {"a pool for everywhere serves an empty term", "a:zone=a;b:", NULL, "", "b", "NC",
     PLACEMENT_FIRST, false},
    {"an empty term is served by nothing else", "a:zone=a", NULL, "", NULL, "E", PLACEMENT_FIRST,
     false},
    {"no pool serves the place", "a:zone=a;b:zone=b", NULL, "zone=c", NULL, "EE", PLACEMENT_FIRST,
     false},
    {"no pools at all", "", NULL, "zone=c", NULL, NULL, PLACEMENT_FIRST, false},
    /* membership keys */
    {"a membership key counts behind a plain one", "a:zone=a;b:zone=b", NULL, "area=x,+zone=b", "b",
     "NC", PLACEMENT_FIRST, false},
    {"a membership key alone is enough", "a:zone=a;b:zone=b", NULL, "+zone=b", "b", "NC",
     PLACEMENT_FIRST, false},
    {"plain and membership of home agree", "a:zone=a", NULL, "zone=a,+zone=a", "a", "C",
     PLACEMENT_FIRST, false},
    {"under takeover home decides", "a:zone=a;b:zone=b", NULL, "zone=b,+zone=b,+zone=a", "b", "NC",
     PLACEMENT_FIRST, false},
    {"under takeover home decides though it has no pool", "a:zone=a", NULL,
     "zone=b,+zone=b,+zone=a", NULL, "E", PLACEMENT_FIRST, false},
    {"membership of several domains without a plain key: any of them", "a:zone=a;b:zone=b", NULL,
     "+zone=a,+zone=b", "a", "CP", PLACEMENT_FIRST, false},
    {"a plain region and a member zone", "a:region=r1,zone=a", NULL, "region=r1,+zone=a", "a", "C",
     PLACEMENT_FIRST, false},
    {"a plain region that differs beats a member zone", "a:region=r1,zone=a", NULL,
     "region=r2,+zone=a", NULL, "E", PLACEMENT_FIRST, false},
    {"a membership key that is not true is none", "a:zone=a", NULL, PREFIX "/member.zone.a=false",
     NULL, "E", PLACEMENT_FIRST, false},
    {"membership of a long name goes by its hash",
     "a:zone=a-very-long-name-of-a-zone-that-does-not-fit-into-a-label-key;b:zone=b", NULL,
     "+zone=a-very-long-name-of-a-zone-that-does-not-fit-into-a-label-key", "a", "CN",
     PLACEMENT_FIRST, false},
    {"long names with the same beginning are not confused",
     "a:zone=a-very-long-name-of-a-zone-that-does-not-fit-into-a-label-key-1;"
     "b:zone=a-very-long-name-of-a-zone-that-does-not-fit-into-a-label-key-2",
     NULL, "+zone=a-very-long-name-of-a-zone-that-does-not-fit-into-a-label-key-2", "b", "NC",
     PLACEMENT_FIRST, false},
    /* the most specific */
    {"a zone's own pool beats the region's", "r:region=r1;a:region=r1,zone=a", NULL,
     "region=r1,zone=a", "a", "LC", PLACEMENT_FIRST, false},
    {"a regional pool beats one for everywhere", "e:;r:region=r1", NULL, "region=r1,zone=a", "r",
     "LC", PLACEMENT_FIRST, false},
    {"the region's pool helps where the zone's is full", "r:region=r1;a/0:region=r1,zone=a", NULL,
     "region=r1,zone=a", "r", "CR", PLACEMENT_FIRST, false},
    {"everywhere helps where all else is full", "e:;r/0:region=r1;a/0:region=r1,zone=a", NULL,
     "region=r1,zone=a", "e", "CRR", PLACEMENT_FIRST, false},
    {"a wider pool in an earlier term beats a narrow one in a later",
     "r:region=r1;b:region=r2,zone=b", "region=r1,zone=a|region=r2,zone=b", NULL, "r", "CN",
     PLACEMENT_FIRST, false},
    /* room */
    {"a full pool is skipped", "a/0:zone=a;b:zone=b", "zone=a|zone=b", NULL, "b", "RC",
     PLACEMENT_FIRST, false},
    {"a full pool is skipped within its term", "a/0:zone=a;b:zone=a", NULL, "zone=a", "b", "RC",
     PLACEMENT_FIRST, false},
    {"no pool has room", "a/0:zone=a;b/0:zone=b", NULL, "zone=a|zone=b", NULL, "RR",
     PLACEMENT_FIRST, false},
    {"thin volumes need some room, not their size", "a/1:zone=a", NULL, "zone=a", "a", "C",
     PLACEMENT_FIRST, false},
    {"with overcommit room must cover the size", "a/99:zone=a;b/100:zone=b", "zone=a|zone=b", NULL,
     "b", "RC", PLACEMENT_FIRST, true},
    {"with overcommit exactly the size is enough", "a/100:zone=a", NULL, "zone=a", "a", "C",
     PLACEMENT_FIRST, true},
    {"unknown room counts on being there", "a/?:zone=a", NULL, "zone=a", "a", "C", PLACEMENT_FIRST,
     false},
    {"unknown room with overcommit, too", "a/?:zone=a", NULL, "zone=a", "a", "C", PLACEMENT_FIRST,
     true},
    {"a full pool elsewhere is just elsewhere", "a/0:zone=a;b:zone=b", NULL, "zone=b", "b", "NC",
     PLACEMENT_FIRST, false},
    /* refusals */
    {"a refused pool is not used", "a!:zone=a;b:zone=b", "zone=a|zone=b", NULL, "b", "FC",
     PLACEMENT_FIRST, false},
    {"refused comes before full", "a!/0:zone=a", NULL, "zone=a", NULL, "F", PLACEMENT_FIRST, false},
    {"all refused: none", "a!:zone=a;b!:", NULL, "zone=a", NULL, "FF", PLACEMENT_FIRST, false},
    /* no requirement */
    {"without requirement every pool serves", "a:zone=a;b:zone=b", NULL, NULL, "a", "CP",
     PLACEMENT_FIRST, false},
    {"without requirement the most specific remain", "e:;a:zone=a", NULL, NULL, "a", "LC",
     PLACEMENT_FIRST, false},
    {"without requirement full pools are skipped", "a/0:zone=a;b:zone=b", NULL, NULL, "b", "RC",
     PLACEMENT_FIRST, false},
    /* policies */
    {"first takes the first of the list", "a/1/9:zone=a;b:zone=a", NULL, "zone=a", "a", "CP",
     PLACEMENT_FIRST, false},
    {"spread takes the fewest volumes", "a/1000/3:zone=a;b/10/2:zone=a;c/1000/4:zone=a", NULL,
     "zone=a", "b", "PCP", PLACEMENT_SPREAD, false},
    {"spread takes the first of equals", "a/10/2:zone=a;b/1000/2:zone=a", NULL, "zone=a", "a", "CP",
     PLACEMENT_SPREAD, false},
    {"spread does not count what is elsewhere", "a/10/2:zone=a;b/10/1:zone=b", NULL, "zone=a", "a",
     "CN", PLACEMENT_SPREAD, false},
    {"pack takes the least room that fits", "a/900:zone=a;b/150:zone=a;c/99:zone=a", NULL, "zone=a",
     "b", "PCR", PLACEMENT_PACK, true},
    {"pack takes the first of equals", "a/500:zone=a;b/500:zone=a", NULL, "zone=a", "a", "CP",
     PLACEMENT_PACK, false},
    {"pack prefers known room", "a/?:zone=a;b/900:zone=a", NULL, "zone=a", "b", "PC",
     PLACEMENT_PACK, false},
    {"pack takes the first of unknown", "a/?:zone=a;b/?:zone=a", NULL, "zone=a", "a", "CP",
     PLACEMENT_PACK, false},
    {"free-space takes the only one with room", "a/0:zone=a;b/5:zone=a", NULL, "zone=a", "b", "RC",
     PLACEMENT_FREE_SPACE, false},
    {"free-space takes the only one, known or not", "a/?:zone=a", NULL, "zone=a", "a", "C",
     PLACEMENT_FREE_SPACE, false},
};

static void check_rule(const struct rule *rule)
{
    _cleanup_question_ struct question question;
    _cleanup_decision_ struct decision decision = {0};
    _cleanup_error_ struct error err = {0};

    question_init(&question, rule->pools[0] ? rule->pools : NULL, rule->preferred, rule->requisite);
    question.request.policy = rule->policy;
    question.request.has_overcommit = rule->has_overcommit;
    int result = placement_decide(&question.request, &decision, &err);
    const char *chosen =
        decision.chosen >= 0 ? question.entries.items[decision.chosen].pool : "none";
    if (strcmp(chosen, rule->chosen ? rule->chosen : "none") != 0)
        fail_msg("%s: wanted '%s', got '%s'", rule->name, rule->chosen, chosen);
    if (result != (rule->chosen ? 0 : -1) ||
        err.status != (rule->chosen ? STATUS_OK : STATUS_RESOURCE_EXHAUSTED))
        fail_msg("%s: answer %d with status %d", rule->name, result, err.status);
    for (size_t i = 0; rule->verdicts && i < question.entries.count; i++)
        if (LETTERS[decision.verdicts[i]] != rule->verdicts[i])
            fail_msg("%s: pool '%s': wanted %c, got %c", rule->name, question.entries.items[i].pool,
                     rule->verdicts[i], LETTERS[decision.verdicts[i]]);
}

TEST(every_rule_holds)
{
    for (size_t i = 0; i < ARRAY_LENGTH(RULES); i++)
        check_rule(&RULES[i]);
    printf("note: %zu rules of pool selection\n", ARRAY_LENGTH(RULES));
}

TEST(the_term_that_won_is_told)
{
    _cleanup_question_ struct question question;
    _cleanup_decision_ struct decision decision = {0};
    _cleanup_error_ struct error err = {0};

    question_init(&question, "a/0:zone=a;b:zone=b", "zone=x|zone=a", "zone=c|zone=b");
    assert_int_equal(placement_decide(&question.request, &decision, &err), 0);
    assert_ptr_equal(decision.term, &question.requirement.requisite.items[1]);
}

TEST(without_requirement_no_term_is_told)
{
    _cleanup_question_ struct question question;
    _cleanup_decision_ struct decision decision = {0};
    _cleanup_error_ struct error err = {0};

    question_init(&question, "a:zone=a", NULL, NULL);
    assert_int_equal(placement_decide(&question.request, &decision, &err), 0);
    assert_null(decision.term);
}

TEST(policies_are_known_by_name)
{
    static const struct {
        const char *text;
        const char *message; /* NULL: good */
    } cases[] = {
        {"free-space", NULL},
        {"spread", NULL},
        {"pack", NULL},
        {"first", NULL},
        {"", "is none of free-space, spread, pack and first"},
        {"Spread", "did you mean 'spread'?"},
        {"spred", "did you mean 'spread'?"},
        {"freespace", "did you mean 'free-space'?"},
        {"random", "poolSelection: 'random' is none of"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        enum placement_policy policy = PLACEMENT_FIRST;
        int result = placement_policy_parse(cases[i].text, &policy, &err);

        assert_int_equal(result, cases[i].message ? -1 : 0);
        if (!cases[i].message)
            assert_string_equal(placement_policy_name(policy), cases[i].text);
        else if (!strstr(err.message, cases[i].message))
            fail_msg("wanted '%s', got '%s'", cases[i].message, err.message);
    }
}

TEST(policies_for_users_are_all_of_them_in_order)
{
    _cleanup_text_ struct text names = TEXT_INIT(256);

    for (int policy = PLACEMENT_FREE_SPACE; policy <= LAST_POLICY; policy++)
        text_addf(&names, "%s%s", policy ? ", " : "",
                  placement_policy_name((enum placement_policy)policy));
    assert_string_equal(text_chars(&names), PLACEMENT_POLICIES);
}

/* --- random worlds --- */

#define WORLDS 2000
#define DECISIONS 10000

static uint64_t random_state = 42;

/* xorshift: the same worlds in every run */
static size_t below(size_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state >> 11) % limit;
}

static const char *const LEVELS[] = {"region", "zone", "rack"};
static const char *const VALUES[] = {"a", "b", "c"};

static void random_pools(struct text *text)
{
    size_t count = 1 + below(8);

    for (size_t i = 0; i < count; i++) {
        static const char *const rooms[] = {"0", "50", "100", "101", "5000", "900", "?"};

        text_addf(text, "%sp%zu%s/%s/%zu:", i ? ";" : "", i, below(10) == 0 ? "!" : "",
                  rooms[below(ARRAY_LENGTH(rooms))], below(4));
        for (size_t level = 0, written = 0; level < ARRAY_LENGTH(LEVELS); level++)
            if (below(2))
                text_addf(text, "%s%s=%s", written++ ? "," : "", LEVELS[level],
                          VALUES[below(ARRAY_LENGTH(VALUES))]);
    }
}

static void random_terms(struct text *text)
{
    size_t count = 1 + below(4);

    for (size_t i = 0; i < count; i++) {
        size_t written = 0;

        text_add(text, i ? "|" : "");
        for (size_t level = 0; level < ARRAY_LENGTH(LEVELS); level++) {
            if (below(4))
                text_addf(text, "%s%s=%s", written++ ? "," : "", LEVELS[level],
                          VALUES[below(ARRAY_LENGTH(VALUES))]);
            for (size_t value = 0; value < ARRAY_LENGTH(VALUES); value++)
                if (below(5) == 0)
                    text_addf(text, "%s+%s=%s", written++ ? "," : "", LEVELS[level], VALUES[value]);
        }
    }
}

/* What the rules say of one domain, in the plainest way. */
static bool term_has(const struct strmap *term, const struct pool_segment *segment)
{
    _cleanup_free_ char *plain = xasprintf(PREFIX "/%s", segment->level);
    _cleanup_free_ char *member = xasprintf(PREFIX "/member.%s.%s", segment->level, segment->value);
    const char *home = strmap_get(term, plain);

    return home ? strcmp(home, segment->value) == 0 : strmap_has(term, member);
}

static bool oracle_serves(const struct strmap *term, const struct pool_entry *entry)
{
    for (size_t i = 0; term && i < entry->count; i++)
        if (!term_has(term, &entry->segments[i]))
            return false;
    return true;
}

static bool oracle_usable(const struct placement_request *request, size_t i)
{
    const struct placement_candidate *candidate = &request->candidates[i];
    uint64_t needed = request->has_overcommit ? request->size_bytes : 1;

    return !candidate->refusal && (!candidate->space.is_known || candidate->space.bytes >= needed);
}

/* The candidates among which the policy decides; 0 if the term has none. */
static size_t oracle_finalists(const struct placement_request *request, const struct strmap *term,
                               size_t *finalists)
{
    size_t most = 0;
    size_t count = 0;

    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < request->count; i++) {
            size_t levels = request->candidates[i].entry->count;

            if (!oracle_serves(term, request->candidates[i].entry) || !oracle_usable(request, i))
                continue;
            if (round == 0)
                most = levels > most ? levels : most;
            else if (levels == most)
                finalists[count++] = i;
        }
    return count;
}

static double oracle_cost(const struct placement_request *request, size_t i)
{
    const struct placement_candidate *candidate = &request->candidates[i];

    if (request->policy == PLACEMENT_SPREAD)
        return (double)candidate->volumes;
    if (request->policy == PLACEMENT_PACK)
        return candidate->space.is_known ? (double)candidate->space.bytes : INFINITY;
    return (double)i;
}

static bool oracle_accepts(const struct placement_request *request, const size_t *finalists,
                           size_t count, ssize_t chosen)
{
    size_t best = finalists[0];
    bool is_finalist = false;

    for (size_t i = 0; i < count; i++) {
        is_finalist |= (ssize_t)finalists[i] == chosen;
        if (oracle_cost(request, finalists[i]) < oracle_cost(request, best))
            best = finalists[i];
    }
    return request->policy == PLACEMENT_FREE_SPACE ? is_finalist : chosen == (ssize_t)best;
}

static const struct strmap *term_number(const struct topology_requirement *requirement, size_t i)
{
    if (i < requirement->preferred.count)
        return &requirement->preferred.items[i];
    return &requirement->requisite.items[i - requirement->preferred.count];
}

static void check_world(const struct placement_request *request, const struct decision *decision)
{
    const struct topology_requirement *requirement = request->requirement;
    size_t terms = requirement->preferred.count + requirement->requisite.count;
    size_t finalists[POOLS_MAX];
    size_t count = terms == 0 ? oracle_finalists(request, NULL, finalists) : 0;
    const struct strmap *term = NULL;

    for (size_t i = 0; i < terms && count == 0; i++) {
        term = term_number(requirement, i);
        count = oracle_finalists(request, term, finalists);
    }
    if (count == 0) {
        assert_int_equal(decision->chosen, -1);
        return;
    }
    assert_true(decision->chosen >= 0);
    assert_ptr_equal(decision->term, term);
    assert_true(oracle_accepts(request, finalists, count, decision->chosen));
}

TEST(random_worlds_agree_with_the_oracle)
{
    size_t placed = 0;

    for (size_t i = 0; i < WORLDS; i++) {
        _cleanup_text_ struct text pools = TEXT_INIT(8192);
        _cleanup_text_ struct text preferred = TEXT_INIT(8192);
        _cleanup_text_ struct text requisite = TEXT_INIT(8192);
        _cleanup_question_ struct question question;

        random_pools(&pools);
        random_terms(&preferred);
        random_terms(&requisite);
        question_init(&question, text_chars(&pools), below(3) ? text_chars(&preferred) : NULL,
                      below(4) ? text_chars(&requisite) : NULL);
        question.request.has_overcommit = below(2);
        for (int policy = PLACEMENT_FREE_SPACE; policy <= LAST_POLICY; policy++) {
            _cleanup_decision_ struct decision decision = {0};
            _cleanup_error_ struct error err = {0};

            question.request.policy = (enum placement_policy)policy;
            int result = placement_decide(&question.request, &decision, &err);
            assert_int_equal(result < 0, decision.chosen < 0);
            check_world(&question.request, &decision);
            placed += result == 0;
        }
    }
    printf("note: %d random worlds, %zu of %d decisions found a pool\n", WORLDS, placed,
           (LAST_POLICY + 1) * WORLDS);
    /* both are met often, or the oracle has nothing to say */
    assert_true(placed >= WORLDS / 2);
    assert_true((LAST_POLICY + 1) * WORLDS - placed >= WORLDS / 2);
}

/* --- shares of free space --- */

/* Decides for many names. Each pool's share must be near that of @rooms, which are its rooms or
 * what unknown ones are taken for. */
static void check_shares(struct question *question, const double *rooms)
{
    size_t taken[POOLS_MAX] = {0};
    double worst = 0;
    double total = 0;

    question->request.policy = PLACEMENT_FREE_SPACE;
    for (int i = 0; i < DECISIONS; i++) {
        _cleanup_free_ char *name = xasprintf("pvc-%d", i);
        _cleanup_decision_ struct decision decision = {0};
        _cleanup_error_ struct error err = {0};

        question->request.volume_name = name;
        assert_int_equal(placement_decide(&question->request, &decision, &err), 0);
        taken[decision.chosen]++;
    }
    for (size_t i = 0; i < question->request.count; i++)
        total += rooms[i];
    for (size_t i = 0; i < question->request.count; i++) {
        double off = fabs((double)taken[i] / (rooms[i] / total * DECISIONS) - 1);

        worst = off > worst ? off : worst;
    }
    printf("figure: free-space is within %.1f %% of the ideal share over %d decisions\n",
           worst * 100, DECISIONS);
    assert_true(worst < 0.1);
}

TEST(free_space_gives_each_pool_its_share)
{
    static const double rooms[] = {1000, 2000, 3000, 4000};
    _cleanup_question_ struct question question;

    question_init(&question, "a/1000:zone=a;b/2000:zone=a;c/3000:zone=a;d/4000:zone=a", NULL,
                  "zone=a");
    check_shares(&question, rooms);
}

TEST(free_space_takes_unknown_room_for_the_average)
{
    static const double rooms[] = {1000, 2000, 3000};
    _cleanup_question_ struct question question;

    question_init(&question, "a/1000:zone=a;b/?:zone=a;c/3000:zone=a", NULL, "zone=a");
    check_shares(&question, rooms);
}

TEST(free_space_deals_evenly_when_no_room_is_known)
{
    static const double rooms[] = {1, 1, 1};
    _cleanup_question_ struct question question;

    question_init(&question, "a/?:zone=a;b/?:zone=a;c/?:zone=a", NULL, "zone=a");
    check_shares(&question, rooms);
}

TEST(pools_of_one_name_in_two_clusters_draw_apart)
{
    static const double rooms[] = {1000, 1000};
    _cleanup_question_ struct question question;

    question_init(&question, "a/1000:zone=a;a/1000:zone=a", NULL, "zone=a");
    question.entries.items[1].cluster_id = xstrdup("c2");
    check_shares(&question, rooms);
}

/* Processes of two versions work side by side during an update: they must agree. */
TEST(free_space_draws_what_it_always_drew)
{
    char drawn[33] = {0};

    for (size_t i = 0; i + 1 < sizeof(drawn); i++) {
        _cleanup_free_ char *name = xasprintf("pvc-%zu", i);
        _cleanup_question_ struct question question;
        _cleanup_decision_ struct decision decision = {0};
        _cleanup_error_ struct error err = {0};

        question_init(&question, "a:zone=a;b:zone=a;c:zone=a;d:zone=a", NULL, "zone=a");
        question.request.policy = PLACEMENT_FREE_SPACE;
        question.request.volume_name = name;
        assert_int_equal(placement_decide(&question.request, &decision, &err), 0);
        drawn[i] = question.entries.items[decision.chosen].pool[0];
    }
    assert_string_equal(drawn, "babaddcacadddbbbacdcdacdabdbbdbb");
}

TEST(every_one_of_many_domains_is_found)
{
    _cleanup_text_ struct text pools = TEXT_INIT(8192);

    for (int i = 0; i < POOLS_MAX; i++)
        text_addf(&pools, "%sp%d:region=r%d,zone=z%d", i ? ";" : "", i, i / 2, i);
    for (int i = 0; i < 2 * POOLS_MAX; i++) {
        _cleanup_free_ char *term =
            xasprintf(i % 2 ? "+region=r%d,+zone=z%d" : "region=r%d,zone=z%d", i / 4, i / 2);
        _cleanup_question_ struct question question;
        _cleanup_decision_ struct decision decision = {0};
        _cleanup_error_ struct error err = {0};

        question_init(&question, text_chars(&pools), NULL, term);
        assert_int_equal(placement_decide(&question.request, &decision, &err), 0);
        assert_int_equal(decision.chosen, i / 2);
    }
}

TEST(free_space_decides_the_same_for_the_same_name)
{
    for (int i = 0; i < 100; i++) {
        _cleanup_free_ char *name = xasprintf("pvc-%d", i);
        ssize_t first = -1;

        for (int round = 0; round < 2; round++) {
            _cleanup_question_ struct question question;
            _cleanup_decision_ struct decision decision = {0};
            _cleanup_error_ struct error err = {0};

            question_init(&question, "a/1000:zone=a;b/2000:zone=a;c/3000:zone=a", NULL, "zone=a");
            question.request.policy = PLACEMENT_FREE_SPACE;
            question.request.volume_name = name;
            assert_int_equal(placement_decide(&question.request, &decision, &err), 0);
            assert_true(first < 0 || first == decision.chosen);
            first = decision.chosen;
        }
    }
}
