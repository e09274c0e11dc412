#pragma once

#include "common/base/call.h"
#include "common/base/secret.h"
#include "common/linux/host_ops.h"

/*
 * Ways to make a block device of an RBD image. Each is a file mapper_NAME.c and a row of
 * MAPPER_ROWS in mapper_internal.h, which says what they are.
 *
 * No mapper keeps anything in memory: what is mapped is asked of the kernel and of the processes,
 * so that a restarted driver knows what its previous run did. Any thread; calls for one image must
 * not overlap.
 */
struct image_spec {
    const char *pool;
    const char *rados_namespace; /* "" for the default one */
    const char *image;
    /* What tells images of equal names apart: other clusters may have one, and the name may have
     * belonged to another image. */
    const char *fsid;     /* of the cluster; "" if unknown */
    const char *image_id; /* "" if unknown */
    dev_t mounted;        /* number of the device in the volume's place; 0: none, or unknown */
    const char *handle;   /* the volume's */
    const char *device;   /* that was recorded when it was mapped; "": none */
};

struct map_request {
    struct image_spec spec;
    const char *monitors; /* comma-separated */
    const char *user;     /* without "client." */
    const struct secret *key;
    const char *options; /* for this mapper: "o1,o2"; "" for none */
    bool read_only;
    const char *handle;  /* names logs and cookies; a plain file name */
    const char *log_dir; /* "" for the default */
    const char *device;  /* attach to this one, which lost its process; NULL: map to a new one */
};

struct unmap_request {
    struct image_spec spec;
    const char *options;
    const char *device; /* as found; NULL: only the remains of an interrupted map() */
};

struct mapped_image {
    char *device;              /* "/dev/rbd0"; NULL: not mapped */
    bool is_dead;              /* mapped, but nothing serves it any more */
    struct string_list others; /* further devices of the image, if the mapper maps it repeatedly */
};

/* What the mappers share. Borrowed for their life. */
struct mapper_host {
    struct host *host;
    const char *run_dir; /* for exports and sockets */
};

struct mapper {
    const char *name;          /* in mapOptions: "krbd", "nbd", "fuse" */
    const char *mounter;       /* in a class's "mounter": "rbd", "rbd-nbd", "fuse" */
    const char *device_prefix; /* of its devices' names in /dev */

    /* Maps what this one cannot, if the class allows it; NULL: none. */
    const struct mapper *substitute;
    bool is_always_substituted; /* whatever the class says, as in Ceph-CSI */

    /* In image-meta.json: Ceph-CSI tells its two mappers apart by "accessType"; any other is named
     * by our own key "mapper". */
    bool access_type;
    bool is_named;
    bool records_device; /* likewise, because find() does not see a device without its process */

    bool writes_log;        /* takes log_dir */
    bool reads_nearest;     /* knows the options read_from_replica and crush_location */
    bool maps_repeatedly;   /* an image can have several devices */
    bool reattaches;        /* can attach a new process to a device that lost its own */
    bool unmaps_by_device;  /* unmap() needs nothing but the device */
    bool uses_kernel_keys;  /* the kernel must know the type of the key */
    bool has_cgroup_limits; /* limits on I/O are those of cgroups: librbd does not see it */

    /* If it reattaches: whether a process with these options acknowledges only what is in Ceph. The
     * device of one that does not must not get another: it would lack writes, without an error. */
    bool (*keeps_writes)(const char *options);
    /* Whether this machine can. *@reason (caller frees) says why not. NULL: always. */
    bool (*is_usable)(const struct mapper_host *mapper, struct call *call, char **reason);
    /* Looks for the image among what is mapped here. Caller calls mapped_image_done(). */
    int (*find)(const struct mapper_host *mapper, struct call *call, const struct image_spec *spec,
                struct mapped_image *mapped, struct error *err);
    /* Caller frees *@device. What an interrupted call left behind is used or removed. */
    int (*map)(const struct mapper_host *mapper, struct call *call,
               const struct map_request *request, char **device, struct error *err);
    /* Not mapped is success. FAILED_PRECONDITION while the device is in use. */
    int (*unmap)(const struct mapper_host *mapper, struct call *call,
                 const struct unmap_request *request, struct error *err);
    /* Lets the device notice that the image has grown; if it has not, the device stays as it is.
     * NULL: it notices by itself, or needs tell_size(). */
    int (*refresh)(const struct mapper_host *mapper, struct call *call,
                   const struct image_spec *spec, const char *device, struct error *err);
    /* Makes the device @image_bytes large, which the image must have: what is written beyond its
     * end is lost. Never shrinks. NULL: not needed. */
    int (*tell_size)(const struct mapper_host *mapper, struct call *call, const char *device,
                     uint64_t image_bytes, struct error *err);
    /* At start: removes mappings that nobody uses, and names in the log those in use whose process
     * has died. NULL: nothing of the kind can be left. */
    int (*recover)(const struct mapper_host *mapper, struct call *call, struct error *err);
    /* Features of images that it can map, as bits of librbd. NULL: all. */
    int (*features)(const struct mapper_host *mapper, uint64_t *features, struct error *err);
    /* Whether the device @name, which has the prefix, is one of its own. NULL: all are. */
    int (*owns_device)(const struct mapper_host *mapper, const char *name, bool *owns,
                       struct error *err);
};

/* All of them, and NULL. The first one is the default. */
extern const struct mapper *const MAPPERS[];

/* By its own name or that of its mounter. NULL: unknown. */
const struct mapper *mapper_find(const char *name);
/* The mapper that image-meta.json names. NULL: unknown. @name is NULL for those of Ceph-CSI. */
const struct mapper *mapper_find_recorded(const char *name, bool access_type);
/* By its name in a class. INVALID_ARGUMENT if there is none. */
_must_check_ int mapper_find_mounter(const char *mounter, const struct mapper **found,
                                     struct error *err);

/* The mapper, if any, one of whose devices @source ("/dev/rbd0" in a mount table) is. */
_must_check_ int mapper_of_device(const struct mapper_host *mapper, const char *source,
                                  const struct mapper **found, struct error *err);

/*
 * The part of mapOptions or unmapOptions that is for @mapper: "krbd:o1,o2;nbd:o3". A part without a
 * name is for the default one; of two parts with the same name the later one counts. Caller frees;
 * "" for none. INVALID_ARGUMENT for other names, and for blanks or control characters, which would
 * split an option in two.
 */
_must_check_ int mapper_options(const char *text, const struct mapper *mapper, char **options,
                                struct error *err);

/* "pool/namespace/image", as Ceph's programs write it. Caller frees. */
char *image_spec_text(const struct image_spec *spec);
/* A mount of @device or of its file, NULL if there is none. Borrowed. */
const struct mount_entry *device_mount(const struct mount_list *mounts, const char *device);
void mapped_image_done(struct mapped_image *mapped);
#define _cleanup_mapped_image_ _cleanup_(mapped_image_done)
