#include "controller/takeover/takeover.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/kube/leader.h"
#include "controller/takeover/node_watch.h"

#define BUSY_MS 10000
#define IDLE_MS 300000
#define MAP_MS 1000     /* between two readings of the map, which cost a stat() */
#define ROUND_MS 600000 /* for one scan and its steps: 100000 volumes may have to be asked */
#define ROUNDS_MAX 16   /* without a pause */
#define FAULT_BYTES 4096

struct takeover_reconciler {
    struct takeover_site site;
    struct takeover_source *source;
    int64_t busy_ms;
    int64_t idle_ms;
    struct leader leader;
    /* the thread's own */
    struct takeover_snapshot map; /* the one that was followed last */
    char *returning;              /* domains that are being given back: "a,b" */
    bool has_fault;
    struct node_watch *watch;     /* while there is something to follow; else NULL */
    struct takeover_scan last;    /* the last one, after which nothing was to be done */
    uint64_t last_changes;        /* of the nodes when it began */
    bool is_current;              /* there is such a scan, of the map that is followed */
    struct deadline next_listing; /* when it is not believed any more */
    /* metrics */
    atomic_uint_fast64_t blocked;
    atomic_uint_fast64_t active;
    atomic_uint_fast64_t returning_count;
    atomic_uint_fast64_t steps;
    atomic_uint_fast64_t failures;
};

static void note_fault(struct takeover_reconciler *reconciler, const char *fault)
{
    enum condition_news news = leader_note(&reconciler->leader, fault);

    reconciler->has_fault = fault != NULL;
    if (news == CONDITION_FAULT)
        log_warn(NULL, "takeover: %s", fault);
    else if (news == CONDITION_MENDED)
        log_info(NULL, "takeover: nothing is in the way any more");
}

/* Nothing new is placed in domains that are not wholly back. Takes @returning over. */
static void set_returning(struct takeover_reconciler *reconciler, char *returning)
{
    _cleanup_string_list_ struct string_list domains = {0};
    _cleanup_free_ char *copy = xstrdup(returning);
    char *rest = NULL;

    for (const char *domain = strtok_r(copy, ",", &rest); domain;
         domain = strtok_r(NULL, ",", &rest))
        string_list_add(&domains, domain);
    free(reconciler->returning);
    reconciler->returning = returning;
    takeover_source_set_returning(reconciler->source, &domains);
    atomic_store(&reconciler->returning_count, domains.count);
}

/* The leader knows which these are, and reports them to the other controllers by the Lease. */
static void publish_returning(struct takeover_reconciler *reconciler,
                              const struct takeover_plan *plan)
{
    _cleanup_text_ struct text names = TEXT_INIT(FAULT_BYTES);

    for (size_t i = 0; i < plan->domain_count; i++)
        if (plan->domains[i].is_giveback && plan->domains[i].is_closed)
            text_addf(&names, "%s%s", names.length ? "," : "", plan->domains[i].domain);
    lease_set_message(reconciler->leader.lease, text_chars(&names));
    if (strcmp(reconciler->returning, text_chars(&names)) != 0)
        set_returning(reconciler, xstrdup(text_chars(&names)));
}

/* What is in the way, of all domains. */
static void report_progress(struct takeover_reconciler *reconciler,
                            const struct takeover_plan *plan, const struct error *failure)
{
    _cleanup_text_ struct text fault = TEXT_INIT(FAULT_BYTES);
    size_t blocked = 0;
    size_t active = 0;

    for (size_t i = 0; i < plan->domain_count; i++) {
        const struct takeover_progress *domain = &plan->domains[i];

        active += !domain->is_giveback && domain->is_done;
        if (!domain->is_blocked)
            continue;
        blocked++;
        text_addf(&fault, "%s%s: %s", fault.length ? "; " : "", domain->domain,
                  domain->explanation);
    }
    if (failure->message)
        text_addf(&fault, "%s%s", fault.length ? "; " : "", failure->message);
    atomic_store(&reconciler->blocked, blocked);
    atomic_store(&reconciler->active, active);
    note_fault(reconciler, fault.length ? text_chars(&fault) : NULL);
}

/* Whether nothing has changed since the last scan, which found nothing to do. */
static bool is_up_to_date(struct takeover_reconciler *reconciler, struct call *call)
{
    uint64_t changes = 0;

    return reconciler->is_current && reconciler->watch &&
           !deadline_has_passed(reconciler->next_listing) &&
           node_watch_read(reconciler->watch, &changes) && changes == reconciler->last_changes &&
           takeover_scan_is_current(&reconciler->site, call, &reconciler->last);
}

static void forget_scan(struct takeover_reconciler *reconciler)
{
    takeover_scan_done(&reconciler->last);
    reconciler->is_current = false;
}

/* Moves @scan. */
static void keep_scan(struct takeover_reconciler *reconciler, struct takeover_scan *scan,
                      uint64_t changes)
{
    reconciler->last = *scan;
    *scan = (struct takeover_scan){0};
    reconciler->last_changes = changes;
    reconciler->is_current = true;
    reconciler->next_listing = deadline_in_ms(reconciler->idle_ms);
}

/* One scan and what follows from it; false if there is no point in another one right now. */
static bool reconcile_once(struct takeover_reconciler *reconciler, struct call *call)
{
    _cleanup_takeover_scan_ struct takeover_scan scan = {0};
    _cleanup_error_ struct error err = {0};
    size_t done = 0;
    uint64_t changes = 0;

    if (is_up_to_date(reconciler, call))
        return false;
    forget_scan(reconciler);
    const bool is_watched = reconciler->watch && node_watch_read(reconciler->watch, &changes);
    if (takeover_scan_read(&reconciler->site, call, reconciler->map.map, &scan, &err) < 0) {
        atomic_fetch_add(&reconciler->failures, 1);
        if (!worker_is_stopping(&reconciler->leader.worker))
            note_fault(reconciler, err.message);
        return false;
    }
    publish_returning(reconciler, &scan.plan);
    int result = takeover_carry_out(&reconciler->site, call, &scan, leader_may_act,
                                    &reconciler->leader, &done, &err);
    atomic_fetch_add(&reconciler->steps, done);
    if (result < 0)
        atomic_fetch_add(&reconciler->failures, 1);
    if (!worker_is_stopping(&reconciler->leader.worker))
        report_progress(reconciler, &scan.plan, &err);
    if (result == 0 && done == 0 && is_watched)
        keep_scan(reconciler, &scan, changes);
    return result == 0 && done > 0;
}

/* Without a map, or with one that may be old, nothing is done. It is a fault if there is something
 * that it would say no to. */
static void wait_for_map(struct takeover_reconciler *reconciler)
{
    _cleanup_takeover_scan_ struct takeover_scan scan = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 0, "takeover", deadline_in_ms(ROUND_MS));
    call.cancelled = &reconciler->leader.worker.stopping;
    int result = takeover_scan_read(&reconciler->site, &call, reconciler->map.map, &scan, &err);
    call_done(&call);
    _cleanup_free_ char *fault =
        xasprintf("the takeover map is not known, and nothing is done: %s",
                  reconciler->map.unknown ? reconciler->map.unknown : reconciler->map.doubt);
    if (result < 0)
        atomic_fetch_add(&reconciler->failures, 1);
    if (!worker_is_stopping(&reconciler->leader.worker))
        note_fault(reconciler, result < 0                                     ? err.message
                               : scan.plan.count + scan.plan.domain_count > 0 ? fault
                                                                              : NULL);
}

static void follow_map(struct takeover_reconciler *reconciler)
{
    if (reconciler->map.unknown || reconciler->map.doubt) {
        wait_for_map(reconciler);
        return;
    }
    for (int i = 0; i < ROUNDS_MAX && leader_may_act(&reconciler->leader); i++) {
        struct call call;

        call_init(&call, 0, "takeover", deadline_in_ms(ROUND_MS));
        call.cancelled = &reconciler->leader.worker.stopping;
        bool again = reconcile_once(reconciler, &call);
        call_done(&call);
        if (!again)
            return;
    }
}

/* Nodes are watched while they are looked at often. */
static void set_watch(struct takeover_reconciler *reconciler, bool is_wanted)
{
    if (is_wanted && !reconciler->watch) {
        reconciler->watch = node_watch_new(reconciler->site.kube, reconciler->site.driver_name);
    } else if (!is_wanted && reconciler->watch) {
        node_watch_free(TAKE(reconciler->watch));
        forget_scan(reconciler);
    }
}

/* True if the map is another one than before. */
static bool map_has_changed(struct takeover_reconciler *reconciler)
{
    struct takeover_snapshot now = {0};

    takeover_source_get(reconciler->source, &now);
    bool changed = now.map != reconciler->map.map || !now.unknown != !reconciler->map.unknown ||
                   !now.doubt != !reconciler->map.doubt;
    takeover_snapshot_done(&reconciler->map);
    reconciler->map = now;
    return changed;
}

static void run_reconciler(void *object)
{
    struct takeover_reconciler *reconciler = object;
    struct worker *worker = &reconciler->leader.worker;
    struct deadline next = deadline_in_ms(0);
    bool did_lead = false;

    while (!worker_is_stopping(worker)) {
        bool changed = map_has_changed(reconciler);
        if (changed)
            forget_scan(reconciler);
        bool is_leader = leader_may_act(&reconciler->leader);

        if (!is_leader || !did_lead) {
            _cleanup_free_ char *words = lease_message(reconciler->leader.lease);

            if (strcmp(reconciler->returning, words) != 0)
                set_returning(reconciler, TAKE(words));
        }
        if (is_leader && (changed || !did_lead || deadline_has_passed(next))) {
            follow_map(reconciler);
            bool is_busy = reconciler->has_fault || reconciler->map.map->count > 0 ||
                           reconciler->returning[0] != '\0';
            next = deadline_in_ms(is_busy ? reconciler->busy_ms : reconciler->idle_ms);
            set_watch(reconciler, is_busy);
        } else if (!is_leader) {
            set_watch(reconciler, false);
            note_fault(reconciler, NULL); /* the leader reports it */
        }
        did_lead = is_leader;
        int64_t wait = deadline_remaining_ms(next);
        worker_pause(worker, is_leader && wait < MAP_MS ? wait : MAP_MS);
    }
}

static void register_metrics(const struct takeover_reconciler *reconciler, struct metrics *metrics)
{
    const struct metric_spec specs[] = {
        {METRIC_GAUGE, "csi_takeover_leader", "1 while this controller carries takeovers out.",
         .read = lease_read_held, .context = reconciler->leader.lease},
        {METRIC_GAUGE, "csi_takeover_domains_active",
         "Domains whose volumes others serve, all steps done.", .number = &reconciler->active},
        {METRIC_GAUGE, "csi_takeover_domains_blocked",
         "Domains whose takeover or giveback cannot go on.", .number = &reconciler->blocked},
        {METRIC_GAUGE, "csi_takeover_domains_returning",
         "Domains that are being given back; nothing new is placed there.",
         .number = &reconciler->returning_count},
        {METRIC_COUNTER, "csi_takeover_steps_total",
         "Steps of takeovers and givebacks that were done.", .number = &reconciler->steps},
        {METRIC_COUNTER, "csi_takeover_failures_total", "Looks and steps of takeovers that failed.",
         .number = &reconciler->failures},
    };

    metrics_register_all(metrics, specs, ARRAY_LENGTH(specs));
}

int takeover_reconciler_new(const struct takeover_reconciler_options *options,
                            struct takeover_reconciler **out, struct error *err)
{
    struct takeover_reconciler *reconciler = xcalloc(1, sizeof(*reconciler));
    _cleanup_free_ char *name = xasprintf("%s-takeover", options->site.driver_name);
    _cleanup_free_ char *annotation = xasprintf("takeover.%s/returning", options->site.driver_name);
    const struct lease_options lease = {
        .name_space = options->name_space,
        .name = name,
        .identity = options->identity,
        .annotation = annotation,
    };

    reconciler->site = options->site;
    reconciler->source = options->source;
    reconciler->returning = xstrdup("");
    reconciler->busy_ms = options->busy_ms > 0 ? options->busy_ms : BUSY_MS;
    reconciler->idle_ms = options->idle_ms > 0 ? options->idle_ms : IDLE_MS;
    if (leader_init(&reconciler->leader, options->site.kube, &lease, err) < 0) {
        free(reconciler->returning);
        free(reconciler);
        return -1;
    }
    if (options->metrics)
        register_metrics(reconciler, options->metrics);
    worker_start(&reconciler->leader.worker, "takeover", run_reconciler, reconciler);
    *out = reconciler;
    return 0;
}

void takeover_reconciler_free(struct takeover_reconciler *reconciler)
{
    if (!reconciler)
        return;
    leader_done(&reconciler->leader);
    set_watch(reconciler, false);
    forget_scan(reconciler);
    takeover_snapshot_done(&reconciler->map);
    free(reconciler->returning);
    free(reconciler);
}

bool takeover_reconciler_is_healthy(struct takeover_reconciler *reconciler, char **message,
                                    time_t *since)
{
    return leader_is_healthy(&reconciler->leader, message, since);
}
