#pragma once

#include "common/config/session.h"
#include "controller/fsck/fsck.h"

/*
 * One cluster as the fsck files see it: everything the journal says, read into memory by
 * fsck_read.c, so that each question about names and objects is a binary search. The checks are in
 * fsck_names.c, fsck_entries.c, fsck_images.c and fsck_pvs.c.
 */

#define SCAN_KINDS 3 /* volumes, snapshots, groups */
#define SCAN_NO_POOL SIZE_MAX

struct scan_pool {
    struct ceph_pool *pool;
    bool wanted;          /* findings in it are reported */
    bool has_unknown;     /* an object of the journal has no known form: there may be names in it */
    struct strmap images; /* name -> id */
    struct trash_entries trash;
};

/* A key of a directory: a request name, a purge key or a flatten key. */
struct scan_key {
    enum journal_kind kind;
    size_t directory; /* index of its pool */
    char *object;     /* csi.volumes.INSTANCE */
    bool is_ours;     /* of the instance that is scanned */
    char *key;
    char *value;
    bool broken;            /* the value of a name, or a purge key itself, has no known form */
    struct journal_ref ref; /* where it leads; zero if broken; of a purge key only the pool */
    size_t pool;            /* index of that pool; SCAN_NO_POOL if it is gone */
    const char *image_id;   /* of a purge or flatten key; inside @key */
};

/* An object, or a place where one was looked for. */
struct scan_entry {
    enum journal_kind kind;
    size_t pool;
    struct uuid_text uuid;
    bool found;
    struct journal_entry entry;
};

/* An object of the journal that only newer versions of Ceph-CSI can have written. */
struct scan_newer {
    size_t pool;
    char *object;
    bool is_part; /* its name is that of our directory, and more: perhaps one of several */
    size_t keys;  /* of a part: how many it has */
};

/* A PersistentVolume whose handle is one of ours. */
struct scan_pv {
    struct volume_id id;
    const struct kube_pv *pv;
};

struct scan {
    const struct fsck_options *options;
    struct call *call;
    struct fsck_report *report;
    struct session session;
    struct scan_pool *pools;
    size_t pool_count;
    struct scan_key *names; /* sorted by uuid once read */
    size_t name_count;
    struct scan_key *purges;
    size_t purge_count;
    struct scan_key *flattens;
    size_t flatten_count;
    struct scan_entry *entries; /* sorted by uuid, kind, pool once read */
    size_t entry_count;
    struct scan_pv *pvs; /* sorted by uuid */
    size_t pv_count;
    struct string_list instances; /* other than ours, as far as a scan showed them */
    struct scan_newer *newer;     /* likewise */
    size_t newer_count;
    bool is_partial; /* a pool was not readable: its names are not known */
};

/* --- fsck_read.c --- */

/* Reads all of the cluster that @scan's session leads to. */
_must_check_ int scan_read(struct scan *scan, struct error *err);
void scan_done(struct scan *scan);

size_t scan_find_pool(const struct scan *scan, int64_t id);
/* NULL if there is none. */
const struct scan_entry *scan_find_entry(const struct scan *scan, enum journal_kind kind,
                                         size_t pool, const struct uuid_text *uuid);
/* The next name that leads to the uuid, after @previous (NULL: the first). */
const struct scan_key *scan_next_name(const struct scan *scan, const struct uuid_text *uuid,
                                      const struct scan_key *previous);
/* The request name in a directory key. */
const char *scan_request_name(const struct scan_key *name);
/* The uuid at the end of PREFIX-UUID or PREFIX-UUID-temp; false if there is none. @is_temp may be
 * NULL. */
bool scan_uuid_of(const char *name, struct uuid_text *uuid, bool *is_temp);
const struct trash_entry *scan_find_trash(const struct scan_pool *pool, const char *name,
                                          const char *id);
bool scan_has_purge(const struct scan *scan, int64_t pool_id, const char *image_id);
/* *@modified is 0 if there is no such object. */
_must_check_ int object_last_write(struct ceph_pool *pool, struct call *call, const char *object,
                                   time_t *modified, struct error *err);
/* Whether the key still has the value that was read: creations and deletions go on meanwhile. */
_must_check_ int scan_key_is_unchanged(struct scan *scan, const struct scan_key *key,
                                       bool *unchanged, struct error *err);
/* The attributes that count for @entry: its own, or those of the other half. */
const struct scan_entry *scan_attributes(const struct scan *scan, const struct scan_entry *entry,
                                         const struct scan_key *name);
/* The name that leads to @entry: one of ours if there are several; NULL if there is none. */
const struct scan_key *scan_name_of(const struct scan *scan, const struct scan_entry *entry);
/* True if @entry holds the attributes of an entry in another pool. */
bool scan_is_half(const struct scan *scan, const struct scan_entry *entry);

/* --- fsck_report.c --- */

/* Appends; @pool and @object are copied, @explanation is formatted. Valid until the next one. */
_printf_(6, 7) struct fsck_finding *scan_report(struct scan *scan, enum fsck_kind kind,
                                                enum fsck_severity severity, size_t pool,
                                                const char *object, const char *fmt, ...);
/* Says that it may be under way and that no repair is possible now. */
void finding_under_way(struct fsck_finding *finding);
/* As finding_under_way() if the object was last written less than min_age_s ago, or is gone:
 * somebody is at work. */
_must_check_ int finding_mark_if_young(struct scan *scan, struct fsck_finding *finding,
                                       struct ceph_pool *pool, const char *object,
                                       struct error *err);
void finding_set_handle(struct scan *scan, struct fsck_finding *finding,
                        const struct scan_entry *entry);
/* For repairs that remove an entry. @name may be NULL; @trash is its image, queued for removal, or
 * NULL. */
void finding_forget_entry(struct scan *scan, struct fsck_finding *finding,
                          const struct scan_entry *entry, const struct scan_key *name,
                          const struct trash_entry *trash);
void fsck_report_sort(struct fsck_report *report);

/* --- the checks --- */

_must_check_ int scan_check_names(struct scan *scan, struct error *err);
_must_check_ int scan_check_entries(struct scan *scan, struct error *err);
_must_check_ int scan_check_images(struct scan *scan, struct error *err);
_must_check_ int scan_check_pvs(struct scan *scan, struct error *err);

/* Fills scan->pvs from the dump. */
void scan_read_pvs(struct scan *scan);
/* The PersistentVolume of that uuid; NULL if the dump has none. */
const struct scan_pv *scan_find_pv(const struct scan *scan, const struct uuid_text *uuid);
