/* /sys of the fake machine, by which the kernel maps images, and its cgroups. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/base/memory.h"
#include "common/linux/kernel_key_types.h"
#include "tests/fakes/fake_host_state.h"

#define DEVICES "/sys/bus/rbd/devices"

static void add_if_present(struct fake_host *fake, const char *driver, struct string_list *names)
{
    if (!string_list_has(&fake->lacking, driver)) {
        string_list_add(names, "add_single_major");
        string_list_add(names, "remove_single_major");
    }
}

/* What follows @prefix in the names that have it. */
static void list_devices(struct fake_host *fake, const char *prefix, struct string_list *names)
{
    for (size_t i = 0; i < FAKE_ITEMS_MAX; i++)
        if (strncmp(fake->devices[i].name, prefix, strlen(prefix)) == 0)
            string_list_add(names, fake->devices[i].name + strlen(prefix));
}

static int sysfs_list(struct host *host, const char *path, struct string_list *names,
                      struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (fake_call_begin(fake, "sysfs_list", err) < 0)
        return -1;
    if (strcmp(path, "/sys/bus/rbd") == 0)
        add_if_present(fake, "rbd", names);
    else if (strcmp(path, "/sys/module/nbd") == 0)
        add_if_present(fake, "nbd", names);
    else if (strcmp(path, "/sys/block") == 0)
        list_devices(fake, "/dev/", names);
    else if (strcmp(path, DEVICES) == 0)
        list_devices(fake, "/dev/rbd", names);
    return fake_call_end(fake, "sysfs_list", 0, err);
}

/* The spec is "POOL/IMAGE" or "POOL/NAMESPACE/IMAGE". */
static char *krbd_attribute(const struct fake_device *device, const char *attribute)
{
    const char *spec = device->spec;
    const char *first = strchr(spec, '/');
    const char *last = strrchr(spec, '/');

    if (strcmp(attribute, "pool") == 0)
        return xstrndup(spec, (size_t)(first - spec));
    if (strcmp(attribute, "name") == 0)
        return xstrdup(last + 1);
    if (strcmp(attribute, "pool_ns") == 0)
        return first == last ? xstrdup("") : xstrndup(first + 1, (size_t)(last - first - 1));
    if (strcmp(attribute, "cluster_fsid") == 0)
        return xstrdup(device->fsid);
    if (strcmp(attribute, "image_id") == 0)
        return xstrdup(device->image_id);
    if (strcmp(attribute, "major") == 0)
        return xasprintf("%u", major(fake_device_number(device->name)));
    if (strcmp(attribute, "minor") == 0)
        return xasprintf("%u", minor(fake_device_number(device->name)));
    return xstrdup("-"); /* current_snap */
}

static char *read_attribute(struct fake_host *fake, const char *path)
{
    char attribute[64];
    char name[32];
    unsigned id = 0;

    if (strcmp(path, "/sys/bus/rbd/supported_features") == 0)
        return xstrdup("0x3d");
    if (sscanf(path, DEVICES "/%u/%63s", &id, attribute) == 2) {
        snprintf(name, sizeof(name), "/dev/rbd%u", id);
        const struct fake_device *device = fake_device_find(fake, name);

        return device ? krbd_attribute(device, attribute) : NULL;
    }
    if (strcmp(path, "/proc/sys/kernel/osrelease") == 0)
        return xstrdup(string_list_has(&fake->lacking, "cookies") ? "5.10.0-1-amd64"
                                                                  : "6.1.0-1-cloud-amd64");
    if (strcmp(path, "/proc/2/comm") == 0)
        return xstrdup(fake->has_own_pids ? "bash" : "kthreadd");
    if (sscanf(path, "/sys/block/nbd%u/%63s", &id, attribute) == 2) {
        snprintf(name, sizeof(name), "/dev/nbd%u", id);
        const struct fake_device *device = fake_device_find(fake, name);

        if (!device || device->is_starting)
            return NULL;
        if (strcmp(attribute, "backend") == 0)
            return device->cookie[0] ? xstrdup(device->cookie) : NULL;
        return xasprintf("%u", device->first_pid);
    }
    if (sscanf(path, "/sys/block/loop%u/", &id) == 1) {
        snprintf(name, sizeof(name), "/dev/loop%u", id);
        const struct fake_device *device = fake_device_find(fake, name);

        return xstrdup(device ? device->file : "/somebody/elses/file");
    }
    return NULL;
}

static int sysfs_read(struct host *host, const char *path, char **text, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    *text = NULL;
    if (fake_call_begin(fake, "sysfs_read", err) < 0)
        return -1;
    char *found = read_attribute(fake, path);
    if (fake_call_end(fake, "sysfs_read", 0, err) < 0) {
        free(found);
        return -1;
    }
    *text = found;
    return 0;
}

/* "MONITORS OPTIONS POOL IMAGE -" */
static void add_mapping(struct fake_host *fake, const char *line)
{
    char options[512];
    char pool[128];
    char image[128];
    char spec[FAKE_NAME_MAX];
    char name_space[64] = "";

    assert(sscanf(line, "%*s %511s %127s %127s", options, pool, image) == 3);
    const char *found = strstr(options, "_pool_ns=");
    if (found)
        sscanf(found, "_pool_ns=%63[^,]", name_space);
    snprintf(spec, sizeof(spec), "%s%s%s/%s", pool, name_space[0] ? "/" : "", name_space, image);
    assert(fake_image_of(fake, spec));
    struct fake_device *device = fake_device_add(fake, "rbd", spec);
    device->read_only = strstr(options, ",ro");
    FAKE_SET(device->fsid, FAKE_CEPH_FSID);
    snprintf(device->image_id, sizeof(device->image_id), "fa4e%08zx",
             (size_t)(fake_image_of(fake, spec) - fake->images) + 1);
}

void fake_host_map_foreign(struct fake_host *fake, const char *spec, const char *fsid,
                           const char *image_id)
{
    struct fake_device *device = fake_device_add(fake, "rbd", spec);

    FAKE_SET(device->fsid, fsid);
    FAKE_SET(device->image_id, image_id);
}

static bool refuses_key_type(struct host *host, unsigned type)
{
    struct fake_host *fake = (struct fake_host *)host;

    return type > 1 && string_list_has(&fake->lacking, "aes256k") &&
           !string_list_has(&fake->lacking, "key rings");
}

bool fake_kernel_refuses(struct fake_host *fake, const char *key)
{
    return strncmp(key, "Ag", 2) == 0 && string_list_has(&fake->lacking, "aes256k");
}

static int sysfs_write(struct host *host, const char *path, const struct secret *text,
                       struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    int result = 0;

    if (fake_call_begin(fake, "sysfs_write", err) < 0)
        return -1;
    const char *key = strstr(secret_reveal(text), "secret=");
    if (key && fake_kernel_refuses(fake, key + strlen("secret="))) {
        result = error_set_errno(err, -KERNEL_ENOTSUPP, "write to '%s'", path);
    } else if (strstr(path, "/add")) {
        add_mapping(fake, secret_reveal(text));
    } else {
        _cleanup_free_ char *name = xasprintf("/dev/rbd%s", secret_reveal(text));

        if (fake_mount_holds(fake, name))
            result = error_set_errno(err, -EBUSY, "write to '%s'", path);
        else if (fake_device_find(fake, name))
            *fake_device_find(fake, name) = (struct fake_device){0};
    }
    return fake_call_end(fake, "sysfs_write", result, err);
}

/* --- cgroups: files, which somebody has added, beneath /sys/fs/cgroup --- */

static int cgroup_read(struct host *host, const char *path, char **text, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    _cleanup_free_ char *whole = xasprintf("/sys/fs/cgroup/%s", path);

    if (fake_call_begin(fake, "cgroup_read", err) < 0)
        return -1;
    const struct fake_path *file = fake_path_find(fake, whole);
    char *content = file ? xstrdup(file->content) : NULL;
    int result = fake_call_end(fake, "cgroup_read", 0, err);
    if (result < 0)
        free(content);
    else
        *text = content;
    return result;
}

/* One line, as the kernel would print it; without a limit there is none. */
static int cgroup_write(struct host *host, const char *path, const char *text, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    _cleanup_free_ char *whole = xasprintf("/sys/fs/cgroup/%s", path);
    int result = 0;

    if (fake_call_begin(fake, "cgroup_write", err) < 0)
        return -1;
    struct fake_path *file = fake_path_find(fake, whole);
    if (!file)
        result = error_set_errno(err, -ENOENT, "write to '%s'", whole);
    else if (strstr(text, "rbps=max wbps=max riops=max wiops=max"))
        FAKE_SET(file->content, "");
    else
        snprintf(file->content, sizeof(file->content), "%s\n", text);
    return fake_call_end(fake, "cgroup_write", result, err);
}

void fake_host_sysfs_ops(struct host_ops *ops)
{
    ops->sysfs_read = sysfs_read;
    ops->sysfs_list = sysfs_list;
    ops->sysfs_write = sysfs_write;
    ops->refuses_key_type = refuses_key_type;
    ops->cgroup_read = cgroup_read;
    ops->cgroup_write = cgroup_write;
}
