/* Images, devices and daemons of the fake machine. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/base/memory.h"
#include "tests/fakes/fake_host_state.h"

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
    FAKE_SET(image->spec, spec);
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
        FAKE_SET(image->partition_table, content);
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

struct fake_device *fake_device_add(struct fake_host *fake, const char *kind, const char *spec)
{
    for (size_t i = 0; i < FAKE_ITEMS_MAX; i++) {
        char name[32];

        snprintf(name, sizeof(name), "/dev/%s%zu", kind, i);
        if (fake->devices[i].name[0] || fake_device_find(fake, name))
            continue;
        fake->devices[i] = (struct fake_device){0};
        FAKE_SET(fake->devices[i].name, name);
        FAKE_SET(fake->devices[i].spec, spec);
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
    FAKE_SET(content->fs_type, image->fs_type);
    FAKE_SET(content->fs_uuid, image->fs_uuid);
    FAKE_SET(content->partition_table, image->partition_table);
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
    struct fake_device *added = fake_device_add(fake, "loop", daemon->spec);
    FAKE_SET(added->file, file);
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
    struct fake_device *device = fake_device_add(fake, "nbd", spec);

    device->first_pid = pid;
    FAKE_SET(device->cookie, cookie);
}

void fake_host_start_nbd(struct fake_host *fake, const char *spec, const char *cookie)
{
    struct fake_device *device = fake_device_add(fake, "nbd", spec);

    device->pid = ++fake->last_pid;
    device->first_pid = device->pid;
    device->is_starting = true;
    FAKE_SET(device->cookie, cookie);
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
    ops->daemon_list = daemon_list;
    ops->daemon_is_running = daemon_is_running;
    ops->daemon_stop = daemon_stop;
    ops->daemons_survive = daemons_survive;
    ops->daemon_detach = daemon_detach;
    ops->converse = converse;
}
