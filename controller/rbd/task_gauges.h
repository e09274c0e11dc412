#pragma once

#include "common/base/metrics.h"
#include "common/base/tasks.h"

/* Metrics of RBD's background work: how much of purging and flattening is left. */

/* One kind of task. */
struct task_gauge {
    struct tasks *tasks;
    const char *kind;
};

struct task_gauges {
    struct task_gauge purges;
    struct task_gauge flattens;
};

/* @gauges and @tasks must live until @metrics is printed for the last time. */
void task_gauges_register(struct task_gauges *gauges, struct tasks *tasks, struct metrics *metrics);
