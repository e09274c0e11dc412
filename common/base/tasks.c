#include "common/base/tasks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/memory.h"

#define THREADS_MAX 8
#define FAILURES_KEPT 64

struct task {
    struct task *next;
    char *key;
    const struct task_kind *kind;
    void *object; /* NULL: it failed for good */
    void *newer;  /* that of the next run, if it was asked for once more while it ran */
    struct call call;
    atomic_int percent;
    enum task_state state;
    struct deadline due;  /* not before */
    int64_t come_back_ms; /* set by the run; 0: it does not */
    bool is_idle;         /* waits to come back */
    int64_t since_ms;     /* when it was asked for */
    struct backoff backoff;
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

static bool is_waiting(const struct task *task)
{
    return task->state == TASK_WAITING || (task->state == TASK_FAILED && task->object);
}

static bool may_run(const struct tasks *tasks, const struct task_kind *kind)
{
    unsigned running = 0;

    for (const struct task *task = tasks->first; task; task = task->next)
        running += task->kind == kind && task->state == TASK_RUNNING;
    return kind->at_once == 0 || running < kind->at_once;
}

/* The first whose time has come. If there is none, *@wake is when the next one's comes. */
static struct task *next_due(struct tasks *tasks, struct deadline *wake)
{
    *wake = deadline_never();
    for (struct task *task = tasks->first; task; task = task->next) {
        if (!is_waiting(task) || !may_run(tasks, task->kind))
            continue; /* the end of one that runs wakes a thread */
        if (deadline_has_passed(task->due))
            return task;
        *wake = deadline_earlier(*wake, task->due);
    }
    return NULL;
}

static void forget_task(struct tasks *tasks, struct task *task)
{
    *find_task(tasks, task->key) = task->next;
    if (task->object)
        task->kind->release(task->object);
    if (task->newer)
        task->kind->release(task->newer);
    call_done(&task->call);
    free_all(task->key, task->failure, task);
}

static void set_waiting(struct task *task, int64_t after_ms)
{
    if (task->is_idle)
        task->since_ms = clock_monotonic_ms();
    task->state = TASK_WAITING;
    task->due = deadline_in_ms(after_ms);
    task->is_idle = after_ms > 0;
    free(task->failure);
    task->failure = NULL;
}

/* Final failures are for people who ask again soon; the oldest goes when there are too many. */
static void remember_failure(struct tasks *tasks, struct task *task, struct error *err)
{
    task->state = TASK_FAILED;
    free(task->failure);
    task->failure = TAKE(err->message);
    if (task->kind->retry_first_ms > 0) {
        task->due = deadline_in_ms(backoff_next_ms(&task->backoff));
        return;
    }
    task->kind->release(task->object);
    task->object = NULL;
    if (++tasks->failures <= FAILURES_KEPT)
        return;
    struct task *oldest = tasks->first;
    while (oldest->state != TASK_FAILED || oldest->object)
        oldest = oldest->next;
    forget_task(tasks, oldest);
    tasks->failures--;
}

/* Lock held. What becomes of it after a run. */
static void settle_task(struct tasks *tasks, struct task *task, int result, struct error *err)
{
    if (result == 0)
        backoff_reset(&task->backoff);
    if (task->newer && !atomic_load(&tasks->cancelled)) {
        task->kind->release(task->object);
        task->object = TAKE(task->newer);
        set_waiting(task, 0);
    } else if (result < 0) {
        remember_failure(tasks, task, err);
    } else if (task->come_back_ms > 0) {
        set_waiting(task, task->come_back_ms);
    } else {
        forget_task(tasks, task);
    }
}

/* Lock held on entry and exit, not while the task runs. One that comes back is as new. */
static void run_task(struct tasks *tasks, struct task *task)
{
    _cleanup_error_ struct error err = {0};

    if (task->is_idle)
        set_waiting(task, 0);
    task->state = TASK_RUNNING;
    task->come_back_ms = 0;
    pthread_mutex_unlock(&tasks->lock);
    int result = task->kind->run(task->object, &task->call, &err);
    if (result < 0)
        log_warn(&task->call, "%s: %s", task->kind->name, err.message);
    pthread_mutex_lock(&tasks->lock);
    settle_task(tasks, task, result, &err);
    pthread_cond_broadcast(&tasks->changed);
}

static void *run_tasks(void *object)
{
    struct tasks *tasks = object;

    pthread_mutex_lock(&tasks->lock);
    while (!atomic_load(&tasks->cancelled)) {
        struct deadline wake;
        struct task *task = next_due(tasks, &wake);
        const struct timespec limit = deadline_timespec(wake);

        if (task)
            run_task(tasks, task);
        else if (wake.at_ms == DEADLINE_NEVER)
            pthread_cond_wait(&tasks->changed, &tasks->lock);
        else
            pthread_cond_clockwait(&tasks->changed, &tasks->lock, CLOCK_MONOTONIC, &limit);
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

/* Lock held. The next run is at once and with @object; returns what was meant for it before. */
static void *renew_task(struct task *task, void *object)
{
    void **place = task->state == TASK_RUNNING ? &task->newer : &task->object;
    void *replaced = *place;

    *place = object;
    if (task->state != TASK_RUNNING)
        set_waiting(task, 0);
    return replaced;
}

/* Lock held. */
static void add_task(struct tasks *tasks, const char *key, const struct task_kind *kind,
                     void *object)
{
    struct task *task = xcalloc(1, sizeof(*task));
    struct task **link = &tasks->first;

    task->key = xstrdup(key);
    task->kind = kind;
    task->object = object;
    task->since_ms = clock_monotonic_ms();
    task->backoff = (struct backoff)BACKOFF_INIT(kind->retry_first_ms, kind->retry_limit_ms);
    set_waiting(task, 0);
    call_init(&task->call, ++tasks->next_id, kind->name, deadline_never());
    call_set_request_id(&task->call, key);
    task->call.cancelled = &tasks->cancelled;
    while (*link)
        link = &(*link)->next;
    *link = task;
}

bool tasks_start(struct tasks *tasks, const char *key, const struct task_kind *kind, void *object)
{
    pthread_mutex_lock(&tasks->lock);
    struct task *known = *find_task(tasks, key);
    if (known && !known->object) { /* it failed: this is the next try */
        forget_task(tasks, known);
        tasks->failures--;
        known = NULL;
    }
    void *replaced = known ? renew_task(known, object) : NULL;
    if (!known)
        add_task(tasks, key, kind, object);
    pthread_cond_broadcast(&tasks->changed);
    pthread_mutex_unlock(&tasks->lock);
    if (replaced)
        kind->release(replaced);
    return !known;
}

static struct task *task_of(struct call *call)
{
    return (struct task *)((char *)call - offsetof(struct task, call));
}

int task_progress(struct call *call, int percent)
{
    atomic_store(&task_of(call)->percent, percent);
    return call_is_cancelled(call) ? -1 : 0;
}

void task_come_back(struct call *call, int64_t after_ms)
{
    task_of(call)->come_back_ms = after_ms;
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

/* Lock held. */
static void make_due(struct tasks *tasks, bool idle_too)
{
    for (struct task *task = tasks->first; task; task = task->next)
        if (is_waiting(task) && (idle_too || !task->is_idle))
            task->due = deadline_in_ms(0);
}

void tasks_hurry(struct tasks *tasks)
{
    pthread_mutex_lock(&tasks->lock);
    make_due(tasks, false);
    pthread_cond_broadcast(&tasks->changed);
    pthread_mutex_unlock(&tasks->lock);
}

struct task_counts tasks_count(struct tasks *tasks, const char *kind)
{
    struct task_counts counts = {0};

    pthread_mutex_lock(&tasks->lock);
    for (const struct task *task = tasks->first; task; task = task->next) {
        if (strcmp(task->kind->name, kind) != 0 || task->is_idle || !task->object)
            continue;
        const int64_t age_ms = clock_monotonic_ms() - task->since_ms;
        if (task->state == TASK_FAILED)
            counts.failed++;
        else
            counts.pending++;
        if (age_ms > counts.oldest_ms)
            counts.oldest_ms = age_ms;
    }
    pthread_mutex_unlock(&tasks->lock);
    return counts;
}

void tasks_run_here(struct tasks *tasks)
{
    struct deadline wake;
    struct task *task = NULL;

    pthread_mutex_lock(&tasks->lock);
    make_due(tasks, true);
    while ((task = next_due(tasks, &wake)))
        run_task(tasks, task);
    pthread_mutex_unlock(&tasks->lock);
}
