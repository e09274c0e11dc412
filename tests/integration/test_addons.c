/*
 * The csi-addons socket of the real driver. The test itself is the client that is fenced: its
 * connections to Ceph come from an address of their own on the loopback network, while the driver
 * and the daemons have the usual one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/deadline.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/integration/harness.h"
#include "tests/integration/place.h"
#include "tests/test.h"

#define OWN_ADDRESS "127.0.0.77"
#define OWN_NETWORK "127.0.0.64/27" /* has it, and not the daemons' 127.0.0.1 */
#define DOCUMENT_NETWORK "198.51.100.0/24"
#define CALLERS 8
#define OBJECT "fenced-writer"

/* Stands in for the C library's, for librados in this process. */
int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    struct sockaddr_in own = {.sin_family = AF_INET};

    inet_pton(AF_INET, OWN_ADDRESS, &own.sin_addr);
    /* EINVAL: it is bound, and this call asks how the connection goes on */
    if (address->sa_family == AF_INET && bind(fd, (const struct sockaddr *)&own, sizeof(own)) < 0 &&
        errno != EINVAL)
        return -1;
    return (int)syscall(SYS_connect, fd, address, length);
}

/* A driver, and its second socket, which is asked through harness_call() as well. */
struct setup {
    struct driver_process driver;
    struct driver_process addons;
    bool is_rbd;
    char *key; /* of client.fencer */
};

/* The key of a user, who is made if need be. Caller frees. */
static char *key_of(const char *user, const char *mon_capability)
{
    char *key = harness_run_tool((const char *[]){"ceph", "auth", "get-or-create-key", user, "mon",
                                                  mon_capability, "osd", "profile rbd", NULL});

    key[strcspn(key, "\n")] = '\0';
    return key;
}

static void setup_init(struct setup *setup, const char *const *flags)
{
    _cleanup_error_ struct error err = {0};
    const char *argv[8] = {NULL};
    size_t n = 0;

    harness_init(&setup->driver);
    setup->key = key_of("client.fencer", "profile rbd, allow command \"osd blocklist\"");
    setup->is_rbd = !flags || strcmp(flags[0], "--type=cephfs") != 0;
    setup->addons.endpoint = xasprintf("unix://%s/csi-addons.sock", setup->driver.folder);
    _cleanup_free_ char *flag = xasprintf("--csi-addons-endpoint=%s", setup->addons.endpoint);
    argv[n++] = flag;
    for (; flags && *flags; flags++)
        argv[n++] = *flags;
    harness_start(&setup->driver, argv);
    if (rpc_client_new(setup->addons.endpoint, &setup->addons.client, &err) < 0)
        fail_msg("%s", err.message);
}

static void setup_done(struct setup *setup)
{
    rpc_client_free(setup->addons.client);
    free(setup->addons.endpoint);
    free(setup->key);
    harness_done(&setup->driver);
}
#define _cleanup_setup_ _cleanup_(setup_done)

static char *request_for(const char *cidrs)
{
    _cleanup_text_ struct text text = TEXT_INIT(4096);

    text_addf(&text, "{\"parameters\": {\"clusterID\": \"%s\"}", harness_cluster()->fsid);
    if (cidrs)
        text_addf(&text, ", \"cidrs\": [{\"cidr\": \"%s\"}]", cidrs);
    text_add(&text, "}");
    return text_take(&text);
}

/* As a user who may fence. */
static int ask(struct setup *setup, const char *method, const char *cidr, json_t **reply,
               struct error *err)
{
    _cleanup_free_ char *request = request_for(cidr);

    return harness_call(
        &setup->addons,
        &(struct harness_call){
            .method = method, .request = request, .user = "fencer", .key = setup->key},
        reply, err);
}

/* Something that takes no arguments. */
static json_t *ask_plainly(struct setup *setup, const char *method)
{
    _cleanup_error_ struct error err = {0};
    json_t *reply = NULL;

    if (harness_call(&setup->addons, &(struct harness_call){.method = method, .request = "{}"},
                     &reply, &err) < 0)
        fail_msg("%s: %s", method, err.message);
    return reply;
}

static json_t *must(struct setup *setup, const char *method, const char *cidr)
{
    _cleanup_error_ struct error err = {0};
    json_t *reply = NULL;

    if (ask(setup, method, cidr, &reply, &err) < 0)
        fail_msg("%s '%s': %s", method, cidr ? cidr : "", err.message);
    return reply;
}

static bool is_listed(struct setup *setup, const char *cidr)
{
    json_auto_t *reply = must(setup, "ListClusterFence", NULL);
    const json_t *cidrs = json_object_get(reply, "cidrs");

    for (size_t i = 0; i < json_array_size(cidrs); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(cidrs, i), "cidr")), cidr) == 0)
            return true;
    return false;
}

/* A connection of our own to the cluster, as the admin. */
struct client {
    rados_t cluster;
    rados_ioctx_t io;
};

static void client_init(struct client *client)
{
    place_must(rados_create(&client->cluster, "admin"));
    place_must(rados_conf_read_file(client->cluster, getenv("CEPH_CONF")));
    place_must(rados_connect(client->cluster));
    place_must(rados_ioctx_create(client->cluster, "common", &client->io));
}

static void client_done(struct client *client)
{
    rados_ioctx_destroy(client->io);
    rados_shutdown(client->cluster);
}
#define _cleanup_client_ _cleanup_(client_done)

static int write_as(struct client *client)
{
    return rados_write_full(client->io, OBJECT, "data", 4);
}

/* The monitors have the fence when the call returns, the OSDs with their next look at the map. */
static void assert_writes_become_refused(struct client *client)
{
    wait_until(write_as(client) == -ESHUTDOWN);
    for (int i = 0; i < 20; i++)
        assert_int_equal(write_as(client), -ESHUTDOWN);
}

static bool new_client_writes(void)
{
    _cleanup_client_ struct client client = {0}; /* a fenced one stays so for its life */

    client_init(&client);
    int result = write_as(&client);
    if (result == 0)
        place_must(rados_remove(client.io, OBJECT));
    return result == 0;
}

static void assert_writes_become_possible(void)
{
    wait_until(new_client_writes());
}

static void fence_and_unfence(struct setup *setup, const char *cidr)
{
    _cleanup_client_ struct client client = {0};
    _cleanup_error_ struct error err = {0};

    client_init(&client);
    assert_int_equal(write_as(&client), 0);
    json_decref(must(setup, "FenceClusterNetwork", cidr));
    json_decref(must(setup, "FenceClusterNetwork", cidr));
    assert_true(is_listed(setup, cidr));
    assert_writes_become_refused(&client);
    /* the driver has another address, and goes on */
    if (setup->is_rbd) {
        _cleanup_free_ char *handle =
            harness_create_volume(&setup->driver, "beside", "common", 1 << 20, &err);

        if (!handle || harness_delete_volume(&setup->driver, handle, &err) < 0)
            fail_msg("%s", err.message);
    }
    json_decref(must(setup, "UnfenceClusterNetwork", cidr));
    json_decref(must(setup, "UnfenceClusterNetwork", cidr));
    assert_false(is_listed(setup, cidr));
    assert_writes_become_possible();
}

TEST(fenced_client_cannot_write)
{
    _cleanup_setup_ struct setup setup = {0};

    setup_init(&setup, NULL);
    fence_and_unfence(&setup, OWN_ADDRESS "/32");
    fence_and_unfence(&setup, OWN_NETWORK);
    _cleanup_free_ char *log = harness_log(&setup.driver);
    assert_non_null(strstr(log, "FenceClusterNetwork"));
    assert_null(strstr(log, harness_cluster()->key));
}

/* The kinds of capabilities as one line. Caller frees. */
static char *capabilities(struct setup *setup)
{
    json_auto_t *reply = ask_plainly(setup, "GetCapabilities");

    return json_dumps(reply, JSON_COMPACT | JSON_SORT_KEYS);
}

TEST(cephfs_driver_fences_as_well)
{
    _cleanup_setup_ struct setup setup = {0};

    setup_init(&setup, (const char *[]){"--type=cephfs", "--drivername=cephfs.csi.ceph.com", NULL});
    fence_and_unfence(&setup, OWN_ADDRESS "/32");
    json_auto_t *reply = ask_plainly(&setup, "GetIdentity");
    assert_string_equal(json_string_value(json_object_get(reply, "name")), "cephfs.csi.ceph.com");
    _cleanup_free_ char *told = capabilities(&setup);
    assert_null(strstr(told, "reclaim_space"));
}

TEST(driver_tells_how_it_would_be_fenced)
{
    _cleanup_setup_ struct setup setup = {0};

    setup_init(&setup, NULL);
    json_auto_t *reply = must(&setup, "GetFenceClients", NULL);
    const json_t *client = json_array_get(json_object_get(reply, "clients"), 0);
    const json_t *address = json_array_get(json_object_get(client, "addresses"), 0);
    assert_string_equal(json_string_value(json_object_get(client, "id")), harness_cluster()->fsid);
    assert_string_equal(json_string_value(json_object_get(address, "cidr")), "127.0.0.1/32");
}

TEST(only_what_is_served_is_advertised)
{
    _cleanup_error_ struct error err = {0};

    {
        _cleanup_setup_ struct setup setup = {0};

        setup_init(&setup, (const char *[]){"--nodeserver=false", NULL});
        _cleanup_free_ char *told = capabilities(&setup);
        assert_string_equal(told, "{\"capabilities\":[{\"service\":{\"type\":\"CONTROLLER_SERVICE\""
                                  "}},{\"network_fence\":{\"type\":\"NETWORK_FENCE\"}},"
                                  "{\"reclaim_space\":{\"type\":\"OFFLINE\"}},"
                                  "{\"volume_replication\":{\"type\":\"VOLUME_REPLICATION\"}}]}");
        json_auto_t *ready = ask_plainly(&setup, "identity.Identity/Probe");
        assert_true(json_is_true(json_object_get(ready, "ready")));
    }
    _cleanup_setup_ struct setup setup = {0};
    setup_init(&setup, (const char *[]){"--controllerserver=false", NULL});
    _cleanup_free_ char *told = capabilities(&setup);
    assert_string_equal(told, "{\"capabilities\":[{\"service\":{\"type\":\"NODE_SERVICE\"}},"
                              "{\"network_fence\":{\"type\":\"GET_CLIENTS_TO_FENCE\"}},"
                              "{\"reclaim_space\":{\"type\":\"ONLINE\"}}]}");
    assert_int_equal(ask(&setup, "FenceClusterNetwork", DOCUMENT_NETWORK, NULL, &err), -1);
    assert_int_equal(err.status, STATUS_UNIMPLEMENTED);
    json_decref(must(&setup, "GetFenceClients", NULL));
}

TEST(mistakes_are_told)
{
    static const struct {
        const char *cidr;
        const char *part;
    } cases[] = {
        {NULL, "cidrs are missing"},
        {"198.51.100.7/24", "say '198.51.100.0/24'"},
        {"example.org/24", "'example.org' is no IP address"},
        {"0.0.0.0/0", "every client"},
    };
    _cleanup_setup_ struct setup setup = {0};
    _cleanup_error_ struct error err = {0};

    setup_init(&setup, NULL);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_int_equal(ask(&setup, "FenceClusterNetwork", cases[i].cidr, NULL, &err), -1);
        assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(err.message, cases[i].part));
        error_clear(&err);
    }
    _cleanup_free_ char *request = request_for(DOCUMENT_NETWORK);
    _cleanup_free_ char *key = key_of("client.reader", "allow r");
    assert_int_equal(harness_call(&setup.addons,
                                  &(struct harness_call){.method = "FenceClusterNetwork",
                                                         .request = request,
                                                         .user = "reader",
                                                         .key = key},
                                  NULL, &err),
                     -1);
    assert_int_equal(err.status, STATUS_PERMISSION_DENIED);
    assert_non_null(strstr(err.message, "allow command \"osd blocklist\""));
    assert_false(is_listed(&setup, DOCUMENT_NETWORK));
}

static void *fence_at_once(void *object)
{
    _cleanup_error_ struct error err = {0};

    return ask(object, "FenceClusterNetwork", DOCUMENT_NETWORK, NULL, &err) == 0 ? object : NULL;
}

static void *unfence_at_once(void *object)
{
    _cleanup_error_ struct error err = {0};

    return ask(object, "UnfenceClusterNetwork", DOCUMENT_NETWORK, NULL, &err) == 0 ? object : NULL;
}

static void run_at_once(struct setup *setup, void *(*run)(void *object))
{
    pthread_t threads[CALLERS];

    for (size_t i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, setup), 0);
    for (size_t i = 0; i < CALLERS; i++) {
        void *result = NULL;

        pthread_join(threads[i], &result);
        assert_non_null(result);
    }
}

TEST(many_at_once_all_succeed)
{
    _cleanup_setup_ struct setup setup = {0};

    setup_init(&setup, NULL);
    run_at_once(&setup, fence_at_once);
    assert_true(is_listed(&setup, DOCUMENT_NETWORK));
    run_at_once(&setup, unfence_at_once);
    assert_false(is_listed(&setup, DOCUMENT_NETWORK));
    assert_int_equal(harness_stop(&setup.driver, SIGTERM, 120000), 0);
    assert_int_equal(access(setup.addons.endpoint + strlen("unix://"), F_OK), -1);
}

TEST_GROUP(harness_begin, harness_end)
TEST_CLEANUP(harness_clean_up)
