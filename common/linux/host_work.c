#include "common/linux/host_work.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/memory.h"

#define GRACE_MS 5000
#define ANSWER_MS 1000 /* before the deadline of a call, it answers */
#define LOOK_MS 100    /* that a call was cancelled is no event */
#define LOCK_FIRST_MS 20
#define LOCK_LONGEST_MS 1000

struct work {
    struct work *next;
    struct host_works *works;
    char *folder;
    char *doing;
    struct string_list arguments;
    const char **argv; /* the same, and NULL */
    int lock_fd;
    int64_t since_ms;
    pthread_t thread;
    /* under the lock of the works */
    bool is_awaited; /* by one call */
    bool has_ended;
    int outcome;
    struct subprocess_result result;
    struct error err;
};

struct host_works {
    struct host *host;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct work *first;
    int cancel_fd;
};

struct host_works *host_works_new(struct host *host)
{
    struct host_works *works = xcalloc(1, sizeof(*works));

    *works = (struct host_works){.host = host, .cancel_fd = eventfd(0, EFD_CLOEXEC)};
    pthread_mutex_init(&works->lock, NULL);
    pthread_cond_init(&works->changed, NULL);
    return works;
}

/* Its thread has ended, or never began. */
static void work_free(struct work *work)
{
    if (work->has_ended && work->err.message)
        log_warn(NULL, "%s: %s", work->doing, work->err.message);
    if (work->lock_fd >= 0)
        close(work->lock_fd);
    free_all(work->folder, work->doing, work->argv);
    string_list_done(&work->arguments);
    subprocess_result_done(&work->result);
    error_clear(&work->err);
    free(work);
}

void host_works_free(struct host_works *works)
{
    if (!works)
        return;
    if (works->cancel_fd >= 0 && eventfd_write(works->cancel_fd, 1) < 0)
        log_warn(NULL, "programs that still run are not told to end: %s", strerrordesc_np(errno));
    while (works->first) {
        struct work *work = works->first;

        works->first = work->next;
        pthread_join(work->thread, NULL);
        work_free(work);
    }
    if (works->cancel_fd >= 0)
        close(works->cancel_fd);
    pthread_cond_destroy(&works->changed);
    pthread_mutex_destroy(&works->lock);
    free(works);
}

/* --- under the lock --- */

static struct work *find_work(const struct host_work *of)
{
    struct work *found = of->works->first;

    while (found && strcmp(found->folder, of->folder) != 0)
        found = found->next;
    return found;
}

static bool is_same_program(const struct work *work, const char *const *argv)
{
    size_t i = 0;

    while (i < work->arguments.count && argv[i] && strcmp(work->arguments.items[i], argv[i]) == 0)
        i++;
    return i == work->arguments.count && !argv[i];
}

static void take_out(struct work *work)
{
    struct work **link = &work->works->first;

    while (*link != work)
        link = &(*link)->next;
    *link = work->next;
}

/* An ended one that no other call waits for. Its thread has nothing left to do but to return. */
static void drop_work(struct work *work)
{
    take_out(work);
    pthread_join(work->thread, NULL);
    work_free(work);
}

static int64_t age_s(const struct work *work)
{
    return (clock_monotonic_ms() - work->since_ms) / 1000;
}

static int refuse_running(const struct work *work, struct error *err)
{
    return error_set(err, STATUS_ABORTED,
                     "%s has taken %lld s so far; it goes on, retry when it has ended", work->doing,
                     (long long)age_s(work));
}

static struct deadline answer_deadline(const struct call *call)
{
    const int64_t remaining = deadline_remaining_ms(call->deadline);

    return remaining == INT64_MAX ? deadline_never() : deadline_in_ms(remaining - ANSWER_MS);
}

/* ABORTED unless it has ended. */
static int wait_for_work(struct work *work, struct call *call, struct error *err)
{
    struct host_works *works = work->works;
    const struct deadline until = answer_deadline(call);

    if (work->is_awaited)
        return refuse_running(work, err);
    if (age_s(work) == 0)
        call_stage(call, "%s for {age}", work->doing);
    else
        call_stage(call, "waiting {age} for the end of %s, which began %lld s before", work->doing,
                   (long long)age_s(work));
    work->is_awaited = true;
    while (!work->has_ended && !call_is_cancelled(call) && !deadline_has_passed(until)) {
        const struct timespec next =
            deadline_timespec(deadline_earlier(until, deadline_in_ms(LOOK_MS)));

        pthread_cond_clockwait(&works->changed, &works->lock, CLOCK_MONOTONIC, &next);
    }
    work->is_awaited = false;
    return work->has_ended ? 0 : refuse_running(work, err);
}

/* --- the program --- */

static void *run_program(void *object)
{
    struct work *work = object;
    struct host_works *works = work->works;
    struct subprocess_result result = {0};
    struct error err = {0};
    const struct subprocess program = {
        .argv = work->argv,
        .deadline = deadline_never(),
        .cancel_fd = works->cancel_fd,
        .grace_ms = GRACE_MS,
        .lock_fd = work->lock_fd,
    };
    const int outcome = works->host->ops->run(works->host, &program, &result, &err);

    close(work->lock_fd); /* that of the program has gone with it */
    pthread_mutex_lock(&works->lock);
    work->lock_fd = -1;
    work->outcome = outcome;
    work->result = result;
    work->err = err;
    work->has_ended = true;
    pthread_cond_broadcast(&works->changed);
    pthread_mutex_unlock(&works->lock);
    return NULL;
}

static struct work *new_work(const struct host_work *of, const char *const *argv, const char *doing)
{
    struct work *work = xcalloc(1, sizeof(*work));

    *work = (struct work){.works = of->works,
                          .folder = xstrdup(of->folder),
                          .doing = xstrdup(doing),
                          .lock_fd = -1,
                          .since_ms = clock_monotonic_ms()};
    for (size_t i = 0; argv[i]; i++)
        string_list_add(&work->arguments, argv[i]);
    work->argv = xcalloc(work->arguments.count + 1, sizeof(*work->argv));
    for (size_t i = 0; i < work->arguments.count; i++)
        work->argv[i] = work->arguments.items[i];
    return work;
}

static int refuse_locked(const char *folder, struct error *err)
{
    return error_set(err, STATUS_ABORTED,
                     "a program that another run of this driver began still works on the volume at "
                     "'%s'; retry when it has ended",
                     folder);
}

/* Under the lock; the calls of one volume do not overlap. NULL on failure. */
static struct work *start_work(const struct host_work *of, const char *const *argv,
                               const char *doing, int lock_fd, struct error *err)
{
    struct work *work = new_work(of, argv, doing);

    work->lock_fd = lock_fd;
    int failed = pthread_create(&work->thread, NULL, run_program, work);
    if (failed) {
        work_free(work);
        error_set_errno(err, -failed, "start a thread for %s", doing);
        return NULL;
    }
    work->next = of->works->first;
    of->works->first = work;
    return work;
}

/* Hands over what came of it. */
static int claim_work(struct work *work, struct subprocess_result *result, struct error *err)
{
    const int outcome = work->outcome;

    *result = work->result;
    work->result = (struct subprocess_result){0};
    if (outcome < 0)
        error_move(err, &work->err);
    drop_work(work);
    return outcome;
}

/* The very same program of an earlier call, which has ended, or a new one. Under the lock. NULL on
 * failure. */
static struct work *find_or_start(const struct host_work *of, struct call *call,
                                  const char *const *argv, const char *doing, struct error *err)
{
    struct host *host = of->works->host;
    struct work *found = find_work(of);
    int lock_fd = -1;

    if (found && wait_for_work(found, call, err) < 0)
        return NULL;
    if (found && is_same_program(found, argv))
        return found;
    if (found)
        drop_work(found);
    if (host->ops->lock_folder(host, of->folder, &lock_fd, err) < 0)
        return NULL;
    if (lock_fd >= 0)
        return start_work(of, argv, doing, lock_fd, err);
    refuse_locked(of->folder, err);
    return NULL;
}

int host_work_run(const struct host_work *work, struct call *call, const char *const *argv,
                  const char *doing, struct subprocess_result *result, struct error *err)
{
    pthread_mutex_lock(&work->works->lock);
    struct work *found = find_or_start(work, call, argv, doing, err);
    int outcome = found ? wait_for_work(found, call, err) : -1;
    if (outcome == 0)
        outcome = claim_work(found, result, err);
    pthread_mutex_unlock(&work->works->lock);
    return outcome;
}

/* Of a process that has died. */
static int wait_for_lock(const struct host_work *work, struct call *call, struct error *err)
{
    struct host *host = work->works->host;
    struct backoff backoff = BACKOFF_INIT(LOCK_FIRST_MS, LOCK_LONGEST_MS);
    const struct deadline until = answer_deadline(call);

    for (;;) {
        _cleanup_close_ int fd = -1;

        if (host->ops->lock_folder(host, work->folder, &fd, err) < 0) {
            if (err->sys_errno != ENOENT)
                return -1;
            error_clear(err);
            return 0;
        }
        if (fd >= 0)
            return 0;
        call_stage(call, "waiting {age} for a program of another run of the driver");
        if (deadline_has_passed(until))
            return refuse_locked(work->folder, err);
        const int64_t pause_ms = backoff_next_ms(&backoff);
        const int64_t rest_ms = deadline_remaining_ms(until);
        if (call_pause(call, pause_ms < rest_ms ? pause_ms : rest_ms, err) < 0) {
            error_clear(err);
            return refuse_locked(work->folder, err);
        }
    }
}

int host_work_wait(const struct host_work *work, struct call *call, struct error *err)
{
    struct host_works *works = work->works;

    pthread_mutex_lock(&works->lock);
    struct work *found = find_work(work);
    int result = found ? wait_for_work(found, call, err) : 0;
    pthread_mutex_unlock(&works->lock);
    return found ? result : wait_for_lock(work, call, err);
}

int host_work_check_device(const struct host_work *work, const char *device, struct error *err)
{
    int result = 0;

    pthread_mutex_lock(&work->works->lock);
    for (const struct work *other = work->works->first; other && result == 0; other = other->next)
        if (!other->has_ended && strcmp(other->folder, work->folder) != 0 &&
            string_list_has(&other->arguments, device))
            result = refuse_running(other, err);
    pthread_mutex_unlock(&work->works->lock);
    return result;
}

bool host_work_is_running(const struct host_work *work)
{
    pthread_mutex_lock(&work->works->lock);
    const struct work *found = find_work(work);
    bool running = found && !found->has_ended;
    pthread_mutex_unlock(&work->works->lock);
    return running;
}

void host_work_forget(const struct host_work *work)
{
    pthread_mutex_lock(&work->works->lock);
    struct work *found = find_work(work);
    if (found && found->has_ended && !found->is_awaited)
        drop_work(found);
    pthread_mutex_unlock(&work->works->lock);
}
