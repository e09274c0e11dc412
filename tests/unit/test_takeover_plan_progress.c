/*
 * What a takeover plan says of each domain, and what it makes of nodes with several addresses and
 * of clients without a Node; the text of its steps, and looking ahead by them.
 */
#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/unit/fixtures/takeover_state.h"

/* "blocked closed" */
static char *flags_of(const struct takeover_progress *progress)
{
    const struct {
        bool is_set;
        const char *word;
    } flags[] = {
        {progress->is_giveback, "giveback"}, {progress->is_done, "done"},
        {progress->is_blocked, "blocked"},   {progress->waits_for_clients, "waits"},
        {progress->drains, "drains"},        {progress->is_closed, "closed"},
    };
    _cleanup_text_ struct text out = TEXT_INIT(256);

    for (size_t i = 0; i < ARRAY_LENGTH(flags); i++)
        if (flags[i].is_set)
            text_addf(&out, "%s%s", out.length ? " " : "", flags[i].word);
    return xstrdup(text_chars(&out));
}

#define A_TO_C "{\"zone-a\": [\"zone-c\"]}"
#define OVER_TO_C "a1:zone-a:down:recorded:ours b1:zone-b:-zone-a c1:zone-c:+zone-a f:ip-a1 "

TEST(progress_says_where_the_domain_stands)
{
    static const struct {
        const char *map;
        const char *words;
        const char *flags; /* of the first domain */
        const char *pods_unknown;
    } cases[] = {
        /* a takeover */
        {A_TO_B, "b1:zone-b", "blocked closed", NULL},
        {"{\"rack=r1\": [\"r2\"]}", "a1:zone-a", "blocked closed", NULL},
        {A_TO_B, "a1:zone-a b1:zone-b", "closed", NULL},
        {A_TO_B, "a1:zone-a:down:recorded b1:zone-b f:ip-a1", "closed", NULL},
        {A_TO_B, "a1:zone-a:recorded b1:zone-b:nodriver f:ip-a1", "blocked closed", NULL},
        {A_TO_B, "a1:zone-a:recorded b1:zone-b f:ip-a1", "closed", NULL},
        {A_TO_B, "a1:zone-a:recorded b1:zone-b:+zone-a f:ip-a1", "done closed", NULL},
        /* others take over now */
        {A_TO_C, OVER_TO_C "p:b1:zone-a:x", "drains closed", NULL},
        {A_TO_C, OVER_TO_C "r:b1:zone-a:x", "blocked drains closed", NULL},
        {A_TO_C, OVER_TO_C, "blocked drains closed", "dark"},
        /* a giveback */
        {"{}", "a1:zone-a:rebooted b1:zone-b:+zone-a f:ip-a1", "giveback closed", NULL},
        {"{}", "a1:zone-a:recorded:busy b1:zone-b:+zone-a f:ip-a1", "giveback blocked closed",
         NULL},
        {"{}", "a1:zone-a:recorded:busy b1:zone-b f:ip-a1", "giveback blocked closed", NULL},
        {"{}", "a1:zone-a a2:zone-a:recorded:busy b1:zone-b f:ip-a2", "giveback blocked", NULL},
        {"{}", "a1:zone-a b1:zone-b:+zone-a", "giveback closed", NULL},
        {"{}", "a1:zone-a:down b1:zone-b:-zone-a p:b1:zone-a:x", "giveback blocked closed", NULL},
        {"{}", "a1:zone-a b1:zone-b:-zone-a p:b1:zone-a:x", "giveback drains closed", NULL},
        {"{}", "a1:zone-a b1:zone-b:-zone-a r:b1:zone-a:x", "giveback blocked drains closed", NULL},
        {"{}", "a1:zone-a b1:zone-b:-zone-a", "giveback blocked drains", "dark"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_state_ struct state own = {0};
        _cleanup_takeover_plan_ struct takeover_plan plan = {0};

        state_init(&own, cases[i].map, cases[i].words);
        struct takeover_world world = world_of(&own);
        world.pods_unknown = cases[i].pods_unknown;
        takeover_plan_make(&world, &plan);
        assert_int_equal(plan.domain_count, 1);
        _cleanup_free_ char *flags = flags_of(&plan.domains[0]);
        if (strcmp(flags, cases[i].flags) != 0)
            fail_msg("%s with %s: '%s', not '%s'", cases[i].map, cases[i].words, flags,
                     cases[i].flags);
    }
}

static void check_steps(const char *map, const char *words, const char *steps,
                        const char *explanation)
{
    _cleanup_state_ struct state own = {0};
    _cleanup_takeover_plan_ struct takeover_plan plan = {0};

    state_init(&own, map, words);
    struct takeover_world world = world_of(&own);
    takeover_plan_make(&world, &plan);
    _cleanup_free_ char *planned = steps_of(&plan);
    if (strcmp(planned, steps) != 0 || !strstr(plan.domains[0].explanation, explanation))
        fail_msg("%s: '%s' and '%s', not '%s' and '%s'", words, planned,
                 plan.domains[0].explanation, steps, explanation);
}

TEST(every_address_of_a_node_counts)
{
    /* what was recorded is not all that is known now */
    check_steps(A_TO_B, "a1:zone-a:recorded:@ip-n b1:zone-b", "record a1", "not fenced yet");
    check_steps(A_TO_B, "a1:zone-a:!ip-old b1:zone-b f:ip-old", "record a1", "not fenced yet");
    check_steps(A_TO_B, "a1:zone-a:@ip-n:!ip-n:recorded b1:zone-b f:ip-n", "fence a1 ip-a1",
                "not fenced yet");
    check_steps("{}", "a1:zone-a:rebooted:!ip-z b1:zone-b:+zone-a f:ip-z", "unfence a1 ip-z",
                "let in again");
    check_steps("{}", "a1:zone-a:rebooted:!ip-z b1:zone-b:+zone-a f:ip-a1", "unfence a1 ip-a1",
                "let in again");
}

TEST(address_that_others_share_is_not_fenced)
{
    check_steps(A_TO_B, "a1:zone-a b1:zone-b:@ip-a1", "", "both come from ip-a1");
    check_steps(A_TO_B, "b1:zone-b a1:zone-a:@ip-s c1:zone-c:@ip-s", "", "both come from ip-s");
    /* those who are to be fenced themselves may share it */
    check_steps(A_TO_B, "a1:zone-a:@ip-s a2:zone-a:@ip-s b1:zone-b", "record a1; record a2",
                "2 of its nodes");
    check_steps("{\"zone-a\": [\"zone-b\"], \"zone-c\": [\"zone-b\"]}",
                "a1:zone-a:@ip-s c1:zone-c:@ip-s b1:zone-b", "record a1; record c1",
                "1 of its nodes");
    check_steps("{\"zone=zone-a\": [\"zone-b\"], \"zone=zone-c\": [\"zone-b\"]}",
                "a1:zone-a:@ip-s c1:zone-c:@ip-s b1:zone-b", "record a1; record c1",
                "1 of its nodes");
}

/* Though its plain segment is all that a node has. */
TEST(sharing_node_without_other_labels_is_known)
{
    _cleanup_state_ struct state own = {0};
    _cleanup_takeover_plan_ struct takeover_plan plan = {0};

    state_init(&own, "{\"zone-a\": [\"zone-b\"], \"zone-c\": [\"zone-b\"]}",
               "a1:zone-a:@ip-s b1:zone-b c1:zone-c:@ip-s");
    strmap_done(&own.nodes.items[2].labels);
    strmap_set(&own.nodes.items[2].labels, PREFIX "/zone", "zone-c");
    struct takeover_world world = world_of(&own);
    takeover_plan_make(&world, &plan);
    _cleanup_free_ char *steps = steps_of(&plan);
    assert_string_equal(steps, "record a1; record c1");
}

TEST(home_without_other_labels_is_given_back)
{
    _cleanup_state_ struct state own = {0};
    _cleanup_takeover_plan_ struct takeover_plan plan = {0};

    state_init(&own, "{}", "a1:zone-a:rebooted b1:zone-b f:ip-a1");
    strmap_done(&own.nodes.items[0].labels);
    strmap_set(&own.nodes.items[0].labels, PREFIX "/zone", "zone-a");
    struct takeover_world world = world_of(&own);
    takeover_plan_make(&world, &plan);
    _cleanup_free_ char *steps = steps_of(&plan);
    assert_string_equal(steps, "unfence a1 ip-a1");
}

TEST(first_node_is_no_exception)
{
    check_steps(A_TO_C, "b1:zone-b:+zone-a a1:zone-a:recorded c1:zone-c f:ip-a1",
                "unlabel b1 zone-a; label c1 zone-a", "taken over by 1 nodes, 2 of which");
    check_steps("{}", "b1:zone-b:+zone-a a1:zone-a", "unlabel b1 zone-a", "1 nodes stop");
}

/* A client that a volume knows, and the API server does not. */
TEST(client_without_a_node_is_fenced_too)
{
    static const struct {
        const char *words;
        const char *steps;
    } cases[] = {
        {"a1:zone-a:recorded b1:zone-b xx:nowhere:gone:@ip-x f:ip-a1", "record xx"},
        {"a1:zone-a:recorded b1:zone-b xx:nowhere:gone:@ip-x:!ip-x f:ip-a1", "fence xx ip-x"},
        {"a1:zone-a:recorded b1:zone-b xx:nowhere:gone:@ip-x:!ip-x f:ip-a1 f:ip-x",
         "label b1 zone-a"}, /* nothing can be tainted */
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_state_ struct state own = {0};
        _cleanup_takeover_plan_ struct takeover_plan plan = {0};

        state_init(&own, A_TO_B, cases[i].words);
        strmap_done(&own.nodes.items[2].labels);
        struct takeover_world world = world_of(&own);
        takeover_plan_make(&world, &plan);
        _cleanup_free_ char *steps = steps_of(&plan);
        assert_string_equal(steps, cases[i].steps);
        assert_true(string_list_has(&plan.domains[0].writers, "xx"));
    }
}

/* Though the label is all that the node has. */
TEST(label_of_a_domain_that_nobody_knows_goes)
{
    _cleanup_state_ struct state own = {0};
    _cleanup_takeover_plan_ struct takeover_plan plan = {0};

    state_init(&own, "{}", "b1:zone-b");
    strmap_done(&own.nodes.items[0].labels);
    strmap_set(&own.nodes.items[0].labels, PREFIX "/member.zone.zone-x", "true");
    struct takeover_world world = world_of(&own);
    takeover_plan_make(&world, &plan);
    _cleanup_free_ char *steps = steps_of(&plan);
    assert_string_equal(steps, "unlabel b1 zone-x");
}

/* The last of nine is left out of the explanation. */
TEST(eight_names_are_enough)
{
    static const struct {
        const char *words;
        const char *named;
    } cases[] = {
        {"a1:zone-a b1:zone-b:-zone-a r:b1:zone-a:n1 r:b1:zone-a:n2 r:b1:zone-a:n3 r:b1:zone-a:n4 "
         "r:b1:zone-a:n5 r:b1:zone-a:n6 r:b1:zone-a:n7 r:b1:zone-a:n8 r:b1:zone-a:n9",
         "moved by hand: 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', 'n8'"},
        {"n1:zone-a:recorded:busy n2:zone-a:recorded:busy n3:zone-a:recorded:busy "
         "n4:zone-a:recorded:busy n5:zone-a:recorded:busy n6:zone-a:recorded:busy "
         "n7:zone-a:recorded:busy n8:zone-a:recorded:busy n9:zone-a:recorded:busy "
         "f:ip-n1 f:ip-n2 f:ip-n3 f:ip-n4 f:ip-n5 f:ip-n6 f:ip-n7 f:ip-n8 f:ip-n9",
         "unwritten data: 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', 'n8'; reboot"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        check_steps("{}", cases[i].words, "", cases[i].named);
        _cleanup_state_ struct state own = {0};
        _cleanup_takeover_plan_ struct takeover_plan plan = {0};

        state_init(&own, "{}", cases[i].words);
        struct takeover_world world = world_of(&own);
        takeover_plan_make(&world, &plan);
        assert_null(strstr(plan.domains[0].explanation, "'n9'"));
    }
}

/* --- steps --- */

static struct takeover_step step_on(struct state *own, enum takeover_step_kind kind,
                                    const char *subject, const char *domain)
{
    return (struct takeover_step){.kind = kind,
                                  .node = &own->nodes.items[0],
                                  .subject = (char *)(uintptr_t)subject,
                                  .domain = (char *)(uintptr_t)domain};
}

TEST(steps_are_told_in_words)
{
    static const struct {
        enum takeover_step_kind kind;
        const char *subject;
        const char *text;
    } cases[] = {
        {TAKEOVER_RECORD, "", "note that node 'a1' will be fenced"},
        {TAKEOVER_RENEW, "", "note that node 'a1' has rebooted before it was fenced"},
        {TAKEOVER_FENCE, "10.0.0.7", "fence node 'a1': blocklist 10.0.0.7 in every cluster"},
        {TAKEOVER_LABEL, "k/member.x", "label node 'a1' k/member.x=true"},
        {TAKEOVER_EVICT, "shop/web-0", "evict from node 'a1' pod 'shop/web-0'"},
    };
    _cleanup_state_ struct state own = {0};

    state_init(&own, "{}", "a1:zone-a");
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct takeover_step step = step_on(&own, cases[i].kind, cases[i].subject, "zone=x");
        _cleanup_free_ char *text = takeover_step_text(&step);

        assert_string_equal(text, cases[i].text);
    }
}

TEST(assumed_steps_touch_nothing_else)
{
    _cleanup_state_ struct state own = {0};
    struct cluster_node *node = NULL;

    state_init(&own, "{}",
               "b1:zone-b:+zone-a:-zone-c:recorded:@ip-n f:ip-1 f:ip-2 h:ip-1 p:b1:zone-a:x "
               "p:b1:zone-a:y");
    node = &own.nodes.items[0];
    struct takeover_step step = step_on(&own, TAKEOVER_UNFENCE, "ip-1", "zone=zone-a");
    takeover_step_assume(&step, &own.nodes, &own.fenced, &own.pods);
    assert_int_equal(own.fenced.everywhere.count, 1);
    assert_true(string_list_has(&own.fenced.everywhere, "ip-2"));
    assert_int_equal(own.fenced.partly.count, 0);
    step = step_on(&own, TAKEOVER_RECORD, "", "zone=zone-a");
    takeover_step_assume(&step, &own.nodes, &own.fenced, &own.pods);
    assert_int_equal(node->fenced_addresses.count, 2);
    assert_string_equal(node->fenced_boot_id, "boot-1");
    step = step_on(&own, TAKEOVER_UNLABEL, PREFIX "/member.zone.zone-a", "zone=zone-a");
    takeover_step_assume(&step, &own.nodes, &own.fenced, &own.pods);
    takeover_step_assume(&step, &own.nodes, &own.fenced, &own.pods);
    assert_false(strmap_has(&node->labels, PREFIX "/member.zone.zone-a"));
    assert_true(strmap_has(&node->labels, PREFIX "/member.zone.zone-b"));
    assert_int_equal(node->draining.count, 2);
    step = step_on(&own, TAKEOVER_UNLABEL, PREFIX "/member.zone.zone-x", "nobody's");
    takeover_step_assume(&step, &own.nodes, &own.fenced, &own.pods);
    assert_int_equal(node->draining.count, 2); /* nobody's pods have to leave */
    step = step_on(&own, TAKEOVER_EVICT, "x", "zone=zone-c");
    takeover_step_assume(&step, &own.nodes, &own.fenced, &own.pods);
    assert_int_equal(own.pods.count, 2); /* of another domain */
    step = step_on(&own, TAKEOVER_EVICT, "y", "zone=zone-a");
    takeover_step_assume(&step, &own.nodes, &own.fenced, &own.pods);
    assert_int_equal(own.pods.count, 1);
    assert_string_equal(own.pods.items[0].name, "x");
    step = step_on(&own, TAKEOVER_DRAINED, "", "zone=zone-a");
    takeover_step_assume(&step, &own.nodes, &own.fenced, &own.pods);
    assert_int_equal(node->draining.count, 1);
    assert_true(string_list_has(&node->draining, "zone=zone-c"));
}

TEST(pods_can_be_listed_again_once_they_are_freed)
{
    _cleanup_state_ struct state own = {0};

    state_init(&own, "{}", "b1:zone-b p:b1:zone-a:x");
    takeover_pods_done(&own.pods);
    assert_int_equal(own.pods.count, 0);
    assert_null(own.pods.items);
}
