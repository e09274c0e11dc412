#include "node/rbd/choose_mapper.h"

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"

static int unknown_mounter(const char *name, struct error *err)
{
    static const char *const names[] = {"rbd", "rbd-nbd", "fuse"};
    struct nearest nearest = NEAREST_INIT(name);

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        nearest_offer(&nearest, names[i]);
    error_set(err, STATUS_INVALID_ARGUMENT,
              "mounter '%.64s' is unknown; there are rbd, rbd-nbd "
              "and fuse",
              name);
    return nearest.name ? error_hint(err, "did you mean '%s'?", nearest.name) : -1;
}

/* *@reason is set (caller frees) when krbd cannot map this image. */
static int ask_krbd(const struct node_volumes *volumes, struct call *call, struct node_image *image,
                    char **reason, struct error *err)
{
    uint64_t known = 0;
    uint64_t features = 0;

    if (!MAPPER_KRBD.is_usable(&volumes->mappers, call, reason))
        return 0;
    if (MAPPER_KRBD.features(&volumes->mappers, &known, err) < 0 ||
        image->pool->ops->image_get_features(image->pool, call, image->name, &features, err) < 0)
        return -1;
    uint64_t missing = features & ~known;
    if (missing)
        *reason = xasprintf("the kernel's rbd driver lacks features 0x%llx of image '%s'",
                            (unsigned long long)missing, image->name);
    return 0;
}

static int choose_nbd(const struct node_volumes *volumes, struct call *call,
                      struct node_image *image, const struct mapper **mapper, struct error *err)
{
    _cleanup_free_ char *no_nbd = NULL;
    _cleanup_free_ char *no_krbd = NULL;

    *mapper = &MAPPER_NBD;
    if (MAPPER_NBD.is_usable(&volumes->mappers, call, &no_nbd))
        return 0;
    if (ask_krbd(volumes, call, image, &no_krbd, err) < 0)
        return -1;
    if (no_krbd)
        return error_set(err, STATUS_FAILED_PRECONDITION, "cannot map image '%s': %s; %s",
                         image->name, no_nbd, no_krbd);
    log_warn(call, "mapping with krbd: %s", no_nbd);
    *mapper = &MAPPER_KRBD;
    return 0;
}

static int choose_krbd(const struct node_volumes *volumes, struct call *call,
                       struct node_image *image, bool try_others, const struct mapper **mapper,
                       struct error *err)
{
    _cleanup_free_ char *no_krbd = NULL;
    _cleanup_free_ char *no_nbd = NULL;

    *mapper = &MAPPER_KRBD;
    if (ask_krbd(volumes, call, image, &no_krbd, err) < 0)
        return -1;
    if (!no_krbd)
        return 0;
    *mapper = &MAPPER_NBD;
    if (try_others && MAPPER_NBD.is_usable(&volumes->mappers, call, &no_nbd))
        return 0;
    error_set(err, STATUS_FAILED_PRECONDITION, "cannot map image '%s': %s%s%s", image->name,
              no_krbd, no_nbd ? "; " : "", no_nbd ? no_nbd : "");
    return try_others ? error_hint(err, "mounter 'fuse' needs neither")
                      : error_hint(err, "tryOtherMounters: \"true\" in the class lets rbd-nbd try");
}

int node_choose_mapper(const struct node_volumes *volumes, struct call *call,
                       struct node_image *image, const struct strmap *context,
                       const struct mapper **mapper, struct error *err)
{
    const char *name = strmap_get_or(context, PARAM_MOUNTER, volumes->default_mounter);
    bool try_others = false;

    if (text_parse_bool(class_parameter_get(context, PARAM_TRY_OTHER_MOUNTERS), &try_others, err) <
        0)
        return error_wrap(err, "volume_context: tryOtherMounters");
    if (name[0] == '\0')
        return choose_krbd(volumes, call, image, true, mapper, err);
    *mapper = mapper_find(name);
    if (!*mapper)
        return unknown_mounter(name, err);
    if (*mapper == &MAPPER_KRBD)
        return choose_krbd(volumes, call, image, try_others, mapper, err);
    return *mapper == &MAPPER_NBD ? choose_nbd(volumes, call, image, mapper, err) : 0;
}
