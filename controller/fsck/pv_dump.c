#include "controller/fsck/pv_dump.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"

struct pv_metadata {
    char *name;
};

struct pv_csi {
    char *driver;
    char *handle;
};

struct pv_spec {
    struct pv_csi csi;
    char *reclaim_policy;
};

struct pv_status {
    char *phase;
};

struct pv_object {
    char *kind;
    struct pv_metadata metadata;
    struct pv_spec spec;
    struct pv_status status;
};

struct pv_list {
    char *kind;
    struct pv_object *items;
    size_t count;
    bool has_items;
};

static const struct json_field METADATA_FIELDS[] = {
    JSON_FIELD_STRING("name", struct pv_metadata, name),
};
static const struct json_table METADATA_TABLE = JSON_TABLE(struct pv_metadata, METADATA_FIELDS);

static const struct json_field CSI_FIELDS[] = {
    JSON_FIELD_STRING("driver", struct pv_csi, driver),
    JSON_FIELD_STRING("volumeHandle", struct pv_csi, handle),
};
static const struct json_table CSI_TABLE = JSON_TABLE(struct pv_csi, CSI_FIELDS);

static const struct json_field SPEC_FIELDS[] = {
    JSON_FIELD_OBJECT("csi", struct pv_spec, csi, &CSI_TABLE),
    JSON_FIELD_STRING("persistentVolumeReclaimPolicy", struct pv_spec, reclaim_policy),
};
static const struct json_table SPEC_TABLE = JSON_TABLE(struct pv_spec, SPEC_FIELDS);

static const struct json_field STATUS_FIELDS[] = {
    JSON_FIELD_STRING("phase", struct pv_status, phase),
};
static const struct json_table STATUS_TABLE = JSON_TABLE(struct pv_status, STATUS_FIELDS);

static const struct json_field OBJECT_FIELDS[] = {
    JSON_FIELD_STRING("kind", struct pv_object, kind),
    JSON_FIELD_OBJECT("metadata", struct pv_object, metadata, &METADATA_TABLE),
    JSON_FIELD_OBJECT("spec", struct pv_object, spec, &SPEC_TABLE),
    JSON_FIELD_OBJECT("status", struct pv_object, status, &STATUS_TABLE),
};
static const struct json_table OBJECT_TABLE = JSON_TABLE(struct pv_object, OBJECT_FIELDS);

static const struct json_field LIST_FIELDS[] = {
    JSON_FIELD_STRING("kind", struct pv_list, kind),
    JSON_FIELD_OBJECTS("items", struct pv_list, items, count, &OBJECT_TABLE),
    JSON_FIELD_PRESENT("items", struct pv_list, has_items),
};
static const struct json_table LIST_TABLE = JSON_TABLE(struct pv_list, LIST_FIELDS);

/* Moves the strings over; volumes of other drivers, or of none, are left. */
static int take(struct pv_object *object, const char *driver, struct pv_dump *dump,
                struct error *err)
{
    if (!object->kind || strcmp(object->kind, "PersistentVolume") != 0)
        return error_set(err, STATUS_INVALID_ARGUMENT,
                         "kind: expected 'PersistentVolume', found '%.40s'",
                         object->kind ? object->kind : "");
    if (!object->metadata.name)
        return error_set(err, STATUS_INVALID_ARGUMENT, "metadata.name is missing");
    if (!object->spec.csi.driver || strcmp(object->spec.csi.driver, driver) != 0)
        return 0;
    if (!object->spec.csi.handle)
        return error_set(err, STATUS_INVALID_ARGUMENT, "spec.csi.volumeHandle is missing");
    struct pv *pv = &dump->items[dump->count++];
    pv->name = TAKE(object->metadata.name);
    pv->driver = TAKE(object->spec.csi.driver);
    pv->handle = TAKE(object->spec.csi.handle);
    pv->reclaim_policy = TAKE(object->spec.reclaim_policy);
    pv->phase = TAKE(object->status.phase);
    return 0;
}

static int take_list(struct pv_list *list, const char *driver, struct pv_dump *dump,
                     struct error *err)
{
    dump->items = xcalloc(list->count + 1, sizeof(*dump->items));
    for (size_t i = 0; i < list->count; i++)
        if (take(&list->items[i], driver, dump, err) < 0)
            return error_wrap(err, "items[%zu]", i);
    return 0;
}

static int decode(const json_t *json, const char *driver, struct pv_dump *dump, struct error *err)
{
    struct pv_list list = {0};
    struct pv_object single = {0};

    int result = json_decode(json, &LIST_TABLE, &list, err);
    if (result == 0 && list.has_items) {
        result = take_list(&list, driver, dump, err);
    } else if (result == 0) {
        dump->items = xcalloc(1, sizeof(*dump->items));
        result = json_decode(json, &OBJECT_TABLE, &single, err);
        if (result == 0)
            result = take(&single, driver, dump, err);
    }
    json_free_fields(&LIST_TABLE, &list);
    json_free_fields(&OBJECT_TABLE, &single);
    return result;
}

int pv_dump_load(const char *path, const char *driver, struct pv_dump *out, struct error *err)
{
    _cleanup_pv_dump_ struct pv_dump dump = {0};
    json_auto_t *json = NULL;

    if (json_load_path(path, PV_DUMP_LIMIT, &json, err) < 0)
        return -1;
    if (decode(json, driver, &dump, err) < 0)
        return error_wrap(err, "'%s' is no output of 'kubectl get pv -o json'", path);
    *out = dump;
    dump = (struct pv_dump){0};
    return 0;
}

void pv_dump_done(struct pv_dump *dump)
{
    for (size_t i = 0; i < dump->count; i++) {
        free(dump->items[i].name);
        free(dump->items[i].driver);
        free(dump->items[i].handle);
        free(dump->items[i].reclaim_policy);
        free(dump->items[i].phase);
    }
    free(dump->items);
    *dump = (struct pv_dump){0};
}
