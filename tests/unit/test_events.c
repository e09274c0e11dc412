#include "tests/unit/fixtures/kube.h"

#include "common/base/metrics.h"
#include "common/kube/events.h"

static const struct event_subject CLAIM = {"v1", "PersistentVolumeClaim", "shop", "data", "u-1"};
static const struct event_subject NODE = {"v1", "Node", "", "n1", "n1"};

#define FLUSH_MS 30000

/* All events of the namespace. Caller frees. */
static json_t *events_in(struct kube_fixture *fixture, const char *name_space)
{
    struct kube *other = fake_kube_as_other(fixture->fake);
    _cleanup_free_ char *path = xasprintf("/api/v1/namespaces/%s/events", name_space);
    _cleanup_(kube_page_done) struct kube_page page = {0};
    const struct kube_list_options options = {0};
    _cleanup_error_ struct error err = {0};

    assert_int_equal(other->ops->list_page(other, &fixture->call, path, &options, &page, &err), 0);
    return TAKE(page.items);
}

static int64_t count_of(const json_t *events, size_t index)
{
    return json_integer_value(json_object_get(json_array_get(events, index), "count"));
}

/* As the metrics have it. */
static unsigned long dropped(struct events *events)
{
    _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
    _cleanup_text_ struct text page = TEXT_INIT(4096);

    events_register(events, metrics);
    metrics_print(metrics, &page);
    const char *line = strstr(text_chars(&page), "\ncsi_events_dropped_total ");
    assert_non_null(line);
    return strtoul(strchr(line, ' '), NULL, 10);
}

TEST(event_says_what_happened_to_what, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_(events_freep) struct events *events = events_new(fixture->kube, "rbd.csi", "n1");

    events_emit(events, &CLAIM, EVENT_WARNING, "NoRoom", "pool '%s' is full", "zone-a");
    assert_true(events_flush(events, FLUSH_MS));
    json_auto_t *found = events_in(fixture, "shop");
    const json_t *event = json_array_get(found, 0);
    assert_int_equal(json_array_size(found), 1);
    assert_string_equal(kube_text(event, "reason", NULL), "NoRoom");
    assert_string_equal(kube_text(event, "message", NULL), "pool 'zone-a' is full");
    assert_string_equal(kube_text(event, "type", NULL), "Warning");
    assert_string_equal(kube_text(event, "involvedObject", "name", NULL), "data");
    assert_string_equal(kube_text(event, "involvedObject", "namespace", NULL), "shop");
    assert_string_equal(kube_text(event, "involvedObject", "uid", NULL), "u-1");
    assert_string_equal(kube_text(event, "source", "component", NULL), "rbd.csi");
    assert_int_equal(strlen(kube_text(event, "lastTimestamp", NULL)), 20);
    assert_true(text_has_prefix(kube_name(event), "data."));
}

TEST(event_of_a_node_is_in_default, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_(events_freep) struct events *events = events_new(fixture->kube, "rbd.csi", "");

    events_emit(events, &NODE, EVENT_NORMAL, "Fenced", "done");
    assert_true(events_flush(events, FLUSH_MS));
    json_auto_t *found = events_in(fixture, "default");
    assert_int_equal(json_array_size(found), 1);
    assert_null(
        json_object_get(json_object_get(json_array_get(found, 0), "involvedObject"), "namespace"));
}

TEST(same_event_is_counted_up, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_(events_freep) struct events *events = events_new(fixture->kube, "rbd.csi", "");

    for (unsigned i = 0; i < 3; i++)
        events_emit(events, &CLAIM, EVENT_WARNING, "NoRoom", "full");
    events_emit(events, &CLAIM, EVENT_WARNING, "NoRoom", "other");
    assert_true(events_flush(events, FLUSH_MS));
    json_auto_t *found = events_in(fixture, "shop");
    assert_int_equal(json_array_size(found), 2);
    assert_int_equal(count_of(found, 0) + count_of(found, 1), 4);
    assert_int_equal(count_of(found, 0) * count_of(found, 1), 3);
}

TEST(event_that_expired_on_the_server_is_made_again, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_(events_freep) struct events *events = events_new(fixture->kube, "rbd.csi", "");

    events_emit(events, &CLAIM, EVENT_WARNING, "NoRoom", "full");
    assert_true(events_flush(events, FLUSH_MS));
    json_auto_t *first = events_in(fixture, "shop");
    _cleanup_free_ char *path =
        xasprintf("/api/v1/namespaces/shop/events/%s", kube_name(json_array_get(first, 0)));
    fake_kube_drop(fixture->fake, path);
    events_emit(events, &CLAIM, EVENT_WARNING, "NoRoom", "full");
    assert_true(events_flush(events, FLUSH_MS));
    json_auto_t *second = events_in(fixture, "shop");
    assert_int_equal(json_array_size(second), 1);
    assert_int_equal(count_of(second, 0), 1);
    assert_int_equal(dropped(events), 0);
}

TEST(one_object_cannot_flood_the_server, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_(events_freep) struct events *events = events_new(fixture->kube, "rbd.csi", "");

    for (unsigned i = 0; i < 60; i++)
        events_emit(events, &CLAIM, EVENT_NORMAL, "Tick", "number %u", i);
    events_emit(events, &NODE, EVENT_NORMAL, "Tick", "another object");
    assert_true(events_flush(events, FLUSH_MS));
    json_auto_t *found = events_in(fixture, "shop");
    json_auto_t *others = events_in(fixture, "default");
    assert_int_equal(json_array_size(found), 25);
    assert_int_equal(json_array_size(others), 1);
    assert_int_equal(dropped(events), 35);
}

TEST(refused_events_are_dropped_and_counted, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_(events_freep) struct events *events = events_new(fixture->kube, "rbd.csi", "");

    fake_kube_forbid(fixture->fake, "create", "/api/v1/namespaces/shop/events");
    events_emit(events, &CLAIM, EVENT_NORMAL, "One", "x");
    events_emit(events, &CLAIM, EVENT_NORMAL, "Two", "x");
    assert_true(events_flush(events, FLUSH_MS));
    assert_int_equal(dropped(events), 2);
    fake_kube_forbid(fixture->fake, NULL, NULL);
    events_emit(events, &CLAIM, EVENT_NORMAL, "One", "x");
    assert_true(events_flush(events, FLUSH_MS));
    assert_int_equal(dropped(events), 2);
    events_emit(NULL, &CLAIM, EVENT_NORMAL, "One", "nobody listens");
}

TEST(long_messages_are_cut_between_characters, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_(events_freep) struct events *events = events_new(fixture->kube, "rbd.csi", "");
    _cleanup_text_ struct text message = TEXT_INIT(4096);

    text_add(&message, "x");
    for (unsigned i = 0; i < 1000; i++)
        text_add(&message, "\xc3\xa4");
    events_emit(events, &CLAIM, EVENT_NORMAL, "Long", "%s", text_chars(&message));
    assert_true(events_flush(events, FLUSH_MS));
    json_auto_t *found = events_in(fixture, "shop");
    assert_int_equal(strlen(kube_text(json_array_get(found, 0), "message", NULL)), 1023);
}
