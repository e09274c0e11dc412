#include "common/topology/room.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/memory.h"
#include "common/base/text.h"

/* What can still be written to the pool. */
static uint64_t writable(const struct pool_usage *usage)
{
    if (usage->quota_bytes == 0)
        return usage->max_avail_bytes;
    if (usage->stored_bytes >= usage->quota_bytes)
        return 0;
    uint64_t left = usage->quota_bytes - usage->stored_bytes;
    return left < usage->max_avail_bytes ? left : usage->max_avail_bytes;
}

static const char *why_nothing_is_writable(const struct pool_usage *usage)
{
    if (usage->quota_bytes && usage->stored_bytes >= usage->quota_bytes)
        return "quota used up";
    if (usage->quota_objects && usage->objects >= usage->quota_objects)
        return "quota of objects used up";
    return usage->is_full ? "marked full" : "full";
}

/* Out of @stored + @free times @overcommit, what is not promised yet. */
static uint64_t unpromised(const struct pool_usage *usage, uint64_t left,
                           const struct pool_provision *provision, uint64_t overcommit)
{
    __uint128_t total = ((__uint128_t)usage->stored_bytes + left) * overcommit / 1000;
    __uint128_t promised = (__uint128_t)provision->bytes + provision->in_flight;

    if (promised >= total)
        return 0;
    total -= promised;
    return total > INT64_MAX ? INT64_MAX : (uint64_t)total;
}

struct room room_of_pool(const struct pool_usage *usage, const struct pool_provision *provision,
                         uint64_t overcommit)
{
    if (!usage->has_figures)
        return (struct room){.remark = "no figures yet"};
    uint64_t left = writable(usage);
    bool is_full =
        usage->is_full || (usage->quota_objects && usage->objects >= usage->quota_objects);
    if (left == 0 || is_full)
        return (struct room){.is_known = true, .remark = why_nothing_is_writable(usage)};
    if (overcommit == 0)
        return (struct room){.bytes = left, .is_known = true, .remark = ""};
    if (!provision || !provision->is_known)
        return (struct room){.remark = "volumes not counted yet"};
    uint64_t bytes = unpromised(usage, left, provision, overcommit);
    return (struct room){
        .bytes = bytes, .is_known = true, .remark = bytes ? "" : "all promised to volumes"};
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
    const struct room_sum_item *x = *(const struct room_sum_item *const *)a;
    const struct room_sum_item *y = *(const struct room_sum_item *const *)b;
    int order = compare_texts(x->cluster, y->cluster);

    if (order == 0)
        order = compare_texts(x->root, y->root);
    return order ? order : (x->room.bytes < y->room.bytes) - (x->room.bytes > y->room.bytes);
}

static bool shares_room(const struct room_sum_item *a, const struct room_sum_item *b)
{
    return a->root && b->root && strcmp(a->root, b->root) == 0 &&
           compare_texts(a->cluster, b->cluster) == 0;
}

void room_sum(const struct room_sum_item *items, size_t count, uint64_t *total, uint64_t *largest)
{
    const struct room_sum_item **sorted = xcalloc(count + 1, sizeof(const struct room_sum_item *));
    uint64_t sum = 0;
    uint64_t best = 0;

    for (size_t i = 0; i < count; i++)
        sorted[i] = &items[i];
    qsort(sorted, count, sizeof(const struct room_sum_item *), compare_items);
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = sorted[i]->room.bytes;

        if (bytes > best)
            best = bytes;
        if (i > 0 && shares_room(sorted[i - 1], sorted[i]))
            continue;
        sum = bytes > INT64_MAX - sum ? INT64_MAX : sum + bytes;
    }
    free(sorted);
    *total = sum;
    *largest = best;
}
