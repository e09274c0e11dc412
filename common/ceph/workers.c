/*
 * Who is at work on what. A client that makes something watches an object that others know (the
 * directory of the journal) and leaves its id in what it makes. Who finds that asks by a
 * notification, which Ceph passes to all that watch: the living answer at once whether they are
 * still at it, and a dead one is no longer among those asked when its watch has expired.
 *
 * librados has no call in C that lists the watchers; besides, that a process lives does not say
 * that it is still at this work. Ceph ends a notification as soon as everybody has answered or has
 * expired, so that waiting a little longer than a watch lasts gives a definite answer.
 */
#include "common/ceph/workers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/sanitizer.h"
#include "common/base/text.h"
#include "common/ceph/rados_operation.h"

#define ASK_MS ((WORKER_LOST_S + 3) * 1000)
#define SECOND_MS 1000
#define GOODBYE_MS 1000
#define ANSWER_LIMIT 512
#define ANSWER_IDLE "idle"
#define ANSWER_BUSY "busy "

enum watch_state { WATCH_NONE, WATCH_COMING, WATCH_STANDING };

struct watched_object {
    struct watched_object *next;
    struct workers *owner;
    rados_ioctx_t io;
    int64_t pool_id;
    char *rados_namespace;
    char *object;
    enum watch_state state; /* owner's lock, as the two below */
    bool has_handle;        /* librados knows it, whether or not it stands */
    bool is_lost;           /* since it was taken */
    uint64_t handle;
};

struct real_work {
    struct ceph_work base;
    struct real_work *next;
    struct workers *workers;
    struct connections *connections;
    struct connection *connection;
    const struct watched_object *watched;
    char *subject;
    struct call *call;
};

void workers_init(struct workers *workers)
{
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->changed, NULL);
}

/* --- answering --- */

static void describe_work(const struct watched_object *watched, const char *subject, size_t length,
                          struct text *answer)
{
    pthread_mutex_lock(&watched->owner->lock);
    const struct real_work *work = watched->owner->works;
    while (work && (work->watched != watched || strlen(work->subject) != length ||
                    memcmp(work->subject, subject, length) != 0))
        work = work->next;
    text_add(answer, work ? ANSWER_BUSY : ANSWER_IDLE);
    if (work)
        call_describe(work->call, answer);
    pthread_mutex_unlock(&watched->owner->lock);
}

/* librados' thread. */
static void on_question(void *object, uint64_t notify_id, uint64_t handle, uint64_t asker,
                        void *subject, size_t length)
{
    const struct watched_object *watched = object;
    _cleanup_text_ struct text answer = TEXT_INIT(ANSWER_LIMIT);

    (void)asker;
    tsan_acquire(object);
    describe_work(watched, subject, length, &answer);
    const char *chars = text_chars(&answer);
    rados_notify_ack(watched->io, watched->object, notify_id, handle, chars, (int)strlen(chars));
}

/* librados' thread: the object or its pool is gone, we are on the blocklist, or Ceph has not heard
 * of us for too long. */
static void on_lost(void *object, uint64_t handle, int result)
{
    struct watched_object *watched = object;

    tsan_acquire(object);
    pthread_mutex_lock(&watched->owner->lock);
    if (watched->handle == handle)
        watched->is_lost = true;
    pthread_mutex_unlock(&watched->owner->lock);
    log_v(2, NULL, "the watch of '%s' in pool %lld is lost (%d); the next creation takes it again",
          watched->object, (long long)watched->pool_id, result);
}

/* --- watching --- */

/* Lock held. NULL if there is none. */
static struct watched_object *find_watched(const struct workers *workers,
                                           const struct ceph_pool *pool, const char *object)
{
    struct watched_object *watched = workers->watched;

    while (watched && (watched->pool_id != pool->id ||
                       strcmp(watched->rados_namespace, pool->rados_namespace) != 0 ||
                       strcmp(watched->object, object) != 0))
        watched = watched->next;
    return watched;
}

/* Lock held. NULL if the pool has just been removed. */
static struct watched_object *add_watched(struct workers *workers, struct ceph_pool *pool,
                                          const char *object)
{
    rados_ioctx_t io = NULL;

    if (rados_ioctx_create2(real_cluster(pool->cluster)->rados, pool->id, &io) < 0)
        return NULL;
    struct watched_object *watched = xcalloc(1, sizeof(*watched));
    rados_ioctx_set_namespace(io, pool->rados_namespace);
    *watched = (struct watched_object){
        .next = workers->watched,
        .owner = workers,
        .io = io,
        .pool_id = pool->id,
        .rados_namespace = xstrdup(pool->rados_namespace),
        .object = xstrdup(object),
    };
    workers->watched = watched;
    return watched;
}

/* librados' thread. */
static void on_unwatched(rados_completion_t completion, void *object)
{
    struct workers *workers = object;

    (void)completion;
    tsan_acquire(object);
    pthread_mutex_lock(&workers->lock);
    workers->unwatching--;
    pthread_cond_broadcast(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
}

static void drop_watch(struct watched_object *watched)
{
    struct workers *workers = watched->owner;
    rados_completion_t completion = NULL;

    pthread_mutex_lock(&workers->lock);
    workers->unwatching++;
    pthread_mutex_unlock(&workers->lock);
    rados_aio_create_completion2(workers, on_unwatched, &completion);
    tsan_release(workers);
    if (rados_aio_unwatch(watched->io, watched->handle, completion) < 0)
        on_unwatched(completion, workers);
    rados_aio_release(completion);
}

/* Takes the watch, in place of one that was lost. */
static int take_watch(struct watched_object *watched, struct ceph_pool *pool, struct call *call)
{
    _cleanup_operation_in_flight_ struct operation_in_flight *operation = operation_new(pool);
    uint64_t handle = 0;

    if (watched->has_handle)
        drop_watch(watched);
    operation_add_completion(operation);
    tsan_release(watched);
    int result = rados_aio_watch2(watched->io, watched->object, operation->completion, &handle,
                                  on_question, on_lost, WORKER_LOST_S, watched);
    pthread_mutex_lock(&watched->owner->lock);
    watched->handle = handle;
    watched->has_handle = result >= 0;
    watched->is_lost = false;
    pthread_mutex_unlock(&watched->owner->lock);
    if (result < 0) {
        operation_unref(operation);
        return result;
    }
    result = operation_wait(pool, operation, call, admission_deadline(call));
    if (result < 0 && result != -ETIMEDOUT)
        watched->has_handle = false; /* librados has forgotten it */
    return result;
}

/* Sees to it that the object is watched; one call at a time does it. Returns a negative errno. */
static int ensure_watched(struct workers *workers, struct ceph_pool *pool, struct call *call,
                          const char *object, struct watched_object **out)
{
    const struct deadline give_up = admission_deadline(call);
    int result = 0;

    pthread_mutex_lock(&workers->lock);
    struct watched_object *watched = find_watched(workers, pool, object);
    if (!watched)
        watched = add_watched(workers, pool, object);
    while (watched && watched->state == WATCH_COMING && !deadline_has_passed(give_up)) {
        const struct timespec wake = admission_wake_time(give_up);

        pthread_cond_clockwait(&workers->changed, &workers->lock, CLOCK_MONOTONIC, &wake);
    }
    if (!watched)
        result = -ENOENT;
    else if (watched->state == WATCH_COMING)
        result = -ETIMEDOUT;
    else if (watched->state == WATCH_NONE || watched->is_lost) {
        watched->state = WATCH_COMING;
        pthread_mutex_unlock(&workers->lock);
        result = take_watch(watched, pool, call);
        pthread_mutex_lock(&workers->lock);
        watched->state = result < 0 ? WATCH_NONE : WATCH_STANDING;
        pthread_cond_broadcast(&workers->changed);
    }
    pthread_mutex_unlock(&workers->lock);
    *out = watched;
    return result;
}

void workers_done(struct workers *workers)
{
    const struct timespec wake = deadline_timespec(deadline_in_ms(GOODBYE_MS));
    int waited = 0;

    for (struct watched_object *watched = workers->watched; watched; watched = watched->next)
        if (watched->has_handle)
            drop_watch(watched);
    pthread_mutex_lock(&workers->lock);
    while (workers->unwatching > 0 && waited != ETIMEDOUT)
        waited = pthread_cond_clockwait(&workers->changed, &workers->lock, CLOCK_MONOTONIC, &wake);
    bool answered = workers->unwatching == 0;
    pthread_mutex_unlock(&workers->lock);
    while (workers->watched) {
        struct watched_object *watched = workers->watched;

        workers->watched = watched->next;
        /* what is under way needs the ioctx and may call back until the connection has ended */
        if (!answered)
            continue;
        rados_ioctx_destroy(watched->io);
        free_all(watched->rados_namespace, watched->object, watched);
    }
}

/* --- work --- */

static int work_begin(struct ceph_pool *pool, struct call *call, const char *object,
                      const char *subject, struct ceph_work **out, struct error *err)
{
    const struct real_cluster *cluster = real_cluster(pool->cluster);
    struct workers *workers = connection_workers(cluster->connection);
    struct watched_object *watched = NULL;
    int result = ensure_watched(workers, pool, call, object, &watched);

    if (result < 0)
        return error_set_errno(err, result, "watch '%s' in pool '%s'", object, pool->name);
    struct real_work *work = xcalloc(1, sizeof(*work));
    *work = (struct real_work){
        .base = {pool->ops, rados_get_instance_id(cluster->rados)},
        .workers = workers,
        .connections = cluster->ceph->connections,
        .connection = cluster->connection,
        .watched = watched,
        .subject = xstrdup(subject),
        .call = call,
    };
    connections_keep(work->connections, work->connection);
    pthread_mutex_lock(&workers->lock);
    work->next = workers->works;
    workers->works = work;
    pthread_mutex_unlock(&workers->lock);
    *out = &work->base;
    return 0;
}

static void work_end(struct ceph_work *base)
{
    struct real_work *work = (struct real_work *)base;

    pthread_mutex_lock(&work->workers->lock);
    struct real_work **link = &work->workers->works;
    while (*link != work)
        link = &(*link)->next;
    *link = work->next;
    pthread_mutex_unlock(&work->workers->lock);
    connections_leave(work->connections, work->connection);
    free(work->subject);
    free(work);
}

/* --- asking --- */

static void take_answer(const struct notify_ack_t *ack, struct worker_answers *answers)
{
    const size_t prefix = strlen(ANSWER_BUSY);
    bool is_busy = ack->payload && ack->payload_len >= prefix &&
                   memcmp(ack->payload, ANSWER_BUSY, prefix) == 0;

    *array_add(answers->items, answers->count) = (struct worker_answer){
        .worker = ack->notifier_id,
        .state = is_busy ? WORKER_BUSY : WORKER_IDLE,
        .stage = is_busy ? xstrndup(ack->payload + prefix, ack->payload_len - prefix) : NULL,
    };
}

static int decode_answers(char *reply, size_t length, struct worker_answers *answers)
{
    struct notify_ack_t *acks = NULL;
    struct notify_timeout_t *silent = NULL;
    size_t ack_count = 0;
    size_t silent_count = 0;
    int result =
        rados_decode_notify_response(reply, length, &acks, &ack_count, &silent, &silent_count);

    if (result < 0)
        return result;
    for (size_t i = 0; i < ack_count; i++)
        take_answer(&acks[i], answers);
    for (size_t i = 0; i < silent_count; i++)
        *array_add(answers->items, answers->count) =
            (struct worker_answer){.worker = silent[i].notifier_id, .state = WORKER_SILENT};
    rados_free_notify_response(acks, ack_count, silent);
    return 0;
}

/* A notification in a thread of its own: rados_aio_notify() (16.2) may end the process, by an
 * exception in librados, some time after one that was not answered by all. */
struct question {
    struct errand errand;
    int64_t pool_id;
    char *rados_namespace;
    char *object;
    char *subject;
    uint64_t patience_ms;
    int result;
    char *reply;
    size_t reply_length;
};

static void release_question(struct errand *errand)
{
    struct question *question = (struct question *)errand;

    rados_buffer_free(question->reply);
    free_all(question->rados_namespace, question->object, question->subject, question);
}

/* The question's thread. */
static void run_question(rados_t rados, struct errand *errand)
{
    struct question *question = (struct question *)errand;
    rados_ioctx_t io = NULL;

    question->result = rados_ioctx_create2(rados, question->pool_id, &io);
    if (question->result < 0)
        return;
    rados_ioctx_set_namespace(io, question->rados_namespace);
    question->result =
        rados_notify2(io, question->object, question->subject, (int)strlen(question->subject),
                      question->patience_ms, &question->reply, &question->reply_length);
    rados_ioctx_destroy(io);
}

/* How long Ceph is to wait for answers; what it then says must still reach the caller. */
static uint64_t patience_ms(const struct call *call)
{
    int64_t left = deadline_remaining_ms(admission_deadline(call)) - SECOND_MS;

    left = left > ASK_MS ? ASK_MS : left;
    return left < SECOND_MS ? SECOND_MS : (uint64_t)left;
}

static struct question *question_new(const struct ceph_pool *pool, const struct call *call,
                                     const char *object, const char *subject)
{
    struct question *question = xcalloc(1, sizeof(*question));

    *question = (struct question){.pool_id = pool->id,
                                  .rados_namespace = xstrdup(pool->rados_namespace),
                                  .object = xstrdup(object),
                                  .subject = xstrdup(subject),
                                  .patience_ms = patience_ms(call)};
    errand_init(&question->errand, run_question, release_question);
    return question;
}

static int work_ask(struct ceph_pool *pool, struct call *call, const char *object,
                    const char *subject, struct worker_answers *answers, struct error *err)
{
    const struct real_cluster *cluster = real_cluster(pool->cluster);
    struct question *question = question_new(pool, call, object, subject);
    int result = -ETIMEDOUT;

    call_stage(call, "asking other processes for {age} whether they are at the same");
    if (connections_run(cluster->ceph->connections, cluster->connection, &question->errand, err) <
        0)
        return -1;
    if (errand_wait(&question->errand, call, admission_deadline(call))) {
        result = question->result;
        /* with some silent, the answers of the others are there nevertheless */
        if (result >= 0 || (result == -ETIMEDOUT && question->reply))
            result = decode_answers(question->reply, question->reply_length, answers);
        errand_free(&question->errand);
    }
    if (result == -ENOENT)
        return 0; /* nobody can watch what is not there */
    if (result < 0)
        return error_set_errno(err, result, "ask the watchers of '%s' in pool '%s'", object,
                               pool->name);
    return 0;
}

void workers_register(struct ceph_ops *ops)
{
    ops->work_begin = work_begin;
    ops->work_end = work_end;
    ops->work_ask = work_ask;
}
