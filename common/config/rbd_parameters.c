#include "common/config/rbd_parameters.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"
#include "common/config/class_parameters.h"

/* What librbd takes. Outside it answers EDOM, which would look like a fault that a retry mends. */
#define OBJECT_SIZE_MIN (4ULL * 1024)
#define OBJECT_SIZE_MAX (32ULL * 1024 * 1024)

static const char *feature_name(uint64_t bit)
{
    for (size_t i = 0; i < IMAGE_FEATURES_COUNT; i++)
        if (IMAGE_FEATURES[i].bit == bit)
            return IMAGE_FEATURES[i].name;
    return "?";
}

static int parse_feature(const char *name, size_t length, uint64_t *features, struct error *err)
{
    _cleanup_free_ char *word = xstrndup(name, length);
    struct nearest nearest = NEAREST_INIT(word);

    for (size_t i = 0; i < IMAGE_FEATURES_COUNT; i++) {
        if (strcmp(IMAGE_FEATURES[i].name, word) == 0) {
            *features |= IMAGE_FEATURES[i].bit;
            return 0;
        }
        nearest_offer(&nearest, IMAGE_FEATURES[i].name);
    }
    error_set(err, STATUS_INVALID_ARGUMENT, "imageFeatures: unknown feature '%s'", word);
    if (nearest.name)
        error_hint(err, "did you mean '%s'?", nearest.name);
    return -1;
}

int rbd_features_parse(const char *text, const char *mounter, uint64_t *features, struct error *err)
{
    uint64_t bits = 0;

    for (const char *next = text; next; next = strchr(next, ',')) {
        next += next != text; /* behind the comma */
        if (parse_feature(next, strcspn(next, ","), &bits, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < IMAGE_FEATURES_COUNT; i++)
        if ((bits & IMAGE_FEATURES[i].bit) &&
            (bits & IMAGE_FEATURES[i].needs) != IMAGE_FEATURES[i].needs)
            return error_set(err, STATUS_INVALID_ARGUMENT, "imageFeatures: '%s' needs '%s' as well",
                             IMAGE_FEATURES[i].name, feature_name(IMAGE_FEATURES[i].needs));
    if ((bits & IMAGE_FEATURE_JOURNALING) && strcmp(mounter, "rbd-nbd") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "imageFeatures: 'journaling' needs 'mounter: rbd-nbd', because the "
                         "kernel's client does not have it");
    *features = bits;
    return 0;
}

static int parse_number(const struct strmap *parameters, const char *key, uint64_t *number,
                        struct error *err)
{
    const char *value = strmap_get(parameters, key);

    if (value && text_parse_u64(value, number, err) < 0)
        return error_wrap(err, "%s", key);
    return 0;
}

static int parse_layout(const struct strmap *parameters, struct image_options *image,
                        struct error *err)
{
    uint64_t object_size = 0;

    if (parse_number(parameters, "stripeUnit", &image->stripe_unit, err) < 0 ||
        parse_number(parameters, "stripeCount", &image->stripe_count, err) < 0 ||
        parse_number(parameters, "objectSize", &object_size, err) < 0)
        return -1;
    if ((image->stripe_unit == 0) != (image->stripe_count == 0))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "stripeUnit and stripeCount must be given together");
    if (object_size & (object_size - 1))
        return error_set(err, STATUS_INVALID_ARGUMENT, "objectSize: %llu is not a power of two",
                         (unsigned long long)object_size);
    if (object_size == 0)
        return 0;
    if (object_size < OBJECT_SIZE_MIN || object_size > OBJECT_SIZE_MAX)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "objectSize: %llu is not between %llu and %llu",
                         (unsigned long long)object_size, OBJECT_SIZE_MIN, OBJECT_SIZE_MAX);
    image->object_order = (uint64_t)__builtin_ctzll(object_size);
    return 0;
}

int rbd_parameters_parse(const struct strmap *parameters, struct rbd_parameters *parsed,
                         struct error *err)
{
    static const char *const optional[] = {"pool",          "dataPool",         "radosNamespace",
                                           "imageFeatures", "volumeNamePrefix", "encryptionType"};
    const char *features = strmap_get(parameters, "imageFeatures");
    const char *mounter = strmap_get_or(parameters, "mounter", "rbd");
    struct rbd_parameters result = {
        .pool = strmap_get_or(parameters, "pool", NULL),
        .name_prefix = strmap_get_or(parameters, "volumeNamePrefix", IMAGE_PREFIX_VOLUME),
        .owner = strmap_get_or(parameters, CLASS_SIDECAR_PREFIX "pvc/namespace", NULL),
        .image = {.features = IMAGE_FEATURES_DEFAULT,
                  .data_pool = strmap_get_or(parameters, "dataPool", NULL)},
    };

    if (class_get_cluster(parameters, &result.cluster_id, err) < 0 ||
        class_refuse_empty(parameters, optional, ARRAY_LENGTH(optional), err) < 0 ||
        class_refuse_encryption(parameters, err) < 0)
        return -1;
    if (!result.pool && !strmap_get_or(parameters, "topologyConstrainedPools", NULL))
        return error_set(err, STATUS_INVALID_ARGUMENT, "parameter pool is missing");
    if (features && rbd_features_parse(features, mounter, &result.image.features, err) < 0)
        return -1;
    if (parse_layout(parameters, &result.image, err) < 0)
        return -1;
    *parsed = result;
    return 0;
}
