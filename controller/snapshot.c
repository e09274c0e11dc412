/* CreateSnapshot, DeleteSnapshot, GetSnapshot. */
#include "common/base/log.h"
#include "common/base/memory.h"
#include "controller/controller.h"
#include "controller/images.h"
#include "controller/names.h"
#include "controller/snapshot_steps.h"

#define FEATURE_LAYERING (1 << 0)

/* What must hold before a snapshot is begun. */
static int prepare(struct snapshot_work *work, struct error *err)
{
    struct located *source = work->source;
    const struct flatten_target target = {source->id.cluster_id, work->credentials, source->pool,
                                          source->entry.image_name};
    _cleanup_image_facts_ struct image_facts facts = {0};

    if (source->pool->ops->image_get_facts(source->pool, work->call, source->entry.image_name,
                                           &facts, err) < 0)
        return -1;
    if (!(facts.features & FEATURE_LAYERING))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "image '%s' in pool '%s' has no feature 'layering', without which it has "
                         "no snapshots to clone",
                         source->entry.image_name, source->pool->name);
    return snapshots_make_room(work->controller, work->call, &target, source->pool, err);
}

static int create_of(struct snapshot_work *work, const struct snapshot_request *request,
                     struct snapshot *snapshot, struct error *err)
{
    const char *prefix = strmap_get_or(&request->parameters, "snapshotNamePrefix",
                                       journal_default_prefix(JOURNAL_SNAPSHOT));
    bool fresh = false;

    if (snapshot_reserve(work, request->name, prefix, NULL, &fresh, err) == 0 &&
        (work->entry.image_id || prepare(work, err) == 0) && snapshot_build(work, true, err) == 0 &&
        snapshot_describe(work, snapshot, err) == 0)
        return 0;
    if (fresh && status_is_final(err->status))
        snapshot_give_up(work);
    return -1;
}

static int create(const struct controller *controller, struct call *call,
                  const struct snapshot_request *request, struct snapshot *snapshot,
                  struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_operation_ struct operation source_operation = {0};
    _cleanup_located_ struct located source = {0};
    _cleanup_(snapshot_work_done) struct snapshot_work work = {
        .controller = controller,
        .call = call,
        .credentials = &request->credentials,
        .source = &source,
        .parameters = &request->parameters,
        .journal = {JOURNAL_SNAPSHOT, controller->instance_id},
    };
    _cleanup_free_ char *source_key = xasprintf("volume:%s", request->source_handle);
    _cleanup_free_ char *key = xasprintf("snapshotname:%s", request->name);

    if (operation_begin_shared(controller->operations, source_key, call, &source_operation, err) <
            0 ||
        operation_begin(controller->operations, key, call, &operation, err) < 0 ||
        locate(controller, call, JOURNAL_VOLUME, request->source_handle, &request->credentials,
               &source, err) < 0)
        return -1;
    return create_of(&work, request, snapshot, err);
}

int controller_create_snapshot(const struct controller *controller, struct call *call,
                               const struct snapshot_request *request, struct snapshot *snapshot,
                               struct error *err)
{
    if (request_name_check(request->name, err) < 0)
        return -1;
    if (request->source_handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "source_volume_id is missing");
    const char *prefix = strmap_get(&request->parameters, "snapshotNamePrefix");
    if (prefix && prefix[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "parameter snapshotNamePrefix is empty");
    if (create(controller, call, request, snapshot, err) < 0)
        return error_wrap(err, "create snapshot '%s' of '%s'", request->name,
                          request->source_handle);
    return 0;
}

static int delete_located(const struct controller *controller, struct call *call,
                          struct located *snapshot, const struct credentials *credentials,
                          struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};
    const struct journal_entry *entry = &snapshot->entry;

    if (entry->group_id)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "the snapshot belongs to group snapshot '%s'; delete that instead",
                         entry->group_id);
    if (entry->request_name) {
        _cleanup_free_ char *key = xasprintf("snapshotname:%s", entry->request_name);

        if (operation_begin(controller->operations, key, call, &operation, err) < 0)
            return -1;
    }
    return snapshot_discard(controller, call, snapshot, credentials, err);
}

int controller_delete_snapshot(const struct controller *controller, struct call *call,
                               const struct handle_request *request, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_located_ struct located snapshot = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "snapshot_id is missing");
    _cleanup_free_ char *key = xasprintf("snapshot:%s", request->handle);
    if (operation_begin(controller->operations, key, call, &operation, err) < 0)
        return -1;
    if (locate(controller, call, JOURNAL_SNAPSHOT, request->handle, &request->credentials,
               &snapshot, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return error_wrap(err, "delete snapshot '%s'", request->handle);
        log_v(2, call, "nothing to delete: %s", err->message);
        error_clear(err); /* gone, or never ours: the spec asks for success */
        return 0;
    }
    if (delete_located(controller, call, &snapshot, &request->credentials, err) < 0)
        return error_wrap(err, "delete snapshot '%s'", request->handle);
    return 0;
}

int controller_get_snapshot(const struct controller *controller, struct call *call,
                            const struct handle_request *request, struct snapshot *snapshot,
                            struct error *err)
{
    _cleanup_located_ struct located located = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "snapshot_id is missing");
    if (locate(controller, call, JOURNAL_SNAPSHOT, request->handle, &request->credentials, &located,
               err) < 0 ||
        snapshot_read(call, &located, snapshot, err) < 0)
        return error_wrap(err, "get snapshot '%s'", request->handle);
    return 0;
}
