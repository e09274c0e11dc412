#include "controller/settle_names.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "controller/backend.h"

/* One directory of a cluster, and where it belongs. */
struct settling {
    const struct controller *controller;
    struct call *call;
    const struct settle_options *options;
    struct settle_report *report;
    struct session *session;
    const struct location_list *locations;
    struct journal journal;
    struct ceph_pool *directory;
};

/* A name in it, and what it leads to. */
struct settled_name {
    const char *request_name; /* borrowed */
    struct journal_ref ref;
    struct ceph_pool *pool; /* of the entry; may be the directory */
    struct journal_entry entry;
    bool found;
};

const char *settle_state_text(enum settle_state state)
{
    static const char *const texts[] = {
        [SETTLE_FOUND] = "would be released", [SETTLE_RELEASED] = "released",
        [SETTLE_BUSY] = "left alone",         [SETTLE_FAILED] = "failed",
        [SETTLE_MOVABLE] = "would be moved",  [SETTLE_MOVED] = "moved",
    };

    return texts[state];
}

void settle_report_done(struct settle_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        free_all(report->names[i].cluster_id, report->names[i].pool, report->names[i].name,
                 report->names[i].what, report->names[i].remark);
    free(report->names);
    *report = (struct settle_report){0};
}

static void report_name(struct settling *settling, const struct settled_name *name,
                        enum settle_state state, const char *remark)
{
    struct settle_report *report = settling->report;
    struct settle_name *item = array_add(report->names, report->count);

    *item = (struct settle_name){
        .kind = settling->journal.kind,
        .state = state,
        .cluster_id = xstrdup(settling->options->cluster_id),
        .pool = xstrdup(settling->directory->name),
        .name = xstrdup(name->request_name),
        .what = xstrdup(name->entry.image_name ? name->entry.image_name : ""),
        .remark = xstrdup(remark),
    };
}

/* --- names without an entry --- */

static int is_written(const struct begun *begun, bool *written, struct error *err)
{
    _cleanup_journal_entry_ struct journal_entry entry = {0};

    *written = false;
    if (!begun->pool)
        return 0;
    return journal_read(begun->journal, begun->call, begun->pool, &begun->entry->uuid, &entry,
                        written, err);
}

int settle_unwritten(const struct begun *begun, const char *request_name, int64_t image_pool_id,
                     bool *released, struct error *err)
{
    const struct journal_ref ref = {begun->entry->uuid, image_pool_id};
    struct journal_ref now;
    bool is_there = false;
    bool written = false;
    bool busy = false;

    *released = false;
    if (is_written(begun, &written, err) < 0 || begun_is_busy(begun, &busy, err) < 0 ||
        journal_find(begun->journal, begun->call, begun->directory, request_name, &now, &is_there,
                     err) < 0)
        return -1;
    if (written || busy || !is_there || strcmp(now.uuid.chars, ref.uuid.chars) != 0)
        return 0;
    if (journal_release_name(begun->journal, begun->call, begun->directory, request_name,
                             image_pool_id, &ref.uuid, NULL, err) < 0 ||
        is_written(begun, &written, err) < 0)
        return -1;
    if (written) /* a retry of the creation came in between */
        return journal_claim_for(begun->journal, begun->call, begun->directory, request_name, &ref,
                                 err);
    *released = true;
    return 0;
}

static struct begun begun_of(const struct settling *settling, struct settled_name *name)
{
    return (struct begun){
        .controller = settling->controller,
        .call = settling->call,
        .journal = &settling->journal,
        .directory = settling->directory,
        .pool = name->pool,
        .entry = &name->entry,
    };
}

static int settle_dangling(struct settling *settling, struct settled_name *name, struct error *err)
{
    const struct begun begun = begun_of(settling, name);
    bool released = false;
    bool busy = false;

    if (settling->options->apply) {
        if (settle_unwritten(&begun, name->request_name, name->ref.image_pool_id, &released, err) <
            0)
            return -1;
        report_name(settling, name, released ? SETTLE_RELEASED : SETTLE_BUSY,
                    released ? "nothing but the name was there" : "a driver is at it");
        return 0;
    }
    if (begun_is_busy(&begun, &busy, err) < 0)
        return -1;
    report_name(settling, name, busy ? SETTLE_BUSY : SETTLE_FOUND,
                busy ? "a driver may be at it" : "nothing but the name is there");
    return 0;
}

/* --- entries that are not complete --- */

/* The handle that nobody has been told yet. */
static void format_handle(const struct settling *settling, const struct settled_name *name,
                          char *handle)
{
    const struct location_list *locations = settling->locations;
    struct volume_id id = {.uuid = name->ref.uuid,
                           .location_id = (uint64_t)name->ref.image_pool_id};

    for (size_t i = 0; i < locations->count; i++)
        if (locations->items[i].fs.name && locations->items[i].pool_id == name->ref.image_pool_id)
            id.location_id = (uint64_t)locations->items[i].fs.id;
    memcpy(id.cluster_id, settling->options->cluster_id, strlen(settling->options->cluster_id) + 1);
    volume_id_format(&id, handle);
}

static bool is_half_made(const struct settling *settling, const struct journal_entry *entry)
{
    return begun_is_written(&entry->extra) &&
           !controller_backend(settling->controller)->entry_is_complete(entry);
}

/* From here on it is this process's; then what there is of it goes, as if it were deleted. */
static int discard_located(const struct settling *settling, struct located *located,
                           struct error *err)
{
    const struct controller_backend *backend = controller_backend(settling->controller);
    const struct credentials *credentials = settling->options->credentials;
    const struct begun begun = {
        .controller = settling->controller,
        .call = settling->call,
        .journal = &located->journal,
        .directory = located->directory,
        .pool = located->pool,
        .entry = &located->entry,
    };
    struct ceph_work *work = NULL;

    begun_start(&begun, &work);
    int result = begun_take_over(&begun, work, err);
    if (result == 0)
        result = (located->journal.kind == JOURNAL_SNAPSHOT ? backend->discard_snapshot
                                                            : backend->discard_volume)(
            settling->controller, settling->call, located, credentials, err);
    ceph_work_end(work);
    return result;
}

static int release_entry(struct settling *settling, struct settled_name *name, struct error *err)
{
    char handle[VOLUME_ID_LENGTH_MAX + 1];
    _cleanup_located_ struct located located = {0};

    format_handle(settling, name, handle);
    if (locate(settling->controller, settling->call, settling->journal.kind, handle,
               settling->options->credentials, &located, err) < 0)
        return -1;
    if (!is_half_made(settling, &located.entry)) {
        report_name(settling, name, SETTLE_BUSY, "it was finished meanwhile");
        return 0;
    }
    if (discard_located(settling, &located, err) < 0)
        return -1;
    report_name(settling, name, SETTLE_RELEASED, "what there was of it is removed");
    return 0;
}

static int settle_half_made(struct settling *settling, struct settled_name *name, struct error *err)
{
    const struct begun begun = begun_of(settling, name);
    bool busy = false;

    if (settling->options->apply)
        return release_entry(settling, name, err);
    if (begun_is_busy(&begun, &busy, err) < 0)
        return -1;
    report_name(settling, name, busy ? SETTLE_BUSY : SETTLE_FOUND,
                busy ? "a driver is or may be at it" : "its creation was interrupted");
    return 0;
}

/* --- names in another pool than their volume --- */

static bool is_movable(const struct settling *settling, const struct settled_name *name)
{
    return settling->options->moves_names && settling->journal.kind == JOURNAL_VOLUME &&
           settling->locations->count > 0 && !settling->locations->items[0].fs.name &&
           name->pool != settling->directory && name->entry.image_id &&
           name->entry.journal_pool_id == settling->directory->id;
}

static int settle_moved(struct settling *settling, struct settled_name *name, struct error *err)
{
    if (!settling->options->apply) {
        report_name(settling, name, SETTLE_MOVABLE, "the volume is in another pool");
        return 0;
    }
    if (journal_move_name(&settling->journal, settling->call, settling->directory, name->pool,
                          &name->entry, err) < 0)
        return -1;
    report_name(settling, name, SETTLE_MOVED, "beside the volume, where Ceph-CSI looks for it");
    return 0;
}

/* --- all names --- */

/* Who is busy says so by ABORTED; what is gone meanwhile is no failure. */
static void report_failure(struct settling *settling, const struct settled_name *name,
                           struct error *err)
{
    if (err->status != STATUS_NOT_FOUND && err->status != STATUS_DATA_LOSS)
        report_name(settling, name, err->status == STATUS_ABORTED ? SETTLE_BUSY : SETTLE_FAILED,
                    err->message);
    error_clear(err);
}

static int settle_name(struct settling *settling, struct settled_name *name, struct error *err)
{
    if (!name->found)
        return settle_dangling(settling, name, err);
    if (settling->journal.kind == JOURNAL_GROUP)
        return 0; /* its members are snapshots of their own */
    if (is_half_made(settling, &name->entry))
        return settle_half_made(settling, name, err);
    if (is_movable(settling, name))
        return settle_moved(settling, name, err);
    if (!name->entry.request_name ||
        !controller_backend(settling->controller)->entry_is_complete(&name->entry))
        settling->report->foreign++;
    return 0;
}

static int open_name(struct settling *settling, const struct strmap_entry *item,
                     struct settled_name *name, struct error *err)
{
    struct ceph_cluster *cluster = settling->session->cluster;
    struct ceph_pool *directory = settling->directory;

    if (journal_parse_value(directory, item->key, item->value, &name->ref, err) < 0)
        return -1;
    if (name->ref.image_pool_id == directory->id)
        name->pool = directory;
    else if (cluster->ops->pool_open_by_id(cluster, settling->call, name->ref.image_pool_id,
                                           directory->rados_namespace, &name->pool, err) < 0)
        return -1;
    if (journal_read(&settling->journal, settling->call, name->pool, &name->ref.uuid, &name->entry,
                     &name->found, err) < 0)
        return -1;
    name->entry.uuid = name->ref.uuid;
    return 0;
}

static void settle_key(struct settling *settling, const struct strmap_entry *item)
{
    const size_t prefix = strlen(journal_key_prefix(settling->journal.kind));
    struct settled_name name = {.request_name = item->key + prefix};
    _cleanup_error_ struct error err = {0};

    settling->report->looked++;
    if (open_name(settling, item, &name, &err) < 0 || settle_name(settling, &name, &err) < 0)
        report_failure(settling, &name, &err);
    if (name.pool && name.pool != settling->directory)
        ceph_pool_close(name.pool);
    journal_entry_done(&name.entry);
}

static int settle_directory(struct settling *settling, struct error *err)
{
    struct ceph_pool *directory = settling->directory;
    _cleanup_free_ char *object = journal_directory(&settling->journal);
    _cleanup_free_ char *after = xstrdup("");
    bool more = true;

    while (more) {
        _cleanup_strmap_ struct strmap keys = {0};

        if (directory->ops->omap_list(directory, settling->call, object, after,
                                      journal_key_prefix(settling->journal.kind), &keys, &more,
                                      err) < 0)
            return error_ignore(err, STATUS_NOT_FOUND); /* a pool without such names */
        for (size_t i = 0; i < keys.count; i++) {
            if (call_check(settling->call, err) < 0)
                return -1;
            settle_key(settling, &keys.entries[i]);
        }
        if (keys.count == 0)
            return 0;
        free(after);
        after = xstrdup(keys.entries[keys.count - 1].key);
    }
    return 0;
}

static int settle_location(struct settling *settling, const struct location *location,
                           struct error *err)
{
    const struct controller *controller = settling->controller;
    struct ceph_cluster *cluster = settling->session->cluster;
    const struct string_list *wanted = settling->options->pools;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

    if (cluster->ops->pool_open_by_id(
            cluster, settling->call, location->pool_id,
            controller_backend(controller)->journal_namespace(controller, settling->session), &pool,
            err) < 0)
        return error_ignore(err, STATUS_NOT_FOUND);
    if (wanted->count > 0 && !string_list_has(wanted, pool->name))
        return 0;
    settling->directory = pool;
    for (int kind = JOURNAL_VOLUME; kind <= JOURNAL_GROUP; kind++) {
        settling->journal = (struct journal){(enum journal_kind)kind, controller->instance_id};
        if (settle_directory(settling, err) < 0) {
            if (err->status != STATUS_PERMISSION_DENIED || wanted->count > 0)
                return error_wrap(err, "look at pool '%s'", pool->name);
            error_clear(err); /* not for this user */
        }
    }
    return 0;
}

int settle_names(const struct controller *controller, struct call *call,
                 const struct settle_options *options, struct settle_report *report,
                 struct error *err)
{
    _cleanup_session_ struct session session = {0};
    struct location_list locations = {0};
    struct settling settling = {controller, call, options, report, &session, &locations, {0}, NULL};

    int result = session_open(controller->ceph, controller->config, call, options->cluster_id,
                              options->credentials, &session, err);
    if (result == 0)
        result = controller_backend(controller)
                     ->list_locations(controller, call, &session, &locations, err);
    for (size_t i = 0; i < locations.count && result == 0; i++)
        result = settle_location(&settling, &locations.items[i], err);
    location_list_done(&locations);
    return result < 0 ? error_wrap(err, "settle the names of cluster '%s'", options->cluster_id)
                      : 0;
}
