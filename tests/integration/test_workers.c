/*
 * Who is at work on what, on a real cluster: the living answer, the dead are known to be dead, and
 * a watch that was lost is taken again. Each client is a struct ceph of its own.
 */
#include <string.h>

#include "common/base/memory.h"
#include "common/ceph/ceph.h"
#include "tests/integration/harness.h"
#include "tests/integration/place.h"
#include "tests/test.h"

#define POOL "zone-b"
#define OBJECT "test-workers"
#define SUBJECT "a-volume"

struct client {
    struct ceph *ceph;
    struct ceph_cluster *cluster;
    struct ceph_pool *pool;
    struct call call;
};

#define must(result, err)                                                                          \
    do {                                                                                           \
        if ((result) < 0)                                                                          \
            fail_msg("%s", (err)->message);                                                        \
    } while (0)

static void client_open(struct client *client, const char *method)
{
    _cleanup_secret_ struct secret key = {0};
    _cleanup_error_ struct error err = {0};

    secret_set(&key, harness_cluster()->key);
    const struct ceph_target target = {"c1", harness_cluster()->monitors, harness_cluster()->user,
                                       &key};
    *client = (struct client){.ceph = ceph_new(&(struct ceph_options){
                                  .connect_timeout_ms = 15000,
                                  .mon_op_timeout_ms = 30000,
                                  .osd_op_timeout_ms = 30000,
                              })};
    call_init(&client->call, 1, method, deadline_in_ms(120000));
    must(client->ceph->ops->connect(client->ceph, &client->call, &target, &client->cluster, &err),
         &err);
    must(
        client->ceph->ops->pool_open(client->cluster, &client->call, POOL, "", &client->pool, &err),
        &err);
}

static void client_close(struct client *client)
{
    if (!client->ceph)
        return;
    ceph_pool_close(client->pool);
    ceph_disconnect(client->cluster);
    wait_until(ceph_free(client->ceph));
    call_done(&client->call);
    client->ceph = NULL;
}
#define _cleanup_client_ _cleanup_(client_close)

static struct ceph_work *begin(struct client *client, const char *subject)
{
    _cleanup_error_ struct error err = {0};
    struct ceph_work *work = NULL;

    must(client->pool->ops->work_begin(client->pool, &client->call, OBJECT, subject, &work, &err),
         &err);
    return work;
}

/* What @asker hears of the client with that id; -1 if nothing. */
static int ask(struct client *asker, uint64_t worker, const char *words)
{
    _cleanup_worker_answers_ struct worker_answers answers = {0};
    _cleanup_error_ struct error err = {0};

    must(asker->pool->ops->work_ask(asker->pool, &asker->call, OBJECT, SUBJECT, &answers, &err),
         &err);
    const struct worker_answer *answer = worker_answers_find(&answers, worker);
    if (answer && words && (!answer->stage || !strstr(answer->stage, words)))
        fail_msg("wanted '%s', got '%s'", words, answer->stage ? answer->stage : "");
    return answer ? (int)answer->state : -1;
}

static int make_object(void **state)
{
    (void)state;
    struct place place = place_open(POOL, NULL);
    place_create(&place, OBJECT);
    place_close(&place);
    return 0;
}

static int remove_object(void **state)
{
    (void)state;
    struct place place = place_open(POOL, NULL);
    place_remove(&place, OBJECT);
    place_close(&place);
    return 0;
}

#define WITH_OBJECT .setup_func = make_object, .teardown_func = remove_object

TEST(worker_says_what_it_does, WITH_OBJECT)
{
    _cleanup_client_ struct client worker = {0};
    _cleanup_client_ struct client asker = {0};

    (void)state;
    client_open(&worker, "CreateVolume");
    client_open(&asker, "Test");
    struct ceph_work *work = begin(&worker, SUBJECT);
    struct ceph_work *other = begin(&worker, "another-volume");
    const uint64_t id = work->worker;

    assert_true(id > 0);
    call_stage(&worker.call, "painting for {age}");
    assert_int_equal(ask(&asker, id, "painting"), WORKER_BUSY);
    assert_int_equal(ask(&worker, id, NULL), WORKER_BUSY); /* also itself */
    ceph_work_end(work);
    assert_int_equal(ask(&asker, id, NULL), WORKER_IDLE);
    ceph_work_end(other);
    assert_int_equal(ask(&asker, 1, NULL), -1); /* there never was such a client */
}

TEST(client_that_has_gone_is_not_waited_for, WITH_OBJECT)
{
    _cleanup_client_ struct client worker = {0};
    _cleanup_client_ struct client asker = {0};

    (void)state;
    client_open(&worker, "CreateVolume");
    client_open(&asker, "Test");
    struct ceph_work *work = begin(&worker, SUBJECT);
    const uint64_t id = work->worker;

    ceph_work_end(work);
    client_close(&worker);
    _cleanup_free_ char *watchers =
        harness_run_tool((const char *[]){"rados", "-p", POOL, "listwatchers", OBJECT, NULL});
    assert_string_equal(watchers, "");
    assert_int_equal(ask(&asker, id, NULL), -1);
}

/* The object goes, and the watch with it; the next work takes it again. */
TEST(lost_watch_is_taken_again, WITH_OBJECT)
{
    _cleanup_client_ struct client worker = {0};
    _cleanup_client_ struct client asker = {0};

    client_open(&worker, "CreateVolume");
    client_open(&asker, "Test");
    ceph_work_end(begin(&worker, SUBJECT));
    remove_object(state);
    make_object(state);
    /* librados hears of it a moment later */
    for (bool is_heard = false; !is_heard;) {
        struct ceph_work *work = begin(&worker, SUBJECT);

        assert_int_equal(call_pause(&asker.call, 100, &(struct error){0}), 0);
        is_heard = ask(&asker, work->worker, NULL) == WORKER_BUSY;
        ceph_work_end(work);
    }
}

TEST(object_that_is_not_there_has_no_workers)
{
    _cleanup_client_ struct client client = {0};
    _cleanup_error_ struct error err = {0};
    struct ceph_work *work = NULL;

    (void)state;
    client_open(&client, "Test");
    assert_int_equal(ask(&client, 1, NULL), -1);
    assert_int_equal(
        client.pool->ops->work_begin(client.pool, &client.call, OBJECT, SUBJECT, &work, &err), -1);
    assert_int_equal(err.status, STATUS_NOT_FOUND);
    assert_null(work);
}
