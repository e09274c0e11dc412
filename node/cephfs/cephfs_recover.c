/*
 * What a driver finds when it starts. Its former life may have been killed half-way, and if that
 * was the end of its container, every ceph-fuse ended with it: the mounts are still there, and
 * dead.
 */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/key_file.h"
#include "node/cephfs/cephfs_staged.h"
#include "node/checks.h"
#include "node/staged_users.h"

#define INFO_PREFIX "nodestage-"
#define INFO_SUFFIX ".json"
#define FOLDER_MODE 0700

typedef int visit(const struct node_volumes *volumes, struct call *call,
                  struct cephfs_staged *staged, struct error *err);

/* "nodestage-HANDLE.json"; NULL for other names. Caller frees. */
static char *handle_of(const char *name)
{
    size_t length = strlen(name);
    const size_t around = strlen(INFO_PREFIX INFO_SUFFIX);

    if (length <= around || !text_has_prefix(name, INFO_PREFIX) ||
        !text_has_suffix(name, INFO_SUFFIX))
        return NULL;
    return xstrndup(name + strlen(INFO_PREFIX), length - around);
}

static int read_info(const struct node_volumes *volumes, const char *handle,
                     struct mount_info *info, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_free_ char *path = cephfs_info_path(volumes, handle);
    _cleanup_free_ char *text = NULL;

    if (host->ops->read_text(host, path, &text, err) < 0)
        return -1;
    return text ? mount_info_parse(text, info, err) : 0;
}

/* Only this driver's own files tell where the volume is staged. */
static int visit_one(const struct node_volumes *volumes, struct call *call, const char *handle,
                     visit *function, struct error *err)
{
    _cleanup_mount_info_ struct mount_info info = {0};
    _cleanup_cephfs_staged_ struct cephfs_staged staged = {0};
    _cleanup_operation_ struct operation operation = {0};

    if (node_begin(volumes, handle, call, &operation, err) < 0 ||
        read_info(volumes, handle, &info, err) < 0)
        return -1;
    if (!info.staging_path)
        return 0;
    if (cephfs_staged_look(volumes, handle, info.staging_path, &staged, err) < 0)
        return -1;
    return function(volumes, call, &staged, err);
}

static void visit_all(const struct node_volumes *volumes, struct call *call, visit *function)
{
    struct host *host = volumes->mappers.host;
    _cleanup_error_ struct error err = {0};
    _cleanup_string_list_ struct string_list names = {0};

    if (host->ops->list(host, volumes->cephfs.mount_info_dir, &names, &err) < 0)
        log_warn(call, "looking for what a former life left: %s", err.message);
    for (size_t i = 0; i < names.count && !call_is_cancelled(call); i++) {
        _cleanup_free_ char *handle = handle_of(names.items[i]);

        error_clear(&err);
        if (handle && visit_one(volumes, call, handle, function, &err) < 0)
            log_warn(call, "volume '%s': %s", handle, err.message);
    }
}

/* --- before the first call --- */

/* Nothing is mounted any more, as after a restart of the machine: the file is of no use. */
static int forget_unmounted(const struct node_volumes *volumes, struct call *call,
                            struct cephfs_staged *staged, struct error *err)
{
    struct host *host = volumes->mappers.host;
    bool running = false;

    if (staged->is_dead)
        log_warn(call, "the client that served volume '%s' at '%s' has died", staged->handle,
                 staged->path);
    if (staged->is_mounted || staged->is_dead)
        return 0;
    if (cephfs_fuse_is_running(host, staged->handle, &running, err) < 0)
        return -1;
    return running ? 0 : host->ops->remove(host, staged->info_path, err);
}

void cephfs_recover(const struct node_volumes *volumes, struct call *call)
{
    struct host *host = volumes->mappers.host;
    _cleanup_error_ struct error err = {0};

    if (key_files_clear(host, volumes->mappers.run_dir, &err) < 0)
        log_warn(call, "key files of a former life: %s", err.message);
    error_clear(&err);
    if (host->ops->make_directory(host, volumes->cephfs.mount_info_dir, FOLDER_MODE, &err) < 0)
        log_warn(call, "volumes cannot be staged: %s", err.message);
    visit_all(volumes, call, forget_unmounted);
}

/* --- beside the calls --- */

static int revive(const struct node_volumes *volumes, struct call *call,
                  struct cephfs_staged *staged, struct error *err)
{
    const struct mount_info *info = &staged->info;
    _cleanup_(stage_request_done) struct stage_request request = {0};

    if (!staged->is_dead)
        return 0;
    if (staged_user_find(volumes, call, staged->handle, &info->credentials, &request, err) < 0)
        return error_wrap(err, "it works again when it is staged or published");
    request.staging_path = xstrdup(staged->path);
    volume_capability_copy(&info->capability, &request.capability);
    strmap_merge(&request.context, &info->context);
    if (cephfs_stage_volume(volumes, call, &request, err) < 0)
        return -1;
    log_info(call, "volume '%s' at '%s' has a new client", staged->handle, staged->path);
    return 0;
}

void cephfs_revive(const struct node_volumes *volumes, struct call *call)
{
    visit_all(volumes, call, revive);
}
