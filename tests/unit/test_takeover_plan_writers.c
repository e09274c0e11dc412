/*
 * Who may write to the volumes of a domain while its takeover changes: nodes that share an address,
 * a second failure, another target, home nodes that are deleted.
 */
#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/unit/fixtures/takeover_state.h"

#define A_TO_C "{\"zone-a\": [\"zone-c\"]}"
#define BOTH_TO_C "{\"zone-a\": [\"zone-c\"], \"zone-b\": [\"zone-c\"]}"
#define A_OUT "a1:zone-a:down:recorded:ours "

static void check_world(struct takeover_world world, const char *words, const char *steps,
                        const char *explanation)
{
    _cleanup_takeover_plan_ struct takeover_plan plan = {0};

    takeover_plan_make(&world, &plan);
    _cleanup_free_ char *planned = steps_of(&plan);
    const char *said = plan.domain_count ? plan.domains[0].explanation : "";
    if (strcmp(planned, steps) != 0 || !strstr(said, explanation))
        fail_msg("%s: '%s' and '%s', not '%s' and '%s'", words, planned, said, steps, explanation);
}

static void check(const char *map, const char *words, const char *steps, const char *explanation)
{
    _cleanup_state_ struct state own = {0};

    state_init(&own, map, words);
    check_world(world_of(&own), words, steps, explanation);
}

/* With levels of a second kind, which all nodes share. */
static void check_two_levels(const char *map, const char *words, const char *steps,
                             const char *explanation)
{
    _cleanup_state_ struct state own = {0};

    state_init(&own, map, words);
    for (size_t i = 0; i < own.nodes.count; i++)
        strmap_set(&own.nodes.items[i].labels, PREFIX "/region", "r1");
    check_world(world_of(&own), words, steps, explanation);
}

TEST(address_that_another_node_needs_fenced_stays_fenced)
{
    check("{}",
          "a1:zone-a:rebooted:!ip-s a2:zone-a:recorded:busy:!ip-s b1:zone-b:+zone-a f:ip-a1 "
          "f:ip-a2 f:ip-s",
          "unfence a1 ip-a1", "let in again");
    check("{}",
          "a1:zone-a:rebooted:!ip-s a2:zone-a:recorded:busy:!ip-s b1:zone-b:+zone-a f:ip-a2 f:ip-s",
          "", "'a1' comes from ip-s, which stays fenced for node 'a2'");
    /* both may be let in: the address is given up by the one and taken off for the other */
    check("{}", "a1:zone-a:rebooted:!ip-s a2:zone-a:rebooted:!ip-s b1:zone-b f:ip-s",
          "unfence a1 ip-s", "let in again");
}

/* A note of the other driver for node @node. */
static struct fence_note note_of_other(const char *node, const char *address, bool is_releasing)
{
    struct fence_note note = {.driver = (char *)(uintptr_t) "cephfs.csi.ceph.com",
                              .node = (char *)(uintptr_t)node};

    string_list_add(&note.addresses, address);
    if (is_releasing)
        string_list_add(&note.releasing, address);
    return note;
}

static void check_with_note(const char *map, const char *words, struct fence_note note,
                            const char *steps, const char *explanation)
{
    _cleanup_state_ struct state own = {0};
    const struct fence_notes notes = {.items = &note, .count = 1};

    state_init(&own, map, words);
    struct takeover_world world = world_of(&own);
    world.notes = &notes;
    check_world(world, words, steps, explanation);
    string_list_done(&note.addresses);
    string_list_done(&note.releasing);
}

TEST(address_that_another_driver_needs_fenced_stays_fenced)
{
    static const char *const back = "a1:zone-a:rebooted b1:zone-b:+zone-a f:ip-a1";

    /* our note goes, the fence is theirs */
    check_with_note("{}", back, note_of_other("a1", "ip-a1", false), "forget a1", "let in again");
    check_with_note("{}", back, note_of_other("a1", "ip-x", false), "unfence a1 ip-a1",
                    "let in again");
    check_with_note("{}", back, note_of_other("a1", "ip-a1", true), "unfence a1 ip-a1",
                    "let in again");
    /* and until they are done, the node does not serve */
    check_with_note("{}", "a1:zone-a b1:zone-b:+zone-a f:ip-a1",
                    note_of_other("a1", "ip-a1", false), "",
                    "none of its nodes is back; 'a1' at ip-a1 is still fenced by "
                    "cephfs.csi.ceph.com, for node 'a1'");
}

/* An entry that another driver is about to remove is none. */
TEST(fence_that_another_driver_removes_does_not_count)
{
    static const char *const words = "a1:zone-a:recorded b1:zone-b f:ip-a1";

    check_with_note(A_TO_B, words, note_of_other("a1", "ip-a1", true), "fence a1 ip-a1",
                    "not fenced yet");
    check_with_note(A_TO_B, words, note_of_other("a1", "ip-a1", false), "label b1 zone-a",
                    "taken over by 1 nodes");
    /* nor is one that we were about to remove, unless that is taken back */
    check(A_TO_B, "a1:zone-a:recorded:releasing b1:zone-b f:ip-a1", "record a1", "not fenced yet");
}

TEST(fence_that_vanished_is_made_again_in_a_giveback)
{
    check("{}", "a1:zone-a:recorded:busy b1:zone-b:+zone-a", "fence a1 ip-a1",
          "1 of its nodes have lost their fence");
    check("{}", "a1:zone-a a2:zone-a:recorded:down:!ip-n b1:zone-b:+zone-a f:ip-n",
          "fence a2 ip-a2", "1 of its nodes have lost their fence");
    check("{}", "a1:zone-a a2:zone-a:recorded:down:!ip-n b1:zone-b:+zone-a f:ip-a2",
          "fence a2 ip-n", "1 of its nodes have lost their fence");
}

/* Only the reboot of what was running when the fence was made proves anything. */
TEST(reboot_before_the_fence_does_not_count)
{
    /* it was written down, rebooted, and may have written before it was fenced */
    check(A_TO_B, "a1:zone-a:rebooted b1:zone-b", "renew a1", "not fenced yet");
    check(A_TO_B, "a1:zone-a:recorded b1:zone-b", "fence a1 ip-a1", "not fenced yet");
    check(A_TO_B, "a1:zone-a:rebooted b1:zone-b f:ip-a1", "label b1 zone-a", "taken over");
    check(A_TO_B, "a1:zone-a:rebooted:!ip-n b1:zone-b f:ip-a1", "renew a1", "not fenced yet");
    /* a fence that vanishes lets in whoever runs now */
    check("{}", "a1:zone-a:rebooted:down b1:zone-b:+zone-a", "renew a1",
          "1 of its nodes have lost their fence");
}

TEST(node_that_somebody_fenced_is_not_back)
{
    check("{}", "a1:zone-a b1:zone-b:+zone-a f:ip-a1", "",
          "none of its nodes is back; 'a1' at ip-a1 is in the blocklist, by nobody that is known");
    check("{}", "a1:zone-a a2:zone-a b1:zone-b:+zone-a f:ip-a1", "unlabel b1 zone-a",
          "1 nodes stop serving");
}

/* Unfencing stopped after one of several clusters. */
TEST(fence_that_one_cluster_still_has_is_none_and_not_gone)
{
    check("{}", "a1:zone-a:rebooted b1:zone-b:+zone-a h:ip-a1", "unfence a1 ip-a1", "let in again");
    check("{}", "a1:zone-a:rebooted b1:zone-b:+zone-a", "forget a1", "let in again");
    check("{}", "a1:zone-a b1:zone-b:+zone-a h:ip-a1", "",
          "none of its nodes is back; 'a1' at ip-a1 is in the blocklist");
    check(A_TO_B, "a1:zone-a:recorded b1:zone-b h:ip-a1", "fence a1 ip-a1", "not fenced yet");
}

TEST(fence_that_was_there_before_is_not_removed)
{
    check("{}", "a1:zone-a:rebooted:?ip-x b1:zone-b:+zone-a f:ip-a1 f:ip-x", "unfence a1 ip-a1",
          "let in again");
    check("{}", "a1:zone-a:rebooted:?ip-x b1:zone-b:+zone-a f:ip-x", "forget a1", "let in again");
    /* they have removed it, and it is needed: from now on it is ours */
    check(A_TO_B, "a1:zone-a:recorded:?ip-x b1:zone-b f:ip-a1", "record a1", "not fenced yet");
    check(A_TO_B, "a1:zone-a:recorded:?ip-x b1:zone-b f:ip-a1 f:ip-x", "label b1 zone-a",
          "taken over by 1 nodes");
}

/* As somebody else fences networks. */
TEST(node_in_a_fenced_range_is_not_back)
{
    check("{}", "a1:zone-a:@10.0.0.7 b1:zone-b:+zone-a g:10.0.1.0/24 g:10.0.0.0/24", "",
          "none of its nodes is back; 'a1' at 10.0.0.7 is in the blocklist, in the range "
          "10.0.0.0/24");
    check("{}", "a1:zone-a:@10.0.0.7 b1:zone-b:+zone-a g:10.0.1.0/24", "unlabel b1 zone-a",
          "1 nodes stop serving");
    /* it is no fence of a takeover */
    check(A_TO_B, "a1:zone-a:noaddress:@10.0.0.7:!10.0.0.7 b1:zone-b g:10.0.0.0/24",
          "fence a1 10.0.0.7", "not fenced yet");
}

/* Their notes stay, and so does what they say. */
TEST(home_nodes_that_were_deleted_do_not_stop_it)
{
    static const char *const gone = "a1:zone-a:recorded:gone b1:zone-b:+zone-a b2:zone-b f:ip-a1";

    check(A_TO_B, gone, "label b2 zone-a", "taken over by 2 nodes, 1 of which");
    check_two_levels(A_TO_B, gone, "label b2 zone-a", "taken over by 2 nodes, 1 of which");
    check(A_TO_B, "a1:zone-a:recorded:gone b1:zone-b:+zone-a b2:zone-b", "fence a1 ip-a1",
          "not fenced yet");
    check("{}", gone, "", "none of its nodes is back; reboot 'a1' (its Node is gone)");
    check("{}", "a1:zone-a:recorded:gone a9:zone-a b1:zone-b:+zone-a f:ip-a1", "unlabel b1 zone-a",
          "still fenced");
}

/* Another machine has got the name of the one that was fenced, which may be alive. */
TEST(machine_that_was_replaced_stays_fenced)
{
    static const char *const said = "reboot 'a1' (its Node is now another machine's)";

    check("{}", "a1:zone-a:rebooted:replaced:!ip-n b1:zone-b:+zone-a f:ip-a1 f:ip-n", "", said);
    check("{}", "a1:zone-a:rebooted:replaced:!ip-n:@ip-n b1:zone-b:+zone-a f:ip-a1 f:ip-n", "",
          said); /* of a volume that the first one has used */
    check("{}", "a1:zone-a:recorded:replaced:!ip-n b1:zone-b:+zone-a f:ip-a1", "fence a1 ip-n",
          "lost their fence");
    /* nothing fenced is left to the first one */
    check("{}", "a1:zone-a:rebooted:replaced b1:zone-b:+zone-a f:ip-a1", "unfence a1 ip-a1",
          "let in again");
    /* the zone works without it */
    check("{}", "a1:zone-a:recorded:replaced:!ip-n a2:zone-a b1:zone-b:+zone-a f:ip-a1 f:ip-n",
          "unlabel b1 zone-a", "still fenced");
}

TEST(second_failure_fences_who_took_over)
{
    check(A_TO_C, A_OUT "b1:zone-b:down:+zone-a c1:zone-c f:ip-a1", "record b1", "not fenced yet");
    check(A_TO_C, A_OUT "b1:zone-b:down:recorded:+zone-a c1:zone-c f:ip-a1", "fence b1 ip-b1",
          "not fenced yet");
    check(A_TO_C, A_OUT "b1:zone-b:down:recorded:+zone-a c1:zone-c f:ip-a1 f:ip-b1", "taint b1",
          "being released");
    check(A_TO_C, A_OUT "b1:zone-b:down:recorded:ours:+zone-a c1:zone-c f:ip-a1 f:ip-b1",
          "unlabel b1 zone-a; label c1 zone-a", "taken over by 1 nodes");
    /* its pods have to leave, and it went down meanwhile */
    check(A_TO_C, A_OUT "b1:zone-b:down:-zone-a c1:zone-c:+zone-a f:ip-a1", "record b1",
          "not fenced yet");
    /* one that is up ends its pods itself, and Kubernetes waits for it */
    check(A_TO_C, A_OUT "b1:zone-b:+zone-a c1:zone-c f:ip-a1", "unlabel b1 zone-a; label c1 zone-a",
          "taken over by 1 nodes");
}

/* Nodes reported it themselves, and kubelet still has it. */
TEST(second_failure_fences_who_took_over_by_nodeinfo)
{
    check(A_TO_C, A_OUT "b1:zone-b:down:*zone-a c1:zone-c f:ip-a1", "record b1", "not fenced yet");
    check(BOTH_TO_C, A_OUT "b1:zone-b:*zone-a c1:zone-c f:ip-a1", "record b1", "not fenced yet");
    check(A_TO_C, A_OUT "b1:zone-b:down:recorded:ours:*zone-a c1:zone-c f:ip-a1 f:ip-b1",
          "label c1 zone-a", "taken over by 1 nodes"); /* kubelet's label is not ours to remove */
    check(A_TO_C, A_OUT "b1:zone-b:*zone-a c1:zone-c f:ip-a1", "label c1 zone-a",
          "taken over by 1 nodes");
}

TEST(fences_of_all_entries_come_before_labels)
{
    /* b1 is up, but its zone is declared failed */
    check(BOTH_TO_C, A_OUT "b1:zone-b:+zone-a c1:zone-c f:ip-a1", "record b1", "not fenced yet");
    check(BOTH_TO_C, A_OUT "b1:zone-b:recorded:+zone-a c1:zone-c f:ip-a1", "fence b1 ip-b1",
          "not fenced yet");
    check(BOTH_TO_C, A_OUT "b1:zone-b:recorded:+zone-a c1:zone-c f:ip-a1 f:ip-b1",
          "unlabel b1 zone-a; label c1 zone-a; label c1 zone-b", "taken over by 1 nodes");
    /* the one who took over has failed, and nobody else is named */
    check("{\"zone-a\": [\"zone-b\"], \"zone-b\": [\"zone-c\"]}",
          A_OUT "b1:zone-b:+zone-a c1:zone-c f:ip-a1", "record b1", "not fenced yet");
    check("{\"zone-a\": [\"zone-b\"], \"zone-b\": [\"zone-c\"]}",
          A_OUT "b1:zone-b:recorded:+zone-a c1:zone-c f:ip-a1 f:ip-b1", "label c1 zone-b",
          "all that take over are being taken over themselves");
}

/* What the operator says of a domain's own nodes is not said of those that served it. */
TEST(unfenced_takeover_fences_who_took_over)
{
    static const char map[] = "{\"zone-a\": {\"to\": [\"zone-c\"], \"fence\": \"none\"}}";

    check(map, "a1:zone-a:down b1:zone-b:down:+zone-a c1:zone-c", "record b1", "not fenced yet");
    check(map, "a1:zone-a:down b1:zone-b:down:recorded:ours:+zone-a c1:zone-c f:ip-b1",
          "unlabel b1 zone-a; label c1 zone-a", "taken over by 1 nodes");
}

TEST(label_of_a_domain_in_the_map_is_never_taken_away)
{
    static const char unfenced[] = "{\"zone-a\": {\"to\": [\"zone-b\"], \"fence\": \"none\"}}";

    check_two_levels(A_TO_B, "b1:zone-b:+zone-a c1:zone-c", "", "nothing tells whom to fence");
    check_two_levels("{\"zone-a\": [\"all\"]}", "b1:zone-b:+zone-a c1:zone-c", "",
                     "nothing tells whom to fence");
    check_two_levels("{\"zone-a\": [\"all\"]}", "c1:zone-c b1:zone-b:+zone-a", "",
                     "nothing tells whom to fence");
    check_two_levels("{\"zone-a\": [\"nowhere\"]}", "b1:zone-b c1:zone-c", "",
                     "no node is at home there");
    check_two_levels(unfenced, "b1:zone-b:+zone-a b2:zone-b", "label b2 zone-a",
                     "taken over by 2 nodes");
    check_two_levels("{\"zone-a\": {\"to\": [\"all\"], \"fence\": \"none\"}}",
                     "b1:zone-b b2:zone-b", "", "write level=value");
}

/* Nothing but the domains that take it over tells its level. */
TEST(level_of_a_domain_is_that_of_its_targets)
{
    static const char unfenced[] = "{\"zone-a\": {\"to\": [\"nowhere\", \"zone-b\"],"
                                   " \"fence\": \"none\"}}";

    check_two_levels(A_TO_B, "c1:zone-c b1:zone-b", "", "nothing tells whom to fence");
    check_two_levels(unfenced, "c1:zone-c b1:zone-b", "label b1 zone-a", "taken over by 1 nodes");
}

/* All nodes of the level are gone for now. */
TEST(label_of_a_level_without_nodes_stays_while_the_map_has_it)
{
    _cleanup_state_ struct state own = {0};

    state_init(&own, "{\"rack=r1\": [\"r2\"]}", "b1:zone-b c1:zone-c");
    strmap_set(&own.nodes.items[0].labels, PREFIX "/member.rack.r1", "true");
    check_world(world_of(&own), "a label of rack r1", "", "nor on that level at all");
    strmap_set(&own.nodes.items[1].labels, PREFIX "/member.rack.r3", "true");
    check_world(world_of(&own), "one of r3 as well", "unlabel c1 " PREFIX "/member.rack.r3",
                "nor on that level at all");
}

TEST(address_of_a_daemon_is_not_fenced)
{
    _cleanup_state_ struct state own = {0};
    _cleanup_strmap_ struct strmap daemons = {0};

    state_init(&own, A_TO_B, "a1:zone-a:@ip-d b1:zone-b");
    struct takeover_world world = world_of(&own);
    world.daemons = &daemons;
    strmap_set(&daemons, "ip-x", "mon.a");
    check_world(world, "a daemon elsewhere", "record a1", "not fenced yet");
    strmap_set(&daemons, "ip-d", "osd.3");
    check_world(world, "a daemon at the second address", "",
                "ip-d of node 'a1' is the address of osd.3, which a fence would stop");
}

TEST(level_of_a_domain_is_that_of_its_nodes)
{
    _cleanup_state_ struct state own = {0};
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *level = NULL;
    char *none = NULL;

    state_init(&own, "{}", "a1:zone-a b1:zone-b");
    for (size_t i = 0; i < own.nodes.count; i++)
        strmap_set(&own.nodes.items[i].labels, PREFIX "/region", "r1");
    assert_int_equal(takeover_level_of(PREFIX, &own.nodes, "zone-a", &level, &err), 0);
    assert_string_equal(level, "zone");
    assert_int_equal(takeover_level_of(PREFIX, &own.nodes, "zone-x", &none, &err), -1);
    assert_non_null(strstr(err.message, "no node is at home there"));
    error_clear(&err);
    strmap_set(&own.nodes.items[1].labels, PREFIX "/region", "zone-a");
    assert_int_equal(takeover_level_of(PREFIX, &own.nodes, "zone-a", &none, &err), -1);
    assert_non_null(strstr(err.message, "'region=zone-a' or 'zone=zone-a'"));
}
