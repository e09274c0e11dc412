#include "controller/addons/replication.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/ceph/on_disk.h"
#include "common/volume/mirror_schedule.h"
#include "controller/addons/replication_class.h"
#include "controller/lookup.h"
#include "controller/rbd/flatten.h"
#include "controller/rbd/rbd_images.h"

void replication_request_done(struct replication_request *request)
{
    handle_request_done(&request->volume);
    strmap_done(&request->parameters);
}

/* --- the volume --- */

/* A volume that nobody else works on, and whether it is mirrored. */
struct subject {
    const struct controller *controller;
    struct call *call;
    struct operation operation;
    struct located located;
    struct ceph_pool *pool; /* borrowed from located */
    const char *image;
    char *image_id;
    struct image_mirroring mirroring;
    struct replication_class class; /* if the call has one */
};

static void subject_done(struct subject *subject)
{
    free(subject->image_id);
    located_done(&subject->located);
    operation_end(&subject->operation);
}
#define _cleanup_subject_ _cleanup_(subject_done)

static int find_image(struct subject *subject, struct error *err)
{
    struct ceph_pool *pool = subject->located.pool;

    subject->pool = pool;
    subject->image = subject->located.entry.image_name;
    if (pool->ops->image_get_id(pool, subject->call, subject->image, &subject->image_id, err) < 0 ||
        pool->ops->image_get_mirroring(pool, subject->call, subject->image, subject->image_id,
                                       &subject->mirroring, err) < 0)
        return -1;
    if (subject->mirroring.is_ending)
        return error_set(err, STATUS_ABORTED,
                         "the mirroring of image '%s' in pool '%s' is being ended; retry",
                         subject->image, pool->name);
    return 0;
}

static int subject_open(struct subject *subject, const struct handle_request *request,
                        struct error *err)
{
    if (request->handle[0] == '\0') {
        error_set(err, STATUS_INVALID_ARGUMENT, "the handle of the volume is missing");
        return -1;
    }
    if (operation_begin(subject->controller->operations, "volume", request->handle, subject->call,
                        &subject->operation, err) < 0 ||
        locate(subject->controller, subject->call, JOURNAL_VOLUME, request->handle,
               &request->credentials, &subject->located, err) < 0 ||
        find_image(subject, err) < 0) {
        error_wrap(err, "volume '%s'", request->handle);
        return -1;
    }
    return 0;
}

/* Of a call with a class, which is looked at before anything else. */
static int subject_open_with_class(struct subject *subject,
                                   const struct replication_request *request, struct error *err)
{
    if (replication_class_parse(&request->parameters, &subject->class, err) < 0)
        return -1;
    return subject_open(subject, &request->volume, err);
}

static int check_mirrored(const struct subject *subject, struct error *err)
{
    if (subject->mirroring.is_enabled)
        return 0;
    return error_set(err, STATUS_INVALID_ARGUMENT,
                     "image '%s' in pool '%s' is not mirrored; enable its replication first",
                     subject->image, subject->pool->name);
}

/* --- the schedule --- */

static int add_schedule(struct subject *subject, struct error *err)
{
    const struct replication_class *class = &subject->class;

    if (!class->interval)
        return 0;
    return mirror_schedule_add(subject->located.session.cluster, subject->call, subject->pool,
                               subject->image, class->interval, class->start_time, err);
}

static int remove_schedule(struct subject *subject, struct error *err)
{
    return mirror_schedule_remove(subject->located.session.cluster, subject->call, subject->pool,
                                  subject->image, err);
}

/* --- enabling and disabling --- */

/* ABORTED until the image has no parent. */
static int detach(struct subject *subject, const struct handle_request *request, struct error *err)
{
    const struct flatten_target target = {subject->located.id.cluster_id, &request->credentials,
                                          subject->pool, subject->image};
    _cleanup_text_ struct text progress = TEXT_INIT(1024);
    struct image_facts facts = {0};

    if (subject->pool->ops->image_get_facts(subject->pool, subject->call, subject->image, &facts,
                                            err) < 0)
        return -1;
    const bool has_parent = facts.has_parent;
    image_facts_done(&facts);
    if (!has_parent)
        return 0;
    flatten_start(subject->controller, &target);
    flatten_describe(subject->controller, &target, &progress);
    return error_set(err, STATUS_ABORTED, "image '%s' is being detached from its parent: %s; retry",
                     subject->image, text_chars(&progress));
}

int replication_enable(const struct controller *controller, struct call *call,
                       const struct replication_request *request, struct error *err)
{
    _cleanup_subject_ struct subject subject = {.controller = controller, .call = call};

    if (subject_open_with_class(&subject, request, err) < 0)
        return -1;
    if (subject.mirroring.is_enabled)
        return 0;
    if (subject.class.flattens && detach(&subject, &request->volume, err) < 0)
        return -1;
    return subject.pool->ops->image_enable_mirroring(subject.pool, call, subject.image,
                                                     subject.class.mode, err);
}

/* A copy that is being replayed goes with its original. */
static int check_copy(struct subject *subject, struct error *err)
{
    _cleanup_mirror_sites_ struct mirror_sites sites = {0};

    if (subject->pool->ops->image_mirror_sites(subject->pool, subject->call, subject->image, &sites,
                                               err) < 0)
        return -1;
    const struct mirror_site *local = replication_local_site(&sites);
    if (local && local->is_up && local->state == MIRROR_REPLAYING)
        return 0;
    return error_set(err, STATUS_FAILED_PRECONDITION,
                     "image '%s' in pool '%s' is a copy that rbd-mirror does not replay (%s); "
                     "'force: \"true\"' in the class ends its mirroring all the same",
                     subject->image, subject->pool->name,
                     local ? local->description : "it has said nothing about it");
}

int replication_disable(const struct controller *controller, struct call *call,
                        const struct replication_request *request, struct error *err)
{
    _cleanup_subject_ struct subject subject = {.controller = controller, .call = call};

    if (subject_open_with_class(&subject, request, err) < 0)
        return -1;
    if (!subject.mirroring.is_enabled)
        return 0;
    if (!subject.mirroring.is_primary && !subject.class.forces)
        return check_copy(&subject, err);
    if (remove_schedule(&subject, err) < 0)
        return -1;
    return subject.pool->ops->image_disable_mirroring(subject.pool, call, subject.image,
                                                      subject.class.forces, err);
}

/* --- promoting and demoting --- */

int replication_promote(const struct controller *controller, struct call *call,
                        const struct replication_request *request, struct error *err)
{
    _cleanup_subject_ struct subject subject = {.controller = controller, .call = call};

    if (subject_open_with_class(&subject, request, err) < 0 || check_mirrored(&subject, err) < 0)
        return -1;
    if (!subject.mirroring.is_primary) {
        if (subject.pool->ops->image_promote(subject.pool, call, subject.image, request->force,
                                             err) < 0)
            return -1;
        log_info(call, "image '%s' in pool '%s' is primary now%s", subject.image,
                 subject.pool->name, request->force ? ", by force" : "");
    }
    return add_schedule(&subject, err);
}

/* Its writes would fail. */
static int check_unused(struct subject *subject, struct error *err)
{
    if (image_check_unused(subject->pool, subject->call, subject->image, &subject->mirroring, err) <
        0) {
        if (err->status == STATUS_FAILED_PRECONDITION)
            error_hint(err, "end the pods that use the volume, or force this");
        return -1;
    }
    return 0;
}

/* So that whoever is asked to copy it anew knows whether that was done. */
static int record_creation(struct subject *subject, struct error *err)
{
    static const struct string_list nothing = {0};
    _cleanup_strmap_ struct strmap entries = {0};
    struct image_facts facts = {0};

    if (subject->pool->ops->image_get_facts(subject->pool, subject->call, subject->image, &facts,
                                            err) < 0)
        return -1;
    _cleanup_free_ char *created = replication_format_time(&facts.created);
    image_facts_done(&facts);
    strmap_set(&entries, METADATA_RBD_CREATED, created);
    return subject->pool->ops->image_metadata_change(subject->pool, subject->call, subject->image,
                                                     &entries, &nothing, err);
}

int replication_demote(const struct controller *controller, struct call *call,
                       const struct replication_request *request, struct error *err)
{
    _cleanup_subject_ struct subject subject = {.controller = controller, .call = call};

    if (subject_open_with_class(&subject, request, err) < 0 || check_mirrored(&subject, err) < 0)
        return -1;
    if (!subject.mirroring.is_primary)
        return 0;
    if ((!request->force && check_unused(&subject, err) < 0) ||
        record_creation(&subject, err) < 0 || remove_schedule(&subject, err) < 0 ||
        subject.pool->ops->image_demote(subject.pool, call, subject.image, err) < 0)
        return -1;
    log_info(call, "image '%s' in pool '%s' is a copy now", subject.image, subject.pool->name);
    return 0;
}

/* --- copying anew --- */

/* The copy has another id than the one that it replaces. */
static int mend_entry(struct subject *subject, struct error *err)
{
    const struct located *located = &subject->located;

    if (!located->entry.image_id || strcmp(located->entry.image_id, subject->image_id) == 0)
        return 0;
    return journal_set_image_id(&located->journal, subject->call, subject->pool, &located->id.uuid,
                                subject->image_id, err);
}

/* Whether this is the image that was demoted, not one that was made in its place. Without a record
 * nobody knows. */
static int is_the_old_one(struct subject *subject, bool *old, bool *known, struct error *err)
{
    _cleanup_strmap_ struct strmap metadata = {0};
    struct image_facts facts = {0};
    struct timespec recorded;

    if (subject->pool->ops->image_metadata_get(subject->pool, subject->call, subject->image,
                                               &metadata, err) < 0 ||
        subject->pool->ops->image_get_facts(subject->pool, subject->call, subject->image, &facts,
                                            err) < 0)
        return -1;
    const char *text = strmap_get(&metadata, METADATA_RBD_CREATED);
    *known = text && replication_parse_time(text, &recorded);
    *old = *known && recorded.tv_sec == facts.created.tv_sec &&
           recorded.tv_nsec == facts.created.tv_nsec;
    image_facts_done(&facts);
    return 0;
}

static int resync_if_needed(struct subject *subject, const struct mirror_site *local, bool force,
                            struct error *err)
{
    const bool is_stuck = local->state == MIRROR_ERROR;
    bool is_old = false;
    bool is_known = false;

    if (!is_stuck && !force)
        return 0;
    if (is_the_old_one(subject, &is_old, &is_known, err) < 0)
        return -1;
    if (!is_old && (is_known || !is_stuck))
        return 0;
    log_info(subject->call, "image '%s' in pool '%s' is copied anew: %s", subject->image,
             subject->pool->name, is_stuck ? local->description : "asked for by force");
    return subject->pool->ops->image_resync(subject->pool, subject->call, subject->image, err);
}

/* Between the removal of the old copy and the new one there is none, for half a minute or so. */
static int explain_missing(const struct subject *subject, struct error *err)
{
    if (!subject->image || err->status != STATUS_NOT_FOUND)
        return -1;
    error_hint(err, "rbd-mirror may be about to copy it anew; retry");
    return error_recode(err, STATUS_ABORTED);
}

int replication_resync(const struct controller *controller, struct call *call,
                       const struct replication_request *request, bool *ready, struct error *err)
{
    _cleanup_subject_ struct subject subject = {.controller = controller, .call = call};
    _cleanup_mirror_sites_ struct mirror_sites sites = {0};

    if (subject_open(&subject, &request->volume, err) < 0)
        return explain_missing(&subject, err);
    if (check_mirrored(&subject, err) < 0)
        return -1;
    if (subject.mirroring.is_primary)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "image '%s' in pool '%s' is primary here, and others copy it; demote it "
                         "first",
                         subject.image, subject.pool->name);
    if (mend_entry(&subject, err) < 0 ||
        subject.pool->ops->image_mirror_sites(subject.pool, call, subject.image, &sites, err) < 0)
        return -1;
    const struct mirror_site *local = replication_local_site(&sites);
    if (!local || !local->is_up)
        return error_set(err, STATUS_UNAVAILABLE,
                         "rbd-mirror of this cluster is down or has said nothing yet about image "
                         "'%s' in pool '%s'; retry when it runs",
                         subject.image, subject.pool->name);
    *ready = replication_is_settled(&sites);
    return resync_if_needed(&subject, local, request->force, err);
}

/* --- telling --- */

int replication_get_info(const struct controller *controller, struct call *call,
                         const struct handle_request *request, struct replication_info *info,
                         struct error *err)
{
    _cleanup_subject_ struct subject subject = {.controller = controller, .call = call};
    _cleanup_mirror_sites_ struct mirror_sites sites = {0};

    if (subject_open(&subject, request, err) < 0 || check_mirrored(&subject, err) < 0)
        return -1;
    if (!subject.mirroring.is_primary)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "image '%s' in pool '%s' is a copy; ask where it is primary",
                         subject.image, subject.pool->name);
    if (subject.pool->ops->image_mirror_sites(subject.pool, call, subject.image, &sites, err) < 0)
        return -1;
    info->health = replication_judge(&sites, &info->message);
    for (size_t i = 0; i < sites.count; i++)
        if (!sites.items[i].is_local && replication_parse_site(&sites.items[i], info))
            return 0;
    return error_set(err, STATUS_NOT_FOUND,
                     "no snapshot of image '%s' in pool '%s' has arrived elsewhere: %s",
                     subject.image, subject.pool->name, info->message);
}
