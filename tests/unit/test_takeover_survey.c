#include "tests/unit/fixtures/takeover_zones.h"

/* Clients that only the volumes know. */

static const char *explanation_of(struct zones *zones, struct takeover_scan *scan)
{
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "test", deadline_in_ms(60000));
    if (takeover_scan_read(&zones->site, &call, &zones->map, scan, &err) < 0)
        fail_msg("%s", err.message);
    call_done(&call);
    assert_int_equal(scan->plan.domain_count, 1);
    return scan->plan.domains[0].explanation;
}

TEST(volume_that_cannot_be_asked_stops_it)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    zones_put_image(&zones, "by-hand", RECORD("a1"), "-");
    zones_set_map(&zones, A_TO_B);
    zones_converge(&zones);
    assert_int_equal(zones.blocklist.count, 0);
    zones_put_image(&zones, "by-hand", RECORD("a1"), "192.168.0.1:0/77");
    zones_put_pv(&zones, "pv-5", "0001-0002-c9-0000000000000007-" UUID, MEMBER "zone-a", "true",
                 "");
    zones_converge(&zones); /* in a cluster that nobody knows */
    assert_int_equal(zones.blocklist.count, 0);
    fake_kube_drop(zones.fake_kube, "/api/v1/persistentvolumes/pv-5");
    fake_kube_forbid(zones.fake_kube, "list", "/apis/storage.k8s.io/v1/volumeattachments");
    zones_converge(&zones);
    assert_int_equal(zones.blocklist.count, 0);
    fake_kube_forbid(zones.fake_kube, NULL, NULL);
    zones_converge(&zones);
    assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
}

/* A Node that was deleted cannot be noted on: somebody else has to fence it. */
TEST(client_without_a_node_is_not_forgotten)
{
    _cleanup_zones_ struct zones zones = {0};
    _cleanup_takeover_scan_ struct takeover_scan scan = {0};

    zones_init(&zones);
    zones_put_image(&zones, "by-hand", RECORD("gone"), "192.168.0.9:0/77");
    zones_put_image(&zones, "by-hand", RECORD("long-gone"),
                    "192.168.0.8:0/77"); /* nothing attached */
    zones_attach(&zones, "pv-2", "gone");
    zones_set_map(&zones, A_TO_B);
    zones_converge(&zones);
    assert_int_equal(zones.blocklist.count, 0);
    assert_non_null(strstr(explanation_of(&zones, &scan),
                           "'gone' at 192.168.0.9, whose Node is gone; fence it by hand: ceph osd "
                           "blocklist add 192.168.0.9:0/0 157784760"));
    string_list_add(&zones.blocklist, "192.168.0.9:0/0");
    zones_converge(&zones);
    assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    assert_int_equal(zones.blocklist.count, ADDRESSES + 1);
}

TEST(address_of_others_is_not_fenced)
{
    _cleanup_zones_ struct zones zones = {0};
    _cleanup_takeover_scan_ struct takeover_scan scan = {0};

    zones_init(&zones);
    zones_put_image(&zones, "by-hand", RECORD("a1"), "192.168.0.1:0/77");
    zones_put_image(&zones, "by-hand", RECORD("b1"), "192.168.0.1:0/78");
    zones_set_map(&zones, A_TO_B);
    zones_converge(&zones);
    assert_int_equal(zones.blocklist.count, 0);
    assert_non_null(strstr(explanation_of(&zones, &scan), "both come from 192.168.0.1"));
}

/* A node that maps something after it was written down is found before anybody is labelled. */
TEST(late_client_is_fenced_too)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    zones_set_map(&zones, A_TO_B);
    assert_true(zones_round(&zones, false) > 0); /* written down */
    zones_put_image(&zones, "by-hand", RECORD("a1"), "192.168.7.7:0/1");
    zones_converge(&zones);
    assert_true(string_list_has(&zones.blocklist, "192.168.7.7:0/0"));
    assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
}
