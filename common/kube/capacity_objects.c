#include "common/kube/capacity_objects.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/kube/kube.h"

#define DRIVER_LABEL "csi.storage.k8s.io/drivername"
#define MANAGER_LABEL "csi.storage.k8s.io/managed-by"
#define ITEMS_MAX 100000

/* --- objects --- */

void capacity_objects_done(struct capacity_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++) {
        free_all(objects->items[i].name, objects->items[i].manager, objects->items[i].class,
                 objects->items[i].owner);
        strmap_done(&objects->items[i].segment);
    }
    free(objects->items);
    *objects = (struct capacity_objects){0};
}

/* Zero if it is negative. */
static uint64_t bytes_of(const struct quantity *quantity)
{
    int64_t value = quantity_value(quantity);

    return value > 0 ? (uint64_t)value : 0;
}

static const char *owner_of(const struct kube_meta *meta)
{
    for (size_t i = 0; i < meta->owner_count; i++)
        if (kube_same(meta->owners[i].kind, kube_kind_name(KUBE_CSI_DRIVER)))
            return kube_or_empty(meta->owners[i].uid);
    return "";
}

static void start_objects(void *context)
{
    capacity_objects_done(context);
}

static int keep_object(void *context, void *item, struct error *err)
{
    struct capacity_objects *objects = context;
    struct kube_capacity *capacity = item;
    const char *manager = strmap_get(&capacity->meta.labels, MANAGER_LABEL);

    if (objects->count >= ITEMS_MAX)
        return error_set(err, STATUS_OUT_OF_RANGE, "more than %d capacity objects", ITEMS_MAX);
    struct capacity_object *object = array_add(objects->items, objects->count);
    object->name = TAKE(capacity->meta.name);
    object->manager = xstrdup(kube_or_empty(manager));
    object->class = xstrdup(kube_or_empty(capacity->class_name));
    object->segment = capacity->match_labels;
    capacity->match_labels = (struct strmap){0};
    object->bytes = bytes_of(&capacity->capacity);
    object->maximum_bytes = bytes_of(&capacity->maximum);
    object->has_maximum = capacity->has_maximum && quantity_value(&capacity->maximum) >= 0;
    object->owner = xstrdup(owner_of(&capacity->meta));
    object->refreshed =
        kube_time_parse(strmap_get(&capacity->meta.annotations, KUBE_CAPACITY_HEARTBEAT));
    return 0;
}

int capacity_objects_read(struct kube *kube, struct call *call, const char *name_space,
                          const char *driver, struct capacity_objects *out, struct error *err)
{
    _cleanup_capacity_objects_ struct capacity_objects objects = {0};
    _cleanup_free_ char *selector = xasprintf(DRIVER_LABEL "=%s", driver);
    const struct kube_object_query query = {
        .kind = KUBE_CAPACITY, .name_space = name_space, .select = {.labels = selector}};
    const struct kube_object_sink sink = {start_objects, keep_object, &objects};

    if (kube_list_objects(kube, call, &query, &sink, err) < 0)
        return -1;
    *out = objects;
    objects = (struct capacity_objects){0};
    return 0;
}

/* The terminating NUL counts as well: "a", "bc" is not "ab", "c". */
static uint64_t hash_whole(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

/* A clash only means that one object is missing. */
static char *make_name(const char *driver, const struct capacity_object *object)
{
    uint64_t hash = hash_whole(hash_whole(HASH_START, driver), object->class);

    for (size_t i = 0; i < object->segment.count; i++) {
        hash = hash_whole(hash, object->segment.entries[i].key);
        hash = hash_whole(hash, object->segment.entries[i].value);
    }
    return xasprintf("cephzone-%016llx", (unsigned long long)hash);
}

int capacity_owner_read(struct kube *kube, struct call *call, const char *driver, char **uid,
                        struct error *err)
{
    _cleanup_free_ char *path = NULL;
    json_auto_t *item = NULL;

    if (kube_object_path(KUBE_CSI_DRIVER, NULL, driver, &path, err) < 0)
        return -1;
    if (kube->ops->get(kube, call, path, &item, err) < 0 && error_ignore(err, STATUS_NOT_FOUND) < 0)
        return -1;
    *uid = xstrdup(kube_text(item, "metadata", "uid", NULL));
    return 0;
}

/* What both writes have in common. Plain numbers are quantities. */
static void set_figures(json_t *item, const char *driver, const struct capacity_object *object)
{
    _cleanup_free_ char *bytes = xasprintf("%llu", (unsigned long long)object->bytes);
    _cleanup_free_ char *maximum = xasprintf("%llu", (unsigned long long)object->maximum_bytes);
    _cleanup_free_ char *now = kube_time_now(false);
    json_t *meta = json_object_get(item, "metadata");

    json_object_set_new(meta, "annotations", json_pack("{s:s}", KUBE_CAPACITY_HEARTBEAT, now));
    if (object->owner[0])
        json_object_set_new(meta, "ownerReferences",
                            json_pack("[{s:s, s:s, s:s, s:s}]", "apiVersion",
                                      kube_kind_api(KUBE_CSI_DRIVER), "kind",
                                      kube_kind_name(KUBE_CSI_DRIVER), "name", driver, "uid",
                                      object->owner));

    json_object_set_new(item, "capacity", json_string(bytes));
    json_object_set_new(item, "maximumVolumeSize",
                        object->has_maximum ? json_string(maximum) : json_null());
}

int capacity_object_create(struct kube *kube, struct call *call, const char *name_space,
                           const char *driver, const struct capacity_object *object,
                           struct error *err)
{
    _cleanup_free_ char *name = make_name(driver, object);
    _cleanup_free_ char *path = NULL;
    json_auto_t *item =
        json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s, s:s}}, s:s, s:{s:o}}", "apiVersion",
                  kube_kind_api(KUBE_CAPACITY), "kind", "CSIStorageCapacity", "metadata", "name",
                  name, "namespace", name_space, "labels", DRIVER_LABEL, driver, MANAGER_LABEL,
                  CAPACITY_MANAGER, "storageClassName", object->class, "nodeTopology",
                  "matchLabels", json_from_strmap(&object->segment));

    set_figures(item, driver, object);
    if (!object->has_maximum)
        json_object_del(item, "maximumVolumeSize");
    if (kube_object_path(KUBE_CAPACITY, name_space, NULL, &path, err) < 0)
        return -1;
    return kube->ops->create(kube, call, path, item, NULL, err);
}

int capacity_object_update(struct kube *kube, struct call *call, const char *name_space,
                           const char *driver, const struct capacity_object *object,
                           struct error *err)
{
    _cleanup_free_ char *path = NULL;
    json_auto_t *changes = json_pack("{s:{}}", "metadata");

    set_figures(changes, driver, object);
    if (kube_object_path(KUBE_CAPACITY, name_space, object->name, &path, err) < 0)
        return -1;
    return kube->ops->patch(kube, call, path, changes, NULL, err);
}

int capacity_object_remove(struct kube *kube, struct call *call, const char *name_space,
                           const char *name, struct error *err)
{
    _cleanup_free_ char *path = NULL;

    if (kube_object_path(KUBE_CAPACITY, name_space, name, &path, err) < 0)
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

static void start_classes(void *context)
{
    capacity_classes_done(context);
}

static int keep_class(void *context, void *item, struct error *err)
{
    struct capacity_classes *classes = context;
    struct kube_class *class = item;

    if (class->mode != KUBE_BINDING_WAIT)
        return 0;
    if (classes->count >= ITEMS_MAX)
        return error_set(err, STATUS_OUT_OF_RANGE, "more than %d classes", ITEMS_MAX);
    struct capacity_class *kept = array_add(classes->items, classes->count);
    kept->name = TAKE(class->meta.name);
    kept->parameters = class->parameters;
    class->parameters = (struct strmap){0};
    return 0;
}

int capacity_classes_read(struct kube *kube, struct call *call, const char *driver,
                          struct capacity_classes *out, struct error *err)
{
    _cleanup_capacity_classes_ struct capacity_classes classes = {0};
    const struct kube_object_query query = {.kind = KUBE_CLASS, .driver = driver};
    const struct kube_object_sink sink = {start_classes, keep_class, &classes};

    if (kube_list_objects(kube, call, &query, &sink, err) < 0)
        return -1;
    *out = classes;
    classes = (struct capacity_classes){0};
    return 0;
}
