#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "common/base/text.h"

/*
 * Counters, gauges and histograms, printed as Prometheus text.
 *
 * A family has a name, a kind and label names, and is registered at start. A metric is one member
 * of a family, with label values; it is created when first asked for and lives as long as the
 * registry, so callers may keep the pointer. Without labels there is one metric, which exists at
 * once:
 *
 *   calls = metrics_register(metrics, &(struct metric_spec){METRIC_COUNTER, "csi_calls_total",
 *                                                           "Calls.", .labels = {"method"}});
 *   metric_add(metrics_get(calls, "CreateVolume", NULL), 1);
 *
 * Any thread. Changing a metric is an atomic operation; finding one takes the registry's mutex.
 */
struct metrics;
struct metric_family;
struct metric;

/* More metrics than this in one family share one whose label values are all "other". */
#define METRICS_FAMILY_LIMIT 1000
#define METRICS_LABEL_LIMIT 4

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

typedef double metric_read_fn(void *context);

/* The name is copied; all else must outlive the registry. */
struct metric_spec {
    enum metric_kind kind;
    const char *name;
    const char *help;
    const char *labels[METRICS_LABEL_LIMIT + 1]; /* ends with NULL */
    /* Upper bounds of a histogram's buckets, ascending, without the infinite one. */
    const double *bounds;
    size_t bound_count;
    /* A gauge or counter without labels whose value somebody else keeps: in @number, or
     * returned by @read when it is printed. @read is called with the registry's mutex held: it must
     * not wait for anything and not use the registry. */
    const atomic_uint_fast64_t *number;
    metric_read_fn *read;
    void *context;
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
DEFINE_CLEANUP(struct metrics, metrics_free)

/* Registering the same family again yields the first one. It belongs to the registry. */
struct metric_family *metrics_register(struct metrics *metrics, const struct metric_spec *spec);
void metrics_register_all(struct metrics *metrics, const struct metric_spec *specs, size_t count);

/* The metric with these label values, as many as the family has label names, ending with NULL. */
__attribute__((sentinel)) struct metric *metrics_get(struct metric_family *family, ...);

/* Counters (amount >= 0) and gauges. */
void metric_add(struct metric *metric, double amount);
/* Gauges. */
void metric_set(struct metric *metric, double value);
/* Histograms. */
void metric_observe(struct metric *metric, double value);
/* The value of a counter or gauge, the sum of a histogram's observations. */
double metric_value(const struct metric *metric);

/* Appends everything: families in the order of registration, metrics by label values. */
void metrics_print(struct metrics *metrics, struct text *out);

/*
 * Registers what Prometheus dashboards expect of every process: process_resident_memory_bytes,
 * process_threads, process_open_fds, process_start_time_seconds and process_cpu_seconds_total. They
 * are read from /proc/self whenever the metrics are printed; what cannot be read is NaN.
 */
void process_metrics_register(struct metrics *metrics);
