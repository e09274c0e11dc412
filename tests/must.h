#pragma once

#include "common/base/error.h"
#include "tests/test.h"

/* For functions that take a 'struct error *err' last: the expression names it '&err'. */

/* Fails the test with the error's message if the expression fails. */
#define must(expression)                                                                           \
    do {                                                                                           \
        _cleanup_error_ struct error err = {0};                                                    \
                                                                                                   \
        if ((expression) < 0)                                                                      \
            fail_msg("%s: %s", #expression, err.message);                                          \
    } while (0)

/* Fails the test unless the expression fails with that status and its message contains the text. */
#define must_refuse(expression, wanted_status, part)                                               \
    do {                                                                                           \
        _cleanup_error_ struct error err = {0};                                                    \
                                                                                                   \
        if ((expression) == 0)                                                                     \
            fail_msg("%s succeeded", #expression);                                                 \
        if (err.status != (wanted_status) || !strstr(err.message, (part)))                         \
            fail_msg("%s: %s: %s", #expression, status_name(err.status), err.message);             \
    } while (0)
