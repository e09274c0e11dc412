/*
 * NodeStageVolume for CephFS: the file that says what is to be, the mount, the snapshot over it if
 * the volume shows one, and the file again, now saying that all of it is there. A call that fails
 * takes down what it made; what one that was killed left is taken down by the next.
 */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "common/linux/mount_flags.h"
#include "common/linux/mount_labels.h"
#include "node/cephfs/cephfs_staged.h"
#include "node/cephfs/cephfs_volume.h"
#include "node/checks.h"
#include "node/kernel_key.h"
#include "node/mount_table.h"
#include "node/staged_users.h"

/* The state of one call. */
struct cephfs_stage {
    const struct node_volumes *volumes;
    struct call *call;
    const struct stage_request *request;
    bool read_only;
    gid_t group;
    bool has_group;
    struct cephfs_staged staged;
    struct cephfs_volume volume;
    const struct cephfs_client *client;
    struct string_list options;
};

static void stage_done(struct cephfs_stage *stage)
{
    cephfs_staged_done(&stage->staged);
    cephfs_volume_close(&stage->volume);
    string_list_done(&stage->options);
}

/* --- which client --- */

/* There is a client, and that it does not know the key may be a mistake: no other takes its place.
 */
static int check_key(const struct cephfs_stage *stage, struct error *err)
{
    _cleanup_free_ char *reason = NULL;

    if (stage->client->uses_kernel_keys)
        kernel_key_check(stage->volumes->mappers.host, &stage->request->credentials, &reason);
    if (!reason)
        return 0;
    error_set(err, STATUS_FAILED_PRECONDITION, "cannot mount '%s' with the kernel's client: %s",
              stage->volume.path, reason);
    return error_hint(err,
                      PARAM_MOUNTER ": \"%s\" in the class, or --mounter=%s on the node, "
                                    "needs no kernel that knows it",
                      stage->client->substitute->name, stage->client->substitute->name);
}

static int choose_client(struct cephfs_stage *stage, struct error *err)
{
    const struct node_volumes *volumes = stage->volumes;
    struct host *host = volumes->mappers.host;
    const bool forced = volumes->cephfs.force_kernel;
    const char *name =
        strmap_get_or(&stage->request->context, PARAM_MOUNTER, volumes->default_mounter);
    const struct cephfs_client *wanted = name[0] ? cephfs_client_find(name) : &CEPHFS_KERNEL;
    _cleanup_free_ char *reason = NULL;
    _cleanup_free_ char *other_reason = NULL;

    if (!wanted)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "mounter '%.64s' is unknown; there are kernel and fuse", name);
    stage->client = wanted;
    if (wanted->is_usable(host, stage->call, forced, &reason))
        return check_key(stage, err);
    stage->client = wanted->substitute;
    if (!stage->client->is_usable(host, stage->call, forced, &other_reason))
        return error_set(err, STATUS_FAILED_PRECONDITION, "nothing here mounts CephFS: %s; %s",
                         reason, other_reason);
    if (name[0]) /* as in Ceph-CSI, but not silently */
        log_warn(stage->call, "mounting with client '%s': %s", stage->client->name, reason);
    return 0;
}

/* --- its options --- */

static void add_option(struct string_list *options, const char *option)
{
    if (option[0] && !string_list_has(options, option))
        string_list_add(options, option);
}

static void add_options(struct string_list *options, const char *text)
{
    _cleanup_string_list_ struct string_list parts = {0};

    mount_flags_split(text ? text : "", &parts);
    for (size_t i = 0; i < parts.count; i++)
        add_option(options, parts.items[i]);
}

/* The class's, then the cluster's or, where it has none, the flag's, then which replica to read
 * from, then those of the PersistentVolume. */
static int choose_options(struct cephfs_stage *stage, struct error *err)
{
    const struct node_volumes *volumes = stage->volumes;
    const struct cluster_config *config = stage->volume.config;
    const struct string_list *flags = &stage->request->capability.mount_flags;
    const bool is_kernel = stage->client == &CEPHFS_KERNEL;
    const char *of_cluster =
        is_kernel ? config->cephfs.kernel_mount_options : config->cephfs.fuse_mount_options;
    const char *of_flag = is_kernel ? volumes->cephfs.kernel_options : volumes->cephfs.fuse_options;
    const char *of_class = is_kernel ? PARAM_KERNEL_OPTIONS : PARAM_FUSE_OPTIONS;
    _cleanup_free_ char *nearest = NULL;
    _cleanup_string_list_ struct string_list all = {0};

    if (stage->client->reads_nearest)
        nearest =
            read_affinity_options(volumes->read_affinity, &config->read_affinity, stage->call);
    add_options(&all, strmap_get(&stage->request->context, of_class));
    add_options(&all, text_is_empty(of_cluster) ? of_flag : of_cluster);
    add_options(&all, nearest);
    for (size_t i = 0; i < flags->count; i++)
        add_option(&all, flags->items[i]);
    if (mount_labels_filter(volumes->mappers.host, &all, &stage->options, err) < 0)
        return -1;
    stage->read_only = stage->read_only || mount_flags_are_read_only(&stage->options);
    return 0;
}

/* --- mounting --- */

static int mount_volume(struct cephfs_stage *stage, struct error *err)
{
    struct host *host = stage->volumes->mappers.host;
    const struct stage_request *request = stage->request;
    const struct cephfs_mount mount = {
        .handle = request->handle,
        .target = request->staging_path,
        .monitors = stage->volume.config->monitors,
        .user = request->credentials.user,
        .key = &request->credentials.key,
        .fs_name = stage->volume.fs_name,
        .path = stage->volume.path,
        .options = &stage->options,
        .read_only = stage->read_only,
    };

    if (stage->client->mount(host, stage->call, &mount, err) < 0)
        return kernel_key_explain(host, &request->credentials, err);
    return 0;
}

static int mount_and_record(struct cephfs_stage *stage, struct error *err)
{
    const struct node_volumes *volumes = stage->volumes;
    struct host *host = volumes->mappers.host;
    const struct stage_request *request = stage->request;
    const char *path = request->staging_path;
    _cleanup_free_ char *root = NULL;

    /* The address of a client that died is on record, and is this node's: a new one must not wait
     * until Ceph has given up the dead one, which holds the metadata. */
    if ((!stage->staged.is_dead &&
         cephfs_volume_record(volumes, stage->call, &stage->volume, request, err) < 0) ||
        cephfs_staged_write(volumes, &stage->staged, request, stage->client, "", err) < 0 ||
        mount_volume(stage, err) < 0 ||
        cephfs_volume_root(volumes, &stage->volume, path, &root, err) < 0)
        return -1;
    if (strcmp(root, "/") != 0) {
        _cleanup_free_ char *source = xasprintf("%s%s", path, root);
        const struct mount_request snapshot = {.source = source, .target = path, .read_only = true};

        if (host->ops->mount(host, &snapshot, err) < 0)
            return -1;
    }
    if (stage->has_group && !stage->read_only &&
        host->ops->set_group(host, path, stage->group, err) < 0)
        return -1;
    return cephfs_staged_write(volumes, &stage->staged, request, stage->client, root, err);
}

/* The call failed: back to where nothing is staged, as far as that is possible. */
static void undo_stage(struct cephfs_stage *stage)
{
    struct host *host = stage->volumes->mappers.host;
    _cleanup_error_ struct error err = {0};
    _cleanup_cephfs_staged_ struct cephfs_staged left = {0};

    if (cephfs_staged_look(stage->volumes, stage->request->handle, stage->request->staging_path,
                           &left, &err) < 0 ||
        cephfs_staged_unmount(stage->volumes, stage->call, &left, &err) < 0 ||
        host->ops->remove(host, left.info_path, &err) < 0)
        log_warn(stage->call, "cannot take down what failed, the next try will: %s", err.message);
}

/* Binds the new mount to the targets that show the dead one, with the same flags: containers that
 * start from now on see the volume again, without NodePublishVolume. */
static void rebind_targets(const struct cephfs_stage *stage, const struct mount_list *before)
{
    struct host *host = stage->volumes->mappers.host;
    const struct cephfs_staged *dead = &stage->staged;

    for (size_t i = 0; i < before->count; i++) {
        const struct mount_entry *entry = &before->items[i];
        _cleanup_string_list_ struct string_list flags = {0};
        _cleanup_error_ struct error err = {0};
        const struct mount_request bind = {
            .source = dead->path, .target = entry->target, .flags = &flags};

        if (entry->device != dead->device || strcmp(entry->target, dead->path) == 0)
            continue;
        add_options(&flags, entry->flags);
        if (host->ops->unmount(host, entry->target, true, &err) < 0 ||
            host->ops->mount(host, &bind, &err) < 0)
            log_warn(stage->call, "'%s' still shows a dead mount: %s", entry->target, err.message);
        else
            log_info(stage->call, "'%s' shows the volume again", entry->target);
    }
}

/* --- the whole --- */

/* A mount that another driver made; some clients name the directory in it. */
static int check_foreign(const struct cephfs_stage *stage, struct error *err)
{
    const struct cephfs_staged *staged = &stage->staged;
    _cleanup_free_ char *end = xasprintf(":%s", stage->volume.path);

    if (!staged->client->names_path || text_has_suffix(staged->source, end))
        return 0;
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "'%s' is a mount of '%s', not of the volume's '%s'", staged->path,
                     staged->source, stage->volume.path);
}

static int stage_directory(struct cephfs_stage *stage, struct error *err)
{
    struct host *host = stage->volumes->mappers.host;
    const bool is_foreign = cephfs_staged_is_complete(&stage->staged);
    _cleanup_mount_list_ struct mount_list before = {0};

    /* what pods have mounted is revived wherever it is */
    if (!is_foreign && !stage->staged.is_dead &&
        node_check_place(stage->volumes, stage->call, stage->request, err) < 0)
        return -1;
    if (cephfs_volume_open(stage->volumes, stage->call, stage->request, &stage->volume, err) < 0)
        return -1;
    if (is_foreign)
        return check_foreign(stage, err);
    if (choose_client(stage, err) < 0 || choose_options(stage, err) < 0)
        return -1;
    if (stage->staged.is_dead && stage->staged.client && !stage->staged.is_shared &&
        host->ops->list_mounts(host, &before, err) < 0)
        return -1;
    if (cephfs_staged_unmount(stage->volumes, stage->call, &stage->staged, err) < 0)
        return -1;
    int result = mount_and_record(stage, err);
    if (result < 0)
        undo_stage(stage);
    else
        rebind_targets(stage, &before);
    return result;
}

/* Whether it was staged for that. Options of the class or the cluster may forbid writing as well;
 * then it is what was asked for. */
static bool is_for_reading(const struct cephfs_staged *staged)
{
    return staged->info.staging_path ? node_reads_only(&staged->info.capability)
                                     : staged->facts.is_read_only;
}

int cephfs_stage_volume(const struct node_volumes *volumes, struct call *call,
                        const struct stage_request *request, struct error *err)
{
    _cleanup_(stage_done) struct cephfs_stage stage = {
        .volumes = volumes,
        .call = call,
        .request = request,
        .read_only = node_reads_only(&request->capability),
    };

    if (node_parse_group(&request->capability, &stage.group, &stage.has_group, err) < 0 ||
        cephfs_staged_look(volumes, request->handle, request->staging_path, &stage.staged, err) < 0)
        return -1;
    bool is_complete = cephfs_staged_is_complete(&stage.staged);
    if (is_complete && !stage.read_only && is_for_reading(&stage.staged))
        return error_set(err, STATUS_ALREADY_EXISTS,
                         "volume '%s' is staged at '%s' already, for reading only", request->handle,
                         request->staging_path);
    if (is_complete &&
        check_labels(volumes->mappers.host, request->staging_path, &request->capability.mount_flags,
                     STATUS_ALREADY_EXISTS, err) < 0)
        return error_wrap(err, "volume '%s' is staged at '%s' already", request->handle,
                          request->staging_path);
    if (!(is_complete && stage.staged.info.staging_path) && stage_directory(&stage, err) < 0)
        return -1;
    staged_users_note(volumes->users, request);
    return 0;
}
