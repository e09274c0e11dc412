/*
 * How long volume binding takes in a large cluster, by default 5,000 nodes, 50,000 volumes and 20
 * classes: the check of one pod over all nodes, the same with twice the volumes, memory per object,
 * and a simulation of 10,000 pending pods. Times are of the processor, medians of 21 rounds. No
 * Ceph, no Kubernetes.
 *
 *   binding-bench [NODES [VOLUMES [PODS]]]
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/scheduling/binding_score.h"
#include "common/scheduling/simulation/simulate.h"
#include "tests/fakes/cluster_script.h"

#define CLASSES 20
#define ZONES 5
#define ROUNDS 21

struct bench_size {
    size_t nodes;
    size_t volumes;
    size_t pods;
};

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

_printf_(2, 3) static void put(struct cluster_objects *cluster, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    _cleanup_free_ char *line = xvasprintf(fmt, args);
    va_end(args);
    cluster_script(cluster, line);
}

/* --- the cluster --- */

/* Labels as nodes have them. */
static void put_nodes(struct cluster_objects *cluster, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put(cluster,
            "node n%05zu kubernetes.io/hostname=n%05zu kubernetes.io/os=linux "
            "kubernetes.io/arch=amd64 node.kubernetes.io/instance-type=m%zu "
            "topology.kubernetes.io/zone=zone-%zu topology.kubernetes.io/region=region-1 "
            "topology.csi.test/zone=zone-%zu topology.csi.test/member.zone.zone-%zu=true "
            "rack=r%zu pool=general",
            i, i, i % 4, i % ZONES, i % ZONES, i % ZONES, i / 40);
}

/* The first half of the classes has local volumes on half of the nodes, the others zonal ones. With
 * twice the volumes the same nodes fit: what is compared is the search, not the number of answers.
 */
static void put_volumes(struct cluster_objects *cluster, size_t count, size_t nodes)
{
    size_t local_nodes = nodes / 2 + 1;

    for (size_t i = 0; i < count; i++) {
        size_t class = i % CLASSES;
        size_t turn = i / CLASSES;

        if (class < CLASSES / 2)
            put(cluster,
                "pv v%06zu class=class-%02zu size=%zuGi affinity=kubernetes.io/hostname:n%05zu", i,
                class, 40 + turn % 60, turn % local_nodes);
        else
            put(cluster,
                "pv v%06zu class=class-%02zu size=%zuGi affinity=topology.csi.test/zone:zone-%zu",
                i, class, 10 + turn % 90, turn % ZONES);
    }
}

static void put_rest(struct cluster_objects *cluster, size_t nodes)
{
    for (size_t i = 0; i < CLASSES; i++)
        put(cluster, "class class-%02zu provisioner=kubernetes.io/no-provisioner", i);
    put(cluster, "class zoned provisioner=csi.test");
    put(cluster, "class local provisioner=csi.test");
    put(cluster, "driver csi.test capacity");
    for (size_t i = 0; i < ZONES; i++)
        put(cluster,
            "capacity cap-%zu class=zoned size=900Ti topology=topology.csi.test/zone:zone-%zu", i,
            i);
    for (size_t i = 0; i < nodes; i++) {
        put(cluster,
            "capacity node-%05zu class=local size=1Ti topology=kubernetes.io/hostname:n%05zu", i,
            i);
        put(cluster, "csinode n%05zu csi.test:100:topology.csi.test/zone", i);
    }
    static const char *const PODS[][2] = {{"static-local", "class-03"},
                                          {"static-zonal", "class-13"},
                                          {"new-zoned", "zoned"},
                                          {"new-local", "local"}};
    for (size_t i = 0; i < ARRAY_LENGTH(PODS); i++) {
        put(cluster, "pvc %s class=%s size=40Gi", PODS[i][0], PODS[i][1]);
        put(cluster, "pod %s claims=%s phase=Running", PODS[i][0], PODS[i][0]);
    }
    put(cluster, "pod two claims=static-zonal,new-zoned phase=Running");
}

/* --- measuring --- */

static int compare_doubles(const void *a, const void *b)
{
    double first = *(const double *)a;
    double second = *(const double *)b;

    return (first > second) - (first < second);
}

static double check_once(const struct cluster_objects *cluster, const char *name, size_t *fitting)
{
    const struct binding_options options = newest_binding_options();
    const struct kube_pod *pod = cluster_find(cluster, KUBE_POD, "default", name);
    struct pod_claims claims = {0};
    struct pod_decisions decisions = {0};
    double start = now_ms();

    binding_prepare(cluster, &options, pod, &claims);
    binding_check(cluster, &options, &claims, &decisions);
    double took = now_ms() - start;
    *fitting = 0;
    for (size_t i = 0; i < decisions.count; i++)
        *fitting += decisions.nodes[i].verdict == BINDING_FITS;
    pod_decisions_done(&decisions);
    pod_claims_done(&claims);
    return took;
}

static double median(double *times)
{
    qsort(times, ROUNDS, sizeof(*times), compare_doubles);
    return times[ROUNDS / 2];
}

/* In turn on both clusters, so that whatever else the machine does falls on both. */
static void compare_pods(const struct cluster_objects *one, const struct cluster_objects *two)
{
    static const char *const NAMES[] = {"static-local", "static-zonal", "new-zoned", "new-local",
                                        "two"};

    for (size_t i = 0; i < ARRAY_LENGTH(NAMES); i++) {
        double first[ROUNDS];
        double second[ROUNDS];
        size_t fit_one = 0;
        size_t fit_two = 0;

        for (size_t round = 0; round < ROUNDS; round++) {
            first[round] = check_once(one, NAMES[i], &fit_one);
            second[round] = check_once(two, NAMES[i], &fit_two);
        }
        double once = median(first);
        double twice = median(second);
        printf("  check of pod %-13s over %zu nodes: %6.2f ms (%zu fit), with twice the volumes "
               "%6.2f ms (%zu fit): %.2f times\n",
               NAMES[i], cluster_count(one, KUBE_NODE), once, fit_one, twice, fit_two,
               twice / once);
    }
}

static void fill(struct cluster_objects *cluster, size_t nodes, size_t volumes)
{
    size_t start = heap_bytes();

    put_nodes(cluster, nodes);
    size_t after_nodes = heap_bytes();
    put_rest(cluster, nodes);
    size_t after_rest = heap_bytes();
    put_volumes(cluster, volumes, nodes);
    cluster_settle(cluster);
    printf("%zu nodes, %zu volumes, %d classes: %zu bytes per node, %zu per volume, with indexes\n",
           nodes, volumes, CLASSES, (after_nodes - start) / nodes,
           (heap_bytes() - after_rest) / volumes);
}

static void measure_checks(const struct bench_size *size)
{
    _cleanup_cluster_ struct cluster_objects one = {0};
    _cleanup_cluster_ struct cluster_objects two = {0};

    fill(&one, size->nodes, size->volumes);
    fill(&two, size->nodes, size->volumes * 2);
    compare_pods(&one, &two);
}

static void show_progress(void *object, size_t done, size_t total, size_t stuck)
{
    (void)object;
    fprintf(stderr, "\r  %zu of %zu pods, %zu stuck\033[K", done, total, stuck);
    if (done == total)
        fputs("\r\033[K", stderr);
}

static void measure_simulation(const struct bench_size *size, const char *class_name)
{
    const struct binding_options options = newest_binding_options();
    struct simulation_request request = {.fail = "",
                                         .takeover = "",
                                         .add_pods = size->pods,
                                         .class_name = class_name,
                                         .progress = isatty(STDERR_FILENO) ? show_progress : NULL};
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_simulation_ struct simulation simulation = {0};
    _cleanup_error_ struct error err = {0};

    if (quantity_parse("40Gi", &request.size, &err) < 0)
        return;
    put_nodes(&cluster, size->nodes);
    put_volumes(&cluster, size->volumes, size->nodes);
    put_rest(&cluster, size->nodes);
    cluster_settle(&cluster);
    double start = now_ms();
    if (simulate(&cluster, &options, &request, &simulation, &err) < 0) {
        printf("simulate: %s\n", err.message);
        return;
    }
    printf("simulate %zu pods of class %s: %.1f s, %zu placed, %zu new volumes, %zu checks, %zu "
           "remembered\n",
           size->pods, class_name, (now_ms() - start) / 1e3, simulation.placed,
           simulation.volumes_made, simulation.checks, simulation.remembered);
}

static size_t argument(int argc, char **argv, int at, size_t fallback)
{
    return argc > at ? strtoull(argv[at], NULL, 10) : fallback;
}

int main(int argc, char **argv)
{
    const struct bench_size size = {
        .nodes = argument(argc, argv, 1, 5000),
        .volumes = argument(argc, argv, 2, 50000),
        .pods = argument(argc, argv, 3, 10000),
    };

    if (size.nodes < 2 || size.volumes < 1) {
        fputs("usage: binding-bench [NODES [VOLUMES [PODS]]], at least 2 nodes and 1 volume\n",
              stderr);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    measure_checks(&size);
    measure_simulation(&size, "zoned");
    measure_simulation(&size, "class-13");
    return 0;
}
