#include "tests/unit/fixtures/takeover_zones.h"

/* Clients that only the volumes know. */

#define IMAGE(name)                                                                                \
    "\"staticVolume\":\"true\",\"clusterID\":\"c1\",\"pool\":\"" POOL "\",\"imageName\":\"" name   \
    "\""

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

/* A Node that was deleted says nothing of its machine. */
TEST(client_without_a_node_is_not_forgotten)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    zones_put_image(&zones, "by-hand", RECORD("gone"), "192.168.0.9:0/77");
    zones_put_image(&zones, "by-hand", RECORD("long-gone"),
                    "192.168.0.8:0/77"); /* nothing attached */
    zones_attach(&zones, "pv-2", "gone");
    zones_take_over(&zones);
    assert_true(string_list_has(&zones.blocklist, "192.168.0.9:0/0"));
    assert_int_equal(zones.blocklist.count, ADDRESSES + 1);
    assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    zones_set_map(&zones, "{}");
    zones_reboot(&zones);
    zones_converge(&zones); /* nobody knows what became of it */
    assert_false(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    assert_int_equal(zones.blocklist.count, 1);
}

/* Where nothing is attached, a record is all there is. */
TEST(client_without_a_node_counts_where_nothing_is_attached)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    fake_kube_put(zones.fake_kube, "/apis/storage.k8s.io/v1/csidrivers/" DRIVER,
                  "{\"spec\":{\"attachRequired\":false}}");
    zones_put_image(&zones, "by-hand", RECORD("gone"), "192.168.0.9:0/77");
    zones_put_image(&zones, "by-hand", RECORD("replaced"), "10.0.2.1:0/77"); /* c1 has it now */
    zones_take_over(&zones);
    assert_true(string_list_has(&zones.blocklist, "192.168.0.9:0/0"));
    assert_int_equal(zones.blocklist.count, ADDRESSES + 1);
}

TEST(volume_in_use_without_a_record_stops_it)
{
    _cleanup_zones_ struct zones zones = {0};
    _cleanup_takeover_scan_ struct takeover_scan scan = {0};

    zones_init(&zones);
    zones_put_image(&zones, "unknown", "other", "1");
    zones_put_pv(&zones, "pv-9", "unknown", MEMBER "zone-a", "true", IMAGE("unknown"));
    zones_attach(&zones, "pv-9", "a1");
    zones_set_map(&zones, A_TO_B);
    zones_converge(&zones);
    assert_int_equal(zones.blocklist.count, 0);
    assert_non_null(strstr(explanation_of(&zones, &scan),
                           "who may write to its volumes is not known: volume 'pv-9' is in use on "
                           "node 'a1' and has no record of the client there; restart"));
    zones_put_image(&zones, "unknown", RECORD("id-of-a1"), "192.168.0.1:0/78");
    zones_converge(&zones);
    assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
}

/* Nothing is attached, as with CephFS: the pods of a1 and a2 say what they have. */
TEST(volume_of_a_pod_without_a_record_stops_it)
{
    _cleanup_zones_ struct zones zones = {0};
    _cleanup_takeover_scan_ struct takeover_scan scan = {0};
    _cleanup_takeover_scan_ struct takeover_scan blind = {0};

    zones_init(&zones);
    fake_kube_put(zones.fake_kube, "/apis/storage.k8s.io/v1/csidrivers/" DRIVER,
                  "{\"spec\":{\"attachRequired\":false}}");
    zones_put_image(&zones, "unknown", RECORD("a1"), "192.168.0.1:0/78");
    zones_put_pv(&zones, "pv-9", "unknown", MEMBER "zone-b", "true", IMAGE("unknown"));
    zones_put_pod(&zones, POD("one"), "a1", "pv-9");
    zones_put_pod(&zones, POD("two"), "a2", "pv-9");
    zones_put_pod(&zones, POD("elsewhere"), "c1", "pv-9"); /* which goes on */
    zones_set_map(&zones, A_TO_B);
    zones_converge(&zones);
    assert_int_equal(zones.blocklist.count, 0);
    assert_non_null(strstr(explanation_of(&zones, &scan),
                           "who may write to its volumes is not known: volume 'pv-9' is in use on "
                           "node 'a2' and has no record of the client there; restart"));
    zones_put_image(&zones, "unknown", RECORD("id-of-a2"), "192.168.7.7:0/78");
    fake_kube_forbid(zones.fake_kube, "list", "/api/v1/pods");
    assert_non_null(strstr(explanation_of(&zones, &blind), "is not known: "));
    fake_kube_forbid(zones.fake_kube, NULL, NULL);
    zones_converge(&zones);
    assert_true(string_list_has(&zones.blocklist, "192.168.7.7:0/0"));
    assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
}

/* A record is written by its node, which may write anything. */
TEST(address_of_ceph_itself_is_not_fenced)
{
    static const struct {
        const char *osd;
        const char *manager;
        const char *said;
    } cases[] = {
        {"192.168.0.1", NULL, "192.168.0.1 of node 'a1' is the address of osd.3"},
        {NULL, "192.168.0.1", "192.168.0.1 of node 'a1' is the address of mds.x"},
        {NULL, "[v2:10.0.0.1:6800/7,v1:10.0.0.1:6801/7]", "is the address of mds.x"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_zones_ struct zones zones = {.osd_address = cases[i].osd,
                                              .manager_address = cases[i].manager};
        _cleanup_takeover_scan_ struct takeover_scan scan = {0};

        zones_init(&zones);
        zones_set_map(&zones, A_TO_B);
        zones_converge(&zones);
        assert_int_equal(zones.blocklist.count, 0);
        assert_non_null(strstr(explanation_of(&zones, &scan), cases[i].said));
    }
    _cleanup_zones_ struct zones zones = {.hides_managers = true};
    zones_init(&zones);
    zones_take_over(&zones);
    assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
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
