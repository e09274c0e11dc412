#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/memory.h"
#include "common/base/process_metrics.h"

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

static void resident_memory_is_plausible(void **state)
{
    double bytes = value_of("process_resident_memory_bytes");

    (void)state;
    assert_true(bytes > 100000 && bytes < 1e11);
}

static void threads_are_counted(void **state)
{
    double threads = value_of("process_threads");

    (void)state;
    assert_true(threads >= 1 && threads < 10); /* a sanitizer has threads of its own */
}

static void open_descriptors_are_counted(void **state)
{
    double before = value_of("process_open_fds");
    _cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_true(fd >= 0);
    assert_true(before >= 3);
    assert_true(value_of("process_open_fds") == before + 1);
}

static void start_time_is_a_moment_ago(void **state)
{
    double start = value_of("process_start_time_seconds");

    (void)state;
    assert_true(start <= (double)time(NULL) + 2);
    assert_true(start > (double)time(NULL) - 600);
}

static void cpu_time_grows(void **state)
{
    double before = value_of("process_cpu_seconds_total");
    clock_t until = clock() + CLOCKS_PER_SEC / 10;

    (void)state;
    assert_true(before >= 0);
    while (clock() < until)
        ;
    assert_true(value_of("process_cpu_seconds_total") > before + 0.05);
}

static void all_have_help_and_kind(void **state)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);

    (void)state;
    process_metrics_register(metrics);
    metrics_print(metrics, &text);
    assert_non_null(strstr(text.chars, "# TYPE process_resident_memory_bytes gauge\n"));
    assert_non_null(strstr(text.chars, "# TYPE process_threads gauge\n"));
    assert_non_null(strstr(text.chars, "# TYPE process_open_fds gauge\n"));
    assert_non_null(strstr(text.chars, "# TYPE process_start_time_seconds gauge\n"));
    assert_non_null(strstr(text.chars, "# TYPE process_cpu_seconds_total counter\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resident_memory_is_plausible),
        cmocka_unit_test(threads_are_counted),
        cmocka_unit_test(open_descriptors_are_counted),
        cmocka_unit_test(start_time_is_a_moment_ago),
        cmocka_unit_test(cpu_time_grows),
        cmocka_unit_test(all_have_help_and_kind),
    };

    return cmocka_run_group_tests_name("process_metrics", tests, NULL, NULL);
}
