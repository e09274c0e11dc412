#include <pthread.h>

#include "common/base/memory.h"
#include "common/base/metrics.h"
#include "tests/test.h"

#define REGISTER(metrics, kind, name, help, ...)                                                   \
    metrics_register((metrics), &(struct metric_spec){(kind), (name), (help), __VA_ARGS__})

static void assert_printed(struct metrics *metrics, const char *expected)
{
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);

    metrics_print(metrics, &text);
    assert_string_equal(text_chars(&text), expected);
}

TEST(empty_registry_prints_nothing)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();

    assert_printed(metrics, "");
    metrics_free(NULL);
}

TEST(counter_without_labels_exists_at_once)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    struct metric_family *calls =
        REGISTER(metrics, METRIC_COUNTER, "calls_total", "Calls.", .labels = {NULL});

    assert_printed(metrics,
                   "# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total 0\n");
    metric_add(metrics_get(calls, NULL), 1);
    metric_add(metrics_get(calls, NULL), 2);
    assert_true(metric_value(metrics_get(calls, NULL)) == 3);
    assert_printed(metrics,
                   "# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total 3\n");
}

TEST(family_with_labels_is_printed_when_it_has_metrics)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    struct metric_family *calls =
        REGISTER(metrics, METRIC_COUNTER, "calls_total", "Calls.", .labels = {"method", "status"});

    assert_printed(metrics, "");
    metric_add(metrics_get(calls, "DeleteVolume", "OK", NULL), 1);
    metric_add(metrics_get(calls, "CreateVolume", "OK", NULL), 2);
    metric_add(metrics_get(calls, "CreateVolume", "ABORTED", NULL), 3);
    assert_printed(metrics, "# HELP calls_total Calls.\n"
                            "# TYPE calls_total counter\n"
                            "calls_total{method=\"CreateVolume\",status=\"ABORTED\"} 3\n"
                            "calls_total{method=\"CreateVolume\",status=\"OK\"} 2\n"
                            "calls_total{method=\"DeleteVolume\",status=\"OK\"} 1\n");
}

TEST(families_are_printed_in_the_order_of_registration)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();

    REGISTER(metrics, METRIC_GAUGE, "b", "B.", .labels = {NULL});
    REGISTER(metrics, METRIC_GAUGE, "a", "A.", .labels = {NULL});
    assert_printed(metrics, "# HELP b B.\n# TYPE b gauge\nb 0\n# HELP a A.\n# TYPE a gauge\na 0\n");
}

TEST(same_labels_are_the_same_metric)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    struct metric_family *family = REGISTER(metrics, METRIC_GAUGE, "g", "G.", .labels = {"pool"});
    struct metric *first = metrics_get(family, "m", NULL);

    for (int i = 0; i < 500; i++) {
        _cleanup_free_ char *name = xasprintf("pool-%d", i * 7919 % 500);

        metric_set(metrics_get(family, name, NULL), i);
    }
    assert_ptr_equal(metrics_get(family, "m", NULL), first);
    assert_ptr_not_equal(metrics_get(family, "n", NULL), first);
}

TEST(registering_again_yields_the_first_family)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    struct metric_family *first =
        REGISTER(metrics, METRIC_COUNTER, "calls_total", "Calls.", .labels = {"method"});

    assert_ptr_equal(
        REGISTER(metrics, METRIC_COUNTER, "calls_total", "Calls.", .labels = {"method"}), first);
}

TEST(gauge_goes_up_and_down)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    struct metric *gauge =
        metrics_get(REGISTER(metrics, METRIC_GAUGE, "in_flight", "Now.", .labels = {NULL}), NULL);

    metric_add(gauge, 2.5);
    metric_add(gauge, -4);
    assert_printed(metrics, "# HELP in_flight Now.\n# TYPE in_flight gauge\nin_flight -1.5\n");
    metric_set(gauge, 7);
    assert_true(metric_value(gauge) == 7);
}

TEST(numbers_read_back_as_they_were)
{
    static const struct {
        double value;
        const char *printed;
    } cases[] = {
        {0, "g 0\n"},
        {-0.5, "g -0.5\n"},
        {0.1, "g 0.1\n"},
        {1e15, "g 1e+15\n"},
        {1024, "g 1024\n"},
        {9007199254740993.0, "g 9007199254740992\n"},
        {0.1 + 0.2, "g 0.30000000000000004\n"},
        {1.0 / 0.0, "g +Inf\n"},
        {-1.0 / 0.0, "g -Inf\n"},
        {__builtin_nan(""), "g NaN\n"},
        {999999999999999, "g 999999999999999\n"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        _cleanup_free_ char *expected =
            xasprintf("# HELP g G.\n# TYPE g gauge\n%s", cases[i].printed);

        metric_set(metrics_get(REGISTER(metrics, METRIC_GAUGE, "g", "G.", .labels = {NULL}), NULL),
                   cases[i].value);
        assert_printed(metrics, expected);
    }
}

TEST(label_values_and_help_are_escaped)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    struct metric_family *family = REGISTER(
        metrics, METRIC_GAUGE, "g", "Back\\slash, \"quotes\"\nand a line.", .labels = {"name"});

    metric_set(metrics_get(family, "a\"b\\c\nd\xc3\xbc{}", NULL), 1);
    assert_printed(metrics, "# HELP g Back\\\\slash, \"quotes\"\\nand a line.\n"
                            "# TYPE g gauge\n"
                            "g{name=\"a\\\"b\\\\c\\nd\xc3\xbc{}\"} 1\n");
}

TEST(histogram_counts_upwards)
{
    static const double bounds[] = {0.1, 1, 10};
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    struct metric_family *family =
        REGISTER(metrics, METRIC_HISTOGRAM, "seconds", "Time.", .labels = {"method"},
                 .bounds = bounds, .bound_count = ARRAY_LENGTH(bounds));
    struct metric *metric = metrics_get(family, "Probe", NULL);

    metric_observe(metric, 0.05);
    metric_observe(metric, 0.1); /* a bound belongs to its bucket */
    metric_observe(metric, 5);
    metric_observe(metric, 50);
    assert_printed(metrics, "# HELP seconds Time.\n"
                            "# TYPE seconds histogram\n"
                            "seconds_bucket{method=\"Probe\",le=\"0.1\"} 2\n"
                            "seconds_bucket{method=\"Probe\",le=\"1\"} 2\n"
                            "seconds_bucket{method=\"Probe\",le=\"10\"} 3\n"
                            "seconds_bucket{method=\"Probe\",le=\"+Inf\"} 4\n"
                            "seconds_sum{method=\"Probe\"} 55.15\n"
                            "seconds_count{method=\"Probe\"} 4\n");
}

TEST(histogram_without_labels_and_bounds_counts_all)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    struct metric_family *family = REGISTER(metrics, METRIC_HISTOGRAM, "h", "H.", .bounds = NULL);

    metric_observe(metrics_get(family, NULL), 2);
    assert_printed(metrics, "# HELP h H.\n# TYPE h histogram\n"
                            "h_bucket{le=\"+Inf\"} 1\nh_sum 2\nh_count 1\n");
}

static double read_number(void *context)
{
    return ++*(double *)context;
}

TEST(callback_is_asked_when_printed)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    double number = 41;

    const struct metric_spec specs[] = {
        {METRIC_GAUGE, "memory_bytes", "Memory.", .read = read_number, .context = &number},
        {METRIC_COUNTER, "cpu_total", "CPU.", .read = read_number, .context = &number},
    };

    metrics_register_all(metrics, specs, ARRAY_LENGTH(specs));
    assert_printed(metrics, "# HELP memory_bytes Memory.\n# TYPE memory_bytes gauge\n"
                            "memory_bytes 42\n"
                            "# HELP cpu_total CPU.\n# TYPE cpu_total counter\ncpu_total 43\n");
}

TEST(number_of_somebody_else_is_read_when_printed)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    atomic_uint_fast64_t number = 41;

    REGISTER(metrics, METRIC_COUNTER, "steps_total", "Steps.", .number = &number);
    atomic_fetch_add(&number, 1);
    assert_printed(metrics,
                   "# HELP steps_total Steps.\n# TYPE steps_total counter\nsteps_total 42\n");
}

TEST(metrics_beyond_the_limit_share_one)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    struct metric_family *family =
        REGISTER(metrics, METRIC_COUNTER, "c", "C.", .labels = {"a", "b"});

    for (int i = 0; i < METRICS_FAMILY_LIMIT; i++) {
        _cleanup_free_ char *name = xasprintf("%d", i);

        metric_add(metrics_get(family, name, "x", NULL), 1);
    }
    struct metric *other = metrics_get(family, "new", "x", NULL);
    metric_add(other, 5);
    assert_ptr_equal(metrics_get(family, "newer", "y", NULL), other);
    assert_ptr_equal(metrics_get(family, "other", "other", NULL), other);
    assert_true(metric_value(metrics_get(family, "7", "x", NULL)) == 1);
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);
    metrics_print(metrics, &text);
    assert_non_null(strstr(text_chars(&text), "\nc{a=\"other\",b=\"other\"} 5\n"));
}

TEST(printing_stops_at_the_limit_of_the_text)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    _cleanup_text_ struct text text = TEXT_INIT(10);

    REGISTER(metrics, METRIC_GAUGE, "g", "G.", .labels = {NULL});
    metrics_print(metrics, &text);
    assert_string_equal(text_chars(&text), "# HELP g G");
    assert_true(text.truncated);
}

#define THREADS 8
#define INCREMENTS 10000

struct load {
    struct metrics *metrics;
    struct metric_family *counters;
    struct metric_family *histograms;
    int number;
};

/* Own and shared metrics, by kept pointer and by lookup, while others print. */
static void *increment_often(void *context)
{
    const struct load *load = context;
    _cleanup_free_ char *own = xasprintf("thread-%d", load->number);
    struct metric *shared = metrics_get(load->counters, "shared", NULL);
    struct metric *histogram = metrics_get(load->histograms, NULL);

    for (int i = 0; i < INCREMENTS; i++) {
        metric_add(shared, 1);
        metric_add(metrics_get(load->counters, own, NULL), 1);
        metric_observe(histogram, i % 2);
        if (i % 1000 == 0) {
            _cleanup_text_ struct text text = TEXT_INIT(1 << 20);

            metrics_print(load->metrics, &text);
        }
    }
    return NULL;
}

TEST(increments_of_several_threads_all_count)
{
    static const double bounds[] = {0.5};
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    struct metric_family *counters =
        REGISTER(metrics, METRIC_COUNTER, "c", "C.", .labels = {"who"});
    struct metric_family *histograms =
        REGISTER(metrics, METRIC_HISTOGRAM, "h", "H.", .bounds = bounds, .bound_count = 1);
    struct load loads[THREADS];
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        loads[i] = (struct load){metrics, counters, histograms, i};
        assert_int_equal(pthread_create(&threads[i], NULL, increment_often, &loads[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(metric_value(metrics_get(counters, "shared", NULL)) == THREADS * INCREMENTS);
    assert_true(metric_value(metrics_get(counters, "thread-7", NULL)) == INCREMENTS);
    _cleanup_text_ struct text text = TEXT_INIT(1 << 20);
    metrics_print(metrics, &text);
    assert_non_null(strstr(text_chars(&text), "h_bucket{le=\"0.5\"} 40000\n"
                                              "h_bucket{le=\"+Inf\"} 80000\n"
                                              "h_sum 40000\nh_count 80000\n"));
}
