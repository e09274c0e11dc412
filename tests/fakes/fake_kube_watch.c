#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/kube/kube.h"
#include "tests/fakes/fake_kube_state.h"

/* --- selection --- */

/* The collection of an object; with @all_namespaces the one that spans them. Caller frees. */
static char *collection_of(const char *path, bool all_namespaces)
{
    char *collection = xstrndup(path, (size_t)(strrchr(path, '/') - path));
    char *space = strstr(collection, "/namespaces/");

    if (all_namespaces && space) {
        const char *rest = strchr(space + strlen("/namespaces/"), '/');

        if (rest)
            memmove(space, rest, strlen(rest) + 1);
    }
    return collection;
}

/* "metadata.name=n1" or "zone=a" or "zone". */
static bool matches_one(const json_t *item, const char *condition, bool is_field)
{
    const char *equals = strchr(condition, '=');
    _cleanup_free_ char *key =
        equals ? xstrndup(condition, (size_t)(equals - condition)) : xstrdup(condition);
    const json_t *value = NULL;

    assert(!strpbrk(condition, "!() "));
    if (is_field) {
        const char *dot = strchr(key, '.');

        assert(equals && (text_has_prefix(key, "metadata.name") || !strcmp(key, "spec.nodeName")));
        _cleanup_free_ char *part = xstrndup(key, (size_t)(dot - key));
        value = json_object_get(json_object_get(item, part), dot + 1);
    } else {
        value = json_object_get(json_object_get(json_object_get(item, "metadata"), "labels"), key);
    }
    return value && (!equals || strcmp(json_string_value(value), equals + 1) == 0);
}

static bool matches(const json_t *item, const char *selector, bool is_field)
{
    _cleanup_free_ char *copy = xstrdup(selector ? selector : "");
    char *rest = copy;
    const char *condition = NULL;

    while ((condition = strsep(&rest, ",")))
        if (condition[0] != '\0' && !matches_one(item, condition, is_field))
            return false;
    return true;
}

bool fake_kube_is_in(const char *path, const json_t *item, const char *collection,
                     const struct kube_select *select)
{
    _cleanup_free_ char *own = collection_of(path, false);
    _cleanup_free_ char *all = collection_of(path, true);

    return (strcmp(own, collection) == 0 || strcmp(all, collection) == 0) &&
           matches(item, select->labels, false) && matches(item, select->fields, true);
}

/* --- watches --- */

struct fake_watch {
    struct fake_kube *fake;
    const char *path;
    const struct kube_watch_options *options;
    uint64_t version; /* events up to here were given */
    unsigned cuts;    /* of the fake when the watch began */
    unsigned bookmarks;
};

/* Gives the lock up while the event is given. */
static int give(const struct fake_watch *watch, enum kube_event_kind kind, json_t *item,
                struct error *err)
{
    pthread_mutex_unlock(&watch->fake->lock);
    int result = watch->options->event(watch->options->object, kind, item, err);
    json_decref(item);
    pthread_mutex_lock(&watch->fake->lock);
    return result;
}

static int give_bookmark(struct fake_watch *watch, struct error *err)
{
    _cleanup_free_ char *version = xasprintf("%llu", (unsigned long long)watch->fake->version);

    watch->bookmarks = watch->fake->bookmarks;
    return give(watch, KUBE_BOOKMARK,
                json_pack("{s:{s:s}}", "metadata", "resourceVersion", version), err);
}

static const struct fake_change *next_change(const struct fake_watch *watch)
{
    const struct fake_kube *fake = watch->fake;

    for (size_t i = 0; i < fake->change_count; i++)
        if (fake->changes[i].version > watch->version)
            return &fake->changes[i];
    return NULL;
}

/* Gives the next event or waits a moment for one. */
static int step(struct fake_watch *watch, struct error *err)
{
    struct fake_kube *fake = watch->fake;
    const struct fake_change *change = next_change(watch);

    if (watch->cuts != fake->cuts || fake->crashed)
        return error_set(err, STATUS_UNAVAILABLE, "the connection was cut");
    if (change) {
        watch->version = change->version;
        if (!fake_kube_is_in(change->path, change->item, watch->path, &watch->options->select))
            return 0;
        return give(watch, change->kind, json_deep_copy(change->item), err);
    }
    if (watch->bookmarks != fake->bookmarks)
        return give_bookmark(watch, err);
    const struct timespec until = deadline_timespec(deadline_in_ms(10));
    pthread_cond_clockwait(&fake->changed, &fake->lock, CLOCK_MONOTONIC, &until);
    return 0;
}

int fake_kube_watch(struct kube *kube, struct call *call, const char *path,
                    const struct kube_watch_options *options, struct error *err)
{
    struct deadline end = deadline_in_ms((int64_t)options->timeout_s * 1000);
    struct fake_step began;
    int result = 0;

    if (fake_kube_begin(kube, call, "watch", path, &began, err) < 0)
        return -1;
    struct fake_kube *fake = began.fake;
    struct fake_watch watch = {fake,       path,
                               options,    strtoull(options->resource_version, NULL, 10),
                               fake->cuts, fake->bookmarks};
    if (watch.version < fake->compacted) {
        result = error_set(err, STATUS_OUT_OF_RANGE, "410 Expired: too old resource version");
        return fake_kube_end(&began, result, err);
    }
    fake->watches++;
    pthread_cond_broadcast(&fake->changed);
    while (result == 0 && !deadline_has_passed(end))
        result = call_check(call, err) < 0 ? -1 : step(&watch, err);
    fake->watches--;
    return fake_kube_end(&began, result, err);
}

void fake_kube_cut_watches(struct fake_kube *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->cuts++;
    pthread_cond_broadcast(&fake->changed);
    pthread_mutex_unlock(&fake->lock);
}

void fake_kube_bookmark(struct fake_kube *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->bookmarks++;
    pthread_cond_broadcast(&fake->changed);
    pthread_mutex_unlock(&fake->lock);
}

unsigned fake_kube_watches(struct fake_kube *fake)
{
    pthread_mutex_lock(&fake->lock);
    unsigned watches = fake->watches;
    pthread_mutex_unlock(&fake->lock);
    return watches;
}
