#include "node/cephfs/cephfs_volume.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/class_parameters.h"
#include "common/usage/subvolume_count.h"
#include "common/volume/client_keys.h"
#include "node/checks.h"

/* Volumes of Ceph-CSI 1.0 bring their monitors along, and are in no journal. */
static int refuse_ancient(const struct stage_request *request, struct error *err)
{
    if (!strmap_has(&request->context, PARAM_MONITORS) &&
        !strmap_has(&request->context, PARAM_PROVISION_VOLUME))
        return 0;
    error_set(err, STATUS_FAILED_PRECONDITION,
              "it is a volume of Ceph-CSI 1.0, which this driver does not know");
    return error_hint(err, "make a static PersistentVolume of it: clusterID, fsName, rootPath and "
                           "staticVolume: \"true\"");
}

/* --- static volumes --- */

static int open_static(const struct node_volumes *volumes, struct call *call,
                       const struct stage_request *request, struct cephfs_volume *volume,
                       struct error *err)
{
    const struct strmap *context = &request->context;
    const char *cluster_id = strmap_get_or(context, PARAM_CLUSTER_ID, "");
    const char *root = strmap_get_or(context, PARAM_ROOT_PATH, "");

    if (!cluster_id[0] || !root[0])
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "volume_context of a static volume needs clusterID and rootPath");
    if (strcmp(root, "/") != 0 && node_check_path("volume_context: rootPath", root, err) < 0)
        return -1;
    if (session_open(volumes->ceph, volumes->config, call, cluster_id, &request->credentials,
                     &volume->session, err) < 0)
        return -1;
    volume->cluster = volume->session.cluster;
    volume->config = volume->session.cluster_config;
    volume->fs_name = xstrdup(strmap_get_or(context, PARAM_FS_NAME, ""));
    volume->path = xstrdup(root);
    const char *backing = strmap_get_or(context, PARAM_BACKING_SNAPSHOT_ID, NULL);
    if (!backing)
        return 0;
    volume->snapshot = xstrdup(backing);
    volume->folder = xstrdup("");
    volume->is_part = true;
    return 0;
}

/* --- volumes in the journal --- */

static int open_location(void *object, struct call *call, const struct credentials *credentials,
                         struct located *located, struct error *err)
{
    const struct node_volumes *volumes = object;

    (void)credentials;
    return located_open_filesystem(located, call, volumes->cephfs.rados_namespace, err);
}

static int locate_entry(const struct node_volumes *volumes, struct call *call,
                        enum journal_kind kind, const char *handle,
                        const struct credentials *credentials, struct located *located,
                        struct error *err)
{
    const struct locator locator = {
        .ceph = volumes->ceph,
        .config = volumes->config,
        .instance_id = volumes->instance_id,
        .open = open_location,
        .object = (struct node_volumes *)(uintptr_t)volumes,
    };

    return volume_locate(&locator, call, kind, handle, credentials, located, err);
}

static struct subvolume_group group_of(const struct cephfs_volume *volume)
{
    return (struct subvolume_group){volume->cluster, volume->fs_name, volume->group};
}

static int read_subvolume(struct call *call, struct cephfs_volume *volume, const char *name,
                          struct error *err)
{
    const struct subvolume_group group = group_of(volume);
    _cleanup_subvolume_facts_ struct subvolume_facts facts = {0};

    if (subvolume_get_facts(&group, call, name, &facts, err) < 0)
        return -1;
    if (!facts.path)
        return error_set(err, STATUS_NOT_FOUND,
                         "subvolume '%s' is deleted; only snapshots are left", name);
    volume->path = TAKE(facts.path);
    volume->subvolume = xstrdup(name);
    return 0;
}

/* What is mounted is the directory above that of the subvolume's files, because snapshots are made
 * of that. Of a subvolume that is deleted but for its snapshots Ceph does not report the path. */
static int read_snapshot(const struct node_volumes *volumes, struct call *call,
                         const struct stage_request *request, const char *handle,
                         struct cephfs_volume *volume, struct error *err)
{
    const struct subvolume_group group = group_of(volume);
    _cleanup_located_ struct located shown = {0};
    _cleanup_subvolume_facts_ struct subvolume_facts facts = {0};

    if (locate_entry(volumes, call, JOURNAL_SNAPSHOT, handle, &request->credentials, &shown, err) <
        0)
        return error_wrap(err, "snapshot '%s', which it shows", handle);
    const char *source = shown.entry.source;
    if (!source)
        return error_set(err, STATUS_NOT_FOUND, "the journal does not say whose snapshot '%s' is",
                         handle);
    if (subvolume_get_facts(&group, call, source, &facts, err) < 0)
        return -1;
    volume->subvolume = xstrdup(source);
    volume->snapshot = xstrdup(shown.entry.image_name);
    const char *end = facts.path ? strrchr(facts.path, '/') : NULL;
    if (!end || end == facts.path) {
        volume->path = xasprintf("/volumes/%s/%s", volume->group, source);
        return 0;
    }
    volume->path = xstrndup(facts.path, (size_t)(end - facts.path));
    volume->folder = xstrdup(end + 1);
    return 0;
}

static int open_located(const struct node_volumes *volumes, struct call *call,
                        const struct stage_request *request, struct cephfs_volume *volume,
                        struct error *err)
{
    struct located *located = &volume->located;

    if (locate_entry(volumes, call, JOURNAL_VOLUME, request->handle, &request->credentials, located,
                     err) < 0)
        return -1;
    if (!text_is_empty(located->entry.kms_id))
        return node_refuse_encrypted(err);
    volume->cluster = located->session.cluster;
    volume->config = located->session.cluster_config;
    volume->fs_name = xstrdup(located->fs.name);
    volume->group = xstrdup(strmap_get_or(&request->context, PARAM_SUBVOLUME_GROUP,
                                          session_cephfs_group(&located->session)));
    const char *backing = strmap_get_or(&located->entry.extra, CEPHFS_KEY_BACKING, NULL);
    return backing ? read_snapshot(volumes, call, request, backing, volume, err)
                   : read_subvolume(call, volume, located->entry.image_name, err);
}

/* --- the whole --- */

int cephfs_volume_open(const struct node_volumes *volumes, struct call *call,
                       const struct stage_request *request, struct cephfs_volume *out,
                       struct error *err)
{
    _cleanup_cephfs_volume_ struct cephfs_volume volume = {0};
    bool is_static = false;

    if (node_check_stage(request, &is_static, err) < 0 ||
        (!is_static && refuse_ancient(request, err) < 0))
        return -1;
    int result = is_static ? open_static(volumes, call, request, &volume, err)
                           : open_located(volumes, call, request, &volume, err);
    if (result < 0)
        return -1;
    if (volume.snapshot && !access_mode_is_read_only(request->capability.mode))
        return error_set(
            err, STATUS_INVALID_ARGUMENT,
            "the volume shows a snapshot, which nobody can write, but access mode is %s",
            access_mode_name(request->capability.mode));
    *out = volume;
    volume = (struct cephfs_volume){0};
    return 0;
}

void cephfs_volume_close(struct cephfs_volume *volume)
{
    free_all(volume->fs_name, volume->group, volume->subvolume, volume->path, volume->snapshot,
             volume->folder);
    session_close(&volume->session);
    located_done(&volume->located);
    *volume = (struct cephfs_volume){0};
}

int cephfs_volume_record(const struct node_volumes *volumes, struct call *call,
                         const struct cephfs_volume *volume, const struct stage_request *request,
                         struct error *err)
{
    const struct subvolume_group group = group_of(volume);
    const struct client_place place = {true, request->handle};
    struct ceph_cluster *cluster = volume->cluster;
    _cleanup_strmap_ struct strmap entries = {0};
    _cleanup_free_ char *address = NULL;

    if (!volume->subvolume)
        return 0;
    if (cluster->ops->client_address(cluster, call, &address, err) < 0 ||
        client_keys_fill(&place, volumes->node_id, address, request->credentials.user, &entries,
                         err) < 0)
        return -1;
    if (subvolume_set_metadata(&group, call, volume->subvolume, volume->snapshot, &entries, err) ==
        0)
        return 0;
    /* of a snapshot whose subvolume is deleted, Ceph keeps no metadata */
    if (err->status != STATUS_PERMISSION_DENIED &&
        !(volume->snapshot && err->status == STATUS_NOT_FOUND))
        return -1;
    log_v(2, call, "this node's address is not recorded: %s", err->message);
    error_clear(err);
    return 0;
}

/* --- which part of it --- */

/* Adds to *@root the only name in it that contains @part, as all do "". */
static int descend_into(struct host *host, const char *target, const char *part, char **root,
                        struct error *err)
{
    _cleanup_free_ char *folder = xasprintf("%s%s", target, *root);
    _cleanup_string_list_ struct string_list names = {0};
    const char *found = NULL;

    if (host->ops->list(host, folder, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.count; i++) {
        if (strcmp(names.items[i], ".meta") == 0 || !strstr(names.items[i], part))
            continue;
        if (found)
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "'%s' has several entries with '%s' in their names", folder, part);
        found = names.items[i];
    }
    if (!found)
        return error_set(err, STATUS_INVALID_ARGUMENT, "'%s' has no entry with '%s' in its name",
                         folder, part);
    char *deeper = xasprintf("%s/%s", *root, found);
    free(*root);
    *root = deeper;
    return 0;
}

int cephfs_volume_root(const struct node_volumes *volumes, const struct cephfs_volume *volume,
                       const char *target, char **out, struct error *err)
{
    struct host *host = volumes->mappers.host;

    if (!volume->snapshot) {
        *out = xstrdup("/");
        return 0;
    }
    _cleanup_free_ char *root =
        volume->is_part ? xstrdup("/.snap") : xasprintf("/.snap/%s", volume->snapshot);
    if (volume->is_part && descend_into(host, target, volume->snapshot, &root, err) < 0)
        return -1;
    if (!volume->folder && descend_into(host, target, "", &root, err) < 0)
        return -1;
    const char *folder = volume->folder && volume->folder[0] ? volume->folder : NULL;
    *out = folder ? xasprintf("%s/%s", root, folder) : TAKE(root);
    return 0;
}
