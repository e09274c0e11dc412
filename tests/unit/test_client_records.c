#include <unistd.h>

#include "common/base/memory.h"
#include "common/ceph/on_disk.h"
#include "common/volume/client_records.h"
#include "tests/fakes/fake_ceph_subvolumes.h"
#include "tests/test.h"

/* What volumes know of their clients. */

#define UUID "b0285c97-a0ce-11eb-8c66-0242ac110002"
#define HANDLE "0001-0002-c1-0000000000000002-" UUID
#define SUBVOLUME "csi-vol-" UUID

struct cephfs_world {
    struct fake_ceph *fake;
    struct fake_subvolumes *more;
    char *config_path;
    struct config_file *config;
    struct standing_credentials *standing;
    struct client_records records;
};

static void write_config(struct cephfs_world *world)
{
    static const char config[] = "[{\"clusterID\": \"c1\", \"monitors\": [\"m\"]}]";

    world->config_path = xstrdup("/tmp/test_client_records.XXXXXX");
    int fd = mkstemp(world->config_path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, config, strlen(config)), strlen(config));
    close(fd);
}

static void write_entry(struct cephfs_world *world)
{
    struct ceph *ceph = fake_ceph_as_other(world->fake);
    _cleanup_ceph_cluster_ struct ceph_cluster *cluster = NULL;
    _cleanup_ceph_pool_ struct ceph_pool *pool = NULL;
    _cleanup_strmap_ struct strmap entry = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    call_init(&call, 1, "test", deadline_in_ms(60000));
    strmap_set(&entry, "csi.volname", "pvc-1");
    strmap_set(&entry, "csi.imagename", SUBVOLUME);
    if (ceph->ops->connect(ceph, &call, &(struct ceph_target){.cluster_id = "c1", .user = "other"},
                           &cluster, &err) < 0 ||
        cluster->ops->pool_open(cluster, &call, "meta", "csi", &pool, &err) < 0 ||
        pool->ops->object_create(pool, &call, "csi.volume." UUID, &entry, &err) < 0)
        fail_msg("%s", err.message);
    call_done(&call);
}

static void cephfs_world_init(struct cephfs_world *world)
{
    struct credentials keyring = {.user = xstrdup("csi")};

    secret_set(&keyring.key, "AQB");
    write_config(world);
    world->fake = fake_ceph_new();
    fake_ceph_add_pool(world->fake, "meta", 7);
    world->more = fake_subvolumes_new(world->fake);
    fake_subvolumes_add_filesystem(world->more, "fs1", 2, 7, "csi");
    world->config = config_file_new(world->config_path);
    world->standing =
        standing_credentials_new(&(struct standing_credentials_options){.keyring = &keyring});
    credentials_done(&keyring);
    world->records = (struct client_records){.ceph = fake_ceph_as_ceph(world->fake),
                                             .config = world->config,
                                             .standing = world->standing,
                                             .instance_id = "default",
                                             .is_cephfs = true};
    write_entry(world);
}

static void cephfs_world_done(struct cephfs_world *world)
{
    standing_credentials_free(world->standing);
    config_file_free(world->config);
    fake_ceph_free(world->fake);
    fake_subvolumes_free(world->more);
    unlink(world->config_path);
    free(world->config_path);
}

static int read_clients(struct cephfs_world *world, struct strmap *clients, struct error *err)
{
    const struct strmap none = {0};
    bool is_there = false;
    struct call call;

    call_init(&call, 1, "test", deadline_in_ms(60000));
    int result =
        client_records_read(&world->records, &call, HANDLE, &none, clients, &is_there, err);
    call_done(&call);
    return result;
}

static void set_metadata(struct cephfs_world *world, const char *key, const char *value)
{
    _cleanup_free_ char *command =
        xasprintf("{\"prefix\":\"fs subvolume metadata set\",\"sub_name\":\"" SUBVOLUME
                  "\",\"key_name\":\"%s\",\"value\":\"%s\"}",
                  key, value);

    assert_int_equal(fake_subvolumes_command(world->more, command), 0);
}

TEST(subvolume_tells_its_clients)
{
    _cleanup_(cephfs_world_done) struct cephfs_world world = {0};
    _cleanup_strmap_ struct strmap clients = {0};
    _cleanup_error_ struct error err = {0};

    cephfs_world_init(&world);
    assert_int_equal(read_clients(&world, &clients, &err), 0); /* there is no subvolume yet */
    assert_int_equal(clients.count, 0);
    assert_int_equal(fake_subvolumes_command(world.more, "{\"prefix\":\"fs subvolume create\","
                                                         "\"sub_name\":\"" SUBVOLUME "\"}"),
                     0);
    set_metadata(&world, CLIENT_RECORD_CEPHFS "a1", "v2:10.0.0.7:0/3");
    set_metadata(&world, METADATA_CEPHFS_CLIENT HANDLE "/a2", "10.0.0.8"); /* Ceph-CSI */
    set_metadata(&world, METADATA_CEPHFS_CLIENT "a3", "fd00::9");          /* and 3.15.0 */
    assert_int_equal(read_clients(&world, &clients, &err), 0);
    assert_int_equal(clients.count, 3);
    assert_string_equal(strmap_get_or(&clients, "a1", ""), "10.0.0.7");
    assert_string_equal(strmap_get_or(&clients, "a2", ""), "10.0.0.8");
    assert_string_equal(strmap_get_or(&clients, "a3", ""), "fd00::9");
    fake_ceph_fail_call(world.fake, 1, FAKE_FAIL_BEFORE);
    assert_int_equal(read_clients(&world, &clients, &err), -1);
    assert_non_null(strstr(err.message, "clients of volume '" HANDLE "'"));
}
