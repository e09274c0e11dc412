#include <pthread.h>

#include "common/base/call.h"
#include "tests/test.h"

static void assert_described(struct call *call, const char *expected)
{
    _cleanup_text_ struct text text = TEXT_INIT(1000);

    call_describe(call, &text);
    assert_string_equal(text_chars(&text), expected);
}

/* How the description ends when the call has been at its stage for @age_ms. It is made again if a
 * second passes meanwhile: nobody promises that a test is not interrupted. */
static void assert_described_at_age(struct call *call, int64_t age_ms, const char *end)
{
    _cleanup_text_ struct text text = TEXT_INIT(1000);
    int64_t now_ms;

    do {
        text_done(&text);
        text = (struct text)TEXT_INIT(1000);
        now_ms = clock_monotonic_ms();
        call->stage_since_ms = now_ms - age_ms;
        call_describe(call, &text);
    } while (clock_monotonic_ms() - now_ms >= 1000);
    if (!text_has_suffix(text_chars(&text), end))
        fail_msg("'%s' does not end with '%s'", text_chars(&text), end);
}

TEST(new_call_is_starting)
{
    _cleanup_(call_done) struct call call;

    call_init(&call, 17, "CreateVolume", deadline_never());
    call_set_request_id(&call, "pvc-1");
    assert_described_at_age(&call, 3000, "CreateVolume 'pvc-1' has been starting for 3 s");
}

TEST(stage_is_told_with_its_age)
{
    _cleanup_(call_done) struct call call;

    call_init(&call, 17, "CreateVolume", deadline_never());
    call_set_request_id(&call, "pvc-1");
    call_stage(&call, "waiting {age} for the monitors of cluster '%s'", "c1");
    assert_described_at_age(
        &call, 12000,
        "CreateVolume 'pvc-1' has been waiting 12 s for the monitors of cluster 'c1'");
}

TEST(stage_without_age_is_told_as_it_is)
{
    _cleanup_(call_done) struct call call;

    call_init(&call, 17, "DeleteVolume", deadline_never());
    call_set_request_id(&call, "v");
    call_stage(&call, "removing the image");
    assert_described(&call, "DeleteVolume 'v' has been removing the image");
}

TEST(age_is_told_in_readable_units)
{
    static const struct {
        int64_t ms;
        const char *age;
    } cases[] = {
        {1000, "1 s"}, {61000, "61 s"}, {119000, "119 s"}, {121000, "2 min"}, {7200000, "120 min"}};
    _cleanup_(call_done) struct call call;

    call_init(&call, 17, "Probe", deadline_never());
    call_stage(&call, "busy {age}");
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_described_at_age(&call, cases[i].ms, cases[i].age);
}

TEST(fresh_stage_is_told_in_milliseconds)
{
    _cleanup_(call_done) struct call call;

    call_init(&call, 17, "Probe", deadline_never());
    call_stage(&call, "busy {age}");
    assert_described_at_age(&call, 0, " ms");
}

TEST(stage_of_no_call_is_ignored)
{
    _cleanup_(call_done) struct call other;

    call_init(&other, 17, "DeleteVolume", deadline_never());
    call_set_request_id(&other, "v");
    call_stage(&other, "removing the image");
    call_stage(NULL, "mapping '%s'", "image");
    assert_described(&other, "DeleteVolume 'v' has been removing the image");
}

TEST(call_without_flag_and_deadline_goes_on)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_(call_done) struct call call;

    call_init(&call, 17, "Probe", deadline_never());
    assert_false(call_is_cancelled(&call));
    assert_int_equal(call_check(&call, &err), 0);
}

TEST(gone_client_cancels)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_(call_done) struct call call;
    atomic_bool cancelled = false;

    call_init(&call, 17, "Probe", deadline_in_ms(60000));
    call.cancelled = &cancelled;
    assert_int_equal(call_check(&call, &err), 0);
    atomic_store(&cancelled, true);
    assert_true(call_is_cancelled(&call));
    assert_int_equal(call_check(&call, &err), -1);
    assert_int_equal(err.status, STATUS_CANCELLED);
}

TEST(passed_deadline_cancels)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_(call_done) struct call call;

    call_init(&call, 17, "Probe", deadline_in_ms(0));
    assert_true(call_is_cancelled(&call));
    assert_int_equal(call_check(&call, &err), -1);
    assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
}

static void *describe_often(void *context)
{
    for (int i = 0; i < 1000; i++) {
        _cleanup_text_ struct text text = TEXT_INIT(1000);

        call_describe(context, &text);
        if (!text_has_prefix(text_chars(&text), "NodeStageVolume"))
            return context;
    }
    return NULL;
}

TEST(stage_may_be_asked_for_while_it_changes)
{
    _cleanup_(call_done) struct call call;
    pthread_t asker;
    void *failed = NULL;

    call_init(&call, 17, "NodeStageVolume", deadline_never());
    assert_int_equal(pthread_create(&asker, NULL, describe_often, &call), 0);
    for (int i = 0; i < 1000; i++) {
        call_stage(&call, "doing step %d for {age}", i);
        call_set_request_id(&call, i % 2 ? "a" : "b");
    }
    assert_int_equal(pthread_join(asker, &failed), 0);
    assert_null(failed);
}
