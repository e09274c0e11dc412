/* The data of deleted images, on a cluster in memory. */
#include <errno.h>
#include <time.h>

#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/controller_steps.h"

#define HOUR 3600

static const char *pool_of_class = "rbd";

static void fill_request(struct create_request *request)
{
    strmap_set(&request->parameters, "pool", pool_of_class);
    strmap_set(&request->parameters, "imageFeatures", "layering,exclusive-lock");
}

static void add_pool(struct world *world)
{
    fake_ceph_add_pool(world->fake, "rbd", 3);
    fake_ceph_add_pool(world->fake, "other", 4);
}

static const struct world_setup SETUP = {.name = "RBD",
                                         .backend = &RBD_BACKEND,
                                         .access = ACCESS_TYPE_BLOCK,
                                         .fill_request = fill_request,
                                         .world_init = add_pool};
#define STAGED WITH_STAGE(SETUP)

static void must(int result, const struct error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

static void make_volume(struct stage *stage, const char *name, char *handle)
{
    _cleanup_error_ struct error err = {0};

    must(process_create_volume(&stage->process, name, GIB, SOURCE_NONE, NULL, handle, &err), &err);
}

static void delete_volume(struct stage *stage, const char *handle)
{
    _cleanup_error_ struct error err = {0};

    must(process_call_with_handle(&stage->process, handle, "DeleteVolume", controller_delete_volume,
                                  &err),
         &err);
}

static void run_tasks(struct stage *stage)
{
    tasks_run_here(stage->process.controller.tasks);
}

/* Caller frees. */
static char *image_of(const char *handle)
{
    return xasprintf("csi-vol-%s", handle + strlen(handle) - 36);
}

/* --- what somebody else moved to the trash --- */

TEST(image_that_somebody_keeps_goes_when_its_time_has_come, STAGED)
{
    struct stage *stage = *state;
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    make_volume(stage, "pvc-1", handle);
    _cleanup_free_ char *image = image_of(handle);
    fake_ceph_trash_until(stage->world.fake, "rbd", image, time(NULL) + HOUR);
    delete_volume(stage, handle);
    run_tasks(stage);
    assert_holds(stage, "trash ");
    assert_holds(stage, "cephzone.purge.");
    assert_holds_not(stage, "csi.volume.u");
    fake_ceph_trash_until(stage->world.fake, "rbd", image, time(NULL) - 1);
    stage_restart(stage);
    make_volume(stage, "pvc-2", handle);
    run_tasks(stage);
    assert_holds_not(stage, "trash ");
    assert_holds_not(stage, "cephzone.purge.");
}

/* Another client of the cluster. */
struct other {
    struct call call;
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
};

static void other_open(struct other *other, struct stage *stage)
{
    struct ceph *ceph = fake_ceph_as_other(stage->world.fake);
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_error_ struct error err = {0};

    set_credentials(&credentials);
    const struct ceph_target target = {"c1", "10.0.0.1", credentials.user, &credentials.key};
    call_init(&other->call, 1, "rbd", deadline_never());
    must(ceph->ops->connect(ceph, &other->call, &target, &other->cluster, &err), &err);
    must(ceph->ops->pool_open(other->cluster, &other->call, "rbd", "", &other->pool, &err), &err);
}

static void other_close(struct other *other)
{
    ceph_pool_close(other->pool);
    ceph_disconnect(other->cluster);
    call_done(&other->call);
}
#define _cleanup_other_ _cleanup_(other_close)

/* Another image took the volume's name: the one in the trash is not the journal's. */
static void replace_image(struct stage *stage, const char *image)
{
    const struct image_options options = {.features = IMAGE_FEATURE_LAYERING};
    _cleanup_other_ struct other other = {0};
    _cleanup_error_ struct error err = {0};

    other_open(&other, stage);
    const struct ceph_ops *ops = other.pool->ops;
    if (ops->snapshot_remove(other.pool, &other.call, image, image, &err) < 0)
        must(error_ignore(&err, STATUS_NOT_FOUND), &err);
    must(ops->image_remove(other.pool, &other.call, image, &err), &err);
    must(ops->image_create(other.pool, &other.call, image, GIB, &options, &err), &err);
    fake_ceph_trash_until(stage->world.fake, "rbd", image, 0);
}

TEST(image_with_another_id_stays_in_the_trash, STAGED)
{
    struct stage *stage = *state;
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    make_volume(stage, "pvc-1", handle);
    _cleanup_free_ char *image = image_of(handle);
    replace_image(stage, image);
    delete_volume(stage, handle);
    run_tasks(stage);
    assert_holds(stage, "trash ");
    assert_holds_not(stage, "cephzone.purge.");
    assert_holds_not(stage, "csi.volume.u");
}

TEST(snapshot_with_another_id_stays_in_the_trash, STAGED)
{
    struct stage *stage = *state;
    struct world *world = &stage->world;
    _cleanup_error_ struct error err = {0};

    must(step_create_volume(&stage->process, world, &err), &err);
    must(step_create_snapshot(&stage->process, world, &err), &err);
    _cleanup_free_ char *image =
        xasprintf("csi-snap-%s", world->snapshot + strlen(world->snapshot) - 36);
    replace_image(stage, image);
    must(step_delete_snapshot(&stage->process, world, &err), &err);
    run_tasks(stage);
    assert_holds(stage, "trash ");
    assert_holds_not(stage, "cephzone.purge.");
    assert_holds_not(stage, "csi.snap.u");
}

/* --- images that cannot be removed --- */

/* Two deleted volumes; removing the first one queued fails. */
static void delete_two(struct stage *stage, int negative_errno, char **refused)
{
    char first[VOLUME_ID_LENGTH_MAX + 1];
    char second[VOLUME_ID_LENGTH_MAX + 1];

    make_volume(stage, "pvc-1", first);
    make_volume(stage, "pvc-2", second);
    *refused = image_of(first);
    fake_ceph_refuse_removal(stage->world.fake, "rbd", *refused, negative_errno);
    delete_volume(stage, first);
    delete_volume(stage, second);
    run_tasks(stage);
    _cleanup_free_ char *kept = xasprintf("name=%s", *refused);
    _cleanup_free_ char *image = image_of(second);
    _cleanup_text_ struct text all = TEXT_INIT(65536);
    fake_ceph_dump(stage->world.fake, &all);
    assert_non_null(strstr(all.chars, kept));
    if (strstr(all.chars, image))
        fail_msg("'%s' waits for '%s':\n%s", image, *refused, all.chars);
}

TEST(image_that_cannot_be_removed_does_not_stop_the_others, STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *refused = NULL;

    delete_two(stage, -EIO, &refused);
    assert_holds(stage, "cephzone.purge.");
    assert_holds_not(stage, "cephzone.purging.");
}

TEST(image_that_could_not_be_removed_is_tried_again, STAGED)
{
    struct stage *stage = *state;
    _cleanup_free_ char *refused = NULL;

    delete_two(stage, -EPERM, &refused);
    fake_ceph_refuse_removal(stage->world.fake, "rbd", refused, 0);
    run_tasks(stage);
    assert_holds_not(stage, "trash ");
    assert_holds_not(stage, "cephzone.purge.");
}

TEST(malformed_key_does_not_stop_the_others, STAGED)
{
    struct stage *stage = *state;
    _cleanup_other_ struct other other = {0};
    _cleanup_error_ struct error err = {0};
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    make_volume(stage, "pvc-1", handle);
    other_open(&other, stage);
    must(other.pool->ops->omap_add(other.pool, &other.call, "csi.volumes.default",
                                   "cephzone.purge.0", "somebody's", &err),
         &err);
    delete_volume(stage, handle);
    run_tasks(stage);
    assert_holds_not(stage, "trash ");
    assert_holds(stage, "[cephzone.purge.0] = somebody's");
}

/* --- keys that are rotated --- */

/* The key of Ceph's user changes; the next call brings the new one, for another pool. */
static void rotate_key(struct stage *stage)
{
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    fake_ceph_rotate_key(stage->world.fake, "NEW");
    steps_use_key("NEW");
    pool_of_class = "other";
    make_volume(stage, "pvc-other", handle);
    pool_of_class = "rbd";
    steps_use_key(NULL);
}

TEST(task_that_waits_uses_the_newest_key, STAGED)
{
    struct stage *stage = *state;
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    make_volume(stage, "pvc-1", handle);
    delete_volume(stage, handle);
    rotate_key(stage);
    run_tasks(stage);
    assert_holds_not(stage, "trash ");
    assert_int_equal(tasks_count(stage->process.controller.tasks, "purge").failed, 0);
}

TEST(task_that_was_refused_is_repeated_with_the_newest_key, STAGED)
{
    struct stage *stage = *state;
    char handle[VOLUME_ID_LENGTH_MAX + 1];

    make_volume(stage, "pvc-1", handle);
    delete_volume(stage, handle);
    fake_ceph_rotate_key(stage->world.fake, "NEW");
    run_tasks(stage);
    assert_holds(stage, "trash ");
    assert_int_equal(tasks_count(stage->process.controller.tasks, "purge").failed, 1);
    rotate_key(stage);
    run_tasks(stage);
    assert_holds_not(stage, "trash ");
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
