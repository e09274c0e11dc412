#include "common/volume/size.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)

TEST(size_is_the_smallest_that_fits)
{
    static const struct {
        int64_t required;
        int64_t limit;
        uint64_t size;
    } cases[] = {
        /* nothing required: the default, or what the limit leaves of it */
        {0, 0, 1 * GIB},
        {0, 2 * GIB, 1 * GIB},
        {0, 1 * GIB, 1 * GIB},
        {0, 1 * GIB - 1, 1 * GIB - 512},
        {0, 100 * MIB, 100 * MIB},
        {0, 100 * MIB + 300, 100 * MIB},
        {0, 512, 512},
        {0, 1023, 512},
        {0, INT64_MAX, 1 * GIB},
        /* required: whole MiB below 1 GiB, then whole GiB, as Ceph-CSI has it */
        {1, 0, 1 * MIB},
        {1 * MIB, 0, 1 * MIB},
        {1 * MIB + 1, 0, 2 * MIB},
        {1 * GIB - 1, 0, 1 * GIB},
        {1 * GIB, 0, 1 * GIB},
        {1 * GIB + 1, 0, 2 * GIB},
        {3 * GIB / 2, 0, 2 * GIB},
        {10000000000, 0, 10 * GIB}, /* a claim of 10G */
        {10 * TIB, 0, 10 * TIB},
        {10 * TIB + 1, 0, 10 * TIB + GIB},
        {INT64_MAX - 511, 0, INT64_MAX - 511}, /* a whole GiB does not fit into the answer */
        /* both: sectors where the limit does not allow for more */
        {1 * GIB, 1 * GIB, 1 * GIB},
        {1 * GIB, 2 * GIB, 1 * GIB},
        {3 * GIB / 2, 2 * GIB, 2 * GIB},
        {3 * GIB / 2, 2 * GIB - 1, 3 * GIB / 2},
        {1 * MIB + 1, 2 * MIB, 2 * MIB},
        {1 * MIB + 1, 2 * MIB - 1, 1 * MIB + 512},
        {1, 512, 512},
        {1 * GIB + 1, 1 * GIB + 512, 1 * GIB + 512},
        {INT64_MAX - 511, INT64_MAX, INT64_MAX - 511},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct capacity_range range = {cases[i].required, cases[i].limit};
        _cleanup_error_ struct error err = {0};
        uint64_t size = 0;

        if (capacity_range_choose(&range, &size, &err) < 0)
            fail_msg("case %zu: %s", i, err.message);
        if (size != cases[i].size)
            fail_msg("case %zu: got %llu", i, (unsigned long long)size);
        assert_true(capacity_range_has(&range, size));
    }
}

static void assert_refused(int64_t required, int64_t limit, enum status status, const char *message)
{
    const struct capacity_range range = {required, limit};
    _cleanup_error_ struct error err = {0};
    uint64_t size = 42;

    assert_int_equal(capacity_range_choose(&range, &size, &err), -1);
    assert_int_equal(err.status, status);
    if (message)
        assert_string_equal(err.message, message);
    assert_true(size == 42);
}

TEST(negative_size_is_an_invalid_argument)
{
    assert_refused(-1, 0, STATUS_INVALID_ARGUMENT,
                   "capacity_range: required_bytes -1 and limit_bytes 0 must not be negative");
    assert_refused(0, -1, STATUS_INVALID_ARGUMENT,
                   "capacity_range: required_bytes 0 and limit_bytes -1 must not be negative");
    assert_refused(-5, -6, STATUS_INVALID_ARGUMENT, NULL);
    assert_refused(INT64_MIN, 1 * GIB, STATUS_INVALID_ARGUMENT, NULL);
    assert_refused(1 * GIB, INT64_MIN, STATUS_INVALID_ARGUMENT, NULL);
}

TEST(range_without_a_possible_size_is_out_of_range)
{
    static const struct {
        int64_t required;
        int64_t limit;
    } cases[] = {
        {2 * GIB, 1 * GIB},             /* the limit is below */
        {1 * GIB + 1, 1 * GIB + 511},   /* nothing between that a block device can have */
        {1 * GIB + 1, 1 * GIB + 1},     /* as exact as it is impossible */
        {1, 511},                       /* below the unit */
        {0, 511},                       /* so is the limit alone */
        {0, 1},                         /* and this */
        {INT64_MAX, 0},                 /* rounded up it does not fit into the answer */
        {INT64_MAX - 510, 0},           /* the first of those */
        {INT64_MAX, INT64_MAX},         /* with a limit */
        {INT64_MAX - 100, 100 * GIB},   /* both faults */
        {INT64_MAX - 100, INT64_MAX},   /* no wrap to 0 */
        {4611686018427387904, 2 * GIB}, /* 2^62 */
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_refused(cases[i].required, cases[i].limit, STATUS_OUT_OF_RANGE, NULL);
    assert_refused(2048, 1024, STATUS_OUT_OF_RANGE,
                   "capacity_range: no multiple of 512 bytes lies between required_bytes 2048 and "
                   "limit_bytes 1024");
}

TEST(existing_size_is_compared_with_the_range)
{
    static const struct {
        int64_t required;
        int64_t limit;
        uint64_t size;
        bool fits;
    } cases[] = {
        {0, 0, 0, true},
        {0, 0, 1, true},
        {0, 0, UINT64_MAX, true},
        {1 * GIB, 0, 1 * GIB, true},
        {1 * GIB, 0, 1 * GIB - 1, false},
        {1 * GIB, 0, 2 * GIB, true}, /* Ceph-CSI made it larger than asked for */
        {3 * GIB / 2, 0, 2 * GIB, true},
        {3 * GIB / 2, 3 * GIB / 2, 2 * GIB, false},
        {0, 1 * GIB, 1 * GIB, true},
        {0, 1 * GIB, 1 * GIB + 1, false},
        {1 * GIB, 2 * GIB, 1 * GIB, true},
        {1 * GIB, 2 * GIB, 2 * GIB, true},
        {1 * GIB, 2 * GIB, 1 * GIB - 512, false},
        {1 * GIB, 2 * GIB, 2 * GIB + 512, false},
        {2 * GIB, 1 * GIB, 1 * GIB, false},
        {2 * GIB, 1 * GIB, 2 * GIB, false},
        {INT64_MAX, 0, INT64_MAX, true},
        {INT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct capacity_range range = {cases[i].required, cases[i].limit};

        if (capacity_range_has(&range, cases[i].size) != cases[i].fits)
            fail_msg("case %zu: expected that it %s", i, cases[i].fits ? "fits" : "does not fit");
    }
}

TEST(cephfs_counts_in_four_mebibytes)
{
    static const struct {
        int64_t required;
        int64_t limit;
        uint64_t size; /* 0: out of range */
    } cases[] = {
        {0, 0, 1 * GIB},
        {1, 0, 4 << 20},
        {5 << 20, 0, 8 << 20},
        {4 << 20, 4 << 20, 4 << 20},
        {1, 1 << 20, 0},
        {0, 10 << 20, 8 << 20},
        {INT64_MAX, 0, 0},
        {1 * GIB - 1, 0, 1 * GIB},
        {1 * GIB + 1, 0, 2 * GIB},
        {10000000000, 0, 10 * GIB},
        {3 * GIB / 2, 2 * GIB - 1, 3 * GIB / 2},
        {3 * GIB / 2 + 1, 2 * GIB - 1, 3 * GIB / 2 + (4 << 20)},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct capacity_range range = {cases[i].required, cases[i].limit};
        _cleanup_error_ struct error err = {0};
        uint64_t size = 0;
        int result = capacity_range_choose_cephfs(&range, &size, &err);

        assert_int_equal(result, cases[i].size ? 0 : -1);
        assert_int_equal(size, cases[i].size);
        if (result < 0)
            assert_int_equal(err.status, STATUS_OUT_OF_RANGE);
    }
}

TEST(volume_is_never_smaller_than_its_source)
{
    static const struct {
        int64_t required;
        int64_t limit;
        uint64_t chosen;
        uint64_t source;
        uint64_t size; /* 0: out of range */
    } cases[] = {
        {2 * GIB, 0, 2 * GIB, 1 * GIB, 2 * GIB},
        {1 * GIB, 0, 1 * GIB, 2 * GIB, 2 * GIB}, /* no limit: the source's size will do */
        {1 * GIB, 2 * GIB, 1 * GIB, 2 * GIB, 2 * GIB},
        {1 * GIB, 2 * GIB - 1, 1 * GIB, 2 * GIB, 0},
        {1 * GIB, 0, 1 * GIB, 1 * GIB, 1 * GIB},
        {0, 0, 1 * GIB, 2 * GIB, 2 * GIB},
        {0, 0, 2 * GIB, 1 * GIB, 1 * GIB},
        {0, 1 * GIB, 1 * GIB, 2 * GIB, 0},
        {0, 2 * GIB, 1 * GIB, 2 * GIB, 2 * GIB},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct capacity_range range = {cases[i].required, cases[i].limit};
        _cleanup_error_ struct error err = {0};
        uint64_t size = cases[i].chosen;
        int result = capacity_range_fit(&range, cases[i].source, &size, &err);

        assert_int_equal(result, cases[i].size ? 0 : -1);
        if (result == 0)
            assert_int_equal(size, cases[i].size);
        else
            assert_int_equal(err.status, STATUS_OUT_OF_RANGE);
    }
}

/* What passes a comparison with it, passes another when it has been rounded. */
TEST(every_request_within_is_rounded_to_no_more)
{
    static const struct {
        uint64_t room;
        uint64_t size;
    } cases[] = {
        {0, 0},
        {4 * MIB - 1, 0},
        {4 * MIB, 4 * MIB},
        {1 * GIB - 1, 1020 * MIB},
        {1 * GIB, 1 * GIB},
        {2 * GIB - 1, 1 * GIB},
        {10 * TIB + 1, 10 * TIB},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct capacity_range largest = {(int64_t)cases[i].size, 0};
        _cleanup_error_ struct error err = {0};
        uint64_t size = 0;

        assert_int_equal(volume_size_within(cases[i].room), cases[i].size);
        if (cases[i].size == 0)
            continue;
        assert_int_equal(capacity_range_choose(&largest, &size, &err), 0);
        assert_int_equal(size, cases[i].size);
        assert_int_equal(capacity_range_choose_cephfs(&largest, &size, &err), 0);
        assert_int_equal(size, cases[i].size);
    }
}
