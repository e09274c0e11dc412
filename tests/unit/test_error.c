#include <errno.h>

#include "common/base/error.h"
#include "tests/test.h"

TEST(setting_keeps_status_and_message)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(error_set(&err, STATUS_ABORTED, "volume '%s' is busy", "pvc-1"), -1);
    assert_int_equal(err.status, STATUS_ABORTED);
    assert_int_equal(err.sys_errno, 0);
    assert_string_equal(err.message, "volume 'pvc-1' is busy");
}

TEST(plain_error_numbers_have_their_status)
{
    static const struct {
        int number;
        enum status status;
    } cases[] = {
        {ENOENT, STATUS_NOT_FOUND},
        {EEXIST, STATUS_ALREADY_EXISTS},
        {ENOSPC, STATUS_RESOURCE_EXHAUSTED},
        {EDQUOT, STATUS_RESOURCE_EXHAUSTED},
        {ETIMEDOUT, STATUS_DEADLINE_EXCEEDED},
        {EPERM, STATUS_PERMISSION_DENIED},
        {EACCES, STATUS_PERMISSION_DENIED},
        {EINVAL, STATUS_INVALID_ARGUMENT},
        {EBUSY, STATUS_FAILED_PRECONDITION},
        {EIO, STATUS_INTERNAL},
        {ESHUTDOWN, STATUS_UNAVAILABLE},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};

        assert_int_equal(error_set_errno(&err, -cases[i].number, "x"), -1);
        assert_int_equal(err.status, cases[i].status);
        assert_int_equal(err.sys_errno, cases[i].number);
    }
}

TEST(error_number_text_is_appended)
{
    _cleanup_error_ struct error err = {0};

    error_set_errno(&err, -ENOENT, "open image '%s'", "a/b");
    assert_string_equal(err.message, "open image 'a/b': No such file or directory");
}

TEST(positive_error_number_means_the_same)
{
    _cleanup_error_ struct error err = {0};

    error_set_errno(&err, ENOSPC, "write");
    assert_int_equal(err.sys_errno, ENOSPC);
    assert_int_equal(err.status, STATUS_RESOURCE_EXHAUSTED);
}

TEST(unknown_error_number_is_printed_as_a_number)
{
    _cleanup_error_ struct error err = {0};

    error_set_errno(&err, -99999, "call");
    assert_string_equal(err.message, "call: error number 99999");
    assert_int_equal(err.status, STATUS_INTERNAL);
}

TEST(wrapping_puts_context_in_front)
{
    _cleanup_error_ struct error err = {0};

    error_set_errno(&err, -ETIMEDOUT, "write omap");
    assert_int_equal(error_wrap(&err, "reserve name"), -1);
    assert_int_equal(error_wrap(&err, "create volume '%s'", "pvc-1"), -1);
    assert_string_equal(err.message,
                        "create volume 'pvc-1': reserve name: write omap: Connection timed out");
    assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
    assert_int_equal(err.sys_errno, ETIMEDOUT);
}

TEST(wrapping_may_quote_the_message_itself)
{
    _cleanup_error_ struct error err = {0};

    error_set(&err, STATUS_INTERNAL, "inner");
    error_wrap(&err, "again %s", err.message);
    assert_string_equal(err.message, "again inner: inner");
}

TEST(hint_is_appended)
{
    _cleanup_error_ struct error err = {0};

    error_set(&err, STATUS_INVALID_ARGUMENT, "unknown key 'pol'");
    assert_int_equal(error_hint(&err, "did you mean '%s'?", "pool"), -1);
    assert_string_equal(err.message, "unknown key 'pol'; did you mean 'pool'?");
}

TEST(percent_signs_in_a_message_survive_wrapping)
{
    _cleanup_error_ struct error err = {0};

    error_set(&err, STATUS_INTERNAL, "%s", "100%s full %n");
    error_wrap(&err, "pool");
    error_hint(&err, "wait");
    assert_string_equal(err.message, "pool: 100%s full %n; wait");
}

TEST(only_the_status_that_was_expected_is_ignored)
{
    _cleanup_error_ struct error err = {0};

    error_set(&err, STATUS_NOT_FOUND, "gone");
    assert_int_equal(error_ignore(&err, STATUS_ALREADY_EXISTS), -1);
    assert_string_equal(err.message, "gone");
    assert_int_equal(error_ignore(&err, STATUS_NOT_FOUND), 0);
    assert_null(err.message);
    assert_int_equal(err.status, STATUS_OK);
}

TEST(recoding_changes_the_status_alone)
{
    _cleanup_error_ struct error err = {0};

    error_set_errno(&err, -EBUSY, "remove");
    assert_int_equal(error_recode(&err, STATUS_ABORTED), -1);
    assert_int_equal(err.status, STATUS_ABORTED);
    assert_int_equal(err.sys_errno, EBUSY);
    assert_string_equal(err.message, "remove: Device or resource busy");
}

TEST(cleared_error_can_be_set_again)
{
    _cleanup_error_ struct error err = {0};

    error_set(&err, STATUS_INTERNAL, "first");
    error_clear(&err);
    assert_null(err.message);
    assert_int_equal(err.status, STATUS_OK);
    error_clear(&err);
    error_set(&err, STATUS_ABORTED, "second");
    assert_string_equal(err.message, "second");
}

TEST(moving_hands_the_error_over)
{
    _cleanup_error_ struct error from = {0};
    _cleanup_error_ struct error to = {0};

    error_set_errno(&from, -EIO, "read");
    assert_int_equal(error_move(&to, &from), -1);
    assert_null(from.message);
    assert_int_equal(from.status, STATUS_OK);
    assert_int_equal(to.sys_errno, EIO);
    assert_string_equal(to.message, "read: Input/output error");
}

TEST(every_status_has_a_name)
{
    for (int i = STATUS_OK; i <= STATUS_UNAUTHENTICATED; i++)
        assert_true(strlen(status_name((enum status)i)) > 1);
    assert_string_equal(status_name(STATUS_OK), "OK");
    assert_string_equal(status_name(STATUS_RESOURCE_EXHAUSTED), "RESOURCE_EXHAUSTED");
    assert_string_equal(status_name(STATUS_UNAUTHENTICATED), "UNAUTHENTICATED");
}

TEST(number_outside_the_statuses_is_unknown)
{
    assert_string_equal(status_name((enum status)17), "UNKNOWN");
    assert_string_equal(status_name((enum status) - 1), "UNKNOWN");
}
