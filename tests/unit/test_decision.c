/* How a decision on a pool is told: as a line, as a table, and in JSON. */

#include "common/base/memory.h"
#include "common/base/text.h"
#include "tests/unit/fixtures/placement_question.h"

static void assert_line(const char *pools, const char *preferred, const char *requisite,
                        const char *wanted)
{
    _cleanup_question_ struct question question;
    _cleanup_decision_ struct decision decision = {0};
    _cleanup_error_ struct error err = {0};
    _cleanup_text_ struct text line = TEXT_INIT(8192);

    question_init(&question, pools, preferred, requisite);
    if (placement_decide(&question.request, &decision, &err) < 0)
        text_add(&line, err.message);
    else
        decision_print_line(&decision, &line);
    assert_string_equal(text_chars(&line), wanted);
}

TEST(line_tells_what_became_of_each_pool)
{
    assert_line("a/0:zone=a;b!:zone=a;c:zone=a;r:;d:zone=d", NULL, "zone=a",
                "pool 'c' (zone=a): chosen (first) for 100 B in zone=a: pool 'a' (zone=a): full; "
                "pool 'b' (zone=a): taken over by zone-b; pool 'r' (anywhere): for a wider place "
                "than the one chosen; pool 'd' (zone=d): not needed");
    assert_line("a/0:zone=a;b:zone=b", NULL, "zone=a",
                "no pool that serves the place has room for 100 B in zone=a: pool 'a' (zone=a): "
                "full; pool 'b' (zone=b): elsewhere");
    assert_line("b:zone=b", NULL, "region=r,zone=a",
                "no pool of the class serves the place asked for, 100 B in region=r,zone=a: pool "
                "'b' (zone=b): elsewhere");
    assert_line("a:zone=a;b:zone=b", NULL, NULL,
                "pool 'a' (zone=a): chosen (first) for 100 B anywhere: pool 'b' (zone=b): would "
                "do, but first took another");
    assert_line("a:zone=a", NULL, "+zone=a",
                "pool 'a' (zone=a): chosen (first) for 100 B in member.zone.a");
    assert_line("d:zone=d;a:zone=a;b:zone=a", NULL, "zone=a",
                "pool 'a' (zone=a): chosen (first) for 100 B in zone=a: pool 'b' (zone=a): would "
                "do, but first took another; pool 'd' (zone=d): not needed");
    assert_line("d:zone=d;a/0:zone=a", NULL, "zone=a",
                "no pool that serves the place has room for 100 B in zone=a: pool 'a' (zone=a): "
                "full; pool 'd' (zone=d): elsewhere");
    assert_line("a:zone=a", NULL, "zone=a,+zone=a",
                "pool 'a' (zone=a): chosen (first) for 100 B in zone=a");
    assert_line("a:", "", NULL, "pool 'a' (anywhere): chosen (first) for 100 B in an empty term");
}

TEST(line_stays_short_with_many_pools_and_terms)
{
    _cleanup_text_ struct text pools = TEXT_INIT(8192);

    for (int i = 0; i < 20; i++)
        text_addf(&pools, "%spool-%d:zone=%d", i ? ";" : "", i, i);
    assert_line(text_chars(&pools), "zone=x|zone=y|zone=z|zone=u|zone=v|zone=w", NULL,
                "no pool of the class serves the place asked for, 100 B in zone=x or zone=y or "
                "zone=z or zone=u or 2 more: pool 'pool-0' (zone=0): elsewhere; pool 'pool-1' "
                "(zone=1): elsewhere; pool 'pool-2' (zone=2): elsewhere; pool 'pool-3' (zone=3): "
                "elsewhere; pool 'pool-4' (zone=4): elsewhere; pool 'pool-5' (zone=5): elsewhere; "
                "pool 'pool-6' (zone=6): elsewhere; pool 'pool-7' (zone=7): elsewhere; and 12 "
                "more");
}

TEST(table_has_a_line_for_each_pool)
{
    _cleanup_question_ struct question question;
    _cleanup_decision_ struct decision decision = {0};
    _cleanup_error_ struct error err = {0};
    _cleanup_text_ struct text table = TEXT_INIT(8192);

    question_init(&question, "a/2048/3:region=r,zone=a;long-name/?:;c/0:zone=a", NULL,
                  "region=r,zone=a");
    assert_int_equal(placement_decide(&question.request, &decision, &err), 0);
    decision_print_table(&decision, &table);
    assert_string_equal(text_chars(&table),
                        "  POOL       PLACE            ROOM     VOLUMES  VERDICT\n"
                        "* a          region=r,zone=a  2.0 KiB  3        chosen (first)\n"
                        "  long-name  anywhere         ?        0        for a wider place than "
                        "the one chosen\n"
                        "  c          zone=a           0 B      0        full\n");
}

TEST(json_has_all_of_it)
{
    _cleanup_question_ struct question question;
    _cleanup_decision_ struct decision decision = {0};
    _cleanup_error_ struct error err = {0};

    question_init(&question, "a/0:zone=a;b/?/4:zone=b", "zone=b", "zone=a|zone=b");
    assert_int_equal(placement_decide(&question.request, &decision, &err), 0);
    json_auto_t *json = decision_to_json(&decision);
    _cleanup_free_ char *text = json_dumps(json, JSON_COMPACT);
    assert_string_equal(
        text,
        "{\"volume\":\"pvc-1\",\"sizeBytes\":100,\"preferred\":[{\"" PREFIX "/zone\":\"b\"}],"
        "\"requisite\":[{\"" PREFIX "/zone\":\"a\"},{\"" PREFIX "/zone\":\"b\"}],\"policy\":"
        "\"first\",\"pool\":\"b\",\"term\":{\"" PREFIX "/zone\":\"b\"},\"candidates\":[{\"pool\":"
        "\"a\",\"place\":\"zone=a\",\"origin\":\"class\",\"roomBytes\":0,\"volumes\":0,\"verdict\":"
        "\"not-needed\",\"reason\":\"not needed\"},{\"pool\":\"b\",\"place\":\"zone=b\",\"origin\":"
        "\"class\",\"roomBytes\":null,\"volumes\":4,\"verdict\":\"chosen\",\"reason\":\"chosen "
        "(first)\"}]}");
}

TEST(json_names_clusters_and_all_segments)
{
    _cleanup_question_ struct question question;
    _cleanup_decision_ struct decision decision = {0};
    _cleanup_error_ struct error err = {0};

    question_init(&question, "a:zone=a;b:zone=a", NULL, "region=r,zone=a");
    question.entries.items[1].cluster_id = xstrdup("c2");
    assert_int_equal(placement_decide(&question.request, &decision, &err), 0);
    json_auto_t *json = decision_to_json(&decision);
    assert_int_equal(json_object_size(json_object_get(json, "term")), 2);
    const json_t *candidates = json_object_get(json, "candidates");
    assert_null(json_object_get(json_array_get(candidates, 0), "clusterID"));
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(candidates, 1), "clusterID")), "c2");
}

/* Without overcommit a pool is refused only when nothing can be written to it. */
TEST(line_tells_how_much_room_was_not_enough)
{
    static const struct {
        uint64_t bytes;
        bool has_overcommit;
        const char *words;
    } cases[] = {
        {50, true, "pool 'a' (zone=a): 50 B left"},
        {0, true, "pool 'a' (zone=a): all promised"},
        {0, false, "pool 'a' (zone=a): all promised"},
        {50, false, "pool 'a' (zone=a): chosen"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        _cleanup_question_ struct question question;
        _cleanup_decision_ struct decision decision = {0};
        _cleanup_error_ struct error err = {0};
        _cleanup_text_ struct text line = TEXT_INIT(8192);

        question_init(&question, "a:zone=a", NULL, "zone=a");
        question.request.has_overcommit = cases[i].has_overcommit;
        question.candidates[0].space = (struct free_space){
            .bytes = cases[i].bytes, .is_known = true, .remark = "all promised"};
        if (placement_decide(&question.request, &decision, &err) == 0)
            error_clear(&err);
        decision_print_line(&decision, &line);
        if (!strstr(text_chars(&line), cases[i].words))
            fail_msg("wanted '%s', got '%s'", cases[i].words, text_chars(&line));
    }
}
