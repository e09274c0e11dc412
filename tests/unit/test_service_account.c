#include "common/ceph/on_disk.h"
#include "common/volume/service_account.h"
#include "tests/must.h"
#include "tests/test.h"

/* Which pods may have a volume. */

static int check(const char *allowed, const char *pods, struct error *err)
{
    _cleanup_strmap_ struct strmap published = {0};
    _cleanup_strmap_ struct strmap context = {0};
    struct call call;

    if (allowed)
        strmap_set(&published, "serviceAccount", allowed);
    if (pods)
        strmap_set(&context, "csi.storage.k8s.io/serviceAccount.name", pods);
    call_init(&call, 1, "NodePublishVolume", deadline_never());
    int result = service_account_check(&call, &published, &context, err);
    call_done(&call);
    return result;
}

TEST(accounts_of_the_list_are_allowed_and_no_others)
{
    static const struct {
        const char *allowed;
        const char *pods;
        bool is_allowed;
    } cases[] = {
        {NULL, "builder", true},
        {NULL, NULL, true},
        {"builder", NULL, true}, /* kubelet does not say */
        {"builder", "builder", true},
        {"builder,mover", "mover", true},
        {"builder, mover ", "mover", true},
        {"builder", "build", false},
        {"build", "builder", false},
        {"builder,mover", "builder,mover", false},
        {"builder", "default", false},
        {"", "default", false},
        {",", "default", false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        if (cases[i].is_allowed)
            must(check(cases[i].allowed, cases[i].pods, &err));
        else
            must_refuse(check(cases[i].allowed, cases[i].pods, &err), STATUS_PERMISSION_DENIED,
                        cases[i].pods);
    }
}

TEST(each_kind_of_volume_has_its_key)
{
    _cleanup_strmap_ struct strmap metadata = {0};
    _cleanup_strmap_ struct strmap published = {0};

    strmap_set(&metadata, ".cephfs.csi.ceph.com/serviceaccount", "mover");
    service_account_hand_on(false, &metadata, &published);
    assert_int_equal(published.count, 0);
    service_account_hand_on(true, &metadata, &published);
    assert_string_equal(strmap_get_or(&published, "serviceAccount", ""), "mover");
    strmap_set(&metadata, ".rbd.csi.ceph.com/serviceaccount", "builder");
    service_account_hand_on(false, &metadata, &published);
    assert_string_equal(strmap_get_or(&published, "serviceAccount", ""), "builder");
}
