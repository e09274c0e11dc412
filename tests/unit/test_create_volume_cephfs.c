/*
 * CephFS volumes and their places, on a cluster in memory with two file systems: zone-a and zone-b
 * are data pools of the first, zone-c is one of the second. Where a volume goes, what is kept in
 * the journal, what room there is; and creations that are cut and retried in another zone.
 */
#include "common/usage/usage_cache.h"
#include "tests/fakes/fake_ceph_subvolumes.h"
#include "tests/unit/fixtures/cluster_config.h"
#include "tests/unit/fixtures/fault_scenario.h"

#define MIB (1024LL * 1024)
#define LONG_MS 600000
#define STOP_MS 20000
#define PREFIX "topology.cephfs.csi.ceph.com/"
#define IN_ZONE(zone) "\"domainSegments\":[{\"domainLabel\":\"zone\",\"value\":\"" zone "\"}]}"

static const char POOLS[] = "[{\"poolName\":\"data-a\"," IN_ZONE(
    "zone-a") ","
              "{\"poolName\":\"data-b\"," IN_ZONE(
                  "zone-b") ","
                            "{\"poolName\":\"data-c\",\"fsName\":\"fs2\"," IN_ZONE("zone-c") "]";
static const char HOMELESS[] = "[{\"poolName\":\"data-a\",\"fsName\":\"fs1\"," IN_ZONE(
    "zone-a") ","
              "{\"poolName\":\"data-c\",\"fsName\":\"fs2\"," IN_ZONE("zone-c") "]";

/* Where the next creation of a fault scenario is asked for. */
static const char *next_zone = "zone-a";

static void add_term(struct topology_terms *terms, const char *zone)
{
    _cleanup_strmap_ struct strmap term = {0};

    strmap_set(&term, PREFIX "zone", zone);
    topology_terms_add(terms, &term);
}

static void fill_request(struct create_request *request)
{
    strmap_set(&request->parameters, "fsName", "fs1");
    strmap_set(&request->parameters, "topologyConstrainedPools", POOLS);
    add_term(&request->requirement.requisite, next_zone);
}

static void add_filesystems(struct world *world)
{
    next_zone = "zone-a";
    fake_ceph_add_pool(world->fake, "meta", 7);
    fake_ceph_add_pool(world->fake, "meta2", 8);
    fake_ceph_add_pool(world->fake, "default-1", 20);
    fake_ceph_add_pool(world->fake, "data-a", 21);
    fake_ceph_add_pool(world->fake, "data-b", 22);
    fake_ceph_add_pool(world->fake, "data-c", 23);
    world->more = fake_subvolumes_new(world->fake);
    fake_subvolumes_add_filesystem(world->more, "fs1", 2, 7, "csi");
    fake_subvolumes_add_filesystem(world->more, "fs2", 3, 8, "csi");
    fake_subvolumes_add_data_pool(world->more, "fs1", "default-1", 20, 10 * GIB);
    fake_subvolumes_add_data_pool(world->more, "fs1", "data-a", 21, 20 * GIB);
    fake_subvolumes_add_data_pool(world->more, "fs1", "data-b", 22, 30 * GIB);
    fake_subvolumes_add_data_pool(world->more, "fs2", "data-c", 23, 40 * GIB);
}

static void free_filesystems(struct world *world)
{
    fake_subvolumes_free(world->more);
}

static void add_usage(struct controller *controller)
{
    static const struct subvolume_source subvolumes = {.instance_id = "default"};
    _cleanup_credentials_ struct credentials keyring = {.user = xstrdup("csi")};

    secret_set(&keyring.key, "AQB");
    controller->driver_name = "cephfs.csi.ceph.com";
    controller->usage = usage_cache_new(&(struct usage_cache_options){.ceph = controller->ceph,
                                                                      .config = controller->config,
                                                                      .subvolumes = &subvolumes,
                                                                      .max_age_ms = LONG_MS,
                                                                      .listing_age_ms = LONG_MS});
    controller->standing = standing_credentials_new(
        &(struct standing_credentials_options){.keyring = &keyring, .is_cephfs = true});
}

static void remove_usage(struct controller *controller)
{
    assert_true(usage_cache_stop(controller->usage, STOP_MS));
    usage_cache_free(controller->usage);
    standing_credentials_free(controller->standing);
}

static const struct world_setup SETUP = {.name = "CephFS",
                                         .backend = &CEPHFS_BACKEND,
                                         .access = ACCESS_TYPE_MOUNT,
                                         .fill_request = fill_request,
                                         .world_init = add_filesystems,
                                         .world_done = free_filesystems,
                                         .process_init = add_usage,
                                         .process_done = remove_usage};

#define STAGED WITH_STAGE(SETUP)

/* --- calls --- */

#define MORE_MAX 6

struct wish {
    const char *name; /* NULL: pvc-1 */
    const char *zone; /* NULL: no requirement */
    enum access_mode mode;
    enum source_kind kind;
    const char *source;
    const char *pools;              /* NULL: POOLS */
    bool is_homeless;               /* the class has no fsName */
    const char *more[2 * MORE_MAX]; /* key, value, ... of the class */
};

static int make(struct stage *stage, const struct wish *wish, struct volume *volume,
                struct error *err)
{
    _cleanup_(create_request_done) struct create_request request = {
        .name = xstrdup(wish->name ? wish->name : "pvc-1"),
        .range = {.required_bytes = GIB},
        .source_kind = wish->kind,
        .source_handle = wish->source ? xstrdup(wish->source) : NULL,
    };
    struct call call;

    request.capabilities.items = xcalloc(1, sizeof(*request.capabilities.items));
    request.capabilities.items[0] = (struct volume_capability){
        .type = ACCESS_TYPE_MOUNT, .mode = wish->mode ? wish->mode : ACCESS_SINGLE_NODE_WRITER};
    request.capabilities.count = 1;
    strmap_set(&request.parameters, "clusterID", "c1");
    if (!wish->is_homeless)
        strmap_set(&request.parameters, "fsName", "fs1");
    strmap_set(&request.parameters, "topologyConstrainedPools", wish->pools ? wish->pools : POOLS);
    for (size_t i = 0; wish->more[i]; i += 2)
        strmap_set(&request.parameters, wish->more[i], wish->more[i + 1]);
    if (strmap_has(&request.parameters, "topologyPools"))
        strmap_remove(&request.parameters, "topologyConstrainedPools");
    if (wish->zone)
        add_term(&request.requirement.requisite, wish->zone);
    set_credentials(&request.credentials);
    call_init(&call, 1, "CreateVolume", deadline_in_ms(LONG_MS));
    int result = controller_create_volume(&stage->process.controller, &call, &request, volume, err);
    for (int tries = 0; result < 0 && err->status == STATUS_ABORTED && tries < 5; tries++) {
        error_clear(err); /* a clone takes its time */
        result = controller_create_volume(&stage->process.controller, &call, &request, volume, err);
    }
    call_done(&call);
    return result;
}

static void make_or_fail(struct stage *stage, const struct wish *wish, struct volume *volume)
{
    _cleanup_error_ struct error err = {0};

    if (make(stage, wish, volume, &err) < 0)
        fail_msg("%s", err.message);
}

static void assert_refused(struct stage *stage, const struct wish *wish, enum status status,
                           const char *words)
{
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(make(stage, wish, &volume, &err), -1);
    if (err.status != status || !strstr(err.message, words))
        fail_msg("wanted %s and '%s', got %s: %s", status_name(status), words,
                 status_name(err.status), err.message);
}

static void remove_volume(struct stage *stage, const char *handle)
{
    _cleanup_error_ struct error err = {0};

    if (process_call_with_handle(&stage->process, handle, "DeleteVolume", controller_delete_volume,
                                 &err) < 0)
        fail_msg("%s", err.message);
}

/* GetCapacity of the class with further parameters "key", "value", ... NULL. */
static int ask_whole_capacity(struct stage *stage, const char *zone, const char *const *more,
                              struct capacity *capacity, struct error *err)
{
    _cleanup_(capacity_request_done) struct capacity_request request = {0};
    struct call call;

    strmap_set(&request.parameters, "clusterID", "c1");
    strmap_set(&request.parameters, "fsName", "fs1");
    for (; *more; more += 2)
        strmap_set(&request.parameters, more[0], more[1]);
    if (zone)
        strmap_set(&request.segments, PREFIX "zone", zone);
    call_init(&call, 1, "GetCapacity", deadline_in_ms(LONG_MS));
    int result =
        controller_get_capacity(&stage->process.controller, &call, &request, capacity, err);
    call_done(&call);
    return result;
}

/* What is available; -1 with @err. */
static long long ask_capacity(struct stage *stage, const char *zone, const char *const *more,
                              struct error *err)
{
    struct capacity capacity = {0};

    if (ask_whole_capacity(stage, zone, more, &capacity, err) < 0)
        return -1;
    return (long long)capacity.available_bytes;
}

static long long capacity_of(struct stage *stage, const char *zone, const char *const *more)
{
    _cleanup_error_ struct error err = {0};
    long long bytes = ask_capacity(stage, zone, more, &err);

    if (bytes < 0)
        fail_msg("%s", err.message);
    return bytes;
}

/* --- others are faster --- */

#define WINNER_UUID "0a1b2c3d-1111-4222-8333-444455556666"

struct winner {
    struct stage *stage;
    const char *value;     /* where the name leads; NULL: it is there already */
    const char *pool;      /* metadata pool of the entry; NULL: none is written */
    const char *data_pool; /* in the entry */
};

static struct ceph_pool *open_as_other(struct ceph_cluster *cluster, struct call *call,
                                       const char *name)
{
    _cleanup_error_ struct error err = {0};
    struct ceph_pool *pool = NULL;

    assert_int_equal(cluster->ops->pool_open(cluster, call, name, "csi", &pool, &err), 0);
    return pool;
}

static void write_winner_entry(const struct winner *winner, struct ceph_pool *pool,
                               struct call *call)
{
    _cleanup_strmap_ struct strmap entry = {0};
    _cleanup_error_ struct error err = {0};

    strmap_set(&entry, "csi.volname", "pvc-1");
    strmap_set(&entry, "csi.imagename", "csi-vol-" WINNER_UUID);
    strmap_set(&entry, "csi.journalpool", "0000000000000007");
    strmap_set(&entry, "cephzone.size", "1073741824");
    strmap_set(&entry, "cephzone.datapool", winner->data_pool);
    strmap_set(&entry, "cephzone.segments", PREFIX "zone=zone-won");
    assert_int_equal(pool->ops->object_create(pool, call, "csi.volume." WINNER_UUID, &entry, &err),
                     0);
}

/* Another process is just before us. */
static void win(void *object)
{
    const struct winner *winner = object;
    struct ceph *ceph = fake_ceph_as_other(winner->stage->world.fake);
    _cleanup_secret_ struct secret key = {0};
    _cleanup_error_ struct error err = {0};
    struct ceph_cluster *cluster = NULL;
    struct call call;

    secret_set(&key, "AQB");
    const struct ceph_target target = {"c1", "mon", "csi", &key};
    call_init(&call, 7, "CreateVolume", deadline_never());
    assert_int_equal(ceph->ops->connect(ceph, &call, &target, &cluster, &err), 0);
    if (winner->value) {
        struct ceph_pool *home = open_as_other(cluster, &call, "meta");

        assert_int_equal(home->ops->omap_add(home, &call, "csi.volumes.default", "csi.volume.pvc-1",
                                             winner->value, &err),
                         0);
        ceph_pool_close(home);
    }
    if (winner->pool) {
        struct ceph_pool *pool = open_as_other(cluster, &call, winner->pool);

        write_winner_entry(winner, pool, &call);
        ceph_pool_close(pool);
    }
    ceph_disconnect(cluster);
    call_done(&call);
}

TEST(who_loses_the_claim_continues_in_the_winners_file_system, STAGED)
{
    struct stage *stage = *state;
    struct winner winners[] = {
        {stage, "0000000000000008/" WINNER_UUID, NULL, NULL},
        {stage, "0000000000000008/" WINNER_UUID, "meta2", "data-c"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(winners); i++) {
        _cleanup_(volume_done) struct volume volume = {0};

        fake_ceph_interrupt_before(stage->world.fake, "omap_add", win, &winners[i]);
        make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
        assert_string_equal(strmap_get(&volume.context, "fsName"), "fs2");
        assert_string_equal(strmap_get(&volume.context, "pool"), "data-c");
        assert_holds(stage, "subvolume fs2/csi/csi-vol-u1 size=1073741824 pool=data-c");
        assert_holds_not(stage, "subvolume fs1");
        remove_volume(stage, volume.handle);
        assert_holds_not(stage, "csi.volume.");
    }
}

/* The name is claimed, and both decide on a data pool: what the faster one wrote counts. */
TEST(entry_that_another_process_wrote_first_decides, STAGED)
{
    struct stage *stage = *state;
    struct winner claim = {stage, WINNER_UUID, NULL, NULL};
    struct winner entry = {stage, NULL, "meta", "data-b"};
    _cleanup_(volume_done) struct volume volume = {0};

    win(&claim);
    fake_ceph_interrupt_before(stage->world.fake, "object_create", win, &entry);
    make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &volume);
    assert_string_equal(strmap_get(&volume.context, "pool"), "data-b");
    assert_string_equal(strmap_get(&volume.segments, PREFIX "zone"), "zone-won");
    assert_holds(stage, "subvolume fs1/csi/csi-vol-u1 size=1073741824 pool=data-b");
}

/* --- where volumes go --- */

TEST(zone_decides_on_the_data_pool, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};

    make_or_fail(stage, &(struct wish){.zone = "zone-b"}, &volume);
    assert_holds(stage, "subvolume fs1/csi/csi-vol-u1 size=1073741824 pool=data-b");
    assert_holds(stage, "[cephzone.datapool] = data-b");
    assert_string_equal(strmap_get(&volume.context, "pool"), "data-b");
    assert_string_equal(strmap_get(&volume.context, "fsName"), "fs1");
    assert_int_equal(volume.segments.count, 1);
    assert_string_equal(strmap_get(&volume.segments, PREFIX "zone"), "zone-b");
    assert_null(strmap_get(&volume.context, "topologyConstrainedPools"));
}

TEST(entry_may_name_its_file_system, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};

    make_or_fail(stage, &(struct wish){.zone = "zone-c"}, &volume);
    assert_holds(stage, "subvolume fs2/csi/csi-vol-u1 size=1073741824 pool=data-c");
    assert_string_equal(strmap_get(&volume.context, "fsName"), "fs2");
    assert_non_null(strstr(volume.handle, "-c1-0000000000000003-"));
    /* the name stays with the class, and says where the rest is */
    assert_holds(stage,
                 "object meta/csi/csi.volumes.default [csi.volume.pvc-1] = 0000000000000008/u1");
    assert_holds(stage, "object meta2/csi/csi.volume.u1 [csi.journalpool] = 0000000000000007");
    remove_volume(stage, volume.handle);
    assert_holds_not(stage, "csi.volume.");
    assert_holds_not(stage, "subvolume");
}

TEST(class_without_file_system_keeps_names_beside_volumes, STAGED)
{
    struct stage *stage = *state;
    const struct wish in_c = {.zone = "zone-c", .pools = HOMELESS, .is_homeless = true};
    const struct wish in_a = {.zone = "zone-a", .pools = HOMELESS, .is_homeless = true};
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_(volume_done) struct volume again = {0};

    make_or_fail(stage, &in_c, &volume);
    assert_holds(stage, "object meta2/csi/csi.volumes.default [csi.volume.pvc-1] = u1");
    make_or_fail(stage, &in_a, &again);
    assert_string_equal(again.handle, volume.handle);
    remove_volume(stage, volume.handle);
    assert_holds_not(stage, "csi.volume.");
    assert_holds_not(stage, "subvolume");
}

TEST(retry_in_another_zone_is_the_same_volume, STAGED)
{
    struct stage *stage = *state;
    static const char *const zones[][2] = {{"zone-a", "zone-c"}, {"zone-c", "zone-a"}};

    for (size_t i = 0; i < ARRAY_LENGTH(zones); i++) {
        _cleanup_(volume_done) struct volume volume = {0};
        _cleanup_(volume_done) struct volume again = {0};

        make_or_fail(stage, &(struct wish){.zone = zones[i][0]}, &volume);
        make_or_fail(stage, &(struct wish){.zone = zones[i][1]}, &again);
        assert_string_equal(again.handle, volume.handle);
        assert_string_equal(strmap_get(&again.segments, PREFIX "zone"), zones[i][0]);
        assert_string_equal(strmap_get(&again.context, "pool"),
                            strmap_get(&volume.context, "pool"));
        assert_holds_not(stage, "csi-vol-u2");
        remove_volume(stage, volume.handle);
    }
}

TEST(without_a_requirement_the_class_decides, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume plain = {0};
    _cleanup_(volume_done) struct volume chosen = {0};

    make_or_fail(stage, &(struct wish){.name = "plain"}, &plain);
    assert_holds(stage, "pool=default-1");
    assert_int_equal(plain.segments.count, 0);
    make_or_fail(stage, &(struct wish){.name = "chosen", .more = {"poolSelection", "first"}},
                 &chosen);
    assert_holds(stage, "pool=data-a");
    assert_int_equal(chosen.segments.count, 0);
}

TEST(class_says_what_becomes_of_immediate_volumes, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume spread = {0};
    _cleanup_(volume_done) struct volume pinned = {0};
    _cleanup_(volume_done) struct volume anywhere = {0};

    make_or_fail(stage,
                 &(struct wish){.name = "spread",
                                .zone = "zone-b",
                                .more = {"immediateTopology", "spread", NULL}},
                 &spread);
    assert_holds(stage, "pool=data-b");
    assert_int_equal(spread.segments.count, 0);
    make_or_fail(stage,
                 &(struct wish){.name = "pinned",
                                .zone = "zone-a",
                                .more = {"immediateTopology", "pin", NULL}},
                 &pinned);
    assert_string_equal(strmap_get(&pinned.segments, PREFIX "zone"), "zone-a");
    make_or_fail(stage,
                 &(struct wish){.name = "anywhere",
                                .zone = "zone-x",
                                .more = {"unservedDomains", "anywhere", NULL}},
                 &anywhere);
    assert_int_equal(anywhere.segments.count, 0);
}

TEST(no_place_and_no_room_are_told_apart, STAGED)
{
    struct stage *stage = *state;

    assert_refused(stage, &(struct wish){.zone = "zone-x"}, STATUS_RESOURCE_EXHAUSTED,
                   "pool 'data-a' (zone=zone-a): elsewhere");
    fake_subvolumes_set_room(stage->world.more, "fs1", "data-b", 0);
    stage_restart(stage);
    assert_refused(stage, &(struct wish){.zone = "zone-b"}, STATUS_RESOURCE_EXHAUSTED,
                   "no pool that serves the place has room");
    assert_holds_not(stage, "csi.volume.");
}

TEST(mistakes_name_key_and_position, STAGED)
{
    static const struct {
        const char *pools;
        const char *message;
        bool is_homeless;
    } cases[] = {
        {"[{\"poolName\":\"data-a\",\"dataPool\":\"x\",\"domainSegments\":[]}]",
         "topologyConstrainedPools[0]: dataPool is for RBD", false},
        {"[{\"poolName\":\"data-a\",\"fsName\":\"fs1\",\"domainSegments\":[]},"
         "{\"poolName\":\"data-b\",\"domainSegments\":[]}]",
         "topologyConstrainedPools[1]: fsName is missing", true},
        {"[{\"poolName\":\"nope\",\"domainSegments\":[]}]",
         "topologyConstrainedPools[0].poolName: there is no pool 'nope'", false},
        {"[{\"poolName\":\"data-c\",\"domainSegments\":[]}]",
         "'data-c' is no data pool of file system 'fs1'; 'ceph fs add_data_pool fs1 data-c'",
         false},
        {"[{\"poolName\":\"data-a\",\"fsName\":\"fs9\",\"domainSegments\":[]}]",
         "topologyConstrainedPools[0].fsName: there is no file system 'fs9'", false},
        {"[{\"poolName\":\"data-a\",\"fsname\":\"fs1\",\"domainSegment\":[]}]",
         "[0].domainSegment: unknown key", false},
        {"[{\"poolName\":\"data-a\",\"clusterID\":\"c/1\",\"domainSegments\":[]}]",
         "topologyConstrainedPools[0]: clusterID has a slash", false},
        {"[{\"poolName\":\"data-a\",\"clusterID\":\"01234567890123456789012345678901234567890123456"
         "789012345678901234\",\"domainSegments\":[]}]",
         "topologyConstrainedPools[0]: clusterID has more than 64 bytes", false},
    };
    struct stage *stage = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
        assert_refused(stage,
                       &(struct wish){.zone = "zone-a",
                                      .pools = cases[i].pools,
                                      .is_homeless = cases[i].is_homeless},
                       STATUS_INVALID_ARGUMENT, cases[i].message);
    assert_refused(stage, &(struct wish){.more = {"topologyPools", "auto"}, .is_homeless = true},
                   STATUS_INVALID_ARGUMENT, "fsName is missing");
    assert_holds_not(stage, "csi.volume.");
}

TEST(spread_counts_volumes_of_the_data_pool, STAGED)
{
    static const char equal[] = "[{\"poolName\":\"data-a\",\"domainSegments\":[]},"
                                "{\"poolName\":\"data-b\",\"domainSegments\":[]},"
                                "{\"poolName\":\"data-c\",\"fsName\":\"fs2\","
                                "\"domainSegments\":[]}]";
    struct stage *stage = *state;
    unsigned counts[3] = {0};

    for (size_t i = 0; i < 12; i++) {
        _cleanup_free_ char *name = xasprintf("spread-%zu", i);
        _cleanup_(volume_done) struct volume volume = {0};

        if (i == 5) /* counted from the journal as well as from memory */
            stage_restart(stage);
        make_or_fail(
            stage,
            &(struct wish){.name = name, .pools = equal, .more = {"poolSelection", "spread"}},
            &volume);
        counts[strmap_get(&volume.context, "pool")[strlen("data-")] - 'a']++;
    }
    assert_int_equal(counts[0], 4);
    assert_int_equal(counts[1], 4);
    assert_int_equal(counts[2], 4);
}

TEST(pools_carry_their_places, STAGED)
{
    struct stage *stage = *state;
    const struct wish in_c = {.zone = "zone-c",
                              .more = {"topologyPools", "auto", "topologyClass", "fast"}};
    _cleanup_(volume_done) struct volume volume = {0};

    assert_refused(stage, &in_c, STATUS_RESOURCE_EXHAUSTED,
                   "ceph osd pool application set POOL cephfs cephzone.class fast");
    fake_subvolumes_tag_pool(stage->world.more, "fs2", "data-c", "cephzone.class", "fast");
    fake_subvolumes_tag_pool(stage->world.more, "fs2", "data-c", "cephzone.zone", "zone-c");
    stage_restart(stage);
    make_or_fail(stage, &in_c, &volume);
    assert_holds(stage, "subvolume fs2/csi/csi-vol-u1 size=1073741824 pool=data-c");
}

/* --- clones and views --- */

TEST(clone_may_leave_the_pool_but_not_the_file_system, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume source = {0};
    _cleanup_(volume_done) struct volume clone = {0};

    make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &source);
    make_or_fail(
        stage,
        &(struct wish){
            .name = "copy", .zone = "zone-b", .kind = SOURCE_VOLUME, .source = source.handle},
        &clone);
    assert_string_equal(strmap_get(&clone.context, "pool"), "data-b");
    assert_holds(stage, "pool=data-b cloned");
    assert_refused(
        stage,
        &(struct wish){
            .name = "far", .zone = "zone-c", .kind = SOURCE_VOLUME, .source = source.handle},
        STATUS_RESOURCE_EXHAUSTED, "in another file system than the source");
    assert_refused(stage,
                   &(struct wish){.name = "beside",
                                  .zone = "zone-b",
                                  .kind = SOURCE_VOLUME,
                                  .source = source.handle,
                                  .more = {"crossPoolRestore", "none"}},
                   STATUS_RESOURCE_EXHAUSTED, "not the pool of the source");
    assert_holds_not(stage, "[csi.volume.far]");
}

TEST(view_stays_where_the_files_are, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume source = {0};
    _cleanup_(volume_done) struct volume view = {0};
    _cleanup_error_ struct error err = {0};
    struct wish wish = {.name = "view",
                        .zone = "zone-b",
                        .mode = ACCESS_MULTI_NODE_READER_ONLY,
                        .kind = SOURCE_SNAPSHOT,
                        .source = stage->world.snapshot};

    make_or_fail(stage, &(struct wish){.zone = "zone-a"}, &source);
    memcpy(stage->world.volume, source.handle, sizeof(source.handle));
    assert_int_equal(step_create_snapshot(&stage->process, &stage->world, &err), 0);
    remove_volume(stage, source.handle); /* Ceph tells less of it now */
    assert_refused(stage, &wish, STATUS_RESOURCE_EXHAUSTED,
                   "not where the files of the snapshot are");
    wish.zone = "zone-a";
    make_or_fail(stage, &wish, &view);
    assert_string_equal(strmap_get(&view.segments, PREFIX "zone"), "zone-a");
    assert_int_equal(step_delete_snapshot(&stage->process, &stage->world, &err), 0);
    remove_volume(stage, view.handle);
    assert_holds_not(stage, "csi.volume.");
    assert_holds_not(stage, "csi.snap.");
    assert_holds_not(stage, "subvolume");
    assert_holds_not(stage, "rt-backing");
}

/* --- room --- */

TEST(capacity_is_that_of_the_data_pools, STAGED)
{
    struct stage *stage = *state;
    static const char *const class[] = {"topologyConstrainedPools", POOLS, NULL};
    static const char *const anywhere[] = {"topologyConstrainedPools", POOLS, "unservedDomains",
                                           "anywhere", NULL};
    static const char *const plain[] = {NULL};
    static const char *const named[] = {"pool", "data-b", NULL};
    static const char *const wrong[] = {"pool", "data-c", NULL};

    assert_int_equal(capacity_of(stage, "zone-a", class), 20 * GIB);
    assert_int_equal(capacity_of(stage, "zone-c", class), 40 * GIB);
    assert_int_equal(capacity_of(stage, "zone-x", class), 0);
    assert_int_equal(capacity_of(stage, NULL, class), 90 * GIB);
    assert_int_equal(capacity_of(stage, "zone-a", anywhere), 20 * GIB);
    assert_int_equal(capacity_of(stage, "zone-x", anywhere), 90 * GIB);
    assert_int_equal(capacity_of(stage, "zone-a", plain), 10 * GIB); /* the default pool */
    assert_int_equal(capacity_of(stage, "zone-a", named), 30 * GIB);
    assert_int_equal(capacity_of(stage, NULL, wrong), 0); /* of another file system */
}

TEST(overcommit_counts_what_is_promised, STAGED)
{
    struct stage *stage = *state;
    static const char *const class[] = {"topologyConstrainedPools", POOLS, "overcommit", "1", NULL};
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(capacity_of(stage, "zone-a", class), 20 * GIB);
    make_or_fail(stage, &(struct wish){.zone = "zone-a", .more = {"overcommit", "1"}}, &volume);
    assert_int_equal(capacity_of(stage, "zone-a", class), 19 * GIB);
    memcpy(stage->world.volume, volume.handle, sizeof(volume.handle));
    assert_int_equal(step_expand(&stage->process, &stage->world, &err), 0); /* to 3 GiB */
    assert_int_equal(capacity_of(stage, "zone-a", class), 17 * GIB);
    stage_restart(stage);
    assert_int_equal(capacity_of(stage, "zone-a", class), 17 * GIB);
    remove_volume(stage, volume.handle);
    assert_int_equal(capacity_of(stage, "zone-a", class), 20 * GIB);
    assert_int_equal(capacity_of(stage, "zone-b", class), 30 * GIB);
}

/* Requests are rounded up: what the scheduler lets pass must still fit then. */
TEST(largest_volume_is_one_that_fits_when_it_is_rounded, STAGED)
{
    struct stage *stage = *state;
    static const char *const class[] = {"topologyConstrainedPools", POOLS, "overcommit", "0.777",
                                        NULL};
    static const char *const plain[] = {"topologyConstrainedPools", POOLS, NULL};
    struct capacity capacity = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(ask_whole_capacity(stage, "zone-a", class, &capacity, &err), 0);
    assert_true(capacity.has_maximum && capacity.available_bytes > 15 * GIB);
    assert_int_equal(capacity.maximum_bytes, 15 * GIB);
    assert_int_equal(ask_whole_capacity(stage, "zone-a", plain, &capacity, &err), 0);
    assert_int_equal(capacity.maximum_bytes, 20 * GIB);
}

TEST(volumes_of_ceph_csi_count_too, STAGED)
{
    struct stage *stage = *state;
    static const char *const class[] = {"topologyConstrainedPools", POOLS, "overcommit", "1", NULL};
    _cleanup_error_ struct error err = {0};
    struct call call;

    assert_int_equal(
        fake_subvolumes_command(stage->world.more,
                                "{\"prefix\":\"fs subvolume create\",\"sub_name\":\"csi-vol-x\","
                                "\"size\":2147483648,\"pool_layout\":\"data-a\"}"),
        0);
    struct ceph *ceph = fake_ceph_as_other(stage->world.fake);
    struct ceph_cluster *cluster = NULL;
    struct ceph_pool *pool = NULL;
    struct secret key = {0};
    const struct journal journal = {JOURNAL_VOLUME, "default"};
    struct journal_ref ref;
    bool fresh = false;
    secret_set(&key, "AQB");
    call_init(&call, 1, "Test", deadline_never());
    assert_int_equal(
        ceph->ops->connect(
            ceph, &call,
            &(struct ceph_target){.cluster_id = "c1", .monitors = "m", .user = "csi", .key = &key},
            &cluster, &err),
        0);
    assert_int_equal(cluster->ops->pool_open(cluster, &call, "meta", "csi", &pool, &err), 0);
    assert_int_equal(journal_claim(&journal, &call, pool, "pvc-theirs", 7, &ref, &fresh, &err), 0);
    struct journal_entry entry = {.uuid = ref.uuid,
                                  .request_name = xstrdup("pvc-theirs"),
                                  .image_name = xstrdup("csi-vol-x"),
                                  .journal_pool_id = -1};
    assert_int_equal(journal_write(&journal, &call, pool, &entry, &err), 0);
    journal_entry_done(&entry);
    ceph_pool_close(pool);
    cluster->ops->disconnect(cluster);
    call_done(&call);
    secret_done(&key);
    assert_int_equal(capacity_of(stage, "zone-a", class), 18 * GIB);
    assert_int_equal(capacity_of(stage, "zone-b", class), 30 * GIB);
}

/* --- listings --- */

TEST(listed_volume_has_the_handle_of_its_file_system, STAGED)
{
    struct stage *stage = *state;
    _cleanup_(volume_done) struct volume volume = {0};
    _cleanup_(list_request_done) struct list_request request = {.token = xstrdup("")};
    _cleanup_(volume_list_done) struct volume_list list = {0};
    _cleanup_error_ struct error err = {0};
    struct call call;

    make_or_fail(stage, &(struct wish){.zone = "zone-c"}, &volume);
    call_init(&call, 1, "ListVolumes", deadline_never());
    int result = controller_list_volumes(&stage->process.controller, &call, &request, &list, &err);
    call_done(&call);
    if (result < 0)
        fail_msg("%s", err.message);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].volume.handle, volume.handle);
    assert_int_equal(list.items[0].volume.size_bytes, GIB);
    assert_string_equal(strmap_get(&list.items[0].volume.segments, PREFIX "zone"), "zone-c");
}

/* --- faults --- */

static int in_a(struct process *process, struct world *world, struct error *err)
{
    (void)process, (void)world, (void)err;
    next_zone = "zone-a";
    return 0;
}

static int in_c(struct process *process, struct world *world, struct error *err)
{
    (void)process, (void)world, (void)err;
    next_zone = "zone-c";
    return 0;
}

/* Each try is asked for in the next zone. */
static int create_wandering(struct process *process, struct world *world, struct error *err)
{
    static const char *const zones[] = {"zone-a", "zone-b", "zone-c"};
    int result =
        process_create_volume(process, "pvc-1", GIB, SOURCE_NONE, NULL, world->volume, err);

    for (size_t i = 0; i < ARRAY_LENGTH(zones); i++)
        if (strcmp(next_zone, zones[i]) == 0) {
            next_zone = zones[(i + 1) % ARRAY_LENGTH(zones)];
            break;
        }
    return result;
}

TEST(creation_survives_every_fault)
{
    scenario_check(
        &(struct scenario){.title = "CreateVolume in a zone", .tested = step_create_volume},
        &SETUP);
}

TEST(creation_in_another_file_system_survives_every_fault)
{
    scenario_check(
        &(struct scenario){.title = "CreateVolume in a zone with a file system of its own",
                           .before = {in_c},
                           .tested = step_create_volume},
        &SETUP);
}

TEST(deletion_in_another_file_system_survives_every_fault)
{
    scenario_check(
        &(struct scenario){.title = "DeleteVolume in a zone with a file system of its own",
                           .before = {in_c, step_create_volume},
                           .tested = step_delete_volume,
                           .ends_empty = true},
        &SETUP);
}

TEST(retry_in_another_zone_leaves_one_volume)
{
    scenario_check(&(struct scenario){.title = "CreateVolume, retried in another zone",
                                      .before = {in_a},
                                      .tested = create_wandering,
                                      .after = {step_delete_volume},
                                      .ends_empty = true},
                   &SETUP);
}

TEST(retry_in_another_file_system_leaves_one_volume)
{
    scenario_check(&(struct scenario){.title = "CreateVolume, retried in another file system",
                                      .before = {in_c},
                                      .tested = create_wandering,
                                      .after = {step_delete_volume},
                                      .ends_empty = true},
                   &SETUP);
}

TEST(expansion_survives_every_fault)
{
    scenario_check(&(struct scenario){.title = "ControllerExpandVolume in a zone",
                                      .before = {step_create_volume},
                                      .tested = step_expand},
                   &SETUP);
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
