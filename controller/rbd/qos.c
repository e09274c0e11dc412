#include "controller/rbd/qos.h"

#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/class_parameters.h"

#define GIB_SHIFT 30
/* how librbd's options begin */
#define OPTION (&METADATA_QOS[sizeof(METADATA_SETTING) - 1])

enum qos_form { QOS_NONE, QOS_OPTIONS, QOS_POLICY, QOS_MAXIMA };

/* --- which form --- */

/* Those of reads and of writes: cgroups know no sums. */
static bool limit_has_cgroup(const struct class_limit *limit)
{
    return strchr(limit->kind, '_');
}

static bool is_maximum(const char *key)
{
    for (size_t i = 0; i < CLASS_LIMITS; i++)
        if (limit_has_cgroup(&CLASS_LIMIT[i]) && strcmp(key, CLASS_LIMIT[i].max) == 0)
            return true;
    return false;
}

/* QOS_NONE if it is no limit. */
static enum qos_form form_of_key(const char *key)
{
    const struct class_parameter *parameter = class_parameter_find(key, CLASS_RBD);

    if (!parameter || !(parameter->calls & CLASS_MODIFY_VOLUME))
        return QOS_NONE;
    if (text_has_prefix(key, OPTION))
        return QOS_OPTIONS;
    return is_maximum(key) ? QOS_MAXIMA : QOS_POLICY;
}

/* Maxima are a part of a policy, if there is one. */
static enum qos_form form_of(const struct strmap *parameters)
{
    enum qos_form form = QOS_NONE;

    for (size_t i = 0; i < parameters->count; i++) {
        enum qos_form own = form_of_key(parameters->entries[i].key);

        if (own == QOS_OPTIONS || own == QOS_POLICY)
            return own;
        if (own == QOS_MAXIMA)
            form = own;
    }
    return form;
}

static int refuse_key(const char *key, struct error *err)
{
    const char *meant = class_parameter_suggest(key, CLASS_RBD, CLASS_MODIFY_VOLUME);

    error_set(err, STATUS_INVALID_ARGUMENT,
              "mutable parameter '%.64s' is not known; possible are Ceph-CSI's " PARAM_BASE_IOPS
              ", " PARAM_MAX_READ_IOPS ", " PARAM_IOPS_PER_GIB
              " and their like, and librbd's rbd_qos_[read_|write_]{iops,bps}_"
              "{limit,burst,burst_seconds}",
              key);
    return meant ? error_hint(err, "did you mean '%s'?", meant) : -1;
}

int qos_check(const struct strmap *mutable_parameters, struct error *err)
{
    const char *other = NULL;
    const char *option = NULL;

    for (size_t i = 0; i < mutable_parameters->count; i++) {
        const char *key = mutable_parameters->entries[i].key;
        enum qos_form form = form_of_key(key);

        if (form == QOS_NONE)
            return refuse_key(key, err);
        if (class_parameter_check(mutable_parameters, CLASS_RBD, key, err) < 0)
            return error_wrap(err, "mutable parameter");
        *(form == QOS_OPTIONS ? &option : &other) = key;
    }
    if (option && other)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "mutable parameters '%s' and '%s' cannot be in one class: use librbd's "
                         "options or Ceph-CSI's names",
                         option, other);
    return 0;
}

/* --- what becomes of it --- */

/* @fallback for what is missing, is LIMIT_MAX, or was not written by a driver. */
static uint64_t number_or(const char *text, uint64_t fallback)
{
    _cleanup_error_ struct error ignored = {0};
    uint64_t number = 0;

    return text && text_parse_u64(text, &number, &ignored) == 0 ? number : fallback;
}

struct policy {
    const char *base; /* texts; NULL: not given */
    const char *max;
    const char *per_gib;
    const char *base_size;
};

static uint64_t limit_at(const struct policy *policy, uint64_t size_bytes)
{
    const uint64_t base = number_or(policy->base, 0);
    const uint64_t base_size = number_or(policy->base_size, UINT64_MAX);
    uint64_t limit = base;

    if (!policy->per_gib || size_bytes <= base_size)
        return base;
    if (__builtin_mul_overflow((size_bytes - base_size) >> GIB_SHIFT, number_or(policy->per_gib, 0),
                               &limit) ||
        __builtin_add_overflow(limit, base, &limit) || limit > INT64_MAX)
        limit = INT64_MAX;
    const uint64_t most = number_or(policy->max, INT64_MAX);
    return limit > most ? most : limit;
}

static void set_if_given(struct strmap *entries, const char *before, const char *kind,
                         const char *after, const char *value)
{
    _cleanup_free_ char *key = xasprintf("%s%s%s", before, kind, after);

    if (value)
        strmap_set(entries, key, value);
}

static void add_active(const char *kind, const struct policy *policy, uint64_t size_bytes,
                       struct strmap *entries)
{
    uint64_t limit = limit_at(policy, size_bytes);
    _cleanup_free_ char *text = xasprintf("%llu", (unsigned long long)limit);

    if (limit > 0) /* 0 is none */
        set_if_given(entries, METADATA_QOS, kind, METADATA_RBD_LIMIT, text);
}

static const char *get_either(const struct strmap *parameters, const char *key, const char *old)
{
    const char *value = strmap_get(parameters, key);

    return value || !old ? value : strmap_get(parameters, old);
}

static void add_policy(const struct strmap *parameters, uint64_t size_bytes, struct strmap *entries)
{
    const char *base_size =
        get_either(parameters, PARAM_BASE_VOLUME_SIZE, PARAM_OLD_BASE_VOLUME_SIZE);

    for (size_t i = 0; i < CLASS_LIMITS; i++) {
        const struct class_limit *limit = &CLASS_LIMIT[i];
        const struct policy policy = {
            .base = get_either(parameters, limit->base, limit->old_base),
            .max = strmap_get(parameters, limit->max),
            .per_gib = get_either(parameters, limit->per_gib, limit->old_per_gib),
            .base_size = base_size,
        };

        if (!policy.base)
            continue;
        add_active(limit->kind, &policy, size_bytes, entries);
        set_if_given(entries, METADATA_RBD_BASE_QOS, limit->kind, METADATA_RBD_LIMIT, policy.base);
        set_if_given(entries, METADATA_RBD_MAX_QOS, limit->kind, METADATA_RBD_LIMIT,
                     policy.max && strcmp(policy.max, LIMIT_MAX) != 0 ? policy.max : NULL);
        set_if_given(entries, METADATA_RBD_POLICY, limit->kind, METADATA_RBD_PER_GIB,
                     policy.per_gib);
        set_if_given(entries, METADATA_RBD_BASE_SIZE, "", "", base_size);
    }
}

static void add_options(const struct strmap *parameters, struct strmap *entries)
{
    for (size_t i = 0; i < parameters->count; i++) {
        const struct strmap_entry *item = &parameters->entries[i];

        if (form_of_key(item->key) == QOS_OPTIONS && number_or(item->value, 0) > 0)
            set_if_given(entries, METADATA_SETTING, item->key, "", item->value);
    }
}

static void add_maxima(const struct strmap *parameters, struct strmap *entries)
{
    for (size_t i = 0; i < CLASS_LIMITS; i++)
        if (limit_has_cgroup(&CLASS_LIMIT[i]))
            set_if_given(entries, METADATA_RBD_CGROUP, CLASS_LIMIT[i].kind, "",
                         strmap_get(parameters, CLASS_LIMIT[i].max));
}

void qos_to_metadata(const struct strmap *parameters, uint64_t size_bytes, struct strmap *entries)
{
    switch (form_of(parameters)) {
    case QOS_OPTIONS:
        add_options(parameters, entries);
        break;
    case QOS_POLICY:
        add_policy(parameters, size_bytes, entries);
        break;
    case QOS_MAXIMA:
        add_maxima(parameters, entries);
        break;
    case QOS_NONE:
        break;
    }
}

/* --- on an image --- */

bool qos_has_key(const char *key)
{
    const size_t length = strlen(key);
    const size_t suffix = strlen(METADATA_RBD_PER_GIB);

    return text_has_prefix(key, METADATA_QOS) || text_has_prefix(key, METADATA_RBD_BASE_QOS) ||
           text_has_prefix(key, METADATA_RBD_MAX_QOS) ||
           text_has_prefix(key, METADATA_RBD_CGROUP) ||
           (text_has_prefix(key, METADATA_RBD_POLICY) && length > suffix &&
            strcmp(key + length - suffix, METADATA_RBD_PER_GIB) == 0);
}

/* Sets those of @wanted that @present has otherwise; removes @removed. */
static int change_limits(struct ceph_pool *pool, struct call *call, const char *image,
                         const struct strmap *present, const struct strmap *wanted,
                         const struct string_list *removed, struct error *err)
{
    _cleanup_strmap_ struct strmap changed = {0};

    for (size_t i = 0; i < wanted->count; i++) {
        const struct strmap_entry *item = &wanted->entries[i];
        const char *value = strmap_get(present, item->key);

        if (!value || strcmp(value, item->value) != 0)
            strmap_set(&changed, item->key, item->value);
    }
    if (changed.count == 0 && removed->count == 0)
        return 0;
    return pool->ops->image_metadata_change(pool, call, image, &changed, removed, err);
}

int qos_apply(struct ceph_pool *pool, struct call *call, const char *image,
              const struct strmap *wanted, struct error *err)
{
    _cleanup_strmap_ struct strmap present = {0};
    _cleanup_string_list_ struct string_list lifted = {0};

    if (pool->ops->image_metadata_get(pool, call, image, &present, err) < 0)
        return -1;
    for (size_t i = 0; i < present.count; i++)
        if (qos_has_key(present.entries[i].key) && !strmap_has(wanted, present.entries[i].key))
            string_list_add(&lifted, present.entries[i].key);
    return change_limits(pool, call, image, &present, wanted, &lifted, err);
}

static const char *get_saved(const struct strmap *present, const char *before, const char *kind,
                             const char *after)
{
    _cleanup_free_ char *key = xasprintf("%s%s%s", before, kind, after);

    return strmap_get(present, key);
}

int qos_grow(struct ceph_pool *pool, struct call *call, const char *image, uint64_t size_bytes,
             struct error *err)
{
    static const struct string_list nothing = {0};
    _cleanup_strmap_ struct strmap present = {0};
    _cleanup_strmap_ struct strmap wanted = {0};

    if (pool->ops->image_metadata_get(pool, call, image, &present, err) < 0)
        return -1;
    for (size_t i = 0; i < CLASS_LIMITS; i++) {
        const char *kind = CLASS_LIMIT[i].kind;
        const struct policy policy = {
            .base = get_saved(&present, METADATA_RBD_BASE_QOS, kind, METADATA_RBD_LIMIT),
            .max = get_saved(&present, METADATA_RBD_MAX_QOS, kind, METADATA_RBD_LIMIT),
            .per_gib = get_saved(&present, METADATA_RBD_POLICY, kind, METADATA_RBD_PER_GIB),
            .base_size = strmap_get(&present, METADATA_RBD_BASE_SIZE),
        };

        if (policy.base && policy.per_gib)
            add_active(kind, &policy, size_bytes, &wanted);
    }
    return change_limits(pool, call, image, &present, &wanted, &nothing, err);
}
