#include "controller/regenerate/regenerator.h"

#include <pthread.h>
#include <search.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/kube/informer.h"
#include "common/kube/kube.h"
#include "common/kube/leader.h"
#include "common/volume/volume_id.h"

#define VOLUMES_PATH "/api/v1/persistentvolumes"
#define RESYNC_MS ((int64_t)10 * 3600 * 1000)
#define RETRY_FIRST_MS 1000
#define RETRY_LIMIT_MS 300000
#define IDLE_MS 1000    /* between two searches for what is due */
#define VOLUME_MS 60000 /* for one volume */
#define BATCH 256       /* volumes that one search finds */
#define CLUSTERS_MAX 64 /* that are known not to answer */
#define AWAY_FIRST_MS 1000
#define AWAY_LIMIT_MS 60000

/* A volume whose entry is to be checked, now or later. */
struct item {
    char *name;       /* of the PersistentVolume */
    uint64_t version; /* counts its changes */
    int64_t due_ms;
    struct backoff backoff;
    bool has_failed; /* the last time */
};

/* A cluster that did not answer. */
struct away {
    char cluster_id[VOLUME_ID_CLUSTER_MAX + 1];
    struct backoff backoff;
    int64_t until_ms;
};

struct regenerator {
    struct regenerate_site site;
    struct standing_credentials *standing;
    struct events *events;
    char *driver_name;
    int64_t resync_ms;
    int64_t retry_first_ms;
    int64_t retry_limit_ms;
    struct leader leader;
    struct informer *informer;
    atomic_uint_fast64_t counts[3]; /* by outcome */
    atomic_uint_fast64_t failures;
    /* the thread's own */
    bool reported_cephfs;
    struct away away[CLUSTERS_MAX];
    size_t away_count;
    pthread_mutex_t lock; /* over what is below; the counts may be read without */
    void *items;          /* tree of struct item by name */
    atomic_uint_fast64_t item_count;
    atomic_uint_fast64_t failed_count;
};

/* --- what is to be done --- */

static int compare_items(const void *a, const void *b)
{
    return strcmp(((const struct item *)a)->name, ((const struct item *)b)->name);
}

/* Lock held. NULL if there is none. */
static struct item *find_item(struct regenerator *regenerator, const char *name)
{
    struct item key = {.name = (char *)(uintptr_t)name};
    struct item **found = tfind(&key, &regenerator->items, compare_items);

    return found ? *found : NULL;
}

/* Lock held. */
static void mark_outcome(struct regenerator *regenerator, struct item *item, bool has_failed)
{
    if (item->has_failed && !has_failed)
        regenerator->failed_count--;
    else if (!item->has_failed && has_failed)
        regenerator->failed_count++;
    item->has_failed = has_failed;
}

static void forget_item(struct regenerator *regenerator, const char *name)
{
    pthread_mutex_lock(&regenerator->lock);
    struct item *item = find_item(regenerator, name);
    if (item) {
        mark_outcome(regenerator, item, false);
        tdelete(item, &regenerator->items, compare_items);
        regenerator->item_count--;
        free(item->name);
        free(item);
    }
    pthread_mutex_unlock(&regenerator->lock);
}

static void make_item_due(struct regenerator *regenerator, const char *name)
{
    pthread_mutex_lock(&regenerator->lock);
    struct item *item = find_item(regenerator, name);
    if (!item) {
        item = xcalloc(1, sizeof(*item));
        item->name = xstrdup(name);
        if (!tsearch(item, &regenerator->items, compare_items))
            abort(); /* out of memory */
        regenerator->item_count++;
    }
    item->version++;
    item->due_ms = 0;
    item->backoff = (struct backoff){regenerator->retry_first_ms, regenerator->retry_limit_ms, 0};
    pthread_mutex_unlock(&regenerator->lock);
}

/* The informer's thread. A change of what was trimmed away is none. */
static void put_volume(void *object, json_t *pv, json_t *old)
{
    struct regenerator *regenerator = object;

    if (strcmp(kube_object_driver(KUBE_PV, pv), regenerator->driver_name) != 0) {
        forget_item(regenerator, kube_name(pv));
        return;
    }
    if (old && json_equal(json_object_get(pv, "spec"), json_object_get(old, "spec")) &&
        strcmp(kube_text(pv, "metadata", "deletionTimestamp", NULL),
               kube_text(old, "metadata", "deletionTimestamp", NULL)) == 0)
        return;
    make_item_due(regenerator, kube_name(pv));
}

static void drop_volume(void *object, json_t *pv)
{
    forget_item(object, kube_name(pv));
}

static void trim_volume(void *object, json_t *pv)
{
    claimed_volume_trim(pv, ((struct regenerator *)object)->driver_name);
}

struct due {
    char *name;
    uint64_t version;
};

struct batch {
    struct due items[BATCH];
    size_t count;
    int64_t now_ms;
};

static void pick_if_due(const void *node, VISIT order, void *object)
{
    const struct item *item = *(struct item *const *)node;
    struct batch *batch = object;

    if ((order == postorder || order == leaf) && batch->count < BATCH &&
        item->due_ms <= batch->now_ms)
        batch->items[batch->count++] = (struct due){xstrdup(item->name), item->version};
}

/* One walk finds many, so that the walks cost nothing beside the work. */
static void pick_due(struct regenerator *regenerator, struct batch *batch)
{
    batch->now_ms = clock_monotonic_ms();
    pthread_mutex_lock(&regenerator->lock);
    twalk_r(regenerator->items, pick_if_due, batch);
    pthread_mutex_unlock(&regenerator->lock);
}

/* What happened, unless the volume has changed meanwhile and is due again. */
static void settle_item(struct regenerator *regenerator, const struct due *due, bool has_failed,
                        int64_t wait_ms)
{
    pthread_mutex_lock(&regenerator->lock);
    struct item *item = find_item(regenerator, due->name);
    if (item && item->version == due->version) {
        mark_outcome(regenerator, item, has_failed);
        if (has_failed && wait_ms < 0)
            wait_ms = backoff_next_ms(&item->backoff);
        else if (!has_failed)
            backoff_reset(&item->backoff);
        item->due_ms = clock_monotonic_ms() + wait_ms;
    }
    pthread_mutex_unlock(&regenerator->lock);
}

static void make_due(const void *node, VISIT order, void *object)
{
    (void)object;
    if (order == postorder || order == leaf)
        (*(struct item *const *)node)->due_ms = 0;
}

/* A new leader checks all entries. */
static void make_all_due(struct regenerator *regenerator)
{
    pthread_mutex_lock(&regenerator->lock);
    twalk_r(regenerator->items, make_due, NULL);
    pthread_mutex_unlock(&regenerator->lock);
}

/* --- clusters that do not answer --- */

static struct away *find_away(struct regenerator *regenerator, const char *cluster_id)
{
    for (size_t i = 0; i < regenerator->away_count; i++)
        if (strcmp(regenerator->away[i].cluster_id, cluster_id) == 0)
            return &regenerator->away[i];
    return NULL;
}

static void note_away(struct regenerator *regenerator, const char *cluster_id)
{
    struct away *away = find_away(regenerator, cluster_id);

    if (!away) {
        if (regenerator->away_count == CLUSTERS_MAX)
            return; /* its volumes have pauses of their own */
        away = &regenerator->away[regenerator->away_count++];
        *away = (struct away){.backoff = BACKOFF_INIT(AWAY_FIRST_MS, AWAY_LIMIT_MS)};
        memcpy(away->cluster_id, cluster_id, strlen(cluster_id) + 1);
    }
    away->until_ms = clock_monotonic_ms() + backoff_next_ms(&away->backoff);
}

/* --- one volume --- */

static void emit_event(struct regenerator *regenerator, const struct kube_pv *volume,
                       enum event_type type, const char *reason, const char *message)
{
    const struct event_subject subject = {"v1", "PersistentVolume", "", volume->meta.name,
                                          kube_or_empty(volume->meta.uid)};

    events_emit(regenerator->events, &subject, type, reason, "%s", message);
}

static int regenerate_volume(struct regenerator *regenerator, struct call *call,
                             const struct kube_pv *volume, enum regenerate_outcome *outcome,
                             struct error *err)
{
    _cleanup_credentials_ struct credentials credentials = {0};
    const struct secret_ref secret = claimed_volume_secret(volume);

    if (!secret.name)
        return error_set(err, STATUS_FAILED_PRECONDITION,
                         "it names no Secret: neither controllerExpandSecretRef nor "
                         "nodeStageSecretRef is set");
    if (standing_credentials_of_secret(regenerator->standing, call, &secret, &credentials, err) < 0)
        return -1;
    return regenerate_journal(&regenerator->site, call, volume, &credentials, outcome, err);
}

static void note_outcome(struct regenerator *regenerator, const struct kube_pv *volume,
                         enum regenerate_outcome outcome)
{
    static const char *const messages[] = {
        [REGENERATE_REPAIRED] = "the volume's journal entry in Ceph was mended",
        [REGENERATE_WRITTEN] = "the volume's journal entry in Ceph was written anew",
    };

    atomic_fetch_add(&regenerator->counts[outcome], 1);
    if (outcome == REGENERATE_NOTHING)
        return;
    log_info(NULL, "volume '%s' (%s): %s", volume->meta.name, volume->handle, messages[outcome]);
    emit_event(regenerator, volume, EVENT_NORMAL, "JournalRegenerated", messages[outcome]);
}

/* Tries, unless its cluster is known to be away. */
static void try_volume(struct regenerator *regenerator, const struct due *due,
                       const struct kube_pv *volume)
{
    _cleanup_error_ struct error err = {0};
    enum regenerate_outcome outcome = REGENERATE_NOTHING;
    struct volume_id id = {0};
    struct call call;

    if (volume_id_parse(volume->handle, &id, &err) < 0)
        error_clear(&err); /* is reported below */
    struct away *away = find_away(regenerator, id.cluster_id);
    int64_t wait_ms = away ? away->until_ms - clock_monotonic_ms() : 0;
    if (wait_ms > 0) {
        settle_item(regenerator, due, true, wait_ms);
        return;
    }
    call_init(&call, 0, "RegenerateJournal", deadline_in_ms(VOLUME_MS));
    call.cancelled = &regenerator->leader.worker.stopping;
    call_set_request_id(&call, volume->meta.name);
    int result = regenerate_volume(regenerator, &call, volume, &outcome, &err);
    call_done(&call);
    if (result < 0) {
        if (!worker_is_stopping(&regenerator->leader.worker)) {
            atomic_fetch_add(&regenerator->failures, 1);
            log_warn(NULL, "volume '%s' (%s): its journal entry is not certain: %s",
                     volume->meta.name, volume->handle, err.message);
            emit_event(regenerator, volume, EVENT_WARNING, "JournalNotRegenerated", err.message);
        }
        if (err.status == STATUS_UNAVAILABLE || err.status == STATUS_DEADLINE_EXCEEDED)
            note_away(regenerator, id.cluster_id);
        settle_item(regenerator, due, true, -1);
        return;
    }
    if (away)
        *away = regenerator->away[--regenerator->away_count];
    note_outcome(regenerator, volume, outcome);
    settle_item(regenerator, due, false, backoff_jitter_ms(regenerator->resync_ms));
}

static void regenerate_due(struct regenerator *regenerator, const struct due *due)
{
    json_auto_t *item = informer_get(regenerator->informer, "", due->name);
    _cleanup_error_ struct error err = {0};
    void *object = NULL;

    if (!item)
        return; /* gone */
    if (kube_object_decode(KUBE_PV, item, &object, &err) < 0) {
        log_warn(NULL, "%s", err.message);
        settle_item(regenerator, due, true, -1);
        return;
    }
    _cleanup_(kube_pv_freep) struct kube_pv *pv = object;
    enum unclaimed reason = claimed_volume_judge(pv, regenerator->driver_name);
    if (reason == UNCLAIMED_NOT) {
        try_volume(regenerator, due, pv);
        return;
    }
    if (reason == UNCLAIMED_CEPHFS && !regenerator->reported_cephfs)
        log_info(NULL, "volumes of CephFS are left alone: no subvolume is mirrored to another "
                       "cluster under its name, so there is nothing that an entry could lead to");
    regenerator->reported_cephfs = regenerator->reported_cephfs || reason == UNCLAIMED_CEPHFS;
    settle_item(regenerator, due, false, regenerator->resync_ms);
}

/* --- the thread --- */

/* The state for the health report: what a leader cannot do, or that nothing can be seen. */
static void report_health(struct regenerator *regenerator, bool is_leader)
{
    _cleanup_free_ char *fault = NULL;
    struct informer_health health = {0};
    size_t failed = regenerator->failed_count;

    informer_health(regenerator->informer, &health);
    if (!health.healthy && health.last_error)
        fault = xasprintf("the PersistentVolumes cannot be watched: %s", health.last_error);
    else if (is_leader && failed > 0)
        fault = xasprintf("the journal entries of %zu volume(s) are not certain; their "
                          "PersistentVolumes have events",
                          failed);
    leader_note(&regenerator->leader, fault);
    informer_health_done(&health);
}

static void run_regenerator(void *object)
{
    struct regenerator *regenerator = object;
    struct worker *worker = &regenerator->leader.worker;
    struct batch *batch = xcalloc(1, sizeof(*batch));
    bool did_lead = false;

    while (!worker_is_stopping(worker)) {
        bool is_leader = leader_may_act(&regenerator->leader);

        if (is_leader && !did_lead)
            make_all_due(regenerator);
        did_lead = is_leader;
        batch->count = 0;
        if (is_leader)
            pick_due(regenerator, batch);
        for (size_t i = 0; i < batch->count; i++) {
            if (leader_may_act(&regenerator->leader))
                regenerate_due(regenerator, &batch->items[i]);
            free(batch->items[i].name);
        }
        report_health(regenerator, is_leader);
        if (batch->count < BATCH)
            worker_pause(worker, IDLE_MS);
    }
    free(batch);
}

/* --- metrics --- */

static void register_metrics(const struct regenerator *regenerator, struct metrics *metrics)
{
    const struct metric_spec specs[] = {
        {METRIC_GAUGE, "csi_journal_leader", "1 while this process keeps the journal in step.",
         .read = lease_read_held, .context = regenerator->leader.lease},
        {METRIC_GAUGE, "csi_journal_volumes", "PersistentVolumes of the driver.",
         .number = &regenerator->item_count},
        {METRIC_GAUGE, "csi_journal_volumes_failed", "PersistentVolumes whose last look failed.",
         .number = &regenerator->failed_count},
        {METRIC_COUNTER, "csi_journal_entries_written_total",
         "Journal entries that were missing and were written.",
         .number = &regenerator->counts[REGENERATE_WRITTEN]},
        {METRIC_COUNTER, "csi_journal_entries_repaired_total", "Journal entries that were mended.",
         .number = &regenerator->counts[REGENERATE_REPAIRED]},
        {METRIC_COUNTER, "csi_journal_failures_total", "Looks at a journal entry that failed.",
         .number = &regenerator->failures},
    };

    metrics_register_all(metrics, specs, ARRAY_LENGTH(specs));
}

/* --- life cycle --- */

static void free_item(void *item)
{
    free(((struct item *)item)->name);
    free(item);
}

static void release_regenerator(struct regenerator *regenerator)
{
    tdestroy(regenerator->items, free_item);
    pthread_mutex_destroy(&regenerator->lock);
    free(regenerator->driver_name);
    free(regenerator);
}

int regenerator_new(const struct regenerator_options *options, struct regenerator **out,
                    struct error *err)
{
    struct regenerator *regenerator = xcalloc(1, sizeof(*regenerator));
    _cleanup_free_ char *lease =
        xasprintf("%s-%s", options->driver_name, options->name_space); /* Ceph-CSI's */

    regenerator->site = options->site;
    regenerator->standing = options->standing;
    regenerator->events = options->events;
    regenerator->driver_name = xstrdup(options->driver_name);
    regenerator->resync_ms = options->resync_ms > 0 ? options->resync_ms : RESYNC_MS;
    regenerator->retry_first_ms =
        options->retry_first_ms > 0 ? options->retry_first_ms : RETRY_FIRST_MS;
    regenerator->retry_limit_ms =
        options->retry_limit_ms > 0 ? options->retry_limit_ms : RETRY_LIMIT_MS;
    pthread_mutex_init(&regenerator->lock, NULL);
    if (leader_init(&regenerator->leader, options->kube,
                    &(struct lease_options){.name_space = options->name_space,
                                            .name = lease,
                                            .identity = options->identity},
                    err) < 0) {
        release_regenerator(regenerator);
        return -1;
    }
    if (options->metrics)
        register_metrics(regenerator, options->metrics);
    regenerator->informer = informer_new(
        options->kube, &(struct informer_options){
                           .path = VOLUMES_PATH,
                           .handler = {.put = put_volume, .gone = drop_volume, .trim = trim_volume},
                           .object = regenerator,
                       });
    worker_start(&regenerator->leader.worker, "regenerator", run_regenerator, regenerator);
    *out = regenerator;
    return 0;
}

void regenerator_free(struct regenerator *regenerator)
{
    if (!regenerator)
        return;
    leader_done(&regenerator->leader);
    informer_free(regenerator->informer);
    release_regenerator(regenerator);
}

bool regenerator_is_healthy(struct regenerator *regenerator, char **message, time_t *since)
{
    return leader_is_healthy(&regenerator->leader, message, since);
}
