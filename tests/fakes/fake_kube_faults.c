#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "tests/fakes/fake_kube_state.h"

static struct fake_client *client_of(struct kube *kube)
{
    return (struct fake_client *)((char *)kube - offsetof(struct fake_client, base));
}

static bool is_forbidden(const struct fake_kube *fake, const char *verb, const char *path)
{
    for (size_t i = 0; i < fake->forbidden_count; i++)
        if (strcmp(fake->forbidden[i].verb, verb) == 0 &&
            text_has_prefix(path, fake->forbidden[i].prefix))
            return true;
    return false;
}

static int lost(struct error *err)
{
    return error_set(err, STATUS_CANCELLED, "the process has crashed");
}

static int strike(struct fake_kube *fake, struct fake_step *step, struct error *err)
{
    switch (fake->failure) {
    case FAKE_KUBE_FAIL_BEFORE:
        return error_set(err, fake->failure_status, "the fake was told to fail");
    case FAKE_KUBE_CRASH_BEFORE:
        fake->crashed = true;
        return lost(err);
    case FAKE_KUBE_FAIL_AFTER:
        step->strikes_after = true;
        return 0;
    case FAKE_KUBE_CRASH_AFTER:
        step->crashes_after = true;
        return 0;
    }
    return 0;
}

static int judge(struct fake_kube *fake, const char *verb, const char *path, struct fake_step *step,
                 struct error *err)
{
    if (fake->crashed)
        return lost(err);
    fake->calls++;
    if (fake->fault_in > 0 && --fake->fault_in == 0 && strike(fake, step, err) < 0)
        return -1;
    if (fake->status_of_all != STATUS_OK)
        return error_set(err, fake->status_of_all, "the fake was told to fail always");
    if (is_forbidden(fake, verb, path))
        return error_set(err, STATUS_PERMISSION_DENIED, "%s %s: 403 Forbidden", verb, path);
    return 0;
}

int fake_kube_begin(struct kube *kube, struct call *call, const char *verb, const char *path,
                    struct fake_step *step, struct error *err)
{
    const struct fake_client *client = client_of(kube);
    struct fake_kube *fake = client->fake;

    *step = (struct fake_step){.fake = fake};
    if (call_check(call, err) < 0)
        return -1;
    pthread_mutex_lock(&fake->lock);
    if (!client->is_tested || judge(fake, verb, path, step, err) == 0)
        return 0;
    pthread_mutex_unlock(&fake->lock);
    return -1;
}

int fake_kube_end(struct fake_step *step, int result, struct error *err)
{
    if (step->crashes_after)
        step->fake->crashed = true;
    pthread_mutex_unlock(&step->fake->lock);
    if (step->crashes_after || step->strikes_after)
        error_clear(err);
    if (step->crashes_after)
        return lost(err);
    if (step->strikes_after)
        return error_set(err, STATUS_DEADLINE_EXCEEDED, "the answer was lost");
    return result;
}

static void set_fault(struct fake_kube *fake, unsigned n, enum fake_kube_failure failure,
                      enum status status)
{
    pthread_mutex_lock(&fake->lock);
    fake->fault_in = n;
    fake->failure = failure;
    fake->failure_status = status;
    pthread_mutex_unlock(&fake->lock);
}

void fake_kube_fail_call(struct fake_kube *fake, unsigned n, enum fake_kube_failure failure)
{
    set_fault(fake, n, failure, STATUS_UNAVAILABLE);
}

void fake_kube_fail_call_with(struct fake_kube *fake, unsigned n, enum status status)
{
    set_fault(fake, n, FAKE_KUBE_FAIL_BEFORE, status);
}

void fake_kube_fail_all(struct fake_kube *fake, enum status status)
{
    pthread_mutex_lock(&fake->lock);
    fake->status_of_all = status;
    pthread_mutex_unlock(&fake->lock);
}

bool fake_kube_fault_is_pending(struct fake_kube *fake)
{
    pthread_mutex_lock(&fake->lock);
    bool pending = fake->fault_in > 0;
    pthread_mutex_unlock(&fake->lock);
    return pending;
}

void fake_kube_recover(struct fake_kube *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->fault_in = 0;
    fake->crashed = false;
    fake->status_of_all = STATUS_OK;
    pthread_mutex_unlock(&fake->lock);
}

unsigned fake_kube_calls(struct fake_kube *fake)
{
    pthread_mutex_lock(&fake->lock);
    unsigned calls = fake->calls;
    pthread_mutex_unlock(&fake->lock);
    return calls;
}

void fake_kube_forbid(struct fake_kube *fake, const char *verb, const char *prefix)
{
    pthread_mutex_lock(&fake->lock);
    if (!verb) {
        fake->forbidden_count = 0;
    } else {
        assert(fake->forbidden_count < FORBIDDEN_MAX);
        fake->forbidden[fake->forbidden_count].verb = verb;
        fake->forbidden[fake->forbidden_count++].prefix = prefix;
    }
    pthread_mutex_unlock(&fake->lock);
}
