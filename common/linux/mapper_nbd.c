/*
 * Maps through rbd-nbd: a process per image that serves the kernel's nbd driver. When the process
 * ends without being told, the device waits (--reattach-timeout) for another one, which 'attach'
 * gives it.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/mapper_internal.h"

#define PROGRAM "rbd-nbd"
#define DEFAULT_LOG_DIR "/var/log/ceph"
#define MODPROBE_TIMEOUT_MS 10000
#define REMOVE_TRIES 3 /* of a key file */
#define LIST_LIMIT ((size_t)1024 * 1024)

/* One line of "rbd-nbd list-mapped --format json"; the id is a number or, in older ones, a text. */
struct nbd_device {
    char *pool;
    char *rados_namespace;
    char *image;
    char *snapshot;
    char *device;
};

static const struct json_field DEVICE_FIELDS[] = {
    JSON_FIELD_STRING("pool", struct nbd_device, pool),
    JSON_FIELD_STRING("namespace", struct nbd_device, rados_namespace),
    JSON_FIELD_STRING("image", struct nbd_device, image),
    JSON_FIELD_STRING("snap", struct nbd_device, snapshot),
    JSON_FIELD_STRING("device", struct nbd_device, device),
};
static const struct json_table DEVICE_TABLE = JSON_TABLE(struct nbd_device, DEVICE_FIELDS);

static bool nbd_is_usable(const struct mapper_host *mapper, struct call *call, char **reason)
{
    struct host *host = mapper->host;
    _cleanup_string_list_ struct string_list names = {0};
    _cleanup_error_ struct error err = {0};
    const char *const argv[] = {"modprobe", "nbd", NULL};
    const struct subprocess modprobe = {
        .argv = argv,
        .deadline = deadline_earlier(call->deadline, deadline_in_ms(MODPROBE_TIMEOUT_MS))};

    if (host->ops->sysfs_list(host, "/sys/module/nbd", &names, &err) == 0 && names.count > 0)
        return true;
    error_clear(&err);
    if (host->ops->run(host, &modprobe, NULL, &err) == 0)
        return true;
    *reason = xasprintf("the kernel has no nbd driver: %s", err.message);
    return false;
}

static bool is_equal(const char *a, const char *b)
{
    return strcmp(a ? a : "", b) == 0;
}

static bool is_image(const struct nbd_device *device, const struct image_spec *spec)
{
    return device->device && is_equal(device->pool, spec->pool) &&
           is_equal(device->rados_namespace, spec->rados_namespace) &&
           is_equal(device->image, spec->image) &&
           (is_equal(device->snapshot, "") || is_equal(device->snapshot, "-"));
}

static int find_in(const char *list, const struct image_spec *spec, struct mapped_image *mapped,
                   struct error *err)
{
    json_auto_t *json = NULL;
    struct nbd_device *devices = NULL;
    size_t count = 0;

    if (list[strspn(list, " \n")] == '\0')
        return 0;
    if (json_load_text(list, strlen(list), PROGRAM " list-mapped", &json, err) < 0 ||
        json_decode_array(json, &DEVICE_TABLE, (void **)&devices, &count, err) < 0)
        return error_recode(err, STATUS_INTERNAL);
    for (size_t i = 0; i < count && !mapped->device; i++)
        if (is_image(&devices[i], spec))
            mapped->device = xstrdup(devices[i].device);
    json_free_array(&DEVICE_TABLE, devices, count);
    return 0;
}

/* Lists by process: a device without one is not in it. */
static int nbd_find(const struct mapper_host *mapper, struct call *call,
                    const struct image_spec *spec, struct mapped_image *mapped, struct error *err)
{
    const char *const argv[] = {PROGRAM, "list-mapped", "--format", "json", NULL};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess program = {
        .argv = argv, .deadline = mapper_deadline(call), .output_limit = LIST_LIMIT};

    if (mapper->host->ops->run(mapper->host, &program, &result, err) < 0)
        return -1;
    return find_in(text_chars(&result.output), spec, mapped, err);
}

/* --- mapping ------------------------------------------------------------------------------------
 */

#define ARGUMENTS_MAX 64

/* Arguments of a program; owns them. */
struct arguments {
    char *items[ARGUMENTS_MAX + 1];
    size_t count;
};

static void arguments_done(struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->items[i]);
}

_printf_(2, 3) static void add(struct arguments *arguments, const char *fmt, ...)
{
    va_list args;

    if (arguments->count == ARGUMENTS_MAX)
        return;
    va_start(args, fmt);
    arguments->items[arguments->count++] = xvasprintf(fmt, args);
    va_end(args);
}

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
            add(arguments, "%s", defaults[i].argument);
    for (char *option = strtok_r(list, ",", &rest); option; option = strtok_r(NULL, ",", &rest))
        add(arguments, "--%s", option);
}

static void map_arguments(struct arguments *arguments, const struct map_request *request,
                          const char *key_file)
{
    _cleanup_free_ char *spec = image_spec_text(&request->spec);

    add(arguments, PROGRAM);
    add(arguments, "--id");
    add(arguments, "%s", request->user);
    add(arguments, "-m");
    add(arguments, "%s", request->monitors);
    add(arguments, "--keyfile=%s", key_file);
    add(arguments, "--log-file");
    add(arguments, "%s/rbd-nbd-%s.log", request->log_dir[0] ? request->log_dir : DEFAULT_LOG_DIR,
        request->handle);
    add(arguments, request->device ? "attach" : "map");
    add(arguments, "%s", spec);
    if (request->device) {
        add(arguments, "--device");
        add(arguments, "%s", request->device);
    }
    add_options(arguments, request);
    if (request->read_only)
        add(arguments, "--read-only");
}

static int run_map(const struct mapper_host *mapper, struct call *call,
                   const struct map_request *request, const char *key_file, char **device,
                   struct error *err)
{
    _cleanup_(arguments_done) struct arguments arguments = {0};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess program = {.argv = (const char *const *)arguments.items,
                                       .deadline = mapper_deadline(call)};

    map_arguments(&arguments, request, key_file);
    if (mapper->host->ops->run(mapper->host, &program, &result, err) < 0)
        return -1;
    const char *output = text_chars(&result.output);
    size_t length = strcspn(output, "\n");
    if (!text_has_prefix(output, "/dev/nbd") && !request->device)
        return error_set(err, STATUS_INTERNAL, PROGRAM " printed no device: '%.128s'", output);
    *device = request->device ? xstrdup(request->device) : xstrndup(output, length);
    return 0;
}

static int nbd_map(const struct mapper_host *mapper, struct call *call,
                   const struct map_request *request, char **device, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_free_ char *key_file = NULL;
    _cleanup_error_ struct error second = {0};

    call_stage(call, "waiting {age} for " PROGRAM " to map image '%s'", request->spec.image);
    if (host->ops->write_key(host, request->key, &key_file, err) < 0)
        return -1;
    int result = run_map(mapper, call, request, key_file, device, err);
    for (int tries = 0; tries < REMOVE_TRIES; tries++) {
        error_clear(&second);
        if (host->ops->remove(host, key_file, &second) == 0)
            return result;
    }
    log_warn(call, "a key file stays behind until the next start: %s", second.message);
    return result;
}

static int nbd_unmap(const struct mapper_host *mapper, struct call *call,
                     const struct unmap_request *request, struct error *err)
{
    _cleanup_(arguments_done) struct arguments arguments = {0};
    _cleanup_free_ char *list = xstrdup(request->options);
    const struct subprocess program = {.argv = (const char *const *)arguments.items,
                                       .deadline = mapper_deadline(call)};
    char *rest = NULL;

    if (!request->device)
        return 0;
    call_stage(call, "waiting {age} for " PROGRAM " to unmap '%s'", request->device);
    add(&arguments, PROGRAM);
    add(&arguments, "unmap");
    add(&arguments, "%s", request->device);
    for (char *option = strtok_r(list, ",", &rest); option; option = strtok_r(NULL, ",", &rest))
        add(&arguments, "--%s", option);
    if (mapper->host->ops->run(mapper->host, &program, NULL, err) == 0)
        return 0;
    if (!strstr(err->message, "is not mapped"))
        return -1;
    error_clear(err);
    return 0;
}

/* Key files of maps that were cut. The folder is this driver's alone. */
static int nbd_recover(const struct mapper_host *mapper, struct call *call, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_free_ char *folder = xasprintf("%s/" MAPPER_KEY_FOLDER, mapper->run_dir);
    _cleanup_string_list_ struct string_list names = {0};

    (void)call;
    if (host->ops->list(host, folder, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.count; i++) {
        _cleanup_free_ char *path = xasprintf("%s/%s", folder, names.items[i]);

        if (host->ops->remove(host, path, err) < 0)
            return -1;
    }
    return 0;
}

const struct mapper MAPPER_NBD = {
    .name = "nbd",
    .is_usable = nbd_is_usable,
    .find = nbd_find,
    .map = nbd_map,
    .unmap = nbd_unmap,
    .recover = nbd_recover,
};
