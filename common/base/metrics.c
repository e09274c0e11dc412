#include "common/base/metrics.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
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
struct metric {
    const struct metric_family *family;
    char *label_values[METRICS_LABEL_LIMIT];
    _Atomic double value; /* the sum for a histogram */
    atomic_uint_fast64_t
        buckets[]; /* of a histogram: one per bound and one for what is above all */
};

struct metric_family {
    struct metrics *metrics;
    struct metric_family *next;
    struct metric_spec spec;
    size_t label_count;
    struct metric **members;
    size_t count;
};

struct metrics {
    pthread_mutex_t lock; /* over the list and each family's members */
    struct metric_family *first;
};

struct metrics *metrics_new(void)
{
    struct metrics *metrics = xcalloc(1, sizeof(*metrics));

    pthread_mutex_init(&metrics->lock, NULL);
    return metrics;
}

static void family_free(struct metric_family *family)
{
    for (size_t i = 0; i < family->count; i++) {
        for (size_t label = 0; label < family->label_count; label++)
            free(family->members[i]->label_values[label]);
        free(family->members[i]);
    }
    free(family->members);
    free((char *)(uintptr_t)family->spec.name);
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

/* Index of the metric with these label values, or of the place where it belongs. */
static size_t locate_metric(const struct metric_family *family, const char *const *values,
                            bool *found)
{
    size_t low = 0;
    size_t high = family->count;

    *found = false;
    while (low < high && !*found) {
        size_t middle = low + (high - low) / 2;
        int order = 0;

        for (size_t i = 0; i < family->label_count && order == 0; i++)
            order = strcmp(family->members[middle]->label_values[i], values[i]);
        *found = order == 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return *found ? high : low;
}

/* Under the lock. */
static struct metric *insert_metric(struct metric_family *family, size_t at,
                                    const char *const *values)
{
    size_t buckets = family->spec.kind == METRIC_HISTOGRAM ? family->spec.bound_count + 1 : 0;
    struct metric *metric = xcalloc(1, sizeof(*metric) + buckets * sizeof(metric->buckets[0]));

    metric->family = family;
    for (size_t i = 0; i < family->label_count; i++)
        metric->label_values[i] = xstrdup(values[i]);
    size_t behind = family->count - at;
    array_add(family->members, family->count);
    memmove(family->members + at + 1, family->members + at, behind * sizeof(struct metric *));
    family->members[at] = metric;
    return metric;
}

struct metric *metrics_get(struct metric_family *family, ...)
{
    static const char *const others[METRICS_LABEL_LIMIT] = {"other", "other", "other", "other"};
    const char *values[METRICS_LABEL_LIMIT] = {0};
    const char *const *labels = values;
    bool found = false;
    va_list args;

    va_start(args, family);
    for (size_t i = 0; i < family->label_count; i++)
        values[i] = va_arg(args, const char *);
    assert(!va_arg(args, const char *) && !family->spec.read && !family->spec.number);
    va_end(args);
    pthread_mutex_lock(&family->metrics->lock);
    size_t at = locate_metric(family, labels, &found);
    if (!found && family->count >= METRICS_FAMILY_LIMIT) {
        labels = others;
        at = locate_metric(family, labels, &found);
    }
    struct metric *metric = found ? family->members[at] : insert_metric(family, at, labels);
    pthread_mutex_unlock(&family->metrics->lock);
    return metric;
}

struct metric_family *metrics_register(struct metrics *metrics, const struct metric_spec *spec)
{
    struct metric_family **link = &metrics->first;

    pthread_mutex_lock(&metrics->lock);
    while (*link && strcmp((*link)->spec.name, spec->name) != 0)
        link = &(*link)->next;
    struct metric_family *family = *link;
    assert(!family || family->spec.kind == spec->kind);
    if (!family) {
        family = *link = xcalloc(1, sizeof(*family));
        family->metrics = metrics;
        family->spec = *spec;
        family->spec.name = xstrdup(spec->name);
        while (spec->labels[family->label_count])
            family->label_count++;
        if (family->label_count == 0)
            insert_metric(family, 0, spec->labels); /* there are none */
    }
    pthread_mutex_unlock(&metrics->lock);
    return family;
}

void metrics_register_all(struct metrics *metrics, const struct metric_spec *specs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        metrics_register(metrics, &specs[i]);
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
    assert(metric->family->spec.kind != METRIC_HISTOGRAM);
    assert(metric->family->spec.kind == METRIC_GAUGE || amount >= 0);
    add_atomically(&metric->value, amount);
}

void metric_set(struct metric *metric, double value)
{
    assert(metric->family->spec.kind == METRIC_GAUGE);
    atomic_store_explicit(&metric->value, value, memory_order_relaxed);
}

void metric_observe(struct metric *metric, double value)
{
    const struct metric_family *family = metric->family;
    size_t bucket = 0;

    assert(family->spec.kind == METRIC_HISTOGRAM);
    while (bucket < family->spec.bound_count && value > family->spec.bounds[bucket])
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

    text_addf(out, "%s%s", family->spec.name, suffix);
    for (size_t i = 0; i < family->label_count; i++) {
        text_addf(out, "%s%s=\"", separator, family->spec.labels[i]);
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

    for (size_t i = 0; i <= family->spec.bound_count; i++) {
        double bound = i < family->spec.bound_count ? family->spec.bounds[i] : INFINITY;

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

static double current_value(const struct metric *metric)
{
    const struct metric_spec *spec = &metric->family->spec;

    if (spec->number)
        return (double)atomic_load_explicit(spec->number, memory_order_relaxed);
    return spec->read ? spec->read(spec->context) : metric_value(metric);
}

static void print_family(const struct metric_family *family, struct text *out)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};

    if (family->count == 0)
        return;
    text_addf(out, "# HELP %s ", family->spec.name);
    add_escaped(out, family->spec.help, false);
    text_addf(out, "\n# TYPE %s %s\n", family->spec.name, kinds[family->spec.kind]);
    for (size_t i = 0; i < family->count; i++) {
        const struct metric *metric = family->members[i];

        if (family->spec.kind == METRIC_HISTOGRAM) {
            print_histogram(metric, out);
            continue;
        }
        add_series(out, metric, "", NULL);
        add_number(out, current_value(metric));
        text_add(out, "\n");
    }
}

void metrics_print(struct metrics *metrics, struct text *out)
{
    pthread_mutex_lock(&metrics->lock);
    for (const struct metric_family *family = metrics->first; family; family = family->next)
        print_family(family, out);
    pthread_mutex_unlock(&metrics->lock);
}
