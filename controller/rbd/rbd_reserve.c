/*
 * The first half of CreateVolume: which pools, and the request name in the journal.
 *
 * A class with one pool has the name, the attributes and the image there. With places the name is
 * in the class's pool and leads to that of the image; it is looked for before a place is chosen, so
 * that a retry finds its volume wherever the scheduler would put it now. Ceph-CSI from 3.11 on kept
 * names beside the image: one question to all listed pools at once finds those. A class without a
 * pool of its own, and places in another cluster, do the same.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "controller/claim.h"
#include "controller/fingerprint.h"
#include "controller/rbd/rbd_creation.h"
#include "controller/rbd/rbd_images.h"

#define KEY_DATA_POOL "cephzone.datapool"

/* How long pools are asked that have the name only if Ceph-CSI wrote it: one that does not answer
 * must not keep the others from serving. */
#define FOREIGN_PATIENCE_MS 2000

/* --- the pools --- */

static int open_session(struct creation *creation, const char *cluster_id, struct error *err)
{
    session_close(&creation->session);
    creation->cluster_id = cluster_id;
    return session_open(creation->controller->ceph, creation->controller->config, creation->call,
                        cluster_id, &creation->request->credentials, &creation->session, err);
}

static int open_pool(struct creation *creation, const char *name, struct ceph_pool **pool,
                     struct error *err)
{
    struct ceph_cluster *cluster = creation->session.cluster;

    return cluster->ops->pool_open(cluster, creation->call, name,
                                   session_rbd_namespace(&creation->session), pool, err);
}

/* A pool that the class names and that is not there: the volume could not be missing. */
static int open_named_pool(struct creation *creation, const char *name, struct ceph_pool **pool,
                           struct error *err)
{
    if (open_pool(creation, name, pool, err) == 0)
        return 0;
    return err->status == STATUS_NOT_FOUND ? error_recode(err, STATUS_INVALID_ARGUMENT) : -1;
}

static int open_plain_pool(struct creation *creation, struct error *err)
{
    if (open_named_pool(creation, creation->class.pool, &creation->directory, err) < 0)
        return -1;
    creation->pool = creation->directory;
    return 0;
}

static bool wants_place(const struct creation *creation)
{
    return class_pools_want_place(&creation->class, &creation->request->requirement);
}

/* --- names beside their images --- */

/* The pools of one cluster that may have the name in a directory of their own. */
struct directories {
    struct ceph_pool **pools;
    size_t count;
};

static bool has_pool(const struct directories *directories, const char *name)
{
    for (size_t i = 0; i < directories->count; i++)
        if (strcmp(directories->pools[i]->name, name) == 0)
            return true;
    return false;
}

static bool is_in_cluster(const struct creation *creation, const struct pool_entry *entry,
                          const char *cluster_id)
{
    const char *own = entry->cluster_id ? entry->cluster_id : creation->class.cluster_id;

    return strcmp(own, cluster_id) == 0;
}

static int open_directories(struct creation *creation, struct directories *directories,
                            struct error *err)
{
    const struct pool_entries *entries = &creation->class.entries;

    directories->pools = xcalloc(entries->count + 1, sizeof(*directories->pools));
    for (size_t i = 0; i < entries->count; i++) {
        const struct pool_entry *entry = &entries->items[i];
        bool is_known = creation->directory && strcmp(entry->pool, creation->directory->name) == 0;

        if (is_known || !is_in_cluster(creation, entry, creation->cluster_id) ||
            has_pool(directories, entry->pool))
            continue;
        if (open_pool(creation, entry->pool, &directories->pools[directories->count], err) == 0)
            directories->count++;
        else if (err->status == STATUS_NOT_FOUND)
            error_clear(err); /* placement says so, with its position */
        else
            return -1;
    }
    return 0;
}

static void directories_done(struct directories *directories)
{
    for (size_t i = 0; i < directories->count; i++)
        if (directories->pools[i])
            ceph_pool_close(directories->pools[i]);
    free(directories->pools);
}

/* Looks into the listed pools of the open cluster. What is found becomes the creation's directory.
 */
static int find_beside_images(struct creation *creation, bool *found, struct error *err)
{
    _cleanup_(directories_done) struct directories directories = {0};
    int64_t patience = creation->directory ? FOREIGN_PATIENCE_MS : -1;
    struct journal_ref ref;
    ssize_t index = -1;

    if (open_directories(creation, &directories, err) < 0 ||
        journal_find_in_pools(&creation->journal, creation->call, directories.pools,
                              directories.count, creation->request->name, patience, &ref, &index,
                              err) < 0) {
        if (!creation->directory || err->status != STATUS_UNAVAILABLE)
            return -1;
        log_warn(creation->call,
                 "%s; going on, for only a volume that Ceph-CSI began could be there",
                 err->message);
        error_clear(err);
        return 0;
    }
    *found = index >= 0;
    if (!*found)
        return 0;
    if (creation->directory)
        ceph_pool_close(creation->directory);
    creation->directory = TAKE(directories.pools[index]);
    return 0;
}

/* --- places --- */

static struct placing placing_of(const struct creation *creation)
{
    const struct located *source = creation->source_is_open ? &creation->source.located : NULL;

    return (struct placing){
        .controller = creation->controller,
        .call = creation->call,
        .class = &creation->class,
        .credentials = &creation->request->credentials,
        .requirement = &creation->request->requirement,
        .volume_name = creation->request->name,
        .parameters = &creation->request->parameters,
        .size_bytes = creation->size_bytes,
        .rados_namespace = session_rbd_namespace(&creation->session),
        .source_pool = source ? source->pool->name : NULL,
        .source_cluster = source ? source->id.cluster_id : NULL,
    };
}

/* Opens what was decided. The name goes to the class's pool if that is in the same cluster. */
static int open_place(struct creation *creation, struct error *err)
{
    const struct place *place = &creation->place;
    bool is_elsewhere = strcmp(place->cluster_id, creation->cluster_id) != 0;

    creation->parameters.image.data_pool = place->entry.data_pool;
    if (is_elsewhere) {
        if (creation->directory)
            ceph_pool_close(TAKE(creation->directory));
        if (open_session(creation, place->cluster_id, err) < 0)
            return -1;
    }
    if (!creation->directory) {
        if (open_named_pool(creation, place->entry.pool, &creation->directory, err) < 0)
            return -1;
        creation->pool = creation->directory;
        return 0;
    }
    creation->pool = creation->directory;
    if (strcmp(place->entry.pool, creation->directory->name) == 0)
        return 0;
    if (open_named_pool(creation, place->entry.pool, &creation->other_pool, err) < 0)
        return -1;
    creation->pool = creation->other_pool;
    return 0;
}

/* Looks for the name in the class's own pool and then beside images. */
static int find_name(struct creation *creation, bool *found, struct error *err)
{
    struct journal_ref ref;

    if (creation->class.pool) {
        if (open_named_pool(creation, creation->class.pool, &creation->directory, err) < 0 ||
            journal_find(&creation->journal, creation->call, creation->directory,
                         creation->request->name, &ref, found, err) < 0)
            return -1;
        if (*found)
            return 0;
    }
    return find_beside_images(creation, found, err);
}

/* The same in the other clusters of the class, one after the other. Ends in the class's own. */
static int find_in_other_clusters(struct creation *creation, bool *found, struct error *err)
{
    const struct pool_entries *entries = &creation->class.entries;
    struct ceph_pool *own = TAKE(creation->directory);
    struct session own_session = creation->session;
    int result = 0;

    creation->session = (struct session){0};
    for (size_t i = 0; i < entries->count && result == 0 && !*found; i++) {
        const char *cluster_id = entries->items[i].cluster_id;
        bool seen = !cluster_id || strcmp(cluster_id, creation->class.cluster_id) == 0;

        for (size_t j = 0; j < i && !seen; j++)
            seen = is_in_cluster(creation, &entries->items[j], cluster_id);
        if (seen)
            continue;
        result = open_session(creation, cluster_id, err);
        if (result == 0)
            result = find_beside_images(creation, found, err);
    }
    if (*found && result == 0) {
        if (own)
            ceph_pool_close(own);
        session_close(&own_session);
        return 0;
    }
    session_close(&creation->session);
    creation->session = own_session;
    creation->cluster_id = creation->class.cluster_id;
    creation->directory = own;
    return result;
}

static int open_new_place(struct creation *creation, struct error *err)
{
    if (creation_open_source(creation, err) < 0)
        return -1;
    const struct placing placing = placing_of(creation);
    if (place_decide(&placing, &creation->place, err) < 0)
        return -1;
    return open_place(creation, err);
}

int creation_open_pools(struct creation *creation, struct error *err)
{
    bool found = false;

    if (open_session(creation, creation->class.cluster_id, err) < 0)
        return -1;
    if (!wants_place(creation))
        return open_plain_pool(creation, err);
    if (find_name(creation, &found, err) < 0 ||
        (!found && find_in_other_clusters(creation, &found, err) < 0))
        return -1;
    if (!found)
        return open_new_place(creation, err);
    creation->pool = creation->directory; /* until the name has told */
    return 0;
}

/* --- the place in the journal --- */

static void write_place(const struct creation *creation, struct strmap *extra)
{
    const struct place *place = &creation->place;

    if (place->entry.pool)
        segments_write(&place->segments, extra);
    if (place->entry.data_pool)
        strmap_set(extra, KEY_DATA_POOL, place->entry.data_pool);
}

/* The name led to a pool that this call did not choose: what the class says of that pool. */
static int recover_place(struct creation *creation, struct error *err)
{
    struct place *place = &creation->place;

    if (!wants_place(creation) ||
        (place->entry.pool && strcmp(place->entry.pool, creation->pool->name) == 0))
        return 0;
    const struct placing placing = placing_of(creation);
    place_done(place);
    if (place_recover(&placing, creation->pool->name, place, err) < 0)
        return -1;
    creation->parameters.image.data_pool = place->entry.data_pool;
    return 0;
}

/* What the entry says of the place; Ceph-CSI's do not, and then the class does. */
static int read_place(struct creation *creation, struct error *err)
{
    const struct strmap *extra = &creation->entry.extra;
    const char *data_pool = strmap_get(extra, KEY_DATA_POOL);

    if (!segments_are_written(extra))
        return recover_place(creation, err);
    place_done(&creation->place);
    segments_read(extra, &creation->place.segments);
    creation->place.entry.pool = xstrdup(creation->pool->name);
    if (data_pool)
        creation->place.entry.data_pool = xstrdup(data_pool);
    creation->parameters.image.data_pool = creation->place.entry.data_pool;
    return 0;
}

/* --- claim and record --- */

/* The name leads to a volume that an earlier class put into another pool: continue there. */
static int follow_to_pool(void *object, int64_t pool_id, struct error *err)
{
    struct creation *creation = object;
    struct ceph_cluster *cluster = creation->session.cluster;
    struct ceph_pool *found = NULL;

    if (pool_id == creation->pool->id)
        return 0;
    if (cluster->ops->pool_open_by_id(cluster, creation->call, pool_id,
                                      creation->pool->rados_namespace, &found, err) < 0)
        return -1;
    if (creation->other_pool) /* chosen before somebody else claimed the name */
        ceph_pool_close(creation->other_pool);
    creation->pool = creation->other_pool = found;
    return 0;
}

static int claim(struct creation *creation, struct journal_ref *ref, struct error *err)
{
    const struct name_claim claim = {.journal = &creation->journal,
                                     .call = creation->call,
                                     .directory = creation->directory,
                                     .name = creation->request->name,
                                     .pool_id = creation->pool->id,
                                     .follow = follow_to_pool,
                                     .object = creation};

    return name_claim(&claim, ref, &creation->fresh, err);
}

/* Reads what there is for a name that was claimed before. */
static int read_entry(struct creation *creation, const struct uuid_text *uuid, bool *found,
                      struct error *err)
{
    struct journal_entry *entry = &creation->entry;
    struct journal_entry split = {0};
    bool is_split = false;

    if (journal_read(&creation->journal, creation->call, creation->pool, uuid, entry, found, err) <
        0)
        return -1;
    if (!*found || entry->request_name || creation->pool == creation->directory)
        return 0;
    /* Ceph-CSI 3.0 to 3.10 wrote the attributes beside the directory */
    if (journal_read(&creation->journal, creation->call, creation->directory, uuid, &split,
                     &is_split, err) < 0)
        return -1;
    if (is_split) {
        journal_entry_done(entry);
        *entry = split;
        creation->attributes = creation->directory;
    }
    return 0;
}

/* Writes the entry; @is_empty says that its object is there without attributes. */
static int record(struct creation *creation, const struct uuid_text *uuid, bool is_empty,
                  struct error *err)
{
    struct journal_entry *entry = &creation->entry;

    if (creation_open_source(creation, err) < 0 || recover_place(creation, err) < 0)
        return -1;
    journal_entry_done(entry);
    *entry = (struct journal_entry){
        .uuid = *uuid,
        .request_name = xstrdup(creation->request->name),
        .image_name = xasprintf("%s%s", creation->parameters.name_prefix, uuid->chars),
        .owner = creation->parameters.owner ? xstrdup(creation->parameters.owner) : NULL,
        .journal_pool_id = creation->directory->id,
    };
    fingerprint_write(creation->request, creation->size_bytes, &entry->extra);
    write_place(creation, &entry->extra);
    image_mark_begun(creation->controller, &entry->extra);
    if (is_empty)
        return journal_fill(&creation->journal, creation->call, creation->attributes, entry, err);
    if (journal_write(&creation->journal, creation->call, creation->pool, entry, err) == 0)
        return 0;
    if (err->status != STATUS_ALREADY_EXISTS)
        return -1;
    error_clear(err); /* another process continues the same reservation */
    return 0;
}

int creation_reserve(struct creation *creation, struct error *err)
{
    struct journal_ref ref;
    bool found = false;

    if (claim(creation, &ref, err) < 0)
        return -1;
    creation->entry.uuid = ref.uuid;
    creation->attributes = creation->pool;
    if (!creation->fresh && read_entry(creation, &ref.uuid, &found, err) < 0)
        return -1;
    if (!found || !creation->entry.request_name)
        return record(creation, &ref.uuid, found, err);
    if (journal_check_name(&creation->entry, creation->request->name, err) < 0 ||
        fingerprint_check(creation->request, &creation->entry.extra, err) < 0)
        return -1;
    uint64_t recorded = fingerprint_size(&creation->entry.extra);
    if (recorded)
        creation->size_bytes = recorded;
    return read_place(creation, err);
}
