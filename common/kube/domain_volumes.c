#include "common/kube/domain_volumes.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/kube/kube.h"

void domain_volumes_done(struct domain_volumes *volumes)
{
    for (size_t i = 0; i < volumes->count; i++) {
        struct domain_volume *volume = &volumes->items[i];

        free_all(volume->name, volume->handle, volume->claim_namespace, volume->claim);
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

struct volume_reading {
    const struct domain_query *query;
    struct attachment *attachments; /* by volume, once all are there */
    size_t attachment_count;
    struct domain_volumes *volumes;
    struct strmap handles; /* those of the query for which no PV was seen */
};

static void start_attachments(void *object)
{
    struct volume_reading *reading = object;

    for (size_t i = 0; i < reading->attachment_count; i++)
        free_all(reading->attachments[i].volume, reading->attachments[i].node);
    reading->attachment_count = 0;
}

static int keep_attachment(void *context, void *item, struct error *err)
{
    struct volume_reading *reading = context;
    struct kube_attachment *attachment = item;

    if (text_is_empty(attachment->node_name) || text_is_empty(attachment->pv_name) ||
        strmap_has(reading->query->foreign, attachment->node_name))
        return 0;
    if (reading->attachment_count >= DOMAIN_VOLUMES_MAX)
        return error_set(err, STATUS_OUT_OF_RANGE, "more than %d attachments", DOMAIN_VOLUMES_MAX);
    struct attachment *kept = array_add(reading->attachments, reading->attachment_count);
    kept->volume = TAKE(attachment->pv_name);
    kept->node = TAKE(attachment->node_name);
    return 0;
}

static int compare_attachments(const void *a, const void *b)
{
    const struct attachment *left = a;
    const struct attachment *right = b;

    return strcmp(left->volume, right->volume);
}

static void add_clients(const struct volume_reading *reading, const char *volume,
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

/* --- pods --- */

static void add_users(const struct strmap *claims, const struct kube_claim_ref *claim,
                      struct string_list *clients)
{
    _cleanup_free_ char *key =
        xasprintf("%s/%s", kube_or_empty(claim->ns), kube_or_empty(claim->name));
    const char *names = claims ? strmap_get(claims, key) : NULL;
    _cleanup_free_ char *copy = xstrdup(names ? names : "");
    char *rest = NULL;

    for (const char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        if (!string_list_has(clients, name))
            string_list_add(clients, name);
}

/* --- volumes --- */

/* Whether the requirement is about one of the pins; operators that do not list values count. */
static bool names_pin(const struct selector_requirement *requirement,
                      const struct string_list *pins)
{
    for (size_t i = 0; i < pins->count; i++) {
        const char *equals = strchr(pins->items[i], '=');
        const size_t length = (size_t)(equals - pins->items[i]);

        if (strlen(requirement->key) == length &&
            strncmp(requirement->key, pins->items[i], length) == 0 &&
            (requirement->op != SELECTOR_IN || string_list_has(&requirement->values, equals + 1)))
            return true;
    }
    return false;
}

static bool is_pinned(const struct node_selector *required, const struct string_list *pins)
{
    for (size_t i = 0; i < required->count; i++) {
        const struct selector_requirements *expressions = &required->terms[i].expressions;

        for (size_t j = 0; j < expressions->count; j++)
            if (names_pin(&expressions->items[j], pins))
                return true;
    }
    return false;
}

static void start_volumes(void *object)
{
    struct volume_reading *reading = object;

    domain_volumes_done(reading->volumes);
    strmap_done(&reading->handles);
    strmap_merge(&reading->handles, reading->query->handles);
}

static int keep_volume(void *context, void *item, struct error *err)
{
    struct volume_reading *reading = context;
    struct kube_pv *pv = item;
    _cleanup_string_list_ struct string_list clients = {0};

    if (text_is_empty(pv->handle))
        return 0;
    const bool pinned = is_pinned(&pv->required, reading->query->pins);
    add_clients(reading, pv->meta.name, &clients);
    add_users(reading->query->claims, &pv->claim, &clients);
    strmap_remove(&reading->handles, pv->handle);
    if (!pinned && clients.count == 0 && !strmap_has(reading->query->handles, pv->handle))
        return 0;
    if (reading->volumes->count >= DOMAIN_VOLUMES_MAX)
        return error_set(err, STATUS_OUT_OF_RANGE, "more than %d volumes", DOMAIN_VOLUMES_MAX);
    struct domain_volume *volume = array_add(reading->volumes->items, reading->volumes->count);
    volume->name = TAKE(pv->meta.name);
    volume->handle = TAKE(pv->handle);
    volume->claim_namespace = xstrdup(kube_or_empty(pv->claim.ns));
    volume->claim = xstrdup(kube_or_empty(pv->claim.name));
    volume->is_pinned = pinned;
    volume->attributes = pv->attributes;
    volume->clients = clients;
    pv->attributes = (struct strmap){0};
    clients = (struct string_list){0};
    return 0;
}

static int read_all(struct kube *kube, struct call *call, struct volume_reading *reading,
                    struct error *err)
{
    const char *driver = reading->query->driver;
    const struct kube_object_query of_attachments = {.kind = KUBE_ATTACHMENT, .driver = driver};
    const struct kube_object_query of_volumes = {.kind = KUBE_PV, .driver = driver};
    const struct kube_object_sink attachments = {start_attachments, keep_attachment, reading};
    const struct kube_object_sink volumes = {start_volumes, keep_volume, reading};

    if (reading->query->foreign &&
        kube_list_objects(kube, call, &of_attachments, &attachments, err) < 0)
        return -1;
    if (reading->attachment_count > 0)
        qsort(reading->attachments, reading->attachment_count, sizeof(*reading->attachments),
              compare_attachments);
    if (kube_list_objects(kube, call, &of_volumes, &volumes, err) < 0)
        return -1;
    for (size_t i = 0; i < reading->handles.count; i++) /* in use, but without a PV */
        *array_add(reading->volumes->items, reading->volumes->count) = (struct domain_volume){
            .name = xstrdup(""),
            .handle = xstrdup(reading->handles.entries[i].key),
            .claim_namespace = xstrdup(""),
            .claim = xstrdup(""),
        };
    return 0;
}

int domain_volumes_read(struct kube *kube, struct call *call, const struct domain_query *query,
                        struct domain_volumes *out, struct error *err)
{
    _cleanup_domain_volumes_ struct domain_volumes volumes = {0};
    struct volume_reading reading = {.query = query, .volumes = &volumes};
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
