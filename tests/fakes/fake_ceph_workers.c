#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "tests/fakes/fake_ceph_state.h"

/* Who is at work on what. The watch of a client that dies is gone at once. */

void fake_worker_die(struct fake_client *client)
{
    client->worker++;
    string_list_done(&client->watched);
}

static char *print_object(const struct ceph_pool *pool, const char *object)
{
    return xasprintf("%lld/%s/%s", (long long)pool->id, pool->rados_namespace, object);
}

/* The first time it is a call as any other, later it costs nothing. */
static int begin_watch(struct fake_step *step, const struct ceph_pool *pool, struct call *call,
                       const char *object, struct error *err)
{
    struct fake_client *client = ((const struct fake_open_pool *)pool)->client;

    pthread_mutex_lock(&client->fake->lock);
    bool is_watched = string_list_has(&client->watched, object);
    pthread_mutex_unlock(&client->fake->lock);
    return is_watched ? fake_step_begin_connection(step, client, call, "work_begin", err)
                      : fake_step_begin(step, client, call, "work_begin", err);
}

static int work_begin(struct ceph_pool *pool, struct call *call, const char *object,
                      const char *subject, struct ceph_work **out, struct error *err)
{
    struct fake_client *client = ((struct fake_open_pool *)pool)->client;
    _cleanup_free_ char *place = print_object(pool, object);
    struct fake_step step;

    if (begin_watch(&step, pool, call, place, err) < 0)
        return -1;
    if (!string_list_has(&client->watched, place))
        string_list_add(&client->watched, place);
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    struct fake_work *work = xcalloc(1, sizeof(*work));
    pthread_mutex_lock(&client->fake->lock);
    *work = (struct fake_work){
        .base = {pool->ops, client->worker},
        .next = client->fake->works,
        .client = client,
        .object = TAKE(place),
        .subject = xstrdup(subject),
        .call = call,
    };
    client->fake->works = work;
    pthread_mutex_unlock(&client->fake->lock);
    atomic_fetch_add(&client->fake->open_handles, 1);
    *out = &work->base;
    return 0;
}

static void work_end(struct ceph_work *base)
{
    struct fake_work *work = (struct fake_work *)base;
    struct fake_ceph *fake = work->client->fake;

    pthread_mutex_lock(&fake->lock);
    struct fake_work **link = &fake->works;
    while (*link != work)
        link = &(*link)->next;
    *link = work->next;
    pthread_mutex_unlock(&fake->lock);
    atomic_fetch_sub(&fake->open_handles, 1);
    free(work->object);
    free(work->subject);
    free(work);
}

static void ask_client(const struct fake_client *client, const char *object, const char *subject,
                       struct worker_answers *answers)
{
    const struct fake_work *work = client->fake->works;

    if (!string_list_has(&client->watched, object))
        return;
    struct worker_answer *answer = array_add(answers->items, answers->count);
    answer->worker = client->worker;
    answer->state = client->is_silent ? WORKER_SILENT : WORKER_IDLE;
    while (work && (work->client != client || work->base.worker != client->worker ||
                    strcmp(work->object, object) != 0 || strcmp(work->subject, subject) != 0))
        work = work->next;
    if (!work || client->is_silent)
        return;
    struct text stage = TEXT_INIT(512);
    call_describe(work->call, &stage);
    answer->state = WORKER_BUSY;
    answer->stage = text_take(&stage);
}

static int work_ask(struct ceph_pool *pool, struct call *call, const char *object,
                    const char *subject, struct worker_answers *answers, struct error *err)
{
    _cleanup_free_ char *place = print_object(pool, object);
    _cleanup_worker_answers_ struct worker_answers found = {0};
    struct fake_step step;

    if (fake_step_begin_in_pool(&step, pool, call, "work_ask", err) < 0)
        return -1;
    ask_client(&step.fake->process, place, subject, &found);
    ask_client(&step.fake->other, place, subject, &found);
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    *answers = found;
    found = (struct worker_answers){0};
    return 0;
}

void fake_ceph_silence_other(struct fake_ceph *fake, bool is_silent)
{
    pthread_mutex_lock(&fake->lock);
    fake->other.is_silent = is_silent;
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_kill_other(struct fake_ceph *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake_worker_die(&fake->other);
    pthread_mutex_unlock(&fake->lock);
}

void fake_worker_ops(struct ceph_ops *ops)
{
    ops->work_begin = work_begin;
    ops->work_end = work_end;
    ops->work_ask = work_ask;
}
