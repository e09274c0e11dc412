#include "common/volume/storage_class.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/memory.h"
#include "common/base/text.h"

#define DOMAIN_LIMIT 4096
#define ANYWHERE "anywhere"
#define POOLS_KEY "topologyConstrainedPools"

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

struct domain_segment {
    char *label;
    char *value;
};

struct pool_entry {
    char *pool;
    char *data_pool;
    struct domain_segment *segments;
    size_t count;
    bool has_segments;
};

struct pool_entries {
    struct pool_entry *items;
    size_t count;
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

static const struct json_field SEGMENT_FIELDS[] = {
    JSON_FIELD_STRING("domainLabel", struct domain_segment, label),
    JSON_FIELD_STRING("value", struct domain_segment, value),
};
static const struct json_table SEGMENT_TABLE =
    JSON_STRICT_TABLE(struct domain_segment, SEGMENT_FIELDS);

static const struct json_field ENTRY_FIELDS[] = {
    JSON_FIELD_STRING("poolName", struct pool_entry, pool),
    JSON_FIELD_STRING("dataPool", struct pool_entry, data_pool),
    JSON_FIELD_OBJECTS("domainSegments", struct pool_entry, segments, count, &SEGMENT_TABLE),
    JSON_FIELD_PRESENT("domainSegments", struct pool_entry, has_segments),
};
static const struct json_table ENTRY_TABLE = JSON_STRICT_TABLE(struct pool_entry, ENTRY_FIELDS);

/* --- parameters -------------------------------------------------------------------------------
 */

static int check_entry(const struct pool_entry *entry, struct error *err)
{
    if (text_is_empty(entry->pool))
        return error_set(err, STATUS_INVALID_ARGUMENT, "poolName is missing");
    if (!entry->has_segments)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "domainSegments is missing; [] stands for everywhere");
    for (size_t i = 0; i < entry->count; i++) {
        if (text_is_empty(entry->segments[i].label))
            return error_set(err, STATUS_INVALID_ARGUMENT,
                             "domainSegments[%zu].domainLabel is missing", i);
        if (text_is_empty(entry->segments[i].value))
            return error_set(err, STATUS_INVALID_ARGUMENT, "domainSegments[%zu].value is missing",
                             i);
    }
    return 0;
}

static char *domain_text(const struct pool_entry *entry)
{
    _cleanup_text_ struct text text = TEXT_INIT(DOMAIN_LIMIT);

    if (entry->count == 0)
        return xstrdup(ANYWHERE);
    for (size_t i = 0; i < entry->count; i++)
        text_addf(&text, "%s%s=%s", i ? "," : "", entry->segments[i].label,
                  entry->segments[i].value);
    return text_take(&text);
}

/* @domain changes hands. */
static void add_pool(struct storage_class *class, char *domain, const char *pool,
                     const char *data_pool)
{
    class->pools = xreallocarray(class->pools, class->count + 1, sizeof(*class->pools));
    class->pools[class->count++] = (struct class_pool){
        .domain = domain,
        .pool = xstrdup(pool),
        .data_pool = text_is_empty(data_pool) ? NULL : xstrdup(data_pool),
    };
}

static int take_entries(const struct pool_entries *entries, struct storage_class *class,
                        struct error *err)
{
    for (size_t i = 0; i < entries->count; i++) {
        const struct pool_entry *entry = &entries->items[i];

        if (check_entry(entry, err) < 0)
            return error_wrap(err, POOLS_KEY ": [%zu]", i);
        /* the class's own dataPool belongs to its plain pool, as in Ceph-CSI */
        add_pool(class, domain_text(entry), entry->pool, entry->data_pool);
    }
    return 0;
}

static int take_constrained_pools(const char *text, struct storage_class *class, struct error *err)
{
    struct pool_entries entries = {0};
    json_auto_t *json = NULL;
    void *items = NULL;

    if (json_load_text(text, strlen(text), POOLS_KEY, &json, err) < 0)
        return -1;
    if (json_decode_array(json, &ENTRY_TABLE, &items, &entries.count, err) < 0)
        return error_wrap(err, POOLS_KEY);
    entries.items = items;
    int result = take_entries(&entries, class, err);
    json_free_array(&ENTRY_TABLE, items, entries.count);
    return result;
}

static int take_parameters(const struct strmap *parameters, struct storage_class *class,
                           struct error *err)
{
    const char *cluster_id = strmap_get_or(parameters, "clusterID", NULL);
    const char *pool = strmap_get_or(parameters, "pool", NULL);
    const char *constrained = strmap_get_or(parameters, POOLS_KEY, NULL);

    if (!cluster_id)
        return error_set(err, STATUS_INVALID_ARGUMENT, "clusterID is missing");
    if (pool)
        add_pool(class, xstrdup(ANYWHERE), pool, strmap_get(parameters, "dataPool"));
    if (constrained && take_constrained_pools(constrained, class, err) < 0)
        return -1;
    if (class->count == 0)
        return error_set(err, STATUS_INVALID_ARGUMENT, "neither pool nor " POOLS_KEY " names one");
    class->cluster_id = xstrdup(cluster_id);
    return 0;
}

static const struct json_field PARAMETERS_FIELDS[] = {
    JSON_FIELD_STRMAP("parameters", struct class_parameters, map),
};
static const struct json_table PARAMETERS_TABLE =
    JSON_TABLE(struct class_parameters, PARAMETERS_FIELDS);

static int decode_parameters(json_t *value, struct storage_class *class, struct error *err)
{
    struct class_parameters parameters = {0};
    json_auto_t *holder = json_object();

    if (value)
        json_object_set(holder, "parameters", value);
    int result = json_decode(holder, &PARAMETERS_TABLE, &parameters, err);
    if (result == 0)
        result = take_parameters(&parameters.map, class, err);
    json_free_fields(&PARAMETERS_TABLE, &parameters);
    return result;
}

/* --- the dump ---------------------------------------------------------------------------------
 */

static void free_pools(struct storage_class *class)
{
    for (size_t i = 0; i < class->count; i++) {
        free(class->pools[i].domain);
        free(class->pools[i].pool);
        free(class->pools[i].data_pool);
    }
    free(class->pools);
    class->pools = NULL;
    class->count = 0;
}

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
    if (decode_parameters(object->parameters, class, &fault) < 0) {
        free_pools(class);
        class->fault = TAKE(fault.message);
    }
    return 0;
}

static int take_list(struct class_list *list, const char *driver, struct storage_class_dump *dump,
                     struct error *err)
{
    dump->items = xcalloc(list->count + 1, sizeof(*dump->items));
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

    dump->items = xcalloc(1, sizeof(*dump->items));
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

int storage_class_dump_load(const char *path, const char *driver, struct storage_class_dump *out,
                            struct error *err)
{
    _cleanup_storage_class_dump_ struct storage_class_dump dump = {0};
    json_auto_t *json = NULL;

    if (json_load_path(path, STORAGE_CLASS_DUMP_LIMIT, &json, err) < 0)
        return -1;
    if (decode(json, driver, &dump, err) < 0)
        return error_wrap(err, "'%s' is no output of 'kubectl get storageclass -o json'", path);
    *out = dump;
    dump = (struct storage_class_dump){0};
    return 0;
}

void storage_class_dump_done(struct storage_class_dump *dump)
{
    for (size_t i = 0; i < dump->count; i++) {
        free_pools(&dump->items[i]);
        free(dump->items[i].name);
        free(dump->items[i].cluster_id);
        free(dump->items[i].fault);
    }
    free(dump->items);
    *dump = (struct storage_class_dump){0};
}
