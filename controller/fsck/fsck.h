#pragma once

#include <stdbool.h>
#include <time.h>

#include "common/base/call.h"
#include "common/ceph/journal.h"
#include "common/config/config.h"
#include "common/config/credentials.h"
#include "common/volume/volume_id.h"
#include "controller/fsck/pv_dump.h"

/*
 * Compares what the journal says with the images, the trash and, if given, Kubernetes' volumes, and
 * reports what does not fit: what an interrupted creation or deletion left, what Ceph-CSI leaked,
 * what somebody removed by hand. A scan writes nothing. Repair is a second step, one finding at a
 * time.
 *
 * Drivers may work meanwhile: whatever looks wrong is read once more before it is reported, and
 * what is younger than min_age_s, or of unknown age, is said to be possibly under way.
 *
 * One thread.
 */
enum fsck_severity { FSCK_NOTE, FSCK_WARNING, FSCK_ERROR, FSCK_DATA_LOSS };

/* In the order of the report within one severity. docs/fsck.md says what each means. */
enum fsck_kind {
    FSCK_PV_WITHOUT_VOLUME,
    FSCK_DIRECTORY_PART,
    FSCK_OBJECT_UNKNOWN,
    FSCK_NAME_BROKEN,
    FSCK_NAME_MISMATCH,
    FSCK_IMAGE_ID_DIFFERS,
    FSCK_OBJECT_WITHOUT_IMAGE,
    FSCK_OBJECT_WITHOUT_NAME,
    FSCK_NAME_WITHOUT_OBJECT,
    FSCK_NAME_WITHOUT_POOL,
    FSCK_NAME_IN_TWO_POOLS,
    FSCK_ENTRY_EMPTY,
    FSCK_ENTRY_UNFINISHED,
    FSCK_HALF_ENTRY,
    FSCK_SPLIT_ENTRY,
    FSCK_GROUP_INCOMPLETE,
    FSCK_IMAGE_WITHOUT_JOURNAL,
    FSCK_TEMP_WITHOUT_VOLUME,
    FSCK_IMAGE_REMNANT,
    FSCK_LEFTOVER_CUT,
    FSCK_TRASH_WITHOUT_KEY,
    FSCK_PURGE_WITHOUT_TRASH,
    FSCK_PURGE_PENDING,
    FSCK_FLATTEN_PENDING,
    FSCK_VOLUME_WITHOUT_PV,
    FSCK_PV_RETAINED,
    FSCK_SNAPSHOT_WITHOUT_SOURCE,
};

enum fsck_action {
    FSCK_NO_REPAIR,
    FSCK_FORGET_NAME,   /* remove a directory key that leads nowhere */
    FSCK_FORGET_ENTRY,  /* remove name and object of something that has no image */
    FSCK_FORGET_PURGE,  /* remove a purge key whose trash entry is gone */
    FSCK_REMOVE_CUT,    /* remove a user snapshot that a clone was made from */
    FSCK_DISCARD_IMAGE, /* move an image without use to the trash and queue its data */
};

/* What a repair works on. Strings are owned; what an action does not need is zero. */
struct fsck_repair {
    enum fsck_action action;
    enum journal_kind kind;
    struct uuid_text uuid;
    int64_t pool_id;        /* of the image; -1: gone */
    int64_t directory_id;   /* of the request name */
    bool has_half;          /* a second object of the uuid is beside the directory */
    char *directory_object; /* csi.volumes.INSTANCE */
    char *key;              /* in it; NULL: no name leads there */
    char *value;            /* of the key, as it was found */
    char *image;
    char *image_id;
    char *snapshot;
};

struct fsck_finding {
    enum fsck_kind kind;
    enum fsck_severity severity;
    char *cluster_id;
    char *pool;
    char *object;                          /* object, name, image or PV: what the kind is about */
    char *explanation;                     /* likely cause; what would help */
    char handle[VOLUME_ID_LENGTH_MAX + 1]; /* CSI handle; "" if there is none */
    bool under_way;                        /* may be: scan again later */
    struct fsck_repair repair;
};

struct fsck_report {
    struct fsck_finding *findings; /* most severe first */
    size_t count;
    size_t clusters;
    size_t pools;
    size_t volumes;
    size_t snapshots;
    size_t groups;
    size_t images;
    size_t trashed;
    size_t pvs;
    size_t pvs_unchecked;          /* static, migrated, or of pools that were not scanned */
    struct string_list unreadable; /* CLUSTER/POOL that the user may not read */
};

struct fsck_options {
    struct ceph *ceph;
    struct config_file *config;
    const struct credentials *credentials;
    const char *instance_id;
    const char *cluster_id;          /* NULL: all of the configuration */
    const struct string_list *pools; /* none: all with a directory, and those that names lead to */
    bool scan;                       /* go over all objects, to find those that no name leads to */
    int64_t min_age_s;
    const struct pv_dump *pvs; /* NULL: unknown */
    time_t pvs_taken;          /* when the dump was made */
};

/* Caller calls fsck_report_done(), also after a failure. */
_must_check_ int fsck_scan(const struct fsck_options *options, struct call *call,
                           struct fsck_report *report, struct error *err);

/*
 * Repairs one finding, if it has a repair and still is as it was found: that is checked again
 * first. *@repaired is false when it has changed meanwhile and was left alone.
 */
_must_check_ int fsck_repair(const struct fsck_options *options, struct call *call,
                             const struct fsck_finding *finding, bool *repaired, struct error *err);

/* "name-without-object" */
const char *fsck_kind_name(enum fsck_kind kind);
const char *fsck_severity_name(enum fsck_severity severity);
/* "remove the name" */
const char *fsck_action_text(enum fsck_action action);
void fsck_report_done(struct fsck_report *report);
#define _cleanup_fsck_report_ _cleanup_(fsck_report_done)
