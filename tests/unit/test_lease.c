#include "tests/unit/fixtures/kube.h"

#include <pthread.h>
#include <stdatomic.h>

#include "common/kube/lease.h"

/*
 * One leader at a time, whatever fails. A lease never expires here unless a test wants it to: one
 * that does is short, and may then expire at any moment, because a busy machine may not let its
 * thread renew it in time.
 */

#define LEASE "/apis/coordination.k8s.io/v1/namespaces/ceph/leases/driver"

struct candidate {
    atomic_uint gains;
    atomic_uint losses;
    atomic_uint *leaders; /* that have not been told that they lost, of all candidates */
    bool expires;         /* its lease is a short one */
    pthread_mutex_t lock;
    struct lease *lease;     /* under the lock; NULL when it withdraws */
    struct candidate *rival; /* whose lease expires; NULL: none */
};

/* A short lease may be over before its holder is told: what counts is what lease_is_held() says. */
static bool still_leads(struct candidate *candidate)
{
    pthread_mutex_lock(&candidate->lock);
    bool is_held = candidate->lease && lease_is_held(candidate->lease);
    pthread_mutex_unlock(&candidate->lock);
    return is_held;
}

static void gained(void *object)
{
    struct candidate *candidate = object;
    unsigned others = atomic_fetch_add(candidate->leaders, 1);

    if (candidate->rival ? still_leads(candidate->rival) && still_leads(candidate) : others != 0)
        fail_msg("two leaders");
    atomic_fetch_add(&candidate->gains, 1);
}

static void lost(void *object, const char *reason)
{
    struct candidate *candidate = object;

    assert_non_null(reason);
    atomic_fetch_add(&candidate->losses, 1);
    atomic_fetch_sub(candidate->leaders, 1);
}

static void compete(struct kube *kube, struct candidate *candidate, const char *identity)
{
    const struct lease_options options = {.name_space = "ceph",
                                          .name = "driver",
                                          .identity = identity,
                                          .annotation = "x/words",
                                          .duration_ms = candidate->expires ? 1000 : 3600000,
                                          .renew_deadline_ms = candidate->expires ? 500 : 3500000,
                                          .retry_ms = 20,
                                          .gained = gained,
                                          .lost = lost,
                                          .object = candidate};
    _cleanup_error_ struct error err = {0};

    pthread_mutex_init(&candidate->lock, NULL);
    pthread_mutex_lock(&candidate->lock);
    if (lease_new(kube, &options, &candidate->lease, &err) < 0)
        fail_msg("%s", err.message);
    pthread_mutex_unlock(&candidate->lock);
}

/* Loses what it has, and gives the lease back. */
static void withdraw(struct candidate *candidate)
{
    pthread_mutex_lock(&candidate->lock);
    struct lease *lease = TAKE(candidate->lease);
    pthread_mutex_unlock(&candidate->lock);
    lease_free(lease);
}

static json_t *spec(struct kube_fixture *fixture)
{
    json_auto_t *item = fake_kube_get(fixture->fake, LEASE);

    return json_incref(json_object_get(item, "spec"));
}

TEST(only_candidate_leads_and_gives_back, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    atomic_uint leaders = 0;
    struct candidate one = {.leaders = &leaders};

    compete(fixture->kube, &one, "one");
    wait_until(lease_is_held(one.lease));
    wait_until(atomic_load(&one.gains) == 1);
    _cleanup_free_ char *holder = lease_holder(one.lease);
    assert_true(text_has_prefix(holder, "one_"));
    json_auto_t *during = spec(fixture);
    assert_string_equal(kube_text(during, "holderIdentity", NULL), holder);
    assert_int_equal(json_integer_value(json_object_get(during, "leaseDurationSeconds")), 3600);
    assert_int_equal(strlen(kube_text(during, "renewTime", NULL)), 27);
    withdraw(&one);
    assert_int_equal(atomic_load(&one.losses), 1);
    json_auto_t *after = spec(fixture);
    assert_string_equal(kube_text(after, "holderIdentity", NULL), "");
}

TEST(second_candidate_waits_and_follows, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    atomic_uint leaders = 0;
    struct candidate one = {.leaders = &leaders};
    struct candidate two = {.leaders = &leaders};

    compete(fixture->kube, &one, "one");
    wait_until(atomic_load(&one.gains) == 1);
    compete(fixture->kube, &two, "two");
    wait_until(fake_kube_calls(fixture->fake) > 20);
    assert_false(lease_is_held(two.lease));
    withdraw(&one);
    wait_until(atomic_load(&two.gains) == 1);
    json_auto_t *now = spec(fixture);
    assert_int_equal(json_integer_value(json_object_get(now, "leaseTransitions")), 1);
    withdraw(&two);
}

static bool hears(struct candidate *candidate, const char *words)
{
    _cleanup_free_ char *heard = lease_message(candidate->lease);

    return strcmp(heard, words) == 0;
}

/* What the holder says is heard by the others, and outlives it until the next one speaks. */
TEST(words_of_the_holder_are_heard, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    atomic_uint leaders = 0;
    struct candidate one = {.leaders = &leaders};
    struct candidate two = {.leaders = &leaders};

    compete(fixture->kube, &one, "one");
    wait_until(atomic_load(&one.gains) == 1);
    compete(fixture->kube, &two, "two");
    lease_set_message(one.lease, "zone=zone-a");
    wait_until(hears(&two, "zone=zone-a"));
    withdraw(&one);
    wait_until(atomic_load(&two.gains) == 1);
    assert_true(hears(&two, "zone=zone-a"));
    lease_set_message(two.lease, "");
    wait_until(hears(&two, ""));
    withdraw(&two);
}

/* The first one's process is cut off from the server; the other is somebody else's. */
TEST(leader_without_connection_steps_down_before_the_next_one_leads, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    atomic_uint leaders = 0;
    struct candidate one = {.leaders = &leaders, .expires = true};
    struct candidate two = {.leaders = &leaders, .rival = &one};

    compete(fixture->kube, &one, "one");
    wait_until(atomic_load(&one.gains) > 0);
    compete(fake_kube_as_other(fixture->fake), &two, "two");
    fake_kube_fail_all(fixture->fake, STATUS_UNAVAILABLE);
    wait_until(atomic_load(&two.gains) == 1); /* gained() fails the test if one still leads */
    assert_false(lease_is_held(one.lease));
    wait_until(atomic_load(&leaders) == 1); /* one has been told */
    const unsigned gains = atomic_load(&one.gains);
    assert_int_equal(atomic_load(&one.losses), gains);
    fake_kube_fail_all(fixture->fake, STATUS_OK);
    withdraw(&two);
    wait_until(atomic_load(&one.gains) > gains);
    withdraw(&one);
}

TEST(leader_steps_down_when_the_lease_was_taken, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    atomic_uint leaders = 0;
    struct candidate one = {.leaders = &leaders};

    compete(fixture->kube, &one, "one");
    wait_until(atomic_load(&one.gains) == 1);
    fake_kube_put(fixture->fake, LEASE,
                  "{\"spec\":{\"holderIdentity\":\"thief\",\"leaseDurationSeconds\":1}}");
    wait_until(atomic_load(&one.losses) == 1);
    wait_until(atomic_load(&one.gains) == 2); /* the thief does not renew */
    withdraw(&one);
}

TEST(lease_of_a_dead_holder_is_taken_when_its_time_is_over, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    atomic_uint leaders = 0;
    struct candidate one = {.leaders = &leaders};

    fake_kube_put(fixture->fake, LEASE,
                  "{\"spec\":{\"holderIdentity\":\"dead\",\"leaseDurationSeconds\":1,"
                  "\"renewTime\":\"2099-01-01T00:00:00.000000Z\",\"leaseTransitions\":7}}");
    compete(fixture->kube, &one, "one");
    wait_until(atomic_load(&one.gains) == 1);
    json_auto_t *now = spec(fixture);
    assert_int_equal(json_integer_value(json_object_get(now, "leaseTransitions")), 8);
    withdraw(&one);
}

static bool knows_the_leader(struct candidate *candidate)
{
    _cleanup_free_ char *holder = lease_holder(candidate->lease);

    return holder[0] != '\0';
}

/* One leads, two waits and follows, three comes when two has gone. Returns the calls that it took;
 * the last one waits for a fault that has not struck until then. One that cannot give its lease
 * back lets the next one wait until it expires. */
static unsigned succeed_each_other(struct kube_fixture *fixture)
{
    unsigned before = fake_kube_calls(fixture->fake);
    atomic_uint leaders = 0;
    struct candidate one = {.leaders = &leaders, .expires = true};
    struct candidate two = {.leaders = &leaders, .expires = true, .rival = &one};
    struct candidate three = {.leaders = &leaders, .expires = true};

    compete(fixture->kube, &one, "one");
    wait_until(atomic_load(&one.gains) > 0);
    compete(fixture->kube, &two, "two");
    wait_until(knows_the_leader(&two));
    withdraw(&one);
    wait_until(atomic_load(&two.gains) > 0);
    withdraw(&two);
    compete(fixture->kube, &three, "three");
    wait_until(atomic_load(&three.gains) > 0 && !fake_kube_fault_is_pending(fixture->fake));
    withdraw(&three);
    assert_int_equal(atomic_load(&leaders), 0);
    return fake_kube_calls(fixture->fake) - before;
}

/* Each is looked for, taken or renewed, and given back; the first one is created. */
#define CALLS_OF_A_SUCCESSION 13

TEST(whatever_call_fails_there_is_a_leader_and_only_one, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    static const enum fake_kube_failure failures[] = {FAKE_KUBE_FAIL_BEFORE, FAKE_KUBE_FAIL_AFTER};
    unsigned calls = succeed_each_other(fixture);

    assert_true(calls >= CALLS_OF_A_SUCCESSION);
    for (unsigned n = 1; n <= calls; n++) {
        for (size_t i = 0; i < ARRAY_LENGTH(failures); i++) {
            fake_kube_drop(fixture->fake, LEASE);
            fake_kube_fail_call(fixture->fake, n, failures[i]);
            assert_true(fake_kube_fault_is_pending(fixture->fake));
            assert_true(succeed_each_other(fixture) >= n);
            assert_false(fake_kube_fault_is_pending(fixture->fake));
        }
    }
    print_message("  %u calls, each failing before and after\n", calls);
}

TEST(without_the_right_nobody_leads, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    atomic_uint leaders = 0;
    struct candidate one = {.leaders = &leaders};

    fake_kube_forbid(fixture->fake, "get", "/apis/coordination.k8s.io");
    compete(fixture->kube, &one, "one");
    wait_until(fake_kube_calls(fixture->fake) > 3);
    withdraw(&one);
    assert_int_equal(atomic_load(&one.gains), 0);
    assert_int_equal(atomic_load(&one.losses), 0);
}

TEST(times_that_cannot_work_are_refused, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    const struct lease_options cases[] = {
        {.name_space = "a", .name = "b", .identity = "c", .duration_ms = 1500},
        {.name_space = "a", .name = "b", .identity = "c", .duration_ms = 10000},
        {.name_space = "a", .name = "b", .identity = "c", .retry_ms = 10000},
        {.name_space = "a/", .name = "b", .identity = "c"},
        {.name_space = "a", .name = "", .identity = "c"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        struct lease *lease = NULL;

        assert_int_equal(lease_new(fixture->kube, &cases[i], &lease, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_null(lease);
    }
}
