#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/volume/service_account.h"
#include "node/backend.h"
#include "node/checks.h"
#include "node/mount_table.h"

#define TARGET_FOLDER_MODE 0750
#define TARGET_FILE_MODE 0640

/* --- mounts that are ours --- */

static int check_ours(const struct node_volumes *volumes, const char *path, bool is_block,
                      struct error *err)
{
    const struct node_backend *backend = volumes->backend;
    struct host *host = volumes->mappers.host;
    _cleanup_mount_list_ struct mount_list mounts = {0};
    const struct mount_entry *entry = NULL;
    bool owns = false;

    if (mount_find(host, path, &mounts, &entry, err) < 0)
        return -1;
    if (!entry)
        return 0; /* went meanwhile */
    if (backend->owns_mount(volumes, entry, is_block, &owns, err) < 0)
        return -1;
    if (owns)
        return 0;
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "'%s' is a mount of '%s', which is no %s of this driver", path,
                     is_block ? entry->root : entry->source, backend->thing);
}

/* --- NodePublishVolume --- */

void publish_request_done(struct publish_request *request)
{
    free_all(request->handle, request->staging_path, request->target_path);
    volume_capability_done(&request->capability);
    strmap_done(&request->context);
    strmap_done(&request->publish_context);
    credentials_done(&request->credentials);
}

/* The target is a mount already: fine if it is this volume in the same way. */
static int check_same(const struct staged_place *place, const struct path_facts *target,
                      const struct publish_request *request, bool read_only, struct error *err)
{
    if (target->device != place->device || target->kind != place->facts.kind)
        return error_set(err, STATUS_ALREADY_EXISTS, "something else is mounted on '%s'",
                         request->target_path);
    if (target->is_read_only != read_only)
        return error_set(err, STATUS_ALREADY_EXISTS, "it is published at '%s' already, for %s",
                         request->target_path,
                         target->is_read_only ? "reading" : "reading and writing");
    return 0;
}

/* SINGLE_NODE_SINGLE_WRITER means one place. */
static int check_alone(const struct node_volumes *volumes, const struct staged_place *place,
                       const struct publish_request *request, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_mount_list_ struct mount_list mounts = {0};
    _cleanup_string_list_ struct string_list targets = {0};

    if (request->capability.mode != ACCESS_SINGLE_NODE_SINGLE_WRITER)
        return 0;
    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    mounts_of_same(&mounts, place->path, place->facts.kind == PATH_BLOCK_DEVICE, &targets);
    for (size_t i = 0; i < targets.count; i++)
        if (strcmp(targets.items[i], request->target_path) != 0)
            return error_set(err, STATUS_FAILED_PRECONDITION,
                             "it is published at '%s', and %s allows one place only",
                             targets.items[i], access_mode_name(request->capability.mode));
    return 0;
}

static int bind_target(struct host *host, const struct staged_place *place,
                       const struct publish_request *request, bool read_only, struct error *err)
{
    const bool is_block = request->capability.type == ACCESS_TYPE_BLOCK;
    const struct mount_request mount = {
        .source = place->path,
        .target = request->target_path,
        .flags = is_block ? NULL : &request->capability.mount_flags,
        .read_only = read_only,
    };
    _cleanup_error_ struct error second = {0};
    int result = is_block ? host->ops->make_file(host, mount.target, TARGET_FILE_MODE, err)
                          : host->ops->make_directory(host, mount.target, TARGET_FOLDER_MODE, err);

    if (result < 0)
        return -1;
    if (host->ops->mount(host, &mount, err) == 0)
        return 0;
    if (host->ops->remove(host, mount.target, &second) < 0)
        error_clear(&second); /* the first failure is the one that counts */
    return -1;
}

/* A mount there that has died is taken off. */
static int look_at_target(const struct node_volumes *volumes, const char *path,
                          struct path_facts *facts, struct error *err)
{
    struct host *host = volumes->mappers.host;

    for (int i = 0; i < STACKED_MAX; i++) {
        bool is_dead = false;

        if (look_at_mount(host, path, facts, &is_dead, err) < 0)
            return -1;
        if (!is_dead)
            return 0;
        if (check_ours(volumes, path, false, err) < 0 ||
            host->ops->unmount(host, path, true, err) < 0)
            return -1;
    }
    return refuse_stacked(path, err);
}

static int publish_place(const struct node_volumes *volumes, const struct publish_request *request,
                         const struct staged_place *place, struct error *err)
{
    struct host *host = volumes->mappers.host;
    struct path_facts target;
    bool is_block = place->facts.kind == PATH_BLOCK_DEVICE;

    if (is_block != (request->capability.type == ACCESS_TYPE_BLOCK))
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "it is staged as %s, but is to be published as %s",
                         is_block ? "a block device" : "a file system",
                         is_block ? "a file system" : "a block device");
    if (check_labels(host, place->path, &request->capability.mount_flags,
                     STATUS_FAILED_PRECONDITION, err) < 0)
        return -1;
    if (look_at_target(volumes, request->target_path, &target, err) < 0)
        return -1;
    bool read_only =
        request->read_only || place->facts.is_read_only || node_reads_only(&request->capability);
    if (target.is_mount_point)
        return check_same(place, &target, request, read_only, err);
    if (check_alone(volumes, place, request, err) < 0)
        return -1;
    return bind_target(host, place, request, read_only, err);
}

static int publish_staged(const struct node_volumes *volumes, struct call *call,
                          const struct publish_request *request, struct error *err)
{
    const struct node_backend *backend = volumes->backend;
    _cleanup_staged_place_ struct staged_place place = {0};

    if (backend->find_place(volumes, call, request, &place, err) < 0 ||
        publish_place(volumes, request, &place, err) < 0)
        return -1;
    if (backend->published)
        backend->published(volumes, call, request, &place);
    return 0;
}

int node_publish_volume(const struct node_volumes *volumes, struct call *call,
                        const struct publish_request *request, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};

    if (node_check_handle(request->handle, err) < 0)
        return -1;
    if (service_account_check(call, &request->publish_context, &request->context, err) < 0)
        return error_wrap(err, "publish volume '%s'", request->handle);
    if (node_check_lifecycle(&request->context, err) < 0 ||
        node_check_path("target_path", request->target_path, err) < 0 ||
        node_check_capability(volumes, &request->capability, err) < 0)
        return -1;
    if (request->staging_path[0] == '\0')
        return error_set(err, STATUS_FAILED_PRECONDITION, "staging_target_path is missing");
    if (node_check_path("staging_target_path", request->staging_path, err) < 0 ||
        node_begin(volumes, request->handle, call, &operation, err) < 0)
        return -1;
    if (publish_staged(volumes, call, request, err) < 0)
        return error_wrap(err, "publish volume '%s'", request->handle);
    return 0;
}

/* --- NodeUnpublishVolume --- */

/* Nothing but an empty mount point is removed: a file must be empty, a folder the kernel checks. */
static int remove_target(struct host *host, const char *path, const struct path_facts *facts,
                         struct error *err)
{
    if (facts->kind == PATH_FILE && facts->size_bytes > 0)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "'%s' is a file with content, not a mount point", path);
    if (facts->kind != PATH_FILE && facts->kind != PATH_DIRECTORY && facts->kind != PATH_ABSENT)
        return error_set(err, STATUS_FAILED_PRECONDITION, "'%s' is not a mount point", path);
    return host->ops->remove(host, path, err);
}

static int unmount_target(const struct node_volumes *volumes, const char *path, struct error *err)
{
    struct host *host = volumes->mappers.host;
    struct path_facts facts = {0};

    for (int i = 0; i < STACKED_MAX; i++) {
        bool is_dead = false;

        if (look_at_mount(host, path, &facts, &is_dead, err) < 0)
            return -1;
        if (!facts.is_mount_point)
            return remove_target(host, path, &facts, err);
        if (check_ours(volumes, path, facts.kind == PATH_BLOCK_DEVICE, err) < 0 ||
            host->ops->unmount(host, path, is_dead, err) < 0)
            return -1;
    }
    return refuse_stacked(path, err);
}

int node_unpublish_volume(const struct node_volumes *volumes, struct call *call, const char *handle,
                          const char *target_path, struct error *err)
{
    _cleanup_operation_ struct operation operation = {0};

    if (node_check_target(handle, "target_path", target_path, err) < 0 ||
        node_begin(volumes, handle, call, &operation, err) < 0)
        return -1;
    if (unmount_target(volumes, target_path, err) < 0)
        return error_wrap(err, "unpublish volume '%s'", handle);
    return 0;
}
