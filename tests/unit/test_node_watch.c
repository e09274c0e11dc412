/* Which changes of Nodes and CSINodes count. */
#include "controller/takeover/node_watch.h"
#include "tests/unit/fixtures/kube.h"

#define NODE "/api/v1/nodes/a1"
#define CSI_NODE "/apis/storage.k8s.io/v1/csinodes/a1"
#define DRIVER "rbd.csi.ceph.com"

#define NODE_TEXT(annotations, taints, ready, heard, boot, image, volumes)                         \
    "{\"metadata\": {\"labels\": {\"x\": \"1\"}, \"annotations\": {" annotations "}}, \"spec\": "  \
    "{\"taints\": [" taints                                                                        \
    "]}, \"status\": {\"conditions\": [{\"type\": \"Memory\", \"status\": "                        \
    "\"" heard "\"}, {\"type\": \"Ready\", \"status\": \"" ready "\", \"lastHeartbeatTime\": "     \
    "\"" heard "\"}], \"nodeInfo\": {\"bootID\": \"" boot "\", \"kubeletVersion\": \"" image       \
    "\"}, \"images\": [\"" image "\"], \"volumesInUse\": [" volumes "]}}"
#define CSI_TEXT(drivers) "{\"spec\": {\"drivers\": [" drivers "]}}"
#define OURS(id) "{\"name\": \"" DRIVER "\", \"nodeID\": \"" id "\"}"
#define OTHER(id) "{\"name\": \"other\", \"nodeID\": \"" id "\"}"

static bool is_at(struct node_watch *watch, uint64_t changes)
{
    uint64_t now = 0;

    return node_watch_read(watch, &now) && now == changes;
}

/* Another object, so that it is known that the watch has seen what came before. */
static void mark(struct kube_fixture *fixture, struct node_watch *watch, uint64_t *changes)
{
    static int number;
    _cleanup_free_ char *node = xasprintf("/api/v1/nodes/mark-%d", ++number);
    _cleanup_free_ char *csi_node = xasprintf("/apis/storage.k8s.io/v1/csinodes/mark-%d", number);

    fake_kube_put(fixture->fake, node, "{}");
    fake_kube_put(fixture->fake, csi_node, "{}");
    *changes += 2;
    wait_until(is_at(watch, *changes));
}

TEST(only_what_plans_are_made_of_counts, WITH_KUBE)
{
    static const struct {
        const char *path;
        const char *text;
        bool counts;
    } cases[] = {
        {NODE, NODE_TEXT("", "", "True", "t2", "b1", "v1", ""), false},
        {NODE, NODE_TEXT("\"other\": \"1\"", "", "True", "t2", "b1", "v1", ""), false},
        {NODE, NODE_TEXT("", "", "True", "t2", "b1", "v2", ""), false},
        {NODE, NODE_TEXT("", "", "True", "t2", "b1", "v2", "\"kubernetes.io/csi/other^1\""), false},
        {NODE, NODE_TEXT("", "", "Unknown", "t2", "b1", "v2", ""), true},
        {NODE, NODE_TEXT("", "", "Unknown", "t3", "b2", "v2", ""), true},
        {NODE, NODE_TEXT("", "", "Unknown", "t3", "b2\", \"systemUUID\": \"m", "v2", ""), true},
        {NODE, NODE_TEXT("", "{\"key\": \"x\"}", "Unknown", "t3", "b2", "v2", ""), true},
        {NODE,
         NODE_TEXT("\"takeover." DRIVER "/x\": \"1\"", "{\"key\": \"x\"}", "Unknown", "t3", "b2",
                   "v2", ""),
         true},
        {NODE, NODE_TEXT("", "", "True", "t2", "b1", "v2", "\"kubernetes.io/csi/" DRIVER "^1\""),
         true},
        {CSI_NODE, CSI_TEXT(OTHER("2") "," OURS("1")), false},
        {CSI_NODE, CSI_TEXT(OURS("2")), true},
    };
    struct kube_fixture *fixture = *state;
    uint64_t changes = 2;

    fake_kube_put(fixture->fake, NODE, NODE_TEXT("", "", "True", "t1", "b1", "v1", ""));
    fake_kube_put(fixture->fake, CSI_NODE, CSI_TEXT(OTHER("1") "," OURS("1")));
    struct node_watch *watch = node_watch_new(fixture->kube, DRIVER);
    wait_until(is_at(watch, changes));
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        fake_kube_put(fixture->fake, cases[i].path, cases[i].text);
        changes += cases[i].counts;
        mark(fixture, watch, &changes);
    }
    fake_kube_drop(fixture->fake, NODE);
    wait_until(is_at(watch, changes + 1));
    node_watch_free(watch);
}

TEST(what_cannot_be_watched_is_not_known, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    uint64_t changes = 0;

    fake_kube_forbid(fixture->fake, "list", "/apis/storage.k8s.io/v1/csinodes");
    struct node_watch *watch = node_watch_new(fixture->kube, DRIVER);
    assert_false(node_watch_read(watch, &changes));
    fake_kube_forbid(fixture->fake, NULL, NULL);
    wait_until(is_at(watch, 0));
    node_watch_free(watch);
}
