/* CephFS' part of the rpcs, but for NodeStageVolume, which has a file of its own. */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/linux/key_file.h"
#include "node/backend.h"
#include "node/cephfs/cephfs_staged.h"
#include "node/cephfs/cephfs_volume.h"
#include "node/checks.h"
#include "node/mount_table.h"
#include "node/staged_users.h"

#define ANSWER_TIMEOUT_MS 5000
#define INFO_FOLDER_MODE 0700
#define KUBELET_STAGING "/globalmount"
#define KUBELET_NOTE "/vol_data.json"

/* --- NodeUnstageVolume --- */

static int unstage_volume(const struct node_volumes *volumes, struct call *call, const char *handle,
                          const char *staging_path, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_cephfs_staged_ struct cephfs_staged staged = {0};

    if (cephfs_staged_look(volumes, handle, staging_path, &staged, err) < 0)
        return -1;
    bool is_alone = staged.client && !staged.is_dead && !staged.is_shared;
    if ((is_alone && check_unpublished(host, staged.path, false, err) < 0) ||
        cephfs_staged_unmount(volumes, call, &staged, err) < 0)
        return -1;
    return host->ops->remove(host, staged.info_path, err);
}

/* --- where it is staged --- */

/* The request with which the volume was staged, as far as it is known; the rest is taken from what
 * is asked @now, which may be NULL. */
static int rebuild_request(const struct node_volumes *volumes, struct call *call,
                           const struct cephfs_staged *staged, const struct publish_request *now,
                           struct stage_request *again, struct error *err)
{
    const struct mount_info *info = &staged->info;
    const struct credentials *own =
        now && now->credentials.user ? &now->credentials : &info->credentials;
    const bool is_known = staged->has_info && info->capability.mode != ACCESS_UNKNOWN;

    if (staged_user_find(volumes, call, staged->handle, staged->path, own, again, err) < 0)
        return -1;
    again->staging_path = xstrdup(staged->path);
    volume_capability_copy(is_known || !now ? &info->capability : &now->capability,
                           &again->capability);
    strmap_merge(&again->context, &info->context);
    if (now)
        strmap_merge(&again->context, &now->context);
    return 0;
}

/* ceph-fuse died, perhaps with the container of a previous run: the volume is staged again, if a
 * Ceph user is known. Otherwise @err says what is wrong with what is staged. */
static int stage_again(const struct node_volumes *volumes, struct call *call,
                       const struct publish_request *request, struct cephfs_staged *staged,
                       struct error *err)
{
    _cleanup_(stage_request_done) struct stage_request again = {0};
    _cleanup_error_ struct error why = {0};

    if (rebuild_request(volumes, call, staged, request, &again, &why) < 0) {
        if (cephfs_staged_check(staged, err) < 0)
            error_hint(err, "NodePublishVolume cannot, without a Ceph user: %s", why.message);
        return -1;
    }
    log_info(call, "staging the volume anew, because %s",
             staged->is_dead ? "its client died" : "its mount is gone");
    if (cephfs_stage_volume(volumes, call, &again, err) < 0)
        return -1;
    cephfs_staged_done(staged);
    return cephfs_staged_look(volumes, request->handle, request->staging_path, staged, err);
}

static int find_place(const struct node_volumes *volumes, struct call *call,
                      const struct publish_request *request, struct staged_place *place,
                      struct error *err)
{
    _cleanup_cephfs_staged_ struct cephfs_staged staged = {0};

    if (cephfs_staged_look(volumes, request->handle, request->staging_path, &staged, err) < 0)
        return -1;
    if ((staged.is_dead || (staged.has_info && !staged.is_mounted)) &&
        stage_again(volumes, call, request, &staged, err) < 0)
        return -1;
    if (cephfs_staged_check(&staged, err) < 0)
        return -1;
    *place = (struct staged_place){.path = xstrdup(request->staging_path),
                                   .facts = staged.facts,
                                   .device = staged.facts.device};
    return 0;
}

static int owns_mount(const struct node_volumes *volumes, const struct mount_entry *entry,
                      bool is_block, bool *owns, struct error *err)
{
    (void)volumes, (void)is_block, (void)err;
    *owns = cephfs_client_of(entry);
    return 0;
}

/* --- NodeGetVolumeStats --- */

/* Whether the mount is this volume's, as far as its file says where it is staged: that of another
 * driver does not. */
static int check_volume(const struct node_volumes *volumes, const char *handle,
                        const struct mount_list *mounts, const struct mount_entry *entry, bool *is,
                        struct error *err)
{
    _cleanup_mount_info_ struct mount_info info = {0};
    bool has_info = false;

    *is = cephfs_client_of(entry);
    if (!*is)
        return 0;
    if (cephfs_info_read(volumes, handle, &info, &has_info, err) < 0)
        return -1;
    const struct mount_entry *staged =
        info.staging_path ? mount_on_top(mounts, info.staging_path) : NULL;
    if (staged && strcmp(entry->target, info.staging_path) != 0)
        *is = staged->device == entry->device;
    return 0;
}

/* The mount table knows what is mounted without asking it, which might hang. */
static int get_stats(const struct node_volumes *volumes, struct call *call, const char *handle,
                     const char *volume_path, struct volume_stats *stats, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_mount_list_ struct mount_list mounts = {0};
    const struct mount_entry *entry = NULL;
    bool is = false;

    (void)call;
    if (mount_find(host, volume_path, &mounts, &entry, err) < 0)
        return -1;
    if (entry && check_volume(volumes, handle, &mounts, entry, &is, err) < 0)
        return -1;
    if (!is)
        return node_volume_not_there(handle, volume_path, err);
    if (io_check_folder(volumes->io_checks, volume_path, ANSWER_TIMEOUT_MS, err) < 0 ||
        host->ops->usage(host, volume_path, &stats->usage, err) < 0)
        return volume_stats_failed(stats, err);
    stats->has_usage = true;
    return 0;
}

/* --- at start --- */

/*
 * The previous run may have been killed half-way. If its container ended too, so did every
 * ceph-fuse: the mounts are still there, and dead.
 */
typedef int visit_fn(const struct node_volumes *volumes, struct call *call,
                     struct cephfs_staged *staged, struct error *err);

/* Only this driver's own files say where the volume is staged. */
static int visit_volume(const struct node_volumes *volumes, struct call *call, const char *handle,
                        visit_fn *visit, struct error *err)
{
    _cleanup_cephfs_staged_ struct cephfs_staged staged = {0};
    _cleanup_operation_ struct operation operation = {0};

    if (node_begin(volumes, handle, call, &operation, err) < 0 ||
        cephfs_staged_look(volumes, handle, NULL, &staged, err) < 0)
        return -1;
    return staged.path ? visit(volumes, call, &staged, err) : 0;
}

/* Returns how many visits failed. */
static size_t visit_volumes(const struct node_volumes *volumes, struct call *call, visit_fn *visit)
{
    struct host *host = volumes->mappers.host;
    _cleanup_error_ struct error err = {0};
    _cleanup_string_list_ struct string_list names = {0};
    size_t failed = 0;

    if (host->ops->list(host, volumes->cephfs.mount_info_dir, &names, &err) < 0)
        log_warn(call, "looking for what a previous run left: %s", err.message);
    for (size_t i = 0; i < names.count && !call_is_cancelled(call); i++) {
        _cleanup_free_ char *handle = cephfs_info_handle(names.items[i]);

        error_clear(&err);
        if (!handle || visit_volume(volumes, call, handle, visit, &err) == 0)
            continue;
        log_warn(call, "volume '%s': %s", handle, err.message);
        failed++;
    }
    return failed;
}

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

static void recover_volumes(const struct node_volumes *volumes, struct call *call)
{
    struct host *host = volumes->mappers.host;
    _cleanup_error_ struct error err = {0};

    if (key_files_clear(host, volumes->mappers.run_dir, &err) < 0)
        log_warn(call, "key files of a previous run: %s", err.message);
    error_clear(&err);
    if (host->ops->make_directory(host, volumes->cephfs.mount_info_dir, INFO_FOLDER_MODE, &err) < 0)
        log_warn(call, "volumes cannot be staged: %s", err.message);
    visit_volumes(volumes, call, forget_unmounted);
}

static int revive_volume(const struct node_volumes *volumes, struct call *call,
                         struct cephfs_staged *staged, struct error *err)
{
    _cleanup_(stage_request_done) struct stage_request request = {0};

    if (!staged->is_dead)
        return 0;
    if (rebuild_request(volumes, call, staged, NULL, &request, err) < 0)
        return error_wrap(err, "it works again when it is staged or published");
    if (cephfs_stage_volume(volumes, call, &request, err) < 0)
        return -1;
    log_info(call, "volume '%s' at '%s' has a new client", staged->handle, staged->path);
    return 0;
}

static size_t revive_volumes(const struct node_volumes *volumes, struct call *call)
{
    return visit_volumes(volumes, call, revive_volume);
}

/* What kubelet has written beside the mount: Ceph-CSI writes nothing for the kernel's client. */
struct kubelet_note {
    char *driver;
    char *handle;
};

static const struct json_field NOTE_FIELDS[] = {
    JSON_FIELD_STRING("driverName", struct kubelet_note, driver),
    JSON_FIELD_STRING("volumeHandle", struct kubelet_note, handle),
};
static const struct json_table NOTE_TABLE = JSON_TABLE(struct kubelet_note, NOTE_FIELDS);

static int find_staged(const struct node_volumes *volumes, const struct mount_entry *entry,
                       char **handle, char **staging_path, struct error *err)
{
    struct host *host = volumes->mappers.host;
    const char *slash = strrchr(entry->target, '/');
    _cleanup_free_ char *text = NULL;
    json_auto_t *json = NULL;
    struct kubelet_note note = {0};

    if (!cephfs_client_of(entry) || !slash || strcmp(slash, KUBELET_STAGING) != 0)
        return 0;
    _cleanup_free_ char *path =
        xasprintf("%.*s" KUBELET_NOTE, (int)(slash - entry->target), entry->target);
    if (host->ops->read_text(host, path, &text, err) < 0)
        return -1;
    if (!text)
        return 0;
    int result = json_load_text(text, strlen(text), path, &json, err);
    if (result == 0)
        result = json_decode(json, &NOTE_TABLE, &note, err);
    if (result == 0 && note.driver && note.handle &&
        strcmp(note.driver, volumes->driver_name) == 0) {
        *handle = TAKE(note.handle);
        *staging_path = xstrdup(entry->target);
    }
    json_free_fields(&NOTE_TABLE, &note);
    return result;
}

static int recall_path(const struct node_volumes *volumes, const char *handle, char **path,
                       struct error *err)
{
    _cleanup_mount_info_ struct mount_info info = {0};
    bool has_info = false;

    if (cephfs_info_read(volumes, handle, &info, &has_info, err) < 0)
        return -1;
    *path = TAKE(info.staging_path);
    return 0;
}

static int record_client(const struct node_volumes *volumes, struct call *call, const char *handle,
                         const char *staging_path, struct error *err)
{
    _cleanup_cephfs_staged_ struct cephfs_staged staged = {0};
    _cleanup_(stage_request_done) struct stage_request request = {0};
    _cleanup_cephfs_volume_ struct cephfs_volume volume = {0};

    if (cephfs_staged_look(volumes, handle, staging_path, &staged, err) < 0)
        return -1;
    if (!staged.client)
        return 0;
    if (rebuild_request(volumes, call, &staged, NULL, &request, err) < 0)
        return -1;
    /* also right for a volume that shows a snapshot; nothing is mounted */
    request.capability.mode = ACCESS_MULTI_NODE_READER_ONLY;
    if (cephfs_volume_open(volumes, call, &request, &volume, err) < 0)
        return -1;
    return cephfs_volume_record(volumes, call, &volume, &request, err);
}

const struct node_backend CEPHFS_NODE_BACKEND = {
    .type = "cephfs",
    .thing = "mount of CephFS",
    .check_capabilities = capability_list_check_cephfs,
    .stage = cephfs_stage_volume,
    .unstage = unstage_volume,
    .find_place = find_place,
    .owns_mount = owns_mount,
    .get_stats = get_stats,
    .find_staged = find_staged,
    .recall_path = recall_path,
    .record = record_client,
    .recover = recover_volumes,
    .revive = revive_volumes,
};
