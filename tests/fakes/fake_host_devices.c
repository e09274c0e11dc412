/* Devices and programs of the fake machine. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/linux/kernel_key_types.h"
#include "tests/fakes/fake_host_state.h"

#define DEVICES "/sys/bus/rbd/devices"

static void set(char *to, size_t size, const char *text)
{
    assert(strlen(text) < size);
    snprintf(to, size, "%s", text);
}

#define SET(member, text) set((member), sizeof(member), (text))

/* --- images and devices --- */

struct fake_host_image *fake_image_of(struct fake_host *fake, const char *spec)
{
    for (size_t i = 0; i < fake->image_count; i++)
        if (strcmp(fake->images[i].spec, spec) == 0)
            return &fake->images[i];
    return NULL;
}

void fake_host_add_image(struct fake_host *fake, const char *spec, uint64_t size_bytes)
{
    struct fake_host_image *image = &fake->images[fake->image_count++];

    assert(fake->image_count < FAKE_ITEMS_MAX);
    SET(image->spec, spec);
    image->size_bytes = size_bytes;
}

void fake_host_resize_image(struct fake_host *fake, const char *spec, uint64_t size_bytes)
{
    fake_image_of(fake, spec)->size_bytes = size_bytes;
}

void fake_host_fill_image(struct fake_host *fake, const char *spec, const char *content)
{
    struct fake_host_image *image = fake_image_of(fake, spec);

    image->has_bytes = strcmp(content, "remains") != 0;
    if (strcmp(content, "gpt") == 0)
        SET(image->partition_table, content);
    else if (image->has_bytes && strcmp(content, "bytes") != 0)
        image->is_never_mounted = sscanf(content, "%31s %63s", image->fs_type, image->fs_uuid) == 2;
}

struct fake_device *fake_device_find(struct fake_host *fake, const char *name)
{
    for (size_t i = 0; i < FAKE_ITEMS_MAX; i++)
        if (name && fake->devices[i].name[0] && strcmp(fake->devices[i].name, name) == 0)
            return &fake->devices[i];
    return NULL;
}

/* The kind of a device is its major number, its own number the minor one. */
dev_t fake_device_number(const char *name)
{
    if (strcmp(name, "fuse") == 0)
        return makedev(0, 40);
    const char *digits = name + strcspn(name, "0123456789");
    unsigned kind = strncmp(name, "/dev/rbd", 8) == 0   ? 252
                    : strncmp(name, "/dev/nbd", 8) == 0 ? 43
                                                        : 7;

    return makedev(kind, (unsigned)strtoul(digits, NULL, 10));
}

uint64_t fake_device_size(struct fake_host *fake, const struct fake_device *device)
{
    return device->size_bytes ? device->size_bytes : fake_image_of(fake, device->spec)->size_bytes;
}

static struct fake_device *add_device(struct fake_host *fake, const char *kind, const char *spec)
{
    for (size_t i = 0; i < FAKE_ITEMS_MAX; i++) {
        char name[32];

        snprintf(name, sizeof(name), "/dev/%s%zu", kind, i);
        if (fake->devices[i].name[0] || fake_device_find(fake, name))
            continue;
        fake->devices[i] = (struct fake_device){0};
        SET(fake->devices[i].name, name);
        SET(fake->devices[i].spec, spec);
        return &fake->devices[i];
    }
    return NULL;
}

/* The image on @device, with the step begun; NULL: the step has ended. */
static struct fake_host_image *begin_on(struct fake_host *fake, const char *operation,
                                        const char *device, struct error *err)
{
    if (fake_call_begin(fake, operation, err) < 0)
        return NULL;
    const struct fake_device *found = fake_device_find(fake, device);
    struct fake_host_image *image = found ? fake_image_of(fake, found->spec) : NULL;
    if (image)
        return image;
    error_set_errno(err, -ENXIO, "%s of '%s'", operation, device);
    if (fake_call_end(fake, operation, -1, err) < 0)
        return NULL;
    return NULL;
}

static int device_facts(struct host *host, const char *device, struct device_facts *facts,
                        struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (!begin_on(fake, "device_facts", device, err))
        return -1;
    const struct fake_device *found = fake_device_find(fake, device);
    *facts = (struct device_facts){fake_device_number(device), fake_device_size(fake, found),
                                   found->read_only};
    return fake_call_end(fake, "device_facts", 0, err);
}

static int device_content(struct host *host, const char *device, struct device_content *content,
                          struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    const struct fake_host_image *image = begin_on(fake, "device_content", device, err);

    if (!image)
        return -1;
    *content = (struct device_content){.fs_bytes = image->fs_bytes,
                                       .is_head_zero = !image->has_bytes,
                                       .is_never_mounted = image->is_never_mounted};
    SET(content->fs_type, image->fs_type);
    SET(content->fs_uuid, image->fs_uuid);
    SET(content->partition_table, image->partition_table);
    return fake_call_end(fake, "device_content", 0, err);
}

static int device_is_zero(struct host *host, const char *device, bool *is_zero, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    const struct fake_host_image *image = begin_on(fake, "device_is_zero", device, err);

    if (!image)
        return -1;
    *is_zero = !image->has_bytes;
    return fake_call_end(fake, "device_is_zero", 0, err);
}

static int device_read(struct host *host, const char *device, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (!begin_on(fake, "device_read", device, err))
        return -1;
    return fake_call_end(fake, "device_read", 0, err);
}

static int nbd_disconnect(struct host *host, const char *device, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (!begin_on(fake, "nbd_disconnect", device, err))
        return -1;
    *fake_device_find(fake, device) = (struct fake_device){0};
    return fake_call_end(fake, "nbd_disconnect", 0, err);
}

static int nbd_resize(struct host *host, const char *device, uint64_t size_bytes, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (!begin_on(fake, "nbd_resize", device, err))
        return -1;
    fake_device_find(fake, device)->size_bytes = size_bytes;
    return fake_call_end(fake, "nbd_resize", 0, err);
}

/* --- loop devices and daemons --- */

static struct fake_daemon *daemon_of(struct fake_host *fake, const char *file)
{
    for (size_t i = 0; i < fake->daemon_count; i++)
        if (strcmp(fake->daemons[i].file, file) == 0)
            return &fake->daemons[i];
    return NULL;
}

static int loop_find(struct host *host, const char *file, char **device, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    char *found = NULL;

    *device = NULL;
    if (fake_call_begin(fake, "loop_find", err) < 0)
        return -1;
    for (size_t i = 0; i < FAKE_ITEMS_MAX && !found; i++)
        if (fake->devices[i].name[0] && strcmp(fake->devices[i].file, file) == 0)
            found = xstrdup(fake->devices[i].name);
    if (fake_call_end(fake, "loop_find", 0, err) < 0) {
        free(found);
        return -1;
    }
    *device = found;
    return 0;
}

static int loop_attach(struct host *host, const char *file, bool read_only, char **device,
                       struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (fake_call_begin(fake, "loop_attach", err) < 0)
        return -1;
    const struct fake_daemon *daemon = daemon_of(fake, file);
    assert(daemon);
    struct fake_device *added = add_device(fake, "loop", daemon->spec);
    SET(added->file, file);
    added->size_bytes = daemon->size_bytes;
    added->read_only = read_only;
    if (fake_call_end(fake, "loop_attach", 0, err) < 0)
        return -1;
    *device = xstrdup(added->name);
    return 0;
}

static int loop_detach(struct host *host, const char *device, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    int result = 0;

    if (fake_call_begin(fake, "loop_detach", err) < 0)
        return -1;
    struct fake_device *found = fake_device_find(fake, device);
    if (fake_mount_uses(fake, device))
        result = error_set_errno(err, -EBUSY, "detach '%s'", device);
    else if (found)
        *found = (struct fake_device){0};
    return fake_call_end(fake, "loop_detach", result, err);
}

static int loop_refresh(struct host *host, const char *device, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (!begin_on(fake, "loop_refresh", device, err))
        return -1;
    struct fake_device *found = fake_device_find(fake, device);
    found->size_bytes = daemon_of(fake, found->file)->size_bytes;
    return fake_call_end(fake, "loop_refresh", 0, err);
}

static int set_size(struct host *host, const char *path, uint64_t size_bytes, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (fake_call_begin(fake, "set_size", err) < 0)
        return -1;
    struct fake_daemon *daemon = daemon_of(fake, path);
    assert(daemon);
    daemon->size_bytes = size_bytes;
    fake_image_of(fake, daemon->spec)->size_bytes = size_bytes;
    return fake_call_end(fake, "set_size", 0, err);
}

static int daemon_list(struct host *host, const char *program, const char *argument,
                       struct string_list *pids, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    assert(strcmp(program, "rbd-nbd") == 0);
    if (fake_call_begin(fake, "daemon_list", err) < 0)
        return -1;
    for (size_t i = 0; i < FAKE_ITEMS_MAX; i++) {
        const struct fake_device *device = &fake->devices[i];

        if (device->pid && strstr(device->spec, argument)) {
            _cleanup_free_ char *pid = xasprintf("%u", device->pid);

            string_list_add(pids, pid);
        }
    }
    return fake_call_end(fake, "daemon_list", 0, err);
}

static int daemon_is_running(struct host *host, const char *program, const char *argument,
                             bool *running, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (fake_call_begin(fake, "daemon_is_running", err) < 0)
        return -1;
    *running = strcmp(program, "ceph-fuse") == 0 ? fake_cephfs_is_running(fake, argument)
                                                 : daemon_of(fake, argument) != NULL;
    return fake_call_end(fake, "daemon_is_running", 0, err);
}

static int daemon_stop(struct host *host, const char *program, const char *argument,
                       struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    (void)program;
    if (fake_call_begin(fake, "daemon_stop", err) < 0)
        return -1;
    struct fake_daemon *daemon = daemon_of(fake, argument);
    if (daemon)
        *daemon = fake->daemons[--fake->daemon_count];
    return fake_call_end(fake, "daemon_stop", 0, err);
}

void fake_host_map_foreign_nbd(struct fake_host *fake, const char *spec, const char *cookie,
                               unsigned pid)
{
    struct fake_device *device = add_device(fake, "nbd", spec);

    device->first_pid = pid;
    SET(device->cookie, cookie);
}

void fake_host_start_nbd(struct fake_host *fake, const char *spec, const char *cookie)
{
    struct fake_device *device = add_device(fake, "nbd", spec);

    device->pid = ++fake->last_pid;
    device->first_pid = device->pid;
    device->is_starting = true;
    SET(device->cookie, cookie);
}

void fake_host_connect_nbd(struct fake_host *fake)
{
    for (size_t i = 0; i < FAKE_ITEMS_MAX; i++)
        fake->devices[i].is_starting = false;
}

void fake_host_hide_pids(struct fake_host *fake)
{
    fake->has_own_pids = true;
}

static bool daemons_survive(struct host *host, char **reason)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (!string_list_has(&fake->lacking, "cgroup"))
        return true;
    *reason = xstrdup("there is no cgroup");
    return false;
}

static int daemon_detach(struct host *host, const char *program, const char *argument,
                         struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (fake_call_begin(fake, "daemon_detach", err) < 0)
        return -1;
    if (strcmp(program, "ceph-fuse") == 0)
        fake_cephfs_detach(fake, argument);
    else
        for (size_t i = 0; i < FAKE_ITEMS_MAX; i++)
            if (fake->devices[i].pid && strstr(fake->devices[i].spec, argument))
                fake->devices[i].is_detached = !string_list_has(&fake->lacking, "cgroup");
    return fake_call_end(fake, "daemon_detach", 0, err);
}

static void kill_daemons(struct fake_host *fake, bool spare_detached)
{
    fake->daemon_count = 0;
    fake_cephfs_kill(fake, spare_detached);
    for (size_t i = 0; i < FAKE_ITEMS_MAX; i++)
        if (!spare_detached || !fake->devices[i].is_detached)
            fake->devices[i].pid = 0;
}

void fake_host_kill_daemons(struct fake_host *fake)
{
    kill_daemons(fake, false);
}

void fake_host_kill_container(struct fake_host *fake)
{
    kill_daemons(fake, true);
}

static int converse(struct host *host, const char *socket, const char *const *lines,
                    const char *mark, char **reply, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    (void)socket, (void)lines, (void)mark;
    if (fake_call_begin(fake, "converse", err) < 0)
        return -1;
    uint64_t size = fake->daemon_count ? fake_image_of(fake, fake->daemons[0].spec)->size_bytes : 0;
    if (fake_call_end(fake, "converse", 0, err) < 0)
        return -1;
    *reply = xasprintf("{\"return\":[{\"node-name\":\"image\",\"image\":{\"virtual-size\":1}},"
                       "{\"node-name\":\"fresh\",\"image\":{\"virtual-size\":%llu}}]}",
                       (unsigned long long)size);
    return 0;
}

/* --- /sys --- */

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
    struct fake_device *device = add_device(fake, "rbd", spec);
    device->read_only = strstr(options, ",ro");
    SET(device->fsid, FAKE_CEPH_FSID);
    snprintf(device->image_id, sizeof(device->image_id), "fa4e%08zx",
             (size_t)(fake_image_of(fake, spec) - fake->images) + 1);
}

void fake_host_map_foreign(struct fake_host *fake, const char *spec, const char *fsid,
                           const char *image_id)
{
    struct fake_device *device = add_device(fake, "rbd", spec);

    SET(device->fsid, fsid);
    SET(device->image_id, image_id);
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
        SET(file->content, "");
    else
        snprintf(file->content, sizeof(file->content), "%s\n", text);
    return fake_call_end(fake, "cgroup_write", result, err);
}

/* --- programs --- */

static int process_arguments(struct host *host, const char *pid, struct string_list *arguments,
                             struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (fake_call_begin(fake, "process_arguments", err) < 0)
        return -1;
    for (size_t i = 0; i < FAKE_ITEMS_MAX; i++) {
        const struct fake_device *device = &fake->devices[i];
        _cleanup_free_ char *cookie = xasprintf("--cookie=%s", device->cookie);

        if (device->pid == 0 || device->pid != strtoul(pid, NULL, 10))
            continue;
        string_list_add(arguments, "/usr/bin/rbd-nbd");
        string_list_add(arguments, device->pid == device->first_pid ? "map" : "attach");
        string_list_add(arguments, device->spec);
        if (device->cookie[0])
            string_list_add(arguments, cookie);
    }
    return fake_call_end(fake, "process_arguments", 0, err);
}

static const char *argument_with(const char *const *argv, const char *text)
{
    for (size_t i = 0; argv[i]; i++)
        if (strstr(argv[i], text))
            return argv[i];
    return NULL;
}

static void run_storage_daemon(struct fake_host *fake, const char *const *argv)
{
    json_auto_t *image = json_loads(argument_with(argv, "\"driver\""), 0, NULL);
    json_auto_t *export = json_loads(argument_with(argv, "\"mountpoint\""), 0, NULL);
    const char *file = json_string_value(json_object_get(export, "mountpoint"));
    const char *name_space = json_string_value(json_object_get(image, "namespace"));
    struct fake_daemon *daemon = &fake->daemons[fake->daemon_count++];
    char spec[FAKE_NAME_MAX];

    snprintf(spec, sizeof(spec), "%s%s%s/%s", json_string_value(json_object_get(image, "pool")),
             name_space ? "/" : "", name_space ? name_space : "",
             json_string_value(json_object_get(image, "image")));
    *daemon = (struct fake_daemon){.size_bytes = fake_image_of(fake, spec)->size_bytes};
    SET(daemon->file, file);
    SET(daemon->spec, spec);
    fake_mount_add(fake, file, "fuse", "fuse", false);
    char socket[FAKE_NAME_MAX] = "";
    sscanf(argument_with(argv, "path="), "socket,id=qmp,path=%511[^,]", socket);
    fake_path_add(fake, socket, PATH_OTHER);
}

/* A new device, or one that has lost its process and is known by its cookie. Its size is what the
 * image has now: rbd-nbd 16.2 does not tell the kernel of a new one. */
static int serve_nbd(struct fake_host *fake, const char *const *argv, const char *spec,
                     struct subprocess_result *result, struct error *err)
{
    const char *cookie = argument_with(argv, "--cookie=");
    const char *name = argument_with(argv, "/dev/nbd");
    struct fake_device *device = name ? fake_device_find(fake, name) : NULL;

    if (name && (!device || !cookie || strcmp(device->cookie, cookie + strlen("--cookie=")) != 0))
        return error_set(err, STATUS_INTERNAL, "rbd-nbd: cookie mismatch");
    if (!device)
        device = add_device(fake, "nbd", spec);
    device->pid = ++fake->last_pid;
    device->is_detached = false;
    device->first_pid = device->first_pid ? device->first_pid : device->pid;
    device->size_bytes = fake_image_of(fake, spec)->size_bytes;
    device->read_only = argument_with(argv, "--read-only");
    SET(device->cookie, cookie ? cookie + strlen("--cookie=") : "");
    result->output = (struct text)TEXT_INIT(64);
    text_addf(&result->output, "%s\n", device->name);
    return 0;
}

static int run_nbd(struct fake_host *fake, const char *const *argv,
                   struct subprocess_result *result, struct error *err)
{
    if (argument_with(argv, "unmap")) {
        struct fake_device *device = fake_device_find(fake, argv[2]);

        if (fake_mount_uses(fake, argv[2]))
            return error_set(err, STATUS_INTERNAL, "rbd-nbd: device busy");
        if (!device || !device->pid || fake->has_own_pids) /* finds no process */
            return error_set(err, STATUS_INTERNAL, "rbd-nbd: %s is not mapped", argv[2]);
        *device = (struct fake_device){0};
        return 0;
    }
    for (size_t i = 0; argv[i]; i++)
        if (fake_image_of(fake, argv[i]))
            return serve_nbd(fake, argv, argv[i], result, err);
    return error_set(err, STATUS_INTERNAL, "rbd-nbd: no such image");
}

/* mkfs, fsck and the growers: the device is the last argument, or behind the mount point. */
static int run_filesystem(struct fake_host *fake, const char *const *argv, struct error *err)
{
    const char *last = NULL;

    for (size_t i = 0; argv[i]; i++)
        last = argv[i];
    assert(last);
    const struct fake_mount *mount = fake_mount_top(fake, last);
    const struct fake_device *device = fake_device_find(fake, mount ? mount->source : last);
    if (!device)
        return error_set(err, STATUS_INTERNAL, "%s: no such device '%s'", argv[0], last);
    struct fake_host_image *image = fake_image_of(fake, device->spec);
    if (strncmp(argv[0], "mkfs.", 5) == 0) {
        const char *uuid = argv[3]; /* -U UUID, -m uuid=UUID */

        assert(uuid);
        SET(image->fs_type, argv[0] + 5);
        SET(image->fs_uuid, strchr(uuid, '=') ? strchr(uuid, '=') + 1 : uuid);
        image->has_bytes = true;
        image->is_never_mounted = true;
    }
    if (strcmp(argv[0], "e2fsck") != 0)
        image->fs_bytes = fake_device_size(fake, device);
    return 0;
}

static int run_one(struct fake_host *fake, const char *const *argv,
                   struct subprocess_result *result, struct error *err)
{
    assert(argv[0]);
    if (strcmp(argv[0], "modprobe") == 0)
        return string_list_has(&fake->lacking, argv[1])
                   ? error_set(err, STATUS_INTERNAL, "modprobe: module %s not found", argv[1])
                   : 0;
    if (strcmp(argv[0], "qemu-storage-daemon") == 0) {
        run_storage_daemon(fake, argv);
        return 0;
    }
    if (strcmp(argv[0], "ceph-fuse") == 0)
        return fake_cephfs_run(fake, argv, err);
    if (strcmp(argv[0], "rbd-nbd") == 0)
        return run_nbd(fake, argv, result, err);
    return run_filesystem(fake, argv, err);
}

/* Until it is let go, or told to end. */
static bool wait_while_held(struct fake_host *fake, const struct subprocess *program)
{
    assert(program->argv[0]);
    while (fake->held && strncmp(program->argv[0], fake->held, strlen(fake->held)) == 0) {
        struct pollfd cancel = {.fd = program->cancel_fd ? program->cancel_fd : -1,
                                .events = POLLIN};

        pthread_mutex_unlock(&fake->lock);
        int cancelled = poll(&cancel, 1, 1);
        pthread_mutex_lock(&fake->lock);
        if (cancelled > 0)
            return false;
    }
    return true;
}

void fake_host_hold_program(struct fake_host *fake, const char *program)
{
    pthread_mutex_lock(&fake->lock);
    fake->held = program;
    pthread_mutex_unlock(&fake->lock);
}

static int run(struct host *host, const struct subprocess *program,
               struct subprocess_result *result, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    _cleanup_text_ struct text command = TEXT_INIT(65536);

    if (fake_call_begin(fake, program->argv[0], err) < 0)
        return -1;
    for (size_t i = 0; program->argv[i]; i++)
        text_addf(&command, "%s%s", i ? " " : "", program->argv[i]);
    string_list_add(&fake->commands, text_chars(&command));
    if (!wait_while_held(fake, program)) {
        result->was_cancelled = true;
        error_set(err, STATUS_CANCELLED, "%s was cancelled", program->argv[0]);
        return fake_call_end(fake, program->argv[0], -1, err);
    }
    int outcome = run_one(fake, program->argv, result, err);
    return fake_call_end(fake, program->argv[0], outcome, err);
}

unsigned fake_host_runs(struct fake_host *fake, const char *program)
{
    unsigned count = 0;

    for (size_t i = 0; i < fake->commands.count; i++)
        if (strncmp(fake->commands.items[i], program, strlen(program)) == 0)
            count++;
    return count;
}

bool fake_host_saw_argument(struct fake_host *fake, const char *text)
{
    for (size_t i = 0; i < fake->commands.count; i++)
        if (strstr(fake->commands.items[i], text))
            return true;
    return false;
}

void fake_host_device_ops(struct host_ops *ops)
{
    ops->set_size = set_size;
    ops->device_facts = device_facts;
    ops->device_content = device_content;
    ops->device_is_zero = device_is_zero;
    ops->device_read = device_read;
    ops->nbd_resize = nbd_resize;
    ops->nbd_disconnect = nbd_disconnect;
    ops->loop_find = loop_find;
    ops->loop_attach = loop_attach;
    ops->loop_detach = loop_detach;
    ops->loop_refresh = loop_refresh;
    ops->sysfs_read = sysfs_read;
    ops->sysfs_list = sysfs_list;
    ops->sysfs_write = sysfs_write;
    ops->refuses_key_type = refuses_key_type;
    ops->cgroup_read = cgroup_read;
    ops->cgroup_write = cgroup_write;
    ops->run = run;
    ops->process_arguments = process_arguments;
    ops->daemon_list = daemon_list;
    ops->daemon_is_running = daemon_is_running;
    ops->daemon_stop = daemon_stop;
    ops->daemons_survive = daemons_survive;
    ops->daemon_detach = daemon_detach;
    ops->converse = converse;
}
