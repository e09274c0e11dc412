#include "tests/unit/fixtures/takeover_zones.h"

/* Pods that have to leave nodes during a giveback. */

TEST(pods_move_back_when_all_else_is_done)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    zones_take_over(&zones);
    zones_put_pods(&zones);
    zones_reboot(&zones);
    zones_set_map(&zones, "{}");
    zones_converge(&zones);
    assert_false(zones_has_pod(&zones, POD("x1")) || zones_has_pod(&zones, POD("x7")));
    assert_true(zones_has_pod(&zones, POD("of-b")) && zones_has_pod(&zones, POD("elsewhere")));
    json_auto_t *node = fake_kube_get(zones.fake_kube, NODE("b1"));
    assert_int_equal(
        json_object_size(json_object_get(json_object_get(node, "metadata"), "annotations")), 0);
}

TEST(budget_is_respected)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    zones_take_over(&zones);
    zones_put_pods(&zones);
    zones_reboot(&zones);
    zones_set_map(&zones, "{}");
    fake_kube_protect(zones.fake_kube, POD("x4"));
    zones_converge(&zones);
    assert_false(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    assert_true(zones_has_pod(&zones, POD("x4")));
    assert_false(zones_has_pod(&zones, POD("x1")) || zones_has_pod(&zones, POD("x7")));
    fake_kube_protect(zones.fake_kube, NULL);
    zones_converge(&zones);
    assert_false(zones_has_pod(&zones, POD("x4")));
}

TEST(without_the_right_pods_stay)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    zones_take_over(&zones);
    zones_put_pods(&zones);
    zones_reboot(&zones);
    zones_set_map(&zones, "{}");
    fake_kube_forbid(zones.fake_kube, "list", "/api/v1/pods");
    zones_converge(&zones);
    assert_false(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    assert_true(zones_has_pod(&zones, POD("x1")));
    fake_kube_forbid(zones.fake_kube, NULL, NULL);
    zones_converge(&zones);
    assert_false(zones_has_pod(&zones, POD("x1")));
}

/* A new takeover before the pods have left: they stay. */
TEST(takeover_in_the_middle_of_giveback_keeps_pods)
{
    _cleanup_zones_ struct zones zones = {0};

    zones_init(&zones);
    zones_take_over(&zones);
    zones_put_pods(&zones);
    zones_reboot(&zones);
    zones_set_map(&zones, "{}");
    fake_kube_protect(zones.fake_kube, POD("x"));
    zones_converge(&zones);
    zones_take_over(&zones);
    fake_kube_protect(zones.fake_kube, NULL);
    zones_converge(&zones);
    assert_true(zones_have_label(&zones, "b1", MEMBER "zone-a"));
    assert_true(zones_has_pod(&zones, POD("x1")));
}
