#include "common/kube/domain_volumes.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/kube/kube.h"

#define ATTACHMENTS "/apis/storage.k8s.io/v1/volumeattachments"
#define VOLUMES "/api/v1/persistentvolumes"

void domain_volumes_done(struct domain_volumes *volumes)
{
    for (size_t i = 0; i < volumes->count; i++) {
        struct domain_volume *volume = &volumes->items[i];

        free(volume->name);
        free(volume->handle);
        free(volume->claim_namespace);
        free(volume->claim);
        strmap_done(&volume->attributes);
        string_list_done(&volume->clients);
    }
    free(volumes->items);
    *volumes = (struct domain_volumes){0};
}

/* --- attachments --- */

struct attachment {
    char *volume; /* name of the PV */
    char *node;
};

struct reading {
    const struct domain_query *query;
    struct attachment *attachments; /* by volume, once all are there */
    size_t attachment_count;
    struct domain_volumes *volumes;
    struct strmap handles; /* those of the query for which no PV was seen */
};

static void start_attachments(void *object)
{
    struct reading *reading = object;

    for (size_t i = 0; i < reading->attachment_count; i++) {
        free(reading->attachments[i].volume);
        free(reading->attachments[i].node);
    }
    reading->attachment_count = 0;
}

static int take_attachment(void *object, json_t *item, struct error *err)
{
    struct reading *reading = object;
    const char *node = kube_text(item, "spec", "nodeName", NULL);
    const char *volume = kube_text(item, "spec", "source", "persistentVolumeName", NULL);

    if (strcmp(kube_text(item, "spec", "attacher", NULL), reading->query->driver) != 0 ||
        !node[0] || !volume[0] || strmap_has(reading->query->foreign, node))
        return 0;
    if (reading->attachment_count >= DOMAIN_VOLUMES_MAX)
        return error_set(err, STATUS_OUT_OF_RANGE, "more than %d attachments", DOMAIN_VOLUMES_MAX);
    *array_add(reading->attachments, reading->attachment_count) =
        (struct attachment){xstrdup(volume), xstrdup(node)};
    return 0;
}

static int compare_attachments(const void *a, const void *b)
{
    const struct attachment *left = a;
    const struct attachment *right = b;

    return strcmp(left->volume, right->volume);
}

static void add_clients(const struct reading *reading, const char *volume,
                        struct string_list *clients)
{
    size_t low = 0;
    size_t high = reading->attachment_count;

    while (low < high) { /* the first that is not before */
        size_t middle = low + (high - low) / 2;

        if (strcmp(reading->attachments[middle].volume, volume) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < reading->attachment_count; low++) {
        if (strcmp(reading->attachments[low].volume, volume) != 0)
            return;
        string_list_add(clients, reading->attachments[low].node);
    }
}

/* --- volumes --- */

static bool has_string(const json_t *array, const char *text)
{
    size_t i = 0;
    json_t *value = NULL;

    json_array_foreach(array, i, value)
    {
        if (json_is_string(value) && strcmp(json_string_value(value), text) == 0)
            return true;
    }
    return false;
}

/* Whether the expression speaks of one of the pins; operators that do not list values count. */
static bool names_pin(const json_t *expression, const struct string_list *pins)
{
    const char *key = kube_text(expression, "key", NULL);
    const bool is_list = strcmp(kube_text(expression, "operator", NULL), "In") == 0;

    for (size_t i = 0; i < pins->count; i++) {
        const char *equals = strchr(pins->items[i], '=');
        const size_t length = (size_t)(equals - pins->items[i]);

        if (strlen(key) == length && strncmp(key, pins->items[i], length) == 0 &&
            (!is_list || has_string(json_object_get(expression, "values"), equals + 1)))
            return true;
    }
    return false;
}

static bool is_pinned(const json_t *item, const struct string_list *pins)
{
    const json_t *affinity = json_object_get(json_object_get(item, "spec"), "nodeAffinity");
    const json_t *terms =
        json_object_get(json_object_get(affinity, "required"), "nodeSelectorTerms");
    size_t i = 0;
    json_t *term = NULL;

    json_array_foreach(terms, i, term)
    {
        size_t j = 0;
        json_t *expression = NULL;

        json_array_foreach(json_object_get(term, "matchExpressions"), j, expression)
        {
            if (names_pin(expression, pins))
                return true;
        }
    }
    return false;
}

static void take_attributes(const json_t *csi, struct strmap *attributes)
{
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach(json_object_get(csi, "volumeAttributes"), key, value)
    {
        if (json_is_string(value))
            strmap_set(attributes, key, json_string_value(value));
    }
}

static struct domain_volume *add_volume(struct domain_volumes *volumes)
{
    struct domain_volume *volume = array_add(volumes->items, volumes->count);
    *volume = (struct domain_volume){0};
    return volume;
}

static void start_volumes(void *object)
{
    struct reading *reading = object;

    domain_volumes_done(reading->volumes);
    strmap_done(&reading->handles);
    strmap_merge(&reading->handles, reading->query->handles);
}

static int take_volume(void *object, json_t *item, struct error *err)
{
    struct reading *reading = object;
    const json_t *csi = json_object_get(json_object_get(item, "spec"), "csi");
    const char *handle = kube_text(csi, "volumeHandle", NULL);
    _cleanup_string_list_ struct string_list clients = {0};

    if (strcmp(kube_text(csi, "driver", NULL), reading->query->driver) != 0 || !handle[0])
        return 0;
    const bool pinned = is_pinned(item, reading->query->pins);
    add_clients(reading, kube_name(item), &clients);
    strmap_remove(&reading->handles, handle);
    if (!pinned && clients.count == 0 && !strmap_has(reading->query->handles, handle))
        return 0;
    if (reading->volumes->count >= DOMAIN_VOLUMES_MAX)
        return error_set(err, STATUS_OUT_OF_RANGE, "more than %d volumes", DOMAIN_VOLUMES_MAX);
    struct domain_volume *volume = add_volume(reading->volumes);
    volume->name = xstrdup(kube_name(item));
    volume->handle = xstrdup(handle);
    volume->claim_namespace = xstrdup(kube_text(item, "spec", "claimRef", "namespace", NULL));
    volume->claim = xstrdup(kube_text(item, "spec", "claimRef", "name", NULL));
    volume->is_pinned = pinned;
    volume->clients = clients;
    clients = (struct string_list){0};
    take_attributes(csi, &volume->attributes);
    return 0;
}

static void add_nameless(struct reading *reading)
{
    for (size_t i = 0; i < reading->handles.count; i++) {
        struct domain_volume *volume = add_volume(reading->volumes);

        volume->name = xstrdup("");
        volume->handle = xstrdup(reading->handles.entries[i].key);
        volume->claim_namespace = xstrdup("");
        volume->claim = xstrdup("");
    }
}

static int read_all(struct kube *kube, struct call *call, struct reading *reading,
                    struct error *err)
{
    _cleanup_free_ char *attachments_version = NULL;
    _cleanup_free_ char *volumes_version = NULL;
    const struct kube_list_sink attachments = {start_attachments, take_attachment, reading};
    const struct kube_list_sink volumes = {start_volumes, take_volume, reading};

    if (reading->query->foreign &&
        kube_list(kube, call, ATTACHMENTS, NULL, &attachments, &attachments_version, err) < 0)
        return -1;
    if (reading->attachment_count > 0)
        qsort(reading->attachments, reading->attachment_count, sizeof(*reading->attachments),
              compare_attachments);
    if (kube_list(kube, call, VOLUMES, NULL, &volumes, &volumes_version, err) < 0)
        return -1;
    add_nameless(reading);
    return 0;
}

int domain_volumes_read(struct kube *kube, struct call *call, const struct domain_query *query,
                        struct domain_volumes *out, struct error *err)
{
    _cleanup_domain_volumes_ struct domain_volumes volumes = {0};
    struct reading reading = {.query = query, .volumes = &volumes};
    int result = read_all(kube, call, &reading, err);

    start_attachments(&reading); /* frees them */
    free(reading.attachments);
    strmap_done(&reading.handles);
    if (result < 0)
        return -1;
    *out = volumes;
    volumes = (struct domain_volumes){0};
    return 0;
}
