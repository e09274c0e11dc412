#pragma once

#include <stdbool.h>

#include "common/base/call.h"
#include "common/base/error.h"

/*
 * Work that outlives the call that began it: removing the data of deleted volumes, flattening long
 * chains. A few threads, a key per task, so that asking for what is under way already changes
 * nothing but what the next try is made with. Nothing here is on disk: whatever must survive a
 * restart is in Ceph, and the next call that comes across it starts the task again.
 *
 * Any thread.
 */
struct tasks;

struct task_kind {
    /* Does the work; may block. Reports how far it is with task_progress(). */
    int (*run)(void *object, struct call *call, struct error *err);
    /* Frees @object, whether or not it ran. */
    void (*release)(void *object);
    const char *name; /* "flatten"; for log and metrics */
    /* A try that failed is repeated after this time, the next after twice that, and so on up to the
     * limit, until one succeeds. 0: it is not repeated. */
    int64_t retry_first_ms;
    int64_t retry_limit_ms;
    unsigned at_once; /* so many run at a time, so that others get a thread; 0: any number */
};

/* Without threads, tasks wait for tasks_run_here(). */
struct tasks *tasks_new(unsigned threads);
/* Starts no more tasks, cancels the running ones and waits for them up to @timeout_ms. Returns
 * false if some still run: then the object must not be freed. */
_must_check_ bool tasks_stop(struct tasks *tasks, int64_t timeout_ms);
void tasks_free(struct tasks *tasks);

/* Takes @object over. Returns false if a task of that key is waiting or running: @object then
 * replaces that of the one that waits, or is for a second run behind the one that runs. */
bool tasks_start(struct tasks *tasks, const char *key, const struct task_kind *kind, void *object);

/* Called by a running task. @percent 0 to 100. Returns non-zero when the task has been cancelled.
 */
int task_progress(struct call *call, int percent);

/* Called by a running task that ends well, but has left something for later: it runs again then. */
void task_come_back(struct call *call, int64_t after_ms);

enum task_state { TASK_NONE, TASK_WAITING, TASK_RUNNING, TASK_FAILED };

/* What has become of the task; TASK_NONE when there was none or it succeeded. *@percent is how far
 * it is. *@message (caller frees, may be NULL) is why it failed last; that is remembered for a
 * while. */
enum task_state tasks_ask(struct tasks *tasks, const char *key, int *percent, char **message);

/* Repeats at once what failed and waits for its next try: something has changed. */
void tasks_hurry(struct tasks *tasks);

/* How many tasks of a kind there are, by its name. */
struct task_counts {
    unsigned pending;  /* waiting or running; those that come back later do not count */
    unsigned failed;   /* whose last try failed, and which will be repeated */
    int64_t oldest_ms; /* the age of the oldest of both; 0: there is none */
};

struct task_counts tasks_count(struct tasks *tasks, const char *kind);

/* Runs the waiting tasks on this thread, also those that wait for their time, each once, until none
 * is left: for tests, which want an order, and for programs that end when it is done. */
void tasks_run_here(struct tasks *tasks);
