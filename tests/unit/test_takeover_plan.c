#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/unit/fixtures/takeover_state.h"

/* What is to be done next, for clusters in every state. */

struct plan_case {
    const char *map;
    const char *nodes;
    const char *steps;
    const char *explanation; /* part of that of the first domain; NULL: there is none */
};

static void check(const struct plan_case *c, struct takeover_world world)
{
    _cleanup_takeover_plan_ struct takeover_plan plan = {0};

    takeover_plan_make(&world, &plan);
    _cleanup_free_ char *steps = steps_of(&plan);
    if (strcmp(steps, c->steps) != 0)
        fail_msg("%s with %s: '%s', not '%s'", c->map, c->nodes, steps, c->steps);
    const char *said = plan.domain_count ? plan.domains[0].explanation : "nothing";
    if (!strstr(said, c->explanation ? c->explanation : "nothing"))
        fail_msg("%s with %s: '%s', not '%s'", c->map, c->nodes, said, c->explanation);
    for (size_t i = 0; i < plan.count; i++) {
        _cleanup_free_ char *text = takeover_step_text(&plan.steps[i]);

        assert_non_null(strstr(text, plan.steps[i].node->name));
        assert_non_null(strstr(text, plan.steps[i].subject));
    }
}

static void check_all(const struct plan_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_state_ struct state state = {0};

        state_init(&state, cases[i].map, cases[i].nodes);
        check(&cases[i], world_of(&state));
    }
}

TEST(takeover_goes_step_by_step)
{
    static const struct plan_case cases[] = {
        {A_TO_B, "a1:zone-a:down a2:zone-a:down b1:zone-b c1:zone-c", "record a1; record a2",
         "2 of its nodes are not fenced yet"},
        {A_TO_B, "a1:zone-a:down:recorded a2:zone-a:down b1:zone-b", "fence a1 ip-a1; record a2",
         "2 of its nodes"},
        {A_TO_B, "a1:zone-a:down:recorded a2:zone-a:down:recorded b1:zone-b f:ip-a1",
         "fence a2 ip-a2", "1 of its nodes"},
        {A_TO_B, "a1:zone-a:down:recorded a2:zone-a:recorded b1:zone-b f:ip-a1 f:ip-a2", "taint a1",
         "being released"},
        {A_TO_B, "a1:zone-a:down:recorded:ours b1:zone-b b2:zone-b c1:zone-c f:ip-a1",
         "label b1 zone-a; label b2 zone-a",
         "taken over by 2 nodes, 2 of which have yet to follow"},
        {A_TO_B, "a1:zone-a:down:recorded:ours b1:zone-b:+zone-a f:ip-a1", "",
         "taken over by 1 nodes, 0 of which"},
        /* a fence that went away is made again, and the label stays */
        {A_TO_B, "a1:zone-a:down:recorded:ours b1:zone-b:+zone-a", "fence a1 ip-a1",
         "nothing is labelled before"},
        /* one more node turned up */
        {A_TO_B, "a1:zone-a:down:recorded:ours a2:zone-a b1:zone-b:+zone-a b2:zone-b f:ip-a1",
         "record a2", "1 of its nodes"},
    };

    check_all(cases, ARRAY_LENGTH(cases));
}

TEST(map_that_changes_is_followed)
{
    static const struct plan_case cases[] = {
        {"{\"zone-a\": [\"zone-c\"]}",
         "a1:zone-a:down:recorded:ours b1:zone-b:+zone-a c1:zone-c f:ip-a1",
         "unlabel b1 zone-a; label c1 zone-a", "taken over by 1 nodes"},
        {"{\"zone-a\": [\"all\"]}", "a1:zone-a:down:recorded:ours b1:zone-b c1:zone-c f:ip-a1",
         "label b1 zone-a; label c1 zone-a", "taken over by 2 nodes"},
        {A_TO_B_UNFENCED, "a1:zone-a:down b1:zone-b", "label b1 zone-a", "nothing is fenced"},
        {A_TO_B_UNFENCED, "b1:zone-b", "label b1 zone-a", "nothing is fenced"},
        {"{\"zone=zone-a\": [\"zone-b\"]}", "a1:zone-a:down b1:zone-b", "record a1", "not fenced"},
        /* takeovers do not chain: the label of a1 is not given to the nodes that serve it */
        {"{\"zone-a\": {\"to\": [\"zone-b\"], \"fence\": \"none\"},"
         " \"zone-b\": {\"to\": [\"zone-c\"], \"fence\": \"none\"}}",
         "a1:zone-a b1:zone-b c1:zone-c", "label b1 zone-a; label c1 zone-b", ""},
    };

    check_all(cases, ARRAY_LENGTH(cases));
}

TEST(what_cannot_be_covered_is_not_begun)
{
    static const struct plan_case cases[] = {
        {A_TO_B, "a1:zone-a:down:noaddress a2:zone-a b1:zone-b", "", "no internal address"},
        {A_TO_B, "master:zone-a b1:zone-b", "", "would fence itself"},
        {A_TO_B, "b1:zone-b", "", "nothing tells whom to fence"},
        {A_TO_B, "a1:zone-a:down:recorded:ours b1:zone-b:nodriver f:ip-a1", "",
         "no node with the driver"},
        {"{\"rack=r1\": [\"r2\"]}", "a1:zone-a b1:zone-b", "", "no node is at home there"},
        /* the driver's entry is gone: its nodes are fenced all the same */
        {A_TO_B, "a1:zone-a:nodriver b1:zone-b", "record a1", "not fenced"},
    };

    check_all(cases, ARRAY_LENGTH(cases));
}

TEST(giveback_goes_step_by_step)
{
    static const struct plan_case cases[] = {
        {"{}", "a1:zone-a b1:zone-b", "", NULL},
        {"{}", "a1:zone-a:rebooted:ours b1:zone-b:+zone-a f:ip-a1", "unfence a1 ip-a1",
         "being let in again"},
        {"{}", "a1:zone-a:rebooted:ours b1:zone-b:+zone-a", "untaint a1", "being let in again"},
        {"{}", "a1:zone-a:rebooted b1:zone-b:+zone-a", "forget a1", "being let in again"},
        {"{}", "a1:zone-a b1:zone-b:+zone-a", "unlabel b1 zone-a", "1 nodes stop serving it"},
        /* a domain that is not the first */
        {"{}", "a1:zone-a b1:zone-b:rebooted f:ip-b1", "unfence b1 ip-b1", "being let in again"},
        /* somebody else's taint stays */
        {"{}", "a1:zone-a:rebooted:taint b1:zone-b:+zone-a", "forget a1", "being let in again"},
    };

    check_all(cases, ARRAY_LENGTH(cases));
}

TEST(client_with_dirty_pages_stays_fenced)
{
    static const struct plan_case cases[] = {
        {"{}", "a1:zone-a:recorded:busy b1:zone-b:+zone-a f:ip-a1", "",
         "none of its nodes is back; reboot 'a1'"},
        {"{}", "a1:zone-a:recorded:down b1:zone-b:+zone-a f:ip-a1", "", "reboot 'a1'"},
        {"{}", "a1:zone-a:rebooted:down b1:zone-b:+zone-a f:ip-a1", "", "reboot 'a1'"},
        /* holds nothing */
        {"{}", "a1:zone-a:recorded b1:zone-b:+zone-a f:ip-a1", "unfence a1 ip-a1", "let in again"},
        /* one is back, the other waits */
        {"{}", "a1:zone-a a2:zone-a:recorded:busy b1:zone-b:+zone-a f:ip-a2", "unlabel b1 zone-a",
         "still fenced, because they may hold unwritten data: 'a2'"},
        {"{}", "a1:zone-a a2:zone-a:recorded:busy b1:zone-b f:ip-a2", "", "still fenced"},
        /* none is back, and nobody serves it */
        {"{}", "a1:zone-a:recorded:busy b1:zone-b f:ip-a1", "", "still fenced"},
    };

    check_all(cases, ARRAY_LENGTH(cases));
}

/* Where kubelet does not tell what it uses, silence is no proof. */
TEST(silence_of_kubelet_is_not_always_proof)
{
    static const struct plan_case cases[] = {
        {"{}", "a1:zone-a:recorded b1:zone-b:+zone-a f:ip-a1", "", "reboot 'a1'"},
        {"{}", "a1:zone-a:rebooted b1:zone-b:+zone-a f:ip-a1", "unfence a1 ip-a1", "let in again"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_state_ struct state own = {0};

        state_init(&own, cases[i].map, cases[i].nodes);
        struct takeover_world world = world_of(&own);
        world.use_is_reported = false;
        check(&cases[i], world);
    }
}

TEST(pods_leave_a_few_at_a_time)
{
    static const struct plan_case cases[] = {
        /* not before the labels are gone, or they would be back */
        {"{}", "a1:zone-a b1:zone-b:-zone-a b2:zone-b:+zone-a p:b1:zone-a:x", "unlabel b2 zone-a",
         "stop serving"},
        {"{}", "a1:zone-a b1:zone-b:-zone-a p:b1:zone-a:x p:b1:zone-c:y", "evict b1 x",
         "1 pods have yet to leave 1 nodes that served it, 0 are on their way"},
        {"{}",
         "a1:zone-a b1:zone-b:-zone-a b2:zone-b:-zone-a p:b1:zone-a:x1 p:b1:zone-a:x2 "
         "p:b1:zone-a:x3 p:b2:zone-a:x4 p:b2:zone-a:x5 p:b2:zone-a:x6 q:b2:zone-a:x7",
         "evict b1 x1; evict b1 x2; evict b1 x3; evict b2 x4", "7 pods have yet to leave 2 nodes"},
        {"{}", "a1:zone-a b1:zone-b:-zone-a q:b1:zone-a:x", "", "1 are on their way"},
        {"{}", "a1:zone-a b1:zone-b:-zone-a q:b1:zone-a:w p:b1:zone-c:y p:b1:zone-a:x",
         "evict b1 x", "2 pods have yet to leave 1 nodes that served it, 1 are on their way"},
        {"{}",
         "a1:zone-a b1:zone-b:-zone-a q:b1:zone-a:x1 q:b1:zone-a:x2 q:b1:zone-a:x3 q:b1:zone-a:x4 "
         "q:b1:zone-a:x5 p:b1:zone-a:x6",
         "", "6 pods have yet to leave 1 nodes that served it, 5 are on their way"},
        {"{}", "a1:zone-a b1:zone-b:-zone-a r:b1:zone-a:x", "",
         "pods without a controller have to be moved by hand: 'x'"},
        {"{}", "a1:zone-a b1:zone-b:-zone-a r:b1:zone-a:x r:b1:zone-a:y", "", "by hand: 'x', 'y'"},
        {"{}", "a1:zone-a b1:zone-b:-zone-a", "drained b1 zone-a", "0 pods have yet to leave"},
        /* not before the domain's nodes are let in again either */
        {"{}", "a1:zone-a:rebooted b1:zone-b:+zone-a b2:zone-b:-zone-a f:ip-a1", "unfence a1 ip-a1",
         "let in again"},
        /* nowhere to go */
        {"{}", "a1:zone-a:down b1:zone-b:-zone-a p:b1:zone-a:x", "", "none of its nodes is back"},
        /* one of the home nodes will never be back */
        {"{}", "a1:zone-a a2:zone-a:recorded:down b1:zone-b:-zone-a p:b1:zone-a:x f:ip-a2",
         "evict b1 x", "1 pods"},
        /* the map names others now */
        {"{\"zone-a\": [\"zone-c\"]}",
         "a1:zone-a:down:recorded:ours b1:zone-b:-zone-a c1:zone-c f:ip-a1 p:b1:zone-a:x",
         "label c1 zone-a", "1 of which"},
        {"{\"zone-a\": [\"zone-c\"]}",
         "a1:zone-a:down:recorded:ours b1:zone-b:-zone-a c1:zone-c:+zone-a f:ip-a1 p:b1:zone-a:x",
         "evict b1 x", "1 pods"},
    };

    check_all(cases, ARRAY_LENGTH(cases));
}

TEST(nothing_is_placed_in_a_domain_before_it_is_back)
{
    static const struct {
        const char *map;
        const char *nodes;
        bool is_closed;
    } cases[] = {
        {A_TO_B, "a1:zone-a b1:zone-b", true},
        {"{}", "a1:zone-a:recorded:busy b1:zone-b:+zone-a f:ip-a1", true},
        {"{}", "a1:zone-a:rebooted b1:zone-b:+zone-a f:ip-a1", true},
        {"{}", "a1:zone-a b1:zone-b:+zone-a", true},
        {"{}", "a1:zone-a b1:zone-b:-zone-a p:b1:zone-a:x", true},
        {"{}", "a1:zone-a a2:zone-a:recorded:busy b1:zone-b f:ip-a2", false}, /* a1 serves it */
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_state_ struct state own = {0};
        _cleanup_takeover_plan_ struct takeover_plan plan = {0};

        state_init(&own, cases[i].map, cases[i].nodes);
        struct takeover_world world = world_of(&own);
        takeover_plan_make(&world, &plan);
        assert_int_equal(plan.domain_count, 1);
        assert_int_equal(plan.domains[0].is_closed, cases[i].is_closed);
    }
}

TEST(pods_that_cannot_be_seen_are_left_to_people)
{
    static const struct plan_case c = {"{}", "a1:zone-a b1:zone-b:-zone-a", "",
                                       "have to leave 1 nodes, by hand: dark"};
    _cleanup_state_ struct state own = {0};
    _cleanup_takeover_plan_ struct takeover_plan plan = {0};

    state_init(&own, c.map, c.nodes);
    struct takeover_world world = world_of(&own);
    world.pods_unknown = "dark";
    check(&c, world);
    takeover_plan_make(&world, &plan);
    assert_true(plan.domains[0].is_blocked && plan.domains[0].drains);
    assert_false(plan.domains[0].is_closed);
}

TEST(home_labels_are_never_touched)
{
    static const struct plan_case cases[] = {
        /* +zone-b on a node of zone-b is its home label */
        {"{}", "b1:zone-b:+zone-b a1:zone-a", "", NULL},
        {"{}", "b1:zone-b:+zone-a:nodriver a1:zone-a", "", NULL},
        /* a domain that nobody knows */
        {"{}", "b1:zone-b:+zone-x", "unlabel b1 zone-x", NULL},
        {"{}", "b1:zone-b c1:zone-c:+zone-x d1:zone-d", "unlabel c1 zone-x", NULL},
    };

    check_all(cases, ARRAY_LENGTH(cases));
}

TEST(without_sight_of_the_fences_nothing_moves)
{
    static const struct plan_case cases[] = {
        {A_TO_B, "a1:zone-a:down:recorded:ours b1:zone-b f:ip-a1", "",
         "fences cannot be set: dark"},
        {"{}", "a1:zone-a:rebooted b1:zone-b:+zone-a", "", "none of its nodes is back"},
        {A_TO_B_UNFENCED, "a1:zone-a b1:zone-b", "label b1 zone-a", "nothing is fenced"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_state_ struct state own = {0};

        state_init(&own, cases[i].map, cases[i].nodes);
        struct takeover_world world = world_of(&own);
        world.fences_unknown = "dark";
        check(&cases[i], world);
    }
}

/* Until the volumes have told who may write to them only what is written down is fenced. */
TEST(unknown_clients_are_waited_for)
{
    static const struct {
        struct plan_case c;
        bool waits;
    } cases[] = {
        {{A_TO_B, "a1:zone-a b1:zone-b", "", "who may write to its volumes is not known: dark"},
         true},
        {{A_TO_B, "a1:zone-a:noaddress b1:zone-b", "", "who may write"}, true},
        {{A_TO_B, "a1:zone-a:recorded b1:zone-b", "fence a1 ip-a1", "not fenced yet"}, false},
        {{A_TO_B, "a1:zone-a:down:recorded b1:zone-b f:ip-a1", "", "who may write"}, true},
        {{A_TO_B, "a1:zone-a:recorded b1:zone-b f:ip-a1", "", "who may write"}, true},
        {{A_TO_B, "a1:zone-a:recorded b1:zone-b:+zone-a f:ip-a1", "", "taken over by 1"}, false},
        {{A_TO_B, "a1:zone-a:recorded b1:zone-b c1:zone-c:+zone-a f:ip-a1", "unlabel c1 zone-a",
          "who may write"},
         true},
        {{A_TO_B_UNFENCED, "a1:zone-a b1:zone-b", "label b1 zone-a", "nothing is fenced"}, false},
        {{"{}", "a1:zone-a b1:zone-b:+zone-a", "unlabel b1 zone-a", "stop serving"}, false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_state_ struct state own = {0};
        _cleanup_takeover_plan_ struct takeover_plan plan = {0};

        state_init(&own, cases[i].c.map, cases[i].c.nodes);
        struct takeover_world world = world_of(&own);
        world.clients_unknown = "dark";
        check(&cases[i].c, world);
        takeover_plan_make(&world, &plan);
        assert_int_equal(plan.domains[0].waits_for_clients, cases[i].waits);
        assert_true(!cases[i].waits || plan.domains[0].is_blocked);
    }
}

TEST(nodes_that_tell_it_themselves_are_only_cleaned)
{
    static const struct plan_case cases[] = {
        {A_TO_B, "a1:zone-a:down b1:zone-b", "", "taken over by 1 nodes"},
        {"{}", "a1:zone-a b1:zone-b:+zone-a", "unlabel b1 zone-a", "stop serving"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_state_ struct state own = {0};

        state_init(&own, cases[i].map, cases[i].nodes);
        struct takeover_world world = world_of(&own);
        world.only_removes = true;
        check(&cases[i], world);
    }
}

/* A node of two levels, one of which is taken over, is not let in for the sake of the other. */
TEST(fence_of_one_level_outlives_the_other)
{
    _cleanup_state_ struct state own = {0};
    static const struct plan_case c = {A_TO_B, "a1:zone-a:recorded b1:zone-b f:ip-a1",
                                       "label b1 zone-a", "taken over by 1 nodes"};

    state_init(&own, c.map, c.nodes);
    for (size_t i = 0; i < own.nodes.count; i++)
        strmap_set(&own.nodes.items[i].labels, PREFIX "/region", "r1");
    check(&c, world_of(&own));
}

/* Whatever the state, the steps lead to an end, and never label before all is fenced. */
TEST(steps_lead_to_an_end)
{
    static const char *const clusters[] = {
        "a1:zone-a:down a2:zone-a:busy b1:zone-b b2:zone-b c1:zone-c",
        "a1:zone-a:rebooted:ours a2:zone-a:recorded b1:zone-b:+zone-a f:ip-a1 f:ip-a2",
        "a1:zone-a:rebooted:down a2:zone-a:recorded:busy b1:zone-b:+zone-a:+zone-x f:ip-a1",
        "a1:zone-a:nodriver b1:zone-b:+zone-c c1:zone-c:recorded:taint",
        "a1:zone-a b1:zone-b:+zone-a b2:zone-b:-zone-a p:b1:zone-a:x p:b1:zone-a:y p:b2:zone-a:z",
    };
    static const char *const maps[] = {A_TO_B, A_TO_B_UNFENCED, "{}", "{\"zone-b\": [\"all\"]}"};

    for (size_t i = 0; i < ARRAY_LENGTH(clusters) * ARRAY_LENGTH(maps); i++) {
        _cleanup_state_ struct state own = {0};
        bool ended = false;

        state_init(&own, maps[i % ARRAY_LENGTH(maps)], clusters[i / ARRAY_LENGTH(maps)]);
        for (int round = 0; round < 20 && !ended; round++) {
            _cleanup_takeover_plan_ struct takeover_plan plan = {0};
            struct takeover_world world = world_of(&own);

            takeover_plan_make(&world, &plan);
            for (size_t j = 0; j < plan.count; j++)
                takeover_step_assume(&plan.steps[j], &own.nodes, &own.fenced, &own.pods);
            ended = plan.count == 0;
        }
        if (!ended)
            fail_msg("%s with %s never ends", maps[i % ARRAY_LENGTH(maps)],
                     clusters[i / ARRAY_LENGTH(maps)]);
    }
}
