#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

#include "common/base/memory.h"
#include "common/volume/client_records.h"

/* How Ceph prints addresses of clients. */

static void address_is_the_host_alone(void **state)
{
    static const struct {
        const char *text;
        const char *address; /* NULL: refused */
    } cases[] = {
        {"10.0.0.7:0/3141", "10.0.0.7"},
        {"v1:10.0.0.7:0/3141", "10.0.0.7"},
        {"v2:10.0.0.7:0/3141", "10.0.0.7"},
        {"any:10.0.0.7:0/3141", "10.0.0.7"},
        {"[fd00::7]:0/3141", "fd00::7"},
        {"[FD00:0::7]:0/3141", "fd00::7"},
        {"v2:[fd00::7]:0/3141", "fd00::7"},
        {"[v2:10.0.0.7:0/1,v1:10.0.0.7:0/1]", "10.0.0.7"},
        {"[v2:[fd00::7]:0/1,v1:[fd00::7]:0/1]", "fd00::7"},
        {"", NULL},
        {"-", NULL},
        {":/0", NULL},
        {"10.0.0.7", NULL},
        {"0.0.0.0:0/3141", NULL},
        {"[::]:0/3141", NULL},
        {"[fd00::7", NULL},
        {"host:0/3141", NULL},
        {"10.0.0:0/3141", NULL},
        {"fd00::7", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};
        _cleanup_free_ char *address = NULL;

        if (client_address_parse(cases[i].text, &address, &err) < 0) {
            assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
            if (cases[i].address)
                fail_msg("'%s' is refused: %s", cases[i].text, err.message);
        } else if (!cases[i].address) {
            fail_msg("'%s' is taken for %s", cases[i].text, address);
        } else {
            assert_string_equal(address, cases[i].address);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_is_the_host_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
