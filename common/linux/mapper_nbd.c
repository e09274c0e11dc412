/*
 * Maps through rbd-nbd: a process per image that serves the kernel's nbd driver. When the process
 * ends unasked, the device waits (--reattach-timeout) for another one, which 'attach' gives it.
 */
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/arguments.h"
#include "common/linux/daemons.h"
#include "common/linux/key_file.h"
#include "common/linux/mapper_internal.h"
#include "common/linux/nbd_devices.h"

#define PROGRAM NBD_PROGRAM
#define DEFAULT_LOG_DIR "/var/log/ceph"
#define SECTOR_BYTES 512

/* Without identifiers and without the host's numbers of processes no device could be told from
 * another volume's. */
static bool nbd_is_usable(const struct mapper_host *mapper, struct call *call, char **reason)
{
    struct host *host = mapper->host;
    _cleanup_error_ struct error err = {0};
    bool has_identifiers = false;
    bool sees_host_pids = false;

    if (!mapper_load_driver(mapper, call, "nbd", "/sys/module/nbd", reason))
        return false;
    if (nbd_has_identifiers(host, &has_identifiers, &err) < 0 ||
        nbd_sees_host_pids(host, &sees_host_pids, &err) < 0)
        return true; /* whoever needs them will say so */
    if (!has_identifiers && !sees_host_pids)
        *reason = xasprintf("kernels before 5.14 do not tell nbd devices apart; for those the "
                            "driver's pod needs hostPID: true");
    return !*reason;
}

/*
 * What 'rbd-nbd list-mapped' reports, without the time that it takes to start. A device that has
 * lost its process is not found.
 */
static int nbd_find(const struct mapper_host *mapper, struct call *call,
                    const struct image_spec *spec, struct mapped_image *mapped, struct error *err)
{
    (void)call;
    return nbd_device_find(mapper->host, spec, &mapped->device, err);
}

/* --- mapping --- */

/* The class's options, each an argument of its own, and the defaults that they leave. */
static void add_options(struct arguments *arguments, const struct map_request *request)
{
    static const struct {
        const char *word;
        const char *argument;
    } defaults[] = {{"try-netlink", "--try-netlink"},
                    {"reattach-timeout", "--reattach-timeout=300"},
                    {"io-timeout", "--io-timeout=0"},
                    {"rbd_cache", "--rbd_cache=false"}}; /* see nbd_keeps_writes() */
    _cleanup_free_ char *list = xstrdup(request->options);
    char *rest = NULL;

    for (size_t i = 0; i < ARRAY_LENGTH(defaults); i++)
        if (!strstr(request->options, defaults[i].word))
            arguments_add(arguments, "%s", defaults[i].argument);
    for (char *option = strtok_r(list, ",", &rest); option; option = strtok_r(NULL, ",", &rest))
        arguments_add(arguments, "--%s", option);
}

/*
 * librbd acknowledges writes before they are in Ceph, by default, and those are lost with rbd-nbd.
 * The kernel goes on: it does not know that its disk has forgotten something, and a later flush
 * succeeds. Without the cache it repeats what was not acknowledged, and that is all.
 */
static bool nbd_keeps_writes(const char *options)
{
    return !strstr(options, "rbd_cache") || strstr(options, "rbd_cache=false");
}

/* A device that lost its process may have gone to another volume since. */
static int check_attachable(const struct nbd_device *device, const struct map_request *request,
                            struct error *err)
{
    _cleanup_free_ char *named =
        xasprintf("cookie=%s", device->identifier ? device->identifier : "");

    if (!device->first_pid)
        return error_set(err, STATUS_FAILED_PRECONDITION, "'%s' is not in use any more",
                         device->path);
    if (!device->identifier || strcmp(device->identifier, request->handle) == 0 ||
        strstr(request->options, named))
        return 0;
    return error_set(err, STATUS_FAILED_PRECONDITION, "'%s' is of volume '%s' by now", device->path,
                     device->identifier);
}

/*
 * The identifier, which rbd-nbd calls cookie, without which a device gets no new process: the
 * handle for a new device, as Ceph-CSI has it; what it has got for one that is there. NULL: none.
 */
static int choose_cookie(const struct mapper_host *mapper, const struct map_request *request,
                         char **cookie, struct error *err)
{
    bool has_identifiers = false;

    if (request->device) {
        _cleanup_nbd_device_ struct nbd_device device = {0};

        if (nbd_device_read(mapper->host, request->device + strlen("/dev/"), &device, err) < 0 ||
            check_attachable(&device, request, err) < 0)
            return -1;
        *cookie = TAKE(device.identifier);
        return 0;
    }
    if (nbd_has_identifiers(mapper->host, &has_identifiers, err) < 0)
        return -1;
    if (has_identifiers && !strstr(request->options, "cookie"))
        *cookie = xstrdup(request->handle);
    return 0;
}

static void add_map_arguments(struct arguments *arguments, const struct map_request *request,
                              const char *key_file, const char *cookie)
{
    _cleanup_free_ char *spec = image_spec_text(&request->spec);

    arguments_add(arguments, PROGRAM);
    arguments_add_option(arguments, "--id", "%s", request->user);
    arguments_add_option(arguments, "-m", "%s", request->monitors);
    arguments_add(arguments, "--keyfile=%s", key_file);
    arguments_add_option(arguments, "--log-file", "%s/rbd-nbd-%s.log",
                         request->log_dir[0] ? request->log_dir : DEFAULT_LOG_DIR, request->handle);
    arguments_add(arguments, request->device ? "attach" : "map");
    arguments_add(arguments, "%s", spec);
    if (request->device)
        arguments_add_option(arguments, "--device", "%s", request->device);
    add_options(arguments, request);
    if (!text_is_empty(cookie))
        arguments_add(arguments, "--cookie=%s", cookie);
    if (request->read_only)
        arguments_add(arguments, "--read-only");
}

static int nbd_map(const struct mapper_host *mapper, struct call *call,
                   const struct map_request *request, char **device, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_arguments_ struct arguments arguments = {0};
    _cleanup_free_ char *key_file = NULL;
    _cleanup_free_ char *cookie = NULL;
    _cleanup_free_ char *spec = image_spec_text(&request->spec);
    _cleanup_subprocess_result_ struct subprocess_result result = {0};

    call_stage(call, "waiting {age} for " PROGRAM " to map image '%s'", request->spec.image);
    if (choose_cookie(mapper, request, &cookie, err) < 0 ||
        host->ops->write_key(host, request->key, &key_file, err) < 0)
        return -1;
    add_map_arguments(&arguments, request, key_file, cookie);
    const struct subprocess program = {.argv = (const char *const *)arguments.items,
                                       .deadline = mapper_deadline(call)};
    int ended = host->ops->run(host, &program, &result, err);
    key_file_remove(host, call, key_file);
    if (ended < 0)
        return -1;
    daemon_keep(host, call, PROGRAM, spec);
    const char *output = text_chars(&result.output);
    if (!text_has_prefix(output, "/dev/nbd") && !request->device)
        return error_set(err, STATUS_INTERNAL, PROGRAM " printed no device: '%.128s'", output);
    *device = request->device ? xstrdup(request->device) : xstrndup(output, strcspn(output, "\n"));
    return 0;
}

/* --- unmapping --- */

/* FAILED_PRECONDITION unless the device has no identifier, the volume's, or is the one that was
 * recorded. */
static int check_owner(const struct nbd_device *device, const struct image_spec *spec,
                       struct error *err)
{
    if (!device->identifier || strcmp(device->identifier, spec->handle) == 0 ||
        (spec->device && strcmp(spec->device, device->path) == 0))
        return 0;
    return error_set(err, STATUS_FAILED_PRECONDITION, "'%s' is of volume '%s', not of '%s'",
                     device->path, device->identifier, spec->handle);
}

static int check_not_mounted(struct host *host, const char *device, struct error *err)
{
    _cleanup_mount_list_ struct mount_list mounts = {0};

    if (host->ops->list_mounts(host, &mounts, err) < 0)
        return -1;
    const struct mount_entry *mount = device_mount(&mounts, device);
    return mount ? error_set(err, STATUS_FAILED_PRECONDITION,
                             "'%s' is not unmapped, because it is mounted on '%s'", device,
                             mount->target)
                 : 0;
}

/* A device without an identifier: whether its process is gone. Nothing can take its place then. */
static int is_abandoned(struct host *host, const struct nbd_device *device, bool *is,
                        struct error *err)
{
    _cleanup_string_list_ struct string_list arguments = {0};
    bool sees_host_pids = false;

    if (nbd_sees_host_pids(host, &sees_host_pids, err) < 0)
        return -1;
    if (!sees_host_pids) {
        error_set(err, STATUS_FAILED_PRECONDITION,
                  "nothing tells whether '%s' is still the volume's", device->path);
        return error_hint(err, "the kernel keeps no identifiers before 5.14, and without hostPID: "
                               "true the driver does not see the device's process");
    }
    if (host->ops->process_arguments(host, device->first_pid, &arguments, err) < 0)
        return -1;
    *is = arguments.count == 0;
    return 0;
}

/* Of a device that no process seems to serve. One that is another volume's by now is left alone. */
static int disconnect_device(const struct mapper_host *mapper, struct call *call, const char *path,
                             const struct image_spec *spec, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_nbd_device_ struct nbd_device device = {0};
    bool is_ours = false;

    if (nbd_device_read(host, path + strlen("/dev/"), &device, err) < 0)
        return -1;
    if (!device.first_pid)
        return 0;
    if (device.identifier)
        is_ours = strcmp(device.identifier, spec->handle) == 0;
    else if (is_abandoned(host, &device, &is_ours, err) < 0)
        return -1;
    if (!is_ours) {
        log_v(2, call, "'%s' is another volume's by now", path);
        return 0;
    }
    if (check_not_mounted(host, path, err) < 0)
        return -1;
    log_v(2, call, "disconnecting '%s', which no " PROGRAM " serves", path);
    return host->ops->nbd_disconnect(host, path, err);
}

/*
 * No process serves a device for the volume. Left may be a device that lost its process, which is
 * disconnected, and a process that has got no device yet: it will get one, or end.
 */
static int clear_remains(const struct mapper_host *mapper, struct call *call,
                         const struct image_spec *spec, struct error *err)
{
    struct host *host = mapper->host;
    struct image_spec unrecorded = *spec; /* processes of other volumes do not matter */
    _cleanup_string_list_ struct string_list names = {0};
    _cleanup_string_list_ struct string_list pids = {0};

    unrecorded.device = "";
    if (nbd_device_list(host, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.count; i++) {
        _cleanup_nbd_device_ struct nbd_device device = {0};

        if (nbd_device_read(host, names.items[i], &device, err) < 0)
            return -1;
        bool is_named = device.identifier && strcmp(device.identifier, spec->handle) == 0;
        bool is_recorded = strcmp(device.path, spec->device) == 0;
        if (is_named && !is_recorded && spec->device[0])
            return error_set(err, STATUS_FAILED_PRECONDITION,
                             "'%s' has the volume's identifier, but '%s' was staged", device.path,
                             spec->device);
        if ((is_named || is_recorded) &&
            disconnect_device(mapper, call, device.path, spec, err) < 0)
            return -1;
    }
    if (nbd_list_processes(host, &unrecorded, &pids, err) < 0)
        return -1;
    if (pids.count > 0)
        return error_set(err, STATUS_ABORTED,
                         PROGRAM " with the number %s is at image '%s' and has no device yet, or "
                                 "none any more",
                         pids.items[0], spec->image);
    return 0;
}

static int nbd_unmap(const struct mapper_host *mapper, struct call *call,
                     const struct unmap_request *request, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_nbd_device_ struct nbd_device device = {0};
    _cleanup_arguments_ struct arguments arguments = {0};
    _cleanup_free_ char *list = xstrdup(request->options);
    char *rest = NULL;

    if (!request->device)
        return clear_remains(mapper, call, &request->spec, err);
    call_stage(call, "waiting {age} for " PROGRAM " to unmap '%s'", request->device);
    if (nbd_device_read(host, request->device + strlen("/dev/"), &device, err) < 0 ||
        check_owner(&device, &request->spec, err) < 0)
        return -1;
    arguments_add(&arguments, PROGRAM);
    arguments_add(&arguments, "unmap");
    arguments_add(&arguments, "%s", request->device);
    for (char *option = strtok_r(list, ",", &rest); option; option = strtok_r(NULL, ",", &rest))
        arguments_add(&arguments, "--%s", option);
    const struct subprocess program = {.argv = (const char *const *)arguments.items,
                                       .deadline = mapper_deadline(call)};
    if (host->ops->run(host, &program, NULL, err) == 0)
        return 0;
    if (!strstr(err->message, "is not mapped"))
        return -1;
    error_clear(err); /* it means that it sees no process */
    return disconnect_device(mapper, call, request->device, &request->spec, err);
}

/*
 * rbd-nbd of Ceph 16.2 cannot report to kernels since 5.14 that its image has grown; later ones do
 * so themselves. A size that the image does not have must never get here: rbd-nbd drops what is
 * written beyond the end of the image, answers reads there with zeros, and reports success.
 */
static int nbd_tell_size(const struct mapper_host *mapper, struct call *call, const char *device,
                         uint64_t image_bytes, struct error *err)
{
    struct host *host = mapper->host;
    uint64_t size = image_bytes / SECTOR_BYTES * SECTOR_BYTES;
    struct device_facts facts;

    if (host->ops->device_facts(host, device, &facts, err) < 0)
        return -1;
    if (facts.size_bytes >= size)
        return 0;
    log_v(3, call, "telling '%s' its size of %llu bytes", device, (unsigned long long)size);
    return host->ops->nbd_resize(host, device, size, err);
}

/* Key files of interrupted maps. */
static int nbd_recover(const struct mapper_host *mapper, struct call *call, struct error *err)
{
    (void)call;
    return key_files_clear(mapper->host, mapper->run_dir, err);
}

const struct mapper MAPPER_NBD = {
    .name = "nbd",
    .mounter = PROGRAM,
    .device_prefix = "nbd",
    .substitute = &MAPPER_KRBD,
    .is_always_substituted = true,
    .access_type = true,
    .records_device = true,
    .writes_log = true,
    .reattaches = true,
    .keeps_writes = nbd_keeps_writes,
    .unmaps_by_device = true,
    .is_usable = nbd_is_usable,
    .find = nbd_find,
    .map = nbd_map,
    .unmap = nbd_unmap,
    .tell_size = nbd_tell_size,
    .recover = nbd_recover,
};
