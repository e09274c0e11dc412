/*
 * Runs the cases in tests/data/binding (see tests/fakes/case_file.h). A case is a cluster in a few
 * words (see tests/fakes/cluster_script.h), with what is done and what must be seen in between:
 *
 *   == the name of the case | the rule that it shows
 *   node n1 zone=a
 *   ...
 *   > pod skipped | rejected: TEXT | failed: TEXT         PreFilter of the first pod
 *   > n1 fits c1=pv1 c2=new c3=new@cap1                   Filter, with every choice
 *   > n1 rejected affinity volumes room missing c1=pv1    all reasons; choices that were kept
 *   > n1 failed: TEXT
 *   > n1 score 50
 *   > n1 affinity pv1 ok | error TEXT
 *   > n1 allowed class yes | no
 *   > n1 zone ok | conflict        > pod zone skipped | rejected: TEXT
 *   > n1 limits ok | TEXT
 *   > n1 restrictions ok | TEXT    > pod restrictions rejected: TEXT
 *   > n1 place ok | TEXT           > n1 prefers 5
 *   > shape 50 25                  > pv pv1 claim ns/name | none   > pvc c1 selected n1 | none
 *   > hint yes|no binding|limits|zone|restrictions add|delete OBJECT  or  update OBJECT => WORDS
 *   kubernetes 1.33 | original     shape 0:0,100:10       put OBJECT        remove pv pv1
 *   assume n1 ok | fails: TEXT     revert                 bind ok | fails: TEXT
 *   bind-failing 1 fails: TEXT     poll done | waits | fails: TEXT    controller c1   provision c1
 *   try pv pv1 version 2 ok | fails: TEXT                 an assumption of that version
 */

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/scheduling/binding_hints.h"
#include "common/scheduling/binding_score.h"
#include "common/scheduling/pod_placement.h"
#include "common/scheduling/simulation/actors.h"
#include "common/scheduling/volume_limits.h"
#include "common/scheduling/volume_restrictions.h"
#include "common/scheduling/volume_zone.h"
#include "tests/fakes/case_file.h"
#include "tests/fakes/cluster_script.h"
#include "tests/test.h"

struct run {
    struct cluster_objects cluster;
    struct binding_options options;
    struct actors actors;
    struct pod_binding binding;
    bool has_actors;
    size_t fail_at; /* which write fails; 0: none */
    size_t writes;
};

/* --- small things --- */

static void settle(struct run *run)
{
    if (!run->cluster.is_settled) {
        run->cluster.rules = run->options.rules;
        cluster_settle(&run->cluster);
    }
    if (!run->has_actors)
        actors_init(&run->actors, &run->cluster, &run->options);
    run->has_actors = true;
}

static struct kube_pod *first_pod(const struct run *run)
{
    assert_true(cluster_count(&run->cluster, KUBE_POD) > 0);
    for (size_t i = 0; i < cluster_count(&run->cluster, KUBE_POD); i++) {
        struct kube_pod *pod = cluster_at(&run->cluster, KUBE_POD, i);

        if (!pod->node_name)
            return pod;
    }
    return cluster_at(&run->cluster, KUBE_POD, 0);
}

static const struct kube_node *node_named(const struct run *run, const char *name)
{
    const struct kube_node *node = cluster_find(&run->cluster, KUBE_NODE, NULL, name);

    if (!node)
        fail_msg("no node '%s'", name);
    return node;
}

/* "fails: TEXT": the text must be in the message. */
static void expect_failure(const char *expected, const struct error *err)
{
    assert_true(text_has_prefix(expected, "fails: "));
    const char *message = err->message ? err->message : "";
    if (!strstr(message, expected + strlen("fails: ")))
        fail_msg("expected '%s', found '%s'", expected, message);
}

static void expect_result(int result, const char *expected, const struct error *err)
{
    if (strcmp(expected, "ok") != 0) {
        assert_int_equal(result, -1);
        expect_failure(expected, err);
    } else if (result < 0) {
        fail_msg("failed: %s", err->message);
    }
}

/* --- check --- */

static void add_choices(struct text *text, const struct pod_claims *claims,
                        const struct node_decision *decision)
{
    for (size_t i = 0; i < claims->count; i++) {
        const struct claim_choice *choice = &decision->choices[i];

        if (choice->kind == CHOICE_STATIC)
            text_addf(text, " %s=%s", claims->items[i].claim->meta.name, choice->pv->meta.name);
        else if (choice->kind == CHOICE_DYNAMIC && choice->capacity)
            text_addf(text, " %s=new@%s", claims->items[i].claim->meta.name,
                      choice->capacity->meta.name);
        else if (choice->kind == CHOICE_DYNAMIC)
            text_addf(text, " %s=new", claims->items[i].claim->meta.name);
    }
}

static void describe(struct text *text, const struct pod_claims *claims,
                     const struct node_decision *decision)
{
    static const char *const WORDS[] = {" affinity", " volumes", " room", " missing"};

    if (decision->verdict == BINDING_FAILED) {
        text_addf(text, "failed: %s", decision->fault);
        return;
    }
    text_add(text, decision->verdict == BINDING_FITS ? "fits" : "rejected");
    for (size_t i = 0; i < ARRAY_LENGTH(WORDS); i++)
        if (decision->reasons & (1U << i))
            text_add(text, WORDS[i]);
    add_choices(text, claims, decision);
}

static void expect_pod(const struct run *run, const char *expected)
{
    _cleanup_pod_claims_ struct pod_claims claims = {0};
    static const char *const WORDS[] = {"prepared", "skipped", "rejected: ", "failed: "};

    binding_prepare(&run->cluster, &run->options, first_pod(run), &claims);
    _cleanup_free_ char *found =
        xasprintf("%s%s", WORDS[claims.verdict], claims.reason ? claims.reason : "");
    assert_string_equal(found, expected);
}

static void check_one(const struct run *run, const struct kube_node *node,
                      struct pod_claims *claims, struct node_decision *decision)
{
    binding_prepare(&run->cluster, &run->options, first_pod(run), claims);
    decision->choices = xcalloc(claims->count + 1, sizeof(*decision->choices));
    binding_check_node(&run->cluster, &run->options, claims, node, decision);
}

static void expect_decision(const struct run *run, const struct kube_node *node,
                            const char *expected)
{
    _cleanup_pod_claims_ struct pod_claims claims = {0};
    _cleanup_text_ struct text found = TEXT_INIT(4096);
    struct node_decision decision = {0};

    check_one(run, node, &claims, &decision);
    if (claims.verdict != BINDING_FITS)
        fail_msg("the pod as a whole: %s", claims.reason ? claims.reason : "skipped");
    describe(&found, &claims, &decision);
    free(decision.choices);
    /* a fault's own words may follow */
    if (text_has_prefix(expected, "failed: "))
        assert_true(text_has_prefix(text_chars(&found), expected));
    else
        assert_string_equal(text_chars(&found), expected);
}

static void expect_score(const struct run *run, const struct kube_node *node, const char *expected)
{
    _cleanup_pod_claims_ struct pod_claims claims = {0};
    struct node_decision decision = {0};

    check_one(run, node, &claims, &decision);
    int64_t score = binding_score(&run->options, &claims, &decision);
    free(decision.choices);
    assert_int_equal(score, strtoll(expected, NULL, 10));
}

static void expect_affinity(const struct run *run, const struct kube_node *node,
                            const char *expected)
{
    _cleanup_free_ char *name = case_next_word(&expected);
    _cleanup_error_ struct error err = {0};
    const struct kube_pv *pv = cluster_find_pv(&run->cluster, name);

    assert_non_null(pv);
    int result = binding_check_bound(&run->cluster, pv, node, &err);
    assert_int_equal(binding_fits_affinity(pv, &node->meta.labels), result == 0);
    if (strcmp(expected, "ok") == 0)
        assert_int_equal(result, 0);
    else
        assert_non_null(strstr(err.message ? err.message : "", expected + strlen("error ")));
}

static void expect_zone(const struct run *run, const struct kube_node *node, const char *expected)
{
    _cleanup_pod_zones_ struct pod_zones zones = {0};

    volume_zone_prepare(&run->cluster, first_pod(run), &zones);
    if (node) {
        const char *found = volume_zone_check(&zones, node) ? "conflict" : "ok";

        assert_string_equal(found, expected);
    } else if (zones.verdict == BINDING_REJECTED) {
        _cleanup_free_ char *found = xasprintf("rejected: %s", zones.reason);
        assert_string_equal(found, expected);
    } else {
        assert_string_equal(zones.verdict == BINDING_SKIPPED ? "skipped" : "checked", expected);
    }
}

static void expect_limits(struct run *run, const struct kube_node *node, const char *expected)
{
    _cleanup_pod_volume_keys_ struct pod_volume_keys keys = {0};
    struct limits_decision decision = {0};

    volume_limits_prepare(&run->cluster, first_pod(run), &keys);
    volume_limits_check(&run->cluster, &run->options, &keys, node, &decision);
    _cleanup_free_ char *reason = decision.reason;
    assert_string_equal(reason ? reason : "ok", expected);
}

static void expect_restrictions(const struct run *run, const struct kube_node *node,
                                const char *expected)
{
    _cleanup_pod_restrictions_ struct pod_restrictions restrictions = {0};

    volume_restrictions_prepare(&run->cluster, &run->options, first_pod(run), &restrictions);
    if (node) {
        const char *reason = volume_restrictions_check(&run->cluster, &restrictions, node, NULL);

        assert_string_equal(reason ? reason : "ok", expected);
        return;
    }
    assert_int_equal(restrictions.verdict, BINDING_REJECTED);
    _cleanup_free_ char *found = xasprintf("rejected: %s", restrictions.reason);
    assert_string_equal(found, expected);
}

static void expect_place(const struct run *run, const struct kube_node *node, const char *expected)
{
    _cleanup_free_ char *reason = pod_placement_check(&run->options, first_pod(run), node);

    assert_string_equal(reason ? reason : "ok", expected);
}

/* --- events --- */

static enum volume_plugin plugin_named(const char *name)
{
    if (strcmp(name, "binding") == 0)
        return PLUGIN_VOLUME_BINDING;
    if (strcmp(name, "restrictions") == 0)
        return PLUGIN_VOLUME_RESTRICTIONS;
    return strcmp(name, "limits") == 0 ? PLUGIN_VOLUME_LIMITS : PLUGIN_VOLUME_ZONE;
}

static void expect_hint(const struct run *run, const char *line)
{
    _cleanup_free_ char *expected = case_next_word(&line);
    _cleanup_free_ char *plugin = case_next_word(&line);
    _cleanup_free_ char *what = case_next_word(&line);
    const char *arrow = strstr(line, " => ");
    _cleanup_free_ char *before = arrow ? xstrndup(line, (size_t)(arrow - line)) : xstrdup(line);
    enum kube_kind kind = KUBE_KINDS;
    void *old = NULL;
    void *new = NULL;

    if (strcmp(what, "add") == 0) {
        new = cluster_script_object(before, &kind);
    } else {
        old = cluster_script_object(before, &kind);
        if (arrow)
            new = cluster_script_object(arrow + 4, &kind);
    }
    const struct cluster_event event = {kind, old, new};
    bool helps = binding_event_may_help(plugin_named(plugin), first_pod(run), &event);
    kube_object_free(kind, old);
    kube_object_free(kind, new);
    assert_string_equal(helps ? "yes" : "no", expected);
}

static void expect_invalidates(const char *line)
{
    _cleanup_free_ char *what = case_next_word(&line);
    const char *arrow = strstr(line, " => ");
    const char *end = arrow ? arrow : strstr(line, " -> ");
    _cleanup_free_ char *object = xstrndup(line, (size_t)(end - line));
    const char *expected = strstr(line, " -> ") + 4;
    enum kube_kind kind = KUBE_KINDS;
    void *made = cluster_script_object(object, &kind);
    bool is_delete = strcmp(what, "delete") == 0;
    const struct cluster_event event = {kind, is_delete ? made : NULL, is_delete ? NULL : made};
    unsigned set = binding_event_invalidates(&event);

    kube_object_free(kind, made);
    assert_int_equal(set != 0, strcmp(expected, "nothing") != 0);
    assert_int_equal((set & PLUGIN_VOLUME_BINDING) != 0, strstr(expected, "binding") != NULL);
    assert_int_equal((set & PLUGIN_VOLUME_ZONE) != 0, strstr(expected, "zone") != NULL);
    assert_int_equal((set & PLUGIN_VOLUME_LIMITS) != 0, strstr(expected, "limits") != NULL);
    assert_int_equal((set & PLUGIN_VOLUME_RESTRICTIONS) != 0,
                     strstr(expected, "restrictions") != NULL);
}

/* --- assume, bind, poll --- */

static int failing_pv(void *object, const struct bound_item *item, char **version,
                      struct error *err)
{
    struct run *run = object;
    struct binding_api api = actors_api(&run->actors);

    if (++run->writes == run->fail_at)
        return error_set(err, STATUS_UNAVAILABLE, "the API server is gone");
    return api.update_pv(api.object, item, version, err);
}

static int failing_pvc(void *object, const struct bound_item *item, const char *node,
                       char **version, struct error *err)
{
    struct run *run = object;
    struct binding_api api = actors_api(&run->actors);

    if (++run->writes == run->fail_at)
        return error_set(err, STATUS_UNAVAILABLE, "the API server is gone");
    return api.update_pvc(api.object, item, node, version, err);
}

static void act_assume(struct run *run, const char *line)
{
    _cleanup_free_ char *name = case_next_word(&line);
    _cleanup_pod_claims_ struct pod_claims claims = {0};
    _cleanup_error_ struct error err = {0};
    struct node_decision decision = {0};
    const struct kube_node *node = node_named(run, name);

    check_one(run, node, &claims, &decision);
    pod_binding_done(&run->binding);
    /* "... after OBJECT": what changes between check and assume */
    const char *after = strstr(line, " after ");
    _cleanup_free_ char *expected = after ? xstrndup(line, (size_t)(after - line)) : xstrdup(line);
    if (after && text_has_prefix(after + 7, "new version of ")) {
        struct kube_pv *pv = cluster_find_pv(&run->cluster, after + 22);

        free(pv->meta.version);
        pv->meta.version = xstrdup("9");
        for (size_t i = 0; i < claims.count; i++)
            if (decision.choices[i].pv == pv) {
                /* what the check saw was older */
                struct assumption *stale = xcalloc(1, sizeof(*stale));
                stale->version = xstrdup("1");
                assert_int_equal(
                    cluster_assume(&run->cluster, KUBE_PV, NULL, pv->meta.name, stale, &err), -1);
            }
        free(decision.choices);
        expect_failure(expected, &err);
        return;
    }
    int result = binding_assume(&run->cluster, &claims, node, &decision, &run->binding, &err);
    free(decision.choices);
    expect_result(result, expected, &err);
}

static void act_bind(struct run *run, const char *expected)
{
    const struct binding_api api = {failing_pv, failing_pvc, run};
    _cleanup_error_ struct error err = {0};

    run->writes = 0;
    expect_result(binding_bind(&run->cluster, &api, &run->binding, &err), expected, &err);
}

static void act_poll(struct run *run, const char *expected)
{
    static const char *const WORDS[] = {"waits", "done", "fails"};
    _cleanup_error_ struct error err = {0};
    enum bind_progress progress = binding_poll(&run->cluster, &run->binding, &err);

    if (progress == BIND_FAILED)
        expect_failure(expected, &err);
    else
        assert_string_equal(WORDS[progress], expected);
}

static void act_try(struct run *run, const char *line)
{
    _cleanup_free_ char *kind = case_next_word(&line);
    _cleanup_free_ char *name = case_next_word(&line);
    _cleanup_free_ char *word = case_next_word(&line);
    _cleanup_free_ char *version = case_next_word(&line);
    _cleanup_error_ struct error err = {0};
    struct assumption *assumption = xcalloc(1, sizeof(*assumption));

    assert_string_equal(word, "version");
    assumption->version = xstrdup(version);
    if (strcmp(kind, "pv") == 0) {
        assumption->has_claim = true;
        assumption->claim = (struct kube_claim_ref){xstrdup("default"), xstrdup("assumed"), NULL};
        expect_result(cluster_assume(&run->cluster, KUBE_PV, NULL, name, assumption, &err), line,
                      &err);
    } else {
        assumption->selected_node = xstrdup("assumed");
        expect_result(cluster_assume(&run->cluster, KUBE_PVC, "default", name, assumption, &err),
                      line, &err);
    }
}

static void act_restore(struct run *run, const char *line)
{
    _cleanup_free_ char *kind = case_next_word(&line);
    _cleanup_free_ char *name = case_next_word(&line);

    if (strcmp(kind, "pv") == 0)
        cluster_restore(&run->cluster, KUBE_PV, NULL, name, line);
    else
        cluster_restore(&run->cluster, KUBE_PVC, "default", name, line);
}

static void act_remove(struct run *run, const char *line)
{
    _cleanup_free_ char *word = case_next_word(&line);
    static const struct {
        const char *word;
        enum kube_kind kind;
    } KINDS[] = {{"pv", KUBE_PV},
                 {"pvc", KUBE_PVC},
                 {"node", KUBE_NODE},
                 {"pod", KUBE_POD},
                 {"class", KUBE_CLASS},
                 {"csinode", KUBE_CSI_NODE},
                 {"capacity", KUBE_CAPACITY},
                 {"attachment", KUBE_ATTACHMENT}};

    for (size_t i = 0; i < ARRAY_LENGTH(KINDS); i++)
        if (strcmp(KINDS[i].word, word) == 0)
            cluster_remove(&run->cluster, KINDS[i].kind,
                           kube_kind_is_namespaced(KINDS[i].kind) ? "default" : NULL, line);
}

static void act_provision(struct run *run, const char *line)
{
    static const char *const WORDS[] = {"nothing", "done", "reschedule", "retry"};
    _cleanup_free_ char *name = case_next_word(&line);
    struct kube_pvc *claim = cluster_find_pvc(&run->cluster, "default", name);
    char *why = NULL;
    enum provision_outcome outcome = provisioner_sync(&run->actors, claim, &why);

    free(why);
    assert_string_equal(WORDS[outcome], line);
}

static void act_controller(struct run *run, const char *line)
{
    _cleanup_free_ char *name = case_next_word(&line);
    struct kube_pvc *claim = cluster_find_pvc(&run->cluster, "default", name);
    bool changed = pv_controller_sync(&run->actors, claim);

    assert_string_equal(changed ? "binds" : "leaves it", line);
}

static void expect_pv_claim(const struct run *run, const char *line)
{
    _cleanup_free_ char *name = case_next_word(&line);
    _cleanup_free_ char *word = case_next_word(&line);
    const struct kube_pv *pv = cluster_find_pv(&run->cluster, name);

    assert_non_null(pv);
    if (strcmp(word, "phase") == 0) {
        assert_string_equal(pv->phase ? pv->phase : "none", line);
        return;
    }
    const struct kube_claim_ref *ref =
        strcmp(word, "stored") == 0 ? (pv->has_claim ? &pv->claim : NULL) : assume_cache_claim(pv);
    _cleanup_free_ char *found =
        ref ? xasprintf("%s/%s", ref->ns ? ref->ns : "", ref->name) : xstrdup("none");
    assert_string_equal(found, line);
}

static void expect_pvc(const struct run *run, const char *line)
{
    _cleanup_free_ char *name = case_next_word(&line);
    _cleanup_free_ char *word = case_next_word(&line);
    const struct kube_pvc *claim = cluster_find_pvc(&run->cluster, "default", name);
    const char *found = NULL;

    assert_non_null(claim);
    if (strcmp(word, "selected") == 0)
        found = assume_cache_selected_node(claim);
    else if (strcmp(word, "stored") == 0)
        found = strmap_get(&claim->meta.annotations, KUBE_SELECTED_NODE);
    else
        found = claim->volume_name;
    assert_string_equal(found ? found : "none", line);
}

/* --- lines --- */

static void expect_on_node(struct run *run, const char *name, const char *line)
{
    const struct kube_node *node = node_named(run, name);
    const char *whole = line;
    _cleanup_free_ char *word = case_next_word(&line);

    if (strcmp(word, "score") == 0)
        expect_score(run, node, line);
    else if (strcmp(word, "affinity") == 0)
        expect_affinity(run, node, line);
    else if (strcmp(word, "zone") == 0)
        expect_zone(run, node, line);
    else if (strcmp(word, "limits") == 0)
        expect_limits(run, node, line);
    else if (strcmp(word, "restrictions") == 0)
        expect_restrictions(run, node, line);
    else if (strcmp(word, "place") == 0)
        expect_place(run, node, line);
    else if (strcmp(word, "prefers") == 0)
        assert_int_equal(pod_placement_preference(first_pod(run), node), strtoll(line, NULL, 10));
    else if (strcmp(word, "allowed") == 0) {
        _cleanup_free_ char *class_name = case_next_word(&line);
        const struct kube_class *class = cluster_find_class(&run->cluster, class_name);

        assert_string_equal(
            allowed_topologies_match(&class->allowed, &node->meta.labels) ? "yes" : "no", line);
    } else {
        expect_decision(run, node, whole);
    }
}

static void expect(struct run *run, const char *line)
{
    const char *rest = line;
    _cleanup_free_ char *word = case_next_word(&rest);

    settle(run);
    if (strcmp(word, "pod") == 0 && text_has_prefix(rest, "zone "))
        expect_zone(run, NULL, rest + 5);
    else if (strcmp(word, "pod") == 0 && text_has_prefix(rest, "restrictions "))
        expect_restrictions(run, NULL, rest + strlen("restrictions "));
    else if (strcmp(word, "pod") == 0)
        expect_pod(run, rest);
    else if (strcmp(word, "hint") == 0)
        expect_hint(run, rest);
    else if (strcmp(word, "invalidates") == 0)
        expect_invalidates(rest);
    else if (strcmp(word, "pv") == 0)
        expect_pv_claim(run, rest);
    else if (strcmp(word, "pvc") == 0)
        expect_pvc(run, rest);
    else if (strcmp(word, "shape") == 0) {
        char *end = NULL;
        int64_t utilization = strtoll(rest, &end, 10);

        assert_int_equal(binding_shape(&run->options, utilization), strtoll(end, NULL, 10));
    } else {
        expect_on_node(run, word, rest);
    }
}

static void act(struct run *run, const char *line)
{
    const char *rest = line;
    _cleanup_free_ char *word = case_next_word(&rest);
    _cleanup_error_ struct error err = {0};

    if (strcmp(word, "kubernetes") == 0) {
        assert_int_equal(binding_options_parse(rest, &run->options, &err), 0);
        return;
    }
    if (strcmp(word, "shape") == 0) {
        const char *bad = strstr(rest, " fails: ");
        _cleanup_free_ char *shape = case_next_word(&rest);

        expect_result(binding_options_set_shape(&run->options, shape, &err), bad ? bad + 1 : "ok",
                      &err);
        return;
    }
    settle(run);
    if (strcmp(word, "put") == 0)
        cluster_script(&run->cluster, rest);
    else if (strcmp(word, "remove") == 0)
        act_remove(run, rest);
    else if (strcmp(word, "assume") == 0)
        act_assume(run, rest);
    else if (strcmp(word, "revert") == 0)
        binding_revert(&run->cluster, &run->binding);
    else if (strcmp(word, "bind") == 0)
        act_bind(run, rest);
    else if (strcmp(word, "bind-failing") == 0) {
        char *end = NULL;

        run->fail_at = strtoull(rest, &end, 10);
        act_bind(run, end + strspn(end, " "));
        run->fail_at = 0;
    } else if (strcmp(word, "poll") == 0)
        act_poll(run, rest);
    else if (strcmp(word, "try") == 0)
        act_try(run, rest);
    else if (strcmp(word, "restore") == 0)
        act_restore(run, rest);
    else if (strcmp(word, "controller") == 0)
        act_controller(run, rest);
    else if (strcmp(word, "provision") == 0)
        act_provision(run, rest);
    else
        fail_msg("no such line: '%s'", line);
}

static void run_case(void **state)
{
    const struct case_lines *one = *state;
    struct run run = {.options = newest_binding_options()};
    size_t expectations = 0;

    for (size_t i = 0; i < one->lines.count; i++) {
        const char *line = one->lines.items[i];

        print_message("  %s\n", line); /* the last one printed is the one that failed */
        if (line[0] == '>') {
            expect(&run, line + 2);
            expectations++;
        } else if (cluster_script_is_object(line)) {
            cluster_script(&run.cluster, line);
        } else {
            act(&run, line);
            expectations++;
        }
    }
    pod_binding_done(&run.binding);
    cluster_done(&run.cluster);
    assert_true(expectations > 0);
}

static void add_cases(void)
{
    case_files_add("tests/data/binding/*.cases", run_case);
}

TEST_CASES(add_cases)
