#pragma once

#include "common/linux/disk_fs.h"
#include "node/rbd/node_image.h"

/*
 * Making sure that a mapped image has a file system, without ever losing data. A device is
 * formatted only when all of these agree that it is empty: libblkid finds nothing on it, its first
 * and last MiB are zeros, and Ceph has no object of its data. Before mkfs begins, the image's
 * metadata says so, naming the image by its id (a clone inherits the metadata, not the id); after
 * it has ended and before the first mount the mark goes. So an interrupted mkfs is repeated, and
 * nothing else is ever formatted a second time.
 */
struct format_request {
    const struct disk_fs *wanted; /* NULL: whatever is there, ext4 on an empty device */
    const char *device;
    const char *options; /* mkfsOptions; "" for the defaults */
    bool read_only;
    const struct strmap *metadata; /* of the image, as it is now */
};

/* *@found is what is there afterwards, *@fs_bytes how large it is (0 when just made). */
_must_check_ int node_format(const struct node_volumes *volumes, struct call *call,
                             struct node_image *image, const struct format_request *request,
                             const struct disk_fs **found, uint64_t *fs_bytes, struct error *err);
