#include "common/linux/nbd_devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"

#define COOKIE "--cookie="

/* --- the kernel --- */

void nbd_device_done(struct nbd_device *device)
{
    free_all(device->path, device->first_pid, device->identifier);
    *device = (struct nbd_device){0};
}

int nbd_device_read(struct host *host, const char *name, struct nbd_device *device,
                    struct error *err)
{
    _cleanup_free_ char *pid_path = xasprintf("/sys/block/%s/pid", name);
    _cleanup_free_ char *identifier_path = xasprintf("/sys/block/%s/backend", name);
    _cleanup_free_ char *first_pid = NULL;
    _cleanup_free_ char *identifier = NULL;

    if (host->ops->sysfs_read(host, pid_path, &first_pid, err) < 0 ||
        host->ops->sysfs_read(host, identifier_path, &identifier, err) < 0)
        return -1;
    *device = (struct nbd_device){.path = xasprintf("/dev/%s", name),
                                  .first_pid = TAKE(first_pid),
                                  .identifier = TAKE(identifier)};
    return 0;
}

int nbd_device_list(struct host *host, struct string_list *names, struct error *err)
{
    _cleanup_string_list_ struct string_list all = {0};

    if (host->ops->sysfs_list(host, "/sys/block", &all, err) < 0)
        return -1;
    for (size_t i = 0; i < all.count; i++)
        if (text_has_prefix(all.items[i], "nbd"))
            string_list_add(names, all.items[i]);
    return 0;
}

/* Since 5.14, and in Red Hat's 8 since 4.18.0-365. */
int nbd_has_identifiers(struct host *host, bool *has, struct error *err)
{
    _cleanup_free_ char *release = NULL;
    unsigned major = 0;
    unsigned minor = 0;
    unsigned build = 0;

    if (host->ops->sysfs_read(host, "/proc/sys/kernel/osrelease", &release, err) < 0)
        return -1;
    *has = false;
    if (!release || sscanf(release, "%u.%u", &major, &minor) != 2)
        return 0;
    if (sscanf(release, "4.18.0-%u", &build) == 1 && strstr(release, ".el8"))
        *has = build >= 365;
    else
        *has = major > 5 || (major == 5 && minor >= 14);
    return 0;
}

/* The second process is the kernel's own, and only the first namespace has it. */
int nbd_sees_host_pids(struct host *host, bool *sees, struct error *err)
{
    _cleanup_free_ char *name = NULL;

    if (host->ops->sysfs_read(host, "/proc/2/comm", &name, err) < 0)
        return -1;
    *sees = name && strcmp(name, "kthreadd") == 0;
    return 0;
}

/* --- processes --- */

/* NULL: none. Borrowed. */
static const char *cookie_of(const struct string_list *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        if (text_has_prefix(arguments->items[i], COOKIE))
            return arguments->items[i] + strlen(COOKIE);
    return NULL;
}

/*
 * Whether a process with these arguments serves the image for the volume. A cookie that is not the
 * handle, because the class's mapOptions name it, does not tell volumes apart: then only the device
 * that was recorded does.
 */
static bool is_for_volume(const struct string_list *arguments, const struct image_spec *spec)
{
    _cleanup_free_ char *text = image_spec_text(spec);
    const char *cookie = cookie_of(arguments);

    if (!string_list_has(arguments, text) ||
        !(string_list_has(arguments, "map") || string_list_has(arguments, "attach")))
        return false;
    return !cookie || strcmp(cookie, spec->handle) == 0 || spec->device[0];
}

int nbd_list_processes(struct host *host, const struct image_spec *spec, struct string_list *pids,
                       struct error *err)
{
    _cleanup_free_ char *text = image_spec_text(spec);
    _cleanup_string_list_ struct string_list all = {0};

    if (host->ops->daemon_list(host, NBD_PROGRAM, text, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < all.count; i++) {
        _cleanup_string_list_ struct string_list arguments = {0};

        if (host->ops->process_arguments(host, all.items[i], &arguments, err) < 0)
            return -1;
        if (is_for_volume(&arguments, spec))
            string_list_add(pids, all.items[i]);
    }
    return 0;
}

/* Whether the process @pid, with these arguments, serves the device. */
static bool is_served_by(const struct nbd_device *device, const char *pid,
                         const struct string_list *arguments, bool sees_host_pids)
{
    const char *cookie = cookie_of(arguments);

    if (!device->first_pid)
        return false;
    if (device->identifier)
        return cookie && strcmp(device->identifier, cookie) == 0;
    return string_list_has(arguments, device->path) || /* attached to it */
           (sees_host_pids && strcmp(device->first_pid, pid) == 0);
}

static int find_served(struct host *host, const struct string_list *names, const char *pid,
                       const struct image_spec *spec, char **path, struct error *err)
{
    _cleanup_string_list_ struct string_list arguments = {0};
    bool sees_host_pids = false;

    if (host->ops->process_arguments(host, pid, &arguments, err) < 0 ||
        nbd_sees_host_pids(host, &sees_host_pids, err) < 0)
        return -1;
    for (size_t i = 0; i < names->count && !*path; i++) {
        _cleanup_nbd_device_ struct nbd_device device = {0};

        if (nbd_device_read(host, names->items[i], &device, err) < 0)
            return -1;
        if (is_served_by(&device, pid, &arguments, sees_host_pids) &&
            (!spec->device[0] || strcmp(spec->device, device.path) == 0))
            *path = TAKE(device.path);
    }
    return 0;
}

int nbd_device_find(struct host *host, const struct image_spec *spec, char **path,
                    struct error *err)
{
    _cleanup_string_list_ struct string_list pids = {0};
    _cleanup_string_list_ struct string_list names = {0};

    if (nbd_list_processes(host, spec, &pids, err) < 0 ||
        (pids.count > 0 && nbd_device_list(host, &names, err) < 0))
        return -1;
    for (size_t i = 0; i < pids.count && !*path; i++)
        if (find_served(host, &names, pids.items[i], spec, path, err) < 0)
            return -1;
    return 0;
}
