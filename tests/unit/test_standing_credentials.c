#include "tests/unit/fixtures/kube.h"

#include <pthread.h>

#include "common/config/standing_credentials.h"

/* Whose key serves a call that carries no secrets. */

#define SECRET(name) "/api/v1/namespaces/ceph/secrets/" name
/* "alice"/"KEYA" and so on, in base64 */
#define DATA(user, key) "{\"data\":{\"userID\":\"" user "\",\"userKey\":\"" key "\"}}"
#define ALICE DATA("YWxpY2U=", "S0VZQQ==")
#define BOB DATA("Ym9i", "S0VZQg==")
#define CAROL DATA("Y2Fyb2w=", "S0VZQw==")

static const char CONFIG[] =
    "[{\"clusterID\": \"c1\", \"monitors\": [\"m\"], \"rbd\": {\"controllerPublishSecretRef\":"
    " {\"name\": \"publish\", \"namespace\": \"ceph\"}}},"
    " {\"clusterID\": \"c2\", \"monitors\": [\"m\"]}]";

struct world {
    struct kube_fixture *kube;
    char *path;
    struct config_file *config;
    struct standing_credentials *standing;
    struct strmap class;
};

static void write_config(struct world *world)
{
    world->path = xstrdup("/tmp/test_standing.XXXXXX");
    int fd = mkstemp(world->path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, CONFIG, strlen(CONFIG)), strlen(CONFIG));
    close(fd);
}

/* @keyring: "" for none. */
static void world_init(struct world *world, void **state, const char *keyring, int64_t life_ms)
{
    struct credentials on_disk = {0};

    if (keyring[0]) {
        on_disk.user = xstrdup(keyring);
        secret_set(&on_disk.key, "KEYD");
    }
    world->kube = *state;
    write_config(world);
    world->config = config_file_new(world->path);
    world->standing = standing_credentials_new(&(struct standing_credentials_options){
        .kube = world->kube->kube,
        .config = world->config,
        .keyring = &on_disk,
        .life_ms = life_ms,
    });
    credentials_done(&on_disk);
    strmap_set(&world->class, "clusterID", "c1");
}

static void world_done(struct world *world)
{
    standing_credentials_free(world->standing);
    config_file_free(world->config);
    strmap_done(&world->class);
    unlink(world->path);
    free(world->path);
}
#define _cleanup_world_ _cleanup_(world_done)

static void name_secret(struct world *world, const char *kind, const char *name)
{
    _cleanup_free_ char *name_key = xasprintf("csi.storage.k8s.io/%s-secret-name", kind);
    _cleanup_free_ char *namespace_key = xasprintf("csi.storage.k8s.io/%s-secret-namespace", kind);

    strmap_set(&world->class, name_key, name);
    strmap_set(&world->class, namespace_key, "ceph");
}

static void assert_user(struct world *world, const char *cluster_id, const char *user)
{
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_error_ struct error err = {0};

    if (standing_credentials_get(world->standing, &world->kube->call, cluster_id, &world->class,
                                 &credentials, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(credentials.user, user);
    assert_true(text_has_prefix(secret_reveal(&credentials.key), "KEY"));
}

static void assert_none(struct world *world, enum status status, const char *part)
{
    _cleanup_credentials_ struct credentials credentials = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(standing_credentials_get(world->standing, &world->kube->call, "c1",
                                              &world->class, &credentials, &err),
                     -1);
    assert_null(credentials.user);
    if (!strstr(err.message, part))
        fail_msg("wanted '%s', got '%s'", part, err.message);
    assert_null(strstr(err.message, "KEY"));
    assert_int_equal(err.status, status);
}

TEST(secret_of_the_class_comes_before_config_before_keyring, WITH_KUBE)
{
    _cleanup_world_ struct world world = {0};
    struct fake_kube *fake = ((struct kube_fixture *)*state)->fake;

    world_init(&world, state, "dave", 1); /* forgets at once */
    assert_user(&world, "c1", "dave");
    assert_user(&world, "c2", "dave");
    fake_kube_put(fake, SECRET("publish"), BOB);
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    assert_user(&world, "c1", "bob");
    assert_user(&world, "c2", "dave"); /* names no Secret */
    name_secret(&world, "controller-expand", "expand");
    fake_kube_put(fake, SECRET("expand"), CAROL);
    assert_user(&world, "c1", "carol");
    name_secret(&world, "provisioner", "provisioner");
    fake_kube_put(fake, SECRET("provisioner"), ALICE);
    assert_user(&world, "c1", "alice");
}

TEST(secret_is_read_once_and_kept, WITH_KUBE)
{
    _cleanup_world_ struct world world = {0};
    struct fake_kube *fake = ((struct kube_fixture *)*state)->fake;

    world_init(&world, state, "", 60000);
    name_secret(&world, "provisioner", "provisioner");
    fake_kube_put(fake, SECRET("provisioner"), ALICE);
    for (int i = 0; i < 5; i++)
        assert_user(&world, "c1", "alice");
    assert_int_equal(fake_kube_calls(fake), 1);
}

TEST(missing_right_is_asked_for_once, WITH_KUBE)
{
    _cleanup_world_ struct world world = {0};
    struct fake_kube *fake = ((struct kube_fixture *)*state)->fake;

    world_init(&world, state, "", 60000);
    fake_kube_put(fake, SECRET("publish"), BOB);
    fake_kube_forbid(fake, "get", "/api/v1/namespaces/ceph/secrets");
    for (int i = 0; i < 3; i++)
        assert_none(&world, STATUS_FAILED_PRECONDITION, "secret 'ceph/publish'");
    assert_int_equal(fake_kube_calls(fake), 1);
}

TEST(secret_outlives_the_api_server, WITH_KUBE)
{
    _cleanup_world_ struct world world = {0};
    struct fake_kube *fake = ((struct kube_fixture *)*state)->fake;

    world_init(&world, state, "", 1000);
    fake_kube_fail_all(fake, STATUS_UNAVAILABLE);
    assert_none(&world, STATUS_UNAVAILABLE, "secret 'ceph/publish'");
    fake_kube_fail_all(fake, STATUS_OK);
    fake_kube_put(fake, SECRET("publish"), BOB);
    assert_user(&world, "c1", "bob"); /* that it was away is not remembered */
    unsigned calls = fake_kube_calls(fake);
    fake_kube_fail_all(fake, STATUS_UNAVAILABLE);
    wait_until((assert_user(&world, "c1", "bob"), fake_kube_calls(fake) > calls));
    assert_user(&world, "c1", "bob");
}

TEST(secret_without_a_user_is_no_help, WITH_KUBE)
{
    _cleanup_world_ struct world world = {0};
    struct fake_kube *fake = ((struct kube_fixture *)*state)->fake;

    world_init(&world, state, "", 60000);
    name_secret(&world, "provisioner", "provisioner");
    fake_kube_put(fake, SECRET("provisioner"), "{\"data\":{\"userID\":\"Ym9i\"}}");
    fake_kube_put(fake, SECRET("publish"), "{\"data\":{\"userKey\":\"!\"}}");
    assert_none(&world, STATUS_FAILED_PRECONDITION, "userKey is missing");
    assert_none(&world, STATUS_FAILED_PRECONDITION, "is not base64");
}

/* CephFS before Ceph-CSI 3.14 has the administrator's pair; of two pairs the user's is taken. */
TEST(secret_may_have_the_pair_of_an_administrator, WITH_KUBE)
{
    _cleanup_world_ struct world world = {0};
    struct fake_kube *fake = ((struct kube_fixture *)*state)->fake;

    world_init(&world, state, "", 0);
    name_secret(&world, "provisioner", "old");
    name_secret(&world, "controller-expand", "both");
    fake_kube_put(fake, SECRET("old"),
                  "{\"data\":{\"adminID\":\"Ym9i\",\"adminKey\":\"S0VZQg==\"}}");
    fake_kube_put(fake, SECRET("both"),
                  "{\"data\":{\"adminID\":\"Ym9i\",\"adminKey\":\"S0VZQg==\","
                  "\"userID\":\"YWxpY2U=\",\"userKey\":\"S0VZQQ==\"}}");
    assert_user(&world, "c1", "bob");
    strmap_remove(&world.class, "csi.storage.k8s.io/provisioner-secret-name");
    assert_user(&world, "c1", "alice");
}

TEST(templates_and_paths_name_no_secret, WITH_KUBE)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world, state, "dave", 60000);
    name_secret(&world, "provisioner", "${pvc.name}");
    name_secret(&world, "controller-expand", "../configmaps/x");
    assert_user(&world, "c2", "dave");
    assert_int_equal(fake_kube_calls(world.kube->fake), 0);
}

TEST(existence_is_told_without_asking, WITH_KUBE)
{
    _cleanup_world_ struct world world = {0};
    _cleanup_(standing_credentials_freep) struct standing_credentials *without_kube =
        standing_credentials_new(&(struct standing_credentials_options){0});

    world_init(&world, state, "", 60000);
    assert_true(standing_credentials_exist(world.standing));
    assert_int_equal(fake_kube_calls(world.kube->fake), 0);
    assert_false(standing_credentials_exist(without_kube));
    assert_false(standing_credentials_exist(NULL));
}

static void *get_many(void *object)
{
    struct world *world = object;

    for (int i = 0; i < 200; i++)
        assert_user(world, "c1", "alice");
    return NULL;
}

TEST(many_threads_get_one_answer, WITH_KUBE)
{
    _cleanup_world_ struct world world = {0};
    pthread_t threads[4];

    world_init(&world, state, "", 1);
    name_secret(&world, "provisioner", "provisioner");
    fake_kube_put(world.kube->fake, SECRET("provisioner"), ALICE);
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get_many, &world), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
        pthread_join(threads[i], NULL);
}
