/* CreateSnapshot, DeleteSnapshot, GetSnapshot. */
#include "common/base/log.h"
#include "common/config/class_parameters.h"
#include "controller/backend.h"
#include "controller/names.h"

/* Whether a call that failed for good may undo what there is, as for volumes. */
static bool snapshot_may_give_up(struct snapshot_work *work, bool fresh, enum status status)
{
    const struct begun begun = snapshot_begun(work);

    if (!work->is_same)
        return false;
    return fresh || begun_is_abandoned(&begun, work->work, status);
}

static int create_of(struct snapshot_work *work, const struct snapshot_request *request,
                     struct snapshot *snapshot, struct error *err)
{
    const struct controller_backend *backend = controller_backend(work->controller);
    const char *prefix = class_parameter_get(&request->parameters, PARAM_SNAPSHOT_PREFIX);
    bool fresh = false;

    if (snapshot_reserve(work, request->name, prefix, NULL, &fresh, err) == 0 &&
        (backend->entry_is_complete(&work->entry) || backend->prepare_snapshot(work, err) == 0) &&
        backend->build_snapshot(work, true, err) == 0 &&
        backend->describe_snapshot(work, snapshot, err) == 0)
        return 0;
    if (status_is_final(err->status) && snapshot_may_give_up(work, fresh, err->status))
        backend->give_up_snapshot(work);
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

    if (operation_begin_shared(controller->operations, "volume", request->source_handle, call,
                               &source_operation, err) < 0 ||
        operation_begin(controller->operations, "snapshotname", request->name, call, &operation,
                        err) < 0 ||
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
    if (controller_backend(controller)->check_snapshot_class(&request->parameters, err) < 0)
        return -1;
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
    if (entry->request_name && operation_begin(controller->operations, "snapshotname",
                                               entry->request_name, call, &operation, err) < 0)
        return -1;
    return controller_backend(controller)
        ->discard_snapshot(controller, call, snapshot, credentials, err);
}

int controller_delete_snapshot(const struct controller *controller, struct call *call,
                               const struct handle_request *request, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_located_ struct located snapshot = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "snapshot_id is missing");
    if (operation_begin(controller->operations, "snapshot", request->handle, call, &operation,
                        err) < 0)
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
        controller_backend(controller)
                ->read_snapshot(controller, call, &located, &request->credentials, snapshot, err) <
            0)
        return error_wrap(err, "get snapshot '%s'", request->handle);
    return 0;
}
