/* What can be said of a volume before a node stages it. */
#include <errno.h>

#include "tests/unit/fixtures/rbd_places.h"

/* What NodePublish gets. */
static struct strmap published;

static int publish(struct stage *stage, const char *handle, const char *node, bool has_credentials,
                   bool is_static, struct error *err)
{
    _cleanup_(attach_request_done) struct attach_request request = {
        .handle = xstrdup(handle),
        .node_id = xstrdup(node),
        .capability = {.type = ACCESS_TYPE_MOUNT, .mode = ACCESS_SINGLE_NODE_WRITER},
    };
    struct call call;

    if (has_credentials) {
        request.credentials.user = xstrdup("csi");
        secret_set(&request.credentials.key, "AQB");
    }
    if (is_static)
        strmap_set(&request.context, "staticVolume", "true");
    call_init(&call, 1, "ControllerPublishVolume", deadline_in_ms(60000));
    strmap_done(&published);
    int result =
        controller_publish_volume(&stage->process.controller, &call, &request, &published, err);
    call_done(&call);
    return result;
}

static void assert_published(struct stage *stage, const char *handle, bool has_credentials,
                             bool is_static)
{
    _cleanup_error_ struct error err = {0};

    for (int i = 0; i < 2; i++)
        if (publish(stage, handle, "node-1", has_credentials, is_static, &err) < 0)
            fail_msg("%s", err.message);
}

static void assert_refused(struct stage *stage, const char *handle, const char *node,
                           bool has_credentials, enum status status)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(publish(stage, handle, node, has_credentials, false, &err), -1);
    assert_int_equal(err.status, status);
}

TEST(volume_is_published_with_and_without_a_secret, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};

    places_make_or_fail(stage, &(struct wish){.zone = "zone-b"}, &volume);
    assert_published(stage, volume.handle, true, false);
    assert_published(stage, volume.handle, false, false);
    places_remove_volume(stage, volume.handle);
    assert_refused(stage, volume.handle, "node-1", true, STATUS_NOT_FOUND);
    assert_published(stage, volume.handle, false, false); /* who could know? */
}

TEST(volumes_without_a_journal_are_published, STAGED)
{
    struct stage *stage = *state;

    assert_published(stage, "made-by-hand", true, true);
    assert_published(stage, "mig_mons-b7f67366bb43f32e07d8a261a7840da9_image-" UUID "_7069", true,
                     false);
}

TEST(handle_of_another_driver_is_not_found, STAGED)
{
    struct stage *stage = *state;

    assert_refused(stage, "fake-vol-id", "node-1", false, STATUS_NOT_FOUND);
}

TEST(missing_ids_are_refused, STAGED)
{
    struct stage *stage = *state;

    assert_refused(stage, "", "node-1", true, STATUS_INVALID_ARGUMENT);
    assert_refused(stage, "fake-vol-id", "", true, STATUS_INVALID_ARGUMENT);
}

/* Whether it is restricted cannot be known. */
TEST(volume_that_cannot_be_looked_at_is_not_published, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_error_ struct error err = {0};

    places_make_or_fail(stage, &(struct wish){.zone = "zone-b"}, &volume);
    fake_ceph_fail_call_with(stage->world.fake, 1, -ETIMEDOUT);
    assert_int_equal(publish(stage, volume.handle, "node-1", true, false, &err), -1);
    assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
    places_remove_volume(stage, volume.handle);
}

TEST_GROUP(places_write_config, places_remove_config)
