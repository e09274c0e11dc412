#include "tests/unit/fixtures/kube.h"

#include <stdatomic.h>

#include "common/kube/informer.h"
#include "common/kube/kube_node_labels.h"

/* Copies of collections and of one node's labels follow the server through everything it does. */

#define NODES "/api/v1/nodes"

struct seen {
    atomic_uint puts;
    atomic_uint news;
    atomic_uint gones;
};

static void put(void *object, json_t *item, json_t *old)
{
    struct seen *seen = object;

    assert_true(json_is_object(item));
    atomic_fetch_add(&seen->puts, 1);
    if (!old)
        atomic_fetch_add(&seen->news, 1);
}

static void gone(void *object, json_t *item)
{
    struct seen *seen = object;

    assert_true(json_is_object(item));
    atomic_fetch_add(&seen->gones, 1);
}

static struct informer *start(struct kube_fixture *fixture, struct seen *seen)
{
    const struct informer_options options = {
        .path = NODES,
        .handler = {.put = put, .gone = gone},
        .object = seen,
        .retry_first_ms = 2,
        .retry_limit_ms = 20,
    };

    return informer_new(fixture->kube, &options);
}

static uint64_t lists(struct informer *informer)
{
    struct informer_health health = {0};

    informer_health(informer, &health);
    uint64_t count = health.synced ? health.lists : 0;
    informer_health_done(&health);
    return count;
}

/* The copy and the server have the same objects. */
static bool agree(struct informer *informer, struct seen *seen, struct fake_kube *fake)
{
    _cleanup_text_ struct text dump = TEXT_INIT(1 << 20);
    unsigned lines = 0;

    fake_kube_dump(fake, &dump);
    for (const char *line = text_chars(&dump); line[0] != '\0'; lines++) {
        _cleanup_free_ char *path = xstrndup(line, strcspn(line, " "));
        json_auto_t *there = fake_kube_get(fake, path);
        json_auto_t *here = informer_get(informer, "", strrchr(path, '/') + 1);

        if (!here || !json_equal(there, here))
            return false;
        line = strchr(line, '\n') + 1;
    }
    return lines == atomic_load(&seen->news) - atomic_load(&seen->gones);
}

TEST(copy_follows_the_server, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    struct seen seen = {0};

    fake_kube_put(fixture->fake, NODES "/a", "{}");
    _cleanup_(informer_freep) struct informer *informer = start(fixture, &seen);
    wait_until(lists(informer) == 1);
    assert_int_equal(atomic_load(&seen.news), 1);
    fake_kube_put(fixture->fake, NODES "/b", "{\"x\":1}");
    wait_until(atomic_load(&seen.news) == 2);
    fake_kube_put(fixture->fake, NODES "/b", "{\"x\":2}");
    wait_until(atomic_load(&seen.puts) == 3);
    json_auto_t *b = informer_get(informer, "", "b");
    assert_int_equal(json_integer_value(json_object_get(b, "x")), 2);
    fake_kube_drop(fixture->fake, NODES "/a");
    wait_until(atomic_load(&seen.gones) == 1);
    assert_null(informer_get(informer, "", "a"));
    assert_true(agree(informer, &seen, fixture->fake));
    assert_int_equal(lists(informer), 1);
}

TEST(cut_watch_is_resumed_without_a_new_list, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    struct seen seen = {0};
    _cleanup_(informer_freep) struct informer *informer = start(fixture, &seen);

    wait_until(lists(informer) == 1);
    for (unsigned i = 0; i < 5; i++) {
        _cleanup_free_ char *path = xasprintf(NODES "/n%u", i);

        wait_until(fake_kube_watches(fixture->fake) == 1);
        fake_kube_cut_watches(fixture->fake);
        fake_kube_put(fixture->fake, path, "{}");
        wait_until(atomic_load(&seen.puts) == i + 1);
    }
    assert_int_equal(lists(informer), 1);
    assert_true(agree(informer, &seen, fixture->fake));
}

TEST(forgotten_history_leads_to_a_new_list, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    struct seen seen = {0};

    fake_kube_put(fixture->fake, NODES "/stays", "{}");
    fake_kube_put(fixture->fake, NODES "/goes", "{}");
    _cleanup_(informer_freep) struct informer *informer = start(fixture, &seen);
    wait_until(lists(informer) == 1);
    wait_until(fake_kube_watches(fixture->fake) == 1);
    fake_kube_fail_all(fixture->fake, STATUS_UNAVAILABLE);
    fake_kube_cut_watches(fixture->fake);
    wait_until(fake_kube_watches(fixture->fake) == 0);
    fake_kube_drop(fixture->fake, NODES "/goes");
    fake_kube_put(fixture->fake, NODES "/comes", "{}");
    fake_kube_compact(fixture->fake);
    fake_kube_fail_all(fixture->fake, STATUS_OK);
    wait_until(lists(informer) == 2);
    assert_int_equal(atomic_load(&seen.gones), 1);
    assert_int_equal(atomic_load(&seen.puts), 3); /* what stayed was not told again */
    assert_true(agree(informer, &seen, fixture->fake));
}

TEST(bookmark_moves_the_place_to_resume, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    struct seen seen = {0};
    _cleanup_(informer_freep) struct informer *informer = start(fixture, &seen);

    wait_until(lists(informer) == 1);
    wait_until(fake_kube_watches(fixture->fake) == 1);
    fake_kube_put(fixture->fake, "/api/v1/namespaces/n/pods/p", "{}"); /* not ours */
    fake_kube_compact(fixture->fake);
    fake_kube_bookmark(fixture->fake);
    fake_kube_put(fixture->fake, NODES "/a", "{}"); /* behind the bookmark */
    wait_until(atomic_load(&seen.puts) == 1);
    fake_kube_cut_watches(fixture->fake);
    fake_kube_put(fixture->fake, NODES "/b", "{}");
    wait_until(atomic_load(&seen.puts) == 2);
    assert_int_equal(lists(informer), 1);
}

static bool has_recovered(struct informer *informer)
{
    struct informer_health health = {0};

    informer_health(informer, &health);
    bool has = health.synced && health.healthy;
    informer_health_done(&health);
    return has;
}

TEST(health_tells_the_last_failure_and_recovers, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    struct seen seen = {0};
    struct informer_health health = {0};

    fake_kube_forbid(fixture->fake, "list", NODES);
    _cleanup_(informer_freep) struct informer *informer = start(fixture, &seen);
    wait_until(fake_kube_calls(fixture->fake) > 3);
    informer_health(informer, &health);
    assert_false(health.synced);
    assert_false(health.healthy);
    assert_string_equal(health.last_error, "list /api/v1/nodes: 403 Forbidden");
    informer_health_done(&health);
    fake_kube_forbid(fixture->fake, NULL, NULL);
    wait_until(has_recovered(informer));
    informer_health(informer, &health);
    assert_non_null(health.last_error);
    informer_health_done(&health);
}

TEST(collection_above_its_limit_is_refused, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    struct informer_health health = {0};
    const struct informer_options options = {.path = NODES, .items_max = 2, .retry_first_ms = 1};

    fake_kube_put(fixture->fake, NODES "/a", "{}");
    fake_kube_put(fixture->fake, NODES "/b", "{}");
    fake_kube_put(fixture->fake, NODES "/c", "{}");
    _cleanup_(informer_freep) struct informer *informer = informer_new(fixture->kube, &options);
    wait_until(fake_kube_calls(fixture->fake) > 1);
    informer_health(informer, &health);
    assert_string_equal(health.last_error, "/api/v1/nodes has more than 2 objects");
    informer_health_done(&health);
}

/* Ends the watch, if there is one, so that there is a call that the fault can strike. */
static bool fault_has_struck(struct fake_kube *fake)
{
    bool has_struck = !fake_kube_fault_is_pending(fake);

    if (!has_struck)
        fake_kube_cut_watches(fake);
    return has_struck;
}

/* Returns the calls that it took until the copy agreed again, behind the fault if one was set. */
static unsigned change_and_agree(struct kube_fixture *fixture)
{
    unsigned before = fake_kube_calls(fixture->fake);
    struct seen seen = {0};

    fake_kube_put(fixture->fake, NODES "/a", "{}");
    struct informer *informer = start(fixture, &seen);
    wait_until(fake_kube_watches(fixture->fake) == 1);
    for (unsigned change = 0; change < 8; change++) {
        _cleanup_free_ char *path = xasprintf(NODES "/n%u", change);

        fake_kube_put(fixture->fake, path, "{}");
        if (change % 2 == 0)
            fake_kube_drop(fixture->fake, path);
        unsigned calls = fake_kube_calls(fixture->fake);
        if (change % 3 == 0)
            fake_kube_cut_watches(fixture->fake);
        if (change % 5 == 0)
            fake_kube_compact(fixture->fake);
        if (change % 3 == 0) /* another watch, not the one that is about to end */
            wait_until(fake_kube_calls(fixture->fake) > calls &&
                       fake_kube_watches(fixture->fake) == 1);
    }
    wait_until(fault_has_struck(fixture->fake));
    fake_kube_put(fixture->fake, NODES "/last", "{}");
    wait_until(agree(informer, &seen, fixture->fake));
    informer_free(informer);
    fake_kube_drop(fixture->fake, NODES "/last");
    return fake_kube_calls(fixture->fake) - before;
}

/* The list and its watch, and a watch after each of three cuts. */
#define CALLS_OF_CHANGES 5

TEST(whatever_call_fails_the_copy_converges, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    static const enum status statuses[] = {STATUS_UNAVAILABLE, STATUS_OUT_OF_RANGE,
                                           STATUS_UNAUTHENTICATED, STATUS_INTERNAL};
    unsigned calls = change_and_agree(fixture);

    assert_true(calls >= CALLS_OF_CHANGES);
    for (unsigned n = 1; n <= calls; n++) {
        for (size_t i = 0; i < ARRAY_LENGTH(statuses); i++) {
            fake_kube_fail_call_with(fixture->fake, n, statuses[i]);
            assert_true(fake_kube_fault_is_pending(fixture->fake));
            assert_true(change_and_agree(fixture) >= n);
            assert_false(fake_kube_fault_is_pending(fixture->fake));
        }
    }
    print_message("  %u calls, each failing in %zu ways\n", calls, ARRAY_LENGTH(statuses));
}

/* --- labels of one node --- */

static void count_change(void *object, const struct strmap *labels)
{
    (void)labels;
    atomic_fetch_add((atomic_uint *)object, 1);
}

static struct kube_node_labels *follow(struct kube_fixture *fixture, atomic_uint *changes)
{
    const struct kube_node_labels_options options = {.node = "n1",
                                                     .changed = count_change,
                                                     .object = changes,
                                                     .poll_ms = 5,
                                                     .retry_first_ms = 2};
    struct kube_node_labels *labels = NULL;
    _cleanup_error_ struct error err = {0};

    assert_int_equal(kube_node_labels_new(fixture->kube, &options, &labels, &err), 0);
    return labels;
}

static void put_zone(struct kube_fixture *fixture, const char *zone)
{
    _cleanup_free_ char *json = xasprintf("{\"metadata\":{\"labels\":{\"zone\":\"%s\"}}}", zone);

    fake_kube_put(fixture->fake, NODES "/n1", json);
}

static void assert_zone(struct kube_fixture *fixture, struct kube_node_labels *labels,
                        const char *zone)
{
    _cleanup_strmap_ struct strmap map = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(kube_node_labels_copy(labels, &fixture->call, &map, &err), 0);
    assert_string_equal(strmap_get(&map, "zone"), zone);
}

static void labels_follow_the_node(struct kube_fixture *fixture, bool watching)
{
    atomic_uint changes = 0;
    struct kube_node_labels_health health = {0};

    put_zone(fixture, "a");
    _cleanup_(kube_node_labels_freep) struct kube_node_labels *labels = follow(fixture, &changes);
    assert_zone(fixture, labels, "a");
    wait_until(atomic_load(&changes) == 1);
    if (watching)
        wait_until(fake_kube_watches(fixture->fake) == 1);
    put_zone(fixture, "a"); /* a new version, the same labels */
    put_zone(fixture, "b");
    wait_until(atomic_load(&changes) == 2);
    assert_zone(fixture, labels, "b");
    fake_kube_cut_watches(fixture->fake);
    fake_kube_compact(fixture->fake);
    put_zone(fixture, "c");
    wait_until(atomic_load(&changes) == 3);
    kube_node_labels_health(labels, &health);
    assert_true(health.known && health.healthy);
    free(health.last_error);
}

TEST(labels_are_watched_where_that_is_allowed, WITH_KUBE)
{
    labels_follow_the_node(*state, true);
}

TEST(labels_are_polled_where_watching_is_forbidden, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;

    fake_kube_forbid(fixture->fake, "watch", NODES);
    fake_kube_forbid(fixture->fake, "list", NODES);
    labels_follow_the_node(fixture, false);
    assert_int_equal(fake_kube_watches(fixture->fake), 0);
}

TEST(labels_survive_the_loss_of_the_node, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    atomic_uint changes = 0;

    put_zone(fixture, "a");
    _cleanup_(kube_node_labels_freep) struct kube_node_labels *labels = follow(fixture, &changes);
    assert_zone(fixture, labels, "a");
    wait_until(fake_kube_watches(fixture->fake) == 1);
    fake_kube_drop(fixture->fake, NODES "/n1");
    wait_until(fake_kube_watches(fixture->fake) == 0);
    assert_zone(fixture, labels, "a");
    put_zone(fixture, "b");
    wait_until(atomic_load(&changes) == 2);
    assert_zone(fixture, labels, "b");
}

TEST(labels_never_read_are_told_with_the_reason, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    atomic_uint changes = 0;
    _cleanup_strmap_ struct strmap map = {0};
    _cleanup_error_ struct error err = {0};
    struct call brief;

    fake_kube_forbid(fixture->fake, "get", NODES);
    _cleanup_(kube_node_labels_freep) struct kube_node_labels *labels = follow(fixture, &changes);
    wait_until(fake_kube_calls(fixture->fake) > 2);
    call_init(&brief, 2, "test", deadline_in_ms(1));
    assert_int_equal(kube_node_labels_copy(labels, &brief, &map, &err), -1);
    assert_string_equal(err.message, "labels of node 'n1' are not known: get /api/v1/nodes/n1: 403 "
                                     "Forbidden");
    call_done(&brief);
}
