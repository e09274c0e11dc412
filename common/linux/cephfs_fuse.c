/*
 * Mounts with ceph-fuse: a process per mount. It must mount on the very path where the volume is
 * staged, because it remounts that path when the MDS wants its capabilities back. What it mounts
 * bears the volume's handle as its source, and so does the process among its arguments: this is how
 * a driver that was killed, or whose container was, finds its own again.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/linux/arguments.h"
#include "common/linux/cephfs_client.h"
#include "common/linux/daemons.h"
#include "common/linux/key_file.h"
#include "common/linux/mount_flags.h"

#define PROGRAM "ceph-fuse"
#define PROBE_TIMEOUT_MS 10000
#define MOUNT_TIMEOUT_MS 60000
#define CLIENT_TIMEOUT_S 50 /* less than the above: its own message says more */

/* All but letters, digits and "-._" is written as %2C, so that no handle needs quoting in an
 * option. The slashes keep one handle from being the beginning of another's. */
char *cephfs_fuse_source(const char *handle)
{
    struct text source = TEXT_INIT(4096);

    text_add(&source, "cephzone/");
    for (const char *c = handle; *c; c++)
        if (isalnum((unsigned char)*c) || strchr("-._", *c))
            text_add_bytes(&source, c, 1);
        else
            text_addf(&source, "%%%02X", (unsigned char)*c);
    text_add(&source, "/");
    return text_take(&source);
}

int cephfs_fuse_is_running(struct host *host, const char *handle, bool *running, struct error *err)
{
    _cleanup_free_ char *source = cephfs_fuse_source(handle);

    return host->ops->daemon_is_running(host, PROGRAM, source, running, err);
}

static bool fuse_is_usable(struct host *host, struct call *call, bool forced, char **reason)
{
    _cleanup_error_ struct error err = {0};
    const char *const argv[] = {PROGRAM, "--version", NULL};
    const struct subprocess probe = {
        .argv = argv,
        .deadline = deadline_earlier(call->deadline, deadline_in_ms(PROBE_TIMEOUT_MS))};

    (void)forced;
    /* one that is there but fails now will do so again, with a better reason, or work */
    if (host->ops->run(host, &probe, NULL, &err) == 0 || err.sys_errno != ENOENT)
        return true;
    *reason = xasprintf("there is no " PROGRAM ": %s", err.message);
    return false;
}

/* --- mounting --- */

/* libfuse splits at commas, unless a backslash is before them. */
static void add_escaped(struct text *own, const char *option)
{
    text_add(own, ",");
    for (const char *c = option; *c; c++)
        text_addf(own, "%s%c", strchr(",\\", *c) ? "\\" : "", *c);
}

/* Those that libfuse or ceph-fuse read; the flags of a mount are set afterwards, because libfuse
 * does not know all of them. */
static int split_options(const struct cephfs_mount *mount, struct text *own,
                         struct string_list *flags, struct error *err)
{
    for (size_t i = 0; i < mount->options->count; i++) {
        const char *option = mount->options->items[i];
        unsigned long ignored = 0;

        switch (mount_flag_parse(option, &ignored)) {
        case MOUNT_FLAG_REFUSED:
            return mount_flag_refuse(option, err);
        case MOUNT_FLAG_OF_FILE_SYSTEM:
            add_escaped(own, option);
            break;
        case MOUNT_FLAG_OF_MOUNT:
            string_list_add(flags, option);
        }
    }
    if (own->truncated)
        return error_set(err, STATUS_INVALID_ARGUMENT, "the mount options are too long");
    return 0;
}

static void mount_arguments(const struct cephfs_mount *mount, const char *key_file,
                            const char *options, struct arguments *arguments)
{
    _cleanup_free_ char *source = cephfs_fuse_source(mount->handle);

    arguments_add(arguments, PROGRAM);
    arguments_add(arguments, "%s", mount->target);
    arguments_add_option(arguments, "-m", "%s", mount->monitors);
    arguments_add_option(arguments, "-n", "client.%s", mount->user);
    arguments_add(arguments, "--keyfile=%s", key_file);
    arguments_add_option(arguments, "-r", "%s", mount->path);
    arguments_add_option(arguments, "-o", "fsname=%s,subtype=" PROGRAM "%s%s", source,
                         mount->read_only ? ",ro" : "", options);
    if (mount->fs_name[0])
        arguments_add(arguments, "--client_mds_namespace=%s", mount->fs_name);
    arguments_add(arguments, "--client_mount_timeout=%d", CLIENT_TIMEOUT_S);
    /* It remounts the path as soon as it is mounted, and would abort if the volume is unmounted
     * just then: the MDS would wait for its capabilities for minutes, and the manager with it. */
    arguments_add(arguments, "--client_die_on_failed_dentry_invalidate=false");
}

/* ceph-fuse prints a key that it cannot decode. */
static void hide_key(const struct secret *key, struct error *err)
{
    size_t length = key->length;

    if (!err->message || length == 0)
        return;
    for (char *found = strstr(err->message, secret_reveal(key)); found;
         found = strstr(found, secret_reveal(key)))
        memset(found, '*', length);
}

static int run_mount(struct host *host, struct call *call, const struct cephfs_mount *mount,
                     const char *options, struct error *err)
{
    _cleanup_free_ char *key_file = NULL;
    _cleanup_free_ char *source = cephfs_fuse_source(mount->handle);
    _cleanup_arguments_ struct arguments arguments = {0};
    const struct subprocess program = {
        .argv = (const char *const *)arguments.items,
        .deadline = deadline_earlier(call->deadline, deadline_in_ms(MOUNT_TIMEOUT_MS))};

    if (host->ops->write_key(host, mount->key, &key_file, err) < 0)
        return -1;
    mount_arguments(mount, key_file, options, &arguments);
    int result = host->ops->run(host, &program, NULL, err);
    key_file_remove(host, call, key_file);
    if (result < 0)
        hide_key(mount->key, err);
    else
        daemon_keep(host, call, PROGRAM, source);
    return result;
}

static int fuse_mount(struct host *host, struct call *call, const struct cephfs_mount *mount,
                      struct error *err)
{
    _cleanup_string_list_ struct string_list flags = {0};
    _cleanup_text_ struct text own = TEXT_INIT(4096);

    if (split_options(mount, &own, &flags, err) < 0)
        return -1;
    call_stage(call, "waiting {age} for " PROGRAM " to mount '%s'", mount->path);
    if (run_mount(host, call, mount, text_chars(&own), err) < 0)
        return -1;
    if (flags.count == 0)
        return 0;
    string_list_add(&flags, "nosuid"); /* as libfuse sets them by itself */
    string_list_add(&flags, "nodev");
    return host->ops->mount(host,
                            &(struct mount_request){.target = mount->target,
                                                    .flags = &flags,
                                                    .read_only = mount->read_only},
                            err);
}

const struct cephfs_client CEPHFS_FUSE = {
    .name = "fuse",
    .fs_type = "fuse." PROGRAM,
    .substitute = &CEPHFS_KERNEL,
    .names_handle = true,
    .is_usable = fuse_is_usable,
    .mount = fuse_mount,
};
