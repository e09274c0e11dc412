#include "node/cephfs/cephfs_staged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "node/mount_table.h"

#define INFO_PREFIX "nodestage-"
#define INFO_SUFFIX ".json"
#define PAUSE_FIRST_MS 10
#define PAUSE_MAX_MS 500

/* --- the file --- */

static char *info_path(const struct node_volumes *volumes, const char *handle)
{
    return xasprintf("%s/" INFO_PREFIX "%s" INFO_SUFFIX, volumes->cephfs.mount_info_dir, handle);
}

char *cephfs_info_handle(const char *name)
{
    size_t length = strlen(name);
    const size_t around = strlen(INFO_PREFIX INFO_SUFFIX);

    if (length <= around || !text_has_prefix(name, INFO_PREFIX) ||
        !text_has_suffix(name, INFO_SUFFIX))
        return NULL;
    return xstrndup(name + strlen(INFO_PREFIX), length - around);
}

int cephfs_info_read(const struct node_volumes *volumes, const char *handle,
                     struct mount_info *info, bool *found, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_free_ char *path = info_path(volumes, handle);
    _cleanup_free_ char *text = NULL;

    if (host->ops->read_text(host, path, &text, err) < 0)
        return -1;
    if (text && mount_info_parse(text, info, err) < 0)
        return error_wrap(err, "'%s'", path);
    *found = text;
    return 0;
}

/* --- looking --- */

static int read_mount(struct host *host, struct cephfs_staged *staged, struct error *err)
{
    _cleanup_mount_list_ struct mount_list mounts = {0};
    const struct mount_entry *entry = NULL;

    if (mount_find(host, staged->path, &mounts, &entry, err) < 0)
        return -1;
    if (!entry)
        return 0;
    staged->is_mounted = true;
    staged->client = cephfs_client_of(entry);
    staged->source = xstrdup(entry->source);
    staged->root = xstrdup(entry->root);
    staged->device = entry->device;
    staged->is_shared = staged->client && staged->client->shares_device &&
                        !mount_option_is_set(entry->options, "noshare");
    return 0;
}

int cephfs_staged_look(const struct node_volumes *volumes, const char *handle,
                       const char *staging_path, struct cephfs_staged *out, struct error *err)
{
    struct host *host = volumes->mappers.host;
    _cleanup_cephfs_staged_ struct cephfs_staged staged = {
        .handle = handle,
        .info_path = info_path(volumes, handle),
    };

    if (cephfs_info_read(volumes, handle, &staged.info, &staged.has_info, err) < 0)
        return -1;
    staged.path = staging_path ? staging_path : staged.info.staging_path;
    if (staged.path && (look_at_mount(host, staged.path, &staged.facts, &staged.is_dead, err) < 0 ||
                        read_mount(host, &staged, err) < 0))
        return -1;
    *out = staged;
    staged = (struct cephfs_staged){0};
    return 0;
}

void cephfs_staged_done(struct cephfs_staged *staged)
{
    free(staged->info_path);
    mount_info_done(&staged->info);
    free(staged->source);
    free(staged->root);
    *staged = (struct cephfs_staged){0};
}

/* Whether what is mounted is what the file says. */
static bool is_as_recorded(const struct cephfs_staged *staged)
{
    _cleanup_free_ char *source = cephfs_fuse_source(staged->handle);

    return strcmp(staged->info.staging_path, staged->path) == 0 &&
           strcmp(staged->info.mounter, staged->client->name) == 0 &&
           strcmp(staged->info.root, staged->root) == 0 &&
           (!staged->client->names_handle || strcmp(staged->source, source) == 0);
}

bool cephfs_staged_is_complete(const struct cephfs_staged *staged)
{
    if (staged->is_dead || !staged->client)
        return false;
    return !staged->info.staging_path || is_as_recorded(staged);
}

int cephfs_staged_check(const struct cephfs_staged *staged, struct error *err)
{
    if (cephfs_staged_is_complete(staged))
        return 0;
    const char *fault = staged->is_dead       ? "the client that served it has died"
                        : !staged->is_mounted ? "nothing is mounted there"
                        : !staged->client     ? "what is mounted there is not CephFS"
                                              : "what is mounted there is not what was asked for";
    error_set(err, STATUS_FAILED_PRECONDITION, "volume '%s' is not staged at '%s': %s",
              staged->handle, staged->path, fault);
    return error_hint(err, "NodeStageVolume stages it");
}

int cephfs_staged_write(const struct node_volumes *volumes, const struct cephfs_staged *staged,
                        const struct stage_request *request, const struct cephfs_client *client,
                        const char *root, struct error *err)
{
    struct host *host = volumes->mappers.host;
    const struct mount_info info = {
        .capability = request->capability,
        .staging_path = request->staging_path,
        .mounter = (char *)(uintptr_t)client->name,
        .root = (char *)(uintptr_t)root,
        .context = request->context,
    };
    _cleanup_free_ char *text = mount_info_print(&info);

    return host->ops->write_text(host, staged->info_path, text, err);
}

/* --- taking down --- */

static int unmount_all(struct host *host, const struct cephfs_staged *staged, struct error *err)
{
    for (int i = 0; i < STACKED_MAX; i++) {
        _cleanup_cephfs_staged_ struct cephfs_staged top = {.path = staged->path};

        if (read_mount(host, &top, err) < 0)
            return -1;
        if (!top.is_mounted)
            return 0;
        if (!top.client)
            return error_set(err, STATUS_FAILED_PRECONDITION,
                             "'%s' is a mount of '%s', which is no CephFS", staged->path,
                             top.source);
        if (host->ops->unmount(host, staged->path, staged->is_dead, err) < 0)
            return -1;
    }
    return refuse_stacked(staged->path, err);
}

int cephfs_staged_unmount(const struct node_volumes *volumes, struct call *call,
                          const struct cephfs_staged *staged, struct error *err)
{
    struct host *host = volumes->mappers.host;
    struct deadline deadline = deadline_in_ms(volumes->cephfs.fuse_wait_ms);
    struct backoff backoff = BACKOFF_INIT(PAUSE_FIRST_MS, PAUSE_MAX_MS);
    bool running = false;

    for (;;) {
        const bool is_late = deadline_has_passed(deadline);
        /* again and again: one that a killed driver had begun may mount only now */
        bool busy = unmount_all(host, staged, err) < 0;

        if (busy) {
            /* A mount of ceph-fuse that was made a moment ago can be busy although nobody uses the
             * volume (probably ceph-fuse's own remount). */
            if (err->sys_errno != EBUSY || is_late)
                return -1;
            error_clear(err);
        }
        if (cephfs_fuse_is_running(host, staged->handle, &running, err) < 0)
            return -1;
        if (!busy && !running)
            return 0;
        if (is_late)
            return error_set(err, STATUS_UNAVAILABLE,
                             "its ceph-fuse still runs: it has not written back all that it holds");
        call_stage(call, "waiting {age} for ceph-fuse to write back what it holds");
        if (call_pause(call, backoff_next_ms(&backoff), err) < 0)
            return -1;
    }
}
