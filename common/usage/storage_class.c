#include "common/usage/storage_class.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/encoding/yaml.h"

struct class_metadata {
    char *name;
};

struct class_object {
    char *kind;
    struct class_metadata metadata;
    char *provisioner;
    json_t *parameters; /* decoded only if the class is the driver's */
};

struct class_list {
    struct class_object *items;
    size_t count;
    bool has_items;
};

struct class_parameters {
    struct strmap map;
};

static const struct json_field METADATA_FIELDS[] = {
    JSON_FIELD_STRING("name", struct class_metadata, name),
};
static const struct json_table METADATA_TABLE = JSON_TABLE(struct class_metadata, METADATA_FIELDS);

static const struct json_field OBJECT_FIELDS[] = {
    JSON_FIELD_STRING("kind", struct class_object, kind),
    JSON_FIELD_OBJECT("metadata", struct class_object, metadata, &METADATA_TABLE),
    JSON_FIELD_STRING("provisioner", struct class_object, provisioner),
    JSON_FIELD_VALUE("parameters", struct class_object, parameters),
};
static const struct json_table OBJECT_TABLE = JSON_TABLE(struct class_object, OBJECT_FIELDS);

static const struct json_field LIST_FIELDS[] = {
    JSON_FIELD_OBJECTS("items", struct class_list, items, count, &OBJECT_TABLE),
    JSON_FIELD_PRESENT("items", struct class_list, has_items),
};
static const struct json_table LIST_TABLE = JSON_TABLE(struct class_list, LIST_FIELDS);

/* --- parameters --- */

bool storage_class_is_cephfs(const char *driver)
{
    return text_has_suffix(driver, "cephfs.csi.ceph.com");
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
                         is_cephfs ? "fsName" : "pool");
    return 0;
}

static const struct json_field PARAMETERS_FIELDS[] = {
    JSON_FIELD_STRMAP("parameters", struct class_parameters, map),
};
static const struct json_table PARAMETERS_TABLE =
    JSON_TABLE(struct class_parameters, PARAMETERS_FIELDS);

static int decode_parameters(json_t *value, bool is_cephfs, struct storage_class *class,
                             struct error *err)
{
    struct class_parameters parameters = {0};
    json_auto_t *holder = json_object();

    if (value)
        json_object_set(holder, "parameters", value);
    int result = json_decode(holder, &PARAMETERS_TABLE, &parameters, err);
    class->parameters = parameters.map;
    return result < 0 ? -1 : take_parameters(class, is_cephfs, err);
}

/* --- the dump --- */

static int take_class(struct class_object *object, const char *driver,
                      struct storage_class_dump *dump, struct error *err)
{
    _cleanup_error_ struct error fault = {0};

    if (!object->kind || strcmp(object->kind, "StorageClass") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "kind: expected 'StorageClass', found '%.40s'",
                         object->kind ? object->kind : "");
    if (text_is_empty(object->metadata.name))
        return error_set(err, STATUS_INVALID_ARGUMENT, "metadata.name is missing");
    if (!object->provisioner || strcmp(object->provisioner, driver) != 0)
        return 0;
    struct storage_class *class = &dump->items[dump->count++];
    class->name = TAKE(object->metadata.name);
    if (decode_parameters(object->parameters, storage_class_is_cephfs(driver), class, &fault) < 0)
        class->fault = TAKE(fault.message);
    return 0;
}

/* Room for @count classes more. */
static void reserve(struct storage_class_dump *dump, size_t count)
{
    dump->items = xreallocarray(dump->items, dump->count + count + 1, sizeof(*dump->items));
    memset(&dump->items[dump->count], 0, (count + 1) * sizeof(*dump->items));
}

static int take_list(struct class_list *list, const char *driver, struct storage_class_dump *dump,
                     struct error *err)
{
    reserve(dump, list->count);
    for (size_t i = 0; i < list->count; i++)
        if (take_class(&list->items[i], driver, dump, err) < 0)
            return error_wrap(err, "items[%zu]", i);
    return 0;
}

/* A single class is a list of one, but for the place in the error. */
static int decode_single(const json_t *json, const char *driver, struct storage_class_dump *dump,
                         struct error *err)
{
    struct class_object object = {0};

    reserve(dump, 1);
    int result = json_decode(json, &OBJECT_TABLE, &object, err);
    if (result == 0)
        result = take_class(&object, driver, dump, err);
    json_free_fields(&OBJECT_TABLE, &object);
    return result;
}

static int decode(const json_t *json, const char *driver, struct storage_class_dump *dump,
                  struct error *err)
{
    struct class_list list = {0};
    int result = json_decode(json, &LIST_TABLE, &list, err);

    if (result == 0)
        result = list.has_items ? take_list(&list, driver, dump, err)
                                : decode_single(json, driver, dump, err);
    json_free_fields(&LIST_TABLE, &list);
    return result;
}

/* In a manifest other kinds may stand beside classes; a file with one document is meant. */
static bool is_beside_the_point(const json_t *documents, size_t index)
{
    const json_t *document = json_array_get(documents, index);
    const char *kind = json_string_value(json_object_get(document, "kind"));

    return json_array_size(documents) > 1 && kind && strcmp(kind, "StorageClass") != 0 &&
           !json_object_get(document, "items");
}

int storage_class_dump_load(const char *path, const char *driver, struct storage_class_dump *out,
                            struct error *err)
{
    _cleanup_storage_class_dump_ struct storage_class_dump dump = {0};
    json_auto_t *documents = NULL;

    if (documents_load_path(path, STORAGE_CLASS_DUMP_LIMIT, &documents, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(documents); i++)
        if (!is_beside_the_point(documents, i) &&
            decode(json_array_get(documents, i), driver, &dump, err) < 0)
            return error_wrap(err, "'%s' is no output of 'kubectl get storageclass'", path);
    *out = dump;
    dump = (struct storage_class_dump){0};
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
