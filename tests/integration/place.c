#include "tests/integration/place.h"

#include <errno.h>

#include "common/base/memory.h"
#include "tests/test.h"

#define KEYS_MAX 512

int place_check(int result, const char *what, const char *file, int line)
{
    if (result < 0)
        fail_msg("%s:%d: %s: error %d", file, line, what, -result);
    return result;
}

static rados_t connection;

static void disconnect(void)
{
    rados_shutdown(connection);
}

/* One for the whole program. */
static rados_t connect_once(void)
{
    if (!connection) {
        place_must(rados_create(&connection, "admin"));
        place_must(rados_conf_read_file(connection, getenv("CEPH_CONF")));
        place_must(
            rados_conf_set(connection, "rados_osd_op_timeout", "60")); /* a pool may be dead */
        place_must(rados_connect(connection));
        atexit(disconnect);
    }
    return connection;
}

struct place place_open(const char *pool, const char *rados_namespace)
{
    struct place place = {0};

    place_must(rados_ioctx_create(connect_once(), pool, &place.io));
    rados_ioctx_set_namespace(place.io, rados_namespace ? rados_namespace : "");
    place.id = rados_ioctx_get_id(place.io);
    return place;
}

void place_close(struct place *place)
{
    rados_ioctx_destroy(place->io);
}

void place_set(const struct place *place, const char *object, const char *key, const char *value)
{
    rados_write_op_t write = rados_create_write_op();
    const size_t key_length = strlen(key);
    const size_t value_length = strlen(value);

    rados_write_op_omap_set2(write, &key, &value, &key_length, &value_length, 1);
    place_must(rados_write_op_operate(write, place->io, object, NULL, 0));
    rados_release_write_op(write);
}

void place_create(const struct place *place, const char *object)
{
    rados_write_op_t write = rados_create_write_op();

    rados_write_op_create(write, LIBRADOS_CREATE_EXCLUSIVE, NULL);
    place_must(rados_write_op_operate(write, place->io, object, NULL, 0));
    rados_release_write_op(write);
}

void place_remove(const struct place *place, const char *object)
{
    place_must(rados_remove(place->io, object));
}

bool place_has(const struct place *place, const char *object)
{
    uint64_t size = 0;
    time_t modified = 0;

    return rados_stat(place->io, object, &size, &modified) == 0;
}

void place_list(const struct place *place, const char *object, struct strmap *entries)
{
    rados_read_op_t read = rados_create_read_op();
    rados_omap_iter_t iterator = NULL;
    unsigned char more = 0;
    int result = 0;

    rados_read_op_omap_get_vals2(read, "", "", KEYS_MAX, &iterator, &more, &result);
    if (rados_read_op_operate(read, place->io, object, 0) == 0) {
        char *key = NULL;
        char *value = NULL;
        size_t key_length = 0;
        size_t value_length = 0;

        assert_false(more);
        while (rados_omap_get_next2(iterator, &key, &value, &key_length, &value_length) == 0 &&
               key) {
            _cleanup_free_ char *text = xstrndup(value, value_length);

            assert_int_equal(strlen(text), value_length); /* no NUL at the end of what we write */
            strmap_set(entries, key, text);
        }
        rados_omap_get_end(iterator);
    }
    rados_release_read_op(read);
}

char *place_get(const struct place *place, const char *object, const char *key)
{
    _cleanup_strmap_ struct strmap entries = {0};

    place_list(place, object, &entries);
    const char *value = strmap_get(&entries, key);
    return value ? xstrdup(value) : NULL;
}

/* The keys after *@after, which becomes the last one found; false when there are no more. */
static bool add_keys(const struct place *place, const char *object, char **after,
                     struct string_list *keys)
{
    rados_read_op_t read = rados_create_read_op();
    rados_omap_iter_t iterator = NULL;
    unsigned char more = 0;
    int step_result = 0;
    char *key = NULL;
    char *value = NULL;

    rados_read_op_omap_get_keys2(read, *after, KEYS_MAX, &iterator, &more, &step_result);
    int result = rados_read_op_operate(read, place->io, object, 0);
    if (result != -ENOENT) /* removed since it was listed */
        place_must(result);
    while (result == 0 && rados_omap_get_next(iterator, &key, &value, &(size_t){0}) == 0 && key) {
        string_list_add(keys, key);
        free(*after);
        *after = xstrdup(key);
    }
    rados_omap_get_end(iterator);
    rados_release_read_op(read);
    return result == 0 && more;
}

void place_keys(const struct place *place, const char *object, struct string_list *keys)
{
    _cleanup_free_ char *after = xstrdup("");

    while (add_keys(place, object, &after, keys))
        ;
}

void pool_each_object(const char *pool,
                      void (*each)(void *context, const char *rados_namespace, const char *object),
                      void *context)
{
    _cleanup_place_ struct place place = place_open(pool, LIBRADOS_ALL_NSPACES);
    rados_list_ctx_t list = NULL;
    const char *object = NULL;
    const char *rados_namespace = NULL;
    int result = 0;

    place_must(rados_nobjects_list_open(place.io, &list));
    while ((result = rados_nobjects_list_next(list, &object, NULL, &rados_namespace)) == 0)
        each(context, rados_namespace, object);
    if (result != -ENOENT)
        place_must(result);
    rados_nobjects_list_close(list);
}

struct wiping {
    const char *pool;
    const char *rados_namespace; /* NULL: all of them */
    unsigned met;
};

static void wipe_object(void *context, const char *rados_namespace, const char *object)
{
    struct wiping *wiping = context;
    _cleanup_place_ struct place place = place_open(wiping->pool, rados_namespace);

    if (wiping->rados_namespace && strcmp(wiping->rados_namespace, rados_namespace) != 0)
        return;
    if (strcmp(object, "rbd_info") == 0) /* 'rbd pool init' made it */
        return;
    rados_remove(place.io, object);
    wiping->met++;
}

/* How many objects there were. */
static unsigned wipe_objects(const char *pool, const char *rados_namespace)
{
    struct wiping wiping = {pool, rados_namespace, 0};

    pool_each_object(pool, wipe_object, &wiping);
    return wiping.met;
}

/* An object that is in a snapshot of an image stays, however often it is removed. */
static void wipe_snapshots(const char *pool)
{
    _cleanup_place_ struct place place = place_open(pool, NULL);
    rados_snap_t last = 0;

    place_must(rados_ioctx_selfmanaged_snap_create(place.io, &last));
    for (rados_snap_t id = 1; id <= last; id++)
        rados_ioctx_selfmanaged_snap_remove(place.io, id);
}

void place_wipe(const char *pool, const char *rados_namespace)
{
    wipe_objects(pool, rados_namespace);
    if (wipe_objects(pool, rados_namespace) == 0)
        return;
    wipe_snapshots(pool);
    wait_until(wipe_objects(pool, rados_namespace) == 0);
}

void place_wipe_pools(void)
{
    static const char *const pools[] = {"common", "zone-a", "zone-b", "zone-c"};

    for (size_t i = 0; i < ARRAY_LENGTH(pools); i++)
        place_wipe(pools[i], NULL);
}

char *place_mgr_command(const char *command)
{
    char *output = NULL;
    char *status = NULL;
    size_t output_length = 0;
    size_t status_length = 0;
    int result = rados_mgr_command(connect_once(), &command, 1, "", 0, &output, &output_length,
                                   &status, &status_length);
    char *answer = result < 0 ? NULL : xstrndup(output ? output : "", output_length);

    rados_buffer_free(output);
    rados_buffer_free(status);
    return answer;
}
