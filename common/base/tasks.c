#include "common/base/tasks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"

#define THREADS_MAX 8
#define FAILURES_KEPT 64

struct task {
    struct task *next;
    char *key;
    const struct task_kind *kind;
    void *object;
    struct call call;
    atomic_int percent;
    enum task_state state;
    bool again; /* asked for once more while it ran */
    char *failure;
};

struct tasks {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task *first; /* waiting and running in the order of arrival, then failed ones */
    unsigned waiting;
    unsigned running;
    unsigned failures;
    uint64_t next_id;
    atomic_bool cancelled; /* seen by every running task */
    unsigned thread_count;
    pthread_t threads[THREADS_MAX];
};

static void task_free(struct task *task)
{
    if (task->object)
        task->kind->release(task->object);
    call_done(&task->call);
    free(task->key);
    free(task->failure);
    free(task);
}

static struct task **find(struct tasks *tasks, const char *key)
{
    struct task **link = &tasks->first;

    while (*link && strcmp((*link)->key, key) != 0)
        link = &(*link)->next;
    return link;
}

static struct task *next_waiting(struct tasks *tasks)
{
    struct task *task = tasks->first;

    while (task && task->state != TASK_WAITING)
        task = task->next;
    return task;
}

static void forget(struct tasks *tasks, struct task *task)
{
    struct task **link = find(tasks, task->key);

    *link = task->next;
    task_free(task);
}

/* Failures are for people who ask again soon; the oldest goes when there are too many. */
static void remember_failure(struct tasks *tasks, struct task *task, struct error *err)
{
    task->state = TASK_FAILED;
    task->failure = TAKE(err->message);
    task->kind->release(task->object);
    task->object = NULL;
    if (++tasks->failures <= FAILURES_KEPT)
        return;
    struct task *oldest = tasks->first;
    while (oldest->state != TASK_FAILED)
        oldest = oldest->next;
    forget(tasks, oldest);
    tasks->failures--;
}

/* Lock held on entry and exit, not while the task runs. */
static void run_one(struct tasks *tasks, struct task *task)
{
    _cleanup_error_ struct error err = {0};

    task->state = TASK_RUNNING;
    tasks->waiting--;
    tasks->running++;
    pthread_mutex_unlock(&tasks->lock);
    int result = task->kind->run(task->object, &task->call, &err);
    if (result < 0)
        log_warn(&task->call, "%s: %s", task->kind->name, err.message);
    pthread_mutex_lock(&tasks->lock);
    tasks->running--;
    if (task->again && !atomic_load(&tasks->cancelled)) {
        task->again = false;
        task->state = TASK_WAITING;
        tasks->waiting++;
    } else if (result < 0) {
        remember_failure(tasks, task, &err);
    } else {
        forget(tasks, task);
    }
    pthread_cond_broadcast(&tasks->changed);
}

static void *work(void *object)
{
    struct tasks *tasks = object;

    pthread_mutex_lock(&tasks->lock);
    while (!atomic_load(&tasks->cancelled)) {
        struct task *task = next_waiting(tasks);

        if (task)
            run_one(tasks, task);
        else
            pthread_cond_wait(&tasks->changed, &tasks->lock);
    }
    tasks->thread_count--;
    pthread_cond_broadcast(&tasks->changed);
    pthread_mutex_unlock(&tasks->lock);
    return NULL;
}

struct tasks *tasks_new(unsigned threads)
{
    struct tasks *tasks = xcalloc(1, sizeof(*tasks));

    pthread_mutex_init(&tasks->lock, NULL);
    pthread_cond_init(&tasks->changed, NULL);
    for (unsigned i = 0; i < threads && i < THREADS_MAX; i++) {
        if (pthread_create(&tasks->threads[i], NULL, work, tasks) != 0)
            abort();
        pthread_setname_np(tasks->threads[i], "task");
        pthread_detach(tasks->threads[i]);
        tasks->thread_count++;
    }
    return tasks;
}

bool tasks_stop(struct tasks *tasks, int64_t timeout_ms)
{
    struct deadline deadline = deadline_in_ms(timeout_ms);
    const struct timespec limit = deadline_timespec(deadline);

    atomic_store(&tasks->cancelled, true);
    pthread_mutex_lock(&tasks->lock);
    pthread_cond_broadcast(&tasks->changed);
    while (tasks->thread_count > 0 && !deadline_has_passed(deadline))
        pthread_cond_clockwait(&tasks->changed, &tasks->lock, CLOCK_MONOTONIC, &limit);
    bool stopped = tasks->thread_count == 0;
    pthread_mutex_unlock(&tasks->lock);
    return stopped;
}

void tasks_free(struct tasks *tasks)
{
    while (tasks->first)
        forget(tasks, tasks->first);
    pthread_cond_destroy(&tasks->changed);
    pthread_mutex_destroy(&tasks->lock);
    free(tasks);
}

static struct task *task_new(struct tasks *tasks, const char *key, const struct task_kind *kind,
                             void *object)
{
    struct task *task = xcalloc(1, sizeof(*task));

    task->key = xstrdup(key);
    task->kind = kind;
    task->object = object;
    task->state = TASK_WAITING;
    call_init(&task->call, ++tasks->next_id, kind->name, deadline_never());
    call_set_request_id(&task->call, key);
    task->call.cancelled = &tasks->cancelled;
    return task;
}

bool tasks_start(struct tasks *tasks, const char *key, const struct task_kind *kind, void *object)
{
    pthread_mutex_lock(&tasks->lock);
    struct task **link = find(tasks, key);
    bool busy = *link && (*link)->state != TASK_FAILED;
    if (busy) {
        (*link)->again = (*link)->state == TASK_RUNNING;
    } else {
        if (*link) { /* a failed one: this is the next try */
            forget(tasks, *link);
            tasks->failures--;
        }
        for (link = &tasks->first; *link;)
            link = &(*link)->next;
        *link = task_new(tasks, key, kind, object);
        tasks->waiting++;
        pthread_cond_broadcast(&tasks->changed);
    }
    pthread_mutex_unlock(&tasks->lock);
    if (busy)
        kind->release(object);
    return !busy;
}

int task_progress(struct call *call, int percent)
{
    struct task *task = (struct task *)((char *)call - offsetof(struct task, call));

    atomic_store(&task->percent, percent);
    return call_is_cancelled(call) ? -1 : 0;
}

enum task_state tasks_ask(struct tasks *tasks, const char *key, int *percent, char **message)
{
    enum task_state state = TASK_NONE;

    *message = NULL;
    pthread_mutex_lock(&tasks->lock);
    const struct task *task = *find(tasks, key);
    if (task) {
        state = task->state;
        *percent = atomic_load(&task->percent);
        if (task->failure)
            *message = xstrdup(task->failure);
    }
    pthread_mutex_unlock(&tasks->lock);
    return state;
}

void tasks_run_here(struct tasks *tasks)
{
    struct task *task = NULL;

    pthread_mutex_lock(&tasks->lock);
    while ((task = next_waiting(tasks)))
        run_one(tasks, task);
    pthread_mutex_unlock(&tasks->lock);
}
