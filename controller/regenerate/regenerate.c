#include "controller/regenerate/regenerate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/class_parameters.h"
#include "common/volume/cluster_mapping.h"
#include "common/volume/locate.h"
#include "controller/claim_metadata.h"
#include "controller/rbd/rbd_images.h"

/* One volume's regeneration. */
struct regeneration {
    const struct regenerate_site *site;
    struct call *call;
    const struct kube_pv *volume;
    const struct credentials *credentials;
    struct journal journal;
    struct volume_id id;
    char *image_name;
    /* where the image was found */
    struct session session;
    struct ceph_pool *pool;
    struct ceph_pool *other_pool;
    struct ceph_pool *directory; /* pool or other_pool; borrowed */
    char *image_id;
    struct error unsure; /* why a pool could not be searched */
};

static void regeneration_done(struct regeneration *work)
{
    ceph_pool_close(work->other_pool);
    ceph_pool_close(work->pool);
    session_close(&work->session);
    free(work->image_name);
    free(work->image_id);
    error_clear(&work->unsure);
}

static const char *attribute(const struct regeneration *work, const char *key)
{
    return strmap_get_or(&work->volume->attributes, key, NULL);
}

/* --- the image --- */

/* A place that is unknown here does not have the image; one that does not answer, or not to this
 * user, may have it. */
static void note_absence(struct regeneration *work, struct error *err)
{
    if (err->status == STATUS_NOT_FOUND || err->status == STATUS_INVALID_ARGUMENT ||
        work->unsure.message)
        error_clear(err);
    else
        error_move(&work->unsure, err);
}

/* Keeps the pool open if the image is in it. */
static bool try_pool(struct regeneration *work, const char *name, uint64_t id)
{
    struct ceph_cluster *cluster = work->session.cluster;
    const char *name_space = session_rbd_namespace(&work->session);
    _cleanup_error_ struct error err = {0};
    struct ceph_pool *pool = NULL;
    int result = name ? cluster->ops->pool_open(cluster, work->call, name, name_space, &pool, &err)
                      : cluster->ops->pool_open_by_id(cluster, work->call, (int64_t)id, name_space,
                                                      &pool, &err);

    if (result == 0)
        result = image_find(pool, work->call, work->image_name, &work->image_id, &err);
    if (result < 0)
        note_absence(work, &err);
    if (work->image_id)
        work->pool = pool;
    else
        ceph_pool_close(pool);
    return work->pool != NULL;
}

/* Ids that the mapping or the handle gives are certain; the attribute is wrong for volumes that
 * Ceph-CSI placed by topology, so it comes last. */
static bool try_cluster(struct regeneration *work, const char *cluster_id,
                        const struct volume_id *places, size_t count)
{
    const char *pool = attribute(work, PARAM_POOL);
    _cleanup_error_ struct error err = {0};

    if (session_open(work->site->ceph, work->site->config, work->call, cluster_id,
                     work->credentials, &work->session, &err) < 0) {
        note_absence(work, &err);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(places[i].cluster_id, cluster_id) == 0 &&
            try_pool(work, NULL, places[i].location_id))
            return true;
    if (strcmp(cluster_id, work->id.cluster_id) == 0 && try_pool(work, NULL, work->id.location_id))
        return true;
    if (pool && try_pool(work, pool, 0))
        return true;
    session_close(&work->session);
    return false;
}

/* The mapping's clusters come first, as in Ceph-CSI. */
static int find_image(struct regeneration *work, struct error *err)
{
    _cleanup_string_list_ struct string_list clusters = {0};
    _cleanup_free_ struct volume_id *places = NULL;
    _cleanup_text_ struct text names = TEXT_INIT(1024);
    size_t count = 0;

    if (cluster_mapping_find(work->site->mapping_path, &work->id, &places, &count, err) < 0 ||
        cluster_mapping_find_clusters(work->site->mapping_path, work->id.cluster_id, &clusters,
                                      err) < 0)
        return -1;
    if (!string_list_has(&clusters, work->id.cluster_id))
        string_list_add(&clusters, work->id.cluster_id);
    for (size_t i = 0; i < clusters.count; i++) {
        if (call_check(work->call, err) < 0)
            return -1;
        if (try_cluster(work, clusters.items[i], places, count))
            return 0;
    }
    if (work->unsure.message)
        return error_move(err, &work->unsure);
    for (size_t i = 0; i < clusters.count; i++)
        text_addf(&names, "%s'%s'", i ? ", " : "", clusters.items[i]);
    return error_set(err, STATUS_NOT_FOUND,
                     "there is no image '%s' in pool '%s', nor in the pools that the handle and "
                     "cluster-mapping.json lead to; clusters: %s",
                     work->image_name, strmap_get_or(&work->volume->attributes, PARAM_POOL, ""),
                     text_chars(&names));
}

/* --- the entry --- */

static int open_directory(struct regeneration *work, struct error *err)
{
    struct ceph_cluster *cluster = work->session.cluster;
    const char *name = attribute(work, PARAM_JOURNAL_POOL);

    work->directory = work->pool;
    if (!name || strcmp(name, work->pool->name) == 0)
        return 0;
    if (cluster->ops->pool_open(cluster, work->call, name, work->pool->rados_namespace,
                                &work->other_pool, err) == 0) {
        work->directory = work->other_pool;
        return 0;
    }
    /* not in this cluster: the name goes beside its image */
    return error_ignore(err, STATUS_NOT_FOUND);
}

/* Makes the name lead to the volume. *@changed is set if it did not. */
static int settle_name(struct regeneration *work, struct ceph_pool *directory, int64_t pool_id,
                       bool *changed, struct error *err)
{
    const char *name = work->volume->meta.name;
    const struct journal_ref wanted = {work->id.uuid, pool_id};
    struct journal_ref ref;
    bool found = false;

    if (journal_find(&work->journal, work->call, directory, name, &ref, &found, err) < 0)
        return -1;
    if (found && strcmp(ref.uuid.chars, wanted.uuid.chars) != 0)
        return error_set(
            err, STATUS_FAILED_PRECONDITION,
            "the name '%s' belongs to another volume in pool '%s': its uuid is %s, and "
            "the handle says %s",
            name, directory->name, ref.uuid.chars, wanted.uuid.chars);
    if (found && ref.image_pool_id == pool_id)
        return 0;
    *changed = true;
    if (found && journal_release_name(&work->journal, work->call, directory, name,
                                      ref.image_pool_id, &ref.uuid, NULL, err) < 0)
        return -1;
    return journal_claim_for(&work->journal, work->call, directory, name, &wanted, err);
}

static void fill_entry(const struct regeneration *work, const struct ceph_pool *directory,
                       const char *image_id, struct journal_entry *entry)
{
    const char *type = attribute(work, PARAM_ENCRYPTION_TYPE);
    const char *kms = attribute(work, PARAM_ENCRYPTION_KMS);

    *entry = (struct journal_entry){
        .uuid = work->id.uuid,
        .request_name = xstrdup(work->volume->meta.name),
        .image_name = xstrdup(work->image_name),
        .image_id = xstrdup(image_id),
        .owner = xstrdup(kube_or_empty(work->volume->claim.ns)),
        .journal_pool_id = directory->id,
    };
    if (strcmp(strmap_get_or(&work->volume->attributes, PARAM_ENCRYPTED, "false"), "true") != 0)
        return;
    entry->kms_id = xstrdup(kms ? kms : "default");
    entry->encryption_type = xstrdup(type ? type : "block");
}

static int write_entry(struct regeneration *work, struct error *err)
{
    _cleanup_journal_entry_ struct journal_entry entry = {0};
    _cleanup_journal_entry_ struct journal_entry present = {0};
    bool found = false;

    fill_entry(work, work->directory, work->image_id, &entry);
    if (journal_write(&work->journal, work->call, work->pool, &entry, err) == 0)
        return 0;
    /* written, where the mapping does not lead; or another process is faster */
    if (error_ignore(err, STATUS_ALREADY_EXISTS) < 0)
        return -1;
    if (journal_read(&work->journal, work->call, work->pool, &work->id.uuid, &present, &found,
                     err) < 0)
        return -1;
    if (!found)
        return error_set(err, STATUS_ABORTED, "the entry was there and is gone: look again");
    if (!present.request_name)
        return journal_fill(&work->journal, work->call, work->pool, &entry, err);
    return journal_check_name(&present, work->volume->meta.name, err);
}

/* The volume may be in deletion: it lost its image before our entry was there. */
static int check_image_again(struct regeneration *work, struct error *err)
{
    _cleanup_free_ char *image_id = NULL;

    if (image_find(work->pool, work->call, work->image_name, &image_id, err) < 0)
        return -1;
    if (image_id)
        return 0;
    if (journal_release_name(&work->journal, work->call, work->directory, work->volume->meta.name,
                             work->pool->id, &work->id.uuid, NULL, err) < 0 ||
        journal_remove(&work->journal, work->call, work->pool, &work->id.uuid, err) < 0)
        return error_wrap(err, "take the entry back");
    return error_set(err, STATUS_NOT_FOUND, "image '%s' is being deleted", work->image_name);
}

/* --- an entry that is there --- */

static void add_difference(struct strmap *changes, const char *key, const char *is,
                           const char *should)
{
    if (should && (!is || strcmp(is, should) != 0))
        strmap_set(changes, key, should);
}

/* The names that image metadata shows to operators. A copy that is not primary cannot be written
 * to; it gets its names with the rest of the image. */
static int set_names(struct regeneration *work, struct ceph_pool *pool, const char *image_name,
                     bool *changed, struct error *err)
{
    _cleanup_strmap_ struct strmap wanted = {0};
    _cleanup_strmap_ struct strmap present = {0};
    _cleanup_strmap_ struct strmap missing = {0};

    claim_metadata_of(work->volume->claim.name, kube_or_empty(work->volume->claim.ns),
                      work->volume->meta.name, work->site->cluster_name, &wanted);
    if (pool->ops->image_metadata_get(pool, work->call, image_name, &present, err) < 0)
        return -1;
    for (size_t i = 0; i < wanted.count; i++)
        add_difference(&missing, wanted.entries[i].key, strmap_get(&present, wanted.entries[i].key),
                       wanted.entries[i].value);
    if (missing.count == 0)
        return 0;
    *changed = true;
    if (pool->ops->image_metadata_change(pool, work->call, image_name, &missing, NULL, err) == 0)
        return 0;
    if (err->sys_errno != EROFS)
        return -1;
    log_v(3, work->call, "names are not written: %s", err->message);
    error_clear(err);
    *changed = false;
    return 0;
}

/* The attributes that are missing or wrong. */
static int compare_entry(struct regeneration *work, const struct located *located,
                         const char *image_id, struct strmap *changes, struct error *err)
{
    const struct journal_entry *entry = &located->entry;
    _cleanup_journal_entry_ struct journal_entry should = {0};

    fill_entry(work, located->directory, image_id, &should);
    if (!entry->request_name) { /* an object without attributes: Ceph-CSI was interrupted */
        strmap_set(changes, JOURNAL_KEY_VOLUME_NAME, should.request_name);
        strmap_set(changes, JOURNAL_KEY_IMAGE_NAME, should.image_name);
    } else if (journal_check_name(entry, should.request_name, err) < 0) {
        return -1;
    }
    if (entry->kms_id && should.kms_id && strcmp(entry->kms_id, should.kms_id) != 0)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "the entry's key is in KMS '%s', and the PersistentVolume names '%s'",
                         entry->kms_id, should.kms_id);
    add_difference(changes, JOURNAL_KEY_IMAGE_ID, entry->image_id, image_id);
    add_difference(changes, JOURNAL_KEY_OWNER, entry->owner, should.owner);
    add_difference(changes, JOURNAL_KEY_KMS, entry->kms_id, should.kms_id);
    if (!entry->encryption_type)
        add_difference(changes, JOURNAL_KEY_ENCRYPTION, NULL, should.encryption_type);
    return 0;
}

static int repair_entry(struct regeneration *work, struct located *located, bool *changed,
                        struct error *err)
{
    const char *image = located->entry.request_name ? located->entry.image_name : work->image_name;
    struct ceph_pool *attributes = located->split ? located->directory : located->pool;
    _cleanup_strmap_ struct strmap changes = {0};
    _cleanup_free_ char *image_id = NULL;

    if (image_find(located->pool, work->call, image, &image_id, err) < 0)
        return -1;
    if (!image_id)
        return error_set(err, STATUS_NOT_FOUND,
                         "the journal of pool '%s' has the volume, but there is no image '%s'",
                         located->pool->name, image);
    if (compare_entry(work, located, image_id, &changes, err) < 0 ||
        settle_name(work, located->directory, located->pool->id, changed, err) < 0)
        return -1;
    if (changes.count > 0) {
        *changed = true;
        if (journal_set(&work->journal, work->call, attributes, &work->id.uuid, &changes, err) < 0)
            return -1;
    }
    return set_names(work, located->pool, image, changed, err);
}

/* --- all together --- */

static int locate_entry(const struct regeneration *work, struct located *located, struct error *err)
{
    const struct locator locator = {
        .ceph = work->site->ceph,
        .config = work->site->config,
        .instance_id = work->site->instance_id,
        .mapping_path = work->site->mapping_path,
    };

    return volume_locate(&locator, work->call, JOURNAL_VOLUME, work->volume->handle,
                         work->credentials, located, err);
}

/* The entry is there; the handle must lead to it. */
static int check_mapping(struct regeneration *work, struct error *err)
{
    _cleanup_located_ struct located located = {0};

    if (locate_entry(work, &located, err) == 0)
        return 0;
    if (err->status != STATUS_NOT_FOUND && err->status != STATUS_INVALID_ARGUMENT)
        return -1;
    error_clear(err);
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "the entry is written in pool '%s' of cluster '%s', and cluster-mapping.json "
                     "does not lead there: it needs clusterIDMapping {\"%s\": \"%s\"} with "
                     "RBDPoolIDMapping [{\"%llu\": \"%lld\"}]",
                     work->pool->name, work->session.cluster->cluster_id, work->id.cluster_id,
                     work->session.cluster->cluster_id, (unsigned long long)work->id.location_id,
                     (long long)work->pool->id);
}

static int write_anew(struct regeneration *work, struct error *err)
{
    bool changed = false;

    call_stage(work->call, "looking for image '%s' for {age}", work->image_name);
    if (find_image(work, err) < 0 || open_directory(work, err) < 0)
        return -1;
    call_stage(work->call, "writing the journal entry in pool '%s' for {age}", work->pool->name);
    if (settle_name(work, work->directory, work->pool->id, &changed, err) < 0 ||
        write_entry(work, err) < 0 || check_image_again(work, err) < 0 ||
        set_names(work, work->pool, work->image_name, &changed, err) < 0)
        return -1;
    return check_mapping(work, err);
}

int regenerate_journal(const struct regenerate_site *site, struct call *call,
                       const struct kube_pv *volume, const struct credentials *credentials,
                       enum regenerate_outcome *outcome, struct error *err)
{
    _cleanup_(regeneration_done) struct regeneration work = {
        .site = site,
        .call = call,
        .volume = volume,
        .credentials = credentials,
        .journal = {JOURNAL_VOLUME, site->instance_id},
    };
    _cleanup_located_ struct located located = {0};
    bool changed = false;

    if (volume_id_parse(volume->handle, &work.id, err) < 0)
        return error_recode(err, STATUS_INVALID_ARGUMENT);
    work.image_name = xasprintf(
        "%s%s", strmap_get_or(&volume->attributes, PARAM_VOLUME_PREFIX, IMAGE_PREFIX_VOLUME),
        work.id.uuid.chars);
    if (locate_entry(&work, &located, err) == 0) {
        if (repair_entry(&work, &located, &changed, err) < 0)
            return -1;
        *outcome = changed ? REGENERATE_REPAIRED : REGENERATE_NOTHING;
        return 0;
    }
    /* after others the entry may be there, as in locate.c */
    if (err->status != STATUS_NOT_FOUND && err->status != STATUS_INVALID_ARGUMENT &&
        err->status != STATUS_PERMISSION_DENIED && err->status != STATUS_UNAUTHENTICATED)
        return -1;
    error_clear(err);
    if (write_anew(&work, err) < 0)
        return -1;
    *outcome = REGENERATE_WRITTEN;
    return 0;
}
