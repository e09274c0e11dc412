#include "programs/cephzone/explain_print.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/columns.h"
#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "programs/cephzone/output.h"

#define NODES_EACH 50 /* more are shown in groups */

static const char *const TITLES[] = {"NODE", "PLACE", "FITS", "SCORE", "WHY"};
static const char *const WIDE_TITLES[] = {"NODE", "PLACE",      "FITS",    "SCORE",
                                          "WHY",  "KUBERNETES", "VOLUMES", "FIX"};

static void add_row(struct columns *columns, const struct explained_node *row, const char *name,
                    bool is_wide)
{
    bool fits = row->cause == EXPLAIN_FITS;

    columns_add(columns, name);
    columns_add(columns, row->place);
    columns_add(columns, fits ? "yes" : "no");
    columns_take(columns, fits ? xasprintf("%lld", (long long)row->score) : NULL);
    if (!is_wide) {
        columns_add(columns, fits ? row->volumes : row->detail);
        return;
    }
    columns_add(columns, fits && row->is_takeover ? "serves a domain taken over" : row->detail);
    columns_add(columns, row->reason);
    columns_add(columns, row->volumes);
    columns_add(columns, row->fix);
}

/* --- many nodes --- */

static const char *row_text(const struct explained_node *row)
{
    return row->cause == EXPLAIN_FITS ? row->volumes : row->detail;
}

static int compare_rows(const void *a, const void *b)
{
    const struct explained_node *first = *(const struct explained_node *const *)a;
    const struct explained_node *second = *(const struct explained_node *const *)b;
    int order = strcmp(first->place, second->place);

    if (order == 0)
        order = (first->cause != EXPLAIN_FITS) - (second->cause != EXPLAIN_FITS);
    if (order == 0)
        order = (first->score < second->score) - (first->score > second->score);
    if (order == 0)
        order = strcmp(row_text(first), row_text(second));
    return order ? order : strcmp(first->node->meta.name, second->node->meta.name);
}

static bool rows_are_alike(const struct explained_node *a, const struct explained_node *b)
{
    return (a->cause == EXPLAIN_FITS) == (b->cause == EXPLAIN_FITS) && a->score == b->score &&
           strcmp(a->place, b->place) == 0 && strcmp(row_text(a), row_text(b)) == 0;
}

/* One row for all nodes of a place that only differ in their names, with the first of them. */
static void add_groups(struct columns *columns, const struct explanation *explanation)
{
    const struct explained_node **rows =
        xcalloc(explanation->count, sizeof(struct explained_node *));

    for (size_t i = 0; i < explanation->count; i++)
        rows[i] = &explanation->nodes[i];
    qsort(rows, explanation->count, sizeof(*rows), compare_rows);
    for (size_t i = 0, next = 0; i < explanation->count; i = next) {
        while (next < explanation->count && rows_are_alike(rows[i], rows[next]))
            next++;
        _cleanup_free_ char *name =
            next - i > 1 ? xasprintf("%s +%zu", rows[i]->node->meta.name, next - i - 1)
                         : xstrdup(rows[i]->node->meta.name);
        add_row(columns, rows[i], name, false);
    }
    free(rows);
}

void explain_print_table(const struct explanation *explanation, bool is_wide, FILE *file)
{
    _cleanup_columns_ struct columns columns = {.right = 1 << 3, .has_dashes = true};

    if (is_wide)
        columns_add_titles(&columns, WIDE_TITLES, ARRAY_LENGTH(WIDE_TITLES));
    else
        columns_add_titles(&columns, TITLES, ARRAY_LENGTH(TITLES));
    fprintf(file, "%s\n\n", explanation->headline);
    if (!is_wide && explanation->count > NODES_EACH)
        add_groups(&columns, explanation);
    for (size_t i = 0; (is_wide || explanation->count <= NODES_EACH) && i < explanation->count; i++)
        add_row(&columns, &explanation->nodes[i], explanation->nodes[i].node->meta.name, is_wide);
    columns_write(&columns, file);
    fprintf(file, "\nKubernetes says: %s\n", explanation->summary);
    for (size_t i = 0; i < explanation->notes.count; i++)
        fprintf(file, "Note: %s\n", explanation->notes.items[i]);
}

static json_t *row_json(const struct explained_node *row)
{
    bool fits = row->cause == EXPLAIN_FITS;

    return json_pack("{s:s, s:s, s:b, s:s, s:I, s:s, s:s, s:s, s:s, s:b}", "node",
                     row->node->meta.name, "place", row->place, "fits", fits, "cause",
                     explain_cause_name(row->cause), "score", (json_int_t)row->score, "reason",
                     row->reason, "detail", row->detail, "fix", row->fix, "volumes", row->volumes,
                     "takeover", row->is_takeover);
}

void explain_print_json(const struct explanation *explanation, FILE *file)
{
    json_t *nodes = json_array();

    for (size_t i = 0; i < explanation->count; i++)
        json_array_append_new(nodes, row_json(&explanation->nodes[i]));
    output_json(json_pack("{s:s, s:s, s:I, s:o, s:o}", "headline", explanation->headline,
                          "kubernetes", explanation->summary, "fitting",
                          (json_int_t)explanation->fitting, "nodes", nodes, "notes",
                          json_from_strings(&explanation->notes)),
                file);
}
