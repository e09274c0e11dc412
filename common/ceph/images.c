/* RBD images: creation, inspection, changes. */
#include <endian.h>
#include <errno.h>
#include <rbd/librbd.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/sanitizer.h"
#include "common/ceph/connections.h"
#include "common/ceph/images.h"
#include "common/ceph/on_disk.h"

#define ID_LIMIT 1024 /* bytes of an encoded image id */
#define POOL_NAME_LIMIT 4096
#define LIST_FIRST 1024 /* names; librbd says when there are more */

static int fail_image(struct error *err, int result, const char *what, const struct ceph_pool *pool,
                      const char *name)
{
    return error_set_errno(err, result, "%s image '%s' in pool '%s'", what, name, pool->name);
}

/*
 * librbd opens the parent of an image too. The thread that has ended this still takes a lock in it,
 * although the opening of the image may have returned already; if the image is closed meanwhile,
 * its parent is freed and the process aborts (seen with 20.2.4). An image that is open for writing
 * waits for that thread when it gives up its watch; one that is open for reading has none.
 * Completions are handled one after the other, so that this one comes after that thread's work,
 * without a request.
 */
static void await_end_of_opening(rados_ioctx_t io)
{
    rados_completion_t completion = NULL;

    if (rados_aio_create_completion2(NULL, NULL, &completion) < 0)
        return;
    if (rados_aio_flush_async(io, completion) == 0)
        rados_aio_wait_for_complete_and_cb(completion);
    rados_aio_release(completion);
}

int image_open(struct ceph_pool *pool, struct call *call, const char *name, bool read_only,
               struct open_image *image, struct error *err)
{
    rados_ioctx_t io = real_pool(pool)->io;

    call_stage(call, "opening image '%s' in pool '%s' for {age}", name, pool->name);
    if (call_check(call, err) < 0)
        return -1;
    int result = read_only ? rbd_open_read_only(io, name, &image->handle, NULL)
                           : rbd_open(io, name, &image->handle, NULL);
    if (result < 0)
        return fail_image(err, result, "open", pool, name);
    if (read_only)
        await_end_of_opening(io);
    return 0;
}

void image_close(struct open_image *image)
{
    if (image->handle)
        rbd_close(image->handle);
    image->handle = NULL;
}

/* --- creation --- */

static void set_image_options(rbd_image_options_t options, const struct image_options *wanted)
{
    if (wanted->features != IMAGE_FEATURES_DEFAULT)
        rbd_image_options_set_uint64(options, RBD_IMAGE_OPTION_FEATURES, wanted->features);
    if (wanted->stripe_unit)
        rbd_image_options_set_uint64(options, RBD_IMAGE_OPTION_STRIPE_UNIT, wanted->stripe_unit);
    if (wanted->stripe_count)
        rbd_image_options_set_uint64(options, RBD_IMAGE_OPTION_STRIPE_COUNT, wanted->stripe_count);
    if (wanted->object_order)
        rbd_image_options_set_uint64(options, RBD_IMAGE_OPTION_ORDER, wanted->object_order);
    if (wanted->data_pool)
        rbd_image_options_set_string(options, RBD_IMAGE_OPTION_DATA_POOL, wanted->data_pool);
}

/* librbd says ENOENT also when the image's surroundings are missing, which no retry mends. True,
 * and
 * @err is set, if that is why image @name could not be made. */
static bool explain_missing(struct ceph_pool *pool, const char *name,
                            const struct image_options *wanted, struct error *err)
{
    rados_t rados = real_cluster(pool->cluster)->rados;
    bool exists = true;

    if (wanted->data_pool && rados_pool_lookup(rados, wanted->data_pool) == -ENOENT) {
        error_set(err, STATUS_INVALID_ARGUMENT,
                  "make image '%s' in pool '%s': there is no data pool '%s'", name, pool->name,
                  wanted->data_pool);
        return true;
    }
    if (pool->rados_namespace[0] == '\0' ||
        rbd_namespace_exists(real_pool(pool)->io, pool->rados_namespace, &exists) < 0 || exists)
        return false;
    error_set(err, STATUS_FAILED_PRECONDITION,
              "make image '%s' in pool '%s': the pool has no namespace '%s'", name, pool->name,
              pool->rados_namespace);
    error_hint(err, "'rbd namespace create %s/%s' makes it", pool->name, pool->rados_namespace);
    return true;
}

static int image_create(struct ceph_pool *pool, struct call *call, const char *name,
                        uint64_t size_bytes, const struct image_options *wanted, struct error *err)
{
    rbd_image_options_t options;

    call_stage(call, "creating image '%s' in pool '%s' for {age}", name, pool->name);
    if (call_check(call, err) < 0)
        return -1;
    rbd_image_options_create(&options);
    rbd_image_options_set_uint64(options, RBD_IMAGE_OPTION_FORMAT, 2);
    set_image_options(options, wanted);
    int result = rbd_create4(real_pool(pool)->io, name, size_bytes, options);
    rbd_image_options_destroy(options);
    if (result == -ENOENT && explain_missing(pool, name, wanted, err))
        return -1;
    return result < 0 ? fail_image(err, result, "create", pool, name) : 0;
}

static int image_clone(struct ceph_pool *parent_pool, struct call *call, const char *parent,
                       const char *snapshot, struct ceph_pool *pool, const char *name,
                       const struct image_options *wanted, struct error *err)
{
    rbd_image_options_t options;

    call_stage(call, "cloning image '%s' to '%s' in pool '%s' for {age}", parent, name, pool->name);
    if (call_check(call, err) < 0)
        return -1;
    rbd_image_options_create(&options);
    rbd_image_options_set_uint64(options, RBD_IMAGE_OPTION_CLONE_FORMAT, 2);
    set_image_options(options, wanted);
    int result = rbd_clone3(real_pool(parent_pool)->io, parent, snapshot, real_pool(pool)->io, name,
                            options);
    rbd_image_options_destroy(options);
    if (result == -ENOENT && explain_missing(pool, name, wanted, err))
        return -1;
    if (result < 0)
        return error_set_errno(err, result, "clone '%s@%s' in pool '%s' to '%s' in pool '%s'",
                               parent, snapshot, parent_pool->name, name, pool->name);
    return 0;
}

/* --- inspection --- */

/* The class encodes a string as its length, 32 bits little-endian, and its bytes. */
static int decode_id(const char *output, size_t length, const struct ceph_pool *pool,
                     const char *name, char **id, struct error *err)
{
    uint32_t id_length = 0;

    if (length >= sizeof(id_length))
        memcpy(&id_length, output, sizeof(id_length));
    id_length = le32toh(id_length);
    if (id_length == 0 || sizeof(id_length) + id_length > length)
        return error_set(err, STATUS_DATA_LOSS, "the id of image '%s' in pool '%s' is broken", name,
                         pool->name);
    *id = xstrndup(output + sizeof(id_length), id_length);
    return 0;
}

int image_get_id(struct ceph_pool *pool, struct call *call, const char *name, char **id,
                 struct error *err)
{
    _cleanup_free_ char *object = xasprintf(RBD_ID_PREFIX "%s", name);
    char output[ID_LIMIT];
    size_t length = 0;

    call_stage(call, "looking up image '%s' in pool '%s' for {age}", name, pool->name);
    if (object_exec(pool, call, object, "get_id", NULL, 0, output, sizeof(output), &length, err) <
        0)
        return err->status == STATUS_NOT_FOUND
                   ? error_wrap(err, "pool '%s' has no image '%s'", pool->name, name)
                   : -1;
    return decode_id(output, length, pool, name, id, err);
}

static int image_get_listed_id(struct ceph_pool *pool, struct call *call, const char *name,
                               char **id, struct error *err)
{
    size_t input_length = 0;
    _cleanup_free_ char *input = object_exec_string(name, 0, &input_length);
    char output[ID_LIMIT];
    size_t length = 0;

    call_stage(call, "looking up image '%s' in the list of pool '%s' for {age}", name, pool->name);
    if (object_exec(pool, call, RBD_DIRECTORY, "dir_get_id", input, input_length, output,
                    sizeof(output), &length, err) < 0)
        return err->status == STATUS_NOT_FOUND
                   ? error_wrap(err, "pool '%s' lists no image '%s'", pool->name, name)
                   : -1;
    return decode_id(output, length, pool, name, id, err);
}

/* Input: the snapshot, here none. Output: the order of an object's size, the image's size. */
static int image_get_size(struct ceph_pool *pool, struct call *call, const char *image_id,
                          uint64_t *size_bytes, struct error *err)
{
    _cleanup_free_ char *object = xasprintf(RBD_HEADER_PREFIX "%s", image_id);
    const uint64_t no_snapshot = htole64((uint64_t)-2);
    char output[64];
    size_t length = 0;
    uint64_t size = 0;

    if (object_exec(pool, call, object, "get_size", &no_snapshot, sizeof(no_snapshot), output,
                    sizeof(output), &length, err) < 0)
        return -1;
    if (length < 1 + sizeof(size))
        return error_set(err, STATUS_DATA_LOSS, "the size in '%s' in pool '%s' is broken", object,
                         pool->name);
    memcpy(&size, output + 1, sizeof(size));
    *size_bytes = le64toh(size);
    return 0;
}

static int image_has_objects(struct ceph_pool *pool, struct call *call, const char *image_id,
                             uint64_t features, bool *has, struct error *err)
{
    static const struct {
        uint64_t feature;
        const char *prefix;
    } objects[] = {
        {RBD_FEATURE_OBJECT_MAP, RBD_OBJECT_MAP_PREFIX},
        {RBD_FEATURE_JOURNALING, RBD_JOURNAL_PREFIX},
    };

    *has = true;
    for (size_t i = 0; i < ARRAY_LENGTH(objects) && *has; i++) {
        _cleanup_free_ char *object = xasprintf("%s%s", objects[i].prefix, image_id);
        time_t modified = 0;

        if (!(features & objects[i].feature) ||
            pool->ops->object_modified(pool, call, object, &modified, err) == 0)
            continue;
        *has = false;
        if (error_ignore(err, STATUS_NOT_FOUND) < 0)
            return -1;
    }
    return 0;
}

/* Output: the highest snapshot id so far, the number of snapshots, their ids. */
static int image_has_snapshots(struct ceph_pool *pool, struct call *call, const char *image_id,
                               bool *has, struct error *err)
{
    _cleanup_free_ char *object = xasprintf(RBD_HEADER_PREFIX "%s", image_id);
    char output[ID_LIMIT * 4];
    size_t length = 0;
    uint32_t count = 0;

    if (object_exec(pool, call, object, "get_snapcontext", NULL, 0, output, sizeof(output), &length,
                    err) < 0) {
        if (err->sys_errno != ERANGE)
            return -1;
        error_clear(err); /* more than fit */
        *has = true;
        return 0;
    }
    if (length < sizeof(uint64_t) + sizeof(count))
        return error_set(err, STATUS_DATA_LOSS, "the snapshots in '%s' in pool '%s' are broken",
                         object, pool->name);
    memcpy(&count, output + sizeof(uint64_t), sizeof(count));
    *has = count != 0;
    return 0;
}

static int read_parent(rbd_image_t image, struct image_facts *facts)
{
    rbd_linked_image_spec_t parent;
    rbd_snap_spec_t snapshot;
    int result = rbd_get_parent(image, &parent, &snapshot);

    if (result == -ENOENT)
        return 0;
    if (result < 0)
        return result;
    facts->has_parent = true;
    facts->parent = (struct image_parent){
        .pool_id = parent.pool_id,
        .rados_namespace = xstrdup(parent.pool_namespace ? parent.pool_namespace : ""),
        .image_name = xstrdup(parent.image_name ? parent.image_name : ""),
        .in_trash = parent.trash,
    };
    rbd_linked_image_spec_cleanup(&parent);
    rbd_snap_spec_cleanup(&snapshot);
    return 0;
}

/* NULL if the data are in the image's own pool. Caller frees. */
static char *read_data_pool(const struct ceph_pool *pool, rbd_image_t image)
{
    const int64_t id = rbd_get_data_pool_id(image);
    char name[POOL_NAME_LIMIT];

    if (id < 0 || id == pool->id)
        return NULL;
    if (rados_pool_reverse_lookup(real_cluster(pool->cluster)->rados, id, name, sizeof(name)) < 0)
        return xasprintf("#%lld", (long long)id);
    return xstrdup(name);
}

static int image_get_facts(struct ceph_pool *pool, struct call *call, const char *name,
                           struct image_facts *facts, struct error *err)
{
    _cleanup_image_ struct open_image image = {0};
    struct image_facts found = {0};
    char id[ID_LIMIT];

    if (image_open(pool, call, name, true, &image, err) < 0)
        return -1;
    int result = rbd_get_id(image.handle, id, sizeof(id));
    if (result == 0)
        result = rbd_get_size(image.handle, &found.size_bytes);
    if (result == 0)
        result = rbd_get_features(image.handle, &found.features);
    if (result == 0)
        result = rbd_get_create_timestamp(image.handle, &found.created);
    if (result == 0)
        result = read_parent(image.handle, &found);
    if (result < 0)
        return fail_image(err, result, "look at", pool, name);
    found.id = xstrdup(id);
    found.data_pool = read_data_pool(pool, image.handle);
    *facts = found;
    return 0;
}

static int image_remove(struct ceph_pool *pool, struct call *call, const char *name,
                        struct error *err)
{
    call_stage(call, "removing image '%s' in pool '%s' for {age}", name, pool->name);
    if (call_check(call, err) < 0)
        return -1;
    int result = rbd_remove(real_pool(pool)->io, name);
    return result < 0 ? fail_image(err, result, "remove", pool, name) : 0;
}

static int refuse_to_guess(struct ceph_pool *pool, const char *name,
                           const struct image_search *search, struct error *err)
{
    error_wrap(err,
               "look for data in image '%s' of pool '%s': nothing in the first %llu of %llu MiB, "
               "the rest is unknown",
               name, pool->name, (unsigned long long)(search->done_bytes >> 20),
               (unsigned long long)(search->size_bytes >> 20));
    return error_hint(err, "with the image features object-map and fast-diff this takes no time; "
                           "a file system that was made by hand is used as it is");
}

static int image_is_empty(struct ceph_pool *pool, struct call *call, const char *name, bool *empty,
                          struct error *err)
{
    _cleanup_image_ struct open_image image = {0};
    struct image_search search = {0};

    if (image_open(pool, call, name, true, &image, err) < 0)
        return -1;
    call_stage(call, "looking for data in image '%s' of pool '%s' for {age}", name, pool->name);
    int result = image_search(image.handle, call, &search);
    if (result < 0)
        return fail_image(err, result, "look for data in", pool, name);
    if (!search.has_data && search.done_bytes < search.size_bytes && call_check(call, err) < 0)
        return refuse_to_guess(pool, name, &search, err);
    *empty = !search.has_data;
    return 0;
}

/* --- changing --- */

static int image_resize(struct ceph_pool *pool, struct call *call, const char *name,
                        uint64_t size_bytes, struct error *err)
{
    _cleanup_image_ struct open_image image = {0};

    if (image_open(pool, call, name, false, &image, err) < 0)
        return -1;
    call_stage(call, "growing image '%s' in pool '%s' for {age}", name, pool->name);
    /* librbd calls the function without asking for NULL */
    _cleanup_progress_sink_ struct progress_sink nobody;
    progress_sink_init(&nobody, NULL, NULL);
    int result = rbd_resize2(image.handle, size_bytes, false, image_progress, &nobody);
    return result < 0 ? fail_image(err, result, "grow", pool, name) : 0;
}

void progress_sink_init(struct progress_sink *sink, ceph_progress report, void *object)
{
    *sink = (struct progress_sink){report, object};
    tsan_release(sink);
}

void progress_sink_done(struct progress_sink *sink)
{
    tsan_acquire(sink);
}

int image_progress(uint64_t done, uint64_t total, void *object)
{
    struct progress_sink *sink = object;

    tsan_acquire(sink);
    int result = 0;
    if (sink->report && total > 0)
        result = sink->report(sink->object, (int)(done * 100 / total));
    tsan_release(sink);
    return result;
}

static int begin_work(struct ceph_pool *pool, rbd_image_t image, const char *name,
                      struct error *err)
{
    int result = image_work_begin(pool, image);

    if (result == -EBUSY)
        return error_set(err, STATUS_ABORTED,
                         "a snapshot of image '%s' in pool '%s' is being taken, and no work on the "
                         "image may overlap it; retry",
                         name, pool->name);
    return result < 0 ? fail_image(err, result, "mark the work on", pool, name) : 0;
}

static int image_flatten(struct ceph_pool *pool, struct call *call, const char *name,
                         ceph_progress progress, void *progress_object, struct error *err)
{
    _cleanup_image_ struct open_image image = {0};

    if (image_open(pool, call, name, false, &image, err) < 0)
        return -1;
    call_stage(call, "flattening image '%s' in pool '%s' for {age}", name, pool->name);
    if (begin_work(pool, image.handle, name, err) < 0)
        return -1;
    _cleanup_progress_sink_ struct progress_sink sink;
    progress_sink_init(&sink, progress, progress_object);
    int result = rbd_flatten_with_progress(image.handle, image_progress, &sink);
    image_work_end(pool, image.handle);
    if (result == -EINVAL && !image_has_parent(image.handle)) /* done before */
        return 0;
    return result < 0 ? fail_image(err, result, "flatten", pool, name) : 0;
}

/* librbd stops when it is told so. */
static int stop_when_cancelled(void *object, int percent)
{
    (void)percent;
    return call_is_cancelled(object) ? -ECANCELED : 0;
}

static int image_sparsify(struct ceph_pool *pool, struct call *call, const char *name,
                          struct error *err)
{
    _cleanup_image_ struct open_image image = {0};
    _cleanup_progress_sink_ struct progress_sink sink;
    rbd_image_info_t facts;

    progress_sink_init(&sink, stop_when_cancelled, call);
    if (image_open(pool, call, name, false, &image, err) < 0)
        return -1;
    int result = rbd_stat(image.handle, &facts, sizeof(facts));
    if (result < 0)
        return fail_image(err, result, "look at", pool, name);
    call_stage(call, "freeing empty objects of image '%s' in pool '%s' for {age}", name,
               pool->name);
    if (begin_work(pool, image.handle, name, err) < 0)
        return -1;
    result = rbd_sparsify_with_progress(image.handle, facts.obj_size, image_progress, &sink);
    image_work_end(pool, image.handle);
    if (result < 0 && call_check(call, err) < 0)
        return -1;
    return result < 0 ? fail_image(err, result, "free empty objects of", pool, name) : 0;
}

static int image_list(struct ceph_pool *pool, struct call *call, struct strmap *ids,
                      struct error *err)
{
    _cleanup_free_ rbd_image_spec_t *found = NULL;
    size_t count = LIST_FIRST;
    int result = -ERANGE;

    call_stage(call, "listing the images of pool '%s' for {age}", pool->name);
    if (call_check(call, err) < 0)
        return -1;
    for (int tries = 0; result == -ERANGE && tries < 5; tries++) { /* @count becomes enough */
        found = xreallocarray(found, count, sizeof(*found));
        result = rbd_list2(real_pool(pool)->io, found, &count);
    }
    if (result == -ENOENT) /* no image has ever been here */
        return 0;
    if (result < 0)
        return error_set_errno(err, result, "list the images of pool '%s'", pool->name);
    for (size_t i = 0; i < count; i++)
        strmap_set(ids, found[i].name, found[i].id);
    rbd_image_spec_list_cleanup(found, count);
    return 0;
}

void images_register(struct ceph_ops *ops)
{
    ops->image_list = image_list;
    ops->image_create = image_create;
    ops->image_get_id = image_get_id;
    ops->image_get_listed_id = image_get_listed_id;
    ops->image_has_objects = image_has_objects;
    ops->image_get_size = image_get_size;
    ops->image_has_snapshots = image_has_snapshots;
    ops->image_get_facts = image_get_facts;
    ops->image_is_empty = image_is_empty;
    ops->image_resize = image_resize;
    ops->image_flatten = image_flatten;
    ops->image_sparsify = image_sparsify;
    ops->image_clone = image_clone;
    ops->image_remove = image_remove;
}
