/*
 * bare-cephfs: the manager commands that the subvolumes and snapshots of csi-bench need, in a bare
 * loop on one connection, as the floor to compare with.
 */
#include <rados/librados.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/flags.h"
#include "common/base/memory.h"
#include "tests/bench/timing.h"

struct bare {
    const char *conf;
    const char *fs;
    const char *group;
    const char *prefix;
    int64_t count;
    int64_t callers;
    int64_t size_bytes;
    rados_t cluster;
};

/* Sends one command; takes @text over. */
static int command(struct bare *bare, char *text)
{
    _cleanup_free_ char *owned = text;
    const char *sent = owned;
    char *output = NULL;
    char *status = NULL;
    size_t output_length = 0;
    size_t status_length = 0;
    int result = rados_mgr_command(bare->cluster, &sent, 1, NULL, 0, &output, &output_length,
                                   &status, &status_length);

    rados_buffer_free(output);
    rados_buffer_free(status);
    return result;
}

static char *about(const struct bare *bare, const char *prefix, size_t index, const char *more)
{
    return xasprintf("{\"prefix\":\"fs subvolume %s\",\"format\":\"json\",\"vol_name\":\"%s\","
                     "\"group_name\":\"%s\",\"sub_name\":\"%s-%zu\"%s}",
                     prefix, bare->fs, bare->group, bare->prefix, index, more);
}

/* What CreateVolume asks the manager: make it, and where it is. */
static int create_one(void *object, size_t index, size_t caller)
{
    struct bare *bare = object;
    _cleanup_free_ char *size = xasprintf(",\"size\":%lld", (long long)bare->size_bytes);
    int result = command(bare, about(bare, "create", index, size));

    (void)caller;
    return result < 0 ? result : command(bare, about(bare, "info", index, ""));
}

/* What CreateSnapshot asks: the source's size, the snapshot, when it was made. */
static int snapshot_one(void *object, size_t index, size_t caller)
{
    struct bare *bare = object;
    int result = command(bare, about(bare, "info", index, ""));

    (void)caller;
    if (result == 0)
        result = command(bare, about(bare, "snapshot create", index, ",\"snap_name\":\"s\""));
    if (result == 0)
        result = command(bare, about(bare, "snapshot info", index, ",\"snap_name\":\"s\""));
    return result;
}

/* What DeleteSnapshot asks: whether it is being copied, and its end. */
static int drop_snapshot(void *object, size_t index, size_t caller)
{
    struct bare *bare = object;
    int result = command(bare, about(bare, "snapshot info", index, ",\"snap_name\":\"s\""));

    (void)caller;
    if (result < 0)
        return result;
    return command(bare, about(bare, "snapshot rm", index, ",\"snap_name\":\"s\",\"force\":true"));
}

static int delete_one(void *object, size_t index, size_t caller)
{
    struct bare *bare = object;

    (void)caller;
    return command(bare, about(bare, "rm", index, ""));
}

static int open_cluster(struct bare *bare)
{
    int result = rados_create(&bare->cluster, "admin");

    if (result == 0)
        result = rados_conf_read_file(bare->cluster, bare->conf);
    return result == 0 ? rados_connect(bare->cluster) : result;
}

static size_t run(struct bare *bare)
{
    static const struct {
        const char *title;
        int (*work)(void *object, size_t index, size_t caller);
    } phases[] = {
        {"bare create", create_one},
        {"bare snapshot", snapshot_one},
        {"bare unsnapshot", drop_snapshot},
        {"bare delete", delete_one},
    };
    size_t failed = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(phases); i++)
        failed += timing_run(&(struct timing){.title = phases[i].title,
                                              .count = (size_t)bare->count,
                                              .callers = (size_t)bare->callers,
                                              .work = phases[i].work,
                                              .object = bare});
    return failed;
}

int main(int argc, char **argv)
{
    struct bare bare = {.conf = getenv("CEPH_CONF"),
                        .fs = "cephfs",
                        .group = "csi",
                        .prefix = "bare",
                        .count = 20,
                        .callers = 1,
                        .size_bytes = 1 << 30};
    const struct flag flags[] = {
        {"conf", FLAG_STRING, &bare.conf, "FILE", "ceph.conf with an admin keyring"},
        {"fs", FLAG_STRING, &bare.fs, NULL, "file system"},
        {"group", FLAG_STRING, &bare.group, NULL, "subvolume group"},
        {"prefix", FLAG_STRING, &bare.prefix, NULL, "of the names of subvolumes"},
        {"count", FLAG_INT, &bare.count, NULL, "subvolumes"},
        {"callers", FLAG_INT, &bare.callers, NULL, "threads"},
        {"size", FLAG_INT, &bare.size_bytes, "BYTES", "of each subvolume"},
    };
    _cleanup_error_ struct error err = {0};
    int next = 0;

    if (flags_parse(flags, ARRAY_LENGTH(flags), argc, argv, &next, &err) < 0 || next != argc ||
        bare.count < 1 || bare.callers < 1) {
        fprintf(stderr, "bare-cephfs: %s\n", err.message ? err.message : "bad arguments");
        return 2;
    }
    int result = open_cluster(&bare);
    size_t failed = result == 0 ? run(&bare) : 0;
    if (result < 0 || failed > 0)
        fprintf(stderr, "bare-cephfs: error number %d, %zu commands failed\n", -result, failed);
    rados_shutdown(bare.cluster);
    return result < 0 || failed > 0;
}
