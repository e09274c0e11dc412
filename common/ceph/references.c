#include "common/ceph/references.h"

#include <endian.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/on_disk.h"

#define TRIES 16

/* The object as it was read. */
struct tracker {
    struct ceph_pool *pool;
    struct call *call;
    char *object;
    uint64_t version; /* 0: there is none */
    uint32_t count;
    struct strmap present; /* of the keys that were asked for */
};

static void tracker_done(struct tracker *tracker)
{
    free(tracker->object);
    strmap_done(&tracker->present);
}

static bool has_reference(const struct tracker *tracker, const char *key, const char *kind)
{
    const char *value = strmap_get(&tracker->present, key);

    return value && strcmp(value, kind) == 0;
}

static int fail_broken(const struct tracker *tracker, const char *what, struct error *err)
{
    return error_set(err, STATUS_DATA_LOSS, "reference tracker '%s' in pool '%s' %s",
                     tracker->object, tracker->pool->name, what);
}

static int tracker_read(struct tracker *tracker, const struct string_list *keys, struct error *err)
{
    _cleanup_(object_state_done) struct object_state state = {0};
    struct ceph_pool *pool = tracker->pool;
    uint32_t version = 0;

    strmap_done(&tracker->present);
    tracker->version = 0;
    tracker->count = 0;
    if (pool->ops->object_read(pool, tracker->call, tracker->object, REFERENCES_XATTR, keys, &state,
                               err) < 0) {
        return error_ignore(err, STATUS_NOT_FOUND);
    }
    if (state.attribute_length != sizeof(version))
        return fail_broken(tracker, "has no version", err);
    memcpy(&version, state.attribute, sizeof(version));
    if (be32toh(version) != REFERENCES_VERSION)
        return fail_broken(tracker, "is of a version that this driver does not know", err);
    if (state.data_length != sizeof(tracker->count))
        return fail_broken(tracker, "has no count", err);
    memcpy(&tracker->count, state.data, sizeof(tracker->count));
    tracker->count = be32toh(tracker->count);
    tracker->version = state.version;
    tracker->present = state.omap;
    state.omap = (struct strmap){0};
    return 0;
}

/* Writes @count and the keys; an object that counts nothing goes. */
static int tracker_write(const struct tracker *tracker, uint32_t count, const struct strmap *set,
                         const struct string_list *removed, struct error *err)
{
    const uint32_t version = htobe32(REFERENCES_VERSION);
    const uint32_t data = htobe32(count);
    struct object_change change = {
        .version = tracker->version,
        .remove = count == 0,
        .data = &data,
        .data_length = sizeof(data),
        .set = set,
        .removed = removed,
    };

    if (tracker->version == 0) {
        change.attribute_name = REFERENCES_XATTR;
        change.attribute = &version;
        change.attribute_length = sizeof(version);
    }
    return tracker->pool->ops->object_change(tracker->pool, tracker->call, tracker->object, &change,
                                             err);
}

enum change { ADD_VOLUME, REMOVE_VOLUME, MASK_SNAPSHOT };

/* Changes @tracker as it was read; nothing is written where it is as wanted already. */
static int change_tracker(const struct tracker *tracker, enum change change, const char *snapshot,
                          const char *volume, bool *is_last, struct error *err)
{
    _cleanup_strmap_ struct strmap set = {0};
    _cleanup_string_list_ struct string_list removed = {0};
    const char *gone = change == REMOVE_VOLUME ? volume : snapshot;
    uint32_t count = tracker->count;

    if (change == ADD_VOLUME) {
        if (!strmap_has(&tracker->present, snapshot))
            strmap_set(&set, snapshot, REFERENCE_NORMAL);
        if (!strmap_has(&tracker->present, volume))
            strmap_set(&set, volume, REFERENCE_NORMAL);
        count += (uint32_t)set.count;
        return set.count ? tracker_write(tracker, count, &set, NULL, err) : 0;
    }
    *is_last = tracker->version == 0;
    if (*is_last || (change == REMOVE_VOLUME && !strmap_has(&tracker->present, volume)) ||
        (change == MASK_SNAPSHOT && has_reference(tracker, snapshot, REFERENCE_MASKED)))
        return 0;
    if (has_reference(tracker, gone, REFERENCE_NORMAL) && count > 0)
        count--;
    if (change == REMOVE_VOLUME)
        string_list_add(&removed, volume);
    else
        strmap_set(&set, snapshot, REFERENCE_MASKED);
    *is_last = count == 0;
    return tracker_write(tracker, count, &set, &removed, err);
}

static struct tracker tracker_of(struct ceph_pool *pool, struct call *call, const char *snapshot)
{
    return (struct tracker){
        .pool = pool, .call = call, .object = xasprintf(REFERENCES_PREFIX "%s", snapshot)};
}

static int change_references(struct ceph_pool *pool, struct call *call, enum change change,
                             const char *snapshot, const char *volume, bool *is_last,
                             struct error *err)
{
    _cleanup_(tracker_done) struct tracker tracker = tracker_of(pool, call, snapshot);
    _cleanup_string_list_ struct string_list keys = {0};

    string_list_add(&keys, snapshot);
    if (volume)
        string_list_add(&keys, volume);
    for (int tries = 1;; tries++) {
        if (tracker_read(&tracker, &keys, err) < 0)
            return -1;
        if (change_tracker(&tracker, change, snapshot, volume, is_last, err) == 0)
            return 0;
        if (err->status != STATUS_ABORTED || tries == TRIES || call_is_cancelled(call))
            return error_wrap(err, "references to snapshot '%s'", snapshot);
        error_clear(err); /* another volume of the snapshot was faster */
    }
}

int references_add(struct ceph_pool *pool, struct call *call, const char *snapshot,
                   const char *volume, struct error *err)
{
    return change_references(pool, call, ADD_VOLUME, snapshot, volume, NULL, err);
}

int references_remove(struct ceph_pool *pool, struct call *call, const char *snapshot,
                      const char *volume, bool *is_last, struct error *err)
{
    return change_references(pool, call, REMOVE_VOLUME, snapshot, volume, is_last, err);
}

int references_mask(struct ceph_pool *pool, struct call *call, const char *snapshot, bool *is_last,
                    struct error *err)
{
    return change_references(pool, call, MASK_SNAPSHOT, snapshot, NULL, is_last, err);
}

int references_are_masked(struct ceph_pool *pool, struct call *call, const char *snapshot,
                          bool *are_masked, struct error *err)
{
    _cleanup_(tracker_done) struct tracker tracker = tracker_of(pool, call, snapshot);
    _cleanup_string_list_ struct string_list keys = {0};

    string_list_add(&keys, snapshot);
    if (tracker_read(&tracker, &keys, err) < 0)
        return error_wrap(err, "references to snapshot '%s'", snapshot);
    *are_masked = has_reference(&tracker, snapshot, REFERENCE_MASKED);
    return 0;
}
