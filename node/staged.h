#pragma once

#include "common/volume/image_meta.h"
#include "node/volumes.h"

/*
 * What is at a staging path, as the machine itself tells it:
 *
 *   STAGING/image-meta.json   which image, mapped how
 *   STAGING/HANDLE            folder with the file system, or file that the device is bound to
 */
struct staged {
    char *path;      /* STAGING/HANDLE */
    char *meta_path; /* STAGING/image-meta.json */
    struct path_facts facts;
    bool is_dead; /* the path cannot even be looked at: what is mounted there has died */
    bool has_meta;
    struct image_meta meta;
    const struct mapper *mapper; /* of the meta; NULL without */
    struct mapped_image mapped;  /* of the meta's image */
    struct device_facts device;  /* of the mapped device, if it lives */
};

/* Looks at everything; changes nothing. Caller calls staged_done(). */
_must_check_ int staged_look(const struct node_volumes *volumes, struct call *call,
                             const char *handle, const char *staging_path, struct staged *staged,
                             struct error *err);
void staged_done(struct staged *staged);
#define _cleanup_staged_ _cleanup_(staged_done)

/* Whether something is mounted there and it is the device of the image that the meta names. */
bool staged_is_complete(const struct staged *staged);

/* FAILED_PRECONDITION unless complete, with what is wrong. */
_must_check_ int staged_check(const struct staged *staged, const char *handle, struct error *err);

/* The spec of the meta's image; borrowed. */
struct image_spec staged_spec(const struct staged *staged);

_must_check_ int staged_write_meta(const struct node_volumes *volumes, struct staged *staged,
                                   struct error *err);

/*
 * Takes everything down: mount, path, mapping, meta, in this order, so that what is left of a call
 * that was cut leads to the rest. What is not there is skipped. A folder that holds files is not
 * removed: FAILED_PRECONDITION.
 */
_must_check_ int staged_remove(const struct node_volumes *volumes, struct call *call,
                               struct staged *staged, struct error *err);

/*
 * Targets of mounts that show the same device as @path does, without @path itself. For a file
 * system by its device, for a device by its name.
 */
_must_check_ int mounts_of(const struct node_volumes *volumes, const char *path,
                           const struct path_facts *facts, struct string_list *targets,
                           struct error *err);

/* The folder in which the volume that is at @path is staged; *@staging_path (caller frees) is NULL
 * when @path does not belong to the volume. */
_must_check_ int staging_path_of(const struct node_volumes *volumes, const char *handle,
                                 const char *path, const struct path_facts *facts,
                                 char **staging_path, struct error *err);

/* INVALID_ARGUMENT unless @path, the field @name, is absolute and free of "..", "." and control
 * characters, and is not too long. */
_must_check_ int node_check_path(const char *name, const char *path, struct error *err);
/* INVALID_ARGUMENT unless it can be the name of a file; missing is another message. */
_must_check_ int node_check_handle(const char *handle, struct error *err);
/* One type, a known mode, flags that are one option each. */
_must_check_ int node_check_capability(const struct volume_capability *capability,
                                       struct error *err);

/* Makes @call the only one for the volume on this node. */
_must_check_ int node_begin(const struct node_volumes *volumes, const char *handle,
                            struct call *call, struct operation *operation, struct error *err);
