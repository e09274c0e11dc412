/* Fences by network on a Ceph in memory whose monitors keep a blocklist. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/ceph/blocklist.h"
#include "common/encoding/json.h"
#include "controller/addons/network_fences.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/test.h"

struct world {
    struct fake_ceph *ceph;
    char *config_path;
    struct config_file *config;
    struct network_fences fences;
    struct string_list addresses; /* as the monitors print them */
    struct string_list ranges;
    const char *until;
    bool lacks_ranges;
    bool lacks_rights;
    bool forgets; /* answers that it has added, and has not */
    unsigned changes;
};

/* --- the monitors' side --- */

static void list_without(struct string_list *list, const char *item)
{
    struct string_list rest = {0};

    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], item) != 0)
            string_list_add(&rest, list->items[i]);
    string_list_done(list);
    *list = rest;
}

static void print(const struct world *world, const struct string_list *list, const char *key,
                  struct text *reply)
{
    text_add(reply, "[");
    for (size_t i = 0; i < list->count; i++)
        text_addf(reply, "%s{\"%s\": \"%s\", \"until\": \"%s\"}", i ? "," : "", key, list->items[i],
                  world->until);
    text_add(reply, "]");
}

/* "192.0.2.0/24" is printed as "192.0.2.0:0/24", "fd00::/64" as "[fd00::]:0/64". */
static char *printed_range(const char *range)
{
    const char *slash = strchr(range, '/');
    bool is_v6 = strchr(range, ':');

    return xasprintf(is_v6 ? "[%.*s]:0%s" : "%.*s:0%s", (int)(slash - range), range, slash);
}

static int answer_mon(void *object, const char *command, struct text *reply)
{
    struct world *world = object;
    json_auto_t *json = json_loads(command, 0, NULL);
    const char *prefix = json_string_value(json_object_get(json, "prefix"));
    const char *operation = json_string_value(json_object_get(json, "blocklistop"));
    const char *address = json_string_value(json_object_get(json, "addr"));
    bool is_range = json_object_get(json, "range");

    if (strcmp(prefix, "osd blocklist ls") == 0) {
        print(world, &world->addresses, "addr", reply);
        if (!world->lacks_ranges)
            print(world, &world->ranges, "range", reply);
        return 0;
    }
    assert_string_equal(prefix, "osd blocklist");
    if (world->lacks_rights)
        return -EACCES;
    if (is_range && world->lacks_ranges) {
        text_add(reply, "invalid command");
        return -EINVAL;
    }
    _cleanup_free_ char *printed = is_range ? printed_range(address) : xstrdup(address);
    struct string_list *list = is_range ? &world->ranges : &world->addresses;
    world->changes++;
    if (strcmp(operation, "rm") == 0)
        list_without(list, printed);
    else if (!world->forgets && !string_list_has(list, printed))
        string_list_add(list, printed);
    return 0;
}

/* --- our side --- */

static void world_init(struct world *world)
{
    static const char config[] = "[{\"clusterID\": \"c1\", \"monitors\": [\"m\"]}]";

    world->config_path = xstrdup("/tmp/test_fences.XXXXXX");
    int fd = mkstemp(world->config_path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, config, strlen(config)), strlen(config));
    close(fd);
    world->config = config_file_new(world->config_path);
    world->ceph = fake_ceph_new();
    world->until = "2999-01-01T00:00:00.000000+0000";
    fake_ceph_answer_mon(world->ceph, answer_mon, world);
    world->fences =
        (struct network_fences){.ceph = fake_ceph_as_ceph(world->ceph), .config = world->config};
}

static void world_done(struct world *world)
{
    assert_int_equal(fake_ceph_open_handles(world->ceph), 0);
    fake_ceph_free(world->ceph);
    config_file_free(world->config);
    string_list_done(&world->addresses);
    string_list_done(&world->ranges);
    unlink(world->config_path);
    free(world->config_path);
}
#define _cleanup_world_ _cleanup_(world_done)

typedef int operation_fn(const struct network_fences *fences, struct call *call,
                         const struct fence_request *request, struct error *err);

/* @cidrs are separated by commas. */
static int run(struct world *world, operation_fn *operation, const char *cidrs, struct error *err)
{
    _cleanup_fence_request_ struct fence_request request = {
        .credentials = {.user = xstrdup("csi")}};
    _cleanup_free_ char *copy = xstrdup(cidrs);
    char *rest = copy;
    struct call call;

    secret_set(&request.credentials.key, "AQB");
    strmap_set(&request.parameters, "clusterID", "c1");
    for (char *part = strsep(&rest, ","); part; part = strsep(&rest, ","))
        string_list_add(&request.cidrs, part);
    call_init(&call, 1, "FenceClusterNetwork", deadline_in_ms(60000));
    int result = operation(&world->fences, &call, &request, err);
    call_done(&call);
    return result;
}

static void must(struct world *world, operation_fn *operation, const char *cidrs)
{
    _cleanup_error_ struct error err = {0};

    if (run(world, operation, cidrs, &err) < 0)
        fail_msg("%s: %s", cidrs, err.message);
}

static void assert_refused(struct world *world, operation_fn *operation, const char *cidrs,
                           enum status status, const char *part)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(run(world, operation, cidrs, &err), -1);
    assert_int_equal(err.status, status);
    if (!strstr(err.message, part))
        fail_msg("'%s' does not say '%s'", err.message, part);
}

static int list_into(const struct network_fences *fences, struct call *call,
                     const struct fence_request *request, struct error *err)
{
    _cleanup_string_list_ struct string_list cidrs = {0};

    if (network_fences_list(fences, call, request, &cidrs, err) < 0)
        return -1;
    assert_int_equal(cidrs.count, request->cidrs.count);
    for (size_t i = 0; i < cidrs.count; i++)
        assert_true(string_list_has(&request->cidrs, cidrs.items[i]));
    return 0;
}

/* --- tests --- */

TEST(networks_are_fenced_listed_and_unfenced)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    must(&world, network_fences_add, "192.0.2.0/24,fd00::/64,192.0.3.7");
    assert_true(string_list_has(&world.ranges, "192.0.2.0:0/24"));
    assert_true(string_list_has(&world.ranges, "[fd00::]:0/64"));
    assert_true(string_list_has(&world.ranges, "192.0.3.7:0/32"));
    must(&world, list_into, "192.0.2.0/24,fd00::/64,192.0.3.7/32");
    must(&world, network_fences_remove, "192.0.2.0/24,fd00::/64,192.0.3.7/32");
    assert_int_equal(world.ranges.count, 0);
}

TEST(second_request_changes_nothing)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    must(&world, network_fences_add, "192.0.2.0/24,192.0.2.0/24");
    assert_int_equal(world.changes, 1);
    must(&world, network_fences_add, "192.0.2.0/24");
    assert_int_equal(world.changes, 1);
    must(&world, network_fences_remove, "192.0.2.0/24");
    must(&world, network_fences_remove, "192.0.2.0/24");
    assert_int_equal(world.changes, 2);
}

TEST(fence_that_ends_soon_is_prolonged)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    string_list_add(&world.ranges, "192.0.2.0:0/24");
    world.until = "2020-01-01T00:00:00.000000+0000";
    assert_refused(&world, network_fences_add, "192.0.2.0/24", STATUS_ABORTED, "is not there");
    assert_int_equal(world.changes, 1);
}

TEST(bad_requests_reach_no_monitor)
{
    _cleanup_world_ struct world world = {0};
    _cleanup_error_ struct error err = {0};
    const struct fence_request empty = {0};
    struct call call;

    world_init(&world);
    assert_refused(&world, network_fences_add, "", STATUS_INVALID_ARGUMENT,
                   "cidrs[0]: '' is no IP address");
    assert_refused(&world, network_fences_add, "192.0.2.0/24,nonsense", STATUS_INVALID_ARGUMENT,
                   "cidrs[1]: 'nonsense' is no IP address");
    assert_refused(&world, network_fences_add, "192.0.2.7/24", STATUS_INVALID_ARGUMENT,
                   "say '192.0.2.0/24'");
    assert_refused(&world, network_fences_add, "0.0.0.0/0", STATUS_INVALID_ARGUMENT,
                   "would fence every client");
    call_init(&call, 1, "FenceClusterNetwork", deadline_in_ms(60000));
    assert_int_equal(network_fences_add(&world.fences, &call, &empty, &err), -1);
    assert_string_equal(err.message, "cidrs are missing");
    error_clear(&err);
    _cleanup_string_list_ struct string_list cidrs = {0};
    assert_int_equal(network_fences_list(&world.fences, &call, &empty, &cidrs, &err), -1);
    assert_string_equal(err.message, "parameters: clusterID is missing");
    call_done(&call);
    assert_int_equal(fake_ceph_calls(world.ceph), 0);
}

TEST(missing_right_is_named)
{
    _cleanup_world_ struct world world = {.lacks_rights = true};

    world_init(&world);
    assert_refused(&world, network_fences_add, "192.0.2.0/24", STATUS_PERMISSION_DENIED,
                   "allow command \"osd blocklist\"");
}

TEST(fence_that_is_not_seen_is_no_success)
{
    _cleanup_world_ struct world world = {.forgets = true};

    world_init(&world);
    assert_refused(&world, network_fences_add, "192.0.2.0/24", STATUS_ABORTED,
                   "'192.0.2.0/24' was added to the blocklist and is not there");
}

TEST(what_ceph_csi_fenced_by_an_address_inside_is_unfenced)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    string_list_add(&world.ranges, "192.0.2.77:0/24");
    must(&world, network_fences_remove, "192.0.2.77/24");
    assert_int_equal(world.ranges.count, 0);
}

TEST(fences_of_takeovers_and_single_clients_stay)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world);
    string_list_add(&world.addresses, "192.0.2.7:0/0");
    string_list_add(&world.addresses, "192.0.2.7:0/3141");
    string_list_add(&world.addresses, "192.0.2.7:6801/3141");
    must(&world, network_fences_add, "192.0.2.7/32");
    must(&world, network_fences_remove, "192.0.2.7/32");
    assert_int_equal(world.ranges.count, 0);
    assert_int_equal(world.addresses.count, 3);
    must(&world, list_into, "192.0.2.7/32"); /* the takeover's */
}

TEST(without_ranges_each_address_is_fenced)
{
    _cleanup_world_ struct world world = {.lacks_ranges = true};

    world_init(&world);
    must(&world, network_fences_add, "192.0.2.4/30,fd00::7");
    assert_int_equal(world.addresses.count, 5);
    assert_true(string_list_has(&world.addresses, "192.0.2.7:0/0"));
    assert_true(string_list_has(&world.addresses, "[fd00::7]:0/0"));
    must(&world, network_fences_remove, "192.0.2.4/30,fd00::7");
    assert_int_equal(world.addresses.count, 0);
    assert_refused(&world, network_fences_add, "192.0.2.0/23", STATUS_FAILED_PRECONDITION,
                   "more than 256 addresses");
    assert_refused(&world, network_fences_add, "fd00::/64", STATUS_FAILED_PRECONDITION,
                   "does not know 'osd blocklist range'");
    assert_int_equal(world.addresses.count, 0);
}

/* Fails each command in turn, before and after it took effect, and repeats. */
TEST(every_fault_is_mended_by_repeating)
{
    static const enum fake_failure failures[] = {FAKE_FAIL_BEFORE, FAKE_FAIL_AFTER,
                                                 FAKE_CRASH_BEFORE, FAKE_CRASH_AFTER};
    static operation_fn *const operations[] = {network_fences_add, network_fences_remove};

    for (size_t f = 0; f < ARRAY_LENGTH(failures) * 2; f++) {
        bool over = false;

        for (unsigned n = 1; !over; n++) {
            _cleanup_world_ struct world world = {0};
            _cleanup_error_ struct error err = {0};
            operation_fn *operation = operations[f % 2];

            assert_true(n < 20);
            world_init(&world);
            if (f % 2)
                must(&world, network_fences_add, "192.0.2.0/24,fd00::/64");
            fake_ceph_fail_call(world.ceph, n, failures[f / 2]);
            int result = run(&world, operation, "192.0.2.0/24,fd00::/64", &err);
            over = fake_ceph_fault_is_pending(world.ceph);
            assert_true(!over || n > 2); /* it has struck before */
            assert_int_equal(result, over ? 0 : -1);
            fake_ceph_recover(world.ceph);
            must(&world, operation, "192.0.2.0/24,fd00::/64");
            assert_int_equal(world.ranges.count, f % 2 ? 0 : 2);
        }
    }
}

TEST(addresses_of_clients_are_read)
{
    static const struct {
        const char *printed;
        const char *first;
        size_t count;
    } cases[] = {
        {"10.0.0.7:0/3141", "10.0.0.7/32", 1},
        {"v1:10.0.0.7:0/3141", "10.0.0.7/32", 1},
        {"[fd00::7]:0/9", "fd00::7/128", 1},
        {"v2:[fd00::7]:0/9", "fd00::7/128", 1},
        {"[v2:10.0.0.7:0/9,v1:10.0.0.7:0/9]", "10.0.0.7/32", 1},
        {"[v2:[fd00::7]:0/9,v1:10.0.0.7:0/9]", "fd00::7/128", 2},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_string_list_ struct string_list cidrs = {0};
        _cleanup_error_ struct error err = {0};

        if (network_fences_decode_addresses(cases[i].printed, &cidrs, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(cidrs.count, cases[i].count);
        assert_string_equal(cidrs.items[0], cases[i].first);
    }
    _cleanup_string_list_ struct string_list none = {0};
    _cleanup_error_ struct error err = {0};
    assert_int_equal(network_fences_decode_addresses("-", &none, &err), -1);
}

/* As ceph 16.2.15 prints it. */
TEST(real_answer_is_read)
{
    static const char reply[] =
        "[{\"addr\":\"[fd00::7]:0/0\",\"until\":\"2026-11-16T16:34:33.129157+0000\"},"
        "{\"addr\":\"192.0.4.1:0/0\",\"until\":\"2026-11-16T16:34:32.812425+0000\"},"
        "{\"addr\":\"127.0.0.1:0/1426440302\",\"until\":\"2026-11-16T16:34:32.812425+0000\"},"
        "{\"addr\":\"127.0.0.1:6800/14264\",\"until\":\"2026-11-16T16:34:32.812425+0000\"}]"
        "[{\"range\":\"192.0.2.0:0/24\",\"until\":\"2026-11-16T16:49:31.399995+0000\"},"
        "{\"range\":\"192.0.2.77:0/24\",\"until\":\"2026-11-16T16:49:31.758880+0000\"},"
        "{\"range\":\"[fd00::]:0/64\",\"until\":\"2026-11-16T16:49:32.414065+0000\"}]";
    _cleanup_blocklist_ struct blocklist list = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(blocklist_decode(reply, &list, &err), 0);
    assert_true(list.knows_ranges);
    assert_int_equal(list.count, 5);
    assert_string_equal(list.items[0].address, "fd00::7");
    assert_string_equal(list.items[3].address, "192.0.2.77/24");
    assert_true(list.items[4].is_range && list.items[4].network.is_v6);
    assert_int_equal(list.items[4].network.bits, 64);
    _cleanup_blocklist_ struct blocklist nothing = {0};
    assert_int_equal(blocklist_decode("listed 0 entries", &nothing, &err), -1);
}
