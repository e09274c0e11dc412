#include "tests/unit/fixtures/takeover_zones.h"

/* Takeovers and givebacks, interrupted anywhere. */

TEST(takeover_fences_taints_and_labels)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    zones_take_over(&zones);
    assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    assert_int_equal(zones.blocklist.count, ADDRESSES);
    json_auto_t *down = fake_kube_get(zones.fake_kube, NODE("a1"));
    json_t *taints = json_object_get(json_object_get(down, "spec"), "taints");
    assert_int_equal(json_array_size(taints), 2); /* the other one stays */
    json_auto_t *up = fake_kube_get(zones.fake_kube, NODE("a2"));
    taints = json_object_get(json_object_get(up, "spec"), "taints");
    assert_int_equal(json_array_size(taints), 1);
}

TEST(giveback_waits_for_a_reboot)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    fake_kube_put(zones.fake_kube, NOTES,
                  "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"data\": {}}");
    _cleanup_free_ char *before = zones_dump(&zones);
    zones_take_over(&zones);
    zones_set_map(&zones, "{}");
    zones_converge(&zones);
    assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    assert_int_equal(zones.blocklist.count, ADDRESSES);
    zones_reboot(&zones);
    zones_converge(&zones);
    assert_false(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    assert_int_equal(zones.blocklist.count, 0);
    zones_put_node(&zones, "a1", "zone-a", "10.0.0.1", false, "boot-1", true);
    zones_put_node(&zones, "a2", "zone-a", "fd00::2", true, "boot-1", true);
    _cleanup_free_ char *after = zones_dump(&zones);
    assert_string_equal(after, before); /* but for the reboot */
}

/* Lets the zone be given back, which must wait until what runs now on its nodes has ended. */
static void assert_another_reboot_is_needed(struct zones *zones)
{
    assert_int_equal(zones->blocklist.count, ADDRESSES);
    zones_set_map(zones, "{}");
    zones_converge(zones);
    assert_int_equal(zones->blocklist.count, ADDRESSES);
    zones_put_node(zones, "a1", "zone-a", "10.0.0.1", true, "boot-3", true);
    zones_put_node(zones, "a2", "zone-a", "fd00::2", true, "boot-3", true);
    zones_converge(zones);
    assert_int_equal(zones->blocklist.count, 0);
}

TEST(reboot_between_the_note_and_the_fence_proves_nothing)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    zones_set_map(&zones, A_TO_B);
    assert_true(zones_round(&zones, false) > 0); /* written down */
    assert_int_equal(zones.blocklist.count, 0);
    zones_reboot(&zones); /* and they go on writing */
    zones_converge(&zones);
    assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    assert_another_reboot_is_needed(&zones);
}

TEST(reboot_before_a_second_takeover_proves_nothing)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    zones_take_over(&zones);
    zones_reboot(&zones);
    zones_set_map(&zones, "{}");
    assert_true(zones_round(&zones, false) > 0);
    assert_int_equal(zones.blocklist.count, 0); /* they may write again */
    zones_put_node(&zones, "b1", "zone-b", "10.0.1.1", true, "boot-1", true);
    zones_take_over(&zones);
    assert_another_reboot_is_needed(&zones);
}

TEST(nobody_is_let_in_before_the_osds_keep_to_the_fences)
{
    _cleanup_zones_ struct zones zones = {.osds_are_silent = true};

    zones_init(&zones);
    zones_set_map(&zones, A_TO_B);
    for (int i = 0; i < 5; i++)
        zones_round(&zones, true);
    assert_int_equal(zones.blocklist.count, ADDRESSES);
    assert_false(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    json_auto_t *down = fake_kube_get(zones.fake_kube, NODE("a1"));
    assert_int_equal(json_array_size(json_object_get(json_object_get(down, "spec"), "taints")), 1);
    zones.osds_are_silent = false;
    zones_converge(&zones);
    assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
}

static void free_of_use(struct zones *zones)
{
    zones_put_node(zones, "a1", "zone-a", "10.0.0.1", true, "boot-1", false);
    zones_put_node(zones, "a2", "zone-a", "fd00::2", true, "boot-1", false);
}

/* Kubelet's word counts only where kubelet knows: for drivers that are attached. */
TEST(node_without_volumes_is_let_in)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    free_of_use(&zones);
    zones_take_over(&zones);
    fake_kube_put(zones.fake_kube, "/apis/storage.k8s.io/v1/csidrivers/" DRIVER,
                  "{\"spec\":{\"attachRequired\":false}}");
    zones_set_map(&zones, "{}");
    zones_converge(&zones);
    assert_int_equal(zones.blocklist.count, ADDRESSES);
    fake_kube_forbid(zones.fake_kube, "get", "/apis/storage.k8s.io/v1/csidrivers");
    zones_converge(&zones);
    assert_int_equal(zones.blocklist.count, ADDRESSES);
    fake_kube_forbid(zones.fake_kube, NULL, NULL);
    fake_kube_put(zones.fake_kube, "/apis/storage.k8s.io/v1/csidrivers/" DRIVER,
                  "{\"spec\":{\"attachRequired\":true}}");
    zones_converge(&zones);
    assert_int_equal(zones.blocklist.count, 0);
}

TEST(fence_that_soon_ends_is_none)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    string_list_add(&zones.blocklist, "10.0.0.1:0/0");
    string_list_add(&zones.blocklist, "[fd00::2]:0/0");
    string_list_add(&zones.blocklist, "10.0.0.1:6800/77");
    zones.until = "2001-01-01T00:00:00.000000+0000";
    zones_set_map(&zones, A_TO_B);
    for (int i = 0; i < 5; i++)
        zones_round(&zones, false);
    assert_false(zones_have_label(&zones, "b1", MEMBER "zone-a"));
}

TEST(without_ceph_or_rights_nothing_is_labelled)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    zones_set_map(&zones, A_TO_B);
    fake_ceph_refuse_connect(zones.fake_ceph, STATUS_DEADLINE_EXCEEDED);
    zones_converge(&zones);
    assert_false(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    fake_ceph_refuse_connect(zones.fake_ceph, STATUS_OK);
    fake_kube_forbid(zones.fake_kube, "create", "/api/v1/namespaces/ceph/configmaps");
    for (int i = 0; i < 3; i++)
        assert_int_equal(zones_round(&zones, true), -1);
    assert_int_equal(zones.blocklist.count, 0); /* nothing is fenced that is not written down */
    fake_kube_forbid(zones.fake_kube, NULL, NULL);
    fake_kube_forbid(zones.fake_kube, "get", NOTES);
    assert_int_equal(zones_round(&zones, true), -1); /* who knows what is fenced? */
    assert_int_equal(zones.blocklist.count, 0);
    fake_kube_forbid(zones.fake_kube, NULL, NULL);
    fake_kube_put(zones.fake_kube, NOTES, "{\"data\": {\"" DRIVER "_a1\": \"{\"}}");
    assert_int_equal(zones_round(&zones, true), -1);
    assert_int_equal(zones.blocklist.count, 0);
}

/* Who never takes anything over need not have the right. */
TEST(without_a_takeover_notes_need_not_be_seen)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    fake_kube_forbid(zones.fake_kube, "get", NOTES);
    assert_int_equal(zones_round(&zones, false), 0);
    fake_kube_forbid(zones.fake_kube, NULL, NULL);
    zones_take_over(&zones);
    zones_set_map(&zones, "{}");
    fake_kube_forbid(zones.fake_kube, "get", NOTES);
    assert_int_equal(zones_round(&zones, true), -1);
}

#define NOTE_OF_CEPHFS                                                                             \
    "{\"data\": {\"cephfs.csi.ceph.com_a1\": \"{\\\"addresses\\\": [\\\"10.0.0.1\\\"]}\"}}"

/* Both drivers have fenced a1. One of them is done. */
TEST(fence_outlives_the_giveback_of_one_driver)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    fake_kube_put(zones.fake_kube, NOTES, NOTE_OF_CEPHFS);
    zones_take_over(&zones);
    assert_int_equal(zones.blocklist.count, ADDRESSES);
    zones_set_map(&zones, "{}");
    zones_reboot(&zones);
    zones_converge(&zones);
    assert_int_equal(zones.blocklist.count, 1);
    assert_true(string_list_has(&zones.blocklist, "10.0.0.1:0/0"));
    assert_false(zones_have_label(&zones, "b1", MEMBER "zone-a")); /* a2 serves */
    json_auto_t *notes = fake_kube_get(zones.fake_kube, NOTES);
    assert_int_equal(json_object_size(json_object_get(notes, "data")), 1); /* theirs */
}

/* An administrator had fenced a1, and a client's address that a2 has used. */
TEST(fence_of_somebody_else_outlives_the_takeover)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    string_list_add(&zones.blocklist, "10.0.0.1:0/0");
    string_list_add(&zones.blocklist, "[fd01::2]:0/0");
    zones_take_over(&zones);
    assert_int_equal(zones.blocklist.count, ADDRESSES);
    zones_set_map(&zones, "{}");
    zones_reboot(&zones);
    zones_converge(&zones);
    assert_int_equal(zones.blocklist.count, 2);
    assert_true(string_list_has(&zones.blocklist, "10.0.0.1:0/0"));
    assert_true(string_list_has(&zones.blocklist, "[fd01::2]:0/0"));
    assert_false(zones_have_label(&zones, "b1", MEMBER "zone-a")); /* a2 serves */
    json_auto_t *notes = fake_kube_get(zones.fake_kube, NOTES);
    assert_int_equal(json_object_size(json_object_get(notes, "data")), 0);
}

/* What nodes can write on themselves is not believed. */
TEST(annotation_of_a_node_fences_and_unfences_nobody)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    json_auto_t *item = fake_kube_get(zones.fake_kube, NODE("c1"));
    json_object_set_new(json_object_get(item, "metadata"), "annotations",
                        json_pack("{s:s}", "takeover." DRIVER "/fence",
                                  "{\"addresses\": [\"10.7.7.7\"], \"bootID\": \"boot-0\"}"));
    _cleanup_free_ char *text = json_dumps(item, 0);
    fake_kube_put(zones.fake_kube, NODE("c1"), text);
    string_list_add(&zones.blocklist, "10.7.7.7:0/0");
    zones_converge(&zones);
    assert_int_equal(zones.blocklist.count, 1); /* somebody else's */
    zones_set_map(&zones, "{\"zone-c\": [\"zone-a\"]}");
    zones_round(&zones, true);
    zones_round(&zones, true);
    assert_true(string_list_has(&zones.blocklist, "10.0.2.1:0/0"));
    assert_int_equal(zones.blocklist.count, 2);
}

/* Runs with call @n failing, then without, and compares with a run that was never disturbed. True
 * if there was no such call. */
static bool run_interrupted(bool is_giveback, int kind, unsigned n, const char *wanted)
{
    const bool in_kube = kind < 4;
    const int failure = kind % 4;
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    if (is_giveback) {
        zones_take_over(&zones);
        zones_put_pods(&zones);
        zones_reboot(&zones);
    }
    zones_set_map(&zones, is_giveback ? "{}" : A_TO_B);
    if (in_kube)
        fake_kube_fail_call(zones.fake_kube, n, (enum fake_kube_failure)failure);
    else
        fake_ceph_fail_call(zones.fake_ceph, n, (enum fake_failure)failure);
    for (int i = 0; i < 20 && zones_round(&zones, true) > 0; i++)
        ;
    bool over = in_kube ? fake_kube_fault_is_pending(zones.fake_kube)
                        : fake_ceph_fault_is_pending(zones.fake_ceph);
    fake_kube_recover(zones.fake_kube);
    fake_ceph_recover(zones.fake_ceph);
    zones_converge(&zones);
    _cleanup_free_ char *found = zones_dump(&zones);
    assert_string_equal(found, wanted);
    return over;
}

/* Calls that each way makes at least, of each server. */
#define CALLS_MIN 8

TEST(every_interruption_is_continued)
{
    for (int is_giveback = 0; is_giveback < 2; is_giveback++) {
        _cleanup_zones_ struct zones undisturbed = {0};

        zones_init(&undisturbed);
        zones_take_over(&undisturbed);
        if (is_giveback) {
            zones_put_pods(&undisturbed);
            zones_reboot(&undisturbed);
            zones_set_map(&undisturbed, "{}");
            zones_converge(&undisturbed);
        }
        _cleanup_free_ char *wanted = zones_dump(&undisturbed);
        for (int kind = 0; kind < 8; kind++) {
            unsigned n = 1;

            while (n < 200 && !run_interrupted(is_giveback, kind, n, wanted))
                n++;
            assert_true(n < 200);
            assert_true(n > CALLS_MIN);
        }
    }
}
