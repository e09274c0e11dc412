#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "tests/fakes/fake_ceph_state.h"

/* Images, their metadata, their watchers and the exclusive lock. */

#define FIRST_CREATED 1700000000 /* when the first image was made; the others a second apart */
#define ORDER_DEFAULT 22
#define ORDER_MIN 12
#define ORDER_MAX 25
#define OTHER_CLIENT_ADDRESS "192.0.2.1:0/1"

void fake_image_free(struct fake_image *image)
{
    free(image->rados_namespace);
    free(image->name);
    free(image->id);
    free(image->data_pool);
    strmap_done(&image->metadata);
    for (size_t i = 0; i < image->snapshot_count; i++)
        fake_snapshot_done(&image->snapshots[i]);
    free(image->snapshots);
    string_list_done(&image->watchers);
    string_list_done(&image->lockers);
    mirror_sites_done(&image->sites);
    free(image);
}

struct fake_image *fake_image_find(const struct fake_ceph *fake, int64_t pool_id,
                                   const char *rados_namespace, const char *name)
{
    for (size_t i = 0; i < fake->image_count; i++) {
        struct fake_image *image = fake->images[i];

        if (!image->in_trash && image->pool_id == pool_id &&
            strcmp(image->rados_namespace, rados_namespace) == 0 && strcmp(image->name, name) == 0)
            return image;
    }
    return NULL;
}

struct fake_image *fake_image_begin_listed(struct fake_step *step, const struct ceph_pool *pool,
                                           struct call *call, const char *operation,
                                           const char *name, struct error *err)
{
    if (fake_step_begin_in_pool(step, pool, call, operation, err) < 0)
        return NULL;
    struct fake_image *image = fake_image_find(step->fake, pool->id, pool->rados_namespace, name);
    if (image)
        return image;
    int result = fake_refuse(err, -ENOENT, pool, "image", name);
    result = fake_step_end(step, result, err);
    assert(result < 0);
    return NULL;
}

struct fake_image *fake_image_begin(struct fake_step *step, const struct ceph_pool *pool,
                                    struct call *call, const char *operation, const char *name,
                                    struct error *err)
{
    if (fake_step_begin_in_pool(step, pool, call, operation, err) < 0)
        return NULL;
    struct fake_image *image = fake_image_find(step->fake, pool->id, pool->rados_namespace, name);
    if (image && !image->is_half)
        return image;
    int result = fake_refuse(err, -ENOENT, pool, "image", name);
    result = fake_step_end(step, result, err);
    assert(result < 0);
    return NULL;
}

/* --- creation --- */

/* The negative errno with which librbd refuses @options, or 0. */
static int check_options(const struct image_options *options)
{
    const uint64_t need_lock = FEATURE_OBJECT_MAP | FEATURE_JOURNALING;
    uint64_t order = options->object_order;

    if (options->features != IMAGE_FEATURES_DEFAULT && (options->features & need_lock) &&
        !(options->features & FEATURE_EXCLUSIVE_LOCK))
        return -EINVAL;
    if ((options->stripe_unit == 0) != (options->stripe_count == 0))
        return -EINVAL;
    if (order != 0 && (order < ORDER_MIN || order > ORDER_MAX))
        return -EDOM;
    return 0;
}

static uint64_t stored_features(const struct image_options *options)
{
    uint64_t features =
        options->features == IMAGE_FEATURES_DEFAULT ? FEATURES_DEFAULT : options->features;

    if (options->stripe_unit != 0)
        features |= FEATURE_STRIPING;
    if (options->data_pool)
        features |= FEATURE_DATA_POOL;
    return features & ~(uint64_t)FEATURE_OPERATIONS;
}

void fake_image_number(struct fake_ceph *fake, struct fake_image *image)
{
    image->number = ++fake->last_image;
    free(image->id);
    image->id = xasprintf(FAKE_IMAGE_ID_PREFIX "%08llx", (unsigned long long)image->number);
}

static struct fake_image *make_image(struct fake_ceph *fake, const struct ceph_pool *pool,
                                     const char *name, uint64_t size_bytes,
                                     const struct image_options *options)
{
    struct fake_image *image = xcalloc(1, sizeof(*image));

    *image = (struct fake_image){
        .pool_id = pool->id,
        .rados_namespace = xstrdup(pool->rados_namespace),
        .name = xstrdup(name),
        .size_bytes = size_bytes,
        .features = stored_features(options),
        .stripe_unit = options->stripe_unit,
        .stripe_count = options->stripe_count,
        .object_order = options->object_order ? options->object_order : ORDER_DEFAULT,
        .data_pool = options->data_pool ? xstrdup(options->data_pool) : NULL,
    };
    fake_image_number(fake, image);
    fake->images = xreallocarray(fake->images, fake->image_count + 1, sizeof(struct fake_image *));
    fake->images[fake->image_count++] = image;
    return image;
}

int fake_image_add(struct fake_ceph *fake, const struct ceph_pool *pool, const char *name,
                   uint64_t size_bytes, const struct image_options *options,
                   struct fake_image **image, struct error *err)
{
    const struct fake_pool *in = fake_pool_find_id(fake, pool->id);
    const char *rados_namespace = pool->rados_namespace;

    if (rados_namespace[0] != '\0' && !string_list_has(&in->namespaces, rados_namespace))
        return error_set(err, STATUS_FAILED_PRECONDITION, "pool '%s' has no namespace '%s'",
                         pool->name, rados_namespace);
    if (fake_image_find(fake, pool->id, rados_namespace, name))
        return fake_refuse(err, -EEXIST, pool, "image", name);
    if (options->data_pool && !fake_pool_find(fake, options->data_pool))
        return error_set(err, STATUS_INVALID_ARGUMENT, "there is no data pool '%s'",
                         options->data_pool);
    int refused = check_options(options);
    if (refused < 0)
        return fake_refuse(err, refused, pool, "options of image", name);
    *image = make_image(fake, pool, name, size_bytes, options);
    return 0;
}

static int image_create(struct ceph_pool *pool, struct call *call, const char *name,
                        uint64_t size_bytes, const struct image_options *options, struct error *err)
{
    struct fake_image *image = NULL;
    struct fake_step step;

    if (fake_step_begin_in_pool(&step, pool, call, "image_create", err) < 0)
        return -1;
    int result = fake_image_add(step.fake, pool, name, size_bytes, options, &image, err);
    return fake_step_end(&step, result, err);
}

/* --- questions --- */

static int image_get_id(struct ceph_pool *pool, struct call *call, const char *name, char **id,
                        struct error *err)
{
    struct fake_step step;
    const struct fake_image *image = fake_image_begin(&step, pool, call, "image_get_id", name, err);

    if (!image)
        return -1;
    _cleanup_free_ char *copy = xstrdup(image->id);
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    *id = TAKE(copy);
    return 0;
}

static int image_get_listed_id(struct ceph_pool *pool, struct call *call, const char *name,
                               char **id, struct error *err)
{
    struct fake_step step;
    const struct fake_image *image =
        fake_image_begin_listed(&step, pool, call, "image_get_listed_id", name, err);

    if (!image)
        return -1;
    _cleanup_free_ char *copy = xstrdup(image->id);
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    *id = TAKE(copy);
    return 0;
}

/* By id, and so of an image in the trash as well: its header object stays where it is. */
static const struct fake_image *find_by_id(const struct fake_ceph *fake,
                                           const struct ceph_pool *pool, const char *image_id)
{
    for (size_t i = 0; i < fake->image_count; i++) {
        const struct fake_image *image = fake->images[i];

        if (image->pool_id == pool->id &&
            strcmp(image->rados_namespace, pool->rados_namespace) == 0 &&
            strcmp(image->id, image_id) == 0)
            return image;
    }
    return NULL;
}

static int image_get_size(struct ceph_pool *pool, struct call *call, const char *image_id,
                          uint64_t *size_bytes, struct error *err)
{
    struct fake_step step;
    uint64_t size = 0;
    int result = 0;

    if (fake_step_begin_in_pool(&step, pool, call, "image_get_size", err) < 0)
        return -1;
    const struct fake_image *image = find_by_id(step.fake, pool, image_id);
    if (image)
        size = image->size_bytes;
    else
        result = fake_refuse(err, -ENOENT, pool, "image with id", image_id);
    if (fake_step_end(&step, result, err) < 0)
        return -1;
    *size_bytes = size;
    return 0;
}

static int image_has_objects(struct ceph_pool *pool, struct call *call, const char *image_id,
                             uint64_t features, bool *has, struct error *err)
{
    struct fake_step step;

    (void)features;
    if (fake_step_begin_in_pool(&step, pool, call, "image_has_objects", err) < 0)
        return -1;
    const struct fake_image *image = find_by_id(step.fake, pool, image_id);
    const bool is_equipped = image && !image->lacks_map;
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    *has = is_equipped;
    return 0;
}

static int image_has_snapshots(struct ceph_pool *pool, struct call *call, const char *image_id,
                               bool *has, struct error *err)
{
    struct fake_step step;
    bool found = false;
    int result = 0;

    if (fake_step_begin_in_pool(&step, pool, call, "image_has_snapshots", err) < 0)
        return -1;
    const struct fake_image *image = find_by_id(step.fake, pool, image_id);
    if (image)
        found = image->snapshot_count > 0;
    else
        result = fake_refuse(err, -ENOENT, pool, "image with id", image_id);
    if (fake_step_end(&step, result, err) < 0)
        return -1;
    *has = found;
    return 0;
}

/* librbd shows the bit while the image takes part in a clone of format 2. */
static uint64_t shown_features(const struct fake_ceph *fake, const struct fake_image *image)
{
    bool operations = image->parent != NULL;

    for (size_t i = 0; i < image->snapshot_count && !operations; i++)
        operations = image->snapshots[i].kind == SNAPSHOT_TRASH ||
                     fake_snapshot_has_children(fake, image, image->snapshots[i].id);
    return image->features | (operations ? FEATURE_OPERATIONS : 0);
}

static struct image_parent describe_parent(const struct fake_image *image)
{
    const struct fake_image *parent = image->parent;

    return (struct image_parent){
        .pool_id = parent->pool_id,
        .rados_namespace = xstrdup(parent->rados_namespace),
        .image_name = xstrdup(parent->name),
        .in_trash = parent->in_trash,
    };
}

static int image_list(struct ceph_pool *pool, struct call *call, struct strmap *ids,
                      struct error *err)
{
    _cleanup_strmap_ struct strmap found = {0};
    struct fake_step step;

    if (fake_step_begin_in_pool(&step, pool, call, "image_list", err) < 0)
        return -1;
    for (size_t i = 0; i < step.fake->image_count; i++) {
        const struct fake_image *image = step.fake->images[i];

        if (!image->in_trash && image->pool_id == pool->id &&
            strcmp(image->rados_namespace, pool->rados_namespace) == 0)
            strmap_set(&found, image->name, image->id);
    }
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    strmap_merge(ids, &found);
    return 0;
}

static int image_get_facts(struct ceph_pool *pool, struct call *call, const char *name,
                           struct image_facts *facts, struct error *err)
{
    struct image_facts found = {0};
    struct fake_step step;
    const struct fake_image *image =
        fake_image_begin(&step, pool, call, "image_get_facts", name, err);

    if (!image)
        return -1;
    found.id = xstrdup(image->id);
    found.size_bytes = image->size_bytes;
    found.features = shown_features(step.fake, image);
    found.created.tv_sec = FIRST_CREATED + (time_t)image->number;
    found.data_pool = image->data_pool ? xstrdup(image->data_pool) : NULL;
    found.has_parent = image->has_parent;
    if (image->has_parent)
        found.parent = describe_parent(image);
    if (fake_step_end(&step, 0, err) < 0) {
        image_facts_done(&found);
        return -1;
    }
    *facts = found;
    return 0;
}

static int image_get_features(struct ceph_pool *pool, struct call *call, const char *name,
                              uint64_t *features, struct error *err)
{
    struct fake_step step;
    const struct fake_image *image =
        fake_image_begin(&step, pool, call, "image_get_features", name, err);

    if (!image)
        return -1;
    uint64_t found = shown_features(step.fake, image);
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    *features = found;
    return 0;
}

static int image_watchers(struct ceph_pool *pool, struct call *call, const char *name,
                          struct string_list *watchers, struct error *err)
{
    _cleanup_string_list_ struct string_list found = {0};
    struct fake_step step;
    const struct fake_image *image =
        fake_image_begin(&step, pool, call, "image_watchers", name, err);

    if (!image)
        return -1;
    for (size_t i = 0; i < image->watchers.count; i++)
        string_list_add(&found, image->watchers.items[i]);
    if (image->holder && image->holder->client != step.client)
        string_list_add(&found, OTHER_CLIENT_ADDRESS);
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    for (size_t i = 0; i < found.count; i++)
        string_list_add(watchers, found.items[i]);
    return 0;
}

static int image_lockers(struct ceph_pool *pool, struct call *call, const char *name,
                         struct string_list *lockers, struct error *err)
{
    _cleanup_string_list_ struct string_list found = {0};
    struct fake_step step;
    const struct fake_image *image =
        fake_image_begin(&step, pool, call, "image_lockers", name, err);

    if (!image)
        return -1;
    for (size_t i = 0; i < image->lockers.count; i++)
        string_list_add(&found, image->lockers.items[i]);
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    for (size_t i = 0; i < found.count; i++)
        string_list_add(lockers, found.items[i]);
    return 0;
}

static int image_is_empty(struct ceph_pool *pool, struct call *call, const char *name, bool *empty,
                          struct error *err)
{
    struct fake_step step;
    const struct fake_image *image =
        fake_image_begin(&step, pool, call, "image_is_empty", name, err);

    if (!image)
        return -1;
    bool found = !image->has_data && !image->has_parent;
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    *empty = found;
    return 0;
}

/* --- changes --- */

static int image_resize(struct ceph_pool *pool, struct call *call, const char *name,
                        uint64_t size_bytes, struct error *err)
{
    struct fake_step step;
    struct fake_image *image = fake_image_begin(&step, pool, call, "image_resize", name, err);

    if (!image)
        return -1;
    image->size_bytes = size_bytes;
    return fake_step_end(&step, 0, err);
}

static int image_metadata_get(struct ceph_pool *pool, struct call *call, const char *name,
                              struct strmap *entries, struct error *err)
{
    _cleanup_strmap_ struct strmap found = {0};
    struct fake_step step;
    const struct fake_image *image =
        fake_image_begin(&step, pool, call, "image_metadata_get", name, err);

    if (!image)
        return -1;
    strmap_merge(&found, &image->metadata);
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    strmap_merge(entries, &found);
    return 0;
}

static int image_metadata_change(struct ceph_pool *pool, struct call *call, const char *name,
                                 const struct strmap *entries, const struct string_list *removed,
                                 struct error *err)
{
    struct fake_step step;
    struct fake_image *image =
        fake_image_begin(&step, pool, call, "image_metadata_change", name, err);

    if (!image)
        return -1;
    strmap_merge(&image->metadata, entries);
    for (size_t i = 0; removed && i < removed->count; i++)
        strmap_remove(&image->metadata, removed->items[i]);
    return fake_step_end(&step, 0, err);
}

/* --- the exclusive lock --- */

static struct fake_image *held_image(const struct fake_ceph *fake, const struct fake_hold *hold)
{
    for (size_t i = 0; i < fake->image_count; i++)
        if (fake->images[i]->holder == hold)
            return fake->images[i];
    return NULL;
}

static void hold_release(struct image_hold *hold)
{
    struct fake_hold *fake_hold = (struct fake_hold *)hold;
    struct fake_ceph *fake = fake_hold->client->fake;

    pthread_mutex_lock(&fake->lock);
    struct fake_image *image = held_image(fake, fake_hold);
    if (image)
        image->holder = NULL;
    pthread_mutex_unlock(&fake->lock);
    atomic_fetch_sub(&fake->open_handles, 1);
    free(hold->image_name);
    free(fake_hold);
}

static struct fake_hold *make_hold(struct ceph_pool *pool, const char *name)
{
    struct fake_hold *hold = xcalloc(1, sizeof(*hold));

    hold->base = (struct image_hold){pool->ops, xstrdup(name)};
    hold->client = ((struct fake_open_pool *)pool)->client;
    atomic_fetch_add(&hold->client->fake->open_handles, 1);
    return hold;
}

static int image_hold(struct ceph_pool *pool, struct call *call, const char *name,
                      struct image_hold **hold, struct error *err)
{
    struct fake_step step;
    struct fake_hold *made = NULL;
    struct fake_image *image = fake_image_begin(&step, pool, call, "image_hold", name, err);
    int result = 0;

    if (!image)
        return -1;
    if (!(image->features & FEATURE_EXCLUSIVE_LOCK)) {
        fake_refuse(err, -EINVAL, pool, "exclusive lock of image", name);
        result = error_recode(err, STATUS_FAILED_PRECONDITION);
    } else if (image->holder) {
        result = fake_refuse(err, -EROFS, pool, "exclusive lock of image", name);
    } else {
        image->holder = made = make_hold(pool, name);
    }
    if (fake_step_end(&step, result, err) < 0) {
        if (made)
            hold_release(&made->base); /* an image opened in vain is closed */
        return -1;
    }
    *hold = &made->base;
    return 0;
}

static int hold_snapshot(struct image_hold *hold, struct call *call, const char *snapshot,
                         struct error *err)
{
    struct fake_hold *fake_hold = (struct fake_hold *)hold;
    struct fake_step step;
    int result = 0;

    if (fake_step_begin(&step, fake_hold->client, call, "hold_snapshot", err) < 0)
        return -1;
    struct fake_image *image = held_image(step.fake, fake_hold);
    if (!image)
        result = error_set_errno(err, -ESHUTDOWN, "hold of image '%s'", hold->image_name);
    else if (fake_snapshot_find(image, snapshot))
        result = error_set_errno(err, -EEXIST, "snapshot '%s' of image '%s'", snapshot,
                                 hold->image_name);
    else
        fake_snapshot_add(step.fake, image, snapshot, SNAPSHOT_USER);
    return fake_step_end(&step, result, err);
}

void fake_image_ops(struct ceph_ops *ops)
{
    ops->image_list = image_list;
    ops->image_create = image_create;
    ops->image_get_id = image_get_id;
    ops->image_get_listed_id = image_get_listed_id;
    ops->image_has_objects = image_has_objects;
    ops->image_get_size = image_get_size;
    ops->image_get_features = image_get_features;
    ops->image_has_snapshots = image_has_snapshots;
    ops->image_get_facts = image_get_facts;
    ops->image_watchers = image_watchers;
    ops->image_lockers = image_lockers;
    ops->image_is_empty = image_is_empty;
    ops->image_resize = image_resize;
    ops->image_metadata_get = image_metadata_get;
    ops->image_metadata_change = image_metadata_change;
    ops->image_hold = image_hold;
    ops->hold_snapshot = hold_snapshot;
    ops->hold_release = hold_release;
}
