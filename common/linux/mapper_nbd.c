/*
 * Maps through rbd-nbd: a process per image that serves the kernel's nbd driver. When the process
 * ends unasked, the device waits (--reattach-timeout) for another one, which 'attach' gives it.
 */
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/arguments.h"
#include "common/linux/key_file.h"
#include "common/linux/mapper_internal.h"

#define PROGRAM "rbd-nbd"
#define DEFAULT_LOG_DIR "/var/log/ceph"
#define SECTOR_BYTES 512

static bool nbd_is_usable(const struct mapper_host *mapper, struct call *call, char **reason)
{
    return mapper_load_driver(mapper, call, "nbd", "/sys/module/nbd", reason);
}

/* --- what is mapped --- */

/* Sets *@device if the process, whose arguments these are, serves the nbd device @name. Its id
 * alone does not decide it: a device keeps that of its first process, and it may be an id of
 * another container. */
static int match_device(struct host *host, const char *name, const char *pid,
                        const struct string_list *arguments, char **device, struct error *err)
{
    _cleanup_free_ char *path = xasprintf("/dev/%s", name);
    _cleanup_free_ char *pid_path = xasprintf("/sys/block/%s/pid", name);
    _cleanup_free_ char *identifier_path = xasprintf("/sys/block/%s/backend", name);
    _cleanup_free_ char *first_pid = NULL;
    _cleanup_free_ char *identifier = NULL;

    if (host->ops->sysfs_read(host, pid_path, &first_pid, err) < 0 ||
        host->ops->sysfs_read(host, identifier_path, &identifier, err) < 0)
        return -1;
    if (!first_pid) /* mapped by nobody */
        return 0;
    _cleanup_free_ char *cookie = xasprintf("--cookie=%s", identifier ? identifier : "");
    if (strcmp(first_pid, pid) == 0 || string_list_has(arguments, path) ||
        string_list_has(arguments, cookie))
        *device = TAKE(path);
    return 0;
}

/* Sets *@device if @pid is the process of an image: its arguments say so. */
static int find_served(struct host *host, const struct string_list *names, const char *pid,
                       const char *spec, char **device, struct error *err)
{
    _cleanup_string_list_ struct string_list arguments = {0};

    if (host->ops->process_arguments(host, pid, &arguments, err) < 0)
        return -1;
    if (!string_list_has(&arguments, spec) ||
        !(string_list_has(&arguments, "map") || string_list_has(&arguments, "attach")))
        return 0;
    for (size_t i = 0; i < names->count && !*device; i++)
        if (text_has_prefix(names->items[i], "nbd") &&
            match_device(host, names->items[i], pid, &arguments, device, err) < 0)
            return -1;
    return 0;
}

/*
 * What 'rbd-nbd list-mapped' reports, without the time that it takes to start. A device that has
 * lost its process is not found.
 */
static int nbd_find(const struct mapper_host *mapper, struct call *call,
                    const struct image_spec *spec, struct mapped_image *mapped, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_free_ char *text = image_spec_text(spec);
    _cleanup_string_list_ struct string_list pids = {0};
    _cleanup_string_list_ struct string_list names = {0};

    (void)call;
    if (host->ops->daemon_list(host, PROGRAM, text, &pids, err) < 0 ||
        (pids.count > 0 && host->ops->sysfs_list(host, "/sys/block", &names, err) < 0))
        return -1;
    for (size_t i = 0; i < pids.count && !mapped->device; i++)
        if (find_served(host, &names, pids.items[i], text, &mapped->device, err) < 0)
            return -1;
    return 0;
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
                    {"io-timeout", "--io-timeout=0"}};
    _cleanup_free_ char *list = xstrdup(request->options);
    char *rest = NULL;

    for (size_t i = 0; i < ARRAY_LENGTH(defaults); i++)
        if (!strstr(request->options, defaults[i].word))
            arguments_add(arguments, "%s", defaults[i].argument);
    for (char *option = strtok_r(list, ",", &rest); option; option = strtok_r(NULL, ",", &rest))
        arguments_add(arguments, "--%s", option);
}

/* Since 5.14, and in Red Hat's 8 since 4.18.0-365, the kernel keeps an identifier for a device. */
static bool keeps_identifiers(const char *release)
{
    unsigned major = 0;
    unsigned minor = 0;
    unsigned build = 0;

    if (!release || sscanf(release, "%u.%u", &major, &minor) != 2)
        return false;
    if (sscanf(release, "4.18.0-%u", &build) == 1 && strstr(release, ".el8"))
        return build >= 365;
    return major > 5 || (major == 5 && minor >= 14);
}

/*
 * The identifier, which rbd-nbd calls cookie, without which a device gets no new process: the
 * handle for a new device, as Ceph-CSI has it; what it has got for one that is there. NULL: none.
 */
static int choose_cookie(const struct mapper_host *mapper, const struct map_request *request,
                         char **cookie, struct error *err)
{
    const struct host_ops *ops = mapper->host->ops;
    _cleanup_free_ char *release = NULL;

    if (request->device) {
        _cleanup_free_ char *path =
            xasprintf("/sys/block/%s/backend", request->device + strlen("/dev/"));

        return ops->sysfs_read(mapper->host, path, cookie, err);
    }
    if (ops->sysfs_read(mapper->host, "/proc/sys/kernel/osrelease", &release, err) < 0)
        return -1;
    if (keeps_identifiers(release) && !strstr(request->options, "cookie"))
        *cookie = xstrdup(request->handle);
    return 0;
}

static void add_map_arguments(struct arguments *arguments, const struct map_request *request,
                              const char *key_file, const char *cookie)
{
    _cleanup_free_ char *spec = image_spec_text(&request->spec);

    arguments_add(arguments, PROGRAM);
    arguments_add(arguments, "--id");
    arguments_add(arguments, "%s", request->user);
    arguments_add(arguments, "-m");
    arguments_add(arguments, "%s", request->monitors);
    arguments_add(arguments, "--keyfile=%s", key_file);
    arguments_add(arguments, "--log-file");
    arguments_add(arguments, "%s/rbd-nbd-%s.log",
                  request->log_dir[0] ? request->log_dir : DEFAULT_LOG_DIR, request->handle);
    arguments_add(arguments, request->device ? "attach" : "map");
    arguments_add(arguments, "%s", spec);
    if (request->device) {
        arguments_add(arguments, "--device");
        arguments_add(arguments, "%s", request->device);
    }
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
    const char *output = text_chars(&result.output);
    if (!text_has_prefix(output, "/dev/nbd") && !request->device)
        return error_set(err, STATUS_INTERNAL, PROGRAM " printed no device: '%.128s'", output);
    *device = request->device ? xstrdup(request->device) : xstrndup(output, strcspn(output, "\n"));
    return 0;
}

static int nbd_unmap(const struct mapper_host *mapper, struct call *call,
                     const struct unmap_request *request, struct error *err)
{
    _cleanup_arguments_ struct arguments arguments = {0};
    _cleanup_free_ char *list = xstrdup(request->options);
    const struct subprocess program = {.argv = (const char *const *)arguments.items,
                                       .deadline = mapper_deadline(call)};
    char *rest = NULL;

    if (!request->device)
        return 0;
    call_stage(call, "waiting {age} for " PROGRAM " to unmap '%s'", request->device);
    arguments_add(&arguments, PROGRAM);
    arguments_add(&arguments, "unmap");
    arguments_add(&arguments, "%s", request->device);
    for (char *option = strtok_r(list, ",", &rest); option; option = strtok_r(NULL, ",", &rest))
        arguments_add(&arguments, "--%s", option);
    if (mapper->host->ops->run(mapper->host, &program, NULL, err) == 0)
        return 0;
    if (!strstr(err->message, "is not mapped"))
        return -1;
    error_clear(err);
    return 0;
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
    .unmaps_by_device = true,
    .is_usable = nbd_is_usable,
    .find = nbd_find,
    .map = nbd_map,
    .unmap = nbd_unmap,
    .tell_size = nbd_tell_size,
    .recover = nbd_recover,
};
