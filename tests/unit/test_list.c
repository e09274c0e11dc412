/* Pages of ListVolumes, on two clusters in config.json that are one cluster in memory. */
#include <errno.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "controller/controller.h"
#include "controller/rbd/purge.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/test.h"
#include "tests/unit/fixtures/files.h"

#define VOLUMES 5
#define CLUSTERS 2

struct world {
    struct fake_ceph *fake;
    struct controller controller;
    char *config_path;
    /* The controller's own way to the fake, which can take its time. */
    struct ceph ceph;
    struct ceph_ops ops;
    int slow_read; /* the reading of an entry that lasts almost until the deadline; 0: none */
};
static struct world world; /* the operations of a cluster carry no object of the test */

static int slow_connect(struct ceph *ceph, struct call *call, const struct ceph_target *target,
                        struct ceph_cluster **cluster, struct error *err)
{
    struct ceph *real = fake_ceph_as_ceph(world.fake);

    (void)ceph;
    if (real->ops->connect(real, call, target, cluster, err) < 0)
        return -1;
    (*cluster)->ops = &world.ops;
    return 0;
}

static int slow_list(struct ceph_pool *pool, struct call *call, const char *object,
                     const char *after, const char *prefix, struct strmap *entries, bool *more,
                     struct error *err)
{
    const struct ceph_ops *real = fake_ceph_as_ceph(world.fake)->ops;

    if (text_has_prefix(object, "csi.volume.") && world.slow_read > 0 && --world.slow_read == 0) {
        const int64_t enough_ms = deadline_remaining_ms(call->deadline) / 20;

        while (deadline_remaining_ms(call->deadline) > enough_ms)
            usleep(1000);
    }
    return real->omap_list(pool, call, object, after, prefix, entries, more, err);
}

static void create_volume(int number)
{
    _cleanup_(create_request_done) struct create_request request = {
        .name = xasprintf("pvc-%d", number), .range = {.required_bytes = 1 << 30}};
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    request.capabilities.items = xcalloc(1, sizeof(*request.capabilities.items));
    request.capabilities.items[0] =
        (struct volume_capability){.type = ACCESS_TYPE_BLOCK, .mode = ACCESS_SINGLE_NODE_WRITER};
    request.capabilities.count = 1;
    strmap_set(&request.parameters, "clusterID", "west");
    strmap_set(&request.parameters, "pool", number % 2 ? "rbd" : "far");
    request.credentials.user = xstrdup("csi");
    secret_set(&request.credentials.key, "AQB");
    call_init(&call, 1, "CreateVolume", deadline_never());
    int result = controller_create_volume(&world.controller, &call, &request, &volume, &err);
    call_done(&call);
    if (result < 0)
        fail_msg("%s", err.message);
}

static int make_world(void **state)
{
    struct credentials keyring = {.user = xstrdup("csi")};

    make_folder(state);
    world = (struct world){.fake = fake_ceph_new(), .config_path = path_of("config.json")};
    replace_file(world.config_path, "[{\"clusterID\":\"west\",\"monitors\":[\"127.0.0.1\"]},"
                                    " {\"clusterID\":\"east\",\"monitors\":[\"127.0.0.1\"]}]");
    fake_ceph_add_pool(world.fake, "rbd", 3);
    fake_ceph_add_pool(world.fake, "far", 4);
    fake_ceph_add_pool(world.fake, "void", 5);
    world.ops = *fake_ceph_as_ceph(world.fake)->ops;
    world.ops.connect = slow_connect;
    world.ops.omap_list = slow_list;
    world.ceph.ops = &world.ops;
    world.controller = (struct controller){
        .ceph = &world.ceph,
        .config = config_file_new(world.config_path),
        .operations = operations_new(),
        .tasks = tasks_new(0),
        .purger = purger_new(0),
        .instance_id = "default",
        .cluster_name = "",
        .limits = {8, 4, 450, 250},
    };
    secret_set(&keyring.key, "AQB");
    world.controller.standing =
        standing_credentials_new(&(struct standing_credentials_options){.keyring = &keyring});
    credentials_done(&keyring);
    for (int i = 0; i < VOLUMES; i++)
        create_volume(i);
    return 0;
}

static int free_world(void **state)
{
    struct controller *controller = &world.controller;

    assert_true(tasks_stop(controller->tasks, 0));
    tasks_free(controller->tasks);
    purger_free(controller->purger);
    operations_free(controller->operations);
    config_file_free(controller->config);
    standing_credentials_free(controller->standing);
    assert_int_equal(fake_ceph_open_handles(world.fake), 0);
    fake_ceph_free(world.fake);
    free(world.config_path);
    return remove_folder(state);
}

#define WITH_VOLUMES .setup_func = make_world, .teardown_func = free_world

/* Adds the page's handles to @handles and moves *@token on; NULL behind the last page. */
static int list_page(struct deadline deadline, int max_entries, char **token,
                     struct string_list *handles, struct error *err)
{
    _cleanup_(list_request_done) struct list_request request = {.token = xstrdup(*token),
                                                                .max_entries = max_entries};
    _cleanup_(volume_list_done) struct volume_list list = {0};
    struct call call;

    call_init(&call, 1, "ListVolumes", deadline);
    int result = controller_list_volumes(&world.controller, &call, &request, &list, err);
    call_done(&call);
    if (result < 0)
        return -1;
    for (size_t i = 0; i < list.count; i++)
        string_list_add(handles, list.items[i].volume.handle);
    free(*token);
    *token = list.next_token ? TAKE(list.next_token) : NULL;
    return 0;
}

static void list_rest(char **token, struct string_list *handles)
{
    for (int pages = 0; *token; pages++) {
        _cleanup_error_ struct error err = {0};

        assert_true(pages < 100);
        if (list_page(deadline_never(), 0, token, handles, &err) < 0)
            fail_msg("%s", err.message);
    }
}

static void assert_all_once(const struct string_list *handles)
{
    assert_int_equal(handles->count, VOLUMES * CLUSTERS);
    for (size_t i = 0; i < handles->count; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(handles->items[i], handles->items[k]);
}

/* How many operations it takes to list the first volume. */
static unsigned count_first_page(void)
{
    _cleanup_string_list_ struct string_list handles = {0};
    _cleanup_free_ char *token = xstrdup("");
    _cleanup_error_ struct error err = {0};

    fake_ceph_reset_calls(world.fake);
    assert_int_equal(list_page(deadline_never(), 1, &token, &handles, &err), 0);
    assert_int_equal(handles.count, 1);
    return fake_ceph_calls(world.fake);
}

TEST(pages_of_every_size_have_all_volumes_once, WITH_VOLUMES)
{
    (void)state;
    for (int size = 1; size <= VOLUMES * CLUSTERS + 1; size++) {
        _cleanup_string_list_ struct string_list handles = {0};
        _cleanup_free_ char *token = xstrdup("");
        _cleanup_error_ struct error err = {0};

        for (int pages = 0; token; pages++) {
            assert_true(pages < 100);
            assert_int_equal(list_page(deadline_never(), size, &token, &handles, &err), 0);
        }
        assert_all_once(&handles);
    }
}

TEST(operation_that_times_out_ends_the_page, WITH_VOLUMES)
{
    bool is_over = false;

    (void)state;
    fake_ceph_count_connections(world.fake, true);
    const unsigned first = count_first_page();
    for (unsigned n = 1; !is_over; n++) {
        _cleanup_string_list_ struct string_list handles = {0};
        _cleanup_free_ char *token = xstrdup("");
        _cleanup_error_ struct error err = {0};

        assert_true(n < 1000);
        fake_ceph_fail_call_with(world.fake, n, -ETIMEDOUT);
        if (list_page(deadline_never(), 0, &token, &handles, &err) < 0) {
            if (n > first)
                fail_msg("call %u, when volumes had been listed: %s", n, err.message);
            assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
        } else if (!fake_ceph_fault_is_pending(world.fake)) {
            assert_non_null(token);
        }
        is_over = fake_ceph_fault_is_pending(world.fake);
        fake_ceph_recover(world.fake);
        list_rest(&token, &handles);
        assert_all_once(&handles);
    }
}

/* A page of which the third volume is read slowly. False if not even that was reached in time. */
static bool list_slow_page(int64_t patience_ms)
{
    _cleanup_string_list_ struct string_list handles = {0};
    _cleanup_free_ char *token = xstrdup("");
    _cleanup_error_ struct error err = {0};

    world.slow_read = 3;
    int result = list_page(deadline_in_ms(patience_ms), 0, &token, &handles, &err);
    if (result < 0)
        assert_int_equal(err.status, STATUS_DEADLINE_EXCEEDED);
    if (handles.count < 2)
        return false;
    assert_non_null(token);
    assert_true(handles.count <= 3);
    list_rest(&token, &handles);
    assert_all_once(&handles);
    return true;
}

TEST(page_ends_before_the_deadline, WITH_VOLUMES)
{
    int64_t patience_ms = 1000;

    (void)state;
    while (!list_slow_page(patience_ms))
        patience_ms *= 2; /* the machine is busy */
}

/* Nobody is there to ask for the rest. */
TEST(page_of_a_caller_who_has_gone_fails, WITH_VOLUMES)
{
    const atomic_bool gone = true;
    _cleanup_(list_request_done) struct list_request request = {.token = xstrdup("")};
    _cleanup_(volume_list_done) struct volume_list list = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    (void)state;
    call_init(&call, 1, "ListVolumes", deadline_never());
    call.cancelled = &gone;
    assert_int_equal(controller_list_volumes(&world.controller, &call, &request, &list, &err), -1);
    assert_int_equal(err.status, STATUS_CANCELLED);
    call_done(&call);
}

/* --- ControllerListVolumeHealth --- */

/* As somebody does who clears up by hand. */
static void lose_image(const char *handle)
{
    struct ceph *other = fake_ceph_as_other(world.fake);
    const struct ceph_target target = {"west", "127.0.0.1", "admin", &(struct secret){0}};
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *image = xasprintf("csi-vol-%s", handle + strlen(handle) - 36);
    struct ceph_cluster *cluster = NULL;
    struct ceph_pool *pool = NULL;
    struct volume_id id = {0};
    struct call call;

    call_init(&call, 1, "setup", deadline_never());
    assert_int_equal(volume_id_parse(handle, &id, &err), 0);
    assert_int_equal(other->ops->connect(other, &call, &target, &cluster, &err), 0);
    assert_int_equal(
        other->ops->pool_open_by_id(cluster, &call, (int64_t)id.location_id, "", &pool, &err), 0);
    if (pool->ops->image_remove(pool, &call, image, &err) < 0)
        fail_msg("%s", err.message);
    ceph_pool_close(pool);
    ceph_disconnect(cluster);
    call_done(&call);
}

/* Lists the health of all volumes in pages of one; returns how many entries there were. */
static size_t list_health(const char *lost)
{
    _cleanup_free_ char *token = xstrdup("");
    size_t entries = 0;

    for (int pages = 0; token; pages++) {
        _cleanup_(list_request_done) struct list_request request = {
            .token = TAKE(token), .max_entries = 1, .only_abnormal = true};
        _cleanup_(volume_list_done) struct volume_list list = {0};
        _cleanup_error_ struct error err = {0};
        struct call call;

        assert_true(pages < 100);
        call_init(&call, 1, "ControllerListVolumeHealth", deadline_never());
        if (controller_list_volumes(&world.controller, &call, &request, &list, &err) < 0)
            fail_msg("%s", err.message);
        call_done(&call);
        for (size_t i = 0; i < list.count; i++, entries++) {
            assert_true(list.items[i].abnormal);
            assert_non_null(list.items[i].message);
            assert_non_null(strstr(list.items[i].volume.handle, lost + strlen(lost) - 36));
        }
        token = list.next_token ? TAKE(list.next_token) : NULL;
    }
    return entries;
}

TEST(health_lists_the_volumes_that_are_missing_alone, WITH_VOLUMES)
{
    _cleanup_string_list_ struct string_list handles = {0};
    _cleanup_free_ char *token = xstrdup("");

    (void)state;
    list_rest(&token, &handles);
    const char *lost = handles.count > 2 ? handles.items[2] : "";
    assert_int_equal(list_health(lost), 0);
    lose_image(lost);
    assert_int_equal(list_health(lost), CLUSTERS);
}
