#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/library_version.h"
#include "tests/test.h"

TEST(releases_are_counted_by_their_first_letter)
{
    static const struct {
        const char *version;
        const char *release;
        bool is_older;
    } cases[] = {
        {"16.2.15", "luminous", false}, {"16.2.15", "pacific\n", false}, {"16.2.15", "reef", true},
        {"18.2.7", "reef", false},      {"18.2.7", "squid", true},       {"20.2.4", "squid", false},
        {"20.2.4", "umbrella", true},   {"unknown", "squid", false},     {"16.2.15", "", false},
        {"16.2.15", "Reef", false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        if (library_is_older(cases[i].version, cases[i].release) != cases[i].is_older)
            fail_msg("%s and %s", cases[i].version, cases[i].release);
}

TEST(monitors_that_do_not_answer_may_want_newer_libraries)
{
    static const char *const versions[] = {"16.2.15", "20.2.4"};

    for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
        _cleanup_error_ struct error err = {0};

        error_set(&err, STATUS_DEADLINE_EXCEEDED, "the monitors do not answer");
        assert_int_equal(library_hint_at_age(versions[i], &err), -1);
        assert_int_equal(strstr(err.message, "version 16.2.15") != NULL, i == 0);
    }
}

TEST(a_cluster_for_newer_clients_is_named)
{
    _cleanup_free_ char *none = library_age_warning("18.2.7", "reef\n");
    _cleanup_free_ char *warning = library_age_warning("16.2.15", "reef\n");

    assert_null(none);
    assert_non_null(strstr(warning, "clients of Ceph 'reef' and newer"));
    assert_non_null(strstr(warning, "have version 16.2.15"));
}
