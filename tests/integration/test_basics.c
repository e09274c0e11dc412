/*
 * What every pair of Ceph libraries and Ceph cluster must be able to do: the life of a volume and
 * of a snapshot, for both drivers. tests/matrix/cells runs it with libraries of one release on a
 * cluster of another.
 */
#include <unistd.h>

#include "common/base/memory.h"
#include "common/ceph/library_version.h"
#include "tests/integration/calls.h"
#include "tests/integration/cephfs.h"
#include "tests/integration/zones.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)
#define POOL "common"
/* as Ceph 20.2.4 makes them; no user of a cluster has it */
#define NOBODYS_KEY_AES256K "AgDm8i1pAAAAACAAMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

struct source {
    const char *snapshot; /* handles; NULL: none */
    const char *volume;
};

struct backend {
    const char *type; /* of the driver */
    const char *name;
    char *(*create)(const char *name, struct source source, struct error *err);
    char *(*make_request)(const char *name);
    void (*assert_empties)(void);
};

static struct driver_process driver;
static char *keyring; /* the driver's own user, for GetCapacity */

static int stop_driver(void **state)
{
    (void)state;
    unlink(keyring);
    free(TAKE(keyring));
    harness_done(&driver);
    return 0;
}

static void clean_up(void)
{
    harness_clean_up();
    cephfs_clean_up();
}

TEST_GROUP(harness_begin, harness_end)
TEST_CLEANUP(clean_up)

/* --- the two drivers --- */

static char *create_rbd(const char *name, struct source source, struct error *err)
{
    return call_create(&driver,
                       &(struct create_call){name, POOL, 8 * MIB,
                                             .source_snapshot = source.snapshot,
                                             .source_volume = source.volume},
                       err);
}

static char *make_rbd_request(const char *name)
{
    return harness_create_request(name, POOL, 8 * MIB);
}

static void assert_rbd_empties(void)
{
    harness_assert_pool_empties(POOL);
}

static char *create_cephfs(const char *name, struct source source, struct error *err)
{
    return cephfs_create(&driver,
                         &(struct cephfs_wish){name, 8 * MIB, .source_snapshot = source.snapshot,
                                               .source_volume = source.volume},
                         err);
}

static char *make_cephfs_request(const char *name)
{
    return cephfs_request(&(struct cephfs_wish){name, .size_bytes = 8 * MIB});
}

static const struct backend RBD = {"--type=rbd", "--drivername=rbd.csi.ceph.com", create_rbd,
                                   make_rbd_request, assert_rbd_empties};
static const struct backend CEPHFS = {"--type=cephfs", "--drivername=cephfs.csi.ceph.com",
                                      create_cephfs, make_cephfs_request, cephfs_assert_empties};

/* --- calls that must succeed --- */

static char *make(const struct backend *backend, const char *name, struct source source)
{
    _cleanup_error_ struct error err = {0};
    char *handle = backend->create(name, source, &err);

    if (!handle)
        fail_msg("%s", err.message);
    return handle;
}

static char *snapshot(const char *name, const char *volume)
{
    _cleanup_error_ struct error err = {0};
    char *handle = call_snapshot(&driver, name, volume, &err);

    if (!handle)
        fail_msg("%s", err.message);
    return handle;
}

static void must(int result, const struct error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

static void drop(const char *volume)
{
    _cleanup_error_ struct error err = {0};

    must(harness_delete_volume(&driver, volume, &err), &err);
}

static void drop_snapshot(const char *handle)
{
    _cleanup_error_ struct error err = {0};

    must(call_delete_snapshot(&driver, handle, &err), &err);
}

/* --- tests --- */

/* Defines a test for each of the two drivers, which runs meanwhile. */
#define TEST_BOTH(name)                                                                            \
    static void name(const struct backend *backend);                                               \
    TEST(rbd_##name, .teardown_func = stop_driver)                                                 \
    {                                                                                              \
        run(name, &RBD);                                                                           \
    }                                                                                              \
    TEST(cephfs_##name, .teardown_func = stop_driver)                                              \
    {                                                                                              \
        run(name, &CEPHFS);                                                                        \
    }                                                                                              \
    static void name(const struct backend *backend)

static void run(void (*test)(const struct backend *), const struct backend *backend)
{
    harness_init(&driver);
    keyring = xasprintf("%s/keyring", driver.folder);
    zones_write_keyring(keyring);
    _cleanup_free_ char *flag = xasprintf("--keyring=%s", keyring);
    harness_start(&driver, (const char *[]){backend->type, backend->name, flag, NULL});
    test(backend);
}

TEST_BOTH(volume_is_created_and_deleted)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *volume = make(backend, "pvc-1", (struct source){0});
    _cleanup_free_ char *again = make(backend, "pvc-1", (struct source){0});

    assert_string_equal(volume, again);
    must(call_validate(&driver, volume, &err), &err);
    drop(volume);
    assert_int_equal(call_validate(&driver, volume, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    backend->assert_empties();
}

TEST_BOTH(volume_is_expanded)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *volume = make(backend, "grows", (struct source){0});
    long long size = call_expand(&driver, volume, 100 * MIB, &err);

    must(size < 0 ? -1 : 0, &err);
    assert_int_equal(size, 100 * MIB);
    drop(volume);
    backend->assert_empties();
}

TEST_BOTH(snapshot_is_restored)
{
    _cleanup_free_ char *volume = make(backend, "parent", (struct source){0});
    _cleanup_free_ char *snap = snapshot("snap", volume);
    _cleanup_free_ char *restored = make(backend, "restored", (struct source){.snapshot = snap});

    drop_snapshot(snap);
    drop(volume);
    drop(restored);
    backend->assert_empties();
}

TEST_BOTH(volume_is_cloned)
{
    _cleanup_free_ char *volume = make(backend, "original", (struct source){0});
    _cleanup_free_ char *clone = make(backend, "clone", (struct source){.volume = volume});

    drop(volume);
    drop(clone);
    backend->assert_empties();
}

TEST_BOTH(capacity_is_reported)
{
    _cleanup_free_ char *request = backend->make_request("unused");

    assert_true(zones_capacity(&driver, json_loads(request, 0, NULL), NULL, NULL) > 100 * MIB);
}

/* --- keys --- */

static bool is_aes256k(const char *key)
{
    return strncmp(key, "Ag", 2) == 0;
}

/* The cluster's own key if it is of this type; else one that only libraries can tell from others.
 */
static const char *choose_aes256k(void)
{
    const char *key = harness_cluster()->key;

    return is_aes256k(key) ? key : NOBODYS_KEY_AES256K;
}

static void assert_refusal(const struct error *err)
{
    _cleanup_free_ char *sentence =
        xasprintf("it is a key of type 2 (aes256k), which the Ceph libraries of this driver, "
                  "version %s, do not know; run an image with 20.2.4 (or 19.2.6) or newer, or give "
                  "the user a key of type aes",
                  ceph_library_version());

    assert_int_equal(err->status, STATUS_UNAUTHENTICATED);
    if (!strstr(err->message, sentence))
        fail_msg("'%s' does not say '%s'", err->message, sentence);
    if (is_aes256k(harness_cluster()->key))
        print_message("note: refused: %s\n", err->message);
}

/* Libraries that know such keys leave it to the cluster: nobody's is refused there, its own works.
 */
TEST_BOTH(key_of_type_aes256k_is_used_or_refused_in_one_sentence)
{
    const char *key = choose_aes256k();
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *request = backend->make_request("with-aes256k");
    json_auto_t *reply = NULL;
    int result = harness_call(
        &driver, &(struct harness_call){.method = "CreateVolume", .request = request, .key = key},
        &reply, &err);

    if (!library_knows_aes256k(ceph_library_version())) {
        assert_int_equal(result, -1);
        assert_refusal(&err);
    } else if (key == harness_cluster()->key) {
        must(result, &err);
        drop(json_string_value(json_object_get(json_object_get(reply, "volume"), "volume_id")));
        backend->assert_empties();
    } else {
        assert_int_equal(result, -1);
        assert_null(strstr(err.message, "do not know"));
    }
}
