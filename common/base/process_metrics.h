#pragma once

#include "common/base/metrics.h"

/*
 * Registers what Prometheus dashboards expect of every process: process_resident_memory_bytes,
 * process_threads, process_open_fds, process_start_time_seconds and process_cpu_seconds_total. They
 * are read from /proc/self whenever the metrics are printed; what cannot be read is NaN.
 */
void process_metrics_register(struct metrics *metrics);
