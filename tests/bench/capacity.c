/*
 * capacity-bench: GetCapacity's logic with many callers at once, on a cluster in memory, so that
 * neither gRPC nor Ceph is measured. Prints p50 and p99 of one call, and how often the monitors
 * were asked.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/usage/usage_cache.h"
#include "controller/controller.h"
#include "tests/fakes/fake_ceph.h"

#define CALLERS 32
#define CALLS 2000 /* of each */
#define PAUSE_US 2000
#define MAX_AGE_MS 1000

static const char POOLS[] =
    "[{\"poolName\":\"zone-a\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"a\"}]},"
    "{\"poolName\":\"zone-b\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"b\"}]},"
    "{\"poolName\":\"zone-c\",\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"c\"}]}]";
static const char *const NAMES[] = {"zone-a", "zone-b", "zone-c"};

struct bench {
    struct fake_ceph *fake;
    struct controller controller;
    struct capacity_request request;
    atomic_uint questions;
};

struct caller {
    struct bench *bench;
    pthread_t thread;
    double *times_ms;
};

static int answer_mon(void *object, const char *command, struct text *reply)
{
    struct bench *bench = object;
    bool is_df = strstr(command, "\"df\"");

    if (strstr(command, "crush")) {
        text_add(reply, "{\"buckets\":[],\"rules\":[],\"types\":[]}");
        return 0;
    }
    atomic_fetch_add(&bench->questions, is_df);
    text_add(reply, is_df ? "{\"stats\":{\"total_avail_bytes\":7},\"pools\":[" : "[");
    for (size_t i = 0; i < ARRAY_LENGTH(NAMES); i++)
        text_addf(reply,
                  is_df ? "%s{\"name\":\"%s\",\"stats\":{\"stored\":1,\"max_avail\":100}}"
                        : "%s{\"pool_name\":\"%s\",\"quota_max_bytes\":0}",
                  i ? "," : "", NAMES[i]);
    text_add(reply, is_df ? "]}" : "]");
    return 0;
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1000 + (double)now.tv_nsec / 1000000;
}

static void *ask(void *object)
{
    struct caller *caller = object;

    for (size_t i = 0; i < CALLS; i++) {
        _cleanup_error_ struct error err = {0};
        struct capacity capacity;
        struct call call;
        double start = now_ms();

        call_init(&call, i, "GetCapacity", deadline_in_ms(10000));
        int result = controller_get_capacity(&caller->bench->controller, &call,
                                             &caller->bench->request, &capacity, &err);
        call_done(&call);
        caller->times_ms[i] = now_ms() - start;
        if (result < 0 || capacity.available_bytes != 100) {
            fprintf(stderr, "capacity-bench: %s\n", err.message ? err.message : "another answer");
            exit(1);
        }
        usleep(PAUSE_US);
    }
    return NULL;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(struct bench *bench)
{
    static double times[CALLERS * CALLS];
    struct caller callers[CALLERS];

    for (size_t i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.bench = bench, .times_ms = &times[i * CALLS]};
        if (pthread_create(&callers[i].thread, NULL, ask, &callers[i]) != 0)
            abort();
    }
    for (size_t i = 0; i < CALLERS; i++)
        pthread_join(callers[i].thread, NULL);
    qsort(times, CALLERS * CALLS, sizeof(times[0]), compare_times);
    printf("figure: GetCapacity from memory, %d callers, %d calls: p50 %.3f ms, p99 %.3f ms; %u "
           "questions to the monitors, figures at most %d ms old\n",
           CALLERS, CALLERS * CALLS, times[CALLERS * CALLS / 2], times[CALLERS * CALLS / 100 * 99],
           atomic_load(&bench->questions), MAX_AGE_MS);
}

int main(void)
{
    char path[] = "/tmp/capacity-bench-XXXXXX";
    _cleanup_close_ int fd = mkstemp(path);
    static const char config[] = "[{\"clusterID\":\"c\",\"monitors\":[\"m\"]}]";
    _cleanup_credentials_ struct credentials keyring = {.user = xstrdup("csi")};
    struct bench bench = {.fake = fake_ceph_new()};

    if (fd < 0 || write(fd, config, strlen(config)) < 0)
        return 1;
    secret_set(&keyring.key, "key");
    fake_ceph_answer_mon(bench.fake, answer_mon, &bench);
    bench.controller = (struct controller){
        .ceph = fake_ceph_as_ceph(bench.fake),
        .config = config_file_new(path),
        .standing =
            standing_credentials_new(&(struct standing_credentials_options){.keyring = &keyring}),
    };
    bench.controller.usage =
        usage_cache_new(&(struct usage_cache_options){.ceph = bench.controller.ceph,
                                                      .config = bench.controller.config,
                                                      .max_age_ms = MAX_AGE_MS,
                                                      .listing_age_ms = MAX_AGE_MS});
    strmap_set(&bench.request.parameters, "clusterID", "c");
    strmap_set(&bench.request.parameters, "pool", "zone-a");
    strmap_set(&bench.request.parameters, "topologyConstrainedPools", POOLS);
    strmap_set(&bench.request.segments, "topology.rbd.csi.ceph.com/zone", "a");
    measure(&bench);
    unlink(path);
    bool stopped = usage_cache_stop(bench.controller.usage, 10000);
    return stopped ? 0 : 1;
}
