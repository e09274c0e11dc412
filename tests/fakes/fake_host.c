#include "common/linux/kernel_key_types.h"
#include "tests/fakes/fake_host_state.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/base/memory.h"

void fake_set_text(char *to, size_t size, const char *text)
{
    assert(strlen(text) < size);
    snprintf(to, size, "%s", text);
}

#define KEY_FILE "/run/cephzone/keys/key"
/* --- faults --- */

static int fail_crashed(const char *name, struct error *err)
{
    error_set_errno(err, -ECONNABORTED, "the process crashed before %s returned", name);
    return error_recode(err, STATUS_CANCELLED);
}

static bool is_crashed(struct fake_host *fake)
{
    return fake->crashed || (fake->ceph && fake_ceph_has_crashed(fake->ceph));
}

int fake_call_begin(struct fake_host *fake, const char *name, struct error *err)
{
    pthread_mutex_lock(&fake->lock);
    if (is_crashed(fake)) {
        pthread_mutex_unlock(&fake->lock);
        return fail_crashed(name, err);
    }
    fake->calls++;
    if (fake->calls != fake->fail_at ||
        (fake->failure != FAKE_FAIL_BEFORE && fake->failure != FAKE_CRASH_BEFORE))
        return 0;
    fake->faults++;
    fake->crashed = fake->failure == FAKE_CRASH_BEFORE;
    bool crashed = fake->crashed;
    pthread_mutex_unlock(&fake->lock);
    if (crashed)
        return fail_crashed(name, err);
    return error_set_errno(err, -EIO, "%s was made to fail", name);
}

int fake_call_end(struct fake_host *fake, const char *name, int result, struct error *err)
{
    bool strikes = fake->calls == fake->fail_at;
    bool crashes = strikes && fake->failure == FAKE_CRASH_AFTER;

    fake->faults += strikes;
    fake->crashed = fake->crashed || crashes;
    pthread_mutex_unlock(&fake->lock);
    if (!strikes)
        return result;
    if (result < 0)
        error_clear(err);
    if (crashes)
        return fail_crashed(name, err);
    error_set_errno(err, -ETIMEDOUT, "the answer of %s was made to get lost", name);
    return error_recode(err, STATUS_DEADLINE_EXCEEDED);
}

void fake_host_fail_call(struct fake_host *fake, unsigned n, enum fake_failure failure)
{
    fake->calls = 0;
    fake->fail_at = n;
    fake->failure = failure;
}

bool fake_host_fault_is_pending(struct fake_host *fake)
{
    return fake->fail_at > fake->calls;
}

unsigned fake_host_faults(struct fake_host *fake)
{
    return fake->faults;
}

void fake_host_recover(struct fake_host *fake)
{
    fake->crashed = false;
    fake->fail_at = 0;
}

/* --- files --- */

struct fake_path *fake_path_find(struct fake_host *fake, const char *path)
{
    for (size_t i = 0; i < fake->path_count; i++)
        if (strcmp(fake->paths[i].path, path) == 0)
            return &fake->paths[i];
    return NULL;
}

struct fake_path *fake_path_add(struct fake_host *fake, const char *path, enum path_kind kind)
{
    struct fake_path *found = fake_path_find(fake, path);

    if (found)
        return found;
    assert(fake->path_count < FAKE_ITEMS_MAX);
    found = &fake->paths[fake->path_count++];
    *found = (struct fake_path){.kind = kind};
    FAKE_SET(found->path, path);
    return found;
}

void fake_path_remove(struct fake_host *fake, const char *path)
{
    struct fake_path *found = fake_path_find(fake, path);

    if (found)
        *found = fake->paths[--fake->path_count];
}

static int look(struct host *host, const char *path, struct path_facts *facts, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (fake_call_begin(fake, "look", err) < 0)
        return -1;
    const struct fake_mount *mount = fake_mount_top(fake, path);
    const struct fake_path *entry = fake_path_find(fake, path);
    struct path_facts found = {.kind = entry ? entry->kind : PATH_ABSENT};
    const int sickness = fake_mount_sickness(fake, mount);
    if (sickness) {
        error_set_errno(err, -sickness, "look at '%s'", path);
        return fake_call_end(fake, "look", -1, err);
    }
    if (mount) {
        found = (struct path_facts){
            .kind = mount->fs_type[0] ? PATH_DIRECTORY : PATH_BLOCK_DEVICE,
            .is_mount_point = true,
            .is_read_only = mount->read_only,
            .device = fake_mount_device(mount),
        };
        for (size_t i = 0; i < fake->daemon_count; i++)
            if (strcmp(fake->daemons[i].file, path) == 0)
                found = (struct path_facts){.kind = PATH_FILE,
                                            .is_mount_point = true,
                                            .size_bytes = fake->daemons[i].size_bytes};
    }
    if (fake_call_end(fake, "look", 0, err) < 0)
        return -1;
    *facts = found;
    return 0;
}

static int make(struct host *host, const char *path, enum path_kind kind, const char *name,
                struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    int result = 0;

    if (fake_call_begin(fake, name, err) < 0)
        return -1;
    if (fake_path_add(fake, path, kind)->kind != kind)
        result = error_set(err, STATUS_ALREADY_EXISTS, "'%s' is something else", path);
    return fake_call_end(fake, name, result, err);
}

static int make_directory(struct host *host, const char *path, mode_t mode, struct error *err)
{
    (void)mode;
    return make(host, path, PATH_DIRECTORY, "make_directory", err);
}

static int make_file(struct host *host, const char *path, mode_t mode, struct error *err)
{
    (void)mode;
    return make(host, path, PATH_FILE, "make_file", err);
}

static bool has_entries(struct fake_host *fake, const char *path)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < fake->path_count; i++)
        if (strncmp(fake->paths[i].path, path, length) == 0 && fake->paths[i].path[length] == '/')
            return true;
    return false;
}

static int remove_path(struct host *host, const char *path, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    int result = 0;

    if (fake_call_begin(fake, "remove", err) < 0)
        return -1;
    if (fake_mount_top(fake, path) || has_entries(fake, path)) {
        result = error_set_errno(err, fake_mount_top(fake, path) ? -EBUSY : -ENOTEMPTY,
                                 "remove '%s'", path);
        error_recode(err, STATUS_FAILED_PRECONDITION);
    } else {
        fake_path_remove(fake, path);
    }
    return fake_call_end(fake, "remove", result, err);
}

static int list(struct host *host, const char *path, struct string_list *names, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    size_t length = strlen(path);

    if (fake_call_begin(fake, "list", err) < 0)
        return -1;
    for (size_t i = 0; i < fake->path_count; i++) {
        const char *name = fake->paths[i].path + length + 1;

        if (strncmp(fake->paths[i].path, path, length) == 0 && fake->paths[i].path[length] == '/' &&
            !strchr(name, '/'))
            string_list_add(names, name);
    }
    return fake_call_end(fake, "list", 0, err);
}

static int read_text(struct host *host, const char *path, char **text, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    *text = NULL;
    if (fake_call_begin(fake, "read_text", err) < 0)
        return -1;
    const struct fake_path *entry = fake_path_find(fake, path);
    char *found = entry ? xstrdup(entry->content) : NULL;
    if (strcmp(path, "/proc/filesystems") == 0)
        found = xasprintf("\text4\n%s%s",
                          string_list_has(&fake->lacking, "ceph") ? "" : "nodev\tceph\n",
                          string_list_has(&fake->lacking, "selinux") ? "" : "nodev\tselinuxfs\n");
    if (fake_call_end(fake, "read_text", 0, err) < 0) {
        free(found);
        return -1;
    }
    *text = found;
    return 0;
}

static int write_text(struct host *host, const char *path, const char *text, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (fake_call_begin(fake, "write_text", err) < 0)
        return -1;
    FAKE_SET(fake_path_add(fake, path, PATH_FILE)->content, text);
    return fake_call_end(fake, "write_text", 0, err);
}

static int write_key(struct host *host, const struct secret *key, char **path, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (fake_call_begin(fake, "write_key", err) < 0)
        return -1;
    FAKE_SET(fake_path_add(fake, KEY_FILE, PATH_FILE)->content, secret_reveal(key));
    if (fake_call_end(fake, "write_key", 0, err) < 0) {
        if (!fake->crashed)
            fake_path_remove(fake, KEY_FILE); /* after a failure the real one cleans up by itself */
        return -1;
    }
    *path = xstrdup(KEY_FILE);
    return 0;
}

static int lock_folder(struct host *host, const char *path, int *fd, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (fake_call_begin(fake, "lock_folder", err) < 0)
        return -1;
    bool is_locked = fake->locked && strcmp(fake->locked, path) == 0;
    if (fake_call_end(fake, "lock_folder", 0, err) < 0)
        return -1;
    *fd = is_locked ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
    return 0;
}

void fake_host_lock_folder(struct fake_host *fake, const char *path)
{
    pthread_mutex_lock(&fake->lock);
    fake->locked = path;
    pthread_mutex_unlock(&fake->lock);
}

static int set_group(struct host *host, const char *path, gid_t group, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (fake_call_begin(fake, "set_group", err) < 0)
        return -1;
    const struct fake_mount *mount = fake_mount_top(fake, path);
    int result = 0;
    if (mount && mount->read_only)
        result = error_set_errno(err, -EROFS, "give '%s' to a group", path);
    else
        fake_path_find(fake, path)->group = group;
    return fake_call_end(fake, "set_group", result, err);
}

static int usage(struct host *host, const char *path, struct usage *usage, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    (void)path;
    if (fake_call_begin(fake, "usage", err) < 0)
        return -1;
    *usage = (struct usage){.total_bytes = 100, .used_bytes = 40, .available_bytes = 60};
    if (fake->fs_bytes)
        usage->total_bytes = fake->fs_bytes;
    return fake_call_end(fake, "usage", 0, err);
}

static int trim(struct host *host, const char *path, uint64_t start, uint64_t length,
                uint64_t *freed_bytes, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    _cleanup_free_ char *piece =
        xasprintf("trim %s %llu %llu", path, (unsigned long long)start, (unsigned long long)length);
    int result = 0;

    if (fake_call_begin(fake, "trim", err) < 0)
        return -1;
    if (string_list_has(&fake->lacking, "discard"))
        result = error_set(err, STATUS_UNIMPLEMENTED, "discard blocks of '%s'", path);
    else
        string_list_add(&fake->commands, piece);
    *freed_bytes = 60;
    return fake_call_end(fake, "trim", result, err);
}

void fake_host_set_fs_size(struct fake_host *fake, uint64_t size_bytes)
{
    fake->fs_bytes = size_bytes;
}

static int ask_folder(struct host *host, const char *path, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    int result = 0;

    if (fake_call_begin(fake, "ask_folder", err) < 0)
        return -1;
    const int sickness = fake_mount_sickness(fake, fake_mount_top(fake, path));
    if (sickness)
        result = error_set_errno(err, -sickness, "ask the file system of '%s'", path);
    return fake_call_end(fake, "ask_folder", result, err);
}

/* --- mounts --- */

struct fake_mount *fake_mount_top(struct fake_host *fake, const char *target)
{
    for (size_t i = fake->mount_count; i > 0; i--)
        if (strcmp(fake->mounts[i - 1].target, target) == 0)
            return &fake->mounts[i - 1];
    return NULL;
}

int fake_mount_sickness(struct fake_host *fake, const struct fake_mount *mount)
{
    if (mount && fake_cephfs_is_dead(fake, mount))
        return ENOTCONN;
    return mount ? mount->sickness : 0;
}

void fake_host_fence(struct fake_host *fake, int number)
{
    pthread_mutex_lock(&fake->lock);
    for (size_t i = 0; i < fake->mount_count; i++)
        if (fake->mounts[i].fs_type[0])
            fake->mounts[i].sickness = number;
    pthread_mutex_unlock(&fake->lock);
}

void fake_mount_add(struct fake_host *fake, const char *target, const char *source,
                    const char *fs_type, bool read_only)
{
    struct fake_mount *mount = &fake->mounts[fake->mount_count++];

    assert(fake->mount_count < FAKE_ITEMS_MAX);
    *mount = (struct fake_mount){.read_only = read_only};
    FAKE_SET(mount->target, target);
    FAKE_SET(mount->source, source);
    FAKE_SET(mount->fs_type, fs_type);
}

void fake_mount_options(struct fake_mount *mount, const struct mount_request *request)
{
    char options[FAKE_NAME_MAX] = "";
    size_t length = 0;

    for (size_t i = 0; request->flags && i < request->flags->count; i++)
        length += (size_t)snprintf(options + length, sizeof(options) - length, "%s%s",
                                   length ? "," : "", request->flags->items[i]);
    FAKE_SET(mount->options, options);
}

bool fake_mount_uses(struct fake_host *fake, const char *source)
{
    for (size_t i = 0; i < fake->mount_count; i++)
        if (strcmp(fake->mounts[i].source, source) == 0)
            return true;
    return false;
}

bool fake_mount_holds(struct fake_host *fake, const char *source)
{
    for (size_t i = 0; i < fake->mount_count; i++)
        if (strcmp(fake->mounts[i].source, source) == 0 && fake->mounts[i].fs_type[0])
            return true;
    return false;
}

static int list_mounts(struct host *host, struct mount_list *mounts, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (fake_call_begin(fake, "list_mounts", err) < 0)
        return -1;
    mounts->items = xcalloc(fake->mount_count + 1, sizeof(*mounts->items));
    for (size_t i = 0; i < fake->mount_count; i++) {
        const struct fake_mount *mount = &fake->mounts[i];
        bool is_device = mount->fs_type[0] == '\0';

        mounts->items[mounts->count++] = (struct mount_entry){
            .device = is_device ? makedev(0, 5) : fake_mount_device(mount),
            .root = xstrdup(is_device        ? mount->source + strlen("/dev")
                            : mount->root[0] ? mount->root
                                             : "/"),
            .target = xstrdup(mount->target),
            .fs_type = xstrdup(is_device ? "devtmpfs" : mount->fs_type),
            .source = xstrdup(is_device ? "devtmpfs" : mount->source),
            .options = xstrdup(mount->options),
            .flags = xstrdup(mount->read_only ? "ro,relatime" : "rw,relatime"),
        };
    }
    return fake_call_end(fake, "list_mounts", 0, err);
}

static bool asks_for(const struct mount_request *request, const char *flag)
{
    return request->flags && string_list_has(request->flags, flag);
}

static int mount_device(struct fake_host *fake, const struct mount_request *request,
                        struct error *err)
{
    const struct fake_device *device = fake_device_find(fake, request->device);
    struct fake_host_image *image = device ? fake_image_of(fake, device->spec) : NULL;

    if (!image || strcmp(image->fs_type, request->fs_type) != 0)
        return error_set_errno(err, -EINVAL, "mount '%s'", request->device);
    const bool read_only = request->read_only || asks_for(request, "ro");
    image->is_never_mounted = image->is_never_mounted && read_only;
    fake_mount_add(fake, request->target, request->device, request->fs_type, read_only);
    fake_mount_options(&fake->mounts[fake->mount_count - 1], request);
    return 0;
}

dev_t fake_mount_device(const struct fake_mount *mount)
{
    return mount->client ? makedev(0, 100 + mount->client) : fake_device_number(mount->source);
}

static void bind_volume(struct fake_host *fake, const struct mount_request *request)
{
    const struct fake_mount *top = fake_mount_top(fake, request->source);
    const struct fake_mount *above = top ? NULL : fake_cephfs_above(fake, request->source);
    struct fake_mount of = top ? *top : above ? *above : (struct fake_mount){0};

    if (above)
        FAKE_SET(of.root, request->source + strlen(above->target));
    fake_mount_add(fake, request->target, top || above ? of.source : request->source, of.fs_type,
                   request->read_only || of.read_only || asks_for(request, "ro"));
    struct fake_mount *added = &fake->mounts[fake->mount_count - 1];
    FAKE_SET(added->root, of.root);
    FAKE_SET(added->options, of.options);
    added->client = of.client;
}

static int mount_volume(struct host *host, const struct mount_request *request, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;
    int result = 0;

    if (fake_call_begin(fake, "mount", err) < 0)
        return -1;
    if (request->secret && fake_kernel_refuses(fake, secret_reveal(request->secret)))
        result = error_set_errno(err, -KERNEL_ENOTSUPP, "mount '%s'", request->target);
    else if (request->device && strcmp(request->fs_type, "ceph") == 0)
        fake_cephfs_mount(fake, request);
    else if (request->device)
        result = mount_device(fake, request, err);
    else if (request->source)
        bind_volume(fake, request);
    else
        fake_mount_top(fake, request->target)->read_only =
            request->read_only || asks_for(request, "ro");
    return fake_call_end(fake, "mount", result, err);
}

static int unmount(struct host *host, const char *target, bool lazily, struct error *err)
{
    struct fake_host *fake = (struct fake_host *)host;

    if (fake_call_begin(fake, "unmount", err) < 0)
        return -1;
    if (fake->busy_unmounts > 0 && !lazily) {
        fake->busy_unmounts--;
        return fake_call_end(fake, "unmount", error_set_errno(err, -EBUSY, "unmount '%s'", target),
                             err);
    }
    const struct fake_mount *mount = fake_mount_top(fake, target);
    if (mount) {
        size_t i = (size_t)(mount - fake->mounts);

        memmove(&fake->mounts[i], &fake->mounts[i + 1],
                (fake->mount_count - i - 1) * sizeof(*mount));
        fake->mount_count--;
    }
    return fake_call_end(fake, "unmount", 0, err);
}

void fake_host_keep_busy(struct fake_host *fake, unsigned count)
{
    pthread_mutex_lock(&fake->lock);
    fake->busy_unmounts = count;
    pthread_mutex_unlock(&fake->lock);
}

/* --- the whole --- */

struct fake_host *fake_host_new(struct fake_ceph *ceph)
{
    struct fake_host *fake = xcalloc(1, sizeof(*fake));

    fake->ops = (struct host_ops){
        .look = look,
        .make_directory = make_directory,
        .make_file = make_file,
        .remove = remove_path,
        .list = list,
        .read_text = read_text,
        .write_text = write_text,
        .write_key = write_key,
        .lock_folder = lock_folder,
        .set_group = set_group,
        .usage = usage,
        .trim = trim,
        .ask_folder = ask_folder,
        .list_mounts = list_mounts,
        .mount = mount_volume,
        .unmount = unmount,
    };
    fake_host_device_ops(&fake->ops);
    fake_host_sysfs_ops(&fake->ops);
    fake_host_program_ops(&fake->ops);
    fake->base.ops = &fake->ops;
    fake->ceph = ceph;
    pthread_mutex_init(&fake->lock, NULL);
    return fake;
}

void fake_host_free(struct fake_host *fake)
{
    string_list_done(&fake->lacking);
    string_list_done(&fake->commands);
    pthread_mutex_destroy(&fake->lock);
    free(fake);
}

struct host *fake_host_as_host(struct fake_host *fake)
{
    return &fake->base;
}

void fake_host_lack(struct fake_host *fake, const char *driver)
{
    string_list_add(&fake->lacking, driver);
}

void fake_host_add_folder(struct fake_host *fake, const char *path)
{
    fake_path_add(fake, path, PATH_DIRECTORY);
}

void fake_host_add_file(struct fake_host *fake, const char *path, const char *content)
{
    FAKE_SET(fake_path_add(fake, path, PATH_FILE)->content, content);
}

void fake_host_add_mount(struct fake_host *fake, const char *target, const char *source)
{
    fake_path_add(fake, target, PATH_DIRECTORY);
    fake_mount_add(fake, target, source, "ext4", false);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void fake_host_dump(struct fake_host *fake, struct text *out)
{
    _cleanup_string_list_ struct string_list lines = {0};
    char line[8192];

#define LINE(...)                                                                                  \
    do {                                                                                           \
        snprintf(line, sizeof(line), __VA_ARGS__);                                                 \
        string_list_add(&lines, line);                                                             \
    } while (0)
    for (size_t i = 0; i < fake->path_count; i++)
        LINE("path %s %d %s %u", fake->paths[i].path, (int)fake->paths[i].kind,
             fake->paths[i].content, fake->paths[i].group);
    for (size_t i = 0; i < fake->mount_count; i++)
        LINE("mount %s %s%s %s %d %s", fake->mounts[i].target, fake->mounts[i].source,
             fake->mounts[i].root, fake->mounts[i].fs_type, fake->mounts[i].read_only,
             fake->mounts[i].options);
    for (size_t i = 0; i < fake->image_count; i++)
        LINE("image %s %llu %s %llu", fake->images[i].spec,
             (unsigned long long)fake->images[i].size_bytes, fake->images[i].fs_type,
             (unsigned long long)fake->images[i].fs_bytes);
    for (size_t i = 0; i < FAKE_ITEMS_MAX; i++)
        if (fake->devices[i].name[0])
            LINE("device %s %s %s %llu %d", fake->devices[i].name, fake->devices[i].spec,
                 fake->devices[i].file,
                 (unsigned long long)fake_device_size(fake, &fake->devices[i]),
                 fake->devices[i].read_only);
    for (size_t i = 0; i < fake->daemon_count; i++)
        LINE("daemon %s %s", fake->daemons[i].file, fake->daemons[i].spec);
    if (lines.count)
        qsort(lines.items, lines.count, sizeof(char *), compare_lines);
    for (size_t i = 0; i < lines.count; i++)
        text_addf(out, "%s\n", lines.items[i]);
}
