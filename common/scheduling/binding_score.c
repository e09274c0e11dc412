#include "common/scheduling/binding_score.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"

/* Kubernetes' shapes go to 10, its scores to 100. */
#define SHAPE_FACTOR 10

struct class_use {
    const char *name;
    int64_t requested;
    int64_t capacity;
};

struct class_uses {
    struct class_use *items;
    size_t count;
};

static struct class_use *use_of(struct class_uses *uses, const char *name)
{
    for (size_t i = 0; i < uses->count; i++)
        if (strcmp(uses->items[i].name, name) == 0)
            return &uses->items[i];
    uses->items[uses->count].name = name;
    return &uses->items[uses->count++];
}

static int64_t add_bytes(int64_t a, int64_t b)
{
    int64_t sum = 0;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static bool collect_uses(const struct pod_claims *claims, const struct node_decision *decision,
                         enum choice_kind kind, struct class_uses *uses)
{
    for (size_t i = 0; i < claims->count; i++) {
        const struct claim_choice *choice = &decision->choices[i];
        const struct kube_pvc *claim = claims->items[i].claim;

        if (choice->kind != kind || (kind == CHOICE_DYNAMIC && !choice->capacity))
            continue;
        /* the field of the spec: Kubernetes forgets the annotation here */
        const char *name = kind == CHOICE_STATIC ? choice->pv->class_name : claim->class_name;
        struct class_use *use = use_of(uses, name ? name : "");

        use->requested = add_bytes(use->requested, quantity_value(&claim->request));
        if (kind == CHOICE_STATIC)
            use->capacity = add_bytes(use->capacity, quantity_value(&choice->pv->capacity));
        else /* of one class the last object counts; never the sum, never maximumVolumeSize */
            use->capacity =
                choice->capacity->has_capacity ? quantity_value(&choice->capacity->capacity) : 0;
    }
    return uses->count > 0;
}

int64_t binding_shape(const struct binding_options *options, int64_t utilization)
{
    const struct score_point *points = options->shape;
    size_t i = 0;

    while (i < options->shape_count && utilization > points[i].utilization)
        i++;
    if (i == 0 || i == options->shape_count)
        return points[i == 0 ? 0 : i - 1].score * SHAPE_FACTOR;
    int64_t from = points[i - 1].score * SHAPE_FACTOR;
    int64_t to = points[i].score * SHAPE_FACTOR;
    return from + (to - from) * (utilization - points[i - 1].utilization) /
                      (points[i].utilization - points[i - 1].utilization);
}

/* The mean, halves away from zero; nothing here is negative. */
static int64_t mean(int64_t sum, size_t count)
{
    return count ? (2 * sum + (int64_t)count) / (2 * (int64_t)count) : 0;
}

static int64_t score_classes(const struct binding_options *options, const struct pod_claims *claims,
                             const struct node_decision *decision)
{
    struct class_uses uses = {.items = xcalloc(claims->count + 1, sizeof(*uses.items))};
    int64_t sum = 0;

    if (!collect_uses(claims, decision, CHOICE_STATIC, &uses))
        collect_uses(claims, decision, CHOICE_DYNAMIC, &uses);
    for (size_t i = 0; i < uses.count; i++) {
        const struct class_use *use = &uses.items[i];
        int64_t utilization = 100;

        if (use->capacity > 0 && use->requested <= use->capacity)
            utilization = (int64_t)((__int128)use->requested * 100 / use->capacity);
        sum += binding_shape(options, utilization);
    }
    free(uses.items);
    return mean(sum, uses.count);
}

static int64_t score_original(const struct pod_claims *claims, const struct node_decision *decision)
{
    int64_t sum = 0;

    for (size_t i = 0; i < claims->count; i++) {
        const struct claim_choice *choice = &decision->choices[i];

        if (choice->kind != CHOICE_STATIC)
            continue;
        int64_t request = quantity_value(&claims->items[i].claim->request);
        int64_t capacity = quantity_value(&choice->pv->capacity);
        sum += 50 + (capacity > 0 ? (int64_t)((__int128)request * 50 / capacity) : 50);
    }
    return mean(sum, claims->delayed_count);
}

int64_t binding_score(const struct binding_options *options, const struct pod_claims *claims,
                      const struct node_decision *decision)
{
    if (decision->verdict != BINDING_FITS)
        return 0;
    if (options->original_design)
        return score_original(claims, decision);
    return options->capacity_scoring ? score_classes(options, claims, decision) : 0;
}
