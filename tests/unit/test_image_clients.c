/* Which clients of an image count, and which are the daemons of rbd-mirror. */
#include "common/base/memory.h"
#include "common/ceph/on_disk.h"
#include "common/volume/image_clients.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/must.h"
#include "tests/test.h"

#define IMAGE "image"
#define DAEMON "10.9.0.1:0/1"
#define DAEMON_2 "10.9.0.2:0/1"
#define NODE "10.0.0.7:0/3141"       /* as it recorded itself */
#define NODE_KERNEL "10.0.0.7:0/271" /* another client of that node */

static const struct users_case {
    const char *title;
    bool is_mirrored;
    bool is_primary;
    size_t daemons; /* of config.json */
    const char *watchers[4];
    const char *users[4];
} CASES[] = {
    {"nobody", false, false, 0, {NULL}, {NULL}},
    {"one client", false, false, 2, {DAEMON}, {DAEMON}},
    {"nobody mirrors yet", true, true, 0, {NULL}, {NULL}},
    {"one daemon", true, true, 0, {DAEMON}, {NULL}},
    {"two where one is expected", true, true, 0, {DAEMON, DAEMON_2}, {DAEMON, DAEMON_2}},
    {"two daemons", true, true, 2, {DAEMON, DAEMON_2}, {NULL}},
    {"one of two daemons", true, true, 2, {DAEMON}, {NULL}},
    {"three where two are expected",
     true,
     true,
     2,
     {DAEMON, DAEMON_2, "10.9.0.3:0/1"},
     {DAEMON, DAEMON_2, "10.9.0.3:0/1"}},
    {"a node instead of the daemon", true, true, 1, {NODE_KERNEL}, {NODE_KERNEL}},
    {"a node and a daemon", true, true, 2, {DAEMON, NODE_KERNEL}, {DAEMON, NODE_KERNEL}},
    {"a node of Ceph-CSI", true, true, 1, {"10.0.0.8:0/5"}, {"10.0.0.8:0/5"}},
    {"an address of no known form", true, true, 1, {"?"}, {"?"}},
    {"the copy's own daemon", true, false, 1, {DAEMON}, {DAEMON}},
};

static void make_image(struct ceph_pool *pool, struct call *call)
{
    const struct image_options options = {.features = IMAGE_FEATURES_DEFAULT};
    _cleanup_strmap_ struct strmap record = {0};

    strmap_set(&record, CLIENT_RECORD_RBD "node-7", NODE);
    strmap_set(&record, METADATA_RBD_CLIENT "0001-x/node-8", "10.0.0.8");
    must(pool->ops->image_create(pool, call, IMAGE, 1 << 20, &options, &err));
    must(pool->ops->image_metadata_change(pool, call, IMAGE, &record, NULL, &err));
}

static void check_case(const struct users_case *one, struct fake_ceph *fake, struct ceph_pool *pool,
                       struct call *call)
{
    const struct image_mirroring mirroring = {.is_enabled = one->is_mirrored,
                                              .is_primary = one->is_primary};
    _cleanup_string_list_ struct string_list users = {0};
    size_t count = 0;

    pool->cluster->mirror_daemons = one->daemons;
    for (size_t i = 0; one->watchers[i]; i++)
        fake_ceph_set_watcher(fake, "rbd", IMAGE, one->watchers[i]);
    must(image_clients(pool, call, IMAGE, &mirroring, &users, &err));
    while (one->users[count])
        count++;
    if (users.count != count)
        fail_msg("%s: %zu users, wanted %zu", one->title, users.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(users.items[i], one->users[i]);
    fake_ceph_set_watcher(fake, "rbd", IMAGE, NULL);
}

TEST(daemons_of_a_mirrored_image_are_not_its_users)
{
    _cleanup_fake_ceph_ struct fake_ceph *fake = fake_ceph_new();
    struct ceph *ceph = fake_ceph_as_ceph(fake);
    _cleanup_secret_ struct secret key = {0};
    const struct ceph_target target = {"c", "m", "csi", &key};
    struct call call;

    call_init(&call, 1, "Test", deadline_never());
    secret_set(&key, "AQB");
    fake_ceph_add_pool(fake, "rbd", 3);
    {
        _cleanup_ceph_cluster_ struct ceph_cluster *cluster = NULL;
        _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;

        must(ceph->ops->connect(ceph, &call, &target, &cluster, &err));
        must(cluster->ops->pool_open(cluster, &call, "rbd", "", &pool, &err));
        make_image(pool, &call);
        for (size_t i = 0; i < ARRAY_LENGTH(CASES); i++)
            check_case(&CASES[i], fake, pool, &call);
    }
    call_done(&call);
}
