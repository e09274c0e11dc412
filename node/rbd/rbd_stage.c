/*
 * NodeStageVolume: image-meta.json, the mapping, the file system, its mount, in this order, so that
 * each step leaves what leads to it; see staged.h. A call that fails takes down what it made; one
 * that was killed is continued by the next.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "node/checks.h"
#include "node/rbd/choose_mapper.h"
#include "node/rbd/format.h"
#include "node/rbd/rbd_staged.h"
#include "node/staged_users.h"

#define STAGED_FOLDER_MODE 0750
#define STAGED_FILE_MODE 0600
/* What a file system may be smaller than its device before it is grown: less is alignment. */
#define GROW_TOLERANCE_BYTES ((uint64_t)1024 * 1024)

/* One call's way through. */
struct stage {
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
    struct strmap metadata;
    struct staged staged;
};

static void stage_done(struct stage *stage)
{
    strmap_done(&stage->metadata);
    staged_done(&stage->staged);
    node_image_close(&stage->image);
}

/* --- what was asked --- */

static int parse_filesystem(struct stage *stage, struct error *err)
{
    const char *type = stage->request->capability.fs_type;

    if (stage->is_block || text_is_empty(type))
        return 0;
    stage->wanted = disk_fs_find(type);
    if (!stage->wanted)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "fs_type '%.32s' is not supported: use ext4 or xfs", type);
    return 0;
}

static int parse_request(struct stage *stage, struct error *err)
{
    const struct stage_request *request = stage->request;
    enum access_mode mode = request->capability.mode;

    stage->is_block = request->capability.type == ACCESS_TYPE_BLOCK;
    stage->read_only = access_mode_is_read_only(mode);
    /* the flag of a mount does not keep anybody from writing to a device */
    stage->map_read_only =
        mode == ACCESS_MULTI_NODE_READER_ONLY || (stage->is_block && stage->read_only);
    stage->checks_others =
        mode != ACCESS_MULTI_NODE_READER_ONLY && !access_mode_is_multi_node_writer(mode);
    if (parse_filesystem(stage, err) < 0)
        return -1;
    return node_parse_group(&request->capability, &stage->group, &stage->has_group, err);
}

/* --- already there --- */

static int check_same(const struct stage *stage, struct error *err)
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
    return 0;
}

/* --- mapping --- */

static void set_text(char **member, const char *text)
{
    free(*member);
    *member = xstrdup(text);
}

static void fill_meta(struct stage *stage, const struct mapper *mapper)
{
    struct image_meta *meta = &stage->staged.meta;
    const struct strmap *context = &stage->request->context;

    set_text(&meta->pool, stage->image.pool->name);
    set_text(&meta->rados_namespace, stage->image.pool->rados_namespace);
    set_text(&meta->image, stage->image.name);
    set_text(&meta->unmap_options, strmap_get_or(context, PARAM_UNMAP_OPTIONS, ""));
    meta->is_nbd = mapper == &MAPPER_NBD;
    set_text(&meta->device, "");
    set_text(&meta->log_dir, meta->is_nbd ? class_parameter_get(context, PARAM_LOG_DIR) : "");
    set_text(&meta->log_strategy,
             meta->is_nbd ? class_parameter_get(context, PARAM_LOG_STRATEGY) : "");
    if (mapper == &MAPPER_FUSE)
        set_text(&meta->mapper, mapper->name);
    stage->staged.mapper = mapper;
}

/* A staging path belongs to one volume: what its meta names must be this volume's image. */
static int check_meta(const struct stage *stage, struct error *err)
{
    const struct image_meta *meta = &stage->staged.meta;

    if (!stage->staged.has_meta || (strcmp(meta->image, stage->image.name) == 0 &&
                                    strcmp(meta->pool, stage->image.pool->name) == 0))
        return 0;
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "'%s' belongs to image '%s' in pool '%s', not to volume '%s'",
                     stage->staged.meta_path, meta->image, meta->pool, stage->request->handle);
}

/* Mapped by somebody else on this node: usable as long as nobody uses it. */
static int check_foreign(const struct stage *stage, struct error *err)
{
    struct host *host = stage->volumes->mappers.host;
    const char *device = stage->staged.mapped.device;
    _cleanup_mount_list_ struct mount_list mounts = {0};

    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    for (size_t i = 0; i < mounts.count; i++)
        if (strcmp(mounts.items[i].source, device) == 0 ||
            strcmp(mounts.items[i].root, device + strlen("/dev")) == 0)
            return error_set(err, STATUS_FAILED_PRECONDITION,
                             "image '%s' is mapped as '%s' and mounted on '%s', which this call "
                             "did not do",
                             stage->image.name, device, mounts.items[i].target);
    return 0;
}

static int find_mapping(struct stage *stage, struct error *err)
{
    struct host *host = stage->volumes->mappers.host;
    struct staged *staged = &stage->staged;
    const struct image_spec spec = staged_spec(staged);

    if (staged->mapped.device)
        return 0;
    if (staged->mapper->find(&stage->volumes->mappers, stage->call, &spec, &staged->mapped, err) <
        0)
        return -1;
    if (!staged->mapped.device)
        return 0;
    if (check_foreign(stage, err) < 0)
        return -1;
    return host->ops->device_facts(host, staged->mapped.device, &staged->device, err);
}

/* A mapping that was cut half-way has no device yet, but perhaps a process that has the image open
 * and would be taken for another client. */
static int clear_remains(const struct stage *stage, struct error *err)
{
    const struct unmap_request request = {.spec = staged_spec(&stage->staged), .options = ""};

    return stage->staged.mapper->unmap(&stage->volumes->mappers, stage->call, &request, err);
}

/* The class's options for the mapper and, for krbd, which replica to read from. */
static int map_options(const struct stage *stage, char **options, struct error *err)
{
    const char *asked = strmap_get_or(&stage->request->context, PARAM_MAP_OPTIONS, "");
    const struct read_affinity *affinity = stage->volumes->read_affinity;
    _cleanup_free_ char *own = NULL;
    _cleanup_free_ char *nearest = NULL;

    if (mapper_options(asked, stage->staged.mapper, &own, err) < 0)
        return -1;
    if (affinity && strcmp(stage->staged.mapper->name, "krbd") == 0)
        nearest = read_affinity_options(affinity, &stage->image.config->read_affinity, stage->call);
    *options = xasprintf("%s%s%s", own, own[0] && nearest ? "," : "", nearest ? nearest : "");
    return 0;
}

static int map_new(struct stage *stage, const char *device, struct error *err)
{
    struct staged *staged = &stage->staged;
    _cleanup_free_ char *options = NULL;

    if (map_options(stage, &options, err) < 0)
        return -1;
    if (clear_remains(stage, err) < 0)
        return -1;
    if (stage->checks_others &&
        node_image_claim(stage->volumes, stage->call, &stage->image, err) < 0)
        return -1;
    if (node_image_record(stage->volumes, stage->call, &stage->image, &stage->metadata, err) < 0)
        return -1;
    const struct map_request request = {
        .spec = staged_spec(staged),
        .monitors = stage->image.config->monitors,
        .user = stage->request->credentials.user,
        .key = &stage->request->credentials.key,
        .options = options,
        .read_only = stage->map_read_only,
        .handle = stage->request->handle,
        .log_dir = staged->meta.log_dir,
        .device = device,
    };
    return staged->mapper->map(&stage->volumes->mappers, stage->call, &request,
                               &staged->mapped.device, err);
}

/* nbd and fuse tell their device in the meta; krbd is found by its image. */
static int note_device(struct stage *stage, struct error *err)
{
    struct host *host = stage->volumes->mappers.host;
    struct staged *staged = &stage->staged;

    if (host->ops->device_facts(host, staged->mapped.device, &staged->device, err) < 0)
        return -1;
    if (!stage->read_only && staged->device.is_read_only)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "'%s' is mapped for reading only, but the volume is to be written",
                         staged->mapped.device);
    if (staged->mapper == &MAPPER_KRBD || strcmp(staged->meta.device, staged->mapped.device) == 0)
        return 0;
    set_text(&staged->meta.device, staged->mapped.device);
    return staged_write_meta(stage->volumes, staged, err);
}

static int map_image(struct stage *stage, struct error *err)
{
    const struct mapper *mapper = stage->staged.mapper;

    if (check_meta(stage, err) < 0)
        return -1;
    if (!stage->staged.has_meta) {
        if (node_choose_mapper(stage->volumes, stage->call, &stage->image, &stage->request->context,
                               &mapper, err) < 0)
            return -1;
        fill_meta(stage, mapper);
        if (staged_write_meta(stage->volumes, &stage->staged, err) < 0 ||
            find_mapping(stage, err) < 0)
            return -1;
    }
    if (!stage->staged.mapped.device && map_new(stage, NULL, err) < 0)
        return -1;
    return note_device(stage, err);
}

/* --- mounting --- */

static int mount_block(struct stage *stage, struct error *err)
{
    struct host *host = stage->volumes->mappers.host;
    const struct staged *staged = &stage->staged;

    if (host->ops->make_file(host, staged->path, STAGED_FILE_MODE, err) < 0)
        return -1;
    return host->ops->mount(
        host, &(struct mount_request){.source = staged->mapped.device, .target = staged->path},
        err);
}

static int mount_made(struct stage *stage, const struct disk_fs *fs, struct error *err)
{
    struct host *host = stage->volumes->mappers.host;
    const struct string_list *asked = &stage->request->capability.mount_flags;
    const char *needed = disk_fs_mount_flag(fs);
    _cleanup_string_list_ struct string_list flags = {0};

    if (needed)
        string_list_add(&flags, needed);
    for (size_t i = 0; i < asked->count; i++)
        if (!string_list_has(&flags, asked->items[i]))
            string_list_add(&flags, asked->items[i]);
    call_stage(stage->call, "mounting '%s' for {age}", stage->staged.mapped.device);
    return host->ops->mount(host,
                            &(struct mount_request){.device = stage->staged.mapped.device,
                                                    .target = stage->staged.path,
                                                    .fs_type = disk_fs_type(fs),
                                                    .flags = &flags,
                                                    .read_only = stage->read_only},
                            err);
}

static int mount_filesystem(struct stage *stage, struct error *err)
{
    struct host *host = stage->volumes->mappers.host;
    const struct staged *staged = &stage->staged;
    const struct format_request request = {
        .wanted = stage->wanted,
        .device = staged->mapped.device,
        .options = strmap_get_or(&stage->request->context, PARAM_MKFS_OPTIONS, ""),
        .read_only = stage->read_only,
        .metadata = &stage->metadata,
    };
    const struct disk_fs *fs = NULL;
    uint64_t fs_bytes = 0;

    if (host->ops->make_directory(host, staged->path, STAGED_FOLDER_MODE, err) < 0 ||
        node_format(stage->volumes, stage->call, &stage->image, &request, &fs, &fs_bytes, err) <
            0 ||
        mount_made(stage, fs, err) < 0)
        return -1;
    bool has_grown = fs_bytes && staged->device.size_bytes > fs_bytes + GROW_TOLERANCE_BYTES;
    if (has_grown && !stage->read_only &&
        disk_fs_grow(fs, host, stage->call, staged->mapped.device, staged->path, err) < 0)
        return -1;
    if (!stage->has_group || stage->read_only)
        return 0;
    return host->ops->set_group(host, staged->path, stage->group, err);
}

/* --- the whole --- */

/* The call failed: back to where nothing is staged, as far as that goes. */
static void undo(struct stage *stage)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_staged_ struct staged left = {0};
    const struct stage_request *request = stage->request;

    if (staged_look(stage->volumes, stage->call, request->handle, request->staging_path, &left,
                    &err) < 0 ||
        staged_remove(stage->volumes, stage->call, &left, &err) < 0)
        log_warn(stage->call, "cannot take down what failed, the next try will: %s", err.message);
}

/* The device's process is gone: nbd gets a new one on the same device, everything else is taken
 * down and made anew. */
static int revive(struct stage *stage, bool *is_complete, struct error *err)
{
    struct staged *staged = &stage->staged;
    _cleanup_free_ char *device = NULL;

    if (staged->mapper == &MAPPER_NBD && staged->facts.is_mount_point && !staged->mapped.device &&
        staged->meta.device[0]) {
        device = xstrdup(staged->meta.device);
        if (map_new(stage, device, err) == 0) {
            log_info(stage->call, "gave '%s' a new rbd-nbd", device);
            *is_complete = true;
            return 0;
        }
        log_warn(stage->call, "cannot attach '%s', staging anew: %s", device, err->message);
        error_clear(err);
    }
    if (!staged->is_dead && !staged->facts.is_mount_point && !staged->mapped.is_dead)
        return 0;
    if (staged_remove(stage->volumes, stage->call, staged, err) < 0)
        return -1;
    staged_done(staged);
    return staged_look(stage->volumes, stage->call, stage->request->handle,
                       stage->request->staging_path, staged, err);
}

static int stage_image(struct stage *stage, struct error *err)
{
    struct node_image *image = &stage->image;
    bool is_complete = false;

    if (node_image_open(stage->volumes, stage->call, stage->request, image, err) < 0 ||
        image->pool->ops->image_metadata_get(image->pool, stage->call, image->name,
                                             &stage->metadata, err) < 0 ||
        check_meta(stage, err) < 0 || revive(stage, &is_complete, err) < 0)
        return -1;
    if (is_complete)
        return 0;
    int result = map_image(stage, err);
    if (result == 0)
        result = stage->is_block ? mount_block(stage, err) : mount_filesystem(stage, err);
    if (result < 0)
        undo(stage);
    return result;
}

/* NodeExpandVolume need not bring secrets, but must ask Ceph where the device has to be told. */
static void note_user(const struct stage *stage)
{
    const struct credentials *credentials = &stage->request->credentials;

    if (stage->staged.mapper->tell_size && credentials->user && secret_is_set(&credentials->key))
        staged_users_note(stage->volumes->users, stage->request);
}

int rbd_stage_volume(const struct node_volumes *volumes, struct call *call,
                     const struct stage_request *request, struct error *err)
{
    _cleanup_(stage_done) struct stage stage = {
        .volumes = volumes, .call = call, .request = request};

    if (parse_request(&stage, err) < 0 ||
        staged_look(volumes, call, request->handle, request->staging_path, &stage.staged, err) < 0)
        return -1;
    int result =
        staged_is_complete(&stage.staged) ? check_same(&stage, err) : stage_image(&stage, err);
    if (result == 0)
        note_user(&stage);
    return result;
}
