#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tests/fakes/fake_ceph_state.h"

/*
 * Every operation is a step: begin, effect, end. Begin refuses calls that are to fail before their
 * effect, end those that fail after it. A crash is a flag that begin and end look at, so that it
 * stops the calls of all threads of the process, also those that were under way.
 */

static int fail_crashed(struct error *err, const char *operation)
{
    error_set_errno(err, -ECONNABORTED, "the process crashed before %s returned", operation);
    return error_recode(err, STATUS_CANCELLED);
}

/* What the process had locked is free when it is dead. */
static void crash(struct fake_ceph *fake)
{
    fake->crashed = true;
    fake_worker_die(&fake->process);
    for (size_t i = 0; i < fake->image_count; i++) {
        struct fake_image *image = fake->images[i];

        if (image->holder && !image->holder->client->is_other)
            image->holder = NULL;
    }
}

static int strike(struct fake_step *step, struct error *err)
{
    struct fake_ceph *fake = step->fake;

    switch (fake->fault.failure) {
    case FAKE_FAIL_BEFORE:
        fake->faults++;
        return error_set_errno(err, fake->fault.negative_errno, "call %u, %s, was made to fail",
                               fake->calls, step->operation);
    case FAKE_CRASH_BEFORE:
        fake->faults++;
        crash(fake);
        return fail_crashed(err, step->operation);
    case FAKE_FAIL_AFTER:
        step->reply_is_lost = true;
        break;
    case FAKE_CRASH_AFTER:
        step->crash_follows = true;
        break;
    }
    return 0;
}

static int count_call(struct fake_step *step, bool counted, struct error *err)
{
    struct fake_ceph *fake = step->fake;

    if (fake->crashed)
        return fail_crashed(err, step->operation);
    if (!counted)
        return 0;
    fake->calls++;
    if (fake->fault.calls_left == 0 || --fake->fault.calls_left > 0)
        return 0;
    return strike(step, err);
}

/* What the test wants to happen first. Its own calls are not interrupted. */
static void interrupt_before(struct fake_ceph *fake, const struct fake_client *client,
                             const char *operation)
{
    struct fake_interruption interruption = {0};

    pthread_mutex_lock(&fake->lock);
    if (!client->is_other && fake->interruption.operation &&
        strcmp(fake->interruption.operation, operation) == 0) {
        interruption = fake->interruption;
        fake->interruption.operation = NULL;
    }
    pthread_mutex_unlock(&fake->lock);
    if (interruption.operation)
        interruption.interrupt(interruption.object);
}

void fake_ceph_interrupt_before(struct fake_ceph *fake, const char *operation,
                                fake_ceph_interrupt interrupt, void *object)
{
    pthread_mutex_lock(&fake->lock);
    fake->interruption = (struct fake_interruption){operation, interrupt, object};
    pthread_mutex_unlock(&fake->lock);
}

static int begin(struct fake_step *step, const struct fake_client *client, struct call *call,
                 const char *operation, bool is_connection, struct error *err)
{
    struct fake_ceph *fake = client->fake;

    *step = (struct fake_step){.fake = fake, .client = client, .operation = operation};
    call_stage(call, "busy with %s for {age}", operation);
    if (call_check(call, err) < 0)
        return -1;
    interrupt_before(fake, client, operation);
    pthread_mutex_lock(&fake->lock);
    if (client->is_other)
        return 0;
    if (count_call(step, !is_connection || fake->connections_counted, err) < 0) {
        pthread_mutex_unlock(&fake->lock);
        return -1;
    }
    return 0;
}

int fake_step_begin(struct fake_step *step, const struct fake_client *client, struct call *call,
                    const char *operation, struct error *err)
{
    return begin(step, client, call, operation, false, err);
}

int fake_step_begin_in_pool(struct fake_step *step, const struct ceph_pool *pool, struct call *call,
                            const char *operation, struct error *err)
{
    const struct fake_client *client = ((const struct fake_open_pool *)pool)->client;

    return begin(step, client, call, operation, false, err);
}

int fake_step_begin_connection(struct fake_step *step, const struct fake_client *client,
                               struct call *call, const char *operation, struct error *err)
{
    return begin(step, client, call, operation, true, err);
}

void fake_step_pause(struct fake_step *step)
{
    pthread_mutex_unlock(&step->fake->lock);
}

void fake_step_resume(struct fake_step *step)
{
    pthread_mutex_lock(&step->fake->lock);
}

int fake_step_end(struct fake_step *step, int result, struct error *err)
{
    step->fake->faults += step->crash_follows || step->reply_is_lost;
    if (step->crash_follows)
        crash(step->fake);
    bool crashed = step->fake->crashed && !step->client->is_other;
    pthread_mutex_unlock(&step->fake->lock);
    if (!crashed && !step->reply_is_lost)
        return result;
    if (result < 0)
        error_clear(err); /* nobody learns how it ended */
    if (crashed)
        return fail_crashed(err, step->operation);
    return error_set_errno(err, -ETIMEDOUT, "the reply to %s was made to get lost",
                           step->operation);
}

static void set_fault(struct fake_ceph *fake, struct fake_fault fault)
{
    assert(fault.calls_left > 0);
    pthread_mutex_lock(&fake->lock);
    fake->fault = fault;
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_fail_call(struct fake_ceph *fake, unsigned n, enum fake_failure failure)
{
    set_fault(fake, (struct fake_fault){n, failure, -EIO});
}

void fake_ceph_fail_call_with(struct fake_ceph *fake, unsigned n, int negative_errno)
{
    set_fault(fake, (struct fake_fault){n, FAKE_FAIL_BEFORE, negative_errno});
}

bool fake_ceph_fault_is_pending(struct fake_ceph *fake)
{
    pthread_mutex_lock(&fake->lock);
    bool pending = fake->fault.calls_left > 0;
    pthread_mutex_unlock(&fake->lock);
    return pending;
}

unsigned fake_ceph_faults(struct fake_ceph *fake)
{
    pthread_mutex_lock(&fake->lock);
    unsigned faults = fake->faults;
    pthread_mutex_unlock(&fake->lock);
    return faults;
}

bool fake_ceph_has_crashed(struct fake_ceph *fake)
{
    pthread_mutex_lock(&fake->lock);
    bool crashed = fake->crashed;
    pthread_mutex_unlock(&fake->lock);
    return crashed;
}

void fake_ceph_recover(struct fake_ceph *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->crashed = false;
    fake->fault = (struct fake_fault){0};
    pthread_mutex_unlock(&fake->lock);
}

unsigned fake_ceph_calls(struct fake_ceph *fake)
{
    pthread_mutex_lock(&fake->lock);
    unsigned calls = fake->calls;
    pthread_mutex_unlock(&fake->lock);
    return calls;
}

void fake_ceph_reset_calls(struct fake_ceph *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->calls = 0;
    pthread_mutex_unlock(&fake->lock);
}

void fake_ceph_count_connections(struct fake_ceph *fake, bool counted)
{
    pthread_mutex_lock(&fake->lock);
    fake->connections_counted = counted;
    pthread_mutex_unlock(&fake->lock);
}
