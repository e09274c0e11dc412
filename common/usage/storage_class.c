#include "common/usage/storage_class.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/config/class_parameters.h"
#include "common/encoding/yaml.h"
#include "common/kube/objects/kube_dump.h"
#include "common/kube/objects/kube_objects.h"

bool storage_class_is_cephfs(const char *driver)
{
    return text_has_suffix(driver, "cephfs.csi.ceph.com");
}

bool storage_class_is_served(const char *driver)
{
    return storage_class_is_cephfs(driver) || text_has_suffix(driver, "rbd.csi.ceph.com");
}

static int take_parameters(struct storage_class *class, bool is_cephfs, struct error *err)
{
    struct class_pools *pools = &class->pools;

    if ((is_cephfs ? class_pools_parse_cephfs(&class->parameters, pools, err)
                   : class_pools_parse_rbd(&class->parameters, pools, err)) < 0)
        return -1;
    if (!pools->cluster_id)
        return error_set(err, STATUS_INVALID_ARGUMENT, "clusterID is missing");
    if (!pools->home && !class_pools_have_places(pools))
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "neither %s nor topologyConstrainedPools names one",
                         is_cephfs ? PARAM_FS_NAME : PARAM_POOL);
    return 0;
}

struct class_reading {
    const char *driver;
    struct storage_class_dump dump;
};

/* A class of the driver that cannot be decoded has a fault; one without a name, or whose owner is
 * unknown, makes the dump invalid. */
static int keep_class(void *context, const char *kind, const json_t *value, struct error *err)
{
    struct class_reading *reading = context;
    const char *driver = kube_object_driver(KUBE_CLASS, value);
    _cleanup_error_ struct error fault = {0};
    void *object = NULL;

    if (kube_kind_check(KUBE_CLASS, kind, err) < 0)
        return -1;
    if (driver[0] != '\0' && strcmp(driver, reading->driver) != 0)
        return 0;
    int result = kube_object_decode(KUBE_CLASS, value, &object, &fault);
    if (result < 0 && (driver[0] == '\0' || kube_name(value)[0] == '\0'))
        return error_move(err, &fault);
    if (driver[0] != '\0') {
        struct storage_class *class = array_add(reading->dump.items, reading->dump.count);
        struct kube_class *decoded = object;

        class->name = xstrdup(kube_name(value));
        if (decoded) {
            class->parameters = decoded->parameters;
            decoded->parameters = (struct strmap){0};
        }
        if (result < 0 || take_parameters(class, storage_class_is_cephfs(driver), &fault) < 0)
            class->fault = TAKE(fault.message);
    }
    kube_object_free(KUBE_CLASS, object);
    return 0;
}

/* A manifest may have other kinds beside classes; a file with one document must be a class. */
static bool is_other_kind(const json_t *documents, size_t index)
{
    const json_t *document = json_array_get(documents, index);
    const char *kind = json_string_value(json_object_get(document, "kind"));

    return json_array_size(documents) > 1 && kind && strcmp(kind, "StorageClass") != 0 &&
           !json_object_get(document, "items");
}

int storage_class_dump_load(const char *path, const char *driver, struct storage_class_dump *dump,
                            struct error *err)
{
    struct class_reading reading = {.driver = driver};
    json_auto_t *documents = NULL;

    if (documents_load_path(path, STORAGE_CLASS_DUMP_LIMIT, &documents, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(documents); i++)
        if (!is_other_kind(documents, i) &&
            kube_dump_each(json_array_get(documents, i), keep_class, &reading, err) < 0) {
            storage_class_dump_done(&reading.dump);
            return error_wrap(err, "'%s' is no output of 'kubectl get storageclass'", path);
        }
    *dump = reading.dump;
    return 0;
}

void storage_class_dump_done(struct storage_class_dump *dump)
{
    for (size_t i = 0; i < dump->count; i++) {
        class_pools_done(&dump->items[i].pools);
        strmap_done(&dump->items[i].parameters);
        free(dump->items[i].name);
        free(dump->items[i].fault);
    }
    free(dump->items);
    *dump = (struct storage_class_dump){0};
}
