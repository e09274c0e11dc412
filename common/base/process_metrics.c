#include "common/base/metrics.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/memory.h"

/* The first line of @path that starts with @prefix, without the prefix; NULL if there is none.
 * Caller frees. */
static char *read_line(const char *path, const char *prefix)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    _cleanup_free_ char *line = NULL;
    size_t capacity = 0;

    while (file && getline(&line, &capacity, file) >= 0)
        if (text_has_prefix(line, prefix))
            return xstrdup(line + strlen(prefix));
    return NULL;
}

/* The @index-th word of @line, counted from 0, as a number; NaN if there is none. */
static double number_at(const char *line, int index)
{
    char *end = NULL;

    while (line && index-- > 0) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    double number = line ? strtod(line, &end) : NAN;
    return end != line ? number : NAN;
}

/* A field of /proc/self/stat, numbered as in proc(5). Fields are counted from behind the program's
 * name, the second field, which may contain spaces and brackets. */
static double stat_field(int field)
{
    _cleanup_free_ char *line = read_line("/proc/self/stat", "");
    const char *name_end = line ? strrchr(line, ')') : NULL;

    return name_end && name_end[1] == ' ' ? number_at(name_end + 2, field - 3) : NAN;
}

static double read_resident_memory(void *context)
{
    _cleanup_free_ char *line = read_line("/proc/self/statm", "");

    (void)context;
    return number_at(line, 1) * (double)sysconf(_SC_PAGESIZE);
}

static double read_thread_count(void *context)
{
    (void)context;
    return stat_field(20);
}

/* Without ".", ".." and the descriptor of the directory itself. */
static double read_open_descriptors(void *context)
{
    DIR *directory = opendir("/proc/self/fd");
    double count = -3;

    (void)context;
    if (!directory)
        return NAN;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static double read_start_time(void *context)
{
    _cleanup_free_ char *boot = read_line("/proc/stat", "btime ");

    (void)context;
    return number_at(boot, 0) + stat_field(22) / (double)sysconf(_SC_CLK_TCK);
}

static double read_cpu_time(void *context)
{
    struct rusage usage = {0};

    (void)context;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void process_metrics_register(struct metrics *metrics)
{
    static const struct metric_spec specs[] = {
        {METRIC_GAUGE, "process_resident_memory_bytes", "Resident memory size.",
         .read = read_resident_memory},
        {METRIC_GAUGE, "process_threads", "Number of threads.", .read = read_thread_count},
        {METRIC_GAUGE, "process_open_fds", "Number of open file descriptors.",
         .read = read_open_descriptors},
        {METRIC_GAUGE, "process_start_time_seconds",
         "Start of the process in seconds since the epoch.", .read = read_start_time},
        {METRIC_COUNTER, "process_cpu_seconds_total", "User and system time in seconds.",
         .read = read_cpu_time},
    };

    metrics_register_all(metrics, specs, ARRAY_LENGTH(specs));
}
