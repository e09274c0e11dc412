#include "common/volume/replication_status.h"

#include "common/base/memory.h"
#include "tests/test.h"

TEST(figures_stand_behind_the_first_comma)
{
    static const struct {
        const char *description;
        bool has_arrived;
        bool has_duration;
    } cases[] = {
        {"replaying, {\"local_snapshot_timestamp\":1760000000,\"replay_state\":\"idle\"}", true,
         false},
        {"replaying, {\"last_snapshot_sync_seconds\":0,\"local_snapshot_timestamp\":5}", true,
         true},
        {"replaying, {\"remote_snapshot_timestamp\":1760000000}", false, false},
        {"replaying, {\"local_snapshot_timestamp\":\"soon\"}", false, false},
        {"replaying, not JSON", false, false},
        {"replaying, []", false, false},
        {"stopped", false, false},
        {"", false, false},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_free_ char *description = xstrdup(cases[i].description);
        const struct mirror_site site = {.description = description};
        struct replication_info info = {0};

        assert_int_equal(replication_parse_site(&site, &info), cases[i].has_arrived);
        assert_int_equal(cases[i].has_arrived && info.has_duration, cases[i].has_duration);
    }
}

static enum replication_health judge(struct mirror_site *items, size_t count, const char *words)
{
    const struct mirror_sites sites = {items, count};
    _cleanup_free_ char *message = NULL;
    enum replication_health health = replication_judge(&sites, &message);

    assert_non_null(strstr(message, words));
    return health;
}

TEST(worst_of_the_others_counts)
{
    static char here[] = "here";
    static char replaying[] = "replaying, {}";
    static char unknown[] = "unknown";
    static char split_brain[] = "split-brain";
    struct mirror_site sites[] = {
        {.is_local = true, .is_up = true, .state = MIRROR_ERROR, .description = here},
        {.is_up = true, .state = MIRROR_REPLAYING, .description = replaying},
        {.is_up = true, .state = MIRROR_UNKNOWN, .description = unknown},
        {.is_up = false, .state = MIRROR_REPLAYING, .description = replaying},
        {.is_up = true, .state = MIRROR_ERROR, .description = split_brain},
    };

    assert_int_equal(judge(sites, 1, "no rbd-mirror of another"), REPLICATION_UNKNOWN);
    assert_int_equal(judge(sites, 2, "replaying"), REPLICATION_HEALTHY);
    assert_int_equal(judge(sites, 3, "unknown"), REPLICATION_UNKNOWN);
    assert_int_equal(judge(sites, 4, "rbd-mirror is down there: replaying"), REPLICATION_DEGRADED);
    assert_int_equal(judge(sites, 5, "split-brain"), REPLICATION_ERROR);
}

TEST(all_are_settled_or_none_is)
{
    struct mirror_site items[] = {{.is_local = true, .is_up = true}, {.is_up = true}};
    struct mirror_sites sites = {items, 2};

    assert_true(replication_is_settled(&sites));
    items[1].is_up = false;
    assert_false(replication_is_settled(&sites));
    items[1] = (struct mirror_site){.is_up = true, .state = MIRROR_REPLAYING};
    assert_false(replication_is_settled(&sites));
    items[1].state = MIRROR_UNKNOWN;
    items[0].is_local = false;
    assert_false(replication_is_settled(&sites));
    items[0].is_local = true;
    sites.count = 1;
    assert_false(replication_is_settled(&sites));
}

TEST(times_are_written_and_read)
{
    static const struct {
        const char *text;
        bool good;
        long long seconds;
        long nanos;
    } cases[] = {
        {"seconds:1760000000 nanos:12", true, 1760000000, 12},
        {"seconds:1760000000  nanos:12", true, 1760000000, 12},
        {"seconds:1760000000", true, 1760000000, 0},
        {"nanos:12", false, 0, 0},
        {"seconds:x nanos:12", false, 0, 0},
        {"", false, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct timespec time = {0};

        assert_int_equal(replication_parse_time(cases[i].text, &time), cases[i].good);
        assert_int_equal(time.tv_sec, cases[i].seconds);
        assert_int_equal(time.tv_nsec, cases[i].nanos);
    }
    _cleanup_free_ char *text =
        replication_format_time(&(struct timespec){.tv_sec = 1760000000, .tv_nsec = 12});
    assert_string_equal(text, cases[0].text);
}
