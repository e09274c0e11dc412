/*
 * bare-rbd: what librbd alone needs for the images of csi-bench, on one connection, as the floor to
 * compare with. Also fills a journal directory with names (--prefill).
 */
#include <errno.h>
#include <rados/librados.h>
#include <rbd/librbd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/flags.h"
#include "common/base/memory.h"
#include "common/encoding/uuid.h"
#include "tests/bench/timing.h"

struct bare {
    const char *conf;
    const char *pool;
    const char *prefix;
    const char *phases;
    int64_t count;
    int64_t callers;
    int64_t size_bytes;
    int64_t prefill;
    rados_t cluster;
    rados_ioctx_t *pools; /* one per caller */
};

static void image_name(const struct bare *bare, size_t index, char *name, size_t size)
{
    snprintf(name, size, "%s-%zu", bare->prefix, index);
}

static int create_one(void *object, size_t index, size_t caller)
{
    struct bare *bare = object;
    rbd_image_options_t options;
    char name[128];

    image_name(bare, index, name, sizeof(name));
    rbd_image_options_create(&options);
    int result = rbd_create4(bare->pools[caller], name, (uint64_t)bare->size_bytes, options);
    rbd_image_options_destroy(options);
    return result;
}

static int trash_one(void *object, size_t index, size_t caller)
{
    struct bare *bare = object;
    rbd_image_t image;
    char name[128];

    image_name(bare, index, name, sizeof(name));
    int result = rbd_open(bare->pools[caller], name, &image, NULL);
    if (result < 0)
        return result;
    rbd_close(image);
    return rbd_trash_move(bare->pools[caller], name, 0);
}

static int empty_trash(struct bare *bare)
{
    rbd_trash_image_info_t *entries = NULL;
    size_t count = 0;

    if (rbd_trash_list(bare->pools[0], NULL, &count) != -ERANGE && count == 0)
        return 0;
    entries = xcalloc(count, sizeof(*entries));
    int result = rbd_trash_list(bare->pools[0], entries, &count);
    for (size_t i = 0; result >= 0 && i < count; i++)
        if (strncmp(entries[i].name, bare->prefix, strlen(bare->prefix)) == 0)
            rbd_trash_remove(bare->pools[0], entries[i].id, true);
    if (result >= 0)
        rbd_trash_list_cleanup(entries, count);
    free(entries);
    return 0;
}

/* Names as Ceph-CSI and cephzone write them, 1000 per operation. */
static int prefill(struct bare *bare)
{
    enum { BATCH = 1000 };
    static char keys[BATCH][64];
    static struct uuid_text uuids[BATCH];
    const char *key_list[BATCH];
    const char *value_list[BATCH];
    size_t lengths[BATCH];

    for (int64_t done = 0; done < bare->prefill; done += BATCH) {
        rados_write_op_t op = rados_create_write_op();

        for (int i = 0; i < BATCH; i++) {
            snprintf(keys[i], sizeof(keys[i]), "csi.volume.pvc-filler-%lld", (long long)done + i);
            uuids[i] = uuid_text_generate();
            key_list[i] = keys[i];
            value_list[i] = uuids[i].chars;
            lengths[i] = UUID_LENGTH;
        }
        rados_write_op_omap_set(op, key_list, value_list, lengths, BATCH);
        int result = rados_write_op_operate(op, bare->pools[0], "csi.volumes.default", NULL, 0);
        rados_release_write_op(op);
        if (result < 0)
            return result;
    }
    return 0;
}

static int open_cluster(struct bare *bare)
{
    int result = rados_create(&bare->cluster, "admin");

    if (result == 0)
        result = rados_conf_read_file(bare->cluster, bare->conf);
    if (result == 0)
        result = rados_connect(bare->cluster);
    bare->pools = xcalloc((size_t)bare->callers, sizeof(rados_ioctx_t));
    for (int64_t i = 0; result == 0 && i < bare->callers; i++)
        result = rados_ioctx_create(bare->cluster, bare->pool, &bare->pools[i]);
    return result;
}

static int run(struct bare *bare)
{
    int result = open_cluster(bare);

    if (result < 0)
        return result;
    if (bare->prefill)
        result = prefill(bare);
    if (strstr(bare->phases, "create"))
        timing_run(&(struct timing){"bare create", (size_t)bare->count, (size_t)bare->callers,
                                    create_one, bare, 0});
    if (strstr(bare->phases, "trash"))
        timing_run(&(struct timing){"bare trash", (size_t)bare->count, (size_t)bare->callers,
                                    trash_one, bare, 0});
    if (strstr(bare->phases, "empty"))
        result = empty_trash(bare);
    for (int64_t i = 0; i < bare->callers; i++)
        rados_ioctx_destroy(bare->pools[i]);
    rados_shutdown(bare->cluster);
    free(bare->pools);
    return result;
}

int main(int argc, char **argv)
{
    struct bare bare = {.conf = getenv("CEPH_CONF"),
                        .pool = "common",
                        .prefix = "bare",
                        .phases = "create,trash,empty",
                        .count = 100,
                        .callers = 1,
                        .size_bytes = 1 << 30};
    const struct flag flags[] = {
        {"conf", FLAG_STRING, &bare.conf, "FILE", "ceph.conf with an admin keyring"},
        {"pool", FLAG_STRING, &bare.pool, NULL, "pool of the images"},
        {"prefix", FLAG_STRING, &bare.prefix, NULL, "of the image names"},
        {"phases", FLAG_STRING, &bare.phases, NULL, "of create,trash,empty"},
        {"count", FLAG_INT, &bare.count, NULL, "images"},
        {"callers", FLAG_INT, &bare.callers, NULL, "threads"},
        {"size", FLAG_INT, &bare.size_bytes, "BYTES", "of each image"},
        {"prefill", FLAG_INT, &bare.prefill, NULL, "names to put into the journal directory"},
    };
    _cleanup_error_ struct error err = {0};
    int next = 0;

    if (flags_parse(flags, ARRAY_LENGTH(flags), argc, argv, &next, &err) < 0 || next != argc) {
        fprintf(stderr, "bare-rbd: %s\n", err.message ? err.message : "bad arguments");
        return 2;
    }
    int result = run(&bare);
    if (result < 0)
        fprintf(stderr, "bare-rbd: error number %d\n", -result);
    return result < 0;
}
