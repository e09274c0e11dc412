#include "tests/integration/fixtures.h"

#include <errno.h>
#include <rbd/features.h>
#include <rbd/librbd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/test.h"

#define IMAGE_ID_SIZE 256
#define SNAPSHOTS_MAX 64
#define UUID_CHARS 36

static rbd_image_options_t image_options(uint64_t features)
{
    rbd_image_options_t options = NULL;

    rbd_image_options_create(&options);
    rbd_image_options_set_uint64(options, RBD_IMAGE_OPTION_FEATURES, features);
    rbd_image_options_set_uint64(options, RBD_IMAGE_OPTION_FORMAT, 2);
    return options;
}

void fixture_image_create(const struct place *place, const char *image, uint64_t size_bytes)
{
    rbd_image_options_t options = image_options(RBD_FEATURE_LAYERING);

    place_must(rbd_create4(place->io, image, size_bytes, options));
    rbd_image_options_destroy(options);
}

void fixture_image_clone(const struct place *from, const char *parent, const char *snapshot,
                         const struct place *to, const char *image)
{
    rbd_image_options_t options = image_options(RBD_FEATURE_LAYERING | RBD_FEATURE_DEEP_FLATTEN);

    rbd_image_options_set_uint64(options, RBD_IMAGE_OPTION_CLONE_FORMAT, 2);
    place_must(rbd_clone3(from->io, parent, snapshot, to->io, image, options));
    rbd_image_options_destroy(options);
}

void fixture_image_trash(const struct place *place, const char *image)
{
    fixture_image_trash_for(place, image, 0);
}

void fixture_image_trash_for(const struct place *place, const char *image, uint64_t seconds)
{
    place_must(rbd_trash_move(place->io, image, seconds));
}

void fixture_image_restore(const struct place *place, const char *image_id)
{
    place_must(rbd_trash_restore(place->io, image_id, ""));
}

size_t fixture_trash_count(const struct place *place)
{
    rbd_trash_image_info_t found[64];
    size_t count = sizeof(found) / sizeof(found[0]);

    place_must(rbd_trash_list(place->io, found, &count));
    rbd_trash_list_cleanup(found, count);
    return count;
}

/* NULL if there is no such image. */
static rbd_image_t open_image(const struct place *place, const char *image)
{
    rbd_image_t opened = NULL;
    int result = rbd_open_read_only(place->io, image, &opened, NULL);

    if (result != -ENOENT)
        place_must(result);
    return result == 0 ? opened : NULL;
}

uint64_t fixture_image_size(const struct place *place, const char *image)
{
    rbd_image_t opened = open_image(place, image);
    uint64_t size = 0;

    if (!opened)
        return 0;
    place_must(rbd_get_size(opened, &size));
    rbd_close(opened);
    return size;
}

char *fixture_image_id(const struct place *place, const char *image)
{
    rbd_image_t opened = open_image(place, image);
    char id[IMAGE_ID_SIZE];

    if (!opened)
        return NULL;
    place_must(rbd_get_id(opened, id, sizeof(id)));
    rbd_close(opened);
    return xstrdup(id);
}

uint64_t fixture_image_features(const struct place *place, const char *image)
{
    rbd_image_t opened = open_image(place, image);
    uint64_t features = 0;

    assert_non_null(opened);
    place_must(rbd_get_features(opened, &features));
    rbd_close(opened);
    return features;
}

char *fixture_image_parent(const struct place *place, const char *image)
{
    rbd_image_t opened = open_image(place, image);
    rbd_linked_image_spec_t parent = {0};
    rbd_snap_spec_t snapshot = {0};
    char *text = NULL;

    assert_non_null(opened);
    int result = rbd_get_parent(opened, &parent, &snapshot);
    if (result == -ENOENT) {
        text = xstrdup("");
    } else {
        place_must(result);
        text =
            xasprintf("%lld/%s@%s", (long long)parent.pool_id, parent.image_name,
                      snapshot.namespace_type == RBD_SNAP_NAMESPACE_TYPE_TRASH ? "trash" : "user");
        rbd_linked_image_spec_cleanup(&parent);
        rbd_snap_spec_cleanup(&snapshot);
    }
    rbd_close(opened);
    return text;
}

static rbd_image_t open_for_writing(const struct place *place, const char *image)
{
    rbd_image_t opened = NULL;

    place_must(rbd_open(place->io, image, &opened, NULL));
    return opened;
}

void fixture_snapshot_create(const struct place *place, const char *image, const char *snapshot)
{
    rbd_image_t opened = open_for_writing(place, image);

    place_must(rbd_snap_create(opened, snapshot));
    rbd_close(opened);
}

void fixture_snapshot_remove(const struct place *place, const char *image, const char *snapshot)
{
    rbd_image_t opened = open_for_writing(place, image);

    place_must(rbd_snap_remove(opened, snapshot));
    rbd_close(opened);
}

char *fixture_snapshots(const struct place *place, const char *image)
{
    rbd_image_t opened = open_image(place, image);
    rbd_snap_info_t snapshots[SNAPSHOTS_MAX];
    int limit = SNAPSHOTS_MAX;
    struct text names = TEXT_INIT(SNAPSHOTS_MAX * IMAGE_ID_SIZE);

    assert_non_null(opened);
    int count = place_must(rbd_snap_list(opened, snapshots, &limit));
    for (int i = 0; i < count; i++) {
        rbd_snap_namespace_type_t kind = RBD_SNAP_NAMESPACE_TYPE_USER;

        place_must(rbd_snap_get_namespace_type(opened, snapshots[i].id, &kind));
        if (kind == RBD_SNAP_NAMESPACE_TYPE_USER)
            text_addf(&names, "%s%s", names.length ? "," : "", snapshots[i].name);
    }
    if (count > 0)
        rbd_snap_list_end(snapshots);
    rbd_close(opened);
    return names.chars ? text_take(&names) : xstrdup("");
}

void fixture_namespace_create(const char *pool, const char *rados_namespace)
{
    _cleanup_place_ struct place place = place_open(pool, NULL);

    place_must(rbd_namespace_create(place.io, rados_namespace));
}

void fixture_namespace_remove(const char *pool, const char *rados_namespace)
{
    _cleanup_place_ struct place place = place_open(pool, NULL);

    place_must(rbd_namespace_remove(place.io, rados_namespace));
}

/* --- Ceph-CSI's volumes --- */

static struct place image_place(const struct csi_volume *volume)
{
    return place_open(volume->pool, volume->rados_namespace);
}

static struct place class_place(const struct csi_volume *volume)
{
    return place_open(volume->class_pool ? volume->class_pool : volume->pool,
                      volume->rados_namespace);
}

/* Where the attributes are. */
static struct place attribute_place(const struct csi_volume *volume)
{
    return volume->generation == CSI_TOPOLOGY_3_0 ? class_place(volume) : image_place(volume);
}

char *csi_volume_image(const struct csi_volume *volume)
{
    return xasprintf("%s%s", volume->prefix ? volume->prefix : "csi-vol-", volume->uuid);
}

char *csi_handle(const char *cluster_id, const char *pool, const char *uuid)
{
    _cleanup_place_ struct place place = place_open(pool, NULL);

    return xasprintf("0001-%04zx-%s-%016llx-%s", strlen(cluster_id), cluster_id,
                     (unsigned long long)place.id, uuid);
}

void csi_volume_reserve(const struct csi_volume *volume)
{
    _cleanup_place_ struct place pool = image_place(volume);
    _cleanup_place_ struct place directory = class_place(volume);
    _cleanup_place_ struct place attributes = attribute_place(volume);
    _cleanup_free_ char *object = xasprintf("csi.volume.%s", volume->uuid);
    _cleanup_free_ char *key = xasprintf("csi.volume.%s", volume->name);
    _cleanup_free_ char *image = csi_volume_image(volume);
    bool is_plain = volume->generation == CSI_PLAIN;
    _cleanup_free_ char *value =
        is_plain ? xstrdup(volume->uuid)
                 : xasprintf("%016llx/%s", (unsigned long long)pool.id, volume->uuid);

    place_create(&pool, object);
    place_set(&directory, "csi.volumes.default", key, value);
    place_set(&attributes, object, "csi.volname", volume->name);
    if (!volume->without_image_name)
        place_set(&attributes, object, "csi.imagename", image);
    if (volume->owner)
        place_set(&attributes, object, "csi.volume.owner", volume->owner);
    if (!is_plain) {
        _cleanup_free_ char *id = xasprintf("%016llx", (unsigned long long)directory.id);

        place_set(&attributes, object, "csi.journalpool", id);
    }
}

void csi_volume_commit(const struct csi_volume *volume)
{
    _cleanup_place_ struct place pool = image_place(volume);
    _cleanup_place_ struct place attributes = attribute_place(volume);
    _cleanup_free_ char *object = xasprintf("csi.volume.%s", volume->uuid);
    _cleanup_free_ char *image = csi_volume_image(volume);
    _cleanup_free_ char *id = fixture_image_id(&pool, image);

    if (!volume->without_image_id)
        place_set(&attributes, object, "csi.imageid", id);
}

void csi_volume_write(const struct csi_volume *volume, uint64_t size_bytes)
{
    _cleanup_place_ struct place pool = image_place(volume);
    _cleanup_free_ char *image = csi_volume_image(volume);

    csi_volume_reserve(volume);
    fixture_image_create(&pool, image, size_bytes);
    csi_volume_commit(volume);
}

char *csi_snapshot_image(const struct csi_snapshot *snapshot)
{
    return xasprintf("csi-snap-%s", snapshot->uuid);
}

void csi_snapshot_write(const struct csi_snapshot *snapshot)
{
    _cleanup_place_ struct place pool = image_place(snapshot->source);
    _cleanup_free_ char *object = xasprintf("csi.snap.%s", snapshot->uuid);
    _cleanup_free_ char *key = xasprintf("csi.snap.%s", snapshot->name);
    _cleanup_free_ char *source = csi_volume_image(snapshot->source);
    _cleanup_free_ char *image = csi_snapshot_image(snapshot);

    place_create(&pool, object);
    place_set(&pool, "csi.snaps.default", key, snapshot->uuid);
    place_set(&pool, object, "csi.snapname", snapshot->name);
    place_set(&pool, object, "csi.imagename", image);
    place_set(&pool, object, "csi.source", source);
    fixture_snapshot_create(&pool, source, image);
    fixture_image_clone(&pool, source, image, &pool, image);
    fixture_snapshot_remove(&pool, source, image);
    fixture_snapshot_create(&pool, image, image);
    _cleanup_free_ char *id = fixture_image_id(&pool, image);
    if (!snapshot->without_image_id)
        place_set(&pool, object, "csi.imageid", id);
}

void csi_volume_write_clone(const struct csi_volume *volume, const struct csi_volume *parent)
{
    _cleanup_place_ struct place pool = image_place(volume);
    _cleanup_place_ struct place parent_pool = image_place(parent);
    _cleanup_free_ char *image = csi_volume_image(volume);
    _cleanup_free_ char *intermediate = xasprintf("%s-temp", image);
    _cleanup_free_ char *parent_image = csi_volume_image(parent);

    csi_volume_reserve(volume);
    fixture_snapshot_create(&parent_pool, parent_image, intermediate);
    fixture_image_clone(&parent_pool, parent_image, intermediate, &pool, intermediate);
    fixture_snapshot_remove(&parent_pool, parent_image, intermediate);
    fixture_snapshot_create(&pool, intermediate, image);
    fixture_image_clone(&pool, intermediate, image, &pool, image);
    fixture_snapshot_remove(&pool, intermediate, image);
    csi_volume_commit(volume);
}

/* --- how Ceph-CSI finds them --- */

static const struct {
    const char *directory;
    const char *key;
    const char *object;
    const char *name_key;
    const char *prefix;
} KINDS[] = {
    [CSI_VOLUME] = {"csi.volumes.default", "csi.volume.", "csi.volume.", "csi.volname", "csi-vol-"},
    [CSI_SNAPSHOT] = {"csi.snaps.default", "csi.snap.", "csi.snap.", "csi.snapname", "csi-snap-"},
};

/* The attributes of a uuid's object lead to the image, which must be the one they know. */
static char *follow_object(enum csi_kind kind, const struct place *place, const char *uuid,
                           const char *name)
{
    _cleanup_strmap_ struct strmap attributes = {0};
    _cleanup_free_ char *object = xasprintf("%s%s", KINDS[kind].object, uuid);
    _cleanup_free_ char *usual_image = xasprintf("%s%s", KINDS[kind].prefix, uuid);

    place_list(place, object, &attributes);
    if (name)
        assert_string_equal(strmap_get_or(&attributes, KINDS[kind].name_key, ""), name);
    if (kind == CSI_SNAPSHOT)
        assert_non_null(strmap_get(&attributes, "csi.source"));
    const char *image = strmap_get_or(&attributes, "csi.imagename", usual_image);
    _cleanup_free_ char *id = fixture_image_id(place, image);
    assert_string_equal(strmap_get_or(&attributes, "csi.imageid", ""), id);
    /* undoing takes the uuid from the end of the name */
    assert_string_equal(image + strlen(image) - UUID_CHARS, uuid);
    return xstrdup(image);
}

char *csi_follow_name(enum csi_kind kind, const char *pool, const char *name)
{
    _cleanup_place_ struct place place = place_open(pool, NULL);
    _cleanup_free_ char *key = xasprintf("%s%s", KINDS[kind].key, name);
    _cleanup_free_ char *value = place_get(&place, KINDS[kind].directory, key);

    assert_non_null(value);
    assert_int_equal(strlen(value), UUID_CHARS); /* image and journal in one pool */
    return follow_object(kind, &place, value, name);
}

char *csi_follow_handle(enum csi_kind kind, const char *pool, const char *cluster_id,
                        const char *handle)
{
    _cleanup_place_ struct place place = place_open(pool, NULL);
    const char *uuid = handle + strlen(handle) - UUID_CHARS;
    _cleanup_free_ char *wanted = csi_handle(cluster_id, pool, uuid);

    assert_string_equal(handle, wanted);
    return follow_object(kind, &place, uuid, NULL);
}
