#include "controller/takeover/node_watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/kube/informer.h"
#include "common/kube/kube.h"

struct node_watch {
    char *driver;
    char *annotations;   /* prefix of those that are kept: "takeover.DRIVER/" */
    char *volume_prefix; /* of volumes in use: "kubernetes.io/csi/DRIVER^" */
    atomic_uint_fast64_t changes;
    struct informer *nodes;
    struct informer *csi_nodes;
};

/* --- what is kept --- */

/* Removes all members but those named. */
static void keep_members(json_t *object, const char *const *names)
{
    const char *key = NULL;
    void *next = NULL;
    json_t *value = NULL;

    json_object_foreach_safe(object, next, key, value)
    {
        bool is_kept = false;

        for (const char *const *name = names; *name && !is_kept; name++)
            is_kept = strcmp(*name, key) == 0;
        if (!is_kept)
            json_object_del(object, key);
    }
}

static void keep_annotations(const struct node_watch *watch, json_t *metadata)
{
    const char *key = NULL;
    void *next = NULL;
    json_t *value = NULL;
    json_t *annotations = json_object_get(metadata, "annotations");

    json_object_foreach_safe(annotations, next, key, value)
    {
        if (!text_has_prefix(key, watch->annotations))
            json_object_del(annotations, key);
    }
}

static void trim_metadata(const struct node_watch *watch, json_t *item)
{
    static const char *const metadata[] = {"name",   "uid",         "resourceVersion",
                                           "labels", "annotations", NULL};

    keep_members(json_object_get(item, "metadata"), metadata);
    keep_annotations(watch, json_object_get(item, "metadata"));
}

/* Of the conditions whether it is ready, without the time when that was last heard. */
static void trim_conditions(json_t *status)
{
    static const char *const members[] = {"type", "status", NULL};
    json_t *conditions = json_object_get(status, "conditions");

    for (size_t i = json_array_size(conditions); i-- > 0;) {
        json_t *condition = json_array_get(conditions, i);

        if (strcmp(kube_text(condition, "type", NULL), "Ready") == 0)
            keep_members(condition, members);
        else
            json_array_remove(conditions, i);
    }
}

static void trim_node(void *object, json_t *item)
{
    static const char *const members[] = {"metadata", "spec", "status", NULL};
    static const char *const spec[] = {"taints", NULL};
    static const char *const status[] = {"addresses", "conditions", "nodeInfo", "volumesInUse",
                                         NULL};
    static const char *const info[] = {"bootID", "systemUUID", NULL};
    const struct node_watch *watch = object;
    json_t *state = json_object_get(item, "status");

    trim_metadata(watch, item);
    keep_members(item, members);
    keep_members(json_object_get(item, "spec"), spec);
    keep_members(state, status);
    keep_members(json_object_get(state, "nodeInfo"), info);
    trim_conditions(state);
    json_t *volumes = json_object_get(state, "volumesInUse");
    for (size_t i = json_array_size(volumes); i-- > 0;) {
        const char *volume = json_string_value(json_array_get(volumes, i));

        if (!volume || !text_has_prefix(volume, watch->volume_prefix))
            json_array_remove(volumes, i);
    }
}

static void trim_csi_node(void *object, json_t *item)
{
    static const char *const members[] = {"metadata", "spec", NULL};
    const struct node_watch *watch = object;
    json_t *drivers = json_object_get(json_object_get(item, "spec"), "drivers");

    trim_metadata(watch, item);
    keep_members(item, members);
    for (size_t i = json_array_size(drivers); i-- > 0;)
        if (strcmp(kube_text(json_array_get(drivers, i), "name", NULL), watch->driver) != 0)
            json_array_remove(drivers, i);
}

/* --- changes --- */

static bool is_same_part(const json_t *a, const json_t *b, const char *name)
{
    json_t *left = json_object_get(a, name);
    json_t *right = json_object_get(b, name);

    return left && right ? json_equal(left, right) : left == right;
}

/* All but the version. */
static bool is_same(const json_t *a, const json_t *b)
{
    const json_t *left = json_object_get(a, "metadata");
    const json_t *right = json_object_get(b, "metadata");

    return is_same_part(a, b, "spec") && is_same_part(a, b, "status") &&
           is_same_part(left, right, "uid") && is_same_part(left, right, "labels") &&
           is_same_part(left, right, "annotations");
}

static void note_put(void *object, json_t *item, json_t *old)
{
    struct node_watch *watch = object;

    if (!old || !is_same(item, old))
        atomic_fetch_add(&watch->changes, 1);
}

static void note_gone(void *object, json_t *item)
{
    struct node_watch *watch = object;

    (void)item;
    atomic_fetch_add(&watch->changes, 1);
}

struct node_watch *node_watch_new(struct kube *kube, const char *driver)
{
    struct node_watch *watch = xcalloc(1, sizeof(*watch));

    watch->driver = xstrdup(driver);
    watch->annotations = xasprintf("takeover.%s/", driver);
    watch->volume_prefix = xasprintf("kubernetes.io/csi/%s^", driver);
    watch->nodes =
        informer_new(kube, &(struct informer_options){.path = "/api/v1/nodes",
                                                      .handler = {note_put, note_gone, trim_node},
                                                      .object = watch});
    watch->csi_nodes = informer_new(
        kube, &(struct informer_options){.path = "/apis/storage.k8s.io/v1/csinodes",
                                         .handler = {note_put, note_gone, trim_csi_node},
                                         .object = watch});
    return watch;
}

void node_watch_free(struct node_watch *watch)
{
    if (!watch)
        return;
    informer_free(watch->nodes);
    informer_free(watch->csi_nodes);
    free_all(watch->driver, watch->annotations, watch->volume_prefix, watch);
}

static bool is_current(struct informer *informer)
{
    struct informer_health health = {0};

    informer_health(informer, &health);
    const bool is_good = health.synced && health.healthy;
    informer_health_done(&health);
    return is_good;
}

bool node_watch_read(struct node_watch *watch, uint64_t *changes)
{
    *changes = atomic_load(&watch->changes);
    return is_current(watch->nodes) && is_current(watch->csi_nodes);
}
