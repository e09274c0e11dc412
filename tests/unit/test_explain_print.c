#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/scheduling/explain_print.h"
#include "programs/cephzone/simulate_print.h"
#include "tests/fakes/cluster_script.h"
#include "tests/test.h"

/* What explain and simulate print, where it is more than one row for each thing. */

struct printed {
    char *text;
    size_t length;
    FILE *file;
};

static void printed_init(struct printed *printed)
{
    *printed = (struct printed){0};
    printed->file = open_memstream(&printed->text, &printed->length);
    assert_non_null(printed->file);
}

static size_t count_lines(const char *text, const char *part)
{
    size_t count = 0;

    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

static void print_explanation(unsigned nodes, bool is_wide, struct printed *printed)
{
    _cleanup_cluster_ struct cluster_objects cluster = {0};
    _cleanup_explanation_ struct explanation explanation = {0};
    _cleanup_error_ struct error err = {0};
    const struct binding_options options = newest_binding_options();

    cluster_script(&cluster, "class fast provisioner=kubernetes.io/no-provisioner\n"
                             "pv v class=fast affinity=zone:a\npvc c class=fast\npod p claims=c");
    for (unsigned i = 0; i < nodes; i++) {
        _cleanup_free_ char *line = xasprintf("node n%03u zone=%c", i, i % 3 == 0 ? 'a' : 'b');
        cluster_script(&cluster, line);
    }
    cluster_settle(&cluster);
    assert_int_equal(explain_pod(&cluster, &options, "default", "p", &explanation, &err), 0);
    printed_init(printed);
    explain_print_table(&explanation, is_wide, printed->file);
    assert_int_equal(fclose(printed->file), 0);
}

TEST(few_nodes_have_a_row_each)
{
    struct printed printed;

    print_explanation(50, false, &printed);
    assert_int_equal(count_lines(printed.text, "\nn0"), 50);
    free(printed.text);
}

TEST(many_nodes_are_grouped_by_what_is_said_of_them)
{
    struct printed printed;

    print_explanation(51, false, &printed);
    assert_int_equal(count_lines(printed.text, "\nn0"), 2);
    assert_non_null(strstr(printed.text, "\nn000 +16  a      yes"));
    assert_non_null(strstr(printed.text, "\nn001 +33  b      no "));
    free(printed.text);
    print_explanation(51, true, &printed);
    assert_int_equal(count_lines(printed.text, "\nn0"), 51);
    free(printed.text);
}

static void print_picture(size_t rooms, struct printed *printed)
{
    struct simulation simulation = {.count = 3, .placed = 2, .space_count = rooms};

    simulation.pods = xcalloc(simulation.count, sizeof(*simulation.pods));
    simulation.spaces = xcalloc(rooms + 1, sizeof(*simulation.spaces));
    for (size_t i = 0; i < rooms; i++)
        simulation.spaces[i] = (struct simulated_space){
            .class_name = xstrdup("a-class-with-a-name-that-is-longer-than-the-room-for-it"),
            .place = xstrdup("<zone & more>"),
            .has_failed = i == 0,
            .before = 1ULL << 40,
            .after = i == 1 ? 1ULL << 39 : 1ULL << 40,
        };
    printed_init(printed);
    simulate_print_svg(&simulation, printed->file);
    assert_int_equal(fclose(printed->file), 0);
    simulation_done(&simulation);
}

TEST(picture_marks_what_failed_and_cuts_long_names)
{
    struct printed printed;

    print_picture(3, &printed);
    assert_int_equal(count_lines(printed.text, "&lt;zone &amp; more&gt; · a-class"), 6);
    assert_null(strstr(printed.text, "<zone"));
    assert_int_equal(count_lines(printed.text, "…</text>"), 3);
    assert_non_null(strstr(printed.text, "1.0 TiB → failed"));
    assert_non_null(strstr(printed.text, "1.0 TiB → 512.0 GiB"));
    free(printed.text);
}

TEST(large_picture_has_what_changes)
{
    struct printed printed;

    print_picture(100, &printed);
    assert_int_equal(count_lines(printed.text, "<title>"), 2);
    assert_non_null(strstr(printed.text, "and 98 places without change"));
    free(printed.text);
}
