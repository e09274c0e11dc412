#include <errno.h>

#include "common/usage/settle_cluster.h"
#include "tests/fakes/fake_ceph.h"
#include "tests/must.h"
#include "tests/test.h"
#include "tests/unit/fixtures/ceph_client.h"

/* Which pools are asked whether they know the newest map. */

static const char *answer;

static int answer_pools(void *object, const char *command, struct text *reply)
{
    (void)object;
    assert_non_null(strstr(command, "osd pool ls"));
    text_add(reply, answer);
    return 0;
}

static unsigned count_settled(struct client *client, const char *pools)
{
    answer = pools;
    fake_ceph_answer_mon(client->fake, answer_pools, NULL);
    fake_ceph_reset_calls(client->fake);
    must(settle_cluster(client->cluster, &client->call, &err));
    return fake_ceph_calls(client->fake) - 1; /* the command */
}

#define POOL(name, application)                                                                    \
    "{\"pool_name\": \"" name "\", \"pg_num\": 4, \"application_metadata\": {" application "}}"

TEST(pools_that_may_have_volumes_are_asked, WITH_CLIENT)
{
    struct client *client = *state;

    assert_int_equal(count_settled(client, "[]"), 0);
    assert_int_equal(count_settled(client, "[" POOL("rbd", "\"rbd\": {}") "]"), 1);
    assert_int_equal(count_settled(client, "[" POOL("rbd", "\"cephfs\": {\"data\": \"a\"}") "]"),
                     1);
    assert_int_equal(
        count_settled(client, "[" POOL("gone", "\"rgw\": {}") "," POOL("gone", "") "]"), 0);
}

TEST(pool_that_does_not_answer_is_a_failure, WITH_CLIENT)
{
    struct client *client = *state;

    answer = "[" POOL("rbd", "\"rbd\": {}") "]";
    fake_ceph_answer_mon(client->fake, answer_pools, NULL);
    fake_ceph_fail_call_with(client->fake, 2, -ETIMEDOUT);
    must_refuse(settle_cluster(client->cluster, &client->call, &err), STATUS_DEADLINE_EXCEEDED,
                "not all OSDs");
    answer = "{}";
    must_refuse(settle_cluster(client->cluster, &client->call, &err), STATUS_INTERNAL,
                "list of pools");
    answer = "[{\"pool_name\": \"rbd\", \"application_metadata\": {\"rbd\": {}}}]";
    must_refuse(settle_cluster(client->cluster, &client->call, &err), STATUS_INTERNAL, "pg_num");
}
