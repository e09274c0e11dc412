#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "tests/fakes/fake_ceph_state.h"

/* RADOS objects with their omaps. Each operation is atomic, as one OSD operation is. */

#define KEYS_PER_LIST 512

void fake_object_done(struct fake_object *object)
{
    free(object->rados_namespace);
    free(object->name);
    free(object->data);
    free(object->attribute);
    strmap_done(&object->omap);
}

static struct fake_object *object_find(const struct fake_ceph *fake, const struct ceph_pool *pool,
                                       const char *name)
{
    for (size_t i = 0; i < fake->object_count; i++) {
        struct fake_object *object = &fake->objects[i];

        if (object->pool_id == pool->id &&
            strcmp(object->rados_namespace, pool->rados_namespace) == 0 &&
            strcmp(object->name, name) == 0)
            return object;
    }
    return NULL;
}

static struct fake_object *object_add(struct fake_ceph *fake, const struct ceph_pool *pool,
                                      const char *name)
{
    fake->objects = xreallocarray(fake->objects, fake->object_count + 1, sizeof(*fake->objects));
    struct fake_object *object = &fake->objects[fake->object_count++];
    *object = (struct fake_object){
        .pool_id = pool->id,
        .rados_namespace = xstrdup(pool->rados_namespace),
        .name = xstrdup(name),
        .modified = time(NULL),
    };
    return object;
}

static int omap_get(struct ceph_pool *pool, struct call *call, const char *object, const char *key,
                    char **value, struct error *err)
{
    _cleanup_free_ char *copy = NULL;
    struct fake_step step;

    if (fake_step_begin_in_pool(&step, pool, call, "omap_get", err) < 0)
        return -1;
    const struct fake_object *found = object_find(step.fake, pool, object);
    const char *present = found ? strmap_get(&found->omap, key) : NULL;
    if (present)
        copy = xstrdup(present);
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    *value = TAKE(copy);
    return 0;
}

/* One step per pool, so that any of them can fail. A pool that times out is one that does not
 * answer. */
static int omap_get_many(struct ceph_pool *const *pools, size_t count, struct call *call,
                         const char *object, const char *key, int64_t patience_ms,
                         struct omap_answer *answers, struct error *err)
{
    (void)patience_ms;
    memset(answers, 0, count * sizeof(*answers));
    for (size_t i = 0; i < count; i++) {
        if (omap_get(pools[i], call, object, key, &answers[i].value, err) == 0) {
            answers[i].answered = true;
            continue;
        }
        if (err->status != STATUS_DEADLINE_EXCEEDED)
            return -1;
        error_clear(err);
    }
    return 0;
}

/* Copies the next keys to @part and returns whether there are more. */
static bool list_part(const struct strmap *omap, const char *after, const char *prefix,
                      struct strmap *part)
{
    for (size_t i = 0; i < omap->count; i++) {
        const struct strmap_entry *entry = &omap->entries[i];

        if (strcmp(entry->key, after) <= 0 || !text_has_prefix(entry->key, prefix))
            continue;
        if (part->count == KEYS_PER_LIST)
            return true;
        strmap_set(part, entry->key, entry->value);
    }
    return false;
}

static int omap_list(struct ceph_pool *pool, struct call *call, const char *object,
                     const char *after, const char *prefix, struct strmap *entries, bool *more,
                     struct error *err)
{
    _cleanup_strmap_ struct strmap part = {0};
    struct fake_step step;
    bool is_part = false;
    int result = 0;

    if (fake_step_begin_in_pool(&step, pool, call, "omap_list", err) < 0)
        return -1;
    const struct fake_object *found = object_find(step.fake, pool, object);
    if (found)
        is_part = list_part(&found->omap, after, prefix, &part);
    else
        result = fake_refuse(err, -ENOENT, pool, "object", object);
    if (fake_step_end(&step, result, err) < 0)
        return -1;
    strmap_merge(entries, &part);
    *more = is_part;
    return 0;
}

static int omap_add(struct ceph_pool *pool, struct call *call, const char *object, const char *key,
                    const char *value, struct error *err)
{
    struct fake_step step;

    if (fake_step_begin_in_pool(&step, pool, call, "omap_add", err) < 0)
        return -1;
    struct fake_object *found = object_find(step.fake, pool, object);
    if (found && strmap_has(&found->omap, key)) {
        int result = fake_refuse(err, -EEXIST, pool, "object", object);
        error_wrap(err, "add key '%s'", key);
        return fake_step_end(&step, result, err);
    }
    if (!found)
        found = object_add(step.fake, pool, object);
    strmap_set(&found->omap, key, value);
    found->modified = time(NULL);
    return fake_step_end(&step, 0, err);
}

static int omap_set(struct ceph_pool *pool, struct call *call, const char *object,
                    const struct strmap *entries, struct error *err)
{
    struct fake_step step;
    int result = 0;

    if (fake_step_begin_in_pool(&step, pool, call, "omap_set", err) < 0)
        return -1;
    struct fake_object *found = object_find(step.fake, pool, object);
    if (found) {
        strmap_merge(&found->omap, entries);
        found->modified = time(NULL);
    } else {
        result = fake_refuse(err, -ENOENT, pool, "object", object);
    }
    return fake_step_end(&step, result, err);
}

static int omap_remove_if(struct ceph_pool *pool, struct call *call, const char *object,
                          const char *key, const char *expected, const struct strmap *added,
                          bool *removed, struct error *err)
{
    struct fake_step step;

    if (fake_step_begin_in_pool(&step, pool, call, "omap_remove_if", err) < 0)
        return -1;
    struct fake_object *found = object_find(step.fake, pool, object);
    const char *present = found ? strmap_get(&found->omap, key) : NULL;
    bool matches = present && strcmp(present, expected) == 0;
    if (matches) {
        strmap_remove(&found->omap, key);
        found->modified = time(NULL);
        if (added)
            strmap_merge(&found->omap, added);
    }
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    *removed = matches;
    return 0;
}

static int object_create(struct ceph_pool *pool, struct call *call, const char *object,
                         const struct strmap *entries, struct error *err)
{
    struct fake_step step;
    int result = 0;

    if (fake_step_begin_in_pool(&step, pool, call, "object_create", err) < 0)
        return -1;
    if (object_find(step.fake, pool, object))
        result = fake_refuse(err, -EEXIST, pool, "object", object);
    else
        strmap_merge(&object_add(step.fake, pool, object)->omap, entries);
    return fake_step_end(&step, result, err);
}

static int object_remove(struct ceph_pool *pool, struct call *call, const char *object,
                         struct error *err)
{
    struct fake_step step;

    if (fake_step_begin_in_pool(&step, pool, call, "object_remove", err) < 0)
        return -1;
    struct fake_object *found = object_find(step.fake, pool, object);
    if (found) {
        fake_object_done(found);
        *found = step.fake->objects[--step.fake->object_count];
    }
    return fake_step_end(&step, 0, err);
}

static int object_modified(struct ceph_pool *pool, struct call *call, const char *object,
                           time_t *modified, struct error *err)
{
    struct fake_step step;
    time_t time = 0;
    int result = 0;

    if (fake_step_begin_in_pool(&step, pool, call, "object_modified", err) < 0)
        return -1;
    const struct fake_object *found = object_find(step.fake, pool, object);
    if (found)
        time = found->modified;
    else
        result = fake_refuse(err, -ENOENT, pool, "object", object);
    if (fake_step_end(&step, result, err) < 0)
        return -1;
    *modified = time;
    return 0;
}

static char *copy_bytes(const void *bytes, size_t length)
{
    char *copy = xcalloc(length + 1, 1);

    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

static void read_object(const struct fake_object *object, const struct string_list *keys,
                        struct object_state *state)
{
    state->version = object->version;
    state->data = copy_bytes(object->data, object->data_length);
    state->data_length = object->data_length;
    if (object->attribute)
        state->attribute = copy_bytes(object->attribute, object->attribute_length);
    state->attribute_length = object->attribute_length;
    for (size_t i = 0; i < keys->count; i++)
        if (strmap_has(&object->omap, keys->items[i]))
            strmap_set(&state->omap, keys->items[i], strmap_get(&object->omap, keys->items[i]));
}

static int object_read(struct ceph_pool *pool, struct call *call, const char *object,
                       const char *attribute, const struct string_list *keys,
                       struct object_state *state, struct error *err)
{
    _cleanup_(object_state_done) struct object_state read = {0};
    struct fake_step step;
    int result = 0;

    (void)attribute;
    if (fake_step_begin_in_pool(&step, pool, call, "object_read", err) < 0)
        return -1;
    const struct fake_object *found = object_find(step.fake, pool, object);
    if (found)
        read_object(found, keys, &read);
    else
        result = fake_refuse(err, -ENOENT, pool, "object", object);
    if (fake_step_end(&step, result, err) < 0)
        return -1;
    *state = read;
    read = (struct object_state){0};
    return 0;
}

static void change_object(struct fake_object *object, const struct object_change *change)
{
    object->version++;
    object->modified = time(NULL);
    if (change->data) {
        free(object->data);
        object->data = copy_bytes(change->data, change->data_length);
        object->data_length = change->data_length;
    }
    if (change->attribute_name) {
        free(object->attribute);
        object->attribute = copy_bytes(change->attribute, change->attribute_length);
        object->attribute_length = change->attribute_length;
    }
    if (change->set)
        strmap_merge(&object->omap, change->set);
    for (size_t i = 0; change->removed && i < change->removed->count; i++)
        strmap_remove(&object->omap, change->removed->items[i]);
}

static int object_change(struct ceph_pool *pool, struct call *call, const char *object,
                         const struct object_change *change, struct error *err)
{
    struct fake_step step;

    if (fake_step_begin_in_pool(&step, pool, call, "object_change", err) < 0)
        return -1;
    struct fake_object *found = object_find(step.fake, pool, object);
    if ((found ? found->version : 0) != change->version) {
        fake_refuse(err, found ? -ERANGE : -EOVERFLOW, pool, "object", object);
        return fake_step_end(&step, error_recode(err, STATUS_ABORTED), err);
    }
    if (change->remove && found) {
        fake_object_done(found);
        *found = step.fake->objects[--step.fake->object_count];
    } else {
        change_object(found ? found : object_add(step.fake, pool, object), change);
    }
    return fake_step_end(&step, 0, err);
}

static int object_list(struct ceph_pool *pool, struct call *call, const char *prefix,
                       struct string_list *names, struct error *err)
{
    _cleanup_string_list_ struct string_list found = {0};
    struct fake_step step;

    if (fake_step_begin_in_pool(&step, pool, call, "object_list", err) < 0)
        return -1;
    for (size_t i = 0; i < step.fake->object_count; i++) {
        const struct fake_object *object = &step.fake->objects[i];

        if (object->pool_id == pool->id &&
            strcmp(object->rados_namespace, pool->rados_namespace) == 0 &&
            text_has_prefix(object->name, prefix))
            string_list_add(&found, object->name);
    }
    if (fake_step_end(&step, 0, err) < 0)
        return -1;
    *names = found;
    found = (struct string_list){0};
    return 0;
}

void fake_object_ops(struct ceph_ops *ops)
{
    ops->omap_get = omap_get;
    ops->omap_get_many = omap_get_many;
    ops->omap_list = omap_list;
    ops->omap_add = omap_add;
    ops->omap_set = omap_set;
    ops->omap_remove_if = omap_remove_if;
    ops->object_create = object_create;
    ops->object_remove = object_remove;
    ops->object_read = object_read;
    ops->object_change = object_change;
    ops->object_modified = object_modified;
    ops->object_list = object_list;
}
