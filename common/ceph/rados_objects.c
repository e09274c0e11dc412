/* RADOS objects and their omaps. */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/rados_operation.h"

#define LIST_MAX 512    /* keys per call */
#define LIST_CHECK 1024 /* names between two checks of the deadline */

/* Sends the write or read that @operation holds. */
static int send_operation(struct operation_in_flight *operation, struct ceph_pool *pool,
                          const char *object)
{
    rados_ioctx_t io = real_pool(pool)->io;

    operation_add_completion(operation);
    int sent = operation->write ? rados_aio_write_op_operate(operation->write, io,
                                                             operation->completion, object, NULL, 0)
                                : rados_aio_read_op_operate(operation->read, io,
                                                            operation->completion, object, 0);
    if (sent < 0)
        atomic_fetch_sub(&operation->refs, 1); /* no answer will release it */
    return sent;
}

/* Sends and waits. */
static int run_operation(struct operation_in_flight *operation, struct ceph_pool *pool,
                         const struct call *call, const char *object)
{
    int sent = send_operation(operation, pool, object);

    return sent < 0 ? sent : operation_wait(pool, operation, call, admission_deadline(call));
}

static int fail_object(struct error *err, int result, const char *what, const char *object,
                       const struct ceph_pool *pool)
{
    return error_set_errno(err, result, "%s '%s' in pool '%s'", what, object, pool->name);
}

int object_exec(struct ceph_pool *pool, struct call *call, const char *object, const char *method,
                const void *input, size_t input_length, char *output, size_t limit, size_t *length,
                struct error *err)
{
    _cleanup_operation_in_flight_ struct operation_in_flight *operation = operation_new(pool);

    assert(limit <= EXEC_LIMIT);
    operation_add_completion(operation);
    int result = rados_aio_exec(real_pool(pool)->io, object, operation->completion, "rbd", method,
                                input, input_length, operation->output, limit);
    if (result < 0)
        operation_unref(operation);
    else
        result = operation_wait(pool, operation, call, admission_deadline(call));
    if (result < 0)
        return error_set_errno(err, result, "ask object '%s' in pool '%s' for %s", object,
                               pool->name, method);
    *length = (size_t)result;
    memcpy(output, operation->output, *length < limit ? *length : limit);
    return 0;
}

char *object_exec_string(const char *text, size_t extra, size_t *length)
{
    const uint32_t text_length = htole32((uint32_t)strlen(text));
    struct text bytes = TEXT_INIT(EXEC_LIMIT);

    text_add_bytes(&bytes, (const char *)&text_length, sizeof(text_length));
    text_add(&bytes, text);
    for (size_t i = 0; i < extra; i++)
        text_add_bytes(&bytes, "", 1);
    *length = bytes.length;
    return text_take(&bytes);
}

/* --- reading --- */

/* Takes the entries that the read found. Values are text: a NUL inside is not one of ours. */
static int take_entries(struct operation_in_flight *operation, const struct ceph_pool *pool,
                        const char *object, struct strmap *entries, struct error *err)
{
    for (;;) {
        char *key = NULL;
        char *value = NULL;
        size_t key_length = 0;
        size_t value_length = 0;
        int result =
            rados_omap_get_next2(operation->iterator, &key, &value, &key_length, &value_length);

        if (result < 0)
            return fail_object(err, result, "read the omap of", object, pool);
        if (!key)
            return 0;
        /* an empty value comes as NULL */
        if (memchr(key, '\0', key_length) || (value && memchr(value, '\0', value_length)))
            return error_set(err, STATUS_DATA_LOSS,
                             "the omap of '%s' in pool '%s' has a key or value with a NUL byte",
                             object, pool->name);
        _cleanup_free_ char *key_text = xstrndup(key, key_length);
        _cleanup_free_ char *value_text = xstrndup(value ? value : "", value_length);
        strmap_set(entries, key_text, value_text);
    }
}

static struct operation_in_flight *new_omap_get(struct ceph_pool *pool, const char *key)
{
    struct operation_in_flight *operation = operation_new(pool);
    const size_t key_length = strlen(key);

    operation->read = rados_create_read_op();
    rados_read_op_omap_get_vals_by_keys2(operation->read, &key, 1, &key_length,
                                         &operation->iterator, &operation->step_result);
    return operation;
}

/* The value that a get found, NULL if there is none. @result is that of the operation. */
static int take_value(struct operation_in_flight *operation, const struct ceph_pool *pool,
                      const char *object, const char *key, int result, char **value,
                      struct error *err)
{
    _cleanup_strmap_ struct strmap entries = {0};

    *value = NULL;
    if (result == -ENOENT)
        return 0;
    if (result < 0)
        return error_set_errno(err, result, "read key '%s' of '%s' in pool '%s'", key, object,
                               pool->name);
    if (take_entries(operation, pool, object, &entries, err) < 0)
        return -1;
    if (entries.count > 0)
        *value = xstrdup(entries.entries[0].value);
    return 0;
}

static int omap_get(struct ceph_pool *pool, struct call *call, const char *object, const char *key,
                    char **value, struct error *err)
{
    _cleanup_operation_in_flight_ struct operation_in_flight *operation = new_omap_get(pool, key);
    int result = run_operation(operation, pool, call, object);

    return take_value(operation, pool, object, key, result, value, err);
}

static int omap_get_many(struct ceph_pool *const *pools, size_t count, struct call *call,
                         const char *object, const char *key, int64_t patience_ms,
                         struct omap_answer *answers, struct error *err)
{
    struct operation_in_flight **operations = xcalloc(count + 1, sizeof(*operations));
    int *sent = xcalloc(count + 1, sizeof(*sent));
    struct deadline give_up = admission_deadline(call);
    int result = 0;

    if (patience_ms >= 0)
        give_up = deadline_earlier(give_up, deadline_in_ms(patience_ms));
    for (size_t i = 0; i < count; i++) {
        operations[i] = new_omap_get(pools[i], key);
        sent[i] = send_operation(operations[i], pools[i], object);
    }
    for (size_t i = 0; i < count; i++) {
        int got = sent[i] < 0 ? sent[i] : operation_wait(pools[i], operations[i], call, give_up);

        answers[i] = (struct omap_answer){.answered = result == 0 && got != -ETIMEDOUT};
        if (answers[i].answered)
            result = take_value(operations[i], pools[i], object, key, got, &answers[i].value, err);
        operation_unref(operations[i]);
    }
    free(operations);
    free(sent);
    return result;
}

int object_list_keys(struct ceph_pool *pool, struct call *call, const char *object,
                     const char *after, const char *prefix, struct strmap *entries, bool *more,
                     struct error *err)
{
    _cleanup_operation_in_flight_ struct operation_in_flight *operation = operation_new(pool);

    operation->read = rados_create_read_op();
    rados_read_op_omap_get_vals2(operation->read, after, prefix, LIST_MAX, &operation->iterator,
                                 &operation->more, &operation->step_result);
    int result = run_operation(operation, pool, call, object);
    if (result < 0)
        return fail_object(err, result, "list the omap of", object, pool);
    *more = operation->more;
    return take_entries(operation, pool, object, entries, err);
}

static int object_modified(struct ceph_pool *pool, struct call *call, const char *object,
                           time_t *modified, struct error *err)
{
    _cleanup_operation_in_flight_ struct operation_in_flight *operation = operation_new(pool);

    operation->read = rados_create_read_op();
    rados_read_op_stat(operation->read, NULL, &operation->modified, &operation->step_result);
    int result = run_operation(operation, pool, call, object);
    if (result < 0)
        return fail_object(err, result, "ask for the age of", object, pool);
    *modified = operation->modified;
    return 0;
}

static int take_attribute(struct operation_in_flight *operation, const char *wanted,
                          struct object_state *state)
{
    for (;;) {
        const char *name = NULL;
        const char *value = NULL;
        size_t length = 0;
        int result = rados_getxattrs_next(operation->attributes, &name, &value, &length);

        if (result < 0 || !name)
            return result;
        if (strcmp(name, wanted) != 0)
            continue;
        state->attribute = xcalloc(length + 1, 1);
        state->attribute_length = length;
        memcpy(state->attribute, value, length);
        return 0;
    }
}

static int object_read(struct ceph_pool *pool, struct call *call, const char *object,
                       const char *attribute, const struct string_list *keys,
                       struct object_state *state, struct error *err)
{
    _cleanup_operation_in_flight_ struct operation_in_flight *operation = operation_new(pool);
    _cleanup_(object_state_done) struct object_state found = {0};
    _cleanup_free_ size_t *lengths = xcalloc(keys->count, sizeof(size_t));

    for (size_t i = 0; i < keys->count; i++)
        lengths[i] = strlen(keys->items[i]);
    operation->read = rados_create_read_op();
    rados_read_op_getxattrs(operation->read, &operation->attributes, NULL);
    rados_read_op_read(operation->read, 0, EXEC_LIMIT, operation->output, &operation->output_length,
                       NULL);
    rados_read_op_omap_get_vals_by_keys2(operation->read, (const char *const *)keys->items,
                                         keys->count, lengths, &operation->iterator,
                                         &operation->step_result);
    int result = run_operation(operation, pool, call, object);
    if (result >= 0)
        result = take_attribute(operation, attribute, &found);
    if (result < 0)
        return fail_object(err, result, "read object", object, pool);
    if (take_entries(operation, pool, object, &found.omap, err) < 0)
        return -1;
    found.version = rados_aio_get_version(operation->completion);
    found.data_length = operation->output_length;
    found.data = xcalloc(found.data_length + 1, 1);
    memcpy(found.data, operation->output, found.data_length);
    *state = found;
    found = (struct object_state){0};
    return 0;
}

/* Takes the names that @list yields; returns librados' last result, -ENOENT after the last name. */
static int take_names(rados_list_ctx_t list, const struct call *call, const char *prefix,
                      struct string_list *names)
{
    const size_t prefix_length = strlen(prefix);

    for (size_t seen = 1;; seen++) {
        const char *name = NULL;
        size_t length = 0;
        int result = rados_nobjects_list_next2(list, &name, NULL, NULL, &length, NULL, NULL);

        if (result < 0)
            return result;
        if (seen % LIST_CHECK == 0 && call_is_cancelled(call))
            return -ETIMEDOUT;
        if (length < prefix_length || memcmp(name, prefix, prefix_length) != 0 ||
            memchr(name, '\0', length))
            continue;
        _cleanup_free_ char *text = xstrndup(name, length);
        string_list_add(names, text);
    }
}

static int object_list(struct ceph_pool *pool, struct call *call, const char *prefix,
                       struct string_list *names, struct error *err)
{
    _cleanup_string_list_ struct string_list found = {0};
    rados_list_ctx_t list = NULL;

    call_stage(call, "listing the objects of pool '%s' for {age}", pool->name);
    int result = rados_nobjects_list_open(real_pool(pool)->io, &list);
    if (result == 0) {
        result = take_names(list, call, prefix, &found);
        rados_nobjects_list_close(list);
    }
    if (result < 0 && result != -ENOENT)
        return error_set_errno(err, result, "list the objects of pool '%s'", pool->name);
    *names = found;
    found = (struct string_list){0};
    return 0;
}

/* --- writing --- */

/* @entries may be NULL. */
static void add_omap_set(rados_write_op_t write, const struct strmap *entries)
{
    if (!entries || entries->count == 0)
        return;
    _cleanup_free_ const char **keys = xcalloc(entries->count, sizeof(char *));
    _cleanup_free_ const char **values = xcalloc(entries->count, sizeof(char *));
    _cleanup_free_ size_t *key_lengths = xcalloc(entries->count, sizeof(size_t));
    _cleanup_free_ size_t *value_lengths = xcalloc(entries->count, sizeof(size_t));

    for (size_t i = 0; i < entries->count; i++) {
        keys[i] = entries->entries[i].key;
        values[i] = entries->entries[i].value;
        key_lengths[i] = strlen(keys[i]);
        value_lengths[i] = strlen(values[i]);
    }
    rados_write_op_omap_set2(write, keys, values, key_lengths, value_lengths, entries->count);
}

/* Fails the write unless @key has @value; an absent key counts as empty. */
static void add_omap_compare(struct operation_in_flight *operation, const char *key,
                             const char *value)
{
    rados_write_op_omap_cmp2(operation->write, key, LIBRADOS_CMPXATTR_OP_EQ, value, strlen(key),
                             strlen(value), &operation->step_result);
}

static int omap_add(struct ceph_pool *pool, struct call *call, const char *object, const char *key,
                    const char *value, struct error *err)
{
    _cleanup_operation_in_flight_ struct operation_in_flight *operation = operation_new(pool);
    const struct strmap_entry entry = {(char *)(uintptr_t)key, (char *)(uintptr_t)value};
    const struct strmap entries = {(struct strmap_entry *)(uintptr_t)&entry, 1};

    assert(value[0] != '\0'); /* could not be distinguished from an absent key */
    operation->write = rados_create_write_op();
    rados_write_op_create(operation->write, LIBRADOS_CREATE_IDEMPOTENT, NULL);
    add_omap_compare(operation, key, "");
    add_omap_set(operation->write, &entries);
    int result = run_operation(operation, pool, call, object);
    if (result == -ECANCELED)
        return error_set(err, STATUS_ALREADY_EXISTS, "key '%s' of '%s' in pool '%s' exists", key,
                         object, pool->name);
    if (result < 0)
        return error_set_errno(err, result, "add key '%s' to '%s' in pool '%s'", key, object,
                               pool->name);
    return 0;
}

static void add_omap_removals(rados_write_op_t write, const struct string_list *removed)
{
    for (size_t i = 0; removed && i < removed->count; i++) {
        const char *key = removed->items[i];
        const size_t length = strlen(key);

        rados_write_op_omap_rm_keys2(write, &key, &length, 1);
    }
}

int object_change_keys(struct ceph_pool *pool, struct call *call, const char *object,
                       const struct strmap *set, const struct string_list *removed,
                       struct error *err)
{
    _cleanup_operation_in_flight_ struct operation_in_flight *operation = operation_new(pool);

    operation->write = rados_create_write_op();
    rados_write_op_assert_exists(operation->write);
    add_omap_set(operation->write, set);
    add_omap_removals(operation->write, removed);
    int result = run_operation(operation, pool, call, object);
    return result < 0 ? fail_object(err, result, "set keys of", object, pool) : 0;
}

static int omap_set(struct ceph_pool *pool, struct call *call, const char *object,
                    const struct strmap *entries, struct error *err)
{
    return object_change_keys(pool, call, object, entries, NULL, err);
}

static int omap_remove_if(struct ceph_pool *pool, struct call *call, const char *object,
                          const char *key, const char *expected, const struct strmap *added,
                          bool *removed, struct error *err)
{
    _cleanup_operation_in_flight_ struct operation_in_flight *operation = operation_new(pool);
    const size_t key_length = strlen(key);

    operation->write = rados_create_write_op();
    rados_write_op_assert_exists(operation->write);
    add_omap_compare(operation, key, expected);
    rados_write_op_omap_rm_keys2(operation->write, &key, &key_length, 1);
    add_omap_set(operation->write, added);
    int result = run_operation(operation, pool, call, object);
    *removed = result == 0;
    if (result < 0 && result != -ECANCELED && result != -ENOENT)
        return error_set_errno(err, result, "remove key '%s' of '%s' in pool '%s'", key, object,
                               pool->name);
    return 0;
}

static int object_create(struct ceph_pool *pool, struct call *call, const char *object,
                         const struct strmap *entries, struct error *err)
{
    _cleanup_operation_in_flight_ struct operation_in_flight *operation = operation_new(pool);

    operation->write = rados_create_write_op();
    rados_write_op_create(operation->write, LIBRADOS_CREATE_EXCLUSIVE, NULL);
    add_omap_set(operation->write, entries);
    int result = run_operation(operation, pool, call, object);
    return result < 0 ? fail_object(err, result, "create object", object, pool) : 0;
}

static int object_remove(struct ceph_pool *pool, struct call *call, const char *object,
                         struct error *err)
{
    _cleanup_operation_in_flight_ struct operation_in_flight *operation = operation_new(pool);

    operation->write = rados_create_write_op();
    rados_write_op_remove(operation->write);
    int result = run_operation(operation, pool, call, object);
    return result < 0 && result != -ENOENT ? fail_object(err, result, "remove object", object, pool)
                                           : 0;
}

static int object_change(struct ceph_pool *pool, struct call *call, const char *object,
                         const struct object_change *change, struct error *err)
{
    _cleanup_operation_in_flight_ struct operation_in_flight *operation = operation_new(pool);
    rados_write_op_t write = rados_create_write_op();

    operation->write = write;
    if (change->version == 0)
        rados_write_op_create(write, LIBRADOS_CREATE_EXCLUSIVE, NULL);
    else
        rados_write_op_assert_version(write, change->version);
    if (change->remove) {
        rados_write_op_remove(write);
    } else {
        if (change->attribute_name)
            rados_write_op_setxattr(write, change->attribute_name, change->attribute,
                                    change->attribute_length);
        if (change->data)
            rados_write_op_write_full(write, change->data, change->data_length);
        add_omap_set(write, change->set);
        add_omap_removals(write, change->removed);
    }
    int result = run_operation(operation, pool, call, object);
    if (result >= 0)
        return 0;
    fail_object(err, result, "change object", object, pool);
    if (result == -ERANGE || result == -EOVERFLOW || result == -EEXIST)
        error_recode(err, STATUS_ABORTED); /* another was faster */
    return -1;
}

void objects_register(struct ceph_ops *ops)
{
    ops->omap_get = omap_get;
    ops->omap_get_many = omap_get_many;
    ops->omap_list = object_list_keys;
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
