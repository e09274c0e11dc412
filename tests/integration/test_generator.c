/*
 * The process with --type=controller beside a real driver and a real Ceph: volumes that were
 * mirrored from another cluster, under the handles of that, get their journal back.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/deadline.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "common/volume/volume_id.h"
#include "tests/fakes/flapping_kube.h"
#include "tests/integration/calls.h"
#include "tests/integration/place.h"
#include "tests/test.h"

#define DRIVER "rbd.csi.ceph.com"
#define POOL "common"
#define TENANT "tenant" /* a RADOS namespace */
#define VOLUMES 3
#define OLD_POOL 99
#define MIB (1024LL * 1024)
#define LEASE "/apis/coordination.k8s.io/v1/namespaces/ceph/leases/" DRIVER "-ceph"

extern char **environ;

static const char TENANT_SPEC[] = POOL "/" TENANT;

/* The cluster to which everything failed over, with its driver and its API server. */
struct site {
    struct driver_process driver;
    struct fake_kube *fake;
    struct flapping_kube server;
    char *kubeconfig;
    char *mapping;
    pid_t generator;
    char *handles[VOLUMES]; /* as the old cluster made them */
    struct uuid_text uuids[VOLUMES];
};

static void write_file(const char *path, const char *content)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
}

static void write_kubeconfig(struct site *site)
{
    _cleanup_free_ char *content = xasprintf(
        "{\"current-context\": \"t\","
        " \"clusters\": [{\"name\": \"c\", \"cluster\": {\"server\": \"%s\"}}],"
        " \"users\": [{\"name\": \"u\", \"user\": {\"token\": \"topsecret\"}}],"
        " \"contexts\": [{\"name\": \"t\", \"context\": {\"cluster\": \"c\", \"user\": \"u\"}}]}",
        flapping_server_url(site->server.server));

    write_file(site->kubeconfig, content);
}

static int64_t pool_id(void)
{
    _cleanup_place_ struct place place = place_open(POOL, NULL);

    return place.id;
}

static void site_init(struct site *site)
{
    const struct harness_cluster *cluster = harness_cluster();

    harness_init(&site->driver);
    site->fake = fake_kube_new();
    site->server = (struct flapping_kube){.seed = 3, .token = "topsecret"};
    flapping_kube_start(&site->server, site->fake);
    site->kubeconfig = xasprintf("%s/kubeconfig", site->driver.folder);
    site->mapping = xasprintf("%s/cluster-mapping.json", site->driver.folder);
    write_kubeconfig(site);
    fake_kube_put_secret(site->fake, "/api/v1/namespaces/ceph/secrets/csi", cluster->user,
                         cluster->key);
    _cleanup_free_ char *config = xasprintf("[{\"clusterID\": \"new\", \"monitors\": [\"%s\"],"
                                            " \"rbd\": {\"radosNamespace\": \"" TENANT "\"}}]",
                                            cluster->monitors);
    _cleanup_free_ char *mapping = xasprintf("[{\"clusterIDMapping\": {\"old\": \"new\"},"
                                             " \"RBDPoolIDMapping\": [{\"%d\": \"%lld\"}]}]",
                                             OLD_POOL, (long long)pool_id());
    harness_write_config(&site->driver, config);
    write_file(site->mapping, mapping);
    _cleanup_free_ char *flag = xasprintf("--clustermapping=%s", site->mapping);
    harness_start(&site->driver, (const char *[]){flag, NULL});
}

static void stop_generator(struct site *site, int signal_number)
{
    int status = 0;

    if (!site->generator)
        return;
    kill(site->generator, signal_number);
    wait_until(waitpid(site->generator, &status, WNOHANG) != 0);
    site->generator = 0;
    if (signal_number == SIGTERM)
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void site_done(struct site *site)
{
    stop_generator(site, SIGTERM);
    unlink(site->kubeconfig);
    unlink(site->mapping);
    harness_done(&site->driver);
    flapping_kube_stop(&site->server);
    fake_kube_free(site->fake);
    free(site->kubeconfig);
    free(site->mapping);
    for (size_t i = 0; i < VOLUMES; i++)
        free(site->handles[i]);
}
#define _cleanup_site_ _cleanup_(site_done)

static void start_generator(struct site *site)
{
    _cleanup_free_ char *config = xasprintf("--configpath=%s", site->driver.config_path);
    _cleanup_free_ char *mapping = xasprintf("--clustermapping=%s", site->mapping);
    _cleanup_free_ char *kubeconfig = xasprintf("--kubeconfig=%s", site->kubeconfig);
    _cleanup_free_ char *program = xstrdup(getenv("CEPHCSI"));
    char type[] = "--type=controller", name[] = "--drivername=" DRIVER, verbosity[] = "--v=5",
         name_space[] = "--drivernamespace=ceph", metadata[] = "--setmetadata=true";
    char *argv[] = {program,   type,   name,    name_space, metadata,
                    verbosity, config, mapping, kubeconfig, NULL};
    posix_spawn_file_actions_t actions;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, site->driver.log_path,
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_int_equal(posix_spawn(&site->generator, argv[0], &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
}

/* --- volumes --- */

/* Makes a volume, and the PersistentVolume that the old cluster had for it. */
static void make_volume(struct site *site, size_t i)
{
    _cleanup_free_ char *name = xasprintf("pvc-dr-%zu", i);
    _cleanup_error_ struct error err = {0};
    struct volume_id id;
    char old[VOLUME_ID_LENGTH_MAX + 1];
    _cleanup_free_ char *handle = call_create(
        &site->driver,
        &(struct create_call){.name = name, .pool = POOL, .size_bytes = MIB, .cluster_id = "new"},
        &err);

    if (!handle || volume_id_parse(handle, &id, &err) < 0)
        fail_msg("%s", err.message);
    site->uuids[i] = id.uuid;
    id = (struct volume_id){.cluster_id = "old", .location_id = OLD_POOL, .uuid = id.uuid};
    volume_id_format(&id, old);
    site->handles[i] = xstrdup(old);
}

static void put_volume(struct site *site, size_t i)
{
    _cleanup_free_ char *path = xasprintf("/api/v1/persistentvolumes/pvc-dr-%zu", i);
    _cleanup_free_ char *pv = xasprintf(
        "{\"metadata\": {\"uid\": \"u%zu\"}, \"spec\": {\"claimRef\": {\"name\": \"data-%zu\","
        " \"namespace\": \"team\"}, \"csi\": {\"driver\": \"" DRIVER "\", \"volumeHandle\": \"%s\","
        " \"controllerExpandSecretRef\": {\"name\": \"csi\", \"namespace\": \"ceph\"},"
        " \"volumeAttributes\": {\"pool\": \"" POOL "\", \"journalPool\": \"" POOL "\"}}}}",
        i, i, site->handles[i]);

    fake_kube_put(site->fake, path, pv);
}

/* What mirroring does not bring along. */
static void lose_journal(struct site *site)
{
    _cleanup_place_ struct place place = place_open(POOL, TENANT);

    place_remove(&place, "csi.volumes.default");
    for (size_t i = 0; i < VOLUMES; i++) {
        _cleanup_free_ char *object = xasprintf("csi.volume.%s", site->uuids[i].chars);

        place_remove(&place, object);
    }
}

static bool has_entry(struct site *site, size_t i)
{
    _cleanup_place_ struct place place = place_open(POOL, TENANT);
    _cleanup_free_ char *object = xasprintf("csi.volume.%s", site->uuids[i].chars);
    _cleanup_free_ char *key = xasprintf("csi.volume.pvc-dr-%zu", i);

    if (!place_has(&place, object) || !place_has(&place, "csi.volumes.default"))
        return false; /* librados loses memory when it is asked for keys of what is not there */
    _cleanup_free_ char *owner = place_get(&place, object, "csi.volume.owner");
    _cleanup_free_ char *id = place_get(&place, object, "csi.imageid");
    _cleanup_free_ char *name = place_get(&place, "csi.volumes.default", key);

    return owner && id && name && strcmp(owner, "team") == 0 &&
           strcmp(name, site->uuids[i].chars) == 0;
}

static void wait_for_entries(struct site *site)
{
    struct test_wait wait = {0};

    for (size_t i = 0; i < VOLUMES; i++)
        while (!has_entry(site, i))
            if (!test_wait_more(&wait)) {
                _cleanup_free_ char *log = harness_log(&site->driver);

                fail_msg("volume %zu has no entry: %s", i, log);
            }
}

TEST(failed_over_volumes_are_deleted_by_their_handles)
{
    _cleanup_site_ struct site site = {0};
    _cleanup_error_ struct error err = {0};

    site_init(&site);
    for (size_t i = 0; i < VOLUMES; i++)
        make_volume(&site, i);
    lose_journal(&site);
    assert_int_equal(call_validate(&site.driver, site.handles[0], &err), -1);
    error_clear(&err);
    site.server.permille = 50; /* the API server is a bad one */
    for (size_t i = 0; i < VOLUMES; i++)
        put_volume(&site, i);
    start_generator(&site);
    wait_for_entries(&site);
    for (size_t i = 0; i < VOLUMES; i++) {
        if (call_validate(&site.driver, site.handles[i], &err) < 0 ||
            harness_delete_volume(&site.driver, site.handles[i], &err) < 0)
            fail_msg("%s", err.message);
        assert_false(has_entry(&site, i));
    }
    stop_generator(&site, SIGTERM);
    harness_assert_pool_empties(POOL);
    _cleanup_free_ char *log = harness_log(&site.driver);
    assert_null(strstr(log, harness_cluster()->key));
}

/* Killed again and again while it works; the journal is whole in the end. */
TEST(killed_generator_is_continued)
{
    _cleanup_site_ struct site site = {0};
    _cleanup_error_ struct error err = {0};

    site_init(&site);
    for (size_t i = 0; i < VOLUMES; i++) {
        make_volume(&site, i);
        put_volume(&site, i);
    }
    lose_journal(&site);
    for (int i = 0; i < 4; i++) {
        start_generator(&site);
        usleep((useconds_t)(100000 * (i + 1)));
        stop_generator(&site, SIGKILL);
        /* nobody waits for the dead one's lease here */
        json_auto_t *lease = fake_kube_get(site.fake, LEASE);
        if (lease)
            fake_kube_drop(site.fake,
                           "/apis/coordination.k8s.io/v1/namespaces/ceph/leases/" DRIVER "-ceph");
    }
    start_generator(&site);
    wait_for_entries(&site);
    stop_generator(&site, SIGTERM);
    for (size_t i = 0; i < VOLUMES; i++)
        if (harness_delete_volume(&site.driver, site.handles[i], &err) < 0)
            fail_msg("%s", err.message);
    harness_assert_pool_empties(POOL);
}

static int prepare(void **state)
{
    (void)state;
    rpc_init();
    free(harness_run_tool((const char *[]){"rbd", "namespace", "create", TENANT_SPEC, NULL}));
    return 0;
}

static int finish(void **state)
{
    (void)state;
    free(harness_run_tool((const char *[]){"rbd", "namespace", "remove", TENANT_SPEC, NULL}));
    rpc_shutdown();
    return 0;
}

TEST_GROUP(prepare, finish)
