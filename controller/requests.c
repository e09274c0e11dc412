/* Checking and freeing of what controller.h declares. */
#include "common/base/memory.h"
#include "controller/controller.h"

#include <stdlib.h>

#include "controller/names.h"

int create_request_check(const struct create_request *request, struct error *err)
{
    if (request_name_check(request->name, err) < 0 ||
        capability_list_check(&request->capabilities, err) < 0)
        return -1;
    if (request->source_kind == SOURCE_UNKNOWN)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "volume_content_source has neither snapshot nor volume; leave it out for "
                         "an empty volume");
    if (request->source_handle && request->source_handle[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "volume_content_source has no id");
    for (size_t i = 0; i < request->capabilities.count; i++) {
        enum access_mode mode = request->capabilities.items[i].mode;

        if (access_mode_is_read_only(mode) && request->source_kind == SOURCE_NONE)
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "volume_capabilities[%zu]: %s makes no sense for an empty volume; it "
                             "needs a content source",
                             i, access_mode_name(mode));
    }
    return 0;
}

void create_request_done(struct create_request *request)
{
    free(request->name);
    free(request->source_handle);
    capability_list_done(&request->capabilities);
    strmap_done(&request->parameters);
    strmap_done(&request->mutable_parameters);
    topology_requirement_done(&request->requirement);
    credentials_done(&request->credentials);
}

void capacity_request_done(struct capacity_request *request)
{
    strmap_done(&request->parameters);
    strmap_done(&request->segments);
}

void handle_request_done(struct handle_request *request)
{
    free(request->handle);
    credentials_done(&request->credentials);
}

void attach_request_done(struct attach_request *request)
{
    free(request->handle);
    free(request->node_id);
    volume_capability_done(&request->capability);
    strmap_done(&request->context);
    credentials_done(&request->credentials);
}

void detach_request_done(struct detach_request *request)
{
    free(request->handle);
    free(request->node_id);
    credentials_done(&request->credentials);
}

void validate_request_done(struct validate_request *request)
{
    free(request->handle);
    capability_list_done(&request->capabilities);
    strmap_done(&request->parameters);
    credentials_done(&request->credentials);
}

void expand_request_done(struct expand_request *request)
{
    free(request->handle);
    volume_capability_done(&request->capability);
    credentials_done(&request->credentials);
}

void modify_request_done(struct modify_request *request)
{
    free(request->handle);
    strmap_done(&request->mutable_parameters);
    credentials_done(&request->credentials);
}

void snapshot_request_done(struct snapshot_request *request)
{
    free(request->name);
    free(request->source_handle);
    strmap_done(&request->parameters);
    credentials_done(&request->credentials);
}

void list_request_done(struct list_request *request)
{
    free_all(request->token, request->source_handle, request->snapshot_handle);
    credentials_done(&request->credentials);
}

void group_request_done(struct group_request *request)
{
    free(request->name);
    free(request->handle);
    string_list_done(&request->members);
    strmap_done(&request->parameters);
    credentials_done(&request->credentials);
}

void volume_done(struct volume *volume)
{
    strmap_done(&volume->context);
    strmap_done(&volume->segments);
}

int volume_state_conclude(struct volume_state *state, struct error *err)
{
    if (err->status == STATUS_NOT_FOUND) {
        state->abnormal = true;
        state->message = TAKE(err->message);
    }
    return error_ignore(err, STATUS_NOT_FOUND);
}

void volume_state_done(struct volume_state *state)
{
    volume_done(&state->volume);
    free(state->message);
}

void volume_list_done(struct volume_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        volume_state_done(&list->items[i]);
    free(list->items);
    free(list->next_token);
}

void snapshot_list_done(struct snapshot_list *list)
{
    free(list->items);
    free(list->next_token);
}

void group_snapshot_done(struct group_snapshot *group)
{
    free(group->snapshots);
}
