#pragma once

#include "common/linux/disk_fs.h"
#include "node/rbd/node_image.h"

/*
 * Making sure that a mapped image has a file system, without ever losing data. A device is
 * formatted only when all of these agree that it is empty: libblkid finds nothing on it, its first
 * and last MiB are zeros, and Ceph has no object of its data. Before mkfs begins, the image's
 * metadata says so, naming the image by its id (a clone inherits the metadata, not the id) and the
 * UUID that the file system will have; after it has ended and before the first mount the mark goes.
 *
 * The mark alone formats nothing: another driver, which does not know it, may have used the image
 * since. An interrupted mkfs is repeated when the device proves it: it has a file system with that
 * very UUID that was never mounted, or nothing at all where mkfs puts the superblock last. A mark
 * that the device refutes is removed.
 */
struct format_request {
    const struct disk_fs *wanted; /* NULL: whatever is there, ext4 on an empty device */
    const char *device;
    const char *folder;  /* for which programs work: the staging path */
    const char *options; /* mkfsOptions; "" for the defaults */
    bool read_only;
    const char *image_id;
    const struct strmap *metadata; /* of the image, read after it was mapped */
};

/* *@found is what is there afterwards, *@fs_bytes how large it is (0 when just made). */
_must_check_ int node_format(const struct node_volumes *volumes, struct call *call,
                             struct node_image *image, const struct format_request *request,
                             const struct disk_fs **found, uint64_t *fs_bytes, struct error *err);

/* Removes the mark of an interrupted mkfs, if @metadata has one: the image is about to be used for
 * something else than a file system. */
_must_check_ int node_format_forget(struct call *call, struct node_image *image,
                                    const struct strmap *metadata, struct error *err);
