#include "common/kube/lease.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/worker.h"
#include "common/encoding/uuid.h"
#include "common/kube/kube.h"

#define DURATION_MS 15000
#define RENEW_DEADLINE_MS 10000
#define RETRY_MS 5000
#define RELEASE_TIMEOUT_MS 2000
/* The longest duration that another holder is granted. */
#define DURATION_MAX_MS 3600000

struct lease {
    struct kube *kube;
    struct lease_options options; /* times and callbacks */
    char *collection;
    char *path;
    char *name;
    char *identity;
    struct worker worker;
    bool leading;        /* the thread's own, as all down to the lock */
    char *seen_version;  /* of the lease when it was last seen to change */
    int64_t seen_ms;     /* when that was, on our clock */
    int64_t promised_ms; /* the duration that its holder promised */
    bool reported;       /* a failure was logged, and nothing worked since */
    atomic_int_least64_t held_until_ms;
    char *annotation; /* NULL: none */
    pthread_mutex_t lock;
    char *holder;       /* under the lock, as the rest */
    char *own_message;  /* NULL: none set yet */
    char *seen_message; /* what the object had */
};

bool lease_is_held(struct lease *lease)
{
    return clock_monotonic_ms() < atomic_load(&lease->held_until_ms);
}

double lease_read_held(void *lease)
{
    return lease_is_held(lease) ? 1 : 0;
}

char *lease_holder(struct lease *lease)
{
    pthread_mutex_lock(&lease->lock);
    char *holder = xstrdup(lease->holder);
    pthread_mutex_unlock(&lease->lock);
    return holder;
}

static void replace_text(struct lease *lease, char **member, const char *text)
{
    pthread_mutex_lock(&lease->lock);
    if (!*member || strcmp(*member, text) != 0) {
        free(*member);
        *member = xstrdup(text);
    }
    pthread_mutex_unlock(&lease->lock);
}

void lease_set_message(struct lease *lease, const char *message)
{
    pthread_mutex_lock(&lease->lock);
    bool is_news = !lease->own_message || strcmp(lease->own_message, message) != 0;
    pthread_mutex_unlock(&lease->lock);
    replace_text(lease, &lease->own_message, message);
    if (is_news)
        worker_wake(&lease->worker);
}

char *lease_message(struct lease *lease)
{
    pthread_mutex_lock(&lease->lock);
    char *message = xstrdup(lease->seen_message);
    pthread_mutex_unlock(&lease->lock);
    return message;
}

/* Puts our message to the other candidates into the object. */
static void add_message(struct lease *lease, json_t *item)
{
    json_t *metadata = json_object_get(item, "metadata");

    pthread_mutex_lock(&lease->lock);
    _cleanup_free_ char *message = lease->own_message ? xstrdup(lease->own_message) : NULL;
    pthread_mutex_unlock(&lease->lock);
    if (!message || !lease->annotation)
        return;
    if (!json_is_object(json_object_get(metadata, "annotations")))
        json_object_set_new(metadata, "annotations", json_object());
    json_object_set_new(json_object_get(metadata, "annotations"), lease->annotation,
                        json_string(message));
}

/* --- the object --- */

static int64_t integer_at(const json_t *spec, const char *key)
{
    const json_t *value = json_object_get(spec, key);

    return json_is_integer(value) ? json_integer_value(value) : 0;
}

/* Remembers when the lease was last seen to change. */
static void observe_lease(struct lease *lease, const json_t *item)
{
    const char *version = kube_resource_version(item);
    int64_t promised = integer_at(json_object_get(item, "spec"), "leaseDurationSeconds") * 1000;

    replace_text(lease, &lease->holder, kube_text(item, "spec", "holderIdentity", NULL));
    if (lease->annotation)
        replace_text(lease, &lease->seen_message,
                     kube_text(item, "metadata", "annotations", lease->annotation, NULL));
    if (lease->seen_version && strcmp(lease->seen_version, version) == 0)
        return;
    free(lease->seen_version);
    lease->seen_version = xstrdup(version);
    lease->seen_ms = clock_monotonic_ms();
    lease->promised_ms = promised < 0 || promised > DURATION_MAX_MS ? DURATION_MAX_MS : promised;
}

static bool is_free(const struct lease *lease, const json_t *item)
{
    const char *holder = kube_text(item, "spec", "holderIdentity", NULL);

    return holder[0] == '\0' || strcmp(holder, lease->identity) == 0 ||
           clock_monotonic_ms() - lease->seen_ms >= lease->promised_ms;
}

/* The spec with us as the holder from now on. @old may be NULL. */
static json_t *spec_of_ours(const struct lease *lease, const json_t *old)
{
    _cleanup_free_ char *now = kube_time_now(true);
    const char *holder = kube_text(old, "holderIdentity", NULL);
    bool is_renewal = strcmp(holder, lease->identity) == 0;
    int64_t transitions = integer_at(old, "leaseTransitions") + (old && !is_renewal);
    const char *acquired = is_renewal ? kube_text(old, "acquireTime", NULL) : now;

    return json_pack("{s:s, s:I, s:s, s:s, s:I}", "holderIdentity", lease->identity,
                     "leaseDurationSeconds", (json_int_t)(lease->options.duration_ms / 1000),
                     "acquireTime", acquired[0] ? acquired : now, "renewTime", now,
                     "leaseTransitions", (json_int_t)transitions);
}

static int create_lease(struct lease *lease, struct call *call, struct error *err)
{
    json_auto_t *created = NULL;
    json_auto_t *item =
        json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "coordination.k8s.io/v1", "kind",
                  "Lease", "metadata", "name", lease->name, "spec", spec_of_ours(lease, NULL));

    add_message(lease, item);
    if (lease->kube->ops->create(lease->kube, call, lease->collection, item, &created, err) < 0)
        return -1;
    observe_lease(lease, created);
    return 0;
}

/* Takes or renews it. ABORTED when somebody else has it or was faster. */
static int hold_lease(struct lease *lease, struct call *call, struct error *err)
{
    json_auto_t *item = NULL;
    json_auto_t *updated = NULL;

    if (lease->kube->ops->get(lease->kube, call, lease->path, &item, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err);
        return create_lease(lease, call, err);
    }
    observe_lease(lease, item);
    if (!is_free(lease, item))
        return error_set(err, STATUS_ABORTED, "held by '%s'",
                         kube_text(item, "spec", "holderIdentity", NULL));
    json_object_set_new(item, "spec", spec_of_ours(lease, json_object_get(item, "spec")));
    add_message(lease, item);
    if (lease->kube->ops->update(lease->kube, call, lease->path, item, &updated, err) < 0)
        return -1;
    observe_lease(lease, updated);
    return 0;
}

/* hold_lease() with a time limit: a holder tries until its time is over. What is won counts from
 * the moment before we asked. */
static int try_hold(struct lease *lease, struct error *err)
{
    int64_t asked = clock_monotonic_ms();
    struct deadline deadline = deadline_in_ms(lease->options.renew_deadline_ms);
    struct call call;

    if (lease->leading)
        deadline.at_ms = atomic_load(&lease->held_until_ms);
    call_init(&call, 0, "lease", deadline);
    call.cancelled = &lease->worker.stopping;
    int result = hold_lease(lease, &call, err);
    call_done(&call);
    if (result == 0)
        atomic_store(&lease->held_until_ms, asked + lease->options.renew_deadline_ms);
    return result;
}

/* --- the thread --- */

static void end_leading(struct lease *lease, const char *reason)
{
    if (!lease->leading)
        return;
    lease->leading = false;
    atomic_store(&lease->held_until_ms, 0);
    log_info(NULL, "no longer the leader by %s: %s", lease->path, reason);
    if (lease->options.lost)
        lease->options.lost(lease->options.object, reason);
}

/* Logged when it begins, not every few seconds while it lasts. */
static void log_failure(struct lease *lease, const struct error *err)
{
    if (err->status == STATUS_ABORTED) /* somebody else leads: as it should be */
        return;
    if (lease->reported)
        log_v(4, NULL, "lease: %s", err->message);
    else
        log_warn(NULL, "cannot %s the lease, trying again: %s", lease->leading ? "renew" : "take",
                 err->message);
    lease->reported = true;
}

static bool is_ours(struct lease *lease)
{
    _cleanup_free_ char *holder = lease_holder(lease);

    return strcmp(holder, lease->identity) == 0;
}

static void compete_once(struct lease *lease)
{
    _cleanup_error_ struct error err = {0};

    if (try_hold(lease, &err) == 0) {
        lease->reported = false;
        if (lease->leading)
            return;
        lease->leading = true;
        log_info(NULL, "the leader by %s as '%s'", lease->path, lease->identity);
        if (lease->options.gained)
            lease->options.gained(lease->options.object);
        return;
    }
    if (worker_is_stopping(&lease->worker))
        return;
    log_failure(lease, &err);
    if (lease->leading && (!lease_is_held(lease) || !is_ours(lease)))
        end_leading(lease, err.message);
}

static int64_t pause_of(struct lease *lease)
{
    int64_t pause = backoff_jitter_ms(lease->options.retry_ms);

    if (!lease->leading)
        return pause;
    int64_t left = atomic_load(&lease->held_until_ms) - clock_monotonic_ms();
    return left < pause ? (left > 0 ? left : 0) : pause;
}

static void release_lease(struct lease *lease)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *item = NULL;
    json_auto_t *updated = NULL;
    struct call call;

    call_init(&call, 0, "lease", deadline_in_ms(RELEASE_TIMEOUT_MS));
    int result = lease->kube->ops->get(lease->kube, &call, lease->path, &item, &err);
    if (result == 0 &&
        strcmp(kube_text(item, "spec", "holderIdentity", NULL), lease->identity) == 0) {
        json_object_set_new(json_object_get(item, "spec"), "holderIdentity", json_string(""));
        json_object_set_new(json_object_get(item, "spec"), "leaseDurationSeconds", json_integer(1));
        result = lease->kube->ops->update(lease->kube, &call, lease->path, item, &updated, &err);
    }
    if (result < 0)
        log_warn(NULL, "give the lease back: %s", err.message);
    call_done(&call);
}

static void run_lease(void *object)
{
    struct lease *lease = object;

    while (!worker_is_stopping(&lease->worker)) {
        compete_once(lease);
        worker_pause(&lease->worker, pause_of(lease));
        if (lease->leading && !lease_is_held(lease))
            end_leading(lease, "it was not renewed in time");
    }
    bool led = lease->leading;
    end_leading(lease, "stopped");
    if (led || is_ours(lease)) /* an answer to the last try may have been lost */
        release_lease(lease);
}

/* --- creation and release --- */

static int set_times(struct lease *lease, const struct lease_options *options, struct error *err)
{
    struct lease_options *own = &lease->options;

    *own = *options;
    /* borrowed; copied elsewhere */
    own->name_space = own->name = own->identity = own->annotation = NULL;
    own->duration_ms = options->duration_ms > 0 ? options->duration_ms : DURATION_MS;
    own->renew_deadline_ms =
        options->renew_deadline_ms > 0 ? options->renew_deadline_ms : RENEW_DEADLINE_MS;
    own->retry_ms = options->retry_ms > 0 ? options->retry_ms : RETRY_MS;
    if (own->duration_ms % 1000 != 0 || own->duration_ms > DURATION_MAX_MS ||
        own->renew_deadline_ms >= own->duration_ms || own->retry_ms >= own->renew_deadline_ms)
        return error_set(
            err, STATUS_INVALID_ARGUMENT,
            "lease: expected whole seconds with retry (%lld ms) < renew deadline (%lld "
            "ms) < duration (%lld ms)",
            (long long)own->retry_ms, (long long)own->renew_deadline_ms,
            (long long)own->duration_ms);
    return 0;
}

static int set_names(struct lease *lease, const struct lease_options *options, struct error *err)
{
    struct kube_location location = {
        .api = "coordination.k8s.io/v1", .resource = "leases", .name_space = options->name_space};

    if (kube_path(&location, &lease->collection, err) < 0)
        return -1;
    location.name = options->name;
    if (kube_path(&location, &lease->path, err) < 0)
        return -1;
    lease->name = xstrdup(options->name);
    lease->identity = xasprintf("%s_%s", options->identity, uuid_text_generate().chars);
    lease->annotation = options->annotation ? xstrdup(options->annotation) : NULL;
    lease->holder = xstrdup("");
    lease->seen_message = xstrdup("");
    return 0;
}

static void destroy_lease(struct lease *lease)
{
    pthread_mutex_destroy(&lease->lock);
    free_all(lease->collection, lease->path, lease->name, lease->identity, lease->seen_version,
             lease->annotation, lease->holder, lease->own_message, lease->seen_message, lease);
}

int lease_new(struct kube *kube, const struct lease_options *options, struct lease **out,
              struct error *err)
{
    struct lease *lease = xcalloc(1, sizeof(*lease));

    lease->kube = kube;
    pthread_mutex_init(&lease->lock, NULL);
    if (set_times(lease, options, err) < 0 || set_names(lease, options, err) < 0) {
        destroy_lease(lease);
        return -1;
    }
    worker_start(&lease->worker, "lease", run_lease, lease);
    *out = lease;
    return 0;
}

void lease_free(struct lease *lease)
{
    if (!lease)
        return;
    worker_stop(&lease->worker);
    destroy_lease(lease);
}
