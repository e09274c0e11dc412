#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "common/base/memory.h"
#include "common/volume/operations.h"
#include "tests/test.h"

#define _cleanup_operations_ _cleanup_(operations_freep)
#define _cleanup_call_ _cleanup_(call_done)

static void begin_call(struct call *call, const char *method, const char *request_id)
{
    call_init(call, 17, method, deadline_never());
    call_set_request_id(call, request_id);
}

static void take(struct operations *operations, const char *key, struct call *call,
                 struct operation *operation)
{
    _cleanup_error_ struct error err = {0};

    if (operation_begin(operations, "kind", key, call, operation, &err) < 0)
        fail_msg("'%s': %s", key, err.message);
    assert_null(err.message);
}

static void assert_busy(struct operations *operations, const char *key, struct call *call,
                        const char *message)
{
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(operation_begin(operations, "kind", key, call, &operation, &err), -1);
    assert_int_equal(err.status, STATUS_ABORTED);
    if (message)
        assert_string_equal(err.message, message);
    assert_null(operation.operations);
    assert_null(operation.entry);
}

/* That of a call whose owner has been at its stage for @age_ms. Again if more than a second passes
 * meanwhile: nobody promises that a test is not interrupted. */
static void assert_busy_at_age(struct operations *operations, const char *key, struct call *owner,
                               int64_t age_ms, const char *message)
{
    _cleanup_call_ struct call call;
    struct error err = {0};
    int64_t now_ms;

    begin_call(&call, "Test", "other");
    do {
        _cleanup_operation_ struct operation operation = {0};

        error_clear(&err);
        now_ms = clock_monotonic_ms();
        owner->stage_since_ms = now_ms - age_ms;
        assert_int_equal(operation_begin(operations, "kind", key, &call, &operation, &err), -1);
    } while (clock_monotonic_ms() - now_ms >= 1000);
    assert_string_equal(err.message, message);
    error_clear(&err);
}

TEST(busy_key_is_told_with_stage_and_age)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    _cleanup_call_ struct call call;
    _cleanup_operation_ struct operation operation = {0};

    begin_call(&call, "CreateVolume", "pvc-1");
    take(operations, "name:pvc-1", &call, &operation);
    call_stage(&call, "waiting {age} for the monitors of cluster '%s'", "c1");
    assert_busy_at_age(operations, "name:pvc-1", &call, 12000,
                       "CreateVolume 'pvc-1' has been waiting 12 s for the monitors of cluster "
                       "'c1'; retry when it has ended");
}

TEST(answer_follows_the_owners_progress)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    _cleanup_call_ struct call first;
    _cleanup_call_ struct call second;
    _cleanup_operation_ struct operation operation = {0};

    begin_call(&first, "DeleteVolume", "v1");
    begin_call(&second, "ControllerExpandVolume", "v1");
    take(operations, "volume:v1", &first, &operation);
    assert_busy_at_age(operations, "volume:v1", &first, 3000,
                       "DeleteVolume 'v1' has been starting for 3 s; retry when it has ended");
    call_stage(&first, "removing the image");
    assert_busy(operations, "volume:v1", &second,
                "DeleteVolume 'v1' has been removing the image; retry when it has ended");
    call_stage(&first, "giving the name back for {age}");
    assert_busy_at_age(operations, "volume:v1", &first, 180000,
                       "DeleteVolume 'v1' has been giving the name back for 3 min; retry when it "
                       "has ended");
}

TEST(endless_stage_is_cut_before_the_advice)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    _cleanup_call_ struct call first;
    _cleanup_call_ struct call second;
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_operation_ struct operation refused = {0};
    _cleanup_error_ struct error err = {0};
    char name[5001] = "";

    memset(name, 'x', sizeof(name) - 1);
    begin_call(&first, "CreateVolume", "pvc-1");
    begin_call(&second, "CreateVolume", "pvc-1");
    take(operations, "name:pvc-1", &first, &operation);
    call_stage(&first, "waiting for '%s'", name);
    assert_int_equal(operation_begin(operations, "kind", "name:pvc-1", &second, &refused, &err),
                     -1);
    assert_true(strlen(err.message) < 1100);
    assert_true(text_has_suffix(err.message, "; retry when it has ended"));
}

TEST(released_key_is_free)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    _cleanup_call_ struct call call;

    begin_call(&call, "CreateVolume", "pvc-1");
    for (int i = 0; i < 3; i++) {
        struct operation operation = {0};

        take(operations, "name:pvc-1", &call, &operation);
        assert_busy(operations, "name:pvc-1", &call, NULL);
        operation_end(&operation);
    }
}

TEST(key_is_released_at_the_end_of_the_block)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    _cleanup_call_ struct call call;

    begin_call(&call, "CreateVolume", "pvc-1");
    for (int i = 0; i < 3; i++) {
        _cleanup_operation_ struct operation operation = {0};

        take(operations, "name:pvc-1", &call, &operation);
    }
}

TEST(refusal_releases_nothing)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    _cleanup_call_ struct call first;
    _cleanup_call_ struct call second;
    _cleanup_operation_ struct operation operation = {0};

    begin_call(&first, "CreateVolume", "pvc-1");
    begin_call(&second, "CreateVolume", "pvc-1");
    take(operations, "name:pvc-1", &first, &operation);
    for (int i = 0; i < 3; i++) /* assert_busy() ends the refused operation */
        assert_busy(operations, "name:pvc-1", &second, NULL);
}

TEST(ending_twice_or_without_beginning_is_harmless)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    _cleanup_call_ struct call call;
    _cleanup_operation_ struct operation other = {0};
    struct operation operation = {0};

    begin_call(&call, "CreateVolume", "pvc-1");
    operation_end(&operation);
    take(operations, "name:pvc-1", &call, &operation);
    operation_end(&operation);
    take(operations, "name:pvc-1", &call, &other);
    operation_end(&operation); /* the key has another owner by now */
    assert_busy(operations, "name:pvc-1", &call, NULL);
}

TEST(own_key_is_busy_as_well)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    _cleanup_call_ struct call call;
    _cleanup_operation_ struct operation operation = {0};

    begin_call(&call, "CreateSnapshot", "snapshot-1");
    take(operations, "volume:v1", &call, &operation);
    assert_busy(operations, "volume:v1", &call, NULL);
}

TEST(different_keys_are_independent)
{
    static const char *const keys[] = {"name:pvc-1", "name:pvc-2",  "volume:pvc-1", "name:pvc-",
                                       "",           "name:pvc-11", "Name:pvc-1"};
    _cleanup_operations_ struct operations *operations = operations_new();
    struct operation taken[ARRAY_LENGTH(keys)] = {0};
    _cleanup_call_ struct call call;

    begin_call(&call, "CreateVolume", "pvc-1");
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
        take(operations, keys[i], &call, &taken[i]);
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
        assert_busy(operations, keys[i], &call, NULL);
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
        operation_end(&taken[i]);
}

static void share(struct operations *operations, const char *key, struct call *call,
                  struct operation *operation)
{
    _cleanup_error_ struct error err = {0};

    if (operation_begin_shared(operations, "kind", key, call, operation, &err) < 0)
        fail_msg("'%s': %s", key, err.message);
    assert_null(err.message);
}

static void assert_busy_for_sharers(struct operations *operations, const char *key,
                                    struct call *call, const char *message)
{
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(operation_begin_shared(operations, "kind", key, call, &operation, &err), -1);
    assert_int_equal(err.status, STATUS_ABORTED);
    assert_string_equal(err.message, message);
    assert_null(operation.entry);
}

TEST(sharers_keep_out_an_owner_until_the_last_has_ended)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    struct operation shared[3] = {0};
    struct operation owned = {0};
    _cleanup_call_ struct call call;

    begin_call(&call, "CreateSnapshot", "snapshot-1");
    call_stage(&call, "copying");
    for (size_t i = 0; i < ARRAY_LENGTH(shared); i++)
        share(operations, "volume:v1", &call, &shared[i]);
    for (size_t i = 0; i < ARRAY_LENGTH(shared); i++) {
        assert_busy(operations, "volume:v1", &call,
                    "CreateSnapshot 'snapshot-1' has been copying; retry when it has ended");
        operation_end(&shared[(i + 1) % ARRAY_LENGTH(shared)]); /* the middle one first */
    }
    take(operations, "volume:v1", &call, &owned);
    operation_end(&owned);
}

TEST(owner_keeps_out_sharers)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    struct operation owned = {0};
    struct operation shared = {0};
    _cleanup_call_ struct call call;

    begin_call(&call, "DeleteVolume", "v1");
    call_stage(&call, "removing the image");
    take(operations, "volume:v1", &call, &owned);
    assert_busy_for_sharers(operations, "volume:v1", &call,
                            "DeleteVolume 'v1' has been removing the image; retry when it has "
                            "ended");
    share(operations, "volume:v2", &call, &shared);
    operation_end(&shared);
    operation_end(&owned);
    share(operations, "volume:v1", &call, &shared);
    operation_end(&shared);
}

TEST(key_is_copied)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    _cleanup_call_ struct call call;
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_operation_ struct operation other = {0};
    char key[] = "name:pvc-1";

    begin_call(&call, "CreateVolume", "pvc-1");
    take(operations, key, &call, &operation);
    key[strlen(key) - 1] = '2';
    assert_busy(operations, "name:pvc-1", &call, NULL);
    take(operations, key, &call, &other);
}

TEST(registries_are_independent)
{
    _cleanup_operations_ struct operations *one = operations_new();
    _cleanup_operations_ struct operations *two = operations_new();
    _cleanup_call_ struct call call;
    _cleanup_operation_ struct operation in_one = {0};
    _cleanup_operation_ struct operation in_two = {0};

    begin_call(&call, "CreateVolume", "pvc-1");
    take(one, "name:pvc-1", &call, &in_one);
    take(two, "name:pvc-1", &call, &in_two);
}

TEST(no_registry_is_freed_without_harm)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    _cleanup_call_ struct call call;
    _cleanup_operation_ struct operation operation = {0};

    begin_call(&call, "CreateVolume", "pvc-1");
    take(operations, "name:pvc-1", &call, &operation);
    operations_free(NULL);
    assert_busy(operations, "name:pvc-1", &call, NULL);
    operation_end(&operation);
    take(operations, "name:pvc-1", &call, &operation);
}

/* Many more keys than the registry has chains, so that entries stand first, last and in the middle
 * of one when they go. */
enum { MANY = 5000 };

static size_t nth_to_end(size_t n)
{
    return n * 1237 % MANY; /* a permutation: the two have no common divisor */
}

TEST(many_keys_are_held_and_released_in_any_order)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    _cleanup_free_ struct operation *taken = xcalloc(MANY, sizeof(*taken));
    _cleanup_call_ struct call call;

    begin_call(&call, "CreateVolume", "many");
    for (size_t i = 0; i < MANY; i++) {
        _cleanup_free_ char *key = xasprintf("name:pvc-%zu", i);

        take(operations, key, &call, &taken[i]);
    }
    for (size_t n = 0; n < MANY; n++) {
        size_t next = nth_to_end((n + 1) % MANY);
        _cleanup_free_ char *gone = xasprintf("name:pvc-%zu", nth_to_end(n));
        _cleanup_free_ char *held = xasprintf("name:pvc-%zu", next);
        _cleanup_operation_ struct operation again = {0};

        operation_end(&taken[nth_to_end(n)]);
        take(operations, gone, &call, &again);
        if (n + 1 < MANY)
            assert_busy(operations, held, &call, NULL);
    }
}

/* --- threads --- */

enum { THREADS = 16, TURNS = 300 };

struct race {
    struct operations *operations;
    pthread_barrier_t start;
    atomic_int owners;   /* of the shared key, now */
    atomic_int faults;   /* cmocka's assertions work on its own thread only */
    atomic_int refusals; /* with the message that they should have */
    uint64_t turns;      /* guarded by nothing but the shared key */
};

static void own_shared_key(struct race *race, struct call *call, int turn)
{
    if (atomic_fetch_add(&race->owners, 1) != 0)
        atomic_fetch_add(&race->faults, 1);
    call_stage(call, "doing turn %d for {age}", turn);
    race->turns++;
    sched_yield();
    atomic_fetch_sub(&race->owners, 1);
}

static void check_refusal(struct race *race, const struct error *err)
{
    if (err->status != STATUS_ABORTED ||
        !text_has_prefix(err->message, "CreateVolume 'pvc-1' has been ") ||
        !text_has_suffix(err->message, "; retry when it has ended"))
        atomic_fetch_add(&race->faults, 1);
    atomic_fetch_add(&race->refusals, 1);
}

static void *own_often(void *context)
{
    struct race *race = context;
    _cleanup_call_ struct call call;

    begin_call(&call, "CreateVolume", "pvc-1");
    pthread_barrier_wait(&race->start);
    for (int turn = 0; turn < TURNS;) {
        _cleanup_operation_ struct operation operation = {0};
        _cleanup_error_ struct error err = {0};

        if (operation_begin(race->operations, "kind", "name:pvc-1", &call, &operation, &err) == 0) {
            own_shared_key(race, &call, turn);
            turn++;
        } else {
            check_refusal(race, &err);
            sched_yield();
        }
    }
    return NULL;
}

static void run_race(struct race *race, void *(*run)(void *))
{
    pthread_t threads[THREADS];

    assert_int_equal(pthread_barrier_init(&race->start, NULL, THREADS), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, race), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&race->start);
}

TEST(racing_calls_own_a_key_one_at_a_time)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    struct race race = {.operations = operations};
    _cleanup_call_ struct call call;
    _cleanup_operation_ struct operation operation = {0};

    run_race(&race, own_often);
    assert_int_equal(atomic_load(&race.faults), 0);
    assert_int_equal(atomic_load(&race.owners), 0);
    assert_true(race.turns == (uint64_t)THREADS * TURNS);
    begin_call(&call, "DeleteVolume", "pvc-1");
    take(operations, "name:pvc-1", &call, &operation);
}

/* Sharers and owners by turns: an owner is alone, sharers may be several. */
static void *share_or_own_often(void *context)
{
    struct race *race = context;
    _cleanup_call_ struct call call;

    begin_call(&call, "CreateVolume", "pvc-1");
    pthread_barrier_wait(&race->start);
    for (int turn = 0; turn < TURNS;) {
        _cleanup_operation_ struct operation operation = {0};
        _cleanup_error_ struct error err = {0};
        bool owns = turn % 3 == 0;
        int result =
            owns ? operation_begin(race->operations, "kind", "volume:v1", &call, &operation, &err)
                 : operation_begin_shared(race->operations, "kind", "volume:v1", &call, &operation,
                                          &err);

        if (result == 0 && owns) {
            own_shared_key(race, &call, turn);
        } else if (result == 0 && atomic_load(&race->owners) != 0) {
            atomic_fetch_add(&race->faults, 1);
        } else if (result < 0) {
            check_refusal(race, &err);
        }
        turn += result == 0;
        sched_yield();
    }
    return NULL;
}

TEST(owner_is_alone_among_racing_sharers)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    struct race race = {.operations = operations};

    run_race(&race, share_or_own_often);
    assert_int_equal(atomic_load(&race.faults), 0);
    assert_true(race.turns == (uint64_t)THREADS * TURNS / 3);
}

/* One try each while the winner waits for all: nobody but the winner may have got the key. */
static void *try_once(void *context)
{
    struct race *race = context;
    _cleanup_call_ struct call call;
    _cleanup_operation_ struct operation operation = {0};
    _cleanup_error_ struct error err = {0};

    begin_call(&call, "CreateVolume", "pvc-1");
    pthread_barrier_wait(&race->start);
    if (operation_begin(race->operations, "kind", "name:pvc-1", &call, &operation, &err) == 0)
        race->turns++;
    else
        check_refusal(race, &err);
    pthread_barrier_wait(&race->start);
    return NULL;
}

TEST(of_calls_at_once_exactly_one_gets_the_key)
{
    _cleanup_operations_ struct operations *operations = operations_new();

    for (int round = 0; round < 50; round++) {
        struct race race = {.operations = operations};

        run_race(&race, try_once);
        assert_true(race.turns == 1);
        assert_int_equal(atomic_load(&race.refusals), THREADS - 1);
        assert_int_equal(atomic_load(&race.faults), 0);
    }
}

/* Keys of its own that no other thread takes, held several at a time. */
static void *own_private_keys(void *context)
{
    struct race *race = context;
    struct operation taken[32] = {0};
    _cleanup_call_ struct call call;

    begin_call(&call, "CreateVolume", "own");
    pthread_barrier_wait(&race->start);
    for (size_t turn = 0; turn < TURNS; turn++) {
        struct operation *slot = &taken[turn * 7 % ARRAY_LENGTH(taken)];
        _cleanup_free_ char *key = xasprintf("name:%p-%zu", (void *)&call, turn);
        _cleanup_error_ struct error err = {0};

        operation_end(slot);
        if (operation_begin(race->operations, "kind", key, &call, slot, &err) < 0)
            atomic_fetch_add(&race->faults, 1);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(taken); i++)
        operation_end(&taken[i]);
    return NULL;
}

TEST(calls_with_different_keys_do_not_meet)
{
    _cleanup_operations_ struct operations *operations = operations_new();
    struct race race = {.operations = operations};

    run_race(&race, own_private_keys);
    assert_int_equal(atomic_load(&race.faults), 0);
}

TEST(same_name_of_another_kind_is_free)
{
    _cleanup_(operations_freep) struct operations *operations = operations_new();
    _cleanup_call_ struct call first;
    _cleanup_call_ struct call second;
    _cleanup_operation_ struct operation volume = {0};
    _cleanup_operation_ struct operation snapshot = {0};
    _cleanup_operation_ struct operation again = {0};
    _cleanup_error_ struct error err = {0};

    begin_call(&first, "DeleteVolume", "v1");
    begin_call(&second, "DeleteSnapshot", "v1");
    assert_int_equal(operation_begin(operations, "volume", "v1", &first, &volume, &err), 0);
    assert_int_equal(operation_begin(operations, "snapshot", "v1", &second, &snapshot, &err), 0);
    assert_int_equal(operation_begin(operations, "volume", "v1", &second, &again, &err), -1);
    assert_int_equal(err.status, STATUS_ABORTED);
}
