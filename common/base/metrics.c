#include "common/base/metrics.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

/*
 * Families form a list that only grows; each keeps its metrics sorted by label values, which serves
 * the lookup and the order of printing. A metric is allocated once and never moves, hence updates
 * need no lock. A reader may see a histogram's sum a moment before or after its buckets; the count
 * is printed from the buckets, so these two always agree.
 */
enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric {
    const struct metric_family *family;
    char **label_values;
    _Atomic double value;          /* the sum for a histogram */
    atomic_uint_fast64_t *buckets; /* one per bound and one for what is above all; else NULL */
};

struct metric_family {
    struct metrics *metrics;
    struct metric_family *next;
    enum metric_kind kind;
    char *name;
    char *help;
    char *labels[METRICS_LABEL_LIMIT];
    size_t label_count;
    double *bounds;
    size_t bound_count;
    metric_read_fn *read;
    void *context;
    struct metric **members;
    size_t count;
};

struct metrics {
    pthread_mutex_t lock; /* over the list and each family's members */
    struct metric_family *first;
    struct metric_family **end;
};

struct metrics *metrics_new(void)
{
    struct metrics *metrics = xcalloc(1, sizeof(*metrics));

    pthread_mutex_init(&metrics->lock, NULL);
    metrics->end = &metrics->first;
    return metrics;
}

static void metric_free(struct metric *metric)
{
    for (size_t i = 0; i < metric->family->label_count; i++)
        free(metric->label_values[i]);
    free(metric->label_values);
    free(metric->buckets);
    free(metric);
}

static void family_free(struct metric_family *family)
{
    for (size_t i = 0; i < family->count; i++)
        metric_free(family->members[i]);
    for (size_t i = 0; i < family->label_count; i++)
        free(family->labels[i]);
    free(family->members);
    free(family->bounds);
    free(family->name);
    free(family->help);
    free(family);
}

void metrics_free(struct metrics *metrics)
{
    if (!metrics)
        return;
    for (struct metric_family *family = metrics->first; family;) {
        struct metric_family *next = family->next;

        family_free(family);
        family = next;
    }
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}

static struct metric *metric_new(const struct metric_family *family, const char *const *values)
{
    struct metric *metric = xcalloc(1, sizeof(*metric));

    metric->family = family;
    metric->label_values = xcalloc(family->label_count, sizeof(*metric->label_values));
    for (size_t i = 0; i < family->label_count; i++)
        metric->label_values[i] = xstrdup(values[i]);
    if (family->kind == METRIC_HISTOGRAM)
        metric->buckets = xcalloc(family->bound_count + 1, sizeof(*metric->buckets));
    return metric;
}

static int compare(const struct metric *metric, const char *const *values)
{
    int order = 0;

    for (size_t i = 0; i < metric->family->label_count && order == 0; i++)
        order = strcmp(metric->label_values[i], values[i]);
    return order;
}

/* Index of the metric with these label values, or of the place where it belongs. */
static size_t locate(const struct metric_family *family, const char *const *values, bool *found)
{
    size_t low = 0;
    size_t high = family->count;

    *found = false;
    while (low < high && !*found) {
        size_t middle = low + (high - low) / 2;
        int order = compare(family->members[middle], values);

        *found = order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return *found ? high : low;
}

/* Under the lock. */
static struct metric *insert(struct metric_family *family, size_t at, const char *const *values)
{
    struct metric *metric = metric_new(family, values);

    family->members = xreallocarray(family->members, family->count + 1, sizeof(struct metric *));
    memmove(family->members + at + 1, family->members + at,
            (family->count - at) * sizeof(struct metric *));
    family->members[at] = metric;
    family->count++;
    return metric;
}

/* Under the lock. */
static struct metric *find_or_insert(struct metric_family *family, const char *const *values)
{
    bool found = false;
    size_t at = locate(family, values, &found);

    return found ? family->members[at] : insert(family, at, values);
}

static bool is_full(const struct metric_family *family, const char *const *values)
{
    bool found = false;

    if (family->count < METRICS_FAMILY_LIMIT)
        return false;
    locate(family, values, &found);
    return !found;
}

/* Reads strings up to the NULL. */
static size_t collect(const char **strings, va_list args)
{
    size_t count = 0;

    for (const char *next = va_arg(args, const char *); next; next = va_arg(args, const char *)) {
        assert(count < METRICS_LABEL_LIMIT);
        strings[count++] = next;
    }
    return count;
}

struct metric *metrics_get(struct metric_family *family, ...)
{
    static const char *const others[METRICS_LABEL_LIMIT] = {"other", "other", "other", "other",
                                                            "other", "other", "other", "other"};
    const char *values[METRICS_LABEL_LIMIT] = {0};
    va_list args;

    va_start(args, family);
    size_t count = collect(values, args);
    va_end(args);
    assert(count == family->label_count && !family->read);
    (void)count;
    pthread_mutex_lock(&family->metrics->lock);
    struct metric *metric = find_or_insert(family, is_full(family, values) ? others : values);
    pthread_mutex_unlock(&family->metrics->lock);
    return metric;
}

/* What distinguishes a family, borrowed from the caller who registers it. */
struct family_spec {
    enum metric_kind kind;
    const char *name;
    const char *help;
    const char *labels[METRICS_LABEL_LIMIT];
    size_t label_count;
    struct metric_buckets buckets;
    metric_read_fn *read;
    void *context;
};

static struct metric_family *family_new(struct metrics *metrics, const struct family_spec *spec)
{
    struct metric_family *family = xcalloc(1, sizeof(*family));

    *family = (struct metric_family){
        .metrics = metrics,
        .kind = spec->kind,
        .name = xstrdup(spec->name),
        .help = xstrdup(spec->help),
        .label_count = spec->label_count,
        .bounds = xcalloc(spec->buckets.count, sizeof(*family->bounds)),
        .bound_count = spec->buckets.count,
        .read = spec->read,
        .context = spec->context,
    };
    for (size_t i = 0; i < spec->label_count; i++)
        family->labels[i] = xstrdup(spec->labels[i]);
    for (size_t i = 0; i < spec->buckets.count; i++)
        family->bounds[i] = spec->buckets.bounds[i];
    if (spec->label_count == 0)
        insert(family, 0, (const char *const[]){NULL});
    return family;
}

static struct metric_family *find_family(const struct metrics *metrics, const char *name)
{
    struct metric_family *family = metrics->first;

    while (family && strcmp(family->name, name) != 0)
        family = family->next;
    return family;
}

static struct metric_family *register_family(struct metrics *metrics,
                                             const struct family_spec *spec)
{
    pthread_mutex_lock(&metrics->lock);
    struct metric_family *family = find_family(metrics, spec->name);
    assert(!family || (family->kind == spec->kind && family->label_count == spec->label_count));
    if (!family) {
        family = family_new(metrics, spec);
        *metrics->end = family;
        metrics->end = &family->next;
    }
    pthread_mutex_unlock(&metrics->lock);
    return family;
}

struct metric_family *metrics_counter(struct metrics *metrics, const char *name, const char *help,
                                      ...)
{
    struct family_spec spec = {.kind = METRIC_COUNTER, .name = name, .help = help};
    va_list args;

    va_start(args, help);
    spec.label_count = collect(spec.labels, args);
    va_end(args);
    return register_family(metrics, &spec);
}

struct metric_family *metrics_gauge(struct metrics *metrics, const char *name, const char *help,
                                    ...)
{
    struct family_spec spec = {.kind = METRIC_GAUGE, .name = name, .help = help};
    va_list args;

    va_start(args, help);
    spec.label_count = collect(spec.labels, args);
    va_end(args);
    return register_family(metrics, &spec);
}

struct metric_family *metrics_histogram(struct metrics *metrics, const char *name, const char *help,
                                        struct metric_buckets buckets, ...)
{
    struct family_spec spec = {
        .kind = METRIC_HISTOGRAM, .name = name, .help = help, .buckets = buckets};
    va_list args;

    va_start(args, buckets);
    spec.label_count = collect(spec.labels, args);
    va_end(args);
    return register_family(metrics, &spec);
}

void metrics_gauge_callback(struct metrics *metrics, const char *name, const char *help,
                            metric_read_fn *read, void *context)
{
    const struct family_spec spec = {
        .kind = METRIC_GAUGE, .name = name, .help = help, .read = read, .context = context};

    register_family(metrics, &spec);
}

void metrics_counter_callback(struct metrics *metrics, const char *name, const char *help,
                              metric_read_fn *read, void *context)
{
    const struct family_spec spec = {
        .kind = METRIC_COUNTER, .name = name, .help = help, .read = read, .context = context};

    register_family(metrics, &spec);
}

static void add_atomically(_Atomic double *value, double amount)
{
    double old = atomic_load_explicit(value, memory_order_relaxed);

    while (!atomic_compare_exchange_weak_explicit(value, &old, old + amount, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

void metric_add(struct metric *metric, double amount)
{
    assert(metric->family->kind != METRIC_HISTOGRAM);
    assert(metric->family->kind == METRIC_GAUGE || amount >= 0);
    add_atomically(&metric->value, amount);
}

void metric_set(struct metric *metric, double value)
{
    assert(metric->family->kind == METRIC_GAUGE);
    atomic_store_explicit(&metric->value, value, memory_order_relaxed);
}

void metric_observe(struct metric *metric, double value)
{
    const struct metric_family *family = metric->family;
    size_t bucket = 0;

    assert(family->kind == METRIC_HISTOGRAM);
    while (bucket < family->bound_count && value > family->bounds[bucket])
        bucket++;
    atomic_fetch_add_explicit(&metric->buckets[bucket], 1, memory_order_relaxed);
    add_atomically(&metric->value, value);
}

double metric_value(const struct metric *metric)
{
    return atomic_load_explicit(&metric->value, memory_order_relaxed);
}

static void add_escaped(struct text *out, const char *chars, bool with_quotes)
{
    for (; *chars != '\0'; chars++) {
        if (*chars == '\n')
            text_add(out, "\\n");
        else if (*chars == '\\' || (with_quotes && *chars == '"'))
            text_addf(out, "\\%c", *chars);
        else
            text_add_bytes(out, chars, 1);
    }
}

/* The shortest of the usual forms that reads back as the same number. */
static void add_number(struct text *out, double number)
{
    if (isnan(number))
        text_add(out, "NaN");
    else if (isinf(number))
        text_add(out, number > 0 ? "+Inf" : "-Inf");
    else if (fabs(number) < 1e15 && number == (double)(int64_t)number)
        text_addf(out, "%.0f", number);
    else {
        _cleanup_free_ char *shorter = xasprintf("%.15g", number);

        if (strtod(shorter, NULL) == number)
            text_add(out, shorter);
        else
            text_addf(out, "%.17g", number);
    }
}

/* Name and labels of one line; @bound is the additional label of a bucket, or NULL. */
static void add_series(struct text *out, const struct metric *metric, const char *suffix,
                       const double *bound)
{
    const struct metric_family *family = metric->family;
    const char *separator = "{";

    text_addf(out, "%s%s", family->name, suffix);
    for (size_t i = 0; i < family->label_count; i++) {
        text_addf(out, "%s%s=\"", separator, family->labels[i]);
        add_escaped(out, metric->label_values[i], true);
        text_add(out, "\"");
        separator = ",";
    }
    if (bound) {
        text_addf(out, "%sle=\"", separator);
        add_number(out, *bound);
        text_add(out, "\"");
        separator = ",";
    }
    text_add(out, separator[0] == ',' ? "} " : " ");
}

static void print_histogram(const struct metric *metric, struct text *out)
{
    const struct metric_family *family = metric->family;
    uint64_t count = 0;

    for (size_t i = 0; i <= family->bound_count; i++) {
        double bound = i < family->bound_count ? family->bounds[i] : INFINITY;

        count += atomic_load_explicit(&metric->buckets[i], memory_order_relaxed);
        add_series(out, metric, "_bucket", &bound);
        text_addf(out, "%llu\n", (unsigned long long)count);
    }
    add_series(out, metric, "_sum", NULL);
    add_number(out, metric_value(metric));
    text_add(out, "\n");
    add_series(out, metric, "_count", NULL);
    text_addf(out, "%llu\n", (unsigned long long)count);
}

static void print_metric(const struct metric *metric, struct text *out)
{
    const struct metric_family *family = metric->family;

    if (family->kind == METRIC_HISTOGRAM) {
        print_histogram(metric, out);
        return;
    }
    add_series(out, metric, "", NULL);
    add_number(out, family->read ? family->read(family->context) : metric_value(metric));
    text_add(out, "\n");
}

static void print_family(const struct metric_family *family, struct text *out)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};

    if (family->count == 0)
        return;
    text_addf(out, "# HELP %s ", family->name);
    add_escaped(out, family->help, false);
    text_addf(out, "\n# TYPE %s %s\n", family->name, kinds[family->kind]);
    for (size_t i = 0; i < family->count; i++)
        print_metric(family->members[i], out);
}

void metrics_print(struct metrics *metrics, struct text *out)
{
    pthread_mutex_lock(&metrics->lock);
    for (const struct metric_family *family = metrics->first; family; family = family->next)
        print_family(family, out);
    pthread_mutex_unlock(&metrics->lock);
}
