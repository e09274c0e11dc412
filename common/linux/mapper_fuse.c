/*
 * Maps through qemu-storage-daemon, which exports an image as a file, and a loop device on that
 * file, with direct I/O so that nothing is cached twice. One folder per image:
 *
 *   RUN/fuse/FSID%2FPOOL%2FIMAGE/ceph.conf   where the monitors are
 *                                export      the file; the daemon mounts itself over it
 *                                user        whose key the daemon has
 *   RUN/qmp/HASH                             the daemon's control socket, whose path may have 107
 *                                            bytes
 *
 * Exports of earlier drivers have no FSID, nor has the image-meta.json that leads to them.
 *
 * An export is found by the loop device on its file, its daemon by the file's path among the
 * arguments of running processes. The key goes to the daemon through stdin, from where it reads it
 * before it detaches.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/linux/mapper_internal.h"

#define DAEMON "qemu-storage-daemon"
#define FUSE_FOLDER "fuse"  /* in the run folder: one folder per export */
#define SOCKET_FOLDER "qmp" /* in the run folder: their control sockets */
#define NAME_MAX_BYTES 255
/* Answers carry the id of their command; greetings and events do not. */
#define QMP_ID "cephzone"
#define QMP(command, arguments) "{\"execute\":\"" command "\",\"id\":\"" QMP_ID "\"" arguments "}"

struct export_paths {
    char *folder;
    char *conf;
    char *file;
    char *user;
    char *socket;
};

static void paths_done(struct export_paths *paths)
{
    free_all(paths->folder, paths->conf, paths->file, paths->user, paths->socket);
}

/* Names of images may hold nearly anything; a folder's name may not. */
static char *folder_name(const struct image_spec *spec)
{
    _cleanup_free_ char *names = image_spec_text(spec);
    _cleanup_free_ char *text = xasprintf("%s%s%s", spec->fsid, spec->fsid[0] ? "/" : "", names);
    _cleanup_text_ struct text name = TEXT_INIT(4096);

    for (const char *c = text; *c; c++)
        if (isalnum((unsigned char)*c) || (*c == '-' || *c == '_') || (*c == '.' && c != text))
            text_add_bytes(&name, c, 1);
        else
            text_addf(&name, "%%%02X", (unsigned char)*c);
    return text_take(&name);
}

/* Beside the exports' folder, under a hash of the export's name. */
static char *socket_path(const char *folder)
{
    const char *name = strrchr(folder, '/') + 1;
    size_t run_length = (size_t)(name - folder) - strlen("/" FUSE_FOLDER "/");

    return xasprintf("%.*s/" SOCKET_FOLDER "/%016llx", (int)run_length, folder,
                     (unsigned long long)hash_text(HASH_START, name));
}

/* Of an export's folder, which is handed over. */
static struct export_paths make_paths(char *folder)
{
    return (struct export_paths){
        .folder = folder,
        .conf = xasprintf("%s/ceph.conf", folder),
        .file = xasprintf("%s/export", folder),
        .user = xasprintf("%s/user", folder),
        .socket = socket_path(folder),
    };
}

static int paths_init(const struct mapper_host *mapper, const struct image_spec *spec,
                      struct export_paths *paths, struct error *err)
{
    _cleanup_free_ char *name = folder_name(spec);

    if (strlen(name) > NAME_MAX_BYTES)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "the name of image '%.128s...' is too long for the fuse mapper",
                         spec->image);
    *paths = make_paths(xasprintf("%s/" FUSE_FOLDER "/%s", mapper->run_dir, name));
    return 0;
}

#define _cleanup_paths_ _cleanup_(paths_done)

/* A loop device is ours when its file is one of our exports, or when its file has gone. */
static int fuse_owns_device(const struct mapper_host *mapper, const char *name, bool *owns,
                            struct error *err)
{
    _cleanup_free_ char *path = xasprintf("/sys/block/%s/loop/backing_file", name);
    _cleanup_free_ char *prefix = xasprintf("%s/" FUSE_FOLDER "/", mapper->run_dir);
    _cleanup_free_ char *file = NULL;

    *owns = false;
    if (strchr(name, '/'))
        return 0;
    if (mapper->host->ops->sysfs_read(mapper->host, path, &file, err) < 0)
        return -1;
    *owns = !file || text_has_prefix(file, prefix);
    return 0;
}

static int fuse_find(const struct mapper_host *mapper, struct call *call,
                     const struct image_spec *spec, struct mapped_image *mapped, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_paths_ struct export_paths paths = {0};
    bool running = false;

    (void)call;
    if (paths_init(mapper, spec, &paths, err) < 0 ||
        host->ops->loop_find(host, paths.file, &mapped->device, err) < 0)
        return -1;
    if (!mapped->device)
        return 0;
    if (host->ops->daemon_is_running(host, DAEMON, paths.file, &running, err) < 0) {
        mapped_image_done(mapped);
        return -1;
    }
    mapped->is_dead = !running;
    return 0;
}

/* --- mapping --- */

/* What an export that was interrupted, or died, left: daemon, mounts, files. */
static int clear_export(const struct mapper_host *mapper, const struct export_paths *paths,
                        struct error *err)
{
    struct host *host = mapper->host;
    const char *const files[] = {paths->file, paths->conf, paths->user, paths->socket,
                                 paths->folder};

    if (host->ops->daemon_stop(host, DAEMON, paths->file, err) < 0 ||
        host->ops->unmount(host, paths->file, true, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++)
        if (host->ops->remove(host, files[i], err) < 0)
            return -1;
    return 0;
}

static int prepare_files(const struct mapper_host *mapper, const struct export_paths *paths,
                         const struct map_request *request, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_free_ char *exports = xasprintf("%s/" FUSE_FOLDER, mapper->run_dir);
    _cleanup_free_ char *sockets = xasprintf("%s/" SOCKET_FOLDER, mapper->run_dir);
    _cleanup_free_ char *conf = xasprintf("[global]\nmon_host = %s\nlog_to_stderr = false\n"
                                          "err_to_stderr = false\nadmin_socket =\n",
                                          request->monitors);

    if (host->ops->make_directory(host, mapper->run_dir, 0755, err) < 0 ||
        host->ops->make_directory(host, sockets, 0700, err) < 0 ||
        host->ops->make_directory(host, exports, 0700, err) < 0 ||
        host->ops->make_directory(host, paths->folder, 0700, err) < 0 ||
        host->ops->write_text(host, paths->conf, conf, err) < 0 ||
        host->ops->write_text(host, paths->user, request->user, err) < 0)
        return -1;
    return host->ops->make_file(host, paths->file, 0600, err);
}

static json_t *image_node(const struct map_request *request, const struct export_paths *paths,
                          const char *name)
{
    json_t *node = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "driver", "rbd", "node-name", name, "pool",
        request->spec.pool, "image", request->spec.image, "user", request->user, "key-secret",
        "key", "conf", paths->conf, "discard", "unmap", "read-only", request->read_only);

    if (node && request->spec.rados_namespace[0])
        json_object_set_new(node, "namespace", json_string(request->spec.rados_namespace));
    return node;
}

static char *print_json(json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;

    json_decref(value);
    return text;
}

#define KEY_OBJECT                                                                                 \
    "{\"qom-type\":\"secret\",\"id\":\"key\",\"file\":\"/dev/stdin\",\"format\":\"base64\"}"

/* JSON, because commas and equal signs in names would split the daemon's other form. */
static int start_daemon(const struct mapper_host *mapper, struct call *call,
                        const struct map_request *request, const struct export_paths *paths,
                        struct error *err)
{
    _cleanup_free_ char *image = print_json(image_node(request, paths, "image"));
    _cleanup_free_ char *export = print_json(json_pack(
        "{s:s, s:s, s:s, s:s, s:b, s:s}", "type", "fuse", "id", "export", "node-name", "image",
        "mountpoint", paths->file, "writable", !request->read_only, "allow-other", "off"));
    _cleanup_free_ char *chardev =
        xasprintf("socket,id=qmp,path=%s,server=on,wait=off", paths->socket);
    const char *const argv[] = {DAEMON,     "--daemonize", "--object", KEY_OBJECT,  "--blockdev",
                                image,      "--chardev",   chardev,    "--monitor", "chardev=qmp",
                                "--export", export,        NULL};
    const struct subprocess program = {
        .argv = argv,
        .input = secret_reveal(request->key),
        .input_length = request->key->length,
        .deadline = mapper_deadline(call),
    };

    if (!image || !export)
        return error_set(err, STATUS_INVALID_ARGUMENT, "the image's name is not UTF-8");
    return mapper->host->ops->run(mapper->host, &program, NULL, err);
}

static int fuse_map(const struct mapper_host *mapper, struct call *call,
                    const struct map_request *request, char **device, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_paths_ struct export_paths paths = {0};

    if (paths_init(mapper, &request->spec, &paths, err) < 0 ||
        clear_export(mapper, &paths, err) < 0 || prepare_files(mapper, &paths, request, err) < 0)
        return -1;
    call_stage(call, "waiting {age} for " DAEMON " to export image '%s'", request->spec.image);
    if (start_daemon(mapper, call, request, &paths, err) == 0 &&
        host->ops->loop_attach(host, paths.file, request->read_only, device, err) == 0)
        return 0;
    _cleanup_error_ struct error second = {0};
    if (clear_export(mapper, &paths, &second) < 0)
        log_warn(call, "cannot clear the export of image '%s': %s", request->spec.image,
                 second.message);
    return -1;
}

static int fuse_unmap(const struct mapper_host *mapper, struct call *call,
                      const struct unmap_request *request, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_paths_ struct export_paths paths = {0};

    call_stage(call, "waiting {age} for the export of image '%s' to end", request->spec.image);
    if (paths_init(mapper, &request->spec, &paths, err) < 0)
        return -1;
    if (request->device && host->ops->loop_detach(host, request->device, err) < 0)
        return -1;
    return clear_export(mapper, &paths, err);
}

/* --- growing --- */

/* The size of the node "fresh", which was opened after the image grew. */
static int parse_size(const char *reply, uint64_t *size_bytes, struct error *err)
{
    json_auto_t *json = NULL;
    const json_t *node = NULL;
    size_t i = 0;

    if (json_load_text(reply, strlen(reply), "answer of " DAEMON, &json, err) < 0)
        return error_recode(err, STATUS_INTERNAL);
    json_array_foreach(json_object_get(json, "return"), i, node)
    {
        const char *name = json_string_value(json_object_get(node, "node-name"));
        const json_t *size = json_object_get(json_object_get(node, "image"), "virtual-size");

        if (name && strcmp(name, "fresh") == 0 && json_is_integer(size)) {
            *size_bytes = (uint64_t)json_integer_value(size);
            return 0;
        }
    }
    return error_set(err, STATUS_INTERNAL, DAEMON " does not tell the size of the image: %.256s",
                     reply);
}

/* The node may have been left by an interrupted call, or not be there. */
static void remove_fresh(struct host *host, const struct export_paths *paths)
{
    const char *const commands[] = {QMP("qmp_capabilities", ""),
                                    QMP("blockdev-del", ",\"arguments\":{\"node-name\":\"fresh\"}"),
                                    NULL};
    _cleanup_free_ char *reply = NULL;
    _cleanup_error_ struct error err = {0};

    if (host->ops->converse(host, paths->socket, commands, "\"" QMP_ID "\"", &reply, &err) < 0)
        error_clear(&err);
}

/*
 * The daemon reads an image's size when it opens it. So it opens the image once more, with the key
 * that it has: no other call to a node plugin is sure to carry one.
 */
static int ask_size(const struct mapper_host *mapper, const struct image_spec *spec,
                    const struct export_paths *paths, uint64_t *size_bytes, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_free_ char *user = NULL;
    _cleanup_free_ char *reply = NULL;

    remove_fresh(host, paths);
    if (host->ops->read_text(host, paths->user, &user, err) < 0)
        return -1;
    const struct map_request request = {
        .spec = *spec, .user = user ? user : "admin", .read_only = true};
    _cleanup_free_ char *add =
        print_json(json_pack("{s:s, s:s, s:o}", "execute", "blockdev-add", "id", QMP_ID,
                             "arguments", image_node(&request, paths, "fresh")));
    const char *const commands[] = {
        QMP("qmp_capabilities", ""), add,
        QMP("query-named-block-nodes", ",\"arguments\":{\"flat\":true}"), NULL};
    int result = host->ops->converse(host, paths->socket, commands, "\"" QMP_ID "\"", &reply, err);
    remove_fresh(host, paths);
    return result < 0 ? -1 : parse_size(reply, size_bytes, err);
}

static int fuse_refresh(const struct mapper_host *mapper, struct call *call,
                        const struct image_spec *spec, const char *device, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_paths_ struct export_paths paths = {0};
    struct path_facts facts;
    uint64_t size = 0;

    call_stage(call, "waiting {age} for the export of image '%s' to grow", spec->image);
    if (paths_init(mapper, spec, &paths, err) < 0 ||
        ask_size(mapper, spec, &paths, &size, err) < 0 ||
        host->ops->look(host, paths.file, &facts, err) < 0)
        return -1;
    if (size > facts.size_bytes && host->ops->set_size(host, paths.file, size, err) < 0)
        return -1;
    return host->ops->loop_refresh(host, device, err);
}

/* --- at start --- */

static int recover_export(const struct mapper_host *mapper, struct call *call, const char *name,
                          const struct mount_list *mounts, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_free_ char *device = NULL;
    bool running = false;
    _cleanup_paths_ struct export_paths paths =
        make_paths(xasprintf("%s/" FUSE_FOLDER "/%s", mapper->run_dir, name));

    if (host->ops->loop_find(host, paths.file, &device, err) < 0 ||
        host->ops->daemon_is_running(host, DAEMON, paths.file, &running, err) < 0)
        return -1;
    if (device && device_mount(mounts, device)) {
        if (!running)
            log_warn(call,
                     "%s, which served '%s' for image '%s', has died; the volume works again "
                     "when it is staged anew",
                     DAEMON, device, name);
        return 0;
    }
    if (device && host->ops->loop_detach(host, device, err) < 0)
        return -1;
    return clear_export(mapper, &paths, err);
}

static int fuse_recover(const struct mapper_host *mapper, struct call *call, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_free_ char *folder = xasprintf("%s/" FUSE_FOLDER, mapper->run_dir);
    _cleanup_string_list_ struct string_list names = {0};
    _cleanup_mount_list_ struct mount_list mounts = {0};

    if (host->ops->list(host, folder, &names, err) < 0 ||
        host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    for (size_t i = 0; i < names.count; i++)
        if (recover_export(mapper, call, names.items[i], &mounts, err) < 0)
            return error_wrap(err, "export '%s'", names.items[i]);
    return 0;
}

const struct mapper MAPPER_FUSE = {
    .name = "fuse",
    .mounter = "fuse",
    .device_prefix = "loop",
    .is_named = true,
    .records_device = true,
    .find = fuse_find,
    .map = fuse_map,
    .unmap = fuse_unmap,
    .refresh = fuse_refresh,
    .recover = fuse_recover,
    .owns_device = fuse_owns_device,
};
