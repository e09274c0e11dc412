#include "tests/bench/timing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/base/memory.h"

struct run {
    const struct timing *timing;
    atomic_size_t next;
    atomic_size_t failed;
    double *milliseconds; /* one per piece */
};

struct caller {
    pthread_t thread;
    struct run *run;
    size_t number;
};

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void *call_until_done(void *object)
{
    struct caller *caller = object;
    struct run *run = caller->run;

    for (;;) {
        size_t index = atomic_fetch_add(&run->next, 1);

        if (index >= run->timing->count)
            return NULL;
        double start = now_ms();
        if (run->timing->work(run->timing->object, index, caller->number) != 0)
            atomic_fetch_add(&run->failed, 1);
        run->milliseconds[index] = now_ms() - start;
        if (run->timing->pause_ms)
            usleep(run->timing->pause_ms * 1000);
    }
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

size_t timing_run(const struct timing *timing)
{
    struct run run = {.timing = timing, .milliseconds = xcalloc(timing->count, sizeof(double))};
    struct caller *callers = xcalloc(timing->callers, sizeof(*callers));
    double start = now_ms();

    for (size_t i = 0; i < timing->callers; i++) {
        callers[i] = (struct caller){.run = &run, .number = i};
        if (pthread_create(&callers[i].thread, NULL, call_until_done, &callers[i]) != 0)
            abort();
    }
    for (size_t i = 0; i < timing->callers; i++)
        pthread_join(callers[i].thread, NULL);
    double total = now_ms() - start;
    qsort(run.milliseconds, timing->count, sizeof(double), compare);
    printf(
        "%-20s callers %2zu  count %5zu  rate %7.1f /s  p50 %7.2f ms  p99 %7.2f ms  failed %zu\n",
        timing->title, timing->callers, timing->count, (double)timing->count / total * 1e3,
        run.milliseconds[timing->count / 2], run.milliseconds[timing->count * 99 / 100],
        atomic_load(&run.failed));
    fflush(stdout);
    free(run.milliseconds);
    free(callers);
    return atomic_load(&run.failed);
}
