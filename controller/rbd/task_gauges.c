#include "controller/rbd/task_gauges.h"

static double read_pending(void *context)
{
    const struct task_gauge *gauge = context;

    return tasks_count(gauge->tasks, gauge->kind).pending;
}

static double read_failed(void *context)
{
    const struct task_gauge *gauge = context;

    return tasks_count(gauge->tasks, gauge->kind).failed;
}

static double read_oldest(void *context)
{
    const struct task_gauge *gauge = context;

    return (double)tasks_count(gauge->tasks, gauge->kind).oldest_ms / 1000;
}

void task_gauges_register(struct task_gauges *gauges, struct tasks *tasks, struct metrics *metrics)
{
    gauges->purges = (struct task_gauge){tasks, "purge"};
    gauges->flattens = (struct task_gauge){tasks, "flatten"};
    const struct metric_spec specs[] = {
        {METRIC_GAUGE, "csi_purge_pending", "Pools whose deleted images are being removed.",
         .read = read_pending, .context = &gauges->purges},
        {METRIC_GAUGE, "csi_purge_failed",
         "Pools where the last try to remove some of the deleted images failed.",
         .read = read_failed, .context = &gauges->purges},
        {METRIC_GAUGE, "csi_purge_oldest_seconds",
         "Age of the oldest of csi_purge_pending and csi_purge_failed.", .read = read_oldest,
         .context = &gauges->purges},
        {METRIC_GAUGE, "csi_flatten_pending", "Images that are being detached from their parents.",
         .read = read_pending, .context = &gauges->flattens},
        {METRIC_GAUGE, "csi_flatten_failed",
         "Images whose last try to be detached from their parents failed.", .read = read_failed,
         .context = &gauges->flattens},
        {METRIC_GAUGE, "csi_flatten_oldest_seconds",
         "Age of the oldest of csi_flatten_pending and csi_flatten_failed.", .read = read_oldest,
         .context = &gauges->flattens},
    };

    metrics_register_all(metrics, specs, ARRAY_LENGTH(specs));
}
