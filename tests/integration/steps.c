#include "tests/integration/steps.h"

#include "common/base/memory.h"
#include "tests/integration/calls.h"
#include "tests/integration/cephfs.h"
#include "tests/integration/place.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)

/* --- the two backends --- */

static char *contents_of_rbd(void)
{
    return harness_pool_contents(STEPS_POOL);
}

const struct cuts_setup STEPS_RBD = {.contents = contents_of_rbd};
const struct cuts_setup STEPS_CEPHFS = {.flags = CEPHFS_FLAGS, .contents = cephfs_contents};

static const struct cuts_setup *used = &STEPS_RBD;

void steps_use(const struct cuts_setup *setup)
{
    used = setup;
}

const struct cuts_setup *steps_setup(void)
{
    return used;
}

void steps_clean_up(void)
{
    if (used == &STEPS_CEPHFS)
        cephfs_clean_up();
    else
        harness_clean_up();
}

static char *request_for(const struct steps_request *wish)
{
    if (used == &STEPS_CEPHFS)
        return cephfs_request(&(struct cephfs_wish){.name = wish->name,
                                                    .size_bytes = wish->size_bytes,
                                                    .source_volume = wish->source_volume,
                                                    .source_snapshot = wish->source_snapshot});
    json_auto_t *request = call_create_request(&(struct create_call){
        .name = wish->name,
        .pool = STEPS_POOL,
        .size_bytes = wish->size_bytes,
        .source_volume = wish->source_volume,
        .source_snapshot = wish->source_snapshot,
    });
    return json_dumps(request, 0);
}

/* --- steps --- */

/* Caller frees. */
static char *name_of(const struct cuts_world *world, const char *prefix)
{
    return xasprintf("%s-00000000-0000-4000-8000-%012u", prefix, world->number);
}

static int create(const struct steps_request *wish, char **handle, struct error *err)
{
    _cleanup_free_ char *request = request_for(wish);

    return cuts_call("CreateVolume", request, "volume", "volume_id", handle, err);
}

int step_create(struct cuts_world *world, struct error *err)
{
    _cleanup_free_ char *name = name_of(world, "pvc");

    return create(&(struct steps_request){name, 8 * MIB, NULL, NULL}, &world->volume, err);
}

int step_create_second(struct cuts_world *world, struct error *err)
{
    _cleanup_free_ char *name = name_of(world, "second");

    return create(&(struct steps_request){name, 8 * MIB, NULL, NULL}, &world->second, err);
}

int step_clone(struct cuts_world *world, struct error *err)
{
    _cleanup_free_ char *name = name_of(world, "clone");

    return create(&(struct steps_request){name, 16 * MIB, world->volume, NULL}, &world->second,
                  err);
}

int step_restore(struct cuts_world *world, struct error *err)
{
    _cleanup_free_ char *name = name_of(world, "restored");

    return create(&(struct steps_request){name, 16 * MIB, NULL, world->snapshot}, &world->second,
                  err);
}

/* A subvolume that a manager left half made, and that its successor took for an old one, is not a
 * clone. */
int step_check_copy(struct cuts_world *world, struct error *err)
{
    if (used != &STEPS_CEPHFS)
        return 0;
    const size_t uuid_length = 36; /* at the end of the handle */
    _cleanup_free_ char *entry =
        xasprintf("csi.volume.%s", world->second + strlen(world->second) - uuid_length);
    _cleanup_place_ struct place journal = place_open(CEPHFS_META, "csi");
    _cleanup_free_ char *name = place_get(&journal, entry, "csi.imagename");
    assert_non_null(name);
    _cleanup_free_ char *text = cephfs_subvolume_info(name);
    json_auto_t *info = text ? json_loads(text, 0, NULL) : NULL;
    const char *type = json_string_value(json_object_get(info, "type"));
    const char *state = json_string_value(json_object_get(info, "state"));

    if (type && strcmp(type, "clone") == 0 && state && strcmp(state, "complete") == 0)
        return 0;
    return error_set(err, STATUS_DATA_LOSS, "subvolume '%s' is no complete clone: %s", name,
                     text ? text : "no answer");
}

int step_expand(struct cuts_world *world, struct error *err)
{
    const long long size = call_expand(&cuts_driver, world->volume, 16 * MIB, err);

    if (size >= 0)
        assert_int_equal(size, 16 * MIB);
    return size < 0 ? -1 : 0;
}

int step_snapshot(struct cuts_world *world, struct error *err)
{
    _cleanup_free_ char *name = name_of(world, "snapshot");
    _cleanup_free_ char *request =
        xasprintf("{\"name\":\"%s\",\"source_volume_id\":\"%s\"}", name, world->volume);

    return cuts_call("CreateSnapshot", request, "snapshot", "snapshot_id", &world->snapshot, err);
}

int step_group_snapshot(struct cuts_world *world, struct error *err)
{
    _cleanup_free_ char *name = name_of(world, "groupsnapshot");
    _cleanup_free_ char *request =
        xasprintf("{\"name\":\"%s\",\"source_volume_ids\":[\"%s\",\"%s\"]}", name, world->volume,
                  world->second);

    return cuts_call("CreateVolumeGroupSnapshot", request, "group_snapshot", "group_snapshot_id",
                     &world->snapshot, err);
}

int step_delete(struct cuts_world *world, struct error *err)
{
    return harness_delete_volume(&cuts_driver, world->volume, err);
}

int step_delete_second(struct cuts_world *world, struct error *err)
{
    return harness_delete_volume(&cuts_driver, world->second, err);
}

int step_delete_snapshot(struct cuts_world *world, struct error *err)
{
    return call_delete_snapshot(&cuts_driver, world->snapshot, err);
}

int step_delete_group(struct cuts_world *world, struct error *err)
{
    _cleanup_free_ char *request = xasprintf("{\"group_snapshot_id\":\"%s\"}", world->snapshot);

    return harness_call(
        &cuts_driver,
        &(struct harness_call){.method = "DeleteVolumeGroupSnapshot", .request = request}, NULL,
        err);
}
