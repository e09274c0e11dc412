#include "node/rbd/choose_mapper.h"

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "node/kernel_key.h"

/* *@reason (caller frees) stays NULL if @mapper can map this image here. */
static int ask_mapper(const struct node_volumes *volumes, struct call *call,
                      const struct mapper *mapper, const struct node_image *image,
                      const struct credentials *credentials, char **reason, struct error *err)
{
    uint64_t known = 0;
    uint64_t features = 0;

    if (mapper->is_usable && !mapper->is_usable(&volumes->mappers, call, reason))
        return 0;
    if (mapper->uses_kernel_keys)
        kernel_key_check(volumes->mappers.host, credentials, reason);
    if (*reason || !mapper->features)
        return 0;
    if (mapper->features(&volumes->mappers, &known, err) < 0 ||
        image->pool->ops->image_get_features(image->pool, call, image->name, &features, err) < 0)
        return -1;
    uint64_t missing = features & ~known;
    if (missing)
        *reason = xasprintf("the kernel's %s driver lacks features 0x%llx of image '%s'",
                            mapper->mounter, (unsigned long long)missing, image->name);
    return 0;
}

/* Names a mounter that was not tried, and would work. */
static int suggest_mounter(struct error *err)
{
    for (size_t i = 0; MAPPERS[i]; i++)
        if (!MAPPERS[i]->is_usable)
            return error_hint(err, "mounter '%s' needs neither", MAPPERS[i]->mounter);
    return -1;
}

int node_choose_mapper(const struct node_volumes *volumes, struct call *call,
                       const struct node_image *image, const struct stage_request *request,
                       const struct mapper **mapper, struct error *err)
{
    const struct strmap *context = &request->context;
    const char *name = strmap_get_or(context, PARAM_MOUNTER, volumes->default_mounter);
    const struct mapper *wanted = MAPPERS[0];
    _cleanup_free_ char *reason = NULL;
    _cleanup_free_ char *other_reason = NULL;
    bool try_others = false;

    if (text_parse_bool(class_parameter_get(context, PARAM_TRY_OTHER_MOUNTERS), &try_others, err) <
        0)
        return error_wrap(err, "volume_context: tryOtherMounters");
    if ((name[0] && mapper_find_mounter(name, &wanted, err) < 0) ||
        ask_mapper(volumes, call, wanted, image, &request->credentials, &reason, err) < 0)
        return -1;
    *mapper = wanted;
    if (!reason)
        return 0;
    const struct mapper *other = wanted->substitute;
    if (other && !try_others && !wanted->is_always_substituted) {
        error_set(err, STATUS_FAILED_PRECONDITION, "cannot map image '%s': %s", image->name,
                  reason);
        return error_hint(err,
                          PARAM_MOUNTER ": \"%s\" in the class, or --mounter=%s on the node, maps "
                                        "with that; " PARAM_TRY_OTHER_MOUNTERS
                                        ": \"true\" in the class where nothing else works",
                          other->mounter, other->mounter);
    }
    if (other &&
        ask_mapper(volumes, call, other, image, &request->credentials, &other_reason, err) < 0)
        return -1;
    if (!other || other_reason) {
        error_set(err, STATUS_FAILED_PRECONDITION, "cannot map image '%s': %s%s%s", image->name,
                  reason, other ? "; " : "", other ? other_reason : "");
        return suggest_mounter(err);
    }
    log_warn(call, "mapping with %s: %s", other->name, reason);
    *mapper = other;
    return 0;
}
