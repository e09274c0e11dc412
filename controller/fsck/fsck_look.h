#pragma once

#include "common/config/session.h"
#include "controller/fsck/fsck.h"

/*
 * One cluster as the fsck files see it: everything the journal says, read into memory by
 * fsck_read.c, so that each question about names and objects is a binary search. The checks are in
 * fsck_names.c, fsck_entries.c, fsck_images.c and fsck_pvs.c.
 */

#define LOOK_KINDS 3 /* volumes, snapshots, groups */
#define LOOK_NO_POOL SIZE_MAX

struct look_pool {
    struct ceph_pool *pool;
    bool wanted;          /* findings in it are reported */
    struct strmap images; /* name -> id */
    struct trash_entries trash;
};

/* A key of a directory. */
struct look_name {
    enum journal_kind kind;
    size_t directory; /* index of its pool */
    char *object;     /* csi.volumes.INSTANCE */
    bool is_ours;     /* of the instance that is looked at */
    char *key;
    char *value;
    struct journal_ref ref; /* zero if broken */
    size_t pool;            /* index; LOOK_NO_POOL if it is gone */
    bool broken;            /* the value is neither form */
};

/* A purge key. */
struct look_purge {
    size_t directory;
    char *object;
    bool is_ours;
    char *key;
    char *value;
    int64_t pool_id;
    const char *image_id; /* inside key; NULL if it is no purge key */
};

/* An object, or a place where one was looked for. */
struct look_entry {
    enum journal_kind kind;
    size_t pool;
    struct uuid_text uuid;
    bool found;
    struct journal_entry entry;
};

/* A PersistentVolume whose handle is one of ours. */
struct look_pv {
    struct volume_id id;
    const struct kube_pv *pv;
};

struct look {
    const struct fsck_options *options;
    struct call *call;
    struct fsck_report *report;
    struct session session;
    struct look_pool *pools;
    size_t pool_count;
    struct look_name *names; /* sorted by uuid once read */
    size_t name_count;
    struct look_purge *purges;
    size_t purge_count;
    struct look_entry *entries; /* sorted by uuid, kind, pool once read */
    size_t entry_count;
    struct look_pv *pvs; /* sorted by uuid */
    size_t pv_count;
    struct string_list instances; /* other than ours, as far as a scan showed them */
    bool is_partial;              /* a pool was not readable: its names are not known */
};

/* --- fsck_read.c --- */

/* Reads all of the cluster that @look's session leads to. */
_must_check_ int look_read(struct look *look, struct error *err);
void look_done(struct look *look);

size_t look_find_pool(const struct look *look, int64_t id);
/* NULL if there is none. */
const struct look_entry *look_find_entry(const struct look *look, enum journal_kind kind,
                                         size_t pool, const struct uuid_text *uuid);
/* The next name that leads to the uuid, after @previous (NULL: the first). */
const struct look_name *look_next_name(const struct look *look, const struct uuid_text *uuid,
                                       const struct look_name *previous);
/* The request name in a directory key. */
const char *look_request_name(const struct look_name *name);
/* The uuid at the end of PREFIX-UUID or PREFIX-UUID-temp; false if there is none. */
bool look_uuid_of(const char *name, struct uuid_text *uuid, bool *is_temp);
const struct trash_entry *look_find_trash(const struct look_pool *pool, const char *name,
                                          const char *id);
bool look_has_purge(const struct look *look, int64_t pool_id, const char *image_id);
/* True if the object was last written less than min_age_s ago; an object that is gone is young:
 * somebody is at work. */
_must_check_ int look_is_young(struct look *look, struct ceph_pool *pool, const char *object,
                               bool *young, struct error *err);
/* The attributes that count for @entry: its own, or those of the other half. */
const struct look_entry *look_attributes(const struct look *look, const struct look_entry *entry,
                                         const struct look_name *name);
/* The name that leads to @entry: one of ours if there are several; NULL if there is none. */
const struct look_name *look_name_of(const struct look *look, const struct look_entry *entry);
/* True if @entry holds the attributes of an entry in another pool. */
bool look_is_half(const struct look *look, const struct look_entry *entry);

/* --- fsck_report.c --- */

/* Appends; @pool and @object are copied, @explanation is formatted. Valid until the next one. */
_printf_(6, 7) struct fsck_finding *look_report(struct look *look, enum fsck_kind kind,
                                                enum fsck_severity severity, size_t pool,
                                                const char *object, const char *fmt, ...);
/* Says that it may be under way and that no repair is possible now. */
void finding_under_way(struct fsck_finding *finding);
void finding_set_handle(struct look *look, struct fsck_finding *finding, size_t pool,
                        const struct uuid_text *uuid);
/* For repairs that remove an entry. @name may be NULL; @trash is its image, queued for removal, or
 * NULL. */
void finding_forget_entry(struct look *look, struct fsck_finding *finding,
                          const struct look_entry *entry, const struct look_name *name,
                          const struct trash_entry *trash);
void report_sort(struct fsck_report *report);

/* --- the checks --- */

_must_check_ int look_check_names(struct look *look, struct error *err);
_must_check_ int look_check_entries(struct look *look, struct error *err);
_must_check_ int look_check_images(struct look *look, struct error *err);
_must_check_ int look_check_pvs(struct look *look, struct error *err);

/* Fills look->pvs from the dump. */
void look_read_pvs(struct look *look);
/* The PersistentVolume of that uuid; NULL if the dump has none. */
const struct look_pv *look_find_pv(const struct look *look, const struct uuid_text *uuid);
