/* The CephFS driver on a real Ceph: volumes, snapshots, clones, views of snapshots, refusals. */
#include <pthread.h>
#include <unistd.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/rpc/rpc.h"
#include "tests/integration/calls.h"
#include "tests/integration/cephfs.h"
#include "tests/test.h"

#define MIB (1024LL * 1024)
#define READ "MULTI_NODE_READER_ONLY"

static struct driver_process driver;

static int start_driver(void **state)
{
    (void)state;
    rpc_init();
    harness_init(&driver);
    harness_start(&driver, CEPHFS_FLAGS);
    return 0;
}

static int stop_driver(void **state)
{
    (void)state;
    harness_done(&driver);
    rpc_shutdown();
    return 0;
}

static char *make(const struct cephfs_wish *wish)
{
    _cleanup_error_ struct error err = {0};
    char *handle = cephfs_create(&driver, wish, &err);

    if (!handle)
        fail_msg("%s", err.message);
    return handle;
}

static void drop(const char *handle)
{
    _cleanup_error_ struct error err = {0};

    if (harness_delete_volume(&driver, handle, &err) < 0)
        fail_msg("%s", err.message);
}

static void drop_snapshot(const char *handle)
{
    _cleanup_error_ struct error err = {0};

    if (call_delete_snapshot(&driver, handle, &err) < 0)
        fail_msg("%s", err.message);
}

static char *snapshot(const char *name, const char *volume)
{
    _cleanup_error_ struct error err = {0};
    char *handle = call_snapshot(&driver, name, volume, &err);

    if (!handle)
        fail_msg("%s", err.message);
    return handle;
}

static void assert_holds(const char *words)
{
    _cleanup_free_ char *contents = cephfs_contents();

    if (!strstr(contents, words))
        fail_msg("'%s' is not in\n%s", words, contents);
}

/* --- users --- */

/* A user that exists for this test; the key. Caller frees. */
static char *add_user(const char *name, const char *osd_caps)
{
    _cleanup_free_ char *entity = xasprintf("client.%s", name);
    char *key = harness_run_tool((const char *[]){"ceph", "auth", "get-or-create-key", entity,
                                                  "mon", "allow r", "osd", osd_caps, NULL});

    key[strcspn(key, "\n")] = '\0';
    return key;
}

/* CreateVolume with a Secret of two pairs, of which the user's is @user; -1 unless it works. */
static int create_with_both(const char *user, const char *key, char **handle, struct error *err)
{
    const struct harness_cluster *known = harness_cluster();
    const struct cephfs_wish wish = {"two-pairs", .size_bytes = 4 * MIB};
    _cleanup_free_ char *plain = cephfs_request(&wish);
    json_auto_t *request = json_loads(plain, 0, NULL);
    json_auto_t *reply = NULL;

    json_object_set_new(request, "secrets",
                        json_pack("{s:s, s:s, s:s, s:s}", "userID", user, "userKey", key, "adminID",
                                  known->user, "adminKey", known->key));
    _cleanup_free_ char *text = json_dumps(request, 0);
    if (harness_call(&driver, &(struct harness_call){"CreateVolume", text, .without_secrets = true},
                     &reply, err) < 0)
        return -1;
    const json_t *volume = json_object_get(reply, "volume");
    *handle = xstrdup(json_string_value(json_object_get(volume, "volume_id")));
    return 0;
}

/* Ceph-CSI from 3.14 on takes the user's pair, and fails too; before, it took the admin's. */
TEST(secret_with_two_pairs_says_which_one_lacks_rights)
{
    static const char *const osd_caps[] = {
        "allow r pool=common", /* may not read the journal */
        "allow rw tag cephfs metadata=" CEPHFS_NAME ", allow rw tag cephfs data=" CEPHFS_NAME,
    };
    _cleanup_free_ char *admin = xasprintf("adminID '%s'", harness_cluster()->user);
    _cleanup_free_ char *handle = NULL;

    for (size_t i = 0; i < ARRAY_LENGTH(osd_caps); i++) {
        _cleanup_error_ struct error err = {0};
        _cleanup_free_ char *user = xasprintf("weak-%zu", i);
        _cleanup_free_ char *key = add_user(user, osd_caps[i]);

        assert_int_equal(create_with_both(user, key, &handle, &err), -1);
        if (err.status != STATUS_PERMISSION_DENIED || !strstr(err.message, user) ||
            !strstr(err.message, admin))
            fail_msg("%s: %s: %s", osd_caps[i], status_name(err.status), err.message);
        _cleanup_free_ char *entity = xasprintf("client.%s", user);
        free(harness_run_tool((const char *[]){"ceph", "auth", "rm", entity, NULL}));
    }
    _cleanup_error_ struct error err = {0};
    if (create_with_both(harness_cluster()->user, harness_cluster()->key, &handle, &err) < 0)
        fail_msg("%s", err.message);
    drop(handle);
    cephfs_assert_empties();
}

/* --- volumes --- */

TEST(created_volume_is_a_subvolume_with_its_quota)
{
    _cleanup_free_ char *handle = make(&(struct cephfs_wish){"pvc-1", .size_bytes = 5 * MIB});
    const char *uuid = handle + strlen(handle) - 36;
    _cleanup_free_ char *name = xasprintf("csi-vol-%s", uuid);
    _cleanup_free_ char *info =
        harness_run_tool((const char *[]){"ceph", "fs", "subvolume", "info", CEPHFS_NAME, name,
                                          CEPHFS_GROUP, "--format", "json", NULL});
    _cleanup_free_ char *object = xasprintf("object " CEPHFS_META "/csi/csi.volume.%s\n", uuid);
    json_auto_t *facts = json_loads(info, 0, NULL);

    assert_int_equal(json_integer_value(json_object_get(facts, "bytes_quota")), 8 * MIB);
    assert_holds(object);
    assert_holds("key " CEPHFS_META "/csi/csi.volumes.default csi.volume.pvc-1\n");
    assert_non_null(strstr(handle, "-0000000000000001-")); /* the file system's id */
    drop(handle);
    drop(handle);
    cephfs_assert_empties();
}

TEST(same_request_twice_is_one_volume)
{
    const struct cephfs_wish wish = {"twice", .size_bytes = 4 * MIB};
    const struct cephfs_wish larger = {"twice", .size_bytes = 40 * MIB};
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *first = make(&wish);
    _cleanup_free_ char *second = make(&wish);

    assert_string_equal(first, second);
    assert_null(cephfs_create(&driver, &larger, &err));
    assert_int_equal(err.status, STATUS_ALREADY_EXISTS);
    drop(first);
    cephfs_assert_empties();
}

TEST(expansion_is_exact_and_repeatable)
{
    _cleanup_error_ struct error err = {0};
    _cleanup_free_ char *handle = make(&(struct cephfs_wish){"grows", .size_bytes = 4 * MIB});

    assert_int_equal(call_expand(&driver, handle, 100 * MIB, &err), 100 * MIB);
    assert_int_equal(call_expand(&driver, handle, 100 * MIB, &err), 100 * MIB);
    assert_int_equal(call_expand(&driver, handle, 8 * MIB, &err), 100 * MIB);
    assert_int_equal(call_validate(&driver, handle, &err), 0);
    drop(handle);
    assert_int_equal(call_validate(&driver, handle, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
}

TEST(either_pair_of_secrets_will_do)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_free_ char *plain =
        cephfs_request(&(struct cephfs_wish){"admin-pair", .size_bytes = 4 * MIB});
    json_auto_t *request = json_loads(plain, 0, NULL);
    json_auto_t *reply = NULL;
    _cleanup_error_ struct error err = {0};

    json_object_set_new(
        request, "secrets",
        json_pack("{s:s, s:s}", "adminID", cluster->user, "adminKey", cluster->key));
    _cleanup_free_ char *text = json_dumps(request, 0);
    assert_int_equal(harness_call(&driver,
                                  &(struct harness_call){.method = "CreateVolume",
                                                         .request = text,
                                                         .without_secrets = true},
                                  &reply, &err),
                     0);
    drop(json_string_value(json_object_get(json_object_get(reply, "volume"), "volume_id")));
    cephfs_assert_empties();
}

/* --- many at once --- */

#define CALLERS 24

struct caller {
    pthread_t thread;
    char name[32];
    char *handle;
    struct error err;
};

static void *create_one(void *object)
{
    struct caller *caller = object;

    caller->handle = cephfs_create(
        &driver, &(struct cephfs_wish){caller->name, .size_bytes = 4 * MIB}, &caller->err);
    return NULL;
}

TEST(calls_for_one_name_at_once_make_one_volume)
{
    struct caller callers[8] = {0};

    for (size_t i = 0; i < ARRAY_LENGTH(callers); i++) {
        snprintf(callers[i].name, sizeof(callers[i].name), "same-name");
        assert_int_equal(pthread_create(&callers[i].thread, NULL, create_one, &callers[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(callers); i++) {
        pthread_join(callers[i].thread, NULL);
        assert_non_null(callers[i].handle);
        assert_string_equal(callers[i].handle, callers[0].handle);
    }
    drop(callers[0].handle);
    for (size_t i = 0; i < ARRAY_LENGTH(callers); i++)
        free(callers[i].handle);
    cephfs_assert_empties();
}

/* More than the manager is given at once. */
TEST(many_volumes_at_once_all_come_about)
{
    struct caller callers[CALLERS] = {0};

    for (size_t i = 0; i < CALLERS; i++) {
        snprintf(callers[i].name, sizeof(callers[i].name), "many-%zu", i);
        assert_int_equal(pthread_create(&callers[i].thread, NULL, create_one, &callers[i]), 0);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        if (!callers[i].handle)
            fail_msg("%s", callers[i].err.message);
        drop(callers[i].handle);
        free(callers[i].handle);
    }
    cephfs_assert_empties();
}

/* --- snapshots and clones --- */

TEST(volume_goes_before_its_snapshot_and_is_restored_from_it)
{
    _cleanup_free_ char *volume = make(&(struct cephfs_wish){"source", .size_bytes = 8 * MIB});
    _cleanup_free_ char *snap = snapshot("snap-1", volume);
    _cleanup_free_ char *again = snapshot("snap-1", volume);
    _cleanup_error_ struct error err = {0};

    assert_string_equal(snap, again);
    drop(volume);
    _cleanup_free_ char *restored =
        make(&(struct cephfs_wish){"restored", .size_bytes = 16 * MIB, .source_snapshot = snap});
    assert_int_equal(call_validate(&driver, restored, &err), 0);
    drop(restored);
    drop_snapshot(snap);
    drop_snapshot(snap);
    cephfs_assert_empties();
}

/* Runs a command in the directory that has the subvolumes of the driver. */
static void run_in_group(const char *command)
{
    char mount_point[] = "/tmp/cephzone-group.XXXXXX";

    assert_non_null(mkdtemp(mount_point));
    _cleanup_free_ char *line =
        xasprintf("cd %s/volumes/" CEPHFS_GROUP " && %s", mount_point, command);
    free(harness_run_tool(
        (const char *const[]){"ceph-fuse", "--client_fs=" CEPHFS_NAME, mount_point, NULL}));
    free(harness_run_tool((const char *const[]){"bash", "-c", line, NULL}));
    free(harness_run_tool((const char *const[]){"umount", mount_point, NULL}));
    assert_int_equal(rmdir(mount_point), 0);
}

/* As a manager leaves it that dies at the end of a copy, when it has forgotten the one half. */
TEST(snapshot_with_the_mark_of_an_ended_copy_goes_when_the_mark_has_gone)
{
    _cleanup_free_ char *volume = make(&(struct cephfs_wish){"source", .size_bytes = 8 * MIB});
    _cleanup_free_ char *snap = snapshot("snap-1", volume);
    _cleanup_free_ char *copy =
        make(&(struct cephfs_wish){"copy", .size_bytes = 8 * MIB, .source_snapshot = snap});
    _cleanup_error_ struct error err = {0};

    drop(copy); /* the index of clones is there now */
    run_in_group("for f in csi-vol-*; do printf '\\n[clone snaps]\\nlost = %s\\n\\n' "
                 "$(cd $f/.snap && ls -d csi-snap-*) >>$f/.meta; done");
    driver.once = true;
    assert_int_equal(call_delete_snapshot(&driver, snap, &err), -1);
    driver.once = false;
    assert_int_equal(err.status, STATUS_ABORTED);
    assert_non_null(strstr(err.message, "left 1 mark(s)"));
    assert_non_null(strstr(err.message, "[clone snaps] of volumes/" CEPHFS_GROUP "/csi-vol-"));
    run_in_group("sed -i '/= csi-snap-/d' csi-vol-*/.meta");
    drop_snapshot(snap);
    drop(volume);
    cephfs_assert_empties();
}

TEST(clone_of_a_volume_leaves_no_cut)
{
    _cleanup_free_ char *volume = make(&(struct cephfs_wish){"source", .size_bytes = 8 * MIB});
    _cleanup_free_ char *copy =
        make(&(struct cephfs_wish){"copy", .size_bytes = 8 * MIB, .source_volume = volume});
    _cleanup_free_ char *contents = cephfs_contents();

    assert_null(strstr(contents, " snapshot "));
    drop(volume);
    drop(copy);
    cephfs_assert_empties();
}

TEST(ten_views_keep_a_deleted_snapshot_until_the_last_goes)
{
    _cleanup_free_ char *volume = make(&(struct cephfs_wish){"source", .size_bytes = 8 * MIB});
    _cleanup_free_ char *snap = snapshot("snap-shown", volume);
    char *views[10];

    for (size_t i = 0; i < ARRAY_LENGTH(views); i++) {
        _cleanup_free_ char *name = xasprintf("view-%zu", i);

        views[i] =
            make(&(struct cephfs_wish){name, 8 * MIB, .mode = READ, .source_snapshot = snap});
    }
    drop_snapshot(snap);
    drop(volume);
    for (size_t i = 0; i < ARRAY_LENGTH(views); i++) {
        assert_holds("rt-backingsnapshot-");
        assert_holds(" snapshot csi-snap-");
        drop(views[i]);
        free(views[i]);
    }
    cephfs_assert_empties();
}

/* 'fs quiesce' came with Ceph 19. */
static bool ceph_can_pause_writers(void)
{
    _cleanup_free_ char *text = harness_run_tool((const char *[]){"ceph", "version", NULL});
    int major = 0;

    assert_int_equal(sscanf(text, "ceph version %d.", &major), 1);
    return major >= 19;
}

static int call_group(const char *method, const char *request, json_t **reply, struct error *err)
{
    return harness_call(&driver, &(struct harness_call){.method = method, .request = request},
                        reply, err);
}

/* Makes the group and deletes it. */
static void assert_group_of_two(const char *request)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *reply = NULL;
    json_auto_t *again = NULL;

    if (call_group("CreateVolumeGroupSnapshot", request, &reply, &err) < 0 ||
        call_group("CreateVolumeGroupSnapshot", request, &again, &err) < 0)
        fail_msg("%s", err.message);
    assert_true(json_equal(reply, again));
    const json_t *group = json_object_get(reply, "group_snapshot");
    const json_t *snapshots = json_object_get(group, "snapshots");
    assert_int_equal(json_array_size(snapshots), 2);
    _cleanup_free_ char *sets = harness_run_tool(
        (const char *[]){"ceph", "fs", "quiesce", CEPHFS_NAME, "--all", "--format", "json", NULL});
    assert_non_null(strstr(sets, "RELEAS"));
    _cleanup_free_ char *removal =
        xasprintf("{\"group_snapshot_id\":\"%s\"}",
                  json_string_value(json_object_get(group, "group_snapshot_id")));
    if (call_group("DeleteVolumeGroupSnapshot", removal, NULL, &err) < 0)
        fail_msg("%s", err.message);
}

TEST(group_is_made_where_ceph_can_pause_writers)
{
    _cleanup_free_ char *first = make(&(struct cephfs_wish){"grouped-1", .size_bytes = 8 * MIB});
    _cleanup_free_ char *second = make(&(struct cephfs_wish){"grouped-2", .size_bytes = 8 * MIB});
    _cleanup_free_ char *request =
        xasprintf("{\"name\":\"group-1\",\"source_volume_ids\":[\"%s\",\"%s\"]}", first, second);
    _cleanup_error_ struct error err = {0};

    if (ceph_can_pause_writers()) {
        assert_group_of_two(request);
    } else {
        assert_int_equal(call_group("CreateVolumeGroupSnapshot", request, NULL, &err), -1);
        assert_int_equal(err.status, STATUS_FAILED_PRECONDITION);
        assert_non_null(strstr(err.message, "Ceph 19.2 (Squid)"));
    }
    drop(first);
    drop(second);
    cephfs_assert_empties();
}

/* --- hostile input --- */

TEST(hostile_wishes_are_refused_and_leave_nothing)
{
    static const struct {
        struct cephfs_wish wish;
        enum status status;
    } cases[] = {
        {{"p", 4 * MIB, .key = "volumeNamePrefix", .value = "../../"}, STATUS_INVALID_ARGUMENT},
        {{"p", 4 * MIB, .key = "volumeNamePrefix", .value = "a/b"}, STATUS_INVALID_ARGUMENT},
        {{"p", 4 * MIB, .key = "volumeNamePrefix", .value = "x\\\"},\\\"force\\\":true"},
         STATUS_INVALID_ARGUMENT},
        {{"p", 4 * MIB, .key = "fsName", .value = "no'such\\\"fs"}, STATUS_INVALID_ARGUMENT},
        {{"p", 4 * MIB, .key = "pool", .value = "no-such-pool"}, STATUS_INVALID_ARGUMENT},
        {{"p", 4 * MIB, .key = "clusterID", .value = "elsewhere"}, STATUS_INVALID_ARGUMENT},
        {{"p", 4 * MIB, .key = "mounter", .value = "nfs"}, STATUS_INVALID_ARGUMENT},
        {{"p", 4 * MIB, .mode = READ}, STATUS_INVALID_ARGUMENT},
        {{"p", .size_bytes = -1}, STATUS_INVALID_ARGUMENT},
        {{"p", .size_bytes = INT64_MAX}, STATUS_OUT_OF_RANGE},
        {{"p", 4 * MIB, .source_snapshot = "../../x"}, STATUS_NOT_FOUND},
        {{"p", 4 * MIB, .source_volume = "0001-0024-x"}, STATUS_NOT_FOUND},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_error_ struct error err = {0};

        assert_null(cephfs_create(&driver, &cases[i].wish, &err));
        if (err.status != cases[i].status)
            fail_msg("case %zu: %s: %s", i, status_name(err.status), err.message);
    }
    cephfs_assert_empties();
}

static void assert_refused_for_good(const struct cephfs_wish *wish, enum status status)
{
    _cleanup_error_ struct error err = {0};

    driver.once = true;
    assert_null(cephfs_create(&driver, wish, &err));
    driver.once = false;
    print_message("note: %s\n", err.message);
    assert_int_equal(err.status, status);
}

/* What no retry mends is not ABORTED. */
TEST(clone_that_cannot_be_made_is_refused_for_good)
{
    _cleanup_free_ char *volume =
        make(&(struct cephfs_wish){.name = "whole", .size_bytes = 4 * MIB});
    _cleanup_free_ char *moment = snapshot("of-whole", volume);
    _cleanup_free_ char *subvolume = xasprintf("csi-vol-%s", volume + strlen(volume) - 36);
    _cleanup_free_ char *name = xasprintf("csi-snap-%s", moment + strlen(moment) - 36);
    const char *const remove[] = {"ceph",    "fs", "subvolume",    "snapshot",   "rm", CEPHFS_NAME,
                                  subvolume, name, "--group_name", CEPHFS_GROUP, NULL};

    assert_refused_for_good(&(struct cephfs_wish){.name = "lost",
                                                  .size_bytes = 4 * MIB,
                                                  .source_volume = volume,
                                                  .key = "pool",
                                                  .value = "misspelt"},
                            STATUS_INVALID_ARGUMENT);
    free(harness_run_tool(remove));
    assert_refused_for_good(
        &(struct cephfs_wish){.name = "lost", .size_bytes = 4 * MIB, .source_snapshot = moment},
        STATUS_NOT_FOUND);
    drop_snapshot(moment);
    drop(volume);
    cephfs_assert_empties();
}

TEST(hostile_handles_name_nothing)
{
    static const char *const handles[] = {"x", "../../../etc", "0001-0024-", "mig_mons-a_image-b_c",
                                          "0001-ffff-a-0000000000000001-0"};
    _cleanup_error_ struct error err = {0};

    for (size_t i = 0; i < ARRAY_LENGTH(handles); i++) {
        drop(handles[i]);
        drop_snapshot(handles[i]);
        assert_int_equal(call_expand(&driver, handles[i], MIB, &err), -1);
        assert_int_equal(err.status, STATUS_NOT_FOUND);
        error_clear(&err);
    }
}

TEST(snapshot_prefix_cannot_leave_the_subvolume)
{
    _cleanup_free_ char *volume = make(&(struct cephfs_wish){"prefixed", .size_bytes = 4 * MIB});
    _cleanup_free_ char *request =
        xasprintf("{\"name\":\"s\",\"source_volume_id\":\"%s\",\"parameters\":{"
                  "\"snapshotNamePrefix\":\"../../../x\"}}",
                  volume);
    _cleanup_error_ struct error err = {0};

    assert_int_equal(
        harness_call(&driver,
                     &(struct harness_call){.method = "CreateSnapshot", .request = request}, NULL,
                     &err),
        -1);
    assert_int_equal(err.status, STATUS_INVALID_ARGUMENT);
    drop(volume);
    cephfs_assert_empties();
}

/* The answer as text; fails the test if there is none. */
static char *ask(const char *method)
{
    _cleanup_error_ struct error err = {0};
    json_auto_t *reply = NULL;

    if (harness_call(&driver, &(struct harness_call){.method = method, .request = "{}"}, &reply,
                     &err) < 0)
        fail_msg("%s: %s", method, err.message);
    return json_dumps(reply, 0);
}

TEST(only_what_works_is_advertised)
{
    _cleanup_free_ char *plugin = ask("GetPluginCapabilities");
    _cleanup_free_ char *controller = ask("ControllerGetCapabilities");
    _cleanup_free_ char *node = ask("NodeGetCapabilities");
    _cleanup_free_ char *who = ask("NodeGetInfo");

    assert_non_null(strstr(plugin, "GROUP_CONTROLLER_SERVICE"));
    assert_null(strstr(plugin, "VOLUME_ACCESSIBILITY_CONSTRAINTS"));
    assert_non_null(strstr(controller, "CREATE_DELETE_VOLUME"));
    assert_non_null(strstr(controller, "GET_CAPACITY"));
    assert_null(strstr(controller, "MODIFY_VOLUME"));
    assert_non_null(strstr(node, "STAGE_UNSTAGE_VOLUME"));
    assert_null(strstr(node, "EXPAND_VOLUME"));
    /* to callers of CSI 1.12 and 1.13; without a keyring the controller has neither */
    assert_non_null(strstr(node, "VOLUME_CONDITION"));
    assert_non_null(strstr(node, "GET_VOLUME_HEALTH"));
    assert_null(strstr(node, "GET_STORAGE_HEALTH"));
    assert_null(strstr(controller, "VOLUME_CONDITION"));
    assert_null(strstr(controller, "VOLUME_HEALTH"));
    assert_non_null(strstr(who, "node_id"));
}

TEST(what_does_not_work_is_not_served)
{
    static const char *const methods[] = {"NodeExpandVolume", "ControllerModifyVolume"};

    for (size_t i = 0; i < ARRAY_LENGTH(methods); i++) {
        _cleanup_error_ struct error err = {0};

        assert_int_equal(harness_call(&driver,
                                      &(struct harness_call){.method = methods[i],
                                                             .request = "{\"volume_id\":\"x\"}"},
                                      NULL, &err),
                         -1);
        if (err.status != STATUS_UNIMPLEMENTED)
            fail_msg("%s: %s", methods[i], err.message);
    }
}

/* Those who find an unfinished creation ask for it at the directory in the metadata pool. */
TEST(maker_can_be_asked)
{
    _cleanup_free_ char *handle = make(&(struct cephfs_wish){.name = "asked", .size_bytes = MIB});
    _cleanup_free_ char *watchers =
        harness_run_tool((const char *[]){"rados", "-p", CEPHFS_META, "-N", CEPHFS_GROUP,
                                          "listwatchers", "csi.volumes.default", NULL});

    assert_non_null(strstr(watchers, "watcher="));
    drop(handle);
    cephfs_assert_empties();
}

TEST_GROUP(start_driver, stop_driver)
TEST_CLEANUP(cephfs_clean_up)
