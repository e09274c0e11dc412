#pragma once

#include <time.h>
#include <unistd.h>

#include "common/base/call.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/kube/kube.h"
#include "tests/fakes/fake_kube.h"
#include "tests/test.h"

/* What the tests of common/kube share. */

/* Waits until the condition is true; fails the test after half a minute. */
#define eventually(condition)                                                                      \
    do {                                                                                           \
        struct deadline limit_ = deadline_in_ms(30000);                                            \
                                                                                                   \
        while (!(condition) && !deadline_has_passed(limit_))                                       \
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);                               \
        if (!(condition))                                                                          \
            fail_msg("never true: %s", #condition);                                                \
    } while (0)

struct kube_fixture {
    struct fake_kube *fake;
    struct kube *kube;
    struct call call;
};

static inline int set_up(void **state)
{
    struct kube_fixture *fixture = xcalloc(1, sizeof(*fixture));

    fixture->fake = fake_kube_new();
    fixture->kube = fake_kube_as_kube(fixture->fake);
    call_init(&fixture->call, 1, "test", deadline_in_ms(60000));
    *state = fixture;
    return 0;
}

static inline int tear_down(void **state)
{
    struct kube_fixture *fixture = *state;

    call_done(&fixture->call);
    fake_kube_free(fixture->fake);
    free(fixture);
    return 0;
}

#define WITH_KUBE .setup_func = set_up, .teardown_func = tear_down
