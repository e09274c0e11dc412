#include <glob.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/rpc/worker_pool.h"
#include "tests/test.h"

static sem_t gate;
static sem_t arrived;

static void wait_at_gate(struct worker_job *job)
{
    (void)job;
    sem_post(&arrived);
    sem_wait(&gate);
}

struct numbered_job {
    struct worker_job job;
    int number;
    int *order; /* where the number goes; one thread only */
    int *count;
};

static void note_number(struct worker_job *job)
{
    struct numbered_job *numbered = (struct numbered_job *)job;

    numbered->order[(*numbered->count)++] = numbered->number;
}

static struct worker_pool *start_with(const struct worker_pool_options *options)
{
    struct worker_pool *pool = NULL;
    _cleanup_error_ struct error err = {0};

    if (worker_pool_new(options, &pool, &err) < 0)
        fail_msg("%s", err.message);
    sem_init(&gate, 0, 0);
    sem_init(&arrived, 0, 0);
    return pool;
}

static struct worker_pool *start(unsigned threads, unsigned queue_limit)
{
    return start_with(&(struct worker_pool_options){"test-name-that-is-long", threads, queue_limit,
                                                    .idle_ms = 3600000});
}

TEST(jobs_run_in_order)
{
    struct worker_pool *pool = start(1, 10);
    struct worker_job first = {.run = wait_at_gate};
    struct numbered_job jobs[10];
    _cleanup_error_ struct error err = {0};
    int order[10] = {0};
    int count = 0;

    assert_int_equal(worker_pool_submit(pool, &first, &err), 0);
    sem_wait(&arrived);
    for (int i = 0; i < 10; i++) {
        jobs[i] = (struct numbered_job){{.run = note_number}, i, order, &count};
        assert_int_equal(worker_pool_submit(pool, &jobs[i].job, &err), 0);
    }
    sem_post(&gate);
    worker_pool_free(pool); /* works off what is queued */
    assert_int_equal(count, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(order[i], i);
}

TEST(full_queue_refuses)
{
    struct worker_pool *pool = start(2, 1);
    struct worker_job jobs[4];
    _cleanup_error_ struct error err = {0};

    for (int i = 0; i < 4; i++)
        jobs[i] = (struct worker_job){.run = wait_at_gate};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(worker_pool_submit(pool, &jobs[i], &err), 0);
        sem_wait(&arrived);
    }
    assert_int_equal(worker_pool_submit(pool, &jobs[2], &err), 0);
    assert_int_equal(worker_pool_submit(pool, &jobs[3], &err), -1);
    assert_int_equal(err.status, STATUS_UNAVAILABLE);
    for (int i = 0; i < 3; i++)
        sem_post(&gate);
    worker_pool_free(pool);
}

TEST(all_threads_work_at_once)
{
    struct worker_pool *pool = start(8, 8);
    struct worker_job jobs[8];
    _cleanup_error_ struct error err = {0};

    for (int i = 0; i < 8; i++) {
        jobs[i] = (struct worker_job){.run = wait_at_gate};
        assert_int_equal(worker_pool_submit(pool, &jobs[i], &err), 0);
    }
    for (int i = 0; i < 8; i++)
        sem_wait(&arrived); /* none has passed the gate yet */
    for (int i = 0; i < 8; i++)
        sem_post(&gate);
    worker_pool_free(pool);
}

struct tracing_job {
    struct worker_job job;
    pthread_t thread;
    pid_t tid;
};

static void note_thread(struct worker_job *job)
{
    struct tracing_job *tracing = (struct tracing_job *)job;

    tracing->thread = pthread_self();
    tracing->tid = gettid();
    sem_post(&arrived);
}

static unsigned count_threads(const struct tracing_job *jobs, unsigned count)
{
    unsigned different = 0;

    for (unsigned i = 0; i < count; i++) {
        unsigned before = 0;

        while (before < i && !pthread_equal(jobs[before].thread, jobs[i].thread))
            before++;
        different += before == i;
    }
    return different;
}

/* Nobody else holds the pool's lock: what a worker sleeps for is its next job. */
static bool thread_sleeps(pid_t tid)
{
    _cleanup_free_ char *path = xasprintf("/proc/self/task/%d/stat", (int)tid);
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char line[512];

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    return strstr(line, ") S ");
}

TEST(jobs_one_after_the_other_use_few_threads)
{
    struct worker_pool *pool = start(32, 1);
    struct tracing_job jobs[200];
    _cleanup_error_ struct error err = {0};

    for (int i = 0; i < 200; i++) {
        jobs[i].job = (struct worker_job){.run = note_thread};
        assert_int_equal(worker_pool_submit(pool, &jobs[i].job, &err), 0);
        sem_wait(&arrived);
        wait_until(thread_sleeps(jobs[i].tid)); /* it has come back */
    }
    worker_pool_free(pool);
    assert_true(count_threads(jobs, 200) < 32);
}

/* --- threads that come and go --- */

static unsigned count_running(void)
{
    static const char own[] = "test-name-t-"; /* what shows of it */
    unsigned count = 0;
    glob_t paths = {0};

    assert_int_equal(glob("/proc/self/task/*/comm", 0, NULL, &paths), 0);
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        _cleanup_fclose_ FILE *file = fopen(paths.gl_pathv[i], "re");
        char name[32] = "";

        if (file && fgets(name, sizeof(name), file)) /* it may have ended since */
            count += strncmp(name, own, strlen(own)) == 0;
    }
    globfree(&paths);
    return count;
}

#define MANY 6

static void occupy_all(struct worker_pool *pool, struct worker_job *jobs)
{
    _cleanup_error_ struct error err = {0};

    for (int i = 0; i < MANY; i++) {
        jobs[i] = (struct worker_job){.run = wait_at_gate};
        assert_int_equal(worker_pool_submit(pool, &jobs[i], &err), 0);
        sem_wait(&arrived);
    }
    for (int i = 0; i < MANY; i++)
        sem_post(&gate);
}

TEST(threads_are_started_for_work)
{
    struct worker_pool *pool = start(32, 1);
    struct worker_job jobs[MANY];

    wait_until(count_running() == 1);
    occupy_all(pool, jobs);
    wait_until(count_running() == MANY);
    worker_pool_free(pool);
}

TEST(threads_without_work_end_and_come_back)
{
    struct worker_pool *pool =
        start_with(&(struct worker_pool_options){"test-name-t", 32, 1, .idle_ms = 1});
    struct worker_job jobs[MANY];

    for (int round = 0; round < 20; round++) {
        occupy_all(pool, jobs);
        wait_until(count_running() == 1);
    }
    worker_pool_free(pool);
}

TEST(idle_pool_can_be_freed)
{
    worker_pool_free(start(3, 1));
    worker_pool_free(NULL);
}
