/* CephFS on the fake machine: the kernel's client and ceph-fuse. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/fakes/fake_host_state.h"

static struct fake_cephfs_client *client_of(struct fake_host *fake, unsigned number)
{
    return number ? &fake->clients[number - 1] : NULL;
}

bool fake_cephfs_is_dead(struct fake_host *fake, const struct fake_mount *mount)
{
    const struct fake_cephfs_client *client = client_of(fake, mount->client);

    return client && client->is_dead;
}

static struct fake_mount *add(struct fake_host *fake, const char *target, const char *source,
                              bool is_fuse, bool read_only)
{
    struct fake_cephfs_client *client = &fake->clients[fake->client_count++];

    assert(fake->client_count < FAKE_ITEMS_MAX);
    *client = (struct fake_cephfs_client){.is_fuse = is_fuse};
    FAKE_SET(client->source, source);
    fake_mount_add(fake, target, source, is_fuse ? "fuse.ceph-fuse" : "ceph", read_only);
    struct fake_mount *mount = &fake->mounts[fake->mount_count - 1];
    mount->client = fake->client_count;
    return mount;
}

void fake_cephfs_mount(struct fake_host *fake, const struct mount_request *request)
{
    struct fake_mount *mount = add(fake, request->target, request->device, false,
                                   request->read_only || string_list_has(request->flags, "ro"));

    assert(request->secret && secret_is_set(request->secret));
    fake_mount_options(mount, request);
}

const struct fake_mount *fake_cephfs_above(struct fake_host *fake, const char *path)
{
    for (size_t i = fake->mount_count; i > 0; i--) {
        const struct fake_mount *mount = &fake->mounts[i - 1];
        size_t length = strlen(mount->target);

        if (mount->client && strncmp(mount->target, path, length) == 0 && path[length] == '/')
            return mount;
    }
    return NULL;
}

static const char *behind(const char *const *argv, const char *name)
{
    for (size_t i = 0; argv[i]; i++)
        if (strncmp(argv[i], name, strlen(name)) == 0)
            return argv[i][strlen(name)] ? argv[i] + strlen(name) : argv[i + 1];
    return NULL;
}

/* As libfuse reads them: what is behind a backslash is itself. */
static void take_options(const char *escaped, char *options, size_t size)
{
    size_t length = 0;

    for (const char *c = escaped; *c && length + 1 < size; c++) {
        c += *c == '\\';
        options[length++] = *c;
    }
    options[length] = '\0';
}

int fake_cephfs_run(struct fake_host *fake, const char *const *argv, struct error *err)
{
    char source[FAKE_NAME_MAX];
    char key[FAKE_NAME_MAX];

    if (string_list_has(&fake->lacking, "ceph-fuse"))
        return error_set_errno(err, -ENOENT, "run ceph-fuse");
    if (argv[1] && strcmp(argv[1], "--version") == 0)
        return 0;
    const char *options = behind(argv, "-o");
    const char *key_file = behind(argv, "--keyfile=");
    assert(options && sscanf(options, "fsname=%511[^,]", source) == 1);
    assert(key_file && fake_path_find(fake, key_file));
    FAKE_SET(key, fake_path_find(fake, key_file)->content);
    if (strcmp(key, "broken") == 0) /* as the real one does */
        return error_set(err, STATUS_INTERNAL, "ceph-fuse: failed to decode key '%s'", key);
    struct fake_mount *mount = add(fake, argv[1], source, true, strstr(options, ",ro"));
    take_options(options, mount->options, sizeof(mount->options));
    return 0;
}

/* A ceph-fuse ends when its last mount goes. */
bool fake_cephfs_is_running(struct fake_host *fake, const char *source)
{
    for (size_t i = 0; i < fake->mount_count; i++) {
        const struct fake_cephfs_client *client = client_of(fake, fake->mounts[i].client);

        if (client && client->is_fuse && !client->is_dead && strcmp(client->source, source) == 0)
            return true;
    }
    return false;
}

void fake_cephfs_detach(struct fake_host *fake, const char *source)
{
    for (unsigned i = 0; i < fake->client_count; i++)
        if (fake->clients[i].is_fuse && strcmp(fake->clients[i].source, source) == 0)
            fake->clients[i].is_detached = !string_list_has(&fake->lacking, "cgroup");
}

void fake_cephfs_kill(struct fake_host *fake, bool spare_detached)
{
    for (unsigned i = 0; i < fake->client_count; i++)
        if (fake->clients[i].is_fuse && !(spare_detached && fake->clients[i].is_detached))
            fake->clients[i].is_dead = true;
}
