#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/encoding/uuid.h"
#include "common/kube/kube.h"
#include "tests/fakes/fake_kube_state.h"

#define EVICTION "/eviction"

struct fake_object **fake_kube_find(struct fake_kube *fake, const char *path)
{
    struct fake_object **link = &fake->objects;

    while (*link && strcmp((*link)->path, path) < 0)
        link = &(*link)->next;
    return link;
}

static struct fake_object *find(struct fake_kube *fake, const char *path)
{
    struct fake_object *object = *fake_kube_find(fake, path);

    return object && strcmp(object->path, path) == 0 ? object : NULL;
}

static json_t *metadata_of(json_t *item)
{
    if (!json_is_object(json_object_get(item, "metadata")))
        json_object_set_new(item, "metadata", json_object());
    return json_object_get(item, "metadata");
}

/* Stamps the item with the next version and remembers the change. */
static void record(struct fake_kube *fake, enum kube_event_kind kind, const char *path,
                   json_t *item)
{
    _cleanup_free_ char *version = xasprintf("%llu", (unsigned long long)++fake->version);

    json_object_set_new(metadata_of(item), "resourceVersion", json_string(version));
    fake->changes = xreallocarray(fake->changes, fake->change_count + 1, sizeof(*fake->changes));
    fake->changes[fake->change_count++] =
        (struct fake_change){fake->version, kind, xstrdup(path), json_deep_copy(item)};
    pthread_cond_broadcast(&fake->changed);
}

/* Puts a new object there. Takes @item over. */
static struct fake_object *insert(struct fake_kube *fake, const char *path, json_t *item)
{
    struct fake_object **link = fake_kube_find(fake, path);
    struct fake_object *object = xcalloc(1, sizeof(*object));
    const char *space = strstr(path, "/namespaces/");

    object->path = xstrdup(path);
    object->item = item;
    object->next = *link;
    *link = object;
    json_object_set_new(metadata_of(item), "name", json_string(strrchr(path, '/') + 1));
    json_object_set_new(metadata_of(item), "uid", json_string(uuid_text_generate().chars));
    if (space && strchr(space + 12, '/'))
        json_object_set_new(metadata_of(item), "namespace",
                            json_stringn(space + 12, strcspn(space + 12, "/")));
    record(fake, KUBE_ADDED, path, item);
    return object;
}

/* Takes @item over. */
static void replace(struct fake_kube *fake, struct fake_object *object, json_t *item)
{
    static const char *const kept[] = {"name", "namespace", "uid"};
    json_t *old = metadata_of(object->item);

    for (size_t i = 0; i < ARRAY_LENGTH(kept); i++)
        if (json_object_get(old, kept[i]))
            json_object_set(metadata_of(item), kept[i], json_object_get(old, kept[i]));
    json_decref(object->item);
    object->item = item;
    record(fake, KUBE_MODIFIED, object->path, item);
}

static void erase(struct fake_kube *fake, struct fake_object *object)
{
    struct fake_object **link = fake_kube_find(fake, object->path);

    record(fake, KUBE_DELETED, object->path, object->item);
    *link = object->next;
    json_decref(object->item);
    free(object->path);
    free(object);
}

/* The object that a path means, which may end with /status. */
static struct fake_object *look_up(struct fake_kube *fake, const char *verb, const char *path,
                                   struct error *err)
{
    size_t length = strlen(path) - (text_has_suffix(path, "/status") ? strlen("/status") : 0);
    _cleanup_free_ char *plain = xstrndup(path, length);
    struct fake_object *object = find(fake, plain);

    if (!object)
        error_set(err, STATUS_NOT_FOUND, "%s %s: 404 NotFound", verb, path);
    return object;
}

/* --- operations --- */

static void copy_out(const struct fake_object *object, json_t **out)
{
    if (out)
        *out = json_deep_copy(object->item);
}

static int fake_get(struct kube *kube, struct call *call, const char *path, json_t **item,
                    struct error *err)
{
    struct fake_step step;

    if (fake_kube_begin(kube, call, "get", path, &step, err) < 0)
        return -1;
    const struct fake_object *object = look_up(step.fake, "GET", path, err);
    json_auto_t *found = NULL;
    if (object)
        copy_out(object, &found);
    if (fake_kube_end(&step, object ? 0 : -1, err) < 0)
        return -1;
    *item = TAKE(found);
    return 0;
}

/* A position is "VERSION PATH": behind that path. */
static int begin_page(struct fake_kube *fake, const char *position, const char **behind,
                      struct error *err)
{
    *behind = "";
    if (!position)
        return 0;
    if (strtoull(position, NULL, 10) < fake->compacted)
        return error_set(err, STATUS_OUT_OF_RANGE, "410 Expired: the continue token is too old");
    *behind = strchr(position, ' ') + 1;
    return 0;
}

static int fill_page(struct fake_kube *fake, const char *path,
                     const struct kube_list_options *options, struct kube_page *page,
                     struct error *err)
{
    const char *behind = NULL;
    const char *last = NULL;

    if (begin_page(fake, options->position, &behind, err) < 0)
        return -1;
    page->items = json_array();
    page->resource_version = xasprintf("%llu", (unsigned long long)fake->version);
    for (const struct fake_object *at = fake->objects; at; at = at->next) {
        if (strcmp(at->path, behind) <= 0 ||
            !fake_kube_is_in(at->path, at->item, path, &options->select))
            continue;
        if (options->limit > 0 && json_array_size(page->items) == options->limit) {
            page->next = xasprintf("%llu %s", (unsigned long long)fake->version, last);
            break;
        }
        json_array_append_new(page->items, json_deep_copy(at->item));
        last = at->path;
    }
    return 0;
}

static int fake_list_page(struct kube *kube, struct call *call, const char *path,
                          const struct kube_list_options *options, struct kube_page *page,
                          struct error *err)
{
    struct fake_step step;

    if (fake_kube_begin(kube, call, "list", path, &step, err) < 0)
        return -1;
    int result = fill_page(step.fake, path, options, page, err);
    if (fake_kube_end(&step, result, err) == 0)
        return 0;
    kube_page_done(page);
    return -1;
}

static char *path_of_new(struct fake_kube *fake, const char *collection, const json_t *item)
{
    const char *name = kube_name(item);
    const char *prefix = kube_text(item, "metadata", "generateName", NULL);

    if (name[0] != '\0')
        return xasprintf("%s/%s", collection, name);
    assert(prefix[0] != '\0');
    return xasprintf("%s/%s%llu", collection, prefix, (unsigned long long)fake->version);
}

/* Lock held. */
static int evict(struct fake_kube *fake, const char *path, struct error *err)
{
    _cleanup_free_ char *pod = xstrndup(path, strlen(path) - strlen(EVICTION));
    struct fake_object *object = look_up(fake, "POST", pod, err);

    if (!object)
        return -1;
    if (fake->protected && text_has_prefix(pod, fake->protected))
        return error_set(err, STATUS_UNAVAILABLE,
                         "POST %s: 429 TooManyRequests: Cannot evict pod as it would violate the "
                         "pod's disruption budget.",
                         path);
    erase(fake, object);
    return 0;
}

static int fake_evict(struct kube *kube, struct call *call, const char *path, struct error *err)
{
    struct fake_step step;

    if (fake_kube_begin(kube, call, "create", path, &step, err) < 0)
        return -1;
    return fake_kube_end(&step, evict(step.fake, path, err), err);
}

static int fake_create(struct kube *kube, struct call *call, const char *path, const json_t *item,
                       json_t **created, struct error *err)
{
    struct fake_step step;
    json_auto_t *result = NULL;

    if (text_has_suffix(path, EVICTION)) {
        if (fake_evict(kube, call, path, err) < 0)
            return -1;
        if (created)
            *created = json_pack("{s:s, s:s}", "kind", "Status", "status", "Success");
        return 0;
    }
    if (fake_kube_begin(kube, call, "create", path, &step, err) < 0)
        return -1;
    _cleanup_free_ char *object_path = path_of_new(step.fake, path, item);
    bool is_there = find(step.fake, object_path);
    if (is_there)
        error_set(err, STATUS_ALREADY_EXISTS, "POST %s: 409 AlreadyExists", object_path);
    else
        copy_out(insert(step.fake, object_path, json_deep_copy(item)), &result);
    if (fake_kube_end(&step, is_there ? -1 : 0, err) < 0)
        return -1;
    if (created)
        *created = TAKE(result);
    return 0;
}

static int fake_update(struct kube *kube, struct call *call, const char *path, const json_t *item,
                       json_t **updated, struct error *err)
{
    const char *version = kube_resource_version(item);
    struct fake_step step;
    json_auto_t *result = NULL;

    if (fake_kube_begin(kube, call, "update", path, &step, err) < 0)
        return -1;
    struct fake_object *object = look_up(step.fake, "PUT", path, err);
    bool conflicts =
        object && version[0] && strcmp(kube_resource_version(object->item), version) != 0;
    if (conflicts)
        error_set(err, STATUS_ABORTED, "PUT %s: 409 Conflict", path);
    if (object && !conflicts) {
        replace(step.fake, object, json_deep_copy(item));
        copy_out(object, &result);
    }
    if (fake_kube_end(&step, result ? 0 : -1, err) < 0)
        return -1;
    if (updated)
        *updated = TAKE(result);
    return 0;
}

/* RFC 7386. */
static void merge(json_t *target, const json_t *changes)
{
    const char *key = NULL;
    json_t *value = NULL;

    json_object_foreach((json_t *)(uintptr_t)changes, key, value)
    {
        if (json_is_null(value)) {
            json_object_del(target, key);
        } else if (json_is_object(value)) {
            if (!json_is_object(json_object_get(target, key)))
                json_object_set_new(target, key, json_object());
            merge(json_object_get(target, key), value);
        } else {
            json_object_set_new(target, key, json_deep_copy(value));
        }
    }
}

static int fake_patch(struct kube *kube, struct call *call, const char *path, const json_t *changes,
                      json_t **patched, struct error *err)
{
    const char *version = kube_resource_version(changes);
    struct fake_step step;
    json_auto_t *result = NULL;

    if (fake_kube_begin(kube, call, "patch", path, &step, err) < 0)
        return -1;
    struct fake_object *object = look_up(step.fake, "PATCH", path, err);
    bool conflicts =
        object && version[0] && strcmp(kube_resource_version(object->item), version) != 0;
    if (conflicts)
        error_set(err, STATUS_ABORTED, "PATCH %s: 409 Conflict", path);
    if (object && !conflicts) {
        json_t *item = json_deep_copy(object->item);

        merge(item, changes);
        if (json_equal(item, object->item)) /* nothing changes: no new version */
            json_decref(item);
        else
            replace(step.fake, object, item);
        copy_out(object, &result);
    }
    if (fake_kube_end(&step, result ? 0 : -1, err) < 0)
        return -1;
    if (patched)
        *patched = TAKE(result);
    return 0;
}

static bool is_as_expected(const struct fake_object *object,
                           const struct kube_preconditions *expected)
{
    const char *uid = kube_text(object->item, "metadata", "uid", NULL);

    return !expected || ((!expected->uid || strcmp(uid, expected->uid) == 0) &&
                         (!expected->resource_version || strcmp(kube_resource_version(object->item),
                                                                expected->resource_version) == 0));
}

static int fake_remove(struct kube *kube, struct call *call, const char *path,
                       const struct kube_preconditions *preconditions, struct error *err)
{
    struct fake_step step;

    if (fake_kube_begin(kube, call, "delete", path, &step, err) < 0)
        return -1;
    struct fake_object *object = look_up(step.fake, "DELETE", path, err);
    bool goes = object && is_as_expected(object, preconditions);
    if (object && !goes)
        error_set(err, STATUS_ABORTED, "DELETE %s: 409 Conflict", path);
    if (goes)
        erase(step.fake, object);
    return fake_kube_end(&step, goes ? 0 : -1, err);
}

static void fake_free(struct kube *kube)
{
    (void)kube; /* belongs to the fake */
}

/* --- the test's side --- */

struct fake_kube *fake_kube_new(void)
{
    static const struct kube_ops ops = {.get = fake_get,
                                        .list_page = fake_list_page,
                                        .watch = fake_kube_watch,
                                        .create = fake_create,
                                        .update = fake_update,
                                        .patch = fake_patch,
                                        .remove = fake_remove,
                                        .free = fake_free};
    struct fake_kube *fake = xcalloc(1, sizeof(*fake));

    pthread_mutex_init(&fake->lock, NULL);
    pthread_cond_init(&fake->changed, NULL);
    fake->tested = (struct fake_client){{&ops}, fake, true};
    fake->other = (struct fake_client){{&ops}, fake, false};
    fake->version = 1000;
    return fake;
}

static void forget_history(struct fake_kube *fake)
{
    for (size_t i = 0; i < fake->change_count; i++) {
        free(fake->changes[i].path);
        json_decref(fake->changes[i].item);
    }
    free(fake->changes);
    fake->changes = NULL;
    fake->change_count = 0;
}

void fake_kube_free(struct fake_kube *fake)
{
    assert(fake->watches == 0);
    while (fake->objects)
        erase(fake, fake->objects);
    forget_history(fake);
    pthread_cond_destroy(&fake->changed);
    pthread_mutex_destroy(&fake->lock);
    free(fake);
}

struct kube *fake_kube_as_kube(struct fake_kube *fake)
{
    return &fake->tested.base;
}

struct kube *fake_kube_as_other(struct fake_kube *fake)
{
    return &fake->other.base;
}

void fake_kube_put(struct fake_kube *fake, const char *path, const char *json)
{
    json_t *item = json_loads(json, 0, NULL);

    assert(json_is_object(item));
    pthread_mutex_lock(&fake->lock);
    struct fake_object *object = find(fake, path);
    if (object)
        replace(fake, object, item);
    else
        insert(fake, path, item);
    pthread_mutex_unlock(&fake->lock);
}

void fake_kube_drop(struct fake_kube *fake, const char *path)
{
    pthread_mutex_lock(&fake->lock);
    struct fake_object *object = find(fake, path);
    assert(object);
    erase(fake, object);
    pthread_mutex_unlock(&fake->lock);
}

json_t *fake_kube_get(struct fake_kube *fake, const char *path)
{
    json_t *item = NULL;

    pthread_mutex_lock(&fake->lock);
    const struct fake_object *object = find(fake, path);
    if (object)
        copy_out(object, &item);
    pthread_mutex_unlock(&fake->lock);
    return item;
}

void fake_kube_dump(struct fake_kube *fake, struct text *out)
{
    pthread_mutex_lock(&fake->lock);
    for (const struct fake_object *at = fake->objects; at; at = at->next) {
        json_auto_t *copy = json_deep_copy(at->item);

        json_object_del(json_object_get(copy, "metadata"), "resourceVersion");
        json_object_del(json_object_get(copy, "metadata"), "uid");
        if (json_object_size(json_object_get(json_object_get(copy, "metadata"), "annotations")) ==
            0) /* the real one shows none either */
            json_object_del(json_object_get(copy, "metadata"), "annotations");
        _cleanup_free_ char *json = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS);
        text_addf(out, "%s %s\n", at->path, json);
    }
    pthread_mutex_unlock(&fake->lock);
}

void fake_kube_protect(struct fake_kube *fake, const char *prefix)
{
    pthread_mutex_lock(&fake->lock);
    fake->protected = prefix;
    pthread_mutex_unlock(&fake->lock);
}

void fake_kube_compact(struct fake_kube *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->compacted = ++fake->version; /* watches under way still get what they have not got yet */
    pthread_mutex_unlock(&fake->lock);
}

/* Base64. */
static char *encode(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    _cleanup_text_ struct text out = TEXT_INIT(4096);
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i += 3) {
        uint32_t bits = (uint32_t)(unsigned char)text[i] << 16;
        size_t rest = length - i;

        bits |= rest > 1 ? (uint32_t)(unsigned char)text[i + 1] << 8 : 0;
        bits |= rest > 2 ? (uint32_t)(unsigned char)text[i + 2] : 0;
        text_addf(&out, "%c%c%c%c", digits[bits >> 18], digits[bits >> 12 & 63],
                  rest > 1 ? digits[bits >> 6 & 63] : '=', rest > 2 ? digits[bits & 63] : '=');
    }
    return text_take(&out);
}

void fake_kube_put_secret(struct fake_kube *fake, const char *path, const char *user,
                          const char *key)
{
    _cleanup_free_ char *encoded_user = encode(user);
    _cleanup_free_ char *encoded_key = encode(key);
    _cleanup_free_ char *json = xasprintf("{\"data\": {\"userID\": \"%s\", \"userKey\": \"%s\"}}",
                                          encoded_user, encoded_key);

    fake_kube_put(fake, path, json);
}
