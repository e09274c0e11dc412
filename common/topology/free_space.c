#include "common/topology/free_space.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/memory.h"
#include "common/base/text.h"

struct free_space free_space_of_pool(const struct pool_usage *usage,
                                     const struct pool_provision *provision, uint64_t overcommit)
{
    uint64_t left = usage->max_avail_bytes;
    const char *full = usage->is_full ? "marked full" : left == 0 ? "full" : NULL;

    if (!usage->has_figures)
        return (struct free_space){.remark = "no figures yet"};
    if (usage->quota_objects && usage->objects >= usage->quota_objects)
        full = "quota of objects used up";
    if (usage->quota_bytes && usage->stored_bytes >= usage->quota_bytes)
        full = "quota used up";
    if (full)
        return (struct free_space){.is_known = true, .remark = full};
    if (usage->quota_bytes && usage->quota_bytes - usage->stored_bytes < left)
        left = usage->quota_bytes - usage->stored_bytes;
    if (overcommit == 0)
        return (struct free_space){.bytes = left, .is_known = true, .remark = ""};
    if (!provision || !provision->is_known)
        return (struct free_space){.remark = "volumes not counted yet"};
    __uint128_t total = ((__uint128_t)usage->stored_bytes + left) * overcommit / 1000;
    __uint128_t promised = (__uint128_t)provision->bytes + provision->in_flight;
    if (promised >= total)
        return (struct free_space){.is_known = true, .remark = "all promised to volumes"};
    total -= promised;
    return (struct free_space){
        .bytes = total > INT64_MAX ? INT64_MAX : (uint64_t)total, .is_known = true, .remark = ""};
}

int overcommit_parse(const char *text, uint64_t *overcommit, struct error *err)
{
    uint64_t whole = 0;
    uint64_t thousandths = 0;
    const char *c = text;
    int decimals = 0;

    for (; *c >= '0' && *c <= '9' && whole <= 1000; c++)
        whole = whole * 10 + (uint64_t)(*c - '0');
    bool has_digits = c != text;
    if (*c == '.')
        for (c++; *c >= '0' && *c <= '9' && decimals < 3; c++, decimals++)
            thousandths = thousandths * 10 + (uint64_t)(*c - '0');
    bool is_number = *c == '\0' && has_digits && (decimals > 0 || c[-1] != '.');
    for (; decimals < 3; decimals++)
        thousandths *= 10;
    uint64_t value = whole * 1000 + thousandths;
    if (!is_number || value == 0 || value > 1000 * 1000)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "overcommit: '%.40s' is not a number between 0.001 and 1000 with at most "
                         "three decimals",
                         text);
    *overcommit = value;
    return 0;
}

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* Those that share stand together, the largest first. */
static int compare_items(const void *a, const void *b)
{
    const struct free_space_item *x = *(const struct free_space_item *const *)a;
    const struct free_space_item *y = *(const struct free_space_item *const *)b;
    int order = compare_texts(x->cluster, y->cluster);

    if (order == 0)
        order = compare_texts(x->root, y->root);
    return order ? order : (x->space.bytes < y->space.bytes) - (x->space.bytes > y->space.bytes);
}

static bool shares_space(const struct free_space_item *a, const struct free_space_item *b)
{
    return a->root && b->root && strcmp(a->root, b->root) == 0 &&
           compare_texts(a->cluster, b->cluster) == 0;
}

void free_space_sum(const struct free_space_item *items, size_t count, uint64_t *total,
                    uint64_t *largest)
{
    const struct free_space_item **sorted =
        xcalloc(count + 1, sizeof(const struct free_space_item *));
    uint64_t sum = 0;
    uint64_t best = 0;

    for (size_t i = 0; i < count; i++)
        sorted[i] = &items[i];
    qsort(sorted, count, sizeof(const struct free_space_item *), compare_items);
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = sorted[i]->space.bytes;

        if (bytes > best)
            best = bytes;
        if (i > 0 && shares_space(sorted[i - 1], sorted[i]))
            continue;
        sum = bytes > INT64_MAX - sum ? INT64_MAX : sum + bytes;
    }
    free(sorted);
    *total = sum;
    *largest = best;
}
