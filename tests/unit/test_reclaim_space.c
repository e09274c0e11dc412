/* ControllerReclaimSpace: frees the objects of an unused image that hold zeros alone. */
#include "tests/unit/fixtures/backends.h"
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/controller_steps.h"

#define RBD_STAGED WITH_STAGE(RBD_SETUP)

static int reclaim(struct stage *stage, const char *handle, struct error *err)
{
    return process_call_with_handle(&stage->process, handle, "ControllerReclaimSpace",
                                    controller_reclaim_space, err);
}

static void assert_refused(struct stage *stage, const char *handle, enum status status,
                           const char *words)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(reclaim(stage, handle, &err), -1);
    assert_string_equal(status_name(err.status), status_name(status));
    assert_non_null(strstr(err.message, words));
}

/* Makes a volume whose image has data. Caller frees the image's name. */
static char *make_volume(struct stage *stage)
{
    _cleanup_error_ struct error err = {0};

    if (step_create_volume(&stage->process, &stage->world, &err) < 0)
        fail_msg("%s", err.message);
    char *image =
        xasprintf("csi-vol-%s", stage->world.volume + strlen(stage->world.volume) - UUID_LENGTH);
    fake_ceph_set_data(stage->world.fake, "rbd", image);
    return image;
}

static void must_reclaim(struct stage *stage)
{
    _cleanup_error_ struct error err = {0};

    if (reclaim(stage, stage->world.volume, &err) < 0)
        fail_msg("%s", err.message);
}

static bool has_data(struct stage *stage, const char *image)
{
    return fake_ceph_has_data(stage->world.fake, "rbd", image);
}

TEST(unused_volume_is_sparsified, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);

    must_reclaim(stage);
    assert_false(has_data(stage, image));
    must_reclaim(stage);
}

TEST(volume_in_use_is_left_to_its_node, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);

    fake_ceph_set_watcher(stage->world.fake, "rbd", image, "10.0.0.7:0/3141");
    must_reclaim(stage);
    assert_true(has_data(stage, image));
    fake_ceph_set_watcher(stage->world.fake, "rbd", image, NULL);
    must_reclaim(stage);
    assert_false(has_data(stage, image));
}

TEST(copy_of_another_clusters_volume_is_left_alone, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);

    fake_ceph_mirror(stage->world.fake, "rbd", image, false);
    must_reclaim(stage);
    assert_true(has_data(stage, image));
}

struct rival {
    struct fake_ceph *fake;
    const char *image;
};

/* A node maps the image; librbd gives it the lock, and the work fails. */
static void map_image(void *object)
{
    const struct rival *rival = object;

    fake_ceph_set_watcher(rival->fake, "rbd", rival->image, "10.0.0.7:0/3141");
    fake_ceph_fail_call(rival->fake, 1, FAKE_FAIL_BEFORE);
}

TEST(node_that_maps_the_volume_meanwhile_ends_it, RBD_STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *image = make_volume(stage);
    struct rival rival = {stage->world.fake, image};

    fake_ceph_interrupt_before(stage->world.fake, "image_sparsify", map_image, &rival);
    must_reclaim(stage);
    fake_ceph_set_watcher(stage->world.fake, "rbd", image, NULL);
}

TEST(missing_volume_is_aborted, RBD_STAGED)
{
    struct stage *stage = *state;

    assert_refused(stage, "", STATUS_INVALID_ARGUMENT, "volume_id is missing");
    assert_refused(stage, "0001-0002-c1-0000000000000001-b0285c97-a0ce-41eb-8c66-0242ac110002",
                   STATUS_ABORTED, "reclaim space of volume '0001-");
}

TEST(every_failure_is_told_and_the_retry_succeeds, RBD_STAGED)
{
    struct stage *stage = *state;
    unsigned struck = 0;

    free(make_volume(stage));

    for (unsigned n = 1;; n++) {
        _cleanup_error_ struct error err = {0};

        fake_ceph_fail_call(stage->world.fake, n, FAKE_FAIL_BEFORE);
        int result = reclaim(stage, stage->world.volume, &err);
        bool pending = fake_ceph_fault_is_pending(stage->world.fake);

        fake_ceph_recover(stage->world.fake);
        assert_int_equal(result, pending ? 0 : -1);
        if (pending)
            break;
        struck++;
        must_reclaim(stage);
    }
    assert_true(struck >= 4);
}

TEST(cephfs_has_nothing_to_reclaim, WITH_STAGE(CEPHFS_SETUP))
{
    assert_refused(*state, "any", STATUS_UNIMPLEMENTED, "type cephfs");
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
