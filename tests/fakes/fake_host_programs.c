/* Programs that are run on the fake machine. */
#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "tests/fakes/fake_host_state.h"

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
    FAKE_SET(daemon->file, file);
    FAKE_SET(daemon->spec, spec);
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
        device = fake_device_add(fake, "nbd", spec);
    device->pid = ++fake->last_pid;
    device->is_detached = false;
    device->first_pid = device->first_pid ? device->first_pid : device->pid;
    device->size_bytes = fake_image_of(fake, spec)->size_bytes;
    device->read_only = argument_with(argv, "--read-only");
    FAKE_SET(device->cookie, cookie ? cookie + strlen("--cookie=") : "");
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
        FAKE_SET(image->fs_type, argv[0] + 5);
        FAKE_SET(image->fs_uuid, strchr(uuid, '=') ? strchr(uuid, '=') + 1 : uuid);
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

void fake_host_program_ops(struct host_ops *ops)
{
    ops->run = run;
    ops->process_arguments = process_arguments;
}
