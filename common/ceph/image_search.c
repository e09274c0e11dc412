/*
 * Looking for the first object of an image. With a good object map librbd knows; without, it asks
 * the OSDs for each object, ten at a time. One large image has millions of them and the call has
 * two minutes, so several threads share the work, in parts between which they look at the deadline.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/ceph/image_features.h"
#include "common/ceph/images.h"

#define THREADS 8
#define PART_OBJECTS ((uint64_t)1024)

struct search {
    rbd_image_t image;
    const struct call *call;
    uint64_t size;
    uint64_t part;
    atomic_uint_fast64_t next;
    atomic_uint_fast64_t done;
    atomic_bool has_data;
    atomic_int failure; /* negative errno */
};

static int note_extent(uint64_t offset, size_t length, int exists, void *object)
{
    struct search *search = object;

    (void)offset, (void)length;
    if (exists)
        atomic_store(&search->has_data, true);
    return atomic_load(&search->has_data) ? -ECANCELED : 0; /* one is enough */
}

/* One of the threads. */
static void *search_parts(void *object)
{
    struct search *search = object;

    while (!call_is_cancelled(search->call) && !atomic_load(&search->failure)) {
        const uint64_t from = atomic_fetch_add(&search->next, search->part);

        if (from >= search->size)
            break;
        const uint64_t rest = search->size - from;
        const uint64_t length = rest < search->part ? rest : search->part;
        const int result =
            rbd_diff_iterate2(search->image, NULL, from, length, 1, 1, note_extent, search);
        if (atomic_load(&search->has_data))
            break;
        if (result < 0)
            atomic_store(&search->failure, result);
        else
            atomic_fetch_add(&search->done, length);
    }
    return NULL;
}

/* Decides how much of the image is looked at in one go. */
static int choose_part(struct search *search)
{
    rbd_image_info_t info;
    uint64_t features = 0;
    uint64_t flags = 0;
    int result = rbd_stat(search->image, &info, sizeof(info));

    if (result == 0)
        result = rbd_get_features(search->image, &features);
    if (result == 0)
        result = rbd_get_flags(search->image, &flags);
    if (result < 0)
        return result;
    bool has_map = features & IMAGE_FEATURE_FAST_DIFF &&
                   !(flags & (RBD_FLAG_OBJECT_MAP_INVALID | RBD_FLAG_FAST_DIFF_INVALID));
    search->size = info.size;
    search->part = has_map ? info.size : PART_OBJECTS * info.obj_size;
    return 0;
}

int image_search(rbd_image_t image, struct call *call, struct image_search *found)
{
    struct search search = {.image = image, .call = call};
    pthread_t threads[THREADS - 1]; /* and this one */
    size_t count = 0;
    int result = choose_part(&search);

    if (result < 0)
        return result;
    while (count < THREADS - 1 && (count + 1) * search.part < search.size &&
           pthread_create(&threads[count], NULL, search_parts, &search) == 0)
        count++;
    search_parts(&search);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    *found = (struct image_search){
        .has_data = atomic_load(&search.has_data),
        .size_bytes = search.size,
        .done_bytes = atomic_load(&search.done),
    };
    return found->has_data ? 0 : atomic_load(&search.failure);
}
