/*
 * ListVolumes, ControllerListVolumeHealth and ListSnapshots. A listing walks the journal's
 * directories: every configured cluster, every place that may have one, every name in it. A page
 * ends after so many entries, or when its time is over, and its token says where the next one
 * starts: CLUSTER/POOLID/KEY, the last key that was read. POOLID 0 is the beginning of a cluster,
 * an empty KEY that of a pool.
 *
 * A name whose creation has not finished is not listed. Cost: one round trip per 512 names, and two
 * per listed volume; the image of a snapshot and its ancestors are opened.
 */
#include "controller/controller.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/admission.h"
#include "controller/backend.h"
#include "controller/recorded_segments.h"

#define PAGE_MAX 1000 /* entries; 4 MiB is what a gRPC client takes */

struct position {
    char *cluster_id; /* NULL: at the beginning */
    int64_t pool_id;  /* 0: at the beginning of the cluster */
    char *key;
};

struct journal_listing {
    const struct controller *controller;
    struct call *call;
    const struct list_request *request;
    struct journal journal;
    size_t limit;
    size_t count;
    struct position after;          /* everything before it is listed */
    bool reached;                   /* the place where the page before ended has been passed */
    bool has_progressed;            /* the page has got beyond that place */
    struct deadline give_up;        /* when the page ends, so that it reaches the caller in time */
    struct location_list locations; /* of the cluster that is being listed */
    char *next_token;
    /* Adds one entry; sets *@added if it is to be listed. */
    int (*add)(struct journal_listing *listing, struct located *located, bool *added,
               struct error *err);
    void *out;
};

static int bad_token(const char *token, struct error *err)
{
    return error_set(err, STATUS_ABORTED,
                     "starting_token '%.200s' is not one of this driver's; start over without it",
                     token);
}

static int parse_token(const char *token, struct position *position, struct error *err)
{
    const char *first = strchr(token, '/');
    const char *second = first ? strchr(first + 1, '/') : NULL;
    char *end = NULL;

    if (token[0] == '\0')
        return 0;
    if (!second || second == first + 1)
        return bad_token(token, err);
    position->pool_id = strtoll(first + 1, &end, 10);
    if (end != second)
        return bad_token(token, err);
    position->cluster_id = xstrndup(token, (size_t)(first - token));
    position->key = xstrdup(second + 1);
    return 0;
}

static void move_to(struct position *position, const char *cluster_id, int64_t pool_id,
                    const char *key)
{
    if (cluster_id) {
        free(position->cluster_id);
        position->cluster_id = xstrdup(cluster_id);
    }
    free(position->key);
    position->key = xstrdup(key);
    position->pool_id = pool_id;
}

static char *format_token(const struct position *position)
{
    return xasprintf("%s/%lld/%s", position->cluster_id, (long long)position->pool_id,
                     position->key);
}

/* Fails when the caller has gone, or when the page should end; not before it has progressed. */
static int check_time(const struct journal_listing *listing, struct error *err)
{
    if (call_check(listing->call, err) < 0)
        return -1;
    if (listing->has_progressed && deadline_has_passed(listing->give_up))
        return error_set(err, STATUS_DEADLINE_EXCEEDED, "the call's time is almost over");
    return 0;
}

/* Reads one name's entry; *@located is usable only if *@complete. */
static int open_entry(struct journal_listing *listing, struct session *session,
                      struct ceph_pool *directory, const struct strmap_entry *item,
                      struct located *located, bool *complete, struct error *err)
{
    const struct location_list *locations = &listing->locations;
    struct journal_ref ref;
    bool found = false;

    if (journal_parse_value(directory, item->key, item->value, &ref, err) < 0)
        return -1;
    located->journal = listing->journal;
    located->id.uuid = ref.uuid;
    /* CephFS: the file system of the journal in that pool, which may be another than that of the
     * directory */
    for (size_t i = 0; i < locations->count && !located->fs.name; i++)
        if (locations->items[i].fs.name && locations->items[i].pool_id == ref.image_pool_id)
            filesystem_copy(&locations->items[i].fs, &located->fs);
    located->id.location_id = (uint64_t)(located->fs.name ? located->fs.id : ref.image_pool_id);
    memcpy(located->id.cluster_id, session->cluster->cluster_id,
           strlen(session->cluster->cluster_id) + 1);
    if (session->cluster->ops->pool_open_by_id(session->cluster, listing->call, ref.image_pool_id,
                                               directory->rados_namespace, &located->pool,
                                               err) < 0 ||
        journal_read(&located->journal, listing->call, located->pool, &ref.uuid, &located->entry,
                     &found, err) < 0)
        return -1;
    if (found && !located->entry.request_name && ref.image_pool_id != directory->id) {
        journal_entry_done(&located->entry); /* Ceph-CSI 3.0 to 3.10: beside the directory */
        if (journal_read(&located->journal, listing->call, directory, &ref.uuid, &located->entry,
                         &found, err) < 0)
            return -1;
    }
    *complete =
        found && controller_backend(listing->controller)->entry_is_complete(&located->entry);
    return 0;
}

static int add_name(struct journal_listing *listing, struct session *session,
                    struct ceph_pool *directory, const struct strmap_entry *item, struct error *err)
{
    struct located located = {.session = *session}; /* lent for the time being */
    bool added = false;
    bool complete = false;
    int result = open_entry(listing, session, directory, item, &located, &complete, err);

    if (result == 0 && complete)
        result = listing->add(listing, &located, &added, err);
    located.session = (struct session){0};
    located_done(&located);
    listing->count += added;
    if (result == 0 || (err->status != STATUS_NOT_FOUND && err->status != STATUS_DATA_LOSS))
        return result;
    log_v(2, listing->call, "not listed: %s", err->message); /* deleted meanwhile, or broken */
    error_clear(err);
    return 0;
}

static int list_keys(struct journal_listing *listing, struct session *session,
                     struct ceph_pool *directory, const struct strmap *keys, struct error *err)
{
    for (size_t i = 0; i < keys->count; i++) {
        const struct strmap_entry *item = &keys->entries[i];

        if (listing->count >= listing->limit) {
            listing->next_token = format_token(&listing->after);
            return 0;
        }
        if (check_time(listing, err) < 0 || add_name(listing, session, directory, item, err) < 0)
            return -1;
        move_to(&listing->after, NULL, directory->id, item->key);
        listing->has_progressed = true;
    }
    return 0;
}

static int list_directory(struct journal_listing *listing, struct session *session,
                          struct ceph_pool *directory, struct error *err)
{
    _cleanup_free_ char *object = journal_directory(&listing->journal);
    bool more = true;

    while (more && !listing->next_token) {
        _cleanup_strmap_ struct strmap keys = {0};

        if (directory->ops->omap_list(directory, listing->call, object, listing->after.key,
                                      journal_key_prefix(listing->journal.kind), &keys, &more,
                                      err) < 0) {
            if (err->status != STATUS_NOT_FOUND && err->status != STATUS_PERMISSION_DENIED)
                return -1;
            error_clear(err); /* a pool without volumes, or not for this user */
            return 0;
        }
        if (list_keys(listing, session, directory, &keys, err) < 0)
            return -1;
        if (keys.count == 0)
            return 0;
    }
    return 0;
}

static int list_location(struct journal_listing *listing, struct session *session,
                         const struct location *location, struct error *err)
{
    const struct controller *controller = listing->controller;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    if (listing->reached)
        move_to(&listing->after, NULL, location->pool_id, "");
    else if (location->pool_id != listing->after.pool_id)
        return 0;
    listing->reached = true;
    if (session->cluster->ops->pool_open_by_id(
            session->cluster, listing->call, location->pool_id,
            controller_backend(controller)->journal_namespace(controller, session), &pool, err) < 0)
        return error_ignore(err, STATUS_NOT_FOUND); /* removed meanwhile */
    return list_directory(listing, session, pool, err);
}

/* With the credentials of the call, if it has any, else the standing ones. */
static int list_cluster(struct journal_listing *listing, const char *cluster_id, struct error *err)
{
    const struct controller *controller = listing->controller;
    const struct credentials *given = &listing->request->credentials;
    _cleanup_credentials_ struct credentials standing = {0};
    _cleanup_session_ struct session session = {0};
    const struct location_list *locations = &listing->locations;

    if (!given->user && standing_credentials_get(controller->standing, listing->call, cluster_id,
                                                 NULL, &standing, err) < 0)
        return -1;
    if (session_open(controller->ceph, controller->config, listing->call, cluster_id,
                     given->user ? given : &standing, &session, err) < 0 ||
        controller_backend(controller)
                ->list_locations(controller, listing->call, &session, &listing->locations, err) < 0)
        return -1;
    listing->reached = listing->reached || listing->after.pool_id == 0;
    for (size_t i = 0; i < locations->count && !listing->next_token; i++) {
        if (list_location(listing, &session, &locations->items[i], err) < 0)
            return error_wrap(err, "list pool %lld of cluster '%s'",
                              (long long)locations->items[i].pool_id, cluster_id);
        listing->has_progressed = listing->reached;
    }
    location_list_done(&listing->locations);
    return 0;
}

static int list_clusters(struct journal_listing *listing, struct error *err)
{
    const struct list_request *request = listing->request;
    _cleanup_config_ struct config *config = NULL;

    if (request->max_entries < 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "max_entries is negative");
    listing->limit = request->max_entries > 0 && request->max_entries < PAGE_MAX
                         ? (size_t)request->max_entries
                         : PAGE_MAX;
    if (parse_token(request->token, &listing->after, err) < 0 ||
        config_file_get(listing->controller->config, &config, err) < 0)
        return -1;
    listing->reached = listing->after.cluster_id == NULL;
    for (size_t i = 0; i < config_cluster_count(config) && !listing->next_token; i++) {
        const char *id = config_cluster_id(config, i);

        if (!listing->reached && strcmp(id, listing->after.cluster_id) != 0)
            continue;
        if (listing->reached)
            move_to(&listing->after, id, 0, "");
        if (list_cluster(listing, id, err) < 0)
            return -1;
    }
    return listing->reached ? 0 : bad_token(request->token, err);
}

/* The caller fills what to list, and how. */
static int list_page(struct journal_listing *listing, const struct controller *controller,
                     struct call *call, enum journal_kind kind, struct error *err)
{
    listing->controller = controller;
    listing->call = call;
    listing->journal = (struct journal){kind, controller->instance_id};
    listing->give_up = admission_deadline(listing->call);
    int result = list_clusters(listing, err);

    if (result < 0 && err->status == STATUS_DEADLINE_EXCEEDED && listing->has_progressed) {
        log_v(2, listing->call, "the page ends here: %s", err->message);
        error_clear(err);
        listing->next_token = format_token(&listing->after);
        result = 0;
    }
    location_list_done(&listing->locations);
    free(listing->after.cluster_id);
    free(listing->after.key);
    return result;
}

/* --- volumes --- */

static int add_volume(struct journal_listing *listing, struct located *located, bool *added,
                      struct error *err)
{
    struct volume_list *list = listing->out;
    struct volume_state state = {0};

    if (controller_backend(listing->controller)
            ->examine_volume(listing->call, located, false, &state, err) < 0)
        return -1;
    if (listing->request->only_abnormal && !state.abnormal) {
        volume_state_done(&state);
        return 0;
    }
    volume_id_format(&located->id, state.volume.handle);
    segments_read(&located->entry.extra, &state.volume.segments);
    *array_add(list->items, list->count) = state;
    *added = true;
    return 0;
}

int controller_list_volumes(const struct controller *controller, struct call *call,
                            const struct list_request *request, struct volume_list *out,
                            struct error *err)
{
    struct journal_listing listing = {.request = request, .add = add_volume, .out = out};

    if (list_page(&listing, controller, call, JOURNAL_VOLUME, err) < 0)
        return error_wrap(err, "list volumes");
    out->next_token = listing.next_token;
    return 0;
}

/* --- snapshots --- */

static int add_snapshot(struct journal_listing *listing, struct located *located, bool *added,
                        struct error *err)
{
    const char *wanted = listing->request->source_handle;
    struct snapshot_list *list = listing->out;
    struct snapshot snapshot;

    if (controller_backend(listing->controller)
            ->read_snapshot(listing->controller, listing->call, located, NULL, &snapshot, err) < 0)
        return -1;
    *added = text_is_empty(wanted) || strcmp(wanted, snapshot.source_handle) == 0;
    if (*added)
        *array_add(list->items, list->count) = snapshot;
    return 0;
}

/* One snapshot by its handle: a look-up, no listing. */
static int list_one(const struct controller *controller, struct call *call,
                    const struct list_request *request, struct snapshot_list *out,
                    struct error *err)
{
    const char *handle = request->snapshot_handle;
    _cleanup_credentials_ struct credentials standing = {0};
    const struct credentials *credentials =
        request->credentials.user ? &request->credentials : &standing;
    _cleanup_located_ struct located located = {0};
    struct snapshot snapshot;
    struct volume_id id;
    int result = 0;

    if (volume_id_parse(handle, &id, err) < 0)
        error_clear(err); /* locate() says what is wrong with it */
    else if (credentials == &standing)
        result = standing_credentials_get(controller->standing, call, id.cluster_id, NULL,
                                          &standing, err);
    if (result == 0)
        result = locate(controller, call, JOURNAL_SNAPSHOT, handle, credentials, &located, err);
    if (result == 0)
        result = controller_backend(controller)
                     ->read_snapshot(controller, call, &located, credentials, &snapshot, err);
    if (result == 0) {
        *array_add(out->items, out->count) = snapshot;
        return 0;
    }
    return error_ignore(err, STATUS_NOT_FOUND); /* an empty list is the answer */
}

int controller_list_snapshots(const struct controller *controller, struct call *call,
                              const struct list_request *request, struct snapshot_list *out,
                              struct error *err)
{
    struct journal_listing listing = {.request = request, .add = add_snapshot, .out = out};

    if (!text_is_empty(request->snapshot_handle))
        return list_one(controller, call, request, out, err);
    if (list_page(&listing, controller, call, JOURNAL_SNAPSHOT, err) < 0)
        return error_wrap(err, "list snapshots");
    out->next_token = listing.next_token;
    return 0;
}
