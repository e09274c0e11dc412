#include "common/config/takeover_configmap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/worker.h"
#include "common/config/takeover_kinds.h"
#include "common/config/watched_file.h"
#include "common/encoding/json.h"
#include "common/kube/kube.h"

#define POLL_MS 5000
#define REQUEST_MS 20000

struct takeover_configmap {
    struct kube *kube;
    char *path;
    int64_t poll_ms;
    struct worker worker;
    char *seen_version;   /* the thread's own: what was read last */
    pthread_mutex_t lock; /* over those below */
    struct condition state;
    struct watched_version *map; /* NULL: there never was a good one */
    bool is_found;
    bool is_absent;    /* when it was last looked for it was not there */
    bool is_forbidden; /* nobody here has the right to look */
    char *last_fault;  /* why there is no map; NULL: there is one, or nobody has looked yet */
};

/* Call with the lock held: readers see the finding and its reason change together. @why is for
 * whoever needs the map, @fault for the health of the place; NULL: none. */
static enum condition_news set_reason(struct takeover_configmap *configmap, const char *why,
                                      const char *fault)
{
    free(configmap->last_fault);
    configmap->last_fault = why ? xstrdup(why) : NULL;
    return condition_note(&configmap->state, fault);
}

static void log_reason(enum condition_news news, const char *fault)
{
    if (news == CONDITION_FAULT)
        log_warn(NULL, "ConfigMap " TAKEOVER_CONFIGMAP ": %s", fault);
}

static int decode_item(const json_t *item, struct takeover_map *map, struct error *err)
{
    const char *text = kube_text(item, "data", TAKEOVER_CONFIGMAP_KEY, NULL);
    json_auto_t *json = NULL;

    if (text[0] == '\0')
        return error_set(err, STATUS_INVALID_ARGUMENT, "key " TAKEOVER_CONFIGMAP_KEY " is missing");
    if (json_load_text(text, strlen(text), TAKEOVER_CONFIGMAP_KEY, &json, err) < 0)
        return -1;
    return takeover_map_decode(json, map, err);
}

static void adopt_item(struct takeover_configmap *configmap, const json_t *item)
{
    const char *seen = configmap->seen_version;
    const bool is_new = !seen || strcmp(seen, kube_resource_version(item)) != 0;
    _cleanup_error_ struct error err = {0};
    struct takeover_map map = {0};
    struct watched_version *version = NULL;
    enum condition_news news = CONDITION_UNCHANGED;

    if (is_new && decode_item(item, &map, &err) == 0) {
        log_info(NULL, "read %zu takeover(s) from ConfigMap " TAKEOVER_CONFIGMAP, map.count);
        version = takeover_version_new(&map);
    }
    pthread_mutex_lock(&configmap->lock);
    configmap->is_found = true;
    if (version) {
        watched_version_unref(configmap->map);
        configmap->map = version;
    }
    if (is_new)
        news = set_reason(configmap, err.message, err.message);
    pthread_mutex_unlock(&configmap->lock);
    if (!is_new)
        return;
    free(configmap->seen_version);
    configmap->seen_version = xstrdup(kube_resource_version(item));
    log_reason(news, err.message);
}

static void note_absence(struct takeover_configmap *configmap, const struct error *err)
{
    pthread_mutex_lock(&configmap->lock);
    const bool was_found = configmap->is_found;
    const bool is_forbidden = !was_found && err->status == STATUS_PERMISSION_DENIED;
    const bool is_absent = !was_found && err->status == STATUS_NOT_FOUND;
    configmap->is_forbidden = is_forbidden;
    configmap->is_absent = is_absent;
    _cleanup_free_ char *fault =
        xasprintf("%s: %s", was_found ? "the last map stays" : "it cannot be read", err->message);
    /* never there, or not for us to see: others may have the map, and whoever needs it says so */
    const bool is_fault = !is_forbidden && !is_absent;
    const enum condition_news news =
        set_reason(configmap, is_fault ? fault : err->message, is_fault ? fault : NULL);
    pthread_mutex_unlock(&configmap->lock);
    free(TAKE(configmap->seen_version));
    log_reason(news, fault);
}

static void poll_configmap(void *object)
{
    struct takeover_configmap *configmap = object;

    while (!worker_is_stopping(&configmap->worker)) {
        _cleanup_error_ struct error err = {0};
        json_auto_t *item = NULL;
        struct call call;

        call_init(&call, 0, "takeover-map", deadline_in_ms(REQUEST_MS));
        call.cancelled = &configmap->worker.stopping;
        int result =
            configmap->kube->ops->get(configmap->kube, &call, configmap->path, &item, &err);
        call_done(&call);
        if (worker_is_stopping(&configmap->worker))
            return;
        if (result == 0)
            adopt_item(configmap, item);
        else
            note_absence(configmap, &err);
        worker_pause(&configmap->worker, configmap->poll_ms);
    }
}

static int open_configmap(const struct takeover_setup *setup, void **place, struct error *err)
{
    const struct kube_location location = {.api = "v1",
                                           .resource = "configmaps",
                                           .name_space = setup->name_space,
                                           .name = TAKEOVER_CONFIGMAP};
    char *path = NULL;

    if (!setup->kube)
        return 0;
    if (kube_path(&location, &path, err) < 0)
        return -1;
    struct takeover_configmap *configmap = xcalloc(1, sizeof(*configmap));
    configmap->kube = setup->kube;
    configmap->path = path;
    configmap->poll_ms = setup->poll_ms > 0 ? setup->poll_ms : POLL_MS;
    pthread_mutex_init(&configmap->lock, NULL);
    worker_start(&configmap->worker, "takeover-map", poll_configmap, configmap);
    *place = configmap;
    return 0;
}

static void close_configmap(void *place)
{
    struct takeover_configmap *configmap = place;

    worker_stop(&configmap->worker);
    watched_version_unref(configmap->map);
    condition_done(&configmap->state);
    pthread_mutex_destroy(&configmap->lock);
    free_all(configmap->seen_version, configmap->last_fault, configmap->path, configmap);
}

static enum takeover_finding get_from_configmap(void *place, struct takeover_snapshot *snapshot)
{
    struct takeover_configmap *configmap = place;
    enum takeover_finding finding = TAKEOVER_FOUND;

    pthread_mutex_lock(&configmap->lock);
    if (configmap->map)
        *snapshot = takeover_snapshot_of(watched_version_ref(configmap->map));
    else if (configmap->is_found)
        finding = TAKEOVER_BROKEN;
    else
        finding = configmap->is_absent      ? TAKEOVER_ABSENT
                  : configmap->is_forbidden ? TAKEOVER_FORBIDDEN
                                            : TAKEOVER_UNSEEN;
    if (finding != TAKEOVER_FOUND && finding != TAKEOVER_ABSENT)
        snapshot->unknown =
            xasprintf("ConfigMap " TAKEOVER_CONFIGMAP ": %s",
                      configmap->last_fault ? configmap->last_fault : "it has not been read yet");
    pthread_mutex_unlock(&configmap->lock);
    return finding;
}

static bool configmap_is_healthy(void *place, char **message, time_t *since)
{
    struct takeover_configmap *configmap = place;

    pthread_mutex_lock(&configmap->lock);
    bool healthy = condition_is_healthy(&configmap->state, message, since);
    pthread_mutex_unlock(&configmap->lock);
    return healthy;
}

const struct takeover_kind TAKEOVER_IN_CONFIGMAP = {
    "a ConfigMap", open_configmap, close_configmap, get_from_configmap, configmap_is_healthy,
};
