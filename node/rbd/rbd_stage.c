/*
 * NodeStageVolume: image-meta.json, the mapping, the file system, its mount, in this order, so that
 * each step leaves what leads to it; see rbd_staged.h. A call that fails takes down what it made;
 * one that was killed is continued by the next.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "common/linux/mount_labels.h"
#include "node/checks.h"
#include "node/kernel_key.h"
#include "node/mount_table.h"
#include "node/rbd/choose_mapper.h"
#include "node/rbd/format.h"
#include "node/rbd/rbd_staged.h"
#include "node/staged_users.h"

#define STAGED_FOLDER_MODE 0750
#define STAGED_FILE_MODE 0600
/* What a file system may be smaller than its device before it is grown: less is alignment. */
#define GROW_TOLERANCE_BYTES ((uint64_t)1024 * 1024)

/* The state of one call. */
struct rbd_stage {
    const struct node_volumes *volumes;
    struct call *call;
    const struct stage_request *request;
    const struct disk_fs *wanted; /* NULL: not said, or a block volume */
    bool is_block;
    bool read_only;     /* for whoever uses it */
    bool map_read_only; /* no writer can exist */
    bool checks_others; /* one client at a time */
    gid_t group;
    bool has_group;
    struct node_image image;
    struct operation on_image;
    char *fsid;
    char *image_id;
    bool may_unmap; /* if the call fails: an earlier call for this volume, or this one, mapped */
    struct strmap metadata; /* of the image; read before it is mapped, and again afterwards */
    struct rbd_staged staged;
};

static void stage_done(struct rbd_stage *stage)
{
    operation_end(&stage->on_image);
    free(stage->fsid);
    free(stage->image_id);
    strmap_done(&stage->metadata);
    rbd_staged_done(&stage->staged);
    node_image_close(&stage->image);
}

/* --- what was asked --- */

static int parse_request(struct rbd_stage *stage, struct error *err)
{
    const struct volume_capability *capability = &stage->request->capability;
    const enum access_mode mode = capability->mode;

    stage->is_block = capability->type == ACCESS_TYPE_BLOCK;
    stage->read_only = node_reads_only(capability);
    /* the flag of a mount does not keep anybody from writing to a device */
    stage->map_read_only =
        mode == ACCESS_MULTI_NODE_READER_ONLY || (stage->is_block && stage->read_only);
    stage->checks_others =
        mode != ACCESS_MULTI_NODE_READER_ONLY && !access_mode_is_multi_node_writer(mode);
    if (!stage->is_block && !text_is_empty(capability->fs_type)) {
        stage->wanted = disk_fs_find(capability->fs_type);
        if (!stage->wanted)
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "fs_type '%.32s' is not supported: use ext4 or xfs",
                             capability->fs_type);
    }
    return node_parse_group(capability, &stage->group, &stage->has_group, err);
}

/* --- already there --- */

static int check_same(const struct rbd_stage *stage, struct error *err)
{
    const struct path_facts *facts = &stage->staged.facts;
    bool is_block = facts->kind == PATH_BLOCK_DEVICE;
    bool read_only = facts->is_read_only || stage->staged.device.is_read_only;

    if (is_block != stage->is_block || (!stage->read_only && read_only))
        return error_set(err, STATUS_ALREADY_EXISTS,
                         "volume '%s' is staged at '%s' already, as %s for %s",
                         stage->request->handle, stage->request->staging_path,
                         is_block ? "a block device" : "a file system",
                         read_only ? "reading" : "reading and writing");
    return check_labels(stage->volumes->mappers.host, stage->staged.path,
                        &stage->request->capability.mount_flags, STATUS_ALREADY_EXISTS, err);
}

/* --- mapping --- */

static void fill_meta(struct rbd_stage *stage, const struct mapper *mapper)
{
    const struct strmap *context = &stage->request->context;
    const char *log_dir = class_parameter_get(context, PARAM_LOG_DIR);
    const char *log_strategy = class_parameter_get(context, PARAM_LOG_STRATEGY);

    stage->staged.mapper = mapper;
    stage->staged.meta = (struct image_meta){
        .pool = xstrdup(stage->image.pool->name),
        .rados_namespace = xstrdup(stage->image.pool->rados_namespace),
        .image = xstrdup(stage->image.name),
        .unmap_options = xstrdup(strmap_get_or(context, PARAM_UNMAP_OPTIONS, "")),
        .access_type = mapper->access_type,
        .device = xstrdup(""),
        .log_dir = xstrdup(mapper->writes_log ? log_dir : ""),
        .log_strategy = xstrdup(mapper->writes_log ? log_strategy : ""),
        .mapper = mapper->is_named ? xstrdup(mapper->name) : NULL,
        .fsid = xstrdup(stage->fsid),
        .image_id = xstrdup(stage->image_id),
        .mode =
            mapper->reattaches ? xstrdup(access_mode_name(stage->request->capability.mode)) : NULL,
    };
    if (mapper->reattaches)
        strmap_merge(&stage->staged.meta.context, context);
}

/* A staging path belongs to one volume: what its meta names must be this volume's image. */
static int check_meta(const struct rbd_stage *stage, struct error *err)
{
    const struct image_meta *meta = &stage->staged.meta;

    if (!stage->staged.has_meta || (strcmp(meta->image, stage->image.name) == 0 &&
                                    strcmp(meta->pool, stage->image.pool->name) == 0))
        return 0;
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "'%s' belongs to image '%s' in pool '%s', not to volume '%s'",
                     stage->staged.meta_path, meta->image, meta->pool, stage->request->handle);
}

/* Whether the meta is of the very image. One without ids, of Ceph-CSI or an earlier driver, could
 * be of another cluster's. */
static bool is_meta_current(const struct rbd_stage *stage)
{
    const struct image_meta *meta = &stage->staged.meta;

    return !stage->staged.has_meta ||
           (strcmp(meta->fsid, stage->fsid) == 0 && strcmp(meta->image_id, stage->image_id) == 0);
}

/* Whether it is certainly of another. */
static bool is_of_other_image(const struct rbd_stage *stage)
{
    return stage->staged.has_meta && stage->staged.meta.image_id[0] && !is_meta_current(stage);
}

/* Mapped before this call: usable as long as nobody uses it. Where several clients may have the
 * image, the volume gets a device of its own. */
static int check_foreign(struct rbd_stage *stage, struct error *err)
{
    struct host *host = stage->volumes->mappers.host;
    const char *device = stage->staged.mapped.device;
    _cleanup_mount_list_ struct mount_list mounts = {0};

    if (!device)
        return 0;
    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    const struct mount_entry *mount = device_mount(&mounts, device);
    if (mount && !stage->checks_others && stage->staged.mapper->maps_repeatedly) {
        mapped_image_done(&stage->staged.mapped);
        return 0;
    }
    if (mount)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "image '%s' is mapped as '%s' and mounted on '%s', which this call "
                         "did not do",
                         stage->image.name, device, mount->target);
    return 0;
}

/* The class's options for the mapper and, if it knows how, which replica to read from. */
static int choose_map_options(const struct rbd_stage *stage, char **options, struct error *err)
{
    const char *asked = strmap_get_or(&stage->request->context, PARAM_MAP_OPTIONS, "");
    _cleanup_free_ char *own = NULL;
    _cleanup_free_ char *nearest = NULL;

    if (mapper_options(asked, stage->staged.mapper, &own, err) < 0)
        return -1;
    if (stage->staged.mapper->reads_nearest)
        nearest = read_affinity_options(stage->volumes->read_affinity,
                                        &stage->image.config->read_affinity, stage->call);
    *options = xasprintf("%s%s%s", own, own[0] && nearest ? "," : "", nearest ? nearest : "");
    return 0;
}

static int read_metadata(struct rbd_stage *stage, struct error *err)
{
    struct ceph_pool *pool = stage->image.pool;

    strmap_done(&stage->metadata);
    return pool->ops->image_metadata_get(pool, stage->call, stage->image.name, &stage->metadata,
                                         err);
}

/* @device: one that lost its process; NULL: a new one. */
static int map_device(struct rbd_stage *stage, const char *device, struct error *err)
{
    const struct node_volumes *volumes = stage->volumes;
    struct rbd_staged *staged = &stage->staged;
    const struct unmap_request remains = {.spec = rbd_staged_spec(staged), .options = ""};
    _cleanup_free_ char *options = NULL;

    /* An interrupted mapping has no device yet, but perhaps a process that has the image open and
     * would be taken for another client. */
    if (choose_map_options(stage, &options, err) < 0 ||
        (!device && staged->mapper->unmap(&volumes->mappers, stage->call, &remains, err) < 0) ||
        node_image_check_original(stage->call, &stage->image, err) < 0 ||
        (stage->checks_others && node_image_claim(volumes, stage->call, &stage->image, err) < 0) ||
        read_metadata(stage, err) < 0 ||
        node_image_record(volumes, stage->call, &stage->image, stage->request, &stage->metadata,
                          err) < 0)
        return -1;
    const struct map_request request = {
        .spec = rbd_staged_spec(staged),
        .monitors = stage->image.config->monitors,
        .user = stage->request->credentials.user,
        .key = &stage->request->credentials.key,
        .options = options,
        .read_only = stage->map_read_only,
        .handle = stage->request->handle,
        .log_dir = staged->meta.log_dir,
        .device = device,
    };
    stage->may_unmap = true;
    if (staged->mapper->map(&volumes->mappers, stage->call, &request, &staged->mapped.device, err) <
        0)
        return kernel_key_explain(volumes->mappers.host, &stage->request->credentials, err);
    return 0;
}

static int map_image(struct rbd_stage *stage, struct error *err)
{
    const struct node_volumes *volumes = stage->volumes;
    struct host *host = volumes->mappers.host;
    struct rbd_staged *staged = &stage->staged;

    stage->may_unmap = staged->has_meta;
    if (!staged->has_meta) {
        const struct mapper *mapper = NULL;

        if (node_choose_mapper(volumes, stage->call, &stage->image, stage->request, &mapper, err) <
            0)
            return -1;
        fill_meta(stage, mapper);
        if (rbd_staged_write_meta(volumes, staged, err) < 0 ||
            rbd_staged_find_device(volumes, stage->call, staged, err) < 0)
            return -1;
    }
    if (check_foreign(stage, err) < 0 ||
        (!staged->mapped.device && map_device(stage, NULL, err) < 0) ||
        host->ops->device_facts(host, staged->mapped.device, &staged->device, err) < 0)
        return -1;
    if (!stage->read_only && staged->device.is_read_only)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "'%s' is mapped for reading only, but the volume is to be written",
                         staged->mapped.device);
    if (!staged->mapper->records_device || strcmp(staged->meta.device, staged->mapped.device) == 0)
        return 0;
    free(staged->meta.device);
    staged->meta.device = xstrdup(staged->mapped.device);
    return rbd_staged_write_meta(volumes, staged, err);
}

/* --- mounting --- */

static int mount_block(struct rbd_stage *stage, struct error *err)
{
    struct host *host = stage->volumes->mappers.host;
    const struct mount_request bind = {.source = stage->staged.mapped.device,
                                       .target = stage->staged.path};

    if (host->ops->make_file(host, stage->staged.path, STAGED_FILE_MODE, err) < 0 ||
        (!stage->read_only &&
         node_format_forget(stage->call, &stage->image, &stage->metadata, err) < 0))
        return -1;
    return host->ops->mount(host, &bind, err);
}

/* @fs was found or made on the device. */
static int mount_disk_fs(struct rbd_stage *stage, const struct disk_fs *fs, struct error *err)
{
    struct host *host = stage->volumes->mappers.host;
    const char *needed = disk_fs_mount_flag(fs);
    _cleanup_string_list_ struct string_list asked = {0};
    _cleanup_string_list_ struct string_list flags = {0};
    const struct mount_request request = {.device = stage->staged.mapped.device,
                                          .target = stage->staged.path,
                                          .fs_type = disk_fs_type(fs),
                                          .flags = &flags,
                                          .read_only = stage->read_only};

    if (mount_labels_filter(host, &stage->request->capability.mount_flags, &asked, err) < 0)
        return -1;
    if (needed)
        string_list_add(&flags, needed);
    for (size_t i = 0; i < asked.count; i++)
        if (!string_list_has(&flags, asked.items[i]))
            string_list_add(&flags, asked.items[i]);
    call_stage(stage->call, "mounting '%s' for {age}", stage->staged.mapped.device);
    return host->ops->mount(host, &request, err);
}

static int mount_filesystem(struct rbd_stage *stage, struct error *err)
{
    struct host *host = stage->volumes->mappers.host;
    const struct rbd_staged *staged = &stage->staged;
    const struct format_request request = {
        .wanted = stage->wanted,
        .device = staged->mapped.device,
        .folder = stage->request->staging_path,
        .options = strmap_get_or(&stage->request->context, PARAM_MKFS_OPTIONS, ""),
        .read_only = stage->read_only,
        .image_id = stage->image_id,
        .metadata = &stage->metadata,
    };
    const struct disk_fs *fs = NULL;
    uint64_t fs_bytes = 0;
    const struct host_work work = {stage->volumes->works, stage->request->staging_path};

    if (host_work_check_device(&work, staged->mapped.device, err) < 0 ||
        host->ops->make_directory(host, staged->path, STAGED_FOLDER_MODE, err) < 0 ||
        node_format(stage->volumes, stage->call, &stage->image, &request, &fs, &fs_bytes, err) <
            0 ||
        mount_disk_fs(stage, fs, err) < 0)
        return -1;
    bool has_grown = fs_bytes && staged->device.size_bytes > fs_bytes + GROW_TOLERANCE_BYTES;
    if (has_grown && !stage->read_only &&
        disk_fs_grow(fs, &work, stage->call, staged->mapped.device, staged->path, err) < 0)
        return -1;
    if (!stage->has_group || stage->read_only)
        return 0;
    return host->ops->set_group(host, staged->path, stage->group, err);
}

/* --- the whole --- */

/* The call failed: back to where nothing is staged, as far as that is possible. */
static void undo_stage(struct rbd_stage *stage)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_rbd_staged_ struct rbd_staged left = {0};
    const struct stage_request *request = stage->request;
    const struct host_work work = {stage->volumes->works, request->staging_path};

    if (host_work_is_running(&work)) /* the next try gets what comes of it */
        return;
    int result = rbd_staged_look(stage->volumes, stage->call, request->handle,
                                 request->staging_path, &left, &err);
    left.keeps_mapping = !stage->may_unmap;
    if (result < 0 || rbd_staged_remove(stage->volumes, stage->call, &left, &err) < 0)
        log_warn(stage->call, "cannot take down what failed, the next try will: %s", err.message);
}

/* Whether a mounted device has lost its process and its mapper could give it another. */
static bool can_attach(const struct rbd_staged *staged)
{
    return staged->mapper && staged->mapper->reattaches && staged->facts.is_mount_point &&
           !staged->is_dead && !staged->mapped.device && staged->meta.device[0];
}

/* Whether that process held no writes, as far as it is recorded with what it was started: what
 * Ceph-CSI mapped may have. FAILED_PRECONDITION. */
static int check_kept_writes(const struct rbd_staged *staged, struct error *err)
{
    const char *all = strmap_get_or(&staged->meta.context, PARAM_MAP_OPTIONS, "");
    _cleanup_free_ char *options = NULL;

    if (mapper_options(all, staged->mapper, &options, err) < 0)
        return -1;
    if (staged->meta.mode && staged->mapper->keeps_writes(options))
        return 0;
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "the process that served it may have held writes (rbd_cache), which are lost");
}

static int attach_device(struct rbd_stage *stage, struct error *err)
{
    const struct rbd_staged *staged = &stage->staged;

    if (check_kept_writes(staged, err) == 0 && map_device(stage, staged->meta.device, err) == 0)
        return 0;
    return error_wrap(err, "'%s' gets no new %s", staged->meta.device, staged->mapper->mounter);
}

/* The device's process is gone: the device gets a new one if its mapper can do that, everything
 * else is taken down and made anew. But not what pods have mounted: that holds data which would be
 * written when the device is attached after all. */
static int revive_device(struct rbd_stage *stage, bool *is_complete, struct error *err)
{
    struct rbd_staged *staged = &stage->staged;
    const bool is_block = staged->facts.kind == PATH_BLOCK_DEVICE;
    _cleanup_error_ struct error used = {0};

    if (can_attach(staged) && !is_of_other_image(stage)) {
        if (attach_device(stage, err) == 0) {
            log_info(stage->call, "gave '%s' a new %s", staged->meta.device,
                     staged->mapper->mounter);
            *is_complete = true;
            return 0;
        }
        if (check_unpublished(stage->volumes->mappers.host, staged->path, is_block, &used) < 0)
            return error_hint(err, "nothing else is done, because %s", used.message);
        log_warn(stage->call, "staging anew: %s", err->message);
        error_clear(err);
    }
    if (!staged->facts.is_mount_point && !staged->mapped.is_dead && is_meta_current(stage))
        return 0;
    if (rbd_staged_remove(stage->volumes, stage->call, staged, err) < 0)
        return -1;
    rbd_staged_done(staged);
    return rbd_staged_look(stage->volumes, stage->call, stage->request->handle,
                           stage->request->staging_path, staged, err);
}

static int open_image(struct rbd_stage *stage, struct error *err)
{
    struct node_image *image = &stage->image;

    if (node_image_open(stage->volumes, stage->call, stage->request, image, err) < 0)
        return -1;
    const struct image_spec spec = {
        .pool = image->pool->name,
        .rados_namespace = image->pool->rados_namespace,
        .image = image->name,
    };
    if (rbd_staged_begin(stage->volumes, stage->call, &spec, &stage->on_image, err) < 0 ||
        image->cluster->ops->fsid(image->cluster, stage->call, &stage->fsid, err) < 0 ||
        image->pool->ops->image_get_id(image->pool, stage->call, image->name, &stage->image_id,
                                       err) < 0)
        return -1;
    return check_meta(stage, err);
}

static int stage_image(struct rbd_stage *stage, struct error *err)
{
    bool is_complete = false;

    /* what pods have mounted is revived wherever it is */
    if (!stage->staged.facts.is_mount_point &&
        node_check_place(stage->volumes, stage->call, stage->request, err) < 0)
        return -1;
    if (open_image(stage, err) < 0 || revive_device(stage, &is_complete, err) < 0)
        return -1;
    if (is_complete)
        return 0;
    int result = map_image(stage, err);
    if (result == 0) /* once more: until it was mapped here, another node may have used it */
        result = read_metadata(stage, err);
    if (result == 0)
        result = stage->is_block ? mount_block(stage, err) : mount_filesystem(stage, err);
    if (result < 0)
        undo_stage(stage);
    return result;
}

int rbd_stage_volume(const struct node_volumes *volumes, struct call *call,
                     const struct stage_request *request, struct error *err)
{
    _cleanup_(stage_done) struct rbd_stage stage = {
        .volumes = volumes, .call = call, .request = request};
    const struct host_work work = {volumes->works, request->staging_path};

    if (parse_request(&stage, err) < 0 || host_work_wait(&work, call, err) < 0 ||
        rbd_staged_look(volumes, call, request->handle, request->staging_path, &stage.staged, err) <
            0)
        return -1;
    int result =
        rbd_staged_is_complete(&stage.staged) ? check_same(&stage, err) : stage_image(&stage, err);
    /* NodeExpandVolume need not bring secrets, but may have to ask Ceph for the image's size;
     * limits are asked for without a call. */
    const struct mapper *mapper = stage.staged.mapper;
    if (result == 0 && (mapper->tell_size || mapper->has_cgroup_limits))
        staged_users_note(volumes->users, request);
    return result;
}

int rbd_attach_volume(const struct node_volumes *volumes, struct call *call,
                      const struct stage_request *request, struct error *err)
{
    _cleanup_(stage_done) struct rbd_stage stage = {
        .volumes = volumes, .call = call, .request = request};

    if (parse_request(&stage, err) < 0 ||
        rbd_staged_look(volumes, call, request->handle, request->staging_path, &stage.staged, err) <
            0)
        return -1;
    if (!can_attach(&stage.staged))
        return rbd_staged_check(&stage.staged, request->handle, err);
    if (open_image(&stage, err) < 0)
        return -1;
    if (is_of_other_image(&stage))
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "image '%s' is another one now, with the id '%s'; '%s' is staged",
                         stage.image.name, stage.image_id, stage.staged.meta.image_id);
    if (attach_device(&stage, err) < 0)
        return -1;
    staged_users_note(volumes->users, request);
    return 0;
}
