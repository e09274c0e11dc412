/*
 * The first half of CreateVolume for CephFS: which cluster, file system and data pool.
 *
 * The journal. What a volume's handle names is its file system, so its attributes are in the
 * metadata pool of that, and Ceph-CSI finds them. The request name is in the metadata pool of the
 * class's fsName, whichever file system of the cluster the volume is in: the value says which, as
 * POOLID/UUID, and of two processes that choose differently one wins. It is looked for before a
 * place is chosen, so that a retry finds its volume wherever the scheduler would put it now. A
 * volume in another cluster, or of a class without fsName, has its name beside its attributes; one
 * question to all file systems that the class lists finds it.
 *
 * The name leads to a file system, not to a data pool: that is in the attributes. A creation that
 * was cut between the two has made nothing yet, and chooses again within the file system.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "controller/cephfs/cephfs_creation.h"

/* --- opening --- */

void cephfs_creation_close_pools(struct cephfs_creation *creation)
{
    if (creation->directory && creation->directory != creation->pool)
        ceph_pool_close(creation->directory);
    if (creation->pool)
        ceph_pool_close(creation->pool);
    creation->directory = NULL;
    creation->pool = NULL;
}

static int open_metadata_pool(struct cephfs_creation *creation, int64_t id, struct ceph_pool **pool,
                              struct error *err)
{
    struct ceph_cluster *cluster = creation->session.cluster;
    const char *name =
        session_cephfs_namespace(&creation->session, creation->controller->cephfs_namespace);

    return cluster->ops->pool_open_by_id(cluster, creation->call, id, name, pool, err);
}

int cephfs_creation_open_pools(struct cephfs_creation *creation, struct error *err)
{
    const int64_t id = creation->fs.metadata_pool_id;

    if (open_metadata_pool(creation, id, &creation->pool, err) < 0)
        return -1;
    if (creation->directory_id == id) {
        creation->directory = creation->pool;
        return 0;
    }
    if (open_metadata_pool(creation, creation->directory_id, &creation->directory, err) == 0)
        return 0;
    ceph_pool_close(TAKE(creation->pool));
    return -1;
}

static int open_session(struct cephfs_creation *creation, const char *cluster_id, struct error *err)
{
    cephfs_creation_close_pools(creation);
    session_close(&creation->session);
    creation->cluster_id = cluster_id;
    return session_open(creation->controller->ceph, creation->controller->config, creation->call,
                        cluster_id, &creation->request->credentials, &creation->session, err);
}

/* From now on @fs is the volume's; takes over what it owns. */
static void take_filesystem(struct cephfs_creation *creation, struct filesystem *fs)
{
    filesystem_done(&creation->fs);
    creation->fs = *fs;
    *fs = (struct filesystem){0};
    creation->group = cephfs_group(&creation->session, &creation->fs);
}

/* Finds a file system that the class names: one that is not there is the class's fault, no volume
 * is missing. */
static int open_filesystem(struct cephfs_creation *creation, const char *name, struct error *err)
{
    struct filesystem fs = {0};

    if (filesystem_find_name(creation->session.cluster, creation->call, name, &fs, err) < 0)
        return err->status == STATUS_NOT_FOUND ? error_recode(err, STATUS_INVALID_ARGUMENT) : -1;
    take_filesystem(creation, &fs);
    return 0;
}

/* The class's own file system, with the request names. */
static int open_home(struct cephfs_creation *creation, struct error *err)
{
    if (open_session(creation, creation->class.cluster_id, err) < 0)
        return -1;
    if (!creation->class.home)
        return 0;
    if (open_filesystem(creation, creation->class.home, err) < 0)
        return -1;
    creation->directory_id = creation->fs.metadata_pool_id;
    return cephfs_creation_open_pools(creation, err);
}

/* --- names --- */

/* The journals of one cluster that may have the name beside its volume. */
struct directories {
    struct filesystem_list list;
    struct ceph_pool **pools;
    size_t *owners; /* indices in the list */
    size_t count;
};

static void directories_done(struct directories *directories)
{
    for (size_t i = 0; i < directories->count; i++)
        ceph_pool_close(directories->pools[i]);
    free(directories->pools);
    free(directories->owners);
    filesystem_list_done(&directories->list);
}

static bool is_listed(const struct class_pools *class, const char *cluster_id, const char *fs_name)
{
    for (size_t i = 0; i < class->entries.count; i++) {
        const struct pool_entry *entry = &class->entries.items[i];

        if (strcmp(class_pools_cluster(class, entry), cluster_id) == 0 &&
            strcmp(class_pools_filesystem(class, entry), fs_name) == 0)
            return true;
    }
    return false;
}

static int open_directories(struct cephfs_creation *creation, struct directories *directories,
                            struct error *err)
{
    struct filesystem_list *list = &directories->list;

    if (filesystem_list_read(creation->session.cluster, creation->call, list, err) < 0)
        return -1;
    directories->pools = xcalloc(list->count + 1, sizeof(*directories->pools));
    directories->owners = xcalloc(list->count + 1, sizeof(*directories->owners));
    for (size_t i = 0; i < list->count; i++) {
        if (!is_listed(&creation->class, creation->cluster_id, list->items[i].name))
            continue;
        if (open_metadata_pool(creation, list->items[i].metadata_pool_id,
                               &directories->pools[directories->count], err) < 0)
            return -1;
        directories->owners[directories->count++] = i;
    }
    return 0;
}

/* Looks into the listed file systems of a cluster. What is found becomes the volume's. */
static int find_in_cluster(struct cephfs_creation *creation, const char *cluster_id, bool *found,
                           struct error *err)
{
    _cleanup_(directories_done) struct directories directories = {0};
    struct journal_ref ref;
    ssize_t index = -1;

    if (open_session(creation, cluster_id, err) < 0 ||
        open_directories(creation, &directories, err) < 0 ||
        journal_find_in_pools(&creation->journal, creation->call, directories.pools,
                              directories.count, creation->request->name, -1, &ref, &index,
                              err) < 0)
        return -1;
    *found = index >= 0;
    if (!*found)
        return 0;
    take_filesystem(creation, &directories.list.items[directories.owners[index]]);
    creation->directory_id = creation->fs.metadata_pool_id;
    return cephfs_creation_open_pools(creation, err);
}

/* Whether an entry before that one is in the same cluster. */
static bool was_seen(const struct class_pools *class, size_t index)
{
    const char *cluster_id = class_pools_cluster(class, &class->entries.items[index]);

    for (size_t i = 0; i < index; i++)
        if (strcmp(class_pools_cluster(class, &class->entries.items[i]), cluster_id) == 0)
            return true;
    return false;
}

/* Looks for the name where class->home does not keep it: in other clusters, or without a home in
 * all. Ends in the class's own cluster if it is not there. */
static int find_beside_volumes(struct cephfs_creation *creation, bool *found, struct error *err)
{
    const struct class_pools *class = &creation->class;
    bool has_left = false;

    for (size_t i = 0; i < class->entries.count && !*found; i++) {
        const char *cluster_id = class_pools_cluster(class, &class->entries.items[i]);
        bool is_own = strcmp(cluster_id, class->cluster_id) == 0;

        if (was_seen(class, i) || (is_own && class->home))
            continue;
        has_left = true;
        if (find_in_cluster(creation, cluster_id, found, err) < 0)
            return -1;
    }
    return has_left && !*found ? open_home(creation, err) : 0;
}

static int find_name(struct cephfs_creation *creation, bool *found, struct error *err)
{
    struct journal_ref ref;

    if (creation->class.home &&
        journal_find(&creation->journal, creation->call, creation->directory,
                     creation->request->name, &ref, found, err) < 0)
        return -1;
    return *found ? 0 : find_beside_volumes(creation, found, err);
}

/* --- places --- */

static struct placing placing_of(const struct cephfs_creation *creation)
{
    const struct cephfs_source *source = creation->source_is_open ? &creation->source : NULL;

    return (struct placing){
        .controller = creation->controller,
        .call = creation->call,
        .class = &creation->class,
        .credentials = &creation->request->credentials,
        .requirement = &creation->request->requirement,
        .volume_name = creation->request->name,
        .parameters = &creation->request->parameters,
        .size_bytes = creation->is_shallow ? 0 : creation->size_bytes,
        .rados_namespace = "",
        .source_cluster = source ? source->cluster_id : NULL,
        .source_fs = source ? source->fs.name : NULL,
        .source_pool = source ? source->data_pool : NULL,
        .shows_source = creation->is_shallow,
    };
}

/* Opens what was decided. The name goes to the class's file system if that is in the same cluster.
 */
static int open_place(struct cephfs_creation *creation, struct error *err)
{
    const struct place *place = &creation->place;
    const bool is_elsewhere = strcmp(place->cluster_id, creation->cluster_id) != 0;

    creation->data_pool = place->entry.pool;
    cephfs_creation_close_pools(creation);
    if (is_elsewhere && open_session(creation, place->cluster_id, err) < 0)
        return -1;
    if (open_filesystem(creation, place->fs_name, err) < 0)
        return -1;
    if (is_elsewhere || !creation->class.home)
        creation->directory_id = creation->fs.metadata_pool_id;
    return cephfs_creation_open_pools(creation, err);
}

static int open_new_place(struct cephfs_creation *creation, struct error *err)
{
    if (cephfs_creation_open_source(creation, err) < 0)
        return -1;
    const struct placing placing = placing_of(creation);
    if (place_decide(&placing, &creation->place, err) < 0)
        return -1;
    return open_place(creation, err);
}

int cephfs_creation_open_place(struct cephfs_creation *creation, struct error *err)
{
    const struct class_pools *class = &creation->class;
    bool found = false;

    creation->data_pool = class->pool;
    if (open_home(creation, err) < 0)
        return -1;
    creation->wants_place = class_pools_want_place(class, &creation->request->requirement);
    if (creation->wants_place && find_name(creation, &found, err) < 0)
        return -1;
    creation->is_begun = found;
    if (creation->wants_place && !found && open_new_place(creation, err) < 0)
        return -1;
    creation->is_placed = true;
    return 0;
}

/* Goes to the file system with that metadata pool, to which the name leads. NOT_FOUND if it is
 * gone. */
int cephfs_creation_follow(struct cephfs_creation *creation, int64_t metadata_pool_id,
                           struct error *err)
{
    _cleanup_filesystem_list_ struct filesystem_list list = {0};

    if (metadata_pool_id == creation->fs.metadata_pool_id)
        return 0;
    if (filesystem_list_read(creation->session.cluster, creation->call, &list, err) < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++) {
        if (list.items[i].metadata_pool_id != metadata_pool_id)
            continue;
        cephfs_creation_close_pools(creation);
        take_filesystem(creation, &list.items[i]);
        return cephfs_creation_open_pools(creation, err);
    }
    return error_set(err, STATUS_NOT_FOUND, "there is no file system with metadata pool %lld",
                     (long long)metadata_pool_id);
}

/* Whether what was decided is in the file system in which the volume was begun. */
static bool is_decided(const struct cephfs_creation *creation)
{
    return creation->place.fs_name && strcmp(creation->place.fs_name, creation->fs.name) == 0 &&
           strcmp(creation->place.cluster_id, creation->cluster_id) == 0;
}

int cephfs_creation_settle_place(struct cephfs_creation *creation, struct error *err)
{
    struct place *place = &creation->place;

    if (!creation->wants_place || is_decided(creation))
        return 0;
    struct placing placing = placing_of(creation);
    placing.only_cluster = creation->cluster_id;
    placing.only_fs = creation->fs.name;
    place_done(place);
    if (place_decide(&placing, place, err) < 0) {
        if (err->status != STATUS_RESOURCE_EXHAUSTED)
            return -1;
        error_clear(err); /* it was begun where nothing serves this try: continue there */
        if (place_recover(&placing, NULL, place, err) < 0)
            return -1;
    }
    creation->data_pool = place->entry.pool;
    return 0;
}

void cephfs_creation_write_place(const struct cephfs_creation *creation, struct strmap *extra)
{
    if (creation->wants_place)
        segments_write(&creation->place.segments, extra);
    if (creation->data_pool)
        strmap_set(extra, CEPHFS_KEY_DATA_POOL, creation->data_pool);
}

void cephfs_creation_read_place(struct cephfs_creation *creation, const struct strmap *extra)
{
    place_done(&creation->place);
    segments_read(extra, &creation->place.segments);
    creation->data_pool = strmap_get_or(extra, CEPHFS_KEY_DATA_POOL, creation->class.pool);
}
