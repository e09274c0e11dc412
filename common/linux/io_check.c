#include "common/linux/io_check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/deadline.h"
#include "common/base/memory.h"
#include "common/base/worker.h"

#define HANGING_MAX 64 /* threads */

typedef int io_question(struct host *host, const char *path, struct error *err);

/* One read; the reader and the one who waits for it each hold a reference. */
struct check {
    struct check *next;
    struct io_checks *checks;
    io_question *ask;
    char *device;
    int64_t since_ms;
    bool done;
    bool failed;
    struct error err;
};

struct io_checks {
    struct host *host;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct check *running;
    unsigned count; /* of the running */
    bool freed;     /* the last reader frees */
};

struct io_checks *io_checks_new(struct host *host)
{
    struct io_checks *checks = xcalloc(1, sizeof(*checks));

    checks->host = host;
    pthread_mutex_init(&checks->lock, NULL);
    pthread_cond_init(&checks->changed, NULL);
    return checks;
}

static void destroy_checks(struct io_checks *checks)
{
    pthread_mutex_destroy(&checks->lock);
    pthread_cond_destroy(&checks->changed);
    free(checks);
}

void io_checks_free(struct io_checks *checks)
{
    pthread_mutex_lock(&checks->lock);
    checks->freed = true;
    bool last = checks->count == 0;
    pthread_mutex_unlock(&checks->lock);
    if (last)
        destroy_checks(checks);
}

static void check_free(struct check *check)
{
    free(check->device);
    error_clear(&check->err);
    free(check);
}

static void forget_check(struct io_checks *checks, const struct check *check)
{
    struct check **link = &checks->running;

    while (*link != check)
        link = &(*link)->next;
    *link = check->next;
    checks->count--;
}

static void *read_device(void *object)
{
    struct check *check = object;
    struct io_checks *checks = check->checks;
    struct error err = {0};
    bool failed = check->ask(checks->host, check->device, &err) < 0;

    pthread_mutex_lock(&checks->lock);
    forget_check(checks, check);
    check->failed = failed;
    check->err = err;
    bool nobody_waits = check->done;
    check->done = true;
    bool last = checks->freed && checks->count == 0;
    pthread_cond_broadcast(&checks->changed);
    pthread_mutex_unlock(&checks->lock);
    if (nobody_waits)
        check_free(check);
    if (last)
        destroy_checks(checks);
    return NULL;
}

static int report_hang(const char *device, int64_t since_ms, struct error *err)
{
    return error_set(err, STATUS_DEADLINE_EXCEEDED, "a read from '%s' has hung for %lld s", device,
                     (long long)(clock_monotonic_ms() - since_ms) / 1000);
}

/* Under the lock. @done lets the reader know that nobody waits any more. */
static int wait_for_check(struct io_checks *checks, struct check *check, int64_t timeout_ms,
                          struct error *err)
{
    struct timespec until = deadline_timespec(deadline_in_ms(timeout_ms));
    int expired = 0;

    while (!check->done && !expired)
        expired = pthread_cond_clockwait(&checks->changed, &checks->lock, CLOCK_MONOTONIC, &until);
    if (!check->done) {
        check->done = true;
        return report_hang(check->device, check->since_ms, err);
    }
    int result = check->failed ? error_move(err, &check->err) : 0;
    check_free(check);
    return result;
}

static int check_path(struct io_checks *checks, io_question *ask, const char *device,
                      int64_t timeout_ms, struct error *err)
{
    int result = 0;

    pthread_mutex_lock(&checks->lock);
    const struct check *other = checks->running;
    while (other && strcmp(other->device, device) != 0)
        other = other->next;
    if (other && clock_monotonic_ms() - other->since_ms >= timeout_ms)
        result = report_hang(device, other->since_ms, err);
    else if (checks->count >= HANGING_MAX)
        result = error_set(err, STATUS_RESOURCE_EXHAUSTED, "%d reads of other devices hang",
                           HANGING_MAX);
    if (result == 0 && !other) { /* one that has just begun will show */
        struct check *check = xcalloc(1, sizeof(*check));

        *check = (struct check){.next = checks->running,
                                .checks = checks,
                                .ask = ask,
                                .device = xstrdup(device),
                                .since_ms = clock_monotonic_ms()};
        checks->running = check;
        checks->count++;
        int failed = worker_start_detached(read_device, check);
        if (failed < 0) {
            forget_check(checks, check);
            check_free(check);
            result = error_set_errno(err, failed, "start a reader of '%s'", device);
        } else {
            result = wait_for_check(checks, check, timeout_ms, err);
        }
    }
    pthread_mutex_unlock(&checks->lock);
    return result;
}

int io_check(struct io_checks *checks, const char *device, int64_t timeout_ms, struct error *err)
{
    return check_path(checks, checks->host->ops->device_read, device, timeout_ms, err);
}

int io_check_folder(struct io_checks *checks, const char *path, int64_t timeout_ms,
                    struct error *err)
{
    return check_path(checks, checks->host->ops->ask_folder, path, timeout_ms, err);
}
