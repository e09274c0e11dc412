/* The built cephzone fsck on a real Ceph: clean, with leftovers made by hand, repaired, clean. */
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/subprocess.h"
#include "common/base/text.h"
#include "common/encoding/json.h"
#include "common/rpc/rpc.h"
#include "controller/fsck/pv_dump.h"
#include "tests/integration/harness.h"
#include "tests/test.h"

#define POOL "common"
#define UUID_A "aaaaaaaa-0000-4000-8000-00000000000a"
#define UUID_B "bbbbbbbb-0000-4000-8000-00000000000b"
#define UUID_C "cccccccc-0000-4000-8000-00000000000c"
#define UUID_D "dddddddd-0000-4000-8000-00000000000d"
#define ARGUMENTS_MAX 24
#define OUTPUT_LIMIT ((size_t)1 << 20)

extern char **environ;

static struct driver_process driver;
static char *secrets_path;
static char *pvs_path;

static void write_file(const char *path, const char *content)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
}

static int start_driver(void **state)
{
    _cleanup_free_ char *secrets = xasprintf("{\"userID\":\"%s\",\"userKey\":\"%s\"}",
                                             harness_cluster()->user, harness_cluster()->key);

    (void)state;
    rpc_init();
    harness_init(&driver);
    harness_start(&driver, NULL);
    secrets_path = xasprintf("%s/secrets.json", driver.folder);
    pvs_path = xasprintf("%s/pvs.json", driver.folder);
    write_file(secrets_path, secrets);
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    unlink(secrets_path);
    unlink(pvs_path);
    free(secrets_path);
    free(pvs_path);
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

/* --- programs --- */

static int run(const char *const *argv, char **output, char **errors)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_subprocess_result_ struct subprocess_result result = {0};
    const struct subprocess spec = {
        .argv = argv,
        .environment = (const char *const *)environ,
        .deadline = deadline_in_ms(60000),
        .output_limit = OUTPUT_LIMIT,
    };

    assert_int_equal(subprocess_run(&spec, &result, &err), 0);
    *output = text_take(&result.output);
    *errors = text_take(&result.errors);
    return result.exit_code;
}

static void tool(const char *const *argv)
{
    _cleanup_free_ char *output = NULL;
    _cleanup_free_ char *errors = NULL;

    if (run(argv, &output, &errors) != 0)
        fail_msg("%s %s: %s", argv[0], argv[1], errors);
}

/* Runs fsck on the pool with @arguments; both outputs in one text. Caller frees. */
static char *fsck(const char *const *arguments, int code)
{
    _cleanup_free_ char *config = xasprintf("--config=%s", driver.config_path);
    _cleanup_free_ char *secrets = xasprintf("--secrets=%s", secrets_path);
    _cleanup_free_ char *output = NULL;
    _cleanup_free_ char *errors = NULL;
    const char *argv[ARGUMENTS_MAX] = {getenv("CEPHZONE"), "fsck", config, secrets,
                                       ("--pool=" POOL)};

    for (size_t i = 0; arguments[i]; i++)
        argv[5 + i] = arguments[i];
    int result = run(argv, &output, &errors);
    char *text = xasprintf("%s%s", output ? output : "", errors ? errors : "");
    if (result != code)
        fail_msg("wanted exit code %d, got %d: %s", code, result, text);
    return text;
}

static void assert_fsck(const char *const *arguments, int code, const char *const *parts)
{
    _cleanup_free_ char *text = fsck(arguments, code);

    for (size_t i = 0; parts[i]; i++)
        if (!strstr(text, parts[i]))
            fail_msg("wanted '%s', got %s", parts[i], text);
}

#define ARGUMENTS(...) ((const char *[]){__VA_ARGS__, NULL})
#define NO_ARGUMENTS ((const char *[]){NULL})

/* --- tests --- */

/* The driver removes what the drivers of other programs have left in the trash. */
static void drain_pool(void)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *handle = harness_create_volume(&driver, "fsck-first", POOL, 1 << 20, &err);

    assert_non_null(handle);
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    harness_assert_pool_empties(POOL);
}

TEST(clean_pool_gives_nothing)
{
    _cleanup_error_ struct error err = {0};

    drain_pool();
    char *handle = harness_create_volume(&driver, "fsck-clean", POOL, 1 << 20, &err);
    assert_non_null(handle);
    assert_fsck(NO_ARGUMENTS, 0, ARGUMENTS("0 data loss, 0 errors, 0 warnings", "at 1 volumes"));
    assert_fsck(ARGUMENTS("-o", "json"), 0, ARGUMENTS("\"findings\": []", "\"volumes\": 1"));
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    harness_assert_pool_empties(POOL);
    free(handle);
}

/* A name, an object and a purge key without what they lead to; an image that nobody knows. */
static void make_leftovers(void)
{
    tool(ARGUMENTS("rados", "-p", POOL, "setomapval", "csi.volumes.default", "csi.volume.fsck-1",
                   UUID_A));
    tool(ARGUMENTS("rados", "-p", POOL, "create", ("csi.volume." UUID_B)));
    tool(ARGUMENTS("rados", "-p", POOL, "setomapval", "csi.volumes.default",
                   "cephzone.purge.00000000000000ff.dead", ("csi-vol-" UUID_C)));
    tool(ARGUMENTS("rbd", "create", "--size=1", (POOL "/csi-vol-" UUID_C "-temp")));
    tool(ARGUMENTS("rbd", "create", "--size=1", (POOL "/mine-" UUID_C)));
    tool(ARGUMENTS("rbd", "create", "--size=1", (POOL "/csi-vol-" UUID_D)));
    tool(ARGUMENTS("rados", "-p", POOL, "rm", ("rbd_id.csi-vol-" UUID_D)));
}

TEST(leftovers_are_found_and_repaired)
{
    _cleanup_error_ struct error err = {0};
    char *handle = harness_create_volume(&driver, "fsck-kept", POOL, 1 << 20, &err);

    assert_non_null(handle);
    make_leftovers();
    assert_fsck(NO_ARGUMENTS, 1,
                ARGUMENTS("name-without-object", "fsck-1", "object-without-name",
                          ("csi.volume." UUID_B), "temp-without-volume", "image-without-journal",
                          ("mine-" UUID_C), "image-remnant", "purge-without-trash",
                          "may be under way: run again"));
    assert_fsck(ARGUMENTS("--repair"), 2, ARGUMENTS("standard input is no terminal"));
    assert_fsck(ARGUMENTS("--repair", "--yes", "--min-age=0s"), 1, ARGUMENTS("  done\n"));
    /* what may hold data is left to the operator */
    assert_fsck(ARGUMENTS("--min-age=0s"), 1,
                ARGUMENTS("image-without-journal", "0 errors, 1 warnings"));
    tool(ARGUMENTS("rbd", "rm", "--no-progress", (POOL "/mine-" UUID_C)));
    assert_fsck(ARGUMENTS("--min-age=0s"), 0, ARGUMENTS("0 warnings", "at 1 volumes"));
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    harness_assert_pool_empties(POOL); /* the driver removes the data of the discarded image too */
    free(handle);
}

TEST(cut_on_a_volume_is_removed)
{
    _cleanup_error_ struct error err = {0};
    char *handle = harness_create_volume(&driver, "fsck-cut", POOL, 1 << 20, &err);

    assert_non_null(handle);
    _cleanup_free_ char *snapshot =
        xasprintf(POOL "/csi-vol-%s@csi-snap-" UUID_A, handle + strlen(handle) - strlen(UUID_A));
    tool(ARGUMENTS("rbd", "snap", "create", "--no-progress", snapshot));
    assert_fsck(ARGUMENTS("-o", "json"), 1,
                ARGUMENTS("\"kind\": \"leftover-cut\"", "\"repair\": \"remove the snapshot\""));
    assert_fsck(ARGUMENTS("--repair", "--yes", "-o", "json"), 0, ARGUMENTS("\"repaired\": true"));
    assert_fsck(NO_ARGUMENTS, 0, ARGUMENTS("0 warnings"));
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    harness_assert_pool_empties(POOL);
    free(handle);
}

TEST(pvs_are_compared)
{
    static const char form[] =
        "{\"kind\":\"List\",\"items\":[{\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":"
        "\"pv-1\"},\"spec\":{\"csi\":{\"driver\":\"rbd.csi.ceph.com\",\"volumeHandle\":\"%.*s%s\"},"
        "\"persistentVolumeReclaimPolicy\":\"Delete\"},\"status\":{\"phase\":\"Bound\"}}]}";
    _cleanup_error_ struct error err = {0};
    char *handle = harness_create_volume(&driver, "fsck-pv", POOL, 1 << 20, &err);

    assert_non_null(handle);
    _cleanup_free_ char *argument = xasprintf("--pvs=%s", pvs_path);
    _cleanup_free_ char *good = xasprintf(form, (int)strlen(handle), handle, "");
    write_file(pvs_path, good);
    assert_fsck(ARGUMENTS(argument), 0, ARGUMENTS("at 1 PVs, not at 0"));
    int length = (int)(strlen(handle) - strlen(UUID_A));
    _cleanup_free_ char *bad = xasprintf(form, length, handle, UUID_A);
    write_file(pvs_path, bad);
    assert_fsck(ARGUMENTS(argument, "--min-age=0s"), 1,
                ARGUMENTS("DATA-LOSS  pv-without-volume", "1 data loss"));
    write_file(pvs_path, "{\"items\":[{\"kind\":\"Pod\"}]}");
    assert_fsck(ARGUMENTS(argument), 3, ARGUMENTS("items[0]: kind: expected 'PersistentVolume'"));
    assert_int_equal(harness_delete_volume(&driver, handle, &err), 0);
    harness_assert_pool_empties(POOL);
    free(handle);
}

TEST(mistakes_are_told_apart)
{
    assert_fsck(ARGUMENTS("--pols=x"), 2, ARGUMENTS("did you mean"));
    assert_fsck(ARGUMENTS("-o", "xml"), 2, ARGUMENTS("'table' or 'json'"));
    assert_fsck(ARGUMENTS("--yes"), 2, ARGUMENTS("only with --repair"));
    assert_fsck(ARGUMENTS("--keyring=x"), 2, ARGUMENTS("one of --secrets and --keyring"));
    assert_fsck(ARGUMENTS("--pool=nope"), 3, ARGUMENTS("has no pool 'nope'"));
    assert_fsck(ARGUMENTS("--cluster=nope"), 3, ARGUMENTS("nope"));
    assert_fsck(ARGUMENTS("--pvs=/nope"), 3, ARGUMENTS("'/nope'"));
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(harness_clean_up)
