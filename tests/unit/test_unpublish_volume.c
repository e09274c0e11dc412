/* What nodes and administrators have written to a volume: who reads it, who forgets it, and to what
 * it is never copied. For both kinds of volumes. */
#include <errno.h>

#include "common/ceph/on_disk.h"
#include "controller/attach/node_fencing.h"
#include "tests/must.h"
#include "tests/unit/fixtures/backends.h"
#include "tests/unit/fixtures/blocklist.h"
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/kube.h"

static const struct world_setup *const SETUPS[] = {&RBD_SETUP, &CEPHFS_SETUP};

/* A volume with what Ceph-CSI 3.17 writes: staged on two nodes, and restricted. */
struct attached {
    struct world world;
    struct process process;
    struct standing_credentials *standing;
};

static void attached_done(struct attached *attached)
{
    process_end(&attached->process);
    standing_credentials_free(attached->standing);
    world_done(&attached->world);
}
#define _cleanup_attached_ _cleanup_(attached_done)

static void change_metadata(struct attached *attached, const struct strmap *entries,
                            const struct string_list *removed)
{
    const struct controller *controller = &attached->process.controller;
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_located_ struct located located = {0};
    struct call call;

    set_credentials(&credentials);
    call_init(&call, 1, "test", deadline_never());
    must(locate(controller, &call, JOURNAL_VOLUME, attached->world.volume, &credentials, &located,
                &err));
    must(controller_backend(controller)->change_metadata(&call, &located, entries, removed, &err));
    call_done(&call);
}

static void set_key(struct attached *attached, const char *word, const char *rest,
                    const char *value)
{
    const struct string_list none = {0};
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_free_ char *key =
        xasprintf(".%s.csi.ceph.com/%s%s", attached->world.setup->backend->type, word, rest);

    strmap_set(&entries, key, value);
    change_metadata(attached, &entries, &none);
}

static void set_keys_of(struct attached *attached, const char *node, const char *address)
{
    _cleanup_free_ char *rest = xasprintf("/%s/%s", attached->world.volume, node);

    set_key(attached, "userid", rest, "csi-node");
    set_key(attached, "clientaddress", rest, address);
}

static void attached_init(struct attached *attached, const struct world_setup *setup)
{
    world_init(&attached->world, setup);
    process_start(&attached->process, &attached->world);
    must(step_create_volume(&attached->process, &attached->world, &err));
    set_keys_of(attached, "node-1", "10.0.0.7");
    set_keys_of(attached, "node-2", "10.0.0.8");
    set_key(attached, "clientaddress", "/node-1", "10.0.0.6"); /* of 3.15.0 */
    set_key(attached, "serviceaccount", "", "builder");
}

/* @key is ".rbd.csi.ceph.com/" or so, @word and @rest. */
static bool has_key(struct attached *attached, const char *word, const char *rest)
{
    struct text all = TEXT_INIT(1024 * 1024);
    _cleanup_free_ char *key =
        xasprintf("[.%s.csi.ceph.com/%s%s]", attached->world.setup->backend->type, word, rest);

    fake_ceph_dump(attached->world.fake, &all);
    const bool found = strstr(text_chars(&all), key);
    text_done(&all);
    return found;
}

static bool has_keys_of(struct attached *attached, const char *node)
{
    _cleanup_free_ char *rest = xasprintf("/%s/%s", attached->world.volume, node);
    const bool has_user = has_key(attached, "userid", rest);

    assert_int_equal(has_user, has_key(attached, "clientaddress", rest));
    return has_user;
}

static int detach(struct process *process, const char *handle, const char *node,
                  bool has_credentials, struct error *err)
{
    _cleanup_(detach_request_done) struct detach_request request = {.handle = xstrdup(handle),
                                                                    .node_id = xstrdup(node)};
    struct call call;

    if (has_credentials)
        set_credentials(&request.credentials);
    call_init(&call, 1, "ControllerUnpublishVolume", deadline_in_ms(60000));
    int result = controller_unpublish_volume(&process->controller, &call, &request, err);
    call_done(&call);
    return result;
}

static void assert_only_of_node_2(struct attached *attached)
{
    assert_false(has_keys_of(attached, "node-1"));
    assert_false(has_key(attached, "clientaddress", "/node-1"));
    assert_true(has_key(attached, "clientAddress", "/node-1")); /* for takeovers */
    assert_true(has_keys_of(attached, "node-2"));
    assert_false(has_key(attached, "clientAddress", "/node-2"));
    assert_true(has_key(attached, "serviceaccount", ""));
}

/* --- detaching --- */

TEST(node_that_is_detached_is_forgotten)
{
    for (size_t i = 0; i < ARRAY_LENGTH(SETUPS); i++) {
        _cleanup_attached_ struct attached attached = {0};
        const char *handle = attached.world.volume;

        attached_init(&attached, SETUPS[i]);
        must(detach(&attached.process, handle, "node-1", true, &err));
        must(detach(&attached.process, handle, "node-1", true, &err));
        assert_only_of_node_2(&attached);
        must(step_delete_volume(&attached.process, &attached.world, &err));
        must(detach(&attached.process, handle, "node-2", true, &err)); /* it is gone */
    }
}

TEST(without_credentials_nothing_is_done)
{
    _cleanup_attached_ struct attached attached = {0};

    attached_init(&attached, &RBD_SETUP);
    _cleanup_free_ char *before = world_dump(&attached.world);
    must(detach(&attached.process, attached.world.volume, "node-1", false, &err));
    must(detach(&attached.process, attached.world.volume, "", true, &err));
    must(detach(&attached.process, "made-by-hand", "node-1", true, &err));
    _cleanup_free_ char *after = world_dump(&attached.world);
    assert_string_equal(before, after);
    must_refuse(detach(&attached.process, "", "node-1", true, &err), STATUS_INVALID_ARGUMENT,
                "volume_id");
}

TEST(standing_credentials_will_do)
{
    _cleanup_attached_ struct attached attached = {0};
    _cleanup_credentials_ struct credentials keyring = {0};

    attached_init(&attached, &RBD_SETUP);
    set_credentials(&keyring);
    attached.standing =
        standing_credentials_new(&(struct standing_credentials_options){.keyring = &keyring});
    attached.process.controller.standing = attached.standing;
    must(detach(&attached.process, attached.world.volume, "node-1", false, &err));
    assert_only_of_node_2(&attached);
}

TEST(interrupted_detaching_is_continued)
{
    for (size_t i = 0; i < ARRAY_LENGTH(SETUPS); i++) {
        for (unsigned n = 1, over = 0; !over; n++) {
            _cleanup_attached_ struct attached attached = {0};
            _cleanup_error_ struct error fault = {0};

            attached_init(&attached, SETUPS[i]);
            fake_ceph_fail_call(attached.world.fake, n, n % 2 ? FAKE_FAIL_BEFORE : FAKE_FAIL_AFTER);
            (void)!detach(&attached.process, attached.world.volume, "node-1", true, &fault);
            over = fake_ceph_fault_is_pending(attached.world.fake);
            fake_ceph_recover(attached.world.fake);
            must(detach(&attached.process, attached.world.volume, "node-1", true, &err));
            assert_only_of_node_2(&attached);
            assert_true(n < 50);
        }
    }
}

/* --- fencing --- */

static struct fake_blocklist blocklist;

TEST(keys_stay_until_the_client_is_fenced)
{
    _cleanup_attached_ struct attached attached = {0};
    _cleanup_fake_kube_ struct fake_kube *kube = fake_kube_new();
    const struct node_fencing fencing = {fake_kube_as_kube(kube), "rbd.csi.ceph.com", "ceph"};

    attached_init(&attached, &RBD_SETUP);
    attached.process.controller.fencing = &fencing;
    fake_ceph_answer_mon(attached.world.fake, fake_blocklist_answer, &blocklist);
    fake_kube_put(kube, "/api/v1/nodes/node-1",
                  "{\"spec\": {\"taints\": [{\"key\": \"node.kubernetes.io/out-of-service\"}]}}");
    fake_kube_put(kube, "/api/v1/nodes/node-2", "{}");
    _cleanup_free_ char *before = world_dump(&attached.world);
    blocklist.lacks_rights = true;
    must_refuse(detach(&attached.process, attached.world.volume, "node-1", true, &err),
                STATUS_PERMISSION_DENIED, "fence node 'node-1'");
    _cleanup_free_ char *after = world_dump(&attached.world);
    assert_string_equal(before, after);
    blocklist.lacks_rights = false;
    must(detach(&attached.process, attached.world.volume, "node-1", true, &err));
    assert_true(string_list_has(&blocklist.ranges, "10.0.0.7:0/32 94670856"));
    assert_only_of_node_2(&attached);
    must(detach(&attached.process, attached.world.volume, "node-2", true, &err));
    assert_int_equal(blocklist.ranges.count, 1);
    fake_blocklist_done(&blocklist);
}

/* --- copies --- */

/* CephFS copies in the background. */
static int run_patiently(step *begin, struct attached *attached, struct error *err)
{
    for (int i = 0; i < 10; i++) {
        if (begin(&attached->process, &attached->world, err) == 0)
            return 0;
        if (err->status != STATUS_ABORTED)
            return -1;
        error_clear(err);
    }
    return error_set(err, STATUS_ABORTED, "it does not end");
}

TEST(nothing_of_it_is_copied)
{
    static step *const steps[] = {step_clone, step_create_snapshot, step_create_group};

    for (size_t i = 0; i < ARRAY_LENGTH(SETUPS); i++) {
        _cleanup_attached_ struct attached attached = {0};

        attached_init(&attached, SETUPS[i]);
        assert_true(has_keys_of(&attached, "node-1"));
        for (size_t k = 0; k < ARRAY_LENGTH(steps); k++)
            must(run_patiently(steps[k], &attached, &err));
        _cleanup_free_ char *all = world_dump(&attached.world);
        unsigned count = 0;
        for (const char *at = all; (at = strstr(at, "csi.ceph.com/serviceaccount")); at++)
            count++;
        if (count != 1)
            fail_msg("%u volumes have it:\n%s", count, all);
    }
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
