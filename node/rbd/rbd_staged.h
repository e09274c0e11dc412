#pragma once

#include "node/backend.h"
#include "node/rbd/image_meta.h"
#include "node/volumes.h"

/*
 * What is at a staging path, read from the machine itself:
 *
 *   STAGING/image-meta.json   which image, mapped how
 *   STAGING/HANDLE            folder with the file system, or file that the device is bound to
 */
struct rbd_staged {
    char *path;      /* STAGING/HANDLE */
    char *meta_path; /* STAGING/image-meta.json */
    struct path_facts facts;
    bool is_dead; /* the path cannot even be looked at: what is mounted there has died */
    bool has_meta;
    struct image_meta meta;
    const struct mapper *mapper; /* of the meta; NULL without */
    struct mapped_image mapped;  /* of the meta's image */
    struct device_facts device;  /* of the mapped device, if it lives */
    bool keeps_mapping;          /* when the rest is taken down: somebody else mapped it */
};

/* Looks at everything; changes nothing. Caller calls rbd_staged_done(). */
_must_check_ int rbd_staged_look(const struct node_volumes *volumes, struct call *call,
                                 const char *handle, const char *staging_path,
                                 struct rbd_staged *staged, struct error *err);
/* Likewise for the volume that is staged or published at @path, of which @facts were read.
 * NOT_FOUND unless it is this volume. */
_must_check_ int rbd_staged_look_from(const struct node_volumes *volumes, struct call *call,
                                      const char *handle, const char *path,
                                      const struct path_facts *facts, struct rbd_staged *staged,
                                      struct error *err);
void rbd_staged_done(struct rbd_staged *staged);
#define _cleanup_rbd_staged_ _cleanup_(rbd_staged_done)

/* Whether something is mounted there and it is the device of the image that the meta names. */
bool rbd_staged_is_complete(const struct rbd_staged *staged);

/* FAILED_PRECONDITION unless complete, with what is wrong. */
_must_check_ int rbd_staged_check(const struct rbd_staged *staged, const char *handle,
                                  struct error *err);

/* Whether a mount is that of a staged volume, "STAGING/HANDLE": *@staging_path (caller frees) is
 * NULL if not, and *@mapper the one that its device is of, or NULL. */
_must_check_ int rbd_staged_find_path(const struct node_volumes *volumes,
                                      const struct mount_entry *entry, const struct mapper **mapper,
                                      char **staging_path, struct error *err);

/* The device that a mount shows, without "/dev/" if it is one that is bound to a file. Borrowed. */
const char *rbd_mounted_device(const struct mount_entry *entry, bool is_block);

/* Takes the image for @call, unless a call for another volume of the same image is at it: ABORTED.
 * End with operation_end(). */
_must_check_ int rbd_staged_begin(const struct node_volumes *volumes, struct call *call,
                                  const struct image_spec *spec, struct operation *operation,
                                  struct error *err);

/* The spec of the meta's image; borrowed. */
struct image_spec rbd_staged_spec(const struct rbd_staged *staged);

/* The staging path. Caller frees. */
char *rbd_staged_folder(const struct rbd_staged *staged);

_must_check_ int rbd_staged_write_meta(const struct node_volumes *volumes,
                                       struct rbd_staged *staged, struct error *err);
/* Looks for the device of the meta's image; nothing without a mapper. */
_must_check_ int rbd_staged_find_device(const struct node_volumes *volumes, struct call *call,
                                        struct rbd_staged *staged, struct error *err);

/*
 * Takes everything down: mount, path, mapping, meta, in this order, so that what an interrupted
 * call leaves leads to the rest. What is not there is skipped. A folder that holds files is not
 * removed, nor a device unmapped that is mounted elsewhere: FAILED_PRECONDITION. A device that
 * another volume is staged from stays mapped. A program that works on it is waited for: ABORTED.
 */
_must_check_ int rbd_staged_remove(const struct node_volumes *volumes, struct call *call,
                                   struct rbd_staged *staged, struct error *err);

/* --- the parts of RBD's backend --- */

_must_check_ int rbd_stage_volume(const struct node_volumes *volumes, struct call *call,
                                  const struct stage_request *request, struct error *err);
/* Only gives the volume's device a new process, if it has lost its own: else what is staged stays
 * as it is, whatever fails. */
_must_check_ int rbd_attach_volume(const struct node_volumes *volumes, struct call *call,
                                   const struct stage_request *request, struct error *err);
/* See struct node_backend. */
_must_check_ int rbd_find_staged(const struct node_volumes *volumes,
                                 const struct mount_entry *entry, char **handle,
                                 char **staging_path, struct error *err);
_must_check_ int rbd_record_client(const struct node_volumes *volumes, struct call *call,
                                   const char *handle, const char *staging_path, struct error *err);
/* See node_revive(). */
size_t rbd_revive_volumes(const struct node_volumes *volumes, struct call *call);
/* See node/backend.h: limits on the I/O of pods, as the image's metadata has them. */
void rbd_limit_published(const struct node_volumes *volumes, struct call *call,
                         const struct publish_request *request, const struct staged_place *place);
void rbd_refresh_limits(const struct node_volumes *volumes, struct call *call);
_must_check_ int rbd_expand_volume(const struct node_volumes *volumes, struct call *call,
                                   const struct node_expand_request *request, uint64_t *size_bytes,
                                   struct error *err);
