/* Volumes that rbd-mirror copies to another cluster, or from one. No daemon runs: whether an image
 * is mirrored, and from where, is in its own cluster. */
#include <rbd/librbd.h>
#include <stdlib.h>

#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/place.h"
#include "tests/test.h"

#define POOL "common"
#define MIB (1024LL * 1024)

static struct driver_process driver;
static struct driver_process addons; /* its other socket */

static int begin(void **state)
{
    _cleanup_error_ struct error err = {0};

    (void)state;
    rpc_init();
    harness_init(&driver);
    addons.endpoint = xasprintf("unix://%s/csi-addons.sock", driver.folder);
    _cleanup_free_ char *flag = xasprintf("--csi-addons-endpoint=%s", addons.endpoint);
    harness_start(&driver, (const char *[]){flag, NULL});
    if (rpc_client_new(addons.endpoint, &addons.client, &err) < 0)
        fail_msg("%s", err.message);
    return 0;
}

static int end(void **state)
{
    static const char *const left[] = {"rbd_mirroring", "rbd_mirror_snapshot_schedule"};
    _cleanup_place_ struct place place = place_open(POOL, NULL);

    (void)state;
    rpc_client_free(addons.client);
    free(addons.endpoint);
    harness_done(&driver);
    for (size_t i = 0; i < ARRAY_LENGTH(left); i++)
        if (place_has(&place, left[i]))
            place_remove(&place, left[i]);
    rpc_shutdown();
    return 0;
}

/* A new volume of that mode, primary or not. Its image's name goes to @image; caller frees both. */
static char *make_mirrored(const char *name, rbd_mirror_image_mode_t mode, bool is_primary,
                           char **image)
{
    _cleanup_place_ struct place place = place_open(POOL, NULL);
    _cleanup_error_ struct error err = {0};
    char *handle = harness_create_volume(&driver, name, POOL, 8 * MIB, &err);
    rbd_image_t opened = NULL;
    uint64_t features = 0;

    if (!handle) {
        fail_msg("%s", err.message);
        return NULL;
    }
    place_must(rbd_mirror_mode_set(place.io, RBD_MIRROR_MODE_IMAGE));
    *image = xasprintf("csi-vol-%s", handle + strlen(handle) - 36);
    place_must(rbd_open(place.io, *image, &opened, NULL));
    place_must(rbd_get_features(opened, &features));
    if (!(features & RBD_FEATURE_EXCLUSIVE_LOCK))
        place_must(rbd_update_features(opened, RBD_FEATURE_EXCLUSIVE_LOCK, 1));
    if (mode == RBD_MIRROR_IMAGE_MODE_JOURNAL)
        place_must(rbd_update_features(opened, RBD_FEATURE_JOURNALING, 1));
    place_must(rbd_mirror_image_enable2(opened, mode));
    if (!is_primary)
        place_must(rbd_mirror_image_demote(opened));
    place_must(rbd_close(opened));
    return handle;
}

static const rbd_mirror_image_mode_t MODES[] = {RBD_MIRROR_IMAGE_MODE_SNAPSHOT,
                                                RBD_MIRROR_IMAGE_MODE_JOURNAL};

TEST(primary_is_no_longer_mirrored_and_deleted)
{
    for (size_t i = 0; i < ARRAY_LENGTH(MODES); i++) {
        _cleanup_free_ char *image = NULL;
        _cleanup_free_ char *handle = make_mirrored("primary", MODES[i], true, &image);
        _cleanup_free_ char *object = xasprintf("csi.volume.%s", handle + strlen(handle) - 36);
        _cleanup_place_ struct place place = place_open(POOL, NULL);
        _cleanup_string_list_ struct string_list keys = {0};
        _cleanup_error_ struct error err = {0};

        if (harness_delete_volume(&driver, handle, &err) < 0)
            fail_msg("mode %zu: %s", i, err.message);
        assert_false(place_has(&place, object));
        place_keys(&place, "rbd_mirroring", &keys);
        for (size_t k = 0; k < keys.count; k++)
            assert_null(strstr(keys.items[k], "image_"));
        wait_until(
            (string_list_done(&keys), place_keys(&place, "rbd_trash", &keys), keys.count == 0));
    }
}

/* The image belongs to the cluster where it is primary, and goes when it goes there. */
TEST(secondary_stays_when_its_volume_is_deleted)
{
    for (size_t i = 0; i < ARRAY_LENGTH(MODES); i++) {
        _cleanup_free_ char *image = NULL;
        _cleanup_free_ char *handle = make_mirrored("secondary", MODES[i], false, &image);
        _cleanup_free_ char *object = xasprintf("csi.volume.%s", handle + strlen(handle) - 36);
        _cleanup_place_ struct place place = place_open(POOL, NULL);
        _cleanup_error_ struct error err = {0};
        rbd_image_t opened = NULL;

        if (harness_delete_volume(&driver, handle, &err) < 0)
            fail_msg("mode %zu: %s", i, err.message);
        assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
        assert_false(place_has(&place, object));
        place_must(rbd_open(place.io, image, &opened, NULL));
        place_must(rbd_mirror_image_disable(opened, true));
        place_must(rbd_close(opened));
        place_must(rbd_remove(place.io, image));
    }
}

/* --- VolumeReplication of csi-addons --- */

static int ask(const char *method, const char *handle, const char *parameters, struct error *err)
{
    _cleanup_free_ char *request =
        xasprintf("{\"replication_source\": {\"volume\": {\"volume_id\": \"%s\"}}%s%s}", handle,
                  parameters ? ", \"parameters\": " : "", parameters ? parameters : "");

    return harness_call(&addons,
                        &(struct harness_call){.method = method, .request = request, .once = true},
                        NULL, err);
}

static void must_do(const char *method, const char *handle, const char *parameters)
{
    _cleanup_error_ struct error err = {0};

    for (int i = 0; i < 2; i++) /* whoever asks for it asks again */
        if (ask(method, handle, parameters, &err) < 0)
            fail_msg("%s: %s", method, err.message);
}

static void must_refuse(const char *method, const char *handle, enum status status,
                        const char *words)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(ask(method, handle, NULL, &err), -1);
    assert_string_equal(status_name(err.status), status_name(status));
    if (!strstr(err.message, words))
        fail_msg("'%s' is not in: %s", words, err.message);
}

static bool has_schedule(const char *image)
{
    _cleanup_free_ char *list = harness_run_tool((const char *[]){
        "rbd", "mirror", "snapshot", "schedule", "ls", "--pool", POOL, "--recursive", NULL});
    const char *line = strstr(list, image);

    return line && strstr(line, "every 15m");
}

static rbd_mirror_image_info_t info_of(const char *image)
{
    _cleanup_place_ struct place place = place_open(POOL, NULL);
    rbd_mirror_image_info_t info = {0};
    rbd_image_t opened = NULL;

    place_must(rbd_open_read_only(place.io, image, &opened, NULL));
    place_must(rbd_mirror_image_get_info(opened, &info, sizeof(info)));
    place_must(rbd_close(opened));
    rbd_mirror_image_get_info_cleanup(&info);
    return info;
}

TEST(volume_is_replicated_as_csi_addons_asks)
{
    static const char schedule[] = "{\"schedulingInterval\": \"15m\"}";
    _cleanup_place_ struct place place = place_open(POOL, NULL);
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *handle = harness_create_volume(&driver, "addons", POOL, 8 * MIB, &err);

    assert_non_null(handle);
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", handle + strlen(handle) - 36);
    place_must(rbd_mirror_mode_set(place.io, RBD_MIRROR_MODE_DISABLED));
    must_refuse("EnableVolumeReplication", handle, STATUS_FAILED_PRECONDITION,
                "rbd mirror pool enable " POOL " image");
    place_must(rbd_mirror_mode_set(place.io, RBD_MIRROR_MODE_IMAGE));
    must_refuse("PromoteVolume", handle, STATUS_INVALID_ARGUMENT, "is not mirrored");
    must_do("EnableVolumeReplication", handle, schedule);
    assert_true(info_of(image).primary);
    must_do("PromoteVolume", handle, schedule);
    assert_true(has_schedule(image));
    must_refuse("ResyncVolume", handle, STATUS_INVALID_ARGUMENT, "is primary here");
    must_refuse("GetVolumeReplicationInfo", handle, STATUS_NOT_FOUND, "has arrived elsewhere");
    must_do("DemoteVolume", handle, schedule);
    assert_false(has_schedule(image));
    assert_false(info_of(image).primary);
    must_refuse("ResyncVolume", handle, STATUS_UNAVAILABLE, "rbd-mirror");
    must_refuse("DisableVolumeReplication", handle, STATUS_FAILED_PRECONDITION, "does not replay");
    must_do("PromoteVolume", handle, NULL);
    assert_true(info_of(image).primary);
    must_do("DisableVolumeReplication", handle, NULL);
    assert_int_equal(info_of(image).state, RBD_MIRROR_IMAGE_DISABLED);
    if (harness_delete_volume(&driver, handle, &err) < 0)
        fail_msg("%s", err.message);
}

TEST_GROUP(begin, end)
TEST_CLEANUP(harness_clean_up)
