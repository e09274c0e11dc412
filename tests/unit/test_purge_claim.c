/* Who removes an image: one process at a time, unless it takes too long to begin. */
#include "controller/rbd/purge_claim.h"

#include <time.h>

#include "common/ceph/on_disk.h"
#include "tests/unit/fixtures/ceph_client.h"

#define DIRECTORY JOURNAL_VOLUMES "default"
#define OWN "11111111-2222-4333-8444-555555555555"
#define OTHER "99999999-2222-4333-8444-555555555555"

static const struct controller CONTROLLER = {.process_id = {OWN}};

static long long clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void begin_claim(struct purge_claim *claim, struct client *c)
{
    purge_claim_init(claim, &CONTROLLER, c->pool, DIRECTORY, PURGE_KEY "i1");
}

static void assert_taken(struct purge_claim *claim, struct client *c, bool expected)
{
    bool mine = !expected;

    if (purge_claim_take(claim, &c->call, &mine, &c->err) < 0)
        fail_msg("%s", c->err.message);
    assert_int_equal(mine, expected);
}

TEST(claim_says_who_and_when, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_purge_claim_ struct purge_claim claim;
    long long before = clock_ms();

    begin_claim(&claim, c);
    assert_string_equal(claim.key, PURGE_CLAIM_KEY "i1");
    assert_int_equal(strncmp(claim.value, OWN " ", strlen(OWN) + 1), 0);
    long long written = strtoll(claim.value + strlen(OWN), NULL, 10);
    assert_true(before <= written && written <= clock_ms());
    assert_taken(&claim, c, true);
    client_assert_key(c, DIRECTORY, claim.key, claim.value);
    assert_taken(&claim, c, true); /* a retry of the same process */
    assert_int_equal(purge_claim_release(&claim, &c->call, &c->err), 0);
    client_assert_key(c, DIRECTORY, claim.key, NULL);
}

TEST(claim_of_another_process_holds_while_it_may_be_opening_the_image, WITH_CLIENT)
{
    static const struct {
        const char *process;
        long long age_ms;
        bool is_mine;
    } cases[] = {
        {OTHER, 0, false},
        {OTHER, 60000, true},
        {OTHER, -60000, true}, /* of a clock that is wrong: it would hold for ever */
        {OWN, 0, true},
    };
    struct client *c = *state;

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_purge_claim_ struct purge_claim claim;
        _cleanup_free_ char *present =
            xasprintf("%s %lld", cases[i].process, clock_ms() - cases[i].age_ms);

        begin_claim(&claim, c);
        assert_int_equal(client_add_key(c, DIRECTORY, claim.key, present), 0);
        assert_taken(&claim, c, cases[i].is_mine);
        client_assert_key(c, DIRECTORY, claim.key, cases[i].is_mine ? claim.value : present);
        /* what another holds is not released */
        assert_int_equal(purge_claim_release(&claim, &c->call, &c->err), 0);
        client_assert_key(c, DIRECTORY, claim.key, cases[i].is_mine ? NULL : present);
        bool removed = false;
        assert_int_equal(c->ops->omap_remove_if(c->pool, &c->call, DIRECTORY, claim.key, present,
                                                NULL, &removed, &c->err),
                         0);
        assert_int_equal(removed, !cases[i].is_mine);
    }
}

TEST(claim_without_a_time_is_nobodys, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_purge_claim_ struct purge_claim claim;

    begin_claim(&claim, c);
    assert_int_equal(client_add_key(c, DIRECTORY, claim.key, OTHER), 0);
    assert_taken(&claim, c, true);
    client_assert_key(c, DIRECTORY, claim.key, claim.value);
}

TEST(claim_that_cannot_be_written_is_a_failure, WITH_CLIENT)
{
    struct client *c = *state;
    _cleanup_purge_claim_ struct purge_claim claim;
    _cleanup_free_ char *old = xasprintf("%s 1", OTHER);

    begin_claim(&claim, c);
    assert_int_equal(client_add_key(c, DIRECTORY, claim.key, old), 0);
    for (unsigned n = 1; n <= 4; n++) { /* found, read, removed, written */
        bool mine = false;

        fake_ceph_fail_call_with(c->fake, n, -EIO);
        client_assert_fails(c, purge_claim_take(&claim, &c->call, &mine, &c->err), STATUS_INTERNAL,
                            EIO);
        client_assert_key(c, DIRECTORY, claim.key, n < 4 ? old : NULL);
    }
    assert_taken(&claim, c, true);
}
