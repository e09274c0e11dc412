#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/metrics.h"
#include "tests/test.h"

/* The printed value of @name. */
static double value_of(const char *name)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);

    process_metrics_register(metrics);
    metrics_print(metrics, &text);
    _cleanup_free_ char *start = xasprintf("\n%s ", name);
    const char *line = strstr(text_chars(&text), start);
    if (!line)
        return -1;
    return strtod(line + strlen(start), NULL);
}

TEST(resident_memory_is_plausible)
{
    double bytes = value_of("process_resident_memory_bytes");

    assert_true(bytes > 100000 && bytes < 1e11);
}

TEST(threads_are_counted)
{
    double threads = value_of("process_threads");

    assert_true(threads >= 1 && threads < 10); /* a sanitizer has threads of its own */
}

TEST(open_descriptors_are_counted)
{
    double before = value_of("process_open_fds");
    _cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_true(before >= 3);
    assert_true(value_of("process_open_fds") == before + 1);
}

TEST(start_time_is_a_moment_ago)
{
    double start = value_of("process_start_time_seconds");

    assert_true(start <= (double)time(NULL) + 2);
    assert_true(start > (double)time(NULL) - 600);
}

TEST(cpu_time_grows)
{
    double before = value_of("process_cpu_seconds_total");
    clock_t until = clock() + CLOCKS_PER_SEC / 10;

    assert_true(before >= 0);
    while (clock() < until)
        ;
    assert_true(value_of("process_cpu_seconds_total") > before + 0.05);
}

TEST(all_have_help_and_kind)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);

    process_metrics_register(metrics);
    metrics_print(metrics, &text);
    assert_non_null(strstr(text.chars, "# TYPE process_resident_memory_bytes gauge\n"));
    assert_non_null(strstr(text.chars, "# TYPE process_threads gauge\n"));
    assert_non_null(strstr(text.chars, "# TYPE process_open_fds gauge\n"));
    assert_non_null(strstr(text.chars, "# TYPE process_start_time_seconds gauge\n"));
    assert_non_null(strstr(text.chars, "# TYPE process_cpu_seconds_total counter\n"));
}
