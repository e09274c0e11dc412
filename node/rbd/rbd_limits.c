/*
 * Limits on the I/O of volumes that the kernel maps. The controller keeps what a
 * VolumeAttributesClass says in the image's metadata; here it becomes io.max of the cgroups of the
 * pods that use the volume, when it is published and from then on every now and then, so that a
 * changed class acts on pods that run. Volumes of rbd-nbd do not need this: librbd reads its limits
 * itself.
 *
 * Nothing fails for it: a volume without its limits works, and the next look sets them.
 */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/class_parameters.h"
#include "node/checks.h"
#include "node/mount_table.h"
#include "node/pod_limits.h"
#include "node/rbd/node_image.h"
#include "node/rbd/rbd_staged.h"
#include "node/staged_users.h"

#define LOOK_MS 10000 /* that publishing a volume may take longer because of this */

/* The limits of the metadata as io.max has them; NULL: none. 0, which the kernel does not take, is
 * none. Caller frees. */
static char *print_limits(const struct strmap *metadata)
{
    static const char *const fields[][2] = {
        {METADATA_RBD_CGROUP "read_bps", "rbps"},
        {METADATA_RBD_CGROUP "write_bps", "wbps"},
        {METADATA_RBD_CGROUP "read_iops", "riops"},
        {METADATA_RBD_CGROUP "write_iops", "wiops"},
    };
    _cleanup_text_ struct text text = TEXT_INIT(256);
    bool has_limit = false;

    for (size_t i = 0; i < ARRAY_LENGTH(fields); i++) {
        _cleanup_error_ struct error ignored = {0};
        uint64_t limit = 0;

        if (text_parse_u64(strmap_get_or(metadata, fields[i][0], "0"), &limit, &ignored) < 0)
            limit = 0; /* "max" */
        has_limit |= limit > 0;
        text_addf(&text, "%s%s=", i ? " " : "", fields[i][1]);
        if (limit > 0)
            text_addf(&text, "%llu", (unsigned long long)limit);
        else
            text_add(&text, LIMIT_MAX);
    }
    return has_limit ? text_take(&text) : NULL;
}

static int ask_limits(const struct node_volumes *volumes, struct call *call, const char *handle,
                      const char *path, const struct credentials *own, char **limits,
                      struct error *err)
{
    _cleanup_(stage_request_done) struct stage_request request = {0};
    _cleanup_node_image_ struct node_image image = {0};
    _cleanup_strmap_ struct strmap metadata = {0};

    if (staged_user_find(volumes, call, handle, path, own, &request, err) < 0 ||
        node_image_open(volumes, call, &request, &image, err) < 0 ||
        image.pool->ops->image_metadata_get(image.pool, call, image.name, &metadata, err) < 0)
        return -1;
    *limits = print_limits(&metadata);
    return 0;
}

/* Asks Ceph, and not for long. *@limits (caller frees) is NULL without any. */
static int read_limits(const struct node_volumes *volumes, struct call *call, const char *handle,
                       const char *path, const struct credentials *own, char **limits,
                       struct error *err)
{
    struct call look;

    call_init(&look, call->id, "limits", deadline_earlier(call->deadline, deadline_in_ms(LOOK_MS)));
    look.cancelled = call->cancelled;
    int result = ask_limits(volumes, &look, handle, path, own, limits, err);
    call_done(&look);
    return result;
}

static void limit_pod(const struct node_volumes *volumes, struct call *call, const char *handle,
                      const char *pod, dev_t device, const char *limits)
{
    _cleanup_error_ struct error err = {0};
    bool is_missing = false;

    if (pod_limits_set(volumes->limits, volumes->mappers.host, pod, device, limits, &is_missing,
                       &err) < 0)
        log_warn(call, "limits of volume '%s' for pod '%.64s': %s", handle, pod, err.message);
    else if (is_missing)
        log_v(2, call, "limits of volume '%s': pod '%s' has no cgroup with io.max (yet)", handle,
              pod);
    else if (limits)
        log_v(3, call, "volume '%s': pod '%s' has %s", handle, pod, limits);
}

/* --- NodePublishVolume --- */

/* Who has nobody to ask as goes without limits, as with Ceph-CSI. */
static void tell_unknown(struct call *call, const char *handle, const struct error *err)
{
    if (err->status == STATUS_FAILED_PRECONDITION)
        log_v(2, call, "volume '%s' is not limited: %s", handle, err->message);
    else
        log_warn(call, "limits of volume '%s' are not known: %s", handle, err->message);
}

void rbd_limit_published(const struct node_volumes *volumes, struct call *call,
                         const struct publish_request *request, const struct staged_place *place)
{
    const char *named = strmap_get(&request->context, PARAM_POD_UID);
    _cleanup_free_ char *pod = named ? xstrdup(named) : kubelet_path_pod(request->target_path);
    _cleanup_free_ char *limits = NULL;
    _cleanup_error_ struct error err = {0};

    if (!pod || !place->has_cgroup_limits)
        return;
    if (read_limits(volumes, call, request->handle, place->path, &request->credentials, &limits,
                    &err) < 0)
        tell_unknown(call, request->handle, &err);
    else
        limit_pod(volumes, call, request->handle, pod, place->device, limits);
}

/* --- from time to time --- */

/* The pods that see what is mounted on @path. */
static void list_pods(const struct mount_list *mounts, const struct mount_entry *staged,
                      struct string_list *pods)
{
    const bool is_block = strcmp(staged->fs_type, "devtmpfs") == 0;
    _cleanup_string_list_ struct string_list targets = {0};

    mounts_of_same(mounts, staged->target, is_block, &targets);
    for (size_t i = 0; i < targets.count; i++) {
        _cleanup_free_ char *pod = kubelet_path_pod(targets.items[i]);

        if (pod && !string_list_has(pods, pod))
            string_list_add(pods, pod);
    }
}

static int refresh_volume(const struct node_volumes *volumes, struct call *call,
                          const struct mount_entry *staged, const struct string_list *pods,
                          struct error *err)
{
    struct host *host = volumes->mappers.host;
    const char *handle = strrchr(staged->target, '/') + 1;
    const char *name = rbd_mounted_device(staged, false);
    _cleanup_free_ char *device = xasprintf("%s%s", name[0] == '/' ? "" : "/dev/", name);
    _cleanup_free_ char *limits = NULL;
    struct device_facts facts;

    if (host->ops->device_facts(host, device, &facts, err) < 0 ||
        read_limits(volumes, call, handle, staged->target, &(struct credentials){0}, &limits, err) <
            0)
        return -1;
    for (size_t i = 0; i < pods->count; i++)
        limit_pod(volumes, call, handle, pods->items[i], facts.number, limits);
    return 0;
}

/* A volume that is staged here, mapped by the kernel and seen by pods. */
static void refresh_mount(const struct node_volumes *volumes, struct call *call,
                          const struct mount_list *mounts, const struct mount_entry *entry,
                          struct string_list *all_pods)
{
    _cleanup_string_list_ struct string_list pods = {0};
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *staging_path = NULL;
    const struct mapper *mapper = NULL;

    if (rbd_staged_find_path(volumes, entry, &mapper, &staging_path, &err) < 0 || !staging_path ||
        !mapper->has_cgroup_limits)
        return; /* what is wrong with it, whoever uses it is told */
    list_pods(mounts, entry, &pods);
    for (size_t i = 0; i < pods.count; i++)
        string_list_add(all_pods, pods.items[i]);
    if (pods.count > 0 && refresh_volume(volumes, call, entry, &pods, &err) < 0)
        tell_unknown(call, strrchr(entry->target, '/') + 1, &err);
}

void rbd_refresh_limits(const struct node_volumes *volumes, struct call *call)
{
    struct host *host = volumes->mappers.host;
    _cleanup_mount_list_ struct mount_list mounts = {0};
    _cleanup_string_list_ struct string_list pods = {0};

    if (!mounts_list(host, call, "looking for limits of volumes", &mounts))
        return;
    for (size_t i = 0; i < mounts.count && !call_is_cancelled(call); i++)
        refresh_mount(volumes, call, &mounts, &mounts.items[i], &pods);
    if (!call_is_cancelled(call))
        pod_limits_keep(volumes->limits, &pods);
}
