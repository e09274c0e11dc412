#pragma once

#include "common/base/call.h"
#include "common/base/secret.h"
#include "common/linux/host_ops.h"

/*
 * Ways to make a block device of an RBD image, behind one table:
 *
 *   krbd   the kernel's own client, through /sys/bus/rbd
 *   nbd    rbd-nbd, a process per image beside the kernel's nbd driver
 *   fuse   qemu-storage-daemon's FUSE export with a loop device: for kernels that have neither;
 * only when the class or a flag names it
 *
 * No mapper keeps anything in memory: what is mapped is asked of the kernel and of the processes,
 * so that a restarted driver knows what its former life did. Any thread; calls for one image must
 * not overlap.
 */
struct image_spec {
    const char *pool;
    const char *rados_namespace; /* "" for the default one */
    const char *image;
};

struct map_request {
    struct image_spec spec;
    const char *monitors; /* comma-separated */
    const char *user;     /* without "client." */
    const struct secret *key;
    const char *options; /* for this mapper: "o1,o2"; "" for none */
    bool read_only;
    const char *handle;  /* names logs and cookies; a plain file name */
    const char *log_dir; /* of rbd-nbd; "" for the default */
    const char *device;  /* map to this one, which lost its process (nbd); NULL: to a new one */
};

struct unmap_request {
    struct image_spec spec;
    const char *options;
    const char *device; /* as found; NULL: only the remains of a map() that was cut */
};

struct mapped_image {
    char *device; /* "/dev/rbd0"; NULL: not mapped */
    bool is_dead; /* mapped, but nothing serves it any more */
};

/* What the mappers share. Borrowed for their life. */
struct mapper_host {
    struct host *host;
    const char *run_dir; /* for exports and sockets; made by mapper_host_prepare() */
};

struct mapper {
    const char *name; /* as in mapOptions: "krbd", "nbd", "fuse" */

    /* Whether this machine can. *@reason (caller frees) says why not. */
    bool (*is_usable)(const struct mapper_host *mapper, struct call *call, char **reason);
    /* Looks for the image among what is mapped here. Caller calls mapped_image_done(). */
    int (*find)(const struct mapper_host *mapper, struct call *call, const struct image_spec *spec,
                struct mapped_image *mapped, struct error *err);
    /* *@device is for the caller to free. What a call that was cut left behind is used or removed.
     */
    int (*map)(const struct mapper_host *mapper, struct call *call,
               const struct map_request *request, char **device, struct error *err);
    /* Not mapped is success. FAILED_PRECONDITION while the device is in use. */
    int (*unmap)(const struct mapper_host *mapper, struct call *call,
                 const struct unmap_request *request, struct error *err);
    /* Lets the device notice that the image has grown; if it has not, the device stays as it is.
     * NULL: it notices by itself, or must be told. */
    int (*refresh)(const struct mapper_host *mapper, struct call *call,
                   const struct image_spec *spec, const char *device, struct error *err);
    /* Tells the device that the image has @image_bytes, which is for the caller to know: what the
     * image does not have would be lost when it is written. Never shrinks. NULL: need not be told.
     */
    int (*tell_size)(const struct mapper_host *mapper, struct call *call, const char *device,
                     uint64_t image_bytes, struct error *err);
    /* At start: removes mappings that nobody uses, and names in the log those in use whose process
     * has died. NULL: nothing of the kind can be left. */
    int (*recover)(const struct mapper_host *mapper, struct call *call, struct error *err);
    /* Features of images that it can map, as bits of librbd. NULL: all. */
    int (*features)(const struct mapper_host *mapper, uint64_t *features, struct error *err);
};

extern const struct mapper MAPPER_KRBD;
extern const struct mapper MAPPER_NBD;
extern const struct mapper MAPPER_FUSE;

/* By its own name or the name that a class gives in "mounter": rbd, rbd-nbd, fuse. NULL: unknown.
 */
const struct mapper *mapper_find(const char *name);

_must_check_ int mapper_host_prepare(const struct mapper_host *mapper, struct error *err);

/* The mapper, if any, one of whose devices @source ("/dev/rbd0" in a mount table) is. */
_must_check_ int mapper_of_device(const struct mapper_host *mapper, const char *source,
                                  const struct mapper **found, struct error *err);

/*
 * The part of mapOptions or unmapOptions that is for @mapper: "krbd:o1,o2;nbd:o3". A part without a
 * name is for krbd; of two parts with the same name the later one counts. Caller frees; "" for
 * none. INVALID_ARGUMENT for other names, and for options with blanks or control characters, which
 * would become something else on their way.
 */
_must_check_ int mapper_options(const char *text, const struct mapper *mapper, char **options,
                                struct error *err);

/* "pool/namespace/image", as Ceph's programs write it. Caller frees. */
char *image_spec_text(const struct image_spec *spec);
void mapped_image_done(struct mapped_image *mapped);
#define _cleanup_mapped_image_ _cleanup_(mapped_image_done)
