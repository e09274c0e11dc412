#include "common/config/rbd_parameters.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/ceph/image_features.h"
#include "common/config/class_parameters.h"

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
        for (size_t k = 0; k < IMAGE_FEATURES_COUNT; k++)
            if ((bits & IMAGE_FEATURES[i].bit) &&
                IMAGE_FEATURES[i].needs == IMAGE_FEATURES[k].bit && !(bits & IMAGE_FEATURES[k].bit))
                return error_set(err, STATUS_INVALID_ARGUMENT,
                                 "imageFeatures: '%s' needs '%s' as well", IMAGE_FEATURES[i].name,
                                 IMAGE_FEATURES[k].name);
    if ((bits & IMAGE_FEATURE_JOURNALING) && strcmp(mounter, "rbd-nbd") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "imageFeatures: 'journaling' needs 'mounter: rbd-nbd', because the "
                         "kernel's client does not have it");
    *features = bits;
    return 0;
}

/* What class_parameters_check() accepted, 0 if it is left out. */
static uint64_t get_number(const struct strmap *parameters, const char *key)
{
    return strtoull(strmap_get_or(parameters, key, "0"), NULL, 10);
}

int rbd_parameters_parse(const struct strmap *parameters, struct rbd_parameters *parsed,
                         struct error *err)
{
    if (class_parameters_check(parameters, CLASS_RBD, err) < 0)
        return -1;
    const char *features = strmap_get(parameters, PARAM_IMAGE_FEATURES);
    const char *mounter = strmap_get_or(parameters, PARAM_MOUNTER, "rbd");
    const uint64_t object_size = get_number(parameters, PARAM_OBJECT_SIZE);
    struct rbd_parameters result = {
        .cluster_id = class_parameter_get(parameters, PARAM_CLUSTER_ID),
        .pool = class_parameter_get(parameters, PARAM_POOL),
        .name_prefix = class_parameter_get(parameters, PARAM_VOLUME_PREFIX),
        .owner = class_parameter_get(parameters, PARAM_PVC_NAMESPACE),
        .image = {.features = IMAGE_FEATURES_DEFAULT,
                  .data_pool = class_parameter_get(parameters, PARAM_DATA_POOL),
                  .stripe_unit = get_number(parameters, PARAM_STRIPE_UNIT),
                  .stripe_count = get_number(parameters, PARAM_STRIPE_COUNT),
                  .object_order = object_size ? (uint64_t)__builtin_ctzll(object_size) : 0},
    };

    if (features && rbd_features_parse(features, mounter, &result.image.features, err) < 0)
        return -1;
    if ((result.image.stripe_unit == 0) != (result.image.stripe_count == 0))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "stripeUnit and stripeCount must be given together");
    *parsed = result;
    return 0;
}
