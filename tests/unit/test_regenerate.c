/* The journal written anew from PersistentVolumes, on a Ceph and an API server in memory. */
#include "tests/unit/fixtures/kube.h"

#include <errno.h>

#include "common/ceph/journal.h"
#include "common/config/session.h"
#include "controller/regenerate/regenerator.h"
#include "tests/fakes/fake_ceph.h"

#define DRIVER "rbd.csi.ceph.com"
#define UUID "b0285c97-a0ce-11eb-8c66-0242ac110002"
#define OTHER_UUID "b0285c97-a0ce-11eb-8c66-0242ac110003"
#define HANDLE "0001-0003-old-0000000000000002-" UUID
#define IMAGE "csi-vol-" UUID
#define PV "/api/v1/persistentvolumes/pvc-1"
#define SECRET "/api/v1/namespaces/ceph/secrets/csi"

/* The cluster after a failover: what was pool 2 of 'old' is pool 5 of 'new'. */
struct world {
    struct fake_ceph *ceph;
    struct fake_kube *kube;
    char *config_path;
    char *mapping_path;
    struct config_file *config;
    struct standing_credentials *standing;
    struct events *events;
    struct regenerate_site site;
    struct kube_pv volume;
};

static char *write_temporary(const char *content)
{
    char *path = xstrdup("/tmp/test_regenerate.XXXXXX");
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    close(fd);
    return path;
}

/* Somebody else's hands in a pool. */
struct hands {
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
    struct call call;
};

static void hands_init(struct hands *hands, struct world *world, const char *pool,
                       const char *rados_namespace)
{
    struct ceph *other = fake_ceph_as_other(world->ceph);
    _cleanup_error_ struct error err = {0};
    struct secret key = {0};
    const struct ceph_target target = {"new", "m", "admin", &key};

    secret_set(&key, "AQB");
    call_init(&hands->call, 1, "test", deadline_in_ms(60000));
    assert_int_equal(other->ops->connect(other, &hands->call, &target, &hands->cluster, &err), 0);
    assert_int_equal(hands->cluster->ops->pool_open(hands->cluster, &hands->call, pool,
                                                    rados_namespace, &hands->pool, &err),
                     0);
    secret_done(&key);
}

static void hands_done(struct hands *hands)
{
    ceph_pool_close(hands->pool);
    ceph_disconnect(hands->cluster);
    call_done(&hands->call);
}
#define _cleanup_hands_ _cleanup_(hands_done)

static void make_image(struct world *world, const char *pool, const char *rados_namespace,
                       const char *name)
{
    _cleanup_hands_ struct hands hands = {0};
    _cleanup_error_ struct error err = {0};
    const struct image_options options = {.features = IMAGE_FEATURES_DEFAULT};

    hands_init(&hands, world, pool, rados_namespace);
    if (hands.pool->ops->image_create(hands.pool, &hands.call, name, 1 << 20, &options, &err) < 0)
        fail_msg("%s", err.message);
}

static void world_init(struct world *world, const char *rados_namespace, const char *mapping)
{
    _cleanup_free_ char *config =
        xasprintf("[{\"clusterID\": \"new\", \"monitors\": [\"m\"], \"rbd\": {\"radosNamespace\": "
                  "\"%s\"}}]",
                  rados_namespace);

    world->config_path = write_temporary(config);
    world->mapping_path = write_temporary(mapping);
    world->config = config_file_new(world->config_path);
    world->ceph = fake_ceph_new();
    world->kube = fake_kube_new();
    fake_ceph_add_pool(world->ceph, "rbd", 5);
    fake_ceph_add_pool(world->ceph, "names", 6);
    if (rados_namespace[0])
        fake_ceph_add_namespace(world->ceph, "rbd", rados_namespace);
    make_image(world, "rbd", rados_namespace, IMAGE);
    world->standing = standing_credentials_new(
        &(struct standing_credentials_options){.kube = fake_kube_as_kube(world->kube)});
    world->events = events_new(fake_kube_as_kube(world->kube), DRIVER, "");
    world->site = (struct regenerate_site){.ceph = fake_ceph_as_ceph(world->ceph),
                                           .config = world->config,
                                           .instance_id = "default",
                                           .mapping_path = world->mapping_path,
                                           .cluster_name = ""};
    world->volume = (struct kube_pv){
        .meta.name = xstrdup("pvc-1"),
        .meta.uid = xstrdup("u1"),
        .handle = xstrdup(HANDLE),
        .claim.ns = xstrdup("team"),
        .claim.name = xstrdup("data"),
    };
    strmap_set(&world->volume.attributes, "pool", "rbd");
}

static void world_done(struct world *world)
{
    events_free(world->events);
    standing_credentials_free(world->standing);
    free(world->volume.meta.name);
    free(world->volume.meta.uid);
    free(world->volume.handle);
    free(world->volume.claim.ns);
    free(world->volume.claim.name);
    strmap_done(&world->volume.attributes);
    assert_int_equal(fake_ceph_open_handles(world->ceph), 0);
    fake_ceph_free(world->ceph);
    fake_kube_free(world->kube);
    config_file_free(world->config);
    unlink(world->config_path);
    unlink(world->mapping_path);
    free(world->config_path);
    free(world->mapping_path);
}
#define _cleanup_world_ _cleanup_(world_done)

static const char MAPPING[] =
    "[{\"clusterIDMapping\": {\"old\": \"new\"}, \"RBDPoolIDMapping\": [{\"2\": \"5\"}]}]";

static int try(struct world *world, enum regenerate_outcome *outcome, struct error *err)
{
    struct credentials credentials = {.user = xstrdup("csi")};
    struct call call;

    secret_set(&credentials.key, "AQB");
    call_init(&call, 1, "RegenerateJournal", deadline_in_ms(60000));
    int result =
        regenerate_journal(&world->site, &call, &world->volume, &credentials, outcome, err);
    call_done(&call);
    credentials_done(&credentials);
    return result;
}

static void must(struct world *world, enum regenerate_outcome expected)
{
    _cleanup_error_ struct error err = {0};
    enum regenerate_outcome outcome = REGENERATE_NOTHING;

    if (try(world, &outcome, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(outcome, expected);
}

static void assert_refused(struct world *world, enum status status, const char *part)
{
    _cleanup_error_ struct error err = {0};
    enum regenerate_outcome outcome = REGENERATE_NOTHING;

    assert_int_equal(try(world, &outcome, &err), -1);
    if (err.status != status || !strstr(err.message, part))
        fail_msg("%d '%s', not '%s'", err.status, err.message, part);
}

static char *dump(struct world *world)
{
    struct text out = TEXT_INIT(1 << 20);

    fake_ceph_dump_normalised(world->ceph, &out);
    return text_take(&out);
}

static void set_key(struct world *world, const char *pool, const char *object, const char *key,
                    const char *value)
{
    _cleanup_hands_ struct hands hands = {0};
    _cleanup_error_ struct error err = {0};
    _cleanup_strmap_ struct strmap entries = {0};

    hands_init(&hands, world, pool, "");
    strmap_set(&entries, key, value);
    if (hands.pool->ops->omap_set(hands.pool, &hands.call, object, &entries, &err) < 0)
        fail_msg("%s", err.message);
}

static void remove_object(struct world *world, const char *pool, const char *object)
{
    _cleanup_hands_ struct hands hands = {0};
    _cleanup_error_ struct error err = {0};

    hands_init(&hands, world, pool, "");
    assert_int_equal(hands.pool->ops->object_remove(hands.pool, &hands.call, object, &err), 0);
}

static char *get_key(struct world *world, const char *pool, const char *rados_namespace,
                     const char *object, const char *key)
{
    _cleanup_hands_ struct hands hands = {0};
    _cleanup_error_ struct error err = {0};
    char *value = NULL;

    hands_init(&hands, world, pool, rados_namespace);
    if (hands.pool->ops->omap_get(hands.pool, &hands.call, object, key, &value, &err) < 0)
        fail_msg("%s", err.message);
    return value ? value : xstrdup("");
}

static void assert_key(struct world *world, const char *pool, const char *object, const char *key,
                       const char *expected)
{
    _cleanup_free_ char *value = get_key(world, pool, "", object, key);

    assert_string_equal(value, expected);
}

/* --- one volume --- */

TEST(lost_entry_is_written_anew)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world, "", MAPPING);
    must(&world, REGENERATE_WRITTEN);
    assert_key(&world, "rbd", "csi.volumes.default", "csi.volume.pvc-1", UUID);
    assert_key(&world, "rbd", "csi.volume." UUID, "csi.volname", "pvc-1");
    assert_key(&world, "rbd", "csi.volume." UUID, "csi.imagename", IMAGE);
    assert_key(&world, "rbd", "csi.volume." UUID, "csi.volume.owner", "team");
    _cleanup_free_ char *id = get_key(&world, "rbd", "", "csi.volume." UUID, "csi.imageid");
    assert_true(id[0] != '\0');
    _cleanup_free_ char *before = dump(&world);
    must(&world, REGENERATE_NOTHING);
    _cleanup_free_ char *after = dump(&world);
    assert_string_equal(before, after);
}

TEST(cost_is_as_the_header_says)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world, "", MAPPING);
    fake_ceph_reset_calls(world.ceph);
    must(&world, REGENERATE_WRITTEN);
    assert_int_equal(fake_ceph_calls(world.ceph), 9);
    fake_ceph_reset_calls(world.ceph);
    must(&world, REGENERATE_NOTHING);
    assert_int_equal(fake_ceph_calls(world.ceph), 4);
}

TEST(rados_namespace_of_the_cluster_is_looked_into)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world, "tenant", MAPPING);
    must(&world, REGENERATE_WRITTEN);
    _cleanup_free_ char *name =
        get_key(&world, "rbd", "tenant", "csi.volumes.default", "csi.volume.pvc-1");
    assert_string_equal(name, UUID);
}

TEST(name_goes_to_the_journal_pool)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world, "", MAPPING);
    strmap_set(&world.volume.attributes, "journalPool", "names");
    must(&world, REGENERATE_WRITTEN);
    assert_key(&world, "names", "csi.volumes.default", "csi.volume.pvc-1",
               "0000000000000005/" UUID);
    assert_key(&world, "rbd", "csi.volume." UUID, "csi.journalpool", "0000000000000006");
    must(&world, REGENERATE_NOTHING);
}

TEST(prefix_and_encryption_are_those_of_the_class)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world, "", MAPPING);
    make_image(&world, "rbd", "", "team-" UUID);
    strmap_set(&world.volume.attributes, "volumeNamePrefix", "team-");
    strmap_set(&world.volume.attributes, "encrypted", "true");
    strmap_set(&world.volume.attributes, "encryptionKMSID", "vault");
    must(&world, REGENERATE_WRITTEN);
    assert_key(&world, "rbd", "csi.volume." UUID, "csi.imagename", "team-" UUID);
    assert_key(&world, "rbd", "csi.volume." UUID, "csi.volume.encryptKMS", "vault");
    assert_key(&world, "rbd", "csi.volume." UUID, "csi.volume.encryptionType", "block");
    strmap_set(&world.volume.attributes, "encryptionKMSID", "another");
    assert_refused(&world, STATUS_FAILED_PRECONDITION, "is in KMS 'vault'");
}

TEST(parts_that_are_wrong_are_mended)
{
    static const struct {
        const char *object;
        const char *key;
    } parts[] = {
        {"csi.volume." UUID, "csi.imageid"},
        {"csi.volume." UUID, "csi.volume.owner"},
    };
    _cleanup_world_ struct world world = {0};

    world_init(&world, "", MAPPING);
    must(&world, REGENERATE_WRITTEN);
    _cleanup_free_ char *whole = dump(&world);
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        set_key(&world, "rbd", parts[i].object, parts[i].key, "wrong");
        must(&world, REGENERATE_REPAIRED);
        _cleanup_free_ char *mended = dump(&world);
        assert_string_equal(mended, whole);
    }
    set_key(&world, "rbd", "csi.volumes.default", "csi.volume.pvc-1", "0000000000000009/" UUID);
    must(&world, REGENERATE_REPAIRED);
    remove_object(&world, "rbd", "csi.volumes.default");
    must(&world, REGENERATE_REPAIRED);
    _cleanup_free_ char *mended = dump(&world);
    assert_string_equal(mended, whole);
}

TEST(names_of_others_are_not_taken)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world, "", MAPPING);
    must(&world, REGENERATE_WRITTEN);
    set_key(&world, "rbd", "csi.volumes.default", "csi.volume.pvc-1", OTHER_UUID);
    _cleanup_free_ char *before = dump(&world);
    assert_refused(&world, STATUS_FAILED_PRECONDITION, "belongs to another volume");
    set_key(&world, "rbd", "csi.volumes.default", "csi.volume.pvc-1", UUID);
    set_key(&world, "rbd", "csi.volume." UUID, "csi.volname", "pvc-2");
    assert_refused(&world, STATUS_DATA_LOSS, "which is that of 'pvc-2'");
    set_key(&world, "rbd", "csi.volume." UUID, "csi.volname", "pvc-1");
    set_key(&world, "rbd", "csi.volumes.default", "csi.volume.pvc-1", OTHER_UUID);
    _cleanup_free_ char *after = dump(&world);
    assert_string_equal(before, after);
}

TEST(nothing_is_written_for_an_image_that_is_nowhere)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world, "", MAPPING);
    free(world.volume.handle);
    world.volume.handle = xstrdup("0001-0003-old-0000000000000002-" OTHER_UUID);
    _cleanup_free_ char *before = dump(&world);
    assert_refused(&world, STATUS_NOT_FOUND, "there is no image 'csi-vol-" OTHER_UUID);
    _cleanup_free_ char *after = dump(&world);
    assert_string_equal(before, after);
    free(world.volume.handle);
    world.volume.handle = xstrdup("no-handle-of-ours");
    assert_refused(&world, STATUS_INVALID_ARGUMENT, "");
}

TEST(missing_way_in_the_mapping_is_told_each_time)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world, "", "[{\"clusterIDMapping\": {\"old\": \"new\"}}]");
    for (int i = 0; i < 2; i++)
        assert_refused(
            &world, STATUS_FAILED_PRECONDITION,
            "clusterIDMapping {\"old\": \"new\"} with RBDPoolIDMapping [{\"2\": \"5\"}]");
}

/* --- faults --- */

TEST(every_fault_is_mended_by_repeating)
{
    static const enum fake_failure failures[] = {FAKE_FAIL_BEFORE, FAKE_FAIL_AFTER,
                                                 FAKE_CRASH_BEFORE, FAKE_CRASH_AFTER};
    _cleanup_free_ char *undisturbed = NULL;

    {
        _cleanup_world_ struct world world = {0};

        world_init(&world, "", MAPPING);
        strmap_set(&world.volume.attributes, "journalPool", "names");
        must(&world, REGENERATE_WRITTEN);
        undisturbed = dump(&world);
    }
    for (size_t f = 0; f < ARRAY_LENGTH(failures); f++) {
        bool over = false;

        for (unsigned n = 1; !over; n++) {
            _cleanup_world_ struct world world = {0};
            _cleanup_error_ struct error err = {0};
            enum regenerate_outcome outcome;

            assert_true(n < 40);
            world_init(&world, "", MAPPING);
            strmap_set(&world.volume.attributes, "journalPool", "names");
            fake_ceph_fail_call(world.ceph, n, failures[f]);
            int result = try(&world, &outcome, &err);
            over = fake_ceph_fault_is_pending(world.ceph);
            assert_true(!over || n > 2); /* it has struck before */
            assert_true(!over || result == 0);
            fake_ceph_recover(world.ceph);
            error_clear(&err);
            if (try(&world, &outcome, &err) < 0)
                fail_msg("call %u, failure %zu: %s", n, f, err.message);
            _cleanup_free_ char *after = dump(&world);
            assert_string_equal(after, undisturbed);
        }
    }
}

/* The image goes at any moment: whatever was written is taken back. */
TEST(deletion_meanwhile_leaves_nothing)
{
    bool was_taken_back = false;
    bool over = false;

    for (unsigned n = 1; !over; n++) {
        _cleanup_world_ struct world world = {0};
        _cleanup_error_ struct error err = {0};
        enum regenerate_outcome outcome;

        assert_true(n < 40);
        world_init(&world, "", MAPPING);
        fake_ceph_fail_call_with(world.ceph, n, -ENOENT);
        int result = try(&world, &outcome, &err);
        over = fake_ceph_fault_is_pending(world.ceph);
        assert_true(!over || n > 2); /* it has struck before */
        if (result == 0 || !strstr(err.message, "is being deleted"))
            continue;
        was_taken_back = true;
        _cleanup_free_ char *after = dump(&world);
        /* the directory stays, as it does after each deletion */
        assert_null(strstr(after, "csi.volume.pvc-1"));
        assert_null(strstr(after, "csi.volname"));
    }
    assert_true(was_taken_back);
}

/* --- the watch --- */

static void put_volume(struct world *world, const char *more, const char *attributes)
{
    _cleanup_free_ char *json =
        xasprintf("{\"metadata\": {\"uid\": \"u1\"}, \"spec\": {\"claimRef\": {\"name\": \"data\", "
                  "\"namespace\": \"team\"}, \"csi\": {\"driver\": \"" DRIVER
                  "\", \"volumeHandle\": \"" HANDLE
                  "\", %s \"volumeAttributes\": {%s}}}, \"status\": {\"phase\": \"Bound\"}}",
                  more, attributes);

    fake_kube_put(world->kube, PV, json);
}

#define WITH_SECRET "\"nodeStageSecretRef\": {\"name\": \"csi\", \"namespace\": \"ceph\"},"

static struct regenerator *start(struct world *world)
{
    struct regenerator *regenerator = NULL;
    _cleanup_error_ struct error err = {0};
    const struct regenerator_options options = {
        .site = world->site,
        .kube = fake_kube_as_kube(world->kube),
        .standing = world->standing,
        .events = world->events,
        .driver_name = DRIVER,
        .name_space = "ceph",
        .identity = "one",
        .retry_first_ms = 10,
        .retry_limit_ms = 100,
    };

    fake_kube_put_secret(world->kube, SECRET, "csi", "AQB");
    if (regenerator_new(&options, &regenerator, &err) < 0)
        fail_msg("%s", err.message);
    return regenerator;
}

static bool has_entry(struct world *world)
{
    _cleanup_free_ char *name =
        get_key(world, "rbd", "", "csi.volumes.default", "csi.volume.pvc-1");

    return strcmp(name, UUID) == 0;
}

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

static void wait_for_entry(struct world *world)
{
    struct deadline limit = deadline_in_ms(60000);

    while (!has_entry(world) && !deadline_has_passed(limit))
        pause_a_little();
    assert_true(has_entry(world));
}

static void wait_for_event(struct world *world, const char *part)
{
    struct deadline limit = deadline_in_ms(60000);

    for (;;) {
        _cleanup_text_ struct text out = TEXT_INIT(1 << 20);

        fake_kube_dump(world->kube, &out);
        if (strstr(text_chars(&out), part))
            return;
        if (deadline_has_passed(limit))
            fail_msg("no '%s' in %s", part, text_chars(&out));
        pause_a_little();
    }
}

TEST(leader_follows_the_volumes)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world, "", MAPPING);
    put_volume(&world, WITH_SECRET, "\"pool\": \"rbd\"");
    struct regenerator *regenerator = start(&world);
    wait_for_entry(&world);
    wait_for_event(&world, "JournalRegenerated");
    json_auto_t *lease = fake_kube_get(
        world.kube, "/apis/coordination.k8s.io/v1/namespaces/ceph/leases/" DRIVER "-ceph");
    assert_non_null(lease);
    regenerator_free(regenerator);
}

TEST(failure_is_an_event_and_is_tried_again)
{
    _cleanup_world_ struct world world = {0};
    _cleanup_free_ char *message = NULL;
    time_t since = 0;

    world_init(&world, "", MAPPING);
    put_volume(&world, "", "\"pool\": \"rbd\"");
    struct regenerator *regenerator = start(&world);
    wait_for_event(&world, "it names no Secret");
    struct deadline limit = deadline_in_ms(60000);
    while (regenerator_is_healthy(regenerator, &message, &since) && !deadline_has_passed(limit)) {
        free(TAKE(message));
        pause_a_little();
    }
    assert_non_null(strstr(message, "1 volume(s)"));
    put_volume(&world, WITH_SECRET, "\"pool\": \"rbd\"");
    wait_for_entry(&world);
    regenerator_free(regenerator);
}

#define NAMED "\"metadata\": {\"name\": \"pv\"}"

static struct kube_pv *decode_pv(const json_t *item)
{
    _cleanup_error_ struct error err = {0};
    void *pv = NULL;

    if (kube_object_decode(KUBE_PV, item, &pv, &err) < 0)
        fail_msg("%s", err.message);
    return pv;
}

TEST(volumes_without_entries_are_left_alone)
{
    static const struct {
        const char *json;
        enum unclaimed reason;
    } cases[] = {
        {"{" NAMED ", \"spec\": {\"csi\": {\"driver\": \"other\"}}}", UNCLAIMED_FOREIGN},
        {"{" NAMED ", \"spec\": {\"nfs\": {}}}", UNCLAIMED_FOREIGN},
        {"{" NAMED ", \"spec\": {\"csi\": {\"driver\": \"" DRIVER "\"}}}", UNCLAIMED_FREE},
        {"{\"metadata\": {\"name\": \"pv\", \"deletionTimestamp\": \"now\"}, \"spec\": "
         "{\"claimRef\": {\"name\": "
         "\"c\"}, \"csi\": {\"driver\": \"" DRIVER "\"}}}",
         UNCLAIMED_DELETING},
        {"{" NAMED ", \"spec\": {\"claimRef\": {\"name\": \"c\"}, \"csi\": {\"driver\": \"" DRIVER
         "\", \"volumeAttributes\": {\"staticVolume\": \"true\"}}}}",
         UNCLAIMED_STATIC},
        {"{" NAMED ", \"spec\": {\"claimRef\": {\"name\": \"c\"}, \"csi\": {\"driver\": \"" DRIVER
         "\", \"volumeAttributes\": {\"fsName\": \"cephfs\"}}}}",
         UNCLAIMED_CEPHFS},
        {"{" NAMED ", \"spec\": {\"claimRef\": {\"name\": \"c\"}, \"csi\": {\"driver\": \"" DRIVER
         "\", \"volumeHandle\": \"" HANDLE "\", \"volumeAttributes\": {\"staticVolume\": "
         "\"false\"}}}}",
         UNCLAIMED_NOT},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        json_auto_t *item = json_loads(cases[i].json, 0, NULL);

        claimed_volume_trim(item, DRIVER);
        _cleanup_(kube_pv_freep) struct kube_pv *pv = decode_pv(item);
        assert_int_equal(claimed_volume_judge(pv, DRIVER), cases[i].reason);
    }
}

TEST(expansion_secret_comes_first)
{
    json_auto_t *item = json_loads(
        "{\"metadata\": {\"name\": \"pv\"}, \"spec\": {\"claimRef\": {\"name\": \"c\"}, \"csi\": "
        "{\"driver\": \"" DRIVER
        "\", \"controllerExpandSecretRef\": {\"name\": \"a\", \"namespace\": \"n\"}, " WITH_SECRET
        "\"volumeHandle\": \"h\"}}}",
        0, NULL);

    _cleanup_(kube_pv_freep) struct kube_pv *pv = decode_pv(item);
    assert_int_equal(claimed_volume_judge(pv, DRIVER), UNCLAIMED_NOT);
    assert_string_equal(claimed_volume_secret(pv).name, "a");
    assert_string_equal(claimed_volume_secret(pv).namespace_name, "n");
}

/* Two processes: one acts; when it goes, the other does. */
TEST(second_process_takes_over)
{
    _cleanup_world_ struct world world = {0};

    world_init(&world, "", MAPPING);
    struct regenerator *first = start(&world);
    struct regenerator *second = start(&world);
    put_volume(&world, WITH_SECRET, "\"pool\": \"rbd\"");
    wait_for_entry(&world);
    regenerator_free(first);
    remove_object(&world, "rbd", "csi.volumes.default");
    remove_object(&world, "rbd", "csi.volume." UUID);
    put_volume(&world, WITH_SECRET, "\"pool\": \"rbd\", \"changed\": \"yes\"");
    wait_for_entry(&world);
    regenerator_free(second);
}
