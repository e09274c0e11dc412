#include "common/kube/objects/driver_objects.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/kube/objects/kube_objects.h"

#define WORD_LIMIT ((size_t)64 * 1024) /* classes with many pools are not passed as arguments */

/* --- workloads --- */

static const struct json_field ENV_FIELDS[] = {
    JSON_FIELD_STRING("name", struct kube_env, name),
    JSON_FIELD_STRING("value", struct kube_env, value),
};
static const struct json_table ENV_TABLE = JSON_TABLE(struct kube_env, ENV_FIELDS);

static const struct json_field CONTAINER_FIELDS[] = {
    JSON_FIELD_STRING("name", struct kube_container, name),
    JSON_FIELD_STRING("image", struct kube_container, image),
    JSON_FIELD_STRINGS("command", struct kube_container, command),
    JSON_FIELD_STRINGS("args", struct kube_container, args),
    JSON_FIELD_OBJECTS("env", struct kube_container, env, env_count, &ENV_TABLE),
};
static const struct json_table CONTAINER_TABLE =
    JSON_TABLE(struct kube_container, CONTAINER_FIELDS);

static const struct json_field WORKLOAD_FIELDS[] = {
    JSON_FIELD_STRING("metadata.namespace", struct kube_workload, ns),
    JSON_FIELD_STRING("metadata.name", struct kube_workload, name),
    JSON_FIELD_OBJECTS("spec.template.spec.containers", struct kube_workload, containers,
                       container_count, &CONTAINER_TABLE),
};
static const struct json_table WORKLOAD_TABLE = JSON_TABLE(struct kube_workload, WORKLOAD_FIELDS);

const char *kube_workload_resource(const char *kind)
{
    static const struct {
        const char *kind;
        const char *resource;
    } rows[] = {
        {"Deployment", "deployments"},
        {"DaemonSet", "daemonsets"},
        {"StatefulSet", "statefulsets"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
        if (strcmp(rows[i].kind, kind) == 0)
            return rows[i].resource;
    return NULL;
}

static void set_if_missing(char **text, const char *fallback)
{
    if (!*text)
        *text = xstrdup(fallback);
}

int kube_workload_decode(const char *kind, const json_t *value, struct kube_workload *workload,
                         struct error *err)
{
    if (json_decode(value, &WORKLOAD_TABLE, workload, err) < 0)
        return error_wrap(err, "%s '%.80s'", kind, kube_name(value));
    workload->kind = xstrdup(kind);
    set_if_missing(&workload->ns, "default");
    set_if_missing(&workload->name, "");
    return 0;
}

void kube_workload_done(struct kube_workload *workload)
{
    free(TAKE(workload->kind));
    json_free_fields(&WORKLOAD_TABLE, workload);
}

/* --- the words of a container --- */

/* The value of the variable that @name, of @length bytes, names; NULL if it is not known here. */
static const char *find_variable(const struct kube_container *container, const char *name,
                                 size_t length)
{
    for (size_t i = container->env_count; i > 0; i--) {
        const struct kube_env *env = &container->env[i - 1];

        if (env->name && strlen(env->name) == length && strncmp(env->name, name, length) == 0)
            return env->value;
    }
    return NULL;
}

/* A reference to what is not known stays as it is written. Caller frees. */
static char *expand_word(const struct kube_container *container, const char *word)
{
    struct text expanded = TEXT_INIT(WORD_LIMIT);

    while (word[0] != '\0') {
        const char *reference = strstr(word, "$(");
        const char *end = reference ? strchr(reference, ')') : NULL;

        if (!end)
            break;
        const char *value = find_variable(container, reference + 2, (size_t)(end - reference - 2));
        text_add_bytes(&expanded, word, (size_t)(reference - word));
        if (value)
            text_add(&expanded, value);
        else
            text_add_bytes(&expanded, reference, (size_t)(end - reference + 1));
        word = end + 1;
    }
    text_add(&expanded, word);
    char *result = expanded.chars ? text_take(&expanded) : xstrdup("");
    text_done(&expanded);
    return result;
}

void kube_container_words(const struct kube_container *container, struct string_list *words)
{
    const struct string_list *const lists[] = {&container->command, &container->args};

    for (size_t n = 0; n < ARRAY_LENGTH(lists); n++)
        for (size_t i = 0; i < lists[n]->count; i++) {
            _cleanup_free_ char *word = expand_word(container, lists[n]->items[i]);

            if (words->count > 0 || word[0] == '-')
                string_list_add(words, word);
        }
}

/* --- classes --- */

static const struct json_field SNAPSHOT_CLASS_FIELDS[] = {
    JSON_FIELD_STRING("metadata.name", struct kube_driver_class, name),
    JSON_FIELD_STRING("driver", struct kube_driver_class, driver),
    JSON_FIELD_STRMAP("parameters", struct kube_driver_class, parameters),
};
static const struct json_table SNAPSHOT_CLASS_TABLE =
    JSON_TABLE(struct kube_driver_class, SNAPSHOT_CLASS_FIELDS);

static const struct json_field ATTRIBUTES_CLASS_FIELDS[] = {
    JSON_FIELD_STRING("metadata.name", struct kube_driver_class, name),
    JSON_FIELD_STRING("driverName", struct kube_driver_class, driver),
    JSON_FIELD_STRMAP("parameters", struct kube_driver_class, parameters),
};
static const struct json_table ATTRIBUTES_CLASS_TABLE =
    JSON_TABLE(struct kube_driver_class, ATTRIBUTES_CLASS_FIELDS);

static const struct driver_class_kind {
    const char *kind;
    const char *api;
    const char *resource;
    const struct json_table *table;
} CLASS_KINDS[] = {
    {"VolumeSnapshotClass", "snapshot.storage.k8s.io/v1", "volumesnapshotclasses",
     &SNAPSHOT_CLASS_TABLE},
    {"VolumeGroupSnapshotClass", "groupsnapshot.storage.k8s.io/v1beta1",
     "volumegroupsnapshotclasses", &SNAPSHOT_CLASS_TABLE},
    {"VolumeAttributesClass", "storage.k8s.io/v1", "volumeattributesclasses",
     &ATTRIBUTES_CLASS_TABLE},
};

static const struct driver_class_kind *find_class_kind(const char *kind)
{
    for (size_t i = 0; i < ARRAY_LENGTH(CLASS_KINDS); i++)
        if (strcmp(CLASS_KINDS[i].kind, kind) == 0)
            return &CLASS_KINDS[i];
    return NULL;
}

const char *kube_driver_class_resource(const char *kind, const char **api)
{
    const struct driver_class_kind *row = find_class_kind(kind);

    if (row)
        *api = row->api;
    return row ? row->resource : NULL;
}

int kube_driver_class_decode(const char *kind, const json_t *value, struct kube_driver_class *class,
                             struct error *err)
{
    const struct driver_class_kind *row = find_class_kind(kind);

    if (!row)
        return error_set(err, STATUS_INVALID_ARGUMENT, "kind '%.80s' is no class of a driver",
                         kind);
    if (json_decode(value, row->table, class, err) < 0)
        return error_wrap(err, "%s '%.80s'", kind, kube_name(value));
    class->kind = xstrdup(kind);
    set_if_missing(&class->name, "");
    set_if_missing(&class->driver, "");
    return 0;
}

void kube_driver_class_done(struct kube_driver_class *class)
{
    free(TAKE(class->kind));
    json_free_fields(&SNAPSHOT_CLASS_TABLE, class);
}
