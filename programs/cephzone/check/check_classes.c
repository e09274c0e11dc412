/* Parameters of classes, and where the names of requests are kept. */
#include <string.h>

#include "common/base/memory.h"
#include "common/config/cephfs_parameters.h"
#include "common/config/rbd_parameters.h"
#include "common/usage/class_pools.h"
#include "common/usage/storage_class.h"
#include "programs/cephzone/check/check_internal.h"

/* Ceph-CSI 3.11 and later keep the name of a request beside the image, wherever that is. */
#define NAMES_MOVED_MINOR 11

/* What a class is for. */
struct class_use {
    const char *kind;
    enum class_call call;
    enum check_result unknown; /* what a key is that nobody knows */
};

static void check_key(struct check *check, const struct class_use *use, const char *object,
                      enum class_driver driver, const char *key)
{
    const struct class_parameter *parameter = class_parameter_find(key, driver);
    const char *nearest = class_parameter_suggest(key, driver, use->call);
    const char *effect = use->unknown == CHECK_FAIL ? "is refused" : "has no effect";

    if (parameter && (parameter->calls & use->call))
        return;
    if (parameter)
        check_add(check, use->unknown, "class", object, "remove it",
                  "the parameter '%s' %s in a %s", key, effect, use->kind);
    else if (nearest) {
        _cleanup_free_ char *advice = xasprintf("did you mean '%s'?", nearest);

        check_add(check, use->unknown, "class", object, advice,
                  "the parameter '%s' is not known and %s", key, effect);
    } else {
        check_add(check, use->unknown, "class", object, "remove it, if you do not count on it",
                  "the parameter '%s' is not known and %s", key, effect);
    }
}

static void check_keys(struct check *check, const struct class_use *use, const char *name,
                       const char *driver, const struct strmap *parameters)
{
    _cleanup_free_ char *object = xasprintf("%s '%s'", use->kind, name);

    for (size_t i = 0; i < parameters->count; i++)
        check_key(check, use, object, check_class_driver(driver), parameters->entries[i].key);
}

/* As CreateVolume does. */
static int parse_class(const struct kube_class *class, struct error *err)
{
    _cleanup_class_pools_ struct class_pools pools = {0};
    struct cephfs_parameters cephfs;
    struct rbd_parameters rbd;

    if (check_class_driver(class->provisioner) == CLASS_CEPHFS)
        return cephfs_parameters_parse(&class->parameters, &cephfs, err) < 0
                   ? -1
                   : class_pools_parse_cephfs(&class->parameters, &pools, err);
    return rbd_parameters_parse(&class->parameters, &rbd, err) < 0
               ? -1
               : class_pools_parse_rbd(&class->parameters, &pools, err);
}

static void check_values(struct check *check, const struct kube_class *class)
{
    _cleanup_free_ char *object = xasprintf("StorageClass '%s'", class->meta.name);
    _cleanup_error_ struct error err = {0};

    if (parse_class(class, &err) < 0)
        check_add(check, CHECK_FAIL, "class", object,
                  "correct it in a new class, or leave its volumes with Ceph-CSI",
                  "every claim of the class would be refused: %s", err.message);
}

/* --- places --- */

static bool looks_beside_images(const struct check_driver *driver)
{
    return !driver || driver->is_own || !driver->has_version || driver->major > 3 ||
           (driver->major == 3 && driver->minor >= NAMES_MOVED_MINOR);
}

/* csi-provisioner sends the same terms for both modes, so that the driver believes the class. */
static void check_immediate(struct check *check, const struct kube_class *class, const char *object)
{
    const char *immediate = class_parameter_get(&class->parameters, PARAM_IMMEDIATE_TOPOLOGY);

    if (class->mode != KUBE_BINDING_WAIT || !immediate || strcmp(immediate, "first") == 0)
        return;
    check_add(check, CHECK_FAIL, "topology", object,
              "leave immediateTopology out, or make a class with volumeBindingMode: Immediate",
              "immediateTopology: %s, but volumeBindingMode: WaitForFirstConsumer: volumes would "
              "not be in the place of the node that the scheduler chose",
              immediate);
}

static void check_places(struct check *check, const struct kube_class *class)
{
    const struct check_driver *driver = check_find_driver(check, class->provisioner);
    const char *pool = class_parameter_get(&class->parameters, PARAM_POOL);
    _cleanup_free_ char *object = xasprintf("StorageClass '%s'", class->meta.name);

    if (!check_class_has_places(class))
        return;
    check_immediate(check, class, object);
    if (driver && driver->has_no_topology)
        check_add(check, CHECK_FAIL, "topology", object,
                  "enable topology (operator: nodePlugin.topology of the Driver; else "
                  "--feature-gates=Topology=true)",
                  "its volumes have places, but csi-provisioner runs with Topology=false and asks "
                  "for none");
    if (check_class_driver(class->provisioner) == CLASS_RBD && pool && looks_beside_images(driver))
        check_add(check, CHECK_WARN, "topology", object,
                  "before going back, wait until no claim is pending and run 'cephzone settle "
                  "--move-names --apply'; new classes: leave the parameter out",
                  "it has places and a pool '%s': this driver keeps the names of requests there, "
                  "where Ceph-CSI from 3.%d on does not look, and would make a second image for a "
                  "request that is repeated",
                  pool, NAMES_MOVED_MINOR);
}

void check_classes(struct check *check)
{
    static const struct class_use storage = {"StorageClass", CLASS_CREATE_VOLUME, CHECK_WARN};
    static const struct class_use others[] = {
        {"VolumeSnapshotClass", CLASS_CREATE_SNAPSHOT, CHECK_WARN},
        {"VolumeGroupSnapshotClass", CLASS_CREATE_GROUP, CHECK_WARN},
        {"VolumeAttributesClass", CLASS_MODIFY_VOLUME, CHECK_FAIL},
    };
    const struct check_world *world = check->world;

    for (size_t i = 0; i < cluster_count(&world->cluster, KUBE_CLASS); i++) {
        const struct kube_class *class = cluster_at(&world->cluster, KUBE_CLASS, i);

        if (!storage_class_is_served(kube_or_empty(class->provisioner)))
            continue;
        check_keys(check, &storage, class->meta.name, class->provisioner, &class->parameters);
        check_values(check, class);
        check_places(check, class);
    }
    for (size_t i = 0; i < world->class_count; i++)
        for (size_t k = 0; k < ARRAY_LENGTH(others); k++)
            if (strcmp(world->classes[i].kind, others[k].kind) == 0 &&
                storage_class_is_served(world->classes[i].driver))
                check_keys(check, &others[k], world->classes[i].name, world->classes[i].driver,
                           &world->classes[i].parameters);
    check_add_pass(check, "class", "every parameter of the classes is known");
    check_add_pass(check, "topology", "names of requests are where both drivers look");
}
