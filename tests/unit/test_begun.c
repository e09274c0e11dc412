/*
 * Creations that another process began: while that is at work they are left alone, when it has died
 * or does something else they are continued at once, and a retry that fails for good removes them.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "common/ceph/on_disk.h"
#include "controller/begun.h"
#include "tests/unit/fixtures/backends.h"
#include "tests/unit/fixtures/cluster_config.h"

#define ON_RBD WITH_STAGE(RBD_SETUP)
#define ON_CEPHFS WITH_STAGE(CEPHFS_SETUP)
#define LONG_AGO_S 61
#define UUID_LENGTH 36

/* --- another process --- */

/* A client of the cluster, which has the pool with the journal open. */
struct peer {
    struct call call;
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
    struct ceph_work *work;
};

static void peer_begin(struct peer *peer, struct stage *stage, struct ceph *ceph)
{
    const bool is_rbd = stage->world.setup == &RBD_SETUP;
    _cleanup_secret_ struct secret key = {0};
    _cleanup_error_ struct error err = {0};

    *peer = (struct peer){0};
    secret_set(&key, "AQB");
    const struct ceph_target target = {"c1", "mon", "csi", &key};
    call_init(&peer->call, 7, "CreateVolume", deadline_never());
    call_set_request_id(&peer->call, "pvc-1");
    assert_int_equal(ceph->ops->connect(ceph, &peer->call, &target, &peer->cluster, &err), 0);
    assert_int_equal(peer->cluster->ops->pool_open(peer->cluster, &peer->call,
                                                   is_rbd ? "rbd" : "meta", is_rbd ? "" : "csi",
                                                   &peer->pool, &err),
                     0);
}

/* Another process of the driver. */
static void rival_begin(struct peer *rival, struct stage *stage)
{
    peer_begin(rival, stage, fake_ceph_as_other(stage->world.fake));
}

/* This one, which asks, and whose requests may fail. */
static void own_begin(struct peer *own, struct stage *stage)
{
    peer_begin(own, stage, fake_ceph_as_ceph(stage->world.fake));
}

static void peer_stop(struct peer *peer)
{
    if (peer->work)
        ceph_work_end(peer->work);
    peer->work = NULL;
}

static void peer_end(struct peer *peer)
{
    peer_stop(peer);
    ceph_pool_close(peer->pool);
    ceph_disconnect(peer->cluster);
    call_done(&peer->call);
}
#define _cleanup_peer_ _cleanup_(peer_end)

static const char *uuid_of(const char *handle)
{
    return handle + strlen(handle) - UUID_LENGTH;
}

static void peer_work(struct peer *peer, const char *directory, const char *handle)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(peer->pool->ops->work_begin(peer->pool, &peer->call, directory,
                                                 uuid_of(handle), &peer->work, &err),
                     0);
}

static void peer_add(struct peer *peer, const char *object, const char *key, const char *value)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(peer->pool->ops->omap_add(peer->pool, &peer->call, object, key, value, &err),
                     0);
}

static void peer_set(struct peer *peer, const char *object, const char *key, const char *value)
{
    _cleanup_strmap_ struct strmap keys = {0};
    _cleanup_error_ struct error err = {0};

    strmap_set(&keys, key, value);
    assert_int_equal(peer->pool->ops->omap_set(peer->pool, &peer->call, object, &keys, &err), 0);
}

static char *peer_get(struct peer *peer, const char *object, const char *key)
{
    _cleanup_error_ struct error err = {0};
    char *value = NULL;

    assert_int_equal(peer->pool->ops->omap_get(peer->pool, &peer->call, object, key, &value, &err),
                     0);
    return value;
}

static void peer_remove(struct peer *peer, const char *object, const char *key)
{
    _cleanup_free_ char *value = peer_get(peer, object, key);
    _cleanup_error_ struct error err = {0};
    bool removed = false;

    assert_int_equal(peer->pool->ops->omap_remove_if(peer->pool, &peer->call, object, key, value,
                                                     NULL, &removed, &err),
                     0);
    assert_true(removed);
}

/* --- what it began --- */

/* What @handle leads to was begun @age_s ago by another process and has not been finished: its
 * image is only listed. */
static void make_begun(struct stage *stage, struct peer *rival, const char *handle,
                       const char *entry, const char *image, long long age_s)
{
    _cleanup_free_ char *object = xasprintf("%s%s", entry, uuid_of(handle));
    _cleanup_free_ char *name = xasprintf("%s%s", image, uuid_of(handle));
    _cleanup_free_ char *begun = xasprintf("%lld", (long long)time(NULL) - age_s);

    peer_remove(rival, object, JOURNAL_KEY_IMAGE_ID);
    peer_set(rival, object, JOURNAL_KEY_BEGUN, begun);
    peer_set(rival, object, JOURNAL_KEY_PROCESS, "99999999-2222-4333-8444-555555555555");
    if (rival->work) {
        _cleanup_free_ char *maker = xasprintf("%llu", (unsigned long long)rival->work->worker);

        peer_set(rival, object, JOURNAL_KEY_MAKERS, maker);
    } else {
        peer_remove(rival, object, JOURNAL_KEY_MAKERS);
    }
    fake_ceph_cut_image(stage->world.fake, "rbd", name);
    call_stage(&rival->call, "painting for {age}");
}

static void make_begun_volume(struct stage *stage, struct peer *rival, long long age_s)
{
    make_begun(stage, rival, stage->world.volume, JOURNAL_VOLUME_PREFIX, IMAGE_PREFIX_VOLUME,
               age_s);
}

static void step_or_fail(struct stage *stage, step *run)
{
    _cleanup_error_ struct error err = {0};

    if (run(&stage->process, &stage->world, &err) < 0)
        fail_msg("%s", err.message);
}

static void assert_refused(struct stage *stage, step *run, enum status status, const char *words)
{
    _cleanup_error_ struct error err = {0};

    assert_int_equal(run(&stage->process, &stage->world, &err), -1);
    if (err.status != status || !strstr(err.message, words))
        fail_msg("wanted %s and '%s', got %s: %s", status_name(status), words,
                 status_name(err.status), err.message);
}

/* --- makers --- */

TEST(what_another_process_is_making_is_left_alone, ON_RBD)
{
    struct stage *stage = *state;
    _cleanup_peer_ struct peer rival;

    rival_begin(&rival, stage);
    step_or_fail(stage, step_create_volume);
    peer_work(&rival, JOURNAL_VOLUMES "default", stage->world.volume);
    make_begun_volume(stage, &rival, LONG_AGO_S);
    assert_refused(stage, step_create_volume, STATUS_ABORTED, "painting");
    assert_refused(stage, step_create_volume, STATUS_ABORTED, "client.5100");
    assert_holds(stage, "image rbd//csi-vol-u1 id=i1");
}

TEST(what_another_process_has_left_is_finished_at_once, ON_RBD)
{
    struct stage *stage = *state;
    _cleanup_peer_ struct peer rival;

    rival_begin(&rival, stage);
    step_or_fail(stage, step_create_volume);
    peer_work(&rival, JOURNAL_VOLUMES "default", stage->world.volume);
    make_begun_volume(stage, &rival, 0);
    peer_stop(&rival); /* it lives, and does something else */
    step_or_fail(stage, step_create_volume);
    _cleanup_free_ char *object =
        xasprintf(JOURNAL_VOLUME_PREFIX "%s", uuid_of(stage->world.volume));
    _cleanup_free_ char *makers = peer_get(&rival, object, JOURNAL_KEY_MAKERS);
    assert_string_equal(makers, "4100");
    step_or_fail(stage, step_delete_volume);
}

TEST(dead_process_is_not_waited_for, ON_RBD)
{
    struct stage *stage = *state;
    _cleanup_peer_ struct peer rival;

    rival_begin(&rival, stage);
    step_or_fail(stage, step_create_volume);
    peer_work(&rival, JOURNAL_VOLUMES "default", stage->world.volume);
    make_begun_volume(stage, &rival, 0);
    fake_ceph_silence_other(stage->world.fake, true);
    assert_refused(stage, step_create_volume, STATUS_ABORTED, "does not answer");
    fake_ceph_kill_other(stage->world.fake);
    step_or_fail(stage, step_create_volume);
}

/* Written by a driver that did not say who it was. */
TEST(process_without_an_id_has_a_minute, ON_RBD)
{
    struct stage *stage = *state;
    _cleanup_peer_ struct peer rival;

    rival_begin(&rival, stage);
    step_or_fail(stage, step_create_volume);
    make_begun_volume(stage, &rival, 0);
    assert_refused(stage, step_create_volume, STATUS_ABORTED, "if it has died");
    assert_refused(stage, step_create_volume, STATUS_ABORTED, "if it has died"); /* now joined */
    _cleanup_free_ char *object =
        xasprintf(JOURNAL_VOLUME_PREFIX "%s", uuid_of(stage->world.volume));
    _cleanup_free_ char *begun = xasprintf("%lld", (long long)time(NULL) - LONG_AGO_S);
    peer_set(&rival, object, JOURNAL_KEY_BEGUN, begun);
    step_or_fail(stage, step_create_volume);
}

TEST(image_without_its_object_map_is_made_again, ON_RBD)
{
    struct stage *stage = *state;
    _cleanup_peer_ struct peer rival;

    rival_begin(&rival, stage);
    step_or_fail(stage, step_create_volume);
    _cleanup_free_ char *object =
        xasprintf(JOURNAL_VOLUME_PREFIX "%s", uuid_of(stage->world.volume));
    _cleanup_free_ char *image = xasprintf(IMAGE_PREFIX_VOLUME "%s", uuid_of(stage->world.volume));
    _cleanup_free_ char *id = peer_get(&rival, object, JOURNAL_KEY_IMAGE_ID);
    peer_remove(&rival, object, JOURNAL_KEY_IMAGE_ID);
    fake_ceph_cut_object_map(stage->world.fake, "rbd", image);
    step_or_fail(stage, step_create_volume);
    _cleanup_free_ char *new_id = peer_get(&rival, object, JOURNAL_KEY_IMAGE_ID);
    assert_string_not_equal(new_id, id);
}

TEST(snapshot_that_another_process_is_making_is_left_alone, ON_RBD)
{
    struct stage *stage = *state;
    _cleanup_peer_ struct peer rival;

    rival_begin(&rival, stage);
    step_or_fail(stage, step_create_volume);
    step_or_fail(stage, step_create_snapshot);
    peer_work(&rival, JOURNAL_SNAPSHOTS "default", stage->world.snapshot);
    make_begun(stage, &rival, stage->world.snapshot, JOURNAL_SNAPSHOT_PREFIX, IMAGE_PREFIX_SNAPSHOT,
               LONG_AGO_S);
    assert_refused(stage, step_create_snapshot, STATUS_ABORTED, "painting");
    peer_stop(&rival);
    step_or_fail(stage, step_create_snapshot);
}

/* --- asked about one entry --- */

#define UUID "0a1b2c3d-1111-4222-8333-444455556666"

static const struct journal VOLUMES = {JOURNAL_VOLUME, "default"};

/* A volume of which nothing but the name is there, as @own sees it. */
struct unfinished {
    struct peer *own;
    struct journal_entry entry;
    struct begun begun;
};

static void unfinished_init(struct unfinished *unfinished, struct stage *stage, struct peer *own)
{
    *unfinished = (struct unfinished){.own = own, .entry = {.uuid = {UUID}}};
    unfinished->begun = (struct begun){
        .controller = &stage->process.controller,
        .call = &own->call,
        .journal = &VOLUMES,
        .directory = own->pool,
        .pool = own->pool,
        .entry = &unfinished->entry,
    };
}

static void unfinished_done(struct unfinished *unfinished)
{
    journal_entry_done(&unfinished->entry);
}
#define _cleanup_unfinished_ _cleanup_(unfinished_done)

/* Its entry is written, by @makers. */
static void write_entry(struct unfinished *unfinished, const char *makers)
{
    unfinished->entry.request_name = xstrdup("pvc-1");
    unfinished->entry.image_name = xstrdup("csi-vol-" UUID);
    strmap_set(&unfinished->entry.extra, JOURNAL_KEY_BEGUN, "1");
    if (makers)
        strmap_set(&unfinished->entry.extra, JOURNAL_KEY_MAKERS, makers);
}

static void assert_busy(struct unfinished *unfinished, bool expected)
{
    _cleanup_error_ struct error err = {0};
    bool busy = !expected;

    if (begun_is_busy(&unfinished->begun, &busy, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(busy, expected);
    assert_null(err.message);
    assert_int_equal(begun_is_abandoned(&unfinished->begun, unfinished->own->work, STATUS_INTERNAL),
                     !expected);
}

/* Asking fails, whoever asks. */
static void assert_unknown(struct unfinished *unfinished, struct fake_ceph *fake)
{
    _cleanup_error_ struct error err = {0};
    bool busy = false;

    fake_ceph_fail_call_with(fake, 1, -EIO);
    assert_int_equal(begun_is_busy(&unfinished->begun, &busy, &err), -1);
    assert_non_null(strstr(err.message, "made to fail"));
    fake_ceph_fail_call_with(fake, 1, -EIO);
    assert_false(begun_is_abandoned(&unfinished->begun, unfinished->own->work, STATUS_INTERNAL));
    fake_ceph_recover(fake);
}

TEST(name_without_an_entry_belongs_to_who_is_at_it, ON_RBD)
{
    struct stage *stage = *state;
    _cleanup_peer_ struct peer rival;
    _cleanup_peer_ struct peer own;
    _cleanup_unfinished_ struct unfinished unfinished;

    rival_begin(&rival, stage);
    own_begin(&own, stage);
    unfinished_init(&unfinished, stage, &own);
    assert_busy(&unfinished, false);
    peer_work(&rival, JOURNAL_VOLUMES "default", UUID);
    assert_busy(&unfinished, true);
    assert_unknown(&unfinished, stage->world.fake);
    peer_stop(&rival); /* it lives, and does something else */
    assert_busy(&unfinished, false);
    fake_ceph_silence_other(stage->world.fake, true);
    assert_busy(&unfinished, true);
    fake_ceph_silence_other(stage->world.fake, false);
    peer_work(&own, JOURNAL_VOLUMES "default", UUID);
    assert_true(begun_is_abandoned(&unfinished.begun, own.work, STATUS_INTERNAL));
    peer_work(&rival, JOURNAL_VOLUMES "default", UUID);
    assert_false(begun_is_abandoned(&unfinished.begun, own.work, STATUS_INTERNAL));
}

TEST(entry_belongs_to_its_makers, ON_RBD)
{
    struct stage *stage = *state;
    _cleanup_peer_ struct peer rival;
    _cleanup_peer_ struct peer own;
    _cleanup_unfinished_ struct unfinished unfinished;

    rival_begin(&rival, stage);
    own_begin(&own, stage);
    unfinished_init(&unfinished, stage, &own);
    peer_work(&rival, JOURNAL_VOLUMES "default", UUID);
    write_entry(&unfinished, "4711 5100"); /* one that died long ago, and the rival */
    assert_busy(&unfinished, true);
    assert_unknown(&unfinished, stage->world.fake);
    peer_stop(&rival);
    assert_busy(&unfinished, false);
    assert_false(begun_is_abandoned(&unfinished.begun, NULL, STATUS_ALREADY_EXISTS));
    assert_false(begun_is_abandoned(&unfinished.begun, NULL, STATUS_DATA_LOSS));
    unfinished.entry.image_id = xstrdup("i1"); /* it is complete: somebody may have its handle */
    assert_false(begun_is_abandoned(&unfinished.begun, NULL, STATUS_INTERNAL));
}

TEST(what_Ceph_CSI_began_is_never_abandoned, ON_RBD)
{
    struct stage *stage = *state;
    _cleanup_peer_ struct peer own;
    _cleanup_unfinished_ struct unfinished unfinished;

    own_begin(&own, stage);
    unfinished_init(&unfinished, stage, &own);
    unfinished.entry.request_name = xstrdup("pvc-1");
    assert_false(begun_is_abandoned(&unfinished.begun, NULL, STATUS_INTERNAL));
}

struct faster {
    struct peer *rival;
    const char *makers;
};

static void write_makers(void *object)
{
    const struct faster *faster = object;

    peer_set(faster->rival, JOURNAL_VOLUME_PREFIX UUID, JOURNAL_KEY_MAKERS, faster->makers);
}

TEST(who_joins_at_the_same_moment_is_told_to_retry, ON_RBD)
{
    static const struct {
        const char *makers; /* before */
        const char *operation;
    } cases[] = {{NULL, "omap_add"}, {"5100", "omap_remove_if"}};
    struct stage *stage = *state;
    _cleanup_peer_ struct peer rival;
    _cleanup_peer_ struct peer own;

    rival_begin(&rival, stage);
    own_begin(&own, stage);
    peer_add(&rival, JOURNAL_VOLUME_PREFIX UUID, JOURNAL_KEY_VOLUME_NAME, "pvc-1");
    peer_work(&own, JOURNAL_VOLUMES "default", UUID);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_unfinished_ struct unfinished unfinished;
        _cleanup_error_ struct error err = {0};
        struct faster faster = {&rival, "5100 4711"};

        unfinished_init(&unfinished, stage, &own);
        write_entry(&unfinished, cases[i].makers);
        if (cases[i].makers)
            peer_set(&rival, JOURNAL_VOLUME_PREFIX UUID, JOURNAL_KEY_MAKERS, cases[i].makers);
        fake_ceph_interrupt_before(stage->world.fake, cases[i].operation, write_makers, &faster);
        assert_int_equal(begun_join(&unfinished.begun, own.work, &err), -1);
        assert_int_equal(err.status, STATUS_ABORTED);
        assert_non_null(strstr(err.message, "has just taken over 'pvc-1'"));
        _cleanup_free_ char *makers =
            peer_get(&rival, JOURNAL_VOLUME_PREFIX UUID, JOURNAL_KEY_MAKERS);
        assert_string_equal(makers, "5100 4711"); /* what the other wrote stays */
    }
}

/* --- retries that fail for good --- */

struct fault {
    struct fake_ceph *fake;
    int negative_errno; /* 0: the process dies */
};

static void set_fault(void *object)
{
    const struct fault *fault = object;

    if (fault->negative_errno)
        fake_ceph_fail_call_with(fault->fake, 1, fault->negative_errno);
    else
        fake_ceph_fail_call(fault->fake, 1, FAKE_CRASH_BEFORE);
}

/* @run is cut at @operation, and its retry fails for good there. */
static void fail_retry(struct stage *stage, step *run, const char *operation)
{
    struct fake_ceph *fake = stage->world.fake;
    struct fault death = {fake, 0};
    struct fault refusal = {fake, -ENOSPC};

    fake_ceph_interrupt_before(fake, operation, set_fault, &death);
    assert_refused(stage, run, STATUS_CANCELLED, "crashed");
    fake_ceph_recover(fake);
    stage_restart(stage);
    fake_ceph_interrupt_before(fake, operation, set_fault, &refusal);
    assert_refused(stage, run, STATUS_RESOURCE_EXHAUSTED, "made to fail");
}

TEST(RBD_volume_whose_retry_fails_for_good_is_given_up, ON_RBD)
{
    fail_retry(*state, step_create_volume, "image_create");
    assert_holds_not(*state, "csi.volume.");
    assert_holds_not(*state, "image ");
}

TEST(CephFS_volume_whose_retry_fails_for_good_is_given_up, ON_CEPHFS)
{
    fail_retry(*state, step_create_volume, "mgr_command");
    assert_holds_not(*state, "csi.volume.");
    assert_holds_not(*state, "subvolume ");
}

TEST(RBD_snapshot_whose_retry_fails_for_good_is_given_up, ON_RBD)
{
    step_or_fail(*state, step_create_volume);
    fail_retry(*state, step_create_snapshot, "image_clone");
    assert_holds_not(*state, "csi.snap.");
    assert_holds_not(*state, "snapshot [");
}

TEST(CephFS_snapshot_whose_retry_fails_for_good_is_given_up, ON_CEPHFS)
{
    step_or_fail(*state, step_create_volume);
    fail_retry(*state, step_create_snapshot, "mgr_command");
    assert_holds_not(*state, "csi.snap.");
}

TEST(RBD_group_whose_retry_fails_for_good_is_given_up, ON_RBD)
{
    step_or_fail(*state, step_create_volume);
    step_or_fail(*state, step_create_second);
    fail_retry(*state, step_create_group, "image_hold");
    assert_holds_not(*state, "csi.snap.");
    assert_holds_not(*state, "csi.volume.group.");
}

/* Nobody knows whether it needs what there is. */
TEST(what_another_process_is_making_survives_a_retry_that_fails, ON_CEPHFS)
{
    struct stage *stage = *state;
    struct fake_ceph *fake = stage->world.fake;
    struct fault refusal = {fake, -ENOSPC};
    _cleanup_peer_ struct peer rival;

    rival_begin(&rival, stage);
    step_or_fail(stage, step_create_volume);
    peer_work(&rival, JOURNAL_VOLUMES "default", stage->world.volume);
    _cleanup_free_ char *object =
        xasprintf(JOURNAL_VOLUME_PREFIX "%s", uuid_of(stage->world.volume));
    peer_remove(&rival, object, CEPHFS_KEY_COMPLETE);
    peer_set(&rival, object, JOURNAL_KEY_MAKERS, "5100");
    fake_ceph_interrupt_before(fake, "mgr_command", set_fault, &refusal);
    assert_refused(stage, step_create_volume, STATUS_RESOURCE_EXHAUSTED, "made to fail");
    assert_holds(stage, "subvolume fs1/csi/csi-vol-u1");
    _cleanup_free_ char *makers = peer_get(&rival, object, JOURNAL_KEY_MAKERS);
    assert_string_equal(makers, "4100 5100"); /* so that the next one asks both */
    peer_stop(&rival);
    fake_ceph_interrupt_before(fake, "mgr_command", set_fault, &refusal);
    assert_refused(stage, step_create_volume, STATUS_RESOURCE_EXHAUSTED, "made to fail");
    assert_holds_not(stage, "csi.volume.");
    assert_holds_not(stage, "subvolume ");
}

/* The same name was asked for with other parameters: what there is belongs to the other request. */
static int create_larger(struct process *process, struct world *world, struct error *err)
{
    return process_create_volume(process, "pvc-1", 2 * GIB, SOURCE_NONE, NULL, world->second, err);
}

TEST(unfinished_volume_of_another_request_stays, ON_RBD)
{
    struct stage *stage = *state;
    struct fault death = {stage->world.fake, 0};

    fake_ceph_interrupt_before(stage->world.fake, "image_create", set_fault, &death);
    assert_refused(stage, step_create_volume, STATUS_CANCELLED, "crashed");
    fake_ceph_recover(stage->world.fake);
    stage_restart(stage);
    assert_refused(stage, create_larger, STATUS_ALREADY_EXISTS, "asked for");
    assert_holds(stage, "[csi.volname] = pvc-1");
    step_or_fail(stage, step_create_volume);
}

TEST_GROUP(cluster_config_write, cluster_config_remove)
