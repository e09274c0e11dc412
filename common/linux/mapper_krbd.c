/*
 * Maps through the kernel's rbd driver, by writing to /sys/bus/rbd. The key travels in the text
 * that is written and so never shows in a process list. What is mapped is found there too, by the
 * names of the image and by the ids of cluster and image.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/key_file.h"
#include "common/linux/mapper_internal.h"
#include "common/linux/monitors.h"

#define BUS "/sys/bus/rbd"
#define DEVICES BUS "/devices"
#define ADD_LIMIT ((size_t)16 * 1024)

/* "" if the kernel does not have it. Caller frees. */
static int read_attribute(struct host *host, const char *id, const char *name, char **value,
                          struct error *err)
{
    _cleanup_free_ char *path = xasprintf(DEVICES "/%s/%s", id, name);

    if (host->ops->sysfs_read(host, path, value, err) < 0)
        return -1;
    if (!*value)
        *value = xstrdup("");
    return 0;
}

/* Kernels before 4.9 do not tell the cluster, and who asks may not know it either. */
static int is_image(struct host *host, const char *id, const struct image_spec *spec, bool *is,
                    struct error *err)
{
    const struct {
        const char *name;
        const char *value;
        bool may_be_unknown;
    } attributes[] = {{"name", spec->image, false},
                      {"pool", spec->pool, false},
                      {"pool_ns", spec->rados_namespace, false},
                      {"current_snap", "-", false},
                      {"cluster_fsid", spec->fsid, true},
                      {"image_id", spec->image_id, true}};

    *is = true;
    for (size_t i = 0; i < ARRAY_LENGTH(attributes) && *is; i++) {
        _cleanup_free_ char *value = NULL;

        if (read_attribute(host, id, attributes[i].name, &value, err) < 0)
            return -1;
        *is = strcmp(value, attributes[i].value) == 0 ||
              (attributes[i].may_be_unknown && (!value[0] || !attributes[i].value[0]));
    }
    return 0;
}

static int is_mounted(struct host *host, const char *id, const struct image_spec *spec, bool *is,
                      struct error *err)
{
    _cleanup_free_ char *major_text = NULL;
    _cleanup_free_ char *minor_text = NULL;

    if (read_attribute(host, id, "major", &major_text, err) < 0 ||
        read_attribute(host, id, "minor", &minor_text, err) < 0)
        return -1;
    *is = major_text[0] && minor_text[0] &&
          makedev((unsigned)strtoul(major_text, NULL, 10),
                  (unsigned)strtoul(minor_text, NULL, 10)) == spec->mounted;
    return 0;
}

/* Two devices have the names of one spec: are they of two clusters, or two images? */
static int check_same_image(struct host *host, const char *first, const char *second,
                            const struct image_spec *spec, struct error *err)
{
    static const char *const names[] = {"cluster_fsid", "image_id"};

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        _cleanup_free_ char *value = NULL;
        _cleanup_free_ char *other = NULL;

        if (read_attribute(host, first, names[i], &value, err) < 0 ||
            read_attribute(host, second, names[i], &other, err) < 0)
            return -1;
        if (strcmp(value, other) == 0)
            continue;
        error_set(err, STATUS_FAILED_PRECONDITION,
                  "images '%s' of pools '%s' are mapped as /dev/rbd%s and /dev/rbd%s, with %s '%s' "
                  "and '%s', and nothing tells which is the volume's",
                  spec->image, spec->pool, first, second, names[i], value, other);
        return error_hint(err, "unmap the one that is not used");
    }
    return 0;
}

/* The one that is mounted in the volume's place, else all devices of the image. */
static int krbd_find(const struct mapper_host *mapper, struct call *call,
                     const struct image_spec *spec, struct mapped_image *mapped, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_string_list_ struct string_list ids = {0};
    _cleanup_string_list_ struct string_list found = {0};
    bool is_sure = false;

    (void)call;
    if (host->ops->sysfs_list(host, DEVICES, &ids, err) < 0)
        return -1;
    for (size_t i = 0; i < ids.count && !is_sure; i++) {
        bool is = false;

        if (is_image(host, ids.items[i], spec, &is, err) < 0 ||
            (is && spec->mounted && is_mounted(host, ids.items[i], spec, &is_sure, err) < 0))
            return -1;
        if (is_sure)
            string_list_done(&found);
        if (is)
            string_list_add(&found, ids.items[i]);
    }
    for (size_t i = 1; i < found.count; i++)
        if (check_same_image(host, found.items[0], found.items[i], spec, err) < 0)
            return -1;
    for (size_t i = 0; i < found.count; i++) {
        _cleanup_free_ char *device = xasprintf("/dev/rbd%s", found.items[i]);

        if (i == 0)
            mapped->device = TAKE(device);
        else
            string_list_add(&mapped->others, device);
    }
    return 0;
}

static bool krbd_is_usable(const struct mapper_host *mapper, struct call *call, char **reason)
{
    return mapper_load_driver(mapper, call, "rbd", BUS, reason);
}

static int krbd_features(const struct mapper_host *mapper, uint64_t *features, struct error *err)
{
    _cleanup_free_ char *text = NULL;

    if (mapper->host->ops->sysfs_read(mapper->host, BUS "/supported_features", &text, err) < 0)
        return -1;
    /* kernels before 4.11 do not report them: layering, striping, exclusive-lock */
    *features = text ? strtoull(text, NULL, 0) : 7;
    return 0;
}

/* --- mapping --- */

/* A blank ends a field of the line, so that names cannot have one. */
static bool is_word(const char *text)
{
    for (const char *c = text; *c; c++)
        if (isspace((unsigned char)*c) || iscntrl((unsigned char)*c))
            return false;
    return true;
}

static int make_add_line(const struct map_request *request, struct secret *out, struct error *err)
{
    const struct image_spec *spec = &request->spec;
    _cleanup_text_ struct text line = TEXT_INIT(ADD_LIMIT);
    _cleanup_free_ char *options = xstrdup(request->options);
    char *rest = NULL;
    bool needs_ms_mode = false;

    if (!is_word(spec->pool) || !is_word(spec->image) || !is_word(spec->rados_namespace) ||
        strchr(spec->rados_namespace, ',') || strchr(request->user, ',') || !is_word(request->user))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "image '%s' in pool '%s' has a name that the kernel's rbd driver cannot "
                         "be told; use mounter rbd-nbd",
                         spec->image, spec->pool);
    if (!key_is_plain(request->key))
        return key_refuse(request->user, err);
    kernel_monitors(request->monitors, request->options, &line, &needs_ms_mode);
    text_addf(&line, " name=%s,secret=", request->user);
    text_add(&line, secret_reveal(request->key));
    if (spec->rados_namespace[0])
        text_addf(&line, ",_pool_ns=%s", spec->rados_namespace);
    text_add(&line, request->read_only ? ",ro" : "");
    text_add(&line, needs_ms_mode ? ",ms_mode=prefer-crc" : "");
    /* noudev and udev are for the rbd program, not for the kernel */
    for (char *option = strtok_r(options, ",", &rest); option; option = strtok_r(NULL, ",", &rest))
        if (strcmp(option, "noudev") != 0 && strcmp(option, "udev") != 0)
            text_addf(&line, ",%s", option);
    text_addf(&line, " %s %s -", spec->pool, spec->image);
    if (!line.truncated)
        secret_set(out, text_chars(&line));
    if (line.chars)
        explicit_bzero(line.chars, line.length);
    if (line.truncated)
        return error_set(err, STATUS_INVALID_ARGUMENT, "the map options are too long");
    return 0;
}

/* Kernels since 3.15 have one major number for all devices, in files of their own. */
static const char *bus_file(struct host *host, const char *single, const char *plain)
{
    _cleanup_string_list_ struct string_list names = {0};
    _cleanup_error_ struct error ignored = {0};

    if (host->ops->sysfs_list(host, BUS, &names, &ignored) < 0)
        return single;
    return string_list_has(&names, strrchr(single, '/') + 1) ? single : plain;
}

static bool has_device(const struct mapped_image *mapped, const char *device)
{
    return (mapped->device && strcmp(mapped->device, device) == 0) ||
           string_list_has(&mapped->others, device);
}

/* The device that came; NULL: none. */
static const char *new_device(const struct mapped_image *before, const struct mapped_image *after)
{
    if (after->device && !has_device(before, after->device))
        return after->device;
    for (size_t i = 0; i < after->others.count; i++)
        if (!has_device(before, after->others.items[i]))
            return after->others.items[i];
    return NULL;
}

static int krbd_map(const struct mapper_host *mapper, struct call *call,
                    const struct map_request *request, char **device, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_mapped_image_ struct mapped_image before = {0};
    _cleanup_mapped_image_ struct mapped_image after = {0};
    _cleanup_secret_ struct secret line = {0};

    if (make_add_line(request, &line, err) < 0 ||
        krbd_find(mapper, call, &request->spec, &before, err) < 0)
        return -1;
    call_stage(call, "waiting {age} for the kernel to map image '%s'", request->spec.image);
    if (call_check(call, err) < 0)
        return -1;
    const char *file = bus_file(host, BUS "/add_single_major", BUS "/add");
    if (host->ops->sysfs_write(host, file, &line, err) < 0) {
        if (err->sys_errno == ETIMEDOUT)
            error_recode(err, STATUS_DEADLINE_EXCEEDED);
        return error_wrap(err, "map image '%s' of pool '%s'", request->spec.image,
                          request->spec.pool);
    }
    if (krbd_find(mapper, call, &request->spec, &after, err) < 0)
        return -1;
    const char *added = new_device(&before, &after);
    if (!added)
        return error_set(err, STATUS_INTERNAL,
                         "the kernel says it mapped image '%s' of pool '%s', but does not list it",
                         request->spec.image, request->spec.pool);
    *device = xstrdup(added);
    return 0;
}

static int krbd_unmap(const struct mapper_host *mapper, struct call *call,
                      const struct unmap_request *request, struct error *err)
{
    struct host *host = mapper->host;
    _cleanup_secret_ struct secret line = {0};

    if (!request->device)
        return 0;
    bool force = strstr(request->options, "force") != NULL;
    _cleanup_free_ char *text =
        xasprintf("%s%s", request->device + strlen("/dev/rbd"), force ? " force" : "");
    secret_set(&line, text);
    call_stage(call, "waiting {age} for the kernel to unmap '%s'", request->device);
    const char *file = bus_file(host, BUS "/remove_single_major", BUS "/remove");
    if (host->ops->sysfs_write(host, file, &line, err) == 0)
        return 0;
    if (err->sys_errno == ENOENT) { /* gone meanwhile */
        error_clear(err);
        return 0;
    }
    if (err->sys_errno == EBUSY)
        error_recode(err, STATUS_FAILED_PRECONDITION);
    return error_wrap(err, "unmap '%s'", request->device);
}

const struct mapper MAPPER_KRBD = {
    .name = "krbd",
    .mounter = "rbd",
    .device_prefix = "rbd",
    .substitute = &MAPPER_NBD,
    .reads_nearest = true,
    .maps_repeatedly = true,
    .unmaps_by_device = true,
    .uses_kernel_keys = true,
    .has_cgroup_limits = true,
    .is_usable = krbd_is_usable,
    .find = krbd_find,
    .map = krbd_map,
    .unmap = krbd_unmap,
    .features = krbd_features,
};
