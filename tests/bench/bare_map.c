/*
 * bare-map: what the kernel and mkfs alone need to make images usable, as the floor to compare
 * NodeStageVolume with: map through sysfs, format, mount; then, with all of them let go, map and
 * mount once more. The images must be empty and are named by the arguments.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/flags.h"
#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "tests/bench/timing.h"

#define RBD_BUS "/sys/bus/rbd"

struct bare {
    const char *monitors; /* v1 addresses */
    const char *user;
    const char *key_file;
    const char *pool;
    const char *folder; /* for the mount points */
    char **images;
    size_t count;
    long *ids; /* of the devices */
};

/* The trimmed content of a small file, or "" if it cannot be read. */
static void read_line(const char *path, char *line, size_t size)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");

    line[0] = '\0';
    if (file && fgets(line, (int)size, file))
        line[strcspn(line, "\n")] = '\0';
    /* cppcheck-suppress resourceLeak ; its clean-up closes it */
}

static int write_text(const char *path, const char *text)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static int find_id(struct bare *bare, size_t index)
{
    DIR *devices = opendir(RBD_BUS "/devices");
    const struct dirent *entry = NULL;
    int result = -1;

    while (devices && result < 0 && (entry = readdir(devices))) {
        _cleanup_free_ char *path = xasprintf(RBD_BUS "/devices/%s/name", entry->d_name);
        char name[256];

        read_line(path, name, sizeof(name));
        if (strcmp(name, bare->images[index]) == 0) {
            bare->ids[index] = strtol(entry->d_name, NULL, 10);
            result = 0;
        }
    }
    if (devices)
        closedir(devices);
    return result;
}

static int map_image(struct bare *bare, size_t index)
{
    char key[256];

    read_line(bare->key_file, key, sizeof(key));
    _cleanup_free_ char *request = xasprintf("%s name=%s,secret=%s %s %s -", bare->monitors,
                                             bare->user, key, bare->pool, bare->images[index]);
    if (write_text(RBD_BUS "/add_single_major", request) < 0)
        return -1;
    return find_id(bare, index);
}

static int format_device(const char *device)
{
    const char *argv[] = {"mkfs.ext4", "-q",
                          "-m0",       "-Enodiscard,lazy_itable_init=1,lazy_journal_init=1",
                          device,      NULL};
    _cleanup_error_ struct error err = {0};

    if (subprocess_check(&(struct subprocess){.argv = argv, .deadline = deadline_in_ms(60000)},
                         NULL, &err) < 0) {
        fprintf(stderr, "bare-map: %s\n", err.message);
        return -1;
    }
    return 0;
}

static int make_usable(struct bare *bare, size_t index, bool format)
{
    _cleanup_free_ char *target = xasprintf("%s/%zu", bare->folder, index);

    if (map_image(bare, index) < 0)
        return -1;
    _cleanup_free_ char *device = xasprintf("/dev/rbd%ld", bare->ids[index]);
    if (format && format_device(device) < 0)
        return -1;
    if (mkdir(target, 0750) < 0 && errno != EEXIST)
        return -1;
    return mount(device, target, "ext4", 0, NULL);
}

static int first_use(void *object, size_t index, size_t caller)
{
    (void)caller;
    return make_usable(object, index, true);
}

static int later_use(void *object, size_t index, size_t caller)
{
    (void)caller;
    return make_usable(object, index, false);
}

static int let_go(void *object, size_t index, size_t caller)
{
    struct bare *bare = object;
    _cleanup_free_ char *target = xasprintf("%s/%zu", bare->folder, index);
    _cleanup_free_ char *id = xasprintf("%ld", bare->ids[index]);

    (void)caller;
    if (umount(target) < 0 || rmdir(target) < 0)
        return -1;
    return write_text(RBD_BUS "/remove_single_major", id);
}

static size_t run(struct bare *bare)
{
    const struct timing phases[] = {
        {"bare map+mkfs+mount", bare->count, 1, first_use, bare, 0},
        {"bare umount+unmap", bare->count, 1, let_go, bare, 0},
        {"bare map+mount", bare->count, 1, later_use, bare, 0},
        {"bare umount+unmap", bare->count, 1, let_go, bare, 0},
    };
    size_t failed = 0;

    bare->ids = xcalloc(bare->count, sizeof(*bare->ids));
    for (size_t i = 0; i < ARRAY_LENGTH(phases); i++)
        failed += timing_run(&phases[i]);
    free(bare->ids);
    return failed;
}

int main(int argc, char **argv)
{
    struct bare bare = {.monitors = "",
                        .user = "csi",
                        .key_file = "/etc/ceph/csi.key",
                        .pool = "zone-a",
                        .folder = "/mnt"};
    const struct flag flags[] = {
        {"monitors", FLAG_STRING, &bare.monitors, "LIST", "addresses for protocol v1"},
        {"user", FLAG_STRING, &bare.user, NULL, "Ceph user, without 'client.'"},
        {"keyfile", FLAG_STRING, &bare.key_file, "FILE", "with the user's key"},
        {"pool", FLAG_STRING, &bare.pool, NULL, "pool of the images"},
        {"folder", FLAG_STRING, &bare.folder, "DIR", "for the mount points"},
    };
    _cleanup_error_ struct error err = {0};
    int next = 0;

    if (flags_parse(flags, ARRAY_LENGTH(flags), argc, argv, &next, &err) < 0 || next == argc) {
        fprintf(stderr, "bare-map: %s\n", err.message ? err.message : "no image is named");
        flags_print_usage(stderr, flags, ARRAY_LENGTH(flags));
        return 2;
    }
    bare.images = argv + next;
    bare.count = (size_t)(argc - next);
    return run(&bare) > 0;
}
