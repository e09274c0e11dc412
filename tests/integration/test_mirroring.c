/* Volumes that rbd-mirror copies to another cluster, or from one. No daemon runs: whether an image
 * is mirrored, and from where, is in its own cluster. */
#include <rbd/librbd.h>

#include "common/base/memory.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/place.h"
#include "tests/test.h"

#define POOL "common"
#define MIB (1024LL * 1024)

static struct driver_process driver;

static int begin(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
    harness_start(&driver, NULL);
    return 0;
}

static int end(void **state)
{
    _cleanup_place_ struct place place = place_open(POOL, NULL);

    (void)state;
    harness_done(&driver);
    if (place_has(&place, "rbd_mirroring"))
        place_remove(&place, "rbd_mirroring");
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

TEST_GROUP(begin, end)
TEST_CLEANUP(harness_clean_up)
