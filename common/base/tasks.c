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
    unsigned failures;
    uint64_t next_id;
    atomic_bool cancelled; /* seen by every running task */
    unsigned thread_count;
};

static struct task **find_task(struct tasks *tasks, const char *key)
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

static void forget_task(struct tasks *tasks, struct task *task)
{
    *find_task(tasks, task->key) = task->next;
    if (task->object)
        task->kind->release(task->object);
    call_done(&task->call);
    free(task->key);
    free(task->failure);
    free(task);
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
    forget_task(tasks, oldest);
    tasks->failures--;
}

/* Lock held on entry and exit, not while the task runs. */
static void run_task(struct tasks *tasks, struct task *task)
{
    _cleanup_error_ struct error err = {0};

    task->state = TASK_RUNNING;
    pthread_mutex_unlock(&tasks->lock);
    int result = task->kind->run(task->object, &task->call, &err);
    if (result < 0)
        log_warn(&task->call, "%s: %s", task->kind->name, err.message);
    pthread_mutex_lock(&tasks->lock);
    if (task->again && !atomic_load(&tasks->cancelled)) {
        task->again = false;
        task->state = TASK_WAITING;
    } else if (result < 0) {
        remember_failure(tasks, task, &err);
    } else {
        forget_task(tasks, task);
    }
    pthread_cond_broadcast(&tasks->changed);
}

static void *run_tasks(void *object)
{
    struct tasks *tasks = object;

    pthread_mutex_lock(&tasks->lock);
    while (!atomic_load(&tasks->cancelled)) {
        struct task *task = next_waiting(tasks);

        if (task)
            run_task(tasks, task);
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
        pthread_t thread;

        if (pthread_create(&thread, NULL, run_tasks, tasks) != 0)
            abort();
        pthread_setname_np(thread, "task");
        pthread_detach(thread);
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
        forget_task(tasks, tasks->first);
    pthread_cond_destroy(&tasks->changed);
    pthread_mutex_destroy(&tasks->lock);
    free(tasks);
}

bool tasks_start(struct tasks *tasks, const char *key, const struct task_kind *kind, void *object)
{
    pthread_mutex_lock(&tasks->lock);
    struct task **link = find_task(tasks, key);
    bool busy = *link && (*link)->state != TASK_FAILED;
    if (busy) {
        (*link)->again = (*link)->state == TASK_RUNNING;
    } else {
        struct task *task = xcalloc(1, sizeof(*task));

        if (*link) { /* a failed one: this is the next try */
            forget_task(tasks, *link);
            tasks->failures--;
        }
        task->key = xstrdup(key);
        task->kind = kind;
        task->object = object;
        task->state = TASK_WAITING;
        call_init(&task->call, ++tasks->next_id, kind->name, deadline_never());
        call_set_request_id(&task->call, key);
        task->call.cancelled = &tasks->cancelled;
        for (link = &tasks->first; *link;)
            link = &(*link)->next;
        *link = task;
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
    const struct task *task = *find_task(tasks, key);
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
        run_task(tasks, task);
    pthread_mutex_unlock(&tasks->lock);
}
