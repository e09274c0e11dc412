#include "common/kube/capacity_objects.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/kube/kube.h"
#include "common/topology/quantity.h"

#define STORAGE "storage.k8s.io/v1"
#define CLASSES "/apis/" STORAGE "/storageclasses"
#define DRIVER_LABEL "csi.storage.k8s.io/drivername"
#define MANAGER_LABEL "csi.storage.k8s.io/managed-by"
#define ITEMS_MAX 100000

/* --- objects --- */

void capacity_object_done(struct capacity_object *object)
{
    free(object->name);
    free(object->manager);
    free(object->class);
    strmap_done(&object->segment);
    *object = (struct capacity_object){0};
}

void capacity_objects_done(struct capacity_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        capacity_object_done(&objects->items[i]);
    free(objects->items);
    *objects = (struct capacity_objects){0};
}

static void take_map(const json_t *json, struct strmap *map)
{
    json_t *object = (json_t *)(uintptr_t)json; /* jansson's iterator is not const */
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(object, key, value)
    {
        if (json_is_string(value))
            strmap_set(map, key, json_string_value(value));
    }
}

/* False if there is none that makes sense. */
static bool take_bytes(const char *text, uint64_t *bytes)
{
    _cleanup_error_ struct error err = {0};
    struct quantity quantity;

    if (text[0] == '\0' || quantity_parse(text, &quantity, &err) < 0 ||
        quantity_value(&quantity) < 0)
        return false;
    *bytes = (uint64_t)quantity_value(&quantity);
    return true;
}

static void start_objects(void *object)
{
    capacity_objects_done(object);
}

static int take_object(void *context, json_t *item, struct error *err)
{
    struct capacity_objects *objects = context;

    if (objects->count >= ITEMS_MAX)
        return error_set(err, STATUS_OUT_OF_RANGE, "more than %d capacity objects", ITEMS_MAX);
    struct capacity_object *object = array_add(objects->items, objects->count);
    *object = (struct capacity_object){
        .name = xstrdup(kube_name(item)),
        .manager = xstrdup(kube_text(item, "metadata", "labels", MANAGER_LABEL, NULL)),
        .class = xstrdup(kube_text(item, "storageClassName", NULL)),
    };
    take_map(json_object_get(json_object_get(item, "nodeTopology"), "matchLabels"),
             &object->segment);
    take_bytes(kube_text(item, "capacity", NULL), &object->bytes);
    object->has_maximum =
        take_bytes(kube_text(item, "maximumVolumeSize", NULL), &object->maximum_bytes);
    return 0;
}

static int path_of(const char *name_space, const char *name, char **path, struct error *err)
{
    const struct kube_location location = {
        .api = STORAGE, .resource = "csistoragecapacities", .name_space = name_space, .name = name};

    return kube_path(&location, path, err);
}

int capacity_objects_read(struct kube *kube, struct call *call, const char *name_space,
                          const char *driver, struct capacity_objects *out, struct error *err)
{
    _cleanup_capacity_objects_ struct capacity_objects objects = {0};
    _cleanup_free_ char *selector = xasprintf(DRIVER_LABEL "=%s", driver);
    _cleanup_free_ char *path = NULL;
    _cleanup_free_ char *version = NULL;
    const struct kube_select select = {.labels = selector};
    const struct kube_list_sink sink = {start_objects, take_object, &objects};

    if (path_of(name_space, NULL, &path, err) < 0 ||
        kube_list(kube, call, path, &select, &sink, &version, err) < 0)
        return -1;
    *out = objects;
    objects = (struct capacity_objects){0};
    return 0;
}

static json_t *map_json(const struct strmap *map)
{
    json_t *json = json_object();

    for (size_t i = 0; i < map->count; i++)
        json_object_set_new(json, map->entries[i].key, json_string(map->entries[i].value));
    return json;
}

/* The end counts as well: "a", "bc" is not "ab", "c". */
static uint64_t mix(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

/* A clash only means that one object is missing. */
static char *name_of(const char *driver, const struct capacity_object *object)
{
    uint64_t hash = mix(mix(HASH_START, driver), object->class);

    for (size_t i = 0; i < object->segment.count; i++)
        hash = mix(mix(hash, object->segment.entries[i].key), object->segment.entries[i].value);
    return xasprintf("cephzone-%016llx", (unsigned long long)hash);
}

/* Plain numbers are quantities. */
static char *quantity_text(uint64_t bytes)
{
    return xasprintf("%llu", (unsigned long long)bytes);
}

static void set_figures(json_t *item, const struct capacity_object *object)
{
    _cleanup_free_ char *bytes = quantity_text(object->bytes);
    _cleanup_free_ char *maximum = quantity_text(object->maximum_bytes);

    json_object_set_new(item, "capacity", json_string(bytes));
    json_object_set_new(item, "maximumVolumeSize",
                        object->has_maximum ? json_string(maximum) : json_null());
}

int capacity_object_create(struct kube *kube, struct call *call, const char *name_space,
                           const char *driver, const struct capacity_object *object,
                           struct error *err)
{
    _cleanup_free_ char *name = name_of(driver, object);
    _cleanup_free_ char *path = NULL;
    json_auto_t *item = json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:{s:s, s:s}}, s:s, s:{s:o}}", "apiVersion", STORAGE, "kind",
        "CSIStorageCapacity", "metadata", "name", name, "namespace", name_space, "labels",
        DRIVER_LABEL, driver, MANAGER_LABEL, CAPACITY_MANAGER, "storageClassName", object->class,
        "nodeTopology", "matchLabels", map_json(&object->segment));

    set_figures(item, object);
    if (!object->has_maximum)
        json_object_del(item, "maximumVolumeSize");
    if (path_of(name_space, NULL, &path, err) < 0)
        return -1;
    return kube->ops->create(kube, call, path, item, NULL, err);
}

int capacity_object_update(struct kube *kube, struct call *call, const char *name_space,
                           const struct capacity_object *object, struct error *err)
{
    _cleanup_free_ char *path = NULL;
    json_auto_t *changes = json_object();

    set_figures(changes, object);
    if (path_of(name_space, object->name, &path, err) < 0)
        return -1;
    return kube->ops->patch(kube, call, path, changes, NULL, err);
}

int capacity_object_remove(struct kube *kube, struct call *call, const char *name_space,
                           const char *name, struct error *err)
{
    _cleanup_free_ char *path = NULL;

    if (path_of(name_space, name, &path, err) < 0)
        return -1;
    if (kube->ops->remove(kube, call, path, NULL, err) < 0) {
        if (err->status != STATUS_NOT_FOUND)
            return -1;
        error_clear(err);
    }
    return 0;
}

/* --- classes --- */

void capacity_classes_done(struct capacity_classes *classes)
{
    for (size_t i = 0; i < classes->count; i++) {
        free(classes->items[i].name);
        strmap_done(&classes->items[i].parameters);
    }
    free(classes->items);
    *classes = (struct capacity_classes){0};
}

struct class_reading {
    struct capacity_classes classes;
    const char *driver;
};

static void start_classes(void *object)
{
    capacity_classes_done(&((struct class_reading *)object)->classes);
}

static int take_class(void *object, json_t *item, struct error *err)
{
    struct class_reading *reading = object;
    struct capacity_classes *classes = &reading->classes;

    if (strcmp(kube_text(item, "provisioner", NULL), reading->driver) != 0 ||
        strcmp(kube_text(item, "volumeBindingMode", NULL), "WaitForFirstConsumer") != 0)
        return 0;
    if (classes->count >= ITEMS_MAX)
        return error_set(err, STATUS_OUT_OF_RANGE, "more than %d classes", ITEMS_MAX);
    struct capacity_class *class = array_add(classes->items, classes->count);
    *class = (struct capacity_class){.name = xstrdup(kube_name(item))};
    take_map(json_object_get(item, "parameters"), &class->parameters);
    return 0;
}

int capacity_classes_read(struct kube *kube, struct call *call, const char *driver,
                          struct capacity_classes *out, struct error *err)
{
    struct class_reading reading = {.driver = driver};
    _cleanup_free_ char *version = NULL;
    const struct kube_list_sink sink = {start_classes, take_class, &reading};

    if (kube_list(kube, call, CLASSES, NULL, &sink, &version, err) < 0) {
        capacity_classes_done(&reading.classes);
        return -1;
    }
    *out = reading.classes;
    return 0;
}
