/*
 * CreateVolume for both backends. The steps, each of which a retry finds done or does itself:
 *
 *   home     opens the pool with the class's request names
 *   find     with topology: looks for the name there, and beside the volumes of the class
 *   decide   a place for a volume whose name is not found
 *   claim    the name in the directory                 1 RT, guarded: of two processes one wins
 *   record   the uuid's object with its attributes     1 RT; or adopts what an earlier call wrote
 *   make     the image or subvolume, and commits it    the backend's
 *
 * With places the name leads to the pool of the volume's entry. It is looked for before a place is
 * decided, so that a retry finds its volume wherever the scheduler would put it now. A volume in
 * another cluster, or of a class without a home, has its name beside its entry; one question to all
 * pools that the class lists finds it.
 *
 * The source of a clone is opened only when there is something left to do, so that a late retry
 * does not fail because the source is gone. A call that fails for good gives the name back; one
 * that timed out leaves it for the retry, because the write that timed out may still happen.
 */
#include "controller/creation.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/config/class_parameters.h"
#include "common/topology/segments.h"
#include "controller/backend.h"
#include "controller/claim_events.h"

/* How long pools are asked that have the name only if Ceph-CSI wrote it: one that does not answer
 * must not keep the others from serving. */
#define FOREIGN_PATIENCE_MS 2000

/* --- pools --- */

void creation_close_pools(struct creation *creation)
{
    if (creation->pool && creation->pool != creation->directory)
        ceph_pool_close(creation->pool);
    ceph_pool_close(creation->directory);
    creation->pool = creation->directory = creation->attributes = NULL;
}

void creation_use_data_pool(struct creation *creation, const char *name)
{
    char *copy = name ? xstrdup(name) : NULL;

    free(creation->data_pool);
    creation->data_pool = copy;
}

static int open_session(struct creation *creation, const char *cluster_id, struct error *err)
{
    char *copy = xstrdup(cluster_id);

    creation_close_pools(creation);
    session_close(&creation->session);
    free(creation->cluster_id);
    creation->cluster_id = copy;
    return session_open(creation->controller->ceph, creation->controller->config, creation->call,
                        copy, &creation->request->credentials, &creation->session, err);
}

int creation_is_same_ceph(const struct creation *creation, const char *fsid, bool *same,
                          struct error *err)
{
    struct ceph_cluster *cluster = creation->session.cluster;
    _cleanup_free_ char *own = NULL;

    if (cluster->ops->fsid(cluster, creation->call, &own, err) < 0)
        return -1;
    *same = strcmp(own, fsid) == 0;
    return 0;
}

static int open_pool(struct creation *creation, int64_t id, struct ceph_pool **pool,
                     struct error *err)
{
    const struct controller *controller = creation->controller;
    struct ceph_cluster *cluster = creation->session.cluster;
    const char *rados_namespace =
        controller_backend(controller)->journal_namespace(controller, &creation->session);

    return cluster->ops->pool_open_by_id(cluster, creation->call, id, rados_namespace, pool, err);
}

/* The volume's entry is in @pool, which is handed over. The name is there too, unless the class
 * has a home in this cluster. */
static int enter_pool(struct creation *creation, struct ceph_pool *pool, struct error *err)
{
    if (creation->steps->enter_pool && creation->steps->enter_pool(creation, pool, err) < 0) {
        ceph_pool_close(pool);
        return -1;
    }
    if (creation->pool && creation->pool != creation->directory)
        ceph_pool_close(creation->pool);
    if (!creation->directory) {
        creation->directory = pool;
    } else if (creation->directory->id == pool->id) {
        ceph_pool_close(pool);
        pool = creation->directory;
    }
    creation->pool = creation->attributes = pool;
    return 0;
}

int creation_reopen_pools(struct creation *creation, int64_t directory_id, int64_t pool_id,
                          struct error *err)
{
    struct ceph_pool *pool = NULL;

    if (open_pool(creation, directory_id, &creation->directory, err) < 0 ||
        open_pool(creation, pool_id, &pool, err) < 0)
        return -1;
    return enter_pool(creation, pool, err);
}

/* What the class names and is not there is the class's fault: no volume is missing. */
static int enter_named(struct creation *creation, const char *name, struct error *err)
{
    struct ceph_pool *pool = NULL;

    if (creation->steps->open_named(creation, name, &pool, err) < 0)
        return err->status == STATUS_NOT_FOUND ? error_recode(err, STATUS_INVALID_ARGUMENT) : -1;
    return enter_pool(creation, pool, err);
}

static int open_home(struct creation *creation, struct error *err)
{
    if (open_session(creation, creation->class.cluster_id, err) < 0)
        return -1;
    return creation->class.home ? enter_named(creation, creation->class.home, err) : 0;
}

/* --- find --- */

/* The pools of one cluster that may have the name beside its volume. */
struct directories {
    struct ceph_pool **pools;
    size_t count;
};

static void directories_done(struct directories *directories)
{
    for (size_t i = 0; i < directories->count; i++)
        ceph_pool_close(directories->pools[i]);
    free(directories->pools);
}

static int open_directories(struct creation *creation, struct directories *directories,
                            struct error *err)
{
    const struct class_pools *class = &creation->class;
    _cleanup_string_list_ struct string_list seen = {0};

    for (size_t i = 0; i < class->entries.count; i++) {
        const struct pool_entry *entry = &class->entries.items[i];
        const char *fs_name = class_pools_filesystem(class, entry);
        const char *name = fs_name ? fs_name : entry->pool;
        struct ceph_pool *pool = NULL;

        if (strcmp(class_pools_cluster(class, entry), creation->cluster_id) != 0 ||
            (creation->directory && strcmp(name, class->home) == 0) || string_list_has(&seen, name))
            continue;
        string_list_add(&seen, name);
        if (creation->steps->open_named(creation, name, &pool, err) == 0)
            *array_add(directories->pools, directories->count) = pool;
        else if (err->status == STATUS_NOT_FOUND)
            error_clear(err); /* placement says so, with its position */
        else
            return -1;
    }
    return 0;
}

/* Looks into the class's pools in the open cluster. Where it is found the volume is continued. */
static int find_beside_volumes(struct creation *creation, int64_t patience_ms, bool *found,
                               struct error *err)
{
    _cleanup_(directories_done) struct directories directories = {0};
    struct journal_ref ref;
    ssize_t index = -1;

    if (open_directories(creation, &directories, err) < 0 ||
        journal_find_in_pools(&creation->journal, creation->call, directories.pools,
                              directories.count, creation->request->name, patience_ms, &ref, &index,
                              err) < 0)
        return -1;
    *found = index >= 0;
    if (!*found)
        return 0;
    creation_close_pools(creation);
    return enter_pool(creation, TAKE(directories.pools[index]), err);
}

static int find_foreign_name(struct creation *creation, bool *found, struct error *err)
{
    if (!creation->steps->has_foreign_names ||
        find_beside_volumes(creation, FOREIGN_PATIENCE_MS, found, err) == 0)
        return 0;
    if (err->status != STATUS_UNAVAILABLE)
        return -1;
    log_warn(creation->call, "%s; going on, for only a volume that Ceph-CSI began could be there",
             err->message);
    error_clear(err);
    return 0;
}

/* Looks for the name at home, then where a home does not keep it: in other clusters, or without a
 * home in all. Ends at home if it is nowhere. */
static int find_name(struct creation *creation, bool *found, struct error *err)
{
    const struct class_pools *class = &creation->class;
    _cleanup_string_list_ struct string_list asked = {0};
    struct journal_ref ref;

    if (class->home && (journal_find(&creation->journal, creation->call, creation->directory,
                                     creation->request->name, &ref, found, err) < 0 ||
                        (!*found && find_foreign_name(creation, found, err) < 0)))
        return -1;
    for (size_t i = 0; i < class->entries.count && !*found; i++) {
        const char *cluster_id = class_pools_cluster(class, &class->entries.items[i]);

        if (string_list_has(&asked, cluster_id) ||
            (class->home && strcmp(cluster_id, class->cluster_id) == 0))
            continue;
        string_list_add(&asked, cluster_id);
        if (open_session(creation, cluster_id, err) < 0 ||
            find_beside_volumes(creation, -1, found, err) < 0)
            return -1;
    }
    return asked.count > 0 && !*found ? open_home(creation, err) : 0;
}

/* --- decide --- */

struct placing creation_placing(const struct creation *creation)
{
    struct placing placing = {
        .controller = creation->controller,
        .call = creation->call,
        .class = &creation->class,
        .credentials = &creation->request->credentials,
        .requirement = &creation->request->requirement,
        .volume_name = creation->request->name,
        .parameters = &creation->request->parameters,
        .size_bytes = creation->shows_source ? 0 : creation->size_bytes,
        .rados_namespace = "",
        .shows_source = creation->shows_source,
    };

    creation->steps->describe_source(creation, &placing);
    return placing;
}

static int decide_place(struct creation *creation, struct error *err)
{
    struct place *place = &creation->place;

    if (creation->steps->open_source(creation, err) < 0)
        return -1;
    const struct placing placing = creation_placing(creation);
    if (place_decide(&placing, place, err) < 0)
        return -1;
    creation_use_data_pool(creation, place->data_pool);
    if (strcmp(place->cluster_id, creation->cluster_id) != 0 &&
        open_session(creation, place->cluster_id, err) < 0)
        return -1;
    return enter_named(creation, place->fs_name ? place->fs_name : place->entry.pool, err);
}

/* Finds out where the volume is or will be. */
static int open_place(struct creation *creation, struct error *err)
{
    bool found = false;

    if (open_home(creation, err) < 0)
        return -1;
    creation->wants_place =
        class_pools_want_place(&creation->class, &creation->request->requirement);
    if (creation->wants_place && find_name(creation, &found, err) < 0)
        return -1;
    creation->is_begun = found;
    if (creation->wants_place && !found && decide_place(creation, err) < 0)
        return -1;
    creation->is_placed = true;
    return 0;
}

/* --- claim and record --- */

/* The name leads to a volume that an earlier call put elsewhere: it is continued there. */
static int follow_name(struct creation *creation, int64_t pool_id, struct error *err)
{
    struct ceph_pool *pool = NULL;

    if (pool_id == creation->pool->id)
        return 0;
    if (open_pool(creation, pool_id, &pool, err) < 0)
        return -1;
    return enter_pool(creation, pool, err);
}

/* Claims the name or finds whose it is, and goes there. A name that leads to a pool which is gone
 * means nothing any more: it is freed and claimed again, once. */
static int claim_name(struct creation *creation, struct journal_ref *ref, struct error *err)
{
    const int64_t pool_id = creation->pool->id;
    const char *name = creation->request->name;

    for (int tries = 0;; tries++) {
        if (journal_claim(&creation->journal, creation->call, creation->directory, name, pool_id,
                          ref, &creation->fresh, err) < 0)
            return -1;
        if (follow_name(creation, ref->image_pool_id, err) == 0)
            return 0;
        if (err->status != STATUS_NOT_FOUND || tries > 0)
            return -1;
        error_clear(err);
        if (journal_release_name(&creation->journal, creation->call, creation->directory, name,
                                 ref->image_pool_id, &ref->uuid, NULL, err) < 0)
            return -1;
    }
}

/* Finds or writes the entry that the request name leads to. What an earlier call chose stays
 * chosen. */
static int reserve_entry(struct creation *creation, struct error *err)
{
    struct journal_ref ref;

    if (claim_name(creation, &ref, err) < 0)
        return -1;
    creation->is_begun = !creation->fresh;
    return creation_record(creation, &ref.uuid, err);
}

/* --- the call --- */

/* Whether a call that failed for good may undo what there is: it is what this request asked for,
 * nobody has the handle yet, and no other process is at the same. */
static bool may_give_up(struct creation *creation, enum status status)
{
    const struct begun begun = creation_begun(creation);

    if (!creation->pool || !creation->is_same)
        return false;
    return creation->fresh || begun_is_abandoned(&begun, creation->work, status);
}

/* Undoes what there is. The name goes last, because the next try, which knows nothing else, finds
 * by it what this one could not remove. */
static void give_up(struct creation *creation)
{
    _cleanup_error_ struct error err = {0};

    if ((creation->entry.image_name && creation->steps->unmake(creation, &err) < 0) ||
        journal_remove(&creation->journal, creation->call, creation->pool, &creation->entry.uuid,
                       &err) < 0 ||
        journal_release_name(&creation->journal, creation->call, creation->directory,
                             creation->request->name, creation->pool->id, &creation->entry.uuid,
                             &creation->queued, &err) < 0)
        log_warn(creation->call, "the failed creation leaves something behind: %s", err.message);
}

/* For the node, which compares it with its own place. */
static void describe_segments(const struct strmap *segments, struct strmap *context)
{
    _cleanup_free_ char *text = segments_format(segments);

    if (segments->count > 0)
        strmap_set(context, PARAM_SEGMENTS, text);
    else
        strmap_remove(context, PARAM_SEGMENTS); /* a class has no say in that */
}

static void describe_volume(const struct creation *creation, struct volume *volume)
{
    struct volume_id id = {.uuid = creation->entry.uuid};

    class_parameters_to_context(&creation->request->parameters, &volume->context);
    creation->steps->describe(creation, &id.location_id, &volume->context);
    describe_segments(&creation->place.segments, &volume->context);
    memcpy(id.cluster_id, creation->cluster_id, strlen(creation->cluster_id) + 1);
    volume_id_format(&id, volume->handle);
    volume->size_bytes = creation->size_bytes;
    strmap_merge(&volume->segments, &creation->place.segments);
}

static int create_volume(struct creation *creation, struct volume *volume, struct error *err)
{
    if (creation->steps->check(creation, err) < 0 || open_place(creation, err) < 0)
        return -1;
    if (reserve_entry(creation, err) == 0 && creation->steps->make(creation, err) == 0) {
        place_end(&creation->place, creation->fresh && !creation->shows_source);
        describe_volume(creation, volume);
        return 0;
    }
    if (status_is_final(err->status) && may_give_up(creation, err->status))
        give_up(creation);
    return -1;
}

static void creation_free(struct creation *creation)
{
    creation->steps->done(creation);
    ceph_work_end(creation->work);
    creation_close_pools(creation);
    session_close(&creation->session);
    journal_entry_done(&creation->entry);
    place_done(&creation->place);
    class_pools_done(&creation->class);
    strmap_done(&creation->metadata);
    strmap_done(&creation->queued);
    free_all(creation->cluster_id, creation->data_pool, creation);
}

int controller_create_volume(const struct controller *controller, struct call *call,
                             const struct create_request *request, struct volume *volume,
                             struct error *err)
{
    const struct creation_steps *steps = controller_backend(controller)->creation;
    _cleanup_operation_ struct operation operation = {0};

    if (create_request_check(request, err) < 0)
        return -1;
    if (operation_begin(controller->operations, "name", request->name, call, &operation, err) < 0)
        return -1;
    claim_event_misspelt(controller, call, &request->parameters, request->name);
    struct creation *creation = xcalloc(1, steps->size);
    creation->steps = steps;
    creation->controller = controller;
    creation->call = call;
    creation->request = request;
    creation->journal = (struct journal){JOURNAL_VOLUME, controller->instance_id};
    int result = create_volume(creation, volume, err);
    creation_free(creation);
    if (result == 0)
        return 0;
    error_wrap(err, "create volume '%s'", request->name);
    claim_event_refused(controller, &request->parameters, request->name, err);
    return -1;
}
