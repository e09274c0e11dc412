/* The built-in registrar of a real driver, and a kubelet that does what kubelet's plugin watcher
 * does: finds sockets, asks them, calls the CSI socket that they name, tells how it went. */
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/base/deadline.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/message.h"
#include "common/rpc/rpc.h"
#include "common/rpc/server.h"
#include "node/registration.h"
#include "tests/integration/liveness_process.h"

#include "pluginregistration.pb-c.h"
#include "tests/test.h"

#define DRIVER "rbd.csi.ceph.com"
#define ZONE "topology.kubernetes.io/zone"

/* A node: a driver, the folder that kubelet watches, and kubelet's knowledge. */
struct node {
    struct driver_process driver;
    char *folder;
    char *socket;
    char *map_path;
    char *folder_flag;
    char *map_flag;
    ino_t known; /* the socket that kubelet has registered; 0: none */
};

static void node_init(struct node *node)
{
    harness_init(&node->driver);
    node->folder = xasprintf("%s/registry", node->driver.folder);
    node->socket = xasprintf("%s/" DRIVER "-reg.sock", node->folder);
    node->map_path = xasprintf("%s/takeover.json", node->driver.folder);
    node->folder_flag = xasprintf("--registration-dir=%s", node->folder);
    node->map_flag = xasprintf("--takeover-file=%s", node->map_path);
    assert_int_equal(mkdir(node->folder, 0755), 0);
}

static void node_start(struct node *node)
{
    harness_start(&node->driver,
                  (const char *[]){"--domainlabels=" ZONE, "--node-labels=" ZONE "=zone-b",
                                   "--takeover-via=nodeinfo", node->map_flag, node->folder_flag,
                                   NULL});
}

static void node_done(struct node *node)
{
    if (node->driver.pid)
        harness_stop(&node->driver, SIGTERM, 120000);
    unlink(node->socket);
    unlink(node->map_path);
    rmdir(node->folder);
    harness_done(&node->driver);
    free(node->folder);
    free(node->socket);
    free(node->map_path);
    free(node->folder_flag);
    free(node->map_flag);
}
#define _cleanup_node_ _cleanup_(node_done)

static void write_map(const struct node *node, const char *content)
{
    _cleanup_free_ char *draft = xasprintf("%s.new", node->map_path);
    FILE *file = fopen(draft, "we");

    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(draft, node->map_path), 0);
}

/* --- kubelet --- */

static ino_t socket_inode(const struct node *node)
{
    struct stat status;

    return lstat(node->socket, &status) == 0 ? status.st_ino : 0;
}

static ProtobufCMessage *ask(const char *endpoint, const char *method,
                             const ProtobufCMessage *message,
                             const ProtobufCMessageDescriptor *response)
{
    _cleanup_(rpc_client_freep) struct rpc_client *client = NULL;
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *path = xasprintf("/pluginregistration.Registration/%s", method);
    const struct rpc_request request = {
        .path = path,
        .message = message,
        .response = response,
        .deadline = deadline_in_ms(120000),
        .wait_for_ready = true, /* the socket is there a moment before it listens */
    };
    ProtobufCMessage *reply = NULL;

    if (rpc_client_new(endpoint, &client, &err) < 0 ||
        rpc_client_call(client, &request, &reply, &err) < 0)
        fail_msg("%s: %s", method, err.message);
    return reply;
}

/* GetInfo, with the checks that kubelet makes. */
static void validate(const struct node *node)
{
    Pluginregistration__InfoRequest request = PLUGINREGISTRATION__INFO_REQUEST__INIT;
    ProtobufCMessage *reply =
        ask(node->socket, "GetInfo", &request.base, &pluginregistration__plugin_info__descriptor);
    const Pluginregistration__PluginInfo *info = (Pluginregistration__PluginInfo *)reply;

    assert_string_equal(info->type, "CSIPlugin");
    assert_string_equal(info->name, DRIVER);
    assert_int_equal(info->n_supported_versions, 1);
    assert_string_equal(info->supported_versions[0], "1.0.0");
    assert_string_equal(info->endpoint, node->driver.endpoint + strlen("unix://"));
    message_free(reply);
}

static void notify(const struct node *node, bool registered, const char *fault)
{
    Pluginregistration__RegistrationStatus *status =
        message_new(&pluginregistration__registration_status__descriptor);

    status->plugin_registered = registered;
    status->error = xstrdup(fault);
    message_free(ask(node->socket, "NotifyRegistrationStatus", &status->base,
                     &pluginregistration__registration_status_response__descriptor));
    message_free(&status->base);
}

/* Whether NodeGetInfo tells the membership of @zone. */
static bool serves(struct node *node, const char *zone)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *key = xasprintf("topology." DRIVER "/member.zone.%s", zone);
    json_auto_t *reply = NULL;

    if (harness_call(&node->driver,
                     &(struct harness_call){.method = "NodeGetInfo", .request = "{}"}, &reply,
                     &err) < 0)
        fail_msg("%s", err.message);
    return json_object_get(
        json_object_get(json_object_get(reply, "accessible_topology"), "segments"), key);
}

/* Waits for a socket that is not the known one and registers it. */
static void kubelet_registers(struct node *node)
{
    wait_until(socket_inode(node) != 0 && socket_inode(node) != node->known);
    node->known = socket_inode(node);
    validate(node);
    assert_true(serves(node, "zone-b"));
    notify(node, true, "");
}

/* --- tests --- */

TEST(kubelet_registers_and_deregisters_the_driver)
{
    _cleanup_node_ struct node node = {0};
    struct liveness_process liveness = {0};

    node_init(&node);
    node_start(&node);
    liveness_start(&liveness, &node.driver);
    liveness_assert_answers(&liveness, "/readyz", "503", "waiting for kubelet");
    kubelet_registers(&node);
    liveness_assert_answers(&liveness, "/readyz", "200", "registration with kubelet");
    liveness_assert_answers(&liveness, "/metrics", "200", "csi_registrations_total 1");
    validate(&node); /* kubelet has restarted and asks again */
    notify(&node, false, "RegisterPlugin error -- no");
    liveness_assert_answers(&liveness, "/readyz", "503", "RegisterPlugin error -- no");
    notify(&node, true, "");
    liveness_assert_answers(&liveness, "/metrics", "200", "csi_registered 1");
    liveness_stop(&liveness);
    assert_int_equal(harness_stop(&node.driver, SIGTERM, 120000), 0);
    assert_int_equal(socket_inode(&node), 0);
}

TEST(takeover_registers_again)
{
    _cleanup_node_ struct node node = {0};

    node_init(&node);
    node_start(&node);
    kubelet_registers(&node);
    assert_false(serves(&node, "zone-a"));
    write_map(&node, "{\"zone-a\": [\"zone-b\"]}");
    kubelet_registers(&node);
    assert_true(serves(&node, "zone-a"));
    write_map(&node, "{}");
    kubelet_registers(&node);
    assert_false(serves(&node, "zone-a"));
}

TEST(socket_that_was_removed_comes_back)
{
    _cleanup_node_ struct node node = {0};

    node_init(&node);
    node_start(&node);
    kubelet_registers(&node);
    assert_int_equal(unlink(node.socket), 0);
    node.known = 0;
    kubelet_registers(&node);
}

TEST(socket_of_a_dead_process_is_replaced)
{
    _cleanup_node_ struct node node = {0};
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    node_init(&node);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(strlen(node.socket) < sizeof(address.sun_path));
    memcpy(address.sun_path, node.socket, strlen(node.socket));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    node.known = socket_inode(&node);
    node_start(&node);
    kubelet_registers(&node);
}

static void ignore(void *object, bool registered, const char *fault)
{
    (void)object, (void)registered, (void)fault;
}

/* A node-driver-registrar for @name at @path. */
static struct rpc_server *start_foreign(struct registration *registration, const char *path)
{
    const struct rpc_service service = registration_service(registration);
    _cleanup_error_ struct error err = {0};
    struct rpc_server *server = NULL;

    if (rpc_server_new(&(struct rpc_server_options){.endpoint = path, .workers = 1}, &server,
                       &err) < 0)
        fail_msg("%s", err.message);
    rpc_server_add(server, &service);
    if (rpc_server_start(server, &err) < 0)
        fail_msg("%s", err.message);
    return server;
}

TEST(foreign_registrar_is_left_alone)
{
    struct registration same = {DRIVER, "/csi/csi.sock", ignore, NULL};
    struct registration other = {"cephfs.csi.ceph.com", "/csi/csi.sock", ignore, NULL};
    _cleanup_node_ struct node node = {0};
    struct liveness_process liveness = {0};

    node_init(&node);
    _cleanup_free_ char *same_path = xasprintf("%s/csi-" DRIVER, node.folder);
    _cleanup_free_ char *other_path = xasprintf("%s/cephfs-reg.sock", node.folder);
    struct rpc_server *same_server = start_foreign(&same, same_path);
    struct rpc_server *other_server = start_foreign(&other, other_path);
    node_start(&node);
    liveness_start(&liveness, &node.driver);
    liveness_assert_answers(&liveness, "/readyz", "503", "another process registers");
    assert_int_equal(socket_inode(&node), 0);
    rpc_server_free(same_server);
    kubelet_registers(&node);
    liveness_assert_answers(&liveness, "/readyz", "200", "registration with kubelet");
    /* one that comes later has the folder for itself */
    same_server = start_foreign(&same, same_path);
    liveness_assert_answers(&liveness, "/readyz", "503", "another process registers");
    assert_int_equal(socket_inode(&node), 0);
    rpc_server_free(same_server);
    rpc_server_free(other_server);
    liveness_stop(&liveness);
}

TEST_GROUP(harness_begin, harness_end)
TEST_CLEANUP(harness_clean_up)
