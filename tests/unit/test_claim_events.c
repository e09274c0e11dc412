#include "tests/unit/fixtures/kube.h"

#include "controller/backend.h"
#include "controller/claim_events.h"
#include "controller/place.h"
#include "tests/unit/fixtures/placement_question.h"

/* What is told on a claim about where its volume went. */

#define UID "b0285c97-a0ce-11eb-8c66-0242ac110002"
#define FLUSH_MS 30000

/* The events on claims of namespace shop: "REASON uid: message" one per line. Caller frees. */
static char *told(struct kube_fixture *fixture)
{
    _cleanup_text_ struct text out = TEXT_INIT(65536);
    struct kube *other = fake_kube_as_other(fixture->fake);
    _cleanup_(kube_page_done) struct kube_page page = {0};
    const struct kube_list_options options = {0};
    _cleanup_error_ struct error err = {0};
    size_t i = 0;
    json_t *event = NULL;

    assert_int_equal(other->ops->list_page(other, &fixture->call, "/api/v1/namespaces/shop/events",
                                           &options, &page, &err),
                     0);
    json_array_foreach(page.items, i, event)
    {
        assert_string_equal(kube_text(event, "involvedObject", "name", NULL), "data");
        text_addf(&out, "%s %s: %s\n", kube_text(event, "reason", NULL),
                  kube_text(event, "involvedObject", "uid", NULL),
                  kube_text(event, "message", NULL));
    }
    return xstrdup(text_chars(&out));
}

static void name_claim(struct strmap *parameters)
{
    strmap_set(parameters, "csi.storage.k8s.io/pvc/name", "data");
    strmap_set(parameters, "csi.storage.k8s.io/pvc/namespace", "shop");
}

/* Decides, tells, and returns what was told. Caller frees. */
static char *decide(struct kube_fixture *fixture, const char *pools, const char *terms,
                    const char *refusal, bool is_named)
{
    _cleanup_(events_freep) struct events *events = events_new(fixture->kube, "rbd.csi", "");
    const struct controller controller = {.events = events};
    _cleanup_strmap_ struct strmap parameters = {0};
    _cleanup_decision_ struct decision decision = {0};
    _cleanup_error_ struct error err = {0};
    struct question question;

    if (is_named)
        name_claim(&parameters);
    question_init(&question, pools, terms, NULL);
    for (size_t i = 0; i < question.request.count; i++)
        if (question.candidates[i].refusal)
            question.candidates[i].refusal = refusal;
    question.request.volume_name = "pvc-" UID;
    if (placement_decide(&question.request, &decision, &err) == 0)
        claim_event_placed(&controller, &parameters, &decision);
    else
        claim_event_refused(&controller, &parameters, question.request.volume_name, &err);
    assert_true(events_flush(events, FLUSH_MS));
    question_done(&question);
    return told(fixture);
}

TEST(full_pool_that_was_passed_over_is_told, WITH_KUBE)
{
    _cleanup_free_ char *text =
        decide(*state, "a/0:zone=z1;b:zone=z2", "zone=z1|zone=z2", NULL, true);

    assert_true(text_has_prefix(text, "VolumePlaced " UID ": "));
    assert_non_null(strstr(text, "'b'"));
}

TEST(taken_over_place_is_told_and_other_refusals_are_not, WITH_KUBE)
{
    _cleanup_free_ char *other =
        decide(*state, "a!:zone=z1;b:zone=z2", "zone=z1|zone=z2", "not the source's", true);
    _cleanup_free_ char *text =
        decide(*state, "a!:zone=z1;b:zone=z2", "zone=z1|zone=z2", PLACE_TAKEN_OVER, true);

    assert_string_equal(other, "");
    assert_non_null(strstr(text, PLACE_TAKEN_OVER));
}

TEST(no_room_at_all_is_a_warning, WITH_KUBE)
{
    _cleanup_free_ char *text = decide(*state, "a/0:zone=z1", "zone=z1", NULL, true);

    assert_true(text_has_prefix(text, "VolumeNotPlaced " UID ": "));
}

TEST(nothing_is_told_when_all_went_well_or_nobody_is_named, WITH_KUBE)
{
    _cleanup_free_ char *well = decide(*state, "a:zone=z1;b:zone=z2", "zone=z1", NULL, true);
    _cleanup_free_ char *nameless = decide(*state, "a/0:zone=z1", "zone=z1", NULL, false);

    assert_string_equal(well, "");
    assert_string_equal(nameless, "");
}

TEST(other_failures_are_left_to_the_provisioner, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    _cleanup_(events_freep) struct events *events = events_new(fixture->kube, "rbd.csi", "");
    const struct controller controller = {.events = events};
    const struct controller deaf = {0};
    _cleanup_strmap_ struct strmap parameters = {0};
    _cleanup_error_ struct error err = {0};

    name_claim(&parameters);
    error_set(&err, STATUS_UNAVAILABLE, "the monitors do not answer");
    claim_event_refused(&controller, &parameters, "pvc-1", &err);
    error_recode(&err, STATUS_RESOURCE_EXHAUSTED);
    claim_event_refused(&deaf, &parameters, "pvc-1", &err);
    claim_event_refused(&controller, NULL, "pvc-1", &err);
    assert_true(events_flush(events, FLUSH_MS));
    _cleanup_free_ char *nothing = told(fixture);
    assert_string_equal(nothing, "");
    claim_event_refused(&controller, &parameters, "pvc-1", &err); /* a name without a uid */
    assert_true(events_flush(events, FLUSH_MS));
    _cleanup_free_ char *text = told(fixture);
    assert_string_equal(text, "VolumeNotPlaced : the monitors do not answer\n");
}

/* The right is missing: one line in the log, a number, and no call waits. */
TEST(without_the_right_nothing_breaks, WITH_KUBE)
{
    struct kube_fixture *fixture = *state;
    struct metrics *metrics = metrics_new();
    struct events *events = events_new(fixture->kube, "rbd.csi", "");
    const struct controller controller = {.events = events};
    _cleanup_strmap_ struct strmap parameters = {0};
    _cleanup_text_ struct text page = TEXT_INIT(65536);
    _cleanup_error_ struct error err = {0};

    events_register(events, metrics);
    fake_kube_forbid(fixture->fake, "create", "/api/v1/namespaces");
    name_claim(&parameters);
    error_set(&err, STATUS_RESOURCE_EXHAUSTED, "full");
    for (int i = 0; i < 3; i++)
        claim_event_refused(&controller, &parameters, "pvc-1", &err);
    assert_true(events_flush(events, FLUSH_MS));
    metrics_print(metrics, &page);
    assert_non_null(strstr(text_chars(&page), "csi_events_dropped_total 3"));
    metrics_free(metrics);
    events_free(events);
}

/* The events of a class with this one parameter more. Caller frees. */
static char *events_of_parameter(struct kube_fixture *fixture, const char *key, bool is_named)
{
    _cleanup_(events_freep) struct events *events = events_new(fixture->kube, "rbd.csi", "");
    const struct controller controller = {.events = events};
    _cleanup_strmap_ struct strmap parameters = {0};

    if (is_named)
        name_claim(&parameters);
    strmap_set(&parameters, "clusterID", "c1");
    strmap_set(&parameters, "pool", "rbd");
    strmap_set(&parameters, key, "x");
    claim_event_misspelt(&controller, &fixture->call, &parameters, "pvc-" UID);
    assert_true(events_flush(events, FLUSH_MS));
    return told(fixture);
}

TEST(misspelt_parameter_is_a_warning, WITH_KUBE)
{
    _cleanup_free_ char *text = events_of_parameter(*state, "imageFeature", true);

    assert_string_equal(text, "UnknownParameter " UID ": the StorageClass has an unknown parameter "
                              "'imageFeature'; did you mean 'imageFeatures'?\n");
}

TEST(other_parameters_are_no_news, WITH_KUBE)
{
    static const char *const keys[] = {"somethingElse", "csi.storage.k8s.io/fstyp", "fsName",
                                       "staticVolume", "imageFeatures"};

    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        _cleanup_free_ char *text = events_of_parameter(*state, keys[i], true);

        assert_string_equal(text, "");
    }
    _cleanup_free_ char *nameless = events_of_parameter(*state, "imageFeature", false);
    assert_string_equal(nameless, "");
}
