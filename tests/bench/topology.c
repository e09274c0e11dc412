/*
 * topology-bench: pool selection over many pool entries and long requirements, pure. Prints the
 * median time of several rounds and fails when a case takes more than the limit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/memory.h"
#include "common/topology/domain.h"
#include "common/topology/placement.h"

#define PREFIX "topology.rbd.csi.ceph.com"
#define POOLS 1000
#define TERMS 5000
#define ROUNDS 51
#define LIMIT_MS 1.0
#define MEMBER_LIMIT_MS 2.0 /* nodes have plain keys as well: their terms need no others */

struct question {
    struct pool_entries entries;
    struct placement_candidate candidates[POOLS];
    struct topology_requirement requirement;
};

static void set_segment(struct strmap *term, const char *level, const char *value, bool by_member)
{
    _cleanup_free_ char *plain = segment_key(PREFIX, level);
    _cleanup_free_ char *member = membership_key(PREFIX, level, value);

    if (!by_member)
        strmap_set(term, plain, value);
    strmap_set(term, member, "true");
}

/* Zones are numbered from @first on; ten to a region. */
static void add_terms(struct topology_terms *terms, size_t count, size_t first, bool by_member)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_strmap_ struct strmap term = {0};
        _cleanup_free_ char *zone = xasprintf("zone-%zu", first + i);
        _cleanup_free_ char *region = xasprintf("region-%zu", (first + i) / 10);

        set_segment(&term, "zone", zone, by_member);
        set_segment(&term, "region", region, by_member);
        topology_terms_add(terms, &term);
    }
}

static void add_pools(struct question *question, uint64_t room)
{
    for (size_t i = 0; i < POOLS; i++) {
        struct pool_entry entry = {.pool = xasprintf("pool-%zu", i),
                                   .segments = xcalloc(2, sizeof(*entry.segments)),
                                   .count = 2,
                                   .origin = "class"};

        entry.segments[0] =
            (struct pool_segment){xstrdup("region"), xasprintf("region-%zu", i / 10)};
        entry.segments[1] = (struct pool_segment){xstrdup("zone"), xasprintf("zone-%zu", i)};
        pool_entries_add(&question->entries, &entry);
    }
    for (size_t i = 0; i < POOLS; i++)
        question->candidates[i] =
            (struct placement_candidate){.entry = &question->entries.items[i],
                                         .space = {.bytes = room, .is_known = true, .remark = ""}};
}

/* Of this thread: what others do on the machine does not count. */
static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double measure(const struct question *question, bool *has_pool)
{
    const struct placement_request request = {.volume_name = "pvc-1",
                                              .size_bytes = 1 << 30,
                                              .requirement = &question->requirement,
                                              .candidates = question->candidates,
                                              .count = POOLS};
    double times[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        _cleanup_decision_ struct decision decision = {0};
        _cleanup_error_ struct error err = {0};
        double start = now_ms();

        *has_pool = placement_decide(&request, &decision, &err) == 0;
        times[i] = now_ms() - start;
    }
    qsort(times, ROUNDS, sizeof(times[0]), compare);
    return times[ROUNDS / 2];
}

struct bench_case {
    const char *title;
    uint64_t room;
    size_t preferred, preferred_first; /* number of terms, zone of the first */
    size_t requisite, requisite_first;
    bool by_member;
};

static const struct bench_case CASES[] = {
    {"typical: the first term fits", 1 << 30, TERMS / 2, 0, TERMS / 2, 0, false},
    {"one pool late in the requisite terms", 1 << 30, TERMS - 1, POOLS, 1, POOLS - 1, false},
    {"no pool serves any term", 1 << 30, TERMS / 2, POOLS, TERMS / 2, POOLS, false},
    {"all pools are full", 0, TERMS / 2, 0, TERMS / 2, 0, false},
    {"no pool serves any term, membership keys only", 1 << 30, TERMS / 2, POOLS, TERMS / 2, POOLS,
     true},
    {"all pools are full, membership keys only", 0, TERMS / 2, 0, TERMS / 2, 0, true},
};

static bool run_case(const struct bench_case *bench)
{
    struct question *question = xcalloc(1, sizeof(*question));
    bool has_pool = false;

    add_pools(question, bench->room);
    add_terms(&question->requirement.preferred, bench->preferred, bench->preferred_first,
              bench->by_member);
    add_terms(&question->requirement.requisite, bench->requisite, bench->requisite_first,
              bench->by_member);
    double median = measure(question, &has_pool);
    printf("figure: pool selection, %d pools, %d terms, %s: %.3f ms%s\n", POOLS, TERMS,
           bench->title, median, has_pool ? "" : " (no pool)");
    topology_requirement_done(&question->requirement);
    pool_entries_done(&question->entries);
    free(question);
    return median < (bench->by_member ? MEMBER_LIMIT_MS : LIMIT_MS);
}

int main(void)
{
    bool is_fast = true;

    for (size_t i = 0; i < ARRAY_LENGTH(CASES); i++)
        is_fast &= run_case(&CASES[i]);
    if (!is_fast)
        fputs("topology-bench: slower than it should be\n", stderr);
    return !is_fast;
}
