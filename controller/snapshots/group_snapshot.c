/*
 * Group snapshots: one point in time for several volumes. The backend keeps writers out while it
 * takes a temporary snapshot of each; these then become snapshots of their own, as in
 * snapshot_steps.h.
 *
 * The group's journal entry is in the pool of the first member. It lists the members' snapshots
 * before the first one is taken and gets csi.creationtime after the last. A retry that does not
 * find the time drops those that there are and takes all again: half of them would be of another
 * point in time.
 */
#include "common/ceph/on_disk.h"
#include "common/config/class_parameters.h"
#include "controller/controller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "controller/backend.h"
#include "controller/names.h"

#define MEMBERS_MAX 100

struct member {
    struct operation operation;
    struct located source;
    struct snapshot_work work;
};

struct group_work {
    const struct controller *controller;
    struct call *call;
    const struct group_request *request;
    struct journal journal;
    struct journal_entry entry;
    struct member *members;
    size_t count;
    bool fresh;   /* this call claimed the name */
    bool is_same; /* the entry is that of this request */
};

/* --- the members --- */

static int open_member(struct group_work *group, const char *handle, struct member *member,
                       struct error *err)
{
    member->work = (struct snapshot_work){
        .controller = group->controller,
        .call = group->call,
        .credentials = &group->request->credentials,
        .source = &member->source,
        .parameters = &group->request->parameters,
        .journal = {JOURNAL_SNAPSHOT, group->controller->instance_id},
    };
    if (operation_begin_shared(group->controller->operations, "volume", handle, group->call,
                               &member->operation, err) < 0 ||
        locate(group->controller, group->call, JOURNAL_VOLUME, handle, &group->request->credentials,
               &member->source, err) < 0)
        return error_wrap(err, "member '%s'", handle);
    const char *cluster_id = member->source.id.cluster_id;
    if (strcmp(cluster_id, group->members[0].source.id.cluster_id) != 0)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "member '%s' is in cluster '%s', others are in '%s': there is no common "
                         "point in time",
                         handle, cluster_id, group->members[0].source.id.cluster_id);
    return 0;
}

static void group_work_done(struct group_work *group)
{
    for (size_t i = 0; i < group->count; i++) {
        snapshot_work_done(&group->members[i].work);
        located_done(&group->members[i].source);
        operation_end(&group->members[i].operation);
    }
    free(group->members);
    journal_entry_done(&group->entry);
}

/* --- reservation --- */

static struct ceph_pool *group_pool(const struct group_work *group)
{
    return group->members[0].source.pool;
}

static void group_handle(const struct group_work *group, char *handle)
{
    handle_format(&group->members[0].source.id, &group->entry.uuid, handle);
}

static int record_group(struct group_work *group, const char *sources, const struct uuid_text *uuid,
                        struct error *err)
{
    const char *prefix = class_parameter_get(&group->request->parameters, PARAM_GROUP_PREFIX);

    group->entry = (struct journal_entry){
        .uuid = *uuid,
        .request_name = xstrdup(group->request->name),
        .image_name = xasprintf("%s%s", prefix, uuid->chars),
        .journal_pool_id = -1,
    };
    strmap_set(&group->entry.extra, JOURNAL_KEY_GROUP_SOURCES, sources);
    if (journal_write(&group->journal, group->call, group_pool(group), &group->entry, err) == 0)
        return 0;
    /* another process continues the same reservation */
    return error_ignore(err, STATUS_ALREADY_EXISTS);
}

static int reserve_group(struct group_work *group, const char *sources, struct error *err)
{
    struct ceph_pool *pool = group_pool(group);
    struct journal_ref ref;
    bool found = false;

    if (journal_claim(&group->journal, group->call, pool, group->request->name, pool->id, &ref,
                      &group->fresh, err) < 0)
        return -1;
    group->entry.uuid = ref.uuid;
    if (!group->fresh &&
        journal_read(&group->journal, group->call, pool, &ref.uuid, &group->entry, &found, err) < 0)
        return -1;
    if (!found) {
        group->is_same = true;
        return record_group(group, sources, &ref.uuid, err);
    }
    const char *recorded = strmap_get_or(&group->entry.extra, JOURNAL_KEY_GROUP_SOURCES, sources);
    if (strcmp(recorded, sources) != 0)
        return error_set(err, STATUS_ALREADY_EXISTS,
                         "a group snapshot of that name exists, of the volumes %s", recorded);
    group->is_same = true;
    return 0;
}

/* Reserves the members' snapshots and lists them in the group's entry, so that deletion of the
 * group finds them from now on. */
static int reserve_members(struct group_work *group, struct error *err)
{
    _cleanup_strmap_ struct strmap listed = {0};
    char handle[VOLUME_ID_LENGTH_MAX + 1];
    char member_handle[VOLUME_ID_LENGTH_MAX + 1];

    group_handle(group, handle);
    for (size_t i = 0; i < group->count; i++) {
        struct member *member = &group->members[i];
        _cleanup_free_ char *name =
            xasprintf("%s-%s", group->entry.image_name, member->source.entry.uuid.chars);
        bool fresh = false;

        if (snapshot_reserve(&member->work, name, IMAGE_PREFIX_SNAPSHOT, handle, &fresh, err) < 0)
            return -1;
        handle_format(&member->source.id, &member->work.entry.uuid, member_handle);
        if (controller_backend(group->controller)->group_lists_sources)
            strmap_set(&listed, member->source.handle, member_handle);
        else
            strmap_set(&listed, member_handle, member->work.entry.image_name);
    }
    return journal_set(&group->journal, group->call, group_pool(group), &group->entry.uuid, &listed,
                       err);
}

/* What must hold of each volume before a snapshot of it is taken. */
static int prepare_members(struct group_work *group, struct error *err)
{
    const struct controller_backend *backend = controller_backend(group->controller);

    if (strmap_has(&group->entry.extra, JOURNAL_KEY_GROUP_CREATED))
        return 0; /* the snapshots are there */
    for (size_t i = 0; i < group->count; i++) {
        struct member *member = &group->members[i];

        if (!backend->entry_is_complete(&member->work.entry) &&
            backend->prepare_snapshot(&member->work, err) < 0)
            return error_wrap(err, "member '%s'", member->source.handle);
    }
    return 0;
}

/* --- the point in time --- */

static char *print_time(const struct timespec *time)
{
    struct tm utc;
    char seconds[32];

    gmtime_r(&time->tv_sec, &utc);
    strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &utc);
    return xasprintf("%s.%09ldZ", seconds, time->tv_nsec);
}

static int snapshot_members(struct group_work *group, struct error *err)
{
    _cleanup_strmap_ struct strmap attributes = {0};
    _cleanup_free_ struct snapshot_work **works =
        xcalloc(group->count, sizeof(struct snapshot_work *));
    struct timespec moment = {0};

    if (strmap_has(&group->entry.extra, JOURNAL_KEY_GROUP_CREATED))
        return 0;
    for (size_t i = 0; i < group->count; i++) {
        const struct begun begun = snapshot_begun(&group->members[i].work);

        works[i] = &group->members[i].work;
        if (!group->fresh && begun_take_over(&begun, works[i]->work, err) < 0)
            return -1; /* what another has taken must not be dropped */
    }
    if (controller_backend(group->controller)
            ->snapshot_together(works, group->count, &moment, err) < 0)
        return -1;
    _cleanup_free_ char *text = print_time(&moment);
    strmap_set(&attributes, JOURNAL_KEY_GROUP_CREATED, text);
    strmap_set(&group->entry.extra, JOURNAL_KEY_GROUP_CREATED, text);
    return journal_set(&group->journal, group->call, group_pool(group), &group->entry.uuid,
                       &attributes, err);
}

/* --- CreateVolumeGroupSnapshot --- */

static void parse_time(const char *text, struct timespec *time)
{
    struct tm utc = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);

    *time = (struct timespec){0};
    if (!rest)
        return;
    time->tv_sec = timegm(&utc);
    if (*rest == '.')
        time->tv_nsec = strtol(rest + 1, NULL, 10) % 1000000000;
}

static int build_snapshots(struct group_work *group, struct group_snapshot *out, struct error *err)
{
    const struct controller_backend *backend = controller_backend(group->controller);

    out->snapshots = xcalloc(group->count, sizeof(*out->snapshots));
    out->ready = true;
    for (size_t i = 0; i < group->count; i++) {
        struct snapshot_work *work = &group->members[i].work;

        if (backend->build_snapshot(work, false, err) < 0 ||
            backend->describe_snapshot(work, &out->snapshots[i], err) < 0)
            return -1;
        out->count++;
        out->ready = out->ready && out->snapshots[i].ready;
    }
    group_handle(group, out->handle);
    parse_time(strmap_get_or(&group->entry.extra, JOURNAL_KEY_GROUP_CREATED, ""), &out->created);
    return 0;
}

/* Whether a call that failed for good may undo what there is: nobody has the group's handle yet,
 * and no other process is at any member. */
static bool may_give_up(struct group_work *group, enum status status)
{
    if (group->fresh || !group->is_same)
        return group->is_same;
    bool may = !strmap_has(&group->entry.extra, JOURNAL_KEY_GROUP_CREATED);
    for (size_t i = 0; i < group->count && may; i++) {
        struct snapshot_work *work = &group->members[i].work;
        const struct begun begun = snapshot_begun(work);

        may = !work->entry.request_name || begun_is_abandoned(&begun, work->work, status);
    }
    return may;
}

static void give_up_group(struct group_work *group)
{
    struct ceph_pool *pool = group_pool(group);
    _cleanup_error_ struct error err = {0};

    for (size_t i = 0; i < group->count; i++)
        if (group->members[i].work.entry.request_name)
            controller_backend(group->controller)->give_up_snapshot(&group->members[i].work);
    if (journal_remove(&group->journal, group->call, pool, &group->entry.uuid, &err) < 0 ||
        journal_release_name(&group->journal, group->call, pool, group->request->name, pool->id,
                             &group->entry.uuid, NULL, &err) < 0)
        log_warn(group->call, "the failed group snapshot leaves something behind: %s", err.message);
}

static int create_group(struct group_work *group, struct group_snapshot *out, struct error *err)
{
    const struct string_list *given = &group->request->members;
    _cleanup_text_ struct text sources = TEXT_INIT(MEMBERS_MAX * (VOLUME_ID_LENGTH_MAX + 1));
    _cleanup_strmap_ struct strmap handles = {0};

    for (size_t i = 0; i < given->count; i++)
        strmap_set(&handles, given->items[i], ""); /* sorted: the same set is the same request */
    group->members = xcalloc(handles.count, sizeof(*group->members));
    for (size_t i = 0; i < handles.count; i++) {
        text_addf(&sources, "%s%s", i ? "," : "", handles.entries[i].key);
        group->count++;
        if (open_member(group, handles.entries[i].key, &group->members[i], err) < 0)
            return -1;
    }
    if (reserve_group(group, text_chars(&sources), err) == 0 && reserve_members(group, err) == 0 &&
        prepare_members(group, err) == 0 && snapshot_members(group, err) == 0 &&
        build_snapshots(group, out, err) == 0)
        return 0;
    if (status_is_final(err->status) && may_give_up(group, err->status))
        give_up_group(group);
    return -1;
}

int controller_create_group_snapshot(const struct controller *controller, struct call *call,
                                     const struct group_request *request,
                                     struct group_snapshot *out, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_(group_work_done) struct group_work group = {
        .controller = controller,
        .call = call,
        .request = request,
        .journal = {JOURNAL_GROUP, controller->instance_id},
    };

    if (request_name_check(request->name, err) < 0)
        return -1;
    if (request->members.count == 0 || request->members.count > MEMBERS_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "source_volume_ids has %zu elements; 1 to %d are possible",
                         request->members.count, MEMBERS_MAX);
    if (operation_begin(controller->operations, "groupname", request->name, call, &operation, err) <
        0)
        return -1;
    if (create_group(&group, out, err) < 0)
        return error_wrap(err, "create group snapshot '%s'", request->name);
    return 0;
}

/* --- DeleteVolumeGroupSnapshot, GetVolumeGroupSnapshot --- */

/* The members' snapshots: those keys, or their values, that are handles. */
static void list_snapshots(const struct controller *controller, const struct located *group,
                           struct string_list *handles)
{
    const bool in_values = controller_backend(controller)->group_lists_sources;

    for (size_t i = 0; i < group->entry.extra.count; i++) {
        const struct strmap_entry *item = &group->entry.extra.entries[i];
        _cleanup_error_ struct error err = {0};
        struct volume_id id;

        if (volume_id_parse(item->key, &id, &err) == 0)
            string_list_add(handles, in_values ? item->value : item->key);
    }
}

/* The caller may say which snapshots it means; then they must be these. */
static int check_members(const struct group_request *request, const struct string_list *handles,
                         struct error *err)
{
    for (size_t i = 0; i < request->members.count; i++)
        if (!string_list_has(handles, request->members.items[i]))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "snapshot '%s' does not belong to the group",
                             request->members.items[i]);
    if (request->members.count > 0 && request->members.count != handles->count)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "the group has %zu snapshots, snapshot_ids names %zu", handles->count,
                         request->members.count);
    return 0;
}

static int delete_group(const struct controller *controller, struct call *call,
                        const struct group_request *request, struct error *err)
{
    _cleanup_located_ struct located group = {0};
    _cleanup_string_list_ struct string_list handles = {0};

    if (locate(controller, call, JOURNAL_GROUP, request->handle, &request->credentials, &group,
               err) < 0) {
        /* gone, or never ours: the spec asks for success */
        return error_ignore(err, STATUS_NOT_FOUND);
    }
    list_snapshots(controller, &group, &handles);
    if (check_members(request, &handles, err) < 0)
        return -1;
    for (size_t i = 0; i < handles.count; i++) {
        _cleanup_located_ struct located snapshot = {0};
        int result = locate(controller, call, JOURNAL_SNAPSHOT, handles.items[i],
                            &request->credentials, &snapshot, err);

        if (result == 0)
            result =
                controller_backend(controller)
                    ->discard_snapshot(controller, call, &snapshot, &request->credentials, err);
        else
            result = error_ignore(err, STATUS_NOT_FOUND);
        if (result < 0)
            return error_wrap(err, "member '%s'", handles.items[i]);
    }
    return located_release(&group, call, NULL, err);
}

int controller_delete_group_snapshot(const struct controller *controller, struct call *call,
                                     const struct group_request *request, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "group_snapshot_id is missing");
    if (operation_begin(controller->operations, "group", request->handle, call, &operation, err) <
        0)
        return -1;
    if (delete_group(controller, call, request, err) < 0)
        return error_wrap(err, "delete group snapshot '%s'", request->handle);
    return 0;
}

int controller_get_group_snapshot(const struct controller *controller, struct call *call,
                                  const struct group_request *request, struct group_snapshot *out,
                                  struct error *err)
{
    _cleanup_located_ struct located group = {0};
    _cleanup_string_list_ struct string_list handles = {0};

    if (request->handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "group_snapshot_id is missing");
    if (locate(controller, call, JOURNAL_GROUP, request->handle, &request->credentials, &group,
               err) < 0)
        return error_wrap(err, "get group snapshot '%s'", request->handle);
    list_snapshots(controller, &group, &handles);
    if (check_members(request, &handles, err) < 0)
        return error_wrap(err, "get group snapshot '%s'", request->handle);
    out->snapshots = xcalloc(handles.count, sizeof(*out->snapshots));
    out->ready = true;
    for (size_t i = 0; i < handles.count; i++) {
        const struct handle_request one = {handles.items[i], request->credentials};

        if (controller_get_snapshot(controller, call, &one, &out->snapshots[i], err) < 0)
            return error_wrap(err, "get group snapshot '%s'", request->handle);
        out->count++;
        out->ready = out->ready && out->snapshots[i].ready;
    }
    snprintf(out->handle, sizeof(out->handle), "%s", request->handle);
    parse_time(strmap_get_or(&group.entry.extra, JOURNAL_KEY_GROUP_CREATED, ""), &out->created);
    return 0;
}
