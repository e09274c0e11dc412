#pragma once

#include <stddef.h>

#include "common/base/text.h"

/*
 * Counters, gauges and histograms, printed as Prometheus text.
 *
 * A family has a name, a kind and label names, and is registered at start. A metric is one member
 * of a family, with label values; it is made when first asked for and lives as long as the
 * registry, so callers may keep the pointer. Without labels there is one metric, which exists at
 * once:
 *
 *   calls = metrics_counter(metrics, "csi_calls_total", "Calls.", "method", "status", NULL);
 *   metric_add(metrics_get(calls, "CreateVolume", "OK", NULL), 1);
 *
 * Any thread. Changing a metric is an atomic operation; finding one takes the registry's mutex.
 */
struct metrics;
struct metric_family;
struct metric;

/* More metrics than this in one family share one whose label values are all "other". */
#define METRICS_FAMILY_LIMIT 1000
#define METRICS_LABEL_LIMIT 8

#define _null_terminated_ __attribute__((sentinel))

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
DEFINE_CLEANUP(struct metrics, metrics_free)

/* The label names end with NULL. Registering the same family again yields the first one. @name,
 * @help and the label names are copied; the family belongs to the registry. */
_null_terminated_ struct metric_family *metrics_counter(struct metrics *metrics, const char *name,
                                                        const char *help, ...);
_null_terminated_ struct metric_family *metrics_gauge(struct metrics *metrics, const char *name,
                                                      const char *help, ...);

/* Upper bounds of a histogram's buckets, ascending, without the infinite one. */
struct metric_buckets {
    const double *bounds;
    size_t count;
};
_null_terminated_ struct metric_family *metrics_histogram(struct metrics *metrics, const char *name,
                                                          const char *help,
                                                          struct metric_buckets buckets, ...);

/* A gauge or counter whose value is asked for when it is printed. @read is called with the
 * registry's mutex held: it must not wait for anything and not use the registry. @context must
 * outlive the registry. */
typedef double metric_read_fn(void *context);
void metrics_gauge_callback(struct metrics *metrics, const char *name, const char *help,
                            metric_read_fn *read, void *context);
void metrics_counter_callback(struct metrics *metrics, const char *name, const char *help,
                              metric_read_fn *read, void *context);

/* The metric with these label values, as many as the family has label names, ending with NULL. */
_null_terminated_ struct metric *metrics_get(struct metric_family *family, ...);

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
