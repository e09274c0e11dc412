/*
 * Who uses an image: the clients that watch its header, and those that locked it by hand. A process
 * of the driver that flattens an image watches it too, for hours perhaps, but does not use it: it
 * says so by a lock of its own (see images.h).
 */
#include <errno.h>
#include <rbd/librbd.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/connections.h"
#include "common/ceph/images.h"
#include "common/ceph/on_disk.h"

#define ID_LIMIT 1024
#define WATCHERS_MAX 64
#define LOCKERS_BYTES 65536
#define WORK_COOKIE "flatten" /* whatever the work is */
#define WORK_TAG ""
#define SNAPSHOT_TAG "snapshot" /* another tag: the two kinds of holders exclude each other */

/* --- locks --- */

/* Called for each locker: "client.4123", its cookie and its address. */
typedef void locker_visit(void *object, const char *client, const char *cookie,
                          const char *address);

/* Negative errno. No lock is no failure. */
static int each_locker(struct ceph_pool *pool, const char *header, const char *lock,
                       locker_visit *visit, void *object)
{
    _cleanup_free_ char *buffer = xcalloc(3, LOCKERS_BYTES);
    char tag[4096];
    size_t sizes[] = {LOCKERS_BYTES, LOCKERS_BYTES, LOCKERS_BYTES, sizeof(tag)};
    int exclusive = 0;
    const char *client = buffer;
    const char *cookie = buffer + LOCKERS_BYTES;
    const char *address = buffer + (size_t)2 * LOCKERS_BYTES;

    ssize_t count = rados_list_lockers(real_pool(pool)->io, header, lock, &exclusive, tag,
                                       &sizes[3], buffer, &sizes[0], buffer + LOCKERS_BYTES,
                                       &sizes[1], buffer + (size_t)2 * LOCKERS_BYTES, &sizes[2]);
    if (count < 0)
        return (int)count;
    for (ssize_t i = 0; i < count; i++) {
        visit(object, client, cookie, address);
        client += strlen(client) + 1;
        cookie += strlen(cookie) + 1;
        address += strlen(address) + 1;
    }
    return 0;
}

static void add_manual_locker(void *object, const char *client, const char *cookie,
                              const char *address)
{
    if (strncmp(cookie, RBD_LOCK_AUTOMATIC, strlen(RBD_LOCK_AUTOMATIC)) == 0)
        return;
    _cleanup_free_ char *locker = xasprintf("%s at %s", client, address);
    string_list_add(object, locker);
}

static int image_lockers(struct ceph_pool *pool, struct call *call, const char *name,
                         struct string_list *lockers, struct error *err)
{
    _cleanup_free_ char *id = NULL;

    if (image_get_id(pool, call, name, &id, err) < 0)
        return -1;
    _cleanup_free_ char *header = xasprintf(RBD_HEADER_PREFIX "%s", id);
    int result = each_locker(pool, header, RBD_LOCK, add_manual_locker, lockers);
    if (result < 0)
        return error_set_errno(err, result, "list the locks of image '%s' in pool '%s'", name,
                               pool->name);
    return 0;
}

/* --- the driver's own work --- */

static void add_client(void *object, const char *client, const char *cookie, const char *address)
{
    (void)cookie, (void)address;
    string_list_add(object, client);
}

/* The header of an open image (caller frees); negative errno. */
static int header_of(rbd_image_t image, char **header)
{
    char id[ID_LIMIT];
    int result = rbd_get_id(image, id, sizeof(id));

    if (result == 0)
        *header = xasprintf(RBD_HEADER_PREFIX "%s", id);
    return result;
}

static bool is_watching(const rbd_image_watcher_t *watchers, size_t count, const char *client)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *watcher = xasprintf("client.%lld", (long long)watchers[i].id);

        if (strcmp(watcher, client) == 0)
            return true;
    }
    return false;
}

struct marks {
    rados_ioctx_t io;
    const char *header;
    rbd_image_watcher_t watchers[WATCHERS_MAX];
    size_t count;
};

/* Who marks an image has it open, so that it watches it for as long as it lives. */
static void break_if_dead(void *object, const char *client, const char *cookie, const char *address)
{
    const struct marks *marks = object;

    (void)address;
    if (!is_watching(marks->watchers, marks->count, client))
        rados_break_lock(marks->io, marks->header, RBD_WORK_LOCK, client, cookie);
}

/* Marks of clients that died would pile up on an image that takes many tries, and hinder. */
static void break_dead_marks(struct ceph_pool *pool, rbd_image_t image, const char *header)
{
    struct marks marks = {
        .io = real_pool(pool)->io, .header = header, .count = ARRAY_LENGTH(marks.watchers)};

    if (rbd_watchers_list(image, marks.watchers, &marks.count) < 0)
        return;
    each_locker(pool, header, RBD_WORK_LOCK, break_if_dead, &marks);
    rbd_watchers_list_cleanup(marks.watchers, marks.count);
}

int image_work_begin(struct ceph_pool *pool, rbd_image_t image)
{
    _cleanup_free_ char *header = NULL;
    int result = header_of(image, &header);

    if (result < 0)
        return result;
    break_dead_marks(pool, image, header);
    return rados_lock_shared(real_pool(pool)->io, header, RBD_WORK_LOCK, WORK_COOKIE, WORK_TAG, "",
                             NULL, LIBRADOS_LOCK_FLAG_RENEW);
}

static void remove_mark(struct ceph_pool *pool, rbd_image_t image, const char *cookie)
{
    _cleanup_free_ char *header = NULL;

    if (header_of(image, &header) == 0)
        rados_unlock(real_pool(pool)->io, header, RBD_WORK_LOCK, cookie);
}

void image_work_end(struct ceph_pool *pool, rbd_image_t image)
{
    remove_mark(pool, image, WORK_COOKIE);
}

/* --- snapshots, which no work may overlap --- */

static int mark_snapshot(struct ceph_pool *pool, const char *header, const char *cookie)
{
    return rados_lock_shared(real_pool(pool)->io, header, RBD_WORK_LOCK, cookie, SNAPSHOT_TAG, "",
                             NULL, 0);
}

bool image_has_parent(rbd_image_t image)
{
    rbd_linked_image_spec_t parent;
    rbd_snap_spec_t snapshot;
    const int result = rbd_get_parent(image, &parent, &snapshot);

    if (result == 0) {
        rbd_linked_image_spec_cleanup(&parent);
        rbd_snap_spec_cleanup(&snapshot);
    }
    return result != -ENOENT; /* not known: as if */
}

int image_snapshot_begin(struct ceph_pool *pool, rbd_image_t image, char **cookie)
{
    static atomic_uint number; /* of one client: it may take several at once */
    _cleanup_free_ char *header = NULL;

    if (!image_has_parent(image))
        return 0;
    int result = header_of(image, &header);
    if (result < 0)
        return result;
    *cookie = xasprintf("snapshot %u", atomic_fetch_add(&number, 1));
    result = mark_snapshot(pool, header, *cookie);
    if (result == -EBUSY) {
        break_dead_marks(pool, image, header);
        result = mark_snapshot(pool, header, *cookie);
    }
    if (result < 0) {
        free(*cookie);
        *cookie = NULL;
    }
    return result;
}

void image_snapshot_end(struct ceph_pool *pool, rbd_image_t image, char *cookie)
{
    if (cookie)
        remove_mark(pool, image, cookie);
    free(cookie);
}

/* --- watchers --- */

/* Leaves out this process and those that work on the image. Negative errno. */
static int add_users(struct ceph_pool *pool, rbd_image_t image, const rbd_image_watcher_t *found,
                     size_t count, struct string_list *users)
{
    const struct shared_io *shared = real_pool(pool)->shared;
    _cleanup_string_list_ struct string_list workers = {0};
    _cleanup_free_ char *header = NULL;
    int result = 0;

    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *client = xasprintf("client.%lld", (long long)found[i].id);

        if (connections_have_client(shared->connections, shared->connection, found[i].id))
            continue;
        if (!header) { /* the first other one: mostly there is none */
            result = header_of(image, &header);
            if (result == 0)
                result = each_locker(pool, header, RBD_WORK_LOCK, add_client, &workers);
        }
        if (result < 0)
            return result;
        if (!string_list_has(&workers, client))
            string_list_add(users, found[i].addr);
    }
    return 0;
}

/* Our own read-only open does not watch; but the removal of a clone opens its parent for writing
 * for a moment, and what this process removes in the background does not count as use, whichever of
 * its connections it has: a change of the monitors' addresses begins another one. */
static int image_watchers(struct ceph_pool *pool, struct call *call, const char *name,
                          struct string_list *watchers, struct error *err)
{
    _cleanup_image_ struct open_image image = {0};
    rbd_image_watcher_t found[WATCHERS_MAX];
    size_t count = WATCHERS_MAX;

    if (image_open(pool, call, name, true, &image, err) < 0)
        return -1;
    int result = rbd_watchers_list(image.handle, found, &count);
    if (result == 0) {
        result = add_users(pool, image.handle, found, count, watchers);
        rbd_watchers_list_cleanup(found, count);
    }
    if (result < 0)
        return error_set_errno(err, result, "list the watchers of image '%s' in pool '%s'", name,
                               pool->name);
    return 0;
}

void image_users_register(struct ceph_ops *ops)
{
    ops->image_watchers = image_watchers;
    ops->image_lockers = image_lockers;
}
