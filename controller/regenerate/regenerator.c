#include "controller/regenerate/regenerator.h"

#include <pthread.h>
#include <search.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/condition.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/base/worker.h"
#include "common/kube/informer.h"
#include "common/kube/kube.h"
#include "common/kube/lease.h"
#include "common/volume/volume_id.h"

#define VOLUMES_PATH "/api/v1/persistentvolumes"
#define RESYNC_MS ((int64_t)10 * 3600 * 1000)
#define RETRY_FIRST_MS 1000
#define RETRY_LIMIT_MS 300000
#define IDLE_MS 1000    /* between two looks for what is due */
#define VOLUME_MS 60000 /* for one volume */
#define BATCH 256       /* volumes that one look finds */
#define CLUSTERS_MAX 64 /* that are known not to answer */
#define AWAY_FIRST_MS 1000
#define AWAY_LIMIT_MS 60000

/* A volume that is to be looked at, now or later. */
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
    struct kube *kube;
    struct standing_credentials *standing;
    struct events *events;
    char *driver_name;
    int64_t resync_ms;
    int64_t retry_first_ms;
    int64_t retry_limit_ms;
    struct lease *lease;
    struct informer *informer;
    struct worker worker;
    atomic_bool told_cephfs;
    atomic_uint_fast64_t counts[3]; /* by outcome */
    atomic_uint_fast64_t failures;
    /* the worker's own */
    struct away away[CLUSTERS_MAX];
    size_t away_count;
    pthread_mutex_t lock; /* over what is below */
    void *items;          /* tree of struct item by name */
    atomic_uint_fast64_t item_count;
    atomic_uint_fast64_t failed_count;
    struct condition state;
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
static void mark(struct regenerator *regenerator, struct item *item, bool has_failed)
{
    if (item->has_failed != has_failed)
        regenerator->failed_count += has_failed ? 1 : UINT64_MAX;
    item->has_failed = has_failed;
}

static void forget(struct regenerator *regenerator, const char *name)
{
    pthread_mutex_lock(&regenerator->lock);
    struct item *item = find_item(regenerator, name);
    if (item) {
        mark(regenerator, item, false);
        tdelete(item, &regenerator->items, compare_items);
        regenerator->item_count--;
        free(item->name);
        free(item);
    }
    pthread_mutex_unlock(&regenerator->lock);
}

static void remember(struct regenerator *regenerator, const char *name)
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
        forget(regenerator, kube_name(pv));
        return;
    }
    if (old && json_equal(json_object_get(pv, "spec"), json_object_get(old, "spec")) &&
        strcmp(kube_text(pv, "metadata", "deletionTimestamp", NULL),
               kube_text(old, "metadata", "deletionTimestamp", NULL)) == 0)
        return;
    remember(regenerator, kube_name(pv));
}

static void drop_volume(void *object, json_t *pv)
{
    forget(object, kube_name(pv));
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

static void pick(const void *node, VISIT order, void *object)
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
    batch->count = 0;
    batch->now_ms = clock_monotonic_ms();
    pthread_mutex_lock(&regenerator->lock);
    twalk_r(regenerator->items, pick, batch);
    pthread_mutex_unlock(&regenerator->lock);
}

/* What happened, unless the volume has changed meanwhile and is due again. */
static void settle(struct regenerator *regenerator, const struct due *due, bool has_failed,
                   int64_t wait_ms)
{
    pthread_mutex_lock(&regenerator->lock);
    struct item *item = find_item(regenerator, due->name);
    if (item && item->version == due->version) {
        mark(regenerator, item, has_failed);
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

/* A new leader trusts nobody's work. */
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

static bool is_away(const struct error *err)
{
    return err->status == STATUS_UNAVAILABLE || err->status == STATUS_DEADLINE_EXCEEDED;
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

static void note_answer(struct regenerator *regenerator, const char *cluster_id)
{
    struct away *away = find_away(regenerator, cluster_id);

    if (away)
        *away = regenerator->away[--regenerator->away_count];
}

/* --- one volume --- */

static void report(struct regenerator *regenerator, const struct kube_pv *volume,
                   enum event_type type, const char *reason, const char *message)
{
    const struct event_subject subject = {"v1", "PersistentVolume", "", volume->meta.name,
                                          kube_or_empty(volume->meta.uid)};

    events_emit(regenerator->events, &subject, type, reason, "%s", message);
}

static int regenerate(struct regenerator *regenerator, struct call *call,
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
    report(regenerator, volume, EVENT_NORMAL, "JournalRegenerated", messages[outcome]);
}

static void note_failure(struct regenerator *regenerator, const struct kube_pv *volume,
                         const struct error *err)
{
    if (worker_is_stopping(&regenerator->worker))
        return;
    atomic_fetch_add(&regenerator->failures, 1);
    log_warn(NULL, "volume '%s' (%s): its journal entry is not certain: %s", volume->meta.name,
             volume->handle, err->message);
    report(regenerator, volume, EVENT_WARNING, "JournalNotRegenerated", err->message);
}

/* Tries, unless its cluster is known to be away. */
static void work_on(struct regenerator *regenerator, const struct due *due,
                    const struct kube_pv *volume)
{
    _cleanup_error_ struct error err = {0};
    enum regenerate_outcome outcome = REGENERATE_NOTHING;
    struct volume_id id = {0};
    struct call call;

    if (volume_id_parse(volume->handle, &id, &err) < 0)
        error_clear(&err); /* is told below */
    const struct away *away = find_away(regenerator, id.cluster_id);
    int64_t wait_ms = away ? away->until_ms - clock_monotonic_ms() : 0;
    if (wait_ms > 0) {
        settle(regenerator, due, true, wait_ms);
        return;
    }
    call_init(&call, 0, "RegenerateJournal", deadline_in_ms(VOLUME_MS));
    call.cancelled = &regenerator->worker.stopping;
    call_set_request_id(&call, volume->meta.name);
    int result = regenerate(regenerator, &call, volume, &outcome, &err);
    call_done(&call);
    if (result < 0) {
        note_failure(regenerator, volume, &err);
        if (is_away(&err))
            note_away(regenerator, id.cluster_id);
        settle(regenerator, due, true, -1);
        return;
    }
    note_answer(regenerator, id.cluster_id);
    note_outcome(regenerator, volume, outcome);
    settle(regenerator, due, false, backoff_jitter_ms(regenerator->resync_ms));
}

static void look_at(struct regenerator *regenerator, const struct due *due)
{
    json_auto_t *item = informer_get(regenerator->informer, "", due->name);
    _cleanup_error_ struct error err = {0};
    void *object = NULL;

    if (!item)
        return; /* gone */
    if (kube_object_decode(KUBE_PV, item, &object, &err) < 0) {
        log_warn(NULL, "%s", err.message);
        settle(regenerator, due, true, -1);
        return;
    }
    _cleanup_(kube_pv_freep) struct kube_pv *pv = object;
    enum unclaimed reason = claimed_volume_judge(pv, regenerator->driver_name);
    if (reason == UNCLAIMED_NOT) {
        work_on(regenerator, due, pv);
        return;
    }
    if (reason == UNCLAIMED_CEPHFS && !atomic_exchange(&regenerator->told_cephfs, true))
        log_info(NULL, "volumes of CephFS are left alone: no subvolume is mirrored to another "
                       "cluster under its name, so there is nothing that an entry could lead to");
    settle(regenerator, due, false, regenerator->resync_ms);
}

/* --- the thread --- */

static bool leads(struct regenerator *regenerator)
{
    return !worker_is_stopping(&regenerator->worker) && lease_is_held(regenerator->lease);
}

/* The state for the health report: what a leader cannot do, or that nothing can be seen. */
static void sum_up(struct regenerator *regenerator, bool is_leader)
{
    _cleanup_free_ char *fault = NULL;
    struct informer_health health = {0};

    informer_health(regenerator->informer, &health);
    pthread_mutex_lock(&regenerator->lock);
    if (!health.healthy && health.last_error)
        fault = xasprintf("the PersistentVolumes cannot be watched: %s", health.last_error);
    else if (is_leader && regenerator->failed_count > 0)
        fault = xasprintf("the journal entries of %zu volume(s) are not certain; their "
                          "PersistentVolumes have events",
                          (size_t)regenerator->failed_count);
    condition_note(&regenerator->state, fault);
    pthread_mutex_unlock(&regenerator->lock);
    informer_health_done(&health);
}

static size_t work_batch(struct regenerator *regenerator, struct batch *batch)
{
    pick_due(regenerator, batch);
    for (size_t i = 0; i < batch->count; i++) {
        if (leads(regenerator))
            look_at(regenerator, &batch->items[i]);
        free(batch->items[i].name);
    }
    return batch->count;
}

static void run(void *object)
{
    struct regenerator *regenerator = object;
    struct batch *batch = xcalloc(1, sizeof(*batch));
    bool did_lead = false;

    while (!worker_is_stopping(&regenerator->worker)) {
        bool is_leader = leads(regenerator);

        if (is_leader && !did_lead)
            make_all_due(regenerator);
        did_lead = is_leader;
        size_t done = is_leader ? work_batch(regenerator, batch) : 0;
        sum_up(regenerator, is_leader);
        if (done < BATCH)
            worker_pause(&regenerator->worker, IDLE_MS);
    }
    free(batch);
}

/* --- metrics --- */

static void register_metrics(const struct regenerator *regenerator, struct metrics *metrics)
{
    const struct metric_spec specs[] = {
        {METRIC_GAUGE, "csi_journal_leader", "1 while this process keeps the journal in step.",
         .read = lease_read_held, .context = regenerator->lease},
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

/* --- life --- */

static void free_item(void *item)
{
    free(((struct item *)item)->name);
    free(item);
}

static void release(struct regenerator *regenerator)
{
    tdestroy(regenerator->items, free_item);
    condition_done(&regenerator->state);
    pthread_mutex_destroy(&regenerator->lock);
    free(regenerator->driver_name);
    free(regenerator);
}

static int take_lease(struct regenerator *regenerator, const struct regenerator_options *options,
                      struct error *err)
{
    _cleanup_free_ char *name =
        xasprintf("%s-%s", options->driver_name, options->name_space); /* Ceph-CSI's */
    const struct lease_options lease = {
        .name_space = options->name_space, .name = name, .identity = options->identity,
        /* no callbacks: the thread asks before each volume; what is under way may be done twice */
    };

    return lease_new(options->kube, &lease, &regenerator->lease, err);
}

static void watch(struct regenerator *regenerator)
{
    regenerator->informer =
        informer_new(regenerator->kube,
                     &(struct informer_options){
                         .path = VOLUMES_PATH,
                         .handler = {.put = put_volume, .gone = drop_volume, .trim = trim_volume},
                         .object = regenerator,
                     });
}

int regenerator_new(const struct regenerator_options *options, struct regenerator **out,
                    struct error *err)
{
    struct regenerator *regenerator = xcalloc(1, sizeof(*regenerator));

    regenerator->site = options->site;
    regenerator->kube = options->kube;
    regenerator->standing = options->standing;
    regenerator->events = options->events;
    regenerator->driver_name = xstrdup(options->driver_name);
    regenerator->resync_ms = options->resync_ms > 0 ? options->resync_ms : RESYNC_MS;
    regenerator->retry_first_ms =
        options->retry_first_ms > 0 ? options->retry_first_ms : RETRY_FIRST_MS;
    regenerator->retry_limit_ms =
        options->retry_limit_ms > 0 ? options->retry_limit_ms : RETRY_LIMIT_MS;
    pthread_mutex_init(&regenerator->lock, NULL);
    if (take_lease(regenerator, options, err) < 0) {
        release(regenerator);
        return -1;
    }
    if (options->metrics)
        register_metrics(regenerator, options->metrics);
    watch(regenerator);
    worker_start(&regenerator->worker, "regenerator", run, regenerator);
    *out = regenerator;
    return 0;
}

void regenerator_free(struct regenerator *regenerator)
{
    if (!regenerator)
        return;
    worker_stop(&regenerator->worker);
    informer_free(regenerator->informer);
    lease_free(regenerator->lease);
    release(regenerator);
}

bool regenerator_is_healthy(struct regenerator *regenerator, char **message, time_t *since)
{
    pthread_mutex_lock(&regenerator->lock);
    bool healthy = condition_is_healthy(&regenerator->state, message, since);
    pthread_mutex_unlock(&regenerator->lock);
    return healthy;
}
