/*
 * Mounts with the kernel's client, by mount(2): the key is in the data of the call, as mount.ceph
 * gives it, and so in no process list. Each volume gets a client of its own (noshare), also where
 * two show the same directory: its device number then identifies the volume's mounts.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/cephfs_client.h"
#include "common/linux/key_file.h"
#include "common/linux/monitors.h"

#define MODPROBE_TIMEOUT_MS 10000
#define SOURCE_LIMIT ((size_t)16 * 1024)

/* Quotas, without which a volume has no size, came with 4.17, and with Red Hat's 3.10.0-1062. */
static bool keeps_quotas(const char *release)
{
    unsigned major = 0;
    unsigned minor = 0;
    unsigned build = 0;

    if (!release || sscanf(release, "%u.%u", &major, &minor) != 2)
        return false;
    if (sscanf(release, "3.10.0-%u", &build) == 1 && strstr(release, ".el7"))
        return build >= 1062;
    return major > 4 || (major == 4 && minor >= 17);
}

static bool kernel_is_usable(struct host *host, struct call *call, bool forced, char **reason)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *known = NULL;
    _cleanup_free_ char *release = NULL;
    const char *const argv[] = {"modprobe", "ceph", NULL};
    const struct subprocess modprobe = {
        .argv = argv,
        .deadline = deadline_earlier(call->deadline, deadline_in_ms(MODPROBE_TIMEOUT_MS))};

    if (host->ops->read_text(host, "/proc/filesystems", &known, &err) < 0)
        error_clear(&err);
    if (!(known && strstr(known, "\tceph\n")) && host->ops->run(host, &modprobe, NULL, &err) < 0) {
        *reason = xasprintf("the kernel has no CephFS client: %s", err.message);
        return false;
    }
    if (forced || host->ops->sysfs_read(host, "/proc/sys/kernel/osrelease", &release, &err) < 0)
        return true;
    if (!keeps_quotas(release)) {
        *reason = xasprintf("the CephFS client of kernel %s keeps no quotas, which came with 4.17 "
                            "(--forcecephkernelclient takes it all the same)",
                            release ? release : "?");
        return false;
    }
    return true;
}

static void add_option(struct string_list *options, const char *name, const char *value)
{
    _cleanup_free_ char *option = xasprintf("%s=%s", name, value);

    string_list_add(options, option);
}

static int kernel_mount(struct host *host, struct call *call, const struct cephfs_mount *mount,
                        struct error *err)
{
    _cleanup_string_list_ struct string_list options = {0};
    _cleanup_text_ struct text source = TEXT_INIT(SOURCE_LIMIT);
    _cleanup_text_ struct text asked = TEXT_INIT(SOURCE_LIMIT);
    bool needs_ms_mode = false;

    if (strpbrk(mount->user, ",\n") || strpbrk(mount->fs_name, ",\n")) /* would end an option */
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "user '%s' or file system '%s' has a name that the kernel's CephFS client "
                         "cannot be told; use mounter fuse",
                         mount->user, mount->fs_name);
    if (!key_is_plain(mount->key))
        return key_refuse(mount->user, err);
    if (call_check(call, err) < 0)
        return -1;
    for (size_t i = 0; i < mount->options->count; i++)
        text_addf(&asked, ",%s", mount->options->items[i]);
    kernel_monitors(mount->monitors, text_chars(&asked), &source, &needs_ms_mode);
    text_addf(&source, ":%s", mount->path);
    add_option(&options, "name", mount->user);
    if (mount->fs_name[0])
        add_option(&options, "mds_namespace", mount->fs_name);
    if (needs_ms_mode)
        string_list_add(&options, "ms_mode=prefer-crc");
    string_list_add(&options, "noshare");
    for (size_t i = 0; i < mount->options->count; i++)
        string_list_add(&options, mount->options->items[i]);
    call_stage(call, "waiting {age} for the kernel to mount '%s'", mount->path);
    if (host->ops->mount(host,
                         &(struct mount_request){.device = text_chars(&source),
                                                 .target = mount->target,
                                                 .fs_type = "ceph",
                                                 .flags = &options,
                                                 .secret = mount->key,
                                                 .read_only = mount->read_only},
                         err) == 0)
        return 0;
    if (err->sys_errno == ETIMEDOUT)
        error_recode(err, STATUS_DEADLINE_EXCEEDED);
    return -1;
}

const struct cephfs_client CEPHFS_KERNEL = {
    .name = "kernel",
    .fs_type = "ceph",
    .substitute = &CEPHFS_FUSE,
    .reads_nearest = true,
    .shares_device = true,
    .names_path = true,
    .uses_kernel_keys = true,
    .is_usable = kernel_is_usable,
    .mount = kernel_mount,
};
